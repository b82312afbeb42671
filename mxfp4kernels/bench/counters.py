"""Hardware counters from rocprofv3, by kernel: read, and held against what the emulator executes.

``rocprofv3 --pmc ... --output-format csv`` writes a row for every dispatch and counter. A run that
collects more counters than fit at once writes several files; all are read together.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import read_csv

COLUMNS = ("Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value")
"""Columns of ``*_counter_collection.csv`` that are read."""

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


class CounterError(ValueError):
    """Counter files without the kernel that was asked for, or with a value that is no number."""


Counters = Mapping[str, Counted]
"""A kernel's counters by name."""


def read_counters(paths: Iterable[Path], kernel: str) -> dict[str, Counted]:
    """The counters of one kernel, over all its dispatches in all files.

    Args:
        paths: files of rocprofv3.
        kernel: the kernel's symbol; rocprofv3 may add a suffix after a dot or a bracket.

    Raises:
        CounterError: no dispatch of the kernel, or a value that is no number.
        TableError: a file of another form.
        OSError: a file cannot be read.
    """
    values: dict[str, list[float]] = {}
    others: set[str] = set()
    for path in paths:
        dispatches: dict[tuple[str, str], float] = {}
        for row in read_csv(path, COLUMNS):
            if not _is_kernel(row["Kernel_Name"], kernel):
                others.add(row["Kernel_Name"])
                continue
            # A counter with several instances may come in a row for each.
            key = (row["Dispatch_Id"], row["Counter_Name"])
            dispatches[key] = dispatches.get(key, 0.0) + _number(row, path)
        for (_, name), value in dispatches.items():
            values.setdefault(name, []).append(value)
    if not values:
        raise CounterError(
            f"no dispatch of {kernel}; the files hold {', '.join(sorted(others)) or 'no kernel'}"
        )
    return {
        name: Counted(len(found), statistics.median(found), min(found), max(found))
        for name, found in values.items()
    }


def _is_kernel(name: str, kernel: str) -> bool:
    return name == kernel or name.startswith((f"{kernel}.", f"{kernel}(", f"{kernel} "))


def _number(row: Mapping[str, str], path: Path) -> float:
    try:
        return float(row["Counter_Value"])
    except ValueError:
        raise CounterError(
            f"{path}: {row['Counter_Name']} of dispatch {row['Dispatch_Id']} is "
            f"{row['Counter_Value']!r}, not a number"
        ) from None


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
