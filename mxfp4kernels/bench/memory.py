"""How much device memory a case needs at least: known before there is a device, or torch."""

from __future__ import annotations

from ..shapes import BUFFER_LIMIT, SCALE_TILE_BYTES, TILE_K, Shape, Variant, weight_bytes
from .cases import Case
from .device import GFX950_BYTES_PER_SECOND, GFX950_CACHES, GFX950_FLOPS, GFX950_MEMORY
from .procedure import input_sets

_FLAT = ("out", "out_scale")
"""Outputs that gemm2's flat variants address with 64 bits; all other offsets have 32."""


def buffer_bytes(variant: Variant, shape: Shape, tokens: int) -> dict[str, int]:
    """Bytes of each buffer of one launch, sorted ones as large as the worst routing needs."""
    pairs = tokens * shape.topk
    bound = pairs + min(shape.experts, pairs) * (variant.block_m - 1)
    blocks = -(-bound // variant.block_m)
    rows = blocks * variant.block_m
    weights = weight_bytes(variant.kernel, shape)
    common = {"sorted_expert_ids": 4 * blocks, "cumsum": 4}

    def scales(depth: int) -> int:
        return blocks * -(-variant.block_m // 32) * -(-depth // TILE_K) * SCALE_TILE_BYTES

    if variant.kernel == "gemm1":
        inputs = (
            {"hidden": tokens * shape.hidden * 2}
            if variant.inline_quant
            else {"a_quant": tokens * shape.hidden // 2, "a_scale": scales(shape.hidden)}
        )
        outputs = {"out_q": rows * shape.inter // 2, "out_scale": scales(shape.inter)}
        names = {"w1": weights, "w1_scale": weights // 16, "m_indices": 4 * rows}
        return {**common, **names, **inputs, **outputs}
    found = {
        **common,
        "w2": weights,
        "w2_scale": weights // 16,
        "a_q": rows * shape.inter // 2,
        "a_scale": scales(shape.inter),
    }
    if variant.epilogue == "atomic":
        routing = {"sorted_token_ids": 4 * rows, "sorted_weights": 4 * rows}
        return {**found, **routing, "out": tokens * shape.hidden * 2}
    if variant.epilogue == "mxfp4":
        return {**found, "out": rows * shape.hidden // 2, "out_scale": rows * shape.hidden // 32}
    return {**found, "out": rows * shape.hidden * 2}


def sets_at_least(case: Case, cache: str) -> int:
    """Sets of buffers: as many as there are when every expert is active that can be."""
    sizes = buffer_bytes(case.variant, case.shape, case.tokens)
    active = min(case.shape.experts, case.tokens * case.shape.topk)
    touched = sum(
        size * active // case.shape.experts if name.startswith("w") else size
        for name, size in sizes.items()
    )
    return input_sets(cache, touched, GFX950_CACHES)


def bytes_at_least(case: Case, cache: str) -> int:
    """Bytes of all sets of buffers together."""
    one = sum(buffer_bytes(case.variant, case.shape, case.tokens).values())
    return sets_at_least(case, cache) * one


def launch_seconds_at_least(case: Case) -> float:
    """What one launch takes at the device's peaks: rows of real tokens, weights of TOPK experts."""
    shape, variant = case.shape, case.variant
    gemm1 = variant.kernel == "gemm1"
    depth, columns = (shape.hidden, 2 * shape.inter) if gemm1 else (shape.inter, shape.hidden)
    pairs = case.tokens * shape.topk
    rows = case.tokens if gemm1 else pairs
    weights = weight_bytes(variant.kernel, shape) * shape.topk // shape.experts
    return max(
        (weights + rows * depth // 2) / GFX950_BYTES_PER_SECOND,
        2 * pairs * depth * columns / GFX950_FLOPS,
    )


def require_room(case: Case, cache: str) -> None:
    """Refuse a case that no gfx950 device can hold, or whose buffers the kernel cannot reach.

    Raises:
        ValueError: naming the case, the size, the limit and the way out.
    """
    sizes = buffer_bytes(case.variant, case.shape, case.tokens)
    flat = case.variant.epilogue in ("nonatomic", "mxfp4", "cshuffle")
    for name, size in sizes.items():
        if size >= BUFFER_LIMIT and not (flat and name in _FLAT):
            raise ValueError(
                f"{case}: {name} takes {size} bytes, but the kernel's byte offsets reach only "
                f"{BUFFER_LIMIT}; measure fewer tokens"
            )
    needed = bytes_at_least(case, cache)
    if needed > GFX950_MEMORY:
        warm = "use --cache-mode warm, or " if bytes_at_least(case, "warm") <= GFX950_MEMORY else ""
        raise ValueError(
            f"{case}: {sets_at_least(case, cache)} sets of buffers take at least "
            f"{needed / 2**30:.0f} GiB, but an MI350X or MI355X has {GFX950_MEMORY >> 30}; "
            f"{warm}measure fewer tokens"
        )
