"""What the commits state that changes are worth, beside what the model says of the same changes.

Every figure that shows them takes them from here, so that all show the same ones at the same M.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..curves.published import CHANGES
from ..files import DATA, read_csv

CLAIMS = DATA / "timing" / "claims.csv"
TOGETHER = next(flags for flags in CHANGES.values() if len(flags) > 1)
"""The changes that the commits give one number for."""


@dataclass(frozen=True)
class Claim:
    """A gain in percent: as published, lowest and highest, and modelled for the same changes."""

    flags: tuple[str, ...]
    tokens: int
    low: float
    high: float
    modelled: float

    @property
    def middle(self) -> float:
        """Of the published range."""
        return (self.low + self.high) / 2

    @property
    def level(self) -> bool:
        """Whether the commits say that nothing changes."""
        return self.low == self.high == 0


def gain(change: float) -> float:
    """How many percent more a kernel does per time whose time changes by ``change`` percent."""
    return 100 * (1 / (1 + change / 100) - 1)


def claims_of(kernel: str) -> list[Claim]:
    """The claims about a kernel, by M.

    Raises:
        TableError, OSError: the table cannot be read.
        LookupError: a claim is about changes that we do not know.
    """
    made = [_claim(row) for row in read_csv(CLAIMS) if row["kernel"] == kernel]
    return sorted(made, key=lambda claim: claim.tokens)


def _claim(row: Mapping[str, str]) -> Claim:
    """The published time changes by these percents; the slowest end is the least gain."""
    return Claim(
        _flags(row),
        int(row["M"]),
        gain(float(row["published_high_pct"])),
        gain(float(row["published_low_pct"])),
        gain(float(row["modelled_pct"])),
    )


def _flags(row: Mapping[str, str]) -> tuple[str, ...]:
    """A claim's name starts with its flag, or with its kernel where it is about several."""
    first = row["claim"].split()[0]
    for flags in CHANGES.values():
        if flags == (first,):
            return flags
    if first == row["kernel"]:
        return TOGETHER
    raise LookupError(f"{CLAIMS.name}: no changes of the name {first!r}")


def highest(claims: Sequence[Claim]) -> tuple[float, float]:
    """The largest published gain of claims, and the largest modelled one of the same claims."""
    return max(claim.high for claim in claims), max(claim.modelled for claim in claims)
