"""The journal: torn lines, other runs, two writers, nothing twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mxfp4kernels.bench.journal import JournalError, open_journal, read_journal


def record(key: str) -> dict[str, object]:
    return {"kind": "round", "case": "c", "key": key}


HEADER = {"run": "r", "environment": {"device": "one", "torch": "2.13"}, "cases": [1, 2]}


def fill(path: Path, count: int = 3) -> bytes:
    with open_journal(path, HEADER) as journal:
        for number in range(count):
            journal.append({**record(f"k{number}"), "value": number / 3})
    return path.read_bytes()


def test_records_come_back_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "journal.jsonl"
    fill(path)
    records = read_journal(path)
    assert records[0] == {"kind": "header", **HEADER}
    assert [record["value"] for record in records[1:]] == [0.0, 1 / 3, 2 / 3]


def test_every_record_is_on_disk_before_append_returns(tmp_path: Path, monkeypatch) -> None:
    path, synced = tmp_path / "j", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(path.stat().st_size))
    with open_journal(path, HEADER) as journal:
        for number in range(3):
            journal.append(record(str(number)))
            assert synced[-1] == path.stat().st_size
            assert len(read_journal(path)) == number + 2


@pytest.mark.parametrize("cut_header", [False, True])
def test_a_journal_cut_at_any_byte_goes_on_without_loss_or_doubling(
    tmp_path: Path, cut_header: bool
) -> None:
    path = tmp_path / "j"
    whole = fill(path)
    first = whole.index(b"\n") + 1
    for length in range(0 if cut_header else first, first + 1 if cut_header else len(whole) + 1):
        path.write_bytes(whole[:length])
        lines = whole[:length].count(b"\n")
        with open_journal(path, HEADER) as journal:
            assert len(journal.records) == max(1, lines)
            for number in range(3):
                if f"k{number}" not in journal:
                    journal.append({**record(f"k{number}"), "value": number / 3})
        assert path.read_bytes() == whole, length


def test_a_key_is_written_once(tmp_path: Path) -> None:
    fill(tmp_path / "j")
    with (
        open_journal(tmp_path / "j", HEADER) as journal,
        pytest.raises(JournalError, match="not written, because 'k1' is there already"),
    ):
        journal.append(record("k1"))
    assert len(read_journal(tmp_path / "j")) == 4


def test_another_run_is_refused_by_what_differs(tmp_path: Path) -> None:
    before = fill(tmp_path / "j")
    other = {**HEADER, "environment": {"device": "one", "torch": "2.14"}}
    with (
        pytest.raises(JournalError, match=r"environment\.torch was 2\.13, is 2\.14.*--run"),
        open_journal(tmp_path / "j", other),
    ):
        pass
    assert (tmp_path / "j").read_bytes() == before


def test_a_damaged_line_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "j"
    lines = fill(path).splitlines(keepends=True)
    damaged = b"".join([*lines[:2], b'{"key": \n', *lines[3:]])
    path.write_bytes(damaged)
    words = r"j:3 is damaged: .*; restore the file, cut it off before this line to measure the rest"
    with pytest.raises(JournalError, match=words), open_journal(path, HEADER):
        pass
    assert path.read_bytes() == damaged


def test_a_second_writer_is_refused_and_a_later_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with open_journal(path, HEADER) as journal:
        with pytest.raises(JournalError, match="another process"), open_journal(path, HEADER):
            pass
        journal.append(record("still works"))
    with open_journal(path, HEADER) as journal:
        assert "still works" in journal


def test_not_a_number_is_no_json(tmp_path: Path) -> None:
    with open_journal(tmp_path / "j", HEADER) as journal:
        with pytest.raises(ValueError, match="JSON"):
            journal.append({**record("a"), "value": float("nan")})
        journal.append({**record("a"), "value": 1})
    assert read_journal(tmp_path / "j")[1:] == [{**record("a"), "value": 1}]


@pytest.mark.parametrize("name", ["kind", "case", "key"])
def test_a_record_without_its_names_is_not_written(tmp_path: Path, name: str) -> None:
    before = fill(tmp_path / "j")
    with (
        open_journal(tmp_path / "j", HEADER) as journal,
        pytest.raises(JournalError, match=f"it has no {name}"),
    ):
        journal.append({**record("new"), name: ""})
    assert (tmp_path / "j").read_bytes() == before


def test_white_space_is_no_damage(tmp_path: Path) -> None:
    """A checkout that ends lines otherwise, or a tool that lays JSON out anew."""
    path = tmp_path / "j"
    fill(path)
    before = read_journal(path)
    path.write_bytes(path.read_bytes().replace(b",", b", ").replace(b"\n", b"\r\n"))
    assert read_journal(path) == before
