"""What the values of measured tables must be, before anything is drawn of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime

from ..bench.measured import MeasuredRow
from ..bench.verdicts import OK, Mark, Verdict
from ..files import TableError

ARCH = "gfx950"
UNIT = "us"
WORDS = {
    "verdict": ("", *map(str, Verdict)),
    "aa_verdict": ("", *map(str, Verdict)),
    "role": ("baseline", "again", "setting"),
    "cache": ("rotating", "warm"),
    "processes": ("one", "fresh"),
    "arch": (ARCH,),
}
"""Columns that hold one of a few words."""
NEEDED = ("device", "compute_units", "kernel", "variant", "shape", "routing", "implementation")
TIMES = ("minimum", "q05", "median", "q95")
RATIOS = ("ratio_low", "ratio", "ratio_high")
SETTING = ("kernel", "variant", "shape", "tokens", "routing", "seed", "cache", "role")
"""With the implementation and its flags: what a run has one row of."""


def checked(rows: Iterable[MeasuredRow]) -> tuple[MeasuredRow, ...]:
    """The rows, if every value that is read of them can be one.

    Raises:
        TableError: a word that is none of the column's, a number that no time or ratio can be, a
            row of another table, or one that comes twice; with the table's path and the line.
    """
    rows = tuple(rows)
    seen: dict[tuple[object, ...], int] = {}
    for row in rows:
        _check(row)
        names = (*SETTING, "implementation", "flags")
        first = seen.setdefault((row.path, *(row[name] for name in names)), row.line)
        _require(row, first == row.line, f"is the row of line {first} again")
    return rows


def _check(row: MeasuredRow) -> None:
    for name in NEEDED:
        _require(row, row[name] != "", f"{name} is empty")
    for name, words in WORDS.items():
        shown = ", ".join(word or "empty" for word in words)
        _require(row, row[name] in words, f"{name} is {row[name]!r}, none of {shown}")
    marks = set(row["status"].split("+"))
    known = {mark.value for mark in Mark}
    _require(row, marks == {OK} or marks <= known, f"status is {row['status']!r}, no marks")
    _require(row, row["run"] == row.path.stem, f"run is {row['run']!r}, not the table's name")
    _require(row, _is_time(row["measured_at"]), f"measured_at is {row['measured_at']!r}, no time")
    tokens = row["tokens"]
    _require(row, tokens.isdecimal() and int(tokens) > 0, f"tokens is {tokens!r}, no count")
    if Mark.WRONG.value in marks:
        return
    _require(row, row["unit"] == UNIT, f"unit is {row['unit']!r}, not {UNIT}")
    _rising(row, TIMES)
    if any(row[name] for name in RATIOS):
        _rising(row, RATIOS)


def _rising(row: MeasuredRow, names: Sequence[str]) -> None:
    values = [_number(row, name) for name in names]
    shown = ", ".join(f"{name} {row[name]}" for name in names)
    _require(row, values == sorted(values), f"out of order: {shown}")


def _number(row: MeasuredRow, name: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = math.nan
    _require(row, 0 < value < math.inf, f"{name} is {row[name]!r}, no number above 0")
    return value


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).tzinfo is not None
    except ValueError:
        return False


def _require(row: MeasuredRow, holds: bool, problem: str) -> None:
    if not holds:
        raise TableError(f"{row.path}:{row.line}: {problem}")
