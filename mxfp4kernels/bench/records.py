"""What a run's journal says of each of its cases."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from .cases import AGAIN, Case, digest
from .intervals import Interval, Serial, mean_ratio, paired_ratio, serial_correlation
from .journal import Record
from .procedure import Procedure, least_rounds
from .verdicts import Verdict, decide

SERIAL_CHANCE = 0.05
"""Ratios of neighbouring rounds that are as alike as these by chance this rarely count as such."""
BELIEVED_CLOCK = 1.1
"""Readings above this multiple of the reference clock are none of a clock."""
TOLERATED_DRIFT = 0.05
"""How far the baseline's first and last third of rounds may lie apart."""


class CaseRecords:
    """What a journal holds of one case.

    Args:
        case: the case.
        records: the journal's records with this case's identity, in order.
        procedure: how it was measured.
        reference_clock: see :attr:`RunRecords.reference_clock`.
    """

    def __init__(
        self,
        case: Case,
        records: Sequence[Record],
        procedure: Procedure,
        reference_clock: float | None = None,
    ) -> None:
        self.case = case
        self.procedure = procedure
        self.reference_clock = reference_clock
        self.checks = [record for record in records if record["kind"] == "checks"]
        self.rounds = sorted(
            (record for record in records if record["kind"] == "round"),
            key=lambda record: record["round"],
        )
        self.after = [record for record in records if record["kind"] == "after"]
        self._ended = bool(records) and records[-1]["kind"] == "after"

    @property
    def complete(self) -> bool:
        """Whether nothing is left to measure."""
        return self._ended and (
            [record["round"] for record in self.rounds] == list(range(self.procedure.rounds))
        )

    def wrong(self, label: str) -> str | None:
        """What was wrong with a setting's output in any process, or ``None``."""
        check = self.check(label)
        return None if check["passed"] else str(check["report"])

    def check(self, label: str) -> Mapping[str, Any]:
        """The first check of a setting that failed in any process, else the very first.

        Both graphs of the baseline are of one setting: neither counts if the other fails.
        """
        setting = label.removesuffix(AGAIN)
        checks = [record["checks"][setting] for record in self.checks]
        for record in self.after:
            checks += [
                {**check, "report": f"after the rounds: {check['report']}"}
                for name, check in record["checks"].items()
                if name.removesuffix(AGAIN) == setting
            ]
        return next((check for check in checks if not check["passed"]), checks[0])

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
        )

    def serial(self, label: str) -> Serial:
        """How a label's ratio to the baseline goes with that of the round before."""
        return serial_correlation(self.by_round(label), self.by_round(self.case.labels[0]))

    def wandered(self, label: str) -> bool:
        """Whether a label's ratio or the baseline's to itself is no scatter of separate rounds."""
        both = (self.serial(label), self.serial(self.case.labels[1]))
        return any(one.chance < SERIAL_CHANCE for one in both)

    def clocks(self, label: str) -> list[float]:
        """A label's clock readings, those that can be believed, in MHz."""
        return self._believed(self.replays(label, "clock_mhz"))

    def clock_ratio(self, label: str) -> Interval | None:
        """A label's clock relative to the baseline's in the same rounds, the mean of each.

        ``None`` if there are readings of too few rounds.
        """
        first, mine, base = self.case.labels[0], [], []
        for record in self.rounds:
            own, other = (
                self._believed(record["settings"][one]["clock_mhz"]) for one in (label, first)
            )
            if own and other:
                mine.append(statistics.fmean(own))
                base.append(statistics.fmean(other))
        if len(mine) < least_rounds(self.procedure.confidence):
            return None
        return mean_ratio(mine, base, confidence=self.procedure.confidence)

    def _believed(self, clocks: Sequence[float | None]) -> list[float]:
        most = math.inf if self.reference_clock is None else BELIEVED_CLOCK * self.reference_clock
        return [clock for clock in clocks if clock is not None and 0 < clock <= most]

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
        reference_clock: what the device was set to or, if it was not, can reach, in MHz; what it
            showed if nobody says, ``None`` if that is not known either.
        ended: whether the journal has its end, so that nothing was cut off.
    """

    header: Record
    procedure: Procedure
    cases: tuple[CaseRecords, ...]
    reference_clock: float | None
    ended: bool

    @classmethod
    def of(cls, records: Sequence[Record]) -> RunRecords:
        """Sort a journal's records by case."""
        header = records[0]
        procedure = Procedure(**header["procedure"])
        clock = _reference_clock(header, procedure, records[1:])
        by_case: dict[str, list[Record]] = {}
        for record in records[1:]:
            by_case.setdefault(record["case"], []).append(record)
        cases = tuple(
            CaseRecords(case, by_case.get(identity(case), []), procedure, clock)
            for case in map(Case.from_json, header["cases"])
        )
        return cls(header, procedure, cases, clock, records[-1]["kind"] == "end")

    @property
    def complete(self) -> tuple[CaseRecords, ...]:
        """The cases that are measured."""
        return tuple(case for case in self.cases if case.complete)


def _reference_clock(
    header: Record, procedure: Procedure, records: Sequence[Record]
) -> float | None:
    """The clock that replays should have run at; a single absurd reading does not make it."""
    stated = procedure.clock_mhz or header["environment"]["max_clock_mhz"]
    if stated:
        return float(stated)
    shown = [
        clock
        for record in records
        if record["kind"] == "round"
        for setting in record["settings"].values()
        for clock in setting["clock_mhz"]
        if clock
    ]
    return float(np.quantile(shown, 0.99, method="lower")) if shown else None


def identity(case: Case) -> str:
    """How records name a case."""
    return digest(case.as_json())


def identities(cases: Iterable[Case]) -> dict[str, Case]:
    """Cases by how records name them."""
    return {identity(case): case for case in cases}


@lru_cache(maxsize=4096)
def _ratio(times: tuple[float, ...], baseline: tuple[float, ...], confidence: float) -> Interval:
    """Tables are written anew after every case, with the same ratios of the cases before."""
    return paired_ratio(times, baseline, confidence=confidence)
