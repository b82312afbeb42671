"""Launches of our kernels: rows of a block, tiles of a persistent workgroup, atomics."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from mxfp4kernels.flags import NONE, acting
from mxfp4kernels.modelled.launches import PERSISTENT_TILES, Launch, Modeller, fill_of
from mxfp4kernels.shapes import REFERENCE_SHAPE, find_variant
from mxfp4kernels.timing.constants import Hardware
from mxfp4kernels.timing.work import bytes_by_stream


@pytest.fixture(name="modeller", scope="module")
def _modeller() -> Modeller:
    return Modeller()


def test_the_rows_of_a_block_are_its_mean_to_a_row() -> None:
    variant = find_variant("gemm1", "bm128")
    fills = [fill_of(Launch(variant, REFERENCE_SHAPE, m)) for m in range(4096, 6144, 256)]
    assert len(set(fills)) > 4
    assert all(1 <= fill <= variant.block_m for fill in fills)


@pytest.mark.parametrize(("first", "second"), [(5416, 5424), (17800, 17900)])
def test_the_time_over_m_has_no_steps_of_its_own(
    modeller: Modeller, first: int, second: int
) -> None:
    """Here the rows of a block once went from 64 to 96 and from 96 to 128, the bytes with them."""
    variant = find_variant("gemm1", "bm128")
    launches = [Launch(variant, REFERENCE_SHAPE, tokens) for tokens in (first, second)]
    before, after = (modeller.estimate(one, acting(variant)).us for one in launches)
    assert before * 0.97 < after < before * 1.03


def test_traced_persistent_workgroups_make_as_many_tiles_as_they_say(modeller: Modeller) -> None:
    """Else the clocks between both are divided by the wrong number of tiles."""
    variant = find_variant("gemm2", "bm128_nonatomic")
    kernel = modeller.kernel(variant, REFERENCE_SHAPE, acting(variant), variant.block_m)
    written = {
        tiles: bytes_by_stream(work, kernel.buffers)["out"] for tiles, work in kernel.works.items()
    }
    assert set(written) == {1, *PERSISTENT_TILES}
    assert written == {tiles: tiles * written[1] for tiles in written}


def with_atomics(hardware: Hardware, rate: float) -> Hardware:
    """At a rate below what the sources allow."""
    known = replace(hardware.constant("atomic_rate"), value=rate, low=rate)
    return replace(
        hardware, constants=MappingProxyType({**hardware.constants, "atomic_rate": known})
    )


def test_a_launch_does_not_end_before_its_atomics(modeller: Modeller) -> None:
    variant = find_variant("gemm2", "bm32_atomic")
    launch = Launch(variant, REFERENCE_SHAPE, 8192)
    slow = with_atomics(modeller.hardware, 100)
    made = modeller.estimate(launch, acting(variant), slow)
    assert made.bound == "atomics"
    assert 0.9 < made.busy["atomics"] <= 1


def test_what_bounds_a_time_from_bytes_is_memory(modeller: Modeller) -> None:
    variant = find_variant("gemm2", "bm16_atomic_nt")
    made = modeller.estimate(Launch(variant, REFERENCE_SHAPE, 1), NONE)
    assert made.basis == "bytes"
    assert made.bound in {*made.busy, "memory latency"}
