"""Measures one case on a device: checks first, then rounds of interleaved replays."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from .cases import OURS, Case, Setting, digest
from .device import Device, Graph, Replay
from .procedure import FLOORS_PER_REPLAY, Procedure, launches_per_replay

WARM_UP_FLOORS = 20
"""A warm-up replay that lasts this many event floors is long enough to estimate a launch from."""

REPORT_LENGTH = 500
"""Characters of another package's error that the journal keeps."""


@dataclass(frozen=True)
class Check:
    """How outputs compared with what they must be.

    Args:
        passed: whether they may be timed.
        elements: how many were compared with the reference.
        mismatches: those outside what rounding allows.
        tiles: tiles compared; ``of`` all tiles.
        report: what was wrong.
    """

    passed: bool
    elements: int = 0
    mismatches: int = 0
    tiles: int = 0
    of: int = 0
    report: str = ""

    def as_json(self) -> dict[str, Any]:
        """A JSON object for the journal."""
        return dict(vars(self))


class Workload(Protocol):
    """A case's kernels with their buffers, ready to be launched on a device."""

    @property
    def sets(self) -> int:
        """Sets of buffers that the launches take turns with."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What belongs into every row of the case: :data:`.rows.FACTS`."""

    def provenance(self, setting: Setting) -> Mapping[str, str]:
        """Where a setting's kernel comes from: :data:`.rows.PROVENANCE`."""

    def launch(self, setting: Setting, number: int) -> None:
        """Enqueue one kernel on set ``number`` of the buffers."""

    def check(self, setting: Setting) -> Check:
        """Poison the outputs, launch once, and compare with the reference."""

    def check_graph(self, graph: Graph, turn: Graph) -> Check:
        """Poison all sets' outputs, replay, and hold what every set then has against the reference.

        Args:
            graph: what is timed.
            turn: one launch on every set, captured likewise. It is compared in the place of
                ``graph`` where launches add to their output, of which a reference knows one.
        """


class CaseRun:
    """A case on a device, checked and captured.

    Args:
        case: what to measure.
        workload: its kernels and buffers.
        device: where they run.
        procedure: how.

    Attributes:
        checks: for every setting's label the check that decided whether it is timed.
        graphs: for every label that may be timed its graph.
    """

    def __init__(
        self, case: Case, workload: Workload, device: Device, procedure: Procedure
    ) -> None:
        self.case = case
        self.checks: dict[str, Check] = {}
        self.graphs: dict[str, Graph] = {}
        self._turns: dict[str, Graph] = {}
        self._workload = workload
        self._device = device
        self._procedure = procedure
        for setting in case.settings:
            self.checks[setting.label] = _attempt(setting, partial(workload.check, setting))
        for label in case.labels:
            setting = case.setting_of(label)
            if self.checks[setting.label].passed:
                replayed = _attempt(setting, partial(self._capture, label))
                if not replayed.passed:
                    self.checks[setting.label] = replayed

    def _capture(self, label: str) -> Check:
        """Capture a setting's graph; it is kept if replaying it writes what it must."""
        setting = self.case.setting_of(label)
        floor = self._device.event_floor()
        seconds = self._estimate(setting, floor)
        count = launches_per_replay(
            seconds, floor, self._workload.sets, self._procedure.replay_seconds
        )
        graph, turn = (self._graph(setting, n) for n in (count, self._workload.sets))
        check = self._workload.check_graph(graph, turn)
        if check.passed:
            self.graphs[label], self._turns[label] = graph, turn
        return check

    def _graph(self, setting: Setting, count: int) -> Graph:
        sets = self._workload.sets
        turns = [partial(self._workload.launch, setting, number) for number in range(sets)]
        return self._device.capture([turns[number % sets] for number in range(count)])

    def _estimate(self, setting: Setting, floor: float) -> float:
        """Seconds of one launch, roughly, from graphs that grow until one is long enough."""
        count = self._workload.sets
        while True:
            seconds = self._device.time(self._graph(setting, count)).seconds
            if seconds >= WARM_UP_FLOORS * floor or count >= FLOORS_PER_REPLAY:
                return max(seconds, floor) / count
            count *= 4

    def record_of_checks(self) -> dict[str, Any]:
        """What the journal keeps of the checks."""
        return {
            "facts": dict(self._workload.facts),
            "unreadable": dict(self._device.unreadable()),
            "checks": {label: check.as_json() for label, check in self.checks.items()},
            "provenance": {
                setting.label: dict(self._workload.provenance(setting))
                for setting in self.case.settings
            },
        }

    def round(self, number: int) -> dict[str, Any]:
        """Replay every graph ``passes`` times in shuffled order; what the journal keeps of it."""
        order = random.Random(digest([self._procedure.seed, self.case.as_json(), number]))
        others = [self._device.other_processes()]
        replays: dict[str, list[Replay]] = {label: [] for label in self.graphs}
        for _ in range(self._procedure.passes):
            labels = list(self.graphs)
            order.shuffle(labels)
            for label in labels:
                replays[label].append(self._device.time(self.graphs[label]))
        others.append(self._device.other_processes())
        return {
            "others": max((one for one in others if one is not None), default=None),
            "settings": {
                label: _record(self.graphs[label].launches, timed)
                for label, timed in replays.items()
            },
        }

    def check_after(self) -> dict[str, Check]:
        """Every timed graph once more: whether it, its inputs and buffers survived the rounds."""
        return {
            label: _attempt(
                self.case.setting_of(label),
                partial(self._workload.check_graph, graph, self._turns[label]),
            )
            for label, graph in self.graphs.items()
        }


def _attempt(setting: Setting, work: Callable[[], Check]) -> Check:
    """A check; another package's kernel that raises has failed it, where one of ours is a bug."""
    try:
        return work()
    except Exception as error:
        if setting.implementation == OURS:
            raise
        return Check(False, report=f"{type(error).__name__}: {error}"[:REPORT_LENGTH])


def _record(launches: int, replays: list[Replay]) -> dict[str, Any]:
    """Seconds per launch and readings, one entry per replay."""
    return {
        "launches": launches,
        "seconds": [round(replay.seconds / launches, 13) for replay in replays],
        "late": sum(replay.late for replay in replays),
        "clock_mhz": [replay.sensors.clock_mhz for replay in replays],
        "power_w": [replay.sensors.power_w for replay in replays],
        "temperature_c": [replay.sensors.temperature_c for replay in replays],
    }
