"""What a run measures and how, and about how long that takes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .cases import OURS, Case, digest
from .memory import bytes_at_least
from .procedure import Procedure

CASE_SECONDS = 20.0
"""Inputs, reference and checks of a case: 2 to 20 s were measured on one core of a server, with the
reference shape and up to 4096 tokens."""
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

        Raises:
            ValueError: one of them is the baseline of all ratios.
        """
        for case in self.cases:
            if case.baseline.implementation in implementations:
                raise ValueError(
                    f"{case.baseline.label} is absent, so nothing can be compared with it; "
                    "choose another --against"
                )
        cases = tuple(
            replace(
                case,
                settings=tuple(
                    one for one in case.settings if one.implementation not in implementations
                ),
            )
            for case in self.cases
        )
        return replace(self, cases=cases)

    @property
    def seconds(self) -> float:
        """A rough estimate of the whole run's duration."""
        settings = {
            (case.variant, case.shape, setting)
            for case in self.cases
            for setting in case.settings
            if setting.implementation == OURS
        }
        procedure = self.procedure
        replays = sum(len(case.labels) for case in self.cases) * procedure.rounds * procedure.passes
        processes = procedure.rounds if procedure.fresh_process else 1
        return (
            replays * 2 * procedure.replay_seconds
            + len(self.cases) * processes * CASE_SECONDS
            + len(settings) * COMPILE_SECONDS
        )

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
