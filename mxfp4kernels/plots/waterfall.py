"""From the parent's form to the merged one, flag by flag, for every variant."""

from __future__ import annotations

from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..ablation.counts import CountTable, read_counts
from ..ablation.effects import Change, Twins, amount, flags_of, steps, twins, whole
from ..shapes import KERNELS
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here, percent, signed, title_of
from .theme import LIGHT

COLUMNS = 4
NUMBERS = 0.46
"""The part of a panel's width, on the right, that is kept for the numbers."""
_LEFT, _TOP, _WIDTH, _HEIGHT, _GAP, _DOWN = 1.72, 1.16, 1.80, 1.10, 0.09, 0.42


def waterfall() -> Figure:
    """One panel per variant, one step per flag of its kernel in registry order."""
    table = read_counts()
    low = min(_lowest(table, variant) for variant in twins(table))
    grid = [
        row
        for kernel in KERNELS
        for row in _rows([variant for variant in twins(table) if variant.kernel == kernel])
    ]
    with styled():
        figure = sheet(9.4, _TOP + len(grid) * (_HEIGHT + _DOWN) + 0.28)
        heading(
            figure,
            "What each change does to the instructions besides MFMA, one on top of the other",
            "Steps from the parent commit to the merged one, in percent of the parent's "
            "instructions without MFMA. Numbers are instructions,\nwith the class that changes "
            "most. A row without a number: the flag has no place in that variant.",
        )
        for down, row in enumerate(grid):
            top = _TOP + down * (_HEIGHT + _DOWN)
            write(figure, 0.12, top - 0.21, row[0].kernel, size=11, weight="bold")
            for across, variant in enumerate(row):
                place = Place(_LEFT + across * (_WIDTH + _GAP), top, _WIDTH, _HEIGHT)
                axes = axes_at(figure, place)
                _panel(axes, table, variant)
                _scale(axes, low)
                axes.tick_params(labelleft=across == 0, labelbottom=down == len(grid) - 1)
        source_line(figure, compiled_here(table))
    return figure


def _rows(variants: list[Twins]) -> list[list[Twins]]:
    return [variants[at : at + COLUMNS] for at in range(0, len(variants), COLUMNS)]


def _lowest(table: CountTable, variant: Twins) -> float:
    """The lowest end of a step in percent."""
    ends = accumulate(step.amount() for step in steps(table, variant.first).values())
    return 100 * min(ends) / amount(whole(table, variant.first).before)


def _scale(axes: Axes, low: float) -> None:
    """The same scale for every panel, from a little below ``low`` to the numbers."""
    left = 1.08 * low
    axes.set_xlim(left, -left * NUMBERS / (1 - NUMBERS))
    ticks = [tick for tick in MaxNLocator(nbins=3).tick_values(low, 0) if left < tick <= 0]
    axes.set_xticks(ticks, [percent(tick) if tick else "0" for tick in ticks], size=7.5)


def _panel(axes: Axes, table: CountTable, variant: Twins) -> None:
    flags = flags_of(variant.kernel)
    total = whole(table, variant.first)
    base = amount(total.before)
    at = 0.0
    for flag, step in steps(table, variant.first).items():
        at = _step(axes, flags.index(flag), at, step, base)
    last = len(flags)
    axes.barh(last, at, height=0.72, color=LIGHT.muted)
    axes.text(
        max(at, 0) + 1,
        last,
        f"{signed(total.amount())} of {base}",
        va="center",
        size=8,
        weight="bold",
    )
    axes.axvline(0, color=LIGHT.muted, linewidth=0.8)
    axes.set_ylim(last + 0.6, -0.6)
    axes.set_yticks(range(last + 1), [*map(title_of, flags), "all together"])
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    axes.set_title(variant.name, pad=4)


def _step(axes: Axes, row: int, start: float, step: Change, base: int) -> float:
    """A floating bar; returns where it ends."""
    width = 100 * step.amount() / base
    end = start + width
    axes.barh(row, width, left=start, height=0.72, color=LIGHT.more if width > 0 else LIGHT.fewer)
    axes.plot([end, end], [row - 0.36, row + 1.36], color=LIGHT.muted, linewidth=0.7)
    what = f" {step.main_class}" if step.main_class else ""
    axes.text(max(start, end, 0) + 1, row, f"{signed(step.amount())}{what}", va="center", size=8)
    return end
