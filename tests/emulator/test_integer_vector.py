"""Vector integer and bit instructions against plain Python integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import OLD, execute, high, low, signed, unsigned
from .samples import lanes

Oracle = Callable[..., int]


def s32(f: Oracle) -> Oracle:
    """Arguments as signed 32-bit numbers, result wrapped."""
    return lambda *args: unsigned(f(*[signed(a) for a in args]))


def u32(f: Oracle) -> Oracle:
    """Result wrapped to 32 bits."""
    return lambda *args: unsigned(f(*args))


def u16(f: Oracle) -> Oracle:
    """Low halves, result wrapped to 16 bits, upper half cleared."""
    return lambda *args: f(*[a & 0xFFFF for a in args]) & 0xFFFF


def s16(f: Oracle) -> Oracle:
    return lambda *args: f(*[signed(a, 16) for a in args]) & 0xFFFF


def s24(value: int) -> int:
    return signed(value, 24)


def count_leading(x: int) -> int:
    return unsigned(-1) if x == 0 else 32 - x.bit_length()


def count_leading_signed(x: int) -> int:
    x = unsigned(~x) if x >> 31 else x
    return count_leading(x)


def count_trailing(x: int) -> int:
    return unsigned(-1) if x == 0 else (x & -x).bit_length() - 1


def perm(a: int, b: int, selector: int) -> int:
    both = a << 32 | b
    out = 0
    for byte in range(4):
        s = selector >> 8 * byte & 0xFF
        if s < 8:
            value = both >> 8 * s & 0xFF
        elif s < 12:
            value = 0xFF * (both >> (15, 31, 47, 63)[s - 8] & 1)
        else:
            value = 0 if s == 12 else 0xFF
        out |= value << 8 * byte
    return out


def fields(x: int, bits: int) -> list[int]:
    return [x >> i & (1 << bits) - 1 for i in range(0, 32, bits)]


def sad(bits: int) -> Oracle:
    return lambda a, b, c: unsigned(
        c + sum(abs(x - y) for x, y in zip(fields(a, bits), fields(b, bits), strict=True))
    )


def msad(a: int, b: int, c: int) -> int:
    pairs = zip(fields(a, 8), fields(b, 8), strict=True)
    return unsigned(c + sum(abs(x - y) for x, y in pairs if y))


def lerp(a: int, b: int, c: int) -> int:
    parts = zip(fields(a, 8), fields(b, 8), fields(c, 8), strict=True)
    return sum((x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in enumerate(parts))


def bfe_signed(x: int, offset: int, width: int) -> int:
    width &= 31
    return unsigned(signed(signed(x) >> (offset & 31), width)) if width else 0


def median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def clamp(value: int, least: int, most: int) -> int:
    return max(least, min(most, value))


def saturate_bytes(x: int) -> int:
    low_, high_ = (clamp(signed(x >> shift, 16), 0, 255) for shift in (0, 16))
    return low_ | high_ << 8


UNARY: dict[str, Oracle] = {
    "v_mov_b32_e32": lambda a: a,
    "v_not_b32_e32": u32(lambda a: ~a),
    "v_bfrev_b32_e32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_ffbh_u32_e32": count_leading,
    "v_ffbh_i32_e32": count_leading_signed,
    "v_ffbl_b32_e32": count_trailing,
    "v_sat_pk_u8_i16_e32": saturate_bytes,
}
BINARY: dict[str, Oracle] = {
    "v_and_b32_e32": lambda a, b: a & b,
    "v_or_b32_e32": lambda a, b: a | b,
    "v_xor_b32_e32": lambda a, b: a ^ b,
    "v_xnor_b32_e32": u32(lambda a, b: ~(a ^ b)),
    "v_lshlrev_b32_e32": u32(lambda a, b: b << (a & 31)),
    "v_lshrrev_b32_e32": lambda a, b: b >> (a & 31),
    "v_ashrrev_i32_e32": lambda a, b: unsigned(signed(b) >> (a & 31)),
    "v_add_u32_e32": u32(lambda a, b: a + b),
    "v_sub_u32_e32": u32(lambda a, b: a - b),
    "v_subrev_u32_e32": u32(lambda a, b: b - a),
    "v_add_i32": u32(lambda a, b: a + b),
    "v_sub_i32": u32(lambda a, b: a - b),
    "v_max_u32_e32": max,
    "v_min_u32_e32": min,
    "v_max_i32_e32": s32(max),
    "v_min_i32_e32": s32(min),
    "v_mul_lo_u32": u32(lambda a, b: a * b),
    "v_mul_hi_u32": lambda a, b: a * b >> 32,
    "v_mul_hi_i32": s32(lambda a, b: a * b >> 32),
    "v_mul_u32_u24_e32": u32(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "v_mul_hi_u32_u24_e32": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32,
    "v_mul_i32_i24_e32": u32(lambda a, b: s24(a) * s24(b)),
    "v_mul_hi_i32_i24_e32": u32(lambda a, b: s24(a) * s24(b) >> 32),
    "v_bcnt_u32_b32": u32(lambda a, b: bin(a).count("1") + b),
    "v_bfm_b32": u32(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "v_pack_b32_f16": lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16,
    "v_add_u16_e32": u16(lambda a, b: a + b),
    "v_sub_u16_e32": u16(lambda a, b: a - b),
    "v_subrev_u16_e32": u16(lambda a, b: b - a),
    "v_mul_lo_u16_e32": u16(lambda a, b: a * b),
    "v_max_u16_e32": u16(max),
    "v_min_u16_e32": u16(min),
    "v_max_i16_e32": s16(max),
    "v_min_i16_e32": s16(min),
    "v_lshlrev_b16_e32": u16(lambda a, b: b << (a & 15)),
    "v_lshrrev_b16_e32": u16(lambda a, b: b >> (a & 15)),
    "v_ashrrev_i16_e32": lambda a, b: (signed(b, 16) >> (a & 15)) & 0xFFFF,
    "v_cvt_pk_u16_u32": lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16,
    "v_cvt_pk_i16_i32": lambda a, b: (
        unsigned(clamp(signed(a), -(2**15), 2**15 - 1), 16)
        | unsigned(clamp(signed(b), -(2**15), 2**15 - 1), 16) << 16
    ),
}
TERNARY: dict[str, Oracle] = {
    "v_and_or_b32": lambda a, b, c: a & b | c,
    "v_or3_b32": lambda a, b, c: a | b | c,
    "v_bfi_b32": u32(lambda a, b, c: a & b | ~a & c),
    "v_bfe_u32": lambda a, b, c: a >> (b & 31) & (1 << (c & 31)) - 1,
    "v_bfe_i32": bfe_signed,
    "v_perm_b32": perm,
    "v_alignbit_b32": lambda a, b, c: unsigned((a << 32 | b) >> (c & 31)),
    "v_alignbyte_b32": lambda a, b, c: unsigned((a << 32 | b) >> 8 * (c & 3)),
    "v_lshl_or_b32": u32(lambda a, b, c: a << (b & 31) | c),
    "v_lshl_add_u32": u32(lambda a, b, c: (a << (b & 31)) + c),
    "v_add_lshl_u32": u32(lambda a, b, c: unsigned(a + b) << (c & 31)),
    "v_xad_u32": u32(lambda a, b, c: (a ^ b) + c),
    "v_add3_u32": u32(lambda a, b, c: a + b + c),
    "v_max3_u32": max,
    "v_min3_u32": min,
    "v_med3_u32": median,
    "v_max3_i32": s32(max),
    "v_min3_i32": s32(min),
    "v_med3_i32": s32(median),
    "v_mad_u32_u24": u32(lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c),
    "v_mad_i32_i24": u32(lambda a, b, c: s24(a) * s24(b) + signed(c)),
    "v_mad_u32_u16": u32(lambda a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + c),
    "v_mad_i32_i16": u32(lambda a, b, c: signed(a, 16) * signed(b, 16) + signed(c)),
    "v_sad_u8": sad(8),
    "v_sad_u16": sad(16),
    "v_sad_u32": sad(32),
    "v_sad_hi_u8": lambda a, b, c: unsigned((sad(8)(a, b, 0) << 16) + c),
    "v_msad_u8": msad,
    "v_lerp_u8": lerp,
}
KEEPS_HIGH: dict[str, Oracle] = {
    "v_max3_u16": u16(max),
    "v_min3_u16": u16(min),
    "v_med3_u16": u16(median),
    "v_max3_i16": s16(max),
    "v_min3_i16": s16(min),
    "v_med3_i16": s16(median),
    "v_mad_u16": u16(lambda a, b, c: a * b + c),
    "v_mad_i16": s16(lambda a, b, c: a * b + c),
}
"""op_sel instructions: the half of the destination that is not written is kept."""


@pytest.mark.parametrize("opcode", UNARY)
@given(a=lanes(32))
@settings(max_examples=12)
def test_unary(opcode: str, a: list[int]) -> None:
    assert execute(f"{opcode} v1, v0", {0: a}).v(1) == [UNARY[opcode](x) for x in a]


@pytest.mark.parametrize("opcode", BINARY)
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=12)
def test_binary(opcode: str, a: list[int], b: list[int]) -> None:
    got = execute(f"{opcode} v2, v0, v1", {0: a, 1: b}).v(2)
    assert got == [BINARY[opcode](x, y) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("opcode", TERNARY)
@given(a=lanes(32), b=lanes(32), c=lanes(32))
@settings(max_examples=12)
def test_ternary(opcode: str, a: list[int], b: list[int], c: list[int]) -> None:
    got = execute(f"{opcode} v3, v0, v1, v2", {0: a, 1: b, 2: c}).v(3)
    assert got == [TERNARY[opcode](*args) for args in zip(a, b, c, strict=True)]


@pytest.mark.parametrize("opcode", KEEPS_HIGH)
@given(a=lanes(32), b=lanes(32), c=lanes(32), halves=st.tuples(*[st.booleans()] * 4))
@settings(max_examples=12)
def test_op_sel(
    opcode: str, a: list[int], b: list[int], c: list[int], halves: tuple[bool, ...]
) -> None:
    """Each bit of op_sel picks the half of a source; the last one the half that is written."""
    text = ",".join(str(int(half)) for half in halves)
    got = execute(f"{opcode} v3, v0, v1, v2 op_sel:[{text}]", {0: a, 1: b, 2: c}).v(3)
    for result, *sources in zip(got, a, b, c, strict=True):
        picked = [x >> 16 if half else x for x, half in zip(sources, halves, strict=False)]
        expected = KEEPS_HIGH[opcode](*picked)
        if halves[3]:
            assert result == OLD & 0xFFFF | expected << 16
        else:
            assert result == OLD & 0xFFFF0000 | expected


@pytest.mark.parametrize("opcode", ["v_add_i16", "v_sub_i16"])
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=12)
def test_op_sel_of_two_sources(opcode: str, a: list[int], b: list[int]) -> None:
    got = execute(f"{opcode} v2, v0, v1 op_sel:[1,0,0]", {0: a, 1: b}).v(2)
    for result, x, y in zip(got, a, b, strict=True):
        value = (x >> 16) + y if "add" in opcode else (x >> 16) - y
        assert result == OLD & 0xFFFF0000 | value & 0xFFFF


WIDE: dict[str, Oracle] = {
    "v_lshlrev_b64": lambda n, x: unsigned(x << (n & 63), 64),
    "v_lshrrev_b64": lambda n, x: x >> (n & 63),
    "v_ashrrev_i64": lambda n, x: unsigned(signed(x, 64) >> (n & 63), 64),
}


@pytest.mark.parametrize("opcode", WIDE)
@given(n=lanes(32), x=lanes(64))
@settings(max_examples=12)
def test_wide_shifts(opcode: str, n: list[int], x: list[int]) -> None:
    got = execute(f"{opcode} v[4:5], v0, v[2:3]", {0: n, 2: low(x), 3: high(x)}).v64(4)
    assert got == [WIDE[opcode](*args) for args in zip(n, x, strict=True)]


@given(x=lanes(64), n=st.integers(0, 4), y=lanes(64))
def test_shift_add_64(x: list[int], n: int, y: list[int]) -> None:
    registers = {0: low(x), 1: high(x), 2: low(y), 3: high(y)}
    got = execute(f"v_lshl_add_u64 v[4:5], v[0:1], {n}, v[2:3]", registers).v64(4)
    assert got == [unsigned((a << n) + b, 64) for a, b in zip(x, y, strict=True)]


@given(x=lanes(64))
def test_move_64(x: list[int]) -> None:
    assert execute("v_mov_b64_e32 v[2:3], v[0:1]", {0: low(x), 1: high(x)}).v64(2) == x


CLAMPED: dict[str, tuple[int, Oracle, int, int]] = {
    "v_add_u32_e64": (2, lambda a, b: a + b, 0, 2**32 - 1),
    "v_sub_u32_e64": (2, lambda a, b: a - b, 0, 2**32 - 1),
    "v_subrev_u32_e64": (2, lambda a, b: b - a, 0, 2**32 - 1),
    "v_add_i32": (2, lambda a, b: signed(a) + signed(b), -(2**31), 2**31 - 1),
    "v_sub_i32": (2, lambda a, b: signed(a) - signed(b), -(2**31), 2**31 - 1),
    "v_mad_u32_u24": (3, lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c, 0, 2**32 - 1),
    "v_mad_i32_i24": (3, lambda a, b, c: s24(a) * s24(b) + signed(c), -(2**31), 2**31 - 1),
}


@pytest.mark.parametrize("opcode", CLAMPED)
@given(a=lanes(32), b=lanes(32), c=lanes(32))
@settings(max_examples=12)
def test_integer_clamp_saturates(opcode: str, a: list[int], b: list[int], c: list[int]) -> None:
    count, oracle, least, most = CLAMPED[opcode]
    sources = ", ".join(f"v{i}" for i in range(count))
    got = execute(f"{opcode} v3, {sources} clamp", {0: a, 1: b, 2: c}).v(3)
    for result, *args in zip(got, a, b, c, strict=True):
        assert result == unsigned(clamp(oracle(*args[:count]), least, most))


@pytest.mark.parametrize("opcode", ["v_bitop3_b32", "v_bitop3_b16"])
@given(a=lanes(32), b=lanes(32), c=lanes(32), table=st.integers(0, 255))
@settings(max_examples=25)
def test_bitop3(opcode: str, a: list[int], b: list[int], c: list[int], table: int) -> None:
    got = execute(f"{opcode} v3, v0, v1, v2 bitop3:{table}", {0: a, 1: b, 2: c}).v(3)
    for result, x, y, z in zip(got, a, b, c, strict=True):
        for bit in range(32 if opcode.endswith("32") else 16):
            row = (x >> bit & 1) << 2 | (y >> bit & 1) << 1 | z >> bit & 1
            assert result >> bit & 1 == table >> row & 1


def test_accumulator_moves() -> None:
    lanes_ = list(range(64))
    result = execute(
        "v_accvgpr_write_b32 a1, v0\nv_accvgpr_mov_b32 a0, a1\nv_accvgpr_read_b32 v1, a0",
        {0: lanes_},
    )
    assert result.a(1) == result.a(0) == result.v(1) == lanes_


def test_lanes_that_exec_switches_off_keep_their_value() -> None:
    got = execute("v_add_u32_e32 v1, 1, v0", {0: 5}, exec_=0x8000000000000003).v(1)
    assert got == [6, 6] + [OLD] * 61 + [6]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("64", 64),
        ("-16", unsigned(-16)),
        ("0x12345678", 0x12345678),
        ("1.0", 0x3F800000),
        ("-4.0", 0xC0800000),
        ("0.15915494", 0x3E22F983),
        ("s3", 77),
        ("vcc_hi", 5),
        ("m0", 9),
        ("exec_lo", 0xFFFFFFFF),
        ("src_scc", 1),
        ("src_vccz", 0),
        ("src_execz", 0),
        ("src_shared_base", 0),
    ],
)
def test_operand_kinds(text: str, value: int) -> None:
    result = execute(f"v_mov_b32_e32 v0, {text}", s={3: 77, 124: 9}, vcc=5 << 32, scc=True)
    assert result.v(0) == [value] * 64
