"""Vector float instructions against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxfp4kernels.emulator.waves import Mode

from .exact import F16, F32, F64, Format
from .harness import OLD, execute, high, low, signed, unsigned
from .samples import lanes

FORMATS = {"f16": F16, "f32": F32, "f64": F64}


def canonical(form: Format, bits: int) -> int:
    """One pattern for all NaNs: their payload is not asked for."""
    return form.nan if form.is_nan(bits) else bits


def compute(opcode: str, form: Format, sources: list[list[int]], result: Format, **options: object
            ) -> list[int]:  # fmt: skip
    """Run ``opcode`` on up to three sources of one format; results with canonical NaNs."""
    names, registers = [], {}
    for i, values in enumerate(sources):
        if form.width == 64:
            registers |= {2 * i: low(values), 2 * i + 1: high(values)}
            names.append(f"v[{2 * i}:{2 * i + 1}]")
        else:
            registers[i] = values
            names.append(f"v{i}")
    target = "v[8:9]" if result.width == 64 else "v8"
    ran = execute(f"{opcode} {target}, {', '.join(names)}", registers, **options)  # type: ignore[arg-type]
    got = ran.v64(8) if result.width == 64 else ran.v(8)
    if result.width == 16:
        assert all(bits >> 16 in (0, OLD >> 16) for bits in got)
        got = [bits & 0xFFFF for bits in got]
    return [canonical(result, bits) for bits in got]


def quiet(form: Format, bits: int) -> int:
    return bits | 1 << form.mantissa_bits - 1


def is_signalling(form: Format, bits: int) -> bool:
    return form.is_nan(bits) and quiet(form, bits) != bits


def order(form: Format, bits: int) -> int:
    """Integers in the order of the numbers, -0 below +0."""
    return -(bits & form.sign - 1) - 1 if bits & form.sign else bits


def extreme(form: Format, choose: Callable[..., int], a: int, b: int) -> int:
    """minNum or maxNum in IEEE mode: a signalling NaN wins, a quiet one loses."""
    for x in (a, b):
        if is_signalling(form, x):
            return form.nan
    if form.is_nan(a) or form.is_nan(b):
        return canonical(form, b if form.is_nan(a) else a)
    return choose(a, b, key=lambda x: order(form, x))


ARITHMETIC: dict[str, Callable[..., int]] = {
    "add": Format.add,
    "sub": Format.subtract,
    "subrev": lambda form, a, b: form.subtract(b, a),
    "mul": Format.multiply,
    "max": lambda form, a, b: extreme(form, max, a, b),
    "min": lambda form, a, b: extreme(form, min, a, b),
}
HAVE_64 = ("add", "mul", "max", "min")


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_binary(name: str, kind: str) -> None:
    form = FORMATS[kind]
    if form is F64 and name not in HAVE_64:
        return  # the ISA has no such instruction

    @given(a=lanes(form.width), b=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int], b: list[int]) -> None:
        suffix = "" if form is F64 else "_e32"
        got = compute(f"v_{name}_{kind}{suffix}", form, [a, b], form)
        expected = [
            canonical(form, ARITHMETIC[name](form, x, y)) for x, y in zip(a, b, strict=True)
        ]
        assert got == expected

    check()


SIGNALLING = 0x7FA00000
"""A signalling NaN of f32; with 0x7D00 that of f16."""


@pytest.mark.parametrize(
    ("text", "source", "result"),
    [
        ("v_cvt_f16_f32 v0, v1", SIGNALLING, 0x7F00),
        ("v_cvt_f32_f16 v0, v1", 0x7D00, 0x7FE00000),
        ("v_cvt_pkrtz_f16_f32 v0, v1, v1", SIGNALLING, 0x7F007F00),
        ("v_cvt_pk_f16_f32 v0, v1, v1", SIGNALLING, 0x7F007F00),
        ("v_frexp_mant_f32 v0, v1", SIGNALLING, 0x7FE00000),
        ("v_frexp_mant_f16 v0, v1", 0x7D00, 0x7F00),
    ],
)
def test_signalling_nans_are_quieted(text: str, source: int, result: int) -> None:
    assert execute(text, {1: source}).v(0) == [result] * 64


@pytest.mark.parametrize("kind", FORMATS)
def test_fma(kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width), b=lanes(form.width), c=lanes(form.width))
    @settings(max_examples=10)
    def check(a: list[int], b: list[int], c: list[int]) -> None:
        got = compute(f"v_fma_{kind}", form, [a, b, c], form)
        assert got == [form.fma(*args) for args in zip(a, b, c, strict=True)]

    check()


def test_fmac_accumulates_in_its_destination() -> None:
    one, two, three = (F32.bits_of(x) for x in (1, 2, 3))
    got = execute("v_fmac_f32_e32 v2, v0, v1", {0: two, 1: three, 2: one}).v(2)
    assert got == [F32.bits_of(7)] * 64


def test_fmac_f64() -> None:
    two, one = F64.bits_of(2) >> 32, F64.bits_of(1) >> 32
    registers = {0: 0, 1: two, 2: 0, 3: two, 4: 0, 5: one}
    got = execute("v_fmac_f64_e32 v[4:5], v[0:1], v[2:3]", registers).v64(4)
    assert got == [F64.bits_of(5)] * 64


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v_fmamk_f32 v2, v0, 0x40a00000, v1", 2 * 5 + 3),
        ("v_fmaak_f32 v2, v0, v1, 0x40a00000", 2 * 3 + 5),
        ("v_mul_legacy_f32 v2, v0, v1", 6),
    ],
)
def test_fma_with_constant(text: str, expected: int) -> None:
    got = execute(text, {0: F32.bits_of(2), 1: F32.bits_of(3)}).v(2)
    assert got == [F32.bits_of(expected)] * 64


def test_legacy_product_with_zero_is_zero() -> None:
    for other in (F32.infinity, F32.nan, F32.bits_of(-1)):
        assert execute("v_mul_legacy_f32 v2, v0, v1", {0: 0, 1: other}).v(2) == [0] * 64


def round_to(form: Format, bits: int, rule: Callable[[Fraction], int]) -> int:
    """A rounding to a whole number that keeps the sign of zero."""
    if form.is_nan(bits) or form.is_infinite(bits):
        return canonical(form, bits)
    whole = Fraction(rule(form.value(bits)))
    return form.round(whole, bool(bits & form.sign))


ROUNDINGS: dict[str, Callable[[Fraction], int]] = {
    "trunc": math.trunc,
    "ceil": math.ceil,
    "floor": math.floor,
    "rndne": round,
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ROUNDINGS)
def test_rounding(name: str, kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        got = compute(f"v_{name}_{kind}_e32", form, [a], form)
        assert got == [round_to(form, x, ROUNDINGS[name]) for x in a]

    check()


@pytest.mark.parametrize("kind", FORMATS)
def test_fract(kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        got = compute(f"v_fract_{kind}_e32", form, [a], form)
        largest = form.bits_of(1) - 1
        for bits, result in zip(a, got, strict=True):
            if form.is_nan(bits) or form.is_infinite(bits):
                assert form.is_nan(result)
            else:
                value = form.value(bits)
                assert result == min(form.round(value - math.floor(value)), largest)

    check()


@pytest.mark.parametrize("kind", FORMATS)
def test_frexp(kind: str) -> None:
    form = FORMATS[kind]
    integer = "i16" if form is F16 else "i32"

    @given(a=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        mantissas = compute(f"v_frexp_mant_{kind}_e32", form, [a], form)
        registers = {0: low(a), 1: high(a)} if form is F64 else {0: a}
        source = "v[0:1]" if form is F64 else "v0"
        opcode = f"v_frexp_exp_{integer}_{kind}_e32"
        exponents = execute(f"{opcode} v8, {source}", registers).v(8)
        for bits, mantissa, exponent in zip(a, mantissas, exponents, strict=True):
            if form.is_nan(bits) or form.is_infinite(bits):
                assert (mantissa, exponent) == (canonical(form, bits), 0)
            elif form.is_zero(bits):
                assert (mantissa, exponent) == (bits, 0)
            else:
                assert Fraction(1, 2) <= abs(form.value(mantissa)) < 1
                power = Fraction(2) ** signed(exponent, 16 if form is F16 else 32)
                assert form.value(mantissa) * power == form.value(bits)

    check()


@pytest.mark.parametrize("kind", FORMATS)
def test_ldexp(kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width), n=st.lists(st.integers(-2200, 2200), min_size=16, max_size=16))
    @settings(max_examples=6)
    def check(a: list[int], n: list[int]) -> None:
        n = n * 4
        power = [unsigned(x) for x in n]
        if form is F64:
            registers = {0: low(a), 1: high(a), 2: power}
            got = execute("v_ldexp_f64 v[8:9], v[0:1], v2", registers).v64(8)
        else:
            suffix = "_e32" if form is F16 else ""
            got = execute(f"v_ldexp_{kind}{suffix} v8, v0, v1", {0: a, 1: power}).v(8)
        for bits, exponent, result in zip(a, n, got, strict=True):
            if form.is_nan(bits) or form.is_infinite(bits):
                assert canonical(form, result) == canonical(form, bits)
            else:
                value = form.value(bits) * Fraction(2) ** exponent
                assert result == form.round(value, bool(bits & form.sign))

    check()


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("name", ["max3", "min3", "med3"])
def test_three_way(name: str, kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width), b=lanes(form.width), c=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int], b: list[int], c: list[int]) -> None:
        got = compute(f"v_{name}_{kind}", form, [a, b, c], form)
        for result, *args in zip(got, a, b, c, strict=True):
            if any(form.is_nan(x) for x in args):
                continue  # the next test
            ordered = sorted(args, key=lambda x: order(form, x))
            assert result == ordered[{"min3": 0, "med3": 1, "max3": 2}[name]]

    check()


def test_three_way_with_nan() -> None:
    one, two, nan = F32.bits_of(1), F32.bits_of(2), F32.nan
    for name, expected in (("max3", two), ("min3", one), ("med3", one)):
        for args in ((nan, one, two), (one, nan, two), (two, one, nan)):
            got = execute(f"v_{name}_f32 v3, v0, v1, v2", dict(enumerate(args))).v(3)
            assert got == [expected] * 64


@pytest.mark.parametrize(("opcode", "expected"), [("v_minimum3_f32", 1), ("v_maximum3_f32", 3)])
def test_three_way_of_ieee_2019(opcode: str, expected: int) -> None:
    numbers = {i: F32.bits_of(x) for i, x in enumerate((2, 1, 3))}
    assert execute(f"{opcode} v3, v0, v1, v2", numbers).v(3) == [F32.bits_of(expected)] * 64
    got = execute(f"{opcode} v3, v0, v1, v2", {**numbers, 1: F32.nan}).v(3)
    assert all(F32.is_nan(x) for x in got)
    zeros = {0: 0, 1: F32.sign, 2: 0}
    signed_zero = F32.sign if "minimum" in opcode else 0
    assert execute(f"{opcode} v3, v0, v1, v2", zeros).v(3) == [signed_zero] * 64


# ---- transcendentals


def inverse_root(x: float) -> float:
    return 1 / math.sqrt(x) if x else math.copysign(math.inf, x)


FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": lambda x: math.exp2(x) if x < 1025 else math.inf,
    "log": lambda x: math.log2(x) if x else -math.inf,
    "rcp": lambda x: 1 / x if x else math.copysign(math.inf, x),
    "rsq": inverse_root,
    "sqrt": math.sqrt,
    "sin": lambda x: math.sin(2 * math.pi * (x - math.floor(x))),
    "cos": lambda x: math.cos(2 * math.pi * (x - math.floor(x))),
}


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_transcendental(name: str, kind: str) -> None:
    """Within one unit in the last place of the true value; f32 denormals are flushed."""
    form = FORMATS[kind]

    @given(a=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        got = compute(f"v_{name}_{kind}_e32", form, [a], form)
        for bits, result in zip(a, got, strict=True):
            bits = form.flush(bits) if form is F32 else bits
            x = form.to_float(bits)
            negative = x < 0 and name in ("log", "rsq", "sqrt")
            if math.isnan(x) or negative or (math.isinf(x) and name in ("sin", "cos")):
                assert form.is_nan(result)
                continue
            if math.isinf(x):
                limits = {"exp": x if x > 0 else 0, "rcp": math.copysign(0, x), "rsq": 0}
                assert form.to_float(result) == limits.get(name, x)
                continue
            expected = (
                form.round(Fraction(0)) if name == "x" else true_bits(form, FUNCTIONS[name](x))
            )
            if form is F32:
                expected = form.flush(expected)
            if name in ("sin", "cos"):
                assert abs(form.to_float(result) - FUNCTIONS[name](x)) <= 2.0**-form.mantissa_bits
                continue
            assert abs(order(form, result) - order(form, expected)) <= 1 or (
                form.is_zero(result) and form.is_zero(expected)
            ), (hex(bits), hex(result), hex(expected))

    check()


def true_bits(form: Format, value: float) -> int:
    if math.isinf(value) or math.isnan(value):
        return form.round_special(value)
    return form.round(Fraction(value), math.copysign(1, value) < 0)


@pytest.mark.parametrize("opcode", ["v_exp_legacy_f32", "v_log_legacy_f32", "v_rcp_iflag_f32"])
def test_aliases(opcode: str) -> None:
    plain = opcode.replace("_legacy", "").replace("_iflag", "")
    source = {0: [F32.bits_of(Fraction(n, 8)) for n in range(1, 65)]}
    assert execute(f"{opcode}_e32 v1, v0", source).v(1) == execute(f"{plain}_e32 v1, v0", source).v(
        1
    )


@pytest.mark.parametrize(
    ("opcode", "given_", "expected"),
    [
        ("v_exp_f32_e32", 0xC2FE0000, 0),  # 2**-127 is denormal, hence 0
        ("v_exp_f32_e32", 0xC2FC0000, 0x00800000),  # 2**-126 is not
        ("v_exp_f32_e32", 0x43000000, 0x7F800000),  # 2**128
        ("v_exp_f32_e32", 0x00000001, 0x3F800000),
        ("v_log_f32_e32", 0x00000001, 0xFF800000),  # a denormal counts as 0
        ("v_log_f32_e32", 0x00800000, 0xC2FC0000),
        ("v_log_f32_e32", 0x3F800000, 0),
        ("v_rcp_f32_e32", 0x00000001, 0x7F800000),
        ("v_rcp_f32_e32", 0x7F000000, 0),  # 2**-127
        ("v_rcp_f32_e32", 0x80000000, 0xFF800000),
        ("v_rsq_f32_e32", 0x40800000, 0x3F000000),
        ("v_rsq_f32_e32", 0x00000000, 0x7F800000),
        ("v_sqrt_f32_e32", 0x40800000, 0x40000000),
        ("v_sin_f32_e32", 0x3E800000, 0x3F800000),  # a quarter turn
        ("v_cos_f32_e32", 0x3F000000, 0xBF800000),  # half a turn
        ("v_cos_f32_e32", 0x3E800000, 0x00000000),
    ],
)
def test_transcendental_by_hand(opcode: str, given_: int, expected: int) -> None:
    assert execute(f"{opcode} v1, v0", {0: given_}).v(1) == [expected] * 64


@pytest.mark.parametrize("name", ["rcp", "rsq", "sqrt"])
def test_transcendental_f64(name: str) -> None:
    x = F64.bits_of(Fraction(9, 4))
    got = execute(f"v_{name}_f64_e32 v[2:3], v[0:1]", {0: x & 0xFFFFFFFF, 1: x >> 32}).v64(2)
    value = {"rcp": Fraction(4, 9), "rsq": Fraction(2, 3), "sqrt": Fraction(3, 2)}[name]
    assert abs(got[0] - F64.bits_of(value)) <= 1


# ---- conversions


def to_integer(form: Format, bits: int, least: int, most: int, rule: Callable[[Fraction], int]
               ) -> int:  # fmt: skip
    """Saturating, NaN to 0."""
    if form.is_nan(bits):
        return 0
    if form.is_infinite(bits):
        return least if bits & form.sign else most
    return max(least, min(most, rule(form.value(bits))))


S32, U32, S16, U16 = (-(2**31), 2**31 - 1), (0, 2**32 - 1), (-(2**15), 2**15 - 1), (0, 2**16 - 1)
TO_INTEGER: dict[str, tuple[Format, tuple[int, int], Callable[[Fraction], int]]] = {
    "v_cvt_i32_f32": (F32, S32, math.trunc),
    "v_cvt_u32_f32": (F32, U32, math.trunc),
    "v_cvt_i32_f64": (F64, S32, math.trunc),
    "v_cvt_u32_f64": (F64, U32, math.trunc),
    "v_cvt_i16_f16": (F16, S16, math.trunc),
    "v_cvt_u16_f16": (F16, U16, math.trunc),
    "v_cvt_rpi_i32_f32": (F32, S32, lambda x: math.floor(x + Fraction(1, 2))),
    "v_cvt_flr_i32_f32": (F32, S32, math.floor),
}


@pytest.mark.parametrize("opcode", TO_INTEGER)
def test_float_to_integer(opcode: str) -> None:
    form, (least, most), rule = TO_INTEGER[opcode]
    width = 16 if form is F16 else 32

    @given(a=lanes(form.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        if form is F64:
            got = execute(f"{opcode}_e32 v8, v[0:1]", {0: low(a), 1: high(a)}).v(8)
        else:
            got = execute(f"{opcode}_e32 v8, v0", {0: a}).v(8)
        assert got == [unsigned(to_integer(form, x, least, most, rule), width) for x in a]

    check()


FROM_INTEGER: dict[str, tuple[Format, Callable[[int], int]]] = {
    "v_cvt_f32_i32": (F32, signed),
    "v_cvt_f32_u32": (F32, lambda x: x),
    "v_cvt_f64_i32": (F64, signed),
    "v_cvt_f64_u32": (F64, lambda x: x),
    "v_cvt_f16_i16": (F16, lambda x: signed(x, 16)),
    "v_cvt_f16_u16": (F16, lambda x: x & 0xFFFF),
    "v_cvt_f32_ubyte0": (F32, lambda x: x & 0xFF),
    "v_cvt_f32_ubyte1": (F32, lambda x: x >> 8 & 0xFF),
    "v_cvt_f32_ubyte2": (F32, lambda x: x >> 16 & 0xFF),
    "v_cvt_f32_ubyte3": (F32, lambda x: x >> 24),
}


@pytest.mark.parametrize("opcode", FROM_INTEGER)
@given(a=lanes(32))
@settings(max_examples=6)
def test_integer_to_float(opcode: str, a: list[int]) -> None:
    form, number = FROM_INTEGER[opcode]
    target = "v[8:9]" if form is F64 else "v8"
    ran = execute(f"{opcode}_e32 {target}, v0", {0: a})
    got = ran.v64(8) if form is F64 else ran.v(8)
    assert got == [form.bits_of(number(x)) for x in a]


BETWEEN = {
    "v_cvt_f16_f32": (F32, F16),
    "v_cvt_f32_f16": (F16, F32),
    "v_cvt_f32_f64": (F64, F32),
    "v_cvt_f64_f32": (F32, F64),
}


def test_bf16_to_f32() -> None:
    assert execute("v_cvt_f32_bf16_e32 v1, v0", {0: 0x1234C0A0}).v(1) == [0xC0A00000] * 64


def converted(source: Format, target: Format, bits: int) -> int:
    if source.is_nan(bits):
        return target.nan
    sign = target.sign if bits & source.sign else 0
    if source.is_infinite(bits):
        return target.infinity | sign
    return target.round(source.value(bits), bool(sign))


@pytest.mark.parametrize("opcode", BETWEEN)
def test_float_to_float(opcode: str) -> None:
    source, target = BETWEEN[opcode]

    @given(a=lanes(source.width))
    @settings(max_examples=6)
    def check(a: list[int]) -> None:
        got = compute(f"{opcode}_e32", source, [a], target)
        assert got == [converted(source, target, x) for x in a]

    check()


# ---- modifiers and modes


@given(a=lanes(32), b=lanes(32))
@settings(max_examples=10)
def test_source_modifiers(a: list[int], b: list[int]) -> None:
    got = compute("v_add_f32_e64", F32, [a, b], F32)
    plain = [F32.add(x, y) for x, y in zip(a, b, strict=True)]
    assert got == [canonical(F32, x) for x in plain]
    ran = execute("v_mul_f32_e64 v8, -v0, |v1|", {0: a, 1: b}).v(8)
    for x, y, z in zip(a, b, ran, strict=True):
        assert F32.same(z, F32.multiply(x ^ F32.sign, y & ~F32.sign))
    ran = execute("v_fma_f32 v8, -|v0|, v1, neg(v1)", {0: a, 1: b}).v(8)
    for x, y, z in zip(a, b, ran, strict=True):
        assert F32.same(z, F32.fma(x | F32.sign, y, y ^ F32.sign))


@pytest.mark.parametrize("text", ["abs(v0)", "|v0|"])
def test_absolute_value_spellings(text: str) -> None:
    assert execute(f"v_max_f32_e64 v1, {text}, {text}", {0: 0xC0000000}).v(1) == [0x40000000] * 64


@given(a=lanes(32))
@settings(max_examples=10)
def test_clamp(a: list[int]) -> None:
    one = F32.bits_of(1)
    for bits, result in zip(a, execute("v_add_f32_e64 v1, v0, 0 clamp", {0: a}).v(1), strict=True):
        if F32.is_nan(bits) or bits & F32.sign:
            assert result == 0
        else:
            assert result == min(bits, one)


def test_clamp_keeps_nan_without_dx10_clamp() -> None:
    mode = Mode(dx10_clamp=False)
    got = execute("v_add_f32_e64 v1, v0, 0 clamp", {0: F32.nan}, mode=mode).v(1)
    assert all(F32.is_nan(x) for x in got)


@pytest.mark.parametrize(
    ("modifier", "factor"), [("mul:2", 2), ("mul:4", 4), ("div:2", Fraction(1, 2))]
)
def test_output_modifier(modifier: str, factor: Fraction) -> None:
    """Ignored while denormal results are kept, as the ISA manual says."""
    x = F32.bits_of(3)
    flushing = Mode(denorm32=0)
    text = f"v_mul_f32_e64 v1, v0, v0 {modifier}"
    assert execute(text, {0: x}, mode=flushing).v(1) == [F32.bits_of(9 * factor)] * 64
    assert execute(text, {0: x}).v(1) == [F32.bits_of(9)] * 64


@pytest.mark.parametrize("mode", range(4))
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=8)
def test_denormal_modes_of_f32(mode: int, a: list[int], b: list[int]) -> None:
    """Bit 0 keeps denormal inputs, bit 1 denormal results."""
    got = compute("v_mul_f32_e32", F32, [a, b], F32, mode=Mode(denorm32=mode))
    for x, y, z in zip(a, b, got, strict=True):
        if not mode & 1:
            x, y = F32.flush(x), F32.flush(y)
        expected = F32.multiply(x, y)
        assert z == (expected if mode & 2 else F32.flush(expected))


@pytest.mark.parametrize("kind", ["f16", "f64"])
def test_denormal_mode_of_f16_and_f64(kind: str) -> None:
    form = FORMATS[kind]
    smallest = [1] * 64
    for mode, expected in ((3, 2), (1, 0), (0, 0)):
        suffix = "" if form is F64 else "_e32"
        got = compute(
            f"v_add_{kind}{suffix}", form, [smallest, smallest], form, mode=Mode(denorm64=mode)
        )
        assert got == [expected] * 64


def test_invalid_operations_give_the_positive_nan() -> None:
    got = execute("v_sub_f32_e32 v1, v0, v0", {0: F32.infinity}).v(1)
    assert got == [0x7FC00000] * 64


def test_nan_keeps_its_payload_and_is_quieted() -> None:
    assert execute("v_add_f32_e32 v1, v0, v0", {0: 0xFF800123}).v(1) == [0xFFC00123] * 64


def test_setreg_changes_the_denormal_mode() -> None:
    text = """
        v_add_f32_e32 v1, v0, v0
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
        v_add_f32_e32 v2, v0, v0
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3
        v_add_f32_e32 v3, v0, v0
    """
    result = execute(text, {0: 1})
    assert [result.v(n)[0] for n in (1, 2, 3)] == [2, 0, 2]
    text = "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s0\nv_add_f32_e32 v1, v0, v0"
    assert [execute(text, {0: 1}, {0: mode}).v(1)[0] for mode in (0, 3)] == [0, 2]
