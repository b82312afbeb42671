"""VOP1, VOP2 and VOP3 operations on 16-, 32- and 64-bit numbers, as a table."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.fused import fma
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site
from mxfp4kernels.emulator.vector import VectorOp, build

TABLE: dict[str, VectorOp] = {}

U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64


def _op(name: str, types: str, function: Callable[..., Array], **options: Any) -> None:
    """``types`` reads ``result = source source``."""
    result, sources = types.split("=")
    TABLE[name] = VectorOp(result.strip(), tuple(sources.split()), function, **options)


def _reversed(name: str, types: str, function: Callable[..., Array], **options: Any) -> None:
    wide = options.pop("wide", None)
    swapped = (lambda a, b: wide(b, a)) if wide else None
    _op(name, types, lambda a, b: function(b, a), wide=swapped, **options)


def _wide(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *values: function(*[value.astype(I64) for value in values])


def _exact(result: type[Any], function: Callable[..., Array]) -> Callable[..., Array]:
    """Computed in int64, then wrapped."""
    return lambda *values: function(*[value.astype(I64) for value in values]).astype(result)


def _low(bits: int) -> Callable[[Array], Array]:
    """The low bits of an int64, zero-extended."""
    return lambda x: x & (1 << bits) - 1


def _low_signed(bits: int) -> Callable[[Array], Array]:
    return lambda x: (x & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


# ---- moves and bits


def _bit_reverse(x: Array) -> Array:
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        m, s = U32(mask), U32(shift)
        x = (x >> s & m) | (x & m) << s
    return x >> U32(16) | x << U32(16)


def _first_high(x: Array) -> Array:
    """Leading zeros, -1 for 0: position of the first set bit from the top."""
    exponent = np.frexp(x.astype(np.float64))[1]
    return np.where(x == 0, -1, 32 - exponent).astype(U32)


def _first_high_signed(x: Array) -> Array:
    """Leading bits equal to the sign, -1 when all are."""
    folded = np.where(x < 0, ~x, x).astype(U32)
    return np.where(folded == 0, U32(0xFFFFFFFF), _first_high(folded)).astype(U32)


def _first_low(x: Array) -> Array:
    """Trailing zeros, -1 for 0."""
    lowest = x & (~x + U32(1))
    return np.where(x == 0, -1, np.frexp(lowest.astype(np.float64))[1] - 1).astype(U32)


def _extract(x: Array, offset: Array, width: Array) -> Array:
    mask = (U64(1) << (width & U32(31)).astype(U64)) - U64(1)
    return ((x >> (offset & U32(31))).astype(U64) & mask).astype(U32)


def _extract_signed(x: Array, offset: Array, width: Array) -> Array:
    size = (width & U32(31)).astype(I64)
    field = (x >> (offset & U32(31)).astype(I32)).astype(I64) & (1 << size) - 1
    sign = np.where(size > 0, I64(1) << np.maximum(size - 1, 0), 0)
    return ((field ^ sign) - sign).astype(I32)


def _permute_bytes(high: Array, low: Array, selector: Array) -> Array:
    """v_perm_b32: each selector byte picks one of eight bytes, a sign, 0x00 or 0xff."""
    both = high.astype(U64) << U64(32) | low.astype(U64)
    out = np.zeros(np.broadcast_shapes(both.shape, selector.shape), U32)
    for byte in range(4):
        s = selector >> U32(8 * byte) & U32(0xFF)
        picked = (both >> (np.minimum(s, 7).astype(U64) * U64(8)) & U64(0xFF)).astype(U32)
        for code, bit in ((8, 15), (9, 31), (10, 47), (11, 63)):
            sign = (both >> U64(bit) & U64(1)).astype(U32) * U32(0xFF)
            picked = np.where(s == code, sign, picked)
        picked = np.where(s == 12, U32(0), np.where(s > 12, U32(0xFF), picked))
        out |= picked << U32(8 * byte)
    return out


def _align(unit: int) -> Callable[..., Array]:
    """Bits (unit 1) or bytes (unit 8) out of a 64-bit pair, from the low end."""
    count = U32(32 // unit - 1)

    def align(high: Array, low: Array, amount: Array) -> Array:
        both = high.astype(U64) << U64(32) | low.astype(U64)
        return (both >> ((amount & count) * U32(unit)).astype(U64)).astype(U32)

    return align


def _sad_bytes(width: int) -> Callable[..., Array]:
    mask = U32((1 << width) - 1)

    def sad(a: Array, b: Array, c: Array) -> Array:
        total = c.astype(I64)
        for first in range(0, 32, width):
            x = (a >> U32(first) & mask).astype(I64)
            total = total + np.abs(x - (b >> U32(first) & mask).astype(I64))
        return total.astype(U32)

    return sad


def _masked_sad(a: Array, b: Array, c: Array) -> Array:
    """Bytes of ``b`` that are 0 do not count."""
    total = c.astype(I64)
    for first in range(0, 32, 8):
        x, y = (v >> U32(first) & U32(0xFF) for v in (a, b))
        total = total + np.where(y == 0, 0, np.abs(x.astype(I64) - y.astype(I64)))
    return total.astype(U32)


def _average_bytes(a: Array, b: Array, c: Array) -> Array:
    out = np.zeros(np.broadcast_shapes(a.shape, b.shape, c.shape), U32)
    for first in range(0, 32, 8):
        x, y = (v >> U32(first) & U32(0xFF) for v in (a, b))
        out |= (x + y + (c >> U32(first) & U32(1)) >> U32(1)) << U32(first)
    return out


def _shift(function: Callable[..., Array], bits: int) -> Callable[..., Array]:
    """Shift by the low bits of the amount."""
    return lambda x, amount: function(x, (amount & amount.dtype.type(bits - 1)).astype(x.dtype))


SHIFT_LEFT32 = _shift(np.left_shift, 32)

_op("v_mov_b32", "b32 = b32", np.positive)
_op("v_accvgpr_read_b32", "b32 = b32", np.positive)
_op("v_accvgpr_write_b32", "b32 = b32", np.positive)
_op("v_accvgpr_mov_b32", "b32 = b32", np.positive)
_op("v_mov_b64", "b64 = b64", np.positive)
_op("v_not_b32", "b32 = b32", np.invert)
_op("v_bfrev_b32", "b32 = b32", _bit_reverse)
_op("v_ffbh_u32", "u32 = u32", _first_high)
_op("v_ffbl_b32", "u32 = u32", _first_low)
_op("v_ffbh_i32", "u32 = i32", _first_high_signed)
_op("v_bcnt_u32_b32", "u32 = u32 u32", lambda a, b: np.bitwise_count(a).astype(U32) + b)
_op("v_and_b32", "b32 = b32 b32", np.bitwise_and)
_op("v_or_b32", "b32 = b32 b32", np.bitwise_or)
_op("v_xor_b32", "b32 = b32 b32", np.bitwise_xor)
_op("v_xnor_b32", "b32 = b32 b32", lambda a, b: ~(a ^ b))
_op("v_and_or_b32", "b32 = b32 b32 b32", lambda a, b, c: a & b | c)
_op("v_or3_b32", "b32 = b32 b32 b32", lambda a, b, c: a | b | c)
_op("v_bfi_b32", "b32 = b32 b32 b32", lambda a, b, c: a & b | ~a & c)
_op("v_bfe_u32", "u32 = u32 u32 u32", _extract)
_op("v_bfe_i32", "i32 = i32 u32 u32", _extract_signed)
_op("v_bfm_b32", "b32 = u32 u32", lambda a, b: (U32(1) << (a & U32(31))) - U32(1) << (b & U32(31)))
_op("v_perm_b32", "b32 = b32 b32 b32", _permute_bytes)
_op("v_alignbit_b32", "b32 = b32 b32 u32", _align(1))
_op("v_alignbyte_b32", "b32 = b32 b32 u32", _align(8))
_op("v_lshlrev_b32", "b32 = u32 b32", lambda a, b: SHIFT_LEFT32(b, a))
_op("v_lshrrev_b32", "b32 = u32 u32", lambda a, b: b >> (a & U32(31)))
_op("v_ashrrev_i32", "i32 = u32 i32", lambda a, b: b >> (a & U32(31)).astype(I32))
_op("v_lshlrev_b64", "b64 = u32 b64", lambda a, b: b << (a & U32(63)).astype(U64))
_op("v_lshrrev_b64", "b64 = u32 u64", lambda a, b: b >> (a & U32(63)).astype(U64))
_op("v_ashrrev_i64", "i64 = u32 i64", lambda a, b: b >> (a & U32(63)).astype(I64))
_op("v_lshl_or_b32", "b32 = b32 u32 b32", lambda a, b, c: SHIFT_LEFT32(a, b) | c)
_op("v_lshl_add_u32", "u32 = u32 u32 u32", lambda a, b, c: SHIFT_LEFT32(a, b) + c)
_op("v_add_lshl_u32", "u32 = u32 u32 u32", lambda a, b, c: SHIFT_LEFT32(a + b, c))
_op("v_lshl_add_u64", "u64 = u64 u32 u64", lambda a, b, c: (a << (b & U32(7)).astype(U64)) + c)
_op("v_xad_u32", "u32 = u32 u32 u32", lambda a, b, c: (a ^ b) + c)
_op("v_add3_u32", "u32 = u32 u32 u32", lambda a, b, c: a + b + c)

# ---- integer arithmetic

_op("v_add_u32", "u32 = u32 u32", np.add, wide=_wide(np.add))
_op("v_sub_u32", "u32 = u32 u32", np.subtract, wide=_wide(np.subtract))
_reversed("v_subrev_u32", "u32 = u32 u32", np.subtract, wide=_wide(np.subtract))
_op("v_add_i32", "i32 = i32 i32", np.add, wide=_wide(np.add))
_op("v_sub_i32", "i32 = i32 i32", np.subtract, wide=_wide(np.subtract))
_op("v_max_u32", "u32 = u32 u32", np.maximum)
_op("v_min_u32", "u32 = u32 u32", np.minimum)
_op("v_max_i32", "i32 = i32 i32", np.maximum)
_op("v_min_i32", "i32 = i32 i32", np.minimum)
_op("v_mul_lo_u32", "u32 = u32 u32", np.multiply)
_op("v_mul_hi_u32", "u32 = u32 u32",
    lambda a, b: (a.astype(U64) * b.astype(U64) >> U64(32)).astype(U32))  # fmt: skip
_op("v_mul_hi_i32", "i32 = i32 i32", _exact(I32, lambda a, b: a * b >> 32))


def _add_24_bit(name: str, kind: str, result: type[Any], cut: Callable[[Array], Array]) -> None:
    """Multiplications of the low 24 bits."""

    def product(a: Array, b: Array) -> Array:
        return cut(a) * cut(b)

    def multiply_add(a: Array, b: Array, c: Array) -> Array:
        return cut(a) * cut(b) + c

    pair = f"{kind} = {kind} {kind}"
    _op(f"v_mul_{name}", pair, _exact(result, product), wide=_wide(product))
    _op(f"v_mul_hi_{name}", pair, _exact(result, lambda a, b: product(a, b) >> 32))
    _op(f"v_mad_{name}", f"{pair} {kind}", _exact(result, multiply_add), wide=_wide(multiply_add))


_add_24_bit("u32_u24", "u32", U32, _low(24))
_add_24_bit("i32_i24", "i32", I32, _low_signed(24))
for _k in ("u32", "i32"):
    _types = f"{_k} = {_k} {_k} {_k}"
    _op(f"v_max3_{_k}", _types, lambda a, b, c: np.maximum(np.maximum(a, b), c))
    _op(f"v_min3_{_k}", _types, lambda a, b, c: np.minimum(np.minimum(a, b), c))


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


_op("v_med3_u32", "u32 = u32 u32 u32", _median)
_op("v_med3_i32", "i32 = i32 i32 i32", _median)
_op("v_sad_u8", "u32 = u32 u32 u32", _sad_bytes(8))
_op("v_sad_u16", "u32 = u32 u32 u32", _sad_bytes(16))
_op("v_sad_u32", "u32 = u32 u32 u32", _sad_bytes(32))
_op("v_sad_hi_u8", "u32 = u32 u32 u32", lambda a, b, c: _sad_hi(a, b, c))
_op("v_msad_u8", "u32 = u32 u32 u32", _masked_sad)
_op("v_lerp_u8", "u32 = u32 u32 u32", _average_bytes)


def _sad_hi(a: Array, b: Array, c: Array) -> Array:
    return (_sad_bytes(8)(a, b, np.zeros_like(c)) << U32(16)) + c


# ---- 16-bit integers

for _k in ("u16", "i16"):
    _pair, _three = f"{_k} = {_k} {_k}", f"{_k} = {_k} {_k} {_k}"
    _op(f"v_max_{_k}", _pair, np.maximum)
    _op(f"v_min_{_k}", _pair, np.minimum)
    _op(f"v_max3_{_k}", _three, lambda a, b, c: np.maximum(np.maximum(a, b), c), op_sel=True)
    _op(f"v_min3_{_k}", _three, lambda a, b, c: np.minimum(np.minimum(a, b), c), op_sel=True)
    _op(f"v_med3_{_k}", _three, _median, op_sel=True)
    _op(
        f"v_mad_{_k}", _three, lambda a, b, c: a * b + c, op_sel=True,
        wide=_wide(lambda a, b, c: a * b + c),
    )  # fmt: skip
_op("v_add_u16", "u16 = u16 u16", np.add, wide=_wide(np.add))
_op("v_sub_u16", "u16 = u16 u16", np.subtract, wide=_wide(np.subtract))
_reversed("v_subrev_u16", "u16 = u16 u16", np.subtract, wide=_wide(np.subtract))
_op("v_add_i16", "i16 = i16 i16", np.add, wide=_wide(np.add), op_sel=True)
_op("v_sub_i16", "i16 = i16 i16", np.subtract, wide=_wide(np.subtract), op_sel=True)
_op("v_mul_lo_u16", "u16 = u16 u16", np.multiply)
_op("v_lshlrev_b16", "b16 = u16 b16", lambda a, b: b << (a & np.uint16(15)))
_op("v_lshrrev_b16", "b16 = u16 b16", lambda a, b: b >> (a & np.uint16(15)))
_op("v_ashrrev_i16", "i16 = u16 i16", lambda a, b: b >> (a & np.uint16(15)).astype(np.int16))
_op("v_mad_u32_u16", "u32 = u16 u16 u32", _exact(U32, lambda a, b, c: a * b + c), op_sel=True,
    wide=_wide(lambda a, b, c: a * b + c))  # fmt: skip
_op("v_mad_i32_i16", "i32 = i16 i16 i32", _exact(I32, lambda a, b, c: a * b + c), op_sel=True,
    wide=_wide(lambda a, b, c: a * b + c))  # fmt: skip
_op("v_pack_b32_f16", "b32 = b16 b16", lambda a, b: a.astype(U32) | b.astype(U32) << U32(16),
    op_sel=True)  # fmt: skip
_op("v_sat_pk_u8_i16", "u32 = u32", lambda a: _saturate_bytes(a))


def _saturate_bytes(a: Array) -> Array:
    low, high = (np.clip((a >> U32(s)).astype(np.int16), 0, 255).astype(U32) for s in (0, 16))
    return low | high << U32(8)


# ---- floats

for _k in ("f16", "f32", "f64"):
    _one, _pair, _three = f"{_k} = {_k}", f"{_k} = {_k} {_k}", f"{_k} = {_k} {_k} {_k}"
    _op(f"v_add_{_k}", _pair, np.add)
    _op(f"v_mul_{_k}", _pair, np.multiply)
    _op(f"v_min_{_k}", _pair, floats.minimum)
    _op(f"v_max_{_k}", _pair, floats.maximum)
    _op(f"v_fma_{_k}", _three, fma, op_sel=_k == "f16")
    _op(f"v_trunc_{_k}", _one, np.trunc)
    _op(f"v_ceil_{_k}", _one, np.ceil)
    _op(f"v_rndne_{_k}", _one, np.rint)
    _op(f"v_floor_{_k}", _one, np.floor)
    _op(f"v_fract_{_k}", _one, floats.fraction)
    _op(f"v_frexp_mant_{_k}", _one, floats.frexp_mantissa)
for _k in ("f16", "f32"):
    _pair, _three = f"{_k} = {_k} {_k}", f"{_k} = {_k} {_k} {_k}"
    _op(f"v_sub_{_k}", _pair, np.subtract)
    _reversed(f"v_subrev_{_k}", _pair, np.subtract)
    _op(f"v_max3_{_k}", _three, floats.maximum3, op_sel=_k == "f16")
    _op(f"v_min3_{_k}", _three, floats.minimum3, op_sel=_k == "f16")
    _op(f"v_med3_{_k}", _three, floats.median3, op_sel=_k == "f16")
_op("v_fmac_f32", "f32 = f32 f32 f32", fma, accumulate=True)
_op("v_fmac_f64", "f64 = f64 f64 f64", fma, accumulate=True)
_op("v_fmamk_f32", "f32 = f32 f32 f32", fma)
_op("v_fmaak_f32", "f32 = f32 f32 f32", fma)
_op("v_minimum3_f32", "f32 = f32 f32 f32",
    lambda a, b, c: floats.nan_minimum(floats.nan_minimum(a, b), c))  # fmt: skip
_op("v_maximum3_f32", "f32 = f32 f32 f32",
    lambda a, b, c: floats.nan_maximum(floats.nan_maximum(a, b), c))  # fmt: skip
_op("v_mul_legacy_f32", "f32 = f32 f32", floats.legacy_multiply)
_op("v_ldexp_f16", "f16 = f16 i16", floats.ldexp)
_op("v_ldexp_f32", "f32 = f32 i32", floats.ldexp)
_op("v_ldexp_f64", "f64 = f64 i32", floats.ldexp)
_op("v_frexp_exp_i32_f32", "i32 = f32", floats.frexp_exponent)
_op("v_frexp_exp_i32_f64", "i32 = f64", floats.frexp_exponent)
_op("v_frexp_exp_i16_f16", "i16 = f16", lambda x: floats.frexp_exponent(x).astype(np.int16))

_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "exp": np.exp2,
    "log": np.log2,
    "rcp": lambda x: 1.0 / x,
    "rsq": lambda x: 1.0 / np.sqrt(x),
    "sqrt": np.sqrt,
    "sin": floats.turns(np.sin),
    "cos": floats.turns(np.cos),
}
for _name, _function in _FUNCTIONS.items():
    _op(f"v_{_name}_f32", "f32 = f32", floats.transcendental32(_function))
    _op(f"v_{_name}_f16", "f16 = f16", floats.transcendental16(_function))
for _name in ("rcp", "rsq", "sqrt"):
    _op(f"v_{_name}_f64", "f64 = f64", _FUNCTIONS[_name])
_op("v_rcp_iflag_f32", "f32 = f32", floats.transcendental32(_FUNCTIONS["rcp"]))
_op("v_exp_legacy_f32", "f32 = f32", floats.transcendental32(np.exp2))
_op("v_log_legacy_f32", "f32 = f32", floats.transcendental32(np.log2))

# ---- conversions between numbers


def _byte_to_float(n: int) -> Callable[[Array], Array]:
    return lambda x: (x >> U32(8 * n) & U32(0xFF)).astype(np.float32)


_op("v_cvt_f32_u32", "f32 = u32", lambda x: x.astype(np.float32))
_op("v_cvt_f32_i32", "f32 = i32", lambda x: x.astype(np.float32))
_op("v_cvt_f64_u32", "f64 = u32", lambda x: x.astype(np.float64))
_op("v_cvt_f64_i32", "f64 = i32", lambda x: x.astype(np.float64))
_op("v_cvt_f16_u16", "f16 = u16", lambda x: x.astype(np.float16))
_op("v_cvt_f16_i16", "f16 = i16", lambda x: x.astype(np.float16))
_op("v_cvt_f16_f32", "f16 = f32", floats.to_f16)
_op("v_cvt_f32_f16", "f32 = f16", lambda x: floats.quieted(x).astype(np.float32))
_op("v_cvt_f32_bf16", "f32 = b16", floats.from_bf16)
_op("v_cvt_f32_f64", "f32 = f64", lambda x: x.astype(np.float32))
_op("v_cvt_f64_f32", "f64 = f32", lambda x: x.astype(np.float64))
for _n in range(4):
    _op(f"v_cvt_f32_ubyte{_n}", "f32 = u32", _byte_to_float(_n))
_op("v_cvt_u32_f32", "u32 = f32", lambda x: floats.to_integer(np.trunc(x), U32))
_op("v_cvt_i32_f32", "i32 = f32", lambda x: floats.to_integer(np.trunc(x), I32))
_op("v_cvt_u32_f64", "u32 = f64", lambda x: floats.to_integer(np.trunc(x), U32))
_op("v_cvt_i32_f64", "i32 = f64", lambda x: floats.to_integer(np.trunc(x), I32))
_op("v_cvt_u16_f16", "u16 = f16", lambda x: floats.to_integer(np.trunc(x), np.uint16))
_op("v_cvt_i16_f16", "i16 = f16", lambda x: floats.to_integer(np.trunc(x), np.int16))
_op("v_cvt_rpi_i32_f32", "i32 = f32",
    lambda x: floats.to_integer(np.floor(x.astype(np.float64) + 0.5), I32))  # fmt: skip
_op("v_cvt_flr_i32_f32", "i32 = f32", lambda x: floats.to_integer(np.floor(x), I32))


def _build(site: Site, opcode: str, encoding: str) -> Execute:
    return build(site, TABLE[opcode], encoding)


REGISTRY.add(*TABLE)(_build)
