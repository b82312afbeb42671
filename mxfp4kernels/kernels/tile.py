"""The parts of the main loop that gemm1 and gemm2 share: A tiles in LDS, B tiles in registers.

A workgroup of four waves makes a BM x 256 tile; wave w owns columns 64w..64w+63 of it for all rows.
One K tile is 256 elements: two halves of 128, each one MFMA deep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import arith
from flydsl.expr.typing import T

from ..shapes import BLOCK_THREADS, MFMA_ROWS, SCALE_TILE_BYTES, TILE_K, TILE_N
from .primitives import WAVE, Lds, Value, buffer_load, element, i32_words, mfma_fp4, u32, uniform

COLUMNS_PER_MFMA = MFMA_ROWS
WAVES = BLOCK_THREADS // WAVE
COLUMN_GROUPS = TILE_N // WAVES // COLUMNS_PER_MFMA
"""16-column groups J of one wave."""
ROW_BYTES = TILE_K // 2
"""Bytes of one row of a K tile."""
HALVES = 2
TILES_IN_FLIGHT = 2
"""K tiles whose loads are on their way while one is multiplied."""
VECTOR_BYTES = 16
"""Bytes per lane of the widest load; also the unit of the LDS swizzle."""
B_TILE_BYTES = ROW_BYTES * COLUMNS_PER_MFMA
"""Bytes of one 16-column group of one K tile, contiguous in the shuffled weights."""


@dataclass(frozen=True)
class Thread:
    """Where a thread stands: its number in the workgroup, its lane, and its wave (uniform)."""

    index: Value
    lane: Value
    wave: Value

    @classmethod
    def current(cls) -> Thread:
        index = u32(fx.thread_idx.x)
        return cls(index, index % WAVE, uniform(index // WAVE))


@dataclass
class BTile:
    """One wave's B operand of one K tile: ``fragments[J][half]`` and ``scales[pair of J]``."""

    fragments: list[list[Value]]
    scales: list[Value]


class Weights:
    """The shuffled weights and their scales, from the first column of this wave on.

    Args:
        weights, scales: buffer descriptors.
        first_column: column of the wave's first group, counted over all experts (uniform).
        depth: K in elements.
        halves: 128-wide halves of K that hold data; later ones are not loaded.
        nontemporal: stream the weights past the caches (they are read once at small M).
    """

    def __init__(
        self,
        weights: Value,
        scales: Value,
        first_column: Value,
        *,
        depth: int,
        halves: int,
        nontemporal: bool,
        thread: Thread,
    ) -> None:
        self._weights = weights
        self._scales = scales
        self._nontemporal = nontemporal
        self._halves = halves
        self._lane_bytes = thread.lane * VECTOR_BYTES
        self._lane_scale_bytes = thread.lane * 4
        group_bytes = COLUMNS_PER_MFMA * depth // 2
        pair_bytes = depth // TILE_K * SCALE_TILE_BYTES
        first_group = first_column // COLUMNS_PER_MFMA
        self._group_offsets = [
            (first_group + group) * group_bytes for group in range(COLUMN_GROUPS)
        ]
        self._pair_offsets = [
            (first_group // 2 + pair) * pair_bytes for pair in range(COLUMN_GROUPS // 2)
        ]

    def halves_of(self, tile: int) -> int:
        """How many halves of this K tile hold data (1 or 2)."""
        return min(HALVES, self._halves - HALVES * tile)

    def load_group(self, tile: int, group: int) -> list[Value]:
        """Start the loads of one 16-column group: 16 bytes per lane and half."""
        return [
            buffer_load(
                self._weights,
                self._lane_bytes + (tile * B_TILE_BYTES + half * B_TILE_BYTES // HALVES),
                words=4,
                scalar_offset=self._group_offsets[group],
                nontemporal=self._nontemporal,
            )
            for half in range(self.halves_of(tile))
        ]

    def load_scales(self, tile: int) -> list[Value]:
        """Start the loads of the scale dwords, one per lane and pair of groups."""
        return [
            buffer_load(
                self._scales,
                self._lane_scale_bytes + tile * SCALE_TILE_BYTES,
                words=1,
                scalar_offset=offset,
            )
            for offset in self._pair_offsets
        ]

    def load(self, tile: int) -> BTile:
        """Start all loads of a K tile."""
        fragments = [self.load_group(tile, group) for group in range(COLUMN_GROUPS)]
        return BTile(fragments, self.load_scales(tile))


class ASlots:
    """A tiles in LDS: ``slots`` tiles of BM rows x 128 bytes, 16-byte columns XOR-swizzled.

    Byte column c of row r is stored at ``c ^ ((r & 14) << 3)``, which keeps the 16 rows that one
    ``ds_read_b128`` touches on different banks.
    """

    def __init__(self, lds: Lds, base: int, block_m: int, slots: int, thread: Thread) -> None:
        self._lds = lds
        self._base = base
        self._block_m = block_m
        self._slots = slots
        self._thread = thread
        row = thread.lane % MFMA_ROWS
        column = thread.lane // MFMA_ROWS * VECTOR_BYTES
        self._read_offsets = [
            row * ROW_BYTES + ((column + half * ROW_BYTES // HALVES) ^ swizzle(row))
            for half in range(HALVES)
        ]

    @property
    def size(self) -> int:
        """Bytes of all slots."""
        return self._slots * self._block_m * ROW_BYTES

    def start(self, tile: int) -> int:
        """LDS byte offset of the slot that holds ``tile``."""
        return self._base + tile % self._slots * self._block_m * ROW_BYTES

    def read(self, tile: int, halves: int) -> list[list[Value]]:
        """The A operands ``[row group][half]`` of a tile, 16 bytes per lane each."""
        return [
            [
                self._lds.load(
                    self._read_offsets[half],
                    self.start(tile) + group * MFMA_ROWS * ROW_BYTES,
                    i32_words(4),
                    VECTOR_BYTES,
                )
                for half in range(halves)
            ]
            for group in range(self._block_m // MFMA_ROWS)
        ]


class ADma:
    """Loads of A tiles straight to LDS: each wave instruction brings 8 rows of 128 bytes.

    ``rows`` are the source rows of this lane, one for each pass over the tile; lane l brings row
    l/8 of the wave's eight, 16-byte column l%8. LDS receives the lanes in order, so the swizzle is
    applied to the global column instead.
    """

    ROWS_PER_WAVE = WAVE * VECTOR_BYTES // ROW_BYTES
    ROWS_PER_PASS = WAVES * ROWS_PER_WAVE

    HALF_TILE_RECORDS = 2**31
    """Descriptor size when the last tile is half empty: the range check drops the other half."""

    def __init__(
        self,
        rsrc: Value,
        slots: ASlots,
        lds: Lds,
        rows: list[Value],
        row_bytes: int,
        halves: int,
        thread: Thread,
    ) -> None:
        self._rsrc = rsrc
        self._slots = slots
        self._lds = lds
        self._halves = halves
        self._wave_bytes = thread.wave * (WAVE * VECTOR_BYTES)
        local_row = self.local_row(thread, 0)
        self._column = (thread.lane % 8 * VECTOR_BYTES) ^ swizzle(local_row)
        self._offsets = [row * row_bytes + self._column for row in rows]

    @classmethod
    def passes(cls, block_m: int) -> int:
        """DMA instructions of a wave for one tile."""
        return -(-block_m // cls.ROWS_PER_PASS)

    @classmethod
    def local_row(cls, thread: Thread, step: int) -> Value:
        """The row of the tile that this lane brings in pass ``step``."""
        row = thread.wave * cls.ROWS_PER_WAVE + thread.lane // 8
        return row + step * cls.ROWS_PER_PASS

    def start(self, tile: int) -> None:
        """Start the loads of one K tile."""
        offsets = self._offsets
        if self._halves - HALVES * tile == 1:
            first_half = self._column < ROW_BYTES // HALVES
            offsets = [
                fx.Uint32(first_half.select(offset, u32(self.HALF_TILE_RECORDS)))
                for offset in offsets
            ]
        for step, offset in enumerate(offsets):
            rows_before = step * self.ROWS_PER_PASS
            self._lds.dma(
                self._rsrc,
                self._wave_bytes + (self._slots.start(tile) + rows_before * ROW_BYTES),
                offset,
                size=VECTOR_BYTES,
                scalar_offset=tile * ROW_BYTES,
            )


def swizzle(row: Value) -> Value:
    """What a row's byte columns are XORed with."""
    return (row & 14) << 3


Accumulators = list[list[Value]]
"""``[row group][J]``, four f32 per lane each: rows 4*(lane/16)+v, column lane%16 of the 16x16."""


def zero_accumulators(block_m: int) -> Accumulators:
    """All-zero accumulators of a BM x 64 strip."""
    vector_type = ir.VectorType.get([4], T.f32)
    zero = arith.constant(
        vector_type, ir.DenseElementsAttr.get_splat(vector_type, ir.FloatAttr.get(T.f32, 0.0))
    )
    return [[zero] * COLUMN_GROUPS for _ in range(block_m // MFMA_ROWS)]


def spill(
    lds: Lds,
    acc: Accumulators,
    base: Value,
    columns: Sequence[int],
    element_bytes: int,
    convert: Callable[[Value], Value] = lambda value: value,
) -> None:
    """Write the accumulators to LDS as a row-major tile [BM, 256].

    Args:
        base: byte offset of the lane's first value, see :data:`Accumulators`.
        columns: how many columns further the strip of each J lies.
        element_bytes: of an element as ``convert`` makes it from f32.
    """
    for row_group, strips in enumerate(acc):
        for column, strip in zip(columns, strips, strict=True):
            for v in range(4):
                place = (row_group * MFMA_ROWS + v) * TILE_N + column
                value = convert(element(strip, v))
                lds.store(value, base, place * element_bytes, element_bytes)


def read_8_f32(lds: Lds, base: Value, constant: int) -> list[Value]:
    """Eight consecutive f32 from LDS, in two loads."""
    values: list[Value] = []
    for part in range(2):
        offset = constant + part * VECTOR_BYTES
        quad = lds.load(base, offset, ir.VectorType.get([4], T.f32), VECTOR_BYTES)
        values += [element(quad, i) for i in range(4)]
    return values


def accumulate(
    acc: Accumulators, a: list[list[Value]], a_scales: list[Value], b: BTile, group: int
) -> None:
    """The MFMAs of one 16-column group: all row groups, both halves."""
    for half, b_fragment in enumerate(b.fragments[group]):
        for row_group, a_fragments in enumerate(a):
            acc[row_group][group] = mfma_fp4(
                a_fragments[half],
                b_fragment,
                acc[row_group][group],
                a_scales[row_group // 2],
                row_group % 2 + 2 * half,
                b.scales[group // 2],
                group % 2 + 2 * half,
            )
