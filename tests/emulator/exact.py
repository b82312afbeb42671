"""IEEE arithmetic on bit patterns by exact fractions: the oracle for every float instruction.

Nothing here shares code or method with the emulator: a number is a Fraction, and rounding is done
by integer division.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import cache


@dataclass(frozen=True)
class Format:
    """A binary float format with infinities and NaNs."""

    exponent_bits: int
    mantissa_bits: int

    @property
    def width(self) -> int:
        return 1 + self.exponent_bits + self.mantissa_bits

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def infinity(self) -> int:
        return (2**self.exponent_bits - 1) << self.mantissa_bits

    @property
    def nan(self) -> int:
        return self.infinity | 1 << (self.mantissa_bits - 1)

    @property
    def sign(self) -> int:
        return 1 << (self.width - 1)

    def is_nan(self, bits: int) -> bool:
        return bits & (self.sign - 1) > self.infinity

    def is_infinite(self, bits: int) -> bool:
        return bits & (self.sign - 1) == self.infinity

    def is_zero(self, bits: int) -> bool:
        return bits & (self.sign - 1) == 0

    @cache  # noqa: B019 - the three formats live as long as the tests
    def value(self, bits: int) -> Fraction:
        """The exact value of a finite pattern."""
        mantissa = bits & (1 << self.mantissa_bits) - 1
        exponent = (bits & (self.sign - 1)) >> self.mantissa_bits
        if exponent == 0:
            exponent = 1
        else:
            mantissa += 1 << self.mantissa_bits
        size = Fraction(mantissa) * Fraction(2) ** (exponent - self.bias - self.mantissa_bits)
        return -size if bits & self.sign else size

    def round(self, value: Fraction, negative_zero: bool = False) -> int:
        """To nearest even, overflow to infinity."""
        sign = self.sign if value < 0 or (value == 0 and negative_zero) else 0
        size = abs(value)
        if size == 0:
            return sign
        exponent = max(_floor_log2(size), 1 - self.bias)
        unit = Fraction(2) ** (exponent - self.mantissa_bits)
        steps = _round_even(size / unit)
        bits = (exponent + self.bias - 1 << self.mantissa_bits) + steps
        return sign | min(bits, self.infinity)

    def round_special(self, value: float) -> int:
        """An infinity or NaN of the host as a pattern."""
        if math.isnan(value):
            return self.nan
        return self.infinity | (self.sign if value < 0 else 0)

    # ---- conversions to and from the host's floats, for reading results

    def to_float(self, bits: int) -> float:
        if self.is_nan(bits):
            return math.nan
        if self.is_infinite(bits):
            return -math.inf if bits & self.sign else math.inf
        if self.is_zero(bits):
            return -0.0 if bits & self.sign else 0.0
        return float(self.value(bits))

    def bits(self, value: object) -> int:
        """The pattern of a host float of this width."""
        code = {16: "e", 32: "f", 64: "d"}[self.width]
        return int.from_bytes(struct.pack(f"<{code}", value), "little")

    def bits_of(self, value: float | int | Fraction) -> int:
        """Any real number rounded to this format."""
        return self.round(Fraction(value))

    def same(self, got: int, expected: int) -> bool:
        """Equal bits, or both NaN."""
        return got == expected or (self.is_nan(got) and self.is_nan(expected))

    # ---- arithmetic

    def add(self, a: int, b: int) -> int:
        return self.fma(a, self.round(Fraction(1)), b)

    def subtract(self, a: int, b: int) -> int:
        return self.add(a, b ^ self.sign)

    @cache  # noqa: B019 - the three formats live as long as the tests
    def multiply(self, a: int, b: int) -> int:
        if self.is_nan(a) or self.is_nan(b):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a) or self.is_infinite(b):
            return self.nan if self.is_zero(a) or self.is_zero(b) else self.infinity | sign
        return self.round(self.value(a) * self.value(b), bool(sign))

    @cache  # noqa: B019 - the three formats live as long as the tests
    def fma(self, a: int, b: int, c: int) -> int:
        if any(self.is_nan(x) for x in (a, b, c)):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a) or self.is_infinite(b):
            if self.is_zero(a) or self.is_zero(b):
                return self.nan
            if self.is_infinite(c) and (c & self.sign) != sign:
                return self.nan
            return self.infinity | sign
        if self.is_infinite(c):
            return c
        total = self.value(a) * self.value(b) + self.value(c)
        product_is_zero = self.is_zero(a) or self.is_zero(b)
        both_negative = bool(sign) and bool(c & self.sign)
        return self.round(total, both_negative and product_is_zero and self.is_zero(c))

    @cache  # noqa: B019 - the three formats live as long as the tests
    def divide(self, a: int, b: int) -> int:
        if self.is_nan(a) or self.is_nan(b):
            return self.nan
        sign = (a ^ b) & self.sign
        if self.is_infinite(a):
            return self.nan if self.is_infinite(b) else self.infinity | sign
        if self.is_infinite(b):
            return sign
        if self.is_zero(b):
            return self.nan if self.is_zero(a) else self.infinity | sign
        return self.round(self.value(a) / self.value(b), bool(sign))

    def flush(self, bits: int) -> int:
        """A denormal becomes a zero of its sign."""
        tiny = bits & (self.sign - 1) < 1 << self.mantissa_bits
        return bits & self.sign if tiny else bits


def _floor_log2(value: Fraction) -> int:
    estimate = value.numerator.bit_length() - value.denominator.bit_length()
    return estimate if Fraction(2) ** estimate <= value else estimate - 1


def _round_even(value: Fraction) -> int:
    whole, rest = divmod(value.numerator, value.denominator)
    twice = 2 * rest
    if twice > value.denominator or (twice == value.denominator and whole % 2):
        return whole + 1
    return whole


F16, F32, F64 = Format(5, 10), Format(8, 23), Format(11, 52)
BF16 = Format(8, 7)
