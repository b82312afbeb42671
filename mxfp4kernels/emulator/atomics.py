"""Read-modify-write operations, as functions of the old value and the operand."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.site import Array
from mxfp4kernels.emulator.transfers import Combine


@dataclass(frozen=True)
class Combination:
    """One operation on ``size`` bytes.

    Attributes:
        size: bytes in memory per lane.
        operand_dwords: registers of data per lane; twice the size for compare-and-swap.
        combine: uint32 [dwords, lanes] old and operand to new.
    """

    size: int
    operand_dwords: int
    combine: Combine


def _typed(dtype: type[Any], function: Callable[[Array, Array], Array]) -> Combine:
    """An operation on one number per lane of ``dtype``, 4 or 8 bytes."""

    def combine(old: Array, operand: Array) -> Array:
        a, b = _join(old, dtype), _join(operand, dtype)
        return _split(function(a, b).astype(dtype), len(old))

    return combine


def _join(words: Array, dtype: type[Any]) -> Array:
    return np.ascontiguousarray(words.T).view(dtype)[:, 0]


def _split(values: Array, dwords: int) -> Array:
    return values.view(np.uint32).reshape(-1, dwords).T


def _compare_swap(old: Array, operand: Array) -> Array:
    """The operand holds the new value, then the expected one."""
    n = len(old)
    equal = (old == operand[n:]).all(axis=0)
    return np.where(equal, operand[:n], old)


def _halves(function: Callable[[Array, Array], Array]) -> Combine:
    """An operation on two f16 per dword."""

    def combine(old: Array, operand: Array) -> Array:
        a, b = (np.ascontiguousarray(x).view(np.float16) for x in (old, operand))
        return function(a, b).astype(np.float16).view(np.uint32)

    return combine


def add_bf16_pairs(old: Array, operand: Array) -> Array:
    """Two bf16 sums per dword, each rounded to nearest even; denormals kept."""
    result = np.zeros_like(old)
    for shift in (np.uint32(0), np.uint32(16)):
        a, b = (floats.from_bf16(x >> shift & np.uint32(0xFFFF)) for x in (old, operand))
        result |= floats.to_bf16(a + b) << shift
    return result


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, 0, old + old.dtype.type(1))


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _integer_operations(bits: int) -> dict[str, tuple[type[Any], Callable[..., Array]]]:
    unsigned, signed = np.dtype(f"u{bits // 8}").type, np.dtype(f"i{bits // 8}").type
    return {
        "swap": (unsigned, lambda old, new: new),
        "add": (unsigned, np.add),
        "sub": (unsigned, np.subtract),
        "rsub": (unsigned, lambda old, new: new - old),
        "smin": (signed, np.minimum),
        "umin": (unsigned, np.minimum),
        "smax": (signed, np.maximum),
        "umax": (unsigned, np.maximum),
        "and": (unsigned, np.bitwise_and),
        "or": (unsigned, np.bitwise_or),
        "xor": (unsigned, np.bitwise_xor),
        "inc": (unsigned, _increment),
        "dec": (unsigned, _decrement),
    }


COMBINES: dict[str, Combination] = {
    "cmpswap": Combination(4, 2, _compare_swap),
    "cmpswap_x2": Combination(8, 4, _compare_swap),
    "add_f32": Combination(4, 1, _typed(np.float32, np.add)),
    "add_f64": Combination(8, 2, _typed(np.float64, np.add)),
    "min_f32": Combination(4, 1, _typed(np.float32, floats.minimum)),
    "max_f32": Combination(4, 1, _typed(np.float32, floats.maximum)),
    "min_f64": Combination(8, 2, _typed(np.float64, floats.minimum)),
    "max_f64": Combination(8, 2, _typed(np.float64, floats.maximum)),
    "pk_add_f16": Combination(4, 1, _halves(np.add)),
    "pk_add_bf16": Combination(4, 1, add_bf16_pairs),
}
"""By the name after ``_atomic_``; ``_x2`` works on 8 bytes."""
for _name, (_type, _function) in _integer_operations(32).items():
    COMBINES[_name] = Combination(4, 1, _typed(_type, _function))
for _name, (_type, _function) in _integer_operations(64).items():
    COMBINES[f"{_name}_x2"] = Combination(8, 2, _typed(_type, _function))
