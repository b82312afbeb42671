"""Scaled matrix multiply-add: v_mfma_scale_f32_{16x16x128,32x32x64}_f8f6f4 and the unscaled forms.

Lane map. One instruction multiplies A [M, K] by B [K, N] and adds C [M, N]. Lane ``l`` holds row
``l % M`` of A (column ``l % N`` of B); with ``g = l // M`` it holds elements ``32 g`` to
``32 g + 31`` along K for FP4 and FP6, and for FP8 16 from ``16 g`` on and 16 from ``K / 2 + 16 g``
on. The scale operand of that lane belongs to elements ``32 g`` to ``32 g + 31`` of its row. Result
register ``v`` of lane ``l`` is column ``l % N`` and row ``4 (l // 16) + v`` (16x16) or
``8 (v // 4) + 4 (l // 32) + v % 4`` (32x32). Source: AMD CDNA4 ISA manual, matrix layouts; for FP8,
AMD's published CDNA4 matrix-core example.

Order of accumulation. The manual does not define it. Here the 32 products that share two scales
are summed exactly (for FP4 they are integers below 2**13 in units of 1/4), the scaled block sums
are added in float64 in ascending order of K, then C, and the total is rounded once to f32. The
result is therefore the correctly rounded exact sum whenever the block sums and C span fewer than 53
bits, and within one unit of it otherwise. No verdict rests on the order: comparisons with a
reference allow for the f32 rounding of every instruction, and comparisons between flag settings
hold exactly when both run the same instructions on the same operands, whatever the order inside
one instruction is.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator import floats, tile
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site
from mxfp4kernels.emulator.waves import LANES, Waves

BLOCK = 32
"""Elements along K that share a scale."""
FP4 = 4


def _float6(exponent_bits: int, bias: int) -> npt.NDArray[np.float64]:
    """E2M3 or E3M2 code to value; no infinities, no NaNs. Source: OCP MX v1.0, 5.3.2."""
    m = 5 - exponent_bits
    code = np.arange(64)
    exponent, mantissa = (code & 31) >> m, code & (1 << m) - 1
    size = np.where(
        exponent == 0,
        np.ldexp(mantissa / (1 << m), 1 - bias),
        np.ldexp(1 + mantissa / (1 << m), exponent - bias),
    )
    return np.where(code & 32, -size, size)


@dataclass(frozen=True)
class ElementFormat:
    """An element type: bits, decoded values by code, VGPRs per operand."""

    bits: int
    values: npt.NDArray[np.float64]

    @property
    def registers(self) -> int:
        """VGPRs that hold a lane's 32 elements."""
        return self.bits


FORMATS = (
    ElementFormat(8, floats.FP8.values),
    ElementFormat(8, floats.BF8.values),
    ElementFormat(6, _float6(2, 1)),
    ElementFormat(6, _float6(3, 3)),
    ElementFormat(4, floats.E2M1_VALUES),
)
"""By the number in cbsz (A) and blgp (B)."""


def scales(w: Waves, word: Array, byte: int, rows: int) -> npt.NDArray[np.float64]:
    """Scales of one operand, float64 [waves, blocks, rows]."""
    codes = np.broadcast_to(word >> np.uint32(8 * byte) & np.uint32(0xFF), (w.count, LANES))
    return floats.E8M0_VALUES[codes].reshape(w.count, LANES // rows, rows)


def elements(words: Array, bits: int) -> npt.NDArray[np.intp]:
    """Registers [bits, waves, 64] to the codes of each lane's 32 elements, [waves, 64, 32]."""
    packed = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(np.uint8)
    if bits == 8:
        return packed.astype(np.intp)
    stream = np.unpackbits(packed, axis=-1, bitorder="little")
    fields = stream.reshape(*packed.shape[:2], BLOCK, bits)
    return fields @ (1 << np.arange(bits))


def matrix(words: Array, form: ElementFormat, rows: int) -> npt.NDArray[np.float64]:
    """An operand as float64 [waves, rows, K], by the lane map."""
    values = form.values[elements(words, form.bits)]
    groups = LANES // rows
    by_group = values.reshape(-1, groups, rows, BLOCK)
    if form.bits == 8:
        halves = by_group.reshape(-1, groups, rows, 2, BLOCK // 2)
        return halves.transpose(0, 2, 3, 1, 4).reshape(-1, rows, groups * BLOCK)
    return by_group.transpose(0, 2, 1, 3).reshape(-1, rows, groups * BLOCK)


def result_rows(rows: int) -> npt.NDArray[np.int64]:
    """Row of result register ``v`` in lane ``l``, int64 [registers, 64]."""
    v = np.arange(rows * rows // LANES)[:, None]
    lane = np.arange(LANES)[None, :]
    if rows == 16:
        return 4 * (lane // 16) + v
    return 8 * (v // 4) + 4 * (lane // 32) + v % 4


def general(a: Array, b: Array, scale_a: Array, scale_b: Array) -> npt.NDArray[np.float64]:
    """``A B`` block by block, float64 [waves, rows of A, rows of B].

    Args:
        a, b: float64 [waves, rows, K].
        scale_a, scale_b: float64 [waves, blocks, rows].
    """
    total = np.zeros((len(a), a.shape[1], b.shape[1]))
    for block in range(a.shape[2] // BLOCK):
        span = slice(BLOCK * block, BLOCK * (block + 1))
        sums = a[:, :, span] @ b[:, :, span].transpose(0, 2, 1)
        total += sums * (scale_a[:, block, :, None] * scale_b[:, block, None, :])
    return total


Source = Callable[[Waves], Array]


def _scale_reader(site: Site, index: int) -> tuple[Source, int]:
    """Scale operand ``index`` (0 for A, 1 for B) and the byte of it that op_sel picks.

    Without op_sel_hi its bits are 0, other than in packed arithmetic.
    """
    low = site.bits("op_sel", 3, 0)[index]
    high = site.bits("op_sel_hi", 3, 0)[index]
    operand = site.operands[4 + index]
    if operand.kind != "v":
        raise site.fail(f"operand {operand.text} must be a VGPR")
    return site.read(operand, "b32"), low + 2 * high


def _one(w: Waves) -> Array:
    return np.full((1, 1), 127, np.uint32)


def _c_reader(site: Site, registers: int) -> Source:
    """The accumulator input as float32, broadcastable to [registers, waves, 64]."""
    operand = site.operands[3]
    if operand.kind == "constant":
        value = site.read(operand, "f32")
        return lambda w: value(w)[None]
    row = site.vector(3, registers, read=True)
    return lambda w: w.vf[row : row + registers]


@REGISTRY.add(
    "v_mfma_scale_f32_16x16x128_f8f6f4",
    "v_mfma_scale_f32_32x32x64_f8f6f4",
    "v_mfma_f32_16x16x128_f8f6f4",
    "v_mfma_f32_32x32x64_f8f6f4",
)
def _build(site: Site, opcode: str, encoding: str) -> Execute:
    scaled = "_scale_" in opcode
    site.expect(6 if scaled else 4)
    rows = 16 if "_16x16x" in opcode else 32
    registers = rows * rows // LANES
    numbers = [site.number("cbsz"), site.number("blgp")]
    for number in numbers:
        if not 0 <= number < len(FORMATS):
            raise site.fail(f"element format {number} is none of 0..{len(FORMATS) - 1}")
    forms = [FORMATS[number] for number in numbers]
    a, b = (site.vector(1 + i, form.registers, read=True) for i, form in enumerate(forms))
    c = _c_reader(site, registers)
    scale = [_scale_reader(site, i) if scaled else (_one, 0) for i in range(2)]
    destination = site.vector(0, registers, write=True)
    if rows == 16 and numbers == [FP4, FP4]:
        return _fast(a, b, c, scale, destination)
    lane_rows, columns = result_rows(rows), np.arange(LANES) % rows

    def execute(w: Waves) -> None:
        wide = [w.v[at : at + f.registers] for at, f in zip((a, b), forms, strict=True)]
        x, y = (matrix(v, f, rows) for v, f in zip(wide, forms, strict=True))
        left, right = (scales(w, read(w), byte, rows) for read, byte in scale)
        total = general(x, y, left, right)
        # [registers, waves, 64]: MFMA ignores EXEC.
        summed = total[:, lane_rows, columns].transpose(1, 0, 2) + c(w)
        w.vf[destination : destination + registers] = summed.astype(np.float32)

    return execute


def _fast(a: int, b: int, c: Source, scale: Sequence[tuple[Source, int]], row: int) -> Execute:
    """FP4 by FP4, 16x16x128, in one compiled call."""
    (scale_a, byte_a), (scale_b, byte_b) = scale
    shifts = (8 * byte_a, 8 * byte_b)

    def execute(w: Waves) -> None:
        lanes = w.count * LANES
        addend = np.ascontiguousarray(np.broadcast_to(c(w), (4, w.count, LANES)))
        # All sources are read before the first result is written: the destination may overlap them.
        result = np.empty((4, lanes), np.float32)
        tile.multiply_fp4(
            w.v[a : a + 4].reshape(4, lanes),
            w.v[b : b + 4].reshape(4, lanes),
            _per_lane(scale_a(w), w),
            _per_lane(scale_b(w), w),
            shifts,
            floats.E8M0_VALUES,
            addend.reshape(4, lanes),
            result,
        )
        w.vf[row : row + 4] = result.reshape(4, w.count, LANES)

    return execute


def _per_lane(words: Array, w: Waves) -> Array:
    """Scale words as one flat array, uint32 [waves * 64]."""
    return np.ascontiguousarray(np.broadcast_to(words, (w.count, LANES))).reshape(-1)
