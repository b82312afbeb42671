"""The LDS pipeline against the ten measured points of its bank-conflict ladder."""

from __future__ import annotations

import pytest

from .micro import gaps, micro

# Bytes between neighbouring lanes, ways, clocks per ds_read_b128 and SIMD with one wave on the CU
# and with one on each SIMD. Source: ROCm/gfx950-gluon-tutorials, lds_throughput_validation.
LADDER = [(16, 1, 8, 16), (32, 2, 8, 32), (64, 4, 16, 64), (128, 8, 32, 128)]
UNALIGNED = (64, 256)
READS = 64


def _reads(stride: int, offset: int = 0, opcode: str = "ds_read_b128 v[4:7]", waves: int = 1):
    shift = stride.bit_length() - 1
    body = f"v_and_b32 v1, 63, v0\nv_lshlrev_b32 v1, {shift}, v1\nv_add_u32 v1, {offset}, v1\n"
    return micro(body + f"{opcode}, v1\n" * READS + "s_waitcnt lgkmcnt(0)\n", waves=waves)


def _steady(kernel, waves: int) -> float:
    """Clocks per read once the queue is full."""
    times = kernel.issued(kernel.run(), "ds_read")
    return (times[-1] - times[READS // 2]) / (READS - 1 - READS // 2)


@pytest.mark.parametrize("waves", [1, 4])
@pytest.mark.parametrize(("stride", "ways", "one", "four"), LADDER)
def test_bank_conflict_ladder(stride: int, ways: int, one: int, four: int, waves: int) -> None:
    kernel = _reads(stride, waves=waves)
    (record, *_) = kernel.trace.waves[0].accesses
    assert record["turns"] == ways * record["phases"]
    assert _steady(kernel, waves) == pytest.approx(one if waves == 1 else four, rel=0.02)


@pytest.mark.parametrize(("waves", "clocks"), [(1, UNALIGNED[0]), (4, UNALIGNED[1])])
def test_unaligned_reads(waves: int, clocks: int) -> None:
    assert _steady(_reads(16, offset=4, waves=waves), waves) == pytest.approx(clocks, rel=0.02)


@pytest.mark.parametrize(
    ("opcode", "stride", "clocks"),
    [("ds_read_b64 v[4:5]", 8, 8), ("ds_read_b32 v4", 4, 4)],
)
def test_narrow_reads_take_their_share_of_the_bus(opcode: str, stride: int, clocks: int) -> None:
    assert _steady(_reads(stride, opcode=opcode, waves=4), 4) == pytest.approx(clocks, rel=0.02)


def test_latency_of_one_read() -> None:
    kernel = micro("v_lshlrev_b32 v1, 4, v0\nds_read_b128 v[4:7], v1\ns_waitcnt lgkmcnt(0)\n")
    run = kernel.run()
    assert kernel.issued(run, "s_waitcnt")[0] - kernel.issued(run, "ds_read")[0] == 64


def test_the_ninth_read_waits_for_the_queue() -> None:
    kernel = _reads(128)
    between = gaps(kernel.issued(kernel.run(), "ds_read"))
    assert between[:7] == [4] * 7
    assert between[12] == 32
