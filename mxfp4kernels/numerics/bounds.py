"""How far an f32 kernel's value may lie from the float64 reference, whatever its order of adds.

Products of E2M1 numbers are multiples of 1/4 and at most 36, so a sum of 32 of them is exact in
f32 whatever the order. Only the additions of the K/32 block sums can round. Every bound here
follows from counting roundings; none is a tolerance chosen to fit.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..mx import BLOCK, SCALE_BIAS, MXTensor, blocks_of, power_of_two
from ..reference import f32_range

F32_STEP = 2.0**-23
"""Largest relative error of one f32 operation under any rounding, truncation included."""
F32_TINY = 2.0**-126
"""Smallest normal f32: what a flushed denormal may lose."""
LOG2_E_PRODUCT = 2.0
"""Roundings of the exponent -gate*log2(e): one of the constant and one of the product."""
ACTIVATION_OPERATIONS = 6
"""exp2, 1 + x, rcp, two multiplications, each within one step, and one step to spare."""


def bounded_product(a: MXTensor, b: MXTensor) -> tuple[Tensor, Tensor]:
    """``a[R, K] @ b[N, K]^T`` and the largest error of accumulating it in f32: float64 ``[R, N]``.

    The bound is zero where every partial sum is a whole number of units of at most 24 bits, the
    unit being a quarter of the smallest scales' product: then no order of additions rounds at all.
    """
    a_values, b_values = a.dequantise(), b.dequantise()
    product = f32_range(a_values @ b_values.T)
    magnitude = a_values.abs_() @ b_values.abs_().T
    unit = 0.25 * power_of_two(_least_exponent(a)[:, None] + _least_exponent(b))
    additions = a.shape[1] // BLOCK
    bound = torch.where(magnitude <= 2.0**24 * unit, 0.0, magnitude * (additions * F32_STEP))
    return product, bound


def _least_exponent(matrix: MXTensor) -> Tensor:
    """Smallest scale exponent of a row's blocks that are not all zero: int32 ``[rows]``."""
    nonzero = (blocks_of(matrix.packed & 0x77, BLOCK // 2) != 0).any(dim=-1)
    exponent = matrix.scales.to(torch.int32) - SCALE_BIAS
    return torch.where(nonzero, exponent, SCALE_BIAS).amin(dim=-1)


def silu_bound(gate: Tensor, up: Tensor, gate_bound: Tensor, up_bound: Tensor) -> Tensor:
    """Largest error of silu(gate)*up in f32 from inputs within their bounds.

    The exponential's relative error is that of its argument, |gate| times its roundings; the
    derivative of silu is at most 1.1 in size. A sigmoid that is denormal in f32 may come out as
    zero, which loses the whole value. A value that is infinite or NaN has no error.
    """
    sigmoid = torch.sigmoid(gate)
    silu = gate * sigmoid
    value = (silu * up).abs()
    carried = 1.1 * gate_bound * (up.abs() + up_bound) + silu.abs() * up_bound
    own = value * F32_STEP * (ACTIVATION_OPERATIONS + LOG2_E_PRODUCT * gate.abs())
    flushed = torch.where(sigmoid < 2 * F32_TINY, value, 0.0)
    return torch.where(value.isfinite(), carried + own + flushed, 0.0)
