"""The record of a run: lines of JSON that are only ever appended, each on disk before the next.

A run that was killed goes on from its journal: whole lines count, a torn last line is cut off, and
what is in the journal is not measured again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class JournalError(ValueError):
    """A journal that belongs to another run, is damaged, or is in use."""


class Journal:
    """A run's records.

    ``open_journal`` makes one. A record is a JSON object; those with a ``key`` are kept once.

    Attributes:
        records: all of them, in order.
    """

    def __init__(self, path: Path, descriptor: int, records: list[Record]) -> None:
        self.path = path
        self.records = records
        self._descriptor = descriptor
        self._keys = {record["key"] for record in records if "key" in record}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on disk when this returns.

        Raises:
            JournalError: a record with its key is there already.
            OSError: it could not be written.
        """
        if record.get("key") in self._keys:
            raise JournalError(f"{self.path} already holds {record['key']!r}")
        _write(self._descriptor, _line(record))
        self.records.append(dict(record))
        if "key" in record:
            self._keys.add(record["key"])


@contextmanager
def open_journal(path: Path, header: Mapping[str, Any]) -> Iterator[Journal]:
    """A new journal, or the one at ``path`` to go on with.

    Args:
        path: the file; its directory is made if need be.
        header: what the run is; a journal of another run is refused.

    Raises:
        JournalError: another run's journal, a damaged line before the last, or another process
            that writes it.
        OSError: the file cannot be opened, locked or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        _lock(descriptor, path)
        first = {"kind": "header", **header}
        records = _recover(descriptor, path)
        if not records:
            _write(descriptor, _line(first))
            _sync_directory(path.parent)
            records = [first]
        elif records[0] != json.loads(json.dumps(first)):
            raise JournalError(
                f"{path} was begun by another run ({_difference(records[0], first)}); "
                "name this one differently with --run"
            )
        yield Journal(path, descriptor, records)
    finally:
        os.close(descriptor)


def read_journal(path: Path) -> list[Record]:
    """The whole records of a journal, its header first.

    Raises:
        JournalError: a damaged line before the last.
        OSError: the file cannot be read.
    """
    return _parse(path.read_bytes(), path)[0]


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(f"{path} is being written by another process; wait for it") from None


def _recover(descriptor: int, path: Path) -> list[Record]:
    """The whole lines; what a killed process left of the last one is cut off."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    records, whole = _parse(content, path)
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)
    return records


def _parse(content: bytes, path: Path) -> tuple[list[Record], int]:
    """The records of all whole lines, and how many bytes these take."""
    whole = content.rfind(b"\n") + 1
    records = []
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise JournalError(
                f"{path}:{number} is damaged; move the file away and run again"
            ) from None
    return records, whole


def _sync_directory(folder: Path) -> None:
    """Without it a new file's name can be lost with the power, whatever was written into it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _difference(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """The first entry that differs, as ``name old, now new``."""
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            return _difference(before, after, f"{prefix}{name}.")
        return f"{prefix}{name} was {str(before)[:60]}, is {str(after)[:60]}"
    return "same entries"
