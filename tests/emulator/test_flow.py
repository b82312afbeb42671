"""Branches, divergence between waves, barriers and the end of a program."""

from __future__ import annotations

import numpy as np
import pytest

from mxfp4kernels.emulator import (
    EmulatorError,
    LaunchError,
    Memory,
    MemoryFault,
    UnsupportedInstruction,
    decode,
    launch,
    pack_kernarg,
    unsupported,
)
from mxfp4kernels.emulator.waves import REGISTER_POISON
from mxfp4kernels.isa import Program

from .harness import assemble, execute

KERNEL = {
    "amdhsa_user_sgpr_kernarg_segment_ptr": 1,
    "amdhsa_user_sgpr_count": 2,
    "amdhsa_system_sgpr_workgroup_id_x": 1,
}


def kernel(text: str, **directives: int) -> Program:
    """A kernel whose only argument, the address of ``out``, is loaded to s[4:5]."""
    head = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n"
    return assemble(head + text, **KERNEL, **directives)


def run(text: str, size: int, *, grid: int = 1, block: int = 64, **options: object) -> np.ndarray:
    """Launch and return ``out``, uint32 [size], zero where nothing was stored."""
    lds = options.pop("lds", 0)
    memory, out = Memory(), np.zeros(size, np.uint32)
    address = memory.allocate("out", out)
    program = kernel(text, amdhsa_group_segment_fixed_size=lds)  # type: ignore[arg-type]
    launch(program, address.to_bytes(8, "little"), (grid, 1, 1), (block, 1, 1), memory, **options)  # type: ignore[arg-type]
    return out


CONDITIONS = {
    "s_branch": (True, {}),
    "s_cbranch_scc0": (True, {"scc": False}),
    "s_cbranch_scc1": (True, {"scc": True}),
    "s_cbranch_vccz": (True, {"vcc": 0}),
    "s_cbranch_vccnz": (True, {"vcc": 1 << 40}),
    "s_cbranch_execz": (True, {"exec_": 0}),
    "s_cbranch_execnz": (True, {"exec_": 1 << 50}),
}
OPPOSITE = {
    "s_cbranch_scc0": {"scc": True},
    "s_cbranch_scc1": {"scc": False},
    "s_cbranch_vccz": {"vcc": 1},
    "s_cbranch_vccnz": {"vcc": 0},
    "s_cbranch_execz": {"exec_": 1},
    "s_cbranch_execnz": {"exec_": 0},
}


@pytest.mark.parametrize("opcode", CONDITIONS)
def test_branch(opcode: str) -> None:
    text = f"s_mov_b32 s0, 1\n{opcode} .Lend\ns_mov_b32 s0, 2\n.Lend:\n"
    _, taken = CONDITIONS[opcode]
    assert execute(text, **taken).s(0) == 1  # type: ignore[arg-type]
    if opcode in OPPOSITE:
        assert execute(text, **OPPOSITE[opcode]).s(0) == 2  # type: ignore[arg-type]


def test_loop() -> None:
    text = """
        s_mov_b32 s0, 10
        s_mov_b32 s1, 0
    .Lloop:
        s_add_u32 s1, s1, s0
        s_sub_u32 s0, s0, 1
        s_cmp_lg_u32 s0, 0
        s_cbranch_scc1 .Lloop
    """
    assert execute(text).s(1) == 55


DIVERGENT = """
        v_readfirstlane_b32 s6, v0
        s_lshr_b32 s6, s6, 6            ; wave
        s_mov_b32 s7, 0
    .Lloop:                             ; as many turns as the wave's number plus one
        s_add_u32 s7, s7, 100
        s_add_u32 s7, s7, s2
        s_sub_u32 s6, s6, 1
        s_cmp_ge_i32 s6, 0
        s_cbranch_scc1 .Lloop
        s_lshl_b32 s8, s2, 8            ; workgroup * 256
        v_add_u32_e32 v1, s8, v0
        v_lshlrev_b32_e32 v1, 2, v1
        v_mov_b32_e32 v2, s7
        global_store_dword v1, v2, s[4:5]
"""


def test_waves_that_part_meet_again() -> None:
    out = run(DIVERGENT, 768, grid=3, block=256).reshape(3, 4, 64)
    for workgroup in range(3):
        for wave in range(4):
            assert set(out[workgroup, wave]) == {(wave + 1) * (100 + workgroup)}


def test_counts_of_executed_instructions() -> None:
    memory, out = Memory(), np.zeros(768, np.uint32)
    address = memory.allocate("out", out)
    program = kernel(DIVERGENT)
    result = launch(program, address.to_bytes(8, "little"), (3, 1, 1), (256, 1, 1), memory)
    by_opcode = result.by_opcode()
    assert by_opcode["s_cbranch_scc1"] == 3 * (1 + 2 + 3 + 4)
    assert by_opcode["s_endpgm"] == result.waves == 12
    assert result.wave_instructions == sum(by_opcode.values()) == int(result.counts.sum())


BARRIER = """
        v_readfirstlane_b32 s6, v0
        s_lshr_b32 s6, s6, 6
        v_lshlrev_b32_e32 v1, 2, v0
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 .Lothers
        s_mov_b32 s7, 50                ; wave 0 is slow
    .Lslow:
        s_sub_u32 s7, s7, 1
        s_cmp_lg_u32 s7, 0
        s_cbranch_scc1 .Lslow
    .Lothers:
        v_add_u32_e32 v2, 1000, v0
        ds_write_b32 v1, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_xor_b32_e32 v3, 0x300, v1     ; the same lane of wave 3 - w
        ds_read_b32 v4, v3
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v4, s[4:5]
"""


def test_barrier_waits_for_all_waves() -> None:
    out = run(BARRIER, 256, block=256, lds=1024)
    assert out.tolist() == [1000 + (t ^ 0xC0) for t in range(256)]


def test_barrier_counts_ended_waves_as_arrived() -> None:
    text = """
        v_readfirstlane_b32 s6, v0
        s_lshr_b32 s6, s6, 6
        s_cmp_eq_u32 s6, 1
        s_cbranch_scc1 .Lend
        s_barrier
        v_lshlrev_b32_e32 v1, 2, v0
        global_store_dword v1, v0, s[4:5]
    .Lend:
    """
    out = run(text, 256, block=256)
    assert out.tolist() == [0 if 64 <= t < 128 else t for t in range(256)]


def test_workgroups_pass_barriers_apart() -> None:
    """Workgroup 0 passes more barriers than workgroup 1 while both are in flight."""
    text = """
        s_cmp_eq_u32 s2, 0
        s_cselect_b32 s6, 5, 2
        s_mov_b32 s7, 0
    .Lloop:
        s_barrier
        s_add_u32 s7, s7, 1
        s_cmp_lt_u32 s7, s6
        s_cbranch_scc1 .Lloop
        s_lshl_b32 s8, s2, 7
        v_add_u32_e32 v1, s8, v0
        v_lshlrev_b32_e32 v1, 2, v1
        v_mov_b32_e32 v2, s7
        global_store_dword v1, v2, s[4:5]
    """
    out = run(text, 256, grid=2, block=128)
    assert out.tolist() == [5] * 128 + [2] * 128


def test_wave_that_spins_on_memory_does_not_starve_the_writer() -> None:
    """Wave 0 loops until wave 1 has stored a flag."""
    text = """
        v_readfirstlane_b32 s6, v0
        s_lshr_b32 s6, s6, 6
        v_mov_b32_e32 v1, 0
        v_mov_b32_e32 v2, 7
        s_cmp_eq_u32 s6, 1
        s_cbranch_scc1 .Lwriter
    .Lspin:
        global_load_dword v3, v1, s[4:5]
        s_waitcnt vmcnt(0)
        v_readfirstlane_b32 s7, v3
        s_cmp_lg_u32 s7, 7
        s_cbranch_scc1 .Lspin
        global_store_dword v1, v2, s[4:5] offset:4
        s_branch .Lend
    .Lwriter:
        global_store_dword v1, v2, s[4:5]
    .Lend:
    """
    assert run(text, 2, block=128).tolist() == [7, 7]


def test_end_for_a_trap_handler_is_an_end() -> None:
    assert execute("s_mov_b32 s0, 1\ns_endpgm_saved\ns_mov_b32 s0, 2").s(0) == 1


def test_endless_loop_is_given_up() -> None:
    message = (
        r"test: workgroup 0, wave 0 did not end within 1000 instructions, now at line \d+ "
        r"\(s_branch .Lloop\); .* raise instruction_limit \(in a launch file\) or limit"
    )
    with pytest.raises(EmulatorError, match=message):
        run(".Lloop:\ns_branch .Lloop\n", 1, limit=1000)


ROUNDS = """
        s_mov_b32 s20, 0
        s_cmp_eq_u32 s2, 1
        s_cbranch_scc1 .Lother
    .Lfirst:
        s_add_u32 s20, s20, 1
        s_cmp_lt_u32 s20, 100
        s_cbranch_scc1 .Lfirst
        s_endpgm
    .Lother:
        s_add_u32 s20, s20, 1
        s_cmp_lt_u32 s20, {rounds}
        s_cbranch_scc1 .Lother
"""
"""Two workgroups that part at once and loop, three instructions a round."""


def test_the_limit_is_one_waves_and_not_all_of_them_together() -> None:
    limit = len(kernel("").instructions) + 3 + 3 * 100
    run(ROUNDS.format(rounds=100), 2, grid=2, limit=limit)
    with pytest.raises(EmulatorError, match=f"workgroup 0, wave 0 did not end within {limit - 1}"):
        run(ROUNDS.format(rounds=100), 2, grid=2, limit=limit - 1)
    with pytest.raises(EmulatorError, match=f"workgroup 1, wave 0 did not end within {limit} ins"):
        run(ROUNDS.format(rounds=101), 2, grid=2, limit=limit)


def test_program_without_end() -> None:
    program = assemble("s_nop 0")
    open_ended = Program(
        program.name, program.target, program.instructions[:-1], program.labels, {}, {}
    )
    with pytest.raises(EmulatorError, match="ran past its last instruction"):
        launch(open_ended, b"", (1, 1, 1), (64, 1, 1), Memory())


NO_EFFECT = (
    "s_nop 3",
    "s_waitcnt vmcnt(0)",
    "s_sleep 1",
    "s_setprio 2",
    "s_icache_inv",
    "s_sethalt 0",
    "s_ttracedata",
    "s_sendmsg sendmsg(MSG_INTERRUPT)",
    "s_set_gpr_idx_off",
    "s_incperflevel 1",
    "s_decperflevel 1",
    "v_nop",
)


@pytest.mark.parametrize("text", NO_EFFECT)
def test_instructions_without_effect(text: str) -> None:
    assert execute(text, {0: 5}, {0: 6}).s(0) == 6


# ---- what a launch sets up


def test_scalar_registers_of_a_launch() -> None:
    text = """
        s_load_dwordx2 s[20:21], s[0:1], 0x0
        v_mov_b32_e32 v2, s2
        v_mov_b32_e32 v3, s3
        v_mov_b32_e32 v4, s4
        s_mul_i32 s5, s4, 3
        s_add_u32 s5, s5, s3
        s_mul_i32 s5, s5, 2
        s_add_u32 s5, s5, s2            ; (z * 3 + y) * 2 + x
        s_mul_i32 s5, s5, 12
        v_mov_b32_e32 v0, s5
        global_store_dwordx3 v0, v[2:4], s[20:21]
    """
    ids = {f"amdhsa_system_sgpr_workgroup_id_{axis}": 1 for axis in "xyz"}
    program = assemble(text, **(KERNEL | ids))
    memory, out = Memory(), np.zeros((2, 3, 2, 3), np.uint32)
    address = memory.allocate("out", out)
    launch(program, address.to_bytes(8, "little"), (2, 3, 2), (64, 1, 1), memory)
    for z in range(2):
        for y in range(3):
            for x in range(2):
                assert out[z, y, x].tolist() == [x, y, z]


def test_kernarg_preload() -> None:
    """Kernarg dwords follow the other user SGPRs, then come the workgroup ids."""
    text = """
        v_mov_b32_e32 v2, s4
        v_mov_b32_e32 v3, s5
        v_mov_b32_e32 v4, s6
        v_mov_b32_e32 v0, 0
        global_store_dwordx3 v0, v[2:4], s[2:3]
    """
    preload = {
        "amdhsa_user_sgpr_kernarg_preload_length": 4,
        "amdhsa_user_sgpr_kernarg_preload_offset": 0,
        "amdhsa_user_sgpr_count": 6,
    }
    memory, out = Memory(), np.zeros(3, np.uint32)
    address = memory.allocate("out", out)
    kernarg = address.to_bytes(8, "little") + b"\x0b\0\0\0\x0c\0\0\0"
    launch(
        assemble(text, **(KERNEL | preload)), kernarg, (3, 1, 1), (1, 1, 1), memory, workgroups=[2]
    )
    assert out.tolist() == [11, 12, 2]


@pytest.mark.parametrize("dimensions", [0, 1, 2])
def test_work_item_ids(dimensions: int) -> None:
    text = """
        v_mbcnt_lo_u32_b32 v1, -1, 0
        v_mbcnt_hi_u32_b32 v1, -1, v1
        v_lshlrev_b32_e32 v1, 2, v1
        global_store_dword v1, v0, s[4:5]
    """
    memory, out = Memory(), np.zeros(64, np.uint32)
    address = memory.allocate("out", out)
    program = kernel(text, amdhsa_system_vgpr_workitem_id=dimensions)
    launch(program, address.to_bytes(8, "little"), (1, 1, 1), (4, 4, 4), memory)
    for t, got in enumerate(out.tolist()):
        x, y, z = t % 4, t // 4 % 4, t // 16
        assert got == x | (y << 10 if dimensions else 0) | (z << 20 if dimensions == 2 else 0)


def test_last_wave_may_have_lanes_off() -> None:
    text = "v_lshlrev_b32_e32 v1, 2, v0\nglobal_store_dword v1, v0, s[4:5]"
    assert run(text, 100, block=100).tolist() == list(range(100))


def test_registers_and_lds_start_as_poison() -> None:
    text = """
        v_lshlrev_b32_e32 v1, 2, v0
        ds_read_b32 v2, v1
        s_waitcnt lgkmcnt(0)
        global_store_dword v1, v2, s[4:5]
        global_store_dword v1, v9, s[4:5] offset:256
        v_mov_b32_e32 v3, s50
        global_store_dword v1, v3, s[4:5] offset:512
    """
    assert set(run(text, 192, lds=256).tolist()) == {REGISTER_POISON}


def test_dynamic_lds_adds_to_the_static_size() -> None:
    text = "v_mov_b32_e32 v1, 0x100\nds_write_b32 v1, v0"
    run(text, 1, lds=128, dynamic_lds=132)
    with pytest.raises(MemoryFault, match="leaves the workgroup's 128 bytes"):
        run(text, 1, lds=128)


def test_scratch_is_private_to_each_lane() -> None:
    text = """
        v_add_u32_e32 v2, 1000, v0
        v_mov_b32_e32 v3, 8
        scratch_store_dword off, v0, off offset:4
        scratch_store_dwordx2 v3, v[2:3], off
        s_mov_b32 s8, 4
        scratch_load_dwordx2 v[4:5], off, s8
        scratch_load_ushort v6, v3, s8 offset:-4
        v_lshlrev_b32_e32 v1, 2, v0
        global_store_dword v1, v4, s[4:5]
        global_store_dword v1, v5, s[4:5] offset:512
        global_store_dword v1, v6, s[4:5] offset:1024
    """
    memory, out = Memory(), np.zeros((3, 128), np.uint32)
    address = memory.allocate("out", out)
    program = kernel(text, amdhsa_private_segment_fixed_size=16)
    launch(program, address.to_bytes(8, "little"), (1, 1, 1), (128, 1, 1), memory)
    assert out[0].tolist() == list(range(128))
    assert out[1].tolist() == out[2].tolist() == [1000 + t for t in range(128)]
    assert [buffer.name for buffer in memory.buffers] == ["out"]
    program = kernel(text, amdhsa_private_segment_fixed_size=12)
    with pytest.raises(MemoryFault, match="scratch access of 8 bytes at 8 leaves the lane's 12"):
        launch(program, address.to_bytes(8, "little"), (1, 1, 1), (128, 1, 1), memory)


@pytest.mark.parametrize("threads", [1, 3])
def test_batches_give_the_same_result_as_one_launch(threads: int) -> None:
    """More workgroups than one batch holds, one batch after the other or several at once."""
    text = """
        s_lshl_b32 s8, s2, 6
        v_add_u32_e32 v1, s8, v0
        v_lshlrev_b32_e32 v1, 2, v1
        v_mov_b32_e32 v2, s2
        global_store_dword v1, v2, s[4:5]
    """
    out = run(text, 64 * 200, grid=200, threads=threads).reshape(200, 64)
    assert (out == np.arange(200)[:, None]).all()


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"grid": (0, 1, 1)}, "at least 1 everywhere"),
        ({"block": (2048, 1, 1)}, "at most 1024"),
        ({"workgroups": [4]}, r"lie in 0\.\.3"),
        ({"workgroups": [1, 1]}, "distinct"),
        ({"dynamic_lds": 163841}, "163841 bytes of LDS, limit 163840"),
        ({"kernarg": b""}, "needs 8 bytes of kernarg, got 0"),
    ],
)
def test_refused_launches(options: dict[str, object], pattern: str) -> None:
    arguments: dict[str, object] = {"kernarg": bytes(8), "grid": (4, 1, 1), "block": (64, 1, 1)}
    arguments |= options
    program = kernel("s_nop 0", amdhsa_kernarg_size=8)
    with pytest.raises(LaunchError, match=pattern):
        launch(program, memory=Memory(), **arguments)  # type: ignore[arg-type]


def test_pack_kernarg_needs_metadata() -> None:
    with pytest.raises(LaunchError, match=r"no .args in its metadata"):
        pack_kernarg(kernel("s_nop 0"), [], (1, 1, 1), (64, 1, 1))


def metadata_program(*arguments: tuple[int, int, str]) -> Program:
    program = kernel("s_nop 0")
    args = [{".offset": o, ".size": n, ".value_kind": kind} for o, n, kind in arguments]
    size = max(o + n for o, n, _ in arguments)
    metadata = {".args": args, ".kernarg_segment_size": size}
    return Program(program.name, program.target, program.instructions, program.labels, {}, metadata)


def test_pack_kernarg() -> None:
    program = metadata_program(
        (0, 8, "global_buffer"), (8, 4, "by_value"), (12, 3, "by_value"), (16, 8, "by_value"),
        (24, 4, "hidden_block_count_x"), (28, 4, "hidden_block_count_y"),
        (32, 2, "hidden_group_size_x"), (34, 2, "hidden_grid_dims"),
        (36, 4, "hidden_dynamic_lds_size"), (40, 8, "hidden_global_offset_x"),
    )  # fmt: skip
    packed = pack_kernarg(program, [0x1122334455667788, -2, b"abc", 1.5], (7, 5, 1), (64, 1, 1), 99)
    assert packed == (
        bytes.fromhex("8877665544332211") + b"\xfe\xff\xff\xff" + b"abc\0"
        + b"\0\0\0\0\0\0\xf8\x3f" + b"\7\0\0\0\5\0\0\0" + b"\x40\0\2\0" + b"\x63\0\0\0" + bytes(8)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "pattern"),
    [
        ([], "takes 1 arguments, got 0"),
        ([2**32], "argument 0 of test is 4 bytes, got 4294967296"),
        ([b"abc"], "is 4 bytes, got 3"),
    ],
)
def test_pack_kernarg_refuses_what_does_not_fit(values: list[object], pattern: str) -> None:
    program = metadata_program((0, 4, "by_value"))
    with pytest.raises(LaunchError, match=pattern):
        pack_kernarg(program, values, (1, 1, 1), (64, 1, 1))  # type: ignore[arg-type]


def test_required_block_size_is_enforced() -> None:
    program = kernel("s_nop 0")
    required = Program(
        program.name, program.target, program.instructions, program.labels, {},
        {".reqd_workgroup_size": [128, 1, 1]},
    )  # fmt: skip
    with pytest.raises(LaunchError, match=r"requires block \(128, 1, 1\)"):
        launch(required, b"", (1, 1, 1), (64, 1, 1), Memory())


# ---- what is not understood


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("v_frobnicate_b32 v0, v1", "line 6: v_frobnicate_b32 v0, v1: opcode .* not implemented"),
        ("v_add_u32_e32 v0, v1", "needs 2 sources"),
        ("v_mov_b32_e32 v0, v1 quad_perm:[0,1,2,3]", "modifier quad_perm"),
        ("s_branch .Lnowhere", "label .Lnowhere is not in the program"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 1", "rounding to nearest"),
        ("s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS), 1", "register HW_REG_TRAPSTS"),
        ("v_mov_b32_e32 v0, v300", "beyond the last register v255"),
        ("v_mov_b32_e32 v[1:0], v2", "runs backwards"),
        ("v_add_u32_e64 v0, v1, v2 mul:2", "float result"),
        ("v_mul_lo_u32 v0, v1, v2 clamp", "clamp is not implemented"),
    ],
)
def test_errors_name_line_and_text(text: str, pattern: str) -> None:
    with pytest.raises((UnsupportedInstruction, ValueError), match=pattern):
        execute(text)


def test_unsupported_lists_every_reason() -> None:
    program = assemble("v_bad_u32 v0, v1\nv_bad_u32 v0, v1\ns_nop 0\nv_mov_b32_e32 v0, v1 clamp")
    reasons = unsupported(program)
    assert sum(reasons.values()) == 3
    assert reasons["v_bad_u32: opcode v_bad_u32 is not implemented"] == 2
    assert not unsupported(assemble("s_nop 0"))


def test_programs_are_decoded_once() -> None:
    program = assemble("s_nop 0")
    assert decode(program) is decode(program)
