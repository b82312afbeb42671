"""What the harness makes of a device whose times are known: ``python -m ...bench.simulation``.

Runs the whole measurement many times on :class:`.fake.FakeDevice`, without any difference between
the settings and with a known one, and writes how often each verdict came out to
``data/harness/simulated_runs.csv``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import bootstrap
from tqdm import tqdm

from ..files import DATA, write_csv
from ..flags import ALL, NONE, acting
from ..shapes import find_variant, parse_shape
from .cases import OURS, Case, Setting, digest
from .device import Graph
from .fake import Conditions, FakeDevice, FakeGraph
from .intervals import Interval
from .procedure import Procedure
from .records import CaseRecords
from .rounds import Check
from .rows import verdict_of
from .session import InProcess
from .verdicts import Verdict

SIMULATED_RUNS = DATA / "harness" / "simulated_runs.csv"
RUNS = 1000
COLUMNS = (
    *("scenario", "conditions", "true_ratio", "runs", "rounds", "passes", "threshold"),
    *("confidence", *(str(verdict) for verdict in Verdict)),
    *("false_positives", "wandered", "excluding_true_ratio", "excluding_by_bootstrap"),
    *("median_width", "median_ratio"),
)

_VARIANT = find_variant("gemm1", "bm32_nt")
_SHAPE = parse_shape("4x512x256x2")
_BASELINE, _OTHER = Setting(OURS, NONE), Setting(OURS, acting(_VARIANT, ALL))
CASE = Case(_VARIANT, _SHAPE, 4, "family-a", 0, (_BASELINE, _OTHER))
"""The case that is simulated; nothing of it is computed."""


@dataclass
class FakeWorkload:
    """Kernels of known duration.

    Args:
        device: the simulated device.
        seconds: of one launch, by the label of the setting.
        wrong: labels whose output is wrong.
        silent: labels whose graphs write nothing.
    """

    device: FakeDevice
    seconds: Mapping[str, float]
    wrong: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    sets: int = 2
    facts: Mapping[str, Any] = field(
        default_factory=lambda: {
            "active_experts": 4,
            "sorted_rows": 128,
            "touched_bytes": 1 << 20,
            "input_sets": 2,
        }
    )

    def __post_init__(self) -> None:
        self._written: set[int] = set()

    def provenance(self, setting: Setting) -> Mapping[str, str]:
        """There is none."""
        return {}

    def launch(self, setting: Setting, number: int) -> None:
        """Submit the kernel; only one that can be wrong has an effect, which takes real time."""
        watched = self.silent and setting.label not in self.silent
        effect = partial(self._written.add, number) if watched else None
        self.device.submit(self.seconds[setting.label], effect)

    def check(self, setting: Setting) -> Check:
        """Wrong or not, as the workload was made."""
        self.device.run(partial(self.launch, setting, 0))
        if setting.label in self.wrong:
            return Check(False, 512, 7, 4, 4, "7 mismatches")
        return Check(True, 512, 0, 4, 4)

    def check_graph(self, graph: Graph, turn: Graph) -> Check:
        """Whether a replay has written every set."""
        assert isinstance(graph, FakeGraph)
        self._written.clear()
        self.device.replay(graph)
        if self.silent and self._written != set(range(self.sets)):
            return Check(False, report="the graph writes nothing")
        return Check(True)


@dataclass(frozen=True)
class Scenario:
    """What a simulated device is exposed to, in words and in numbers.

    Args:
        name, words: how tables call and explain it.
        conditions: the device's.
        rounds: numbers of rounds to simulate.
        ratios: of the second setting's time to the first's.
    """

    name: str
    words: str
    conditions: Conditions
    rounds: tuple[int, ...] = (Procedure().rounds,)
    ratios: tuple[float, ...] = (1.0, 0.99, 1.01, 0.97)


FEWER = (30, 10, 6)
"""The default number of rounds, and fewer, down to the least."""
WANDERING = "0.3 % noise, and every graph's time wanders by 0.5 % (standard deviation) over "

SCENARIOS: tuple[Scenario, ...] = (
    Scenario("calm", "0.3 % noise per replay", Conditions(noise=0.003), FEWER),
    Scenario("noisy", "2 % noise per replay", Conditions(noise=0.02), FEWER),
    Scenario("noisier", "5 % noise per replay", Conditions(noise=0.05), FEWER, (1.0, 0.97)),
    Scenario("noisiest", "10 % noise per replay", Conditions(noise=0.1), FEWER, (1.0, 0.97)),
    Scenario(
        "drifting",
        "0.3 % noise, 0.5 % slower every second, and a swing of 2 % with a period of 3 s",
        Conditions(noise=0.003, drift=0.005, swing=0.02, swing_period=3.0),
    ),
    Scenario(
        "outliers",
        "0.3 % noise, and every tenth replay takes half as long again",
        Conditions(noise=0.003, outliers=0.1, outlier_factor=1.5),
    ),
    Scenario(
        "throttling",
        "0.3 % noise, and from 2 s to 4 s the clock is 1500 of 2400 MHz",
        Conditions(noise=0.003, throttle=(2.0, 4.0)),
    ),
    Scenario(
        "shared",
        "0.3 % noise, and from 1 s to 4 s a second process takes up to 30 % of the device",
        Conditions(noise=0.003, neighbour=(1.0, 4.0)),
    ),
    Scenario(
        "wandering",
        f"{WANDERING}0.5 s",
        Conditions(noise=0.003, wander=0.005, wander_seconds=0.5),
        (30, 10),
        (1.0, 0.97),
    ),
    Scenario(
        "wandering slowly",
        f"{WANDERING}5 s",
        Conditions(noise=0.003, wander=0.005, wander_seconds=5.0),
        (30, 10),
        (1.0, 0.97),
    ),
)
WANTED = tuple(
    (scenario, rounds, ratio)
    for scenario in SCENARIOS
    for rounds in scenario.rounds
    for ratio in scenario.ratios
)
"""What the rows of the table are of, in their order."""


def simulate(conditions: Conditions, ratio: float, procedure: Procedure, seed: int) -> CaseRecords:
    """One run of two settings, whole but for the files."""
    device = FakeDevice(conditions, seed)
    seconds = {_BASELINE.label: 40e-6, _OTHER.label: 40e-6 * ratio}
    runner = InProcess(device, lambda case: FakeWorkload(device, seconds), procedure, {})
    records = list(runner.measure(CASE, range(procedure.rounds)))
    stamped = [{"at": "", **record} for record in records]
    return CaseRecords(CASE, stamped, procedure, device.info.max_clock_mhz)


def summarise(
    scenario: Scenario, ratio: float, procedure: Procedure, runs: int
) -> dict[str, object]:
    """Run a scenario many times; one row of the table."""
    verdicts, intervals, wandered, bootstrapped = [], [], 0, 0
    for seed in range(runs):
        chance = int(digest([scenario.name, procedure.rounds, ratio, seed]), 16)
        records = simulate(scenario.conditions, ratio, procedure, chance)
        interval = records.ratio(_OTHER.label)
        intervals.append(interval)
        verdicts.append(verdict_of(records, _OTHER.label, interval))
        wandered += records.wandered(_OTHER.label)
        bootstrapped += _by_bootstrap(records).excludes(ratio)
    widths = sorted(interval.high - interval.low for interval in intervals)
    estimates = sorted(interval.estimate for interval in intervals)
    right = {Verdict.FASTER: ratio < 1, Verdict.SLOWER: ratio > 1}
    false = sum(not right.get(verdict, True) for verdict in verdicts)
    return {
        "scenario": scenario.name,
        "conditions": scenario.words,
        "true_ratio": ratio,
        "runs": runs,
        "rounds": procedure.rounds,
        "passes": procedure.passes,
        "threshold": procedure.threshold,
        "confidence": procedure.confidence,
        **{str(verdict): verdicts.count(verdict) for verdict in Verdict},
        "false_positives": false,
        "wandered": wandered,
        "excluding_true_ratio": sum(interval.excludes(ratio) for interval in intervals),
        "excluding_by_bootstrap": bootstrapped,
        "median_width": f"{widths[runs // 2]:.5f}",
        "median_ratio": f"{estimates[runs // 2]:.5f}",
    }


def _by_bootstrap(records: CaseRecords) -> Interval:
    """The interval that the bench does not take, for comparison: of resampled medians."""
    times, baseline = (records.by_round(one.label) for one in (_OTHER, _BASELINE))
    logarithms = np.log(np.array(times) / np.array(baseline))
    found = bootstrap(
        (logarithms,),
        np.median,
        n_resamples=999,
        confidence_level=records.procedure.confidence,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Interval(*(float(np.exp(end)) for end in (np.median(logarithms), *found)))


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every scenario with every ratio, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.bench.simulation", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--output", type=Path, default=SIMULATED_RUNS)
    arguments = parser.parse_args(argv)
    if arguments.runs < 1:
        parser.error(f"--runs must be at least 1, got {arguments.runs}")
    table = [
        summarise(scenario, ratio, Procedure(rounds=rounds), arguments.runs)
        for scenario, rounds, ratio in tqdm(WANTED, desc="scenarios", disable=None)
    ]
    write_csv(arguments.output, COLUMNS, table)
    for row in table:
        print(", ".join(f"{name} {row[name]}" for name in COLUMNS if name != "conditions"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
