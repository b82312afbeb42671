"""Files that are written whole or not at all, and the CSV form of every table in ``data/``."""

from __future__ import annotations

import csv
import io
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
"""The checkout that the package runs from; ``data/``, ``figures/`` and ``notebooks/`` lie in it."""
DATA = REPOSITORY / "data"


class TableError(ValueError):
    """A table whose columns are not the ones its reader or writer was promised."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``; a reader sees the old file or the new one, never a part.

    Missing parent directories are made.

    Raises:
        OSError: the file cannot be written (no space, no permission); nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        # Not tempfile: its files are private to the user, ours follow the umask.
        with open(temporary, "xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """:func:`write_bytes` of ``text`` in UTF-8."""
    write_bytes(path, text.encode())


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write a table whole: a header of ``columns``, then the rows in the order given.

    Raises:
        TableError: a row has a column too many or too few.
        OSError: the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        if row.keys() != set(columns):
            difference = sorted(row.keys() ^ set(columns))
            raise TableError(f"{path.name}: a row differs from the header in {difference}")
        writer.writerow(row)
    write_text(path, text.getvalue())


def read_csv(path: Path, columns: Iterable[str] = ()) -> list[dict[str, str]]:
    """The rows of a table as text.

    Raises:
        TableError: one of ``columns`` is missing, or a row is shorter or longer than the header.
        OSError: the file cannot be read.
    """
    with open(path, newline="", encoding="utf-8") as stream:
        reader = csv.DictReader(stream, restkey="", restval="\0")
        rows = list(reader)
        missing = sorted(set(columns) - set(reader.fieldnames or ()))
    if missing:
        raise TableError(f"{path} has no column {', '.join(missing)}")
    for number, row in enumerate(rows, start=2):
        if "" in row or "\0" in row.values():
            raise TableError(f"{path}:{number}: the row and the header differ in length")
    return rows
