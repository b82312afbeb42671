"""MXFP4 quantisation on the device: E8M0 scales and E2M1 codes of 32-element blocks.

Four neighbouring lanes hold 8 elements each of one block. docs/kernels.md has the rounding rule.
"""

from __future__ import annotations

from collections.abc import Callable

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import arith, llvm
from flydsl.expr.typing import T, as_ir_value

from .primitives import (
    ABSOLUTE_BF16_PAIR,
    Value,
    bitcast,
    const_f32,
    const_i32,
    element,
    fp4_pair_bf16,
    fp4_pair_f32,
    quad_swap,
    u32,
)

ROUND_UP_AT_1_75 = 0x200000
"""Added to the f32 bits of the largest magnitude: a mantissa of 1.75 or more moves up a binade."""
EXPONENT_SHIFT = 23
BF16_SHIFT = 16
E2M1_EXPONENT = 2
"""Exponent of the largest E2M1 value, 6 = 1.5 * 2^2."""
E8M0_MAX = 254
QUAD_NEIGHBOURS = ((1, 0, 3, 2), (2, 3, 0, 1))
"""Two exchanges after which all four lanes of a quad have seen each other."""


def packed_max_native(a: Value, b: Value) -> Value:
    """Maximum of two pairs of u16, selected and scheduled by the back end."""
    pair = ir.VectorType.get([2], T.i16)
    return bitcast(arith.maxui(bitcast(a, pair), bitcast(b, pair)), T.i32)


def packed_max_asm(a: Value, b: Value) -> Value:
    """Maximum of two pairs of u16 as inline assembly, opaque to the back end."""
    return llvm.inline_asm(
        T.i32,
        [as_ir_value(a), as_ir_value(b)],
        "v_pk_max_u16 $0, $1, $2",
        "=v,v,v",
        has_side_effects=False,
    )


class Bf16Blocks:
    """Quantises several independent pieces of 8 bf16 per lane, stage by stage.

    Running one instance per piece gives the pieces one after the other; one instance for all
    gives them interleaved. Each stage appends to the instruction stream piece by piece.
    """

    def __init__(self, pieces: list[Value], packed_max: Callable[[Value, Value], Value]) -> None:
        self._words = [[element(piece, i) for i in range(4)] for piece in pieces]
        self._max = packed_max

    def run(self) -> tuple[list[Value], list[fx.Uint32]]:
        """The packed dword (8 codes) and the E8M0 byte of every piece."""
        factors = [scale_bits(amax) for amax in self._widest(self._quad_max(self._lane_max()))]
        return self._convert(factors), [factor >> EXPONENT_SHIFT for factor in factors]

    def _lane_max(self) -> list[Value]:
        """Largest magnitude per lane and piece, as a pair of candidates."""
        magnitudes = [[u32(word) & ABSOLUTE_BF16_PAIR for word in words] for words in self._words]
        return [
            self._max(self._max(words[0], words[1]), self._max(words[2], words[3]))
            for words in magnitudes
        ]

    def _quad_max(self, candidates: list[Value]) -> list[Value]:
        for lanes in QUAD_NEIGHBOURS:
            swapped = [quad_swap(value, lanes) for value in candidates]
            candidates = [self._max(a, b) for a, b in zip(candidates, swapped, strict=True)]
        return candidates

    @staticmethod
    def _widest(candidates: list[Value]) -> list[fx.Uint32]:
        """f32 bits of the larger of each pair of bf16 magnitudes."""
        pairs = [u32(pair) for pair in candidates]
        larger = [fx.Uint32(arith.maxui(*map(as_ir_value, (p & 0xFFFF, p >> 16)))) for p in pairs]
        return [bits << BF16_SHIFT for bits in larger]

    def _convert(self, factors: list[fx.Uint32]) -> list[Value]:
        scales = [bitcast(factor, T.f32) for factor in factors]
        packed = [const_i32(0) for _ in self._words]
        for byte in range(4):
            packed = [
                fp4_pair_bf16(dword, words[byte], scale, byte)
                for dword, words, scale in zip(packed, self._words, scales, strict=True)
            ]
        return packed


def scale_bits(amax_bits: fx.Uint32) -> fx.Uint32:
    """The scale of a block as f32 bits, of which only the exponent counts (the integer form).

    The largest magnitude has a clear sign bit, so the raised exponent is at most 256 and that of
    the scale at most 254: the upper clamp of the rule needs no instruction.
    """
    raised = as_ir_value(amax_bits + ROUND_UP_AT_1_75)
    floor = E2M1_EXPONENT << EXPONENT_SHIFT
    return fx.Uint32(arith.maxui(raised, const_i32(floor))) - floor


def scale_factor(amax_bits: fx.Uint32) -> tuple[Value, fx.Uint32]:
    """The scale as f32 (its exponent counts) and its E8M0 byte, formed in float arithmetic."""
    raised = bitcast(amax_bits + ROUND_UP_AT_1_75, T.f32)
    factor = arith.mulf(raised, const_f32(2.0**-E2M1_EXPONENT))
    exponent = fx.Uint32(bitcast(factor, T.i32)) >> EXPONENT_SHIFT
    return factor, fx.Uint32(arith.minui(as_ir_value(exponent), const_i32(E8M0_MAX)))


def block_amax_bits(values: list[Value]) -> fx.Uint32:
    """f32 bits of the largest magnitude of a 32-block: 8 values per lane, four lanes."""
    magnitudes = [llvm.intr_fabs(as_ir_value(value)) for value in values]
    amax = magnitudes[0]
    for magnitude in magnitudes[1:]:
        amax = arith.maxnumf(amax, magnitude)
    for lanes in QUAD_NEIGHBOURS:
        neighbour = bitcast(quad_swap(bitcast(amax, T.i32), lanes), T.f32)
        amax = arith.maxnumf(amax, neighbour)
    return fx.Uint32(bitcast(amax, T.i32))


def pack_f32(values: list[Value], factor: Value) -> Value:
    """Eight f32 per lane as one dword of E2M1 codes, divided by the factor's power of two."""
    packed = const_i32(0)
    for byte in range(4):
        packed = fp4_pair_f32(packed, values[2 * byte], values[2 * byte + 1], factor, byte)
    return packed
