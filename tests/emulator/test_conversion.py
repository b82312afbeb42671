"""Packing and narrow-format conversions, by tables of the formats written out here."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxfp4kernels.emulator import UnsupportedInstruction

from .exact import BF16, F16, F32, Format
from .harness import OLD, execute, signed, unsigned
from .samples import lanes

E2M1 = [Fraction(x) for x in ("0", "1/2", "1", "3/2", "2", "3", "4", "6")]
E2M1_SIGNED = E2M1 + [-x for x in E2M1]


def round_to_e2m1(value: Fraction) -> int:
    """Nearest of the eight magnitudes, ties to the even code, 6 at most."""
    size = abs(value)
    best = min(range(8), key=lambda code: (abs(E2M1[code] - size), code % 2))
    return best


def fp8_table(exponent_bits: int) -> list[float]:
    """OFP8: e4m3 has a NaN at S.1111.111 and no infinity, e5m2 is like f16."""
    m = 7 - exponent_bits
    bias = 2 ** (exponent_bits - 1) - 1
    table = []
    for code in range(256):
        exponent, mantissa = (code & 127) >> m, code & (1 << m) - 1
        sign = -1.0 if code & 128 else 1.0
        if exponent_bits == 4 and code & 127 == 127:
            table.append(math.nan)
        elif exponent_bits == 5 and exponent == 31:
            table.append(math.nan if mantissa else sign * math.inf)
        elif exponent == 0:
            table.append(sign * mantissa / 2**m * 2.0 ** (1 - bias))
        else:
            table.append(sign * (1 + mantissa / 2**m) * 2.0 ** (exponent - bias))
    return table


FP8 = {"fp8": fp8_table(4), "bf8": fp8_table(5)}


def round_to_fp8(name: str, value: Fraction) -> int | None:
    """The code of the nearest magnitude, ties to even; None beyond the range."""
    finite = [(code, Fraction(x)) for code, x in enumerate(FP8[name][:128]) if math.isfinite(x)]
    top = finite[-1][1]
    next_step = top + (top - finite[-2][1])
    size = abs(value)
    if size >= (top + next_step) / 2:
        return None
    code, _ = min(finite, key=lambda entry: (abs(entry[1] - size), entry[0] % 2))
    return code


SCALES = [
    0x3F800000,
    0x40000000,
    0x3E800000,
    0x3FC00000,
    0x00800000,
    0x7F000000,
    0x00000000,
    0xC0000000,
]


def power(scale: int) -> Fraction:
    """Only the exponent field of the scale counts."""
    return Fraction(2) ** ((scale >> 23 & 0xFF) - 127)


def source_numbers(kind: str, word: int) -> list[tuple[Format, int]]:
    if kind == "f32":
        return [(F32, word)]
    form = F16 if kind == "f16" else BF16
    return [(form, word & 0xFFFF), (form, word >> 16)]


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("byte", range(4))
def test_pack_fp4(kind: str, byte: int) -> None:
    """One byte is replaced, the first number in its low nibble."""

    @given(a=lanes(32), b=lanes(32), scale=st.sampled_from(SCALES))
    @settings(max_examples=12)
    def check(a: list[int], b: list[int], scale: int) -> None:
        sources = "v0, v1" if kind == "f32" else "v0"
        text = f"v_cvt_scalef32_pk_fp4_{kind} v2, {sources}, s0 op_sel:[0,0,{byte & 1},{byte >> 1}]"
        got = execute(text, {0: a, 1: b, 2: OLD}, {0: scale}).v(2)
        for result, x, y in zip(got, a, b, strict=True):
            assert result & ~(0xFF << 8 * byte) == OLD & ~(0xFF << 8 * byte)
            code = result >> 8 * byte & 0xFF
            numbers = source_numbers(kind, x)
            numbers += source_numbers(kind, y) if kind == "f32" else []
            for nibble, (form, bits) in zip((code & 15, code >> 4), numbers, strict=True):
                assert nibble >> 3 == bits >> form.width - 1
                if form.is_nan(bits) or form.is_infinite(bits):
                    assert nibble & 7 == 7
                else:
                    assert nibble & 7 == round_to_e2m1(form.value(bits) / power(scale))

    check()


def test_pack_fp4_without_op_sel_writes_byte_0() -> None:
    text = "v_cvt_scalef32_pk_fp4_f32 v2, v0, v1, v3"
    got = execute(text, {0: F32.bits_of(6), 1: F32.bits_of(-1), 2: OLD, 3: F32.bits_of(2)}).v(2)
    assert got == [OLD & 0xFFFFFF00 | 0x95] * 64  # 3 is code 5, -0.5 is code 9


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("1/4", 0), ("5/16", 1), ("3/4", 2), ("5/4", 2), ("7/4", 4), ("5/2", 4), ("7/2", 6),
        ("5", 6), ("81/16", 7), ("100", 7),
    ],
)  # fmt: skip
def test_fp4_ties_go_to_even(value: str, code: int) -> None:
    text = "v_cvt_scalef32_pk_fp4_f32 v1, v0, v0, 1.0"
    assert execute(text, {0: F32.bits_of(Fraction(value)), 1: 0}).v(1)[0] & 15 == code


@pytest.mark.parametrize("target", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("byte", range(4))
def test_unpack_fp4(target: str, byte: int) -> None:
    codes = [lane * 0x01030507 & 0xFFFFFFFF for lane in range(64)]
    register = "v[2:3]" if target == "f32" else "v2"
    text = f"v_cvt_scalef32_pk_{target}_fp4 {register}, v0, v1 op_sel:[{byte & 1},{byte >> 1},0]"
    result = execute(text, {0: codes, 1: 0x40800000})  # times 4
    form = {"f32": F32, "f16": F16, "bf16": BF16}[target]
    for lane, word in enumerate(codes):
        code = word >> 8 * byte & 0xFF
        expected = []
        for nibble in (code & 15, code >> 4):
            expected.append(form.round(4 * E2M1_SIGNED[nibble], nibble >> 3 == 1))
        if target == "f32":
            assert [result.v(2)[lane], result.v(3)[lane]] == expected
        else:
            assert result.v(2)[lane] == expected[0] | expected[1] << 16


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_pack_scaled_fp8(name: str, kind: str) -> None:
    @given(a=lanes(32), b=lanes(32), scale=st.sampled_from(SCALES), half=st.integers(0, 1))
    @settings(max_examples=6)
    def check(a: list[int], b: list[int], scale: int, half: int) -> None:
        sources = "v0, v1" if kind == "f32" else "v0"
        zeros = "0,0,0," if kind == "f32" else "0,0,"
        text = f"v_cvt_scalef32_pk_{name}_{kind} v2, {sources}, s0 op_sel:[{zeros}{half}]"
        got = execute(text, {0: a, 1: b, 2: OLD}, {0: scale}).v(2)
        for result, x, y in zip(got, a, b, strict=True):
            assert result >> 16 * (1 - half) & 0xFFFF == OLD >> 16 * (1 - half) & 0xFFFF
            numbers = source_numbers(kind, x)
            numbers += source_numbers(kind, y) if kind == "f32" else []
            for i, (form, bits) in enumerate(numbers):
                check_fp8(name, form, bits, power(scale), result >> 16 * half + 8 * i & 0xFF)

    check()


def check_fp8(name: str, form: Format, bits: int, scale: Fraction, code: int) -> None:
    assert code >> 7 == bits >> form.width - 1
    beyond = 0x7F if name == "fp8" else 0x7C  # NaN, infinity
    if form.is_nan(bits):
        assert math.isnan(FP8[name][code])
    elif form.is_infinite(bits):
        assert code & 0x7F == beyond
    else:
        expected = round_to_fp8(name, form.value(bits) / scale)
        assert code & 0x7F == (beyond if expected is None else expected)


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("half", [0, 1])
@given(a=lanes(32), b=lanes(32))
@settings(max_examples=6)
def test_pack_fp8(name: str, half: int, a: list[int], b: list[int]) -> None:
    text = f"v_cvt_pk_{name}_f32 v2, v0, v1 op_sel:[0,0,{half}]"
    got = execute(text, {0: a, 1: b, 2: OLD}).v(2)
    for result, *sources in zip(got, a, b, strict=True):
        assert result >> 16 * (1 - half) & 0xFFFF == OLD >> 16 * (1 - half) & 0xFFFF
        for i, bits in enumerate(sources):
            check_fp8(name, F32, bits, Fraction(1), result >> 16 * half + 8 * i & 0xFF)


def expected_f32(name: str, code: int, scale: Fraction = Fraction(1)) -> int:
    value = FP8[name][code]
    if math.isnan(value) or math.isinf(value):
        return F32.round_special(value)
    return F32.round(Fraction(value) * scale, code >> 7 == 1)


@pytest.mark.parametrize("name", FP8)
def test_unpack_fp8(name: str) -> None:
    """Every code, in every byte, by SDWA."""
    words = [
        4 * lane | 4 * lane + 1 << 8 | 4 * lane + 2 << 16 | 4 * lane + 3 << 24 for lane in range(64)
    ]
    for byte in range(4):
        text = (
            f"v_cvt_f32_{name}_sdwa v1, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_{byte}"
        )
        for lane, got in enumerate(execute(text, {0: words}).v(1)):
            assert F32.same(got, expected_f32(name, 4 * lane + byte))
    for half in range(2):
        text = (
            f"v_cvt_pk_f32_{name}_sdwa v[2:3], v0 dst_sel:DWORD dst_unused:UNUSED_PAD "
            f"src0_sel:WORD_{half}"
        )
        result = execute(text, {0: words})
        for lane in range(64):
            for i in range(2):
                code = 4 * lane + 2 * half + i
                assert F32.same(result.v(2 + i)[lane], expected_f32(name, code))
    plain = execute(f"v_cvt_f32_{name}_e32 v1, v0", {0: words}).v(1)
    assert all(F32.same(got, expected_f32(name, 4 * lane)) for lane, got in enumerate(plain))


@pytest.mark.parametrize("text", ["v_cvt_f32_fp8_e64 v1, v0", "v_cvt_pk_f32_bf8_e64 v[2:3], v0"])
def test_unscaled_unpacking_has_no_op_sel(text: str) -> None:
    """gfx950 picks the byte by SDWA; LLVM refuses op_sel here."""
    with pytest.raises(UnsupportedInstruction, match="op_sel is not implemented here"):
        execute(text + " op_sel:[1,0]", {0: 0})


@pytest.mark.parametrize("name", FP8)
def test_unpack_scaled_fp8(name: str) -> None:
    words = [
        4 * lane | 4 * lane + 1 << 8 | 4 * lane + 2 << 16 | 4 * lane + 3 << 24 for lane in range(64)
    ]
    quarter = 0x3E800000
    for half in range(2):
        text = f"v_cvt_scalef32_pk_f32_{name} v[2:3], v0, v1 op_sel:[{half},0,0]"
        result = execute(text, {0: words, 1: quarter})
        for lane in range(64):
            for i in range(2):
                code = 4 * lane + 2 * half + i
                assert F32.same(result.v(2 + i)[lane], expected_f32(name, code, Fraction(1, 4)))
    for byte in range(4):
        text = f"v_cvt_scalef32_f32_{name} v2, v0, v1 op_sel:[{byte & 1},{byte >> 1},0]"
        for lane, bits in enumerate(execute(text, {0: words, 1: quarter}).v(2)):
            assert F32.same(bits, expected_f32(name, 4 * lane + byte, Fraction(1, 4)))
    plain = execute(f"v_cvt_scalef32_f32_{name} v2, v0, v1", {0: words, 1: quarter}).v(2)
    assert F32.same(plain[0], expected_f32(name, 0, Fraction(1, 4)))


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("byte", range(4))
@pytest.mark.parametrize("half", [0, 1])
def test_unpack_one_scaled_fp8_into_a_half(name: str, byte: int, half: int) -> None:
    words = [lane << 8 * byte for lane in range(64)]
    text = f"v_cvt_scalef32_f16_{name} v2, v0, 1.0 op_sel:[{byte & 1},{byte >> 1},{half}]"
    for lane, word in enumerate(execute(text, {0: words, 2: OLD}).v(2)):
        assert word >> 16 * half & 0xFFFF == F16.round(Fraction(FP8[name][lane]))
        assert word >> 16 * (1 - half) & 0xFFFF == OLD >> 16 * (1 - half) & 0xFFFF


def test_a_half_of_a_whole_destination_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="destination that is written whole"):
        execute("v_cvt_scalef32_f32_fp8 v2, v0, 1.0 op_sel:[0,0,1]", {0: 0})


@pytest.mark.parametrize("target", ["f16", "bf16"])
@pytest.mark.parametrize("name", FP8)
def test_unpack_scaled_fp8_to_halves(name: str, target: str) -> None:
    form = F16 if target == "f16" else BF16
    text = f"v_cvt_scalef32_pk_{target}_{name} v2, v0, 1.0"
    got = execute(text, {0: [lane | lane << 8 for lane in range(64)]}).v(2)
    for lane, word in enumerate(got):
        expected = form.round(Fraction(FP8[name][lane]))
        assert word == expected | expected << 16


# ---- packs of two numbers


@given(a=lanes(32), b=lanes(32))
@settings(max_examples=20)
def test_pack_bf16(a: list[int], b: list[int]) -> None:
    got = execute("v_cvt_pk_bf16_f32 v2, v0, v1", {0: a, 1: b}).v(2)
    for result, *sources in zip(got, a, b, strict=True):
        for bits, half in zip(sources, (result & 0xFFFF, result >> 16), strict=True):
            if F32.is_nan(bits):
                assert BF16.is_nan(half)
            elif F32.is_infinite(bits):
                assert half == bits >> 16
            else:
                assert half == BF16.round(F32.value(bits), bool(bits & F32.sign))


@given(a=lanes(32), b=lanes(32))
@settings(max_examples=20)
def test_pack_f16_toward_zero(a: list[int], b: list[int]) -> None:
    got = execute("v_cvt_pkrtz_f16_f32 v2, v0, v1", {0: a, 1: b}).v(2)
    for result, *sources in zip(got, a, b, strict=True):
        for bits, half in zip(sources, (result & 0xFFFF, result >> 16), strict=True):
            if F32.is_nan(bits):
                assert F16.is_nan(half)
                continue
            if F32.is_infinite(bits):
                assert half & 0x7FFF == F16.infinity
                continue
            value = F32.value(bits)
            assert half & 0x7FFF < F16.infinity
            assert abs(F16.value(half)) <= abs(value)
            if half & 0x7FFF < F16.infinity - 1:
                assert abs(F16.value(half + 1)) > abs(value)


@given(a=lanes(32), b=lanes(32))
@settings(max_examples=20)
def test_pack_f16_to_nearest(a: list[int], b: list[int]) -> None:
    got = execute("v_cvt_pk_f16_f32 v2, v0, v1", {0: a, 1: b}).v(2)
    for result, *sources in zip(got, a, b, strict=True):
        for bits, half in zip(sources, (result & 0xFFFF, result >> 16), strict=True):
            if not (F32.is_nan(bits) or F32.is_infinite(bits)):
                assert half == F16.round(F32.value(bits), bool(bits & F32.sign))


@pytest.mark.parametrize(("kind", "least", "scale"), [("i16", -1, 32767), ("u16", 0, 65535)])
@given(a=lanes(32))
@settings(max_examples=20)
def test_pack_normalised(kind: str, least: int, scale: int, a: list[int]) -> None:
    got = execute(f"v_cvt_pknorm_{kind}_f32 v1, v0, v0", {0: a}).v(1)
    for bits, result in zip(a, got, strict=True):
        value = 0 if F32.is_nan(bits) else F32.to_float(bits)
        clipped = max(float(least), min(1.0, value))
        assert result & 0xFFFF == unsigned(round(Fraction(clipped) * scale), 16)
        assert result >> 16 == result & 0xFFFF


@given(a=lanes(32), index=st.integers(0, 7), old=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_pack_byte(a: list[int], index: int, old: int) -> None:
    got = execute("v_cvt_pk_u8_f32 v3, v0, v1, v2", {0: a, 1: index, 2: old}).v(3)
    shift = 8 * (index & 3)
    for bits, result in zip(a, got, strict=True):
        value = 0.0 if F32.is_nan(bits) else F32.to_float(bits)
        byte = round(Fraction(max(0.0, min(255.0, value))))
        assert result == old & ~(0xFF << shift) | byte << shift


def test_sign_extension_helper() -> None:
    """The helpers of these tests invert each other."""
    assert [unsigned(signed(x, 8), 8) for x in range(256)] == list(range(256))
