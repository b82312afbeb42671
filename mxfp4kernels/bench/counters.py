"""Hardware counters from rocprofv3, by kernel: read, and held against what the emulator executes.

``rocprofv3 --pmc ... --output-format csv`` writes one row for every dispatch and counter, in which
the instances of a counter are added up. A run that collects more counters than fit at once writes
several files; all are read together.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import read_csv

COLUMNS = ("Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value")
"""Columns of ``*_counter_collection.csv`` that are read."""
RUN_COLUMNS = ("Process_Id", "Start_Timestamp")
"""Columns that tell a dispatch from one of the same number in another run, where they are there."""

NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?", re.ASCII)
"""How a count is written."""
MOST = 2.0**63
"""Counters of the hardware have 64 bits or fewer; a count of half their range is none."""

SHOWN = 5
"""Counters of other kernels that an error names."""

ABSENT = "absent"
EQUAL = "equal"
DIFFERS = "differs"


@dataclass(frozen=True)
class Quantity:
    """Something that is counted, and the counters that give it.

    Args:
        name: what tables call it.
        unit: of its value.
        sources: counters to add up, in order of preference: the first whose counters are all there
            is taken.
        scale: from the counters' unit to this one's.
        classes: instruction classes of :mod:`mxfp4kernels.isa` whose executed number it is; empty
            for what the emulator does not count.
        note: what else it holds.
    """

    name: str
    unit: str
    sources: tuple[tuple[str, ...], ...]
    scale: int = 1
    classes: tuple[str, ...] = ()
    note: str = ""


WAVES = "waves"

QUANTITIES: tuple[Quantity, ...] = (
    Quantity(WAVES, "waves", (("SQ_WAVES",), ("SQ_WAVES_sum",))),
    Quantity(
        "VALU",
        "instructions",
        (("SQ_INSTS_VALU",),),
        classes=("VALU", "ACC", "TRANS", "MFMA"),
        note="everything that issues through the VALU port, MFMA among it",
    ),
    Quantity("MFMA", "instructions", (("SQ_INSTS_MFMA",),), classes=("MFMA",)),
    Quantity(
        "SALU",
        "instructions",
        (("SQ_INSTS_SALU",),),
        classes=("SALU",),
        note="without waits, barriers, nops and branches, which the hardware counts elsewhere",
    ),
    Quantity("SMEM", "instructions", (("SQ_INSTS_SMEM",),), classes=("SMEM",)),
    Quantity(
        "VMEM",
        "instructions",
        (("SQ_INSTS_VMEM",), ("SQ_INSTS_VMEM_RD", "SQ_INSTS_VMEM_WR")),
        classes=("VMEM",),
        note="loads to LDS among it",
    ),
    Quantity("LDS", "instructions", (("SQ_INSTS_LDS",),), classes=("LDS",)),
    Quantity("BRANCH", "instructions", (("SQ_INSTS_BRANCH",),), classes=("BRANCH",)),
    Quantity("busy", "cycles", (("SQ_BUSY_CYCLES",),)),
    Quantity("busy of compute units", "cycles", (("SQ_BUSY_CU_CYCLES",),)),
    Quantity("resident waves", "cycles", (("SQ_WAVE_CYCLES",),)),
    Quantity("waiting for anything", "cycles", (("SQ_WAIT_ANY",),)),
    Quantity("waiting to issue", "cycles", (("SQ_WAIT_INST_ANY",),)),
    Quantity("waiting for LDS", "cycles", (("SQ_WAIT_INST_LDS",),)),
    Quantity("L2 hits", "requests", (("TCC_HIT_sum",), ("TCC_HIT",))),
    Quantity("L2 misses", "requests", (("TCC_MISS_sum",), ("TCC_MISS",))),
    Quantity("read from memory", "bytes", (("FETCH_SIZE",),), scale=1024),
    Quantity("written to memory", "bytes", (("WRITE_SIZE",),), scale=1024),
)
"""What is imported. Instructions are per wave, so 64 lanes count once."""


@dataclass(frozen=True)
class Counted:
    """A counter over the dispatches of one kernel."""

    dispatches: int
    median: float
    least: float
    most: float


_SCALES: Mapping[str, int] = {
    name: quantity.scale for quantity in QUANTITIES for names in quantity.sources for name in names
}
"""Every counter that is read, and the scale of its quantity."""


class CounterError(ValueError):
    """Counter files that lack the kernel, hold an impossible value, or count something twice."""


Counters = Mapping[str, Counted]
"""A kernel's counters by name."""


def read_counters(paths: Iterable[Path], kernel: str) -> dict[str, Counted]:
    """The counters of one kernel, over all its dispatches in all files.

    Counters that no quantity needs are left alone, whatever they hold.

    Args:
        paths: files of rocprofv3.
        kernel: the kernel's symbol; rocprofv3 may add a suffix after a dot or a bracket.

    Raises:
        CounterError: no dispatch of the kernel, a value that no count can have, a file given twice,
            a dispatch's counter twice, a file that is two joined, or files of which only some tell
            the dispatches of different runs apart.
        TableError: a file of another form.
        OSError: a file cannot be read.
    """
    paths = list(paths)
    _require_different(paths)
    reading = _Reading(kernel)
    for path in paths:
        reading.add(path)
    return reading.counters()


class _Reading:
    """Files being read, and where each counter of each dispatch was found."""

    def __init__(self, kernel: str) -> None:
        self._kernel = kernel
        self._values: dict[str, list[float]] = {}
        self._columns: tuple[Path, frozenset[str]] | None = None
        self._where: dict[tuple[str, ...], str] = {}
        self._passed_over: set[str] = set()

    def add(self, path: Path) -> None:
        for number, row in enumerate(read_csv(path, COLUMNS), start=2):
            name, where = row["Counter_Name"], f"{path}:{number}"
            self._require_same_columns(path, row)
            if name == "Counter_Name":
                raise CounterError(f"{where}: the header again; give the files one by one instead")
            if name not in _SCALES or not _is_kernel(row["Kernel_Name"], self._kernel):
                self._passed_over.add(f"{name} of {row['Kernel_Name']}")
                continue
            value = _number(row, where)
            key = (name, row["Dispatch_Id"], *(row.get(column, "") for column in RUN_COLUMNS))
            if key in self._where:
                raise CounterError(
                    f"{where}: {self._where[key]} has {name} of dispatch {key[1]} too, so it would "
                    "count twice; leave one of them out"
                )
            self._where[key] = where
            self._values.setdefault(name, []).append(value)

    def _require_same_columns(self, path: Path, row: Mapping[str, str]) -> None:
        """Dispatches of files that do not tell runs apart cannot be told from those of others."""
        found = frozenset(RUN_COLUMNS) & row.keys()
        first, expected = self._columns = self._columns or (path, found)
        if found != expected:
            raise CounterError(
                f"{path} and {first} differ in the columns {' and '.join(sorted(found ^ expected))}"
                ", by which dispatches of different runs are told apart; give files of one kind"
            )

    def counters(self) -> dict[str, Counted]:
        if not self._values:
            found = ", ".join(sorted(self._passed_over)[:SHOWN]) or "nothing"
            more = len(self._passed_over) - SHOWN
            raise CounterError(
                f"no dispatch of {self._kernel} with a counter that is read; the files hold "
                f"{found}{f' and {more} more' if more > 0 else ''}"
            )
        return {
            name: Counted(len(values), statistics.median(values), min(values), max(values))
            for name, values in self._values.items()
        }


def _require_different(paths: Sequence[Path]) -> None:
    """Refuse one file under two names."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        found = path.stat()
        first = seen.setdefault((found.st_dev, found.st_ino), path)
        if first is not path:
            raise CounterError(f"{path} is the same file as {first}; give every file once")


def _is_kernel(name: str, kernel: str) -> bool:
    return name == kernel or name.startswith((f"{kernel}.", f"{kernel}(", f"{kernel} "))


def _number(row: Mapping[str, str], where: str) -> float:
    """A counter's value: finite, not negative, and whole unless it is given in larger units."""
    name, text = row["Counter_Name"], row["Counter_Value"]
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if value < MOST and (value.is_integer() or _SCALES[name] > 1):
        return value
    raise CounterError(
        f"{where}: {name} of dispatch {row['Dispatch_Id']} is {text!r}, which no count can be; "
        "collect this counter again, or leave the file out"
    )


def measured(quantity: Quantity, counters: Counters) -> Counted | None:
    """A quantity from the counters that give it; ``None`` if they were not collected."""
    for names in quantity.sources:
        if all(name in counters for name in names):
            parts = [counters[name] for name in names]
            return Counted(
                min(part.dispatches for part in parts),
                *(
                    quantity.scale * sum(getattr(part, name) for part in parts)
                    for name in ("median", "least", "most")
                ),
            )
    return None


@dataclass(frozen=True)
class Expected:
    """What one launch executes, from the emulator.

    Args:
        waves: all waves, those that exit at once among them.
        low, high: executed instructions by class, over all waves. They differ where workgroups of
            the same number of tiles did not execute the same number of instructions.
    """

    waves: int
    low: Mapping[str, int]
    high: Mapping[str, int]


ROW = (
    *("quantity", "unit", "dispatches", "counted", "counted_least", "counted_most"),
    *("expected_low", "expected_high", "verdict", "counters", "note"),
)
"""Columns of :func:`compare`."""


def compare(counters: Counters, expected: Expected) -> list[dict[str, object]]:
    """Every quantity as counted and as expected.

    The verdict is ``equal`` when the median lies within the expected bounds, ``differs`` when not,
    ``absent`` when the counters were not collected, and empty where nothing is expected.
    """
    return [_compared(quantity, counters, expected) for quantity in QUANTITIES]


def _compared(quantity: Quantity, counters: Counters, expected: Expected) -> dict[str, object]:
    bounds = _bounds(quantity, expected)
    counted = measured(quantity, counters)
    row: dict[str, object] = {
        **dict.fromkeys(ROW, ""),
        "quantity": quantity.name,
        "unit": quantity.unit,
        "counters": " or ".join(" + ".join(names) for names in quantity.sources),
        "note": quantity.note,
    }
    if bounds is not None:
        row |= {"expected_low": bounds[0], "expected_high": bounds[1]}
    if counted is None:
        return {**row, "verdict": ABSENT}
    row |= {
        "dispatches": counted.dispatches,
        "counted": round(counted.median),
        "counted_least": round(counted.least),
        "counted_most": round(counted.most),
    }
    if bounds is not None:
        row["verdict"] = EQUAL if bounds[0] <= counted.median <= bounds[1] else DIFFERS
    return row


def _bounds(quantity: Quantity, expected: Expected) -> Sequence[int] | None:
    if quantity.name == WAVES:
        return (expected.waves, expected.waves)
    if not quantity.classes:
        return None
    return [
        sum(bound.get(name, 0) for name in quantity.classes)
        for bound in (expected.low, expected.high)
    ]
