"""Which vector registers an instruction writes and reads."""

from __future__ import annotations

import pytest

from mxfp4kernels.isa import parse, vector_access, vector_mask


def mask(*registers: int) -> int:
    return sum(1 << register for register in registers)


@pytest.mark.parametrize(
    ("operand", "registers"),
    [
        ("v5", (5,)),
        ("v[2:4]", (2, 3, 4)),
        ("v[7]", (7,)),
        ("a1", (257,)),
        ("a[0:1]", (256, 257)),
        ("-|v3|", (3,)),
        ("sext(v9)", (9,)),
        ("s[0:3]", ()),
        ("vcc", ()),
        ("0x1a5", ()),
        ("src_v1", ()),
    ],
)
def test_mask(operand, registers):
    assert vector_mask(operand) == mask(*registers)


@pytest.mark.parametrize(
    ("text", "writes", "data", "address"),
    [
        ("v_add_u32_e32 v0, v1, v2", (0,), (1, 2), ()),
        ("v_fmac_f32_e32 v0, v1, v2", (0,), (0, 1, 2), ()),
        ("v_swap_b32 v0, v1", (0, 1), (0, 1), ()),
        ("v_permlane16_swap_b32_e32 v0, v1", (0, 1), (0, 1), ()),
        ("v_cmp_gt_u32_e32 vcc, v1, v2", (), (1, 2), ()),
        ("v_readfirstlane_b32 s0, v1", (), (1,), ()),
        ("v_writelane_b32 v0, s1, 0", (0,), (0,), ()),
        ("v_accvgpr_read_b32 v0, a1", (0,), (257,), ()),
        ("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0,1,0]", (0,), (0, 1, 2, 3), ()),
        ("v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE", (0,), (0, 1, 2), ()),
        ("v_or_b32_sdwa v0, v1, v2 dst_sel:BYTE_1 dst_unused:UNUSED_PAD", (0,), (1, 2), ()),
        ("v_mov_b32_dpp v0, v1 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf", (0,), (0, 1), ()),
        ("v_mov_b32_dpp v0, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", (0,), (1,), ()),
        ("v_add_f16_e64 v0, v1, v2 op_sel:[0,0,1]", (0,), (0, 1, 2), ()),
        ("v_pk_add_f32 v[0:1], v[2:3], v[4:5] op_sel:[0,1]", (0, 1), (2, 3, 4, 5), ()),
        ("buffer_load_dwordx2 v[0:1], v2, s[0:3], 0 offen", (0, 1), (), (2,)),
        ("global_load_short_d16_hi v0, v1, s[0:1]", (0,), (0,), (1,)),
        ("buffer_load_dword v2, s[0:3], 0 offen lds", (), (), (2,)),
        ("buffer_store_dword v1, v2, s[0:3], 0 offen", (), (1,), (2,)),
        ("global_store_dword v1, v2, s[0:1]", (), (2,), (1,)),
        ("global_atomic_pk_add_bf16 v1, v2, s[0:1]", (), (1, 2), ()),
        ("global_atomic_add v0, v1, v2, s[0:1] sc0", (0,), (0, 1, 2), ()),
        ("ds_read_b64 v[0:1], v2", (0, 1), (), (2,)),
        ("ds_write_b64 v0, v[1:2]", (), (1, 2), (0,)),
        ("ds_bpermute_b32 v0, v1, v2", (0,), (2,), (1,)),
        ("ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)", (0,), (1,), ()),
        ("ds_add_rtn_u32 v0, v1, v2", (0,), (0, 1, 2), ()),
        ("ds_add_u32 v1, v2", (), (1, 2), ()),
        ("s_add_u32 s0, s1, s2", (), (), ()),
    ],
)  # fmt: skip
def test_access(text, writes, data, address):
    access = vector_access(parse(text).instructions[0])
    assert access == (mask(*writes), mask(*data), mask(*address))
    assert access.reads == mask(*data) | mask(*address)
