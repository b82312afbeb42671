"""What an ``s_waitcnt`` waits for.

gfx9 packs three counters into the 16-bit immediate: vmcnt in bits 3:0 and 15:14 (6 bits), expcnt in
6:4, lgkmcnt in 11:8. A field with all bits set does not wait. Source: AMD CDNA3/CDNA4 ISA manuals,
SOPP opcode S_WAITCNT.
"""

from __future__ import annotations

import re
from types import MappingProxyType

from mxfp4kernels.isa.program import AssemblyError, Instruction, shortened

LIMITS = MappingProxyType({"vmcnt": 63, "expcnt": 7, "lgkmcnt": 15})
"""Largest value of each counter's field, which means "do not wait"."""

_FIELD = re.compile(r"(vmcnt|expcnt|lgkmcnt)(_sat)?\(\s*(0x[0-9a-fA-F]+|[0-9]{1,9})\s*\)")
_SEPARATOR = re.compile(r"[\s&,]*")


def waitcnt(instruction: Instruction) -> dict[str, int]:
    """The counters that an ``s_waitcnt`` waits on, each with the count it waits to fall to.

    Reads ``vmcnt(3) lgkmcnt(0)``, with blanks, commas or ``&`` between, and the numeric form. A
    counter whose field says "do not wait" is left out: ``s_waitcnt 0xc07f`` gives
    ``{"lgkmcnt": 0}``.

    Raises:
        AssemblyError: not an ``s_waitcnt``, or an operand or count that is not understood.
    """
    if instruction.opcode != "s_waitcnt" or len(instruction.operands) != 1:
        raise AssemblyError("not an s_waitcnt with an operand", instruction.line, instruction.text)
    text = instruction.operands[0]
    try:
        counters = _unpack(int(text, 0))
    except ValueError:
        counters = _symbolic(instruction, text)
    return {name: count for name, count in counters.items() if count < LIMITS[name]}


def _unpack(immediate: int) -> dict[str, int]:
    return {
        "vmcnt": (immediate & 15) | ((immediate >> 14) & 3) << 4,
        "expcnt": (immediate >> 4) & 7,
        "lgkmcnt": (immediate >> 8) & 15,
    }


def _symbolic(instruction: Instruction, text: str) -> dict[str, int]:
    counters: dict[str, int] = {}
    position = 0
    while position < len(text):
        match = _FIELD.match(text, position)
        if match is None:
            raise AssemblyError(
                f"wait operand {shortened(text[position:])!r} is not understood",
                instruction.line,
                instruction.text,
            )
        name, saturates, digits = match.groups()
        count = int(digits, 0)
        if count > LIMITS[name] and not saturates:
            raise AssemblyError(
                f"{name}({count}) exceeds the counter's limit of {LIMITS[name]}",
                instruction.line,
                instruction.text,
            )
        counters[name] = min(count, LIMITS[name])
        gap = _SEPARATOR.match(text, match.end())
        position = gap.end() if gap is not None else match.end()
    return counters
