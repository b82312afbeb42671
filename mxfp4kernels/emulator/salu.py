"""Scalar ALU instructions: SOP1, SOP2, SOPC and SOPK, and the writes to EXEC."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator.operands import Operand
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.scalar import TABLE, ScalarOp, overflow_add
from mxfp4kernels.emulator.site import DTYPES, SCC_ROW, Array, Reader, Site
from mxfp4kernels.emulator.waves import EXEC, M0, Waves

U32, I32, U64, I64 = np.uint32, np.int32, np.uint64, np.int64


RELATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "lg": np.not_equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}
COMPARE: dict[str, tuple[str, Callable[[Array, Array], Array]]] = {}
"""Type of the sources and relation, by opcode."""
for _k in ("u32", "i32"):
    for _name in ("eq", "lg", "gt", "ge", "lt", "le"):
        COMPARE[f"s_cmp_{_name}_{_k}"] = (_k, RELATIONS[_name])
COMPARE["s_cmp_eq_u64"] = ("u64", np.equal)
COMPARE["s_cmp_lg_u64"] = ("u64", np.not_equal)


@REGISTRY.add(*TABLE)
def _build(site: Site, opcode: str, encoding: str) -> Execute:
    op = TABLE[opcode]
    given = list(site.operands[1:])
    if op.modifies:
        given.append(site.operands[0])
    if len(given) != len(op.sources):
        raise site.fail(f"needs {len(op.sources)} sources, got {len(given)}")
    readers = [site.read(o, kind) for o, kind in zip(given, op.sources, strict=True)]
    if op.scc is not None:
        site.writes.add(SCC_ROW)
    return _executor(op, readers, site.write(site.operands[0], op.result))


def _executor(op: ScalarOp, readers: list[Reader], write: Callable[..., None]) -> Execute:
    function, rule, dtype = op.function, op.scc, DTYPES[op.result]

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
def _compare(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    kind, relation = COMPARE[opcode]
    site.writes.add(SCC_ROW)
    a, b = (site.read(operand, kind) for operand in site.operands)

    def execute(w: Waves) -> None:
        w.scc = _per_wave(w, relation(a(w), b(w)))

    return execute


@REGISTRY.add("s_bitcmp0_b32", "s_bitcmp1_b32", "s_bitcmp0_b64", "s_bitcmp1_b64")
def _bit_compare(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    wide = opcode.endswith("64")
    a = site.read(site.operands[0], "b64" if wide else "b32")
    position = site.read(site.operands[1], "u32")
    site.writes.add(SCC_ROW)
    wanted, mask = opcode[8] == "1", U32(63 if wide else 31)

    def execute(w: Waves) -> None:
        value = a(w)
        bit = value >> (position(w) & mask).astype(value.dtype) & value.dtype.type(1)
        w.scc = _per_wave(w, (bit == 1) == wanted)

    return execute


@REGISTRY.add("s_addc_u32", "s_subb_u32")
def _with_carry(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(3)
    a, b = site.read(site.operands[1], "u32"), site.read(site.operands[2], "u32")
    write = site.write(site.operands[0], "u32")
    sign = 1 if opcode == "s_addc_u32" else -1
    site.reads.add(SCC_ROW)
    site.writes.add(SCC_ROW)

    def execute(w: Waves) -> None:
        total = a(w).astype(I64) + sign * (b(w).astype(I64) + w.scc)
        w.scc = _per_wave(w, (total < 0) | (total > 0xFFFFFFFF))
        write(w, total.astype(U32))

    return execute


@REGISTRY.add("s_cselect_b32", "s_cselect_b64", "s_cmov_b32", "s_cmov_b64")
def _select(site: Site, opcode: str, encoding: str) -> Execute:
    kind = opcode[-3:]
    site.reads.add(SCC_ROW)
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
def _save_exec(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    source = site.read(site.operands[1], "b64")
    write = site.write(site.operands[0], "b64")
    site.writes.add(SCC_ROW)
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
def _with_immediate(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    value = np.array([[_immediate(site, site.operands[1])]], I32)
    old = site.read(site.operands[0], "i32")
    write = site.write(site.operands[0], "i32")
    if opcode == "s_movk_i32":
        site.reads.clear()
        return lambda w: write(w, value)
    if opcode == "s_cmovk_i32":
        site.reads.add(SCC_ROW)
        return lambda w: write(w, np.where(w.scc, value, old(w)))
    if opcode == "s_mulk_i32":
        return lambda w: write(w, old(w) * value)

    site.writes.add(SCC_ROW)

    def add(w: Waves) -> None:
        before = old(w)
        result = before + value
        w.scc = _per_wave(w, overflow_add(result, before, value))
        write(w, result)

    return add


@REGISTRY.add(*(f"s_cmpk_{name}_{k}" for name in ("eq", "lg", "gt", "ge", "lt", "le")
                for k in ("u32", "i32")))  # fmt: skip
def _compare_immediate(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    name, kind = opcode.split("_")[2:]
    site.writes.add(SCC_ROW)
    value = _immediate(site, site.operands[1])
    constant = np.array([[value & 0xFFFF if kind == "u32" else value]], DTYPES[kind])
    read, relation = site.read(site.operands[0], kind), RELATIONS[name]

    def execute(w: Waves) -> None:
        w.scc = _per_wave(w, relation(read(w), constant))

    return execute


@REGISTRY.add("s_movrels_b32", "s_movreld_b32", "s_movrels_b64", "s_movreld_b64")
def _relative_move(site: Site, opcode: str, encoding: str) -> Execute:
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
