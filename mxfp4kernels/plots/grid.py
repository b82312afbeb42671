"""Every flag against every variant: what its step does to the instructions."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..ablation.counts import CountTable, read_counts
from ..ablation.effects import Change, Twins, amount, steps, twins, whole
from ..flags import MERGE_COMMIT, NAMES, PARENT_COMMIT
from ..shapes import KERNELS
from .canvas import Place, axes_at, heading, sheet, source_line, styled
from .labels import compiled_here, percent, signed, title_of
from .theme import LIGHT, Theme

GAP = 0.35
"""Columns between the two kernels."""
FULL = 30.0
"""The change in percent that is painted at full strength."""
_CELL, _LEFT = 0.6, 1.74


def instruction_grid(theme: Theme = LIGHT) -> Figure:
    """A cell per flag and variant: instructions besides MFMA that the flag's step adds."""
    table = read_counts()
    variants = twins(table)
    columns = len(variants) + GAP * (len(KERNELS) - 1)
    height = 0.42 * (len(NAMES) + 1.25)
    with styled(theme):
        figure = sheet(9.4, 2.02 + height)
        heading(
            figure,
            "What each change does to the compiled kernels",
            f"ROCm/aiter {PARENT_COMMIT} to {MERGE_COMMIT}, one change on top of the other: "
            "instructions besides MFMA, and the class that changes most.\n"
            "Blue: fewer, orange: more, by share of the parent's. Empty: the change has no place "
            "in that variant.",
            theme,
        )
        axes = axes_at(figure, Place(_LEFT, 1.52, columns * _CELL, height))
        for number, variant in enumerate(variants):
            x = number + GAP * KERNELS.index(variant.kernel)
            _column(axes, x, table, variant, theme)
        axes.set_xlim(0, columns)
        axes.set_ylim(len(NAMES) + 1.25, 0)
        centres = [row + 0.5 for row in range(len(NAMES))]
        axes.set_yticks(
            [*centres, len(NAMES) + 0.75], [*map(title_of, NAMES), "all together"], size=9
        )
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        source_line(figure, compiled_here(table), theme)
    return figure


def _column(axes: Axes, x: float, table: CountTable, variant: Twins, theme: Theme) -> None:
    total = whole(table, variant.first)
    base = amount(total.before)
    block, _, rest = variant.name.partition("_")
    axes.text(
        x + 0.48,
        -0.10,
        f"{variant.kernel}\n{block}\n{rest}",
        ha="center",
        va="bottom",
        size=7.5,
        linespacing=1.25,
    )
    for flag, step in steps(table, variant.first).items():
        _cell(axes, x, NAMES.index(flag), step, base, theme)
    row = len(NAMES) + 0.25
    _paint(axes, x, row, 100 * total.amount() / base, theme)
    text = f"{signed(total.amount())}\n{percent(100 * total.amount() / base)}"
    axes.text(x + 0.48, row + 0.5, text, ha="center", va="center", size=8, weight="bold")


def _cell(axes: Axes, x: float, row: float, step: Change, base: int, theme: Theme) -> None:
    _paint(axes, x, row, 100 * step.amount() / base, theme)
    axes.text(x + 0.48, row + 0.36, signed(step.amount()), ha="center", va="center", size=9)
    if step.main_class:
        axes.text(
            x + 0.48,
            row + 0.72,
            step.main_class,
            ha="center",
            va="center",
            size=6.5,
            alpha=0.8,
        )


def _paint(axes: Axes, x: float, row: float, change: float, theme: Theme) -> None:
    colour: tuple[float, ...] = to_rgb(theme.faint)
    if change:
        full = to_rgb(theme.fewer_end if change < 0 else theme.more_end)
        strength = 0.12 + 0.55 * min(abs(change) / FULL, 1) ** 0.5
        paper = to_rgb(theme.paper)
        colour = tuple(a + (b - a) * strength for a, b in zip(paper, full, strict=True))
    axes.add_patch(
        Rectangle((x, row + 0.04), 0.96, 0.92, facecolor=colour, edgecolor=theme.faint, lw=0.7)
    )
