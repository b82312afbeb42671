"""The sanitizer on small programs: every kind of hazard, and what a program can do without."""

from __future__ import annotations

import numpy as np
import pytest

from mxfp4kernels.emulator import (
    LOCKSTEP,
    LaunchError,
    Memory,
    MemoryFault,
    Order,
    Report,
    mutants,
    orders,
    sanitize,
)
from mxfp4kernels.emulator.mutants import Mutant

from .harness import assemble
from .test_flow import KERNEL

LDS = 4096
HEAD = """
        s_load_dwordx4 s[4:7], s[0:1], 0x0      ; input, output
        v_lshlrev_b32_e32 v1, 2, v0             ; 4 * thread
        v_readfirstlane_b32 s3, v0
        s_lshr_b32 s3, s3, 6                    ; wave
        s_waitcnt lgkmcnt(0)
        s_mov_b32 s8, s4                        ; descriptor of the input
        s_mov_b32 s9, s5
        s_mov_b32 s10, 4096
        s_mov_b32 s11, 0x27000
"""


class Run:
    """A sanitized run of ``HEAD`` and some instructions on 2048 words of input."""

    def __init__(
        self,
        text: str,
        *,
        threads: int = 128,
        grid: int = 1,
        both_writable: bool = False,
        **options: object,
    ) -> None:
        self.program = assemble(HEAD + text, amdhsa_group_segment_fixed_size=LDS, **KERNEL)
        self.memory = Memory()
        self.out = np.zeros(2048, np.uint32)
        source = np.arange(1000, 3048, dtype=np.uint32)
        addresses = (
            self.memory.allocate("input", source, writable=both_writable),
            self.memory.allocate("output", self.out),
        )
        self.kernarg = b"".join(address.to_bytes(8, "little") for address in addresses)
        self.launch = ((grid, 1, 1), (threads, 1, 1), self.memory)
        self.report = sanitize(self.program, self.kernarg, *self.launch, **options)  # type: ignore[arg-type]

    def hazards(self) -> list[tuple[str, str, str]]:
        """Kind and opcodes of each hazard."""
        return [(h.kind, h.first.opcode, h.second.opcode) for h in self.report.hazards]

    def of(self, program_of: Mutant) -> Report:
        """The report on a mutant, in lockstep."""
        return sanitize(
            program_of.program, self.kernarg, *self.launch, run_orders=[LOCKSTEP], limit=10000
        )


# ---- results used in flight

LOAD = "global_load_dword v2, v1, s[4:5]\n"
STORE = "global_store_dword v1, v2, s[6:7]\n"


def test_missing_wait_for_a_load() -> None:
    run = Run(LOAD + STORE)
    assert run.hazards() == [("register", "global_load_dword", "global_store_dword")]
    text = str(run.report.hazards[0])
    assert "line 16 (global_load_dword v2, v1, s[4:5])" in text
    assert "line 17" in text
    assert "workgroup 0, wave 0: v2: needs s_waitcnt vmcnt(0) between them" in text
    assert not run.report.clean


def test_a_result_in_flight_is_not_there_yet() -> None:
    """The load takes effect as late as the waits allow, so the stale register is stored."""
    run = Run("v_mov_b32_e32 v2, 7\ns_waitcnt vmcnt(0)\n" + LOAD + STORE)
    assert set(run.out[:128]) == {7}
    run = Run(LOAD + "s_waitcnt vmcnt(0)\n" + STORE)
    assert run.report.clean
    assert run.out[:128].tolist() == list(range(1000, 1128))


TWO_LOADS = "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5] offset:512\n"


@pytest.mark.parametrize(
    ("count", "used", "clean"),
    [(1, "v2", True), (1, "v3", False), (0, "v3", True), (2, "v2", False)],
)
def test_loads_return_in_order(count: int, used: str, clean: bool) -> None:
    run = Run(TWO_LOADS + f"s_waitcnt vmcnt({count})\nv_mov_b32_e32 v4, {used}")
    assert run.report.clean is clean


def test_missing_wait_names_the_count() -> None:
    run = Run(TWO_LOADS + "v_mov_b32_e32 v4, v2")
    assert "needs s_waitcnt vmcnt(1) between them" in str(run.report.hazards[0])


def test_scalar_loads_return_in_any_order() -> None:
    two = "s_load_dword s12, s[4:5], 0x0\ns_load_dword s13, s[4:5], 0x4\n"
    run = Run(two + "s_waitcnt lgkmcnt(1)\ns_mov_b32 s14, s12")
    assert run.hazards() == [("register", "s_load_dword", "s_mov_b32")]
    assert Run(two + "s_waitcnt lgkmcnt(0)\ns_mov_b32 s14, s12").report.clean


def test_lds_and_scalar_loads_share_a_counter() -> None:
    """lgkmcnt(1) proves the older of two LDS reads done, whatever the scalar load does."""
    mixed = "ds_read_b32 v2, v1\nds_read_b32 v3, v1\ns_load_dword s12, s[4:5], 0x0\n"
    mixed += "s_waitcnt lgkmcnt(1)\n"
    assert Run(mixed + "v_mov_b32_e32 v4, v2").hazards() == []
    assert Run(mixed + "v_mov_b32_e32 v4, v3").hazards()[0][1] == "ds_read_b32"
    assert Run(mixed + "s_mov_b32 s13, s12").hazards()[0][1] == "s_load_dword"


def test_overwriting_a_register_in_flight() -> None:
    run = Run(LOAD + "v_mov_b32_e32 v2, 0")
    assert run.hazards() == [("register", "global_load_dword", "v_mov_b32_e32")]
    run = Run(LOAD + "ds_read_b32 v2, v1")
    assert run.hazards() == [("register", "global_load_dword", "ds_read_b32")]
    assert Run(LOAD + "global_load_dword v2, v1, s[4:5] offset:512").report.clean


def test_reading_an_address_in_flight() -> None:
    run = Run("global_load_dword v1, v1, s[4:5]\nglobal_load_dword v2, v1, s[4:5]")
    assert ("register", "global_load_dword", "global_load_dword") in run.hazards()


def test_branch_on_a_register_in_flight() -> None:
    run = Run("s_load_dwordx2 vcc, s[4:5], 0x0\ns_cbranch_vccz .Lend\ns_nop 0\n.Lend:\n")
    assert run.hazards() == [("register", "s_load_dwordx2", "s_cbranch_vccz")]


def test_flat_loads_need_both_counters() -> None:
    flat = """
        v_mov_b32_e32 v4, s4
        v_mov_b32_e32 v5, s5
        flat_load_dword v2, v[4:5]
    """
    assert not Run(flat + "s_waitcnt vmcnt(0)\nv_mov_b32_e32 v3, v2").report.clean
    assert not Run(flat + "s_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v3, v2").report.clean
    both = flat + "s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)\nv_mov_b32_e32 v3, v2"
    assert Run(both).report.clean
    run = Run(flat + "v_mov_b32_e32 v3, v2")
    assert "vmcnt(0) lgkmcnt(0)" in run.report.hazards[0].missing


def test_stores_are_not_waited_for_by_their_own_wave() -> None:
    assert Run("global_store_dword v1, v0, s[6:7]\nv_mov_b32_e32 v0, 1").report.clean


def test_exchange_between_lanes_is_waited_for() -> None:
    run = Run("ds_bpermute_b32 v2, v1, v0\nv_mov_b32_e32 v3, v2")
    assert run.hazards() == [("register", "ds_bpermute_b32", "v_mov_b32_e32")]


# ---- races in LDS

WRITE = "ds_write_b32 v1, v0\n"
READ_OTHER = "v_xor_b32_e32 v3, 0x100, v1\nds_read_b32 v2, v3\n"
USE = "s_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[6:7]\n"
WAIT, BARRIER = "s_waitcnt lgkmcnt(0)\n", "s_barrier\n"


def test_missing_barrier() -> None:
    run = Run(WRITE + WAIT + READ_OTHER + USE)
    assert run.hazards() == [("lds", "ds_write_b32", "ds_read_b32")]
    assert "wave 0 against wave 1" in str(run.report.hazards[0])
    assert run.report.hazards[0].missing == "needs s_barrier between them"


def test_missing_wait_before_a_barrier() -> None:
    run = Run(WRITE + BARRIER + READ_OTHER + USE)
    assert run.hazards() == [("lds", "ds_write_b32", "ds_read_b32")]
    assert "s_waitcnt for its lgkmcnt in the first wave, then s_barrier" in str(
        run.report.hazards[0]
    )


def test_exchange_through_lds() -> None:
    run = Run(WRITE + WAIT + BARRIER + READ_OTHER + USE)
    assert run.report.clean
    assert run.out[:128].tolist() == [t ^ 64 for t in range(128)]


def test_waves_that_keep_to_their_own_bytes_need_no_barrier() -> None:
    assert Run(WRITE + WAIT + "ds_read_b32 v2, v1\n" + USE).report.clean


def test_bytes_of_one_dword_are_apart() -> None:
    """Waves that write different bytes of one dword do not race."""
    text = """
        v_lshl_add_u32 v3, v0, 2, 0
        v_and_b32_e32 v3, 0xff, v3
        v_add_u32_e32 v3, s3, v3
        ds_write_b8 v3, v0
    """
    assert Run(text).report.clean


def test_write_after_read_by_another_wave() -> None:
    start = WRITE + WAIT + BARRIER + READ_OTHER
    run = Run(start + "s_waitcnt lgkmcnt(0)\n" + WRITE)
    assert run.hazards() == [("lds", "ds_read_b32", "ds_write_b32")]
    assert Run(start + "s_waitcnt lgkmcnt(0)\n" + BARRIER + WRITE).report.clean


def test_read_that_is_not_waited_for_before_the_barrier() -> None:
    """The read may still be on its way when another wave, past the barrier, overwrites it."""
    run = Run(WRITE + WAIT + BARRIER + READ_OTHER + BARRIER + WRITE + USE)
    assert run.hazards() == [("lds", "ds_read_b32", "ds_write_b32")]


def test_lds_atomics_do_not_race_with_each_other() -> None:
    atomic = "v_mov_b32_e32 v3, 0\nds_add_u32 v3, v0\n"
    assert Run(atomic).hazards() == []
    run = Run(atomic + "ds_read_b32 v2, v3\ns_waitcnt lgkmcnt(0)\n")
    assert run.hazards() == [("lds", "ds_add_u32", "ds_read_b32")]


# ---- loads to LDS

FILL = """
        s_lshl_b32 s12, s3, 8                   ; 256 bytes per wave
        s_mov_b32 m0, s12
        buffer_load_dword v1, s[8:11], 0 offen lds
"""
VM = "s_waitcnt vmcnt(0)\n"


def test_own_load_to_lds_must_be_waited_for() -> None:
    run = Run(FILL + "ds_read_b32 v2, v1\n" + USE)
    assert run.hazards() == [("lds", "buffer_load_dword", "ds_read_b32")]
    assert "needs s_waitcnt for its vmcnt between them" in str(run.report.hazards[0])
    run = Run(FILL + VM + "ds_read_b32 v2, v1\n" + USE)
    assert run.report.clean
    assert run.out[:128].tolist() == list(range(1000, 1128))


def test_load_to_lds_for_another_wave() -> None:
    """The wave that loads must wait before the barrier; the one that reads cannot do it."""
    assert Run(FILL + VM + BARRIER + READ_OTHER + USE).report.clean
    run = Run(FILL + BARRIER + VM + READ_OTHER + USE)
    assert run.hazards() == [("lds", "buffer_load_dword", "ds_read_b32")]
    run = Run(FILL + VM + READ_OTHER + USE)
    assert run.hazards() == [("lds", "buffer_load_dword", "ds_read_b32")]


def test_load_to_lds_over_a_pending_read() -> None:
    run = Run(FILL + VM + "ds_read_b32 v2, v1\n" + FILL + USE)
    assert ("lds", "ds_read_b32", "buffer_load_dword") in run.hazards()
    assert Run(FILL + VM + "ds_read_b32 v2, v1\n" + WAIT + FILL + USE).report.clean


def test_load_to_lds_arrives_late() -> None:
    """Without the wait the reader sees what was there before."""
    seed = "v_mov_b32_e32 v4, 5\nds_write_b32 v1, v4\n" + WAIT
    run = Run(seed + FILL + "ds_read_b32 v2, v1\n" + USE)
    assert set(run.out[:128]) == {5}


def test_m0_may_change_while_a_load_to_lds_is_in_flight() -> None:
    run = Run(FILL + "s_mov_b32 m0, 0\n" + VM + "ds_read_b32 v2, v1\n" + USE)
    assert run.out[:128].tolist() == list(range(1000, 1128))


# ---- races in global memory


def test_global_race() -> None:
    store = "global_store_dword v1, v0, s[6:7]\n"
    load = "v_xor_b32_e32 v3, 0x100, v1\nglobal_load_dword v2, v3, s[6:7]\n" + VM
    assert Run(store + VM + BARRIER + load).report.clean
    for text in (store + load, store + BARRIER + load, store + VM + load):
        assert ("global", "global_store_dword", "global_load_dword") in Run(text).hazards()


def test_two_waves_that_store_to_one_place() -> None:
    """The race is reported, and the result depends on which wave runs ahead."""
    run = Run("v_and_b32_e32 v3, 0xff, v1\nv_mov_b32_e32 v2, s3\nglobal_store_dword v3, v2, s[6:7]")
    assert run.hazards() == [("global", "global_store_dword", "global_store_dword")]
    differing = {d.order for d in run.report.differences}
    assert differing == {"wave 0 behind", "wave 1 ahead"}
    assert all(d.buffer == "output" and d.count == 64 for d in run.report.differences)
    assert set(run.out[:64]) == {1}  # memory is left as the lockstep run leaves it


def test_atomics_differ_without_being_a_hazard() -> None:
    text = """
        v_mov_b32_e32 v3, 0
        v_mov_b32_e32 v4, 1
        global_atomic_add v2, v3, v4, s[6:7] sc0
        s_waitcnt vmcnt(0)
        v_add_u32_e32 v5, 64, v1
        global_store_dword v5, v2, s[6:7]
    """
    run = Run(text)
    assert run.report.clean
    assert run.report.differences
    assert all(d.atomic for d in run.report.differences)


def test_atomics_of_one_instruction_to_two_buffers() -> None:
    """Each wave swaps its number into the first word of both buffers."""
    text = """
        v_mov_b32_e32 v2, s6
        v_mov_b32_e32 v3, s7
        v_mov_b32_e32 v6, s4
        v_mov_b32_e32 v7, s5
        v_mov_b32_e32 v4, s3
        v_and_b32_e32 v5, 63, v0
        v_cmp_gt_u32_e32 vcc, 2, v5
        s_and_b64 exec, exec, vcc
        v_cmp_eq_u32_e32 vcc, 1, v5
        v_cndmask_b32_e32 v2, v2, v6, vcc
        v_cndmask_b32_e32 v3, v3, v7, vcc
        global_atomic_swap v[2:3], v4, off
    """
    run = Run(text, both_writable=True)
    assert run.report.clean
    assert {d.buffer for d in run.report.differences} == {"input", "output"}


def test_straddling_pages() -> None:
    """Accesses that cross a page of the detector are seen on both sides."""
    text = """
        v_mov_b32_e32 v3, 0xffe
        global_store_dword v3, v0, s[6:7]
    """
    assert Run(text).hazards() == [("global", "global_store_dword", "global_store_dword")]


SCALAR_LOAD = "s_load_dword s12, s[6:7], 0x0\n"
"""Loads the first word that the waves store to."""
LGKM = "s_waitcnt lgkmcnt(0)\n"


@pytest.mark.parametrize("later", [SCALAR_LOAD + LGKM, "flat_load_dword v9, v[8:9]\n"])
def test_a_load_of_another_class_does_not_hide_one_in_flight(later: str) -> None:
    """Wave 0 loads what wave 1 stores behind the barrier, and waits only for its other load."""
    text = f"""
        v_mov_b32_e32 v3, 0
        v_mov_b32_e32 v8, s6
        v_mov_b32_e32 v9, s7
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc0 .Lother
        global_load_dword v2, v3, s[6:7]
        {later}
        s_barrier
        s_waitcnt vmcnt(0) lgkmcnt(0)
        s_endpgm
    .Lother:
        s_barrier
        global_store_dword v3, v0, s[6:7]
    """
    assert ("global", "global_load_dword", "global_store_dword") in Run(text).hazards()


@pytest.mark.parametrize(
    "store", ["global_store_dword v3, v0, s[6:7]", "flat_store_dword v[8:9], v0"]
)
def test_own_store_and_scalar_load_do_not_return_in_order(store: str) -> None:
    setup = "v_mov_b32_e32 v3, 0\nv_mov_b32_e32 v8, s6\nv_mov_b32_e32 v9, s7\n"
    both = "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
    opcode = store.split()[0]
    loads_early = Run(setup + store + "\n" + SCALAR_LOAD + LGKM, threads=64)
    assert loads_early.hazards() == [("global", opcode, "s_load_dword")]
    stores_early = Run(setup + SCALAR_LOAD + store + "\n" + both, threads=64)
    assert stores_early.hazards() == [("global", "s_load_dword", opcode)]
    waited = Run(setup + store + "\n" + both + SCALAR_LOAD + LGKM, threads=64)
    assert waited.report.clean
    assert [n.largest for n in waited.report.needs if n.counter == "vmcnt"] == [0]


# ---- divergence


def test_waves_that_part_keep_their_flights() -> None:
    text = """
        global_load_dword v2, v1, s[4:5]
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc1 .Lskip
        s_nop 0
    .Lskip:
        s_waitcnt vmcnt(0)
        global_store_dword v1, v2, s[6:7]
    """
    run = Run(text)
    assert run.report.clean
    assert run.out[:128].tolist() == list(range(1000, 1128))


def test_waves_with_different_flights_stay_apart() -> None:
    text = """
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc1 .Lskip
        global_load_dword v2, v1, s[4:5]
    .Lskip:
        s_nop 0
        v_mov_b32_e32 v3, v2
    """
    run = Run(text)
    assert run.hazards() == [("register", "global_load_dword", "v_mov_b32_e32")]
    assert "wave 1" in run.report.hazards[0].where


def test_hazard_in_one_workgroup_only() -> None:
    text = """
        s_cmp_eq_u32 s2, 1
        s_cbranch_scc0 .Lwait
        global_load_dword v2, v1, s[4:5]
        v_mov_b32_e32 v3, v2
    .Lwait:
    """
    run = Run(text, grid=3)
    assert "workgroup 1" in run.report.hazards[0].where


# ---- waits that can be dropped


def needs(run: Run) -> dict[tuple[int, str | None], int | None]:
    """Largest count by line and counter; None where the wait is needless."""
    return {
        (need.instruction.line, need.counter): need.largest
        for need in run.report.needs
        if need.reached
    }


def test_second_wait_is_needless_and_so_is_the_first_one() -> None:
    """Each of two equal waits can be dropped, but one at a time."""
    run = Run(LOAD + "s_waitcnt vmcnt(0)\ns_waitcnt vmcnt(0)\n" + STORE)
    assert [need.needless for need in run.report.needs] == [False, True, True]
    assert all(need.reached for need in run.report.needs)


def test_counters_of_one_wait_are_judged_apart() -> None:
    run = Run(LOAD + "s_waitcnt vmcnt(0) lgkmcnt(0)\n" + STORE)
    assert [(n.counter, n.needless) for n in run.report.needs[1:]] == [
        ("vmcnt", False),
        ("lgkmcnt", True),
    ]


def test_weakest_count_that_is_safe() -> None:
    run = Run(TWO_LOADS + "s_waitcnt vmcnt(0)\nv_mov_b32_e32 v4, v2")
    assert run.report.needs[-1].largest == 1
    assert not run.report.needs[-1].needless


def test_a_later_wait_does_not_make_an_earlier_one_look_weaker() -> None:
    """The second wait ends the write as well, with a read issued in between, behind the barrier."""
    run = Run(WRITE + WAIT + BARRIER + "ds_read_b32 v4, v1\n" + WAIT + READ_OTHER + USE)
    assert run.report.needs[1].largest == 0
    weakened = [m for m in mutants(run.program) if m.change == "lgkmcnt weakened to 1"][1]
    assert weakened.instruction is run.report.needs[1].instruction
    assert run.of(weakened).hazards


def test_barrier_that_orders_nothing_is_needless() -> None:
    run = Run(WRITE + WAIT + BARRIER + BARRIER + READ_OTHER + USE)
    assert [n.needless for n in run.report.needs if n.counter is None] == [True, True]
    run = Run(WRITE + WAIT + BARRIER + READ_OTHER + USE + BARRIER)
    assert [n.needless for n in run.report.needs if n.counter is None] == [False, True]


def test_barrier_in_a_loop_counts_as_one() -> None:
    """Each turn's barrier orders the turn before, and all turns share the instruction."""
    text = """
        s_mov_b32 s12, 3
    .Lloop:
        ds_write_b32 v1, v0
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32_e32 v3, 0x100, v1
        ds_read_b32 v2, v3
        s_waitcnt lgkmcnt(0)
        s_barrier
        s_sub_u32 s12, s12, 1
        s_cmp_lg_u32 s12, 0
        s_cbranch_scc1 .Lloop
    """
    run = Run(text)
    assert run.report.clean
    assert not run.report.needless


def test_waves_that_meet_at_different_barriers_need_both() -> None:
    text = """
        v_mov_b32_e32 v2, 0
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc0 .Lother
        ds_write_b32 v2, v0
        s_waitcnt lgkmcnt(0)
        s_barrier
        s_endpgm
    .Lother:
        s_barrier
        ds_read_b32 v3, v2
        s_waitcnt lgkmcnt(0)
    """
    run = Run(text)
    assert run.report.clean
    assert [n.needless for n in run.report.needs if n.counter is None] == [False, False]


def test_advice_never_names_a_count_that_no_wait_can_wait_for() -> None:
    loads = "".join(f"ds_read_b32 v{10 + i}, v1\n" for i in range(17))
    run = Run("ds_write_b32 v1, v0\n" + loads + "v_mov_b32_e32 v3, v10", threads=64)
    assert [h.missing for h in run.report.hazards] == [
        "needs s_waitcnt for its lgkmcnt between them"
    ]


def test_waits_that_no_wave_reached_are_told_apart() -> None:
    run = Run("s_branch .Lend\ns_waitcnt vmcnt(0)\n.Lend:\n")
    need = run.report.needs[-1]
    assert (need.reached, need.needless) == (False, False)


# ---- reads of what nothing has written


def undefined(text: str) -> list[tuple[str, str]]:
    return [(u.instruction.opcode, u.what) for u in Run(text).report.undefined]


def test_undefined_registers() -> None:
    assert undefined("v_mov_b32_e32 v2, v9\ns_mov_b32 s20, s21") == [
        ("v_mov_b32_e32", "v9"),
        ("s_mov_b32", "s21"),
    ]
    assert undefined("v_accvgpr_read_b32 v2, a0") == [("v_accvgpr_read_b32", "a0")]
    assert undefined("s_mov_b64 s[20:21], vcc") == [
        ("s_mov_b64", "vcc_lo"),
        ("s_mov_b64", "vcc_hi"),
    ]
    run = Run("v_mov_b32_e32 v2, v9")
    assert "line 16 (v_mov_b32_e32 v2, v9), workgroup 0, wave 0: reads v9, which nothing" in str(
        run.report.undefined[0]
    )


def test_a_read_of_what_nothing_has_written_is_not_clean() -> None:
    run = Run("v_mov_b32_e32 v2, v9")
    assert run.hazards() == []
    assert not run.report.clean
    assert not run.report.differences, "every order reads the same poison"


@pytest.mark.parametrize(
    ("text", "register"),
    [
        ("v_add_u32_e32 v9, 1, v9", "v9"),
        ("v_fmac_f32_e32 v9, v0, v0", "v9"),
        ("v_mfma_f32_16x16x4_f32 a[0:3], v0, v0, a[0:3]", "a0"),
        ("v_swap_b32 v0, v9", "v9"),
        ("v_add_f32_dpp v2, v9, v0 row_shr:1", "v9"),
        ("v_add_u32_sdwa v2, v9, v0 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:DWORD", "v9"),
        ("global_store_dword v9, v0, s[6:7]", "v9"),
        ("ds_write_b32 v1, v9", "v9"),
        ("s_add_u32 s20, s20, 1", "s20"),
        ("s_mov_b32 s20, m0", "m0"),
        ("buffer_load_dword v1, s[8:11], 0 offen lds", "m0"),
        ("v_cndmask_b32_e32 v2, v0, v0, vcc", "vcc_lo"),
        ("s_addk_i32 s20, 1", "s20"),
        ("v_writelane_b32 v2, s20, 0", "s20"),
    ],
)
def test_reads_that_find_nothing(text: str, register: str) -> None:
    assert (text.split()[0], register) in undefined(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{branch} .Lend\n.Lend:\n", "s_cbranch_scc1"),
        ("s_cselect_b32 s20, 1, 2", "s_cselect_b32"),
        ("s_addc_u32 s20, s3, 0", "s_addc_u32"),
        ("v_add_u32_e32 v2, src_scc, v0", "v_add_u32_e32"),
    ],
)
def test_scc_is_watched_as_well(text: str, found: str) -> None:
    """HEAD ends with SCC set by a shift, so this kernel starts without it."""
    text = text.format(branch="s_cbranch_scc1")
    program = assemble(text, **KERNEL)
    report = sanitize(program, bytes(16), (1, 1, 1), (64, 1, 1), Memory())
    assert (found, "scc") in [(u.instruction.opcode, u.what) for u in report.undefined]
    assert undefined(text) == []


def test_a_branch_on_vcc_reads_it() -> None:
    branch = "s_cbranch_vccnz .Lend\n.Lend:\n"
    assert undefined(branch) == [("s_cbranch_vccnz", "vcc_lo"), ("s_cbranch_vccnz", "vcc_hi")]
    assert undefined("v_cmp_eq_u32_e32 vcc, 0, v0\n" + branch) == []


@pytest.mark.parametrize(
    "text",
    [
        "v_cvt_scalef32_pk_fp4_f32 v2, v0, v0, 1.0",
        "v_cvt_pk_fp8_f32 v2, v0, v0 op_sel:[0,0,1]",
        "v_add_u32_sdwa v2, v0, v0 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE "
        "src0_sel:DWORD src1_sel:DWORD",
        "v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf",
        "v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
        "v_fma_mixhi_f16 v2, v0, v0, v0",
        "v_mad_i16 v2, v0, v0, v0 op_sel:[0,0,0,1]",
        "v_writelane_b32 v2, s3, 7",
        "ds_read_u8_d16_hi v2, v1\ns_waitcnt lgkmcnt(0)",
        "v_accvgpr_write_b32 a0, v0\nv_accvgpr_read_b32 v2, a0",
    ],
)
def test_partly_replaced_registers_are_not_undefined(text: str) -> None:
    reads = undefined("ds_write_b32 v1, v0\n" + WAIT + text + "\nv_mov_b32_e32 v3, v2")
    assert reads == []


def test_lds_atomics_read() -> None:
    assert undefined("ds_add_u32 v1, v0\n" + WAIT) == [("ds_add_u32", "LDS")]
    assert undefined("ds_write_b32 v1, v0\n" + WAIT + "ds_add_u32 v1, v0\n" + WAIT) == []


def test_a_register_that_the_same_waves_write_and_read_again() -> None:
    """The waves part, meet and part again; only wave 1 has written v2, and only it reads it."""
    text = """
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc1 .Lmeet
        v_mov_b32_e32 v2, 1
    .Lmeet:
        s_nop 0
        s_cmp_eq_u32 s3, {reader}
        s_cbranch_scc0 .Lend
        v_mov_b32_e32 v3, v2
    .Lend:
        s_nop 0
    """
    assert undefined(text.format(reader=1)) == []
    report = Run(text.format(reader=0)).report
    assert [u.where for u in report.undefined] == ["workgroup 0, wave 0"]


def test_a_wave_without_active_lanes_reads_no_vector_register() -> None:
    """A compiler leaves out the branch around a few instructions."""
    text = "s_mov_b64 exec, {exec}\nv_mov_b32_e32 v3, v2\nglobal_store_dword v1, v3, s[6:7]\n"
    assert undefined(text.format(exec=0)) == []
    assert undefined(text.format(exec=4)) == [("v_mov_b32_e32", "v2")]


@pytest.mark.parametrize("read", ["v_readfirstlane_b32 s12, v40", "v_readlane_b32 s12, v40, 3"])
def test_reads_of_inactive_lanes_are_reads(read: str) -> None:
    assert undefined(f"s_mov_b64 exec, 0\n{read}\n") == [(read.split()[0], "v40")]


def test_loads_define_registers_and_lds() -> None:
    assert undefined(LOAD + VM + "v_mov_b32_e32 v3, v2") == []
    assert undefined(FILL + VM + "ds_read_b32 v2, v1\n" + WAIT) == []
    assert undefined("ds_read_b32 v2, v1\n" + WAIT) == [("ds_read_b32", "LDS")]


def test_register_written_on_one_path_only() -> None:
    text = """
        s_cmp_eq_u32 s3, 0
        s_cbranch_scc1 .Lskip
        v_mov_b32_e32 v2, 1
    .Lskip:
        s_nop 0
        v_mov_b32_e32 v3, v2
    """
    assert undefined(text) == [("v_mov_b32_e32", "v2")]


# ---- mutants

PIPELINE = """
        ; Two slots of 512 bytes in LDS, filled two tiles ahead by loads to LDS; every wave reads
        ; the bytes that the other one loaded.
        s_mov_b32 s12, 0                        ; tile
        s_lshl_b32 s13, s3, 8
        s_mov_b32 m0, s13
        v_mov_b32_e32 v4, 0
        v_xor_b32_e32 v3, 0x100, v1
        buffer_load_dword v1, s[8:11], 0 offen lds
        s_add_u32 m0, m0, 0x200
        s_movk_i32 s15, 0x200
        buffer_load_dword v1, s[8:11], s15 offen lds
    .Lloop:
        s_waitcnt vmcnt(1)
        s_barrier
        ds_read_b32 v2, v3
        s_waitcnt lgkmcnt(0)
        v_add_u32_e32 v4, v4, v2
        s_barrier
        s_and_b32 s14, s12, 1
        s_lshl_b32 s14, s14, 9
        s_add_u32 m0, s13, s14
        s_add_u32 s15, s15, 0x200
        buffer_load_dword v1, s[8:11], s15 offen lds
        v_xor_b32_e32 v3, 0x200, v3
        s_add_u32 s12, s12, 1
        s_cmp_lt_u32 s12, 6
        s_cbranch_scc1 .Lloop
        s_waitcnt vmcnt(0)
        s_barrier
        ds_read_b32 v2, v3
        s_waitcnt lgkmcnt(0)
        v_add_u32_e32 v4, v4, v2
        global_store_dword v1, v4, s[6:7]
"""


def test_pipeline_is_clean() -> None:
    run = Run(PIPELINE)
    assert run.report.clean
    assert run.out[:128].tolist() == [
        sum(1000 + 128 * tile + (t ^ 64) for tile in range(7)) for t in range(128)
    ]


PROGRAMS = {
    "pipeline": PIPELINE,
    "exchange": WRITE + WAIT + BARRIER + READ_OTHER + USE,
    "double waits": FILL + VM + VM + BARRIER + BARRIER + READ_OTHER + WAIT + USE,
    "loads": TWO_LOADS + "s_waitcnt vmcnt(0) lgkmcnt(0)\nv_add_u32_e32 v4, v2, v3\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_mutant_is_flagged_unless_the_original_called_it_needless(name: str) -> None:
    """What one run predicts of every wait and barrier is what each changed program shows."""
    run = Run(PROGRAMS[name])
    assert run.report.clean
    by_wait = {(n.instruction.index, n.counter): n for n in run.report.needs}
    tried = list(mutants(run.program))
    assert len(tried) > len(by_wait)
    for mutant in tried:
        need = by_wait[mutant.instruction.index, mutant.counter]
        report = run.of(mutant)
        assert bool(report.hazards) != mutant.survives(need), (mutant.change, need)


def test_mutants_keep_index_and_line() -> None:
    run = Run(PROGRAMS["exchange"])
    for mutant in mutants(run.program):
        changed = mutant.program.instructions[mutant.instruction.index]
        assert changed.line == mutant.instruction.line
        assert changed.text != mutant.instruction.text
        assert len(mutant.program) == len(run.program)
    changes = [mutant.change for mutant in mutants(run.program)]
    assert changes[:2] == ["lgkmcnt removed", "lgkmcnt weakened to 1"]
    assert "barrier removed" in changes


# ---- orders and arguments


def test_orders() -> None:
    assert [str(order) for order in orders(2)] == [
        "lockstep", "wave 0 ahead", "wave 0 behind", "wave 1 ahead", "wave 1 behind",
    ]  # fmt: skip
    assert orders(1) == (LOCKSTEP,)


@pytest.mark.parametrize("order", [LOCKSTEP, Order(0, True), Order(1, False)])
def test_hazards_do_not_depend_on_the_order(order: Order) -> None:
    run = Run(WRITE + BARRIER + READ_OTHER + USE, run_orders=[order])
    assert run.hazards() == [("lds", "ds_write_b32", "ds_read_b32")]


@pytest.mark.parametrize("waiting", [0, 1])
def test_a_wave_that_polls_lets_the_others_run(waiting: int) -> None:
    """The other one needs several turns before it stores what the poll waits for."""
    text = f"""
        v_mov_b32_e32 v3, 0
        v_mov_b32_e32 v4, 7
        s_mov_b32 s13, 50
        s_cmp_eq_u32 s3, {waiting}
        s_cbranch_scc0 .Lwork
    .Lpoll:
        global_atomic_add v2, v3, v3, s[6:7] sc0
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s12, v2
        s_cmp_eq_u32 s12, 7
        s_cbranch_scc0 .Lpoll
        s_endpgm
    .Lwork:
        s_sub_u32 s13, s13, 1
        s_cmp_eq_u32 s13, 0
        s_cbranch_scc0 .Lwork
        global_atomic_swap v3, v4, s[6:7]
    """
    chosen = [order for order in orders(2) if order.wave >= 0]
    run = Run("v_mov_b32_e32 v5, 0\n" + text, run_orders=chosen, limit=20000)
    assert run.report.fault is None
    assert not run.report.hazards


def test_no_order_is_refused() -> None:
    with pytest.raises(LaunchError, match="at least one order"):
        Run("s_nop 0", run_orders=[])


def test_fault_of_a_delayed_access_names_the_load() -> None:
    text = "v_add_u32_e32 v1, 0x2000, v1\n" + LOAD + "s_nop 0\ns_waitcnt vmcnt(0)"
    with pytest.raises(MemoryFault, match=r"line 17: global_load_dword v2, v1, s\[4:5\]"):
        Run(text)


def test_access_far_beyond_lds_is_a_fault() -> None:
    text = "v_mov_b32_e32 v3, 0x7ffffff0\nds_read_b128 v[4:7], v3\n" + WAIT
    with pytest.raises(MemoryFault, match="leaves the workgroup's 4096 bytes"):
        Run(text)


def test_access_far_from_every_buffer_is_a_fault() -> None:
    text = "v_mov_b32_e32 v3, -1\nv_mov_b32_e32 v2, -1\nglobal_store_dword v[2:3], v0, off\n" + VM
    with pytest.raises(MemoryFault, match="outside every buffer"):
        Run(text)


def test_fault_that_a_hazard_explains_does_not_hide_it() -> None:
    """Here the base address itself is used in flight."""
    run = Run("s_load_dwordx2 s[12:13], s[0:1], 0x0\nglobal_load_dword v2, v1, s[12:13]\n" + VM)
    assert run.hazards() == [("register", "s_load_dwordx2", "global_load_dword")]
    assert "outside every buffer" in str(run.report.fault)
    assert not run.report.clean
