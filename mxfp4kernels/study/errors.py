"""How far a kernel's numbers lie from the float64 reference, in steps of its output format."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..mx import BLOCK, decode_scale
from ..numerics.verification import Outputs, Verification

EDGES = tuple((2 * bin - 1) / 40 for bin in range(-20, 22))
"""Edges of the histogram: 41 bins, one around each multiple of 1/20, where exact sums lie."""


def histogram(verification: Verification) -> list[tuple[float, float, int]]:
    """How far the written numbers lie from the reference, in steps of the output format.

    Elements whose reference is zero, all padding among them, are left out.

    Returns:
        Lower end, upper end and number of elements of each bin; what lies beyond the ends counts
        in the outermost bins.
    """
    counts = np.zeros(len(EDGES) - 1, np.int64)
    for error, want in _errors(verification):
        chosen = torch.isfinite(error) & (want != 0)
        counts += np.histogram(error[chosen].clamp(-1, 1).numpy(), EDGES)[0]
    return list(zip(EDGES[:-1], EDGES[1:], counts.tolist(), strict=True))


def _errors(verification: Verification) -> list[tuple[Tensor, Tensor]]:
    """Errors in steps, and the reference, part by part."""
    problem = verification.problem
    outputs = Outputs(problem, verification.arguments)
    epilogue = problem.variant.epilogue
    if epilogue == "atomic":
        return [
            ((got - want) / bf16_step(want), want)
            for got, want in verification.atomic_columns(outputs)
        ]
    found = []
    for tile in verification.tiles:
        want = verification.expected(tile)[0]
        if epilogue in ("nonatomic", "cshuffle"):
            error = (outputs.bf16(tile).to(torch.float64) - want) / bf16_step(want)
            found.append((error, want))
            continue
        got = outputs.mxfp4(tile)
        unit = decode_scale(got.scales).repeat_interleave(BLOCK, dim=-1)
        error = (got.dequantise() - want) / (unit * e2m1_step(want / unit))
        found.append((error, want))
    return found


def bf16_step(values: Tensor) -> Tensor:
    """Distance of neighbouring bf16 numbers at ``values``, which are not zero."""
    exponent = torch.frexp(values.abs()).exponent.clamp(min=-125)
    return torch.ldexp(torch.ones_like(values), exponent - 8)


def e2m1_step(values: Tensor) -> Tensor:
    """Distance of neighbouring E2M1 numbers at ``values``: 1/2 below 2, 1 below 4, 2 from there."""
    size = values.abs()
    return torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
