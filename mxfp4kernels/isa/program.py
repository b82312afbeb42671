"""What a parsed kernel is: its instructions, labels, directives and metadata.

The parser makes these, everything else in the package and the emulator reads them. They hold text
as the assembler would see it; nothing here knows what an opcode does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LONGEST_MESSAGE, LONGEST_TEXT = 1000, 160
"""Characters of an error and of the line that it quotes."""


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """Text from an assembly as an error may quote it."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


class AssemblyError(ValueError):
    """A line of assembly that is not understood, with its number and text.

    Attributes:
        line: 1-based line in the text, or 0 when the fault lies in the text as a whole.
        text: the offending line, or an empty string; the message quotes its beginning.
        reason: what is wrong, without the place.
    """

    def __init__(self, message: str, line: int = 0, text: str = "") -> None:
        where = f"line {line}: " if line else ""
        what = f": {shortened(text.strip())}" if text.strip() else ""
        super().__init__(f"{where}{shortened(message, LONGEST_MESSAGE)}{what}")
        self.line = line
        self.text = text
        self.reason = message


@dataclass(frozen=True, slots=True)
class Instruction:
    """One machine instruction as written.

    Attributes:
        index: position in ``Program.instructions``.
        line: 1-based line in the text it was read from.
        opcode: mnemonic as written, with its encoding suffix: ``v_add_u32_e32``.
        operands: split at top-level commas, stripped: ``("v[2:5]", "v0", "s[4:7]", "0")``. What
            follows ``s_waitcnt`` is one operand: ``("vmcnt(3) lgkmcnt(0)",)``. Branch targets stay
            label text.
        modifiers: name and value in the order written; a bare modifier has an empty value:
            ``(("offen", ""), ("offset", "16"), ("op_sel_hi", "[0,0,1]"))``.
        inline_asm: written inside an inline-asm block rather than chosen by the compiler.
        text: the instruction as written, without indentation and comment.
    """

    index: int
    line: int
    opcode: str
    operands: tuple[str, ...]
    modifiers: tuple[tuple[str, str], ...]
    inline_asm: bool
    text: str

    def modifier(self, name: str, default: str | None = None) -> str | None:
        """The value of modifier ``name`` (empty text for a bare one), else ``default``."""
        for key, value in self.modifiers:
            if key == name:
                return value
        return default


@dataclass(frozen=True)
class Program:
    """One kernel.

    Attributes:
        name: the kernel's symbol.
        target: processor of ``.amdgcn_target``, such as ``gfx950``.
        instructions: in the order of the text, which is the order in memory.
        labels: label to index of the instruction that follows it; equal to the number of
            instructions for a label at the end.
        directives: ``.amdhsa_*`` values without the leading dot: ``{"amdhsa_user_sgpr_count": 2}``.
            A value that is an expression over symbols stays text.
        metadata: the kernel's entry of ``.amdgpu_metadata`` (``.args``, ``.vgpr_count``,
            ``.group_segment_fixed_size`` ...); empty when the text has no metadata.
    """

    name: str
    target: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int]
    directives: Mapping[str, str | int]
    metadata: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.instructions)
