"""How buffers lie in memory: shuffles of weights and scales, sorting of tokens, combining of rows.

Buffers laid out here can be fed to the published kernels (ROCm/aiter, RadeonFlow MXFP4 MoE) and
back. "Pair" is two 16-row groups whose scales share a dword; "K tile" is 256 elements along K,
"half" one of its two halves of 128.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .mx import BLOCK
from .shapes import MAX_TOPK

GROUP_ROWS = 16
"""Rows (of A) or columns (of B) that one MFMA covers."""
PAIR_ROWS = 32
TILE_K = 256
HALF_K = 128
LANE_BYTES = 16
"""Contiguous weight bytes that one lane reads: 32 elements."""
TOKEN_MASK = 0xFFFFFF
"""A sorted token id holds the token in its low 24 bits and the slot k above them."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _require_bytes(name: str, tensor: Tensor, dims: int) -> None:
    if tensor.dtype != torch.uint8:
        raise TypeError(f"{name} must be uint8, got {tensor.dtype}")
    _require(tensor.dim() == dims, f"{name} needs {dims} dimensions, got {tuple(tensor.shape)}")


def shuffle_weight(packed: Tensor) -> Tensor:
    """One expert's weights in the order in which lanes read them.

    The byte (column n, byte c of K/2) goes to ``16*(n//16)*K/2 + (c//16)*256 + (n%16)*16 + c%16``.

    Args:
        packed: uint8 ``[N, K/2]``, row-major.

    Returns:
        uint8 ``[N*K/2]``.

    Raises:
        TypeError: not uint8.
        ValueError: N is not a multiple of 16, or K not of 32.
    """
    _require_bytes("packed", packed, 2)
    columns, row_bytes = packed.shape
    _check_weight_size(columns, row_bytes)
    grouped = packed.reshape(columns // GROUP_ROWS, GROUP_ROWS, row_bytes // LANE_BYTES, LANE_BYTES)
    return grouped.transpose(1, 2).reshape(-1)


def unshuffle_weight(shuffled: Tensor, columns: int) -> Tensor:
    """The inverse of :func:`shuffle_weight`: uint8 ``[N*K/2]`` to ``[N, K/2]``.

    Raises:
        TypeError: not uint8.
        ValueError: the size is not that of ``columns`` whole columns.
    """
    _require_bytes("shuffled", shuffled, 1)
    _require(
        columns > 0 and shuffled.numel() % columns == 0,
        f"{shuffled.numel()} bytes are no whole number of bytes for each of {columns} columns",
    )
    row_bytes = shuffled.numel() // columns
    _check_weight_size(columns, row_bytes)
    grouped = shuffled.reshape(
        columns // GROUP_ROWS, row_bytes // LANE_BYTES, GROUP_ROWS, LANE_BYTES
    )
    return grouped.transpose(1, 2).reshape(columns, row_bytes)


def _check_weight_size(columns: int, row_bytes: int) -> None:
    _require(columns % GROUP_ROWS == 0, f"N must be a multiple of {GROUP_ROWS}, got {columns}")
    _require(row_bytes % LANE_BYTES == 0, f"K must be a multiple of {BLOCK}, got {2 * row_bytes}")


def interleave_gate_up(rows: Tensor) -> Tensor:
    """W1's rows, gate then up, in alternating groups of 16: gate 0..15, up 0..15, gate 16..31, ...

    Args:
        rows: ``[2I, ...]``, gate rows 0..I-1 and up rows I..2I-1; any dtype. Serves weights and
            their scales alike.

    Raises:
        ValueError: the number of rows is not a multiple of 32.
    """
    _check_gate_up(rows)
    halves = rows.reshape(2, -1, GROUP_ROWS, *rows.shape[1:])
    return halves.transpose(0, 1).reshape(rows.shape)


def deinterleave_gate_up(rows: Tensor) -> Tensor:
    """The inverse of :func:`interleave_gate_up`."""
    _check_gate_up(rows)
    groups = rows.reshape(-1, 2, GROUP_ROWS, *rows.shape[1:])
    return groups.transpose(0, 1).reshape(rows.shape)


def _check_gate_up(rows: Tensor) -> None:
    _require(
        rows.shape[0] % PAIR_ROWS == 0,
        f"gate and up rows interleave in groups of {GROUP_ROWS}: their number must be a multiple "
        f"of {PAIR_ROWS}, got {rows.shape[0]}",
    )


def shuffle_scales(scales: Tensor, *, group_pairs: bool = True) -> Tensor:
    """Scales in dwords, one per (pair, K tile, 32-block of a half, row in the group).

    The byte for (row, 32-block) goes to byte ``2*half + group`` of dword
    ``((pair*tiles + kt)*4 + kg)*16 + row%16``. This is the layout of W1's and W2's scales (rows are
    columns of B), of gemm1's sorted A scales, and of gemm1's output scales.

    Args:
        scales: uint8 ``[rows, K/32]``. Where K is an odd multiple of 128 the second half of the
            last tile does not exist and its bytes are 0.
        group_pairs: ``False`` for the BM=16 form, whose "pair" holds one group only; the bytes of
            the missing second group are 0.

    Returns:
        uint8, 4 bytes per dword, little-endian.

    Raises:
        TypeError: not uint8.
        ValueError: rows are not whole pairs (groups with ``group_pairs=False``), or K is not a
            multiple of 128.
    """
    _require_bytes("scales", scales, 2)
    rows, blocks = scales.shape
    groups = 2 if group_pairs else 1
    _check_scale_size(rows, blocks, groups)
    tiles = _tiles(blocks)
    padded = torch.nn.functional.pad(scales, (0, tiles * TILE_K // BLOCK - blocks))
    split = padded.reshape(rows // (groups * GROUP_ROWS), groups, GROUP_ROWS, tiles, 2, 4)
    ordered = split.permute(0, 3, 5, 2, 4, 1)
    return torch.nn.functional.pad(ordered, (0, 2 - groups)).reshape(-1)


def unshuffle_scales(
    shuffled: Tensor, rows: int, blocks: int, *, group_pairs: bool = True
) -> Tensor:
    """The inverse of :func:`shuffle_scales`; reads gemm1's output scales back.

    Args:
        shuffled: uint8 bytes of exactly the dwords for ``rows`` and ``blocks``.
        rows: number of rows.
        blocks: 32-blocks of a row, K/32.
        group_pairs: see :func:`shuffle_scales`.

    Returns:
        uint8 ``[rows, blocks]``.

    Raises:
        TypeError: not uint8.
        ValueError: sizes as :func:`shuffle_scales`, or another number of bytes than
            :func:`scale_bytes` says.
    """
    _require_bytes("shuffled", shuffled, 1)
    groups = 2 if group_pairs else 1
    expected = scale_bytes(rows, blocks, group_pairs=group_pairs)
    _require(
        shuffled.numel() == expected,
        f"{rows} rows of {blocks} scale blocks take {expected} bytes, got {shuffled.numel()}",
    )
    tiles = _tiles(blocks)
    ordered = shuffled.reshape(-1, tiles, 4, GROUP_ROWS, 2, 2)[..., :groups]
    return ordered.permute(0, 5, 3, 1, 4, 2).reshape(rows, -1)[:, :blocks]


def scale_bytes(rows: int, blocks: int, *, group_pairs: bool = True) -> int:
    """Bytes that :func:`shuffle_scales` makes of ``rows`` rows of ``blocks`` scale blocks.

    Raises:
        ValueError: as :func:`shuffle_scales`.
    """
    groups = 2 if group_pairs else 1
    _check_scale_size(rows, blocks, groups)
    return rows // (groups * GROUP_ROWS) * _tiles(blocks) * 64 * 4


def _tiles(blocks: int) -> int:
    return -(-blocks // (TILE_K // BLOCK))


def _check_scale_size(rows: int, blocks: int, groups: int) -> None:
    _require(
        rows % (groups * GROUP_ROWS) == 0,
        f"scale rows must be a multiple of {groups * GROUP_ROWS}, got {rows}",
    )
    _require(
        blocks > 0 and blocks * BLOCK % HALF_K == 0,
        f"K must be a multiple of {HALF_K}, got {blocks * BLOCK}",
    )


@dataclass(frozen=True)
class Sorting:
    """Pairs (token, k) grouped by expert, each group padded to whole blocks of ``block_m`` rows.

    All tensors hold exactly the rows in use; :func:`max_rows` bounds their number for allocation.

    Args:
        block_m: rows of a block.
        tokens: number of tokens M, which is also the id in padding rows.
        cumsum: int32 ``[1]``, the padded number of rows R.
        sorted_expert_ids: int32 ``[R/block_m]``, the expert of each block.
        sorted_token_ids: int32 ``[R]``, token | (k << 24); M in padding rows.
        sorted_weights: float32 ``[R]``, the pair's routing weight; 0 in padding rows.
        m_indices: int32 ``[R]``, the token; M in padding rows.
        reverse_sorted: int32 ``[M*TOPK]``, the row of pair (token, k).
    """

    block_m: int
    tokens: int
    cumsum: Tensor
    sorted_expert_ids: Tensor
    sorted_token_ids: Tensor
    sorted_weights: Tensor
    m_indices: Tensor
    reverse_sorted: Tensor

    @property
    def rows(self) -> int:
        """The padded number of rows R."""
        return int(self.cumsum[0])

    @property
    def blocks(self) -> int:
        """The number of blocks, R / block_m."""
        return self.rows // self.block_m

    def block_rows(self, block: int) -> slice:
        """The rows of a block.

        Raises:
            ValueError: no such block.
        """
        _require(0 <= block < self.blocks, f"block {block} does not exist; there are {self.blocks}")
        return slice(block * self.block_m, (block + 1) * self.block_m)


def max_rows(tokens: int, topk: int, experts: int, block_m: int) -> int:
    """Upper bound of the sorted, padded rows over every routing: what buffers are sized for.

    ``M*TOPK + min(NE, M*TOPK)*(block_m - 1)`` rounded up to whole blocks.
    """
    pairs = tokens * topk
    bound = pairs + min(experts, pairs) * (block_m - 1)
    return -(-bound // block_m) * block_m


def sort_tokens(topk_ids: Tensor, topk_weight: Tensor, experts: int, block_m: int) -> Sorting:
    """Group the pairs (token, k) by expert; within an expert they stay in token order.

    Args:
        topk_ids: int32 or int64 ``[M, TOPK]``, each in 0..experts-1.
        topk_weight: float32 ``[M, TOPK]``.
        experts: number of experts NE; those without a pair get no block.
        block_m: rows of a block.

    Raises:
        TypeError: a dtype that is not one of those above.
        ValueError: shapes that differ, an expert out of range, more than 128 slots, or more
            tokens than the 24 bits of a sorted token id can tell apart.
    """
    _check_routing(topk_ids, topk_weight, experts, block_m)
    tokens, topk = topk_ids.shape
    order = torch.argsort(topk_ids.reshape(-1).to(torch.int64), stable=True)
    counts = torch.bincount(topk_ids.reshape(-1), minlength=experts)
    blocks = (counts + block_m - 1) // block_m
    first_row = (blocks.cumsum(0) - blocks) * block_m
    first_pair = counts.cumsum(0) - counts
    expert = topk_ids.reshape(-1)[order].to(torch.int64)
    row = first_row[expert] + torch.arange(order.numel()) - first_pair[expert]
    total = int(blocks.sum()) * block_m

    token, slot = order // topk, order % topk
    sorted_token_ids = torch.full((total,), tokens, dtype=torch.int32)
    sorted_token_ids[row] = (token | (slot << 24)).to(torch.int32)
    m_indices = torch.full((total,), tokens, dtype=torch.int32)
    m_indices[row] = token.to(torch.int32)
    sorted_weights = torch.zeros(total, dtype=torch.float32)
    sorted_weights[row] = topk_weight.reshape(-1)[order]
    reverse_sorted = torch.empty(tokens * topk, dtype=torch.int32)
    reverse_sorted[order] = row.to(torch.int32)
    return Sorting(
        block_m=block_m,
        tokens=tokens,
        cumsum=torch.tensor([total], dtype=torch.int32),
        sorted_expert_ids=torch.arange(experts, dtype=torch.int32).repeat_interleave(blocks),
        sorted_token_ids=sorted_token_ids,
        sorted_weights=sorted_weights,
        m_indices=m_indices,
        reverse_sorted=reverse_sorted,
    )


def _check_routing(topk_ids: Tensor, topk_weight: Tensor, experts: int, block_m: int) -> None:
    if topk_ids.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"topk_ids must be int32 or int64, got {topk_ids.dtype}")
    if topk_weight.dtype != torch.float32:
        raise TypeError(f"topk_weight must be float32, got {topk_weight.dtype}")
    _require(
        topk_ids.dim() == 2 and topk_ids.shape == topk_weight.shape and topk_ids.numel() > 0,
        "topk_ids and topk_weight must both be [M, TOPK] with M and TOPK at least 1, got "
        f"{tuple(topk_ids.shape)} and {tuple(topk_weight.shape)}",
    )
    _require(
        block_m > 0 and block_m % GROUP_ROWS == 0,
        f"block_m must be a multiple of {GROUP_ROWS}, got {block_m}",
    )
    low, high = int(topk_ids.min()), int(topk_ids.max())
    _require(
        low >= 0 and high < experts,
        f"topk_ids must lie in 0..{experts - 1}, got {low if low < 0 else high}",
    )
    tokens, topk = topk_ids.shape
    _require(
        tokens < TOKEN_MASK,
        f"a sorted token id keeps the token in 24 bits: at most {TOKEN_MASK - 1} tokens, "
        f"got {tokens}; split the batch",
    )
    _require(topk <= MAX_TOPK, f"topk must be at most {MAX_TOPK}, got {topk}")


def gather_rows(rows: Tensor, m_indices: Tensor) -> Tensor:
    """Rows of a per-token tensor in sorted order; padding rows are zero.

    Args:
        rows: ``[M, ...]``, any dtype.
        m_indices: int32 ``[R]``, M in padding rows.
    """
    with_padding = torch.cat((rows, rows.new_zeros(1, *rows.shape[1:])))
    return with_padding[m_indices.to(torch.int64)]


def combine_atomic(rows: Tensor, sorting: Sorting) -> Tensor:
    """What exact atomic adds make of sorted rows: weighted, summed per token, padding dropped.

    Args:
        rows: float64 ``[R, H]``.

    Returns:
        float64 ``[M, H]``.

    Raises:
        ValueError: another number of rows than the sorting's.
    """
    _check_rows(rows, sorting.rows)
    out = rows.new_zeros(sorting.tokens + 1, rows.shape[1])
    weighted = rows * sorting.sorted_weights.to(rows.dtype)[:, None]
    out.index_add_(0, sorting.m_indices.to(torch.int64), weighted)
    return out[: sorting.tokens]


def combine_flat(rows: Tensor, topk_weight: Tensor, reverse_sorted: Tensor) -> Tensor:
    """Gather each token's rows by ``reverse_sorted`` and add them up with their weights.

    Args:
        rows: ``[R, H]``, flat rows of gemm2 in a floating dtype.
        topk_weight: float32 ``[M, TOPK]``.
        reverse_sorted: int32 ``[M*TOPK]``.

    Returns:
        float64 ``[M, H]``.

    Raises:
        ValueError: sizes that do not belong together, or a row out of range.
    """
    tokens, topk = topk_weight.shape
    _require(
        reverse_sorted.numel() == tokens * topk,
        f"reverse_sorted needs M*TOPK = {tokens * topk} entries, got {reverse_sorted.numel()}",
    )
    _require(
        int(reverse_sorted.max()) < rows.shape[0],
        f"reverse_sorted names row {int(reverse_sorted.max())} of {rows.shape[0]}",
    )
    picked = rows.to(torch.float64)[reverse_sorted.to(torch.int64)].reshape(tokens, topk, -1)
    return (picked * topk_weight.to(torch.float64)[..., None]).sum(dim=1)


def _check_rows(rows: Tensor, expected: int) -> None:
    _require(
        rows.dim() == 2 and rows.shape[0] == expected,
        f"rows must be [R, H] with R = {expected}, got {tuple(rows.shape)}",
    )
