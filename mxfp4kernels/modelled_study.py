"""The modelled study: times over M for every flag setting, held against what others published.

``python -m mxfp4kernels.modelled_study`` writes ``data/timing/``. Every number is modelled. No
constant's value is fitted: all are those of ``data/hardware/mi355x.json``. The model's form was not
chosen blind, though; ``docs/timing.md`` says what was decided after a look at published times.
Bands are the root of the summed squares of what each constant's range does alone.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from .cache import Cache, digest
from .compiler import Compiler, Job
from .files import DATA, REPOSITORY, write_csv
from .flags import FlagSet, acting, label, study_settings
from .packages import needed

with needed(__name__):
    from .modelled import Launch, Modeller
from .modelled_validation import CLAIMS, PublishedRow, claim_rows, read_published, validation_rows
from .shapes import KERNELS, REFERENCE_SHAPE, Variant, dispatch, find_variant
from .timing.constants import Constant, Hardware
from .timing.device import Estimate

TIMING = DATA / "timing"
CURVE, CAUSES = TIMING / "curve.csv", TIMING / "causes.csv"
SENSITIVITY = TIMING / "sensitivity.csv"
VALIDATION, CLAIM_TABLE = TIMING / "validation.csv", TIMING / "claims.csv"
TOKENS = tuple(2**power for power in range(16))
ROUTING = "family-a"
WHOLE_TOKENS = (4, 64, 512, 4096, 16384)
"""M at which every constant with a range is moved; elsewhere only :data:`MAIN_CONSTANTS`."""
MAIN_CONSTANTS = (
    "kernel_fixed", "hbm_read", "mall_read", "hbm_latency", "smem_cold", "clock_scale",
)  # fmt: skip
"""Those that move times most at :data:`WHOLE_TOKENS`."""
STUDIES = ("presets", "alone", "leave-one-out", "cumulative")
LOSSY = find_variant("gemm2", "bm128_mxfp4")
FILES = (
    "modelled.py", "modelled_study.py", "inputs.py", "layout.py", "shapes.py", "problem.py",
    "emulator/trace.py", "timing/code.py", "timing/constants.py", "timing/device.py",
    "timing/engine.py", "timing/traffic.py", "timing/unit.py", "timing/work.py",
)  # fmt: skip
"""What a modelled time depends on besides the kernel. A trace holds what the kernel's control flow
and addresses do; the rest of the emulator changes it only where it was wrong."""


@dataclass(frozen=True)
class Task:
    """All flag settings of one variant at one M, or the merged form alone."""

    variant: Variant
    tokens: int
    routing: str
    settings: tuple[FlagSet, ...]
    seed: int = 0
    band: bool = True

    @property
    def launch(self) -> Launch:
        """The launch that is modelled."""
        return Launch(self.variant, REFERENCE_SHAPE, self.tokens, self.routing, self.seed)


@dataclass(frozen=True)
class Outcome:
    """What a task gives, as plain values.

    Attributes:
        rows: one per setting: flags, us, clock, cycles per tile, bound.
        causes: one per setting and cause: microseconds.
        swings: by constant, relative change of the merged form's time at its low and high end.
    """

    rows: list[dict[str, object]]
    causes: list[dict[str, object]]
    swings: dict[str, tuple[float, float]]

    @property
    def band(self) -> tuple[float, float]:
        """Relative low and high end of the time."""
        low = math.hypot(*(min(0.0, *swing) for swing in self.swings.values()))
        high = math.hypot(*(max(0.0, *swing) for swing in self.swings.values()))
        return -low, high


def curve_tasks(tokens: Iterable[int] = TOKENS) -> list[Task]:
    """The published dispatch over M, and the lossy gemm2 where it may stand in."""
    tasks = []
    for count in tokens:
        variants = [dispatch(kernel, count) for kernel in KERNELS]
        variants += [LOSSY] if count >= 8192 else []
        tasks += [
            Task(variant, count, ROUTING, study_settings(variant, STUDIES)) for variant in variants
        ]
    return tasks


def published_tasks(rows: Sequence[PublishedRow]) -> list[Task]:
    """The merged form of what others published."""
    keys = dict.fromkeys((row.variant, row.tokens, row.routing) for row in rows)
    return [Task(v, m, routing, (acting(v),)) for v, m, routing in keys]


def claim_tasks() -> list[Task]:
    """The settings that the claims compare."""
    keys: dict[tuple[Variant, int], list[FlagSet]] = {}
    for claim in CLAIMS:
        for variant, tokens in claim.cases:
            pair = [acting(variant, claim.before), acting(variant, claim.after)]
            keys.setdefault((variant, tokens), []).extend(pair)
    return [
        Task(v, m, ROUTING, tuple(dict.fromkeys(settings)), band=False)
        for (v, m), settings in keys.items()
    ]


def run_task(task: Task, modeller: Modeller | None = None) -> Outcome:
    """Model a task's settings and what the ranges of the constants do to the last one."""
    modeller = modeller or _modeller()
    estimates = {flags: modeller.estimate(task.launch, flags) for flags in task.settings}
    merged = acting(task.variant)
    reference = merged if merged in estimates else task.settings[-1]
    swings = {
        constant.name: _swing(task, modeller, reference, estimates[reference], constant)
        for constant in _to_move(task, modeller.hardware)
    }
    rows = [_row(task, flags, made) for flags, made in estimates.items()]
    causes = [
        {"flags": label(task.variant, flags), "cause": cause.name.lower(), "us": us}
        for flags, made in estimates.items()
        for cause, us in made.causes.items()
    ]
    return Outcome(rows, causes, swings)


def _to_move(task: Task, hardware: Hardware) -> tuple[Constant, ...]:
    whole = task.tokens in WHOLE_TOKENS and len(task.settings) > 1
    known = [c for c in hardware.ranged if task.band and (whole or c.name in MAIN_CONSTANTS)]
    return tuple(known)


def _swing(
    task: Task, modeller: Modeller, flags: FlagSet, base: Estimate, constant: Constant
) -> tuple[float, float]:
    """Relative change of the time at both ends of a constant's range."""

    def at(value: float) -> float:
        if constant.name == "kernel_fixed":
            return base.us + value - constant.value
        if value == constant.value:
            return base.us
        hardware = modeller.hardware.with_values({constant.name: value})
        return float(modeller.estimate(task.launch, flags, hardware, base.clock).us)

    return at(constant.low) / base.us - 1, at(constant.high) / base.us - 1


def _row(task: Task, flags: FlagSet, made: Estimate) -> dict[str, object]:
    return {
        "flags": label(task.variant, flags),
        "us": made.us,
        "clock_ghz": made.clock,
        "cycles_per_tile": made.tile_clocks,
        "bound": made.bound,
    }


@cache
def _modeller() -> Modeller:
    return Modeller(Compiler(workers=1))


@cache
def source_digest() -> str:
    """A hash of all code and data that a modelled time depends on."""
    package = Path(__file__).parent
    paths = [package / name for name in FILES]
    paths.append(DATA / "hardware" / "mi355x.json")
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.relative_to(REPOSITORY).as_posix().encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def outcome_of(task: Task) -> Outcome:
    """:func:`run_task` through the cache."""
    modeller = _modeller()
    jobs = [Job(task.variant, REFERENCE_SHAPE, flags) for flags in task.settings]
    settings = [sorted(flags) for flags in task.settings]
    launch = [str(task.variant), task.tokens, task.routing, task.seed, task.band, settings]
    key = digest([source_digest(), modeller.assembly_digests(jobs), launch])
    store = Cache()
    known = store.get(key)
    if known is None:
        made = run_task(task)
        store.put(key, asdict(made))
        known = asdict(made)
    swings = {name: (low, high) for name, (low, high) in known["swings"].items()}
    return Outcome(known["rows"], known["causes"], swings)


def outcomes_of(tasks: Sequence[Task], workers: int) -> list[Outcome]:
    """Outcomes in order; kernels are compiled first, all at once."""
    jobs = [Job(t.variant, REFERENCE_SHAPE, flags) for t in tasks for flags in t.settings]
    Compiler(workers=workers).compile_all(list(dict.fromkeys(jobs)))
    if workers == 1:
        return [outcome_of(task) for task in tasks]
    heavy_first = sorted(range(len(tasks)), key=lambda n: -tasks[n].tokens)
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        made = pool.map(outcome_of, [tasks[n] for n in heavy_first], chunksize=1)
    by_task = dict(zip(heavy_first, made, strict=True))
    return [by_task[n] for n in range(len(tasks))]


def study(workers: int = 2) -> None:
    """Write every table of ``data/timing/``."""
    published = read_published()
    curve, known, claimed = curve_tasks(), published_tasks(published), claim_tasks()
    made = outcomes_of([*curve, *known, *claimed], workers)
    of_curve = list(zip(curve, made[: len(curve)], strict=True))
    of_published = list(zip(known, made[len(curve) : len(curve) + len(known)], strict=True))
    of_claims = list(zip(claimed, made[len(curve) + len(known) :], strict=True))
    _write_curve(of_curve)
    times = {
        (task.variant, task.tokens, task.routing): (outcome.rows[0], outcome.band)
        for task, outcome in of_published
    }
    rows = validation_rows(published, times)
    write_csv(VALIDATION, list(rows[0]), rows)
    settings = {
        (task.variant, task.tokens, str(row["flags"])): row
        for task, outcome in of_claims
        for row in outcome.rows
    }
    claims = claim_rows(settings)
    write_csv(CLAIM_TABLE, list(claims[0]), claims)


def _write_curve(outcomes: Sequence[tuple[Task, Outcome]]) -> None:
    rows: list[Mapping[str, object]] = []
    causes: list[Mapping[str, object]] = []
    swings: list[Mapping[str, object]] = []
    for task, outcome in outcomes:
        head = _head(task)
        low, high = outcome.band
        for row in outcome.rows:
            us = float(str(row["us"]))
            rows.append(
                head
                | {
                    "flags": row["flags"],
                    "us": f"{us:.3f}",
                    "low": f"{us * (1 + low):.3f}",
                    "high": f"{us * (1 + high):.3f}",
                    "cycles_per_tile": f"{row['cycles_per_tile']:.0f}",
                    "bound": row["bound"],
                    "clock_ghz": f"{row['clock_ghz']:.3f}",
                    "kind": "modelled",
                }
            )
        causes += [
            head | {"flags": c["flags"], "cause": c["cause"], "us": f"{c['us']:.4f}"}
            for c in outcome.causes
        ]
        swings += [
            head
            | {"constant": name, "at_low_pct": f"{100 * a:.2f}", "at_high_pct": f"{100 * b:.2f}"}
            for name, (a, b) in outcome.swings.items()
        ]
    for path, table in ((CURVE, rows), (CAUSES, causes), (SENSITIVITY, swings)):
        write_csv(path, list(table[0]), table)


def _head(task: Task) -> dict[str, object]:
    return {
        "kernel": task.variant.kernel,
        "variant": task.variant.name,
        "shape": str(REFERENCE_SHAPE),
        "routing": task.routing,
        "M": task.tokens,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the study; returns an exit code."""
    parser = argparse.ArgumentParser(prog="mxfp4kernels.modelled_study", description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    study(parser.parse_args(argv).workers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
