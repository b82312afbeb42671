"""A run from its plan to its table, every finished round on disk before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from ..files import write_csv
from .cases import Case
from .columns import NAMES
from .contents import RecordError, check_record
from .device import Device
from .journal import Journal, Record, open_journal
from .plan import Plan
from .procedure import Procedure
from .records import CaseRecords, RunRecords, identity
from .rounds import CaseRun, Workload
from .rows import rows
from .worker import RoundFailed

Progress = Callable[[str, int, int], None]
"""Called with a case, and how many of the run's rounds are measured and planned."""


class Runner(Protocol):
    """Where rounds are measured: in this process, or in one of its own each."""

    def environment(self) -> Mapping[str, Any]:
        """The device, what drives it, and the versions of everything: one run has one."""

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The journal's records of some rounds of a case, each as soon as it is there.

        Kinds: ``checks`` before the first round of every process, ``round``, and ``after`` at the
        end. Without numbers only the checks.
        """


class InProcess:
    """Measures in this process: buffers and graphs stay for all rounds of a case.

    Args:
        device: where the kernels run.
        prepare: makes a case's kernels and buffers.
        procedure: how to measure.
        environment: see :meth:`Runner.environment`.
    """

    def __init__(
        self,
        device: Device,
        prepare: Callable[[Case], Workload],
        procedure: Procedure,
        environment: Mapping[str, Any],
    ) -> None:
        self._device = device
        self._prepare = prepare
        self._procedure = procedure
        self._environment = environment

    def environment(self) -> Mapping[str, Any]:
        """What it was made with."""
        return self._environment

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """See :meth:`Runner.measure`."""
        run = CaseRun(case, self._prepare(case), self._device, self._procedure)
        yield {"kind": "checks", **run.record_of_checks()}
        for number in numbers:
            yield {"kind": "round", "round": number, **run.round(number)}
        yield {"kind": "after", "check": run.check_after().as_json()}


def measure(
    plan: Plan,
    runner: Runner,
    folder: Path,
    *,
    name: str | None = None,
    progress: Progress = lambda case, done, total: None,
) -> Path:
    """Measure what the run's journal lacks, and write its table after every case.

    Args:
        plan: cases and procedure.
        runner: where they are measured.
        folder: for the journal and the table.
        name: of the run; a name made of plan and environment if left out, so that the same command
            goes on with its own run and no other.
        progress: is told of every round.

    Returns:
        The table's path; the journal lies beside it, with the suffix ``.jsonl``.

    Raises:
        JournalError: the journal is another run's, damaged or in use.
        RoundFailed: what was measured cannot be, such as a time of zero.
        OSError: a file cannot be written.
    """
    header = plan.header(runner.environment(), name)
    table = folder / f"{header['run']}.csv"
    with open_journal(table.with_suffix(".jsonl"), header) as journal:
        by_case = _sorted(journal, plan)
        _write_table(table, journal)
        for case in plan.cases:
            records = by_case[identity(case)]
            if not CaseRecords(case, records, plan.procedure).complete:
                _measure_case(case, plan, runner, journal, records, progress)
                _write_table(table, journal)
    return table


def _sorted(journal: Journal, plan: Plan) -> dict[str, list[Record]]:
    """The journal's records by case, each of them checked."""
    cases = {identity(case): case for case in plan.cases}
    found: dict[str, list[Record]] = {name: [] for name in cases}
    for index, record in enumerate(journal.records[1:], start=1):
        name = record["case"]
        if name not in cases:
            raise journal.damaged(index, f"the run has no case {name!r}")
        try:
            check_record(record, cases[name], found[name], plan.procedure)
        except RecordError as error:
            raise journal.damaged(index, f"{cases[name]}: {error}") from None
        found[name].append(record)
    return found


def _measure_case(
    case: Case,
    plan: Plan,
    runner: Runner,
    journal: Journal,
    before: Sequence[Record],
    progress: Progress,
) -> None:
    name, records = identity(case), list(before)
    measured = {record["round"] for record in records if record["kind"] == "round"}
    missing = [number for number in range(plan.procedure.rounds) if number not in measured]
    for found in runner.measure(case, missing):
        record = {"key": _key(name, found, records), "case": name, "at": _now(), **found}
        try:
            check_record(record, case, records, plan.procedure)
        except RecordError as error:
            raise RoundFailed(f"{case}: {error}; this record was not kept", "") from None
        journal.append(record)
        records.append(record)
        done = sum(one["kind"] == "round" for one in journal.records)
        progress(str(case), done, plan.rounds)


def _key(name: str, record: Record, before: Sequence[Record]) -> str:
    """Checks are numbered by the processes that made them; a case's last check is there once."""
    kind = record["kind"]
    if kind == "after":
        return f"{name} after"
    same = sum(one["kind"] == kind for one in before)
    return f"{name} {kind} {record['round'] if kind == 'round' else same}"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _write_table(path: Path, journal: Journal) -> None:
    write_csv(path, NAMES, rows(RunRecords.of(journal.records)))
