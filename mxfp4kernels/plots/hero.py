"""The picture at the top of the README: the gain over M, modelled and as the commits state it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..ablation.published import FIGURES as PUBLISHED_FIGURES
from ..curves.origins import GAINS, Point, read_gains
from ..curves.published import ROUTINGS, ClaimedRatio, read_claimed_ratios
from ..files import read_csv
from ..shapes import KERNELS, dispatch
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import NONE_YET, measured_elsewhere, percent
from .stated import CLAIMS, TOGETHER, Claim, claims_of, gain, highest
from .theme import Theme

SOURCES = (GAINS, CLAIMS, PUBLISHED_FIGURES)
FAMILY = ROUTINGS["A"]
CHANGES: Mapping[tuple[str, ...], str] = {
    ("bare_pointer_abi",): "pointer ABI alone",
    TOGETHER: "waits,\nhoisting,\ndiv/rem",
    ("hardware_exp2",): "hardware\nexp2",
}
"""The changes that a claim is about, in a few words."""
TICK = 5
"""Percents from one tick to the next."""
OPEN = "No device has been measured here: which of the two is right is open."
SETTLED = "What devices say is in the figure per-m-speedup."
NEAR_ZERO = 1.1
"""Percent within which a label would lie on the curve."""
_BELOW, _ABOVE = 2.2, 2.4
"""Percent left for labels under zero and above the highest value."""
_FIRST, _LAST = 0.7, 46000
Marks = tuple[tuple[float, ...], tuple[float, ...]]
"""Inches to the right and down, of the ends of a mark in the key."""


def words_of(claim: Claim) -> str:
    """What a claim is about, in a few words."""
    words = CHANGES[claim.flags]
    return f"{words}: level" if claim.level else words


def curve_of(kernel: str) -> list[Point]:
    """The modelled gain of all changes together in percent, of the variant that is run at M."""
    gains = read_gains()
    found = [
        point
        for (of, variant, routing, tokens), point in gains.items()
        if (of, routing) == (kernel, FAMILY) and variant == dispatch(kernel, tokens).name
    ]
    return [
        Point(p.tokens, 100 * (p.value - 1), 100 * (p.low - 1), 100 * (p.high - 1))
        for p in sorted(found, key=lambda p: p.tokens)
    ]


def hero(theme: Theme) -> Figure:
    """Gain over M: a band for the model, rings for what the commits state."""
    curves = {kernel: curve_of(kernel) for kernel in KERNELS}
    claims = {kernel: claims_of(kernel) for kernel in KERNELS}
    stated, found = highest([claim for mine in claims.values() for claim in mine])
    measured = measured_elsewhere()
    open_ = OPEN if measured == NONE_YET else SETTLED
    with styled(theme):
        figure = sheet(9.4, 5.27)
        heading(
            figure,
            f"The published speedups are up to {percent(stated)}; at the same points the model "
            f"gives at most {percent(found)}",
            "How much faster the pull request made each kernel, over the number of tokens. The "
            f"model has most launches wait for memory,\nso fewer instructions hardly show. {open_}",
            theme,
        )
        for across, kernel in enumerate(KERNELS):
            axes = axes_at(figure, Place(0.66 + 4.5 * across, 1.3, 4.05, 2.62))
            _panel(axes, curves[kernel], claims[kernel], theme)
            _scale(axes, curves, claims)
            axes.set_title(kernel, size=11)
            if across == 0:
                axes.set_ylabel("faster by, %")
        _key(figure, 4.42, theme)
        write(figure, 0.12, 4.74, conversions(), size=7.5, colour=theme.muted)
        source_line(
            figure,
            "modelled: data/timing/gains.csv, claims.csv; published: commits of ROCm/aiter "
            f"PR #3828; measured: {measured}. Kimi-K2.5 TP4 shape, routing family A",
            theme,
        )
    return figure


def conversions() -> str:
    """How what the commits say became how much faster, by the example of each kind's largest."""
    rows = read_csv(CLAIMS)
    less = min(float(row["published_low_pct"]) for row in rows if "faster" in row["text"])
    large = next(row for row in rows if "large M" in row["text"])
    ratios = [(one, other) for one in _ratios(after=False) for other in _ratios(after=True)]
    pairs = [(a.value, b.value) for a, b in ratios if (a.kernel, a.tokens) == (b.kernel, b.tokens)]
    before, after = max(pairs, key=lambda pair: pair[0] / pair[1])
    return (
        f'Published words as gains: "about {percent(-less)} faster" is read as that much less '
        f"time, so {percent(gain(less), 1)} faster; a ratio to HIP from {before:.2f} to "
        f"{after:.2f} is\n{percent(100 * (before / after - 1))} faster; "
        f'"{large["text"]}" is read as less time, and drawn at M={large["M"]} only.'
    )


def _ratios(after: bool) -> list[ClaimedRatio]:
    return [claim for claim in read_claimed_ratios() if claim.after == after]


def _panel(axes: Axes, curve: Sequence[Point], claims: Sequence[Claim], theme: Theme) -> None:
    axes.axhline(0, color=theme.muted, linewidth=0.8)
    x = [point.tokens for point in curve]
    axes.fill_between(
        x,
        [point.low for point in curve],
        [point.high for point in curve],
        color=theme.compiled,
        alpha=0.25,
        linewidth=0,
    )
    axes.plot(x, [point.value for point in curve], color=theme.compiled, linewidth=2.2)
    for claim in claims:
        _claim(axes, claim, theme)
    _label(axes, claims, theme)
    axes.set_xscale("log", base=2)
    axes.set_xlim(_FIRST, _LAST)
    ticks = [4**power for power in range(8)]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("tokens M")
    axes.grid(axis="y")


def _scale(
    axes: Axes, curves: Mapping[str, Sequence[Point]], claims: Mapping[str, Sequence[Claim]]
) -> None:
    """The same in both panels, and wide enough for whatever is in either."""
    lows = [point.low for curve in curves.values() for point in curve]
    highs = [point.high for curve in curves.values() for point in curve]
    for claim in (claim for found in claims.values() for claim in found):
        lows.append(min(claim.low, claim.modelled))
        highs.append(max(claim.high, claim.modelled))
    low, high = min(-_BELOW, *lows), max(highs) + _ABOVE
    axes.set_ylim(low, high)
    ticks = range(TICK * round(low / TICK), int(high - _ABOVE) + 1, TICK)
    axes.set_yticks(ticks, [f"{tick:+d}" if tick else "0" for tick in ticks])


def _claim(axes: Axes, claim: Claim, theme: Theme) -> None:
    """A ring or a range as published, a dot as modelled, and the gap between them."""
    at = claim.tokens
    axes.plot([at, at], [claim.modelled, claim.low], ":", color=theme.muted, linewidth=1.2)
    if claim.high > claim.low:
        axes.plot([at, at], [claim.low, claim.high], color=theme.published, linewidth=1.6)
        for end in (claim.low, claim.high):
            axes.plot(at, end, "_", color=theme.published, markersize=9, mew=1.6)
    else:
        axes.plot(at, claim.low, "o", markersize=7, mfc=theme.paper, mec=theme.published, mew=1.6)
    axes.plot(at, claim.modelled, "o", markersize=4.5, color=theme.compiled)


def _label(axes: Axes, claims: Sequence[Claim], theme: Theme) -> None:
    """What each claim is about: once for neighbours of one height, or else beside each."""
    for words, group in groupby(claims, key=words_of):
        members = list(group)
        tops = [claim.high for claim in members]
        if max(tops) - min(tops) < NEAR_ZERO:
            middle = _geometric_mean([claim.tokens for claim in members])
            _above(axes, words, middle, max(tops), theme)
            continue
        for claim in members[:-1]:
            _left(axes, words, claim, theme)
        _above(axes, words, members[-1].tokens, tops[-1], theme)


def _above(axes: Axes, words: str, at: float, top: float, theme: Theme) -> None:
    """Over a mark, or under the axis where it would lie on the curve."""
    below = top < NEAR_ZERO
    place, offset = (-NEAR_ZERO, 0) if below else (top, 8)
    _annotate(
        axes, words, (at, place), (0, offset), ("center", "top" if below else "bottom"), theme
    )


def _left(axes: Axes, words: str, claim: Claim, theme: Theme) -> None:
    _annotate(axes, words, (claim.tokens, claim.middle), (-8, 0), ("right", "center"), theme)


def _annotate(
    axes: Axes,
    words: str,
    at: tuple[float, float],
    offset: tuple[float, float],
    align: tuple[str, str],
    theme: Theme,
) -> None:
    axes.annotate(
        words,
        at,
        xytext=offset,
        textcoords="offset points",
        ha=align[0],
        va=align[1],
        size=8.5,
        color=theme.ink,
        linespacing=1.15,
        bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.5},
    )


def _geometric_mean(numbers: Sequence[int]) -> float:
    return float(math.prod(numbers) ** (1 / len(numbers)))


def _key(figure: Figure, top: float, theme: Theme) -> None:
    """Each mark as the panels have it, and what it stands for."""
    width, height = figure.get_size_inches()
    across, point, upright = ((0.0, 0.18), (0, 0)), ((0.09,), (0,)), ((0.09, 0.09), (-0.07, 0.07))
    bar = {"marker": "_", "markersize": 7, "mew": 1.6, "linewidth": 1.6}
    ring = {"marker": "o", "markersize": 7, "mew": 1.6, "mfc": theme.paper}
    dot = {"marker": "o", "markersize": 4.5}
    entries: tuple[tuple[str, str, Marks, dict[str, Any]], ...] = (
        ("all changes, modelled, with band", theme.compiled, across, {"linewidth": 2.2}),
        ("the named change, modelled", theme.compiled, point, dot),
        ("published", theme.published, point, ring),
        ("published range", theme.published, upright, bar),
    )
    left = 0.66
    for words, colour, (right, down), style in entries:
        x = [(left + inches) / width for inches in right]
        y = [1 - (top + 0.08 + inches) / height for inches in down]
        figure.add_artist(Line2D(x, y, color=colour, **style))
        write(figure, left + 0.26, top, words, size=9, colour=colour)
        left += 0.62 + 0.07 * len(words)
