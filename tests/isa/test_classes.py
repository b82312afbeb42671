"""The class of opcodes of every family, and the refusal of all others."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxfp4kernels.isa import (
    AssemblyError,
    InstructionClass,
    base_opcode,
    class_of,
    kind_of,
    nop_states,
    parse,
)


def instruction(text: str):
    return parse(text).instructions[0]


@pytest.mark.parametrize(
    ("text", "of", "part"),
    [
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "MFMA", "mfma"),
        ("v_mfma_f32_32x32x64_f8f6f4", "MFMA", "mfma"),
        ("v_smfmac_i32_16x16x64_i8", "MFMA", "mfma"),
        ("v_add_u32_e32", "VALU", "plain"),
        ("v_mad_u64_u32", "VALU", "plain"),
        ("v_bitop3_b32", "VALU", "plain"),
        ("v_cndmask_b32_e64", "VALU", "plain"),
        ("v_ldexp_f32", "VALU", "plain"),
        ("v_lshl_add_u64", "VALU", "plain"),
        ("v_and_b32_sdwa", "VALU", "plain"),
        ("v_pk_max_u16", "VALU", "packed"),
        ("v_pk_fma_f32", "VALU", "packed"),
        ("v_cmp_gt_f32_e32", "VALU", "compare"),
        ("v_cmpx_ne_u16_e64", "VALU", "compare"),
        ("v_cvt_scalef32_pk_fp4_bf16", "VALU", "convert"),
        ("v_dot4_i32_i8", "VALU", "dot"),
        ("v_mov_b32_dpp", "VALU", "cross_lane"),
        ("v_readfirstlane_b32", "VALU", "cross_lane"),
        ("v_permlane32_swap_b32_e32", "VALU", "cross_lane"),
        ("v_accvgpr_read_b32", "ACC", "move"),
        ("v_accvgpr_write_b32", "ACC", "move"),
        ("v_accvgpr_mov_b32", "ACC", "move"),
        ("v_exp_f32_e32", "TRANS", "transcendental"),
        ("v_log_f32_e32", "TRANS", "transcendental"),
        ("v_rcp_iflag_f32_e32", "TRANS", "transcendental"),
        ("v_rsq_f64_e32", "TRANS", "transcendental"),
        ("v_sqrt_f16_e64", "TRANS", "transcendental"),
        ("v_sin_f32_e32", "TRANS", "transcendental"),
        ("v_cos_f32_dpp", "TRANS", "transcendental"),
        ("s_add_u32", "SALU", "scalar"),
        ("s_cmp_lg_u64", "SALU", "scalar"),
        ("s_cmpk_eq_i32", "SALU", "scalar"),
        ("s_and_saveexec_b64", "SALU", "scalar"),
        ("s_getreg_b32", "SALU", "scalar"),
        ("s_getpc_b64", "SALU", "scalar"),
        ("s_load_dwordx16", "SMEM", "load"),
        ("s_buffer_load_dword", "SMEM", "load"),
        ("s_store_dword", "SMEM", "store"),
        ("s_atomic_add_x2", "SMEM", "atomic"),
        ("s_dcache_wb", "SMEM", "cache"),
        ("s_memtime", "SMEM", "time"),
        ("buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen", "VMEM", "load"),
        ("buffer_load_dwordx4 v4, s[0:3], 0 offen lds", "VMEM", "load_to_lds"),
        ("global_load_lds_dwordx4 v[0:1], off", "VMEM", "load_to_lds"),
        ("global_load_dword", "VMEM", "load"),
        ("flat_load_ubyte_d16_hi", "VMEM", "load"),
        ("scratch_load_dword", "VMEM", "load"),
        ("tbuffer_load_format_xyzw", "VMEM", "load"),
        ("buffer_store_short", "VMEM", "store"),
        ("global_store_dwordx4", "VMEM", "store"),
        ("global_atomic_pk_add_bf16", "VMEM", "atomic"),
        ("buffer_atomic_cmpswap_x2", "VMEM", "atomic"),
        ("buffer_wbl2", "VMEM", "cache"),
        ("buffer_inv", "VMEM", "cache"),
        ("ds_read_b128", "LDS", "read"),
        ("ds_read_b64_tr_b4", "LDS", "read"),
        ("ds_read2st64_b32", "LDS", "read"),
        ("ds_write_b8_d16_hi", "LDS", "write"),
        ("ds_write2_b64", "LDS", "write"),
        ("ds_bpermute_b32", "LDS", "cross_lane"),
        ("ds_swizzle_b32", "LDS", "cross_lane"),
        ("ds_add_rtn_u32", "LDS", "atomic"),
        ("ds_append", "LDS", "atomic"),
        ("ds_gws_barrier", "LDS", "gws"),
        ("s_waitcnt", "WAIT", "wait"),
        ("s_barrier", "BARRIER", "barrier"),
        ("s_nop", "NOP", "s_nop"),
        ("v_nop", "NOP", "v_nop"),
        ("ds_nop", "NOP", "ds_nop"),
        ("s_branch", "BRANCH", "branch"),
        ("s_cbranch_execz", "BRANCH", "branch"),
        ("s_swappc_b64", "BRANCH", "branch"),
        ("s_setprio", "OTHER", "control"),
        ("s_endpgm", "OTHER", "control"),
        ("s_sleep", "OTHER", "control"),
        ("s_sendmsg", "OTHER", "control"),
    ],
)
def test_family(text, of, part):
    kind = kind_of(instruction(text))
    assert (str(kind.of), kind.part) == (of, part)
    assert class_of(instruction(text)) is InstructionClass(of)


def test_every_class_is_reached():
    names = {class_of(i) for i in parse(_mnemonics()).instructions}
    assert names == set(InstructionClass)


def test_every_gfx950_mnemonic_has_a_class():
    for of in map(class_of, parse(_mnemonics()).instructions):
        assert of in InstructionClass


def _mnemonics() -> str:
    listed = (Path(__file__).parent / "gfx950_mnemonics.txt").read_text()
    return listed.partition("\n")[2]


@pytest.mark.parametrize(
    "opcode",
    [
        "v_dual_add_f32",  # RDNA3
        "s_delay_alu",
        "s_wait_loadcnt",  # gfx12
        "s_add_f32",
        "buffer_load_b128",  # the RDNA3 spelling
        "ds_load_b128",
        "v_wmma_f32_16x16x16_f16",
        "image_sample",
        "v_exp",
        "v_add_u32x",
        "mfma",
    ],
)
def test_an_opcode_without_a_class_is_an_error_that_names_it_and_its_line(opcode):
    with pytest.raises(AssemblyError, match=rf"line 2: opcode {opcode} has no class"):
        class_of(parse(f"s_nop 0\n{opcode} v0").instructions[1])


def test_base_opcode():
    assert base_opcode("v_add_u32_e32") == "v_add_u32"
    assert base_opcode("v_mov_b32_e64_dpp") == "v_mov_b32"
    assert base_opcode("s_nop") == "s_nop"


@pytest.mark.parametrize(("text", "states"), [("s_nop 0", 1), ("s_nop 15", 16), ("v_nop", 1)])
def test_nop_states(text, states):
    assert nop_states(instruction(text)) == states


@pytest.mark.parametrize("text", ["s_nop 16", "s_nop v0", "s_nop", "s_endpgm"])
def test_nop_states_of_what_is_no_nop(text):
    with pytest.raises(AssemblyError, match="line 1"):
        nop_states(instruction(text))
