"""How a vector ALU operation becomes a function of wave state, whatever its encoding.

An operation is a row of a table: result type, source types and a function of numpy arrays. Source
modifiers, SDWA, DPP, op_sel, denormal flushing, output modifiers, clamp and the lane mask are the
same for all and live here.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mxfp4kernels.emulator.lanes import SELECTS, Dpp, select
from mxfp4kernels.emulator.operands import Operand
from mxfp4kernels.emulator.site import DTYPES, Array, Reader, Site, integer_limits, signed
from mxfp4kernels.emulator.waves import Waves

Execute = Callable[[Waves], None]
SUFFIXES = ("_e32", "_e64", "_sdwa", "_dpp")
CANONICAL_NAN32 = np.uint32(0x7FC00000).view(np.float32)
SIGN32, MAGNITUDE32 = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)


@dataclass(frozen=True)
class VectorOp:
    """One operation.

    Attributes:
        result: type of the result, a key of ``DTYPES``.
        sources: types of the sources.
        function: arrays of the source types to an array of the result type; broadcasting.
        wide: the integer result before wrapping, as int64, where ``clamp`` saturates.
        op_sel: VOP3 op_sel picks the halves of 16-bit sources and of the result, whose other
            half is kept.
        accumulate: the destination is also the last source.
    """

    result: str
    sources: tuple[str, ...]
    function: Callable[..., Array]
    wide: Callable[..., Array] | None = None
    op_sel: bool = False
    accumulate: bool = False


def split_suffix(opcode: str) -> tuple[str, str]:
    """``v_add_u32_e32`` as ``("v_add_u32", "e32")``; no suffix gives an empty encoding."""
    for suffix in SUFFIXES:
        if opcode.endswith(suffix):
            return opcode.removesuffix(suffix), suffix[1:]
    return opcode, ""


def flush32(value: Array) -> Array:
    """f32 denormals replaced by zeros of their sign."""
    bits = value.view(np.uint32)
    tiny = (bits & MAGNITUDE32) < np.uint32(0x00800000)
    return np.where(tiny, bits & SIGN32, bits).view(np.float32)


def flush16(value: Array) -> Array:
    """f16 denormals replaced by zeros of their sign."""
    bits = value.view(np.uint16)
    tiny = (bits & np.uint16(0x7FFF)) < np.uint16(0x0400)
    return np.where(tiny, bits & np.uint16(0x8000), bits).view(np.float16)


def flush64(value: Array) -> Array:
    """f64 denormals replaced by zeros of their sign."""
    bits = value.view(np.uint64)
    tiny = (bits & np.uint64(2**63 - 1)) < np.uint64(1 << 52)
    return np.where(tiny, bits & np.uint64(1 << 63), bits).view(np.float64)


FLUSH = {"f32": flush32, "f16": flush16, "f64": flush64}


def flush(kind: str, value: Array, w: Waves, bit: int) -> Array:
    """Flush denormals of a float type if MODE says so; bit 1 is for inputs, 2 for results."""
    keep = w.mode.denorm32 if kind == "f32" else w.mode.denorm64
    return value if keep & bit else FLUSH[kind](value)


@dataclass(frozen=True)
class Sdwa:
    """Selectors of an SDWA instruction."""

    sources: tuple[str, str]
    result: str
    unused: str


def read_sdwa(site: Site) -> Sdwa:
    """Take the SDWA modifiers."""
    names = [site.modifier(name) or "DWORD" for name in ("src0_sel", "src1_sel", "dst_sel")]
    for name in names:
        if name not in SELECTS:
            raise site.fail(f"selector {name} is unknown")
    unused = site.modifier("dst_unused") or "UNUSED_PAD"
    return Sdwa((names[0], names[1]), names[2], unused)


class Sources:
    """Readers for the sources of one vector instruction, all modifiers applied."""

    def __init__(self, site: Site, encoding: str) -> None:
        self.site = site
        self.dpp = Dpp(site) if encoding == "dpp" else None
        self.sdwa = read_sdwa(site) if encoding == "sdwa" else None

    def reader(self, operand: Operand, kind: str, position: int, high: bool = False) -> Reader:
        """Source ``position`` as ``kind``; ``high`` takes a register's upper 16 bits."""
        plain = not high and not (self.dpp and position == 0)
        if plain and not (self.sdwa and position < 2):
            return self.site.read(operand, kind)
        if kind[1:] == "64":
            raise self.site.fail("64-bit operands take no DPP, SDWA or op_sel")
        raw = self.site.raw(operand, 0, kind)
        if self.dpp and position == 0:
            raw = self.dpp.permute(raw)
        if self.sdwa and position < 2:
            raw = select(raw, self.sdwa.sources[position], operand.extend)
        return signed(_typed(raw, kind, high), kind, operand)


def _typed(raw: Reader, kind: str, high: bool) -> Reader:
    dtype = DTYPES[kind]
    if kind[1:] == "32":
        return lambda w: raw(w).view(dtype)
    shift = np.uint32(16 if high else 0)
    return lambda w: (raw(w) >> shift).astype(np.uint16).view(dtype)


class Result:
    """Writes the result of one vector instruction: SDWA placement, DPP mask, op_sel half."""

    def __init__(self, site: Site, sources: Sources, kind: str, high: bool | None) -> None:
        operand = site.operands[0]
        self.dpp, self.sdwa, self.kind, self.high = sources.dpp, sources.sdwa, kind, high
        self.plain = site.write(operand, kind)
        self.row = site.row(operand) if operand.is_vector else -1
        partial = high is not None or self.dpp
        if partial or (self.sdwa and self.sdwa.unused == "UNUSED_PRESERVE"):
            site.kept.update(site.rows(operand))

    def store(self, w: Waves, value: Array) -> None:
        """Store where the lane mask allows."""
        if not self.dpp and not self.sdwa and self.high is None:
            self.plain(w, value)
            return
        bits = _dword(value)
        if self.sdwa:
            bits = self._place(w, bits)
        elif self.high is not None and self.kind[1:] == "16":
            old = w.v[self.row]
            low, up = np.uint32(0xFFFF), np.uint32(0xFFFF0000)
            bits = old & low | bits << np.uint32(16) if self.high else old & up | bits
        lanes = self.dpp.written(w) if self.dpp else w.lanes
        np.copyto(w.v[self.row], bits, where=lanes)

    def _place(self, w: Waves, bits: Array) -> Array:
        assert self.sdwa is not None
        first, width = SELECTS[self.sdwa.result]
        if width == 32:
            return bits
        mask = np.uint32((1 << width) - 1)
        field = (bits & mask) << np.uint32(first)
        if self.sdwa.unused == "UNUSED_PRESERVE":
            return w.v[self.row] & ~(mask << np.uint32(first)) | field
        if self.sdwa.unused == "UNUSED_SEXT":
            up = 32 - width - first
            return (field << np.uint32(up)).view(np.int32).__rshift__(up).view(np.uint32)
        return field


def _dword(value: Array) -> Array:
    if value.dtype.itemsize == 2:
        return value.view(np.uint16).astype(np.uint32)
    return value.view(np.uint32)


OMOD = {("mul", "2"): 2.0, ("mul", "4"): 4.0, ("div", "2"): 0.5}


def output_scale(site: Site) -> float:
    """The factor of the output modifier ``mul:2``, ``mul:4`` or ``div:2``, else 1."""
    for name in ("mul", "div"):
        text = site.modifier(name)
        if text is not None:
            if (name, text) not in OMOD:
                raise site.fail(f"output modifier {name}:{text} is unknown")
            return OMOD[name, text]
    return 1.0


def scale_output(kind: str, value: Array, factor: float, w: Waves) -> Array:
    """Apply an output modifier; hardware ignores it while denormal results are kept."""
    keep = w.mode.denorm32 if kind == "f32" else w.mode.denorm64
    if factor == 1.0 or keep & 2:
        return value
    dtype = DTYPES[kind]
    return (value * np.array(factor, dtype) + np.array(0, dtype)).astype(dtype)


def clamp_float(value: Array, w: Waves) -> Array:
    """Clamp to 0..1; a NaN becomes 0 with DX10_CLAMP."""
    clipped = np.clip(value, 0, 1).astype(value.dtype) + value.dtype.type(0)
    return np.where(np.isnan(value), value.dtype.type(0), clipped) if w.mode.dx10_clamp else clipped


def quiet(result: Array, sources: list[Array]) -> Array:
    """Give NaNs that no NaN source explains the hardware's sign (x86 makes them negative)."""
    if result.dtype.kind != "f":
        return result
    bad = np.isnan(result)
    if not bad.any():
        return result
    for source in sources:
        if source.dtype.kind == "f":
            bad = bad & ~np.isnan(source)
    return np.where(bad, result.dtype.type(np.nan), result)


def build(site: Site, op: VectorOp, encoding: str) -> Execute:
    """The function that executes ``op`` for this instruction."""
    sources = Sources(site, encoding)
    halves = site.bits("op_sel", len(op.sources) + 1, 0) if op.op_sel else None
    given = [*site.operands[1:], site.operands[0]] if op.accumulate else list(site.operands[1:])
    if len(given) != len(op.sources):
        raise site.fail(f"needs {len(op.sources)} sources, got {len(site.operands) - 1}")
    readers = [
        sources.reader(operand, kind, i, bool(halves and halves[i] and kind[1:] == "16"))
        for i, (operand, kind) in enumerate(zip(given, op.sources, strict=True))
    ]
    high = bool(halves[len(op.sources)]) if halves and op.result[1:] == "16" else None
    result = Result(site, sources, op.result, high)
    clamp, factor = site.flag("clamp"), output_scale(site)
    is_float = op.result[0] == "f"
    if factor != 1.0 and not is_float:
        raise site.fail("output modifiers need a float result")
    if clamp and not is_float:
        if op.wide is None:
            raise site.fail("clamp is not implemented for this integer operation")
        op = replace(op, function=saturating(op))
    compute = _compute(op, readers)
    if clamp or factor != 1.0:
        compute = _finished(compute, op.result, clamp and is_float, factor)
    if _is_direct(op, sources, high, clamp, factor, site):
        return _direct(op, readers, result.row)
    return lambda w: result.store(w, compute(w))


def _is_direct(
    op: VectorOp, sources: Sources, high: bool | None, clamp: bool, factor: float, site: Site
) -> bool:
    """Whether numpy may write the result straight into the register."""
    return (
        isinstance(op.function, np.ufunc)
        and op.result[1:] == "32"
        and op.result[0] != "f"
        and sources.dpp is None
        and sources.sdwa is None
        and high is None
        and not clamp
        and factor == 1.0
        and site.operands[0].is_vector
    )


def _direct(op: VectorOp, readers: list[Reader], row: int) -> Execute:
    function, signed_result = op.function, op.result[0] == "i"

    def execute(w: Waves) -> None:
        out = w.vi[row] if signed_result else w.v[row]
        values = [reader(w) for reader in readers]
        if w.full:
            function(*values, out=out)
        else:
            function(*values, out=out, where=w.lanes)

    return execute


def _compute(op: VectorOp, readers: list[Reader]) -> Reader:
    function, kinds, result = op.function, op.sources, op.result
    if result[0] != "f" and not any(kind[0] == "f" for kind in kinds):
        return lambda w: function(*[reader(w) for reader in readers])

    def compute(w: Waves) -> Array:
        values = [
            flush(kind, reader(w), w, 1) if kind[0] == "f" else reader(w)
            for kind, reader in zip(kinds, readers, strict=True)
        ]
        value = quiet(function(*values), values)
        return flush(result, value, w, 2) if result[0] == "f" else value

    return compute


def _finished(compute: Reader, kind: str, clamp: bool, factor: float) -> Reader:
    def finish(w: Waves) -> Array:
        value = scale_output(kind, compute(w), factor, w) if kind[0] == "f" else compute(w)
        return clamp_float(value, w) if clamp else value

    return finish


def saturating(op: VectorOp) -> Callable[..., Array]:
    """The operation with its integer result saturated to the result type."""
    dtype = DTYPES[op.result]
    limits = integer_limits(dtype)
    wide = op.wide
    assert wide is not None
    return lambda *values: np.clip(wide(*values), limits.min, limits.max).astype(dtype)
