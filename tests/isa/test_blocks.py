"""Blocks, edges, dominators and loops, against hand-drawn graphs and a brute-force oracle."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipelines import listing

from mxfp4kernels.isa import AssemblyError, control_flow, parse


def flow(*lines: str):
    return control_flow(parse(listing(*lines)))


def test_straight_line_is_one_block():
    found = flow("s_nop 0", "s_barrier", "s_endpgm")
    assert [(b.start, b.stop, b.successors) for b in found.blocks] == [(0, 3, ())]
    assert found.loops == ()


def test_if_else():
    found = flow(
        "s_cbranch_scc0 .Lelse", "s_nop 0", "s_branch .Lend", ".Lelse:", "s_nop 1", ".Lend:",
        "s_endpgm",
    )  # fmt: skip
    assert [block.successors for block in found.blocks] == [(1, 2), (3,), (3,), ()]
    assert found.predecessors == ((), (0,), (0,), (1, 2))
    assert found.dominators == (0, 0, 0, 0)
    assert found.loops == ()


def test_nested_loops():
    found = flow(
        "s_nop 0", ".Louter:", "s_nop 1", ".Linner:", "s_nop 2", "s_cbranch_scc1 .Linner",
        "s_cbranch_vccnz .Louter", "s_endpgm",
    )  # fmt: skip
    outer, inner = found.loops
    assert (outer.header, outer.blocks, outer.parent, outer.depth) == (1, {1, 2, 3}, None, 1)
    assert (inner.header, inner.blocks, inner.parent, inner.depth) == (2, {2}, 0, 2)
    assert found.instructions_of(inner) == (2, 3)
    assert found.block_of(3).index == 2


def test_two_back_edges_to_one_header_are_one_loop():
    found = flow(
        ".Ltop:", "s_cbranch_scc0 .Lnext", "s_branch .Ltop", ".Lnext:", "s_cbranch_scc1 .Ltop",
        "s_endpgm",
    )  # fmt: skip
    (loop,) = found.loops
    assert (loop.header, loop.blocks) == (0, {0, 1, 2})


def test_irreducible_cycle_is_reported_and_is_no_loop():
    found = flow(
        "s_cbranch_scc0 .Lb", ".La:", "s_nop 0", ".Lb:", "s_nop 1", "s_cbranch_scc1 .La",
        "s_endpgm",
    )  # fmt: skip
    assert found.loops == ()
    assert len(found.irreducible) == 1


def test_unreachable_code_has_no_dominator():
    found = flow("s_endpgm", "s_nop 0", "s_endpgm")
    assert found.dominators == (0, None)
    assert not found.dominates(0, 1)


def test_code_may_end_without_endpgm():
    assert flow("s_nop 0").blocks[0].successors == ()


def test_empty_program():
    assert control_flow(parse("empty:")).blocks == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s_branch .Lgone", r"line 2: branch to unknown label '\.Lgone'"),
        ("s_cbranch_scc0 16", "branch to unknown label '16'"),
        ("s_setpc_b64 s[30:31]", "indirect jump"),
    ],
)
def test_branches_that_cannot_be_followed(line, message):
    with pytest.raises(AssemblyError, match=message):
        flow("s_nop 0", line)


@given(st.lists(st.tuples(st.sampled_from("bcn"), st.integers(0, 11)), min_size=1, max_size=12))
def test_dominators_against_the_definition(body):
    """Block A dominates B when B cannot be reached with A taken out."""
    text = ""
    for number, (kind, target) in enumerate(body):
        jump = {"b": "s_branch", "c": "s_cbranch_scc0", "n": "s_nop 0 ;"}[kind]
        text += f".L{number}:\n\t{jump} .L{target % len(body)}\n"
    found = control_flow(parse(text))
    reachable = _reachable(found, None)
    for above in reachable:
        rest = _reachable(found, above)
        for below in reachable:
            assert found.dominates(above, below) == (below not in rest)
    for loop in found.loops:
        assert all(found.dominates(loop.header, block) for block in loop.blocks)


def _reachable(found, without):
    seen, stack = set(), [0]
    while stack:
        block = stack.pop()
        if block != without and block not in seen:
            seen.add(block)
            stack += found.blocks[block].successors
    return seen
