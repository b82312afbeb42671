"""Small pipelined kernels in assembly, written by hand, with the structure of the real ones."""

from __future__ import annotations

MFMA = (
    "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[12:15], v[0:3], v16, v17 "
    "op_sel_hi:[0,0,0] cbsz:4 blgp:4"
)
FRAGMENT_READ = "ds_read_b128 v[8:11], v20"
OPERAND_LOAD = "buffer_load_dwordx4 v[12:15], v21, s[4:7], 0 offen"
LOAD_TO_LDS = "buffer_load_dwordx4 v22, s[4:7], 0 offen lds"
SCALE_LOAD = "buffer_load_dword v16, v23, s[8:11], 0 offen"
BARRIER = "s_barrier"


def listing(*lines: str) -> str:
    """Lines of assembly; those that end in a colon are labels."""
    return "".join(f"{line}\n" if line.endswith(":") else f"\t{line}\n" for line in lines)


def prologue() -> list[str]:
    """Addresses, the loads of the first tiles, and the barrier that opens the first."""
    return [
        "s_load_dwordx4 s[4:7], s[0:1], 0x0",
        "s_waitcnt lgkmcnt(0)",
        "v_lshlrev_b32_e32 v21, 4, v0",
        LOAD_TO_LDS,
        OPERAND_LOAD,
        SCALE_LOAD,
        "s_waitcnt vmcnt(0)",
        BARRIER,
    ]


def tile(loads: bool, close: bool = True) -> list[str]:
    """A K tile, in the steady state with the loads of a later one."""
    lines = [FRAGMENT_READ]
    if loads:
        lines.append(LOAD_TO_LDS)
    lines += ["s_waitcnt lgkmcnt(0)", MFMA]
    if loads:
        lines += [OPERAND_LOAD, SCALE_LOAD]
    return [*lines, BARRIER] if close else lines


def epilogue() -> list[str]:
    """Accumulators through LDS, transformed, to memory."""
    return [
        "ds_write_b128 v20, v[0:3]",
        "s_waitcnt lgkmcnt(0)",
        BARRIER,
        "ds_read_b128 v[24:27], v20",
        "s_waitcnt lgkmcnt(0)",
        "v_exp_f32_e32 v24, v24",
        "buffer_store_dwordx4 v[24:27], v21, s[12:15], 0 offen",
    ]


def unrolled(steady: int, drain: int) -> str:
    """A kernel whose K loop is unrolled."""
    lines = prologue()
    for _ in range(steady):
        lines += tile(loads=True)
    for _ in range(drain):
        lines += tile(loads=False)
    return listing(*lines, *epilogue(), "s_endpgm")


def rolled(drain: int) -> str:
    """A kernel whose K loop is a loop; its barrier stands at the top of the body."""
    lines = [*prologue()[:-1], ".LBB0_1:", BARRIER, *tile(loads=True, close=False)]
    lines += ["s_add_i32 s20, s20, 1", "s_cmp_lt_i32 s20, 26", "s_cbranch_scc1 .LBB0_1", BARRIER]
    for _ in range(drain):
        lines += tile(loads=False)
    return listing(*lines, *epilogue(), "s_endpgm")


def persistent() -> str:
    """Two preloaded K tiles, peeled once and then in a tile loop; results from registers."""
    body = [*prologue(), *tile(loads=False), *tile(loads=False, close=False)]
    body += ["v_cvt_pk_bf16_f32 v24, v0, v1", "buffer_store_dword v24, v21, s[12:15], 0 offen"]
    return listing(
        *body,
        "s_cbranch_scc0 .LBB0_3",
        ".LBB0_2:",
        BARRIER,
        *body,
        "s_cmp_lt_u32 s20, s21",
        "s_cbranch_scc1 .LBB0_2",
        ".LBB0_3:",
        "s_endpgm",
    )
