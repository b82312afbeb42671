"""Our counts beside the published ones, with the compiler's part of a difference told apart."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.claims import CLAIMS, SHARE_POINTS
from ..ablation.counts import KERNEL, CountTable, read_counts
from ..ablation.other_llvm import COUNTS as OTHER_LLVM
from ..ablation.parity import QUANTITIES, our_quantity
from ..ablation.published import Reference, ReferenceRow, read_reference
from ..files import read_csv
from ..flags import ALL, NONE, FlagSet, find_flag
from ..shapes import find_variant
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here, percent, signed
from .theme import LIGHT

SMALL = 2
"""A class whose counts differ by no more than this anywhere gets no panel."""
NUMBERS = 0.28
"""The part of a panel's width that is kept for the numbers."""
_ROW = 0.25


def against_published() -> Figure:
    """Differences by class, ours by FlyDSL's LLVM and by the published kernels' own version."""
    table, other, reference = read_counts(), read_counts(OTHER_LLVM), read_reference()
    names = [name for name in QUANTITIES if name != "total"]
    shown = [
        name
        for name in names
        if max(_largest(one, reference, name) for one in (table, other)) > SMALL
    ]
    rows = _rows(reference, NONE)
    height = _ROW * len(rows)
    left, gap = 1.76, 0.24
    width = (9.3 + gap - left) / len(shown) - gap
    with styled():
        figure = sheet(9.4, 2.66 + 2 * height)
        _head(figure, table, other, reference, [name for name in names if name not in shown])
        for block, flags in enumerate((NONE, ALL)):
            top = 1.42 + block * (height + 0.56)
            what = "parent commit, flags none" if flags == NONE else "merged commit, flags all"
            write(figure, 0.12, top - 0.42, what, size=9.5, weight="bold")
            for number, name in enumerate(shown):
                place = Place(left + number * (width + gap), top, width, height)
                axes = axes_at(figure, place)
                _differences(axes, (table, other), _rows(reference, flags), name)
                _scale(axes, _extent((table, other), reference, shown))
                axes.set_title(name, pad=4)
                axes.tick_params(labelleft=number == 0, labelbottom=flags == ALL)
        llvm = other.rows[0].llvm
        source_line(figure, f"{compiled_here(table)}, or LLVM {llvm} where it says so")
    return figure


def _rows(reference: Reference, flags: FlagSet) -> list[ReferenceRow]:
    return [row for row in reference.rows if row.flags == flags and row.region == KERNEL]


def _difference(table: CountTable, row: ReferenceRow, name: str) -> int:
    ours = table.at(row.variant, row.flags, row.region)
    return our_quantity(ours, name) - row.quantities[name]


def _extent(
    tables: tuple[CountTable, CountTable], reference: Reference, names: Sequence[str]
) -> tuple[int, int]:
    """The lowest and the highest difference in any panel."""
    found = [
        _difference(table, row, name)
        for table in tables
        for flags in (NONE, ALL)
        for row in _rows(reference, flags)
        for name in names
    ]
    return min(found), max(found)


def _scale(axes: Axes, extent: tuple[int, int]) -> None:
    low, high = extent
    span = high - low
    left, right = low - 0.04 * span, high + 0.04 * span
    axes.set_xlim(left, right + (right - left) * NUMBERS / (1 - NUMBERS))
    low_tick = 100 * round(low / 100)
    axes.set_xticks([low_tick, 0], [signed(low_tick), "0"], size=7.5)


def _largest(table: CountTable, reference: Reference, name: str) -> int:
    rows = [row for flags in (NONE, ALL) for row in _rows(reference, flags)]
    return max(abs(_difference(table, row, name)) for row in rows)


def _head(
    figure: Figure,
    table: CountTable,
    other: CountTable,
    reference: Reference,
    alike: Sequence[str],
) -> None:
    ours, theirs = table.rows[0].llvm.split(".")[0], other.rows[0].llvm.split(".")[0]
    largest = {
        name: max(_largest(one, reference, name) for one in (table, other)) for name in alike
    }
    equal = [name for name in alike if not largest[name]]
    close = [name for name in alike if name not in equal]
    most = max(largest.values(), default=0)
    heading(
        figure,
        "Instructions more or fewer than in the published kernels",
        f"Line at 0: published counts ({reference.rows[0].compiler}). The same kernels compiled "
        f"here by LLVM {ours} (dot, number) and by LLVM {theirs} (ring).\n"
        "Together and off the line: the source differs. Apart: the compilers do. "
        f"Equal: {', '.join(equal)}." + (f" Within {most}: {', '.join(close)}." if close else ""),
    )


def _differences(
    axes: Axes, tables: tuple[CountTable, CountTable], rows: Sequence[ReferenceRow], name: str
) -> None:
    for y, row in enumerate(rows):
        ours, other = (_difference(table, row, name) for table in tables)
        axes.plot([other, ours], [y, y], color=LIGHT.other, linewidth=1.6)
        axes.plot(other, y, "o", markersize=6, mfc=LIGHT.paper, mec=LIGHT.other, mew=1.4)
        axes.plot(ours, y, "o", markersize=4, color=LIGHT.compiled, zorder=4)
        axes.text(
            1.0,
            y,
            signed(ours),
            transform=axes.get_yaxis_transform(),
            ha="right",
            va="center",
            size=8,
            color=LIGHT.ink if ours else LIGHT.muted,
        )
    axes.axvline(0, color=LIGHT.published, linewidth=1, zorder=0)
    for y in range(len(rows)):
        axes.axhline(y, 0, 1 - NUMBERS, color=LIGHT.faint, linewidth=0.6, zorder=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [f"{row.variant.kernel} {row.variant.name}" for row in rows])
    axes.spines["bottom"].set_visible(False)


def exp2_share() -> Figure:
    """How much of gemm1's non-MFMA VALU hardware exp2 removes, against the published figure."""
    rows = [
        row
        for row in read_csv(CLAIMS)
        if row["flag"] == "hardware_exp2" and row["claim"] == "share of non-MFMA VALU"
    ]
    published = -float(rows[0]["published"])
    removed = {find_variant(*row["variant"].split("/")): -float(row["ours"]) for row in rows}
    staged = [value for variant, value in removed.items() if not variant.inline_quant]
    inline = [value for variant, value in removed.items() if variant.inline_quant]
    with styled():
        figure = sheet(9.4, 1.62 + 0.34 * len(rows))
        heading(
            figure,
            f"{find_flag('hardware_exp2').title} removes {min(staged):.0f} to {max(staged):.0f} % "
            "of gemm1's vector instructions where A is staged",
            "VALU, ACC and TRANS, without MFMA: the share that the step removes. "
            f"{max(inline):.0f} % with inline quantisation, whose vector work is in the K loop.",
        )
        axes = axes_at(figure, Place(1.76, 1.02, 7.2, 0.34 * len(rows)))
        _share_bars(axes, list(removed.values()), published)
        axes.set_yticks(range(len(rows)), [str(variant).replace("/", " ") for variant in removed])
        source_line(figure, compiled_here(read_counts()))
    return figure


def _share_bars(axes: Axes, removed: Sequence[float], published: float) -> None:
    for y, value in enumerate(removed):
        axes.barh(y, value, 0.62, color=LIGHT.compiled)
        long = value > published / 2
        axes.text(
            0.3 if long else value + 0.3,
            y,
            percent(value, 1),
            va="center",
            size=9,
            weight="bold",
            color=LIGHT.paper if long else LIGHT.ink,
        )
    axes.axvspan(published - SHARE_POINTS, published + SHARE_POINTS, color=LIGHT.faint, zorder=0)
    axes.axvline(published, color=LIGHT.published, linewidth=1.2)
    right = max(*removed, published) + 4
    axes.text(
        right,
        -0.75,
        f"line: published, {percent(published)}; grey: {SHARE_POINTS:g} points around it, which we "
        "allow",
        ha="right",
        size=8.5,
    )
    axes.set_xlim(0, right)
    axes.set_ylim(len(removed) - 0.5, -0.5)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
