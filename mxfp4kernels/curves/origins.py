"""Where times of our kernels come from, behind one interface; and the timing model's.

A device's are in :mod:`.measured`. The two are never mixed: each says its kind, and a gain is
formed within one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..files import DATA, read_csv
from ..flags import NONE, FlagSet, acting, join
from ..shapes import REFERENCE_SHAPE, Variant
from .published import ROUTINGS

CURVE, GAINS = DATA / "timing" / "curve.csv", DATA / "timing" / "gains.csv"
"""The timing model's tables; they are made by the model's own command."""

MEASURED, MODELLED, PUBLISHED = "measured", "modelled", "published"


@dataclass(frozen=True)
class Point:
    """A value at M, with the ends of its interval or band; NaN where it has none.

    Args:
        tokens: M.
        value, low, high: what is said of it.
        run: which measurement it is of, as ``<device>/<run>``; empty if it is of none.
        unstable: its comparison came out UNSTABLE, so that it is no result.
    """

    tokens: int
    value: float
    low: float = math.nan
    high: float = math.nan
    run: str = ""
    unstable: bool = False


@dataclass(frozen=True)
class Launch:
    """A kernel of ours at the reference shape, but for its flags."""

    variant: Variant
    family: str
    tokens: int


class Origin(Protocol):
    """Where times of our kernels come from."""

    kind: str

    @property
    def name(self) -> str:
        """The device's runs; empty for the model."""

    @property
    def tokens(self) -> list[int]:
        """Every M there is."""

    def time(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Microseconds, or ``None``."""

    def gain(self, launch: Launch, without: FlagSet, with_: FlagSet) -> Point | None:
        """Time without some flags over time with them, or ``None``."""


@dataclass(frozen=True)
class ModelRow:
    """One row of the model's table; microseconds."""

    kernel: str
    variant: str
    shape: str
    routing: str
    tokens: int
    flags: str
    us: float
    low: float
    high: float

    @property
    def key(self) -> tuple[object, ...]:
        """What it is the time of."""
        return (self.kernel, self.variant, self.shape, self.routing, self.tokens, self.flags)


def read_model(path: Path = CURVE) -> tuple[ModelRow, ...]:
    """The model's rows; none if its table is not there.

    Raises:
        TableError: a column is missing.
        ValueError: a number is none.
    """
    if not path.exists():
        return ()
    columns = ("kernel", "variant", "shape", "routing", "M", "flags", "us", "low", "high")
    return tuple(
        ModelRow(
            kernel=row["kernel"],
            variant=row["variant"],
            shape=row["shape"],
            routing=row["routing"],
            tokens=int(row["M"]),
            flags=row["flags"],
            us=float(row["us"]),
            low=float(row["low"]),
            high=float(row["high"]),
        )
        for row in read_csv(path, columns)
    )


def read_gains(path: Path = GAINS) -> dict[tuple[str, str, str, int], Point]:
    """Modelled time with no flag over time with all, by kernel, variant, routing and M.

    Their bands are of the ratio: a constant moves both times at once. Empty without the table.

    Raises:
        TableError: a column is missing.
        ValueError: a number is none.
    """
    if not path.exists():
        return {}
    columns = ("kernel", "variant", "shape", "routing", "M", "gain", "low", "high")
    return {
        (row["kernel"], row["variant"], row["routing"], int(row["M"])): Point(
            int(row["M"]), float(row["gain"]), float(row["low"]), float(row["high"])
        )
        for row in read_csv(path, columns)
        if row["shape"] == str(REFERENCE_SHAPE)
    }


class Modelled:
    """The timing model's times; points carry its band.

    Args:
        rows: times.
        gains: of all flags together, with their bands.
    """

    kind = MODELLED
    name = ""

    def __init__(
        self,
        rows: Iterable[ModelRow],
        gains: Mapping[tuple[str, str, str, int], Point] | None = None,
    ) -> None:
        self._rows = {row.key: row for row in rows}
        self._gains = gains or {}

    @property
    def tokens(self) -> list[int]:
        """Every M there is."""
        return sorted({row.tokens for row in self._rows.values()})

    def time(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Microseconds, or ``None``."""
        variant = launch.variant
        place = (variant.kernel, variant.name, str(REFERENCE_SHAPE), ROUTINGS[launch.family])
        row = self._rows.get((*place, launch.tokens, join(acting(variant, flags))))
        return None if row is None else Point(launch.tokens, row.us, row.low, row.high)

    def gain(self, launch: Launch, without: FlagSet, with_: FlagSet) -> Point | None:
        """A ratio of two modelled times; that of no flag to all has a band of its own.

        Others have none: it cannot be had from the bands of the times, which have a common cause.
        """
        variant = launch.variant
        if (acting(variant, without), acting(variant, with_)) == (NONE, acting(variant)):
            key = (variant.kernel, variant.name, ROUTINGS[launch.family], launch.tokens)
            if key in self._gains:
                return self._gains[key]
        before, after = self.time(launch, without), self.time(launch, with_)
        if before is None or after is None:
            return None
        return Point(launch.tokens, before.value / after.value)
