"""Matrix multiply-add without scales: one block of f16, bf16, fp8, i8 or f32 elements.

Lane map: lane ``l`` holds row ``l % M`` of A (column of B) and, of the K elements along it, the
``K M / 64`` consecutive ones from ``l // M`` times that number on; results as in
:mod:`~mxfp4kernels.emulator.mfma`. Source: AMD CDNA3 and CDNA4 ISA manuals, matrix layouts. Float
sums are formed in float64 and rounded once to f32; integer ones wrap. The forms with several blocks
per instruction, the sparse ones and f64 are not implemented.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.mfma import result_rows
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site
from mxfp4kernels.emulator.waves import LANES, Waves

Decode = Callable[[Array], Array]
"""Elements as stored (unsigned) to float64 or int64."""

KINDS: dict[str, tuple[int, Decode]] = {
    "f16": (16, lambda x: x.view(np.float16).astype(np.float64)),
    "bf16": (16, lambda x: floats.from_bf16(x).astype(np.float64)),
    "fp8": (8, floats.FP8.decode),
    "bf8": (8, floats.BF8.decode),
    "i8": (8, lambda x: x.view(np.int8).astype(np.int64)),
    "f32": (32, lambda x: x.view(np.float32).astype(np.float64)),
}
"""Bits per element and how they are read."""

SHAPES = {
    "f16": ("16x16x16", "16x16x32", "32x32x8", "32x32x16"),
    "bf16": ("16x16x16", "16x16x32", "32x32x8", "32x32x16"),
    "i8": ("16x16x32", "16x16x64", "32x32x16", "32x32x32"),
    "f32": ("16x16x4", "32x32x2"),
}
FORMS: dict[str, tuple[int, int, str, str]] = {}
"""Opcode to rows, depth, and the element kinds of A and B."""


def _add(opcode: str, shape: str, a: str, b: str) -> None:
    rows, _, depth = (int(part) for part in shape.split("x"))
    FORMS[opcode] = (rows, depth, a, b)


def _add_forms() -> None:
    for kind, shapes in SHAPES.items():
        for shape in shapes:
            result = "i32" if kind == "i8" else "f32"
            _add(f"v_mfma_{result}_{shape}_{kind}", shape, kind, kind)
            _add(f"v_mfma_{result}_{shape}{kind}", shape, kind, kind)
    for shape in ("16x16x16", "32x32x8"):
        _add(f"v_mfma_f32_{shape}bf16_1k", shape, "bf16", "bf16")
    for a in ("fp8", "bf8"):
        for b in ("fp8", "bf8"):
            for shape in ("16x16x32", "32x32x16"):
                _add(f"v_mfma_f32_{shape}_{a}_{b}", shape, a, b)


_add_forms()


def matrix(words: Array, kind: str, rows: int) -> Array:
    """Registers [dwords, waves, 64] to a matrix [waves, rows, K], by the lane map."""
    bits, decode = KINDS[kind]
    stored = np.ascontiguousarray(np.moveaxis(words, 0, -1)).view(f"u{bits // 8}")
    values = decode(stored)
    groups = LANES // rows
    by_group = values.reshape(len(values), groups, rows, -1)
    return by_group.transpose(0, 2, 1, 3).reshape(len(values), rows, -1)


@REGISTRY.add(*FORMS)
def _build(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(4)
    rows, depth, *kinds = FORMS[opcode]
    if any(site.number(name) for name in ("cbsz", "abid", "blgp")):
        raise site.fail("broadcasts and permutations (cbsz, abid, blgp) are not implemented here")
    registers = rows * rows // LANES
    dwords = [depth * rows // LANES * KINDS[kind][0] // 32 for kind in kinds]
    a, b = (site.vector(1 + i, count, read=True) for i, count in enumerate(dwords))
    result = np.int32 if kinds[0] == "i8" else np.float32
    operand = site.operands[3]
    if operand.kind == "constant":
        constant = site.read(operand, "i32" if kinds[0] == "i8" else "f32")
        c = -1
    else:
        c = site.vector(3, registers, read=True)
    destination = site.vector(0, registers, write=True)
    lane_rows, columns = result_rows(rows), np.arange(LANES) % rows

    def execute(w: Waves) -> None:
        x = matrix(w.v[a : a + dwords[0]], kinds[0], rows)
        y = matrix(w.v[b : b + dwords[1]], kinds[1], rows)
        product = (x @ y.transpose(0, 2, 1))[:, lane_rows, columns].transpose(1, 0, 2)
        addend = constant(w) if c < 0 else w.v[c : c + registers].view(result)
        total = (product + addend).astype(result)
        w.v[destination : destination + registers] = total.view(np.uint32)

    return execute
