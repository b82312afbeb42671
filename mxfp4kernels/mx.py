"""MXFP4 numbers: E2M1 elements in blocks of 32 that share one E8M0 scale.

An element is four bits: code 0..7 stands for 0, 0.5, 1, 1.5, 2, 3, 4, 6 and bit 3 is the sign. Two
elements share a byte, the first in the low nibble. A scale is one byte b and stands for
2**(b - 127). Source of the format: OCP Microscaling Formats specification 1.0, sections 5.2 to 5.4.
The rules that choose a scale are those of the two kernels, not the one of that document.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

import torch
from torch import Tensor

BLOCK = 32
"""Elements that share one scale."""
MAX_ELEMENT = 6.0
"""The largest E2M1 magnitude; larger values saturate to it."""
SCALE_BIAS = 127
SCALE_NAN = 255
"""The E8M0 byte that stands for NaN; no rule here ever chooses it."""
MAX_SCALE = 254
LANE_ELEMENTS = 8
"""Neighbouring elements that one lane of an epilogue holds; four lanes share a block."""

_MAGNITUDES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_CODE_VALUES = torch.tensor(
    [*_MAGNITUDES, *(-magnitude for magnitude in _MAGNITUDES)], dtype=torch.float64
)
_BYTE_VALUES = torch.stack((_CODE_VALUES.repeat(16), _CODE_VALUES.repeat_interleave(16)), dim=-1)
"""The two values of every packed byte, low nibble first."""
MIDPOINTS: tuple[float, ...] = tuple((low + high) / 2 for low, high in pairwise(_MAGNITUDES))
"""Where rounding changes from one E2M1 magnitude to the next: 0.25, 0.75, 1.25, 1.75, 2.5, ..."""

_ROUND_UP = 0x200000
"""Added to the f32 bits of a magnitude: a mantissa of 1.75 or more moves to the next exponent."""


class ScaleRule(Enum):
    """How a block's largest magnitude becomes its scale byte.

    All three add 0x200000 to the f32 bits of the magnitude, take the exponent field and subtract 2,
    so that a magnitude in [1.75 * 2**(e-1), 1.75 * 2**e) is divided by 2**(e-2) and lands in
    [3.5, 7). They differ in the bits they start from and at the ends of the range.

    - ``ACTIVATION``: the magnitude comes from bf16 bits compared as integers, so a NaN counts as
      larger than infinity; integer arithmetic, clamped to 0..254. Infinity gives 253, a NaN 253 or
      (with the three uppermost mantissa bits set) 254.
    - ``GEMM1``: the magnitude is an f32; the subtraction of 2 is a multiplication by 0.25 in f32.
      A sum of 0x7f800000 or more is an infinity or NaN and stays one: the byte is 254, where the
      integer rule gives 253, and the elements are converted with an exponent of 255, which as E8M0
      is a NaN. A NaN element loses to the numbers among its lane's eight elements; a lane of eight
      NaNs makes the block's magnitude NaN.
    - ``GEMM2``: as ``ACTIVATION``, on an f32 magnitude truncated to its upper 16 bits; NaN elements
      as for ``GEMM1``.
    """

    ACTIVATION = "activation"
    GEMM1 = "gemm1"
    GEMM2 = "gemm2"


@dataclass(frozen=True)
class MXTensor:
    """MXFP4 data of logical shape ``[..., K]``, blocks of 32 along K.

    Args:
        packed: uint8 ``[..., K/2]``, element 2k in the low nibble of byte k.
        scales: uint8 ``[..., K/32]``, E8M0.

    Raises:
        TypeError: either is not uint8.
        ValueError: the shapes do not belong together.
    """

    packed: Tensor
    scales: Tensor

    def __post_init__(self) -> None:
        for name in ("packed", "scales"):
            dtype = getattr(self, name).dtype
            if dtype != torch.uint8:
                raise TypeError(f"MXTensor.{name} must be uint8, got {dtype}")
        expected = (*self.packed.shape[:-1], self.packed.shape[-1] * 2 // BLOCK)
        if self.packed.shape[-1] * 2 % BLOCK or tuple(self.scales.shape) != expected:
            raise ValueError(
                f"MXTensor needs packed [..., K/2] and scales [..., K/32] with K % 32 == 0, got "
                f"packed {tuple(self.packed.shape)} and scales {tuple(self.scales.shape)}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The logical shape ``[..., K]``, in elements."""
        return (*self.packed.shape[:-1], self.packed.shape[-1] * 2)

    def __getitem__(self, rows: slice | Tensor) -> MXTensor:
        """The chosen rows: an index into the first dimension only, which must not be K."""
        if self.packed.dim() < 2:
            raise ValueError(f"cannot index the rows of an MXTensor of shape {self.shape}")
        return MXTensor(self.packed[rows], self.scales[rows])

    def first(self, elements: int) -> MXTensor:
        """The leading ``elements`` along K.

        Raises:
            ValueError: ``elements`` is not a whole number of blocks within K.
        """
        if elements % BLOCK or not 0 < elements <= self.shape[-1]:
            raise ValueError(
                f"elements must be a multiple of {BLOCK} in 1..{self.shape[-1]}, got {elements}"
            )
        return MXTensor(self.packed[..., : elements // 2], self.scales[..., : elements // BLOCK])

    def codes(self) -> Tensor:
        """The unpacked codes, uint8 ``[..., K]``, each 0..15."""
        return unpack(self.packed)

    def dequantise(self) -> Tensor:
        """The exact values, float64 ``[..., K]``; a block with scale byte 255 is NaN."""
        elements = _BYTE_VALUES[self.packed.to(torch.int64)].reshape(*self.scales.shape, BLOCK)
        return (elements * decode_scale(self.scales)[..., None]).reshape(self.shape)


def encode(values: Tensor) -> Tensor:
    """The E2M1 codes nearest to ``values``, ties to the even code, saturated at 6.

    The sign of a zero is kept. An infinity saturates. A NaN gives 6 with its sign bit: E2M1 has no
    NaN, and the OCP document leaves the result to the implementation.

    Args:
        values: a floating-point tensor of any shape.

    Returns:
        uint8 codes of the same shape, each 0..15.

    Raises:
        TypeError: ``values`` is not floating point.
    """
    if not values.is_floating_point():
        raise TypeError(f"values must be floating point, got {values.dtype}")
    magnitude = values.abs().to(torch.float64)
    codes = torch.bucketize(magnitude, _ROUNDING_BOUNDS, right=True).to(torch.uint8)
    return codes | (torch.signbit(values).to(torch.uint8) << 3)


def _rounding_bounds() -> Tensor:
    """The least float64 that rounds up to each code 1..7; a tie belongs to the even code."""
    bounds = torch.tensor(MIDPOINTS, dtype=torch.float64)
    above = torch.nextafter(bounds, torch.full_like(bounds, torch.inf))
    tie_goes_up = torch.arange(len(MIDPOINTS)) % 2 == 1
    return torch.where(tie_goes_up, bounds, above)


_ROUNDING_BOUNDS = _rounding_bounds()


def decode(codes: Tensor) -> Tensor:
    """The float64 values of E2M1 codes 0..15 (uint8, any shape); -0.0 for code 8.

    Raises:
        TypeError: ``codes`` is not uint8.
        ValueError: a code is above 15.
    """
    if codes.dtype != torch.uint8:
        raise TypeError(f"codes must be uint8, got {codes.dtype}")
    if codes.numel() and int(codes.max()) > 15:
        raise ValueError(f"an E2M1 code lies in 0..15, got {int(codes.max())}; unpack bytes first")
    return _CODE_VALUES[codes.to(torch.int64)]


def decode_scale(scales: Tensor) -> Tensor:
    """The float64 values 2**(b - 127) of E8M0 bytes (uint8, any shape); NaN for 255.

    Raises:
        TypeError: ``scales`` is not uint8.
    """
    if scales.dtype != torch.uint8:
        raise TypeError(f"scales must be uint8, got {scales.dtype}")
    value = power_of_two(scales.to(torch.int64) - SCALE_BIAS)
    return torch.where(scales == SCALE_NAN, torch.nan, value)


def power_of_two(exponent: Tensor) -> Tensor:
    """The exact float64 values 2**exponent of integers in -1022..1023, any shape.

    Formed from the bits, since torch.ldexp goes through float32 powers.
    """
    return ((exponent.to(torch.int64) + 1023) << 52).view(torch.float64)


def blocks_of(values: Tensor, size: int = BLOCK) -> Tensor:
    """``[..., K]`` as ``[..., K/size, size]``."""
    return values.reshape(*values.shape[:-1], -1, size)


def pack(codes: Tensor) -> Tensor:
    """Codes uint8 ``[..., K]`` to bytes uint8 ``[..., K/2]``, the first of two in the low nibble.

    Raises:
        ValueError: K is odd.
    """
    if codes.shape[-1] % 2:
        raise ValueError(f"pack needs an even number of elements along K, got {codes.shape[-1]}")
    return codes[..., 0::2] | (codes[..., 1::2] << 4)


def unpack(packed: Tensor) -> Tensor:
    """Bytes uint8 ``[..., K/2]`` to codes uint8 ``[..., K]``; the inverse of :func:`pack`."""
    return torch.stack((packed & 15, packed >> 4), dim=-1).flatten(start_dim=-2)


def scale_byte(amax: Tensor, rule: ScaleRule) -> Tensor:
    """The E8M0 byte that a rule stores for a block's largest magnitude.

    Args:
        amax: f32, any shape, not negative. For ``ACTIVATION`` the widened bf16.
        rule: see :class:`ScaleRule`.

    Returns:
        uint8 of the same shape, in 0..254.

    Raises:
        TypeError: ``amax`` is not f32.
    """
    return conversion_scale(amax, rule).clamp(max=MAX_SCALE)


def conversion_scale(amax: Tensor, rule: ScaleRule) -> Tensor:
    """The exponent that a block's elements are converted with: the byte, but 255 is not clamped.

    Only ``GEMM1`` reaches 255, see :class:`ScaleRule`. Arguments as :func:`scale_byte`.
    """
    if amax.dtype != torch.float32:
        raise TypeError(f"amax must be float32, got {amax.dtype}")
    bits = amax.contiguous().view(torch.int32)
    if rule is ScaleRule.GEMM2:
        bits = bits & ~0xFFFF
    moved = bits + _ROUND_UP
    if rule is ScaleRule.GEMM1:
        scaled = moved.view(torch.float32) * 0.25
        exponent = _above_mantissa(scaled.view(torch.int32))
        return exponent.clamp(0, SCALE_NAN).to(torch.uint8)
    return (_above_mantissa(moved) - 2).clamp(0, MAX_SCALE).to(torch.uint8)


def _above_mantissa(bits: Tensor) -> Tensor:
    """The exponent field, and above it the bit that a NaN's carry reaches: an unsigned shift."""
    return (bits >> 23) & 0x1FF


def block_amax(values: Tensor, rule: ScaleRule) -> Tensor:
    """The largest magnitude of each block of 32 along K as its rule sees it.

    Args:
        values: bf16 ``[..., K]`` for ``ACTIVATION``, f32 for the other rules.

    Returns:
        f32 ``[..., K/32]``.

    Raises:
        TypeError: the dtype is not the rule's.
        ValueError: K is not a multiple of 32.
    """
    expected = torch.bfloat16 if rule is ScaleRule.ACTIVATION else torch.float32
    if values.dtype != expected:
        raise TypeError(f"rule {rule.value} quantises {expected}, got {values.dtype}")
    if values.shape[-1] % BLOCK:
        raise ValueError(f"K must be a multiple of {BLOCK}, got {values.shape[-1]}; pad with zeros")
    blocks = blocks_of(values)
    if rule is ScaleRule.ACTIVATION:
        bits = (blocks.contiguous().view(torch.int16) & 0x7FFF).amax(dim=-1)
        return bits.view(torch.bfloat16).to(torch.float32)
    magnitude = blocks_of(blocks.abs(), LANE_ELEMENTS)
    per_lane = magnitude.nan_to_num(nan=0.0, posinf=torch.inf).amax(dim=-1)
    per_lane = torch.where(magnitude.isnan().all(dim=-1), torch.nan, per_lane)
    return per_lane.amax(dim=-1)


def encode_scaled(values: Tensor, scales: Tensor) -> Tensor:
    """The codes of ``values / 2**(b - 127)``: what v_cvt_scalef32_pk_fp4 makes of a block.

    Args:
        values: floating point ``[..., K]``.
        scales: uint8 ``[..., K/32]``, one exponent per block; 255 makes its elements NaN.

    Returns:
        uint8 codes ``[..., K]``.
    """
    factor = decode_scale(scales).reciprocal()
    return encode(values.to(torch.float64) * factor.repeat_interleave(BLOCK, dim=-1))


def quantise(values: Tensor, rule: ScaleRule) -> MXTensor:
    """Quantise to MXFP4: a scale per block of 32 by ``rule``, elements to nearest even.

    Args:
        values: ``[..., K]``, K a multiple of 32; bf16 for ``ACTIVATION``, else f32.

    Returns:
        An :class:`MXTensor` of the same logical shape. A block of zeros has scale byte 0.

    Raises:
        TypeError, ValueError: as :func:`block_amax`.
    """
    amax = block_amax(values, rule)
    codes = encode_scaled(values, conversion_scale(amax, rule))
    return MXTensor(pack(codes), scale_byte(amax, rule))
