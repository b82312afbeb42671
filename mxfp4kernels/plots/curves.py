"""Per-M time, speedup, contribution of each flag, and ratio to HIP: notebook 03's figures.

Published values are hollow and black, measured ones green with their interval, modelled ones blue
with their band. What is not there yet is said to be not there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.published import FIGURES as PUBLISHED_FIGURES
from ..bench.measured import MEASURED as MEASURED_FOLDER
from ..curves.origins import CURVE, GAINS, MEASURED, MODELLED, PUBLISHED
from ..curves.published import FAMILIES, SOURCES, ClaimedGain, read_claimed_gains
from ..curves.series import (
    TABLE_TOKENS,
    Series,
    Sources,
    contributions,
    ratio_table,
    ratios_to_hip,
    read_all,
    speedup,
    times,
)
from ..flags import FLAGS, acting
from ..shapes import KERNELS, dispatch
from .canvas import Place, axes_at, heading, sheet, styled, write
from .labels import percent, title_of
from .theme import LIGHT

COLOURS = {PUBLISHED: LIGHT.ink, MEASURED: "#009e73", MODELLED: "#0072b2"}
FAMILY_WORDS = {
    "A": "routing family A: a shared expert, biased scores",
    "B": "routing family B: all experts alike",
}
MICROSECONDS = (4, 1900)
CONTRIBUTION_TOKENS = (4, 64, 512, 4096, 16384)
_ALL_TOKENS = (1, 32768)
DASHED_NAMES = ("none", "HIP")
DASHED = "- -"


def data_files() -> tuple[Path, ...]:
    """What the figures are drawn from, as far as it is there."""
    tables = sorted(MEASURED_FOLDER.glob("*/*.csv"))
    return (
        PUBLISHED_FIGURES,
        SOURCES,
        *(path for path in (CURVE, GAINS) if path.exists()),
        *tables,
    )


def per_m_times(sources: Sources | None = None) -> Figure:
    """One row of panels per kernel, one column per routing family; nothing crosses a column."""
    sources = sources or read_all()
    with styled():
        figure = sheet(9.4, 7.2)
        heading(
            figure,
            "Device time of one launch over the number of tokens",
            "Microseconds at the Kimi-K2.5 TP4 shape. The families route to different numbers of "
            "experts, so their columns are not\ncomparable. Points of one M come from different "
            "dates and revisions; pairs measured together are in the figure of ratios.",
        )
        for column, family in enumerate(FAMILIES):
            left = 0.72 + 4.5 * column
            write(figure, left, 0.98, FAMILY_WORDS[family], size=9, weight="bold")
            for row, kernel in enumerate(KERNELS):
                axes = axes_at(figure, Place(left, 1.52 + 2.78 * row, 3.9, 2.15))
                _times(axes, times(sources, kernel, family))
                axes.set_title(kernel)
        _state(figure, sources, 6.94)
    return figure


def _times(axes: Axes, found: Sequence[Series]) -> None:
    for series in found:
        _draw(axes, series)
    _key(axes, found)
    _tokens_axis(axes, _ALL_TOKENS)
    axes.set_yscale("log")
    ticks = [digit * 10**power for power in range(4) for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if MICROSECONDS[0] <= tick <= MICROSECONDS[1]]
    axes.set_yticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.set_ylim(*MICROSECONDS)
    axes.set_ylabel("µs")
    axes.grid(axis="y")


def _draw(axes: Axes, series: Series) -> None:
    """Points by kind: hollow published, measured with intervals, modelled as a line with a band."""
    colour = COLOURS[series.kind]
    x = [point.tokens for point in series.points]
    y = [point.value for point in series.points]
    dashed = (0, (3, 2)) if series.name in DASHED_NAMES else "solid"
    if series.kind == MODELLED:
        axes.plot(x, y, color=colour, linewidth=1.4, linestyle=dashed)
        if not _bandless(series):
            ends = ([point.low for point in series.points], [point.high for point in series.points])
            axes.fill_between(x, *ends, color=colour, alpha=0.12, linewidth=0)
        return
    marker = {"HIP": "s", "pull request, before": "v", "pull request, after": "^"}
    hollow = series.kind == PUBLISHED
    axes.plot(
        x,
        y,
        marker.get(series.name, "o"),
        markersize=4.5,
        mfc=LIGHT.paper if hollow else colour,
        mec=colour,
        mew=1.1,
        linestyle="none" if hollow else dashed,
        color=colour,
        linewidth=1,
    )
    if not hollow:
        for point in series.points:
            axes.plot([point.tokens] * 2, [point.low, point.high], color=colour, linewidth=1)


def _bandless(series: Series) -> bool:
    return any(math.isnan(point.low) for point in series.points)


def _key(axes: Axes, found: Sequence[Series]) -> None:
    """Names in the lower right corner, where rising curves leave room, in their colours."""
    glyphs = {PUBLISHED: "\N{WHITE CIRCLE}", MEASURED: "\N{BLACK CIRCLE}", MODELLED: "\N{EM DASH}"}
    for line, series in enumerate(reversed(found)):
        glyph = "\N{WHITE SQUARE}" if series.name == "HIP" else glyphs[series.kind]
        glyph = DASHED if series.kind == MODELLED and series.name in DASHED_NAMES else glyph
        band = ", with band" if not _bandless(series) and series.kind == MODELLED else ""
        axes.text(
            0.985,
            0.05 + 0.085 * line,
            f"{glyph} {series.name}, {series.kind}{band}",
            transform=axes.transAxes,
            ha="right",
            size=8,
            color=COLOURS[series.kind],
        )


def _tokens_axis(axes: Axes, span: tuple[int, int]) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(span[0] / 1.4, span[1] * 1.4)
    ticks = [2**power for power in range(0, 16, 2)]
    shown = [tick for tick in ticks if span[0] <= tick <= span[1]]
    axes.set_xticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.set_xlabel("tokens M")


def _state(figure: Figure, sources: Sources, top: float) -> None:
    """For each kind, in its colour, what there is of it."""
    left = 0.12
    for kind, words in sources.state().items():
        text = f"{kind}: {words}"
        write(figure, left, top, text, size=8, colour=COLOURS[kind])
        left += 0.35 + 0.059 * len(text)


def per_m_speedup(sources: Sources | None = None) -> Figure:
    """None over all, by kernel and routing family."""
    sources = sources or read_all()
    with styled():
        figure = sheet(9.4, 6.5)
        heading(
            figure,
            "What all changes together are worth over the number of tokens",
            "Time of the parent's form over time of the merged form, of the variant that the "
            "published tuning runs at each M;\nabove one the merged form is faster. Nobody has "
            "published this ratio.",
        )
        for column, family in enumerate(FAMILIES):
            left = 0.72 + 4.5 * column
            write(figure, left, 0.98, FAMILY_WORDS[family], size=9, weight="bold")
            for row, kernel in enumerate(KERNELS):
                axes = axes_at(figure, Place(left, 1.52 + 2.42 * row, 3.9, 1.8))
                _ratios(axes, speedup(sources, kernel, family), _ALL_TOKENS, "none / all")
                axes.set_title(kernel)
        _state(figure, sources, 6.24)
    return figure


def _ratios(axes: Axes, found: Sequence[Series], span: tuple[int, int], label: str) -> None:
    """Series around 1; an empty panel says that there is nothing yet."""
    axes.axhline(1, color=LIGHT.muted, linewidth=0.8)
    values = [
        end
        for series in found
        for point in series.points
        for end in (point.value, point.low, point.high)
        if not math.isnan(end)
    ]
    for series in found:
        _draw(axes, series)
    _key(axes, found)
    low, high = min([0.98, *values]), max([1.1, *values])
    axes.set_ylim(low - 0.02, high + 0.02)
    _tokens_axis(axes, span)
    axes.set_ylabel(label)
    axes.grid(axis="y")
    if not found:
        axes.text(0.5, 0.5, "not yet", transform=axes.transAxes, ha="center", color=LIGHT.muted)


def ratio_to_hip(sources: Sources | None = None) -> Figure:
    """FlyDSL over HIP, with every M of the pull request's table that has no published value."""
    sources = sources or read_all()
    gaps = [row for row in ratio_table(sources) if row.before is None and row.after is None]
    with styled():
        figure = sheet(9.4, 4.3)
        heading(
            figure,
            "The pull request's ratios to HIP, as far as they have been published",
            f"FlyDSL time over HIP time, each pair from one run; below one FlyDSL is faster. Grey: "
            f"the {len(gaps)} of {2 * len(TABLE_TOKENS)} rows of the pull request's table\nfor "
            "which its commits state no number. Circles: a stand-alone port that came before it.",
        )
        for column, kernel in enumerate(KERNELS):
            axes = axes_at(figure, Place(0.72 + 4.5 * column, 1.3, 3.9, 2.2))
            for row in gaps:
                if row.kernel == kernel:
                    axes.axvspan(row.tokens / 1.3, row.tokens * 1.3, color=LIGHT.faint, lw=0)
            found = ratios_to_hip(sources, kernel)
            axes.axhline(1, color=LIGHT.muted, linewidth=0.8)
            for series in found:
                _draw(axes, series)
            _arrows(axes, sources, kernel)
            values = [point.value for series in found for point in series.points]
            axes.set_ylim(min(values) - 0.02, max(values) + 0.02)
            _tokens_axis(axes, (TABLE_TOKENS[0], TABLE_TOKENS[-1]))
            axes.set_ylabel("FlyDSL / HIP")
            axes.set_title(kernel)
        _state(figure, sources, 4.04)
    return figure


def _arrows(axes: Axes, sources: Sources, kernel: str) -> None:
    """From before to after, with both numbers."""
    for row in ratio_table(sources):
        if row.kernel != kernel or row.before is None or row.after is None:
            continue
        axes.annotate(
            "",
            (row.tokens, row.after),
            xytext=(row.tokens, row.before),
            arrowprops={"arrowstyle": "->", "color": LIGHT.ink, "shrinkA": 4, "shrinkB": 4},
        )
        for value, side in ((row.before, 8), (row.after, -9)):
            axes.annotate(
                f"{value:.2f}",
                (row.tokens, value),
                xytext=(0, side),
                textcoords="offset points",
                ha="center",
                va="center",
                size=8,
            )


def flag_contributions(sources: Sources | None = None) -> Figure:
    """A row per flag and kernel, a column per M: what the flag is worth by each study."""
    sources, claims = sources or read_all(), read_claimed_gains()
    blocks = [(kernel, _rows_of(kernel, claims)) for kernel in KERNELS]
    height = 0.24
    total = sum(len(rows) * height + 0.84 for _, rows in blocks)
    with styled():
        figure = sheet(9.4, 1.42 + total)
        heading(
            figure,
            "What each change is worth, at five numbers of tokens",
            "Time without the flag over time with it, in percent above one, routing family A. "
            "Ring: alone, dot: on top of all others, bar: in the order\nof the pull request. "
            "Triangles: what its commits state, a range where they state one. No mark: no such "
            "flag there, or no value yet.",
        )
        top = 1.52
        for kernel, rows in blocks:
            write(figure, 0.12, top - 0.38, kernel, size=11, weight="bold")
            for column, tokens in enumerate(CONTRIBUTION_TOKENS):
                place = Place(2.2 + 1.45 * column, top, 1.3, len(rows) * height)
                axes = axes_at(figure, place)
                _contributions(axes, sources, kernel, tokens, rows, claims)
                axes.set_title(f"M={tokens}", pad=15)
                name = dispatch(kernel, tokens).name
                write(figure, place.left, top - 0.16, name, size=7.5, colour=LIGHT.muted)
                axes.tick_params(labelleft=column == 0)
            top += len(rows) * height + 0.84
        _state(figure, sources, top - 0.36)
    return figure


Row = tuple[str, ...]
"""The flags whose common worth a row shows."""


def _rows_of(kernel: str, claims: Sequence[ClaimedGain]) -> list[Row]:
    """A row for each flag of a kernel, and for each group that a claim is about."""
    variants = [dispatch(kernel, tokens) for tokens in CONTRIBUTION_TOKENS]
    names = {name for variant in variants for name in acting(variant)}
    single: list[Row] = [(flag.name,) for flag in FLAGS if flag.name in names]
    groups = {claim.flags for claim in claims if claim.kernel == kernel and len(claim.flags) > 1}
    return [*single, *sorted(groups)]


def _contributions(
    axes: Axes,
    sources: Sources,
    kernel: str,
    tokens: int,
    rows: Sequence[Row],
    claims: Sequence[ClaimedGain],
) -> None:
    axes.axvline(0, color=LIGHT.muted, linewidth=0.8)
    drawing: dict[str, Callable[[float, float, str], object]] = {
        "alone": lambda x, y, c: axes.plot(x, y, "o", ms=5.5, mfc=LIGHT.paper, mec=c, mew=1.2),
        "leave-one-out": lambda x, y, c: axes.plot(x, y, "o", ms=3.5, color=c),
        "cumulative": lambda x, y, c: axes.plot([x, x], [y - 0.3, y + 0.3], color=c, lw=1.6),
    }
    for one in contributions(sources, kernel, "A", tokens):
        place = rows.index((one.flag,))
        drawing[one.study](_percent(one.point.value), place, COLOURS[one.kind])
    for claim in claims:
        if claim.kernel == kernel and claim.first <= tokens <= (claim.last or tokens):
            place = rows.index(claim.flags)
            ends = [_percent(claim.low), _percent(claim.high)]
            axes.plot(ends, [place] * 2, "-<", ms=4.5, color=LIGHT.ink, mfc=LIGHT.paper, lw=0.9)
    variant_flags = acting(dispatch(kernel, tokens))
    for place, row in enumerate(rows):
        if not set(row) <= variant_flags:
            axes.axhspan(place - 0.5, place + 0.5, color=LIGHT.faint, alpha=0.5, lw=0)
    axes.set_xlim(-4, 13)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xticks((0, 5, 10), [percent(tick) for tick in (0, 5, 10)], size=7.5)
    names = [title_of(row[0]) if len(row) == 1 else f"those {len(row)} together" for row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.grid(axis="x")


def _percent(gain: float) -> float:
    return 100 * (gain - 1)
