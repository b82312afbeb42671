"""Counters, barriers, causes, determinism and monotonicity of the compute unit."""

from __future__ import annotations

import pytest

from mxfp4kernels.timing.code import Column, Unit, lower
from mxfp4kernels.timing.constants import ConstantError, read_hardware
from mxfp4kernels.timing.engine import Cause
from mxfp4kernels.timing.unit import MemoryState

from .micro import CLOCK, gaps, micro, total

BUFFER = 1 << 20
PROLOGUE = """s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32 v1, 4, v0
s_waitcnt lgkmcnt(0)
"""


def loads(count: int, waits: str = "s_waitcnt vmcnt(0)\n", waves: int = 1):
    """Loads of 16 B per lane from different places of one buffer."""
    body = PROLOGUE + "v_lshl_add_u32 v1, v0, 4, 0\n"
    for k in range(count):
        body += f"global_load_dwordx4 v[{4 + 4 * (k % 32)}:{7 + 4 * (k % 32)}], v1, s[4:5]\n"
        body += "v_add_u32 v1, 0x1000, v1\n"
    return micro(body + waits, data={"x": BUFFER}, waves=waves)


def test_vmcnt_waits_for_the_oldest_loads_only() -> None:
    waits = "".join(f"s_waitcnt vmcnt({left})\n" for left in (2, 1, 0))
    kernel = loads(3, waits)
    run = kernel.run()
    issued, waited = kernel.issued(run, "global_load"), kernel.issued(run, "s_waitcnt")[1:]
    latency = waited[0] - issued[0]
    assert latency == 16 + 212
    assert gaps(waited) == [16, 16]
    assert total(run, Cause.VMCNT) > 0


def test_scalar_loads_are_cold_once() -> None:
    hardware = read_hardware()
    kernel = micro(PROLOGUE + PROLOGUE, data={"x": 64})
    run = kernel.run()
    load, wait = kernel.issued(run, "s_load"), kernel.issued(run, "s_waitcnt")
    assert wait[0] - load[0] == hardware["smem_cold"]
    assert wait[1] - load[1] == pytest.approx(hardware["smem_hit"], abs=4)


def test_a_scalar_line_on_its_way_is_there_no_earlier_for_other_waves() -> None:
    """All waves ask for the same arguments within a few clocks; none has them before the first."""
    kernel = micro(PROLOGUE, data={"x": 64}, waves=4)
    run = kernel.run()
    there = [kernel.issued(run, "s_waitcnt", wave)[0] for wave in range(4)]
    assert min(there) >= read_hardware()["smem_cold"]
    assert max(there) - min(there) < 16


def scalar(offset: int, kernarg: int = 512):
    """Two scalar loads of kernel arguments, one after the other."""
    body = (
        f"s_load_dword s4, s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\ns_load_dword s5, s[0:1], {offset}\n"
    )
    data = {f"x{k}": 64 for k in range(kernarg // 8)}
    return micro(body + "s_waitcnt lgkmcnt(0)\n", data=data)


@pytest.mark.parametrize(
    ("offset", "constant"), [(60, "smem_hit"), (64, "smem_l2"), (128, "smem_cold")]
)
def test_the_other_half_of_a_line_is_in_the_l2(offset: int, constant: str) -> None:
    kernel = scalar(offset)
    run = kernel.run()
    took = kernel.issued(run, "s_waitcnt")[1] - kernel.issued(run, "s_load")[1]
    assert took == pytest.approx(read_hardware()[constant], abs=4)


def test_what_an_earlier_kernel_left_comes_from_the_mall() -> None:
    body = PROLOGUE + "s_load_dword s6, s[4:5], 0x0\ns_waitcnt lgkmcnt(0)\n"
    kernel, hardware = micro(body, data={"x": 64}), read_hardware()
    run = kernel.run()
    took = kernel.issued(run, "s_waitcnt")[1] - kernel.issued(run, "s_load")[1]
    assert took == pytest.approx(hardware["smem_l2"] + hardware["mall_latency"] * CLOCK, abs=4)


def test_workgroups_that_begin_later_find_scalar_lines_in_the_caches() -> None:
    kernel = micro(PROLOGUE, data={"x": 64})
    alone, two = kernel.run(), kernel.run(groups=2, resident=1)
    assert two.clocks - alone.clocks < read_hardware()["smem_cold"] / 4


def test_bytes_in_flight_bound_the_bandwidth() -> None:
    """With latency L a CU streams what may be in flight per round trip: 32 KB / L."""
    kernel = loads(48, waves=4)
    hardware = read_hardware().with_values({"mall_latency": 140})
    run = kernel.run(hardware, memory=MemoryState.uniform(kernel.trace.buffers, 1.0, active=1))
    trip = hardware["l2_latency"] + 140 * CLOCK
    start = min(kernel.issued(run, "global_load", wave)[0] for wave in range(4))
    rate = 48 * 4 * 1024 / (run.clocks - start - trip)
    assert rate == pytest.approx(hardware["vmem_in_flight"] / (trip + 16), rel=0.1)


def test_barrier_skew_is_the_waiting_of_the_early_waves() -> None:
    """Wave 0 computes for 100 slots, the other three wait for it."""
    body = "v_cmp_gt_u32 vcc, 64, v0\ns_cbranch_vccz .late\n" + "v_mov_b32 v9, v8\n" * 100
    kernel = micro(body + ".late:\ns_barrier\nv_mov_b32 v9, v8\n", waves=4)
    run = kernel.run()
    arrivals = [kernel.issued(run, "s_barrier", wave)[0] for wave in range(4)]
    skew = arrivals[0] - arrivals[1]
    assert skew == pytest.approx(400, abs=3)
    release = read_hardware()["barrier_release"]
    assert run.by_wave[0, Cause.BARRIER] == release
    assert run.by_wave[1, Cause.BARRIER] == pytest.approx(skew + release, abs=4)


def test_nops_cost_four_clocks_a_state() -> None:
    run = micro("s_nop 7\ns_nop 0\n").run()
    assert total(run, Cause.NOP) == 36


def test_valu_of_one_wave_issues_every_four_clocks_and_shares_its_simd() -> None:
    body = "v_mov_b32 v9, v8\n" * 100
    assert micro(body).run().clocks == pytest.approx(404, abs=4)
    assert micro(body, waves=4).run().clocks == pytest.approx(404, abs=8)
    assert micro(body, waves=8).run().clocks == pytest.approx(804, abs=8)


def test_causes_add_up_to_every_waves_span() -> None:
    kernel = loads(40, waves=4)
    run = kernel.run(groups=5, resident=2)
    assert (run.by_wave.sum(axis=1) == run.span[:, 1] - run.span[:, 0]).all()
    assert run.by_instruction.sum() == run.by_wave.sum()
    assert run.spent.sum() == run.by_wave[:4].sum()
    assert run.spent.min() >= 0
    assert run.clocks == run.span[:, 1].max()


def test_two_runs_are_equal() -> None:
    kernel = loads(40, waves=4)
    first, second = (kernel.run(groups=3, resident=2) for _ in range(2))
    assert (first.issued == second.issued).all()
    assert (first.by_wave == second.by_wave).all()


@pytest.mark.parametrize(
    ("constant", "faster"),
    [("mall_read", "high"), ("hbm_read", "high"), ("hbm_latency", "low"), ("smem_cold", "low"),
     ("lds_latency", "low"), ("barrier_release", "low"), ("vmem_in_flight", "high")],
)  # fmt: skip
def test_better_hardware_is_never_slower(constant: str, faster: str) -> None:
    kernel = loads(48, "s_waitcnt vmcnt(0)\ns_barrier\n", waves=4)
    hardware = read_hardware()
    known = hardware.constant(constant)
    slower = known.low if faster == "high" else known.high
    better = known.high if faster == "high" else known.low
    state = MemoryState.uniform(kernel.trace.buffers, 1.0, 0.8)
    clocks = [
        kernel.run(hardware.with_values({constant: value}), memory=state, groups=4).clocks
        for value in (slower, better)
    ]
    assert clocks[1] <= clocks[0]


def test_more_active_units_never_give_one_more_bandwidth() -> None:
    kernel = loads(48, waves=4)
    clocks = [
        kernel.run(memory=MemoryState.uniform(kernel.trace.buffers, 1.0, 1.0, active)).clocks
        for active in (8, 64, 128, 256)
    ]
    assert clocks == sorted(clocks)


@pytest.mark.parametrize(
    ("opcode", "lanes", "clocks"),
    [("dwordx2", 64, 16), ("dwordx4", 64, 16), ("dwordx4", 32, 8), ("dwordx2", 32, 16)],
)
def test_a_load_is_as_wide_as_its_opcode_says(opcode: str, lanes: int, clocks: int) -> None:
    """Half a wave of four dwords a lane moves the bytes of a whole one of two, and is faster.

    Eight loads keep the vector cache busy; the last one's data shows for how long each.
    """
    width = int(opcode[-1])
    loads = "".join(
        f"global_load_{opcode} v[{8 + 4 * k}:{7 + 4 * k + width}], v1, s[4:5]\n" for k in range(8)
    )
    body = (
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
        f"v_lshlrev_b32 v1, {2 + width // 2}, v0\ns_waitcnt lgkmcnt(0)\n"
        f"s_mov_b64 exec, {'-1' if lanes == 64 else '0xffffffff'}\n{loads}"
        "s_waitcnt vmcnt(0)\ns_barrier\n"
    )
    made = micro(body, data={"w1": 4096})
    hardware = read_hardware()
    table = lower(made.program, hardware).table
    assert set(table[table[:, Column.UNIT] == Unit.LOAD, Column.DWORDS]) == {width}
    run = made.run()
    first, done = made.issued(run, "global_load")[0], made.issued(run, "s_barrier")[0]
    assert done - first == pytest.approx(8 * clocks + hardware["l2_latency"], abs=12)


def test_a_constant_outside_its_range_is_refused() -> None:
    with pytest.raises(ConstantError, match=r"hbm_read = 9\.0 TB/s lies outside its range"):
        read_hardware().with_values({"hbm_read": 9.0})
    with pytest.raises(ConstantError, match="no constant 'speed'"):
        read_hardware()["speed"]
