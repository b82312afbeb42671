"""Every form of an ``s_waitcnt`` operand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.isa import AssemblyError, parse, waitcnt


def decode(operand: str) -> dict[str, int]:
    return waitcnt(parse(f"s_waitcnt {operand}").instructions[0])


@pytest.mark.parametrize(
    ("operand", "counters"),
    [
        ("vmcnt(3)", {"vmcnt": 3}),
        ("lgkmcnt(0)", {"lgkmcnt": 0}),
        ("vmcnt(16) lgkmcnt(0)", {"vmcnt": 16, "lgkmcnt": 0}),
        ("vmcnt(0) expcnt(0) lgkmcnt(0)", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
        ("vmcnt(1) & lgkmcnt(2)", {"vmcnt": 1, "lgkmcnt": 2}),
        ("vmcnt(1), lgkmcnt(2)", {"vmcnt": 1, "lgkmcnt": 2}),
        ("vmcnt(0x10)", {"vmcnt": 16}),
        ("vmcnt(63)", {}),
        ("vmcnt_sat(100) lgkmcnt(1)", {"lgkmcnt": 1}),
        ("0xc07f", {"lgkmcnt": 0}),
        ("0x0f70", {"vmcnt": 0}),
        ("0x4f70", {"vmcnt": 16}),
        ("0", {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
        ("49279", {"lgkmcnt": 0}),
    ],
)
def test_forms(operand, counters):
    assert decode(operand) == counters


@pytest.mark.parametrize("operand", ["vmcnt(64)", "lgkmcnt(16)", "vscnt(0)", "vmcnt(1) junk"])
def test_what_is_not_understood_is_an_error(operand):
    with pytest.raises(AssemblyError, match="line 1"):
        decode(operand)


def test_other_opcodes_are_refused():
    with pytest.raises(AssemblyError, match="not an s_waitcnt"):
        waitcnt(parse("s_nop 0").instructions[0])


@given(st.integers(0, 62), st.integers(0, 6), st.integers(0, 14))
def test_number_and_names_agree(vmcnt, expcnt, lgkmcnt):
    number = vmcnt % 16 + (vmcnt // 16) * 2**14 + expcnt * 2**4 + lgkmcnt * 2**8
    named = f"vmcnt({vmcnt}) expcnt({expcnt}) lgkmcnt({lgkmcnt})"
    assert decode(str(number)) == decode(named)
