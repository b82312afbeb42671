"""What the tables of the study say, for figures, notebook and docs; no FlyDSL, no torch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..ablation.counts import CountTable
from ..files import read_csv
from ..flags import ALL, NONE, SAFETY_FLAGS, FlagSet, acting, join, safety
from ..shapes import REFERENCE_SHAPE, VARIANTS, Variant
from . import tables

Row = Mapping[str, str]


def read_verify() -> list[dict[str, str]]:
    """The rows of ``verify.csv``.

    Raises:
        TableError, OSError: the file cannot be read.
    """
    return read_csv(tables.VERIFY, tables.VERIFY_COLUMNS)


def of_variant(rows: Sequence[Row], variant: Variant) -> list[Row]:
    """The rows of one kernel's variant; rows of layers belong to none."""
    return [
        row for row in rows if (row["kernel"], row["variant"]) == (variant.kernel, variant.name)
    ]


@dataclass(frozen=True)
class Bits:
    """How the outputs of a setting compare with those of ``none``.

    Attributes:
        runs: problems that the setting was run on.
        equal: those with the same output, bit for bit.
    """

    runs: int
    equal: int


def bits(rows: Sequence[Row], variant: Variant, flags: FlagSet) -> Bits:
    """The runs of one variant and setting, at every shape."""
    found = [row for row in of_variant(rows, variant) if row["flags"] == join(flags)]
    return Bits(len(found), sum(row["bit_equal_to_none"] == "yes" for row in found))


def at_reference(rows: Sequence[Row], variant: Variant, flags: FlagSet) -> Row:
    """The row of a variant and setting at the reference shape.

    Raises:
        LookupError: there is not exactly one.
    """
    found = [
        row
        for row in of_variant(rows, variant)
        if row["flags"] == join(flags) and row["shape"] == str(REFERENCE_SHAPE)
    ]
    if len(found) != 1:
        raise LookupError(f"{len(found)} rows of {variant} {join(flags)} at {REFERENCE_SHAPE}")
    return found[0]


def forms(variant: Variant) -> dict[str, FlagSet]:
    """The parent's and the merged form, and where we have them their safe twins."""
    found = {"parent": NONE, "merged": acting(variant, ALL)}
    return found | dict(zip(("safe parent", "safe merged"), safety(variant), strict=False))


@dataclass(frozen=True)
class Cost:
    """What the safe form of a variant costs next to the merged one.

    Attributes:
        variant: the variant.
        instructions, barriers: how many more of the whole kernel.
        lds_bytes: LDS of the merged and of the safe form.
        vgprs: registers of both.
        waves: waves per SIMD of both.
    """

    variant: Variant
    instructions: int
    barriers: int
    lds_bytes: tuple[int, int]
    vgprs: tuple[int, int]
    waves: tuple[int, int]


def safety_costs(table: CountTable) -> tuple[Cost, ...]:
    """The cost of safety in the ISA, of each variant in which a safety flag acts.

    Raises:
        MissingCounts: the table lacks a form.
    """
    return tuple(_cost(table, variant) for variant in VARIANTS if safety(variant))


def _cost(table: CountTable, variant: Variant) -> Cost:
    both = [table.at(variant, acting(variant, ALL)), table.at(variant, safety(variant)[-1])]
    before, after = both

    def pair(name: str) -> tuple[int, int]:
        return before.quantity(name), after.quantity(name)

    return Cost(
        variant,
        after.total - before.total,
        after.quantity("BARRIER") - before.quantity("BARRIER"),
        pair("lds_bytes"),
        pair("vgpr"),
        pair("waves_per_simd"),
    )


def is_safe(flags: str) -> bool:
    """Whether a setting, as a table names it, has our safety flags on."""
    return any(flag.name in flags.split("+") for flag in SAFETY_FLAGS)


def mutant_tally(rows: Sequence[Row]) -> Counter[tuple[str, str]]:
    """Mutants by kind of change (wait removed, weakened, barrier removed) and verdict."""
    return Counter((change_kind(row["mutant"]), row["verdict"]) for row in rows)


def change_kind(mutant: str) -> str:
    """``wait removed``, ``wait weakened`` or ``barrier removed``."""
    if mutant.startswith("barrier"):
        return "barrier removed"
    return f"wait {mutant.split()[1]}"
