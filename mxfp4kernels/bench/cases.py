"""What is measured: cases, and the settings that each compares."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..flags import NONE, FlagSet, acting, flag_set, join, study_settings
from ..shapes import Shape, Variant, check, dispatch, find_variant, parse_shape
from .procedure import SEEDS

OURS = "mxfp4kernels"
"""The implementation that is this package."""
TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768)
"""Numbers of tokens of a whole curve: those that the published tuning has entries for."""
AGAIN = " (again)"
"""Ends the label of the baseline's second, independent graph: the A/A pair."""


@dataclass(frozen=True)
class Setting:
    """A kernel to time: this package's with some flags on, or another package's.

    Args:
        implementation: :data:`OURS`, or a name of :data:`.baselines.BASELINES`.
        flags: the acting flags that are on; none for other implementations.
    """

    implementation: str = OURS
    flags: FlagSet = NONE

    @property
    def label(self) -> str:
        """``none``, flag names joined by ``+``, or the other implementation's name."""
        return join(self.flags) if self.implementation == OURS else self.implementation

    def as_json(self) -> dict[str, Any]:
        """A JSON object that :meth:`from_json` reads."""
        return {"implementation": self.implementation, "flags": sorted(self.flags)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Setting:
        """The setting of :meth:`as_json`."""
        return cls(value["implementation"], flag_set(value["flags"]))


@dataclass(frozen=True)
class Case:
    """One comparison: everything but the setting is the same for all its rows.

    Args:
        variant, shape: the kernel.
        tokens: M.
        routing: one of :data:`mxfp4kernels.numerics.inputs.ROUTINGS`.
        seed: of routing, activations and weights.
        settings: what is compared; the first is the baseline of all ratios.

    Raises:
        ShapeError: the variant cannot run the shape.
        ValueError: no token, a seed out of range, no setting, or one given twice.
    """

    variant: Variant
    shape: Shape
    tokens: int
    routing: str
    seed: int
    settings: tuple[Setting, ...]

    def __post_init__(self) -> None:
        check(self.variant, self.shape)
        if self.tokens < 1:
            raise ValueError(f"tokens must be at least 1, got {self.tokens}")
        if not 0 <= self.seed < SEEDS:
            raise ValueError(f"a seed must be a whole number of 0..2**63-1, got {self.seed}")
        if not self.settings or len(set(self.settings)) < len(self.settings):
            labels = [setting.label for setting in self.settings]
            raise ValueError(f"{self} needs settings, each once, got {labels}")

    def __str__(self) -> str:
        return f"{self.variant} {self.shape} M={self.tokens} {self.routing} seed {self.seed}"

    @property
    def baseline(self) -> Setting:
        """The setting that the others are compared with."""
        return self.settings[0]

    @property
    def labels(self) -> tuple[str, ...]:
        """Every graph of the case: the settings' labels and, second, the baseline's again."""
        first, *others = (setting.label for setting in self.settings)
        return (first, first + AGAIN, *others)

    def setting_of(self, label: str) -> Setting:
        """The setting behind one of :attr:`labels`."""
        return next(s for s in self.settings if s.label == label.removesuffix(AGAIN))

    def as_json(self) -> dict[str, Any]:
        """A JSON object that :meth:`from_json` reads."""
        return {
            "kernel": self.variant.kernel,
            "variant": self.variant.name,
            "shape": str(self.shape),
            "tokens": self.tokens,
            "routing": self.routing,
            "seed": self.seed,
            "settings": [setting.as_json() for setting in self.settings],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Case:
        """The case of :meth:`as_json`."""
        return cls(
            find_variant(value["kernel"], value["variant"]),
            parse_shape(value["shape"]),
            value["tokens"],
            value["routing"],
            value["seed"],
            tuple(Setting.from_json(setting) for setting in value["settings"]),
        )


def digest(value: object) -> str:
    """A short name for anything that JSON can write."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def build_cases(
    shape: Shape,
    variants: Mapping[int, Sequence[Variant]],
    studies: Iterable[str],
    *,
    extra: Iterable[FlagSet] = (),
    others: Iterable[str] = (),
    against: Setting | None = None,
    routing: str = "family-a",
    seed: int = 0,
) -> tuple[Case, ...]:
    """The cases of a run, each once, in the order of tokens.

    Args:
        shape: the layer.
        variants: for every number of tokens the variants to run.
        studies: names of :data:`mxfp4kernels.flags.STUDIES`.
        extra: more flag settings; flags that do not act in a variant are dropped there.
        others: implementations besides this package's.
        against: the baseline; all flags off when left out.
        routing, seed: see :class:`Case`.

    Raises:
        FlagError: no such study.
        ShapeError: a variant cannot run the shape.
    """
    studies, extra, others = tuple(studies), tuple(extra), tuple(others)
    cases = []
    for tokens, chosen in sorted(variants.items()):
        for variant in chosen:
            flags = [*study_settings(variant, studies), *(acting(variant, one) for one in extra)]
            baseline = against or Setting()
            wanted = [
                Setting(baseline.implementation, acting(variant, baseline.flags)),
                *(Setting(OURS, one) for one in flags),
                *(Setting(other) for other in others),
            ]
            settings = tuple(dict.fromkeys(wanted))
            cases.append(Case(variant, shape, tokens, routing, seed, settings))
    return tuple(dict.fromkeys(cases))


def tuned_variants(
    kernels: Iterable[str], tokens: Iterable[int], *, lossy_gemm2: bool = False
) -> dict[int, list[Variant]]:
    """For every number of tokens the variants that the published tuning runs.

    Raises:
        ValueError: unknown kernel, or a number of tokens below 1.
    """
    kernels = tuple(kernels)
    return {
        number: [dispatch(kernel, number, lossy_gemm2=lossy_gemm2) for kernel in kernels]
        for number in tokens
    }
