"""The parser on every kind of line that compilers print, and on lines that nobody understands."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.isa import AssemblyError, Instruction, count_program, parse, parse_all

FULL = """\
\t.amdgcn_target "amdgcn-amd-amdhsa-unknown-gfx950"
\t.amdhsa_code_object_version 6
\t.text
\t.globl\tscale                           ; -- Begin function scale
\t.p2align\t8
\t.type\tscale,@function
scale:                                  ; @scale
.Lfunc_begin0:
\t.file\t1 "/src" "scale.py"
\t.loc\t1 3 0                           ; scale.py:3:0
; %bb.0:                                ; %entry
\ts_load_dwordx2 s[2:3], s[0:1], 0x0    ; kernarg
\ts_waitcnt lgkmcnt(0)
.LBB0_1:                                ; =>This Inner Loop Header: Depth=1
\t;;#ASMSTART
\ts_waitcnt vmcnt(16) lgkmcnt(0)
\ts_barrier
\t;;#ASMEND
\tglobal_store_dword v0, v1, s[2:3] offset:16 nt
\ts_cbranch_scc1 .LBB0_1
\ts_endpgm
.Lfunc_end0:
\t.size\tscale, .Lfunc_end0-scale
\t.section\t.rodata,"a",@progbits
\t.amdhsa_kernel scale
\t\t.amdhsa_user_sgpr_count 2
\t\t.amdhsa_next_free_vgpr max(2, scale.num_vgpr)
\t\t.amdhsa_next_free_sgpr scale.sgprs
\t.end_amdhsa_kernel
\t.set scale.num_vgpr, 2
\t.p2alignl 6, 3212836864
\t.fill 256, 4, 3212836864
\t.section\t.debug_str,"MS",@progbits,1
.Linfo_string0:
\t.asciz\t"; not a comment: s_nop 0"
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .name:           !str n
        .offset:         0
        .size:           8
        .value_kind:     by_value
    .name:           scale
    .symbol:         scale.kd
    .vgpr_count:     2
amdhsa.version:
  - 1
  - 2
...

\t.end_amdgpu_metadata
"""


def only(line: str) -> Instruction:
    (instruction,) = parse(line).instructions
    return instruction


def test_full_text():
    program = parse(FULL)
    assert program.name == "scale"
    assert program.target == "gfx950"
    assert [instruction.opcode for instruction in program.instructions] == [
        "s_load_dwordx2",
        "s_waitcnt",
        "s_waitcnt",
        "s_barrier",
        "global_store_dword",
        "s_cbranch_scc1",
        "s_endpgm",
    ]
    assert [instruction.index for instruction in program.instructions] == list(range(len(program)))
    assert program.labels == {"scale": 0, ".Lfunc_begin0": 0, ".LBB0_1": 2, ".Lfunc_end0": 7}
    assert program.directives["amdhsa_user_sgpr_count"] == 2
    assert program.directives["amdhsa_next_free_vgpr"] == "max(2, scale.num_vgpr)"
    assert program.metadata[".vgpr_count"] == 2
    assert program.metadata[".args"][0][".name"] == "n"


def test_line_numbers_and_text_lead_back_to_the_source():
    lines = FULL.split("\n")
    for instruction in parse(FULL).instructions:
        source = lines[instruction.line - 1]
        assert source.strip().startswith(instruction.text)


def test_inline_asm_marks():
    marked = [i.opcode for i in parse(FULL).instructions if i.inline_asm]
    assert marked == ["s_waitcnt", "s_barrier"]


@pytest.mark.parametrize("begin", [";;#ASMSTART", ";APP", "#APP", "; ASMSTART"])
def test_every_spelling_of_the_inline_asm_mark(begin):
    end = begin.replace("ASMSTART", "ASMEND").replace("APP", "NO_APP")
    program = parse(f"s_nop 0\n{begin}\ns_nop 1\n{end}\ns_nop 2\n")
    assert [instruction.inline_asm for instruction in program.instructions] == [False, True, False]


def test_symbol_set_before_use_resolves_in_a_directive():
    text = FULL.replace("\t.amdhsa_code_object_version 6", "\t.set scale.sgprs, 12")
    assert parse(text).directives["amdhsa_next_free_sgpr"] == 12


def test_programs_can_be_sent_between_processes():
    program = parse(FULL)
    assert pickle.loads(pickle.dumps(program)) == program


@pytest.mark.parametrize(
    ("line", "operands", "modifiers"),
    [
        ("s_endpgm", (), ()),
        ("s_nop 7", ("7",), ()),
        ("s_waitcnt vmcnt(3) lgkmcnt(0)", ("vmcnt(3) lgkmcnt(0)",), ()),
        ("s_cbranch_scc1 .LBB0_7", (".LBB0_7",), ()),
        ("buffer_inv sc0 sc1", (), (("sc0", ""), ("sc1", ""))),
        (
            "buffer_load_dwordx4 v[2:5], v0, s[4:7], 0 offen offset:16 nt",
            ("v[2:5]", "v0", "s[4:7]", "0"),
            (("offen", ""), ("offset", "16"), ("nt", "")),
        ),
        (
            "buffer_load_dwordx4 v10, s[20:23], s29 offen lds",
            ("v10", "s[20:23]", "s29"),
            (("offen", ""), ("lds", "")),
        ),
        (
            "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[0:3], v[4:7], a[0:3], v8, v9 "
            "op_sel:[1,0,0] op_sel_hi:[0,0,0] cbsz:4 blgp:4",
            ("a[0:3]", "v[0:3]", "v[4:7]", "a[0:3]", "v8", "v9"),
            (("op_sel", "[1,0,0]"), ("op_sel_hi", "[0,0,0]"), ("cbsz", "4"), ("blgp", "4")),
        ),
        (
            "v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:1",
            ("v0", "v1"),
            (
                ("quad_perm", "[1,0,3,2]"),
                ("row_mask", "0xf"),
                ("bank_mask", "0xf"),
                ("bound_ctrl", "1"),
            ),
        ),
        (
            "v_and_b32_sdwa v1, sext(v2), v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_0",
            ("v1", "sext(v2)", "v3"),
            (("dst_sel", "WORD_1"), ("dst_unused", "UNUSED_PAD"), ("src0_sel", "BYTE_0")),
        ),
        ("v_fma_f32 v0, -v1, |v2|, -|v3| clamp", ("v0", "-v1", "|v2|", "-|v3|"), (("clamp", ""),)),
        ("v_max_f32_e64 v0, neg(1.0), abs(v2)", ("v0", "neg(1.0)", "abs(v2)"), ()),
        ("v_mul_f32_e32 v0, 0x3fb8aa3b, v1", ("v0", "0x3fb8aa3b", "v1"), ()),
        ("v_mul_f32_e32 v0, -1.5e-3, v1", ("v0", "-1.5e-3", "v1"), ()),
        ("v_mov_b64_e32 v[0:1], lit64(0x123456789)", ("v[0:1]", "lit64(0x123456789)"), ()),
        (
            "v_bitop3_b32 v0, v1, v2, v3 bitop3:0x96",
            ("v0", "v1", "v2", "v3"),
            (("bitop3", "0x96"),),
        ),
        (
            "ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,1)",
            ("v0", "v1"),
            (("offset", "swizzle(SWAP,1)"),),
        ),
        (
            'ds_swizzle_b32 v0, v1 offset:swizzle(BITMASK_PERM, "00p11")',
            ("v0", "v1"),
            (("offset", 'swizzle(BITMASK_PERM, "00p11")'),),
        ),
        (
            "ds_read2_b64 v[0:3], v4 offset0:1 offset1:2",
            ("v[0:3]", "v4"),
            (("offset0", "1"), ("offset1", "2")),
        ),
        ("global_load_dword v0, v[2:3], off sc1", ("v0", "v[2:3]", "off"), (("sc1", ""),)),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 3",
            ("hwreg(HW_REG_MODE, 4, 4)", "3"),
            (),
        ),
        ("s_add_u32 s4, s4, helper@rel32@lo+4", ("s4", "s4", "helper@rel32@lo+4"), ()),
        (
            "v_pk_fma_f32 v[0:1],v[2:3],s[4:5],v[6:7] op_sel:[0, 1, 0]",
            ("v[0:1]", "v[2:3]", "s[4:5]", "v[6:7]"),
            (("op_sel", "[0,1,0]"),),
        ),
    ],
)
def test_operands_and_modifiers(line, operands, modifiers):
    instruction = only(f"\t{line}  ; comment, with v99 and offset:7")
    assert instruction.operands == operands
    assert instruction.modifiers == modifiers
    assert instruction.text == line


def test_modifier_lookup():
    instruction = only("buffer_load_dword v1, v0, s[4:7], 0 offen offset:16")
    assert instruction.modifier("offset") == "16"
    assert instruction.modifier("offen") == ""
    assert instruction.modifier("nt") is None
    assert instruction.modifier("nt", "absent") == "absent"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("s_nop 0\n!!", 2, "not understood: !!"),
        ("\ts_nop 0\n\tv_add_f32 vv0, v1", 2, "operand 'vv0' is not understood"),
        ("v_add_f32_e32 v0, v1, v[2", 1, "is not understood"),
        ("v_add_f32_e32 v0, v1,", 1, "operand '' is not understood"),
        ("v_add_f32_e32 v0, v1, sym", 1, "operand 'sym' is not understood"),
        ("ds_read_b32 v0, v1 offest:4", 1, "unknown modifier 'offest:4'"),
        ("ds_read_b32 v0, v1 offset:", 1, "unknown modifier 'offset:'"),
        ("s_nop 0\n\t.long 0x7e040287\n\ts_endpgm", 2, ".long among the instructions puts bytes"),
        ("k:\n\t;APP\n\ts_nop 0\n.byte 1, 2, 3, 4", 4, ".byte among the instructions"),
        ("k:\n\t.fill 4, 4, 0\n\ts_endpgm", 2, ".fill among the instructions"),
        ("\t.amdhsa_kernl k", 1, "unknown directive .amdhsa_kernl"),
        ("a:\ns_nop 0\na:", 3, "label a is defined twice"),
        ("\t.amdgpu_metadata\n---\n", 1, "has no .end_amdgpu_metadata"),
        ("\t.amdgpu_metadata\n- ]\n\t.end_amdgpu_metadata", 1, "not valid YAML"),
        ("\t.amdgpu_metadata\n7\n\t.end_amdgpu_metadata", 1, "not a mapping"),
        ("s_nop 0\nv_mov_b32_e32 v256, v0", 2, "v256 lies beyond the last register v255"),
        ("v_add_f32_e32 v0, -|v300|, v1", 1, "v300 lies beyond the last register"),
        ("v_mov_b64_e32 v[0:600], v[0:1]", 1, "v600 lies beyond the last register v255"),
        ("v_mov_b64_e32 v[0:99999999999], v[0:1]", 1, "v99999999999 lies beyond the last register"),
        (f"v_mov_b64_e32 v[0:{'9' * 9999}], v[0:1]", 1, "9... lies beyond the last register v255"),
        ("v_accvgpr_read_b32 v0, a[256]", 1, "a256 lies beyond the last register a255"),
        ("s_mov_b32 s102, s0", 1, "s102 lies beyond the last register s101"),
        ("s_mov_b32 s0, ttmp16", 1, "ttmp16 lies beyond the last register ttmp15"),
        ("v_mov_b64_e32 v[3:1], v[0:1]", 1, "register range v[3:1] runs backwards"),
        ("s_mov_b64 ttmp[5:4], exec", 1, "register range ttmp[5:4] runs backwards"),
        ("\ts_nop 0\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel", 1, "before any function"),
        ("\t.amdhsa_kernel k\n\t.end_amdhsa_kernel", 0, "kernel k has a descriptor but no code"),
    ],
)
def test_what_is_not_understood_is_an_error_with_its_line(text, line, message):
    with pytest.raises(AssemblyError) as caught:
        parse_all(text)
    assert message in str(caught.value)
    assert caught.value.line == line
    assert not line or str(caught.value).startswith(f"line {line}: ")


def metadata(kernels: str) -> str:
    document = f"\t.amdgpu_metadata\n---\n{kernels}\n\t.end_amdgpu_metadata\n"
    return f"k:\n\ts_endpgm\n\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n{document}"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("amdhsa.kernels:", "has amdhsa.kernels empty, expected a list"),
        ("amdhsa.kernels: 5", "has amdhsa.kernels 5, expected a list"),
        ("amdhsa.kernels: [a, b]", "has 'a' in amdhsa.kernels, expected a mapping"),
        ("amdhsa.kernels: [{}]", "has a kernel with .name empty, expected text"),
        ("amdhsa.kernels: [{.name: [1]}]", "has a kernel with .name [1], expected text"),
        (
            "amdhsa.kernels: [{.name: k, .vgpr_count: lots}]",
            "has .vgpr_count 'lots' of kernel k, expected a whole number of at least 0",
        ),
        ("amdhsa.kernels: [{.name: k, .vgpr_count: }]", "has .vgpr_count empty of kernel k"),
        ("amdhsa.kernels: [{.name: k, .sgpr_count: true}]", "has .sgpr_count True of kernel k"),
        ("amdhsa.kernels: [{.name: k, .agpr_count: -1}]", "has .agpr_count -1 of kernel k"),
        ("amdhsa.kernels: [{.name: k, .args: 1}]", "has .args 1 of kernel k, expected a list"),
        ("amdhsa.kernels: [{.name: k, .args: [7]}]", "has 7 in .args of kernel k"),
        (
            "amdhsa.kernels: [{.name: k, .args: [{.offset: x}]}]",
            "has .offset 'x' in .args of kernel k",
        ),
        ("amdhsa.target: [1]", "has amdhsa.target [1], expected text"),
        ("amdhsa.kernels: !!int lots", "holds a value that does not fit its tag"),
        ("amdhsa.kernels: !!bool maybe", "holds a value that does not fit its tag"),
        ("amdhsa.kernels: !!timestamp never", "holds a value that does not fit its tag"),
        ("a: " + "[" * 5000, "is n"),
        ("a: &a [*a]\namdhsa.kernels: [*a]", "has [[...]] in amdhsa.kernels"),
    ],
)
def test_metadata_of_another_type_is_refused_with_its_line(document, message):
    with pytest.raises(AssemblyError, match=r"^line 5: \.amdgpu_metadata ") as caught:
        parse_all(metadata(document))
    assert message in str(caught.value)


def test_metadata_without_kernels():
    assert parse(metadata("amdhsa.version: [1, 2]")).metadata == {}
    assert parse(metadata("amdhsa.kernels: []")).metadata == {}


def test_padding_behind_the_end_and_data_elsewhere_are_no_instructions():
    text = "k:\n s_nop 0\n s_endpgm\n .fill 256, 4, 0xbf9f0000\n .section .rodata\n .long 7\n"
    assert [i.opcode for i in parse(text).instructions] == ["s_nop", "s_endpgm"]


def test_many_labels_on_one_line():
    labels = "".join(f"l{n}: " for n in range(20_000))
    program = parse(f"k:\n{labels}s_nop 0 ; l: m:\n")
    assert len(program.labels) == 20_001
    assert set(program.labels.values()) == {0}


def test_byte_order_mark():
    assert parse("\ufeffk:\n\ts_endpgm\n").name == "k"


@pytest.mark.parametrize(
    "line",
    [
        f"v_{'a' * 100_000}_b32 v0, v1",
        f"v_add_u32 v0, {'q' * 100_000}",
        f"ds_read_b32 v0, v1 {'q' * 100_000}",
        f"s_branch {'q' * 100_000}",
        f"s_waitcnt {'q' * 100_000}",
        f"s_waitcnt vmcnt({'9' * 100_000})",
        f".{'q' * 100_000}",
        f"{'q' * 100_000}:\n{'q' * 100_000}:",
        "!" * 100_000,
    ],
)
def test_long_words_are_quoted_in_part(line):
    with pytest.raises(AssemblyError) as caught:
        count_program(parse(line))
    assert len(str(caught.value)) < 500
    assert "..." in str(caught.value)


def test_comments_of_every_kind():
    text = "s_nop 0 // one\n// two\n# three\n; four\n/* five\n v_six */ s_nop 1\n"
    assert [(i.line, i.text) for i in parse(text).instructions] == [(1, "s_nop 0"), (6, "s_nop 1")]


def test_label_and_instruction_on_one_line():
    program = parse("start: s_nop 0\nend:\n")
    assert (program.name, program.labels) == ("start", {"start": 0, "end": 1})


def test_several_kernels_and_functions_that_are_none():
    kernel = "\t.type\t{0},@function\n{0}:\n\ts_nop {1}\n\ts_endpgm\n"
    descriptor = "\t.amdhsa_kernel {0}\n\t.end_amdhsa_kernel\n"
    text = kernel.format("one", 1) + kernel.format("helper", 2) + kernel.format("two", 3)
    text += descriptor.format("one") + descriptor.format("two")
    programs = parse_all(text)
    assert [(p.name, p.instructions[0].operands) for p in programs] == [
        ("one", ("1",)),
        ("two", ("3",)),
    ]
    assert [p.instructions[0].index for p in programs] == [0, 0]
    with pytest.raises(AssemblyError, match=r"2 kernels \(one, two\), expected one.*--kernel NAME"):
        parse(text)
    assert parse(text, "two").name == "two"
    with pytest.raises(AssemblyError, match=r"no kernel 'three' in the text; it has \(one, two\)"):
        parse(text, "three")


def test_no_kernel_at_all():
    with pytest.raises(AssemblyError, match="the text has no kernel: not a single instruction"):
        parse("; nothing\n")


REGISTERS = st.one_of(
    st.builds("{}{}".format, st.sampled_from("vas"), st.integers(0, 99)),
    st.builds(
        lambda file, first, width: f"{file}[{first}:{first + width}]",
        st.sampled_from("vas"),
        st.integers(0, 86),
        st.integers(1, 15),
    ),
)
OPERANDS = st.one_of(
    REGISTERS,
    st.sampled_from(["vcc", "exec", "m0", "off", "1.0", "-4.0", "0x1f", "-16", "src_shared_base"]),
    st.builds("-{}".format, REGISTERS),
    st.builds("|{}|".format, REGISTERS),
    st.builds("-|{}|".format, REGISTERS),
)
MODIFIERS = st.sampled_from(
    [
        ("offen", ""),
        ("offset", "16"),
        ("op_sel", "[0,1]"),
        ("clamp", ""),
        ("quad_perm", "[1,0,3,2]"),
    ]
)


@given(st.lists(OPERANDS, min_size=1, max_size=6), st.lists(MODIFIERS, max_size=3))
def test_what_is_printed_is_read_back(operands, modifiers):
    words = [name if not value else f"{name}:{value}" for name, value in modifiers]
    instruction = only(" ".join(["\tv_fma_f32", ", ".join(operands), *words]))
    assert instruction.operands == tuple(operands)
    assert instruction.modifiers == tuple(modifiers)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_with_a_line_that_it_has(text):
    line = 0
    try:
        parse_all(text)
    except AssemblyError as error:
        line = error.line
    assert line <= text.count("\n") + 1


def test_known_mnemonics_parse_without_operands():
    names = (Path(__file__).parent / "gfx950_mnemonics.txt").read_text().split("\n")[1:]
    mnemonics = [name for name in names if name]
    program = parse("\n".join(mnemonics))
    assert [instruction.opcode for instruction in program.instructions] == mnemonics
