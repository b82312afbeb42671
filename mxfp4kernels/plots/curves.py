"""Per-M time, speedup, and ratio to HIP: notebook 03's figures.

What is not there yet is said to be not there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..ablation.published import FIGURES as PUBLISHED_FIGURES
from ..bench.measured import MEASURED as MEASURED_FOLDER
from ..curves.origins import CURVE, GAINS, MEASURED, PUBLISHED, Point
from ..curves.published import FAMILIES, PER_KERNEL, SOURCES, read_sources
from ..curves.series import (
    TABLE_TOKENS,
    Series,
    Sources,
    ratio_table,
    ratios_to_hip,
    read_all,
    speedup,
    times,
)
from ..files import DATA, read_csv
from ..shapes import KERNELS, dispatch
from .canvas import Place, axes_at, heading, sheet, styled, write
from .series import (
    ENDS,
    OTHERS,
    Entry,
    by_kind,
    draw,
    entries,
    key,
    key_row,
    row_height,
    state,
    tokens_axis,
    values_of,
)
from .stated import CLAIMS
from .theme import LIGHT

UNMAPPED = DATA / "timing" / "unmapped.csv"
VALIDATION = DATA / "timing" / "validation.csv"

FAMILY_WORDS = {
    "A": "routing family A: a shared expert, biased scores",
    "B": "routing family B: all experts alike",
}
TIME_ENDS = {**ENDS, MEASURED: ", with spread of replays"}
_ALL_TOKENS = (1, 32768)
_PANELS = [(kernel, family) for kernel in KERNELS for family in FAMILIES]


def data_files() -> tuple[Path, ...]:
    """What the figures are drawn from, as far as it is there."""
    tables = sorted(MEASURED_FOLDER.glob("*/*.csv"))
    return (
        PUBLISHED_FIGURES,
        SOURCES,
        CLAIMS,
        UNMAPPED,
        VALIDATION,
        *(path for path in (CURVE, GAINS) if path.exists()),
        *tables,
    )


def per_m_times(sources: Sources | None = None) -> Figure:
    """One row of panels per kernel, one column per routing family; nothing crosses a column."""
    sources = sources or read_all()
    panels = {
        (kernel, family): set_apart(times(sources, kernel, family), kernel, family)
        for kernel, family in _PANELS
    }
    drawn = by_kind(series for found in panels.values() for series in found)
    values = values_of(point for points in drawn.values() for point in points)
    limits = (min(values) / 1.3, max(values) * 1.4)
    lines = _measured_lines(panels.values(), sources.runs, TIME_ENDS)
    down = row_height(lines)
    with styled():
        figure = sheet(9.4, 7.4 + down)
        heading(
            figure,
            "Device time of one launch over the number of tokens",
            "Microseconds at the Kimi-K2.5 TP4 shape. The families route to different numbers of "
            "experts, so their columns are not\ncomparable. Points of one M come from different "
            "dates and revisions; pairs measured together are in the figure of ratios.",
        )
        key_row(figure, lines, 0.86)
        for column, family in enumerate(FAMILIES):
            left = 0.72 + 4.5 * column
            write(figure, left, 0.98 + down, FAMILY_WORDS[family], size=9, weight="bold")
            for row, kernel in enumerate(KERNELS):
                axes = axes_at(figure, Place(left, 1.52 + down + 2.78 * row, 3.9, 2.15))
                _times(axes, panels[kernel, family], sources.runs, limits)
                axes.set_title(kernel)
        total = sum(row.kernel in PER_KERNEL for row in sources.times.rows)
        left_out = total - len(drawn[PUBLISHED])
        counted = (
            f"Published device times of single kernels at this shape: {total}. Not drawn: "
            f"{left_out}, of an eager profiler, of the legacy kernels or of rejected variants."
        )
        write(figure, 0.12, 6.94 + down, counted, size=8, colour=LIGHT.muted)
        state(figure, sources, drawn, 7.14 + down)
    return figure


def set_apart(found: Sequence[Series], kernel: str, family: str) -> list[Series]:
    """The same points, but those of other kernels than the line's in a series of their own."""
    others = _not_ours(kernel, family) | _not_the_lines(kernel, family)
    apart: list[Series] = []
    moved: list[Point] = []
    for series in found:
        if series.kind != PUBLISHED or series.name == "HIP":
            apart.append(series)
            continue
        theirs = [point for point in series.points if _as_published(point) in others]
        kept = tuple(point for point in series.points if point not in theirs)
        moved += theirs
        apart += [replace(series, points=kept)] if kept else []
    if moved:
        apart.append(Series(OTHERS, PUBLISHED, family, tuple(moved)))
    return sorted(apart, key=lambda series: series.kind != PUBLISHED)


def _not_ours(kernel: str, family: str) -> set[tuple[int, str]]:
    """M and microseconds of FlyDSL rows that no variant of ours is compared with."""
    sources = read_sources()
    return {
        (int(row["M"]), row["published"])
        for row in read_csv(UNMAPPED)
        if (row["kernel"], row["backend"]) == (kernel, "flydsl")
        and sources[row["source"]].family == family
    }


def _not_the_lines(kernel: str, family: str) -> set[tuple[int, str]]:
    """The same of rows whose variant the dispatch does not run at that M, or not in that order."""
    routing = f"family-{family.lower()}"
    return {
        (int(row["M"]), row["published"])
        for row in read_csv(VALIDATION)
        if (row["kernel"], row["backend"], row["routing"]) == (kernel, "flydsl", routing)
        and not (
            row["likeness"] == "like for like"
            and row["variant"] == dispatch(kernel, int(row["M"])).name
        )
    }


def _as_published(point: Point) -> tuple[int, str]:
    """As the table writes it."""
    return point.tokens, f"{point.value:.3f}"


def _measured_lines(
    panels: Iterable[Sequence[Series]], runs: Sequence[str], ends: Mapping[str, str] = ENDS
) -> list[Entry]:
    """The key of what is measured: it names runs, for which a panel has no room."""
    found = [series for panel in panels for series in panel if series.kind == MEASURED]
    return entries(found, runs, ends)


def _times(
    axes: Axes, found: Sequence[Series], runs: Sequence[str], limits: tuple[float, float]
) -> None:
    for series in found:
        draw(axes, series, runs)
    key(axes, found, runs)
    tokens_axis(axes, _ALL_TOKENS, found)
    axes.set_yscale("log")
    powers = range(math.floor(math.log10(limits[0])), math.ceil(math.log10(limits[1])))
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    shown = [tick for tick in ticks if limits[0] <= tick <= limits[1]]
    axes.set_yticks(shown, [f"{tick:g}" for tick in shown])
    axes.minorticks_off()
    axes.set_ylim(*limits)
    axes.set_ylabel("µs")
    axes.grid(axis="y")


def per_m_speedup(sources: Sources | None = None) -> Figure:
    """None over all, by kernel and routing family."""
    sources = sources or read_all()
    panels = {(kernel, family): speedup(sources, kernel, family) for kernel, family in _PANELS}
    drawn = by_kind(series for found in panels.values() for series in found)
    lines = _measured_lines(panels.values(), sources.runs)
    down = row_height(lines)
    with styled():
        figure = sheet(9.4, 6.5 + down)
        heading(
            figure,
            "What all changes together are worth over the number of tokens",
            "Time of the parent's form over time of the merged form, of the variant that the "
            "published tuning runs at each M;\nabove one the merged form is faster. Nobody has "
            "published this ratio.",
        )
        key_row(figure, lines, 0.86)
        for column, family in enumerate(FAMILIES):
            left = 0.72 + 4.5 * column
            write(figure, left, 0.98 + down, FAMILY_WORDS[family], size=9, weight="bold")
            for row, kernel in enumerate(KERNELS):
                axes = axes_at(figure, Place(left, 1.52 + down + 2.42 * row, 3.9, 1.8))
                found = panels[kernel, family]
                _ratios(axes, found, sources.runs, _ALL_TOKENS, "none / all")
                key(axes, found, sources.runs)
                axes.set_title(kernel)
        state(figure, sources, drawn, 6.24 + down)
    return figure


def _ratios(
    axes: Axes, found: Sequence[Series], runs: Sequence[str], span: tuple[int, int], label: str
) -> None:
    """Series around 1; an empty panel says that there is nothing yet."""
    axes.axhline(1, color=LIGHT.muted, linewidth=0.8)
    for series in found:
        draw(axes, series, runs)
    values = values_of(point for series in found for point in series.points)
    low, high = min([0.98, *values]), max([1.06, *values])
    pad = 0.12 * (high - low)
    axes.set_ylim(low - pad, high + pad)
    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    tokens_axis(axes, span, found)
    axes.set_ylabel(label)
    axes.grid(axis="y")
    if not found:
        axes.text(0.5, 0.5, "not yet", transform=axes.transAxes, ha="center", color=LIGHT.muted)


def ratio_to_hip(sources: Sources | None = None) -> Figure:
    """FlyDSL over HIP, with every M of the pull request's table that has no published value."""
    sources = sources or read_all()
    table = ratio_table(sources)
    gaps = [row for row in table if row.before is None and row.after is None]
    panels = {kernel: ratios_to_hip(sources, kernel) for kernel in KERNELS}
    drawn = by_kind(series for found in panels.values() for series in found)
    lines = entries((one for found in panels.values() for one in found), sources.runs)
    with styled():
        figure = sheet(9.4, 4.3 + row_height(lines))
        heading(
            figure,
            "Ratios to HIP, published and measured"
            if drawn.get(MEASURED)
            else "The pull request's ratios to HIP, as far as they have been published",
            f"FlyDSL time over HIP time, each pair from one run; below one FlyDSL is faster. Grey: "
            f"the {len(gaps)} of {len(table)} rows of the pull request's table\nfor which its "
            "commits state no number.",
        )
        key_row(figure, lines, 0.86)
        top = 1.3 + row_height(lines)
        for column, kernel in enumerate(KERNELS):
            axes = axes_at(figure, Place(0.72 + 4.5 * column, top, 3.9, 2.2))
            for row in gaps:
                if row.kernel == kernel:
                    axes.axvspan(row.tokens / 1.3, row.tokens * 1.3, color=LIGHT.faint, lw=0)
            span = (TABLE_TOKENS[0], TABLE_TOKENS[-1])
            _ratios(axes, panels[kernel], sources.runs, span, "FlyDSL / HIP")
            axes.grid(visible=False)
            _arrows(axes, sources, kernel)
            axes.set_title(kernel)
        state(figure, sources, drawn, top + 2.74, "ratios to HIP")
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
