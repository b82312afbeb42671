"""The record of a run: lines of JSON that are only ever appended, each on disk before the next.

A run that was killed goes on from its journal: whole lines count, a torn last line is cut off, and
what is in the journal is not measured again. Every line ends with a digest of itself and of the
lines before it, so that one that was changed, removed, repeated or moved is found.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

Record = dict[str, Any]

SEAL = "seal"
"""The entry of a line that holds its digest; records do not have it."""


class JournalError(ValueError):
    """A journal that belongs to another run, is damaged, or is in use."""


class Journal:
    """A run's records: its header, then objects with a ``kind``, a ``case`` and a ``key`` each.

    ``open_journal`` makes one.

    Attributes:
        records: all of them, in order.
    """

    def __init__(self, path: Path, descriptor: int, records: list[Record], seal: str) -> None:
        self.path = path
        self.records = records
        self._descriptor = descriptor
        self._seal = seal
        self._keys = {record["key"] for record in records[1:]}

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on disk when this returns.

        Raises:
            JournalError: a record with its key is there already, or it lacks kind, case or key.
            OSError: it could not be written.
        """
        problem = _malformed(record, self._keys)
        if problem:
            raise JournalError(f"{self.path}: not written, because {problem}")
        line, self._seal = _sealed(record, self._seal)
        _write(self._descriptor, line)
        self.records.append(dict(record))
        self._keys.add(record["key"])


@contextmanager
def open_journal(path: Path, header: Mapping[str, Any]) -> Iterator[Journal]:
    """A new journal, or the one at ``path`` to go on with.

    Args:
        path: the file; its directory is made if need be.
        header: what the run is; a journal of another run is refused.

    Raises:
        JournalError: another run's journal, a damaged line, or another process that writes it.
        OSError: the file cannot be opened, locked or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    try:
        _lock(descriptor, path)
        first = {"kind": "header", **header}
        records, seal = _recover(descriptor, path)
        if not records:
            line, seal = _sealed(first, seal)
            _write(descriptor, line)
            _sync_directory(path.parent)
            records = [first]
        elif records[0] != json.loads(json.dumps(first)):
            raise JournalError(
                f"{path} was begun by another run ({_difference(records[0], first)}); "
                "name this one differently with --run"
            )
        yield Journal(path, descriptor, records, seal)
    finally:
        os.close(descriptor)


def read_journal(path: Path) -> list[Record]:
    """The whole records of a journal, its header first.

    Raises:
        JournalError: a damaged line.
        OSError: the file cannot be read.
    """
    return _parse(path.read_bytes(), path)[0]


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _sealed(record: Mapping[str, Any], before: str) -> tuple[bytes, str]:
    """A record's line, and its seal; ``before`` is the seal of the line before it."""
    seal = _seal(record, before)
    return _json({**record, SEAL: seal}).encode() + b"\n", seal


def _seal(record: Mapping[str, Any], before: str) -> str:
    return hashlib.sha256(f"{before}{_json(record)}".encode()).hexdigest()[:16]


def _write(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def _lock(descriptor: int, path: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise JournalError(f"{path} is being written by another process; wait for it") from None


def _recover(descriptor: int, path: Path) -> tuple[list[Record], str]:
    """The whole lines and the last one's seal; what a killed process left behind is cut off."""
    content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
    records, whole, seal = _parse(content, path)
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)
    return records, seal


def _parse(content: bytes, path: Path) -> tuple[list[Record], int, str]:
    """The records of all whole lines, how many bytes these take, and the last one's seal."""
    whole = content.rfind(b"\n") + 1
    records: list[Record] = []
    keys: set[str] = set()
    seal = ""
    for number, line in enumerate(content[:whole].splitlines(), start=1):
        try:
            record, seal = _opened(line, seal)
        except (ValueError, RecursionError) as error:
            raise damaged(path, number, str(error)) from None
        problem = _malformed(record, keys) if records else _no_header(record)
        if problem:
            raise damaged(path, number, problem)
        keys.add(record.get("key", ""))
        records.append(record)
    return records, whole, seal


def _opened(line: bytes, before: str) -> tuple[Record, str]:
    """A line's record and seal.

    Raises:
        ValueError: the line is no JSON object, or was not written after the line before it.
        RecursionError: it is nested too deeply to be one of ours.
    """
    record = json.loads(line, parse_constant=_no_number)
    if not isinstance(record, dict):
        raise ValueError(f"{str(record)[:40]} is no JSON object")
    found = record.pop(SEAL, None)
    seal = _seal(record, before)
    if found != seal:
        raise ValueError(
            "it does not follow on the line before; one of them was changed, or lines were "
            "removed, repeated or moved"
        )
    return record, seal


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _no_header(record: Mapping[str, Any]) -> str:
    return "" if record.get("kind") == "header" else "a journal begins with a header"


def _malformed(record: Mapping[str, Any], keys: set[str]) -> str:
    """What keeps a record from being one after the header, or nothing."""
    for name in ("kind", "case", "key"):
        if not (isinstance(record.get(name), str) and record[name]):
            return f"it has no {name}"
    if record["kind"] == "header":
        return "a journal has one header"
    return f"{record['key']!r} is there already" if record["key"] in keys else ""


def damaged(path: Path, number: int, problem: str) -> JournalError:
    """The error that a line calls for; the first is number 1."""
    cut = "cut it off before this line to measure the rest again, " if number > 1 else ""
    return JournalError(
        f"{path}:{number} is damaged: {problem}; restore the file, {cut}or move it away and start "
        "anew"
    )


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
