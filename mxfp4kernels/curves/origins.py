"""Our kernels' times from a device and from the timing model, behind one interface.

The two are never mixed: each says its kind, and a gain is formed within one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..bench.cases import OURS
from ..bench.measured import MeasuredRow
from ..files import DATA, read_csv
from ..flags import NONE, FlagSet, acting, join
from ..shapes import REFERENCE_SHAPE, Variant
from .published import ROUTINGS

CURVE, GAINS = DATA / "timing" / "curve.csv", DATA / "timing" / "gains.csv"
"""The timing model's tables; they are made by the model's own command."""

MEASURED, MODELLED, PUBLISHED = "measured", "modelled", "published"


@dataclass(frozen=True)
class Point:
    """A value at M, with the ends of its interval or band; NaN where it has none."""

    tokens: int
    value: float
    low: float = math.nan
    high: float = math.nan


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


class Measured:
    """Devices' times, of rows without a mark and with rotating buffers, the latest of each."""

    kind = MEASURED

    def __init__(self, rows: Iterable[MeasuredRow]) -> None:
        kept = [row for row in rows if row.sound and row["cache"] == "rotating"]
        self._rows = sorted(kept, key=lambda row: row["measured_at"])

    @property
    def tokens(self) -> list[int]:
        """Every M there is."""
        return sorted({row.tokens for row in self._rows})

    def row(self, launch: Launch, **more: str) -> MeasuredRow | None:
        """The latest row of a launch with these values in further columns."""
        wanted: Mapping[str, str] = {
            "kernel": launch.variant.kernel,
            "variant": launch.variant.name,
            "shape": str(REFERENCE_SHAPE),
            "routing": ROUTINGS[launch.family],
            "tokens": str(launch.tokens),
            **more,
        }
        found = [
            row
            for row in self._rows
            if row["role"] != "again" and all(row[name] == text for name, text in wanted.items())
        ]
        return found[-1] if found else None

    def time(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Microseconds with the 5 % and 95 % quantiles of the replays, or ``None``."""
        row = self._setting(launch, flags)
        if row is None:
            return None
        return Point(launch.tokens, row.us, float(row["q05"]), float(row["q95"]))

    def gain(self, launch: Launch, without: FlagSet, with_: FlagSet) -> Point | None:
        """From the run's ratios, which were taken round by round; ``None`` across runs.

        It has an interval where one of the two settings is the run's baseline.
        """
        before, after = self._setting(launch, without), self._setting(launch, with_)
        if before is None or after is None or before["run"] != after["run"]:
            return None
        if before["role"] == "baseline":
            ratio, low, high = _ratio(after)
            return Point(launch.tokens, 1 / ratio, 1 / high, 1 / low)
        if after["role"] == "baseline":
            return Point(launch.tokens, *_ratio(before))
        return Point(launch.tokens, _ratio(before)[0] / _ratio(after)[0])

    def to_hip(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Time over that of aiter's HIP kernel in the same run, or ``None``."""
        hip = self.row(launch, implementation="aiter-hip")
        ours = self._setting(launch, flags)
        if hip is None or ours is None or hip["run"] != ours["run"]:
            return None
        if hip["role"] == "baseline":
            return Point(launch.tokens, *_ratio(ours))
        return Point(launch.tokens, ours.us / hip.us)

    def _setting(self, launch: Launch, flags: FlagSet) -> MeasuredRow | None:
        label = join(acting(launch.variant, flags))
        return self.row(launch, implementation=OURS, flags=label)


def _ratio(row: MeasuredRow) -> tuple[float, float, float]:
    return (float(row["ratio"]), float(row["ratio_low"]), float(row["ratio_high"]))
