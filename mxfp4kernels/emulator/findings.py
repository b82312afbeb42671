"""What the sanitizer reports."""

from __future__ import annotations

from dataclasses import dataclass

from mxfp4kernels.isa.program import Instruction


@dataclass(frozen=True)
class Hazard:
    """A result used, or memory touched, while nothing in the program orders it.

    Attributes:
        kind: ``register``: a result used while in flight; ``lds`` and ``global``: a race between
            waves, or, in LDS, between a wave and its own load to LDS.
        first: the instruction in flight or earlier in the run.
        second: the instruction that meets it.
        where: workgroup and waves of one occurrence, and the register or address.
        missing: the wait or barrier that would order the two.
    """

    kind: str
    first: Instruction
    second: Instruction
    where: str
    missing: str

    @property
    def pair(self) -> tuple[str, frozenset[int]]:
        """The kind and the indices of the two instructions, whichever came first."""
        return self.kind, frozenset((self.first.index, self.second.index))

    def __str__(self) -> str:
        return (
            f"{self.kind} hazard: line {self.first.line} ({self.first.text}) and line "
            f"{self.second.line} ({self.second.text}), {self.where}: {self.missing}"
        )


@dataclass(frozen=True)
class Undefined:
    """A read of something that nothing has written.

    Attributes:
        instruction: the one that reads.
        what: the register, or LDS.
        where: workgroup and wave of one occurrence.
    """

    instruction: Instruction
    what: str
    where: str

    def __str__(self) -> str:
        line, text = self.instruction.line, self.instruction.text
        return f"line {line} ({text}), {self.where}: reads {self.what}, which nothing has written"


@dataclass(frozen=True)
class Need:
    """Whether a program can do without a wait or a barrier.

    Attributes:
        instruction: the ``s_waitcnt`` or ``s_barrier``.
        counter: the counter of an ``s_waitcnt`` that this is about; ``None`` for a barrier.
        count: the count that is waited for; 0 for a barrier.
        reached: whether any wave executed it.
        largest: the largest count that keeps everything ordered, or ``None`` if no wait is
            needed. Meaningless for a barrier that is needed (then 0).
    """

    instruction: Instruction
    counter: str | None
    count: int
    reached: bool
    largest: int | None

    @property
    def needless(self) -> bool:
        """Reached, and droppable by itself without a hazard."""
        return self.reached and self.largest is None


@dataclass(frozen=True)
class Difference:
    """Bytes of a buffer that depend on which wave runs ahead.

    Attributes:
        buffer: its name.
        order: the order whose bytes differ from those of the lockstep run.
        count: how many bytes differ.
        first: offset of the first one.
        atomic: the buffer receives atomics, whose order may change rounding.
    """

    buffer: str
    order: str
    count: int
    first: int
    atomic: bool
