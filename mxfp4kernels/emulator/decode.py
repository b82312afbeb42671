"""A program decoded once: every instruction as a function of wave state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mxfp4kernels.emulator import (  # noqa: F401  (they fill the registry)
    assembler,
    carry,
    compare,
    convert,
    crosslane,
    dense,
    flow,
    lds,
    mfma,
    packed,
    salu,
    smem,
    valu,
    vmem,
)
from mxfp4kernels.emulator.errors import UnsupportedInstruction
from mxfp4kernels.emulator.flow import Flow
from mxfp4kernels.emulator.registry import REGISTRY
from mxfp4kernels.emulator.site import Site, Uses
from mxfp4kernels.emulator.transfers import Transfer
from mxfp4kernels.emulator.vector import split_suffix
from mxfp4kernels.emulator.waves import Layout, Waves
from mxfp4kernels.isa.program import Instruction, Program

Action = Callable[[Waves], None]
_VECTOR = re.compile(r"(?<![\w.])([va])(?:(\d+)|\[(\d+)(?::(\d+))?\])")


@dataclass(frozen=True)
class Step:
    """One decoded instruction.

    Attributes:
        instruction: as parsed.
        action: executes it; ``None`` for flow.
        flow: what the scheduler has to do, or ``None``.
        transfer: the memory instruction, or ``None``.
        uses: registers it reads and writes.
    """

    instruction: Instruction
    action: Action | None
    flow: Flow | None
    transfer: Transfer | None
    uses: Uses


@dataclass(frozen=True)
class Decoded:
    """A program ready to run.

    Attributes:
        program: as parsed.
        steps: one per instruction.
        layout: where vector registers live.
        stops: for each instruction, the index of the first flow instruction from it on.
    """

    program: Program
    steps: tuple[Step, ...]
    layout: Layout
    stops: tuple[int, ...]


def layout_of(program: Program) -> Layout:
    """Rows for the vector registers that the program's operands name."""
    highest = {"v": 0, "a": -1}
    for instruction in program.instructions:
        for operand in instruction.operands:
            for bank, single, first, last in _VECTOR.findall(operand):
                highest[bank] = max(highest[bank], int(single or last or first))
    return Layout(highest["v"] + 1, highest["a"] + 1)


def decode_instruction(
    instruction: Instruction,
    program: Program,
    layout: Layout,
    allocation: assembler.Allocation,
) -> Step:
    """Decode one instruction.

    Raises:
        UnsupportedInstruction: an unknown opcode, operand or modifier.
        IllegalInstruction: one that no assembler accepts, or a register that is not declared.
    """
    opcode, encoding = split_suffix(instruction.opcode)
    handler = REGISTRY.handlers.get(opcode)
    if handler is None:
        raise UnsupportedInstruction(instruction, f"opcode {instruction.opcode} is not implemented")
    site = Site(instruction, program, layout)
    try:
        made = handler(site, opcode, encoding)
    except IndexError as error:
        raise site.fail(f"has {len(site.operands)} operands, which is too few") from error
    uses = site.finish()
    assembler.check(site, uses, allocation)
    if isinstance(made, Flow):
        return Step(instruction, None, made, None, uses)
    transfer = made if isinstance(made, Transfer) else None
    return Step(instruction, made, None, transfer, uses)


def decode(program: Program) -> Decoded:
    """Decode a whole program.

    Raises:
        UnsupportedInstruction: at the first instruction that is not implemented, or that no
            assembler accepts.
    """
    return _decode_by_identity(_Identity(program))


class _Identity:
    """A program as a cache key: programs hold mappings, so they cannot be hashed by value."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __hash__(self) -> int:
        return id(self.program)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.program is self.program


@lru_cache(maxsize=64)
def _decode_by_identity(key: _Identity) -> Decoded:
    program = key.program
    layout = layout_of(program)
    allocation = assembler.Allocation.of(program)
    steps = tuple(decode_instruction(i, program, layout, allocation) for i in program.instructions)
    return Decoded(program, steps, layout, _stops(steps))


def _stops(steps: Sequence[Step]) -> tuple[int, ...]:
    """For each instruction, the index of the first flow instruction from it on."""
    stops = [len(steps)] * len(steps)
    following = len(steps)
    for index in range(len(steps) - 1, -1, -1):
        if steps[index].flow is not None:
            following = index
        stops[index] = following
    return tuple(stops)


def decode_changed(decoded: Decoded, program: Program, index: int) -> Decoded:
    """Decode a program that differs from a decoded one in a single scalar instruction.

    Args:
        decoded: the original.
        program: as it is now; the instruction names no vector register, so none is added.
        index: the instruction that differs.

    Raises:
        UnsupportedInstruction: the new instruction is not implemented.
    """
    allocation = assembler.Allocation.of(program)
    step = decode_instruction(program.instructions[index], program, decoded.layout, allocation)
    steps = (*decoded.steps[:index], step, *decoded.steps[index + 1 :])
    return Decoded(program, steps, decoded.layout, _stops(steps))


def unsupported(program: Program) -> Counter[str]:
    """Every reason why instructions of a program cannot be decoded, with how often it occurs."""
    reasons: Counter[str] = Counter()
    layout, allocation = layout_of(program), assembler.Allocation.of(program)
    for instruction in program.instructions:
        try:
            decode_instruction(instruction, program, layout, allocation)
        except UnsupportedInstruction as error:
            reason = str(error).removeprefix(f"line {instruction.line}: {instruction.text}: ")
            reasons[f"{instruction.opcode}: {reason}"] += 1
    return reasons
