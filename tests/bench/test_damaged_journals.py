"""A finished and a half-finished journal, every line of each damaged in every way.

Either the run goes on and ends with the table it would have had, or one error names file and line.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_session import Simulated, plan_of

from mxfp4kernels.bench.columns import NAMES
from mxfp4kernels.bench.device import RoundFailed
from mxfp4kernels.bench.fake import Conditions
from mxfp4kernels.bench.journal import SEAL, JournalError, _sealed, read_journal
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.records import identity
from mxfp4kernels.bench.session import measure
from mxfp4kernels.files import read_csv

PLAN = plan_of(4, 8, procedure=Procedure(rounds=6, passes=1))

EVERY_ROUND = sorted((identity(case), number) for case in PLAN.cases for number in range(6))

POSSIBLE = [("others", None), ("others", 5)]
"""Values that a sound record may have."""

Lines = list[bytes]
Table = list[dict[str, str]]


def simulated() -> Simulated:
    """Without noise, so that what is measured again comes out the same."""
    return Simulated(conditions=Conditions(noise=0.0), procedure=PLAN.procedure)


def table_of(path: Path) -> Table:
    return [{**row, "measured_at": ""} for row in read_csv(path, NAMES)]


def outcome_of(folder: Path) -> Table | str:
    """The table of a run that goes on, or what the one error says."""
    try:
        return table_of(measure(PLAN, simulated(), folder))
    except JournalError as error:
        return str(error)


@pytest.fixture(scope="module")
def undamaged(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Lines, Table]:
    """A finished journal's name and lines, and its table."""
    table = measure(PLAN, simulated(), tmp_path_factory.mktemp("undamaged"))
    journal = table.with_suffix(".jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 2 * (1 + 6 + 1) + 1
    return journal.name, lines, table_of(table)


def put(lines: Lines, at: int, *instead: bytes) -> bytes:
    return b"".join([*lines[:at], *instead, *lines[at + 1 :]])


def damages(lines: Lines, at: int) -> Iterator[tuple[str, bytes]]:
    """Every way in which one line is damaged, by name."""
    line, rng = lines[at], random.Random(at)
    yield "deleted", put(lines, at)
    yield "doubled", put(lines, at, line, line)
    yield "again at the end", b"".join([*lines, line])
    yield "moved to the end", b"".join([*lines[:at], *lines[at + 1 :], line])
    yield "cut short", put(lines, at, line[: len(line) // 2] + b"\n")
    yield "joined with the next", put(lines, at, line[:-1])
    yield "cut short and joined with the next", put(lines, at, line[: len(line) // 2])
    for other in (
        b"5",
        b"{}",
        b"[]",
        b"null",
        b'"x"',
        b"",
        b"[" * 100_000,
        b"\xff\xfe",
        b"\0" * 40,
    ):
        yield f"is {other[:9]!r}", put(lines, at, other + b"\n")
    for name in json.loads(line):
        record = {key: value for key, value in json.loads(line).items() if key != name}
        yield f"without {name}", put(lines, at, json.dumps(record).encode() + b"\n")
    place = line.index(b":[") + 2 if b":[" in line else line.index(b":") + 1
    for number in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"0", b"9" * 5000):
        yield f"holds {number[:9]!r}", put(lines, at, line[:place] + number + b"," + line[place:])
    for _ in range(10):
        byte, bit = rng.randrange(len(line)), 1 << rng.randrange(8)
        flipped = bytes([*line[:byte], line[byte] ^ bit, *line[byte + 1 :]])
        yield f"bit {bit} of byte {byte} flipped", put(lines, at, flipped)


def resealed(records: list[dict[str, Any]]) -> bytes:
    """A journal with sound seals, as a faulty program would write it."""
    seal, content = "", b""
    for record in records:
        line, seal = _sealed({name: record[name] for name in record if name != SEAL}, seal)
        content += line
    return content


def sealed_damages(lines: Lines, at: int) -> Iterator[tuple[str, bytes]]:
    """What only the contents of records can tell."""

    def changed(record: dict[str, Any]) -> bytes:
        return resealed([*records[:at], record, *records[at + 1 :]])

    records = [json.loads(line) for line in lines]
    yield "deleted", resealed([*records[:at], *records[at + 1 :]])
    yield "doubled", resealed([*records[: at + 1], *records[at:]])
    yield "again at the end", resealed([*records, records[at]])
    yield "again under another key", resealed([*records, {**records[at], "key": "new"}])
    for name in records[at]:
        if name != SEAL:
            yield (
                f"without {name}",
                changed({key: value for key, value in records[at].items() if key != name}),
            )
            for value in (None, 5, -1, "x", [], {}, [1], True):
                if (name, value) not in POSSIBLE:
                    yield f"{name} is {value!r}", changed({**records[at], name: value})
    if records[at]["kind"] == "round":
        for entry in next(iter(records[at]["settings"].values())):
            for value in (None, -1, [], [0.0], [-4e-5], [float(10**300)] * 2, ["x"], [True], "x"):
                if value != [0.0] or entry == "seconds":
                    yield f"{entry} is {value!r}", changed(_with_entry(records[at], entry, value))


def _with_entry(record: dict[str, Any], entry: str, value: object) -> dict[str, Any]:
    label, timed = next(iter(record["settings"].items()))
    return {**record, "settings": {**record["settings"], label: {**timed, entry: value}}}


@pytest.mark.parametrize("half", [False, True], ids=["finished", "half-finished"])
@pytest.mark.parametrize("ways", [damages, sealed_damages])
def test_every_line_damaged_in_every_way(
    undamaged: tuple[str, Lines, Table],
    tmp_path: Path,
    half: bool,
    ways: Callable[[Lines, int], Iterator[tuple[str, bytes]]],
) -> None:
    name, lines, table = undamaged
    lines = lines[: len(lines) // 2 + 3] if half else lines
    refused = went_on = 0
    for at in range(len(lines)):
        for what, content in ways(lines, at):
            where = f"line {at + 1} {what}"
            folder = tmp_path / f"{refused + went_on}"
            folder.mkdir()
            (folder / name).write_bytes(content)
            outcome = outcome_of(folder)
            if isinstance(outcome, str):
                assert str(folder / name) in outcome, where
                assert "move it away" in outcome or "--run" in outcome, where
                assert (folder / name).read_bytes() == content, f"{where}: refused but changed"
                refused += 1
            else:
                assert outcome == table, where
                assert _rounds(folder / name) == EVERY_ROUND, where
                went_on += 1
    assert refused > went_on > 0


def _rounds(journal: Path) -> list[tuple[str, int]]:
    return sorted(
        (record["case"], record["round"])
        for record in read_journal(journal)
        if record["kind"] == "round"
    )


def test_the_way_out_of_the_message_is_one(undamaged, tmp_path: Path) -> None:
    """Cut off before the damaged line, the run goes on to the same table."""
    name, lines, table = undamaged
    (tmp_path / name).write_bytes(put(lines, 6))
    with pytest.raises(JournalError, match=r"jsonl:7 is damaged.* cut it off before this line"):
        measure(PLAN, simulated(), tmp_path)
    (tmp_path / name).write_bytes(b"".join(lines[:6]))
    assert table_of(measure(PLAN, simulated(), tmp_path)) == table


class Faulty(Simulated):
    """Its rounds come with an entry that cannot be."""

    entry: str
    value: object

    def measure(self, case: Any, numbers: Any) -> Iterator[dict[str, Any]]:
        for record in super().measure(case, numbers):
            bad = record["kind"] == "round" and record["round"] == 3
            yield _with_entry(record, self.entry, self.value) if bad else record


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 0.0, -1e-5])
def test_an_impossible_time_is_not_written(tmp_path: Path, seconds: float) -> None:
    runner = Faulty(procedure=PLAN.procedure)
    runner.entry, runner.value = "seconds", [seconds]
    with pytest.raises(RoundFailed, match=r"M=4 .* took .* must be a finite number above 0"):
        measure(PLAN, runner, tmp_path)
    (journal,) = tmp_path.glob("*.jsonl")
    assert len(_rounds(journal)) == 3
    assert len(table_of(measure(PLAN, simulated(), tmp_path))) == 6


def test_rounds_of_different_kernels_make_no_case(tmp_path: Path) -> None:
    class Rebuilt(Simulated):
        def measure(self, case: Any, numbers: Any) -> Iterator[dict[str, Any]]:
            for record in super().measure(case, numbers):
                if record["kind"] == "checks":
                    label = next(iter(record["provenance"]))
                    record["provenance"][label] = {"isa_sha256": "another"}
                yield record

    table = measure(PLAN, simulated(), tmp_path)
    journal = table.with_suffix(".jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]))
    with pytest.raises(RoundFailed, match=r"provenance was .* and is .*another.* \(--run\)"):
        measure(PLAN, Rebuilt(procedure=PLAN.procedure), tmp_path)
