"""Reads measured tables, from wherever a device has left them: ``data/measured/<device>/*.csv``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import DATA, read_csv
from .columns import NAMES
from .verdicts import OK

MEASURED = DATA / "measured"


@dataclass(frozen=True)
class MeasuredRow:
    """One kernel, M and setting on a device.

    Args:
        values: the row as text, by column.
        path, line: where it stands.
    """

    values: Mapping[str, str]
    path: Path
    line: int

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    @property
    def tokens(self) -> int:
        """M."""
        return int(self["tokens"])

    @property
    def us(self) -> float:
        """Median microseconds per launch.

        Raises:
            ValueError: the row is marked WRONG and has no time.
        """
        return float(self["median"])

    @property
    def sound(self) -> bool:
        """Whether nothing is marked about the row."""
        return self["status"] == OK


def read_measured(folder: Path = MEASURED) -> tuple[MeasuredRow, ...]:
    """All rows of all devices and runs; none while nobody has measured.

    Raises:
        TableError: a table of another form.
        OSError: a file cannot be read.
    """
    return tuple(
        MeasuredRow(row, path, line)
        for path in sorted(folder.glob("*/*.csv"))
        for line, row in enumerate(read_csv(path, NAMES), start=2)
    )
