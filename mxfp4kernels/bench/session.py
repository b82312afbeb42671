"""A run from its plan to its table, every finished round on disk before the next begins."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from ..files import write_csv
from .cases import Case
from .columns import NAMES
from .contents import END, RecordError, check_record, key_of, sort_records
from .device import Device, RoundFailed
from .journal import Journal, Record, open_journal
from .plan import Plan
from .procedure import Procedure
from .records import CaseRecords, RunRecords, identities, identity
from .rounds import CaseRun, Workload
from .rows import rows

LEFTOVER = re.compile(r"\.[0-9a-f]{16}\.tmp")
"""Names of files that :mod:`mxfp4kernels.files` is about to put in the place of others."""
LEFT_BEHIND = 60.0
"""Seconds after which such a file is not being written any more."""

Progress = Callable[[str, int, int], None]
"""Called with a case, and how many of the run's rounds are measured and planned."""


class Runner(Protocol):
    """Where rounds are measured: in this process, or in one of its own each."""

    def environment(self) -> Mapping[str, Any]:
        """The device, what drives it, and the versions of everything: one run has one."""

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """The journal's records of some rounds of a case, each as soon as it is there.

        Kinds: ``checks`` before the first round of every process, ``round``, and ``after`` at the
        end of every process. Without numbers only the checks.
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
        checks = {label: check.as_json() for label, check in run.check_after().items()}
        yield {"kind": "after", "checks": checks}


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
        by_case = sort_records(
            journal.records, identities(plan.cases), plan.procedure, journal.path
        )
        remove_leftovers(folder)
        _write_table(table, journal)
        for case in plan.cases:
            records = by_case[identity(case)]
            if not CaseRecords(case, records, plan.procedure).complete:
                _measure_case(case, plan, runner, journal, records, progress)
                _write_table(table, journal)
        if END not in journal:
            journal.append({"key": END, "case": END, "at": _now(), "kind": END})
    return table


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed while they wrote a table have left in a folder.

    Another run's process may be writing there now, which takes far less than :data:`LEFT_BEHIND`.
    """
    for path in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):  # finished, or removed by another process
            if LEFTOVER.fullmatch(path.name) and time.time() - path.stat().st_mtime > LEFT_BEHIND:
                path.unlink()


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
        record = {"key": key_of(name, found, records), "case": name, "at": _now(), **found}
        try:
            check_record(record, case, records, plan.procedure)
        except RecordError as error:
            raise RoundFailed(f"{case}: {error}; this record was not kept", "") from None
        journal.append(record)
        records.append(record)
        done = sum(one["kind"] == "round" for one in journal.records)
        progress(str(case), done, plan.rounds)


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _write_table(path: Path, journal: Journal) -> None:
    write_csv(path, NAMES, rows(RunRecords.of(journal.records)))
