"""Cutting excerpts and telling what a nop waits for, on small hand-written assembly."""

from __future__ import annotations

from itertools import pairwise

import pytest

from mxfp4kernels.ablation.excerpts import (
    ExcerptError,
    in_turn,
    read_excerpts,
    span,
    stores_through,
)
from mxfp4kernels.ablation.nops import BYTES, DPP, M0, MFMA, OTHER, PACKED, TRANS, VCC, cause
from mxfp4kernels.isa import Program, parse

FRAME = """
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
	.text
	.globl	kernel
	.p2align	8
	.type	kernel,@function
kernel:
{body}
	s_endpgm
"""


def program(*instructions: str) -> Program:
    return parse(FRAME.format(body="\n".join(f"\t{one}" for one in instructions)))


def texts(found: list) -> list[str]:
    return [one.text for one in found]


LINE = program(
    "s_mov_b32 s0, 1",
    "v_add_u32_e32 v0, 1, v1",
    "s_mov_b32 s1, 2",
    "v_add_u32_e32 v0, 2, v1",
    "s_mov_b32 s2, 3",
).instructions


class TestSpan:
    def test_from_first_to_last_with_both_ends(self) -> None:
        assert texts(span("v_add", "s_mov")(LINE)) == ["v_add_u32_e32 v0, 1, v1", "s_mov_b32 s1, 2"]

    def test_nth_start_nth_stop_and_lead(self) -> None:
        found = span("s_mov", "v_add", nth=1, lead=1)(LINE)
        assert texts(found) == [one.text for one in LINE[1:4]]
        assert texts(span("s_mov", "s_mov", stops=2)(LINE)) == [one.text for one in LINE[:5]]

    def test_shows_only_what_is_kept(self) -> None:
        assert texts(span("s_mov", "s_mov", "v_", stops=2)(LINE)) == [LINE[1].text, LINE[3].text]

    def test_names_the_pattern_that_is_not_found(self) -> None:
        with pytest.raises(ExcerptError, match="'v_rcp'"):
            span("s_mov", "v_rcp")(LINE)


def test_in_turn_takes_the_next_match_of_each() -> None:
    assert texts(in_turn("v_add", "s_mov", "v_add")(LINE)) == [one.text for one in LINE[1:4]]
    with pytest.raises(ExcerptError, match="no instruction matches 'v_add'"):
        in_turn("v_add", "v_add", "v_add")(LINE)


def test_stores_through_follow_one_address() -> None:
    stores = program(
        "v_add_co_u32_e32 v4, vcc, s0, v2",
        "v_addc_co_u32_e32 v5, vcc, 0, v3, vcc",
        "global_store_short v[4:5], v9, off",
        "global_store_short v[6:7], v9, off",
        "global_store_short v[4:5], v9, off offset:32",
        "v_add_co_u32_e32 v4, vcc, s1, v2",
        "v_addc_co_u32_e32 v5, vcc, 0, v3, vcc",
        "global_store_short v[4:5], v9, off offset:64",
    ).instructions
    assert [one.index for one in stores_through(0)(stores)] == [0, 1, 2, 4]
    assert [one.index for one in stores_through(1)(stores)] == [5, 6, 7]


def test_elisions_show_where_instructions_were_left_out() -> None:
    excerpt = read_excerpts()["exp2_off"]
    indices = [index for index, _, _ in excerpt.lines]
    gaps = sum(after != before + 1 for before, after in pairwise(indices))
    assert gaps
    assert excerpt.text.splitlines().count("...") == gaps


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("v_max_u32_e32 v1, v1, v2", "v_mov_b32_dpp v3, v1 quad_perm:[1,0,3,2] row_mask:0xf", DPP),
        ("v_add_co_u32_e32 v4, vcc, s0, v2", "v_addc_co_u32_e32 v5, vcc, 0, v3, vcc", VCC),
        ("v_cmp_gt_f32_e32 vcc, s0, v1", "v_cndmask_b32_e32 v1, 0, v2, vcc", VCC),
        ("s_mov_b32 m0, s1", "buffer_load_dwordx4 v1, s[4:7], 0 offen lds", M0),
        ("s_mov_b32 s2, s1", "buffer_load_dwordx4 v1, s[4:7], 0 offen lds", OTHER),
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4 v[4:7], v[8:11], v[12:15], 0, v1, v2 cbsz:4 blgp:4",
            "ds_write_b32 v20, v5",
            MFMA,
        ),
        ("v_exp_f32_e32 v1, v1", "v_add_f32_e32 v1, 1.0, v1", TRANS),
        ("v_exp_f32_e32 v1, v1", "v_add_f32_e32 v2, 1.0, v3", OTHER),
        (
            "v_cvt_scalef32_pk_fp4_f32 v1, v2, v3, v4",
            "v_cvt_scalef32_pk_fp4_f32 v1, v5, v6, v4 op_sel:[0,0,1,0]",
            BYTES,
        ),
        (
            "v_pk_mul_f32 v[2:3], v[4:5], v[6:7] op_sel_hi:[1,0]",
            "v_cvt_pk_bf16_f32 v8, v2, v3",
            PACKED,
        ),
        ("v_mov_b32_e32 v1, v2", "v_readfirstlane_b32 s0, v1", OTHER),
    ],
)
def test_cause_of_a_nop(before: str, after: str, expected: str) -> None:
    assert cause(program(before, "s_nop 0", after), 1) == expected


def test_the_instruction_behind_several_nops_counts() -> None:
    found = program("v_exp_f32_e32 v1, v1", "s_nop 7", "s_nop 3", "v_add_f32_e32 v1, 1.0, v1")
    assert [cause(found, index) for index in (1, 2)] == [TRANS, TRANS]


def test_a_nop_at_the_end_waits_for_nothing_known() -> None:
    assert cause(program("s_nop 0"), 0) == OTHER
