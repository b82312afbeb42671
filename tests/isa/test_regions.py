"""The region rule on small pipelines of each structure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import (
    BARRIER,
    FRAGMENT_READ,
    LOAD_TO_LDS,
    MFMA,
    OPERAND_LOAD,
    epilogue,
    listing,
    persistent,
    prologue,
    rolled,
    tile,
    unrolled,
)

from mxfp4kernels.isa import Program, Region, Regions, find_regions, parse


def regions_of(text: str) -> tuple[Program, Regions]:
    program = parse(text)
    return program, find_regions(program)


def opcodes(program: Program, regions: Regions, region: Region, tile_loop=None) -> list[str]:
    return [program.instructions[i].opcode for i in regions.indices(region, tile_loop)]


def barriers(program: Program, regions: Regions) -> list[int]:
    return [opcodes(program, regions, region).count("s_barrier") for region in Region]


def sizes(regions: Regions) -> list[int]:
    return [len(regions.indices(region)) for region in Region]


def test_unrolled_loop_divides_as_the_published_counts_do():
    program, regions = regions_of(unrolled(steady=26, drain=2))
    assert barriers(program, regions) == [1, 26, 2, 1]
    assert sizes(regions) == [
        len(prologue()),
        26 * len(tile(loads=True)),
        2 * len(tile(loads=False)),
        len(epilogue()) + 1,
    ]
    assert [part.tiles for part in regions.passes] == [(26, 2)]


def test_prologue_ends_with_the_barrier_that_opens_the_first_tile():
    program, regions = regions_of(unrolled(steady=1, drain=1))
    assert opcodes(program, regions, Region.PROLOGUE)[-1] == "s_barrier"
    assert opcodes(program, regions, Region.KLOOP)[0] == "ds_read_b128"


def test_preloaded_tiles_are_drain_and_the_loop_is_empty():
    program, regions = regions_of(unrolled(steady=0, drain=2))
    assert barriers(program, regions) == [1, 0, 2, 1]
    assert regions.indices(Region.KLOOP) == ()
    assert [part.tiles for part in regions.passes] == [(0, 2)]


def test_tile_whose_mfmas_were_sunk_below_its_barrier_is_still_a_tile():
    lines = [
        *prologue(),
        *tile(loads=True),
        FRAGMENT_READ,
        BARRIER,
        MFMA,
        FRAGMENT_READ,
        BARRIER,
        MFMA,
    ]
    program, regions = regions_of(listing(*lines, *epilogue(), "s_endpgm"))
    assert barriers(program, regions) == [1, 1, 2, 1]
    assert opcodes(program, regions, Region.EPILOGUE)[0].startswith("v_mfma")


def test_load_for_the_epilogue_makes_no_steady_state():
    weight = "buffer_load_dword v30, v21, s[16:19], 0 offen"
    lines = [*prologue(), *tile(loads=True), weight, *tile(loads=False), *tile(loads=False)]
    use = ["v_mul_f32_e32 v0, v0, v30", *epilogue(), "s_endpgm"]
    program, regions = regions_of(listing(*lines, *use))
    assert [part.tiles for part in regions.passes] == [(1, 2)]
    loads = [i for i in program.instructions if "load" in i.opcode and i.opcode[0] == "b"]
    (foreign,) = [i.index for i in loads if i.index not in regions.operand_loads]
    assert program.instructions[foreign].operands[0] == "v30"


def test_load_that_is_quantised_and_staged_through_lds_is_an_operand_load():
    inline_quant = [
        "buffer_load_dwordx4 v[40:43], v21, s[4:7], 0 offen",
        "v_cvt_scalef32_pk_fp4_bf16 v44, v40, v45",
        "ds_write_b32 v20, v44",
    ]
    lines = [*prologue(), FRAGMENT_READ, MFMA, *inline_quant, BARRIER, *tile(loads=False)]
    program, regions = regions_of(listing(*lines, *epilogue(), "s_endpgm"))
    assert [part.tiles for part in regions.passes] == [(1, 1)]
    assert any(program.instructions[i].operands[0] == "v[40:43]" for i in regions.operand_loads)


def test_overwritten_load_is_no_operand_load():
    _program, regions = regions_of(listing(OPERAND_LOAD, OPERAND_LOAD, FRAGMENT_READ, MFMA))
    assert regions.operand_loads == {1}
    assert regions.fragment_reads == {2}


def test_accumulator_is_followed_only_into_another_mfma():
    chained = "v_mfma_f32_16x16x32_f16 v[50:53], v[0:3], v[4:7], 0"
    load = "global_load_dwordx4 v[0:3], v60, s[0:1]"
    _, alone = regions_of(listing(load, MFMA))
    _, followed = regions_of(listing(load, MFMA, chained))
    assert alone.operand_loads == frozenset()
    assert followed.operand_loads == {0}


def test_rolled_loop_is_kloop_with_all_its_barriers():
    program, regions = regions_of(rolled(drain=2))
    assert barriers(program, regions) == [0, 1, 3, 1]
    assert "s_cbranch_scc1" in opcodes(program, regions, Region.KLOOP)
    assert [part.tiles for part in regions.passes] == [(1, 2)]


def test_rolled_loop_without_drain():
    lines = [*prologue(), ".LBB0_1:", *tile(loads=True), "s_cbranch_scc1 .LBB0_1"]
    program, regions = regions_of(listing(*lines, *epilogue(), "s_endpgm"))
    assert barriers(program, regions) == [1, 1, 0, 1]
    assert opcodes(program, regions, Region.EPILOGUE)[0] == "ds_write_b128"


def test_value_carried_around_a_rolled_loop_is_followed():
    body = [MFMA, "v_mov_b32_e32 v12, v32", "buffer_load_dword v32, v21, s[4:7], 0 offen"]
    lines = [".LBB0_1:", *body, "s_cbranch_scc1 .LBB0_1", "s_endpgm"]
    _, regions = regions_of(listing(*lines))
    assert regions.operand_loads == {2}


def test_persistent_kernel_has_the_regions_twice():
    program, regions = regions_of(persistent())
    straight, loop = regions.passes
    assert (straight.tile_loop, loop.tile_loop) == (False, True)
    assert straight.tiles == loop.tiles == (0, 2)
    assert len(straight.instructions) + len(loop.instructions) == len(program)
    for tile_loop in (False, True):
        drain = opcodes(program, regions, Region.DRAIN, tile_loop)
        assert sum(opcode.startswith("v_mfma") for opcode in drain) == 2
        assert opcodes(program, regions, Region.EPILOGUE, tile_loop)[:2] == [
            "v_cvt_pk_bf16_f32",
            "buffer_store_dword",
        ]
    assert opcodes(program, regions, Region.PROLOGUE, True).count("s_barrier") == 2
    assert program.instructions[-1].index in regions.indices(Region.EPILOGUE, False)


def test_without_a_barrier_the_last_tile_ends_at_its_last_mfma_or_first_result():
    store = "buffer_store_dword v0, v21, s[12:15], 0 offen"
    start = [*prologue(), FRAGMENT_READ]
    _, behind = regions_of(listing(*start, MFMA, MFMA, "v_mov_b32_e32 v30, v0", store, "s_endpgm"))
    _, before = regions_of(listing(*start, MFMA, store, MFMA, store, "s_endpgm"))
    assert len(behind.indices(Region.DRAIN)) == 3
    assert len(before.indices(Region.DRAIN)) == 2


def test_operands_straight_from_memory_make_tiles_of_mfma_spans():
    lines = [OPERAND_LOAD, BARRIER, MFMA, OPERAND_LOAD, BARRIER, MFMA, BARRIER, "s_endpgm"]
    program, regions = regions_of(listing(*lines))
    assert barriers(program, regions) == [1, 1, 1, 0]
    assert [part.tiles for part in regions.passes] == [(1, 1)]


def test_without_mfma_all_is_prologue():
    program, regions = regions_of(listing(LOAD_TO_LDS, BARRIER, FRAGMENT_READ, "s_endpgm"))
    assert sizes(regions) == [len(program), 0, 0, 0]


def test_loop_without_mfma_changes_nothing():
    wait = [".LBB0_9:", "s_sleep 1", "s_cbranch_scc0 .LBB0_9"]
    text = listing(*prologue()[:-1], *wait, BARRIER, *tile(True), *tile(False), *epilogue())
    program, regions = regions_of(text)
    assert barriers(program, regions) == [1, 1, 1, 1]


STORE = "buffer_store_dword v0, v21, s[12:15], 0 offen"


def test_load_to_lds_that_no_fragment_read_follows_is_no_operand_load():
    _, regions = regions_of(listing(LOAD_TO_LDS, FRAGMENT_READ, MFMA, LOAD_TO_LDS, MFMA))
    assert regions.operand_loads == {0}


def test_a_trip_of_a_tile_loop_is_followed_no_further_than_itself():
    lines = [".LBB0_1:", MFMA, STORE, OPERAND_LOAD, "s_cbranch_scc1 .LBB0_1", "s_endpgm"]
    _, regions = regions_of(listing(*lines))
    assert regions.operand_loads == frozenset()


def test_tile_loop_inside_a_loop_is_one_pass_with_it():
    inner = [".LBB0_2:", MFMA, STORE, "s_cbranch_scc1 .LBB0_2"]
    lines = [".LBB0_1:", "s_nop 0", *inner, "s_cbranch_vccnz .LBB0_1", "s_endpgm"]
    _, regions = regions_of(listing(*lines))
    assert [(part.tile_loop, len(part.instructions)) for part in regions.passes] == [
        (False, 1),
        (True, 5),
    ]


def test_staged_write_in_the_last_tile_is_no_result():
    lines = [
        OPERAND_LOAD,
        BARRIER,
        FRAGMENT_READ,
        "ds_write_b128 v20, v[40:43]",
        FRAGMENT_READ,
        MFMA,
    ]
    _, regions = regions_of(listing(*lines, STORE, "s_endpgm"))
    assert len(regions.indices(Region.DRAIN)) == 4


def test_rolled_loop_without_loads_is_still_kloop():
    lines = [*prologue(), ".LBB0_1:", FRAGMENT_READ, MFMA, "s_cbranch_scc1 .LBB0_1", BARRIER]
    program, regions = regions_of(listing(*lines, *epilogue(), "s_endpgm"))
    assert opcodes(program, regions, Region.KLOOP)[-1] == "s_cbranch_scc1"
    assert regions.indices(Region.DRAIN) == ()


def test_rolled_loop_that_writes_lds_is_not_cut():
    loop = [".LBB0_1:", MFMA, "ds_write_b32 v20, v40", MFMA, "s_cbranch_scc1 .LBB0_1"]
    _, regions = regions_of(listing(*loop, "s_endpgm"))
    assert sizes(regions) == [0, 4, 0, 1]


def test_tiles_around_a_rolled_loop_without_lds():
    loop = [".LBB0_1:", OPERAND_LOAD, MFMA, "s_cbranch_scc1 .LBB0_1"]
    program, regions = regions_of(listing(*loop, BARRIER, MFMA, BARRIER, STORE, "s_endpgm"))
    assert opcodes(program, regions, Region.DRAIN).count("s_barrier") == 2
    assert [part.tiles for part in regions.passes] == [(1, 1)]


def test_sparse_mfma_accumulates_in_place():
    sparse = "v_smfmac_f32_16x16x64_f16 v[8:11], v[40:43], v[44:51], v52"
    load = "global_load_dwordx4 v[8:11], v60, s[0:1]"
    _, regions = regions_of(listing(load, sparse, MFMA))
    assert regions.operand_loads == {0}


@pytest.mark.parametrize("text", ["empty:", "s_endpgm"])
def test_smallest_programs(text):
    program, regions = regions_of(text)
    assert sizes(regions) == [len(program), 0, 0, 0]


PIECES = [
    MFMA,
    FRAGMENT_READ,
    OPERAND_LOAD,
    LOAD_TO_LDS,
    BARRIER,
    "ds_write_b128 v20, v[0:3]",
    "v_mov_b32_e32 v12, v24",
    "buffer_store_dword v0, v21, s[12:15], 0 offen",
    "s_cbranch_scc0 .Lstart",
    "s_cbranch_scc1 .Lend",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_every_instruction_is_in_one_region_and_regions_keep_their_order(lines):
    program, regions = regions_of(listing(".Lstart:", *lines, ".Lend:", "s_endpgm"))
    covered = sorted(i for region in Region for i in regions.indices(region))
    assert covered == list(range(len(program)))
    order = list(Region)
    for part in regions.passes:
        places = [order.index(regions.of[index]) for index in part.instructions]
        assert places == sorted(places)
