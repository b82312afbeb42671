"""From a run's records to the rows of its table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .cases import OURS, Case
from .columns import NAMES
from .contents import SENSORS
from .intervals import Interval
from .records import CaseRecords, RunRecords
from .verdicts import DECIDED, Mark, Verdict, decide, status

CLOCK_SHARE = 0.9
"""A replay below this share of the reference clock counts as throttled."""
TOLERATED_SHARE = 0.1
"""Share of replays that may be throttled or late before the row is marked."""
_TIMES = ("median", "minimum", "q05", "q25", "q75", "q95")


def rows(run: RunRecords) -> list[dict[str, object]]:
    """One row per label of every complete case, in the order of the plan."""
    again = [case.again for case in run.complete if case.again is not None]
    same_everywhere = {
        "run": run.header["run"],
        "cases": len(run.cases),
        "aa_pairs": len(again),
        "aa_different": sum(decide(one, run.procedure.threshold) in DECIDED for one in again),
        "aa_excluding_one": sum(one.excludes(1.0) for one in again),
        **_environment(run.header["environment"]),
    }
    return [
        {
            **dict.fromkeys(NAMES, ""),
            **same_everywhere,
            **_row(case, label),
        }
        for case in run.complete
        for label in case.case.labels
    ]


def _environment(environment: Mapping[str, Any]) -> dict[str, object]:
    return {
        ("device" if name == "name" else name): value
        for name, value in environment.items()
        if name != "max_clock_mhz"
    }


def _row(records: CaseRecords, label: str) -> dict[str, object]:
    case, procedure = records.case, records.procedure
    setting = case.setting_of(label)
    row: dict[str, object] = {
        "measured_at": records.rounds[-1]["at"],
        "status": Mark.WRONG.value,
        "role": _role(case, label),
        "kernel": case.variant.kernel,
        "variant": case.variant.name,
        "shape": str(case.shape),
        "tokens": case.tokens,
        "routing": case.routing,
        "seed": case.seed,
        "cache": procedure.cache,
        "implementation": setting.implementation,
        "flags": setting.label if setting.implementation == OURS else "",
        "processes": "fresh" if procedure.fresh_process else "one",
        "confidence": procedure.confidence,
        "threshold": procedure.threshold,
        "rounds": len(records.rounds),
        **records.checks[0]["facts"],
        **records.checks[0]["provenance"][setting.label],
        **_checked(records.check(label)),
    }
    if records.wrong(label):
        return row
    return {**row, **_measured(records, label), **_compared(records, label)}


def _role(case: Case, label: str) -> str:
    first, second = case.labels[:2]
    return {first: "baseline", second: "again"}.get(label, "setting")


def _checked(check: Mapping[str, Any]) -> dict[str, object]:
    return {
        "checked_elements": check["elements"],
        "mismatches": check["mismatches"],
        "checked_tiles": check["tiles"],
        "tiles": check["of"],
    }


def _measured(records: CaseRecords, label: str) -> dict[str, object]:
    microseconds = 1e6 * np.array(records.replays(label, "seconds"))
    quantiles = np.quantile(microseconds, (0.5, 0.0, 0.05, 0.25, 0.75, 0.95))
    clocks = records.clocks(label)
    readings = {name: _known(records.replays(label, name)) for name in SENSORS}
    readings["clock_mhz"] = clocks
    reference = records.reference_clock
    return {
        "status": status(_marks(records, label)),
        "unit": "us",
        **{name: f"{value:.4f}" for name, value in zip(_TIMES, quantiles, strict=True)},
        "replays": len(microseconds),
        "launches_per_replay": records.rounds[0]["settings"][label]["launches"],
        "late_share": f"{records.late_share(label):.4f}",
        **{name: f"{np.median(known):.0f}" if known else "" for name, known in readings.items()},
        "clock_reference_mhz": "" if reference is None else f"{reference:.0f}",
        "clock_low_mhz": f"{np.quantile(clocks, 0.05):.0f}" if clocks else "",
        "other_processes": "" if records.others is None else records.others,
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _marks(records: CaseRecords, label: str) -> list[Mark]:
    marks = []
    if records.late_share(label) > TOLERATED_SHARE:
        marks.append(Mark.HOST_BOUND)
    if _throttled(records, label):
        marks.append(Mark.THROTTLED)
    if records.others:
        marks.append(Mark.SHARED)
    if not records.wrong(records.case.labels[0]):
        if _unequal_clock(records, label):
            marks.append(Mark.UNEQUAL_CLOCK)
        if records.drifted():
            marks.append(Mark.DRIFTED)
    return marks


def _throttled(records: CaseRecords, label: str) -> bool:
    clocks, reference = records.clocks(label), records.reference_clock
    if reference is None:
        return False
    slow = sum(clock < CLOCK_SHARE * reference for clock in clocks)
    return slow > TOLERATED_SHARE * len(clocks)


def _unequal_clock(records: CaseRecords, label: str) -> bool:
    """Whether the clock differs from the baseline's by more than the threshold, and not by chance.

    A setting that draws more power may be given a lower clock: its time is then not only its own.
    """
    ratio = records.clock_ratio(label)
    if ratio is None:
        return False
    far = abs(math.log(ratio.estimate)) > math.log(1 + records.procedure.threshold)
    return far and ratio.excludes(1.0)


def _compared(records: CaseRecords, label: str) -> dict[str, object]:
    """The ratio and its verdict; nothing for the baseline, or where it is wrong."""
    first = records.case.labels[0]
    if label == first or records.wrong(first):
        return {}
    ratio, clocks = records.ratio(label), records.clock_ratio(label)
    return {
        "baseline": first,
        "ratio": f"{ratio.estimate:.5f}",
        "ratio_low": f"{ratio.low:.5f}",
        "ratio_high": f"{ratio.high:.5f}",
        "serial_correlation": f"{records.serial(label).correlation:.3f}",
        "clock_ratio": "" if clocks is None else f"{clocks.estimate:.5f}",
        "verdict": verdict_of(records, label, ratio).value,
        "aa_verdict": str(records.again_verdict),
    }


def verdict_of(records: CaseRecords, label: str, ratio: Interval) -> Verdict:
    """The verdict on a label's ratio, with what makes it or the whole case unsound taken in."""
    first, second = records.case.labels[:2]
    both = (first, label)
    unsound = (
        max(map(records.late_share, both)) > TOLERATED_SHARE
        or (label != second and records.again_verdict in DECIDED)
        or records.wandered(label)
        or any(_throttled(records, one) for one in both)
        or _unequal_clock(records, label)
    )
    return Verdict.UNSTABLE if unsound else decide(ratio, records.procedure.threshold)
