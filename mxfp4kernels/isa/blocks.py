"""Basic blocks, the control-flow graph, and its natural loops.

A back edge is an edge whose target dominates its source; the natural loop of a header is every
block that reaches one of its back edges without passing the header. Dominators by the iterative
scheme of Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from mxfp4kernels.isa.program import AssemblyError, Instruction, Program, shortened

_ENDS = frozenset(("s_endpgm", "s_endpgm_saved", "s_endpgm_ordered_ps_done"))
_INDIRECT = frozenset(("s_setpc_b64", "s_rfe_b64", "s_rfe_restore_b64", "s_cbranch_g_fork"))


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions ``start`` to ``stop`` (exclusive) that run without a jump in or out between."""

    index: int
    start: int
    stop: int
    successors: tuple[int, ...]


@dataclass(frozen=True)
class Loop:
    """A natural loop.

    Attributes:
        header: block that every iteration enters through.
        blocks: indices of all its blocks, those of inner loops included.
        parent: index in ``ControlFlow.loops`` of the innermost loop around it, or ``None``.
        depth: 1 for an outermost loop.
    """

    header: int
    blocks: frozenset[int]
    parent: int | None
    depth: int


@dataclass(frozen=True)
class ControlFlow:
    """The control-flow graph of a program.

    Attributes:
        blocks: in the order of the text; block 0 is the entry.
        predecessors: of each block.
        dominators: immediate dominator of each block; the entry's is itself, an unreachable
            block's is ``None``.
        loops: outer loops before the loops inside them, otherwise by header.
        irreducible: edges (source, target) that go backwards in every depth-first order without
            their target dominating their source; such a cycle is no natural loop.
    """

    blocks: tuple[Block, ...]
    predecessors: tuple[tuple[int, ...], ...]
    dominators: tuple[int | None, ...]
    loops: tuple[Loop, ...]
    irreducible: tuple[tuple[int, int], ...]

    def block_of(self, instruction: int) -> Block:
        """The block that holds the instruction of that index."""
        return self.blocks[bisect_right(self.blocks, instruction, key=lambda b: b.start) - 1]

    def instructions_of(self, loop: Loop) -> tuple[int, ...]:
        """Indices of a loop's instructions, in the order of the text."""
        return tuple(
            index
            for block in sorted(loop.blocks)
            for index in range(self.blocks[block].start, self.blocks[block].stop)
        )

    def dominates(self, above: int, below: int) -> bool:
        """Whether every path from the entry to block ``below`` passes block ``above``."""
        if self.dominators[below] is None:
            return False
        while below not in (above, 0):
            below = self.dominators[below] or 0
        return below == above


def control_flow(program: Program) -> ControlFlow:
    """Blocks, dominators and loops of a program.

    Raises:
        AssemblyError: a branch to a label that the program does not have, or an indirect jump,
            whose targets the text does not tell.
    """
    blocks = _blocks(program)
    predecessors = _predecessors(blocks)
    order = _reverse_postorder(blocks)
    dominators = _dominators(order, predecessors)
    flow = ControlFlow(blocks, predecessors, dominators, (), ())
    position = {block: place for place, block in enumerate(order)}
    backward = [
        (block.index, successor)
        for block in blocks
        if block.index in position
        for successor in block.successors
        if position[successor] <= position[block.index]
    ]
    back = [edge for edge in backward if flow.dominates(edge[1], edge[0])]
    irreducible = tuple(edge for edge in backward if edge not in back)
    loops = _loops(back, predecessors, dominators)
    return ControlFlow(blocks, predecessors, dominators, loops, irreducible)


def _is_terminator(opcode: str) -> bool:
    return (
        opcode == "s_branch"
        or opcode.startswith("s_cbranch_")
        or opcode in _ENDS
        or opcode in _INDIRECT
    )


def _target(program: Program, branch: Instruction) -> int:
    label = branch.operands[-1] if branch.operands else ""
    if label not in program.labels:
        raise AssemblyError(
            f"branch to unknown label {shortened(label)!r}", branch.line, branch.text
        )
    return program.labels[label]


def _blocks(program: Program) -> tuple[Block, ...]:
    count = len(program.instructions)
    targets: dict[int, int] = {}
    starts = {0}
    for instruction in program.instructions:
        opcode = instruction.opcode
        if opcode[:2] != "s_" or not _is_terminator(opcode):
            continue
        starts.add(instruction.index + 1)
        if opcode in _INDIRECT:
            raise AssemblyError(
                "indirect jump: its targets are not in the text", instruction.line, instruction.text
            )
        if opcode not in _ENDS:
            targets[instruction.index] = _target(program, instruction)
            starts.add(targets[instruction.index])
    ordered = sorted(start for start in starts if start < count)
    number = {start: index for index, start in enumerate(ordered)}
    blocks = []
    for index, start in enumerate(ordered):
        stop = ordered[index + 1] if index + 1 < len(ordered) else count
        last = program.instructions[stop - 1].opcode
        following: list[int] = []
        if last not in _ENDS and last != "s_branch":
            following.append(stop)
        if stop - 1 in targets:
            following.append(targets[stop - 1])
        successors = dict.fromkeys(number[place] for place in following if place < count)
        blocks.append(Block(index, start, stop, tuple(successors)))
    return tuple(blocks)


def _predecessors(blocks: tuple[Block, ...]) -> tuple[tuple[int, ...], ...]:
    found: list[list[int]] = [[] for _ in blocks]
    for block in blocks:
        for successor in block.successors:
            found[successor].append(block.index)
    return tuple(map(tuple, found))


def _reverse_postorder(blocks: tuple[Block, ...]) -> list[int]:
    if not blocks:
        return []
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(blocks[0].successors))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(blocks[following].successors)))
    return order[::-1]


def _dominators(
    order: list[int], predecessors: tuple[tuple[int, ...], ...]
) -> tuple[int | None, ...]:
    position = {block: place for place, block in enumerate(order)}
    immediate: list[int | None] = [None] * len(predecessors)
    if order:
        immediate[0] = 0
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            known = [p for p in predecessors[block] if immediate[p] is not None]
            new = known[0]
            for other in known[1:]:
                new = _common(new, other, immediate, position)
            if immediate[block] != new:
                immediate[block] = new
                changed = True
    return tuple(immediate)


def _common(first: int, second: int, immediate: list[int | None], position: dict[int, int]) -> int:
    while first != second:
        while position[first] > position[second]:
            first = immediate[first] or 0
        while position[second] > position[first]:
            second = immediate[second] or 0
    return first


def _loops(
    back: list[tuple[int, int]],
    predecessors: tuple[tuple[int, ...], ...],
    dominators: tuple[int | None, ...],
) -> tuple[Loop, ...]:
    bodies: dict[int, set[int]] = {}
    for source, header in back:
        body = bodies.setdefault(header, {header})
        stack = [source]
        while stack:
            block = stack.pop()
            if block not in body:
                body.add(block)
                stack += [p for p in predecessors[block] if dominators[p] is not None]
    ordered = sorted(bodies.items(), key=lambda item: (-len(item[1]), item[0]))
    loops: list[Loop] = []
    for header, body in ordered:
        around = [i for i, loop in enumerate(loops) if header in loop.blocks]
        parent = around[-1] if around else None
        depth = 1 if parent is None else loops[parent].depth + 1
        loops.append(Loop(header, frozenset(body), parent, depth))
    return tuple(loops)
