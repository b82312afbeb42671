"""What cannot be assembled, or names what the kernel does not have, is refused while decoding.

Both columns were held against llvm-mc 22 (``-mcpu=gfx950``); where ours is the stricter one it says
so: llvm-mc cuts MUBUF offsets, DPP masks and 17-bit waits to their field without a word.
"""

from __future__ import annotations

import pytest

from mxfp4kernels.emulator import (
    EmulatorError,
    IllegalInstruction,
    UnsupportedInstruction,
    decode,
    unsupported,
)
from mxfp4kernels.emulator.assembler import Allocation
from mxfp4kernels.isa import Program, parse

from .harness import assemble

DECLARED = {
    "amdhsa_next_free_vgpr": 20,
    "amdhsa_accum_offset": 12,
    "amdhsa_next_free_sgpr": 10,
}


def refused(text: str, message: str, **directives: int) -> None:
    with pytest.raises(IllegalInstruction, match=message) as caught:
        decode(assemble(text, **directives))
    assert f"line {caught.value.instruction.line}: {text}: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "register", "limit"),
    [
        ("v_mov_b32_e32 v12, 0", "v12", 12),
        ("v_mov_b32_e32 v0, v12", "v12", 12),
        ("v_mov_b64_e32 v[0:1], v[12:13]", "v13", 12),
        ("global_store_dwordx4 v[0:1], v[10:13], off", "v13", 12),
        ("v_accvgpr_write_b32 a8, v0", "a8", 8),
        ("s_mov_b32 s10, 0", "s10", 10),
        ("s_load_dwordx4 s[8:11], s[0:1], 0x0", "s11", 10),
        ("v_add_u32_e32 v0, s10, v0", "s10", 10),
    ],
)
def test_a_register_that_is_not_declared(text: str, register: str, limit: int) -> None:
    refused(text, f"{register} lies past the {limit} that the kernel declares", **DECLARED)


def test_declared_and_named_registers_are_fine() -> None:
    text = """
        v_mov_b32_e32 v11, s9
        v_accvgpr_write_b32 a7, v11
        v_mov_b32_e32 v0, vcc_lo
        s_mov_b32 m0, ttmp11
        s_mov_b64 s[8:9], exec
        s_mov_b64 s[8:9], flat_scratch
    """
    decode(assemble(text, **DECLARED))


def test_vgprs_of_a_kernel_without_agprs_end_before_the_accumulator_offset() -> None:
    directives = {"amdhsa_next_free_vgpr": 10, "amdhsa_accum_offset": 12}
    refused("v_mov_b32_e32 v10, 0", "v10 lies past the 10 that", **directives)
    refused("v_accvgpr_write_b32 a0, v0", "a0 lies past the 0 that", **directives)


def test_what_is_not_declared_is_not_checked() -> None:
    decode(assemble("v_mov_b32_e32 v255, s101\nv_accvgpr_write_b32 a255, v0"))
    decode(parse("v_mov_b32_e32 v255, s101\ns_endpgm"))


@pytest.mark.parametrize("accum", [0, 6, 260])
def test_an_accumulator_offset_that_cannot_be(accum: int) -> None:
    message = f"test: .amdhsa_accum_offset {accum} must be a multiple of 4 in 4..256"
    with pytest.raises(EmulatorError, match=message):
        decode(assemble("s_nop 0", amdhsa_accum_offset=accum))


def program(directives: dict[str, str | int], metadata: dict[str, object]) -> Program:
    return Program("k", "gfx950", (), {}, directives, metadata)


def test_an_expression_gives_way_to_the_metadata() -> None:
    expression: dict[str, str | int] = {
        "amdhsa_next_free_vgpr": "max(totalnumvgprs(k.num_agpr, k.num_vgpr), 1, 0)",
        "amdhsa_next_free_sgpr": "max(k.numbered_sgpr, 1, 0)",
    }
    metadata: dict[str, object] = {".vgpr_count": 40, ".agpr_count": 8, ".sgpr_count": 30}
    assert Allocation.of(program(expression, metadata)) == Allocation(32, 8, None)
    assert Allocation.of(program(expression, {})) == Allocation(None, None, None)
    assert Allocation.of(program({"amdhsa_next_free_vgpr": 9}, {})) == Allocation(9, None, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s_mov_b64 s[1:2], 0", r"s\[1:2\]: 2 registers .* multiple of 2"),
        ("s_mov_b64 ttmp[1:2], 0", r"ttmp\[1:2\]: 2 .* multiple of 2"),
        ("s_load_dwordx4 s[2:5], s[0:1], 0x0", r"s\[2:5\].* multiple of 4"),
        ("s_load_dwordx8 s[2:9], s[0:1], 0x0", r"s\[2:9\].* multiple of 4"),
        ("s_buffer_load_dword s0, s[2:5], 0x0", r"s\[2:5\].* multiple of 4"),
        ("ds_read_b64 v[1:2], v0", r"v\[1:2\].* multiple of 2"),
        ("buffer_load_dwordx3 v[1:3], v0, s[4:7], 0 offen", r"v\[1:3\].* multiple of 2"),
        ("global_load_dword v0, v[1:2], off", r"v\[1:2\].* multiple of 2"),
        ("v_mfma_f32_16x16x4_f32 a[1:4], v4, v5, a[0:3]", r"a\[1:4\].* multiple of 2"),
    ],
)
def test_register_tuples_begin_where_they_may(text: str, message: str) -> None:
    refused(text, message)


@pytest.mark.parametrize(
    "text",
    [
        "v_fma_f32 v0, s0, s1, v1",
        "v_cndmask_b32_e32 v0, s0, v1, vcc",
        "v_cndmask_b32_e64 v0, v2, s0, vcc",
        "v_cndmask_b32_e64 v0, vcc_lo, v1, vcc",
        "v_addc_co_u32_e32 v0, vcc, s0, v1, vcc",
        "v_addc_co_u32_e64 v0, s[0:1], v1, s2, s[4:5]",
        "v_div_fmas_f32 v0, s0, v1, v2",
        "v_cmp_eq_u32_e64 s[0:1], s2, s3",
        "v_lshlrev_b64 v[0:1], s2, s[2:3]",
        "v_mad_u64_u32 v[0:1], s[0:1], s0, s2, v[2:3]",
        "v_pk_fma_f32 v[0:1], s[2:3], s[4:5], v[4:5]",
        "v_add_f32_sdwa v0, s1, s2 dst_sel:DWORD src0_sel:DWORD src1_sel:DWORD",
        "v_writelane_b32 v0, s1, s2",
        "v_bfe_u32 v0, s0, m0, 3",
        "v_add_u32_e64 v0, exec_lo, s0",
        "v_fmaak_f32 v0, s0, v1, 0x1234567",
        "v_fmaak_f32 v0, s0, v1, 1.0",
        "v_cvt_scalef32_pk_fp4_f32 v0, s2, v3, s4",
        "v_bitop3_b32 v0, v1, s2, s3 bitop3:0x40",
        "v_mbcnt_hi_u32_b32 v0, s0, s1",
    ],
)
def test_one_scalar_or_literal_per_vector_instruction(text: str) -> None:
    refused(text, "one of them is the limit")


@pytest.mark.parametrize(
    "text",
    [
        "v_fma_f32 v0, s0, s0, v1",
        "v_bfe_u32 v0, s0, 4, s0",
        "v_readlane_b32 s0, v1, s2",
        "v_readlane_b32 s0, v1, 64",
        "v_mad_u64_u32 v[0:1], s[0:1], s0, v1, v[2:3]",
        "v_add_co_u32_e64 v0, s[0:1], v1, s2",
        "v_addc_co_u32_e64 v0, s[0:1], v1, v2, s[4:5]",
        "v_cmp_eq_u32_e64 s[0:1], s2, 7",
        "v_cndmask_b32_e64 v0, v1, v2, s[0:1]",
        "v_pk_mov_b32 v[0:1], s[2:3], s[2:3]",
        "v_add_f32 v0, v1, s0",
        "v_fmaak_f32 v0, 0x1234567, v1, 0x1234567",
        "v_fmaak_f32 v0, 1.0, v1, 0x1234567",
    ],
)
def test_the_same_scalar_may_be_read_twice_and_results_are_not_counted(text: str) -> None:
    decode(assemble(text))


@pytest.mark.parametrize(
    "text",
    [
        "v_fma_f32 v0, 0x12345, v1, v2",
        "v_fma_f32 v0, 3.5, v1, v2",
        "v_fma_f32 v0, -0.0, v1, v2",
        "v_fma_f32 v0, 65, v1, v2",
        "v_fma_f32 v0, v1, v2, -17",
        "v_add_f32_e64 v0, 0x12345, v1",
        "v_add_f32 v0, v1, 0x12345",
        "v_add_f32 v0, 0x12345, -v1",
        "v_cmp_eq_u32_e64 s[0:1], s2, 0x1234",
        "v_cmp_eq_u32 vcc, v0, 0x1234",
        "v_cmp_eq_u32 s[0:1], 0x1234, v0",
        "v_mul_lo_u32 v0, 0x12345, v1",
        "v_lshlrev_b64 v[0:1], 0x12345, v[2:3]",
        "v_perm_b32 v0, v1, v2, 0x7060302",
        "v_mov_b32_sdwa v0, 0x12345 dst_sel:DWORD",
        "v_writelane_b32 v0, 0x12345, 3",
        "v_accvgpr_write_b32 a0, 0x12345",
        "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 0x12345",
        "v_cvt_scalef32_pk_fp4_f32 v0, v2, v3, 0x12345",
    ],
)
def test_a_literal_where_the_encoding_has_no_room(text: str) -> None:
    refused(text, "literal .* can only be source 0 of an instruction of 32 bits")


@pytest.mark.parametrize(
    "text",
    [
        "v_add_f32_e32 v0, 0x12345, v1",
        "v_add_f32 v0, 3.5, v1",
        "v_mov_b32 v0, 0x12345",
        "v_mov_b64_e32 v[0:1], 0x12345678",
        "v_cmp_eq_u32_e32 vcc, 0x1234, v0",
        "v_cmp_eq_u32 vcc, 0x1234, v0",
        "v_fma_f32 v0, 0x3f800000, 0xfffffff0, -16",
        "v_fma_f32 v0, 0.15915494, -0.5, 0.0",
        "v_lshl_add_u32 v0, v1, 1.0, 64",
        "v_fma_f16 v0, 0x3c00, v1, v2",
        "v_fma_f64 v[0:1], 0x3ff0000000000000, v[2:3], v[4:5]",
        "s_mov_b64 s[0:1], 0xffffffffffffffff",
        "s_add_u32 s0, 0x12345, 0x12345",
        "s_mov_b32 s0, -0x80000000",
        "v_mfma_f32_16x16x4_f32 v[0:3], v4, v5, 1.0",
    ],
)
def test_constants_that_can_be_encoded(text: str) -> None:
    decode(assemble(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s_add_u32 s0, 0x12345, 0x12346", "needs 2 literals; one is the limit"),
        ("s_cmp_eq_u32 0x12345, 0x12346", "needs 2 literals"),
        ("s_mov_b32 s0, 0x123456789", "0x123456789 needs more than the 32 bits of a literal"),
        ("s_mov_b64 s[0:1], 0x123456789", "needs more than the 32 bits"),
        ("v_mov_b32 v0, -0x80000001", "needs more than the 32 bits"),
        ("s_movk_i32 s0, 0x12345", "immediate 74565 must lie in -32768..65535"),
        ("s_cmpk_eq_u32 s0, -1", "immediate -1 must lie in 0..65535"),
        ("v_add_f32 v0, a0, v1", "operand a0: this instruction takes no AGPR"),
        ("v_mov_b32 a0, v0", "operand a0: this instruction takes no AGPR"),
        ("v_add_f32_e32 v0, v1, s0", "operand s0 must be a VGPR in an _e32 encoding"),
        ("v_add_f32_e32 v0, |v1|, v2", "an _e32 encoding has no modifiers"),
        ("v_add_f32_e32 v0, v1, v2 clamp", "an _e32 encoding has no modifiers"),
        ("v_mov_b32_dpp v0, s0 row_shr:1", "operand s0 must be a VGPR in a DPP"),
        ("v_add_f32_dpp v0, v1, s0 row_shr:1", "operand s0 must be a VGPR in a DPP"),
        ("v_mov_b32_dpp v0, v1 row_shr:1 bound_ctrl:2", "bound_ctrl 2 must lie in 0..1"),
        # llvm-mc cuts these off
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0x1f", "row_mask 31 must lie in 0..15"),
        ("v_mov_b32_dpp v0, v1 row_shr:1 bank_mask:-1", "bank_mask -1 must lie in 0..15"),
        ("s_waitcnt 0x12345", "immediate 74565 must lie in -32768..65535"),
        ("buffer_load_dword v0, v1, s[4:7], 0 offen offset:4096", "offset 4096 must lie in 0..40"),
        # as llvm-mc
        ("s_waitcnt vmcnt(64)", r"vmcnt\(64\) exceeds the counter's limit of 63"),
        ("s_waitcnt lgkmcnt(16)", r"lgkmcnt\(16\) exceeds"),
        ("s_waitcnt vmcnt(0) lgkmcmt(0)", "wait operand 'lgkmcmt"),
        ("buffer_load_dword v0, v1, s[4:7], 0 offen offset:-1", "offset -1 must lie in 0..4095"),
        ("buffer_load_dword v0, v1, s[4:7], 0x1234 offen", "0x1234 must be an SGPR or inline"),
        ("buffer_load_dword v0, v1, s[4:7], v3 offen", "v3 must be an SGPR or inline"),
        ("global_load_dword v0, v[2:3], off offset:4096", "offset 4096 must lie in -4096..4095"),
        ("flat_load_dword v0, v[2:3] offset:-1", "offset -1 must lie in 0..4095"),
        ("scratch_load_dword v0, off, s0 offset:-4097", "offset -4097 must lie in -4096..4095"),
        ("ds_read_b32 v0, v1 offset:65536", "offset 65536 must lie in 0..65535"),
        ("ds_read2_b32 v[0:1], v2 offset1:256", "offset1 256 must lie in 0..255"),
        ("s_load_dword s0, s[2:3], 0x100000", "offset 1048576 must lie in -1048576..1048575"),
        ("s_buffer_load_dword s0, s[4:7], -4", "offset -4 must lie in 0..1048575"),
    ],
)
def test_what_no_encoding_holds(text: str, message: str) -> None:
    refused(text, message)


@pytest.mark.parametrize(
    "text",
    [
        "s_waitcnt 65535",
        "s_waitcnt -1",
        "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)",
        "s_movk_i32 s0, 0xffff",
        "v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0x0 bound_ctrl:1",
        "buffer_load_dword v0, v1, s[4:7], 0 offen offset:4095",
        "global_load_dword v0, v[2:3], off offset:-4096",
        "ds_read_b32 v0, v1 offset:65535",
        "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)",
        "s_load_dword s0, s[2:3], -0x100000",
        "ds_write_b32 v0, a1",
    ],
)
def test_limits_can_be_reached(text: str) -> None:
    decode(assemble(text))


def test_reasons_are_listed_with_those_of_the_unsupported() -> None:
    reasons = unsupported(assemble("v_mov_b32_e32 v12, 0\nv_mov_b32_e32 v13, 0", **DECLARED))
    assert all("lies past the 12" in reason for reason in reasons)
    assert sum(reasons.values()) == 2
    assert issubclass(IllegalInstruction, UnsupportedInstruction)
