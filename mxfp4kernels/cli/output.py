"""What verbs print: tables, JSON, progress."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tqdm import tqdm

Row = Mapping[str, object]
Progress = Callable[[int, int], None]

GAP = "  "
NARROWEST = 12
"""Characters below which no column of a table is cut."""
SECONDS_PER_LINE = 5.0


def shown(name: str) -> str:
    """A file's name as text, which it need not be."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def emit(rows: Sequence[Row], as_json: bool) -> None:
    """Print rows as JSON or as a table."""
    if as_json:
        print_json(list(rows))
    else:
        print_table(rows)


def print_json(value: object) -> None:
    """Print for a program to read."""
    json.dump(value, sys.stdout, indent=1)
    print()


def print_table(rows: Sequence[Row]) -> None:
    """Print aligned columns, numbers to the right.

    On a terminal the longest texts are cut until a line fits it; in a file or a pipe nothing is.
    """
    if not rows:
        return
    names = list(rows[0])
    cells = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():
        widths = fit(widths, shutil.get_terminal_size().columns)
    numeric = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    for line in cells:
        padded = (
            cell.rjust(width) if right else _cut(cell, width).ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        print(GAP.join(padded).rstrip())


def fit(widths: Sequence[int], columns: int) -> list[int]:
    """Take from the widest until all fit into ``columns`` characters, or none can give more."""
    fitted = list(widths)
    room = columns - len(GAP) * (len(fitted) - 1)
    while sum(fitted) > room and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


@contextmanager
def progress_bar(what: str, quiet: bool, unit: str = "kernel") -> Iterator[Progress | None]:
    """A bar on stderr; where stderr is no terminal, a line every few seconds and at the end."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines(what, unit)
        return
    with tqdm(desc=what, unit=unit, file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report


def _lines(what: str, unit: str) -> Progress:
    """Progress for a log: whole lines, few of them, no line twice."""
    last, due = "", time.monotonic() + SECONDS_PER_LINE

    def report(done: int, total: int) -> None:
        nonlocal last, due
        if done < total and time.monotonic() < due:
            return
        share = 100 * done // total if total else 100
        line = f"{what}: {share}% ({done} of {total} {unit}s)"
        if line != last:
            print(line, file=sys.stderr, flush=True)
        last, due = line, time.monotonic() + SECONDS_PER_LINE

    return report


def warn(text: str) -> None:
    """Tell what is worth knowing and stops nothing."""
    print(f"mxfp4kernels: warning: {text}", file=sys.stderr)
