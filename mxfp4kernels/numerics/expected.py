"""What a kernel may write into a tile: the float64 reference with bounds for its f32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import combinations

import torch
from torch import Tensor

from .. import layout
from ..mx import MXTensor
from ..reference import gate_up_rows, silu_product
from ..shapes import TILE_N
from .bounds import F32_STEP, bounded_product, silu_bound
from .compare import round_bf16
from .problem import Problem, Tile

OUTPUTS_PER_TILE = TILE_N // 2
"""Columns of gemm1's output that a tile of gate and up makes."""


def tile_width(problem: Problem) -> int:
    """Output columns that a tile makes: 128 of gemm1, 256 of gemm2."""
    return OUTPUTS_PER_TILE if problem.is_gemm1 else TILE_N


def tile_columns(problem: Problem, tile: Tile) -> slice:
    """The tile's columns of the output."""
    width = tile_width(problem)
    return slice(tile.n_block * width, (tile.n_block + 1) * width)


def tile_value(problem: Problem, tile: Tile) -> tuple[Tensor, Tensor]:
    """A tile's reference values before rounding, and how far the kernel's may lie from them.

    Returns:
        float64 ``[BM, 128]`` of gemm1's silu(gate)*up or ``[BM, 256]`` of gemm2's products, twice.
    """
    expert = int(problem.sorting.sorted_expert_ids[tile.m_block])
    span, columns = problem.sorting.block_rows(tile.m_block), tile_columns(problem, tile)
    weights = problem.weights(expert)
    if problem.is_gemm1:
        gate_rows, up_rows = (half[columns] for half in gate_up_rows(weights))
        a = _gathered_rows(problem, span)
        (gate, gate_bound), (up, up_bound) = (bounded_product(a, b) for b in (gate_rows, up_rows))
        return silu_product(gate, up), silu_bound(gate, up, gate_bound, up_bound)
    used = problem.shape.inter_used
    return bounded_product(problem.a[span].first(used), weights[columns].first(used))


def _gathered_rows(problem: Problem, span: slice) -> MXTensor:
    indices = problem.sorting.m_indices[span]
    return MXTensor(
        layout.gather_rows(problem.a.packed, indices), layout.gather_rows(problem.a.scales, indices)
    )


class AtomicColumns:
    """What tiles of one block of columns may add up to, per token, in any order.

    Each tile is of one expert and so holds a token at most once. The additions round to bf16 every
    time, so their order matters; ``low`` and ``high`` are the extremes over every order and every
    value within its bound, ``rounded`` is the sum of the reference in the order of the tiles.

    Attributes:
        value: float64 ``[M, 256]``, the sum without rounding.
        low, rounded, high: bf16 ``[M, 256]``.
        touched: bool ``[M]``, tokens that something is added to.
    """

    def __init__(self, problem: Problem, tiles: Iterable[Tile]) -> None:
        self.value = torch.zeros(problem.tokens, TILE_N, dtype=torch.float64)
        counts = torch.zeros(problem.tokens, dtype=torch.int64)
        addends: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        for tile in tiles:
            tokens, value, reach = _weighted_rows(problem, tile)
            self.value[tokens] += value
            for slots, rows in zip(addends, (value - reach, value, value + reach), strict=True):
                _put(slots, counts, tokens, round_bf16(rows))
            counts[tokens] += 1
        self.touched = counts > 0
        low, in_order, high = addends
        self.low = extreme_sum(low, torch.minimum)
        self.rounded = reduce(torch.add, in_order, torch.zeros_like(self.low))
        self.high = extreme_sum(high, torch.maximum)


def _weighted_rows(problem: Problem, tile: Tile) -> tuple[Tensor, Tensor, Tensor]:
    """A tile's rows of real tokens: their tokens, weighted values, and bounds of these."""
    span = problem.sorting.block_rows(tile.m_block)
    tokens = problem.sorting.m_indices[span].to(torch.int64)
    real = tokens < problem.tokens
    value, bound = (part[real] for part in tile_value(problem, tile))
    weight = problem.sorting.sorted_weights[span][real].to(torch.float64)[:, None]
    # A value known exactly has an exact product in float64, and round_bf16 rounds it as f32.
    own = torch.where(bound > 0, value.abs() * F32_STEP, 0.0)
    return tokens[real], value * weight, (bound + own) * weight.abs()


def _put(slots: list[Tensor], counts: Tensor, tokens: Tensor, rows: Tensor) -> None:
    """Put each token's row into the slot of its next addition; free slots hold zeros."""
    shape = (counts.numel(), rows.shape[1])
    while len(slots) <= int(counts[tokens].max()):
        slots.append(torch.zeros(shape, dtype=torch.bfloat16))
    for slot in set(counts[tokens].tolist()):
        here = counts[tokens] == slot
        slots[slot][tokens[here]] = rows[here]


def extreme_sum(addends: Sequence[Tensor], better: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The extreme bf16 sum over all orders of adding, each partial sum rounded.

    Rounded addition is monotone, so the extreme of a set of addends comes from the extreme of the
    set without its last one: 2**n sets instead of n! orders.

    Args:
        addends: bf16 tensors of one shape.
        better: ``torch.minimum`` or ``torch.maximum``.
    """
    best = {frozenset[int](): torch.zeros_like(addends[0])}
    for size in range(1, len(addends) + 1):
        larger: dict[frozenset[int], Tensor] = {}
        for chosen in map(frozenset, combinations(range(len(addends)), size)):
            sums = [best[chosen - {last}] + addends[last] for last in chosen]
            larger[chosen] = reduce(better, sums)
        best = larger
    return next(iter(best.values()))
