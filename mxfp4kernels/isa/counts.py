"""Static instruction counts of a program, whole and by region.

A count says how often an instruction stands in the text, not how often it runs: what is in a
rolled loop counts once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add

from mxfp4kernels.isa.classes import InstructionClass, kind_of, nop_states
from mxfp4kernels.isa.program import Instruction, Program
from mxfp4kernels.isa.regions import Region, Regions, find_regions
from mxfp4kernels.isa.waitcnt import waitcnt

_NON_TEMPORAL = ("nt", "")
_NON_MFMA_VECTOR = (InstructionClass.VALU, InstructionClass.ACC, InstructionClass.TRANS)


@dataclass(frozen=True)
class Counts:
    """Counts of some instructions.

    Attributes:
        classes: every class, zero included, in the order of ``InstructionClass``.
        parts: ``CLASS.part`` to count, only those that occur: ``VMEM.load_to_lds`` (see
            ``kind_of``).
        waits: ``s_waitcnt`` that wait on a counter: ``vmcnt``, ``lgkmcnt``, ``expcnt``. One that
            waits on two counts in both.
        nop_states: wait states that all NOPs together fill.
        priorities: ``s_setprio``.
        non_temporal: VMEM with the ``nt`` bit.
        inline_asm: instructions from inline assembly.
    """

    classes: Mapping[InstructionClass, int]
    parts: Mapping[str, int]
    waits: Mapping[str, int]
    nop_states: int
    priorities: int
    non_temporal: int
    inline_asm: int

    def __getitem__(self, of: InstructionClass | str) -> int:
        return self.classes[InstructionClass(of)]

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            {of: number + other.classes[of] for of, number in self.classes.items()},
            _sum(self.parts, other.parts),
            _sum(self.waits, other.waits),
            self.nop_states + other.nop_states,
            self.priorities + other.priorities,
            self.non_temporal + other.non_temporal,
            self.inline_asm + other.inline_asm,
        )

    @property
    def total(self) -> int:
        """All instructions."""
        return sum(self.classes.values())

    @property
    def non_mfma_vector(self) -> int:
        """VALU, ACC and TRANS: all that issues through the VALU port besides MFMA."""
        return sum(self.classes[of] for of in _NON_MFMA_VECTOR)

    def part(self, of: InstructionClass | str, name: str) -> int:
        """Count of a part of a class: ``part("VMEM", "store")``."""
        return self.parts.get(f"{InstructionClass(of).value}.{name}", 0)


@dataclass(frozen=True)
class ProgramCounts:
    """Counts of a program.

    Attributes:
        kernel: all instructions.
        regions: each region; these add up to ``kernel``.
        tile_loop: one trip of the persistent tile loops, or ``None`` without one.
        tile_loop_regions: each region within the tile loops; all zero without one.
        tiles: K tiles in kloop and drain, over all passes; a rolled K loop counts as one.
    """

    kernel: Counts
    regions: Mapping[Region, Counts]
    tile_loop: Counts | None
    tile_loop_regions: Mapping[Region, Counts]
    tiles: tuple[int, int]


def count(instructions: Iterable[Instruction]) -> Counts:
    """Counts of any instructions.

    Raises:
        AssemblyError: an opcode without a class, a wait or a nop that is not understood.
    """
    parts: Counter[tuple[InstructionClass, str]] = Counter()
    waits: Counter[str] = Counter()
    states = priorities = non_temporal = inline = 0
    for instruction in instructions:
        kind = kind_of(instruction)
        parts[kind] += 1
        inline += instruction.inline_asm
        if kind.of is InstructionClass.WAIT:
            waits.update(waitcnt(instruction).keys())
        elif kind.of is InstructionClass.NOP:
            states += nop_states(instruction)
        elif kind.of is InstructionClass.VMEM:
            non_temporal += _NON_TEMPORAL in instruction.modifiers
        elif kind.of is InstructionClass.OTHER:
            priorities += instruction.opcode == "s_setprio"
    classes = dict.fromkeys(InstructionClass, 0)
    for (of, _), number in parts.items():
        classes[of] += number
    named = {f"{of.value}.{part}": number for (of, part), number in sorted(parts.items())}
    return Counts(classes, named, dict(waits), states, priorities, non_temporal, inline)


def count_program(program: Program, regions: Regions | None = None) -> ProgramCounts:
    """Counts of a program, whole and by region.

    Args:
        regions: the program's regions, if they are at hand.

    Raises:
        AssemblyError: as for ``count`` and ``find_regions``.
    """
    found = find_regions(program) if regions is None else regions
    outside = _by_region(program, found, tile_loop=False)
    inside = _by_region(program, found, tile_loop=True)
    tile_loop = _total(inside)
    return ProgramCounts(
        kernel=_total(outside) + tile_loop,
        regions={region: outside[region] + inside[region] for region in Region},
        tile_loop=tile_loop if any(part.tile_loop for part in found.passes) else None,
        tile_loop_regions=inside,
        tiles=(
            sum(part.tiles[0] for part in found.passes),
            sum(part.tiles[1] for part in found.passes),
        ),
    )


def _by_region(program: Program, regions: Regions, tile_loop: bool) -> dict[Region, Counts]:
    instructions = program.instructions
    return {
        region: count(instructions[index] for index in regions.indices(region, tile_loop))
        for region in Region
    }


def _total(regions: Mapping[Region, Counts]) -> Counts:
    return reduce(add, regions.values())


def _sum(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    names = sorted(first.keys() | second.keys())
    return {name: first.get(name, 0) + second.get(name, 0) for name in names}
