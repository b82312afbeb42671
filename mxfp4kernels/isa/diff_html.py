"""A difference as one self-contained HTML page: no script, no outside resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from mxfp4kernels.isa.classes import InstructionClass
from mxfp4kernels.isa.counts import Counts
from mxfp4kernels.isa.diff import (
    Difference,
    Row,
    Section,
    class_changes,
    class_of_row,
)
from mxfp4kernels.isa.program import Instruction

_FOLD = 12
"""Unchanged stretches longer than this are folded, all but their ends."""
_KEPT = 3
"""Unchanged rows left open at each end of a folded stretch."""

_COLOURS = {  # Okabe and Ito's colour-blind-safe palette; close classes share a hue.
    InstructionClass.MFMA: "#0072b2",
    InstructionClass.VALU: "#e69f00",
    InstructionClass.ACC: "#b07a00",
    InstructionClass.TRANS: "#d55e00",
    InstructionClass.SALU: "#009e73",
    InstructionClass.SMEM: "#00735a",
    InstructionClass.VMEM: "#cc79a7",
    InstructionClass.LDS: "#56b4e9",
    InstructionClass.WAIT: "#a03030",
    InstructionClass.BARRIER: "#7a1fa2",
    InstructionClass.NOP: "#999999",
    InstructionClass.BRANCH: "#5c6bc0",
    InstructionClass.OTHER: "#777777",
}

_STYLE = """
:root{color-scheme:light dark;--page:#fff;--text:#1a1a1a;--faint:#6b6b6b;--line:#ddd;
--gone:#fde3df;--new:#dff3e4;--other:#fff3cd;--head:#f4f4f4}
@media (prefers-color-scheme:dark){:root{--page:#151719;--text:#e6e6e6;--faint:#9a9a9a;
--line:#33373b;--gone:#4a2320;--new:#1d3b27;--other:#453a16;--head:#1f2326}}
body{margin:1.5rem;background:var(--page);color:var(--text);font:14px/1.45 system-ui,sans-serif}
h1{font-size:1.3rem}h2{font-size:1.05rem;margin:0;padding:.5rem 0}
nav a{margin-right:1rem;color:inherit}
section{border-top:1px solid var(--line);margin-top:1.2rem}
.head{position:sticky;top:0;background:var(--page);z-index:1}
.body{display:flex;gap:1.5rem;align-items:flex-start;flex-wrap:wrap}
.code{flex:1 1 44rem;min-width:0;overflow-x:auto;font:12px/1.5 ui-monospace,monospace}
.row{display:grid;grid-template-columns:4.5rem 4rem minmax(0,1fr) 4rem minmax(0,1fr);
gap:0 .5rem;white-space:pre-wrap;overflow-wrap:anywhere}
.row>:nth-child(1){border-left:.35rem solid var(--c);padding-left:.4rem;color:var(--faint)}
.n{color:var(--faint);text-align:right}
.gone .l,.other .l{background:var(--gone)}.new .r,.other .r{background:var(--new)}
.other .l,.other .r{background:var(--other)}
summary{cursor:pointer;color:var(--faint);background:var(--head);padding:.1rem .6rem}
aside{flex:0 0 auto;position:sticky;top:2.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.1rem .6rem;text-align:right;border-bottom:1px solid var(--line)}
th:first-child{text-align:left}td.chip::before,th.chip::before{content:"";display:inline-block;
width:.7em;height:.7em;margin-right:.5em;background:var(--c)}
"""


def render_html(difference: Difference, title: str | None = None) -> str:
    """The page: each region with its rows side by side and its counts beside them.

    Everything taken from the programs is escaped. Colours follow the reader's light or dark
    setting. Long unchanged stretches are folded.
    """
    heading = title or f"{difference.left_name} against {difference.right_name}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        f"<title>{escape(heading)}</title><style>{_STYLE}{_class_style()}</style></head><body>",
        f"<h1>{escape(heading)}</h1>",
        "<p>Registers are renamed away: rows that differ in register names alone count as "
        "unchanged.</p>",
        _navigation(difference),
        _counts_table(difference, difference.left, difference.right, "kernel"),
    ]
    for number, section in enumerate(difference.sections):
        parts += _section(difference, section, number)
    parts.append("</body></html>")
    return "\n".join(parts) + "\n"


def _class_style() -> str:
    return "".join(f".c-{of.value}{{--c:{colour}}}\n" for of, colour in _COLOURS.items())


def _navigation(difference: Difference) -> str:
    links = (
        f'<a href="#r{number}">{escape(section.title)}: {section.left.total} &rarr; '
        f"{section.right.total}</a>"
        for number, section in enumerate(difference.sections)
    )
    return f"<nav>{''.join(links)}</nav>"


def _section(difference: Difference, section: Section, number: int) -> Iterator[str]:
    changed = sum(not row.same for row in section.rows)
    yield f'<section id="r{number}"><div class="head"><h2>{escape(section.title)} '
    yield f"&middot; {changed} of {len(section.rows)} rows differ</h2></div>"
    yield '<div class="body"><div class="code">'
    for same, group in groupby(section.rows, key=lambda row: row.same):
        rows = list(group)
        yield from _folded(rows) if same and len(rows) > _FOLD else map(_row, rows)
    yield "</div><aside>"
    yield _counts_table(difference, section.left, section.right, section.title)
    yield "</aside></div></section>"


def _folded(rows: Sequence[Row]) -> Iterator[str]:
    yield from map(_row, rows[:_KEPT])
    hidden = rows[_KEPT:-_KEPT]
    yield f"<details><summary>{len(hidden)} unchanged instructions</summary>"
    yield from map(_row, hidden)
    yield "</details>"
    yield from map(_row, rows[-_KEPT:])


def _row(row: Row) -> str:
    of = class_of_row(row)
    state = ""
    if not row.same:
        state = " gone" if row.right is None else " new" if row.left is None else " other"
    return (
        f'<div class="row c-{of.value}{state}"><span>{of.value}</span>'
        f"{_side(row.left, 'l')}{_side(row.right, 'r')}</div>"
    )


def _side(instruction: Instruction | None, side: str) -> str:
    if instruction is None:
        return "<span></span><span></span>"
    text = escape(instruction.text)
    return f'<span class="n">{instruction.line}</span><span class="{side}">{text}</span>'


def _counts_table(difference: Difference, left: Counts, right: Counts, title: str) -> str:
    rows = [
        f'<tr><th class="chip c-{of.value}">{of.value}</th>{_cells(before, after)}</tr>'
        for of, before, after in class_changes(left, right)
    ]
    return (
        f"<table><tr><th>{escape(title)}</th><th>{escape(difference.left_name)}</th>"
        f"<th>{escape(difference.right_name)}</th><th>change</th></tr>{''.join(rows)}"
        f"<tr><th>total</th>{_cells(left.total, right.total)}</tr></table>"
    )


def _cells(before: int, after: int) -> str:
    change = f"{after - before:+d}" if after != before else "0"
    return f"<td>{before}</td><td>{after}</td><td>{change}</td>"
