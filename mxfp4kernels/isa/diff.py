"""Two programs side by side, aligned instruction by instruction with registers renamed away.

Two instructions are the same when they agree in opcode, modifiers, literals, and in the file and
width of every register; which register it is, VCC or an SGPR pair, short or long encoding, and
the name of a branch target do not matter. Programs are aligned region by region by a longest common
subsequence, so none can match an instruction of the K loop with one of the epilogue. Within what
remains, instructions of one opcode are paired as changed.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from mxfp4kernels.isa.classes import InstructionClass, base_opcode, class_of
from mxfp4kernels.isa.counts import Counts, count
from mxfp4kernels.isa.program import Instruction, Program
from mxfp4kernels.isa.regions import Region, Regions, find_regions

_REGISTER = re.compile(r"(?<![\w.])([vas])(?:\d+|\[(\d+)(?::(\d+))?\])")
_VCC = re.compile(r"\bvcc(_lo|_hi)?\b")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a difference: an instruction on either side or on both.

    ``same`` says that both sides agree up to register names; a row with both sides that is not the
    same is one opcode with other operands or modifiers.
    """

    left: Instruction | None
    right: Instruction | None
    same: bool


@dataclass(frozen=True)
class Section:
    """A region of both programs; ``tile_loop`` tells the persistent loop's from the other."""

    region: Region
    tile_loop: bool
    rows: tuple[Row, ...]
    left: Counts
    right: Counts

    @property
    def title(self) -> str:
        """The region, and whether it is that of the tile loop."""
        return f"{self.region} (tile loop)" if self.tile_loop else str(self.region)

    @property
    def differs(self) -> bool:
        """Whether any row is not the same."""
        return not all(row.same for row in self.rows)


@dataclass(frozen=True)
class Difference:
    """Two programs aligned.

    Attributes:
        left_name, right_name: how to call the two, a flag setting for example.
        sections: regions in which either program has instructions.
        left, right: counts of the whole programs.
    """

    left_name: str
    right_name: str
    sections: tuple[Section, ...]
    left: Counts
    right: Counts

    @property
    def differs(self) -> bool:
        """Whether the programs differ in more than register names."""
        return any(section.differs for section in self.sections)


def diff(
    left: Program, right: Program, left_name: str = "left", right_name: str = "right"
) -> Difference:
    """Align two programs.

    Raises:
        AssemblyError: a program whose regions cannot be found, see ``find_regions``.
    """
    left_regions, right_regions = find_regions(left), find_regions(right)
    sections = []
    for tile_loop in (False, True):
        for region in Region:
            before = _instructions(left, left_regions, region, tile_loop)
            after = _instructions(right, right_regions, region, tile_loop)
            if before or after:
                rows = tuple(_rows(before, after))
                sections.append(Section(region, tile_loop, rows, count(before), count(after)))
    return Difference(
        left_name, right_name, tuple(sections), count(left.instructions), count(right.instructions)
    )


def class_changes(left: Counts, right: Counts) -> tuple[tuple[InstructionClass, int, int], ...]:
    """Classes that occur on either side, with both counts."""
    return tuple((of, left[of], right[of]) for of in InstructionClass if left[of] or right[of])


def class_of_row(row: Row) -> InstructionClass:
    """The class of a row's instruction."""
    instruction = row.left if row.right is None else row.right
    assert instruction is not None, "a row has at least one side"
    return class_of(instruction)


def common_subsequence(
    left: Sequence[Hashable], right: Sequence[Hashable]
) -> list[tuple[int, int]]:
    """Pairs of positions of a longest common subsequence, in ascending order.

    Bit-parallel over integers as wide as ``left``: Crochemore, Iliopoulos, Pinzon and Reid, "A
    fast and practical bit-vector algorithm for the longest common subsequence problem" (2001).
    Time grows with ``len(left) * len(right) / 64``.
    """
    places: dict[Hashable, int] = {}
    for position, item in enumerate(left):
        places[item] = places.get(item, 0) | 1 << position
    full = (1 << len(left)) - 1
    vector, history = full, []
    for item in right:
        hits = vector & places.get(item, 0)
        vector = ((vector + hits) | (vector - hits)) & full
        history.append(vector)
    return _trace_back(len(left), history)


def _trace_back(length: int, history: list[int]) -> list[tuple[int, int]]:
    """A clear bit ``i`` of ``history[j]`` says that item ``i`` lengthens the match up to ``j``."""
    pairs = []
    i, j = length, len(history)
    while i and j:
        if history[j - 1] >> (i - 1) & 1:
            i -= 1
        else:
            j -= 1
            if j == 0 or history[j - 1] >> (i - 1) & 1:
                i -= 1
                pairs.append((i, j))
    return pairs[::-1]


def _instructions(
    program: Program, regions: Regions, region: Region, tile_loop: bool
) -> list[Instruction]:
    return [program.instructions[index] for index in regions.indices(region, tile_loop)]


def _rows(left: Sequence[Instruction], right: Sequence[Instruction]) -> Iterable[Row]:
    pairs = common_subsequence([*map(_key, left)], [*map(_key, right)])
    i = j = 0
    for i_same, j_same in [*pairs, (len(left), len(right))]:
        yield from _changed_rows(left[i:i_same], right[j:j_same])
        if i_same < len(left):
            yield Row(left[i_same], right[j_same], True)
        i, j = i_same + 1, j_same + 1


def _changed_rows(left: Sequence[Instruction], right: Sequence[Instruction]) -> Iterable[Row]:
    """Rows of a stretch without common instructions: pairs of one opcode, then the rest."""
    pairs = common_subsequence(
        [base_opcode(instruction.opcode) for instruction in left],
        [base_opcode(instruction.opcode) for instruction in right],
    )
    i = j = 0
    for i_pair, j_pair in [*pairs, (len(left), len(right))]:
        yield from (Row(instruction, None, False) for instruction in left[i:i_pair])
        yield from (Row(None, instruction, False) for instruction in right[j:j_pair])
        if i_pair < len(left):
            yield Row(left[i_pair], right[j_pair], False)
        i, j = i_pair + 1, j_pair + 1


def _key(instruction: Instruction) -> tuple[Hashable, ...]:
    """What makes two instructions the same."""
    opcode = instruction.opcode
    short = opcode[:-4] if opcode.endswith(("_e32", "_e64")) else opcode
    operands = instruction.operands
    if opcode.startswith(("s_branch", "s_cbranch")):
        operands = ("label",)
    return (short, tuple(map(_anonymous, operands)), instruction.modifiers)


@lru_cache(maxsize=1 << 16)
def _anonymous(operand: str) -> str:
    """An operand with each register replaced by its file and width."""

    def replace(match: re.Match[str]) -> str:
        file, first, last = match.groups()
        width = int(last) - int(first) + 1 if last else 1
        return f"<{file}x{width}>"

    scalar = _VCC.sub(lambda match: "<sx1>" if match[1] else "<sx2>", operand)
    return _REGISTER.sub(replace, scalar)
