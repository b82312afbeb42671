"""Which registers a wave has ever written.

Kept per wave and register: a register of which one lane or one byte was written counts as written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]


@dataclass
class Defined:
    """The written registers of a batch of waves, as rows (scalars offset).

    Attributes:
        waves: how many waves.
        everywhere: rows that every wave has written, or that the launch sets up.
        partly: bool [waves] for rows that some have written.
    """

    waves: int
    everywhere: frozenset[int] = frozenset()
    partly: dict[int, Flags] = field(default_factory=dict)

    def write(self, rows: frozenset[int]) -> None:
        """Every wave has written these rows."""
        if rows <= self.everywhere:
            return
        self.everywhere |= rows
        for row in rows:
            self.partly.pop(row, None)

    def lacking(self, rows: frozenset[int]) -> Iterator[tuple[int, Flags]]:
        """Those of the rows that some wave has not written, and which waves: bool [waves]."""
        for row in sorted(rows - self.everywhere):
            yield row, ~self._flags(row)

    def take(self, chosen: Flags) -> Defined:
        """The part of the chosen waves."""
        partly = {row: flags[chosen] for row, flags in self.partly.items()}
        return _settled(int(chosen.sum()), self.everywhere, partly)

    def joined(self, others: Sequence[Defined], order: npt.NDArray[np.int64]) -> Defined:
        """These and the others' waves together, in the given order."""
        parts = [self, *others]
        everywhere = frozenset[int].intersection(*(part.everywhere for part in parts))
        somewhere = {row for part in parts for row in (*part.everywhere, *part.partly)}
        partly = {
            row: np.concatenate([part._flags(row) for part in parts])[order]
            for row in somewhere - everywhere
        }
        return _settled(len(order), everywhere, partly)

    def _flags(self, row: int) -> Flags:
        if row in self.everywhere:
            return np.ones(self.waves, np.bool_)
        return self.partly.get(row, np.zeros(self.waves, np.bool_))


def _settled(waves: int, everywhere: frozenset[int], partly: dict[int, Flags]) -> Defined:
    """With rows that all or none of the waves have written where they belong."""
    full = {row for row, flags in partly.items() if flags.all()}
    rest = {row: flags for row, flags in partly.items() if row not in full and flags.any()}
    return Defined(waves, everywhere | full, rest)
