"""How numbers and names are written in figures."""

from __future__ import annotations

from pathlib import Path

from ..ablation.counts import CountTable
from ..bench.measured import MEASURED, read_measured
from ..flags import find_flag
from ..isa.regions import Region

NONE_YET = "none yet"
MINUS = "\N{MINUS SIGN}"


def signed(number: int) -> str:
    """``+8``, ``−42``, ``0``."""
    return f"{number:+d}".replace("-", MINUS) if number else "0"


def percent(number: float, digits: int = 0) -> str:
    """``−3.4 %``."""
    return f"{number:.{digits}f} %".replace("-", MINUS)


def title_of(flag: str) -> str:
    """A flag in a few words."""
    return find_flag(flag).title


def region_title(region: str) -> str:
    """A region of a kernel as text calls it."""
    return "K loop" if region == Region.KLOOP.value else region


def compiled_here(table: CountTable) -> str:
    """Which compiler made the counts of ``table``, and for which shape."""
    row = table.rows[0]
    llvm = row.llvm.split()[0]
    return f"compiled here: FlyDSL {row.flydsl}, LLVM {llvm}, gfx950, shape {row.shape}"


def measured_elsewhere(folder: Path = MEASURED) -> str:
    """What a figure without measured values says of them: there are none, or it has none.

    Raises:
        TableError, OSError: a measured table cannot be read.
    """
    return "none in this figure" if read_measured(folder) else NONE_YET
