"""Fused multiply-add with one rounding, elementwise over arrays.

numpy has none, and computing an f32 one in f64 rounds twice. LLVM's fma is exact on every host:
one instruction where there is one, a library routine elsewhere.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from numba.core import types
from numba.extending import intrinsic


@intrinsic
def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    signature = a(a, a, a)
    if a not in (types.float32, types.float64) or a != b or a != c:
        raise TypeError("fma needs three f32 or three f64")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return signature, generate


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fma_flat(a: Any, b: Any, c: Any, out: Any) -> None:  # pragma: no cover - compiled
    for i in range(out.shape[0]):
        out[i] = _fma(a[i], b[i], c[i])  # type: ignore[call-arg]


def fma(a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``a * b + c`` rounded once to nearest even.

    Args:
        a, b, c: float16, float32 or float64, one type for all, broadcastable.

    Returns:
        An array of that type and of the broadcast shape.
    """
    if a.dtype == np.float16:
        return _fma16(a, b, c)
    shape = np.broadcast_shapes(a.shape, b.shape, c.shape)
    a, b, c = (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in (a, b, c))
    out = np.empty(shape, a.dtype)
    _fma_flat(a.reshape(-1), b.reshape(-1), c.reshape(-1), out.reshape(-1))
    return out


def _fma16(a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The product is exact in f64; the sum is rounded to odd there, so that f16 rounds once."""
    product = a.astype(np.float64) * b.astype(np.float64)
    return round_to_odd_sum(product, c.astype(np.float64)).astype(np.float16)


def round_to_odd_sum(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """``a + b`` in f64 with an inexact sum moved to the neighbour with an odd significand.

    A later rounding to a format at least two bits narrower then equals one direct rounding
    (S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
    using rounding to odd", IEEE Transactions on Computers 57(4), 2008).
    """
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    bits = total.view(np.int64)
    even = (bits & 1) == 0
    away = (error > 0) == (total > 0)
    step = np.where(away, 1, -1)
    move = np.isfinite(total) & (error != 0) & even
    return np.where(move, bits + step, bits).view(np.float64)
