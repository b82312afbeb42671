"""What the flags do to the counts: steps, effects alone and last, and how flags interact.

Figures, notebook and docs take their numbers from here; nothing below needs FlyDSL or torch.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ..flags import ALL, FLAGS, NAMES, NONE, FlagSet, acting, cumulative, study_settings
from ..shapes import VARIANTS, Variant
from .counts import CLASSES, KERNEL, REGIONS, CountRow, CountTable

NON_MFMA = tuple(name for name in CLASSES if name != "MFMA")
"""Everything that is issued besides MFMA, which no flag changes."""
NON_MFMA_VECTOR = ("VALU", "ACC", "TRANS")
"""What issues through the vector port besides MFMA: the pull request's "non-MFMA VALU"."""

ONE = frozenset


def amount(row: CountRow, quantities: Iterable[str] = NON_MFMA) -> int:
    """The sum of some columns of a row."""
    return sum(row.quantity(name) for name in quantities)


@dataclass(frozen=True)
class Twins:
    """Variants whose every count is the same: they differ in cache policy only."""

    variants: tuple[Variant, ...]

    @property
    def first(self) -> Variant:
        """The one that stands for all."""
        return self.variants[0]

    @property
    def name(self) -> str:
        """``bm64_atomic``: the variant's name or, for several, the part that they share."""
        names = [variant.name.split("_") for variant in self.variants]
        return "_".join(part for part in names[0] if all(part in name for name in names))

    @property
    def kernel(self) -> str:
        """``gemm1`` or ``gemm2``."""
        return self.first.kernel

    def __str__(self) -> str:
        return f"{self.kernel} {self.name}"


def twins(table: CountTable) -> tuple[Twins, ...]:
    """The variants of the table in its order, those with equal counts together."""
    found: dict[object, list[Variant]] = {}
    for variant in VARIANTS:
        if table.has(variant):
            found.setdefault(_fingerprint(table, variant), []).append(variant)
    return tuple(Twins(tuple(variants)) for variants in found.values())


def _fingerprint(table: CountTable, variant: Variant) -> object:
    rows = [
        table.at(variant, flags, region) for flags in study_settings(variant) for region in REGIONS
    ]
    return (
        variant.kernel,
        tuple((tuple(row.classes.values()), tuple(row.resources.values())) for row in rows),
    )


@dataclass(frozen=True)
class Change:
    """What going from one setting to another changes, by class."""

    before: CountRow
    after: CountRow

    def __getitem__(self, quantity: str) -> int:
        return self.after.quantity(quantity) - self.before.quantity(quantity)

    def amount(self, quantities: Iterable[str] = NON_MFMA) -> int:
        """After less before, summed over some columns."""
        return sum(self[name] for name in quantities)

    @property
    def main_class(self) -> str | None:
        """The class with most of the change, the first of equals; ``None`` if the sum is zero.

        Only classes that change in the direction of the sum over all but MFMA count.
        """
        total = self.amount()
        name = max(NON_MFMA, key=lambda name: self[name] * (1 if total > 0 else -1))
        return name if total else None

    @property
    def acts(self) -> bool:
        """Whether the assembly differs at all."""
        return self.before.isa_sha256 != self.after.isa_sha256


def change(
    table: CountTable, variant: Variant, before: FlagSet, after: FlagSet, region: str = KERNEL
) -> Change:
    """Between two settings of a variant.

    Raises:
        MissingCounts: the table lacks either.
    """
    return Change(table.at(variant, before, region), table.at(variant, after, region))


def steps(table: CountTable, variant: Variant, region: str = KERNEL) -> dict[str, Change]:
    """Each acting flag's step on the way from none to all, in registry order."""
    settings = cumulative(variant)
    return {
        next(iter(after - before)): change(table, variant, before, after, region)
        for before, after in pairwise(settings)
    }


def first(table: CountTable, variant: Variant, flag: str, region: str = KERNEL) -> Change:
    """The flag alone, everything else off."""
    return change(table, variant, NONE, ONE({flag}), region)


def last(table: CountTable, variant: Variant, flag: str, region: str = KERNEL) -> Change:
    """The flag on top of all others."""
    return change(table, variant, acting(variant) - {flag}, acting(variant), region)


def whole(table: CountTable, variant: Variant, region: str = KERNEL) -> Change:
    """From none to all."""
    return change(table, variant, NONE, ALL, region)


def acting_names(variant: Variant) -> tuple[str, ...]:
    """The flags that can act in a variant, in registry order."""
    names = acting(variant)
    return tuple(name for name in NAMES if name in names)


def flags_of(kernel: str) -> tuple[str, ...]:
    """The flags that can act in any variant of a kernel, in registry order."""
    return tuple(flag.name for flag in FLAGS if any(v.kernel == kernel for v in flag.variants))


@dataclass(frozen=True)
class Square:
    """Two flags in all four combinations, every other flag on: a count for each.

    ``additive`` is what both together would give if each did what it does by itself.
    """

    first: str
    second: str
    neither: int
    only_first: int
    only_second: int
    both: int

    @property
    def additive(self) -> int:
        """The count of both if they did not interact."""
        return self.only_first + self.only_second - self.neither

    @property
    def interaction(self) -> int:
        """How far the count of both is from that."""
        return self.both - self.additive


def square(
    table: CountTable, variant: Variant, pair: tuple[str, str], quantity: str, region: str = KERNEL
) -> Square:
    """A pair of flags on top of all others.

    Raises:
        MissingCounts: the table lacks a combination; it holds those of the last two flags that act.
    """
    one, two = pair
    others = acting(variant) - {one, two}
    count = {
        names: table.at(variant, others | names, region).quantity(quantity)
        for names in (NONE, ONE({one}), ONE({two}), ONE({one, two}))
    }
    return Square(one, two, *count.values())


def share(table: CountTable, variant: Variant, flag: str) -> float:
    """The part of the non-MFMA VALU that a flag's step removes, in percent of it before the step.

    The step is the cumulative one, as the pull request's commits follow one another.
    """
    step = steps(table, variant)[flag]
    return -100 * step.amount(NON_MFMA_VECTOR) / amount(step.before, NON_MFMA_VECTOR)
