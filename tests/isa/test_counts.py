"""Counts of small programs, by hand, and that regions add up."""

from __future__ import annotations

import pytest
from pipelines import BARRIER, MFMA, listing, persistent, rolled, unrolled

from mxfp4kernels.isa import (
    AssemblyError,
    InstructionClass,
    Region,
    count,
    count_program,
    parse,
)

SAMPLE = """
    s_load_dword s2, s[0:1], 0x0
    s_waitcnt vmcnt(0) lgkmcnt(0)
    s_waitcnt lgkmcnt(1)
    ;;#ASMSTART
    s_waitcnt vmcnt(16)
    ;;#ASMEND
    s_nop 0
    s_nop 7
    v_nop
    s_setprio 1
    s_setprio 0
    v_exp_f32_e32 v0, v1
    v_accvgpr_read_b32 v0, a1
    v_add_f32_e32 v0, v0, v1
    v_pk_max_u16 v0, v0, v1
    buffer_load_dword v0, v1, s[4:7], 0 offen nt
    buffer_load_dword v1, s[4:7], 0 offen lds
    global_store_dword v0, v1, s[2:3] nt
    ds_write_b32 v0, v1
    s_endpgm
"""


def test_sample():
    counts = count(parse(SAMPLE).instructions)
    assert {str(of): number for of, number in counts.classes.items() if number} == {
        "VALU": 2,
        "ACC": 1,
        "TRANS": 1,
        "SMEM": 1,
        "VMEM": 3,
        "LDS": 1,
        "WAIT": 3,
        "NOP": 3,
        "OTHER": 3,
    }
    assert list(counts.classes) == list(InstructionClass)
    assert counts.total == 18
    assert counts["VMEM"] == counts[InstructionClass.VMEM] == 3
    assert counts.non_mfma_vector == 4
    assert counts.part("VMEM", "load_to_lds") == 1
    assert counts.part("VMEM", "atomic") == 0
    assert counts.parts["VALU.packed"] == 1
    assert counts.waits == {"vmcnt": 2, "lgkmcnt": 2}
    assert counts.nop_states == 1 + 8 + 1
    assert counts.priorities == 2
    assert counts.non_temporal == 2
    assert counts.inline_asm == 1


def test_unknown_class_is_refused():
    with pytest.raises(ValueError, match="MFNA"):
        count([])["MFNA"]


def test_counting_an_opcode_without_a_class_is_an_error():
    with pytest.raises(AssemblyError, match="line 2: opcode s_delay_alu has no class"):
        count(parse("s_nop 0\ns_delay_alu 1").instructions)


@pytest.mark.parametrize("text", [unrolled(26, 2), unrolled(0, 2), rolled(2), persistent()])
def test_regions_add_up_to_the_kernel(text):
    program = parse(text)
    counts = count_program(program)
    assert counts.kernel == count(program.instructions)
    total = count([])
    for region in Region:
        total = total + counts.regions[region]
    assert total == counts.kernel


def test_steady_state_counts():
    counts = count_program(parse(unrolled(steady=26, drain=2)))
    assert counts.regions[Region.KLOOP]["MFMA"] == 26
    assert counts.regions[Region.DRAIN]["MFMA"] == 2
    assert counts.regions[Region.DRAIN]["VMEM"] == 0
    assert counts.regions[Region.KLOOP].part("VMEM", "load_to_lds") == 26
    assert counts.tiles == (26, 2)
    assert counts.tile_loop is None


def test_tile_loop_is_counted_apart():
    counts = count_program(parse(persistent()))
    assert counts.tile_loop is not None
    assert counts.tile_loop["MFMA"] == 2
    assert counts.kernel["MFMA"] == 4
    assert sum(c.total for c in counts.tile_loop_regions.values()) == counts.tile_loop.total
    assert counts.tiles == (0, 4)


def test_two_tile_loops_are_both_counted():
    loop = [".L{0}:", MFMA, "buffer_store_dword v0, v1, s[0:3], 0", BARRIER, "s_cbranch_scc1 .L{0}"]
    lines = [line.format(number) for number in (1, 2) for line in loop]
    counts = count_program(parse(listing(*lines, "s_endpgm")))
    assert counts.tile_loop is not None
    assert counts.tile_loop["MFMA"] == 2
