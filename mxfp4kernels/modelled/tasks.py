"""The launches that the modelled study times, each a task, and what a task gives.

A task is one variant at one M with some flag settings.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..flags import NONE, FlagSet, acting, label, study_settings
from ..shapes import KERNELS, REFERENCE_SHAPE, Variant, dispatch, find_variant
from ..timing.constants import Constant, Hardware
from ..timing.device import Estimate
from .launches import Launch, Modeller
from .validation import CLAIMS, Comparison, Form, PublishedRow

TOKENS = tuple(2**power for power in range(16))
FAMILY_A, FAMILY_B = "family-a", "family-b"
WHOLE_TOKENS = (4, 64, 512, 4096, 16384)
"""M at which every constant with a range is moved, in family A; elsewhere :data:`MAIN_CONSTANTS`.
"""
MAIN_CONSTANTS = (
    "kernel_fixed", "hbm_read", "hbm_write", "mall_read", "mall_write", "l2_read", "l2_latency",
    "mall_latency", "hbm_latency", "lds_latency", "smem_cold", "smem_l2", "barrier_release",
    "clock_scale",
)  # fmt: skip
"""All that move a time by :data:`MATTERS` percent or more at :data:`WHOLE_TOKENS`; and ``l2_read``,
which does where ``mall_read`` is larger."""
MATTERS = 0.5
STUDIES = ("presets", "alone", "leave-one-out", "cumulative")
LOSSY = find_variant("gemm2", "bm128_mxfp4")
LOSSY_TOKENS = 8192
"""M from which the tuned table runs the lossy gemm2."""
Swings = dict[str, tuple[float, float]]
"""By constant, the relative change at the low and at the high end of its range."""


@dataclass(frozen=True)
class Task:
    """Flag settings of one variant at one M.

    Attributes:
        every: whether the constants' ranges are tried on every setting, not only on the parent's
            and the merged form's.
    """

    variant: Variant
    tokens: int
    routing: str
    settings: tuple[FlagSet, ...]
    seed: int = 0
    every: bool = False

    @property
    def launch(self) -> Launch:
        """The launch that is modelled."""
        return Launch(self.variant, REFERENCE_SHAPE, self.tokens, self.routing, self.seed)

    @property
    def merged(self) -> FlagSet:
        """The setting whose time the constants' ranges are tried on: all flags, or the last."""
        merged = acting(self.variant)
        return merged if merged in self.settings else self.settings[-1]


@dataclass(frozen=True)
class Outcome:
    """What a task gives, as plain values.

    Attributes:
        rows: one per setting: flags, us, clock, cycles per tile, basis, bound.
        causes: one per setting and cause: microseconds.
        swings: of the merged form's time.
        gain_swings: of the parent's time over the merged form's; empty without both.
        moved: of the time of every setting on which the ranges were tried, by its label.
    """

    rows: list[dict[str, object]]
    causes: list[dict[str, object]]
    swings: Swings
    gain_swings: Swings
    moved: dict[str, Swings] = field(default_factory=dict)

    @property
    def band(self) -> tuple[float, float]:
        """Relative low and high end of the time."""
        return ends(self.swings)

    @property
    def gain_band(self) -> tuple[float, float]:
        """Relative low and high end of the parent's time over the merged form's."""
        return ends(self.gain_swings)

    def change_band(self, before: str, after: str) -> tuple[float, float]:
        """Relative low and high end of the second setting's time over the first's.

        A constant moves both times at once.
        """
        first, second = self.moved[before], self.moved[after]
        return ends({name: _ratio(second[name], first[name]) for name in second})

    def form(self, flags: str) -> Form:
        """A setting by its label, as claims compare it."""
        row = next(row for row in self.rows if row["flags"] == flags)
        causes = {
            str(one["cause"]): float(str(one["us"])) for one in self.causes if one["flags"] == flags
        }
        us, cycles = (float(str(row[name])) for name in ("us", "cycles_per_tile"))
        return Form(us, cycles, str(row["bound"]), causes)

    def comparison(self, before: str, after: str) -> Comparison:
        """Two settings by their labels."""
        return Comparison(self.form(before), self.form(after), self.change_band(before, after))


def ends(swings: Swings) -> tuple[float, float]:
    """The root of the summed squares of what each constant does, down and up."""
    low = math.hypot(*(min(0.0, *swing) for swing in swings.values()))
    high = math.hypot(*(max(0.0, *swing) for swing in swings.values()))
    return -low, high


def curve_tasks(tokens: Iterable[int] = TOKENS) -> list[Task]:
    """The published dispatch over M: every setting in family A, the two presets in family B.

    In family A also the lossy gemm2 where it may stand in.
    """
    tasks = []
    for count in tokens:
        variants = [dispatch(kernel, count) for kernel in KERNELS]
        lossy = [LOSSY] if count >= LOSSY_TOKENS else []
        tasks += [
            Task(variant, count, FAMILY_A, study_settings(variant, STUDIES))
            for variant in variants + lossy
        ]
        tasks += [Task(variant, count, FAMILY_B, (NONE, acting(variant))) for variant in variants]
    return tasks


def published_tasks(rows: Sequence[PublishedRow], known: Sequence[Task]) -> list[Task]:
    """The merged form of what others published, where no known task has it."""
    have = {(task.variant, task.tokens, task.routing) for task in known}
    keys = dict.fromkeys((row.variant, row.tokens, row.routing) for row in rows)
    return [
        Task(v, m, routing, (acting(v),)) for v, m, routing in keys if (v, m, routing) not in have
    ]


def claim_tasks() -> list[Task]:
    """The settings that the claims compare."""
    keys: dict[tuple[Variant, int], list[FlagSet]] = {}
    for claim in CLAIMS:
        for variant, tokens in claim.cases:
            pair = [acting(variant, claim.before), acting(variant, claim.after)]
            keys.setdefault((variant, tokens), []).extend(pair)
    return [
        Task(v, m, FAMILY_A, tuple(dict.fromkeys(settings)), every=True)
        for (v, m), settings in keys.items()
    ]


def run_task(task: Task, modeller: Modeller) -> Outcome:
    """Model a task's settings, and what the ranges of the constants do to some of them."""
    estimates = {flags: modeller.estimate(task.launch, flags) for flags in task.settings}
    moved = _to_move(task, modeller.hardware)
    tried = task.settings if task.every else (NONE, task.merged)
    times = {
        flags: _moved(task, modeller, flags, estimates[flags], moved)
        for flags in tried
        if flags in estimates
    }
    merged = times[task.merged]
    gains = {}
    if NONE in times and task.merged != NONE:
        gains = {name: _ratio(times[NONE][name], merged[name]) for name in merged}
    rows = [_row(task, flags, made) for flags, made in estimates.items()]
    causes = [
        {"flags": label(task.variant, flags), "cause": cause, "us": us}
        for flags, made in estimates.items()
        for cause, us in made.causes.items()
    ]
    by_label = {label(task.variant, flags): swings for flags, swings in times.items()}
    return Outcome(rows, causes, merged, gains, by_label)


def _to_move(task: Task, hardware: Hardware) -> tuple[Constant, ...]:
    whole = task.tokens in WHOLE_TOKENS and task.routing == FAMILY_A and len(task.settings) > 1
    known = [c for c in hardware.ranged if whole or c.name in MAIN_CONSTANTS]
    return tuple(known)


def _moved(
    task: Task,
    modeller: Modeller,
    flags: FlagSet,
    base: Estimate,
    constants: Iterable[Constant],
) -> Swings:
    """Relative changes of a setting's time at both ends of each constant's range."""
    return {
        constant.name: (
            _at(task, modeller, flags, base, constant, constant.low),
            _at(task, modeller, flags, base, constant, constant.high),
        )
        for constant in constants
    }


def _at(
    task: Task,
    modeller: Modeller,
    flags: FlagSet,
    base: Estimate,
    constant: Constant,
    value: float,
) -> float:
    if constant.name == "kernel_fixed":
        return (value - constant.value) / base.us
    if value == constant.value:
        return 0.0
    hardware = modeller.hardware.with_values({constant.name: value})
    return modeller.estimate(task.launch, flags, hardware, base.clock).us / base.us - 1


def _ratio(before: tuple[float, float], after: tuple[float, float]) -> tuple[float, float]:
    """Relative changes of a ratio from those of both its times."""
    low, high = ((1 + b) / (1 + a) - 1 for b, a in zip(before, after, strict=True))
    return low, high


def _row(task: Task, flags: FlagSet, made: Estimate) -> dict[str, object]:
    return {
        "flags": label(task.variant, flags),
        "us": made.us,
        "clock_ghz": made.clock,
        "cycles_per_tile": made.tile_clocks,
        "basis": made.basis,
        "bound": made.bound,
    }
