"""What the make targets took where they were last recorded: ``data/cost/targets.csv``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from .files import DATA, read_csv, write_csv

COSTS = DATA / "cost" / "targets.csv"
COLUMNS = (
    *("target", "step", "cache", "seconds", "peak_gib"),
    *("cores", "processor", "python", "flydsl", "date"),
)


@dataclass(frozen=True)
class Run:
    """One step of a target.

    Attributes:
        cache: ``empty`` or ``full`` when the target began.
        seconds: from start to end.
        peak: bytes of memory, all its processes together.
    """

    target: str
    step: str
    cache: str
    seconds: float
    peak: int


def write_costs(runs: Sequence[Run], path: Path = COSTS) -> None:
    """Write the table whole, with the machine that it is of; other targets' rows are kept.

    Raises:
        TableError: the table that is there has other columns.
        OSError: the file cannot be written.
    """
    targets = {run.target for run in runs}
    before = read_csv(path, COLUMNS) if path.exists() else []
    kept = [row for row in before if row["target"] not in targets]
    machine = {
        "cores": len(os.sched_getaffinity(0)),
        "processor": _processor(),
        "python": platform.python_version(),
        "flydsl": importlib.metadata.version("flydsl"),
        "date": f"{datetime.now(timezone.utc):%Y-%m-%d}",
    }
    rows = [
        {
            "target": run.target,
            "step": run.step,
            "cache": run.cache,
            "seconds": f"{run.seconds:.1f}",
            "peak_gib": f"{run.peak / 2**30:.2f}",
            **machine,
        }
        for run in runs
    ]
    write_csv(path, COLUMNS, [*kept, *rows])


def _processor() -> str:
    """The processor's name as Linux has it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return "unknown"


def seconds_of(target: str, step: str, cache: str, path: Path = COSTS) -> float:
    """Recorded seconds of a step, or of all steps of a target with ``all``.

    Raises:
        LookupError: there is no such record.
    """
    found = [
        float(row["seconds"])
        for row in read_csv(path, COLUMNS)
        if row["target"] == target and row["cache"] == cache and step in (row["step"], "all")
    ]
    if not found:
        raise LookupError(f"no cost of {target} {step} with {cache} cache in {path.name}")
    return sum(found)
