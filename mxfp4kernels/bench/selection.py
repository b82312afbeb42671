"""What becomes of the flag settings that were asked for: not every flag acts in every variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..flags import PRESETS, FlagSet, acting, find_flag, join
from ..shapes import Variant
from .cases import OURS, Case, Setting


@dataclass(frozen=True)
class Asked:
    """Flag settings as they were asked for, before a variant drops what does not act in it.

    Args:
        flags: settings to measure.
        against: the baseline of all ratios.
    """

    flags: tuple[FlagSet, ...]
    against: Setting

    @property
    def settings(self) -> tuple[FlagSet, ...]:
        """All of them, each once; the baseline first if it is ours."""
        first = (self.against.flags,) if self.against.implementation == OURS else ()
        return tuple(dict.fromkeys((*first, *self.flags)))


def select(cases: Sequence[Case], asked: Asked) -> tuple[tuple[Case, ...], list[str]]:
    """The cases that compare anything, and what should be said of the others and of settings.

    A case with nothing but its baseline stays if just that was asked for.

    Args:
        cases: from :func:`.cases.build_cases`.
        asked: what they were built from.

    Raises:
        ValueError: a flag was named that acts in none of the variants, or no case is left.
    """
    variants = tuple(dict.fromkeys(case.variant for case in cases))
    _require_acting(variants, asked)
    kept = tuple(
        case for case in cases if len(case.settings) > 1 or asked.against.flags in asked.flags
    )
    if not kept:
        raise ValueError(
            f"nothing to compare with {asked.against.label} in {_names(variants)}; choose other "
            "variants, --flags or --study"
        )
    measured = tuple(dict.fromkeys(case.variant for case in kept))
    left_out = [variant for variant in variants if variant not in measured]
    notes = list(_notes(measured, asked))
    if left_out:
        notes.append(
            f"{_names(left_out)} left out: nothing to compare with {asked.against.label} there"
        )
    return kept, notes


def _require_acting(variants: Sequence[Variant], asked: Asked) -> None:
    for flags in asked.settings:
        if flags in PRESETS.values():
            continue
        for name in sorted(flags):
            if not any(acting(variant, frozenset({name})) for variant in variants):
                raise ValueError(
                    f"{name} acts in none of {_names(variants)}; it acts in "
                    f"{_names(find_flag(name).variants)}"
                )


def _notes(variants: Sequence[Variant], asked: Asked) -> Iterator[str]:
    """What settings come to where they are not what their names say; variants alike together."""
    for at, flags in enumerate(asked.settings):
        alike: dict[str, list[Variant]] = {}
        for variant in variants:
            alike.setdefault(_note(variant, flags, asked.settings[:at]), []).append(variant)
        for note, where in alike.items():
            if note:
                yield f"{_name(flags)} in {_names(where)}: {note}"


def _note(variant: Variant, flags: FlagSet, earlier: Sequence[FlagSet]) -> str:
    here = acting(variant, flags)
    idle = flags - here
    found = []
    if idle and flags not in PRESETS.values():
        found.append(f"{join(idle)} does not act")
    for other in earlier:
        if acting(variant, other) == here:
            found.append(f"the same kernel as {_name(other)}, measured once")
            break
    return "; ".join(found)


def _name(flags: FlagSet) -> str:
    presets: Mapping[FlagSet, str] = {value: name for name, value in PRESETS.items()}
    return presets.get(flags, join(flags))


def _names(variants: Sequence[Variant]) -> str:
    return ", ".join(map(str, variants))
