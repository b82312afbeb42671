"""Published device times and ratios to HIP: ``data/published/published.csv``, typed.

Every source used one of two routing families, which differ in how many experts are active at a
given M and so in the work that is done. Nothing here combines rows of different families, and a
ratio is formed only of rows that one source measured together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..ablation.published import FIGURES
from ..files import DATA, read_csv

SOURCES = DATA / "published" / "sources.csv"

FAMILIES = ("A", "B")
ROUTINGS: Mapping[str, str] = {"A": "family-a", "B": "family-b"}
"""The families and what :data:`mxfp4kernels.numerics.inputs.ROUTINGS` calls them."""

PER_KERNEL = ("gemm1", "gemm2")
"""Rows that are the device time of one kernel; others are of the whole layer or of what is around
it."""

_COUNTERPARTS: Mapping[str, str] = {
    "all FlyDSL": "all HIP",
    "FlyDSL sort+gemm1, HIP gemm2": "all HIP",
    "fused_moe CSV": "mxfp4_moe CSV",
    "BM128 f4out; all-FlyDSL v36": "BM128 f4out; all-FlyDSL v36",
}
"""Variants whose HIP counterpart in the same table has another name."""


class ComparisonError(ValueError):
    """Published rows that must not be put together."""


@dataclass(frozen=True)
class Source:
    """A source of published figures.

    Args:
        name: as its rows have it.
        family: the routing family; empty if it has none.
        flydsl: which FlyDSL kernels it is about; empty if it is about none.
        harness, comparability: how it measured, and what its rows can be compared with.
    """

    name: str
    family: str
    flydsl: str
    harness: str
    comparability: str


@dataclass(frozen=True)
class PublishedTime:
    """A published time.

    Args:
        source: where it is from.
        commit, date: of the publication.
        kernel: ``gemm1``, ``gemm2``, or what else was timed.
        backend: ``hip``, ``flydsl`` or ``flydsl_legacy``.
        variant: as published.
        tokens: M.
        us: microseconds.
        note: how it was measured.
    """

    source: Source
    commit: str
    date: str
    kernel: str
    backend: str
    variant: str
    tokens: int
    us: float
    note: str

    @property
    def family(self) -> str:
        """The routing family."""
        return self.source.family

    @property
    def kept(self) -> bool:
        """Neither of an eager profiler run nor of a variant that its author rejected."""
        return "eager" not in self.note and not self.note.startswith("rejected")


@dataclass(frozen=True)
class Ratio:
    """A FlyDSL time over the HIP time that was measured with it."""

    flydsl: PublishedTime
    hip: PublishedTime

    @property
    def value(self) -> float:
        """Below 1 where FlyDSL is faster."""
        return self.flydsl.us / self.hip.us


class Times:
    """Published times, in the order of the table."""

    def __init__(self, rows: Iterable[PublishedTime]) -> None:
        self.rows = tuple(rows)

    def of(self, family: str) -> Times:
        """The times of one routing family.

        Raises:
            ComparisonError: no such family.
        """
        if family not in FAMILIES:
            raise ComparisonError(
                f"unknown routing family {family!r}; choose {' or '.join(FAMILIES)}"
            )
        return Times(row for row in self.rows if row.family == family)

    def series(self, kernel: str, backend: str) -> list[PublishedTime]:
        """Times of one kernel and backend that may stand on one curve, by M.

        Raises:
            ComparisonError: the rows are of more than one family; choose one with :meth:`of`.
        """
        chosen = [
            row for row in self.rows if (row.kernel, row.backend) == (kernel, backend) and row.kept
        ]
        families = sorted({row.family for row in chosen})
        if len(families) > 1:
            raise ComparisonError(
                f"{kernel} {backend} has times of the routing families {' and '.join(families)}, "
                "which differ in their work; choose one with Times.of"
            )
        return sorted(chosen, key=lambda row: (row.tokens, row.date))

    def ratios(self, kernel: str) -> list[Ratio]:
        """Every FlyDSL time of a kernel that has its HIP time beside it, by M and date."""
        flydsl = [
            row
            for row in self.rows
            if (row.kernel, row.backend, row.kept) == (kernel, "flydsl", True)
        ]
        pairs = [ratio(one, other) for one in flydsl for other in self._counterparts(one)]
        return sorted(pairs, key=lambda pair: (pair.flydsl.tokens, pair.flydsl.date))

    def _counterparts(self, flydsl: PublishedTime) -> list[PublishedTime]:
        return [row for row in self.rows if row.backend == "hip" and _together(flydsl, row)]


def _together(flydsl: PublishedTime, hip: PublishedTime) -> bool:
    """Whether one source measured both at once."""
    variant = _COUNTERPARTS.get(flydsl.variant, flydsl.variant)
    return variant == hip.variant and all(
        getattr(flydsl, name) == getattr(hip, name)
        for name in ("source", "commit", "date", "kernel", "tokens", "note")
    )


def ratio(flydsl: PublishedTime, hip: PublishedTime) -> Ratio:
    """The ratio of two times of one measurement.

    Raises:
        ComparisonError: they are of different families, or were not measured together.
    """
    if flydsl.family != hip.family:
        raise ComparisonError(
            f"no ratio of routing family {flydsl.family} to {hip.family}: other experts are active"
        )
    if not _together(flydsl, hip):
        raise ComparisonError(
            f"{flydsl.variant!r} of {flydsl.date} and {hip.variant!r} of {hip.date} were not "
            "measured together"
        )
    return Ratio(flydsl, hip)


def read_sources(path: Path = SOURCES) -> dict[str, Source]:
    """The sources by name.

    Raises:
        TableError: a column is missing.
        OSError: the file cannot be read.
    """
    columns = ("source", "family", "flydsl", "harness", "comparability")
    return {
        row["source"]: Source(row["source"], *(row[name] for name in columns[1:]))
        for row in read_csv(path, columns)
    }


def read_times(path: Path = FIGURES, sources: Path = SOURCES) -> Times:
    """The published times.

    Raises:
        TableError: a column is missing.
        ValueError: a row's source is unknown, or a number in it is none.
        OSError: a file cannot be read.
    """
    known = read_sources(sources)
    return Times(_time(row, known) for row in _rows(path, "us"))


def _rows(path: Path, metric: str) -> list[dict[str, str]]:
    columns = ("source", "commit_or_pr", "date", "kernel", "backend", "variant", "M", "metric")
    return [row for row in read_csv(path, (*columns, "value", "note")) if row["metric"] == metric]


def _time(row: Mapping[str, str], sources: Mapping[str, Source]) -> PublishedTime:
    if row["source"] not in sources:
        raise ValueError(f"{FIGURES.name}: {SOURCES.name} does not say what {row['source']!r} is")
    return PublishedTime(
        source=sources[row["source"]],
        commit=row["commit_or_pr"],
        date=row["date"],
        kernel=row["kernel"],
        backend=row["backend"],
        variant=row["variant"],
        tokens=int(row["M"]),
        us=float(row["value"]),
        note=row["note"],
    )


@dataclass(frozen=True)
class ClaimedRatio:
    """A ratio to HIP that a commit of the pull request states.

    Args:
        kernel, tokens: of what.
        after: whether with the commit's changes or before them.
        value: below 1 where FlyDSL is faster.
        commit: the commit that says so.
        changes: as the commit names them.
    """

    kernel: str
    tokens: int
    after: bool
    value: float
    commit: str
    changes: str


def read_claimed_ratios(path: Path = FIGURES) -> tuple[ClaimedRatio, ...]:
    """The ratios that the pull request's commits state; all of routing family A.

    Raises:
        TableError: a column is missing.
        ValueError: a row says neither before nor after.
        OSError: the file cannot be read.
    """
    return tuple(_claimed(row) for row in _rows(path, "ratio_flydsl_hip"))


def _claimed(row: Mapping[str, str]) -> ClaimedRatio:
    match = re.fullmatch(r"(before|after) (.+)", row["variant"])
    if match is None:
        raise ValueError(f"{FIGURES.name}: neither before nor after: {row['variant']!r}")
    return ClaimedRatio(
        kernel=row["kernel"],
        tokens=int(row["M"]),
        after=match[1] == "after",
        value=float(row["value"]),
        commit=row["commit_or_pr"].partition(" ")[0],
        changes=match[2],
    )


@dataclass(frozen=True)
class ClaimedGain:
    """What the pull request says that some of its changes are worth, as time before over after.

    Args:
        kernel: of what.
        flags: our names of the changes.
        first, last: the range of M; ``last`` is ``None`` where it is only called large.
        low, high: the range that is stated; equal where it is one number.
        commit: the commit that says so.
    """

    kernel: str
    flags: tuple[str, ...]
    first: int
    last: int | None
    low: float
    high: float
    commit: str


CHANGES: Mapping[str, tuple[str, ...]] = {
    "raw-pointer ABI": ("bare_pointer_abi",),
    "hw exp2": ("hardware_exp2",),
    "backend-waitcnt+epilog-hoist+udiv": (
        "backend_waitcnt",
        "epilog_hoisting",
        "unsigned_divrem",
    ),
}
"""The commits' names of their changes, and our flags."""
LARGE = 1024
"""Where "large M" begins; the commit does not say."""


def read_claimed_gains(path: Path = FIGURES) -> tuple[ClaimedGain, ...]:
    """The gains that the pull request's commits state, in percent or by two ratios to HIP.

    Raises:
        TableError: a column is missing.
        ValueError: a row is not understood.
    """
    ratios: dict[tuple[str, int, str, str], dict[bool, float]] = {}
    for claim in read_claimed_ratios(path):
        key = (claim.kernel, claim.tokens, claim.changes, claim.commit)
        ratios.setdefault(key, {})[claim.after] = claim.value
    found = [_gain_of_percent(row) for row in _rows(path, "percent_delta")]
    for (kernel, tokens, changes, commit), values in ratios.items():
        gain = values[False] / values[True]
        found.append(ClaimedGain(kernel, CHANGES[changes], tokens, tokens, gain, gain, commit))
    return tuple(found)


def _gain_of_percent(row: Mapping[str, str]) -> ClaimedGain:
    """``-7`` or ``-2 to -6`` percent of time, at ``4-8`` or ``large``."""
    gains = [1 / (1 + float(part) / 100) for part in row["value"].split(" to ")]
    span = re.fullmatch(r"(\d+)-(\d+)", row["M"])
    if span is None and row["M"] != "large":
        raise ValueError(f"{FIGURES.name}: no range of M: {row['M']!r}")
    return ClaimedGain(
        kernel=row["kernel"],
        flags=CHANGES[row["variant"]],
        first=int(span[1]) if span else LARGE,
        last=int(span[2]) if span else None,
        low=min(gains),
        high=max(gains),
        commit=row["commit_or_pr"].partition(" ")[0],
    )
