"""Whether measured tables are whole: ``python -m mxfp4kernels.bench.verify TABLE.csv ...``.

A table is whole if its journal lies beside it undamaged, has its end, and gives the same bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..files import write_csv
from .cases import Case
from .columns import NAMES
from .contents import sort_records
from .journal import JournalError, read_journal
from .procedure import Procedure
from .records import RunRecords, identities
from .rows import rows


class IncompleteRun(ValueError):
    """A journal whose run was not measured to its end, or whose end was cut off."""


def read_run(journal: Path) -> RunRecords:
    """A finished run, every record checked.

    Raises:
        JournalError: a damaged line.
        IncompleteRun: cases that the header plans are not there, or the end of the run is not.
        OSError: the file cannot be read.
    """
    records = read_journal(journal)
    if not records:
        raise IncompleteRun(f"{journal} is empty")
    header = records[0]
    cases = identities(map(Case.from_json, header["cases"]))
    sort_records(records, cases, Procedure(**header["procedure"]), journal)
    run = RunRecords.of(records)
    if not run.ended:
        raise IncompleteRun(
            f"{journal} has {len(run.complete)} of {len(cases)} cases and no end; the same command "
            "goes on with it, or something was cut off"
        )
    return run


def verify(table: Path) -> None:
    """See that a table is that of a finished run.

    Args:
        table: ``<run>.csv``; ``<run>.jsonl`` lies beside it.

    Raises:
        JournalError, IncompleteRun, OSError: as :func:`read_run`.
        ValueError: the table is not what the journal gives.
    """
    run = read_run(table.with_suffix(".jsonl"))
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder, table.name)
        write_csv(again, NAMES, rows(run))
        if again.read_bytes() != table.read_bytes():
            raise ValueError(f"{table} is not what its journal gives; measure on, or restore both")


def main(argv: Sequence[str] | None = None) -> int:
    """Verify tables; 1 if one of them is not whole."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.bench.verify", description=__doc__.splitlines()[0]
    )
    parser.add_argument("table", nargs="+", type=Path)
    found = 0
    for table in parser.parse_args(argv).table:
        try:
            verify(table)
        except (JournalError, OSError, ValueError) as error:
            found = 1
            print(error, file=sys.stderr)
        else:
            print(f"{table}: whole")
    return found


if __name__ == "__main__":
    sys.exit(main())
