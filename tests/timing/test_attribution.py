"""A launch's time is split among causes without a rest, wherever the time comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mxfp4kernels.timing.code import lower
from mxfp4kernels.timing.constants import read_hardware
from mxfp4kernels.timing.device import (
    BYTES,
    CLOCK_TOLERANCE,
    FIXED,
    LAUNCH,
    MEMORY_WAITS,
    WAVES,
    Estimate,
    Kernel,
    attribute,
    clock_of,
    estimate,
)
from mxfp4kernels.timing.traffic import HBM, L2, MALL, Traffic
from mxfp4kernels.timing.unit import UnitRun

from .micro import micro
from .test_device import BODY, tiles

HARDWARE = read_hardware()


def all_from(level: int) -> Traffic:
    served = np.zeros((2, 3))
    served[:, level] = 1
    return Traffic(served)


def kernel_of(body: str, resident: int = 4) -> Kernel:
    made = micro(body, waves=4, data={"w1": 1 << 17})
    return Kernel(lower(made.program, HARDWARE), {1: made.work}, made.trace.buffers, resident)


def whole(made: Estimate) -> float:
    return sum(made.causes.values())


@pytest.fixture(name="run", scope="module")
def _run() -> UnitRun:
    return micro(BODY, waves=4, data={"w1": 1 << 17}).run()


def test_a_unit_that_is_as_slow_as_the_launch_is_split_as_its_waves_are(run: UnitRun) -> None:
    spent = attribute(run, 1000, 1000, 1000)
    waves = run.by_wave.sum()
    for cause, clocks in run.causes.items():
        if clocks:
            assert spent[cause.name.lower()] == pytest.approx(1000 * clocks / waves)
    assert spent[BYTES] == spent[LAUNCH] == 0


def test_faster_memory_shortens_the_waits_for_it_and_nothing_else(run: UnitRun) -> None:
    before, after = attribute(run, 1000, 1000, 1000), attribute(run, 1000, 900, 900)
    changed = {name for name in before if before[name] != pytest.approx(after[name])}
    assert changed <= set(MEMORY_WAITS)
    assert sum(after.values()) == pytest.approx(900)


def test_waits_cannot_be_shorter_than_nothing(run: UnitRun) -> None:
    after = attribute(run, 1000, 1, 1)
    assert sum(after.values()) == pytest.approx(1)
    assert min(after.values()) >= 0


def test_what_waves_do_not_wait_for_is_a_cause_of_its_own(run: UnitRun) -> None:
    spent = attribute(run, 1000, 1200, 1500)
    assert (spent[BYTES], spent[LAUNCH]) == (200, 300)
    assert sum(spent.values()) == pytest.approx(1500)


@pytest.mark.parametrize("level", [L2, MALL, HBM])
@pytest.mark.parametrize("blocks", [1, 64, 1000, 16384])
def test_causes_and_the_fixed_cost_add_up_to_the_time(level: int, blocks: int) -> None:
    made = estimate(kernel_of(BODY), tiles(blocks, 1), HARDWARE, all_from(level))
    assert whole(made) == pytest.approx(made.us, rel=1e-12)
    assert made.causes[FIXED] == HARDWARE["kernel_fixed"]
    assert min(made.causes.values()) >= 0


def test_a_grid_that_is_mostly_empty_waits_for_its_launch() -> None:
    few = replace(tiles(8, 1), grid=80000)
    made = estimate(kernel_of("s_nop 0\n"), few, HARDWARE, all_from(L2))
    assert (made.basis, made.bound) == (LAUNCH, LAUNCH)
    launch = 80000 / 8 * HARDWARE["workgroup_launch"]
    assert made.clocks == launch
    assert made.causes[LAUNCH] > 0.9 * (made.us - HARDWARE["kernel_fixed"])
    assert whole(made) == pytest.approx(made.us)


def test_bases_are_told_apart() -> None:
    kernel = kernel_of(BODY)
    assert estimate(kernel, tiles(8, 1), HARDWARE, all_from(L2)).basis == WAVES
    assert estimate(kernel, tiles(16384, 1), HARDWARE, all_from(HBM)).basis == BYTES


def test_what_all_units_read_from_their_l2s_is_bounded() -> None:
    """No byte leaves the L2, and yet the launch cannot be faster than the L2s deliver."""
    kernel, many = kernel_of(BODY), tiles(16384, 1)
    slow = estimate(kernel, many, HARDWARE, all_from(L2))
    peak = HARDWARE.with_values({"l2_read": HARDWARE.constant("l2_read").high})
    moved = 16384 * 4 * 16 * 1024
    rate = moved / (slow.us - HARDWARE["kernel_fixed"]) / 1e6
    assert 0.9 * HARDWARE["l2_read"] < rate <= HARDWARE["l2_read"]
    assert slow.bound == "l2"
    assert estimate(kernel, many, peak, all_from(L2)).us < slow.us


def test_many_workgroups_are_spread_over_the_units_by_their_mean() -> None:
    """Not by the fullest unit: a workgroup goes to whichever unit is free."""
    kernel = kernel_of("v_mov_b32 v9, v8\n" * 40)
    times = {
        count: estimate(kernel, tiles(count, 1), HARDWARE, all_from(L2)).clocks
        for count in (256 * 40, 256 * 40 + 8, 256 * 41)
    }
    first, second, third = times.values()
    assert second - first == pytest.approx((third - first) * 8 / 256, rel=1e-6)


MFMAS = 160
DENSE = BODY + "".join(
    f"v_mfma_scale_f32_16x16x128_f8f6f4 v[{d}:{d + 3}], v[80:83], v[84:87], v[{d}:{d + 3}], "
    "v88, v89 cbsz:4 blgp:4\n"
    for d in [4 * (k % 16) for k in range(MFMAS)]
)


@pytest.mark.parametrize("constant", ["l2_read", "mall_read", "hbm_read"])
def test_more_bandwidth_is_never_slower_where_matrix_duty_sets_the_clock(constant: str) -> None:
    """A launch that waits less has more duty and a lower clock, and is still not slower."""
    kernel, many = kernel_of(DENSE), tiles(16384, 1)
    level = {"l2_read": L2, "mall_read": MALL, "hbm_read": HBM}[constant]
    known = HARDWARE.constant(constant)
    steps = np.linspace(known.low, known.high, 6)
    times = [
        estimate(kernel, many, HARDWARE.with_values({constant: value}), all_from(level))
        for value in steps
    ]
    us = [made.us for made in times]
    assert us == sorted(us, reverse=True)
    assert times[-1].clock <= times[0].clock


def test_the_clock_follows_the_duty_over_the_launch_and_not_over_a_slower_unit() -> None:
    """Units with equal shares are simulated; what the memory does faster raises the duty."""
    kernel, count = kernel_of(DENSE), 16384
    made = estimate(kernel, tiles(count, 1), HARDWARE, all_from(MALL))
    assert made.basis == BYTES
    matrix = made.run.matrix_clocks / made.run.groups * count / HARDWARE["compute_units"]
    duty = matrix / HARDWARE["simds"] / made.clocks
    law = clock_of(HARDWARE, duty)
    assert law < HARDWARE["max_clock"]
    assert made.clock == pytest.approx(law, abs=3 * CLOCK_TOLERANCE)  # a short run has a start
