"""Our kernels' times from devices: each device by itself, and ratios within one run only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from ..bench.cases import OURS
from ..bench.measured import MeasuredRow
from ..bench.verdicts import DECIDED, Verdict
from ..flags import FlagSet, acting, join
from ..shapes import REFERENCE_SHAPE
from .origins import MEASURED, Launch, Point
from .published import ROUTINGS

HIP = "aiter-hip"
CIRCUMSTANCES = ("device", "machine", "compute_units", "seed", "processes")
"""With the folder: what rows share that may stand for one another. A later run with other software
stands for an earlier one; its points are of another run and are not joined with them."""
BASELINE, AGAIN = "baseline", "again"

Ratio = tuple[float, float, float]
"""Of a row's time to its baseline's: the estimate and the ends of its interval."""


class Measured:
    """One device's times, of rows without a mark and with rotating buffers.

    Args:
        rows: of one device, under the same circumstances.
    """

    kind = MEASURED

    def __init__(self, rows: Iterable[MeasuredRow]) -> None:
        self._runs: dict[str, list[MeasuredRow]] = defaultdict(list)
        for row in rows:
            if row["cache"] == "rotating":
                self._runs[run_of(row)].append(row)

    @property
    def name(self) -> str:
        """Its runs."""
        return ", ".join(sorted(self._runs))

    @property
    def tokens(self) -> list[int]:
        """Every M there is."""
        return sorted({row.tokens for rows in self._runs.values() for row in rows if row.sound})

    def time(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Microseconds with the 5 % and 95 % quantiles of the replays, or ``None``."""
        rows = self._latest(launch, ours(launch, flags))
        if rows is None:
            return None
        (row,) = rows
        return Point(
            launch.tokens,
            row.us,
            float(row["q05"]),
            float(row["q95"]),
            run_of(row),
            self._unstable(row),
        )

    def gain(self, launch: Launch, without: FlagSet, with_: FlagSet) -> Point | None:
        """From ratios that were taken round by round in the latest run that holds both settings.

        Where one of the settings is the run's baseline, the interval is the bench's own. Elsewhere
        it is of a quotient of two ratios and spans whatever both intervals allow: where each holds
        with 95 %, it holds with at least 90 %.
        """
        return self._quotient(launch, ours(launch, without), ours(launch, with_))

    def to_hip(self, launch: Launch, flags: FlagSet) -> Point | None:
        """Time over that of aiter's HIP kernel, likewise, or ``None``."""
        return self._quotient(launch, ours(launch, flags), {"implementation": HIP})

    def _quotient(
        self, launch: Launch, above: Mapping[str, str], below: Mapping[str, str]
    ) -> Point | None:
        rows = self._latest(launch, above, below)
        if rows is None:
            return None
        first, second = map(_ratio, rows)
        if first is None or second is None:
            return None
        return Point(
            launch.tokens,
            first[0] / second[0],
            first[1] / second[2],
            first[2] / second[1],
            run_of(rows[0]),
            any(map(self._unstable, rows)),
        )

    def _latest(self, launch: Launch, *wanted: Mapping[str, str]) -> list[MeasuredRow] | None:
        """A row for each of ``wanted``, all of one run: the latest that has them all."""
        found = []
        for rows in self._runs.values():
            chosen = [_find(rows, launch, columns) for columns in wanted]
            known = [row for row in chosen if row is not None]
            if len(known) == len(wanted):
                found.append(known)
        return max(found, key=lambda rows: (max(map(_when, rows)), run_of(rows[0])), default=None)

    def _unstable(self, row: MeasuredRow) -> bool:
        """Whether its verdict is UNSTABLE, or its case's baseline differed from itself."""
        case = [one for one in self._runs[run_of(row)] if _case(one) == _case(row)]
        differed = any(one["aa_verdict"] in map(str, DECIDED) for one in case)
        return differed or row["verdict"] == Verdict.UNSTABLE.value


def devices_of(rows: Iterable[MeasuredRow]) -> tuple[Measured, ...]:
    """Devices' times, each device and each circumstance by itself, in the order of the rows."""
    found: dict[tuple[str, ...], list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        key = (row.path.parent.name, *(row[name] for name in CIRCUMSTANCES))
        found[key].append(row)
    return tuple(map(Measured, found.values()))


def run_of(row: MeasuredRow) -> str:
    """``<device>/<run>``: its table's name in ``data/measured``, without the ending."""
    return f"{row.path.parent.name}/{row.path.stem}"


def ours(launch: Launch, flags: FlagSet) -> dict[str, str]:
    """What the columns of our kernel's row hold."""
    return {"implementation": OURS, "flags": join(acting(launch.variant, flags))}


def _find(
    rows: Iterable[MeasuredRow], launch: Launch, more: Mapping[str, str]
) -> MeasuredRow | None:
    wanted = {
        "kernel": launch.variant.kernel,
        "variant": launch.variant.name,
        "shape": str(REFERENCE_SHAPE),
        "routing": ROUTINGS[launch.family],
        "tokens": str(launch.tokens),
        **more,
    }
    for row in rows:
        fits = all(row[name] == text for name, text in wanted.items())
        if fits and row.sound and row["role"] != AGAIN:
            return row
    return None


def _when(row: MeasuredRow) -> datetime:
    return datetime.fromisoformat(row["measured_at"].replace("Z", "+00:00"))


def _case(row: MeasuredRow) -> tuple[str, ...]:
    return tuple(row[name] for name in ("kernel", "variant", "shape", "routing", "tokens"))


def _ratio(row: MeasuredRow) -> Ratio | None:
    """``None`` where the row has none: its baseline was WRONG."""
    if row["role"] == BASELINE:
        return (1.0, 1.0, 1.0)
    if not row["ratio"]:
        return None
    return (float(row["ratio"]), float(row["ratio_low"]), float(row["ratio_high"]))
