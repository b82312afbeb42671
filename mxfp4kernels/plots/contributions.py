"""What each flag is worth at a few M, by study: published, modelled and measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..curves.origins import MEASURED, PUBLISHED, Launch, Point
from ..curves.series import Contribution, Sources, contributions, read_all
from ..flags import FLAGS, NONE, FlagSet, acting
from ..shapes import KERNELS, dispatch
from .canvas import Place, axes_at, heading, sheet, styled, write
from .labels import percent, title_of
from .series import COLOURS, UNSTABLE, cross_out, state
from .stated import Claim, claims_of
from .theme import LIGHT

TOKENS = (4, 8, 64, 512, 4096, 16384)
"""Those of every claim, and one between."""
STEP, WIDTH = 1.19, 1.07
"""Inches from panel to panel, and of one."""
STEPS = (5, 10, 20, 50, 100, 200, 500)
"""Percents from tick to tick, for ranges of different width."""
NOTE_WIDTH = 130
"""Characters of a line."""
STUDIES = ("alone", "leave-one-out", "cumulative")

Row = tuple[str, ...]
"""The flags whose common worth a row shows."""
Lane = tuple[str, str]
"""A kind and a device: each has its place in a row."""


@dataclass(frozen=True)
class Panel:
    """What is known of a kernel at an M, and the rows that it is shown in."""

    kernel: str
    tokens: int
    rows: tuple[Row, ...]
    found: tuple[Contribution, ...]
    claims: tuple[Claim, ...]

    @property
    def values(self) -> list[float]:
        """Every percentage in it."""
        points = [one.point for one in self.found]
        ends = [end for point in points for end in (point.value, point.low, point.high)]
        stated = [end for claim in self.claims for end in (claim.low, claim.high)]
        return [*stated, *(_percent(end) for end in ends if not math.isnan(end))]


def flag_contributions(sources: Sources | None = None) -> Figure:
    """A row per flag and kernel, a column per M: what the flag is worth by each study."""
    sources = sources or read_all()
    blocks = [[_panel(sources, kernel, tokens) for tokens in TOKENS] for kernel in KERNELS]
    panels = [panel for block in blocks for panel in block]
    lanes = list(dict.fromkeys((one.kind, one.device) for panel in panels for one in panel.found))
    lanes.sort(key=lambda lane: lane[0] == MEASURED)
    values = [0.0, *(value for panel in panels for value in panel.values)]
    height = 0.24 if len(lanes) < 2 else 0.28 * len(lanes)
    notes = _notes(panels, lanes)
    head = 1.52 + 0.2 * len(notes.splitlines())
    total = sum(len(block[0].rows) * height + 0.84 for block in blocks)
    with styled():
        figure = sheet(9.4, head - 0.1 + total)
        heading(
            figure,
            "What each change is worth, by the number of tokens",
            "Time without the flag over time with it, in percent above one, routing family A. "
            "Ring: alone, dot: on top of all others, bar: in the order\nof the pull request. "
            'Triangles: what its commits state, zero where it is "level". Grey: no such flag. '
            "No mark: no value yet.",
        )
        write(figure, 0.12, 0.8, notes, size=8.5, colour=COLOURS[MEASURED])
        top = head
        for block in blocks:
            write(figure, 0.12, top - 0.38, block[0].kernel, size=11, weight="bold")
            for column, panel in enumerate(block):
                place = Place(2.2 + STEP * column, top, WIDTH, len(panel.rows) * height)
                axes = axes_at(figure, place)
                _draw(axes, panel, lanes)
                _scale(axes, min(values), max(values))
                axes.set_title(f"M={panel.tokens}", pad=15)
                name = dispatch(panel.kernel, panel.tokens).name
                write(figure, place.left, top - 0.16, name, size=7.5, colour=LIGHT.muted)
                axes.tick_params(labelleft=column == 0)
            top += len(block[0].rows) * height + 0.84
        state(figure, sources, _drawn(panels), top - 0.36, "gains, by M")
    return figure


def _panel(sources: Sources, kernel: str, tokens: int) -> Panel:
    stated = claims_of(kernel)
    here = [claim for claim in stated if claim.tokens == tokens]
    rows = _rows_of(kernel, stated)
    found = contributions(sources, kernel, "A", tokens)
    for row in (row for row in rows if len(row) > 1):
        found += together(sources, kernel, row, tokens)
    return Panel(kernel, tokens, tuple(rows), tuple(found), tuple(here))


def together(sources: Sources, kernel: str, row: Row, tokens: int) -> list[Contribution]:
    """What several flags are worth at once, by every study; empty where one does not act."""
    launch = Launch(dispatch(kernel, tokens), "A", tokens)
    if not set(row) <= acting(launch.variant):
        return []
    return [
        Contribution("+".join(row), study, origin.kind, launch.variant, point, origin.name)
        for origin in sources.origins
        for study, without, with_ in _pairs_together(frozenset(row), acting(launch.variant))
        if (point := origin.gain(launch, without, with_)) is not None
    ]


def _pairs_together(row: FlagSet, everything: FlagSet) -> list[tuple[str, FlagSet, FlagSet]]:
    """A study with its settings without and with the flags of ``row``."""
    order = [flag.name for flag in FLAGS if flag.name in everything]
    before = frozenset(order[: min(map(order.index, row))])
    settings = ((NONE, row), (everything - row, everything), (before, before | row))
    return [(study, *pair) for study, pair in zip(STUDIES, settings, strict=True)]


def _row_of(one: Contribution) -> Row:
    return tuple(one.flag.split("+"))


def _rows_of(kernel: str, claims: Sequence[Claim]) -> list[Row]:
    """A row for each flag of a kernel, and for each group that a claim is about."""
    names = {name for tokens in TOKENS for name in acting(dispatch(kernel, tokens))}
    single: list[Row] = [(flag.name,) for flag in FLAGS if flag.name in names]
    groups = {claim.flags for claim in claims if len(claim.flags) > 1}
    return [*single, *sorted(groups)]


def _notes(panels: Sequence[Panel], lanes: Sequence[Lane]) -> str:
    """What marks stand for that only measured values have; empty without any."""
    if all(kind != MEASURED for kind, _ in lanes):
        return ""
    names = "; ".join(f"{kind} {device}".rstrip() for kind, device in lanes)
    crossed = any(one.point.unstable for panel in panels for one in panel.found)
    unstable = f" {UNSTABLE}." if crossed else ""
    text = f"In each row from the top: {names}. Lines: intervals.{unstable}"
    return "\n".join(textwrap.wrap(text, NOTE_WIDTH, break_on_hyphens=False))


def _drawn(panels: Sequence[Panel]) -> dict[str, list[Point]]:
    points: dict[str, list[Point]] = {}
    for panel in panels:
        for one in panel.found:
            points.setdefault(one.kind, []).append(one.point)
    claims = [claim for panel in panels for claim in panel.claims]
    points[PUBLISHED] = [Point(claim.tokens, claim.low) for claim in claims]
    return points


def _draw(axes: Axes, panel: Panel, lanes: Sequence[Lane]) -> None:
    axes.axvline(0, color=LIGHT.muted, linewidth=0.8)
    for one in panel.found:
        _contribution(axes, panel, one, lanes)
    for claim in panel.claims:
        place = panel.rows.index(claim.flags)
        ends = [claim.low, claim.high]
        axes.plot(ends, [place] * 2, "-<", ms=4.5, color=LIGHT.ink, mfc=LIGHT.paper, lw=0.9)
    variant_flags = acting(dispatch(panel.kernel, panel.tokens))
    for place, row in enumerate(panel.rows):
        if not set(row) <= variant_flags:
            axes.axhspan(place - 0.5, place + 0.5, color=LIGHT.faint, alpha=0.5, lw=0)
    names = [
        title_of(row[0]) if len(row) == 1 else f"those {len(row)} together" for row in panel.rows
    ]
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)
    axes.set_yticks(range(len(panel.rows)), names)


def _contribution(axes: Axes, panel: Panel, one: Contribution, lanes: Sequence[Lane]) -> None:
    """A mark by its study; those with an interval lie one below another, so that all are seen."""
    lane, share = lanes.index((one.kind, one.device)), 1 / len(lanes)
    y = panel.rows.index(_row_of(one)) + (lane + 0.5) * share - 0.5
    colour, x = COLOURS[one.kind], _percent(one.point.value)
    half = 0.3 * share
    if not math.isnan(one.point.low):
        y += half * (STUDIES.index(one.study) - 1)
        half *= 0.5
        ends = [_percent(one.point.low), _percent(one.point.high)]
        axes.plot(ends, [y, y], color=colour, lw=0.9)
    if one.study == "alone":
        axes.plot(x, y, "o", ms=5.5, mfc=LIGHT.paper, mec=colour, mew=1.2)
    elif one.study == "leave-one-out":
        axes.plot(x, y, "o", ms=3.5, color=colour)
    else:
        axes.plot([x, x], [y - half, y + half], color=colour, lw=1.6)
    if one.point.unstable:
        cross_out(axes, x, y)


def _scale(axes: Axes, low: float, high: float) -> None:
    """The same in every panel, and wide enough for whatever is in any of them."""
    pad = 0.1 * (high - low) + 1
    axes.set_xlim(low - pad, high + pad)
    step = next((step for step in STEPS if high - low <= 3 * step), STEPS[-1])
    ticks = range(-step * int(-low // step), int(high) + 1, step)
    axes.set_xticks(ticks, [percent(tick) for tick in ticks], size=7.5)
    axes.grid(axis="x")


def _percent(gain: float) -> float:
    return 100 * (gain - 1)
