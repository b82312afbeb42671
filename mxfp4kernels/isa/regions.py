"""Prologue, K loop, drain and epilogue of a matrix kernel, found from structure alone.

The rule uses barriers, MFMAs, loads, LDS traffic and the flow of values between them; it knows no
names, labels, flags or shapes. It is meant for software-pipelined kernels, unrolled or not.

**Slice.** Walking backwards from the A, B and scale operands of every MFMA, through arithmetic, LDS
reads and staged LDS writes, finds the *operand loads* (VMEM loads and loads to LDS that bring MFMA
operands, now or tiles later) and the *fragment reads* (LDS reads whose value an MFMA takes).
Accumulators are followed only where the result of an MFMA becomes an operand of another. A load
of routing weights for the epilogue is therefore no operand load, wherever it is scheduled.

**Passes.** A *tile loop* is an outermost natural loop that holds both MFMAs and stores or atomics
to memory: each trip finishes output tiles, so the kernel is persistent. Each tile loop is a pass,
and everything outside of them together is one more: the peeled first tile, with the code before and
after. Every pass has its own four regions; the tile loop is one level above them.

**Spans.** A pass in text order is cut behind every barrier, so a barrier ends its span: the barrier
that opens the first K tile closes the prologue. A *rolled K loop*, an outermost natural loop of the
pass that holds MFMAs, is one span by itself, barriers and all.

**Tiles.** A span with fragment reads is a K tile. Spans are told by their reads because a scheduler
may sink a tile's MFMAs below the barrier that closes it, but can move no LDS read across one. If
no span reads fragments (operands come straight from memory), spans with MFMAs are the tiles.

**Regions.**

- *prologue*: all before the first tile; a pass without tiles is all prologue.
- *kloop*: from the first tile to the last span, not past the last tile, that is a rolled K loop or
  issues operand loads. This is the steady state: one tile is multiplied while a later one is on
  its way.
- *drain*: from there to the end of the last tile: tiles that only consume.
- *epilogue*: the rest.

The last tile ends at the barrier that closes its span. If the span writes results (LDS writes that
no fragment read follows, stores, atomics), no barrier stands between tile and epilogue, and the
tile ends behind the span's last MFMA or before its first such write, whichever comes first.

Two consequences. A kernel whose K tiles are all loaded before the first barrier (gemm2 with one or
two K tiles) has an empty kloop and its tiles are drain: the pipeline fills and empties without a
steady state. And MFMAs that a scheduler sinks below the last tile's barrier are epilogue, as
they are in the published counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from mxfp4kernels.isa.blocks import ControlFlow, Loop, control_flow
from mxfp4kernels.isa.classes import InstructionClass, Kind, kind_of
from mxfp4kernels.isa.program import Instruction, Program
from mxfp4kernels.isa.registers import vector_access, vector_mask

_STAGED = 1 << 512
"""Bit of the slice that stands for LDS contents that a fragment read will take."""
_ACCUMULATOR = 3
"""Position of an MFMA's third source among its operands."""
_MEMORY_RESULTS = ("store", "atomic")


class Region(str, Enum):
    """The four regions, in the order in which a tile passes them."""

    PROLOGUE = "prologue"
    KLOOP = "kloop"
    DRAIN = "drain"
    EPILOGUE = "epilogue"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Pass:
    """One pass over output tiles.

    Attributes:
        tile_loop: whether it is a persistent tile loop rather than the code outside of any.
        instructions: indices, in the order of the text.
        tiles: K tiles found in ``kloop`` and in ``drain``; a rolled K loop counts as one.
    """

    tile_loop: bool
    instructions: tuple[int, ...]
    tiles: tuple[int, int]


@dataclass(frozen=True)
class Regions:
    """The region of every instruction.

    Attributes:
        of: region of each instruction, by its index.
        passes: the code outside tile loops first, then each tile loop in the order of the text.
        operand_loads: indices of loads that bring MFMA operands.
        fragment_reads: indices of LDS reads whose value an MFMA takes.
    """

    of: tuple[Region, ...]
    passes: tuple[Pass, ...]
    operand_loads: frozenset[int]
    fragment_reads: frozenset[int]

    def indices(self, region: Region, tile_loop: bool | None = None) -> tuple[int, ...]:
        """Instructions of a region: of tile loops only, outside of them only, or of both."""
        return tuple(
            index
            for part in self.passes
            if tile_loop is None or part.tile_loop is tile_loop
            for index in part.instructions
            if self.of[index] is region
        )


def find_regions(program: Program, flow: ControlFlow | None = None) -> Regions:
    """The regions of a program by the rule of this module.

    Args:
        flow: the program's control flow, if it is at hand.

    Raises:
        AssemblyError: an opcode without a class, or a branch that is not understood.
    """
    finder = _Finder(program, control_flow(program) if flow is None else flow)
    return finder.find()


@dataclass
class _Slice:
    operand_loads: set[int]
    fragment_reads: set[int]
    staged_writes: set[int]


class _Finder:
    def __init__(self, program: Program, flow: ControlFlow) -> None:
        self.program = program
        self.flow = flow
        self.kinds = [kind_of(instruction) for instruction in program.instructions]
        self.regions = [Region.PROLOGUE] * len(program)
        self.slice = _Slice(set(), set(), set())

    def find(self) -> Regions:
        outermost = [loop for loop in self.flow.loops if loop.parent is None]
        tile_loops = [loop for loop in outermost if self._stores(loop)]
        inside = frozenset().union(*(loop.blocks for loop in tile_loops))
        outside = frozenset(range(len(self.flow.blocks))) - inside
        passes = [self._pass(outside, None)]
        passes += [self._pass(loop.blocks, loop) for loop in _in_text_order(tile_loops)]
        return Regions(
            tuple(self.regions),
            tuple(passes),
            frozenset(self.slice.operand_loads),
            frozenset(self.slice.fragment_reads),
        )

    def _stores(self, loop: Loop) -> bool:
        """Whether a loop multiplies and writes results to memory."""
        kinds = [self.kinds[index] for index in self.flow.instructions_of(loop)]
        return _has_mfma(kinds) and any(
            kind.of is InstructionClass.VMEM and kind.part in _MEMORY_RESULTS for kind in kinds
        )

    def _pass(self, blocks: frozenset[int], loop: Loop | None) -> Pass:
        self._trace(blocks, loop)
        order = [
            index
            for block in sorted(blocks)
            for index in range(self.flow.blocks[block].start, self.flow.blocks[block].stop)
        ]
        spans, rolled = self._spans(order, blocks, loop)
        tiles = self._assign(spans, rolled)
        return Pass(loop is not None, tuple(order), tiles)

    def _trace(self, blocks: frozenset[int], loop: Loop | None) -> None:
        """The slice within a pass; a trip of a tile loop is followed no further than itself."""
        needed_at_start: dict[int, int] = {}
        pending = set(blocks)
        while pending:
            number = max(pending)  # bottom up, so that straight code is walked once
            pending.remove(number)
            block = self.flow.blocks[number]
            needed = 0
            for successor in block.successors:
                if successor in blocks and (loop is None or successor != loop.header):
                    needed |= needed_at_start.get(successor, 0)
            for index in range(block.stop - 1, block.start - 1, -1):
                needed = self._step(index, needed)
            if needed != needed_at_start.get(number):
                needed_at_start[number] = needed
                pending.update(p for p in self.flow.predecessors[number] if p in blocks)

    def _step(self, index: int, needed: int) -> int:
        """What is needed before an instruction, given what is needed after it."""
        kind = self.kinds[index]
        instruction = self.program.instructions[index]
        if kind.of is InstructionClass.MFMA:
            return _before_mfma(instruction, needed)
        if not needed or kind.of not in _VECTOR_CLASSES:
            return needed
        if kind == _LOAD_TO_LDS:
            if needed & _STAGED:
                self.slice.operand_loads.add(index)
            return needed
        access = vector_access(instruction)
        if kind == _LDS_WRITE and needed & _STAGED:
            self.slice.staged_writes.add(index)
            return needed | access.data
        if not access.writes & needed:
            return needed
        needed = needed & ~access.writes | access.data
        if kind == _LOAD:
            self.slice.operand_loads.add(index)
        elif kind == _LDS_READ:
            self.slice.fragment_reads.add(index)
            needed |= _STAGED
        return needed

    def _spans(
        self, order: Sequence[int], blocks: frozenset[int], tile_loop: Loop | None
    ) -> tuple[list[list[int]], set[int]]:
        """The pass cut into spans, and which of them are rolled K loops."""
        loop_of = self._rolled_loops(blocks, tile_loop)
        spans: list[list[int]] = []
        rolled: set[int] = set()
        previous: int | None = None
        closed = True
        for index in order:
            current = loop_of.get(index)
            if closed or current != previous:
                spans.append([])
                if current is not None:
                    rolled.add(len(spans) - 1)
            spans[-1].append(index)
            previous = current
            closed = current is None and self.kinds[index].of is InstructionClass.BARRIER
        return spans, rolled

    def _rolled_loops(self, blocks: frozenset[int], tile_loop: Loop | None) -> dict[int, int]:
        """Instruction to header of the outermost loop with MFMAs around it within the pass."""
        found: dict[int, int] = {}
        for loop in self.flow.loops:  # outer loops come first
            if loop is tile_loop or not loop.blocks <= blocks:
                continue
            indices = self.flow.instructions_of(loop)
            if _has_mfma(self.kinds[index] for index in indices):
                for index in indices:
                    found.setdefault(index, loop.header)
        return found

    def _assign(self, spans: list[list[int]], rolled: set[int]) -> tuple[int, int]:
        """Writes the regions of a pass; the number of tiles in kloop and in drain."""
        tiles = self._tiles(spans, rolled)
        if not tiles:
            return 0, 0
        first, last = tiles[0], tiles[-1]
        steady = [
            number
            for number in range(first, last + 1)
            if number in rolled or not self.slice.operand_loads.isdisjoint(spans[number])
        ]
        loop_end = steady[-1] + 1 if steady else first
        for number, span in enumerate(spans[first:], first):
            region = Region.EPILOGUE
            if number <= last:
                region = Region.KLOOP if number < loop_end else Region.DRAIN
            for index in span:
                self.regions[index] = region
        if last not in rolled:
            for index in spans[last][self._tile_end(spans[last]) :]:
                self.regions[index] = Region.EPILOGUE
        in_loop = sum(tile < loop_end for tile in tiles)
        return in_loop, len(tiles) - in_loop

    def _tiles(self, spans: list[list[int]], rolled: set[int]) -> list[int]:
        reads = self.slice.fragment_reads
        tiles = [n for n, span in enumerate(spans) if n in rolled or not reads.isdisjoint(span)]
        if tiles and any(not reads.isdisjoint(span) for span in spans):
            return tiles
        return [n for n, span in enumerate(spans) if _has_mfma(self.kinds[i] for i in span)]

    def _tile_end(self, span: list[int]) -> int:
        """Place in the last tile's span at which the epilogue begins."""
        result = next((n for n, index in enumerate(span) if self._is_result(index)), None)
        if result is None:
            return len(span)
        multiplies = [n for n, i in enumerate(span) if self.kinds[i].of is InstructionClass.MFMA]
        return min(result, multiplies[-1] + 1) if multiplies else result

    def _is_result(self, index: int) -> bool:
        kind = self.kinds[index]
        if kind == _LDS_WRITE:
            return index not in self.slice.staged_writes
        return kind.of is InstructionClass.VMEM and kind.part in _MEMORY_RESULTS


_LOAD = Kind(InstructionClass.VMEM, "load")
_LOAD_TO_LDS = Kind(InstructionClass.VMEM, "load_to_lds")
_LDS_READ = Kind(InstructionClass.LDS, "read")
_LDS_WRITE = Kind(InstructionClass.LDS, "write")
_VECTOR_CLASSES = frozenset(
    (
        InstructionClass.VALU,
        InstructionClass.ACC,
        InstructionClass.TRANS,
        InstructionClass.VMEM,
        InstructionClass.LDS,
    )
)


def _before_mfma(instruction: Instruction, needed: int) -> int:
    """What is needed before an MFMA: its operands always, its accumulator if its result is."""
    masks = [vector_mask(operand) for operand in instruction.operands]
    if masks[0] & needed and not instruction.opcode.startswith("v_smfmac"):
        needed = needed & ~masks[0] | masks[_ACCUMULATOR]
    for position, mask in enumerate(masks[1:], 1):
        if position != _ACCUMULATOR:
            needed |= mask
    return needed


def _has_mfma(kinds: Iterable[Kind]) -> bool:
    return any(kind.of is InstructionClass.MFMA for kind in kinds)


def _in_text_order(loops: Iterable[Loop]) -> list[Loop]:
    return sorted(loops, key=lambda loop: min(loop.blocks))
