"""The modelled study: times over M for every flag setting, held against what others published.

``python -m mxfp4kernels.modelled.study`` writes ``data/timing/``. Every number is modelled. No
constant's value is fitted: all are those of ``data/hardware/mi355x.json``. The model's form was not
chosen blind, though; ``docs/timing.md`` says what was decided after a look at published times.
Bands are the root of the summed squares of what each constant's range does alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..files import DATA, write_csv
from ..flags import NONE, acting, label
from ..packages import needed

with needed(__name__):
    from .runner import outcomes_of
    from .tasks import Outcome, Task, claim_tasks, curve_tasks, published_tasks

from ..cache import CacheError
from ..compiler import CompileError, MissingComponent
from ..shapes import REFERENCE_SHAPE, Variant
from ..steps import run_step
from .validation import (
    CLAIMS,
    UNMAPPED,
    VALIDATION,
    Comparison,
    claim_rows,
    read_published,
    unmapped_rows,
    validation_rows,
)

TIMING = DATA / "timing"
CURVE, GAINS, CAUSES = TIMING / "curve.csv", TIMING / "gains.csv", TIMING / "causes.csv"
SENSITIVITY = TIMING / "sensitivity.csv"
CLAIM_TABLE = TIMING / "claims.csv"

Done = Sequence[tuple[Task, Outcome]]
Rows = list[Mapping[str, object]]


def study(workers: int = 2) -> Iterator[Path]:
    """Write every table of ``data/timing/`` but the timeline; yields each once it is written.

    Raises:
        CacheError, CompileError, MissingComponent, OSError: as the compiler and the files do.
    """
    published = read_published()
    curve = curve_tasks()
    tasks = [*curve, *published_tasks(published, curve), *claim_tasks()]
    done = list(zip(tasks, outcomes_of(tasks, workers), strict=True))
    of_curve, of_claims = done[: len(curve)], [pair for pair in done if pair[0].every]
    times = {
        (task.variant, task.tokens, task.routing): (merged_row(task, outcome), outcome.band)
        for task, outcome in done
        if not task.every
    }
    tables: tuple[tuple[Path, Rows], ...] = (
        (CURVE, curve_rows(of_curve)),
        (GAINS, gain_rows(of_curve)),
        (CAUSES, cause_rows(of_curve)),
        (SENSITIVITY, sensitivity_rows(of_curve)),
        (VALIDATION, list(validation_rows(published, times))),
        (UNMAPPED, list(unmapped_rows())),
        (CLAIM_TABLE, list(claim_rows(comparisons(of_claims)))),
    )
    for path, rows in tables:
        write_csv(path, list(rows[0]), rows)
        yield path


def comparisons(done: Done) -> dict[tuple[str, Variant, int], Comparison]:
    """The two forms of every claim and case."""
    outcomes = {(task.variant, task.tokens): outcome for task, outcome in done}
    return {
        (claim.name, variant, tokens): outcomes[variant, tokens].comparison(
            label(variant, acting(variant, claim.before)),
            label(variant, acting(variant, claim.after)),
        )
        for claim in CLAIMS
        for variant, tokens in claim.cases
        if (variant, tokens) in outcomes
    }


def merged_row(task: Task, outcome: Outcome) -> Mapping[str, object]:
    """The row of a task's merged form."""
    wanted = label(task.variant, task.merged)
    return next(row for row in outcome.rows if row["flags"] == wanted)


def curve_rows(done: Done) -> Rows:
    """One row per setting: microseconds with the band of the merged form."""
    rows: Rows = []
    for task, outcome in done:
        low, high = outcome.band
        for row in outcome.rows:
            us = float(str(row["us"]))
            rows.append(
                _head(task)
                | {
                    "flags": row["flags"],
                    "us": f"{us:.3f}",
                    "low": f"{us * (1 + low):.3f}",
                    "high": f"{us * (1 + high):.3f}",
                    "cycles_per_tile": f"{row['cycles_per_tile']:.0f}",
                    "basis": row["basis"],
                    "bound": row["bound"],
                    "clock_ghz": f"{row['clock_ghz']:.3f}",
                    "kind": "modelled",
                }
            )
    return rows


def gain_rows(done: Done) -> Rows:
    """The parent's time over the merged form's, with the band of the ratio.

    A constant moves both times at once, so the band is narrower than those of the times.
    """
    rows: Rows = []
    for task, outcome in done:
        us = {str(row["flags"]): float(str(row["us"])) for row in outcome.rows}
        gain = us[label(task.variant, NONE)] / us[label(task.variant, task.merged)]
        low, high = outcome.gain_band
        rows.append(
            _head(task)
            | {
                "gain": f"{gain:.5f}",
                "low": f"{gain * (1 + low):.5f}",
                "high": f"{gain * (1 + high):.5f}",
                "kind": "modelled",
            }
        )
    return rows


def cause_rows(done: Done) -> Rows:
    """Microseconds by cause; those of a setting add up to its time."""
    return [
        _head(task) | {"flags": one["flags"], "cause": one["cause"], "us": f"{one['us']:.6f}"}
        for task, outcome in done
        for one in outcome.causes
    ]


def sensitivity_rows(done: Done) -> Rows:
    """What each constant's range does to the merged form's time, by the constant's name.

    The cache hands outcomes back with their names in another order than a task makes them.
    """
    return [
        _head(task)
        | {"constant": name, "at_low_pct": f"{100 * a:.2f}", "at_high_pct": f"{100 * b:.2f}"}
        for task, outcome in done
        for name, (a, b) in sorted(outcome.swings.items())
    ]


def _head(task: Task) -> dict[str, object]:
    return {
        "kernel": task.variant.kernel,
        "variant": task.variant.name,
        "shape": str(REFERENCE_SHAPE),
        "routing": task.routing,
        "M": task.tokens,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study; returns an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.modelled.study", description=__doc__
    )
    parser.add_argument("--workers", type=_positive, default=2, help="processes (default: 2)")
    workers = parser.parse_args(argv).workers
    return run_step(lambda: study(workers), CacheError, CompileError, MissingComponent)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(f"at least 1 process, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
