"""How far a kernel's numbers lie from the float64 reference, in steps of its output format."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..mx import BLOCK, decode_scale
from ..numerics import Outputs, Verification
from .tables import BINS


def histogram(verification: Verification) -> list[int]:
    """How far the written numbers lie from the reference, in steps of the output format."""
    counts = np.zeros(len(BINS) - 1, np.int64)
    for error in _errors(verification):
        finite = error[torch.isfinite(error)].clamp(-1, 1).numpy()
        counts += np.histogram(finite, BINS)[0]
    return [int(count) for count in counts]


def _errors(verification: Verification) -> list[Tensor]:
    problem = verification.problem
    outputs = Outputs(problem, verification.arguments)
    epilogue = problem.variant.epilogue
    if epilogue == "atomic":
        return [
            (got - want) / bf16_step(want) for got, want in verification.atomic_columns(outputs)
        ]
    found = []
    for tile in verification.tiles:
        want = verification.expected(tile)[0]
        if epilogue in ("nonatomic", "cshuffle"):
            found.append((outputs.bf16(tile).to(torch.float64) - want) / bf16_step(want))
            continue
        got = outputs.mxfp4(tile)
        unit = decode_scale(got.scales).repeat_interleave(BLOCK, dim=-1)
        found.append((got.dequantise() - want) / (unit * e2m1_step(want / unit)))
    return found


def bf16_step(values: Tensor) -> Tensor:
    """Distance of neighbouring bf16 numbers at ``values``; the smallest normal one's at zero."""
    exponent = torch.frexp(values.abs()).exponent.clamp(min=-125)
    return torch.ldexp(torch.ones_like(values), exponent - 8)


def e2m1_step(values: Tensor) -> Tensor:
    """Distance of neighbouring E2M1 numbers at ``values``: 1/2 below 2, 1 below 4, 2 from there."""
    size = values.abs()
    return torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
