"""VOP3P: two numbers per instruction, mixed-precision multiply-add, and dot products."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.fused import fma
from mxfp4kernels.emulator.operands import Operand
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import DTYPES, Array, Reader, Site, integer_limits, store32
from mxfp4kernels.emulator.vector import clamp_float, flush, quiet
from mxfp4kernels.emulator.waves import Waves

U32 = np.uint32


@dataclass(frozen=True)
class PackedOp:
    """An operation done on both halves of its operands.

    Attributes:
        kind: type of every element: f16, u16, i16 (two in a register), f32 (a register pair).
        sources: number of sources.
        function: elements to elements.
        wide: in int64, for the integer clamp.
    """

    kind: str
    sources: int
    function: Callable[..., Array]
    wide: Callable[..., Array] | None = None


def _wide(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *values: function(*[value.astype(np.int64) for value in values])


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return a * b + c


TABLE: dict[str, PackedOp] = {
    "v_pk_add_f16": PackedOp("f16", 2, np.add),
    "v_pk_mul_f16": PackedOp("f16", 2, np.multiply),
    "v_pk_min_f16": PackedOp("f16", 2, floats.minimum),
    "v_pk_max_f16": PackedOp("f16", 2, floats.maximum),
    "v_pk_fma_f16": PackedOp("f16", 3, fma),
    "v_pk_minimum3_f16": PackedOp(
        "f16", 3, lambda a, b, c: floats.nan_minimum(floats.nan_minimum(a, b), c)
    ),
    "v_pk_maximum3_f16": PackedOp(
        "f16", 3, lambda a, b, c: floats.nan_maximum(floats.nan_maximum(a, b), c)
    ),
    "v_pk_add_f32": PackedOp("f32", 2, np.add),
    "v_pk_mul_f32": PackedOp("f32", 2, np.multiply),
    "v_pk_fma_f32": PackedOp("f32", 3, fma),
    "v_pk_mov_b32": PackedOp("b32", 2, np.positive),
    "v_pk_mul_lo_u16": PackedOp("u16", 2, np.multiply),
    "v_pk_lshlrev_b16": PackedOp("u16", 2, lambda a, b: b << (a & np.uint16(15))),
    "v_pk_lshrrev_b16": PackedOp("u16", 2, lambda a, b: b >> (a & np.uint16(15))),
    "v_pk_ashrrev_i16": PackedOp("i16", 2, lambda a, b: b >> (a & np.int16(15))),
}
for _k in ("u16", "i16"):
    TABLE |= {
        f"v_pk_add_{_k}": PackedOp(_k, 2, np.add, _wide(np.add)),
        f"v_pk_sub_{_k}": PackedOp(_k, 2, np.subtract, _wide(np.subtract)),
        f"v_pk_mad_{_k}": PackedOp(_k, 3, _multiply_add, _wide(_multiply_add)),
        f"v_pk_min_{_k}": PackedOp(_k, 2, np.minimum),
        f"v_pk_max_{_k}": PackedOp(_k, 2, np.maximum),
    }


def _halves(
    site: Site, operand: Operand, kind: str, picks: tuple[int, int], negate: tuple[int, int]
) -> tuple[Reader, Reader]:
    """Readers of an operand's element for the low and for the high result."""
    low, high = (
        _element(site, operand, kind, bool(pick), bool(sign))
        for pick, sign in zip(picks, negate, strict=True)
    )
    return low, high


def _element(site: Site, operand: Operand, kind: str, high: bool, negate: bool) -> Reader:
    """The low or high element; a constant's high element is its upper half, 0 for a float."""
    dtype = DTYPES[kind]
    if kind[1:] == "32":
        if operand.kind in ("v", "a", "s") and operand.count != 2:
            raise site.fail(f"operand {operand.text} must be 2 registers wide")
        if operand.kind == "constant" and high:
            raise site.fail("the high element of a constant is undefined; it needs op_sel_hi 0")
        raw = site.raw(operand, int(high), kind)
        sign = U32(0x80000000 if negate else 0)
        return lambda w: (raw(w) ^ sign).view(dtype)
    if operand.kind == "constant":
        word = _packed_constant(site, operand, kind)
    else:
        word = site.raw(operand, 0, kind)
    shift, sign16 = U32(16 if high else 0), np.uint16(0x8000 if negate else 0)
    return lambda w: ((word(w) >> shift).astype(np.uint16) ^ sign16).view(dtype)


def _packed_constant(site: Site, operand: Operand, kind: str) -> Reader:
    """A constant as a dword: integers sign-extended to 32 bits, floats in the low half."""
    value = operand.value if isinstance(operand.value, int) else operand.bits("f16")
    word = np.array([[int(value) & 0xFFFFFFFF]], U32)
    if kind[1:] != "16":
        raise site.fail("a packed constant needs 16-bit elements")
    return lambda w: word


@REGISTRY.add(*TABLE)
def _build(site: Site, opcode: str, encoding: str) -> Execute:
    op = TABLE[opcode]
    site.expect(op.sources + 1)
    if opcode == "v_pk_mov_b32":
        return _move(site)
    pick_low, pick_high = (
        site.bits(n, op.sources, d) for n, d in (("op_sel", 0), ("op_sel_hi", 1))
    )
    neg_low, neg_high = (site.bits(n, op.sources, 0) for n in ("neg_lo", "neg_hi"))
    if op.kind[0] != "f" and any(neg_low + neg_high):
        raise site.fail("neg_lo and neg_hi need float elements")
    pairs = [
        _halves(site, operand, op.kind, (pick_low[i], pick_high[i]), (neg_low[i], neg_high[i]))
        for i, operand in enumerate(site.operands[1:])
    ]
    compute = _computer(site, op)
    row = site.vector(0, 2 if op.kind[1:] == "32" else 1, write=True)
    wide = op.kind[1:] == "32"

    def execute(w: Waves) -> None:
        low = compute(w, [pair[0](w) for pair in pairs])
        high = compute(w, [pair[1](w) for pair in pairs])
        if wide:
            store32(w, row, low.view(U32))
            store32(w, row + 1, high.view(U32))
        else:
            bits = (x.view(np.uint16).astype(U32) for x in (low, high))
            store32(w, row, next(bits) | next(bits) << U32(16))

    return execute


def _move(site: Site) -> Execute:
    """v_pk_mov_b32: low from source 0, high from source 1, each picked by its op_sel."""
    picks = site.bits("op_sel", 2, 0)
    site.bits("op_sel_hi", 2, 1)
    readers = [site.raw(o, picks[i]) for i, o in enumerate(site.operands[1:])]
    row = site.vector(0, 2, write=True)

    def execute(w: Waves) -> None:
        low, high = (np.copy(reader(w)) for reader in readers)
        store32(w, row, low)
        store32(w, row + 1, high)

    return execute


def _computer(site: Site, op: PackedOp) -> Callable[[Waves, list[Array]], Array]:
    clamp, kind, function = site.flag("clamp"), op.kind, op.function
    if kind[0] != "f":
        if not clamp:
            return lambda w, values: function(*values)
        wide = op.wide
        if wide is None:
            raise site.fail("clamp is not implemented for this operation")
        limits, dtype = integer_limits(DTYPES[kind]), DTYPES[kind]
        return lambda w, values: np.clip(wide(*values), limits.min, limits.max).astype(dtype)

    def compute(w: Waves, values: list[Array]) -> Array:
        values = [flush(kind, value, w, 1) for value in values]
        result = flush(kind, quiet(function(*values), values), w, 2)
        return clamp_float(result, w) if clamp else result

    return compute


# ---- mixed precision

MIXES = ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16")


@REGISTRY.add(*MIXES)
def _mixed(site: Site, opcode: str, encoding: str) -> Execute:
    """f32 ``a * b + c`` of f32 (op_sel_hi 0) or f16 (1, op_sel picks the half) sources."""
    site.expect(4)
    halves, is_half = site.bits("op_sel", 3, 0), site.bits("op_sel_hi", 3, 0)
    negate, absolute = site.bits("neg_lo", 3, 0), site.bits("neg_hi", 3, 0)
    readers = [
        _mixed_source(site, site.operands[1 + i], bool(is_half[i]), bool(halves[i]))
        for i in range(3)
    ]
    clamp = site.flag("clamp")
    half = None if "mix_" in opcode else "hi" in opcode
    row = site.vector(0, 1, write=True, keep=half is not None)

    def execute(w: Waves) -> None:
        values = []
        for reader, sign, size in zip(readers, negate, absolute, strict=True):
            value = np.abs(reader(w)) if size else reader(w)
            values.append(-value if sign else value)
        result = quiet(fma(*values), values)
        if half is None:
            result = flush("f32", result, w, 2)
            store32(w, row, (clamp_float(result, w) if clamp else result).view(U32))
            return
        narrow = result.astype(np.float16)
        bits = (clamp_float(narrow, w) if clamp else narrow).view(np.uint16).astype(U32)
        old = w.v[row]
        store32(w, row, old & U32(0xFFFF) | bits << U32(16) if half
                else old & U32(0xFFFF0000) | bits)  # fmt: skip

    return execute


def _mixed_source(site: Site, operand: Operand, is_half: bool, high: bool) -> Reader:
    if not is_half:
        return site.read(operand, "f32")
    if operand.kind == "constant":
        read = site.read(operand, "f16")
        return lambda w: read(w).astype(np.float32)
    raw, shift = site.raw(operand, 0), U32(16 if high else 0)
    if operand.negate or operand.absolute:
        raise site.fail("write neg_lo and neg_hi for half-precision sources")
    return lambda w: (raw(w) >> shift).astype(np.uint16).view(np.float16).astype(np.float32)


# ---- dot products


@dataclass(frozen=True)
class DotOp:
    """``c + sum(a_i * b_i)`` over the elements of a dword.

    Attributes:
        element: ``f16``, ``bf16``, or i or u with 4, 8 or 16 bits; a second letter is for ``b``.
        result: type of ``c`` and the result.
        accumulate: ``c`` is the destination.
    """

    element: str
    result: str
    accumulate: bool = False


DOTS = {
    "v_dot2_f32_f16": DotOp("f16", "f32"),
    "v_dot2_f32_bf16": DotOp("bf16", "f32"),
    "v_dot2c_f32_f16": DotOp("f16", "f32", accumulate=True),
    "v_dot2c_f32_bf16": DotOp("bf16", "f32", accumulate=True),
    "v_dot2_i32_i16": DotOp("i16", "i32"),
    "v_dot2_u32_u16": DotOp("u16", "u32"),
    "v_dot4_i32_i8": DotOp("i8", "i32"),
    "v_dot4_u32_u8": DotOp("u8", "u32"),
    "v_dot8_i32_i4": DotOp("i4", "i32"),
    "v_dot8_u32_u4": DotOp("u4", "u32"),
    "v_dot2c_i32_i16": DotOp("i16", "i32", accumulate=True),
    "v_dot4c_i32_i8": DotOp("i8", "i32", accumulate=True),
    "v_dot8c_i32_i4": DotOp("i4", "i32", accumulate=True),
}


def dot_elements(word: Array, element: str) -> list[Array]:
    """The elements of a dword, low first, as int64 or float64."""
    if element in ("f16", "bf16"):
        halves = [word & U32(0xFFFF), word >> U32(16)]
        if element == "bf16":
            return [floats.from_bf16(half).astype(np.float64) for half in halves]
        return [h.astype(np.uint16).view(np.float16).astype(np.float64) for h in halves]
    bits = int(element[1:])
    fields = [
        (word >> U32(first) & U32((1 << bits) - 1)).astype(np.int64) for first in range(0, 32, bits)
    ]
    if element[0] == "u":
        return fields
    return [(field ^ 1 << bits - 1) - (1 << bits - 1) for field in fields]


@REGISTRY.add(*DOTS)
def _dot(site: Site, opcode: str, encoding: str) -> Execute:
    """Float sums are formed in float64 and rounded once; integers wrap, or saturate on clamp."""
    op = DOTS[opcode]
    site.expect(3 if op.accumulate else 4)
    if encoding in ("sdwa", "dpp"):
        raise site.fail(f"{encoding} is not implemented here")
    _only_defaults(site)
    a, b = (site.read(operand, "b32") for operand in site.operands[1:3])
    c = site.read(site.operands[0 if op.accumulate else 3], op.result)
    clamp = site.flag("clamp")
    write = site.write(site.operands[0], op.result)
    dtype = DTYPES[op.result]
    is_float = op.result == "f32"

    def execute(w: Waves) -> None:
        pairs = zip(dot_elements(a(w), op.element), dot_elements(b(w), op.element), strict=True)
        total = sum((x * y for x, y in pairs), c(w).astype(np.float64 if is_float else np.int64))
        if clamp and is_float:
            total = np.clip(total, 0, 1)
        elif clamp:
            limits = integer_limits(dtype)
            total = np.clip(total, limits.min, limits.max)
        write(w, total.astype(dtype))

    return execute


def _only_defaults(site: Site) -> None:
    """Accept neg and op_sel modifiers only where they change nothing."""
    for name, default in (("op_sel", 0), ("op_sel_hi", 1), ("neg_lo", 0), ("neg_hi", 0)):
        if any(bit != default for bit in site.bits(name, 3, default)):
            raise site.fail(f"{name} is not implemented here")
