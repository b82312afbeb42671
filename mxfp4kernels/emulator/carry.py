"""Vector operations that read or write a mask of lanes beside their number: carries, select,
division steps and 64-bit multiply-add."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.fused import fma
from mxfp4kernels.emulator.operands import parse_operand
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site, store32, store64
from mxfp4kernels.emulator.vector import Result, Sources
from mxfp4kernels.emulator.waves import LANES, Waves

VCC_OPERAND = parse_operand("vcc")
I64, U32, U64 = np.int64, np.uint32, np.uint64


@REGISTRY.add("v_cndmask_b32")
def _select(site: Site, opcode: str, encoding: str) -> Execute:
    """The mask is the last operand or VCC; source modifiers act on the f32 sign bit."""
    site.expect(3, 4)
    sources = Sources(site, encoding)
    other, taken = (sources.reader(site.operands[i + 1], "b32", i) for i in range(2))
    mask = site.read_mask(site.operands[3] if len(site.operands) == 4 else VCC_OPERAND)
    result = Result(site, sources, "b32", None)
    return lambda w: result.store(w, np.where(mask(w), taken(w), other(w)))


CARRIES = {
    "v_add_co_u32": (1, 1, False),
    "v_sub_co_u32": (1, -1, False),
    "v_subrev_co_u32": (-1, 1, False),
    "v_addc_co_u32": (1, 1, True),
    "v_subb_co_u32": (1, -1, True),
    "v_subbrev_co_u32": (-1, 1, True),
}
"""Signs of the two sources, and whether a carry (or borrow) comes in."""


@REGISTRY.add(*CARRIES)
def _with_carry(site: Site, opcode: str, encoding: str) -> Execute:
    """Operands: result, carry out, two sources, and carry in for the chained ones."""
    sign_a, sign_b, chained = CARRIES[opcode]
    site.expect(5 if chained else 4)
    sources = Sources(site, encoding)
    a, b = (sources.reader(site.operands[i + 2], "u32", i) for i in range(2))
    carry_in = site.read_mask(site.operands[4]) if chained else None
    carry_out = site.write_mask(site.operands[1])
    result = Result(site, sources, "u32", None)
    carry_sign = 1 if sign_a == sign_b else -1

    def execute(w: Waves) -> None:
        total = sign_a * a(w).astype(I64) + sign_b * b(w).astype(I64)
        if carry_in is not None:
            total = total + carry_sign * carry_in(w).astype(I64)
        total = np.broadcast_to(total, (w.count, LANES))
        carry = ((total < 0) | (total > 0xFFFFFFFF)) & w.lanes
        result.store(w, total.astype(U32))
        carry_out(w, carry)

    return execute


@REGISTRY.add("v_mad_u64_u32", "v_mad_i64_i32")
def _multiply_add(site: Site, opcode: str, encoding: str) -> Execute:
    """64-bit ``a * b + c`` with the carry out of 64 bits."""
    site.expect(5)
    signed = "i64" in opcode
    kind = "i32" if signed else "u32"
    a, b = (site.read(site.operands[i], kind) for i in (2, 3))
    c = site.read(site.operands[4], "i64" if signed else "u64")
    row = site.vector(0, 2, write=True)
    carry_out = site.write_mask(site.operands[1])
    wide = I64 if signed else U64

    def execute(w: Waves) -> None:
        product = a(w).astype(wide) * b(w).astype(wide)
        addend = c(w)
        total = np.broadcast_to(product + addend, (w.count, LANES))
        wrapped = ((product ^ total) & (addend ^ total)) < 0
        overflow = wrapped if signed else total < product
        store64(w, row, total)
        carry_out(w, overflow & w.lanes)

    return execute


# ---- division: scale the operands, refine, undo the scaling


@REGISTRY.add("v_div_scale_f32", "v_div_scale_f64")
def _division_scale(site: Site, opcode: str, encoding: str) -> Execute:
    """Scale source 0 (numerator or denominator) so that the refinement stays in range.

    Source: the pseudo-code of V_DIV_SCALE_F32 and _F64 in AMD's ISA manuals, with one scaling
    turned round (a huge denominator with a denormal quotient), where as printed it overflows.
    """
    site.expect(5)
    kind = opcode[-3:]
    picked, bottom, top = (site.read(site.operands[i], kind) for i in (2, 3, 4))
    row = site.vector(0, 2 if kind == "f64" else 1, write=True)
    mask_out = site.write_mask(site.operands[1])
    shift = 64 if kind == "f32" else 128

    def execute(w: Waves) -> None:
        values = np.broadcast_arrays(picked(w), bottom(w), top(w), np.zeros((w.count, LANES)))
        scaled, post = division_scale(values[0], values[1], values[2], shift)
        (store64 if kind == "f64" else store32)(w, row, scaled.view(f"u{scaled.itemsize}"))
        mask_out(w, post & w.lanes)

    return execute


def division_scale(s0: Array, s1: Array, s2: Array, shift: int) -> tuple[Array, Array]:
    """v_div_scale: the scaled ``s0`` and the lanes whose quotient needs v_div_fmas to rescale."""
    kind = s0.dtype.type
    single = kind is np.float32
    far, low = (96, 23) if single else (768, 53)
    e1, e2 = _exponent_field(s1), _exponent_field(s2)
    denormal1 = (e1 == 0) & (s1 != 0)
    with np.errstate(all="ignore"):
        inverse = 1.0 / s1.astype(np.float64)
        quotient = s2.astype(np.float64) / s1.astype(np.float64)
    smallest = float(np.finfo(kind).smallest_normal)
    tiny_inverse = (np.abs(inverse) < smallest) & (inverse != 0)
    tiny_quotient = (np.abs(quotient) < smallest) & (quotient != 0)
    up = floats.ldexp(s0, np.full(s0.shape, shift))
    down = floats.ldexp(s0, np.full(s0.shape, -shift))
    zero = (s1 == 0) | (s2 == 0)
    is1, is2 = s0 == s1, s0 == s2
    rules = [
        (zero, np.full_like(s0, np.nan), False),
        (e2 - e1 >= far, np.where(is1, up, s0), True),
        (denormal1, up, False),
        (tiny_inverse & tiny_quotient, np.where(is1, down, s0), True),
        (tiny_inverse, down, False),
        (tiny_quotient, np.where(is2, up, s0), True),
        (e2 <= low, up, False),
    ]
    value, post, open_ = s0, np.zeros(s0.shape, np.bool_), np.ones(s0.shape, np.bool_)
    for condition, result, flagged in rules:
        chosen = open_ & condition
        value = np.where(chosen, result, value)
        post |= chosen & flagged
        open_ &= ~condition
    return value, post


def _exponent_field(x: Array) -> Array:
    """The biased exponent of f32 or f64, int64."""
    if x.dtype == np.float32:
        return (x.view(U32) >> U32(23) & U32(0xFF)).astype(I64)
    return (x.view(U64) >> U64(52) & U64(0x7FF)).astype(I64)


@REGISTRY.add("v_div_fmas_f32", "v_div_fmas_f64")
def _division_fma(site: Site, opcode: str, encoding: str) -> Execute:
    """``fma``, and in the lanes that VCC marks the scaling of v_div_scale undone: the quotient was
    made smaller if it is still above 1, else larger, by 2**64 (f32) or 2**128 (f64)."""
    site.expect(4)
    kind = opcode[-3:]
    readers = [site.read(operand, kind) for operand in site.operands[1:]]
    write = site.write(site.operands[0], kind)
    mask = site.read_mask(VCC_OPERAND)
    power = 64 if kind == "f32" else 128

    def execute(w: Waves) -> None:
        values = [reader(w) for reader in readers]
        value = fma(*values)
        shift = np.where(np.abs(values[2]) >= 2, power, -power)
        write(w, np.where(mask(w), floats.ldexp(value, shift), value))

    return execute


@REGISTRY.add("v_div_fixup_f16", "v_div_fixup_f32", "v_div_fixup_f64")
def _division_fixup(site: Site, opcode: str, encoding: str) -> Execute:
    """Put the special cases of ``numerator / denominator`` over the refined quotient."""
    site.expect(4)
    kind = opcode[-3:]
    readers = [site.read(operand, kind) for operand in site.operands[1:]]
    write = site.write(site.operands[0], kind)
    return lambda w: write(w, division_fixup(*[reader(w) for reader in readers]))


def division_fixup(quotient: Array, bottom: Array, top: Array) -> Array:
    """v_div_fixup: the quotient with zero, infinite, NaN and out-of-range cases put right."""
    kind = quotient.dtype.type
    info = np.finfo(kind)
    negative = np.signbit(bottom) ^ np.signbit(top)
    sign = np.where(negative, kind(-1), kind(1))
    e_top = floats.frexp_exponent(top).astype(I64)
    e_bottom = floats.frexp_exponent(bottom).astype(I64)
    bits = info.bits
    under = {16: -26, 32: -151, 64: -1076}[bits]  # below half the smallest denormal
    over = {16: 17, 32: 129, 64: 1025}[bits]  # at least twice the largest binade
    finite = np.isfinite(top) & np.isfinite(bottom) & (top != 0) & (bottom != 0)
    value = np.copysign(np.abs(quotient), sign)
    value = np.where(finite & (e_top - e_bottom <= under), sign * kind(0), value)
    value = np.where(finite & (e_top - e_bottom >= over), sign * kind(np.inf), value)
    value = np.where(np.isinf(bottom) | (top == 0), sign * kind(0), value)
    value = np.where(np.isinf(top) | (bottom == 0), sign * kind(np.inf), value)
    invalid = ((top == 0) & (bottom == 0)) | (np.isinf(top) & np.isinf(bottom))
    value = np.where(invalid, -kind(np.nan), value)
    value = np.where(np.isnan(bottom), floats.quieted(bottom), value)
    return np.where(np.isnan(top), floats.quieted(top), value)
