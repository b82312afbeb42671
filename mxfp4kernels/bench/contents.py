"""What each kind of record must hold: checked before it is written, and when it is read again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from .cases import AGAIN, Case
from .columns import FACTS
from .journal import Record
from .procedure import Procedure

KINDS = ("checks", "round", "after")
"""What a journal holds besides its header."""
SENSORS = ("clock_mhz", "power_w", "temperature_c")
"""Readings of a replay, as :class:`.device.Sensors` names them."""
_CHECK = ("elements", "mismatches", "tiles", "of")


class RecordError(ValueError):
    """A record that cannot be one of the run; the message says what is wrong with it."""


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
    _require(not _of(before, "after"), f"{kind} after the case's last check")
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
    checks = _of(before, "checks")
    _require(bool(checks), "a round before the case's checks")
    _require(_is_count(number) and number < procedure.rounds, f"round is {number!r}")
    _require(all(one["round"] != number for one in _of(before, "round")), f"round {number} again")
    _require(others is None or _is_count(others), f"others is {others!r}")
    _require(isinstance(settings, Mapping), "settings is missing")
    passed = {
        label for label in case.labels if checks[-1]["checks"][label.removesuffix(AGAIN)]["passed"]
    }
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
    measured = {one["round"] for one in _of(before, "round")}
    missing = sorted(set(range(procedure.rounds)) - measured)
    rounds = ", ".join(map(str, missing))
    _require(not missing, f"the case's last check is there, but not round {rounds}")
    _check(record.get("check"), "check")


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
