"""The second tile of a persistent workgroup is sanitized too, not only the peeled first one.

Waits by hand count loads. In the tile loop the scheduler once sank loads of the A tile below those
that the wait counts, and a wave read what others had not yet brought.
"""

from __future__ import annotations

import pytest

from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.flags import ALL, NONE, SAFE, FlagSet
from mxfp4kernels.numerics.emulation import EmulatedLaunch
from mxfp4kernels.numerics.problem import Problem
from mxfp4kernels.shapes import find_variant, parse_shape

WORKGROUP = 3
TOKENS = 2400


@pytest.mark.parametrize(
    ("variant", "shape", "flags"),
    [
        ("bm128_nonatomic", "12x7168x256x2", NONE),
        ("bm128_nonatomic", "12x7168x512x2r384", ALL - {"backend_waitcnt"}),
        ("bm128_mxfp4", "12x7168x256x2", SAFE - ALL),
    ],
)
def test_no_wave_reads_a_tile_before_it_is_there(variant: str, shape: str, flags: FlagSet) -> None:
    problem = Problem(find_variant("gemm2", variant), parse_shape(shape), TOKENS)
    tiles = problem.tiles_of(WORKGROUP)
    assert len(tiles) > 1, "the loop does not run"
    kernel = Compiler().compile(Job(problem.variant, problem.shape, flags))
    experts = {int(problem.sorting.sorted_expert_ids[tile.m_block]) for tile in tiles}
    launch = EmulatedLaunch.of(kernel.assembly, problem, problem.arguments(experts))
    report = launch.sanitize([WORKGROUP])
    assert all(need.reached for need in report.needs)
    assert not report.hazards
    assert not report.differences
