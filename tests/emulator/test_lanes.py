"""Moves between lanes, and the DPP and SDWA forms of ordinary instructions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import OLD, execute, signed, unsigned
from .samples import lanes

LANES = range(64)
NUMBERS = [1000 + lane for lane in LANES]
MASK = st.integers(0, 2**64 - 1)

DPP: dict[str, Callable[[int], int | None]] = {
    "quad_perm:[1,0,3,2]": lambda n: n ^ 1,
    "quad_perm:[3,3,0,1]": lambda n: n // 4 * 4 + (3, 3, 0, 1)[n % 4],
    "row_shl:1": lambda n: n + 1 if n % 16 < 15 else None,
    "row_shl:15": lambda n: n + 15 if n % 16 == 0 else None,
    "row_shr:4": lambda n: n - 4 if n % 16 >= 4 else None,
    "row_ror:3": lambda n: n // 16 * 16 + (n - 3) % 16,
    "wave_shl:1": lambda n: n + 1 if n < 63 else None,
    "wave_shr:1": lambda n: n - 1 if n else None,
    "wave_rol:1": lambda n: (n + 1) % 64,
    "wave_ror:1": lambda n: (n - 1) % 64,
    "row_mirror": lambda n: n ^ 15,
    "row_half_mirror": lambda n: n ^ 7,
    "row_bcast:15": lambda n: n // 16 * 16 - 1 if n >= 16 else None,
    "row_bcast:31": lambda n: 31 if n >= 32 else None,
    "row_newbcast:5": lambda n: n // 16 * 16 + 5,
}
"""Which lane each lane reads; None for none."""


def dpp_expected(control: str, on: int, rows: int, banks: int, zero: bool) -> list[int]:
    out = []
    for lane in LANES:
        source = DPP[control](lane)
        readable = source is not None and bool(on >> source & 1)
        written = on >> lane & rows >> lane // 16 & banks >> lane // 4 % 4 & 1
        if not written or not (readable or zero):
            out.append(OLD)
        else:
            assert source is not None or zero
            out.append(NUMBERS[source] if readable and source is not None else 0)
    return out


@pytest.mark.parametrize("control", DPP)
@given(on=MASK, rows=st.integers(0, 15), banks=st.integers(0, 15), zero=st.booleans())
@settings(max_examples=12)
def test_dpp_move(control: str, on: int, rows: int, banks: int, zero: bool) -> None:
    """A source lane that is off or absent gives 0 with bound_ctrl, else nothing is written."""
    text = f"v_mov_b32_dpp v1, v0 {control} row_mask:{rows:#x} bank_mask:{banks:#x}"
    text += " bound_ctrl:0" if zero else ""
    got = execute(text, {0: NUMBERS, 1: OLD}, exec_=on).v(1)
    assert got == dpp_expected(control, on, rows, banks, zero)


def test_dpp_applies_to_the_first_source() -> None:
    text = "v_sub_u32_dpp v2, v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    got = execute(text, {0: NUMBERS, 1: 1, 2: 0}).v(2)
    assert got == [NUMBERS[lane ^ 1] - 1 for lane in LANES]


def test_dpp_with_sign_modifiers() -> None:
    text = "v_add_f32_dpp v1, -v0, |v0| row_mirror row_mask:0xf bank_mask:0xf"
    assert execute(text, {0: 0xC0000000, 1: 0}).v(1) == [0x40800000] * 64


SELECT = {
    "DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16),
    "BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
}  # fmt: skip


@pytest.mark.parametrize("first", SELECT)
@pytest.mark.parametrize("second", ["DWORD", "WORD_1", "BYTE_2"])
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=4)
def test_sdwa_sources(first: str, second: str, a: list[int], b: list[int]) -> None:
    def pick(x: int, name: str, extend: bool) -> int:
        shift, bits = SELECT[name]
        field = x >> shift & (1 << bits) - 1
        return signed(field, bits) if extend else field

    for extend in (False, True):
        source = "sext(v0)" if extend else "v0"
        text = (
            f"v_add_u32_sdwa v2, {source}, v1 dst_sel:DWORD dst_unused:UNUSED_PAD "
            f"src0_sel:{first} src1_sel:{second}"
        )
        got = execute(text, {0: a, 1: b}).v(2)
        for result, x, y in zip(got, a, b, strict=True):
            assert result == unsigned(pick(x, first, extend) + pick(y, second, False))


@pytest.mark.parametrize("target", SELECT)
@given(a=lanes(32))
@settings(max_examples=6)
def test_sdwa_destination(target: str, a: list[int]) -> None:
    first, bits = SELECT[target]
    mask = (1 << bits) - 1
    for unused in ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"):
        text = f"v_mov_b32_sdwa v1, v0 dst_sel:{target} dst_unused:{unused} src0_sel:DWORD"
        got = execute(text, {0: a, 1: OLD}).v(1)
        for result, x in zip(got, a, strict=True):
            field = x & mask
            if bits == 32 or unused == "UNUSED_PAD":
                assert result == field << first
            elif unused == "UNUSED_PRESERVE":
                assert result == OLD & ~(mask << first) | field << first
            else:
                assert result == unsigned(signed(field, bits) << first)


def test_sdwa_with_halves_and_signs() -> None:
    text = (
        "v_add_f16_sdwa v1, -v0, |v0| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE "
        "src0_sel:WORD_1 src1_sel:WORD_0"
    )
    # -(-1.0) + |-2.0| = 3.0 into the upper half
    assert execute(text, {0: 0xBC00C000, 1: OLD}).v(1) == [0x4200 << 16 | OLD & 0xFFFF] * 64


def test_sdwa_comparison_writes_a_scalar_pair() -> None:
    text = "v_cmp_eq_u16_sdwa s[0:1], v0, v1 src0_sel:BYTE_1 src1_sel:BYTE_0"
    assert execute(text, {0: 0x1234, 1: 0x5612}).s64(0) == 2**64 - 1


# ---- lanes and scalars


def test_read_first_lane() -> None:
    assert execute("v_readfirstlane_b32 s0, v0", {0: NUMBERS}, exec_=0b1100).s(0) == 1002
    assert execute("v_readfirstlane_b32 s0, v0", {0: NUMBERS}, exec_=0).s(0) == 1000


def test_read_and_write_lane_ignore_exec() -> None:
    result = execute("v_readlane_b32 s0, v0, s1", {0: NUMBERS}, {1: 5 + 64}, exec_=1)
    assert result.s(0) == 1005
    assert execute("v_readlane_b32 s0, v0, 63", {0: NUMBERS}).s(0) == 1063
    got = execute("v_writelane_b32 v0, s1, 9", {0: NUMBERS}, {1: 7}, exec_=1).v(0)
    assert got == [*NUMBERS[:9], 7, *NUMBERS[10:]]


@given(mask=st.integers(0, 2**64 - 1))
def test_count_of_lanes_below(mask: int) -> None:
    text = "v_mbcnt_lo_u32_b32 v0, s0, 5\nv_mbcnt_hi_u32_b32 v0, s1, v0"
    got = execute(text, {0: 0}, {0: mask & 0xFFFFFFFF, 1: mask >> 32}).v(0)
    assert got == [5 + bin(mask & (1 << lane) - 1).count("1") for lane in LANES]


def test_swap() -> None:
    result = execute("v_swap_b32 v0, v1", {0: NUMBERS, 1: 7}, exec_=2**63)
    assert result.v(0) == [*NUMBERS[:63], 7]
    assert result.v(1) == [7] * 63 + [1063]


@pytest.mark.parametrize("rows", [16, 32])
def test_row_swap(rows: int) -> None:
    """Odd rows of the first register change places with even rows of the second."""
    second = [2000 + lane for lane in LANES]
    result = execute(f"v_permlane{rows}_swap_b32 v0, v1", {0: NUMBERS, 1: second})
    assert result.v(0) == [second[n - rows] if n // rows % 2 else NUMBERS[n] for n in LANES]
    assert result.v(1) == [second[n] if n // rows % 2 else NUMBERS[n + rows] for n in LANES]


# ---- through the LDS hardware

SWIZZLES: dict[str, Callable[[int], int]] = {
    "swizzle(SWAP,1)": lambda n: n ^ 1,
    "swizzle(SWAP,16)": lambda n: n ^ 16,
    "swizzle(REVERSE,8)": lambda n: n ^ 7,
    "swizzle(BROADCAST,8,3)": lambda n: n // 8 * 8 + 3,
    "swizzle(QUAD_PERM,3,2,1,0)": lambda n: n ^ 3,
    'swizzle(BITMASK_PERM,"01pi0")': lambda n: n // 32 * 32 + (8 | n & 4 | n & 2 ^ 2),
    "0x801b": lambda n: n ^ 3,
    "0x041f": lambda n: n ^ 1,
    "swizzle(ROTATE,0,1)": lambda n: n // 32 * 32 + (n + 1) % 32,
    "swizzle(ROTATE,1,3)": lambda n: n // 32 * 32 + (n - 3) % 32,
}


@pytest.mark.parametrize("pattern", SWIZZLES)
def test_swizzle(pattern: str) -> None:
    got = execute(f"ds_swizzle_b32 v1, v0 offset:{pattern}", {0: NUMBERS}).v(1)
    assert got == [NUMBERS[SWIZZLES[pattern](lane)] for lane in LANES]


def test_swizzle_reads_0_from_lanes_that_are_off() -> None:
    got = execute("ds_swizzle_b32 v1, v0 offset:swizzle(SWAP,1)", {0: NUMBERS}, exec_=1).v(1)
    assert got == [0] + [OLD] * 63


@given(source=st.lists(st.integers(0, 511), min_size=64, max_size=64))
def test_pull_and_push(source: list[int]) -> None:
    registers = {0: [4 * n for n in source], 1: NUMBERS}
    got = execute("ds_bpermute_b32 v2, v0, v1 offset:4", registers).v(2)
    assert got == [NUMBERS[(n + 1) % 64] for n in source]
    got = execute("ds_permute_b32 v2, v0, v1", registers).v(2)
    expected = [0] * 64
    for lane, n in enumerate(source):
        expected[n % 64] = NUMBERS[lane]
    assert got == expected
