"""gemm2: y x W2 -> one BM x 256 tile of the hidden size per workgroup, then one of four epilogues.

The pipeline below reads in the order in which it runs: A to LDS, bounds check, B to registers, the
K tiles, the epilogue (epilogues.py). With at most two K tiles everything is loaded up front; with
more, two tiles are in flight as in gemm1. Layouts and lane maps: docs/kernels.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass

import flydsl.expr as fx
import torch
from flydsl._mlir.dialects import llvm
from flydsl.expr.typing import T

from .. import shapes
from ..flags import FlagSet
from ..shapes import SCALE_TILE_BYTES, TILE_K, TILE_N, Shape, Variant
from . import epilogues
from .control import stride, when
from .entry import Parameter
from .primitives import (
    UNBOUNDED,
    WAVE,
    Lds,
    Value,
    buffer,
    buffer_load,
    fence_schedule,
    fence_vector_memory,
    load_i32,
    rocdl,
    u32,
)
from .tile import (
    COLUMN_GROUPS,
    HALVES,
    TILES_IN_FLIGHT,
    Accumulators,
    ADma,
    ASlots,
    BTile,
    Thread,
    Weights,
    accumulate,
    zero_accumulators,
)

XCDS = 8
"""Compute dies; workgroup ids go to them in turn."""
PUBLISHED_ATOMIC_VMCNT = (23, 22)
"""The waits before tiles 0 and 1 that the published atomic variants carry."""
PUBLISHED_VMCNT = 16
"""The wait before every tile of the other variants in the parent commit."""


@dataclass(frozen=True)
class Plan:
    """Everything about one gemm2 kernel that is fixed when it is compiled.

    ``halves`` are the 128-wide halves of K that hold data; ``pairs`` counts 32-row pairs of 16-row
    groups, which share their scale dwords; ``a_slots`` are K tiles that LDS holds.
    """

    block_m: int
    hidden: int
    inter: int
    halves: int
    k_tiles: int
    n_blocks: int
    a_slots: int
    lds_bytes: int
    epilogue: str
    persistent: bool
    nontemporal: bool
    flags: FlagSet

    @classmethod
    def of(cls, variant: Variant, shape: Shape, flags: FlagSet) -> Plan:
        return cls(
            block_m=variant.block_m,
            hidden=shape.hidden,
            inter=shape.inter,
            halves=shape.inter_used // (TILE_K // HALVES),
            k_tiles=shapes.k_tiles(variant, shape),
            n_blocks=shapes.n_blocks(variant, shape),
            a_slots=shapes.a_slots(variant, shape),
            lds_bytes=shapes.lds_bytes(variant, shape),
            epilogue=variant.epilogue,
            persistent=variant.persistent,
            nontemporal=variant.nontemporal_weights,
            flags=flags,
        )

    @property
    def pairs(self) -> int:
        return shapes.row_pairs(self.block_m)

    @property
    def waits_by_hand(self) -> bool:
        """Whether the kernel, not the back end, says how many loads may still be outstanding."""
        return self.epilogue == "atomic" or "backend_waitcnt" not in self.flags

    @property
    def resident(self) -> bool:
        """Whether all K tiles are loaded up front."""
        return self.k_tiles <= TILES_IN_FLIGHT


PARAMETERS = (
    Parameter("a_q", torch.uint8, 2),
    Parameter("a_scale", torch.uint8, 2),
    Parameter("w2", torch.uint8, 3),
    Parameter("w2_scale", torch.uint8, 3),
    Parameter("sorted_expert_ids", torch.int32, 1),
    Parameter("cumsum", torch.int32, 1),
    Parameter("sorted_token_ids", torch.int32, 1),
    Parameter("sorted_weights", torch.float32, 1),
    Parameter("n_tokens"),
    Parameter("out", torch.uint8, 2),
    Parameter("out_scale", torch.uint8, 2),
)
"""gemm2's kernel parameters in the order of its ABI; ``out`` is bf16 but for the MXFP4 epilogue."""


@dataclass(frozen=True)
class Arguments:
    """gemm2's kernel parameters while it is traced; buffers are global pointers."""

    a_q: fx.Pointer
    a_scale: fx.Pointer
    w2: fx.Pointer
    w2_scale: fx.Pointer
    sorted_expert_ids: fx.Pointer
    cumsum: fx.Pointer
    sorted_token_ids: fx.Pointer
    sorted_weights: fx.Pointer
    n_tokens: Value
    out: fx.Pointer
    out_scale: fx.Pointer


def run(plan: Plan, args: Arguments) -> None:
    """The kernel body."""
    unsigned = "unsigned_divrem" in plan.flags
    workgroup = fx.Uint32(fx.block_idx.x) if unsigned else fx.Int32(fx.block_idx.x)
    rows = load_i32(args.cumsum, 0)
    total = (u32(rows) if unsigned else rows) // plan.block_m * plan.n_blocks
    thread = Thread.current()
    lds = Lds(plan.lds_bytes)

    def tile(index: Value) -> _Tile:
        return _Tile(plan, args, index, total, thread, lds)

    first = tile(workgroup)
    first.preload()
    with when(workgroup < total):
        first.finish()
    if plan.persistent:
        step = hidden_block_count_x()
        with stride(fx.Int32(workgroup) + step, total, step) as index:
            fx.gpu.barrier()
            later = tile(u32(index) if unsigned else index)
            later.preload()
            later.finish()


def hidden_block_count_x() -> fx.Int32:
    """The number of workgroups of the launch, from the hidden kernel arguments."""
    pointer = llvm.call_intrinsic(
        llvm.PointerType.get(4), "llvm.amdgcn.implicitarg.ptr", [], [], []
    )
    return fx.Int32(llvm.LoadOp(T.i32, pointer, alignment=4, invariant=True).result)


class _Issued:
    """Counts vector-memory instructions as they are issued, for waits by hand.

    vmcnt counts in order: a load has arrived once at most as many are outstanding as were issued
    after it.
    """

    def __init__(self) -> None:
        self._count = 0
        self._tile_end: dict[int, int] = {}

    def add(self, count: int) -> None:
        self._count += count

    def mark(self, tile: int) -> None:
        """The A tile's last load has just been issued."""
        self._tile_end[tile] = self._count

    def after(self, tile: int) -> int:
        """Loads issued after those of the A tile."""
        return self._count - self._tile_end[tile]


class _Tile:
    """One BM x 256 output tile."""

    def __init__(
        self, plan: Plan, args: Arguments, index: Value, total: Value, thread: Thread, lds: Lds
    ) -> None:
        self.plan = plan
        self.args = args
        self.thread = thread
        self.lds = lds
        self.slots = ASlots(lds, 0, plan.block_m, plan.a_slots, thread)
        self.issued = _Issued()
        m_block, n_block = self._place(self._spread(index, total) if plan.persistent else index)
        self.m_block, self.n_block = u32(m_block), u32(n_block)

    @staticmethod
    def _spread(index: Value, total: Value) -> Value:
        """Give each XCD a contiguous range of tiles, so that its L2 sees neighbours."""
        quotient, remainder, xcd = total // XCDS, total % XCDS, index % XCDS
        spill = (xcd < remainder).select(xcd, remainder)
        return xcd * quotient + spill + index // XCDS

    def _place(self, index: Value) -> tuple[Value, Value]:
        """Row block and column block of a tile."""
        m_block = index // self.plan.n_blocks
        if "unsigned_divrem" in self.plan.flags:
            return m_block, index - m_block * self.plan.n_blocks
        return m_block, index % self.plan.n_blocks

    # --- loads -----------------------------------------------------------------------------------

    def preload(self) -> None:
        """Start the A tiles before it is known whether this workgroup has work."""
        plan = self.plan
        row_bytes = plan.inter // 2
        first_row = self.m_block * plan.block_m
        rows = [
            first_row + ADma.local_row(self.thread, step)
            for step in range(ADma.passes(plan.block_m))
        ]
        size = ADma.HALF_TILE_RECORDS if plan.halves % HALVES else UNBOUNDED
        a_q = buffer(self.args.a_q, size)
        self.dma = ADma(a_q, self.slots, self.lds, rows, row_bytes, plan.halves, self.thread)
        self._start_a(range(min(TILES_IN_FLIGHT, plan.k_tiles)))

    def _start_a(self, tiles: Iterable[int]) -> None:
        """Start the loads of A tiles; at BM=16 the rows are enough for two waves only."""
        plan = self.plan
        partial = plan.block_m < ADma.ROWS_PER_PASS
        with (
            when(self.thread.wave < plan.block_m // ADma.ROWS_PER_WAVE)
            if partial
            else nullcontext()
        ):
            for tile in tiles:
                self.dma.start(tile)
                self.issued.add(ADma.passes(plan.block_m))
                self.issued.mark(tile)
                if plan.waits_by_hand:
                    # Such waits count the loads issued later: none of those may move up here.
                    fence_vector_memory()

    def _open_weights(self) -> None:
        plan = self.plan
        expert = u32(load_i32(self.args.sorted_expert_ids, self.m_block))
        column = expert * plan.hidden + self.n_block * TILE_N + self.thread.wave * WAVE
        self.weights = Weights(
            buffer(self.args.w2),
            buffer(self.args.w2_scale),
            column,
            depth=plan.inter,
            halves=plan.halves,
            nontemporal=plan.nontemporal,
            thread=self.thread,
        )
        self.a_scales = buffer(self.args.a_scale)

    def _load_b_group(self, tile: int, group: int) -> list[Value]:
        fragments = self.weights.load_group(tile, group)
        self.issued.add(len(fragments))
        return fragments

    def _load_b_scales(self, tile: int) -> list[Value]:
        scales = self.weights.load_scales(tile)
        self.issued.add(len(scales))
        return scales

    def _load_b(self, tile: int) -> BTile:
        groups = [self._load_b_group(tile, group) for group in range(COLUMN_GROUPS)]
        return BTile(groups, self._load_b_scales(tile))

    def _load_a_scales(self, tile: int) -> list[Value]:
        """One dword per lane and 32-row pair."""
        pair_bytes = self.plan.inter // TILE_K * SCALE_TILE_BYTES
        first = self.m_block * (self.plan.pairs * pair_bytes)
        self.issued.add(self.plan.pairs)
        return [
            buffer_load(
                self.a_scales,
                self.thread.lane * 4 + (pair * pair_bytes + tile * SCALE_TILE_BYTES),
                words=1,
                scalar_offset=first,
            )
            for pair in range(self.plan.pairs)
        ]

    # --- the K tiles -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Everything after the bounds check."""
        self._open_weights()
        acc = zero_accumulators(self.plan.block_m)
        if self.plan.resident:
            self._resident_tiles(acc)
        else:
            self._streamed_tiles(acc)
        epilogues.EPILOGUES[self.plan.epilogue](self).run(acc)

    def _resident_tiles(self, acc: Accumulators) -> None:
        """At most two K tiles: every load is in flight before the first is waited for."""
        tiles = range(self.plan.k_tiles)
        b = [self._load_b(tile) for tile in tiles]
        a_scales = [self._load_a_scales(tile) for tile in tiles]
        for tile in tiles:
            self._fence(tile)
            a = self.slots.read(tile, self.weights.halves_of(tile))
            for group in range(COLUMN_GROUPS):
                accumulate(acc, a, a_scales[tile], b[tile], group)

    def _streamed_tiles(self, acc: Accumulators) -> None:
        """More K tiles: as in gemm1, the tile after next is loaded into the freed registers."""
        k_tiles = self.plan.k_tiles
        b = {}
        a_scales = {}
        for tile in range(TILES_IN_FLIGHT):
            b[tile] = self._load_b(tile)
            a_scales[tile] = self._load_a_scales(tile)
        for tile in range(k_tiles):
            ahead = tile + TILES_IN_FLIGHT
            more = ahead < k_tiles
            self._fence(tile)
            a = self.slots.read(tile, self.weights.halves_of(tile))
            if more:
                self._start_a([ahead])
            fragments = []
            for group in range(COLUMN_GROUPS):
                accumulate(acc, a, a_scales[tile], b[tile], group)
                if more:
                    fence_schedule()
                    fragments.append(self._load_b_group(ahead, group))
                    fence_schedule()
            if more:
                b[ahead] = BTile(fragments, self._load_b_scales(ahead))
                a_scales[ahead] = self._load_a_scales(ahead)
                fence_schedule()

    def _fence(self, tile: int) -> None:
        """Every wave's part of the A tile is in LDS.

        A wave can only wait for its own loads, so the wait has to stand before the barrier.
        """
        arrived = self.issued.after(tile)
        if self.plan.epilogue == "atomic":
            if self.plan.resident:
                arrived = min(arrived, PUBLISHED_ATOMIC_VMCNT[tile])
            rocdl.s_waitcnt(vmcnt=arrived)
            rocdl.s_barrier()
        elif "backend_waitcnt" in self.plan.flags:
            fx.gpu.barrier()
        else:
            # The back end does not see through the assembly and inserts its own wait as well.
            vmcnt = min(arrived, PUBLISHED_VMCNT)
            llvm.inline_asm(
                None,
                [],
                f"s_waitcnt vmcnt({vmcnt}) lgkmcnt(0)",
                "~{memory}",
                has_side_effects=True,
            )
            rocdl.s_barrier()
