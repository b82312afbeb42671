"""The columns of every measured table, as a table: ``python -m mxfp4kernels.bench.schema``."""

from __future__ import annotations

from pathlib import Path

from ..files import DATA, write_csv
from .columns import COLUMNS, Column

SCHEMA = DATA / "measured" / "schema.csv"


def write_schema(path: Path = SCHEMA) -> None:
    """One row per column: name, unit, meaning.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, Column._fields, (column._asdict() for column in COLUMNS))


if __name__ == "__main__":
    write_schema()
