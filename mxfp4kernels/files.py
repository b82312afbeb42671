"""Files that are written whole or not at all, and the CSV form of every table in ``data/``."""

from __future__ import annotations

import csv
import errno
import io
import os
import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
"""The checkout that the package runs from; ``data/``, ``figures/`` and ``notebooks/`` lie in it."""
DATA = REPOSITORY / "data"

LINKS = 40
"""Symbolic links that Linux follows in one path."""


class TableError(ValueError):
    """A table whose columns are not the ones its reader or writer was promised."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``; a reader sees the old file or the new one, never a part.

    Missing parent directories are made. A symbolic link stays, the file it names is replaced. What
    is neither a file nor missing (a device, a pipe) is written to, since it holds nothing to keep.

    Raises:
        OSError: the file cannot be written (no space, no permission); nothing is left behind, and
            the error names ``path``.
    """
    try:
        descriptor = _descriptor(path)
        if descriptor is not None:
            with open(os.dup(descriptor), "wb") as stream:
                stream.write(content)
        elif path.exists() and not path.is_file():
            path.write_bytes(content)
        else:
            _replace(path.resolve() if path.is_symlink() else path, content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    except RuntimeError as error:  # how resolve() reports links in a circle, before Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from error


def _descriptor(path: Path) -> int | None:
    """The open descriptor that ``/dev/stdout``, ``/dev/fd/N`` and links to them stand for.

    Opening such a path anew would cut short a file to which the shell appends.
    """
    ours = f"/proc/{os.getpid()}/fd"
    for _ in range(LINKS):
        path = Path(os.path.realpath(path.parent), path.name)
        if str(path.parent) == ours and path.name.isdecimal():
            return int(path.name)
        if not path.is_symlink():
            return None
        path = path.parent / os.readlink(path)
    return None


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")  # any name that path can have fits
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
        TableError: one of ``columns`` is missing, a row is shorter or longer than the header, or
            the file is no text.
        OSError: the file cannot be read.
    """
    with open(path, newline="", encoding="utf-8-sig") as stream:
        reader = csv.DictReader(stream, restkey="", restval="\0")
        try:
            rows = list(reader)
        except (UnicodeDecodeError, csv.Error) as error:
            raise TableError(f"{path} is no table: {error}") from error
        missing = sorted(set(columns) - set(reader.fieldnames or ()))
    if missing:
        raise TableError(f"{path} has no column {', '.join(missing)}")
    for number, row in enumerate(rows, start=2):
        if "" in row or "\0" in row.values():
            raise TableError(f"{path}:{number}: the row and the header differ in length")
    return rows
