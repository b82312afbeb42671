"""Mutants come in parts, so that a long kernel does not keep one process busy at the end."""

from __future__ import annotations

from itertools import islice

from ..emulator.mutants import Mutant, mutants
from ..isa import Program

PART = 40
"""Mutants of one request."""


def parts_of(program: Program) -> range:
    """The parts that a program's mutants come in."""
    return range(-(-sum(1 for _ in mutants(program)) // PART))


def mutants_of(program: Program, part: int) -> list[Mutant]:
    """The mutants of a part."""
    return list(islice(mutants(program), part * PART, (part + 1) * PART))
