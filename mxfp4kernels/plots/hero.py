"""The picture at the top of the README: the gain over M, modelled and as the commits state it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..curves.origins import GAINS, Point, read_gains
from ..curves.published import ROUTINGS
from ..files import DATA, read_csv
from ..shapes import KERNELS, dispatch
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import NONE_YET, measured_elsewhere, percent
from .theme import Theme

CLAIMS = DATA / "timing" / "claims.csv"
SOURCES = (GAINS, CLAIMS)
FAMILY = ROUTINGS["A"]
CHANGES: Mapping[str, str] = {
    "bare_pointer_abi": "pointer ABI alone",
    "gemm2": "waits, hoisting,\ndiv/rem",
    "hardware_exp2": "hardware\nexp2",
}
"""By the first word of a claim the changes that it is about, in a few words; neighbours with the
same words are labelled once."""
TICK = 5
"""Percents from one tick to the next."""
OPEN = "No device has been measured here: which of the two is right is open."
SETTLED = "What devices say is in the figure per-m-speedup."
NEAR_ZERO = 1.1
"""Percent within which a label would lie on the curve."""
_BELOW, _ABOVE = 2.2, 2.4
"""Percent left for labels under zero and above the highest value."""
_FIRST, _LAST = 0.7, 46000


@dataclass(frozen=True)
class Claim:
    """A gain in percent: as published, lowest and highest, and modelled for the same changes."""

    words: str
    tokens: int
    low: float
    high: float
    modelled: float

    @property
    def middle(self) -> float:
        """Of the published range."""
        return (self.low + self.high) / 2


def gain(change: float) -> float:
    """How many percent more a kernel does per time whose time changes by ``change`` percent."""
    return 100 * (1 / (1 + change / 100) - 1)


def claims_of(kernel: str) -> list[Claim]:
    """The claims about a kernel, by M."""
    made = [
        Claim(
            _words(row),
            int(row["M"]),
            gain(float(row["published_high_pct"])),
            gain(float(row["published_low_pct"])),
            gain(float(row["modelled_pct"])),
        )
        for row in read_csv(CLAIMS)
        if row["kernel"] == kernel
    ]
    return sorted(made, key=lambda claim: claim.tokens)


def _words(row: Mapping[str, str]) -> str:
    words = CHANGES[row["claim"].split()[0]]
    no_change = float(row["published_low_pct"]) == float(row["published_high_pct"]) == 0
    return f"{words}: level" if no_change else words


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
    stated = max(claim.high for found in claims.values() for claim in found)
    found = max(point.value for curve in curves.values() for point in curve)
    measured = measured_elsewhere()
    open_ = OPEN if measured == NONE_YET else SETTLED
    with styled(theme):
        figure = sheet(9.4, 4.9)
        heading(
            figure,
            f"Published: up to {percent(stated)} faster. Modelled: up to {percent(found)}.",
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
        source_line(
            figure,
            "modelled: data/timing/gains.csv, claims.csv; published: commits of ROCm/aiter "
            f"PR #3828; measured: {measured}. Kimi-K2.5 TP4 shape, routing family A",
            theme,
        )
    return figure


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
    """What each claim is about, once for neighbours; above the highest, or below the curve."""
    for words, group in groupby(claims, key=lambda claim: claim.words):
        members = list(group)
        middle = _geometric_mean(claim.tokens for claim in members)
        top = max(claim.high for claim in members)
        below = top < NEAR_ZERO
        axes.annotate(
            words,
            (middle, -NEAR_ZERO if below else top),
            xytext=(0, 0 if below else 8),
            textcoords="offset points",
            ha="center",
            va="top" if below else "bottom",
            size=8.5,
            color=theme.ink,
            linespacing=1.15,
        )


def _geometric_mean(numbers: Iterable[int]) -> float:
    product, count = 1.0, 0
    for number in numbers:
        product, count = product * number, count + 1
    return float(product ** (1 / count))


def _key(figure: Figure, top: float, theme: Theme) -> None:
    entries = (
        ("\N{EM DASH}", "all changes, modelled, with band", theme.compiled),
        ("\N{BLACK CIRCLE}", "the named change, modelled", theme.compiled),
        ("\N{WHITE CIRCLE}", "the named change, published", theme.published),
    )
    left = 0.66
    for glyph, words, colour in entries:
        write(figure, left, top, f"{glyph} {words}", size=9, colour=colour)
        left += 0.5 + 0.073 * len(words)
