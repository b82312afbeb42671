"""Files written whole or not at all, and CSV tables held to their columns."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mxfp4kernels import files


def test_write_makes_directories_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    files.write_text(path, "old")
    files.write_text(path, "new µ")
    assert path.read_text(encoding="utf-8") == "new µ"
    assert list(path.parent.iterdir()) == [path]


def test_written_files_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        files.write_text(tmp_path / "a", "x")
    finally:
        os.umask(old)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch, failing: str) -> None:
    path = tmp_path / "table.csv"
    files.write_text(path, "old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(files.os, failing, fail)
    with pytest.raises(OSError, match="No space left"):
        files.write_text(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_csv_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    files.write_csv(path, ("a", "b"), [{"a": 1, "b": "x,y"}, {"b": '"', "a": 2.5}])
    assert path.read_bytes() == b'a,b\n1,"x,y"\n2.5,""""\n'
    assert files.read_csv(path) == [{"a": "1", "b": "x,y"}, {"a": "2.5", "b": '"'}]


@pytest.mark.parametrize("row", [{"a": 1}, {"a": 1, "b": 2, "c": 3}])
def test_a_row_with_other_columns_is_refused(tmp_path: Path, row: dict[str, int]) -> None:
    with pytest.raises(files.TableError, match=r"table\.csv.*\['[bc]'\]"):
        files.write_csv(tmp_path / "table.csv", ("a", "b"), [row])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2,3\n"])
def test_ragged_table_is_refused_by_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(files.TableError, match=r"table\.csv:2"):
        files.read_csv(path)


def test_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(files.TableError, match="no column c"):
        files.read_csv(path, ("a", "c"))
