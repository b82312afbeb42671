"""How flags interact: each alone against each on top of the others, and one pair in full."""

from __future__ import annotations

import re
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.counts import CountTable, read_counts
from ..ablation.effects import Square, Twins, first, last, square, twins
from ..ablation.excerpts import Excerpt, read_excerpts
from ..flags import FLAGS, Flag
from ..shapes import find_variant
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here, signed, title_of
from .theme import LIGHT

PAIR = ("native_packed_max", "interleaved_quant")
PAIR_VARIANT = find_variant("gemm1", "bm16_iq")

_ROW, _BETWEEN, _TOP = 0.205, 0.52, 1.42
_COLUMNS = ((1.72, 2.08), (6.44, 2.08))
"""Left edge and width of the axes in the two columns of panels."""


def alone_or_last() -> Figure:
    """Every flag and variant: what it changes by itself, and what it changes on top of the rest."""
    table = read_counts()
    columns = _balanced([(flag, _acting(table, flag)) for flag in FLAGS])
    tallest = max(sum(len(rows) * _ROW + _BETWEEN for _, rows in column) for column in columns)
    with styled():
        figure = sheet(9.4, _TOP + tallest + 0.1)
        heading(
            figure,
            "Alone or last: where the changes add up, the dots meet",
            "Change in instructions besides MFMA by a flag alone (ring: all others off) and last "
            "(dot: all others on).\nThe distance is the interaction with the other flags: "
            "blue where the others help it, orange where they get in its way.\n"
            "Each panel has its own scale.",
        )
        for (left, width), column in zip(_COLUMNS, columns, strict=True):
            top = _TOP
            for flag, rows in column:
                height = len(rows) * _ROW
                axes = axes_at(figure, Place(left, top, width, height))
                _dumbbells(axes, table, flag, rows)
                write(figure, left - 1.6, top - 0.22, flag.title, size=9.5, weight="bold")
                top += height + _BETWEEN
        source_line(figure, compiled_here(table))
    return figure


def _acting(table: CountTable, flag: Flag) -> list[Twins]:
    return [variant for variant in twins(table) if flag.acts_in(variant.first)]


def _balanced(
    panels: Sequence[tuple[Flag, list[Twins]]],
) -> list[list[tuple[Flag, list[Twins]]]]:
    """Two columns of about the same number of rows, the panels in order within each."""
    half = sum(len(rows) + 2 for _, rows in panels) / 2
    columns: list[list[tuple[Flag, list[Twins]]]] = [[], []]
    filled = 0
    for flag, rows in panels:
        columns[filled + len(rows) / 2 > half].append((flag, rows))
        filled += len(rows) + 2
    return columns


def _dumbbells(axes: Axes, table: CountTable, flag: Flag, rows: list[Twins]) -> None:
    pairs = [
        (first(table, row.first, flag.name).amount(), last(table, row.first, flag.name).amount())
        for row in rows
    ]
    low, high = min(0, *map(min, pairs)), max(0, *map(max, pairs))
    span = high - low
    for y, (alone, on_top) in enumerate(pairs):
        interaction = on_top - alone
        colour = LIGHT.muted
        if interaction:
            colour = LIGHT.fewer if interaction < 0 else LIGHT.more
            axes.plot([alone, on_top], [y, y], color=colour, linewidth=2)
        axes.plot(alone, y, "o", markersize=6.5, mfc=LIGHT.paper, mec=colour, mew=1.4, zorder=3)
        axes.plot(on_top, y, "o", markersize=4, color=colour, zorder=4)
        text = f"{signed(alone)} \N{RIGHTWARDS ARROW} {signed(on_top)}"
        axes.text(
            high + 0.12 * span,
            y,
            text if interaction else signed(alone),
            va="center",
            size=8,
            color=LIGHT.ink if interaction else LIGHT.muted,
            weight="bold" if interaction else "normal",
        )
    axes.set_xlim(low - 0.05 * span, high + 0.62 * span)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [str(row) for row in rows], size=8)
    ticks = [tick for tick in sorted({low, 0, high}) if not tick or abs(tick) > 0.2 * span]
    axes.set_xticks(ticks, [signed(tick) for tick in ticks], size=7.5)
    axes.axvline(0, color=LIGHT.faint, linewidth=0.8, zorder=0)
    axes.spines["bottom"].set_visible(False)
    axes.hlines(range(len(rows)), low, high, color=LIGHT.faint, linewidth=0.6, zorder=0)


FORMS = (
    ("neither", "quant_neither", "", ""),
    (
        "only_first",
        "quant_native",
        "native, one piece after the other",
        "The next step needs the result at once:\nboth wait states pass idle.",
    ),
    (
        "only_second",
        "quant_interleaved",
        "inline assembly, interleaved",
        "The other piece stands between, but\ninline assembly counts as no wait state.",
    ),
    (
        "both",
        "quant_both",
        "native, interleaved",
        "The other piece fills them.",
    ),
)
"""The combinations of a :class:`Square`, the excerpt that shows each, what it is and shows."""


def quant_pair() -> Figure:
    """Two changes that the pull request does not list: worth little apart, much together."""
    table = read_counts()
    counts = square(table, PAIR_VARIANT, PAIR, "NOP")
    one, two = map(title_of, PAIR)
    with styled():
        figure = sheet(9.4, 5.45)
        heading(
            figure,
            f"Two unlisted changes: {counts.neither} nops, {counts.only_first} or "
            f"{counts.only_second} with one of them, {counts.both} with both",
            f"s_nop instructions in {PAIR_VARIANT}, every other change on. Did the two not "
            f"interact, both together would leave {counts.additive} (dashed).",
        )
        _bars(axes_at(figure, Place(2.05, 0.76, 7.0, 1.30)), counts, one, two)
        write(
            figure,
            0.12,
            2.30,
            "Why: two wait states must pass before DPP reads across lanes what a VALU wrote",
            size=10,
            weight="bold",
        )
        excerpts = read_excerpts()
        for left, (_, name, what, why) in zip((0.12, 3.26, 6.36), FORMS[1:], strict=True):
            write(figure, left, 2.60, what, size=8.5, weight="bold")
            write(figure, left, 2.80, why, size=8.5, colour=LIGHT.muted)
            _code(figure, left, 3.24, excerpts[name])
        source_line(figure, f"{compiled_here(table)}; ... marks instructions left out")
    return figure


def _bars(axes: Axes, counts: Square, one: str, two: str) -> None:
    names = ("neither", f"{one} only", f"{two} only", "both")
    values = [getattr(counts, form[0]) for form in FORMS]
    colours = [LIGHT.muted, LIGHT.muted, LIGHT.muted, LIGHT.fewer]
    axes.barh(range(4), values, color=colours, height=0.66)
    axes.barh(
        3, counts.additive, height=0.66, fill=False, edgecolor=LIGHT.muted, linestyle=(0, (3, 2))
    )
    for y, value in enumerate(values):
        axes.text(value + 0.35, y, str(value), va="center", size=10, weight="bold")
    axes.set_yticks(range(4), names)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    axes.set_ylim(3.6, -0.6)
    axes.set_xlim(0, max(*values, counts.additive) * 1.05)


def _code(figure: Figure, left: float, top: float, excerpt: Excerpt) -> None:
    """The excerpt in a narrow column, nops marked; modifiers that are always the same left out."""
    for number, line in enumerate(excerpt.text.splitlines()):
        code, _, comment = line.partition(";")
        code = re.sub(r" (row_mask|dst_sel).*", "", code.rstrip())
        nop = code.startswith("s_nop")
        write(
            figure,
            left,
            top + number * 0.138,
            f"{code:<26} ; asm" if comment else code,
            size=7.4,
            colour=LIGHT.more if nop else None,
            weight="bold" if nop else "normal",
            family="DejaVu Sans Mono",
        )
