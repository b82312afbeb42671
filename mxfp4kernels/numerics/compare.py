"""Whether what a kernel wrote is what it must have written, element by element.

The kernels accumulate in f32 in an order of their own, so an exact value is known only to lie
within a bound of the float64 reference. Rounding is monotone: what may be written is everything
from the rounded lower end to the rounded upper end. Where both are the same number it must be hit
exactly; where they differ the element is a *boundary case*: the value lies within the bound of a
point where the result changes. Boundary cases are counted, and must still hit one of the values
between.

The two zeros are numbers of their own, -0 just below +0. A value known exactly fixes the sign, too:
a sum that cancels is +0, and a zero gate times a negative number is -0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..mx import (
    BLOCK,
    MAX_SCALE,
    SCALE_NAN,
    MXTensor,
    ScaleRule,
    block_amax,
    conversion_scale,
    decode,
    decode_scale,
    encode_scaled,
)

MAX_LISTED = 8
"""Wrong elements that a comparison keeps for its report."""


@dataclass(frozen=True)
class WrongElement:
    """An element outside what rounding allows; rows and columns as the caller numbers them."""

    row: int
    column: int
    got: float
    want: float
    low: float
    high: float
    note: str = ""

    def __str__(self) -> str:
        return (
            f"row {self.row} column {self.column}: got {self.got:.6g}, want {self.want:.6g} "
            f"(allowed {self.low:.6g}..{self.high:.6g}) {self.note}"
        ).rstrip()


@dataclass(frozen=True)
class Comparison:
    """Counts over compared elements; comparisons of parts add up.

    Args:
        elements: how many were compared.
        mismatches: those outside what rounding allows.
        boundary_cases: those within the bound of a point where the result changes.
        boundary_differences: boundary cases that came out other than the rounded reference.
        max_ulp: largest distance from the rounded reference in representable numbers of the output
            format; for MXFP4 in E2M1 steps at the written scale.
        max_abs: largest absolute distance from the float64 reference.
        dot, got_norm, want_norm: sums of products of written values and float64 reference.
        wrong: the first mismatches.
    """

    elements: int = 0
    mismatches: int = 0
    boundary_cases: int = 0
    boundary_differences: int = 0
    max_ulp: int = 0
    max_abs: float = 0.0
    dot: float = 0.0
    got_norm: float = 0.0
    want_norm: float = 0.0
    wrong: tuple[WrongElement, ...] = field(default=())

    @property
    def cos(self) -> float:
        """Cosine between written values and float64 reference; NaN if either is all zero."""
        norm = math.sqrt(self.got_norm * self.want_norm)
        return self.dot / norm if norm else math.nan

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(
            self.elements + other.elements,
            self.mismatches + other.mismatches,
            self.boundary_cases + other.boundary_cases,
            self.boundary_differences + other.boundary_differences,
            max(self.max_ulp, other.max_ulp),
            max(self.max_abs, other.max_abs),
            self.dot + other.dot,
            self.got_norm + other.got_norm,
            self.want_norm + other.want_norm,
            (self.wrong + other.wrong)[:MAX_LISTED],
        )


@dataclass(frozen=True)
class _Line:
    """Where numbers lie on the output format's number line, neighbours one apart: ints ``[R, C]``.

    ``got`` was written, ``nearest`` is the rounded reference, ``low`` and ``high`` are the ends of
    what may be written.
    """

    got: Tensor
    nearest: Tensor
    low: Tensor
    high: Tensor

    @property
    def wrong(self) -> Tensor:
        return (self.got < self.low) | (self.got > self.high)

    @property
    def distance(self) -> Tensor:
        return (self.got - self.nearest).abs()


def _count(
    got: Tensor,
    value: Tensor,
    line: _Line,
    boundary: Tensor,
    wrong: Tensor,
    listed: tuple[WrongElement, ...],
) -> Comparison:
    numbers = torch.isfinite(got) & torch.isfinite(value)
    g, v = got[numbers], value[numbers]
    return Comparison(
        elements=got.numel(),
        mismatches=int(wrong.sum()),
        boundary_cases=int(boundary.sum()),
        boundary_differences=int((boundary & ~wrong & (line.distance > 0)).sum()),
        max_ulp=int(line.distance.max()) if got.numel() else 0,
        max_abs=float((g - v).abs().max()) if g.numel() else 0.0,
        dot=float((g * v).sum()),
        got_norm=float((g * g).sum()),
        want_norm=float((v * v).sum()),
        wrong=listed,
    )


def _list_wrong(
    wrong: Tensor, got: Tensor, value: Tensor, low: Tensor, high: Tensor, notes: Tensor
) -> tuple[WrongElement, ...]:
    """The first wrong elements; ``notes`` holds a rejected scale byte, or -1."""
    listed = []
    for row, column in wrong.nonzero()[:MAX_LISTED].tolist():
        at, want, least, most = (float(part[row, column]) for part in (got, value, low, high))
        byte = int(notes[row, column])
        note = f"scale byte {byte} is not one that the block can have" if byte >= 0 else ""
        listed.append(WrongElement(row, column, at, want, least, most, note))
    return tuple(listed)


def compare_mxfp4(got: MXTensor, value: Tensor, bound: Tensor, rule: ScaleRule) -> Comparison:
    """Compare MXFP4 output with the values it was quantised from.

    A block's scale byte must be one that some amax within the bound gives; a block with another
    byte counts as 32 mismatches. Elements are then held against the written scale.

    Args:
        got: ``[R, C]``.
        value: float64 ``[R, C]``, the reference before quantisation.
        bound: float64 ``[R, C]``, how far the kernel's f32 value may lie from it; finite. A NaN
            value must have become the largest magnitude, of either sign.
        rule: the rule that chose the scales.
    """
    first = _conversion_scale(torch.clamp(value.abs() - bound, min=0.0), rule)
    nearest_scale = _conversion_scale(value.abs(), rule)
    last = _conversion_scale(value.abs() + bound, rule)
    rejected = (got.scales < first.clamp(max=MAX_SCALE)) | (got.scales > last)
    scales = torch.where(rejected, nearest_scale.clamp(max=MAX_SCALE), got.scales)
    used = torch.where(scales == MAX_SCALE, nearest_scale.clamp(min=MAX_SCALE), scales)

    least, most = ends(value, bound)
    low, nearest, high = (
        encode_scaled(end.to(torch.float32), used) for end in (least, value, most)
    )
    codes = (got.codes(), low, nearest, high)
    # The sign of a NaN is nobody's choice.
    no_sign = value.isnan() | _per_element(used == SCALE_NAN)
    at, low, nearest, high = (torch.where(no_sign, code & 7, code) for code in codes)
    line = _Line(*map(_code_position, (at, nearest, low, high)))
    wrong = line.wrong | _per_element(rejected)
    boundary = (line.low != line.high) | _per_element(first != last)
    unit = _per_element(decode_scale(scales))
    notes = _per_element(torch.where(rejected, got.scales.to(torch.int16), -1))
    written = got.dequantise()
    listed = _list_wrong(wrong, written, value, decode(low) * unit, decode(high) * unit, notes)
    return _count(written, value, line, boundary, wrong, listed)


def ends(value: Tensor, bound: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the largest number within ``bound`` of ``value``, float64 of their shape.

    An exact value is both, sign of zero included, which adding a bound of zero would lose.
    """
    exact = bound == 0
    return torch.where(exact, value, value - bound), torch.where(exact, value, value + bound)


def _per_element(per_block: Tensor) -> Tensor:
    return per_block.repeat_interleave(BLOCK, dim=-1)


def _conversion_scale(magnitude: Tensor, rule: ScaleRule) -> Tensor:
    return conversion_scale(block_amax(magnitude.to(torch.float32), rule), rule)


def _code_position(codes: Tensor) -> Tensor:
    """Codes on a line in the order of their values; -0 lies one below +0."""
    signed = codes.to(torch.int16)
    return torch.where(signed < 8, signed, 7 - signed)


def compare_bf16(
    got: Tensor, value: Tensor, low: Tensor, rounded: Tensor, high: Tensor
) -> Comparison:
    """Compare bf16 output with the numbers it may be.

    Args:
        got: bf16 ``[R, C]``.
        value: float64 ``[R, C]``, the reference without any rounding.
        low, rounded, high: bf16 ``[R, C]``, what rounding makes of the lower end, the reference
            itself and the upper end of the interval that holds the kernel's value.
    """
    line = _Line(*map(bf16_position, (got, rounded, low, high)))
    no_notes = torch.full_like(line.got, -1)
    written = got.to(torch.float64)
    listed = _list_wrong(line.wrong, written, value, low, high, no_notes)
    return _count(written, value, line, line.low != line.high, line.wrong, listed)


def round_bf16(values: Tensor) -> Tensor:
    """float64 to f32 to bf16, to nearest even each time, as a kernel rounds its f32 result."""
    return values.to(torch.float32).to(torch.bfloat16)


def bf16_position(values: Tensor) -> Tensor:
    """bf16 numbers as int32 in the order of their values: neighbours one apart, -0 one below +0."""
    bits = values.contiguous().view(torch.int16).to(torch.int32)
    return torch.where(bits < 0, -1 - (bits & 0x7FFF), bits)
