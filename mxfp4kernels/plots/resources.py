"""Registers, LDS and kernel arguments, and the occupancy that they leave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.counts import CountRow, CountTable, read_counts
from ..ablation.effects import Twins, twins
from ..flags import ALL, NONE, FlagSet, study_settings
from ..isa import occupancy
from ..isa.occupancy import (
    LDS_BYTES_PER_CU,
    LDS_GRANULE,
    VGPR_GRANULE,
    VGPRS_PER_SIMD,
    Occupancy,
)
from .canvas import Place, axes_at, heading, sheet, source_line, styled
from .labels import compiled_here, title_of
from .theme import LIGHT

KIB = 1024
_ROW, _TOP = 0.33, 1.36
_BEHIND = {"facecolor": LIGHT.paper, "edgecolor": "none", "pad": 0.6}
"""Keeps a dashed line out of a label."""


def resources() -> Figure:
    """One row per variant: registers against the steps of occupancy, LDS, kernel arguments."""
    table = read_counts()
    variants = twins(table)
    height = _ROW * len(variants)
    with styled():
        figure = sheet(9.4, _TOP + height + 0.72)
        heading(
            figure,
            "How far each kernel is from the next step of occupancy",
            "Ring: parent commit, dot: merged, pale line: every setting compiled. Dashed: steps "
            "of occupancy, in waves per SIMD. On the right\nthe merged form: the limit of its "
            "waves, the room left before one is lost, and how much it is over for one more.",
        )
        registers = axes_at(figure, Place(1.76, _TOP, 3.20, height))
        lds = axes_at(figure, Place(5.20, _TOP, 1.30, height))
        texts = axes_at(figure, Place(6.66, _TOP, 2.62, height))
        _registers(registers, table, variants)
        _lds(lds, table, variants)
        _texts(texts, table, variants)
        source_line(figure, compiled_here(table))
    return figure


def _occupancy(row: CountRow) -> Occupancy:
    return occupancy(*(row.quantity(name) for name in ("vgpr", "sgpr", "lds_bytes")))


def _steps(limit: int, granule: int, waves_of: Callable[[int], int]) -> list[tuple[int, int]]:
    """Each number of waves with the most of a resource that still allows it."""
    most: dict[int, int] = {}
    for used in range(granule, limit + 1, granule):
        most[waves_of(used)] = used
    return sorted(most.items())


def _draw_steps(axes: Axes, steps: Sequence[tuple[int, float]], left: float, right: float) -> None:
    """A dashed line at each step, the waves that fit up to it on its left."""
    for waves, most in steps:
        if most <= left:
            continue
        if most < right:
            axes.axvline(most, color=LIGHT.muted, linewidth=0.7, linestyle=(0, (4, 2)), zorder=0)
        at = min(most, right) - 0.01 * (right - left)
        axes.text(at, -0.66, f"{waves}", ha="right", size=8, color=LIGHT.muted)
    axes.set_xlim(left, right)


def _registers(axes: Axes, table: CountTable, variants: Sequence[Twins]) -> None:
    steps = _steps(
        VGPRS_PER_SIMD, VGPR_GRANULE, lambda used: occupancy(used, 0, 0).limit("vgpr").waves
    )
    used = [
        table.at(variant.first, flags).quantity("vgpr")
        for variant in variants
        for flags in study_settings(variant.first)
    ]
    left, right = min(used) - 12, max(used) + 20
    _draw_steps(axes, steps, left, right)
    axes.set_title("VGPRs, and waves that fit", pad=18)
    for y, variant in enumerate(variants):
        settings = study_settings(variant.first)
        used = [table.at(variant.first, flags).quantity("vgpr") for flags in settings]
        axes.plot([min(used), max(used)], [y, y], color=LIGHT.faint, linewidth=5)
        _mark(axes, y, table, variant, lambda row: row.quantity("vgpr"))
        _lost_wave(axes, y, table, variant, settings)
    _frame(axes, variants)
    axes.set_yticks(range(len(variants)), [str(variant) for variant in variants])
    axes.set_xticks([most for _, most in steps if left < most < right])


def _lost_wave(
    axes: Axes, y: int, table: CountTable, variant: Twins, settings: Sequence[FlagSet]
) -> None:
    """Name a setting whose waves fall below those of both ends."""
    ends = min(table.at(variant.first, flags).quantity("waves_per_simd") for flags in (NONE, ALL))
    lost = [
        flags
        for flags in settings
        if table.at(variant.first, flags).quantity("waves_per_simd") < ends
    ]
    if not lost:
        return
    fewest = min(lost, key=len)
    row = table.at(variant.first, fewest)
    axes.plot(row.quantity("vgpr"), y, "D", color=LIGHT.more, markersize=5, zorder=5)
    names = " and ".join(map(title_of, sorted(fewest)))
    axes.text(
        row.quantity("vgpr") + 6,
        y,
        f"{names} alone: {row.quantity('waves_per_simd')} waves",
        va="center",
        size=8,
        color=LIGHT.more,
        bbox=_BEHIND,
    )


def _mark(
    axes: Axes, y: int, table: CountTable, variant: Twins, value: Callable[[CountRow], float]
) -> None:
    before, after = (value(table.at(variant.first, flags)) for flags in (NONE, ALL))
    axes.plot(before, y, "o", markersize=7, mfc="none", mec=LIGHT.compiled, mew=1.4, zorder=3)
    axes.plot(after, y, "o", markersize=3.6, color=LIGHT.compiled, zorder=4)


def _lds(axes: Axes, table: CountTable, variants: Sequence[Twins]) -> None:
    steps = _steps(
        LDS_BYTES_PER_CU, LDS_GRANULE, lambda used: occupancy(0, 0, used).limit("lds").waves
    )
    shown = [(waves, used / KIB) for waves, used in steps if waves <= 3]
    _draw_steps(axes, shown, 0, LDS_BYTES_PER_CU / KIB)
    for y, variant in enumerate(variants):
        used = table.at(variant.first, ALL).quantity("lds_bytes") / KIB
        axes.barh(y, used, 0.42, color=LIGHT.other)
        axes.text(used + 4, y, f"{used:g}", va="center", size=8, bbox=_BEHIND)
    axes.set_title("LDS, KiB", pad=18)
    axes.set_xticks([used for _, used in shown], [f"{used:g}" for _, used in shown])
    axes.set_yticks([])
    _frame(axes, variants)


def _texts(axes: Axes, table: CountTable, variants: Sequence[Twins]) -> None:
    """Kernel arguments and the occupancy in words."""
    columns = (0.0, 0.52, 0.565, 0.86, 1.0)
    heads = ("kernarg bytes", "waves", "limit", "room", "over")
    aligns = ("left", "right", "left", "right", "right")
    for x, head, align in zip(columns, heads, aligns, strict=True):
        axes.text(x, -0.66, head, ha=align, size=8, weight="bold")
    for y, variant in enumerate(variants):
        before, after = (table.at(variant.first, flags) for flags in (NONE, ALL))
        size = [row.quantity("kernarg_bytes") for row in (before, after)]
        found = _occupancy(after)
        limit = found.limit(found.limiter)
        kib = limit.resource == "lds"
        unit = KIB if kib else 1
        cells = (
            f"{size[0]} \N{RIGHTWARDS ARROW} {size[1]}",
            str(found.waves_per_simd),
            f"{limit.resource.upper()}{', KiB' if kib else ''}",
            f"{limit.spare / unit:.3g}",
            "" if limit.to_gain is None else f"{limit.to_gain / unit:.3g}",
        )
        for x, cell, align in zip(columns, cells, aligns, strict=True):
            axes.text(x, y, cell, ha=align, va="center", size=8)
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    axes.set_yticks([])
    _frame(axes, variants)


def _frame(axes: Axes, variants: Sequence[Twins]) -> None:
    axes.set_ylim(len(variants) - 0.45, -0.55)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(axis="x", labelsize=7.5)
