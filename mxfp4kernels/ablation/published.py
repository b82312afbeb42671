"""What others published about these kernels: ``data/published/``, typed.

``isa_reference.csv`` holds static counts of the kernels before and after the pull request;
``published.csv`` device times and ratios, and one static figure. Where each row comes from is
written in the tables themselves and in ``data/published/README.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import DATA, read_csv
from ..flags import ALL, NONE, FlagSet
from ..isa import Region
from ..shapes import Variant, find_variant
from .counts import CLASSES, KERNEL

REFERENCE = DATA / "published" / "isa_reference.csv"
FIGURES = DATA / "published" / "published.csv"

SETS: Mapping[str, FlagSet] = {
    "FlyDSL before, rebuilt": NONE,
    "FlyDSL after, rebuilt": ALL,
}
"""The reference rows that one compiler built from both commits, and the flags that they match."""

_REGIONS = {
    "whole kernel": KERNEL,
    "prologue": Region.PROLOGUE.value,
    "K-loop, 26 tiles": Region.KLOOP.value,
    "drain, 2 tiles": Region.DRAIN.value,
    "epilogue": Region.EPILOGUE.value,
}
"""Scopes that are regions of ours. One trip of a persistent loop is not: it spans all four."""

_VARIANTS = {
    "bm16_iq": "bm16_iq",
    "bm32_nt": "bm32_nt",
    "bm64_cached": "bm64",
    "bm128_cached": "bm128",
    "bm16_nt_atomic": "bm16_atomic_nt",
    "bm32_atomic": "bm32_atomic",
    "bm128_nonatomic": "bm128_nonatomic",
    "bm128_nonatomic_mxfp4": "bm128_mxfp4",
}
"""The published kernels' names, behind their shape, and ours."""

CLASS_COLUMNS = {"ACC": "ACCMOV", "WAIT": "WAITCNT"} | {
    name: name for name in CLASSES if name not in ("ACC", "WAIT", "OTHER")
}
"""Our classes to the table's. It counts s_setprio and s_endpgm, our OTHER, as SALU."""

SALU_AND_OTHER = "SALU+OTHER"


@dataclass(frozen=True)
class ReferenceRow:
    """Published counts of one region of one kernel.

    ``quantities`` has our classes but for SALU and OTHER, which stand together as
    :data:`SALU_AND_OTHER`; also ``total``, registers, sizes in bytes, ``spills`` and
    ``waves_per_simd``.
    """

    set: str
    compiler: str
    variant: Variant
    region: str
    quantities: Mapping[str, int]

    @property
    def flags(self) -> FlagSet:
        """The preset that the row's commit matches."""
        return SETS[self.set]


class Reference:
    """The like-for-like rows of the reference table."""

    def __init__(self, rows: Iterable[ReferenceRow]) -> None:
        self.rows = tuple(rows)

    def quantity(
        self, variant: Variant, flags: FlagSet, name: str, region: str = KERNEL
    ) -> int | None:
        """A published count, or ``None`` when the table has no row for the variant."""
        for row in self.rows:
            if (row.variant, row.flags, row.region) == (variant, flags, region):
                return row.quantities[name]
        return None

    def change(self, variant: Variant, name: str, region: str = KERNEL) -> int | None:
        """After less before."""
        before = self.quantity(variant, NONE, name, region)
        after = self.quantity(variant, ALL, name, region)
        return None if before is None or after is None else after - before


def read_reference(path: Path = REFERENCE) -> Reference:
    """The reference table's rows in :data:`SETS`, of regions that are ours too.

    Raises:
        TableError: a column is missing.
        ValueError: a row's kernel or a number in it is not understood.
        OSError: the file cannot be read.
    """
    rows = read_csv(path, ("set", "compiler", "gemm", "instance", "scope"))
    return Reference(
        _reference_row(row) for row in rows if row["set"] in SETS and row["scope"] in _REGIONS
    )


def _reference_row(row: Mapping[str, str]) -> ReferenceRow:
    match = re.search(r"_(bm\d+_\w+)$", row["instance"])
    if match is None or match[1] not in _VARIANTS:
        raise ValueError(f"{REFERENCE.name}: no variant of ours is {row['instance']!r}")
    quantities = {ours: int(row[column]) for ours, column in CLASS_COLUMNS.items()}
    # As published, SALU includes s_setprio and s_endpgm.
    quantities[SALU_AND_OTHER] = quantities.pop("SALU")
    resources = ("total", "vgpr", "agpr", "sgpr", "lds_bytes", "kernarg_bytes", "waves_per_simd")
    quantities |= {name: int(row[name]) for name in resources}
    quantities["spills"] = sum(int(row[name] or 0) for name in ("vgpr_spill", "sgpr_spill"))
    return ReferenceRow(
        set=row["set"],
        compiler=row["compiler"],
        variant=find_variant(row["gemm"], _VARIANTS[match[1]]),
        region=_REGIONS[row["scope"]],
        quantities=quantities,
    )


@dataclass(frozen=True)
class Figure:
    """A published number. ``tokens`` is M as written, possibly a range or empty."""

    source: str
    kernel: str
    what: str
    tokens: str
    metric: str
    value: str
    note: str


def read_figures(commit: str, path: Path = FIGURES) -> tuple[Figure, ...]:
    """The published numbers that a commit's message states.

    Args:
        commit: the start of the commit's hash.

    Raises:
        TableError: a column is missing.
        OSError: the file cannot be read.
    """
    columns = ("source", "commit_or_pr", "kernel", "variant", "M", "metric", "value", "note")
    return tuple(
        Figure(
            source=row["source"],
            kernel=row["kernel"],
            what=row["variant"],
            tokens=row["M"],
            metric=row["metric"],
            value=row["value"],
            note=row["note"],
        )
        for row in read_csv(path, columns)
        if row["commit_or_pr"].startswith(commit)
    )
