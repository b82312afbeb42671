"""The seven changes of ROCm/aiter PR #3828 as data, a safety flag of our own, and the studies.

A flag that is off gives the form of the parent commit, one that is on the form of the merged
commit. Everything downstream (kernels, compiler, tables, figures, tests) walks :data:`FLAGS`, or
:data:`REGISTRY` where our own flags count too.
Source of what each flag changes: the squashed diff of the pull request, not its message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from types import MappingProxyType

from .shapes import VARIANTS, Variant

PARENT_COMMIT = "46ecc4489d"
MERGE_COMMIT = "b242ba66a6"


class FlagError(ValueError):
    """A flag or a preset that does not exist, or a flag that has no effect where it was asked."""


@dataclass(frozen=True)
class Flag:
    """One change of the pull request.

    Args:
        name: the name used on the command line and in every table.
        title: a few words for figures.
        acts_in: whether the flag can change the code of a variant.
        off, on: the form in the parent and in the merged commit.
        claim: what the pull request says of it, or that it says nothing.
        shows_in: where in the assembly an effect can show.
        listed: whether the message of the pull request names it.
        provenance: the commit whose diff holds the change.
    """

    name: str
    title: str
    acts_in: Callable[[Variant], bool]
    off: str
    on: str
    claim: str
    shows_in: str
    listed: bool
    provenance: str = f"ROCm/aiter PR #3828, {PARENT_COMMIT}..{MERGE_COMMIT}"

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants whose code the flag can change, in table order."""
        return tuple(variant for variant in VARIANTS if self.acts_in(variant))


FLAGS: tuple[Flag, ...] = (
    Flag(
        name="bare_pointer_abi",
        title="bare-pointer ABI",
        acts_in=lambda variant: True,
        off="Kernel parameters are tensors with run-time shape and stride.",
        on="Kernel parameters are 64-bit addresses.",
        claim="about 7 % faster at M=4 and M=8, level from M=64",
        shows_in="s_load count and width, prologue waits, kernarg bytes",
        listed=True,
    ),
    Flag(
        name="backend_waitcnt",
        title="back-end waitcnt",
        acts_in=lambda variant: variant.epilogue in ("nonatomic", "mxfp4", "cshuffle"),
        off="Inline-asm s_waitcnt vmcnt(16) lgkmcnt(0) and a bare s_barrier before each A read.",
        on="A barrier operation; the back end inserts the waits it needs.",
        claim="removes the large-M bubble of a wait inserted twice",
        shows_in="K loop: waits and nops",
        listed=True,
    ),
    Flag(
        name="epilog_hoisting",
        title="epilogue hoisting",
        acts_in=lambda variant: variant.epilogue in ("nonatomic", "mxfp4"),
        off="The 64-bit product row * hidden is formed for every stored element.",
        on="One row product per thread; the rest are compile-time offsets.",
        claim="with its two neighbours: gemm2 from 1.11 to 1.00 of HIP at M=4096, "
        "from 1.10 to 1.03 at M=16384",
        shows_in="epilogue VALU",
        listed=True,
    ),
    Flag(
        name="unsigned_divrem",
        title="unsigned div/rem",
        acts_in=lambda variant: variant.kernel == "gemm2",
        off="Signed // and % on block and tile indices.",
        on="Unsigned; one modulo becomes a multiply and a subtraction.",
        claim="drops the sign-correction SALU of index arithmetic",
        shows_in="prologue SALU",
        listed=True,
    ),
    Flag(
        name="hardware_exp2",
        title="hardware exp2",
        acts_in=lambda variant: variant.kernel == "gemm1",
        off="exp2 with a range clamp around v_exp_f32 (v_cmp, v_cndmask, v_ldexp).",
        on="A bare v_exp_f32.",
        claim="about 31 % of gemm1's non-MFMA VALU gone, 2 to 6 % at large M "
        "(M=4096 from 1.07 to 1.05 of HIP)",
        shows_in="epilogue VALU",
        listed=True,
    ),
    Flag(
        name="native_packed_max",
        title="native packed max",
        acts_in=lambda variant: variant.inline_quant,
        off="v_pk_max_u16 as inline asm.",
        on="A vector maximum of u16 that the back end selects and schedules.",
        claim="not in the message",
        shows_in="K loop: schedule and nops",
        listed=False,
    ),
    Flag(
        name="interleaved_quant",
        title="interleaved quantisation",
        acts_in=lambda variant: variant.inline_quant,
        off="The two quantised pieces of a tile one after the other.",
        on="The two pieces together, stage by stage.",
        claim="not in the message",
        shows_in="K loop: nops and order",
        listed=False,
    ),
)
"""The pull request's changes, in its order; the order of ``cumulative``."""

SAFETY_FLAGS: tuple[Flag, ...] = (
    Flag(
        name="safe_lds_reuse",
        title="safe LDS reuse",
        acts_in=lambda variant: str(variant) in ("gemm1/bm128", "gemm2/bm128_mxfp4"),
        off="The published form. gemm1 bm128 keeps two A tiles in LDS and starts a load into the "
        "one that other waves may still be reading; the MXFP4 epilogue of gemm2 overwrites A "
        "tiles that other waves may still be reading.",
        on="gemm1 bm128 keeps three A tiles; gemm2 has a barrier before the epilogue's LDS stores.",
        claim="ours: the published forms have no barrier between these reads and writes",
        shows_in="gemm1: LDS addresses; gemm2: one barrier per pass",
        listed=False,
        provenance="this repository; found by its sanitizer",
    ),
)
"""Flags that are not part of the pull request: forms in which no order of waves races."""

REGISTRY: tuple[Flag, ...] = FLAGS + SAFETY_FLAGS
"""Every flag there is; the order of joined names."""

NAMES: tuple[str, ...] = tuple(flag.name for flag in FLAGS)
"""The pull request's flags by name."""

FlagSet = frozenset[str]
"""The names of the flags that are on."""

NONE: FlagSet = frozenset()
ALL: FlagSet = frozenset(NAMES)

SAFE: FlagSet = ALL | {flag.name for flag in SAFETY_FLAGS}

PRESETS: Mapping[str, FlagSet] = MappingProxyType({"none": NONE, "all": ALL, "safe": SAFE})
"""``none`` is the parent commit's form, ``all`` the merged commit's, ``safe`` adds our fixes."""


def find_flag(name: str) -> Flag:
    """The record of a flag.

    Raises:
        FlagError: no such flag.
    """
    for flag in REGISTRY:
        if flag.name == name:
            return flag
    raise FlagError(f"unknown flag {name!r}; choose from {_known()}")


def _known() -> str:
    return ", ".join(flag.name for flag in REGISTRY)


def flag_set(names: Iterable[str]) -> FlagSet:
    """A checked set of flag names.

    Raises:
        FlagError: a name that is no flag.
    """
    return frozenset(find_flag(name).name for name in names)


def parse_flags(text: str) -> FlagSet:
    """A preset (``none``, ``all``, ``safe``), or flag names joined by ``+`` or ``,``.

    Raises:
        FlagError: a name that is neither a flag nor a preset.
    """
    if text in PRESETS:
        return PRESETS[text]
    names = [name.strip() for name in text.replace(",", "+").split("+")]
    for name in names:
        if all(name != flag.name for flag in REGISTRY):
            raise FlagError(
                f"unknown flag or preset {name!r}; choose {', '.join(PRESETS)}, or names joined by "
                f"+: {_known()}"
            )
    return flag_set(names)


def acting(variant: Variant, flags: FlagSet = ALL) -> FlagSet:
    """Those of ``flags`` (of the pull request's, by default) that can change a variant's code."""
    return frozenset(flag.name for flag in REGISTRY if flag.name in flags and flag.acts_in(variant))


def join(flags: FlagSet) -> str:
    """``none``, or the names joined by ``+`` in registry order."""
    return "+".join(flag.name for flag in REGISTRY if flag.name in flags) or "none"


def label(variant: Variant, flags: FlagSet) -> str:
    """How a table names this setting: the acting flags joined, or ``none``."""
    return join(acting(variant, flags))


def alone(variant: Variant) -> tuple[FlagSet, ...]:
    """Each acting flag by itself."""
    return tuple(frozenset({name}) for name in NAMES if name in acting(variant))


def leave_one_out(variant: Variant) -> tuple[FlagSet, ...]:
    """All acting flags but one, for each in turn."""
    everything = acting(variant)
    return tuple(everything - {name} for name in NAMES if name in everything)


def cumulative(variant: Variant) -> tuple[FlagSet, ...]:
    """From none to all, one more acting flag each time, in registry order."""
    on: list[str] = []
    steps: list[FlagSet] = [NONE]
    for name in NAMES:
        if name in acting(variant):
            on.append(name)
            steps.append(frozenset(on))
    return tuple(steps)


def factorial(variant: Variant, names: Iterable[str]) -> tuple[FlagSet, ...]:
    """Every combination of the named flags, the others off.

    Raises:
        FlagError: a name that is no flag, or a flag with no effect in the variant.
    """
    chosen = flag_set(names)
    here = acting(variant, SAFE)
    idle = chosen - here
    if idle:
        raise FlagError(f"{join(idle)} has no effect in {variant}; acting there: {join(here)}")
    ordered = [flag.name for flag in REGISTRY if flag.name in chosen]
    return tuple(
        frozenset(subset)
        for size in range(len(ordered) + 1)
        for subset in combinations(ordered, size)
    )


def safety(variant: Variant) -> tuple[FlagSet, ...]:
    """The parent's and the merged form with our safety flags, where those act."""
    fixes = acting(variant, SAFE) - acting(variant)
    return (fixes, acting(variant) | fixes) if fixes else ()


STUDIES: Mapping[str, Callable[[Variant], tuple[FlagSet, ...]]] = MappingProxyType(
    {
        "presets": lambda variant: (NONE, acting(variant)),
        "alone": alone,
        "leave-one-out": leave_one_out,
        "cumulative": cumulative,
        "safety": safety,
    }
)
"""The studies that the ablation runs; each maps a variant to the flag settings it needs."""


def study_settings(
    variant: Variant, studies: Iterable[str] = tuple(STUDIES)
) -> tuple[FlagSet, ...]:
    """The settings that the named studies need in a variant, each once, in a stable order.

    Raises:
        FlagError: no such study.
    """
    settings: dict[FlagSet, None] = {}
    for study in studies:
        if study not in STUDIES:
            raise FlagError(f"unknown study {study!r}; choose from {', '.join(STUDIES)}")
        settings.update(dict.fromkeys(STUDIES[study](variant)))
    return tuple(settings)
