"""Our counts against the published ones: ``none`` with before, ``all`` with after the pull request.

The published kernels were built by LLVM 22, ours by the LLVM inside FlyDSL; the tolerances say how
far two compilers may differ before the difference has to be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import DATA, write_csv
from ..flags import NONE
from .counts import KERNEL, CountRow, CountTable
from .published import SALU_AND_OTHER, Reference, ReferenceRow

PARITY = DATA / "isa" / "reference.csv"
COLUMNS = (
    *("kernel", "variant", "shape", "flags", "region", "quantity"),
    *(
        "published",
        "ours",
        "difference",
        "allowed",
        "verdict",
        "published_set",
        "published_compiler",
    ),
)

WITHIN, OUTSIDE, NOT_HELD = "within", "outside", "no tolerance"


@dataclass(frozen=True)
class Tolerance:
    """How far ours may be from the published count.

    Args:
        text: the rule for a reader.
        holds: whether it holds, of the published count and ours.
        after_only: the rule is for the merged commit's form alone.
    """

    text: str
    holds: Callable[[int, int], bool]
    after_only: bool = False


_EQUAL = Tolerance("equal", lambda published, ours: ours == published)
_ZERO = Tolerance("0", lambda published, ours: ours == 0)

TOLERANCES: Mapping[str, Tolerance] = {
    "MFMA": _EQUAL,
    "VMEM": _EQUAL,
    "BARRIER": _EQUAL,
    "LDS": Tolerance(
        "within 5 %", lambda published, ours: 100 * abs(ours - published) <= 5 * published
    ),
    "VALU": Tolerance("5 % more at most", lambda published, ours: 100 * ours <= 105 * published),
    "SMEM": Tolerance("within 2", lambda published, ours: abs(ours - published) <= 2),
    "kernarg_bytes": Tolerance(
        "equal with the bare ABI", lambda published, ours: ours == published, after_only=True
    ),
    "spills": _ZERO,
    "waves_per_simd": Tolerance("not lower", lambda published, ours: ours >= published),
}
"""The rules that hold for a whole kernel; other quantities are listed without a verdict."""

QUANTITIES = (
    *("MFMA", "VALU", "ACC", "TRANS", SALU_AND_OTHER, "SMEM", "VMEM", "LDS", "WAIT"),
    *("BARRIER", "NOP", "BRANCH", "total"),
)
RESOURCES = ("vgpr", "agpr", "sgpr", "lds_bytes", "kernarg_bytes", "spills", "waves_per_simd")


def our_quantity(row: CountRow, name: str) -> int:
    """A published quantity as counted by us."""
    return sum(row.quantity(part) for part in name.split("+"))


def compare(table: CountTable, reference: Reference) -> list[dict[str, object]]:
    """One row under :data:`COLUMNS` for each published quantity of a variant in ``table``.

    Raises:
        MissingCounts: ``table`` has the variant, but not in the form none or all.
    """
    return [
        _compared(table, row, name)
        for row in reference.rows
        if table.has(row.variant)
        for name in (*QUANTITIES, *(RESOURCES if row.region == KERNEL else ()))
    ]


def _compared(table: CountTable, row: ReferenceRow, name: str) -> dict[str, object]:
    counted = table.at(row.variant, row.flags, row.region)
    published, ours = row.quantities[name], our_quantity(counted, name)
    tolerance = TOLERANCES.get(name) if row.region == KERNEL else None
    if tolerance is not None and tolerance.after_only and row.flags == NONE:
        tolerance = None
    verdict = NOT_HELD
    if tolerance is not None:
        verdict = WITHIN if tolerance.holds(published, ours) else OUTSIDE
    return {
        "kernel": counted.kernel,
        "variant": counted.variant,
        "shape": counted.shape,
        "flags": counted.flags,
        "region": counted.region,
        "quantity": name,
        "published": published,
        "ours": ours,
        "difference": ours - published,
        "allowed": "" if tolerance is None else tolerance.text,
        "verdict": verdict,
        "published_set": row.set,
        "published_compiler": row.compiler,
    }


def write_parity(rows: list[dict[str, object]], path: Path = PARITY) -> None:
    """Write the comparison whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, rows)
