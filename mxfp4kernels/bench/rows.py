"""From a run's records to the rows of its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
        "aa_pairs": len(again),
        "aa_different": sum(decide(one, run.procedure.threshold) in DECIDED for one in again),
        "aa_excluding_one": sum(one.excludes(1.0) for one in again),
        **_environment(run.header["environment"]),
    }
    return [
        {
            **dict.fromkeys(NAMES, ""),
            **same_everywhere,
            **_row(case, label, run.reference_clock),
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


def _row(records: CaseRecords, label: str, reference_clock: float | None) -> dict[str, object]:
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
        **_checked(records.checks[0]["checks"][setting.label]),
    }
    if records.wrong(label):
        return row
    return {**row, **_measured(records, label, reference_clock), **_compared(records, label)}


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


def _measured(records: CaseRecords, label: str, reference_clock: float | None) -> dict[str, object]:
    microseconds = 1e6 * np.array(records.replays(label, "seconds"))
    quantiles = np.quantile(microseconds, (0.5, 0.0, 0.05, 0.25, 0.75, 0.95))
    readings = {name: _known(records.replays(label, name)) for name in SENSORS}
    clocks = readings["clock_mhz"]
    return {
        "status": status(_marks(records, label, clocks, reference_clock)),
        "unit": "us",
        **{name: f"{value:.4f}" for name, value in zip(_TIMES, quantiles, strict=True)},
        "replays": len(microseconds),
        "launches_per_replay": records.rounds[0]["settings"][label]["launches"],
        "late_share": f"{records.late_share(label):.4f}",
        **{name: f"{np.median(known):.0f}" if known else "" for name, known in readings.items()},
        "clock_low_mhz": f"{np.quantile(clocks, 0.05):.0f}" if clocks else "",
        "other_processes": "" if records.others is None else records.others,
    }


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _marks(
    records: CaseRecords, label: str, clocks: Sequence[float], reference_clock: float | None
) -> list[Mark]:
    marks = []
    if records.late_share(label) > TOLERATED_SHARE:
        marks.append(Mark.HOST_BOUND)
    if clocks and reference_clock is not None:
        slow = sum(clock < CLOCK_SHARE * reference_clock for clock in clocks)
        if slow > TOLERATED_SHARE * len(clocks):
            marks.append(Mark.THROTTLED)
    if records.others:
        marks.append(Mark.SHARED)
    if not records.wrong(records.case.labels[0]) and records.drifted():
        marks.append(Mark.DRIFTED)
    return marks


def _compared(records: CaseRecords, label: str) -> dict[str, object]:
    """The ratio and its verdict; nothing for the baseline, or where it is wrong."""
    first = records.case.labels[0]
    if label == first or records.wrong(first):
        return {}
    ratio = records.ratio(label)
    return {
        "baseline": first,
        "ratio": f"{ratio.estimate:.5f}",
        "ratio_low": f"{ratio.low:.5f}",
        "ratio_high": f"{ratio.high:.5f}",
        "verdict": verdict_of(records, label, ratio).value,
        "aa_verdict": str(records.again_verdict),
    }


def verdict_of(records: CaseRecords, label: str, ratio: Interval) -> Verdict:
    """The verdict on a label's ratio, with what makes the whole case unsound taken in."""
    first, second = records.case.labels[:2]
    waited = max(records.late_share(first), records.late_share(label)) > TOLERATED_SHARE
    unsound = label != second and records.again_verdict in DECIDED
    return Verdict.UNSTABLE if waited or unsound else decide(ratio, records.procedure.threshold)
