"""VOP3P: packed, mixed and dot instructions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .exact import BF16, F16, F32
from .harness import OLD, execute, signed, unsigned
from .samples import lanes

HALF = 0xFFFF


def s16(x: int) -> int:
    return signed(x, 16)


INTEGER: dict[str, tuple[int, Callable[..., int]]] = {
    "v_pk_add_u16": (2, lambda a, b: a + b),
    "v_pk_sub_u16": (2, lambda a, b: a - b),
    "v_pk_add_i16": (2, lambda a, b: a + b),
    "v_pk_sub_i16": (2, lambda a, b: a - b),
    "v_pk_mul_lo_u16": (2, lambda a, b: a * b),
    "v_pk_mad_u16": (3, lambda a, b, c: a * b + c),
    "v_pk_mad_i16": (3, lambda a, b, c: a * b + c),
    "v_pk_max_u16": (2, max),
    "v_pk_min_u16": (2, min),
    "v_pk_max_i16": (2, lambda a, b: max(s16(a), s16(b))),
    "v_pk_min_i16": (2, lambda a, b: min(s16(a), s16(b))),
    "v_pk_lshlrev_b16": (2, lambda a, b: b << (a & 15)),
    "v_pk_lshrrev_b16": (2, lambda a, b: b >> (a & 15)),
    "v_pk_ashrrev_i16": (2, lambda a, b: s16(b) >> (a & 15)),
}
CLAMPED: dict[str, tuple[Callable[..., int], int, int]] = {
    "v_pk_add_u16": (lambda a, b: a + b, 0, HALF),
    "v_pk_sub_u16": (lambda a, b: a - b, 0, HALF),
    "v_pk_add_i16": (lambda a, b: s16(a) + s16(b), -(2**15), 2**15 - 1),
    "v_pk_sub_i16": (lambda a, b: s16(a) - s16(b), -(2**15), 2**15 - 1),
}


def halves(x: int) -> tuple[int, int]:
    return x & HALF, x >> 16


def words(count: int) -> st.SearchStrategy[list[list[int]]]:
    return st.lists(lanes(32), min_size=count, max_size=count)


@pytest.mark.parametrize("opcode", INTEGER)
def test_packed_integers(opcode: str) -> None:
    count, function = INTEGER[opcode]

    @given(numbers=words(count), picks=st.tuples(*[st.integers(0, 1)] * (2 * count)))
    @settings(max_examples=10)
    def check(numbers: list[list[int]], picks: tuple[int, ...]) -> None:
        names = ", ".join(f"v{i}" for i in range(count))
        registers = dict(enumerate(numbers))
        low, high = picks[:count], picks[count:]
        text = (
            f"{opcode} v4, {names} op_sel:[{','.join(map(str, low))}] "
            f"op_sel_hi:[{','.join(map(str, high))}]"
        )
        for got, *sources in zip(execute(text, registers).v(4), *numbers, strict=True):
            pairs = [halves(x) for x in sources]
            results = [
                function(*[pair[pick] for pair, pick in zip(pairs, order, strict=True)]) & HALF
                for order in (low, high)
            ]
            assert halves(got) == tuple(results)
        plain = execute(f"{opcode} v4, {names}", registers).v(4)
        for got, *sources in zip(plain, *numbers, strict=True):
            pairs = [halves(x) for x in sources]
            assert halves(got) == tuple(function(*[p[k] for p in pairs]) & HALF for k in (0, 1))

    check()


@pytest.mark.parametrize("opcode", CLAMPED)
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=10)
def test_packed_integer_clamp(opcode: str, a: list[int], b: list[int]) -> None:
    function, least, most = CLAMPED[opcode]
    for got, x, y in zip(
        execute(f"{opcode} v2, v0, v1 clamp", {0: a, 1: b}).v(2), a, b, strict=True
    ):
        for result, p, q in zip(halves(got), halves(x), halves(y), strict=True):
            assert result == unsigned(max(least, min(most, function(p, q))), 16)


def extreme(a: int, b: int, largest: bool) -> int:
    """maxNum or minNum; NaNs are tested elsewhere."""
    ordered = sorted((a, b), key=lambda x: -(x & 0x7FFF) - 1 if x >> 15 else x)
    return ordered[-1 if largest else 0]


HALF_FLOATS: dict[str, tuple[int, Callable[..., int]]] = {
    "v_pk_add_f16": (2, F16.add),
    "v_pk_mul_f16": (2, F16.multiply),
    "v_pk_fma_f16": (3, F16.fma),
    "v_pk_max_f16": (2, lambda a, b: extreme(a, b, True)),
    "v_pk_min_f16": (2, lambda a, b: extreme(a, b, False)),
    "v_pk_maximum3_f16": (3, lambda a, b, c: extreme(extreme(a, b, True), c, True)),
    "v_pk_minimum3_f16": (3, lambda a, b, c: extreme(extreme(a, b, False), c, False)),
}


@pytest.mark.parametrize("opcode", HALF_FLOATS)
def test_packed_halves_with_signs(opcode: str) -> None:
    count, function = HALF_FLOATS[opcode]

    @given(numbers=words(count), signs=st.tuples(*[st.integers(0, 1)] * (2 * count)))
    @settings(max_examples=10)
    def check(numbers: list[list[int]], signs: tuple[int, ...]) -> None:
        low, high = signs[:count], signs[count:]
        names = ", ".join(f"v{i}" for i in range(count))
        text = (
            f"{opcode} v4, {names} neg_lo:[{','.join(map(str, low))}] "
            f"neg_hi:[{','.join(map(str, high))}]"
        )
        for got, *sources in zip(
            execute(text, dict(enumerate(numbers))).v(4), *numbers, strict=True
        ):
            for k, flips in enumerate((low, high)):
                args = [
                    halves(x)[k] ^ (0x8000 if flip else 0)
                    for x, flip in zip(sources, flips, strict=True)
                ]
                if "m" in opcode[5:7] and any(F16.is_nan(x) for x in args) and "mul" not in opcode:
                    continue
                assert F16.same(halves(got)[k], function(*args))

    check()


SINGLE_FLOATS: dict[str, tuple[int, Callable[..., int]]] = {
    "v_pk_add_f32": (2, F32.add),
    "v_pk_mul_f32": (2, F32.multiply),
    "v_pk_fma_f32": (3, F32.fma),
}


@pytest.mark.parametrize("opcode", SINGLE_FLOATS)
def test_packed_singles(opcode: str) -> None:
    """op_sel picks the register for the low result, op_sel_hi (default 1) for the high one."""
    count, function = SINGLE_FLOATS[opcode]

    @given(numbers=words(2 * count), picks=st.tuples(*[st.integers(0, 1)] * (2 * count)))
    @settings(max_examples=8)
    def check(numbers: list[list[int]], picks: tuple[int, ...]) -> None:
        low, high = picks[:count], picks[count:]
        names = ", ".join(f"v[{2 * i}:{2 * i + 1}]" for i in range(count))
        text = (
            f"{opcode} v[8:9], {names} op_sel:[{','.join(map(str, low))}] "
            f"op_sel_hi:[{','.join(map(str, high))}]"
        )
        result = execute(text, dict(enumerate(numbers)))
        for row, order in ((8, low), (9, high)):
            for lane, got in enumerate(result.v(row)):
                args = [numbers[2 * i + pick][lane] for i, pick in enumerate(order)]
                assert F32.same(got, function(*args))

    check()


def test_packed_singles_with_scalars_constants_and_signs() -> None:
    two, three, four = (F32.bits_of(x) for x in (2, 3, 4))
    result = execute("v_pk_mul_f32 v[2:3], v[0:1], s[0:1]", {0: two, 1: two}, {0: three, 1: four})
    assert (result.v(2)[0], result.v(3)[0]) == (F32.bits_of(6), F32.bits_of(8))
    result = execute("v_pk_add_f32 v[2:3], v[0:1], 1.0 op_sel_hi:[1,0]", {0: two, 1: three})
    assert (result.v(2)[0], result.v(3)[0]) == (three, four)
    text = "v_pk_add_f32 v[2:3], v[0:1], v[0:1] neg_lo:[1,0] neg_hi:[0,1]"
    assert execute(text, {0: two, 1: three}).v(2)[0] == 0


def test_packed_move() -> None:
    numbers = {i: [100 * i + lane for lane in range(64)] for i in range(4)}
    for low, high in ((0, 0), (0, 1), (1, 0), (1, 1)):
        result = execute(f"v_pk_mov_b32 v[4:5], v[0:1], v[2:3] op_sel:[{low},{high}]", numbers)
        assert result.v(4) == numbers[low]
        assert result.v(5) == numbers[2 + high]
    text = "v_pk_mov_b32 v[0:1], v[0:1], v[0:1] op_sel:[1,0]"
    result = execute(text, {0: 1, 1: 2})
    assert (result.v(0)[0], result.v(1)[0]) == (2, 1)


# ---- mixed precision


def as_f32(bits: int, is_half: int, high: int) -> int:
    if not is_half:
        return bits
    half = bits >> 16 if high else bits & HALF
    if F16.is_nan(half):
        return F32.nan
    if F16.is_infinite(half):
        return F32.infinity | (F32.sign if half >> 15 else 0)
    return F32.round(F16.value(half), bool(half >> 15))


def to_f16(bits: int) -> int:
    if F32.is_nan(bits):
        return F16.nan
    if F32.is_infinite(bits):
        return F16.infinity | (F16.sign if bits & F32.sign else 0)
    return F16.round(F32.value(bits), bool(bits & F32.sign))


@given(
    numbers=words(3),
    kinds=st.tuples(*[st.integers(0, 1)] * 3),
    picks=st.tuples(*[st.integers(0, 1)] * 3),
    signs=st.tuples(*[st.integers(0, 1)] * 3),
)
@settings(max_examples=25)
def test_mixed_multiply_add(
    numbers: list[list[int]],
    kinds: tuple[int, ...],
    picks: tuple[int, ...],
    signs: tuple[int, ...],
) -> None:
    modifiers = (
        f"op_sel:[{','.join(map(str, picks))}] op_sel_hi:[{','.join(map(str, kinds))}] "
        f"neg_lo:[{','.join(map(str, signs))}]"
    )
    registers = dict(enumerate(numbers))
    for name in ("mix_f32", "mixlo_f16", "mixhi_f16"):
        got = execute(f"v_fma_{name} v4, v0, v1, v2 {modifiers}", registers).v(4)
        for result, *sources in zip(got, *numbers, strict=True):
            args = [
                as_f32(x, kind, pick) ^ (F32.sign if sign else 0)
                for x, kind, pick, sign in zip(sources, kinds, picks, signs, strict=True)
            ]
            exact = F32.fma(*args)
            if name == "mix_f32":
                assert F32.same(result, exact)
            elif name == "mixlo_f16":
                assert result >> 16 == OLD >> 16
                assert F16.same(result & HALF, to_f16(exact))
            else:
                assert result & HALF == OLD & HALF
                assert F16.same(result >> 16, to_f16(exact))


def test_mixed_absolute_value_and_clamp() -> None:
    text = "v_fma_mix_f32 v2, v0, v1, v0 neg_hi:[1,0,1] clamp"
    assert execute(text, {0: F32.bits_of(-2), 1: F32.bits_of(3)}).v(2) == [F32.bits_of(1)] * 64


# ---- dot products


def elements(word: int, kind: str) -> list[int]:
    bits = int(kind[1:])
    fields = [word >> i & (1 << bits) - 1 for i in range(0, 32, bits)]
    return [signed(f, bits) for f in fields] if kind[0] == "i" else fields


INTEGER_DOTS = {
    "v_dot2_i32_i16": "i16",
    "v_dot2_u32_u16": "u16",
    "v_dot4_i32_i8": "i8",
    "v_dot4_u32_u8": "u8",
    "v_dot8_i32_i4": "i4",
    "v_dot8_u32_u4": "u4",
}


@pytest.mark.parametrize("opcode", INTEGER_DOTS)
@given(a=lanes(32), b=lanes(32), c=lanes(32))
@settings(max_examples=10)
def test_integer_dot(opcode: str, a: list[int], b: list[int], c: list[int]) -> None:
    kind = INTEGER_DOTS[opcode]
    is_signed = kind[0] == "i"
    registers = {0: a, 1: b, 2: c}
    plain = execute(f"{opcode} v3, v0, v1, v2", registers).v(3)
    clamped = execute(f"{opcode} v3, v0, v1, v2 clamp", registers).v(3)
    accumulated = {**registers, 3: c}
    for lane, (x, y, z) in enumerate(zip(a, b, c, strict=True)):
        pairs = zip(elements(x, kind), elements(y, kind), strict=True)
        exact = sum(p * q for p, q in pairs) + (signed(z) if is_signed else z)
        assert plain[lane] == unsigned(exact)
        least, most = (-(2**31), 2**31 - 1) if is_signed else (0, 2**32 - 1)
        assert clamped[lane] == unsigned(max(least, min(most, exact)))
    if is_signed:
        short = opcode.replace("_i32", "c_i32")
        assert execute(f"{short}_e32 v3, v0, v1", accumulated).v(3) == plain


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@given(a=lanes(32), b=lanes(32), c=lanes(32))
@settings(max_examples=10)
def test_float_dot(kind: str, a: list[int], b: list[int], c: list[int]) -> None:
    """Within one unit of the exact sum; the manual leaves the inner rounding open."""
    form = F16 if kind == "f16" else BF16
    got = execute(f"v_dot2_f32_{kind} v3, v0, v1, v2", {0: a, 1: b, 2: c}).v(3)
    again = execute(f"v_dot2c_f32_{kind}_e32 v3, v0, v1", {0: a, 1: b, 3: c}).v(3)
    assert got == again
    for result, x, y, z in zip(got, a, b, c, strict=True):
        parts = [*halves(x), *halves(y)]
        if any(form.is_nan(p) or form.is_infinite(p) for p in parts) or z >> 23 & 0xFF == 0xFF:
            continue
        values = [form.value(p) for p in parts]
        exact = values[0] * values[2] + values[1] * values[3] + F32.value(z)
        terms = max(abs(values[0] * values[2]), abs(values[1] * values[3]), abs(F32.value(z)))
        if abs(exact) < Fraction(2) ** 127:
            error = abs(F32.value(result) - exact)
            limit = max(abs(exact), Fraction(2) ** -126) / 2**23 + terms / 2**50
            assert error <= limit
