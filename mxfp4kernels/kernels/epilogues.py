"""gemm2's four epilogues: from the f32 accumulators of a BM x 256 tile to memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import arith
from flydsl.expr.typing import T, as_ir_value

from ..shapes import BLOCK_THREADS, MFMA_ROWS, TILE_N
from . import quant
from .control import when
from .primitives import (
    WAVE,
    Value,
    bitcast,
    buffer,
    buffer_atomic_add_bf16,
    buffer_load,
    element,
    global_store,
    pack,
    u32,
)
from .tile import COLUMN_GROUPS, COLUMNS_PER_MFMA, VECTOR_BYTES, Accumulators, read_8_f32, spill

if TYPE_CHECKING:
    from .gemm2 import _Tile

BF16_BYTES = 2
F32_BYTES = 4
STRIPS = range(0, COLUMN_GROUPS * COLUMNS_PER_MFMA, COLUMNS_PER_MFMA)
"""Columns of a wave's strips, from its first one on."""
TOKEN_MASK = 0xFFFFFF
"""Token of a sorted_token_ids entry; the upper byte is the slot in its top-k."""


def bf16_pair(low: Value, high: Value) -> Value:
    """Two f32 rounded to a pair of bf16 (one v_cvt_pk_bf16_f32)."""
    return arith.truncf(ir.VectorType.get([2], T.bf16), pack([low, high]))


def wide(index: Value) -> fx.Int64:
    """A 32-bit index, widened as a signed number."""
    return fx.Int64(fx.Int32(index))


@dataclass(frozen=True)
class FlatPlace:
    """Row and column of an element: what differs by thread, and what is fixed at compile time."""

    row: Value
    constant_row: int
    column: Value
    constant_column: int


class _Epilogue:
    """What the epilogues share."""

    def __init__(self, tile: _Tile) -> None:
        self.tile = tile
        self.plan = tile.plan
        self.args = tile.args
        self.thread = tile.thread
        self.lds = tile.lds

    def run(self, acc: Accumulators) -> None:
        raise NotImplementedError

    @property
    def first_row(self) -> Value:
        """The tile's first row among the sorted rows."""
        return self.tile.m_block * self.plan.block_m

    @property
    def first_column(self) -> Value:
        return self.tile.n_block * TILE_N

    @property
    def lane_row(self) -> Value:
        """The row in a 16x16 result of the lane's first value; the next three follow."""
        return self.thread.lane // MFMA_ROWS * 4

    @property
    def lane_column(self) -> Value:
        """The column in the tile of the lane's values in its wave's first 16-column group."""
        return self.thread.wave * WAVE + self.thread.lane % COLUMNS_PER_MFMA

    def spill_f32(self, acc: Accumulators) -> None:
        """Write the f32 tile [BM, 256] to LDS, row-major."""
        base = self.lane_row * (TILE_N * F32_BYTES) + self.lane_column * F32_BYTES
        spill(self.lds, acc, base, STRIPS, F32_BYTES)

    def store_flat(
        self,
        pointer: fx.Pointer,
        value: Value,
        place: FlatPlace,
        row_elements: int,
        size: int,
        *,
        nontemporal: bool = False,
    ) -> None:
        """Store one element of ``size`` bytes of a flat [rows, row_elements] output.

        Flat outputs pass 4 GiB at large M, so the product of row and row size needs 64 bits.
        """
        if "epilog_hoisting" in self.plan.flags:
            # One product per thread; the rest of the tile lies at compile-time offsets from it.
            index = wide(place.row) * row_elements + wide(place.column)
            constant = place.constant_row * row_elements + place.constant_column
        else:
            # The whole index again for every element.
            index = wide(place.row + place.constant_row) * row_elements
            index += wide(place.column + place.constant_column)
            constant = 0
        global_store(pointer, value, index * size, constant * size, size, nontemporal=nontemporal)


class Atomic(_Epilogue):
    """Weighted rows added to their tokens: packed-bf16 atomics, two columns at a time.

    A thread takes rows t/32 + 8i and, of each, columns 2*(t%32) + 64j.
    """

    THREADS_PER_ROW = 32
    ROWS_PER_PASS = BLOCK_THREADS // THREADS_PER_ROW
    COLUMNS = 2

    def run(self, acc: Accumulators) -> None:
        fx.gpu.barrier()
        self.spill_f32(acc)
        fx.gpu.barrier()
        row = self.thread.index // self.THREADS_PER_ROW
        self.out = buffer(self.args.out)
        passes = range(self.plan.block_m // self.ROWS_PER_PASS)
        offset = (self.first_row + row) * 4
        tokens = self._load_rows(self.args.sorted_token_ids, offset, len(passes))
        weights = self._load_rows(self.args.sorted_weights, offset, len(passes))
        for step in passes:
            token = u32(tokens[step]) & TOKEN_MASK
            with when(token < u32(self.args.n_tokens)):
                self._add_row(row, step, token, bitcast(weights[step], T.f32))

    def _load_rows(self, pointer: fx.Pointer, offset: Value, count: int) -> list[Value]:
        """One dword of each of this thread's rows."""
        rsrc = buffer(pointer)
        return [
            buffer_load(rsrc, offset + step * self.ROWS_PER_PASS * 4, words=1)
            for step in range(count)
        ]

    def _add_row(self, row: Value, step: int, token: Value, weight: Value) -> None:
        column = self.thread.index % self.THREADS_PER_ROW * self.COLUMNS
        base = row * (TILE_N * F32_BYTES) + column * F32_BYTES
        offset = (token * self.plan.hidden + self.first_column + column) * BF16_BYTES
        columns_per_pass = self.THREADS_PER_ROW * self.COLUMNS
        for part in range(TILE_N // columns_per_pass):
            values = self.lds.load(
                base,
                step * self.ROWS_PER_PASS * TILE_N * F32_BYTES
                + part * columns_per_pass * F32_BYTES,
                ir.VectorType.get([2], T.f32),
                self.COLUMNS * F32_BYTES,
            )
            low, high = (arith.mulf(element(values, i), weight) for i in range(2))
            buffer_atomic_add_bf16(
                self.out, bf16_pair(low, high), offset + part * columns_per_pass * BF16_BYTES
            )


class Nonatomic(_Epilogue):
    """Flat bf16 rows straight from the registers, one element per store."""

    def run(self, acc: Accumulators) -> None:
        row = self.first_row + self.lane_row
        column = self.first_column + self.lane_column
        for row_group, strips in enumerate(acc):
            for group, strip in enumerate(strips):
                for v in range(4):
                    place = FlatPlace(
                        row, row_group * MFMA_ROWS + v, column, group * COLUMNS_PER_MFMA
                    )
                    value = arith.truncf(T.bf16, element(strip, v))
                    self.store_flat(self.args.out, value, place, self.plan.hidden, BF16_BYTES)


class Mxfp4(_Epilogue):
    """Flat MXFP4 rows: exchange through LDS, then 8 consecutive columns per thread.

    The scale comes from the upper 16 bits of the block's largest magnitude.
    """

    COLUMNS = 8
    THREADS_PER_ROW = TILE_N // COLUMNS
    ROWS_PER_PASS = BLOCK_THREADS // THREADS_PER_ROW
    BF16_BITS = 0xFFFF0000

    def run(self, acc: Accumulators) -> None:
        if "safe_lds_reuse" in self.plan.flags:
            # Without it, a wave overwrites A tiles that slower waves have yet to read.
            fx.gpu.barrier()
        self.spill_f32(acc)
        fx.gpu.barrier()
        row = self.thread.index // self.THREADS_PER_ROW
        position = self.thread.index % self.THREADS_PER_ROW
        for step in range(self.plan.block_m // self.ROWS_PER_PASS):
            self._store_row(row, step * self.ROWS_PER_PASS, position)

    def _store_row(self, row: Value, constant_row: int, position: Value) -> None:
        values = self._read(row, constant_row, position)
        amax = quant.block_amax_bits(values) & u32(self.BF16_BITS)
        scale = quant.scale_bits(amax)
        packed = quant.pack_f32(values, bitcast(scale, T.f32))
        place = FlatPlace(self.first_row + row, constant_row, self._dword + position, 0)
        self.store_flat(
            self.args.out, packed, place, self.plan.hidden // self.COLUMNS, 4, nontemporal=True
        )
        block = FlatPlace(place.row, constant_row, self._block + position // 4, 0)
        with when(position % 4 == 0):
            byte = arith.trunci(T.i8, as_ir_value(scale >> quant.EXPONENT_SHIFT))
            self.store_flat(self.args.out_scale, byte, block, self.plan.hidden // 32, 1)

    @property
    def _dword(self) -> Value:
        """The tile's first dword in a row of codes."""
        return self.tile.n_block * (TILE_N // self.COLUMNS)

    @property
    def _block(self) -> Value:
        """The tile's first 32-element block in a row of scales."""
        return self.tile.n_block * (TILE_N // 32)

    def _read(self, row: Value, constant_row: int, position: Value) -> list[Value]:
        row_bytes = TILE_N * F32_BYTES
        base = row * row_bytes + position * (self.COLUMNS * F32_BYTES)
        return read_8_f32(self.lds, base, constant_row * row_bytes)


class Cshuffle(_Epilogue):
    """Flat bf16 rows, exchanged through LDS so that each thread stores 16 bytes of a row."""

    COLUMNS = VECTOR_BYTES // BF16_BYTES
    THREADS_PER_ROW = TILE_N // COLUMNS
    ROWS_PER_PASS = BLOCK_THREADS // THREADS_PER_ROW

    def run(self, acc: Accumulators) -> None:
        fx.gpu.barrier()
        self._spill_bf16(acc)
        fx.gpu.barrier()
        row = self.thread.index // self.THREADS_PER_ROW
        column_bytes = self.thread.index % self.THREADS_PER_ROW * VECTOR_BYTES
        base = row * (TILE_N * BF16_BYTES) + column_bytes
        row_bytes = self.plan.hidden * BF16_BYTES
        offset = fx.Int64(self.first_row + row) * row_bytes
        offset += fx.Int64(self.first_column * BF16_BYTES + column_bytes)
        for step in range(self.plan.block_m // self.ROWS_PER_PASS):
            rows = step * self.ROWS_PER_PASS
            quad = self.lds.load(
                base,
                rows * TILE_N * BF16_BYTES,
                ir.VectorType.get([4], T.i32),
                VECTOR_BYTES,
            )
            global_store(self.args.out, quad, offset, rows * row_bytes, VECTOR_BYTES)

    def _spill_bf16(self, acc: Accumulators) -> None:
        base = self.lane_row * (TILE_N * BF16_BYTES) + self.lane_column * BF16_BYTES
        spill(self.lds, acc, base, STRIPS, BF16_BYTES, lambda f32: arith.truncf(T.bf16, f32))


EPILOGUES: dict[str, type[_Epilogue]] = {
    "atomic": Atomic,
    "nonatomic": Nonatomic,
    "mxfp4": Mxfp4,
    "cshuffle": Cshuffle,
}
