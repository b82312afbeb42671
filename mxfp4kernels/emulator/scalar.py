"""Scalar ALU operations as a table: SOP1 and SOP2 that take numbers to a number and SCC.

Values are arrays shaped [waves, 1]; 64-bit operands have a 64-bit type.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxfp4kernels.emulator.site import Array

U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64
Function = Callable[..., Array]
Rule = Callable[..., Array]
"""SCC from the result and the sources."""


@dataclass(frozen=True)
class ScalarOp:
    """One operation.

    Attributes:
        result: type of the result.
        sources: types of the sources.
        function: arrays to the result.
        scc: SCC from the result and the sources; ``None`` leaves SCC alone.
        modifies: the destination is also the last source.
    """

    result: str
    sources: tuple[str, ...]
    function: Function
    scc: Rule | None = None
    modifies: bool = False


TABLE: dict[str, ScalarOp] = {}


def nonzero(result: Array, *sources: Array) -> Array:
    """SCC of logical operations: the result is not 0."""
    return result != 0


def overflow_add(result: Array, a: Array, b: Array) -> Array:
    """SCC of a signed addition."""
    return ((a ^ result) & (b ^ result)) < 0


def _overflow_subtract(result: Array, a: Array, b: Array) -> Array:
    return ((a ^ b) & (a ^ result)) < 0


def _op(
    name: str, types: str, function: Function, scc: Rule | None = None, modifies: bool = False
) -> None:
    """``types`` reads ``result = source source``."""
    result, sources = types.split("=")
    TABLE[name] = ScalarOp(result.strip(), tuple(sources.split()), function, scc, modifies)


def _amount(n: Array, like: Array) -> Array:
    """A shift amount or bit number modulo the width, in the type of ``like``."""
    return (n & U32(8 * like.dtype.itemsize - 1)).astype(like.dtype)


# ---- arithmetic


def _add_arithmetic() -> None:
    _op("s_add_u32", "u32 = u32 u32", np.add, lambda r, a, b: r < a)
    _op("s_sub_u32", "u32 = u32 u32", np.subtract, lambda r, a, b: a < b)
    _op("s_add_i32", "i32 = i32 i32", np.add, overflow_add)
    _op("s_sub_i32", "i32 = i32 i32", np.subtract, _overflow_subtract)
    for kind in ("u32", "i32"):
        _op(f"s_min_{kind}", f"{kind} = {kind} {kind}", np.minimum, lambda r, a, b: a < b)
        _op(f"s_max_{kind}", f"{kind} = {kind} {kind}", np.maximum, lambda r, a, b: a > b)
    _op("s_mul_i32", "u32 = u32 u32", np.multiply)
    _op("s_mul_hi_u32", "u32 = u32 u32", lambda a, b: (a.astype(U64) * b >> U64(32)).astype(U32))
    _op("s_mul_hi_i32", "i32 = i32 i32", lambda a, b: (a.astype(I64) * b >> I64(32)).astype(I32))
    _op("s_abs_i32", "u32 = i32", lambda x: np.abs(x.astype(I64)).astype(U32), nonzero)
    _op("s_absdiff_i32", "u32 = i32 i32", _absolute_difference, nonzero)
    _op("s_sext_i32_i8", "i32 = u32", lambda x: x.astype(np.int8).astype(I32))
    _op("s_sext_i32_i16", "i32 = u32", lambda x: x.astype(np.int16).astype(I32))
    for n in range(1, 5):
        _op(f"s_lshl{n}_add_u32", "u32 = u32 u32", _shift_add(n), _shift_add_carry(n))


def _absolute_difference(a: Array, b: Array) -> Array:
    return np.abs((a - b).astype(I64)).astype(U32)


def _shift_add(n: int) -> Function:
    return lambda a, b: (a << U32(n)) + b


def _shift_add_carry(n: int) -> Rule:
    return lambda r, a, b: (a.astype(U64) << U64(n)) + b > U64(0xFFFFFFFF)


# ---- logic and shifts

LOGIC: dict[str, Function] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "andn2": lambda a, b: a & ~b,
    "orn2": lambda a, b: a | ~b,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
}


def _field_mask(dtype: type[Any]) -> Function:
    """s_bfm: ``width`` ones from bit ``offset``."""

    def mask(width: Array, offset: Array) -> Array:
        one = dtype(1)
        like = np.empty(0, dtype)
        return (one << _amount(width, like)) - one << _amount(offset, like)

    return mask


def _add_logic(bits: int) -> None:
    b, i, dtype = f"b{bits}", f"i{bits}", np.dtype(f"u{bits // 8}").type
    for name, function in LOGIC.items():
        _op(f"s_{name}_{b}", f"{b} = {b} {b}", function, nonzero)
    _op(f"s_lshl_{b}", f"{b} = {b} u32", lambda a, n: a << _amount(n, a), nonzero)
    _op(f"s_lshr_{b}", f"{b} = {b} u32", lambda a, n: a >> _amount(n, a), nonzero)
    _op(f"s_ashr_{i}", f"{i} = {i} u32", lambda a, n: a >> _amount(n, a), nonzero)
    _op(f"s_mov_{b}", f"{b} = {b}", np.positive)
    _op(f"s_not_{b}", f"{b} = {b}", np.invert, nonzero)
    _op(f"s_bfm_{b}", f"{b} = u32 u32", _field_mask(dtype))
    for kind in (f"u{bits}", i):
        _op(f"s_bfe_{kind}", f"{kind} = {kind} u32", extract_field, nonzero)


def extract_field(x: Array, control: Array) -> Array:
    """s_bfe: ``control[22:16]`` bits from bit ``control[4:0]`` (5:0 for 64 bits), extended."""
    bits = 8 * x.dtype.itemsize
    offset = _amount(control, x)
    width = np.minimum(control >> U32(16) & U32(0x7F), U32(bits)).astype(I64)
    kept = np.minimum(width, bits - offset.astype(I64))
    up = (bits - np.maximum(kept, 1)).astype(x.dtype)
    return np.where(kept > 0, (x >> offset) << up >> up, x.dtype.type(0))


# ---- single bits


def bits_of(x: Array, count: int) -> Array:
    """Bits of [waves, 1] as bool [waves, count], lowest first."""
    return (x >> np.arange(count).astype(x.dtype) & x.dtype.type(1)).astype(np.bool_)


def from_bits(bits: Array, dtype: type[Any]) -> Array:
    """Bool [waves, count], lowest first, as [waves, 1] of an unsigned type."""
    weights = dtype(1) << np.arange(bits.shape[1]).astype(dtype)
    return np.bitwise_or.reduce(np.where(bits, weights, dtype(0)), axis=1, keepdims=True)


def _find(value: bool, bits: int, from_top: bool) -> Function:
    """Position of the first bit equal to ``value`` from one end, -1 if there is none."""

    def find(x: Array) -> Array:
        hits = bits_of(x, bits) == value
        if from_top:
            hits = hits[:, ::-1]
        first = np.argmax(hits, axis=1)[:, None]
        return np.where(hits.any(axis=1)[:, None], first, -1).astype(U32)

    return find


def _find_sign(bits: int) -> Function:
    """Leading bits equal to the sign bit, -1 when all are."""
    find = _find(True, bits, True)
    return lambda x: find(np.where(x < 0, ~x, x).view(f"u{bits // 8}"))


def _set_bit(value: bool) -> Function:
    def change(n: Array, old: Array) -> Array:
        bit = old.dtype.type(1) << _amount(n, old)
        return old | bit if value else old & ~bit

    return change


def _whole_quads(x: Array) -> Array:
    """All four bits of a quad if any is set."""
    bits = bits_of(x, 8 * x.dtype.itemsize)
    quads = np.any(bits.reshape(len(bits), -1, 4), axis=2)
    return from_bits(np.repeat(quads, 4, axis=1), x.dtype.type)


def _quad_mask(x: Array) -> Array:
    """One bit per quad: whether any of its four is set."""
    bits = bits_of(x, 8 * x.dtype.itemsize)
    return from_bits(np.any(bits.reshape(len(bits), -1, 4), axis=2), x.dtype.type)


def _reverse(x: Array) -> Array:
    return from_bits(bits_of(x, 8 * x.dtype.itemsize)[:, ::-1], x.dtype.type)


def _add_bits(bits: int) -> None:
    b = f"b{bits}"
    _op(f"s_bcnt1_i32_{b}", f"u32 = {b}", lambda x: np.bitwise_count(x).astype(U32), nonzero)
    _op(f"s_bcnt0_i32_{b}", f"u32 = {b}", lambda x: np.bitwise_count(~x).astype(U32), nonzero)
    _op(f"s_ff1_i32_{b}", f"u32 = {b}", _find(True, bits, False))
    _op(f"s_ff0_i32_{b}", f"u32 = {b}", _find(False, bits, False))
    _op(f"s_flbit_i32_{b}", f"u32 = {b}", _find(True, bits, True))
    _op(f"s_flbit_i32{'' if bits == 32 else '_i64'}", f"u32 = i{bits}", _find_sign(bits))
    _op(f"s_brev_{b}", f"{b} = {b}", _reverse)
    _op(f"s_bitset0_{b}", f"{b} = u32 {b}", _set_bit(False), modifies=True)
    _op(f"s_bitset1_{b}", f"{b} = u32 {b}", _set_bit(True), modifies=True)
    _op(f"s_wqm_{b}", f"{b} = {b}", _whole_quads, nonzero)
    _op(f"s_quadmask_{b}", f"{b} = {b}", _quad_mask, nonzero)


def _pack(low: int, high: int) -> Function:
    half = U32(0xFFFF)
    return lambda a, b: (a >> U32(low) & half) | (b >> U32(high) & half) << U32(16)


_add_arithmetic()
for _bits in (32, 64):
    _add_logic(_bits)
    _add_bits(_bits)
_op("s_pack_ll_b32_b16", "b32 = b32 b32", _pack(0, 0))
_op("s_pack_lh_b32_b16", "b32 = b32 b32", _pack(0, 16))
_op("s_pack_hh_b32_b16", "b32 = b32 b32", _pack(16, 16))
_op(
    "s_bitreplicate_b64_b32",
    "b64 = b32",
    lambda x: from_bits(np.repeat(bits_of(x, 32), 2, axis=1), U64),
)
