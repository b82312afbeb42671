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


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, near, far = tmp_path / "deep" / "file", tmp_path / "near", tmp_path / "far"
    near.symlink_to(Path("deep", "file"))
    far.symlink_to(near)
    files.write_text(far, "made through a dangling link")
    files.write_text(far, "new")
    assert file.read_text() == "new"
    assert near.is_symlink()
    assert far.is_symlink()
    assert list(file.parent.iterdir()) == [file]


def test_a_pipe_stays_a_pipe(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            files.write_text(path, "through")
            assert os.read(reader, 100) == b"through"
        finally:
            os.close(reader)
        assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe]


@pytest.mark.parametrize("folder", ["/proc/self/fd", "/dev/fd"])
def test_an_open_descriptor_is_written_to_where_it_stands(tmp_path: Path, folder: str) -> None:
    """As with ``-o /dev/stdout >> log``: what the log held stays, and so does the log."""
    log, link = tmp_path / "log", tmp_path / "stdout"
    log.write_text("before ")
    with open(log, "ab") as stream:
        link.symlink_to(f"{folder}/{stream.fileno()}")
        files.write_text(link, "after")
        files.write_text(Path(folder, str(stream.fileno())), "wards")
        assert log.samefile(link)
    assert log.read_text() == "before afterwards"
    assert link.is_symlink()


def test_a_descriptor_that_is_a_pipe(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        files.write_text(Path(f"/proc/self/fd/{writer}"), "through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
        os.close(writer)


def _folder(path: Path) -> None:
    path.mkdir()


def _circle(path: Path) -> None:
    path.symlink_to(path)


def _below_a_file(path: Path) -> None:
    path.parent.write_text("a file")


@pytest.mark.parametrize("obstacle", [_folder, _circle, _below_a_file])
def test_errors_name_the_file_that_was_asked_for(tmp_path: Path, obstacle) -> None:
    path = tmp_path / ("parent/x" if obstacle is _below_a_file else "x")
    obstacle(path)
    with pytest.raises(OSError, match=r".") as caught:
        files.write_text(path, "new")
    assert caught.value.filename == str(path)
    assert caught.value.strerror
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_errors_do_not_name_the_temporary_file(tmp_path: Path, monkeypatch, failing: str) -> None:
    def fail(*names: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(names[0]))

    monkeypatch.setattr(files.os, failing, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        files.write_text(tmp_path / "table.csv", "new")
    assert caught.value.filename == str(tmp_path / "table.csv")


def test_a_table_that_begins_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"\xef\xbb\xbfa,b\n1,2\n")
    assert files.read_csv(path, ("a", "b")) == [{"a": "1", "b": "2"}]


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
