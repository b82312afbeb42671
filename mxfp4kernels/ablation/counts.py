"""The table ``data/isa/counts.csv``: static instruction counts by variant, flags and region.

Reading it needs neither FlyDSL nor torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import DATA, read_csv, write_csv
from ..flags import FlagSet, label
from ..isa import InstructionClass, Region
from ..shapes import Variant

COUNTS = DATA / "isa" / "counts.csv"

KERNEL = "kernel"
"""The region that is the whole kernel."""
REGIONS: tuple[str, ...] = (KERNEL, *(region.value for region in Region))
CLASSES: tuple[str, ...] = tuple(of.value for of in InstructionClass)
RESOURCES = ("vgpr", "agpr", "sgpr", "lds_bytes", "kernarg_bytes", "spills", "waves_per_simd")
COLUMNS: tuple[str, ...] = (
    *("kernel", "variant", "shape", "flags", "region"),
    *CLASSES,
    "total",
    *RESOURCES,
    *("limiter", "flydsl", "llvm", "isa_sha256"),
)


class MissingCounts(LookupError):
    """The table has no row for what was asked."""


@dataclass(frozen=True)
class CountRow:
    """One region of one compiled kernel.

    Attributes:
        kernel, variant, shape, flags: what was compiled; ``flags`` as by :func:`.flags.label`.
        region: one of :data:`REGIONS`.
        classes: instructions of the region by class, every class in :data:`CLASSES`.
        resources: of the whole kernel, every name in :data:`RESOURCES`; registers as in the
            metadata (``vgpr`` includes ``agpr``), sizes in bytes.
        limiter: what limits the waves per SIMD.
        flydsl, llvm, isa_sha256: where the assembly comes from.
    """

    kernel: str
    variant: str
    shape: str
    flags: str
    region: str
    classes: Mapping[str, int]
    resources: Mapping[str, int]
    limiter: str
    flydsl: str
    llvm: str
    isa_sha256: str

    @property
    def total(self) -> int:
        """Instructions of the region."""
        return sum(self.classes.values())

    def quantity(self, name: str) -> int:
        """A class, ``total`` or a resource by its column's name.

        Raises:
            KeyError: there is no such column, or it is not a number.
        """
        if name == "total":
            return self.total
        return self.classes[name] if name in self.classes else self.resources[name]

    def as_row(self) -> dict[str, object]:
        """The row under :data:`COLUMNS`."""
        texts = {name: getattr(self, name) for name in COLUMNS if name in self.__annotations__}
        return texts | dict(self.classes) | {"total": self.total} | dict(self.resources)

    @classmethod
    def of(cls, row: Mapping[str, str]) -> CountRow:
        """From the text of a CSV row."""
        texts = {
            name: row[name] for name in cls.__annotations__ if name not in ("classes", "resources")
        }
        return cls(
            classes={name: int(row[name]) for name in CLASSES},
            resources={name: int(row[name]) for name in RESOURCES},
            **texts,
        )


class CountTable:
    """Rows of one shape, found by variant, flags and region.

    Raises:
        ValueError: the rows are of more than one shape, or say something twice.
    """

    def __init__(self, rows: Iterable[CountRow]) -> None:
        self.rows = tuple(rows)
        shapes = sorted({row.shape for row in self.rows})
        if len(shapes) > 1:
            raise ValueError(f"expected counts of one shape, got {', '.join(shapes)}")
        self._rows = {(row.kernel, row.variant, row.flags, row.region): row for row in self.rows}
        if len(self._rows) != len(self.rows):
            raise ValueError("a variant, flags and region stand in more than one row")

    @property
    def shape(self) -> str:
        """The shape that all rows are of."""
        return self.rows[0].shape if self.rows else ""

    def at(self, variant: Variant, flags: FlagSet, region: str = KERNEL) -> CountRow:
        """The row of a setting; flags without an effect in ``variant`` do not matter.

        Raises:
            MissingCounts: the table lacks it.
        """
        name = label(variant, flags)
        try:
            return self._rows[variant.kernel, variant.name, name, region]
        except KeyError:
            raise MissingCounts(
                f"no counts of {variant} with flags {name}, region {region}; "
                "run mxfp4kernels ablate"
            ) from None

    def has(self, variant: Variant) -> bool:
        """Whether there is any row of the variant."""
        return any((row.kernel, row.variant) == (variant.kernel, variant.name) for row in self.rows)


def read_counts(path: Path = COUNTS) -> CountTable:
    """The table at ``path``.

    Raises:
        TableError: a column is missing, or a row has another length.
        ValueError: a count is no number, or the rows do not make one table; names the file.
        OSError: the file cannot be read.
    """
    rows = read_csv(path, COLUMNS)
    try:
        return CountTable(map(CountRow.of, rows))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def write_counts(table: CountTable, path: Path = COUNTS) -> None:
    """Write the table whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, (row.as_row() for row in table.rows))
