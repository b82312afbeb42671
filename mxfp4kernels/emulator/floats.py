"""Floating-point formats and operations as the hardware defines them, on numpy arrays.

Transcendental operations (exp, log, rcp, rsq, sqrt, sin, cos) are specified to one unit in the
last place, not to the bit. Here they are the correctly rounded result, by way of f64: the best any
implementation may give and within one unit of every conforming one. Denormal inputs and results of
the f32 ones are flushed whatever MODE says, as the ISA manual states for each.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.site import Array
from mxfp4kernels.emulator.vector import flush32

E2M1_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
"""E2M1 (FP4) code to value, float64 [16]. Source: OCP Microscaling Formats (MX) v1.0, 5.3.3."""


def transcendental32(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """An f32 operation computed in f64, denormals flushed on both sides."""

    def apply(x: Array) -> Array:
        return flush32(function(flush32(x).astype(np.float64)).astype(np.float32))

    return apply


def transcendental16(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """An f16 operation computed in f64."""
    return lambda x: function(x.astype(np.float64)).astype(np.float16)


def legacy_log2(x: Array) -> Array:
    """log2 of float64; -inf at zero, NaN below it."""
    return np.log2(x)


def turns(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """sin or cos of an angle in turns (v_sin_f32 takes x / 2 pi); exact at quarter turns."""

    def apply(x: Array) -> Array:
        part = np.where(np.isfinite(x), x - np.floor(x), np.nan)
        value = function(part * (2 * np.pi))
        quarters = np.round(part * 4)
        exact = part * 4 == quarters
        return np.where(exact, np.round(function(quarters * (np.pi / 2))), value)

    return apply


def maximum(a: Array, b: Array) -> Array:
    """IEEE maxNum: a NaN loses to a number, +0 wins over -0; signalling NaNs are quieted."""
    return _pick(a, b, np.where(_ordered(a) > _ordered(b), a, b))


def minimum(a: Array, b: Array) -> Array:
    """IEEE minNum: a NaN loses to a number, -0 wins over +0; signalling NaNs are quieted."""
    return _pick(a, b, np.where(_ordered(a) < _ordered(b), a, b))


def _pick(a: Array, b: Array, number: Array) -> Array:
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    if not (nan_a.any() or nan_b.any()):
        return number
    picked = np.where(nan_a, np.where(nan_b, quieted(a), b), np.where(nan_b, a, number))
    picked = np.where(is_signalling(b), quieted(b), picked)
    return np.where(is_signalling(a), quieted(a), picked)


def _ordered(x: Array) -> Array:
    """Integers in the order of the floats, -0 below +0."""
    width = 8 * x.dtype.itemsize
    bits = x.view(f"i{width // 8}")
    return np.where(bits < 0, bits ^ bits.dtype.type(2 ** (width - 1) - 1), bits)


_QUIET = {2: 1 << 9, 4: 1 << 22, 8: 1 << 51}


def quieted(x: Array) -> Array:
    """NaNs with their quiet bit set; other values as they are."""
    bits = x.view(f"u{x.dtype.itemsize}")
    return np.where(np.isnan(x), bits | bits.dtype.type(_QUIET[x.dtype.itemsize]), bits).view(
        x.dtype
    )


def to_f16(x: Array) -> npt.NDArray[np.float16]:
    """float32 to f16, to nearest even; NaNs are quieted."""
    return quieted(x).astype(np.float16)


def is_signalling(x: Array) -> npt.NDArray[np.bool_]:
    """NaNs whose quiet bit is clear."""
    bits = x.view(f"u{x.dtype.itemsize}")
    return np.isnan(x) & ((bits & bits.dtype.type(_QUIET[x.dtype.itemsize])) == 0)


def maximum3(a: Array, b: Array, c: Array) -> Array:
    """The larger of three."""
    return maximum(maximum(a, b), c)


def minimum3(a: Array, b: Array, c: Array) -> Array:
    """The smallest of three."""
    return minimum(minimum(a, b), c)


def median3(a: Array, b: Array, c: Array) -> Array:
    """The middle one of three; with a NaN among them, the smallest."""
    low, high = minimum(a, b), maximum(a, b)
    middle = maximum(low, minimum(high, c))
    nan = np.isnan(a) | np.isnan(b) | np.isnan(c)
    return np.where(nan, minimum3(a, b, c), middle)


def nan_maximum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 maximum: any NaN gives a NaN."""
    nan = np.isnan(a) | np.isnan(b)
    return np.where(nan, quieted(np.where(np.isnan(a), a, b)), maximum(a, b))


def nan_minimum(a: Array, b: Array) -> Array:
    """IEEE 754-2019 minimum: any NaN gives a NaN."""
    nan = np.isnan(a) | np.isnan(b)
    return np.where(nan, quieted(np.where(np.isnan(a), a, b)), minimum(a, b))


def fraction(x: Array) -> Array:
    """``x - floor(x)``, kept below one."""
    below_one = np.nextafter(x.dtype.type(1), x.dtype.type(0))
    return np.minimum(x - np.floor(x), below_one)


def to_integer(x: Array, kind: type[Any]) -> Array:
    """A float array, already rounded, to ``kind``: saturating, NaN to zero."""
    limits = np.iinfo(kind)
    wide = x.astype(np.float64)
    clipped = np.clip(np.where(np.isnan(wide), 0.0, wide), limits.min, limits.max)
    return clipped.astype(np.int64).astype(kind)


def ldexp(x: Array, exponent: Array) -> Array:
    """``x * 2**exponent`` rounded once."""
    power = np.clip(exponent.astype(np.int64), -2200, 2200).astype(np.int32)
    if x.dtype == np.float64:
        return np.ldexp(x, power)
    return np.ldexp(x.astype(np.float64), np.clip(power, -600, 600)).astype(x.dtype)


def frexp_mantissa(x: Array) -> Array:
    """The significand in [0.5, 1) with the sign; infinities as they are, NaNs quiet."""
    return np.where(np.isfinite(x), np.frexp(x)[0], quieted(x)).astype(x.dtype)


def frexp_exponent(x: Array) -> Array:
    """The exponent of :func:`frexp_mantissa`, int32; 0 for zeros, infinities and NaNs."""
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.int32)


def legacy_multiply(a: Array, b: Array) -> Array:
    """Product with 0 times anything being +0."""
    return np.where((a == 0) | (b == 0), np.float32(0), a * b)


def from_bf16(bits: Array) -> npt.NDArray[np.float32]:
    """bf16 bits (any unsigned type) as float32."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(x: Array) -> npt.NDArray[np.uint32]:
    """float32 to bf16 bits, to nearest even; NaNs are quieted."""
    bits = x.view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1)) >> np.uint32(16)
    return np.where(np.isnan(x), bits >> np.uint32(16) | np.uint32(0x40), rounded)


def scale_from_f32(scale: Array) -> npt.NDArray[np.float64]:
    """The power of two that the exponent field of an f32 scale operand stands for, float64.

    The field is read as E8M0: 255 is a NaN, 0 is 2**-127.
    """
    field = (scale.view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.int32)
    return from_e8m0(field)


def from_e8m0(field: Array) -> npt.NDArray[np.float64]:
    """E8M0 codes 0..255 as float64; 255 is a NaN. Source: OCP MX v1.0, 5.4.1."""
    return E8M0_VALUES[field]


E8M0_VALUES = np.ldexp(1.0, np.arange(256) - 127)
E8M0_VALUES[255] = np.nan


def to_e2m1(x: Array) -> npt.NDArray[np.uint32]:
    """float64 to E2M1 codes: nearest even, saturating at 6; a NaN gives 6 with its sign.

    E2M1 has neither infinities nor NaNs. What hardware makes of a NaN is not in the manual; the
    largest magnitude is taken as for any other value beyond the range.
    """
    size = np.where(np.isnan(x), 7.0, np.abs(x))
    code = (size > 0.25).astype(np.uint32)
    code += size >= 0.75
    code += size > 1.25
    code += size >= 1.75
    code += size > 2.5
    code += size >= 3.5
    code += size > 5.0
    return code | np.signbit(x).astype(np.uint32) << np.uint32(3)


class Float8:
    """An 8-bit float format of the OCP specification (OFP8 v1.0).

    Args:
        exponent_bits: 4 for e4m3, 5 for e5m2.
        has_infinity: e5m2 has infinities; e4m3 has only NaN, at S.1111.111.
    """

    def __init__(self, exponent_bits: int, has_infinity: bool) -> None:
        self.mantissa_bits = 7 - exponent_bits
        self.bias = (1 << exponent_bits - 1) - 1
        self.has_infinity = has_infinity
        self.values = self._decode(np.arange(256))
        self.largest = float(np.nanmax(np.where(np.isinf(self.values), np.nan, self.values)))

    def _decode(self, code: Array) -> npt.NDArray[np.float64]:
        m, sign = self.mantissa_bits, np.where(code & 0x80, -1.0, 1.0)
        exponent, mantissa = (code & 0x7F) >> m, code & (1 << m) - 1
        normal = np.ldexp(1 + mantissa / (1 << m), exponent - self.bias)
        denormal = np.ldexp(mantissa / (1 << m), 1 - self.bias)
        value = sign * np.where(exponent == 0, denormal, normal)
        top = (1 << 7 - m) - 1
        if not self.has_infinity:
            return np.where((code & 0x7F) == 0x7F, np.nan, value)
        special = np.where(mantissa == 0, sign * np.inf, np.nan)
        return np.where(exponent == top, special, value)

    def decode(self, code: Array) -> npt.NDArray[np.float64]:
        """Codes 0..255 to float64."""
        return self.values[code]

    def encode(self, x: Array, *, saturate: bool = False) -> npt.NDArray[np.uint32]:
        """float64 to codes, to nearest even.

        Beyond the range: the largest value if ``saturate`` (MODE.FP16_OVFL), else infinity where
        the format has one and NaN where it has none.
        """
        m = self.mantissa_bits
        size = np.abs(x)
        finite = np.where(np.isfinite(x), size, 0)
        exponent = np.where(finite > 0, np.frexp(finite)[1] - 1, -self.bias)
        exponent = np.maximum(exponent, 1 - self.bias)
        steps = np.rint(np.ldexp(finite, m - exponent)).astype(np.int64)
        code = (exponent + self.bias - 1 << m) + steps
        top = int(np.nanargmax(np.where(np.isfinite(self.values[:128]), self.values[:128], -1)))
        over = (code > top) | np.isinf(x)
        beyond = top if saturate else (top + 1 if self.has_infinity else 0x7F)
        code = np.where(over, beyond, code)
        code = np.where(np.isnan(x), 0x7F, code)
        return (code | np.signbit(x).astype(np.int64) << 7).astype(np.uint32)


FP8 = Float8(4, has_infinity=False)
BF8 = Float8(5, has_infinity=True)
