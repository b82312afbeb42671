"""One instruction while it is being decoded: its operands as readers and writers of wave state."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.errors import UnsupportedInstruction
from mxfp4kernels.emulator.operands import Operand, OperandError, parse_operand
from mxfp4kernels.emulator.waves import EXEC, SGPR_ROWS, VCC, Layout, Waves
from mxfp4kernels.isa.program import Instruction, Program

Array = npt.NDArray[Any]
Reader = Callable[[Waves], Array]
Writer = Callable[[Waves, Array], None]

DTYPES: dict[str, type[np.generic]] = {
    "b16": np.uint16,
    "u16": np.uint16,
    "i16": np.int16,
    "f16": np.float16,
    "b32": np.uint32,
    "u32": np.uint32,
    "i32": np.int32,
    "f32": np.float32,
    "b64": np.uint64,
    "u64": np.uint64,
    "i64": np.int64,
    "f64": np.float64,
}
"""Operand types: b is plain bits, u unsigned, i signed, f float; then the width in bits."""


def integer_limits(dtype: type[Any]) -> np.iinfo[Any]:
    """Smallest and largest value of an integer type."""
    return np.iinfo(dtype)


SCALAR_ROWS = 1 << 16
"""Offset of the scalar registers in :attr:`Site.reads` and :attr:`Site.writes`."""
SCC_ROW = SCALAR_ROWS + SGPR_ROWS
"""SCC among the scalar registers there."""
SHIFT32 = np.uint64(32)


@dataclass(frozen=True)
class Uses:
    """Registers that an instruction reads and writes, as rows (scalars offset).

    Attributes:
        reads: all that it reads.
        writes: all that it writes.
        sources: what its result depends on: not those of which it only keeps a part.
        inactive: vector registers of which it reads lanes whatever EXEC says.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    sources: frozenset[int]
    inactive: frozenset[int] = frozenset()


class Site:
    """An instruction with the means to turn it into a function of wave state.

    Every operand taken through :meth:`read` or :meth:`write` is recorded, and every modifier must
    be asked for; :meth:`finish` refuses what nobody asked for.
    """

    def __init__(self, instruction: Instruction, program: Program, layout: Layout) -> None:
        self.instruction = instruction
        self.program = program
        self.layout = layout
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.kept: set[int] = set()
        self.inactive: set[int] = set()
        self._modifiers = dict(instruction.modifiers)
        self._asked: set[str] = set()
        try:
            self.operands = tuple(parse_operand(text) for text in instruction.operands)
        except OperandError as error:
            raise UnsupportedInstruction(instruction, str(error)) from error

    def fail(self, reason: str) -> UnsupportedInstruction:
        """The error to raise for this instruction."""
        return UnsupportedInstruction(self.instruction, reason)

    def modifier(self, name: str) -> str | None:
        """The modifier's text, or ``None``; marks it as understood."""
        self._asked.add(name)
        return self._modifiers.get(name)

    def flag(self, name: str) -> bool:
        """Whether a bare modifier is there; marks it as understood."""
        return self.modifier(name) is not None

    def number(self, name: str, default: int = 0) -> int:
        """A modifier's integer, decimal or hexadecimal."""
        text = self.modifier(name)
        if text is None:
            return default
        try:
            return int(text, 0)
        except ValueError:
            raise self.fail(f"{name}:{text} is no whole number") from None

    def bits(self, name: str, count: int, default: int) -> tuple[int, ...]:
        """A modifier such as ``op_sel:[0,1]`` as ``count`` bits; missing ones are ``default``."""
        text = self.modifier(name)
        if text is None:
            return (default,) * count
        try:
            given = tuple(int(part, 0) for part in text.strip("[]").split(","))
        except ValueError:
            raise self.fail(f"{name}:{text} is no list of bits") from None
        if len(given) > count or any(bit not in (0, 1) for bit in given):
            raise self.fail(f"{name}:{text} must be at most {count} bits")
        return given + (default,) * (count - len(given))

    def finish(self) -> Uses:
        """The registers used.

        Raises:
            UnsupportedInstruction: a modifier that nothing asked for.
        """
        left = [name for name in self._modifiers if name not in self._asked]
        if left:
            raise self.fail(f"modifier {', '.join(left)} is not implemented here")
        sources = frozenset(self.reads)
        kept, inactive = frozenset(self.kept), frozenset(self.inactive)
        return Uses(sources | kept, frozenset(self.writes), sources, inactive)

    def expect(self, *counts: int) -> None:
        """Refuse any other number of operands."""
        if len(self.operands) not in counts:
            wanted = " or ".join(str(count) for count in counts)
            raise self.fail(f"needs {wanted} operands, got {len(self.operands)}")

    def row(self, operand: Operand) -> int:
        """Row of a vector register in the vector file."""
        return operand.first + (self.layout.vgprs if operand.kind == "a" else 0)

    def rows(self, operand: Operand) -> range:
        """Recorded numbers of the operand's registers."""
        if operand.is_vector:
            return range(self.row(operand), self.row(operand) + operand.count)
        if operand.kind == "s":
            first = SCALAR_ROWS + operand.first
            return range(first, first + operand.count)
        return range(0)

    def _wide(self, operand: Operand, dwords: int) -> None:
        if operand.kind in ("v", "a", "s") and operand.count != dwords:
            raise self.fail(f"operand {operand.text} must be {dwords} registers wide")

    def vector(
        self, index: int, dwords: int, *, read: bool = False, write: bool = False,
        keep: bool = False,
    ) -> int:  # fmt: skip
        """First row of vector operand ``index``, which must be ``dwords`` registers wide.

        ``keep`` is for a destination of which a part survives.
        """
        operand = self.operands[index]
        if not operand.is_vector:
            raise self.fail(f"operand {operand.text} must be a vector register")
        self._wide(operand, dwords)
        if read:
            self.reads.update(self.rows(operand))
        if write:
            self.writes.update(self.rows(operand))
        if keep:
            self.kept.update(self.rows(operand))
        return self.row(operand)

    def scalar(self, index: int, dwords: int, *, read: bool = False, write: bool = False) -> int:
        """Row of scalar operand ``index``, which must be ``dwords`` registers wide."""
        operand = self.operands[index]
        if operand.kind != "s":
            raise self.fail(f"operand {operand.text} must be a scalar register")
        self._wide(operand, dwords)
        if read:
            self.reads.update(self.rows(operand))
        if write:
            self.writes.update(self.rows(operand))
        return operand.first

    def raw(self, operand: Operand, part: int = 0, kind: str = "b32") -> Reader:
        """Dword ``part`` of an operand as uint32, broadcastable to [waves, 64].

        Raises:
            UnsupportedInstruction: the operand cannot be read as a source.
        """
        if operand.is_vector:
            row = self.row(operand) + part
            self.reads.add(row)
            return lambda w: w.v[row]
        if operand.kind == "s":
            row = operand.first + part
            self.reads.add(SCALAR_ROWS + row)
            return lambda w: w.s[row]
        if operand.kind in ("constant", "aperture"):
            value = self._constant(operand, kind)
            word = np.array([[value >> 32 * part & 0xFFFFFFFF]], np.uint32)
            return lambda w: word
        if operand.kind == "status":
            self.reads.update(STATUS_ROWS[operand.text.removeprefix("src_")])
            return _status(operand.text.removeprefix("src_"), part)
        raise self.fail(f"operand {operand.text} is not understood")

    def _constant(self, operand: Operand, kind: str) -> int:
        if operand.kind == "aperture":
            return int(operand.value)
        try:
            return operand.bits(kind)
        except OperandError as error:
            raise self.fail(str(error)) from error

    def read(self, operand: Operand, kind: str) -> Reader:
        """The operand as an array of ``DTYPES[kind]``, sign modifiers applied.

        16-bit types read the low half of a register.
        """
        width = int(kind[1:])
        dtype = DTYPES[kind]
        if operand.kind == "constant":
            array = np.array([[self._constant(operand, kind)]], f"u{width // 8}").view(dtype)
            reader: Reader = lambda w: array  # noqa: E731
        elif width == 64:
            self._wide(operand, 2)
            low, high = self.raw(operand, 0, kind), self.raw(operand, 1, kind)
            reader = lambda w: join64(low(w), high(w)).view(dtype)  # noqa: E731
        else:
            self._wide(operand, 1)
            reader = self._narrow(operand, kind)
        return signed(reader, kind, operand)

    def _narrow(self, operand: Operand, kind: str) -> Reader:
        raw = self.raw(operand, 0, kind)
        if kind[1:] == "16":
            dtype = DTYPES[kind]
            return lambda w: raw(w).astype(np.uint16).view(dtype)
        if kind == "f32" and operand.kind in ("v", "a"):
            row = self.row(operand)
            return lambda w: w.vf[row]
        if kind == "i32" and operand.kind in ("v", "a"):
            row = self.row(operand)
            return lambda w: w.vi[row]
        if kind in ("b32", "u32"):
            return raw
        dtype = DTYPES[kind]
        return lambda w: raw(w).view(dtype)

    def write(self, operand: Operand, kind: str, *, keep_high: bool = False) -> Writer:
        """A function that stores an array of ``DTYPES[kind]`` where EXEC allows (vectors).

        A 16-bit result clears the upper half of the register unless ``keep_high``.
        """
        width = int(kind[1:])
        self._wide(operand, 2 if width == 64 else 1)
        self.writes.update(self.rows(operand))
        if operand.kind == "s":
            return self._write_scalar(operand.first, width)
        if not operand.is_vector:
            raise self.fail(f"operand {operand.text} cannot be written")
        row = self.row(operand)
        if width == 64:
            return lambda w, value: store64(w, row, value)
        if width == 32:
            return lambda w, value: store32(w, row, value.view(np.uint32))
        if keep_high:
            self.kept.add(row)
            return lambda w, value: store32(
                w, row, w.v[row] & np.uint32(0xFFFF0000) | value.view(np.uint16)
            )
        return lambda w, value: store32(w, row, value.view(np.uint16).astype(np.uint32))

    def _write_scalar(self, row: int, width: int) -> Writer:
        touches_exec = row in (EXEC, EXEC + 1)

        def write(w: Waves, value: Array) -> None:
            if width == 64:
                w.write64(row, value.view(np.uint64))
            else:
                w.s[row] = value.view(np.uint32)
            if touches_exec:
                w.exec_changed()

        return write

    def write_mask(self, operand: Operand) -> Writer:
        """A function that stores bool [waves, 64] in a scalar pair."""
        if operand.kind != "s" or operand.count != 2:
            raise self.fail(f"operand {operand.text} must be a scalar register pair")
        self.writes.update(self.rows(operand))
        row = operand.first
        touches_exec = row == EXEC

        def write(w: Waves, mask: Array) -> None:
            w.set_mask(row, mask)
            if touches_exec:
                w.exec_changed()

        return write

    def read_mask(self, operand: Operand) -> Reader:
        """A scalar pair or a constant as bool [waves, 64]."""
        if operand.kind == "constant":
            bits = operand.bits("b64")
            lanes = np.array([[bits >> lane & 1 for lane in range(64)]], np.bool_)
            return lambda w: lanes
        if operand.kind != "s" or operand.count != 2:
            raise self.fail(f"operand {operand.text} must be a scalar register pair")
        self.reads.update(self.rows(operand))
        row = operand.first
        return lambda w: w.mask(row)


STATUS_ROWS = {
    "scc": (SCC_ROW,),
    "vccz": (SCALAR_ROWS + VCC, SCALAR_ROWS + VCC + 1),
    "execz": (SCALAR_ROWS + EXEC, SCALAR_ROWS + EXEC + 1),
}
"""What a bit of the status shows."""


def _status(name: str, part: int) -> Reader:
    zero = np.zeros((1, 1), np.uint32)
    if part:
        return lambda w: zero
    if name == "scc":
        return lambda w: w.scc.astype(np.uint32)
    row = VCC if name == "vccz" else EXEC
    return lambda w: np.logical_not(w.s[row : row + 2].any(axis=0)).astype(np.uint32)


def join64(low: Array, high: Array) -> npt.NDArray[np.uint64]:
    """Two uint32 arrays as one uint64 array."""
    return low.astype(np.uint64) | high.astype(np.uint64) << SHIFT32


def store32(w: Waves, row: int, value: npt.NDArray[np.uint32]) -> None:
    """Write uint32 values to the active lanes of a vector register."""
    if w.full:
        w.v[row] = value
    else:
        np.copyto(w.v[row], value, where=w.lanes)


def store64(w: Waves, row: int, value: Array) -> None:
    """Write 64-bit values to the active lanes of a vector register pair."""
    bits = value.view(np.uint64)
    store32(w, row, bits.astype(np.uint32))
    store32(w, row + 1, (bits >> SHIFT32).astype(np.uint32))


def signed(reader: Reader, kind: str, operand: Operand) -> Reader:
    """Apply ``|x|`` and ``-x`` to a float reader by its sign bit.

    Integer types have no such modifiers; the assembler only writes them on floats.
    """
    if not (operand.absolute or operand.negate):
        return reader
    width = int(kind[1:])
    bits = np.dtype(f"u{width // 8}").type
    sign = bits(1 << (width - 1))
    absolute, negate = operand.absolute, operand.negate
    dtype = DTYPES[kind]

    def read(w: Waves) -> Array:
        value = reader(w).view(bits)
        if absolute:
            value = value & ~sign
        if negate:
            value = value ^ sign
        return value.view(dtype)

    return read
