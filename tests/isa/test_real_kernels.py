"""Parser, classes and region rule on the package's own kernels, freshly compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mxfp4kernels.cache import Cache
from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.flags import ALL, NONE
from mxfp4kernels.isa import (
    Counts,
    Program,
    Region,
    control_flow,
    count_program,
    diff,
    find_regions,
    occupancy_of,
)
from mxfp4kernels.shapes import TILE_K, Shape, Variant, find_variant

pytest.importorskip("flydsl", reason="compiling the kernels needs FlyDSL")

JOBS = [
    Job(find_variant(kernel, name), shape, flags)
    for kernel, name, shape in (
        ("gemm1", "bm16_iq", Shape(8, 1024, 128, 2)),
        ("gemm1", "bm64", Shape(8, 512, 128, 2)),
        ("gemm2", "bm32_atomic", Shape(8, 512, 1024, 2)),
        ("gemm2", "bm128_nonatomic", Shape(8, 512, 512, 2)),
        ("gemm2", "bm128_mxfp4", Shape(8, 512, 1024, 2)),
    )
    for flags in (NONE, ALL)
]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Job, Program]:
    cache: Path = tmp_path_factory.mktemp("cache")
    return {
        job: kernel.program
        for job, kernel in zip(JOBS, Compiler(Cache(cache)).compile_all(JOBS), strict=True)
    }


def k_tiles(variant: Variant, shape: Shape) -> int:
    return (shape.hidden if variant.kernel == "gemm1" else shape.inter) // TILE_K


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_k_tiles_are_found_without_being_told(programs, job):
    """Two tiles are in flight, so all but the last two issue loads of later ones."""
    tiles = k_tiles(job.variant, job.shape)
    passes = find_regions(programs[job]).passes
    assert [part.tiles for part in passes] == [(tiles - 2, 2)] * (1 + job.variant.persistent)
    assert [part.tile_loop for part in passes] == [False, True][: len(passes)]


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_regions_hold_what_their_names_say(programs, job):
    counts = count_program(programs[job])
    tiles = k_tiles(job.variant, job.shape)
    passes = 1 + job.variant.persistent
    assert sum(counts.regions[region].total for region in Region) == len(programs[job])
    assert counts.regions[Region.PROLOGUE]["MFMA"] == 0
    assert counts.regions[Region.DRAIN]["VMEM"] == 0
    assert counts.regions[Region.KLOOP]["BARRIER"] == (tiles - 2) * passes
    assert _results(counts.regions[Region.EPILOGUE]) == _results(counts.kernel) > 0
    per_tile = job.variant.block_m // 16 * 4 * 2
    assert counts.kernel["MFMA"] == per_tile * tiles * passes
    assert counts.regions[Region.KLOOP]["MFMA"] == per_tile * (tiles - 2) * passes


def _results(counts: Counts) -> int:
    return counts.part("VMEM", "store") + counts.part("VMEM", "atomic")


@pytest.mark.parametrize("job", JOBS, ids=str)
def test_loops_and_occupancy(programs, job):
    program = programs[job]
    outermost = [loop for loop in control_flow(program).loops if loop.parent is None]
    assert len(outermost) == job.variant.persistent
    assert occupancy_of(program).waves_per_simd >= 1


def test_a_kernel_does_not_differ_from_itself_and_flags_do(programs):
    without, with_all = (programs[job] for job in JOBS[:2])
    assert not diff(without, without).differs
    assert diff(without, with_all).differs
