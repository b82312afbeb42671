"""How a series over M is drawn and named, by its kind.

Published values are hollow and black, measured ones green with their interval and a shape for each
run, modelled ones blue with their band. An UNSTABLE value is crossed out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..curves.origins import MEASURED, MODELLED, PUBLISHED, Point
from ..curves.series import Series, Sources
from .canvas import write
from .theme import LIGHT

OTHERS = "published, of another kernel than the line"
"""Name of a published series whose kernels have another tile than ours."""
OTHERS_COLOUR = "#8b949e"
COLOURS = {PUBLISHED: LIGHT.ink, MEASURED: "#009e73", MODELLED: "#0072b2"}
DASHED_NAMES = ("none", "HIP")
DASHED = "- -"
CROSS = "\N{MULTIPLICATION X}"
UNSTABLE = f"{CROSS} UNSTABLE: no result"
ENDS = {MODELLED: ", with band", MEASURED: ", with interval", PUBLISHED: ""}
"""What a kind's values are drawn with, where they have two ends."""

Shape = tuple[str, str]
"""A marker of matplotlib's and the character that stands for it in a key."""
PUBLISHED_SHAPES: Mapping[str, Shape] = {
    OTHERS: ("D", "\N{WHITE DIAMOND}"),
    "HIP": ("s", "\N{WHITE SQUARE}"),
    "pull request, before": ("v", "\N{WHITE DOWN-POINTING TRIANGLE}"),
    "pull request, after": ("^", "\N{WHITE UP-POINTING TRIANGLE}"),
}
RING: Shape = ("o", "\N{WHITE CIRCLE}")
RUN_SHAPES: Sequence[Shape] = (
    ("o", "\N{BLACK CIRCLE}"),
    ("D", "\N{BLACK DIAMOND}"),
    ("s", "\N{BLACK SQUARE}"),
    ("^", "\N{BLACK UP-POINTING TRIANGLE}"),
    ("v", "\N{BLACK DOWN-POINTING TRIANGLE}"),
)


def draw(axes: Axes, series: Series, runs: Sequence[str]) -> None:
    """Points, or for the model a line; ``runs`` are all that there are, to tell them apart."""
    colour = colour_of(series)
    x = [point.tokens for point in series.points]
    y = [point.value for point in series.points]
    if series.kind == MODELLED:
        axes.plot(x, y, color=colour, linewidth=1.4, linestyle=_line(series))
        if _has_ends(series):
            ends = ([point.low for point in series.points], [point.high for point in series.points])
            axes.fill_between(x, *ends, color=colour, alpha=0.12, linewidth=0)
        return
    hollow = series.kind == PUBLISHED
    axes.plot(
        x,
        y,
        _shape(series, runs)[0],
        markersize=4.5,
        mfc=LIGHT.paper if hollow else colour,
        mec=colour,
        mew=1.1,
        linestyle="none" if hollow else _line(series),
        color=colour,
        linewidth=1,
    )
    for point in series.points:
        if not math.isnan(point.low):
            axes.plot([point.tokens] * 2, [point.low, point.high], color=colour, linewidth=1)
        if point.unstable:
            cross_out(axes, point.tokens, point.value)


def colour_of(series: Series) -> str:
    """That of its kind, but grey for published kernels that are not the line's."""
    return OTHERS_COLOUR if series.name == OTHERS else COLOURS[series.kind]


def cross_out(axes: Axes, x: float, y: float) -> None:
    """Mark a value as no result."""
    axes.plot(x, y, "x", markersize=8, mew=1.1, color=LIGHT.ink, zorder=5)


def key(axes: Axes, found: Sequence[Series], runs: Sequence[str]) -> None:
    """Names in the lower right corner, where rising curves leave room, in their colours.

    What is measured is left to :func:`key_row`.
    """
    lines = entries((series for series in found if series.kind != MEASURED), runs)
    for number, (text, colour) in enumerate(reversed(lines)):
        axes.text(
            0.985,
            0.05 + 0.085 * number,
            text,
            transform=axes.transAxes,
            ha="right",
            size=8,
            color=colour,
        )


Entry = tuple[str, str]
"""A line of a key, and its colour."""
ROW_LINE = 0.2
"""Inches."""


def key_row(figure: Figure, lines: Sequence[Entry], top: float) -> None:
    """Entries beside one another, over as many lines as they need."""
    for (text, colour), (left, line) in zip(lines, _places(lines), strict=True):
        write(figure, left, top + ROW_LINE * line, text, size=8.5, colour=colour)


def row_height(lines: Sequence[Entry]) -> float:
    """Inches that :func:`key_row` takes."""
    return ROW_LINE * max((line + 1 for _, line in _places(lines)), default=0)


def _places(lines: Sequence[Entry]) -> list[tuple[float, int]]:
    """Where entries go: inches from the left, and line."""
    places: list[tuple[float, int]] = []
    left, line = 0.72, 0
    for text, _ in lines:
        width = 0.3 + 0.066 * len(text)
        if places and left + width > 9.3:
            left, line = 0.72, line + 1
        places.append((left, line))
        left += width
    return places


def entries(
    found: Iterable[Series], runs: Sequence[str], ends: Mapping[str, str] = ENDS
) -> list[Entry]:
    """The lines of a key with their colours, each once."""
    found = tuple(found)
    lines = [(_words(series, runs, ends), colour_of(series)) for series in found]
    if any(point.unstable for series in found for point in series.points):
        lines.append((UNSTABLE, LIGHT.ink))
    return list(dict.fromkeys(lines))


def _words(series: Series, runs: Sequence[str], ends: Mapping[str, str]) -> str:
    dashed = DASHED if series.name in DASHED_NAMES else "\N{EM DASH}"
    glyph = dashed if series.kind == MODELLED else _shape(series, runs)[1]
    if series.kind == MEASURED:
        glyph = f"{dashed} {glyph}"
    if series.name == OTHERS:
        return f"{glyph} {OTHERS}"
    return f"{glyph} {series.name}, {series.origin}{ends[series.kind] if _has_ends(series) else ''}"


def _shape(series: Series, runs: Sequence[str]) -> Shape:
    if series.kind == MEASURED:
        return RUN_SHAPES[runs.index(series.run) % len(RUN_SHAPES)]
    return PUBLISHED_SHAPES.get(series.name, RING)


def _line(series: Series) -> str | tuple[int, tuple[int, int]]:
    return (0, (3, 2)) if series.name in DASHED_NAMES else "solid"


def _has_ends(series: Series) -> bool:
    return not any(math.isnan(point.low) for point in series.points)


def values_of(points: Iterable[Point]) -> list[float]:
    """Every number that is drawn of points: values and ends."""
    numbers = [end for point in points for end in (point.value, point.low, point.high)]
    return [number for number in numbers if not math.isnan(number)]


def tokens_axis(axes: Axes, span: tuple[int, int], found: Iterable[Series] = ()) -> None:
    """Powers of two over ``span``, or more where a series has more."""
    tokens = [*span, *(point.tokens for series in found for point in series.points)]
    low, high = min(tokens), max(tokens)
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / 1.4, high * 1.4)
    ticks = [4**power for power in range(32)]
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [str(tick) for tick in shown])
    axes.minorticks_off()
    axes.set_xlabel("tokens M")


def state(
    figure: Figure,
    sources: Sources,
    drawn: Mapping[str, Sequence[Point]],
    top: float,
    published: str = "",
) -> None:
    """For each kind, in its colour, how many values the figure has of it.

    ``published`` says what the published ones are, if there are any.
    """
    there = sources.state()
    words = {kind: _count(drawn.get(kind, ()), there[kind]) for kind in COLOURS}
    if drawn.get(PUBLISHED) and published:
        words[PUBLISHED] += f" ({published})"
    if drawn.get(MEASURED):
        words[MEASURED] += f" of {', '.join(sources.devices)}"
    elif sources.rows:
        words[MEASURED] = f"none here ({there[MEASURED]})"
    left = 0.12
    for kind in (PUBLISHED, MODELLED, MEASURED):  # what is said of the last may be long
        text = f"{kind}: {words[kind]}"
        write(figure, left, top, text, size=8, colour=COLOURS[kind])
        left += 0.35 + 0.063 * len(text)


def _count(points: Sequence[Point], there: str) -> str:
    if not points and there.startswith("not yet"):
        return there
    unstable = sum(point.unstable for point in points)
    crossed = f", {unstable} of them UNSTABLE," if unstable else ""
    return f"{len(points) or 'no'} {'value' if len(points) == 1 else 'values'}{crossed}"


def by_kind(found: Iterable[Series]) -> dict[str, list[Point]]:
    """The points of series, by kind."""
    points: dict[str, list[Point]] = {}
    for series in found:
        points.setdefault(series.kind, []).extend(series.points)
    return points
