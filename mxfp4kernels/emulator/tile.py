"""The compiled inner kernel of the FP4 matrix instruction, 16x16x128.

It carries most of an emulated GEMM's work, so its innermost step, the decoding and the 16x16 sums
of one block of K, is written in LLVM's vector types: the loop vectoriser does not find that form
by itself. LLVM splits the vectors into whatever the host has. Every f32 sum is an integer below
2**13, hence exact, so neither contraction nor order matters there; the f64 part runs in ascending
order of K.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic

ROWS = 16
LANES = 64
MAGNITUDES = 0xC8643210
"""Twice the E2M1 magnitudes 0, 1/2, 1, 3/2, 2, 3, 4, 6, four bits each by code."""
CODES_PER_DWORD = 8
DWORDS = 4

WORDS = ir.VectorType(ir.IntType(32), ROWS)
FLOATS = ir.VectorType(ir.FloatType(), ROWS)
DOUBLES = ir.VectorType(ir.DoubleType(), ROWS)


@intrinsic
def _add_block(
    typing_context: Any, a: Any, b: Any, at: Any, x: Any, y: Any, total: Any
) -> Any:  # pragma: no cover - compiled
    """``total[16 r + c] += x[r] * y[c] * sum over k of 2 A[r, k] * 2 B[c, k]``.

    ``a`` and ``b`` are uint32 [4, lanes]; lanes ``at .. at + 15`` hold 32 elements of 16 rows each.
    ``x`` and ``y`` are float64 [16], ``total`` float64 [256]. All are C-contiguous.
    """
    signature = types.void(a, b, at, x, y, total)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def array(index: int) -> Any:
            kind = context.make_array(signature.args[index])
            return kind(context, builder, arguments[index])

        stride = builder.extract_value(array(0).shape, 1)
        sums = _sums(builder, array(0).data, array(1).data, arguments[2], stride)
        rows, columns = (_load(builder, array(i).data, _index(0), DOUBLES) for i in (3, 4))
        for r, value in enumerate(sums):
            target = builder.gep(array(5).data, [_index(ROWS * r)])
            place = builder.bitcast(target, DOUBLES.as_pointer())
            scale = builder.fmul(_spread(builder, rows, r, DOUBLES), columns)
            scaled = builder.fmul(scale, builder.fpext(value, DOUBLES))
            before = builder.load(place, align=8)
            builder.store(builder.fadd(before, scaled), place, align=8)
        return impl_ret_untracked(  # type: ignore[no-untyped-call]
            context, builder, signature.return_type, context.get_dummy_value()
        )

    return signature, generate


def _index(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


def _all(value: int) -> Any:
    return ir.Constant(WORDS, [value] * ROWS)


def _load(builder: Any, base: Any, position: Any, vector: Any) -> Any:
    """Sixteen consecutive elements from ``base[position]`` on."""
    pointer = builder.bitcast(builder.gep(base, [position]), vector.as_pointer())
    return builder.load(pointer, align=4)


def _spread(builder: Any, vector: Any, lane: int, kind: Any) -> Any:
    """One lane of a vector in all lanes."""
    return builder.shuffle_vector(vector, ir.Constant(kind, ir.Undefined), _all(lane))


def _decode(builder: Any, words: Any, n: int) -> Any:
    """Element ``n`` of sixteen dwords of E2M1 codes, as twice its value in f32."""
    code = builder.lshr(words, _all(4 * n))
    place = builder.shl(builder.and_(code, _all(7)), _all(2))
    size = builder.and_(builder.lshr(_all(MAGNITUDES), place), _all(15))
    sign = builder.shl(builder.and_(code, _all(8)), _all(28))
    bits = builder.bitcast(builder.sitofp(size, FLOATS), WORDS)
    return builder.bitcast(builder.or_(bits, sign), FLOATS)


def _sums(builder: Any, a: Any, b: Any, position: Any, stride: Any) -> list[Any]:
    """Row ``r`` of the block's sums, as vectors over the columns."""
    sums: list[Any] = [ir.Constant(FLOATS, [0.0] * ROWS) for _ in range(ROWS)]
    for _ in range(DWORDS):
        row_words, column_words = (_load(builder, base, position, WORDS) for base in (a, b))
        for n in range(CODES_PER_DWORD):
            rows = _decode(builder, row_words, n)
            columns = _decode(builder, column_words, n)
            for r in range(ROWS):
                spread = _spread(builder, rows, r, FLOATS)
                product = builder.fmul(spread, columns, flags=("contract",))
                sums[r] = builder.fadd(sums[r], product, flags=("contract",))
        position = builder.add(position, stride)
    return sums


@numba.njit(cache=True, nogil=True)
def multiply_fp4(
    a: npt.NDArray[np.uint32],
    b: npt.NDArray[np.uint32],
    scale_a: npt.NDArray[np.uint32],
    scale_b: npt.NDArray[np.uint32],
    shifts: tuple[int, int],
    powers: npt.NDArray[np.float64],
    c: npt.NDArray[np.float32],
    d: npt.NDArray[np.float32],
) -> None:  # pragma: no cover - compiled
    """``d = a b + c`` for every wave, blocks scaled.

    Args:
        a, b: uint32 [4, waves * 64], packed E2M1.
        scale_a, scale_b: uint32 [waves * 64], the scale operands.
        shifts: first bit of the E8M0 byte in each.
        powers: float64 [256], the value of each E8M0 code.
        c, d: float32 [4, waves * 64]; may be the same array.
    """
    total = np.empty(ROWS * ROWS, np.float64)
    x, y = np.empty(ROWS, np.float64), np.empty(ROWS, np.float64)
    for wave in range(0, a.shape[1], LANES):
        total[:] = 0
        for block in range(wave, wave + LANES, ROWS):
            for r in range(ROWS):
                x[r] = 0.25 * powers[scale_a[block + r] >> np.uint32(shifts[0]) & np.uint32(255)]
                y[r] = powers[scale_b[block + r] >> np.uint32(shifts[1]) & np.uint32(255)]
            _add_block(a, b, block, x, y, total)  # type: ignore[call-arg]
        for v in range(4):
            for lane in range(LANES):
                addend = np.float64(c[v, wave + lane])
                row = 4 * (lane // ROWS) + v
                d[v, wave + lane] = np.float32(total[ROWS * row + lane % ROWS] + addend)
