"""Series over M of three kinds that are never mixed: published, measured, modelled.

Each series says its kind and its routing family. What is not there gives no series: nobody may have
measured yet, and the model's table may not have been made.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..bench.measured import MEASURED as MEASURED_FOLDER
from ..bench.measured import MeasuredRow, read_measured
from ..flags import ALL, FLAGS, NONE, FlagSet, acting
from ..shapes import KERNELS, Variant, dispatch
from .checks import checked
from .measured import Measured, devices_of, run_of
from .origins import (
    CURVE,
    GAINS,
    MEASURED,
    MODELLED,
    PUBLISHED,
    Launch,
    Modelled,
    Origin,
    Point,
    read_gains,
    read_model,
)
from .published import (
    PER_KERNEL,
    ClaimedRatio,
    PublishedTime,
    Times,
    read_claimed_ratios,
    read_times,
)

TABLE_TOKENS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
"""Rows of the pull request's table of ratios: those of its tuning."""


@dataclass(frozen=True)
class Series:
    """Values over M; several at one M where a source has several.

    Args:
        name: what it is of.
        kind: published, measured or modelled.
        family: the routing family, ``A`` or ``B``.
        points: by M.
        run: of a measured one, which: no series has points of two.
    """

    name: str
    kind: str
    family: str
    points: tuple[Point, ...]
    run: str = ""

    @property
    def origin(self) -> str:
        """The kind, and the run if it is of one."""
        return f"{self.kind} {self.run}".rstrip()


@dataclass(frozen=True)
class Sources:
    """Everything that is there."""

    times: Times
    claims: tuple[ClaimedRatio, ...]
    rows: tuple[MeasuredRow, ...]
    measured: tuple[Measured, ...]
    modelled: Modelled

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where times of our own kernels come from."""
        return (*self.measured, self.modelled)

    @property
    def devices(self) -> tuple[str, ...]:
        """Products that have been measured."""
        return tuple(sorted({row["device"] for row in self.rows}))

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs that have been measured, as ``<device>/<run>``."""
        return tuple(sorted(set(map(run_of, self.rows))))

    def state(self) -> dict[str, str]:
        """For each kind what there is, or that there is nothing yet."""
        where = "nobody has run mxfp4kernels bench on a gfx950 device"
        published = [row for row in self.times.rows if row.kernel in PER_KERNEL and row.kept]
        measured = "; ".join(map(self._rows_of, self.devices))
        modelled = len(self.modelled.tokens)
        return {
            PUBLISHED: f"{len(published)} times, {len(self.claims)} ratios to HIP",
            MEASURED: measured or f"not yet: {where}",
            MODELLED: f"{modelled} numbers of tokens" if modelled else "not yet",
        }

    def _rows_of(self, device: str) -> str:
        rows = [row for row in self.rows if row["device"] == device]
        marked = sum(not row.sound for row in rows)
        left_out = f", {marked} of them marked and left out" if marked else ""
        return f"{device}: {len(rows)} rows{left_out}"


def read_all(measured: Path = MEASURED_FOLDER, curve: Path = CURVE) -> Sources:
    """Read whatever there is; the model's gains lie beside its curve.

    Raises:
        TableError, ValueError, OSError: a table that is there cannot be read.
    """
    rows = checked(read_measured(measured))
    return Sources(
        times=read_times(),
        claims=read_claimed_ratios(),
        rows=rows,
        measured=devices_of(rows),
        modelled=Modelled(read_model(curve), read_gains(curve.with_name(GAINS.name))),
    )


def times(sources: Sources, kernel: str, family: str) -> list[Series]:
    """Microseconds over M: published HIP and FlyDSL, and ours with no flag and with all.

    Ours are of the variant that the published tuning runs at each M.
    """
    found = _published(sources.times.of(family), kernel, family)
    for origin in sources.origins:
        for name, flags in (("none", NONE), ("all", ALL)):
            points = [origin.time(launch, flags) for launch in _tuned(origin, kernel, family)]
            found += _by_run(name, origin.kind, family, points)
    return found


def _published(times: Times, kernel: str, family: str) -> list[Series]:
    """A series for HIP, and one for each of the FlyDSL kernels that sources are about."""
    found: dict[str, list[Point]] = {}
    for backend in ("hip", "flydsl"):
        for row in times.series(kernel, backend):
            found.setdefault(_name_of(row), []).append(Point(row.tokens, row.us))
    return [Series(name, PUBLISHED, family, tuple(points)) for name, points in found.items()]


def _name_of(row: PublishedTime) -> str:
    return "HIP" if row.backend == "hip" else row.source.flydsl


def _by_run(name: str, kind: str, family: str, points: Iterable[Point | None]) -> list[Series]:
    """A series for every run that there are points of."""
    runs: dict[str, list[Point]] = {}
    for point in points:
        if point is not None:
            runs.setdefault(point.run, []).append(point)
    return [Series(name, kind, family, tuple(mine), run) for run, mine in runs.items()]


def speedup(sources: Sources, kernel: str, family: str) -> list[Series]:
    """Time with no flag over time with all: above 1 where the changes help."""
    return [
        series
        for origin in sources.origins
        for series in _by_run(
            "none / all",
            origin.kind,
            family,
            (origin.gain(launch, NONE, ALL) for launch in _tuned(origin, kernel, family)),
        )
    ]


def ratios_to_hip(sources: Sources, kernel: str) -> list[Series]:
    """FlyDSL over HIP where one source has both; all of routing family A."""
    others: dict[str, list[Point]] = {}
    for pair in sources.times.of("A").ratios(kernel):
        point = Point(pair.flydsl.tokens, pair.value)
        others.setdefault(_name_of(pair.flydsl), []).append(point)
    found = [Series(name, PUBLISHED, "A", tuple(points)) for name, points in others.items()]
    for name, after in (("before", False), ("after", True)):
        points = tuple(
            Point(claim.tokens, claim.value)
            for claim in sources.claims
            if (claim.kernel, claim.after) == (kernel, after)
        )
        found.append(Series(f"pull request, {name}", PUBLISHED, "A", points))
    for device in sources.measured:
        ours = [device.to_hip(launch, ALL) for launch in _tuned(device, kernel, "A")]
        found += _by_run("all", MEASURED, "A", ours)
    return [series for series in found if series.points]


def _tuned(origin: Origin, kernel: str, family: str) -> list[Launch]:
    return [Launch(dispatch(kernel, tokens), family, tokens) for tokens in origin.tokens]


@dataclass(frozen=True)
class Contribution:
    """What one flag is worth by a study: time without it over time with it.

    Args:
        flag, study, variant: of what.
        kind: measured or modelled.
        device: name of the measured one's :class:`.Measured`; empty for a modelled one.
        point: the worth.
    """

    flag: str
    study: str
    kind: str
    variant: Variant
    point: Point
    device: str = ""

    @property
    def origin(self) -> str:
        """The kind, and the run if it is of one."""
        return f"{self.kind} {self.point.run}".rstrip()


def contributions(sources: Sources, kernel: str, family: str, tokens: int) -> list[Contribution]:
    """Every acting flag's worth at one M by every study, measured and modelled."""
    launch = Launch(dispatch(kernel, tokens), family, tokens)
    return [
        Contribution(flag, study, origin.kind, launch.variant, point, origin.name)
        for origin in sources.origins
        for flag, study, without, with_ in pairs_of(launch.variant)
        if (point := origin.gain(launch, without, with_)) is not None
    ]


def pairs_of(variant: Variant) -> Iterable[tuple[str, str, FlagSet, FlagSet]]:
    """A flag, a study, and the settings without and with the flag that the study compares."""
    everything, so_far = acting(variant), NONE
    for flag in (one.name for one in FLAGS if one.name in everything):
        yield flag, "alone", NONE, frozenset({flag})
        yield flag, "leave-one-out", everything - {flag}, everything
        yield flag, "cumulative", so_far, so_far | {flag}
        so_far = so_far | {flag}


@dataclass(frozen=True)
class TableRow:
    """A row of the pull request's table of ratios to HIP; ``None`` is a gap.

    Args:
        kernel, tokens: of what.
        before, after: as a commit of the pull request states it.
        changes: what that commit changed.
        port: median of what the stand-alone port that came before it reached.
    """

    kernel: str
    tokens: int
    before: float | None
    after: float | None
    changes: str
    port: float | None


def ratio_table(sources: Sources) -> list[TableRow]:
    """The pull request's table as far as it has been published."""
    return [_table_row(sources, kernel, tokens) for kernel in KERNELS for tokens in TABLE_TOKENS]


def _table_row(sources: Sources, kernel: str, tokens: int) -> TableRow:
    claims = [one for one in sources.claims if (one.kernel, one.tokens) == (kernel, tokens)]
    pairs = sources.times.of("A").ratios(kernel)
    port = [pair.value for pair in pairs if pair.flydsl.tokens == tokens]
    return TableRow(
        kernel=kernel,
        tokens=tokens,
        before=next((claim.value for claim in claims if not claim.after), None),
        after=next((claim.value for claim in claims if claim.after), None),
        changes=claims[0].changes if claims else "",
        port=statistics.median(port) if port else None,
    )
