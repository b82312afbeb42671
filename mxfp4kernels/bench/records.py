"""What a run's journal says of each of its cases."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from .cases import AGAIN, Case, digest
from .intervals import Interval, paired_ratio
from .journal import Record
from .procedure import Procedure
from .verdicts import Verdict, decide

TOLERATED_DRIFT = 0.05
"""How far the baseline's first and last third of rounds may lie apart."""


class CaseRecords:
    """What a journal holds of one case.

    Args:
        case: the case.
        records: the journal's records with this case's identity, in order.
        procedure: how it was measured.
    """

    def __init__(self, case: Case, records: Sequence[Record], procedure: Procedure) -> None:
        self.case = case
        self.procedure = procedure
        self.checks = [record for record in records if record["kind"] == "checks"]
        self.rounds = sorted(
            (record for record in records if record["kind"] == "round"),
            key=lambda record: record["round"],
        )
        self.after = [record for record in records if record["kind"] == "after"]

    @property
    def complete(self) -> bool:
        """Whether nothing is left to measure."""
        return bool(self.after) and (
            [record["round"] for record in self.rounds] == list(range(self.procedure.rounds))
        )

    def wrong(self, label: str) -> str | None:
        """What was wrong with a label's output in any process, or ``None``."""
        for record in self.checks:
            check = record["checks"][label.removesuffix(AGAIN)]
            if not check["passed"]:
                return str(check["report"])
        for record in self.after:
            if not record["check"]["passed"]:
                return f"after the rounds: {record['check']['report']}"
        return None

    def replays(self, label: str, name: str) -> list[Any]:
        """An entry of every replay of a label, all rounds in order."""
        return [value for record in self.rounds for value in record["settings"][label][name]]

    def by_round(self, label: str) -> list[float]:
        """A label's seconds per launch, the median of each round."""
        return [statistics.median(record["settings"][label]["seconds"]) for record in self.rounds]

    def late_share(self, label: str) -> float:
        """Share of a label's replays that waited for the host."""
        late = sum(record["settings"][label]["late"] for record in self.rounds)
        return float(late / len(self.replays(label, "seconds")))

    @property
    def others(self) -> int | None:
        """The most other processes that were seen; ``None`` if none could be."""
        seen = [record["others"] for record in self.rounds if record["others"] is not None]
        return max(seen, default=None)

    def ratio(self, label: str) -> Interval:
        """A label's time relative to the baseline's."""
        return _ratio(
            tuple(self.by_round(label)),
            tuple(self.by_round(self.case.labels[0])),
            self.procedure.confidence,
            int(digest([self.procedure.seed, self.case.as_json(), label]), 16),
        )

    @cached_property
    def again(self) -> Interval | None:
        """The baseline's second graph against its first; ``None`` if the baseline is wrong."""
        first, second = self.case.labels[:2]
        return None if self.wrong(first) else self.ratio(second)

    @property
    def again_verdict(self) -> Verdict | None:
        """The verdict on :attr:`again`."""
        return None if self.again is None else decide(self.again, self.procedure.threshold)

    def drifted(self) -> bool:
        """Whether the baseline's time moved from the first rounds to the last."""
        times = self.by_round(self.case.labels[0])
        third = max(1, len(times) // 3)
        change = statistics.median(times[-third:]) / statistics.median(times[:third]) - 1
        return abs(change) > TOLERATED_DRIFT


@dataclass(frozen=True)
class RunRecords:
    """A run's journal, by case.

    Args:
        header: its first record.
        procedure: how it was measured.
        cases: every case of the plan.
    """

    header: Record
    procedure: Procedure
    cases: tuple[CaseRecords, ...]

    @classmethod
    def of(cls, records: Sequence[Record]) -> RunRecords:
        """Sort a journal's records by case."""
        header = records[0]
        procedure = Procedure(**header["procedure"])
        by_case: dict[str, list[Record]] = {}
        for record in records[1:]:
            by_case.setdefault(record["case"], []).append(record)
        cases = tuple(
            CaseRecords(case, by_case.get(identity(case), []), procedure)
            for case in map(Case.from_json, header["cases"])
        )
        return cls(header, procedure, cases)

    @property
    def complete(self) -> tuple[CaseRecords, ...]:
        """The cases that are measured."""
        return tuple(case for case in self.cases if case.complete)

    @cached_property
    def reference_clock(self) -> float | None:
        """The highest clock that the device has or showed; ``None`` if none is known."""
        clocks = [self.header["environment"]["max_clock_mhz"]]
        for case in self.cases:
            for record in case.rounds:
                for setting in record["settings"].values():
                    clocks += setting["clock_mhz"]
        return max((clock for clock in clocks if clock is not None), default=None)


def identity(case: Case) -> str:
    """How records name a case."""
    return digest(case.as_json())


@lru_cache(maxsize=4096)
def _ratio(
    times: tuple[float, ...], baseline: tuple[float, ...], confidence: float, seed: int
) -> Interval:
    """Tables are written anew after every case, with the same ratios of the cases before."""
    return paired_ratio(times, baseline, confidence=confidence, seed=seed)
