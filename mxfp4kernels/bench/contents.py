"""What each kind of record must hold: checked before it is written, and when it is read again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from .cases import AGAIN, Case
from .columns import FACTS
from .journal import Record, damaged
from .procedure import Procedure

KINDS = ("checks", "round", "after")
"""What a journal holds of each case."""
END = "end"
"""The kind of a finished run's last record, which is of no case."""
SENSORS = ("clock_mhz", "power_w", "temperature_c")
"""Readings of a replay, as :class:`.device.Sensors` names them."""
_CHECK = ("elements", "mismatches", "tiles", "of")


class RecordError(ValueError):
    """A record that cannot be one of the run; the message says what is wrong with it."""


def sort_records(
    records: Sequence[Record], cases: Mapping[str, Case], procedure: Procedure, path: Path
) -> dict[str, list[Record]]:
    """A journal's records by case, each of them checked.

    Args:
        records: all of them, the header first.
        cases: what the run measures, by identity.
        procedure: how.
        path: the journal's, for errors.

    Raises:
        JournalError: a record that cannot be one of the run.
    """
    found: dict[str, list[Record]] = {name: [] for name in cases}
    for number, record in enumerate(records[1:], start=2):
        name = record["case"]
        try:
            _require(records[number - 2]["kind"] != END, "it follows on the end of the run")
            if record["kind"] == END:
                check_end(record, cases, found, procedure)
                continue
            _require(name in cases, f"the run has no case {name!r}")
            check_record(record, cases[name], found[name], procedure)
            key = key_of(name, record, found[name])
            _require(record["key"] == key, f"its key is {record['key']!r}, not {key!r}")
        except RecordError as error:
            where = f"{cases[name]}: " if name in cases else ""
            raise damaged(path, number, f"{where}{error}") from None
        found[name].append(record)
    return found


def key_of(name: str, record: Record, before: Sequence[Record]) -> str:
    """The key of a case's next record; checks are numbered by the processes that made them."""
    kind = record["kind"]
    return f"{name} {kind} {record['round'] if kind == 'round' else len(_of(before, kind))}"


def check_end(
    record: Mapping[str, Any],
    cases: Mapping[str, Case],
    found: Mapping[str, Sequence[Record]],
    procedure: Procedure,
) -> None:
    """See that a run ends when all its cases are measured.

    Raises:
        RecordError: it does not.
    """
    _require(_is_time(record.get("at")), f"at is {record.get('at')!r}, no time")
    _require(record["case"] == record["key"] == END, "the end of a run is of no case")
    for name, case in cases.items():
        _require(_measured(found[name], procedure), f"the run ends, but {case} is not measured")


def check_record(
    record: Mapping[str, Any], case: Case, before: Sequence[Record], procedure: Procedure
) -> None:
    """See that a record may follow on the case's others.

    Args:
        record: the record.
        case: whose it is.
        before: the case's records before it, each checked.
        procedure: how the case is measured.

    Raises:
        RecordError: an entry is missing or impossible, or the record comes out of turn.
    """
    kind = record["kind"]
    _require(kind in KINDS, f"no kind of record is called {kind!r}")
    _require(_is_time(record.get("at")), f"at is {record.get('at')!r}, no time")
    _require(
        not _measured(before, procedure), f"{kind} after the last check of a case that is measured"
    )
    _CHECKS[kind](record, case, before, procedure)


def _checks(
    record: Mapping[str, Any], case: Case, before: Sequence[Record], procedure: Procedure
) -> None:
    labels = {setting.label for setting in case.settings}
    for name in ("facts", "checks", "provenance", "unreadable"):
        _require(isinstance(record.get(name), Mapping), f"{name} is missing")
    for name in FACTS:
        _require(_is_count(record["facts"].get(name)), f"facts.{name} is no whole number")
    for name in ("checks", "provenance"):
        _require(record[name].keys() == labels, f"{name} is not of {', '.join(sorted(labels))}")
    for label in labels:
        _check(record["checks"][label], f"checks.{label}")
        _require(isinstance(record["provenance"][label], Mapping), f"provenance.{label} is missing")
    for earlier in _of(before, "checks")[:1]:
        for name in ("facts", "provenance"):
            _require(
                record[name] == earlier[name],
                f"{name} was {earlier[name]} when the case was begun and is {record[name]}; begin "
                "another run (--run), since rounds of different kernels make no case",
            )


def _round(
    record: Mapping[str, Any], case: Case, before: Sequence[Record], procedure: Procedure
) -> None:
    number: Any = record.get("round")
    settings: Any = record.get("settings")
    others: Any = record.get("others", "missing")
    passed = _passed(record, case, before)
    _require(_is_count(number) and number < procedure.rounds, f"round is {number!r}")
    _require(all(one["round"] != number for one in _of(before, "round")), f"round {number} again")
    _require(others is None or _is_count(others), f"others is {others!r}")
    _require(isinstance(settings, Mapping), "settings is missing")
    _require(settings.keys() >= passed, f"{', '.join(sorted(passed - settings.keys()))} is missing")
    _require(settings.keys() <= set(case.labels), f"settings are {', '.join(settings)}")
    for label, timed in settings.items():
        _require(isinstance(timed, Mapping), f"{label} has no times")
        _times(timed, label, procedure.passes)


def _times(timed: Mapping[str, Any], label: str, passes: int) -> None:
    """The replays of one label in one round."""
    launches: Any = timed.get("launches")
    late: Any = timed.get("late")
    _require(_is_count(launches) and launches > 0, f"{label}: launches is {launches!r}")
    _require(_is_count(late) and late <= passes, f"{label}: late is {late!r} of {passes} replays")
    for name in ("seconds", *SENSORS):
        values: Any = timed.get(name)
        _require(isinstance(values, list), f"{label}: {name} is missing")
        _require(len(values) == passes, f"{label}: {len(values)} {name}, not {passes}")
    for value in timed["seconds"]:
        _require(
            _is_number(value) and value > 0,
            f"{label}: a launch took {value!r} seconds, which must be a finite number above 0",
        )
    for name in SENSORS:
        for value in timed[name]:
            _require(value is None or _is_number(value), f"{label}: {name} is {value!r}")


def _after(
    record: Mapping[str, Any], case: Case, before: Sequence[Record], procedure: Procedure
) -> None:
    passed = _passed(record, case, before)
    checks: Any = record.get("checks")
    _require(isinstance(checks, Mapping), "checks is missing")
    _require(checks.keys() >= passed, f"{', '.join(sorted(passed - checks.keys()))} is missing")
    _require(checks.keys() <= set(case.labels), f"checks are of {', '.join(checks)}")
    for label, check in checks.items():
        _check(check, f"checks.{label}")


def _passed(record: Mapping[str, Any], case: Case, before: Sequence[Record]) -> set[str]:
    """The labels that the process which made a record had to time."""
    turns = [one for one in before if one["kind"] != "round"]
    _require(
        bool(turns) and turns[-1]["kind"] == "checks",
        f"{record['kind']} without its process's checks before it",
    )
    checks = turns[-1]["checks"]
    return {label for label in case.labels if checks[label.removesuffix(AGAIN)]["passed"]}


def _measured(records: Sequence[Record], procedure: Procedure) -> bool:
    """Whether a case has all rounds, and its last process's check after them."""
    return (
        bool(records)
        and records[-1]["kind"] == "after"
        and len(_of(records, "round")) == procedure.rounds
    )


_CHECKS: Mapping[str, Callable[[Mapping[str, Any], Case, Sequence[Record], Procedure], None]] = {
    "checks": _checks,
    "round": _round,
    "after": _after,
}


def _check(value: Any, name: str) -> None:
    """What :meth:`.rounds.Check.as_json` writes."""
    _require(isinstance(value, Mapping), f"{name} is missing")
    _require(isinstance(value.get("passed"), bool), f"{name}.passed is neither true nor false")
    _require(isinstance(value.get("report"), str), f"{name}.report is no text")
    for entry in _CHECK:
        _require(_is_count(value.get(entry)), f"{name}.{entry} is no whole number")


def _of(records: Sequence[Record], kind: str) -> list[Record]:
    return [record for record in records if record["kind"] == kind]


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return (
        isinstance(value, (int, float))
        and not isinstance(value, bool)
        and 0 <= value <= sys.float_info.max
    )


def _is_time(value: object) -> bool:
    try:
        datetime.fromisoformat(str(value).replace("Z", "+00:00"))
    except ValueError:
        return False
    return isinstance(value, str)


def _require(condition: bool, problem: str) -> None:
    if not condition:
        raise RecordError(problem)
