"""Loads in flight and the waits that end them, in the order of issue."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.counts import read_counts
from ..files import read_csv
from ..study.tables import TIMELINE, TIMELINE_COLUMNS
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here
from .theme import LIGHT

_TO_LDS, _LOAD, _READ, _MFMA, _WAIT, _BARRIER = (
    *("load to LDS", "load", "LDS read", "MFMA", "wait", "barrier"),
)
_COLOURS = {_TO_LDS: LIGHT.more, _LOAD: LIGHT.other}
_HEIGHT, _TICK = 2.9, 50

Event = dict[str, str]


def loads_and_waits() -> Figure:
    """One bar per load from its issue to the wait that ends it, before and after the flag."""
    rows = read_csv(TIMELINE, TIMELINE_COLUMNS)
    settings = list(dict.fromkeys(row["flags"] for row in rows))
    panels = [[row for row in rows if row["flags"] == flags] for flags in settings]
    left, right = _window(panels)
    with styled():
        figure = sheet(9.4, 1.44 + len(panels) * (_HEIGHT + 0.62))
        heading(
            figure,
            "The parent's wait ends loads that nobody is waiting for yet",
            f"gemm2 {rows[0]['variant']}, both K tiles of the first wave's first tile. One bar per "
            "load, from its issue to the wait that ends it (dashed).\nSolid: barriers. The axis "
            "counts executed instructions; it says nothing of time.",
        )
        top = 0.98
        for flags, events in zip(settings, panels, strict=True):
            write(figure, 0.12, top, _title(flags, events), size=9.5, weight="bold")
            axes = axes_at(figure, Place(0.3, top + 0.32, 8.9, _HEIGHT))
            _panel(axes, events, left, right)
            top += _HEIGHT + 0.62
        axes.set_xlabel("instructions executed by the wave")
        source_line(figure, f"executed in the emulator; {compiled_here(read_counts())}")
    return figure


def _window(panels: Sequence[Sequence[Event]]) -> tuple[int, int]:
    """From the first load to some time after the last one has ended, in any panel."""
    loads = [load for events in panels for load in _loads(events)]
    last = max(int(load["ended_by"]) for load in loads if load["ended_by"])
    return min(map(_at, loads)) - 4, last + 24


def _at(event: Event) -> int:
    return int(event["position"])


def _loads(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if event["kind"] in _COLOURS]


def _first_fence(events: Sequence[Event]) -> Event:
    """The first wait that ends a load to LDS."""
    ended = min(int(one["ended_by"]) for one in events if one["kind"] == _TO_LDS)
    return next(event for event in events if _at(event) == ended)


def _title(flags: str, events: Sequence[Event]) -> str:
    fence = _first_fence(events)
    at = _at(fence)
    gone = [one for one in _loads(events) if one["ended_by"] and int(one["ended_by"]) <= at]
    name = "parent" if flags == "none" else f"{flags} alone"
    waits = sum(event["kind"] == _WAIT and event["region"] == "drain" for event in events)
    return (
        f"{name}: {len(gone)} of {len(_loads(events))} loads are waited for before the first LDS "
        f"read; {waits} waits in the drain"
    )


def _panel(axes: Axes, events: Sequence[Event], left: int, right: int) -> None:
    loads = _loads(events)
    for y, load in enumerate(loads):
        end = int(load["ended_by"]) if load["ended_by"] else right
        axes.plot([_at(load), end], [y, y], color=_COLOURS[load["kind"]], linewidth=2.4)
    below = len(loads) + 2
    for y, kind in enumerate((_WAIT, _READ, _MFMA)):
        at = [_at(event) for event in events if event["kind"] == kind]
        at = [one for one in at if left <= one < right]
        colour = LIGHT.more if kind == _WAIT else LIGHT.ink
        axes.plot(at, [below + 3 * y] * len(at), "|", color=colour, markersize=6, mew=0.9)
        axes.text(left, below + 3 * y, f"{kind}s", va="center", size=8, color=LIGHT.muted)
    _fences(axes, events, len(loads), right)
    kinds = [load["kind"] for load in loads]
    first = kinds.index(_LOAD)
    places = {_TO_LDS: first + 1.5, _LOAD: first + kinds.count(_LOAD) / 2}
    for kind, text in ((_TO_LDS, "A tiles, to LDS"), (_LOAD, "B and scales, to registers")):
        colour = _COLOURS[kind]
        axes.text(left, places[kind], text, color=colour, size=8.5, weight="bold", va="center")
    axes.set_xlim(left, right)
    axes.set_ylim(below + 7.5, -11)
    axes.set_xticks(range(-(-left // _TICK) * _TICK, right, _TICK))
    axes.set_yticks([])
    axes.tick_params(axis="x", labelsize=7.5)


def _fences(axes: Axes, events: Sequence[Event], count: int, right: int) -> None:
    """Barriers, and the waits that end loads with the counts that they wait for."""
    ending = {load["ended_by"] for load in _loads(events)}
    for event in events:
        at = _at(event)
        if at >= right:
            break
        if event["kind"] == _BARRIER:
            axes.plot([at, at], [-1, count + 9], color=LIGHT.ink, linewidth=1.1)
        elif event["position"] in ending:
            axes.plot(
                [at, at], [-1, count], color=LIGHT.muted, linewidth=0.7, linestyle=(0, (3, 2))
            )
            text = event["opcode"].removeprefix("s_waitcnt ").split()[0]
            axes.text(at, -1.6, text, rotation=90, ha="center", va="bottom", size=7.5)
