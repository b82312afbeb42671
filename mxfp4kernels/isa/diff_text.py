"""A difference as text for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from mxfp4kernels.isa.counts import Counts
from mxfp4kernels.isa.diff import Difference, Row, Section, class_changes

_RED, _GREEN, _CYAN, _BOLD, _RESET = "\033[31m", "\033[32m", "\033[36m", "\033[1m", "\033[0m"


def render_text(difference: Difference, context: int = 3, colour: bool = False) -> str:
    """A unified difference, region by region, each under its counts.

    Args:
        context: unchanged instructions shown around each change.
        colour: whether to use ANSI escapes.

    Raises:
        ValueError: a negative ``context``.
    """
    if context < 0:
        raise ValueError(f"context must be at least 0, got {context}")
    lines = [f"--- {difference.left_name}", f"+++ {difference.right_name}"]
    lines.append(_counts_line("kernel", difference.left, difference.right))
    for section in difference.sections:
        lines.append(_counts_line(section.title, section.left, section.right))
        lines += _hunks(section, context)
    if colour:
        lines = [_coloured(line) for line in lines]
    return "\n".join(lines) + "\n"


def _counts_line(title: str, left: Counts, right: Counts) -> str:
    changes = [
        f"{of} {before}->{after}"
        for of, before, after in class_changes(left, right)
        if before != after
    ]
    return f"== {title}: {left.total}->{right.total} instructions" + "".join(
        f", {change}" for change in changes
    )


def _hunks(section: Section, context: int) -> Iterator[str]:
    rows = section.rows
    for start, stop in _ranges([n for n, row in enumerate(rows) if not row.same], context, rows):
        yield _hunk_head(rows[start:stop])
        for row in rows[start:stop]:
            yield from _row_lines(row)


def _ranges(changed: Iterable[int], context: int, rows: Sequence[Row]) -> Iterator[tuple[int, int]]:
    """Stretches of rows around the changed ones; stretches that meet are one."""
    start = stop = None
    for place in changed:
        if stop is not None and start is not None and place - context > stop:
            yield start, stop
            start = None
        if start is None:
            start = max(0, place - context)
        stop = min(len(rows), place + context + 1)
    if start is not None and stop is not None:
        yield start, stop


def _hunk_head(rows: Sequence[Row]) -> str:
    left = [row.left.line for row in rows if row.left is not None]
    right = [row.right.line for row in rows if row.right is not None]
    return f"@@ -{_place(left)} +{_place(right)} @@"


def _place(lines: Sequence[int]) -> str:
    return f"{lines[0]},{len(lines)}" if lines else "0,0"


def _row_lines(row: Row) -> Iterator[str]:
    if row.same and row.left is not None:
        yield f"  {row.left.text}"
        return
    if row.left is not None:
        yield f"- {row.left.text}"
    if row.right is not None:
        yield f"+ {row.right.text}"


def _coloured(line: str) -> str:
    if line.startswith(("---", "+++", "==")):
        return f"{_BOLD}{line}{_RESET}"
    codes = {"-": _RED, "+": _GREEN, "@": _CYAN}
    code = codes.get(line[:1])
    return line if code is None else f"{code}{line}{_RESET}"
