"""Seeded inputs of a kernel: how tokens choose experts, and what activations and weights hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..mx import BLOCK, MXTensor, blocks_of, power_of_two
from ..shapes import Shape


def generator(*words: int) -> torch.Generator:
    """A random generator whose stream depends on every word."""
    seed = 0
    for word in words:
        seed = (seed * 6364136223846793005 + word + 1442695040888963407) % 2**63
    return torch.Generator().manual_seed(seed)


# --- routing -------------------------------------------------------------------------------------


def _random_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    return torch.rand(tokens, shape.experts, generator=rng).topk(shape.topk).indices


def _balanced_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    pairs = torch.arange(tokens * shape.topk).reshape(tokens, shape.topk)
    return pairs % shape.experts


def _same_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    return torch.arange(shape.experts - shape.topk, shape.experts).expand(tokens, shape.topk)


def _sparse_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    """Every other expert; if those are fewer than top-k, the first top-k."""
    used = torch.arange(0, shape.experts, 2)
    if used.numel() < shape.topk:
        used = torch.arange(shape.topk)
    picks = torch.rand(tokens, used.numel(), generator=rng).topk(shape.topk).indices
    return used[picks]


def _family_a_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    """The last expert is shared and always chosen; some of the others are liked more."""
    routed = shape.experts - 1
    liking = FAMILY_A_BIAS * torch.randn(routed, generator=rng)
    scores = torch.randn(tokens, routed, generator=rng) + liking
    chosen = scores.topk(shape.topk - 1).indices
    return torch.cat((chosen, torch.full((tokens, 1), routed)), dim=1)


def _family_b_experts(tokens: int, shape: Shape, rng: torch.Generator) -> Tensor:
    return torch.randn(tokens, shape.experts, generator=rng).topk(shape.topk).indices


FAMILY_A_BIAS = 0.5
"""Standard deviation of the bias that an expert has for all tokens in routing family A."""

ROUTINGS: dict[str, Callable[[int, Shape, torch.Generator], Tensor]] = {
    "random": _random_experts,
    "balanced": _balanced_experts,
    "same": _same_experts,
    "sparse": _sparse_experts,
    "family-a": _family_a_experts,
    "family-b": _family_b_experts,
}
"""How tokens choose experts. ``random``: top-k of uniform scores; ``balanced``: in turn; ``same``:
all tokens the last top-k experts (with top-k 1, one expert); ``sparse``: every other expert.
``family-a`` and ``family-b`` are the routings behind the published device times, described in
data/published/README.md."""


# --- activations and weights ---------------------------------------------------------------------


def random_weights(rows: int, depth: int, rng: torch.Generator) -> MXTensor:
    """Uniform codes with scales over three powers of two, for products of size about 2.

    Returns:
        ``[rows, depth]``. With activations of variance 1 a product of ``depth`` terms has a
        standard deviation of 1 to 4, where silu is neither linear nor flat.
    """
    code_rms = math.sqrt((0.25 + 1 + 2.25 + 4 + 9 + 16 + 36) / 8)
    centre = round(math.log2(2 / (math.sqrt(depth) * code_rms)))
    packed = torch.randint(0, 256, (rows, depth // 2), dtype=torch.uint8, generator=rng)
    spread = torch.randint(-1, 2, (rows, depth // BLOCK), generator=rng)
    return MXTensor(packed, (127 + centre + spread).to(torch.uint8))


def random_activations(rows: int, depth: int, rng: torch.Generator) -> Tensor:
    """Normal bf16 values ``[rows, depth]`` whose 32-blocks differ in size by powers of two."""
    values = torch.randn(rows, depth, generator=rng)
    exponent = torch.randint(-1, 2, (rows, depth // BLOCK), generator=rng)
    size = power_of_two(exponent).repeat_interleave(BLOCK, dim=-1)
    return (values * size).to(torch.bfloat16)


@dataclass(frozen=True)
class EdgeBlock:
    """A kind of 32-block along K that ``edges`` puts into every row.

    Args:
        activations: 32 values that the block's activations cycle through, rotated by row.
        weight_scales: scale bytes that the weights' blocks at the same place along K take in turn
            by row, so that extreme scales meet their opposite; empty leaves them alone.
        packed_scale: scale byte of the activations where they are given already quantised.
    """

    activations: tuple[float, ...]
    weight_scales: tuple[int, ...] = ()
    packed_scale: int | None = None


_JUST_BELOW = 1.7421875
"""The bf16 number below 1.75."""
_TINY, _HUGE = 2.0**-126, 2.0**125

EDGE_BLOCKS: tuple[EdgeBlock | None, ...] = (
    None,
    EdgeBlock((0.0,) * 32),
    EdgeBlock((1.75, *(0.125 * n for n in range(-14, 14)), 0.0, 0.0, -1.0)),
    EdgeBlock((_JUST_BELOW, *(0.0625 * n for n in range(-14, 14)), 0.0, 0.0, -1.0)),
    EdgeBlock((6.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0) + (-0.25, -0.75, -1.25, -3.5) * 6),
    EdgeBlock((_TINY, -1.5 * _TINY, 2 * _TINY, 0.0) * 8, (254, 247, 249, 250), 0),
    EdgeBlock((_HUGE, -1.5 * _HUGE, 2 * _HUGE, 0.0) * 8, (0, 1, 0, 2), 254),
)
"""Ordinary, all zero, largest magnitude at 1.75 and just below, every rounding tie, and the
smallest and largest scales. The tiny values are normal numbers: denormals are not at stake."""


def edge_activations(values: Tensor) -> Tensor:
    """``values`` bf16 ``[rows, K]`` with every kind of edge block in turn along K; row 1 all zero.

    Block b of row r is of kind b modulo the number of kinds, so that all rows agree on where
    extreme scales stand.
    """
    out = blocks_of(values.clone())
    rows = torch.arange(out.shape[0])[:, None]
    for kind, edge in enumerate(EDGE_BLOCKS):
        if edge is not None:
            pattern = torch.tensor(edge.activations, dtype=torch.float64).to(torch.bfloat16)
            rotated = pattern[(torch.arange(BLOCK) + rows) % BLOCK]
            out[:, kind :: len(EDGE_BLOCKS)] = rotated[:, None, :]
    out[1:2] = 0
    return out.reshape(values.shape)


def edge_packed_scales(quantised: MXTensor) -> MXTensor:
    """Activations whose edge blocks take the extreme scale bytes 0 and 254 themselves."""
    scales = quantised.scales.clone()
    for kind, edge in enumerate(EDGE_BLOCKS):
        if edge is not None and edge.packed_scale is not None:
            scales[:, kind :: len(EDGE_BLOCKS)] = edge.packed_scale
    return MXTensor(quantised.packed, scales)


def edge_weights(weights: MXTensor) -> MXTensor:
    """Weights whose scales stand against the activations' extreme ones."""
    scales = weights.scales.clone()
    rows = torch.arange(scales.shape[0])
    for kind, edge in enumerate(EDGE_BLOCKS):
        if edge is not None and edge.weight_scales:
            cycle = torch.tensor(edge.weight_scales, dtype=torch.uint8)
            scales[:, kind :: len(EDGE_BLOCKS)] = cycle[rows % len(cycle)][:, None]
    return MXTensor(weights.packed, scales)


def special_activations(values: Tensor) -> Tensor:
    """``values`` bf16 ``[M, K]``, the first rows with an infinity, a NaN, a negative infinity."""
    out = values.clone()
    for row, special in enumerate((math.inf, math.nan, -math.inf)[: out.shape[0]]):
        out[row, 5] = special
    return out


CONTENTS = ("normal", "edges", "special")
"""What activations and weights hold. ``edges``: see :data:`EDGE_BLOCKS`; ``special``: infinities
and a NaN in the first tokens, for the variant that quantises its activations itself."""


def garbage(shape: tuple[int, ...], key: int) -> Tensor:
    """Bytes that stand for memory nobody has written: uint8, the same for the same key."""
    rng = generator(0x5EED, key)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=rng)
