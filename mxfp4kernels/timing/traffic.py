"""Where a launch's global reads are served: L2, MALL or HBM, from the real list of tiles.

Tiles go to the XCDs by workgroup number modulo eight. On each XCD as many workgroups as fit run
side by side through the K tiles; what they read passes an L2 of the XCD and a MALL of the device,
both least recently used. The unit of the replay is what one workgroup reads of one K tile: a row
(or block of rows) of A, a column block of B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from .code import Ints
from .constants import Hardware

# Numba compiles functions below; its decorators are untyped.
# mypy: disable-error-code="untyped-decorator"

A, B = 0, 1
L2, MALL, HBM = 0, 1, 2


@dataclass(frozen=True)
class Tiles:
    """A launch as its memory traffic sees it.

    Attributes:
        expert: of each block of rows [blocks].
        row_start: first entry of each block in ``row`` [blocks + 1].
        row: identity of the A rows that a block reads; equal numbers are the same bytes.
        columns: column blocks.
        k_tiles: K tiles.
        row_bytes: bytes of one entry of ``row`` and one K tile, its scales included.
        column_bytes: bytes of one column block of B and one K tile, its scales included.
        grid: workgroups of the launch, those without a tile included.
        persistent: whether the grid strides over the tiles, remapped to contiguous ranges by XCD.
    """

    expert: Ints
    row_start: Ints
    row: Ints
    columns: int
    k_tiles: int
    row_bytes: int
    column_bytes: int
    grid: int
    persistent: bool

    @property
    def blocks(self) -> int:
        """Blocks of rows."""
        return len(self.expert)

    @property
    def count(self) -> int:
        """Tiles that are made."""
        return self.blocks * self.columns


@dataclass(frozen=True)
class Traffic:
    """Bytes of A and B by the level that served them, float64 [2, 3]: rows A, B; L2, MALL, HBM."""

    served: npt.NDArray[np.float64]

    def beyond_l2(self, operand: int) -> float:
        """The fraction of an operand's bytes that leave the L2."""
        total = float(self.served[operand].sum())
        return float(self.served[operand, MALL:].sum()) / total if total else 0.0

    def to_hbm(self, operand: int) -> float:
        """The fraction that comes from HBM."""
        total = float(self.served[operand].sum())
        return float(self.served[operand, HBM]) / total if total else 0.0


def tile_orders(tiles: Tiles, xcds: int) -> list[Ints]:
    """The tiles of each XCD in the order in which its workgroups begin them."""
    numbers = np.arange(tiles.count, dtype=np.int64)
    if not tiles.persistent:
        return [numbers[x::xcds] for x in range(xcds)]
    quotient, rest = divmod(tiles.count, xcds)
    ends = np.cumsum([quotient + (x < rest) for x in range(xcds)])
    return [part.astype(np.int64) for part in np.split(numbers, ends[:-1])]


def traffic_of(tiles: Tiles, hardware: Hardware, window: int) -> Traffic:
    """Replay a launch's reads.

    Args:
        window: workgroups that run side by side on one XCD.
    """
    orders = tile_orders(tiles, int(hardware["xcds"]))
    starts = np.cumsum([0, *map(len, orders)], dtype=np.int64)
    experts, expert = np.unique(tiles.expert, return_inverse=True)
    rows, row = np.unique(tiles.row, return_inverse=True)
    served = replay(
        np.concatenate(orders), starts, window, expert.astype(np.int64), tiles.row_start,
        row.astype(np.int64), len(rows), len(experts), tiles.columns, tiles.k_tiles,
        tiles.row_bytes, tiles.column_bytes, int(hardware["l2_bytes"]),
        int(hardware["mall_bytes"]),
    )  # fmt: skip
    return Traffic(served)


@numba.njit(cache=True, nogil=True)
def _touch(
    after: Ints, before: Ints, state: Ints, thing: int, bytes_: int, sizes: Ints, capacity: int
) -> bool:  # pragma: no cover - compiled
    """Use ``thing`` in a cache: a ring of things by last use; returns whether it was there.

    ``after[n]`` and ``before[n]`` of the last index are the ends of the ring; ``state[0]`` its
    bytes. A thing that is not there has ``after`` -1.
    """
    end = len(after) - 1
    there = after[thing] >= 0
    if there:
        after[before[thing]], before[after[thing]] = after[thing], before[thing]
    else:
        state[0] += bytes_
        sizes[thing] = bytes_
    last = before[end]
    after[last], before[thing], after[thing], before[end] = thing, last, end, thing
    while state[0] > capacity:
        oldest = after[end]
        after[end] = after[oldest]
        before[after[oldest]] = end
        after[oldest] = -1
        state[0] -= sizes[oldest]
    return bool(there)


@numba.njit(cache=True, nogil=True)
def replay(
    order: Ints,
    starts: Ints,
    window: int,
    expert: Ints,
    row_start: Ints,
    row: Ints,
    rows: int,
    experts: int,
    columns: int,
    k_tiles: int,
    row_bytes: int,
    column_bytes: int,
    l2_bytes: int,
    mall_bytes: int,
) -> npt.NDArray[np.float64]:  # pragma: no cover - compiled
    """Bytes served, [operand, level]; see :func:`traffic_of`.

    Things are numbered rows first, then (expert, column block), each times the K tiles. A was
    written by the kernel before, so the MALL holds it as far as it fits.
    """
    xcds = len(starts) - 1
    things = (rows + experts * columns) * k_tiles
    after = np.full((xcds + 1, things + 1), -1, np.int64)
    before = np.full((xcds + 1, things + 1), -1, np.int64)
    sizes = np.zeros((xcds + 1, things + 1), np.int64)
    state = np.zeros((xcds + 1, 1), np.int64)
    after[:, things] = before[:, things] = things
    mall = xcds
    for thing in range(rows * k_tiles):
        _touch(after[mall], before[mall], state[mall], thing, row_bytes, sizes[mall], mall_bytes)
    served = np.zeros((2, 3))
    longest = 0
    for x in range(xcds):
        longest = max(longest, starts[x + 1] - starts[x])
    for first in range(0, longest, window):
        for k in range(k_tiles):
            for x in range(xcds):
                begin = starts[x] + first
                for at in range(begin, min(begin + window, starts[x + 1])):
                    block, column = order[at] // columns, order[at] % columns
                    end = row_start[block + 1]
                    for entry in range(row_start[block], end + 1):
                        if entry < end:
                            operand, bytes_ = 0, row_bytes
                            thing = row[entry] * k_tiles + k
                        else:
                            operand, bytes_ = 1, column_bytes
                            thing = (rows + expert[block] * columns + column) * k_tiles + k
                        level = 0
                        if not _touch(
                            after[x], before[x], state[x], thing, bytes_, sizes[x], l2_bytes
                        ):
                            there = _touch(
                                after[mall], before[mall], state[mall], thing, bytes_,
                                sizes[mall], mall_bytes,
                            )  # fmt: skip
                            level = 1 if there else 2
                        served[operand, level] += bytes_
    return served
