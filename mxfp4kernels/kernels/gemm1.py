"""gemm1: rows x W1 -> silu(gate) * up -> MXFP4, one BM x 256 tile of gate and up per workgroup.

The pipeline below reads in the order in which it runs: prologue, loop, drain, epilogue. K is
unrolled; two K tiles are in flight. Layouts, lane maps and the buffers' formats are those of
docs/kernels.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import flydsl.expr as fx
import torch
from flydsl._mlir.dialects import arith, llvm
from flydsl.expr.typing import T, as_ir_value

from .. import shapes
from ..flags import FlagSet
from ..shapes import BLOCK_THREADS, MFMA_ROWS, SCALE_TILE_BYTES, TILE_K, TILE_N, Shape, Variant
from . import quant
from .control import when
from .entry import Parameter
from .primitives import (
    WAVE,
    Lds,
    Value,
    buffer,
    buffer_load,
    buffer_store,
    const_f32,
    fence_schedule,
    load_i32,
    rocdl,
    set_priority,
    u32,
)
from .tile import (
    COLUMN_GROUPS,
    HALVES,
    ROW_BYTES,
    TILES_IN_FLIGHT,
    VECTOR_BYTES,
    Accumulators,
    ADma,
    ASlots,
    BTile,
    Thread,
    Weights,
    accumulate,
    read_8_f32,
    spill,
    swizzle,
    zero_accumulators,
)

OUTPUTS_PER_TILE = TILE_N // 2
"""Columns of the output that one tile of gate and up makes."""


@dataclass(frozen=True)
class Plan:
    """Everything about one gemm1 kernel that is fixed when it is compiled.

    ``pairs`` counts 32-row pairs of 16-row groups, which share their scale dwords; at BM=16 a pair
    holds one group. ``a_slots`` and ``scale_slots`` are K tiles that LDS holds.
    """

    block_m: int
    hidden: int
    inter: int
    k_tiles: int
    n_blocks: int
    a_slots: int
    scale_slots: int
    lds_bytes: int
    inline_quant: bool
    nontemporal: bool
    flags: FlagSet

    @classmethod
    def of(cls, variant: Variant, shape: Shape, flags: FlagSet) -> Plan:
        safe = "safe_lds_reuse" in flags
        return cls(
            block_m=variant.block_m,
            hidden=shape.hidden,
            inter=shape.inter,
            k_tiles=shapes.k_tiles(variant, shape),
            n_blocks=shapes.n_blocks(variant, shape),
            a_slots=shapes.a_slots(variant, shape, safe_lds_reuse=safe),
            scale_slots=shapes.scale_slots(variant, shape),
            lds_bytes=shapes.lds_bytes(variant, shape, safe_lds_reuse=safe),
            inline_quant=variant.inline_quant,
            nontemporal=variant.nontemporal_weights,
            flags=flags,
        )

    @property
    def row_groups(self) -> int:
        return self.block_m // MFMA_ROWS

    @property
    def pairs(self) -> int:
        return shapes.row_pairs(self.block_m)


PARAMETERS = (
    Parameter("a_quant", torch.uint8, 2),
    Parameter("a_scale", torch.uint8, 2),
    Parameter("w1", torch.uint8, 3),
    Parameter("w1_scale", torch.uint8, 3),
    Parameter("sorted_expert_ids", torch.int32, 1),
    Parameter("cumsum", torch.int32, 1),
    Parameter("m_indices", torch.int32, 1),
    Parameter("n_tokens"),
    Parameter("out_q", torch.uint8, 2),
    Parameter("out_scale", torch.uint8, 2),
    Parameter("hidden", torch.bfloat16, 2),
)
"""gemm1's kernel parameters in the order of its ABI."""


@dataclass(frozen=True)
class Arguments:
    """gemm1's kernel parameters while it is traced; buffers are global pointers."""

    a_quant: fx.Pointer
    a_scale: fx.Pointer
    w1: fx.Pointer
    w1_scale: fx.Pointer
    sorted_expert_ids: fx.Pointer
    cumsum: fx.Pointer
    m_indices: fx.Pointer
    n_tokens: Value
    out_q: fx.Pointer
    out_scale: fx.Pointer
    hidden: fx.Pointer


def run(plan: Plan, args: Arguments) -> None:
    """The kernel body; a workgroup past the last tile exits at once."""
    block = u32(fx.block_idx.x)
    rows = u32(load_i32(args.cumsum, 0))
    with when(block < rows // plan.block_m * plan.n_blocks):
        _Tile(plan, args, block).run()


class _Tile:
    """One BM x 256 tile of gate and up."""

    def __init__(self, plan: Plan, args: Arguments, block: Value) -> None:
        self.plan = plan
        self.args = args
        self.thread = Thread.current()
        self.m_block = block // plan.n_blocks
        self.n_block = block % plan.n_blocks
        self.lds = Lds(plan.lds_bytes)
        self.slots = ASlots(self.lds, 0, plan.block_m, plan.a_slots, self.thread)
        self.weights = self._weights()
        source = _InlineQuant if plan.inline_quant else _Staged
        self.a: _InlineQuant | _Staged = source(self)

    def _weights(self) -> Weights:
        plan, args = self.plan, self.args
        expert = u32(load_i32(args.sorted_expert_ids, self.m_block))
        column = expert * (2 * plan.inter) + self.n_block * TILE_N + self.thread.wave * WAVE
        return Weights(
            buffer(args.w1),
            buffer(args.w1_scale),
            column,
            depth=plan.hidden,
            halves=plan.k_tiles * HALVES,
            nontemporal=plan.nontemporal,
            thread=self.thread,
        )

    def run(self) -> None:
        plan = self.plan
        acc = zero_accumulators(plan.block_m)
        tiles = self._prologue()
        steady = max(plan.k_tiles - TILES_IN_FLIGHT, 0)
        for tile in range(steady):
            tiles[tile + TILES_IN_FLIGHT] = self._loop_tile(tile, acc, tiles.pop(tile))
        for tile in range(steady, plan.k_tiles):
            self._drain_tile(tile, acc, tiles.pop(tile))
        fx.gpu.barrier()
        self._epilogue(acc)

    def _prologue(self) -> dict[int, BTile]:
        """Start (or, with inline quantisation, make) the first tiles."""
        self.a.begin()
        tiles = {}
        for tile in range(min(TILES_IN_FLIGHT, self.plan.k_tiles)):
            self.a.start(tile)
            tiles[tile] = self.weights.load(tile)
            self.a.finish(tile)
        return tiles

    def _loop_tile(self, tile: int, acc: Accumulators, b: BTile) -> BTile:
        """Multiply ``tile`` and start the loads of the tile after next into the freed registers."""
        ahead = tile + TILES_IN_FLIGHT
        fx.gpu.barrier()
        a, a_scales = self.slots.read(tile, HALVES), self.a.read_scales(tile)
        self.a.start(ahead)
        fragments = []
        for group in range(COLUMN_GROUPS):
            self._multiply(acc, a, a_scales, b, group)
            fence_schedule()
            fragments.append(self.weights.load_group(ahead, group))
            fence_schedule()
        next_tile = BTile(fragments, self.weights.load_scales(ahead))
        self.a.finish(ahead)
        return next_tile

    def _multiply(
        self,
        acc: Accumulators,
        a: list[list[Value]],
        a_scales: list[Value],
        b: BTile,
        group: int,
    ) -> None:
        """One group's MFMAs; below BM=128 at raised priority, since waves share the SIMD."""
        raise_priority = self.plan.block_m < 128
        if raise_priority:
            set_priority(1)
        accumulate(acc, a, a_scales, b, group)
        if raise_priority:
            set_priority(0)

    def _drain_tile(self, tile: int, acc: Accumulators, b: BTile) -> None:
        fx.gpu.barrier()
        a, a_scales = self.slots.read(tile, HALVES), self.a.read_scales(tile)
        for group in range(COLUMN_GROUPS):
            accumulate(acc, a, a_scales, b, group)

    # --- epilogue --------------------------------------------------------------------------------

    def _epilogue(self, acc: Accumulators) -> None:
        """Exchange through LDS, then 8 consecutive columns per thread: silu, quantise, store."""
        self._spill_accumulators(acc)
        fx.gpu.barrier()
        out_q = buffer(self.args.out_q)
        position = self.thread.index % 16
        row = self.m_block * self.plan.block_m + self.thread.index // 16
        row_bytes = self.plan.inter // 2
        offset = row * row_bytes + self.n_block * (OUTPUTS_PER_TILE // 2) + position * 4
        scales = []
        for group in range(self.plan.row_groups):
            values = self._activated(group)
            factor, byte = quant.scale_factor(quant.block_amax_bits(values))
            scales.append(byte)
            buffer_store(
                out_q,
                quant.pack_f32(values, factor),
                offset + group * MFMA_ROWS * row_bytes,
                nontemporal=True,
            )
        with when(self.thread.index % 4 == 0):
            self._store_scales(scales)

    def _spill_accumulators(self, acc: Accumulators) -> None:
        """Write the f32 tile [BM, 256] to LDS: gate in columns 0..127, up in 128..255."""
        lane = self.thread.lane
        row_bytes = TILE_N * 4
        base = (
            lane // 16 * (4 * row_bytes)
            + lane % 16 * 4
            + self.thread.wave * (COLUMN_GROUPS // 2 * MFMA_ROWS * 4)
        )
        columns = [
            group // 2 * MFMA_ROWS + group % 2 * OUTPUTS_PER_TILE for group in range(COLUMN_GROUPS)
        ]
        spill(self.lds, acc, base, columns, 4)

    def _activated(self, row_group: int) -> list[Value]:
        """silu(gate) * up of this thread's 8 columns in one 16-row group."""
        row_bytes = TILE_N * 4
        base = self.thread.index // 16 * row_bytes + self.thread.index % 16 * 32
        constant = row_group * MFMA_ROWS * row_bytes
        gate = read_8_f32(self.lds, base, constant)
        up = read_8_f32(self.lds, base, constant + OUTPUTS_PER_TILE * 4)
        return [self._silu_mul(g, u) for g, u in zip(gate, up, strict=True)]

    def _silu_mul(self, gate: Value, up: Value) -> Value:
        """gate / (1 + exp(-gate)) * up, with exp as a power of two."""
        power = self._exp2(arith.mulf(gate, const_f32(-math.log2(math.e))))
        sigmoid = as_ir_value(rocdl.rcp(T.f32, arith.addf(power, const_f32(1.0))))
        return arith.mulf(arith.mulf(gate, sigmoid), up)

    def _exp2(self, exponent: Value) -> Value:
        if "hardware_exp2" in self.plan.flags:
            return rocdl.exp2(T.f32, exponent)
        # The generic intrinsic also covers denormal results: a compare, two selects and an ldexp.
        return llvm.call_intrinsic(T.f32, "llvm.exp2.f32", [exponent], [], [])

    def _store_scales(self, scales: list[Value]) -> None:
        """E8M0 bytes in the layout that gemm2 reads: one dword per row pair, K tile, block, row."""
        out_scale = buffer(self.args.out_scale)
        k_tiles = -(-self.plan.inter // TILE_K)
        block = self.thread.index % 16 // 4
        first_pair = self.m_block * self.plan.pairs
        dword = (
            first_pair * (k_tiles * WAVE)
            + self.n_block // 2 * WAVE
            + block * 16
            + self.thread.index // 16
        )
        offset = dword * 4 + self.n_block % 2 * 2
        if self.plan.row_groups == 1:
            buffer_store(out_scale, arith.trunci(T.i8, as_ir_value(scales[0])), offset)
            return
        for pair in range(self.plan.pairs):
            both = scales[2 * pair] | scales[2 * pair + 1] << 8
            buffer_store(
                out_scale,
                arith.trunci(T.i16, as_ir_value(both)),
                offset + pair * k_tiles * SCALE_TILE_BYTES,
            )


class _Staged:
    """A and its scales by DMA: rows gathered through m_indices, all scales once in the prologue."""

    def __init__(self, tile: _Tile) -> None:
        self.plan = tile.plan
        self.lds = tile.lds
        self.thread = tile.thread
        self.m_block = tile.m_block
        self.scale_base = tile.slots.size
        self.scales = buffer(tile.args.a_scale)
        row_bytes = self.plan.hidden // 2
        # Padding rows carry an index of n_tokens: the descriptor's size makes them read zeros.
        a_quant = buffer(tile.args.a_quant, u32(tile.args.n_tokens) * row_bytes)
        first = self.m_block * self.plan.block_m
        rows = [
            self._index(tile.args.m_indices, first + ADma.local_row(self.thread, step))
            for step in range(ADma.passes(self.plan.block_m))
        ]
        halves = self.plan.k_tiles * HALVES
        self.dma = ADma(a_quant, tile.slots, self.lds, rows, row_bytes, halves, self.thread)

    @staticmethod
    def _index(m_indices: fx.Pointer, row: Value) -> Value:
        return u32(buffer_load(buffer(m_indices), row * 4, words=1))

    def begin(self) -> None:
        """Start the DMA of the scales of every K tile, one 32-row pair after the other."""
        pair_bytes = self.plan.k_tiles * SCALE_TILE_BYTES
        for pair in range(self.plan.pairs):
            source = (self.m_block * self.plan.pairs + pair) * pair_bytes
            self._stage(self.scale_base + pair * pair_bytes, source, pair_bytes)

    def _stage(self, destination: int, source: Value, size: int) -> None:
        """Copy ``size`` contiguous bytes with as few loads as their width allows."""
        done = 0
        for width in (VECTOR_BYTES, 4):
            block_bytes = BLOCK_THREADS * width
            for _ in range((size - done) // block_bytes):
                self._copy(destination + done, source, done, width)
                done += block_bytes
        waves_left = (size - done) // (WAVE * 4)
        if waves_left:
            with when(self.thread.wave < waves_left):
                self._copy(destination + done, source, done, 4)

    def _copy(self, destination: int, source: Value, done: int, width: int) -> None:
        self.lds.dma(
            self.scales,
            self.thread.wave * (WAVE * width) + destination,
            self.thread.index * width + done,
            size=width,
            scalar_offset=source,
        )

    def start(self, tile: int) -> None:
        self.dma.start(tile)

    def finish(self, tile: int) -> None:
        """Nothing to do: the data lands in LDS by itself."""

    def read_scales(self, tile: int) -> list[Value]:
        return [
            self.lds.load(
                self.thread.lane * 4,
                self.scale_base + (pair * self.plan.k_tiles + tile) * SCALE_TILE_BYTES,
                T.i32,
                4,
            )
            for pair in range(self.plan.pairs)
        ]


class _InlineQuant:
    """A from bf16: loaded two tiles ahead, quantised behind the MFMAs, written to LDS.

    Each thread holds 8 elements of each half of a tile: row t/16, columns 8*(t%16)..+7 of the half.
    """

    BF16_BYTES = 2
    PIECE = 8

    def __init__(self, tile: _Tile) -> None:
        self.plan = tile.plan
        self.lds = tile.lds
        self.slots = tile.slots
        self.thread = tile.thread
        self.scale_base = tile.slots.size
        row_bytes = self.plan.hidden * self.BF16_BYTES
        self.hidden = buffer(tile.args.hidden, u32(tile.args.n_tokens) * row_bytes)
        self.row = self.thread.index // 16
        self.position = self.thread.index % 16
        sorted_row = tile.m_block * self.plan.block_m + self.row
        token = u32(buffer_load(buffer(tile.args.m_indices), sorted_row * 4, words=1))
        self.offset = token * row_bytes + self.position * (self.PIECE * self.BF16_BYTES)
        self.pending: dict[int, list[Value]] = {}

    def begin(self) -> None:
        """Nothing to stage: the scales are made tile by tile."""

    def start(self, tile: int) -> None:
        """Start the bf16 loads of a tile, one piece per half."""
        half_bytes = TILE_K // HALVES * self.BF16_BYTES
        self.pending[tile] = [
            buffer_load(self.hidden, self.offset + (HALVES * tile + half) * half_bytes, words=4)
            for half in range(HALVES)
        ]

    def finish(self, tile: int) -> None:
        """Quantise the pieces and write codes and scales to the tile's slot."""
        codes, scales = self._quantise(self.pending.pop(tile))
        for half, packed in enumerate(codes):
            column = self.position * 4 + half * ROW_BYTES // HALVES
            offset = self.row * ROW_BYTES + (column ^ swizzle(self.row))
            self.lds.store(packed, offset, self.slots.start(tile), 4)
        # All four lanes of a quad hold the same bytes; their equal writes need no mask.
        both = scales[0] | scales[1] << 16
        self.lds.store(both, self._scale_offset(), self._scale_slot(tile), 4)

    def _quantise(self, pieces: list[Value]) -> tuple[list[Value], list[Value]]:
        native = "native_packed_max" in self.plan.flags
        packed_max = quant.packed_max_native if native else quant.packed_max_asm
        if "interleaved_quant" in self.plan.flags:
            return quant.Bf16Blocks(pieces, packed_max).run()
        codes, scales = [], []
        for piece in pieces:
            piece_codes, piece_scales = quant.Bf16Blocks([piece], packed_max).run()
            codes += piece_codes
            scales += piece_scales
        return codes, scales

    def _scale_slot(self, tile: int) -> int:
        return self.scale_base + tile % self.plan.scale_slots * SCALE_TILE_BYTES

    def _scale_offset(self) -> Value:
        return (self.position // 4 * 16 + self.row) * 4

    def read_scales(self, tile: int) -> list[Value]:
        return [self.lds.load(self.thread.lane * 4, self._scale_slot(tile), T.i32, 4)]
