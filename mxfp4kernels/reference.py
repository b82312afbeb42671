"""What the kernels must compute, in float64 from the exact values of the MXFP4 inputs.

Weights come per expert from a callable, so that a layer too large to hold as float64 can be worked
through one expert at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from .layout import Sorting, combine_atomic, combine_flat, gather_rows
from .mx import MXTensor, ScaleRule, quantise

ExpertWeights = Callable[[int], MXTensor]
"""Expert number to its weights ``[N, K]``; W1's rows are gate then up, not interleaved."""

GEMM2_EPILOGUES = ("atomic", "nonatomic", "mxfp4", "cshuffle")


@dataclass(frozen=True)
class Gemm1Output:
    """gemm1's result for sorted rows.

    Args:
        value: float64 ``[R, I]``, silu(gate) * up before quantisation; 0 in padding rows.
        quantised: the same as MXFP4, by the epilogue's rule from the value rounded to f32.
    """

    value: Tensor
    quantised: MXTensor


def matmul(a: MXTensor, b: MXTensor) -> Tensor:
    """``a[R, K] @ b[N, K]^T`` in float64; infinite where an f32 accumulator overflows.

    Raises:
        ValueError: the operands are not matrices of one K.
    """
    if len(a.shape) != 2 or len(b.shape) != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"matmul needs [R, K] and [N, K] of one K, got {a.shape} and {b.shape}")
    return f32_range(a.dequantise() @ b.dequantise().T)


def f32_range(values: Tensor) -> Tensor:
    """``values`` in float64, those that f32 cannot hold as infinities."""
    return torch.where(values.to(torch.float32).isinf(), values.sign() * torch.inf, values)


def silu_product(gate: Tensor, up: Tensor) -> Tensor:
    """``gate / (1 + exp(-gate)) * up``; NaN at minus infinity, as the kernels compute it."""
    return gate * torch.sigmoid(gate) * up


def gate_up_rows(w1: MXTensor) -> tuple[MXTensor, MXTensor]:
    """The gate and the up half of one expert's W1 ``[2I, H]``."""
    inter = w1.shape[0] // 2
    return w1[:inter], w1[inter:]


def gemm1_value(a: MXTensor, w1: MXTensor) -> Tensor:
    """silu(a @ gate^T) * (a @ up^T) for rows of one expert: float64 ``[R, I]``."""
    gate, up = gate_up_rows(w1)
    return silu_product(matmul(a, gate), matmul(a, up))


def gemm1(a: MXTensor, w1: ExpertWeights, sorting: Sorting) -> Gemm1Output:
    """gemm1 over all sorted rows.

    Args:
        a: the tokens' activations ``[M, H]``, unsorted.
        w1: per expert ``[2I, H]``, gate rows then up rows.
        sorting: the routing; its padding rows count as zero rows.

    Raises:
        ValueError: sizes that do not belong together.
    """
    if a.shape[0] != sorting.tokens:
        raise ValueError(f"a has {a.shape[0]} rows, the routing has {sorting.tokens} tokens")
    rows = MXTensor(
        gather_rows(a.packed, sorting.m_indices), gather_rows(a.scales, sorting.m_indices)
    )
    value = torch.cat([gemm1_value(rows[span], w1(expert)) for expert, span in spans(sorting)])
    return Gemm1Output(value, quantise(value.to(torch.float32), ScaleRule.GEMM1))


def gemm2_rows(
    inter: MXTensor, w2: ExpertWeights, sorting: Sorting, inter_real: int | None = None
) -> Tensor:
    """gemm2's products before any epilogue: float64 ``[R, H]``.

    Args:
        inter: gemm1's output ``[R, I]``, sorted.
        w2: per expert ``[H, I]``.
        sorting: the routing.
        inter_real: only this many elements along K are multiplied; ``None`` means all.

    Raises:
        ValueError: sizes that do not belong together.
    """
    if inter.shape[0] != sorting.rows:
        raise ValueError(f"inter has {inter.shape[0]} rows, the routing has {sorting.rows}")
    used = inter.shape[1] if inter_real is None else inter_real
    return torch.cat(
        [matmul(inter[span].first(used), w2(expert).first(used)) for expert, span in spans(sorting)]
    )


def spans(sorting: Sorting) -> Iterator[tuple[int, slice]]:
    """Each expert with tokens and its contiguous sorted rows, padding included."""
    experts, blocks = torch.unique_consecutive(sorting.sorted_expert_ids, return_counts=True)
    start = 0
    for expert, count in zip(experts.tolist(), blocks.tolist(), strict=True):
        stop = start + count * sorting.block_m
        yield expert, slice(start, stop)
        start = stop


def flat_bf16(rows: Tensor) -> Tensor:
    """The ``nonatomic`` and ``cshuffle`` output: bf16 ``[R, H]``, unweighted, rounded once."""
    return rows.to(torch.float32).to(torch.bfloat16)


def flat_mxfp4(rows: Tensor) -> MXTensor:
    """The ``mxfp4`` output ``[R, H]``: unweighted, quantised by the epilogue's rule from f32."""
    return quantise(rows.to(torch.float32), ScaleRule.GEMM2)


def atomic_bf16(rows: Tensor, sorting: Sorting) -> Tensor:
    """The ``atomic`` output: bf16 ``[M, H]``, each weighted row rounded and added in bf16.

    The device adds in any order; this adds in the order of the sorted rows, so an element of a
    token with several experts may differ from a device by the rounding of its partial sums.
    """
    if rows.shape[0] != sorting.rows:
        raise ValueError(f"rows must be [R, H] with R = {sorting.rows}, got {tuple(rows.shape)}")
    weighted = rows.to(torch.float32) * sorting.sorted_weights[:, None]
    out = torch.zeros(sorting.tokens, rows.shape[1], dtype=torch.bfloat16)
    for row, token in enumerate(sorting.m_indices.tolist()):
        if token < sorting.tokens:
            out[token] += weighted[row].to(torch.bfloat16)
    return out


@dataclass(frozen=True)
class LayerOutput:
    """The whole layer's result and the steps on the way.

    Args:
        gemm1: gemm1's result.
        rows: float64 ``[R, H]``, gemm2's products of gemm1's *quantised* result.
        exact: float64 ``[M, H]``, those rows weighted and summed without further rounding.
        output: float64 ``[M, H]``, through the epilogue's own number format.
    """

    gemm1: Gemm1Output
    rows: Tensor
    exact: Tensor
    output: Tensor


def moe_layer(
    a: MXTensor,
    w1: ExpertWeights,
    w2: ExpertWeights,
    topk_weight: Tensor,
    sorting: Sorting,
    epilogue: str,
    inter_real: int | None = None,
) -> LayerOutput:
    """The MoE layer as the two kernels run it.

    Args:
        a: quantised activations ``[M, H]``.
        w1, w2: per expert ``[2I, H]`` and ``[H, I]``.
        topk_weight: float32 ``[M, TOPK]``.
        sorting: the routing that both kernels share.
        epilogue: gemm2's, one of :data:`GEMM2_EPILOGUES`.
        inter_real: see :func:`gemm2_rows`.

    Raises:
        ValueError: an unknown epilogue, or sizes that do not belong together.
    """
    if epilogue not in GEMM2_EPILOGUES:
        raise ValueError(f"unknown epilogue {epilogue!r}; choose from {', '.join(GEMM2_EPILOGUES)}")
    first = gemm1(a, w1, sorting)
    rows = gemm2_rows(first.quantised, w2, sorting, inter_real)
    return LayerOutput(
        first, rows, combine_atomic(rows, sorting), _combine(rows, topk_weight, sorting, epilogue)
    )


def _combine(rows: Tensor, topk_weight: Tensor, sorting: Sorting, epilogue: str) -> Tensor:
    if epilogue == "atomic":
        return atomic_bf16(rows, sorting).to(torch.float64)
    flat = flat_mxfp4(rows).dequantise() if epilogue == "mxfp4" else flat_bf16(rows)
    return combine_flat(flat, topk_weight, sorting.reverse_sorted)
