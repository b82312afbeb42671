"""Traffic of hand-made tile lists, whole launches, timelines."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mxfp4kernels.timing.code import lower
from mxfp4kernels.timing.constants import read_hardware
from mxfp4kernels.timing.device import Kernel, clock_of, estimate, load_of
from mxfp4kernels.timing.engine import Cause
from mxfp4kernels.timing.timeline import binned, page, segments_of
from mxfp4kernels.timing.traffic import HBM, L2, MALL, A, B, Tiles, Traffic, traffic_of
from mxfp4kernels.timing.unit import hbm_part

from .micro import micro

ROW, COLUMN = 128, 32768
HARDWARE = read_hardware()


def tiles(blocks: int, columns: int, *, experts: int = 1, persistent: bool = False) -> Tiles:
    """Blocks of one row each, dealt to experts in contiguous runs."""
    return Tiles(
        expert=np.arange(blocks, dtype=np.int64) * experts // blocks,
        row_start=np.arange(blocks + 1, dtype=np.int64),
        row=np.arange(blocks, dtype=np.int64),
        columns=columns,
        k_tiles=2,
        row_bytes=ROW,
        column_bytes=COLUMN,
        grid=blocks * columns,
        persistent=persistent,
    )


def test_every_byte_is_served_once() -> None:
    made = tiles(24, 4, experts=3)
    served = traffic_of(made, HARDWARE, 32).served
    assert served[A].sum() == 24 * 4 * 2 * ROW
    assert served[B].sum() == 24 * 4 * 2 * COLUMN


def test_weights_come_from_hbm_once_and_from_the_mall_for_other_xcds() -> None:
    """Eight blocks of one expert and one column: each XCD has one, all read the same weights."""
    served = traffic_of(tiles(8, 1), HARDWARE, 32).served
    assert served[B].tolist() == [0, 7 * 2 * COLUMN, 2 * COLUMN]
    assert served[A, HBM] == 0


def test_side_by_side_workgroups_of_an_xcd_share_its_l2() -> None:
    """Sixteen blocks, one column: two on each XCD, and the second finds the weights there."""
    served = traffic_of(tiles(16, 1), HARDWARE, 32).served
    assert served[B, L2] == 8 * 2 * COLUMN
    assert served[B, MALL] + served[B, HBM] == 8 * 2 * COLUMN


def test_contiguous_ranges_keep_weights_on_one_xcd() -> None:
    """Persistent grids give an XCD neighbouring tiles, so blocks of an expert meet there."""
    dealt = traffic_of(tiles(64, 1, experts=8), HARDWARE, 32)
    ranges = traffic_of(tiles(64, 1, experts=8, persistent=True), HARDWARE, 32)
    assert ranges.beyond_l2(B) == pytest.approx(1 / 8)
    assert dealt.beyond_l2(B) == pytest.approx(1.0)


def test_load_of_a_launch() -> None:
    hardware = read_hardware()
    assert load_of(120, hardware).most == 1
    assert load_of(120, hardware).active == 120
    more = load_of(256 * 3 + 8, hardware)
    assert (more.most, more.heavy, more.active) == (4, 8, 256)


@pytest.mark.parametrize("written", [False, True])
def test_more_units_never_reach_less_of_the_hbm(written: bool) -> None:
    parts = [hbm_part(HARDWARE, units, written=written) for units in range(1, 1025)]
    assert parts == sorted(parts)
    assert parts[255] == parts[-1] == pytest.approx(1.0)


def test_reads_and_writes_have_their_own_laws() -> None:
    """Origami's parabolas at 64 units, in numbers."""
    assert hbm_part(HARDWARE, 64) == pytest.approx(0.4912, abs=1e-4)
    assert hbm_part(HARDWARE, 64, written=True) == pytest.approx(0.6154, abs=1e-4)


def test_the_clock_falls_with_matrix_duty_and_never_exceeds_its_maximum() -> None:
    hardware = read_hardware()
    assert clock_of(hardware, 0.0) == hardware["max_clock"]
    assert clock_of(hardware, 0.939) == pytest.approx(1.548, abs=0.01)


BODY = """s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 4, v0
s_waitcnt lgkmcnt(0)
""" + "".join(
    f"global_load_dwordx4 v[{4 + 4 * k}:{7 + 4 * k}], v1, s[4:5]\nv_add_u32 v1, 0x1000, v1\n"
    for k in range(16)
)
BODY += "s_waitcnt vmcnt(0)\ns_barrier\n"


@pytest.fixture(name="kernel", scope="module")
def _kernel() -> Kernel:
    made = micro(BODY, waves=4, data={"w1": 1 << 17})
    code = lower(made.program, read_hardware())
    return Kernel(code, {1: made.work}, made.trace.buffers, resident=4)


def _all_from(level: int) -> Traffic:
    served = np.zeros((2, 3))
    served[:, level] = 1
    return Traffic(served)


def test_more_bandwidth_is_never_slower_and_more_work_never_faster(kernel: Kernel) -> None:
    hardware = read_hardware()
    times = [
        estimate(kernel, tiles(blocks, 1), hardware, _all_from(HBM)).us
        for blocks in (64, 256, 1024, 4096, 16384)
    ]
    assert times == sorted(times)
    fast = hardware.with_values({"hbm_read": 6.6, "mall_read": 11.0})
    assert estimate(kernel, tiles(4096, 1), fast, _all_from(HBM)).us <= times[3]


def test_a_streaming_launch_reaches_the_hbm_bandwidth_and_not_more(kernel: Kernel) -> None:
    hardware = read_hardware()
    made = estimate(kernel, tiles(16384, 1), hardware, _all_from(HBM))
    moved = 16384 * 4 * 16 * 1024
    rate = moved / (made.us - hardware["kernel_fixed"]) / 1e6
    assert 0.9 * hardware["hbm_read"] < rate <= hardware["hbm_read"]
    assert made.bound == "hbm"
    assert sum(made.causes.values()) == pytest.approx(made.us)


def test_a_timeline_covers_every_clock_of_a_wave(kernel: Kernel) -> None:
    made = micro(BODY, waves=4, data={"w1": 1 << 17})
    run = made.run()
    segments = segments_of(made.work, run)
    for wave in range(4):
        mine = [segment for segment in segments if segment.wave == wave]
        assert all(a.end == b.start for a, b in pairwise(mine))
        assert sum(segment.end - segment.start for segment in mine) == run.by_wave[wave].sum()
    bins = binned(segments, 40)
    assert {part.cause for part in bins} >= {Cause.VMCNT, Cause.LGKMCNT}
    text = page("a <kernel>", made.program, made.work, run)
    assert "a &lt;kernel&gt;" in text
    assert "Modelled, not measured" in text


def test_a_run_without_a_record_has_no_timeline(kernel: Kernel) -> None:
    made = micro("s_nop 0\n")
    with pytest.raises(ValueError, match="record=0"):
        segments_of(made.work, made.run(record=-1))
