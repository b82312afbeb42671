"""Operand text: registers, constants and the sign modifiers written around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from mxfp4kernels.emulator.waves import EXEC, M0, VCC

SPECIAL = {
    "flat_scratch": (102, 2),
    "flat_scratch_lo": (102, 1),
    "flat_scratch_hi": (103, 1),
    "xnack_mask": (104, 2),
    "xnack_mask_lo": (104, 1),
    "xnack_mask_hi": (105, 1),
    "vcc": (VCC, 2),
    "vcc_lo": (VCC, 1),
    "vcc_hi": (VCC + 1, 1),
    "m0": (M0, 1),
    "exec": (EXEC, 2),
    "exec_lo": (EXEC, 1),
    "exec_hi": (EXEC + 1, 1),
}
"""Scalar registers with names: row in the scalar file and number of dwords."""

STATUS = ("scc", "src_scc", "vccz", "src_vccz", "execz", "src_execz")
APERTURES = {
    "src_shared_base": 1 << 48,
    "src_shared_limit": (1 << 48) + (1 << 32) - 1,
    "src_private_base": 2 << 48,
    "src_private_limit": (2 << 48) + (1 << 32) - 1,
}
"""Where flat addresses reach LDS and scratch; any range that global memory never uses will do."""

_REGISTER = re.compile(r"([vsa]|ttmp)(\d+)")
_RANGE = re.compile(r"([vsa]|ttmp)\[(\d+)(?::(\d+))?\]")
_INTEGER = re.compile(r"-?(0x[0-9a-f]+|\d+)", re.IGNORECASE)
_FLOAT = re.compile(r"-?\d+\.\d*(e[-+]?\d+)?|-?\d+e[-+]?\d+", re.IGNORECASE)
TTMP = 108
_INVERSE_TWO_PI = 0.15915494309189532
"""The one inline constant whose printed form does not hold all its digits."""


class OperandError(ValueError):
    """Operand text that is not understood."""


@dataclass(frozen=True)
class Operand:
    """One operand as written.

    Attributes:
        text: the whole text.
        kind: ``v``, ``a`` or ``s`` for registers; ``constant``; ``status`` for SCC, VCCZ, EXECZ;
            ``name`` for anything else (``off``, a label).
        first: number of the first register (row of the scalar file for ``s``).
        count: registers in the operand.
        value: the number written, for constants.
        negate, absolute, extend: ``-x``, ``|x|`` and ``sext(x)``.
    """

    text: str
    kind: str
    first: int = 0
    count: int = 0
    value: int | float = 0
    negate: bool = False
    absolute: bool = False
    extend: bool = False

    @property
    def is_vector(self) -> bool:
        """Whether it differs from lane to lane."""
        return self.kind in ("v", "a")

    def bits(self, kind: str) -> int:
        """The constant as the hardware presents it to an operand of type ``kind``.

        An integer in -16..64 is inline: sign-extended to the operand's width. Any other integer
        is a 32-bit literal: the high half of an f64, zero-extended for other 64-bit types except
        i64. A float is converted to the operand's own float type; integer operands of 32 bits
        get the f32 bits.

        Raises:
            OperandError: a float where no float type fits.
        """
        width = int(kind[1:])
        if isinstance(self.value, float):
            return _float_bits(self.value, kind)
        inline = -16 <= self.value <= 64
        if width == 64 and not inline:
            low = self.value & 0xFFFFFFFF
            if kind == "f64":
                return low << 32
            if kind == "i64" and low >> 31:
                return low | 0xFFFFFFFF << 32
            return low
        return self.value & ((1 << width) - 1)


def _float_bits(value: float, kind: str) -> int:
    width = int(kind[1:])
    if width == 64:
        if kind == "f64":
            if np.float32(value) == np.float32(_INVERSE_TWO_PI):
                value = _INVERSE_TWO_PI
            return int(np.float64(value).view(np.uint64))
        return int(np.float32(value).view(np.uint32))
    if width == 32:
        return int(np.float32(value).view(np.uint32))
    if width == 16:
        return int(np.float16(value).view(np.uint16))
    raise OperandError(f"a float constant has no meaning as {kind}")


def parse_operand(text: str) -> Operand:
    """Read one operand, with the modifiers written around it.

    Raises:
        OperandError: a register list that is no list of consecutive registers.
    """
    inner, negate, absolute, extend = text.strip(), False, False, False
    while True:
        if inner.startswith("sext(") and inner.endswith(")"):
            inner, extend = inner[5:-1], True
        elif inner.startswith("neg(") and inner.endswith(")"):
            inner, negate = inner[4:-1], True
        elif inner.startswith("abs(") and inner.endswith(")"):
            inner, absolute = inner[4:-1], True
        elif inner.startswith("|") and inner.endswith("|"):
            inner, absolute = inner[1:-1], True
        elif inner.startswith("-") and not _number(inner):
            inner, negate = inner[1:], True
        else:
            break
    return replace(_plain(inner), text=text, negate=negate, absolute=absolute, extend=extend)


def _number(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text) or _FLOAT.fullmatch(text))


def _plain(text: str) -> Operand:
    lowered = text.lower()
    if match := _REGISTER.fullmatch(lowered):
        return _registers(text, match[1], int(match[2]), 1)
    if match := _RANGE.fullmatch(lowered):
        first = int(match[2])
        last = first if match[3] is None else int(match[3])
        if last < first:
            raise OperandError(f"register range {text} runs backwards")
        return _registers(text, match[1], first, last - first + 1)
    if lowered.startswith("[") and lowered.endswith("]"):
        return _list(text, [part.strip() for part in lowered[1:-1].split(",")])
    if lowered in SPECIAL:
        first, count = SPECIAL[lowered]
        return Operand(text, "s", first, count)
    if lowered in STATUS:
        return Operand(text, "status", count=1)
    if lowered in APERTURES:
        return Operand(text, "aperture", count=2, value=APERTURES[lowered])
    if _INTEGER.fullmatch(lowered):
        return Operand(text, "constant", value=int(lowered, 0))
    if _FLOAT.fullmatch(lowered):
        return Operand(text, "constant", value=float(lowered))
    if lowered == "src_lds_direct":
        raise OperandError("src_lds_direct is not implemented")
    return Operand(text, "name")


def _registers(text: str, bank: str, first: int, count: int) -> Operand:
    if bank == "ttmp":
        return Operand(text, "s", TTMP + first, count)
    limit = 102 if bank == "s" else 256
    if first + count > limit:
        raise OperandError(f"{text} lies beyond the last register {bank}{limit - 1}")
    return Operand(text, bank, first, count)


def _list(text: str, parts: list[str]) -> Operand:
    """``[v1, v2]``, another way to write a range."""
    registers = [_plain(part) for part in parts]
    first = registers[0]
    expected = [(first.kind, first.first + i, 1) for i in range(len(registers))]
    if not first.count or [(r.kind, r.first, r.count) for r in registers] != expected:
        raise OperandError(f"{text} is no list of consecutive registers")
    return replace(first, text=text, count=len(registers))
