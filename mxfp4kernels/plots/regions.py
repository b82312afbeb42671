"""Where the instructions stand, before and after: by region and class, and waits and nops alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..ablation.counts import KERNEL, REGIONS, CountTable, read_counts
from ..ablation.effects import Twins, amount, twins, whole
from ..flags import ALL, NONE
from ..shapes import KERNELS
from .canvas import Place, axes_at, heading, sheet, source_line, styled
from .labels import compiled_here, region_title, signed
from .theme import GROUP_COLOURS, GROUPS, LIGHT, REGION_COLOURS

PARTS = tuple(region for region in REGIONS if region != KERNEL)
SETTINGS = (NONE, ALL)
_BAR = 0.31
_APART = 0.33


def regions() -> Figure:
    """Stacked counts per region and class, none above all, for every variant."""
    table = read_counts()
    variants = twins(table)
    height = 0.36 * (len(variants) + len(KERNELS) - 1)
    with styled():
        figure = sheet(9.4, 2.10 + height)
        heading(
            figure,
            "Where the changes act: instructions besides MFMA by region and class",
            "Upper bar: parent commit, lower bar: merged. Numbers: what all changes together add "
            "or remove in that region. Scales differ by region.\n"
            "With at most two K tiles gemm2 has no steady K loop: both are on their way before the "
            "first is multiplied.",
        )
        _legend(figure, 0.12, 0.94, GROUP_COLOURS)
        left = 1.76
        for region, width in zip(PARTS, (1.58, 2.22, 1.28, 2.08), strict=True):
            axes = axes_at(figure, Place(left, 1.50, width, height))
            _stacks(axes, table, variants, region)
            axes.set_title(region_title(region), pad=6)
            if region == PARTS[0]:
                axes.set_yticks(*_labels(variants))
            else:
                axes.set_yticks([])
            left += width + 0.12
        source_line(figure, compiled_here(table))
    return figure


def _rows(variants: Sequence[Twins]) -> list[float]:
    """Heights of the variants, with a gap between the kernels."""
    return [number + KERNELS.index(variant.kernel) * 0.9 for number, variant in enumerate(variants)]


def _labels(variants: Sequence[Twins]) -> tuple[list[float], list[str]]:
    return _rows(variants), [str(variant) for variant in variants]


def _legend(figure: Figure, left: float, top: float, colours: Mapping[str, str]) -> None:
    for name, colour in colours.items():
        axes = axes_at(figure, Place(left, top, 0.12, 0.12))
        axes.set_facecolor(colour)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines["bottom"].set_visible(False)
        axes.text(1.5, 0.5, name, va="center_baseline", size=8.5)
        left += 0.38 + 0.072 * len(name)


def _stacks(axes: Axes, table: CountTable, variants: Sequence[Twins], region: str) -> None:
    longest = 0
    for y, variant in zip(_rows(variants), variants, strict=True):
        for offset, flags in zip((-_APART / 2, _APART / 2), SETTINGS, strict=True):
            row = table.at(variant.first, flags, region)
            left = 0
            for name, classes in GROUPS.items():
                width = amount(row, classes)
                axes.barh(y + offset, width, _BAR, left, color=GROUP_COLOURS[name])
                left += width
            longest = max(longest, left)
    for y, variant in zip(_rows(variants), variants, strict=True):
        both = whole(table, variant.first, region)
        end = max(amount(both.before), amount(both.after))
        if end == 0:
            axes.text(0, y, "none", va="center", size=7.5, color=LIGHT.muted)
        elif both.amount():
            colour = LIGHT.fewer if both.amount() < 0 else LIGHT.more
            text = signed(both.amount())
            axes.text(
                end + 0.02 * longest, y, text, va="center", size=8, weight="bold", color=colour
            )
    _frame(axes, variants, longest * 1.22)


def _frame(axes: Axes, variants: Sequence[Twins], right: float) -> None:
    rows = _rows(variants)
    axes.set_ylim(rows[-1] + 0.55, -0.55)
    axes.set_xlim(0, right)
    ticks = MaxNLocator(nbins=4, integer=True).tick_values(0, right)
    axes.set_xticks([tick for tick in ticks if tick < 0.9 * right])
    axes.tick_params(axis="x", labelsize=7.5)
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)


def waits_and_nops() -> Figure:
    """s_waitcnt and s_nop by region, none above all."""
    table = read_counts()
    variants = twins(table)
    height = 0.36 * (len(variants) + len(KERNELS) - 1)
    with styled():
        figure = sheet(9.4, 1.94 + height)
        heading(
            figure,
            "Waits and nops before and after",
            "Upper bar: parent commit, lower bar: merged, by region. Counts say how often a wait "
            "stands in the code, not how long it lasts.",
        )
        _legend(
            figure,
            0.12,
            0.78,
            {region_title(region): colour for region, colour in REGION_COLOURS.items()},
        )
        left = 1.76
        for name, title in (("WAIT", "s_waitcnt"), ("NOP", "s_nop")):
            axes = axes_at(figure, Place(left, 1.36, 3.60, height))
            _pairs(axes, table, variants, name)
            axes.set_title(title, pad=6)
            if name == "WAIT":
                axes.set_yticks(*_labels(variants))
            else:
                axes.set_yticks([])
            left += 3.78
        source_line(figure, compiled_here(table))
    return figure


def _pairs(axes: Axes, table: CountTable, variants: Sequence[Twins], name: str) -> None:
    longest = max(
        table.at(variant.first, flags).quantity(name) for variant in variants for flags in SETTINGS
    )
    for y, variant in zip(_rows(variants), variants, strict=True):
        for offset, flags in zip((-_APART / 2, _APART / 2), SETTINGS, strict=True):
            left = 0
            for region in PARTS:
                width = table.at(variant.first, flags, region).quantity(name)
                axes.barh(y + offset, width, _BAR, left, color=REGION_COLOURS[region])
                left += width
        both = whole(table, variant.first)
        before, after = both.before.quantity(name), both.after.quantity(name)
        text = f"{before} \N{RIGHTWARDS ARROW} {after}" if before != after else str(before)
        colour = LIGHT.muted
        if both[name]:
            colour = LIGHT.fewer if both[name] < 0 else LIGHT.more
        axes.text(
            max(before, after) + 0.015 * longest,
            y,
            text,
            va="center",
            size=8,
            weight="bold" if both[name] else "normal",
            color=colour,
        )
    _frame(axes, variants, longest * 1.22)
