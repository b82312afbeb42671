"""Programs with one wait weakened or removed, or one barrier removed.

The sanitizer must flag every mutant that it has not itself called needless; that is the test of the
sanitizer, and of the waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mxfp4kernels.emulator.findings import Need
from mxfp4kernels.isa.program import Instruction, Program
from mxfp4kernels.isa.waitcnt import LIMITS, waitcnt


@dataclass(frozen=True)
class Mutant:
    """A program with one change.

    Attributes:
        instruction: what was changed, as it was.
        counter: the counter that was changed, or ``None`` for a barrier.
        count: what the wait now waits for, or ``None`` when it is removed.
        program: the changed program; instructions keep their index and line.
    """

    instruction: Instruction
    counter: str | None
    count: int | None
    program: Program

    @property
    def change(self) -> str:
        """The change in words."""
        if self.counter is None:
            return "barrier removed"
        if self.count is None:
            return f"{self.counter} removed"
        return f"{self.counter} weakened to {self.count}"

    def survives(self, need: Need) -> bool:
        """Whether the original's ``need`` predicts that this mutant has no hazard."""
        if not need.reached or need.largest is None:
            return True
        return self.counter is not None and self.count is not None and self.count <= need.largest


def mutants(program: Program) -> Iterator[Mutant]:
    """Every wait with each of its counters removed and weakened by one, every barrier removed."""
    for instruction in program.instructions:
        if instruction.opcode == "s_barrier":
            yield Mutant(instruction, None, None, _replaced(program, instruction, "s_nop", "0"))
        elif instruction.opcode == "s_waitcnt":
            counters = waitcnt(instruction)
            for counter, count in counters.items():
                rest = {name: n for name, n in counters.items() if name != counter}
                yield Mutant(instruction, counter, None, _waiting(program, instruction, rest))
                if count + 1 < LIMITS[counter]:
                    weaker = counters | {counter: count + 1}
                    changed = _waiting(program, instruction, weaker)
                    yield Mutant(instruction, counter, count + 1, changed)


def _waiting(program: Program, instruction: Instruction, counters: dict[str, int]) -> Program:
    if not counters:
        return _replaced(program, instruction, "s_nop", "0")
    text = " ".join(f"{name}({count})" for name, count in counters.items())
    return _replaced(program, instruction, "s_waitcnt", text)


def _replaced(program: Program, old: Instruction, opcode: str, operand: str) -> Program:
    new = replace(old, opcode=opcode, operands=(operand,), text=f"{opcode} {operand}")
    before, after = program.instructions[: old.index], program.instructions[old.index + 1 :]
    return replace(program, instructions=(*before, new, *after))
