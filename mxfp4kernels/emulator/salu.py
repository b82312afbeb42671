"""Scalar ALU: SOP1, SOP2, SOPC and SOPK.

Values are arrays shaped [waves, 1]; SCC is bool of that shape.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxfp4kernels.emulator.operands import Operand
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import DTYPES, Array, Reader, Site
from mxfp4kernels.emulator.waves import EXEC, M0, Waves

U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64


@dataclass(frozen=True)
class ScalarOp:
    """One operation.

    Attributes:
        result: type of the result.
        sources: types of the sources.
        function: arrays to the result.
        scc: ``None`` leaves SCC alone; ``"nonzero"`` sets it when the result is not 0; otherwise
            a function of the result and the sources.
    """

    result: str
    sources: tuple[str, ...]
    function: Callable[..., Array]
    scc: str | Callable[..., Array] | None = None


TABLE: dict[str, ScalarOp] = {}
COMPARE: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {}


def _op(name: str, types: str, function: Callable[..., Array], scc: Any = None) -> None:
    result, sources = types.split("=")
    TABLE[name] = ScalarOp(result.strip(), tuple(sources.split()), function, scc)


def _mask(bits: int) -> Callable[[Array], Array]:
    return lambda amount: amount & U32(bits - 1)


def _carry_add(result: Array, a: Array, b: Array) -> Array:  # noqa: ARG001
    return result < a


def _borrow(result: Array, a: Array, b: Array) -> Array:  # noqa: ARG001
    return a < b


def _overflow_add(result: Array, a: Array, b: Array) -> Array:
    return ((a ^ result) & (b ^ result)) < 0


def _overflow_sub(result: Array, a: Array, b: Array) -> Array:
    return ((a ^ b) & (a ^ result)) < 0


_op("s_add_u32", "u32 = u32 u32", np.add, _carry_add)
_op("s_sub_u32", "u32 = u32 u32", np.subtract, _borrow)
_op("s_add_i32", "i32 = i32 i32", np.add, _overflow_add)
_op("s_sub_i32", "i32 = i32 i32", np.subtract, _overflow_sub)
_op("s_min_u32", "u32 = u32 u32", np.minimum, lambda r, a, b: a < b)
_op("s_max_u32", "u32 = u32 u32", np.maximum, lambda r, a, b: a > b)
_op("s_min_i32", "i32 = i32 i32", np.minimum, lambda r, a, b: a < b)
_op("s_max_i32", "i32 = i32 i32", np.maximum, lambda r, a, b: a > b)
_op("s_mul_i32", "u32 = u32 u32", np.multiply)
_op("s_mul_hi_u32", "u32 = u32 u32", lambda a, b: (a.astype(U64) * b >> U64(32)).astype(U32))
_op("s_mul_hi_i32", "i32 = i32 i32", lambda a, b: (a.astype(I64) * b >> I64(32)).astype(I32))
for _n in range(1, 5):
    _op(
        f"s_lshl{_n}_add_u32", "u32 = u32 u32",
        lambda a, b, n=U32(_n): (a << n) + b,
        lambda r, a, b, n=U64(_n): (a.astype(U64) << n) + b > U64(0xFFFFFFFF),
    )  # fmt: skip

for _width in (32, 64):
    _k, _t = f"b{_width}", np.dtype(f"u{_width // 8}").type
    _two, _one = f"{_k} = {_k} {_k}", f"{_k} = {_k}"
    _bits = _mask(_width)
    _logic: dict[str, Callable[[Array, Array], Array]] = {
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
        "andn2": lambda a, b: a & ~b,
        "orn2": lambda a, b: a | ~b,
        "nand": lambda a, b: ~(a & b),
        "nor": lambda a, b: ~(a | b),
        "xnor": lambda a, b: ~(a ^ b),
    }
    for _name, _function in _logic.items():
        _op(f"s_{_name}_{_k}", _two, _function, "nonzero")
    _op(f"s_lshl_{_k}", f"{_k} = {_k} u32", lambda a, n, m=_bits, t=_t: a << m(n).astype(t),
        "nonzero")  # fmt: skip
    _op(f"s_lshr_{_k}", f"{_k} = {_k} u32", lambda a, n, m=_bits, t=_t: a >> m(n).astype(t),
        "nonzero")  # fmt: skip
    _op(f"s_ashr_i{_width}", f"i{_width} = i{_width} u32",
        lambda a, n, m=_bits: a >> m(n).astype(a.dtype), "nonzero")  # fmt: skip
    _op(f"s_mov_{_k}", _one, np.positive)
    _op(f"s_not_{_k}", _one, np.invert, "nonzero")
    _op(f"s_bfm_{_k}", f"{_k} = u32 u32",
        lambda n, o, m=_bits, t=_t: (t(1) << m(n).astype(t)) - t(1) << m(o).astype(t))  # fmt: skip
    _op(f"s_bcnt1_i32_{_k}", f"u32 = {_k}", lambda a: np.bitwise_count(a).astype(U32), "nonzero")
    _op(f"s_bcnt0_i32_{_k}", f"u32 = {_k}", lambda a: np.bitwise_count(~a).astype(U32), "nonzero")


def _bits_of(x: Array, count: int) -> Array:
    """Bits of [waves, 1] as bool [waves, count], lowest first."""
    return (x >> np.arange(count).astype(x.dtype) & x.dtype.type(1)).astype(np.bool_)


def _from_bits(bits: Array, dtype: type[Any]) -> Array:
    weights = dtype(1) << np.arange(bits.shape[1]).astype(dtype)
    return np.bitwise_or.reduce(np.where(bits, weights, dtype(0)), axis=1, keepdims=True)


def _find(value: bool, count: int, from_top: bool) -> Callable[[Array], Array]:
    """Position of the first bit equal to ``value`` from one end, -1 if there is none."""

    def find(x: Array) -> Array:
        hits = _bits_of(x, count) == value
        if from_top:
            hits = hits[:, ::-1]
        first = np.argmax(hits, axis=1)[:, None]
        return np.where(hits.any(axis=1)[:, None], first, -1).astype(U32)

    return find


def _find_sign(count: int) -> Callable[[Array], Array]:
    """Leading bits equal to the sign bit, -1 when all are."""
    find = _find(True, count, True)
    return lambda x: find(np.where(x < 0, ~x, x).view(f"u{count // 8}"))


for _width in (32, 64):
    _k = f"b{_width}"
    _op(f"s_ff1_i32_{_k}", f"u32 = {_k}", _find(True, _width, False))
    _op(f"s_ff0_i32_{_k}", f"u32 = {_k}", _find(False, _width, False))
    _op(f"s_flbit_i32_{_k}", f"u32 = {_k}", _find(True, _width, True))
    _op(f"s_flbit_i32{'' if _width == 32 else '_i64'}", f"u32 = i{_width}", _find_sign(_width))
    _op(f"s_brev_{_k}", f"{_k} = {_k}",
        lambda x, n=_width, t=np.dtype(f"u{_width // 8}").type:
        _from_bits(_bits_of(x, n)[:, ::-1], t))  # fmt: skip
    _op(f"s_bitset0_{_k}", f"{_k} = u32 {_k}",
        lambda n, d, m=_mask(_width): d & ~(d.dtype.type(1) << m(n).astype(d.dtype)))  # fmt: skip
    _op(f"s_bitset1_{_k}", f"{_k} = u32 {_k}",
        lambda n, d, m=_mask(_width): d | d.dtype.type(1) << m(n).astype(d.dtype))  # fmt: skip


def _any_in_groups(size: int, count: int) -> Callable[[Array], Array]:
    def whole(x: Array) -> Array:
        bits = _bits_of(x, count)
        groups = bits.reshape(len(bits), -1, size).any(axis=2)
        return _from_bits(np.repeat(groups, size, axis=1), x.dtype.type)

    return whole


def _quad_mask(count: int) -> Callable[[Array], Array]:
    def mask(x: Array) -> Array:
        bits = _bits_of(x, count)
        return _from_bits(bits.reshape(len(bits), -1, 4).any(axis=2), x.dtype.type)

    return mask


def _extract(x: Array, control: Array) -> Array:
    """Field of ``control[22:16]`` bits from bit ``control[4:0]`` (or 5:0)."""
    bits = 8 * x.dtype.itemsize
    offset = (control & U32(bits - 1)).astype(x.dtype)
    width = np.minimum(control >> U32(16) & U32(0x7F), U32(bits))
    kept = np.minimum(width.astype(I64), bits - offset.astype(I64))
    if x.dtype.kind == "u":
        full = x.dtype.type(2**bits - 1)
        shift = (bits - np.maximum(kept, 1)).astype(x.dtype)
        return np.where(kept > 0, x >> offset & full >> shift, x.dtype.type(0))
    up = (bits - np.maximum(kept, 1)).astype(x.dtype)
    field = (x >> offset) << up >> up
    return np.where(kept > 0, field, x.dtype.type(0))


for _k in ("u32", "i32", "u64", "i64"):
    _op(f"s_bfe_{_k}", f"{_k} = {_k} u32", _extract, "nonzero")
for _width in (32, 64):
    _k = f"b{_width}"
    _op(f"s_wqm_{_k}", f"{_k} = {_k}", _any_in_groups(4, _width), "nonzero")
    _op(f"s_quadmask_{_k}", f"{_k} = {_k}", _quad_mask(_width), "nonzero")
_op("s_abs_i32", "u32 = i32", lambda x: np.abs(x.astype(I64)).astype(U32), "nonzero")
_op("s_absdiff_i32", "u32 = i32 i32",
    lambda a, b: np.abs((a - b).astype(I64)).astype(U32), "nonzero")  # fmt: skip
_op("s_sext_i32_i8", "i32 = u32", lambda x: x.astype(np.int8).astype(I32))
_op("s_sext_i32_i16", "i32 = u32", lambda x: x.astype(np.int16).astype(I32))
for _name, _a, _b in (("ll", 0, 0), ("lh", 0, 16), ("hh", 16, 16)):
    _op(f"s_pack_{_name}_b32_b16", "b32 = b32 b32",
        lambda a, b, i=U32(_a), j=U32(_b):
        (a >> i & U32(0xFFFF)) | (b >> j & U32(0xFFFF)) << U32(16))  # fmt: skip
_op("s_bitreplicate_b64_b32", "b64 = b32",
    lambda x: _from_bits(np.repeat(_bits_of(x, 32), 2, axis=1), U64))  # fmt: skip

RELATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "lg": np.not_equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}
for _k in ("u32", "i32"):
    for _name in ("eq", "lg", "gt", "ge", "lt", "le"):
        COMPARE[f"s_cmp_{_name}_{_k}"] = (_k, RELATIONS[_name])
COMPARE["s_cmp_eq_u64"] = ("u64", np.equal)
COMPARE["s_cmp_lg_u64"] = ("u64", np.not_equal)
DESTINATION_IS_SOURCE = ("s_bitset0_b32", "s_bitset1_b32", "s_bitset0_b64", "s_bitset1_b64")


def _scc_rule(op: ScalarOp) -> Callable[..., Array] | None:
    if op.scc == "nonzero":
        return lambda result, *sources: result != 0
    return op.scc  # type: ignore[return-value]


@REGISTRY.add(*TABLE)
def _build(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    op = TABLE[opcode]
    given = list(site.operands[1:])
    if opcode in DESTINATION_IS_SOURCE:
        given.append(site.operands[0])
    if len(given) != len(op.sources):
        raise site.fail(f"needs {len(op.sources)} sources, got {len(given)}")
    readers = [site.read(o, kind) for o, kind in zip(given, op.sources, strict=True)]
    return _executor(op, readers, site.write(site.operands[0], op.result))


def _executor(op: ScalarOp, readers: list[Reader], write: Callable[..., None]) -> Execute:
    function, rule, dtype = op.function, _scc_rule(op), DTYPES[op.result]

    def execute(w: Waves) -> None:
        values = [reader(w) for reader in readers]
        result = function(*values)
        if rule is not None:
            w.scc = _per_wave(w, rule(result, *values))
        write(w, result.view(dtype))

    return execute


def _per_wave(w: Waves, flag: Array) -> Array:
    """A condition as an array of its own, bool [waves, 1]."""
    return np.array(np.broadcast_to(flag, (w.count, 1)))


@REGISTRY.add(*COMPARE)
def _compare(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(2)
    kind, relation = COMPARE[opcode]
    a, b = (site.read(operand, kind) for operand in site.operands)

    def execute(w: Waves) -> None:
        w.scc = _per_wave(w, relation(a(w), b(w)))

    return execute


@REGISTRY.add("s_bitcmp0_b32", "s_bitcmp1_b32", "s_bitcmp0_b64", "s_bitcmp1_b64")
def _bit_compare(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(2)
    wide = opcode.endswith("64")
    a = site.read(site.operands[0], "b64" if wide else "b32")
    position = site.read(site.operands[1], "u32")
    wanted, mask = opcode[8] == "1", U32(63 if wide else 31)

    def execute(w: Waves) -> None:
        value = a(w)
        bit = value >> (position(w) & mask).astype(value.dtype) & value.dtype.type(1)
        w.scc = _per_wave(w, (bit == 1) == wanted)

    return execute


@REGISTRY.add("s_addc_u32", "s_subb_u32")
def _with_carry(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(3)
    a, b = site.read(site.operands[1], "u32"), site.read(site.operands[2], "u32")
    write = site.write(site.operands[0], "u32")
    sign = 1 if opcode == "s_addc_u32" else -1

    def execute(w: Waves) -> None:
        total = a(w).astype(I64) + sign * (b(w).astype(I64) + w.scc)
        w.scc = _per_wave(w, (total < 0) | (total > 0xFFFFFFFF))
        write(w, total.astype(U32))

    return execute


@REGISTRY.add("s_cselect_b32", "s_cselect_b64", "s_cmov_b32", "s_cmov_b64")
def _select(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    kind = opcode[-3:]
    taken = site.read(site.operands[1], kind)
    other = site.read(site.operands[0 if "cmov" in opcode else 2], kind)
    write = site.write(site.operands[0], kind)
    return lambda w: write(w, np.where(w.scc, taken(w), other(w)))


SAVEEXEC: dict[str, Callable[[Array, Array], Array]] = {
    "and": lambda s, e: s & e,
    "or": lambda s, e: s | e,
    "xor": lambda s, e: s ^ e,
    "andn1": lambda s, e: ~s & e,
    "andn2": lambda s, e: s & ~e,
    "orn1": lambda s, e: ~s | e,
    "orn2": lambda s, e: s | ~e,
    "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e),
    "xnor": lambda s, e: ~(s ^ e),
}


@REGISTRY.add(
    *(f"s_{name}_saveexec_b64" for name in SAVEEXEC), "s_andn1_wrexec_b64", "s_andn2_wrexec_b64"
)
def _save_exec(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(2)
    source = site.read(site.operands[1], "b64")
    write = site.write(site.operands[0], "b64")
    combine = SAVEEXEC[opcode.split("_")[1]]
    stores_result = "wrexec" in opcode

    def execute(w: Waves) -> None:
        old = w.read64(EXEC)
        new = combine(source(w), old)
        write(w, new if stores_result else old)
        w.write64(EXEC, np.broadcast_to(new, old.shape))
        w.exec_changed()
        w.scc = _per_wave(w, new != 0)

    return execute


def _immediate(site: Site, operand: Operand) -> int:
    """A 16-bit immediate, sign-extended."""
    if operand.kind != "constant" or not isinstance(operand.value, int):
        raise site.fail(f"operand {operand.text} must be a 16-bit immediate")
    return (operand.value & 0xFFFF ^ 0x8000) - 0x8000


@REGISTRY.add("s_movk_i32", "s_cmovk_i32", "s_addk_i32", "s_mulk_i32")
def _with_immediate(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(2)
    value = np.array([[_immediate(site, site.operands[1])]], I32)
    old = site.read(site.operands[0], "i32")
    write = site.write(site.operands[0], "i32")
    if opcode == "s_movk_i32":
        site.reads.clear()
        return lambda w: write(w, value)
    if opcode == "s_cmovk_i32":
        return lambda w: write(w, np.where(w.scc, value, old(w)))
    if opcode == "s_mulk_i32":
        return lambda w: write(w, old(w) * value)

    def add(w: Waves) -> None:
        before = old(w)
        result = before + value
        w.scc = _per_wave(w, _overflow_add(result, before, value))
        write(w, result)

    return add


@REGISTRY.add(*(f"s_cmpk_{name}_{k}" for name in ("eq", "lg", "gt", "ge", "lt", "le")
                for k in ("u32", "i32")))  # fmt: skip
def _compare_immediate(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    site.expect(2)
    name, kind = opcode.split("_")[2:]
    value = _immediate(site, site.operands[1])
    constant = np.array([[value & 0xFFFF if kind == "u32" else value]], DTYPES[kind])
    read, relation = site.read(site.operands[0], kind), RELATIONS[name]

    def execute(w: Waves) -> None:
        w.scc = _per_wave(w, relation(read(w), constant))

    return execute


@REGISTRY.add("s_movrels_b32", "s_movreld_b32", "s_movrels_b64", "s_movreld_b64")
def _relative_move(site: Site, opcode: str, encoding: str) -> Execute:  # noqa: ARG001
    """``s[dst] = s[src + M0]`` or ``s[dst + M0] = s[src]``."""
    dwords = 2 if opcode.endswith("64") else 1
    destination = site.scalar(0, dwords, write=True)
    source = site.scalar(1, dwords, read=True)
    indirect_source = "movrels" in opcode

    def execute(w: Waves) -> None:
        waves = np.arange(w.count)
        offset = w.s[M0, :, 0].astype(I64)
        for d in range(dwords):
            if indirect_source:
                w.s[destination + d, :, 0] = w.s[source + d + offset, waves, 0]
            else:
                w.s[destination + d + offset, waves, 0] = w.s[source + d, :, 0]

    return execute

