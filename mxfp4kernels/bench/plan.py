"""What a run measures and how, and about how long that takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .cases import OURS, Case, digest
from .memory import buffer_bytes, bytes_at_least, launch_seconds_at_least, sets_at_least
from .procedure import Procedure

CASE_SECONDS = 10.0
"""Inputs and reference of a case with few tokens, on one core of a server."""
PREPARE_SECONDS_PER_GIB = 7.0
CHECK_SECONDS_PER_GIB = 2.0
"""Likewise, for each GiB of buffers other than weights: 2.7 GiB, gemm2 at M=16384 with the
reference shape, took 17 s up to the first check and 4 s for every later one."""
COMPILE_SECONDS = 1.0
"""FlyDSL compiles one of these kernels in 0.2 to 1.8 s."""


@dataclass(frozen=True)
class Plan:
    """What a run measures and how."""

    cases: tuple[Case, ...]
    procedure: Procedure

    @property
    def rounds(self) -> int:
        """Rounds of all cases together."""
        return len(self.cases) * self.procedure.rounds

    @property
    def comparisons(self) -> int:
        """Settings that are compared with their case's baseline, in all cases together."""
        return sum(len(case.settings) - 1 for case in self.cases)

    def header(self, environment: Mapping[str, Any], name: str | None) -> dict[str, Any]:
        """A journal's first record; the name of the run is made of the rest if there is none."""
        header = {
            "cases": [case.as_json() for case in self.cases],
            "procedure": self.procedure.as_json(),
            "environment": dict(environment),
        }
        return {"run": name or f"run-{digest(header)}", **header}

    def without(self, implementations: Collection[str]) -> Plan:
        """The plan less other packages' kernels that are not there.

        A case in which they were all there was to compare goes with them.

        Raises:
            ValueError: one of them is the baseline of all ratios, or nothing is left to compare.
        """
        for case in self.cases:
            if case.baseline.implementation in implementations:
                raise ValueError(
                    f"{case.baseline.label} is absent, so nothing can be compared with it; "
                    "choose another --against"
                )
        cases = []
        for case in self.cases:
            left = tuple(one for one in case.settings if one.implementation not in implementations)
            if len(left) > 1 or left == case.settings:
                cases.append(replace(case, settings=left))
        if not cases:
            raise ValueError(
                f"{', '.join(sorted(implementations))} absent, and nothing else to compare"
            )
        return replace(self, cases=tuple(cases))

    @property
    def seconds(self) -> float:
        """A rough estimate of the whole run's duration, rather too short than too long.

        Replays last as long as was asked for, or as one launch on every set of buffers at the
        device's peaks: nothing here knows how fast the kernels are.
        """
        settings = {
            (case.variant, case.shape, setting)
            for case in self.cases
            for setting in case.settings
            if setting.implementation == OURS
        }
        return sum(map(self._case_seconds, self.cases)) + len(settings) * COMPILE_SECONDS

    def _case_seconds(self, case: Case) -> float:
        procedure = self.procedure
        processes = procedure.rounds if procedure.fresh_process else 1
        sets = sets_at_least(case, procedure.cache)
        replay = max(procedure.replay_seconds, sets * launch_seconds_at_least(case))
        replays = len(case.labels) * procedure.rounds * procedure.passes
        sizes = buffer_bytes(case.variant, case.shape, case.tokens)
        rest = sum(size for name, size in sizes.items() if not name.startswith("w")) / 2**30
        checks = len(case.settings) + 2 * len(case.labels)  # each graph before and after
        preparing = CASE_SECONDS + rest * PREPARE_SECONDS_PER_GIB
        checking = checks * (rest * CHECK_SECONDS_PER_GIB + 2 * replay)
        return replays * 2 * replay + processes * (preparing + checking)

    def describe(self) -> list[dict[str, object]]:
        """One row per case; ``gib`` is the least device memory that its buffers take."""
        return [
            {
                "variant": str(case.variant),
                "shape": str(case.shape),
                "tokens": case.tokens,
                "routing": case.routing,
                "gib": round(bytes_at_least(case, self.procedure.cache) / 2**30, 1),
                "graphs": len(case.labels),
                "baseline": case.baseline.label,
                "compared": ", ".join(setting.label for setting in case.settings[1:]),
            }
            for case in self.cases
        ]


def slug(name: str) -> str:
    """A device's name as a directory's: ``amd-instinct-mi355x``."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "unnamed"
