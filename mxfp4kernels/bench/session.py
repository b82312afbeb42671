"""A run from its plan to its table, every finished round on disk before the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Protocol

from ..files import write_csv
from .cases import Case
from .columns import NAMES
from .device import Device
from .journal import Journal, open_journal
from .plan import Plan
from .procedure import Procedure
from .records import RunRecords, identity
from .rounds import CaseRun, Workload
from .rows import rows

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
        OSError: a file cannot be written.
    """
    header = plan.header(runner.environment(), name)
    table = folder / f"{header['run']}.csv"
    with open_journal(table.with_suffix(".jsonl"), header) as journal:
        _write_table(table, journal)
        for case in plan.cases:
            if f"{identity(case)} after" not in journal:
                _measure_case(case, plan, runner, journal, progress)
                _write_table(table, journal)
    return table


def _measure_case(
    case: Case, plan: Plan, runner: Runner, journal: Journal, progress: Progress
) -> None:
    name = identity(case)
    missing = [
        number for number in range(plan.procedure.rounds) if _key(name, number) not in journal
    ]
    processes = sum(
        (record["kind"], record.get("case")) == ("checks", name) for record in journal.records
    )
    for record in runner.measure(case, missing):
        if record["kind"] == "checks":
            key = f"{name} checks {processes}"
            processes += 1
        else:
            key = _key(name, record["round"]) if record["kind"] == "round" else f"{name} after"
        journal.append({"key": key, "case": name, "at": _now(), **record})
        done = sum(one["kind"] == "round" for one in journal.records)
        progress(str(case), done, plan.rounds)


def _key(name: str, number: int) -> str:
    return f"{name} round {number}"


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds").replace("+00:00", "Z")


def _write_table(path: Path, journal: Journal) -> None:
    write_csv(path, NAMES, rows(RunRecords.of(journal.records)))
