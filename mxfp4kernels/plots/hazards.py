"""What the sanitizer finds in each form of each kernel, and what the safe forms cost."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.counts import read_counts
from ..files import read_csv
from ..flags import join
from ..shapes import VARIANTS
from ..study import findings
from ..study.tables import HAZARDS, HAZARDS_COLUMNS
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here, signed
from .theme import LIGHT

_ROW, _TOP = 0.24, 1.5
KIB = 1024
_FORMS = ("parent", "merged", "safe parent", "safe merged")
_NEEDLESS = len(_FORMS) + 0.6
"""How far right of the hazards the needless waits stand, in columns."""

Row = dict[str, str]


def hazards() -> Figure:
    """Hazards and needless waits by variant and form, the races in words, the cost of safety."""
    rows, found = findings.read_verify(), read_csv(HAZARDS, HAZARDS_COLUMNS)
    costs = findings.safety_costs(read_counts())
    races = _races(found)
    height = _ROW * len(VARIANTS)
    below = _TOP + height + 0.5
    with styled():
        figure = sheet(9.4, below + 0.78 * len(races) + 0.4 + 0.3 * (len(costs) + 1) + 0.7)
        names = sorted({variant for variant, _ in races})
        heading(
            figure,
            f"Races in {len(names)} of {len(VARIANTS)} merged kernels, "
            f"{_in_safe(rows)} in the safe forms",
            "Left: pairs of instructions that nothing orders, whichever wave runs ahead. Right: "
            "waits and barriers that can be dropped,\none at a time. At the reference shape; "
            "persistent kernels make several tiles. A dash: no safe form is needed.",
        )
        axes = axes_at(figure, Place(1.75, _TOP, 7.4, height))
        _table(axes, rows)
        _words(figure, races, below)
        top = below + 0.78 * len(races) + 0.3
        write(
            figure,
            0.12,
            top,
            "The cost of safety, next to the merged form",
            size=9.5,
            weight="bold",
        )
        _costs(axes_at(figure, Place(1.75, top + 0.5, 7.4, 0.3 * len(costs))), costs)
        source_line(figure, f"sanitized in the emulator; {compiled_here(read_counts())}")
    return figure


def _in_safe(rows: Sequence[Row]) -> str:
    """Hazards in all safe forms at any shape, in words."""
    total = sum(int(row["hazards"] or 0) for row in rows if findings.is_safe(row["flags"]))
    return str(total) if total else "none"


def _table(axes: Axes, rows: Sequence[Row]) -> None:
    for y, variant in enumerate(VARIANTS):
        forms = findings.forms(variant)
        for x, form in enumerate(_FORMS):
            if form not in forms:
                for shift in (0, _NEEDLESS):
                    at = x + shift
                    axes.text(at, y, "\N{EN DASH}", ha="center", va="center", color=LIGHT.muted)
                continue
            row = findings.at_reference(rows, variant, forms[form])
            _cell(axes, x, y, int(row["hazards"]))
            needless = row["needless_waits"]
            axes.text(x + _NEEDLESS, y, needless, ha="center", va="center", size=8.5)
    for x, form in enumerate(_FORMS):
        for shift in (0, _NEEDLESS):
            axes.text(x + shift, -0.8, form, ha="center", va="bottom", size=8)
    axes.text(-0.5, -1.7, "hazards", va="bottom", size=9, weight="bold")
    needless_title = "needless waits and barriers"
    axes.text(len(_FORMS) + 0.1, -1.7, needless_title, va="bottom", size=9, weight="bold")
    axes.set_xlim(-0.6, 2 * len(_FORMS) + 0.3)
    axes.set_ylim(len(VARIANTS) - 0.5, -0.5)
    axes.set_yticks(range(len(VARIANTS)), [str(variant) for variant in VARIANTS])
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _cell(axes: Axes, x: int, y: int, count: int) -> None:
    if count:
        axes.barh(y, 0.5, 0.8, left=x - 0.25, color=LIGHT.more)
    colour = LIGHT.paper if count else LIGHT.muted
    weight = "bold" if count else "normal"
    axes.text(x, y, str(count), ha="center", va="center", size=8, color=colour, weight=weight)


def _races(found: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """The merged forms' hazards by variant."""
    races: dict[tuple[str, str], list[Row]] = {}
    merged = {
        (variant.kernel, variant.name): findings.forms(variant)["merged"] for variant in VARIANTS
    }
    for row in found:
        key = (row["kernel"], row["variant"])
        if row["flags"] == join(merged[key]):
            races.setdefault(key, []).append(row)
    return races


def _words(figure: Figure, races: dict[tuple[str, str], list[Row]], top: float) -> None:
    for number, ((kernel, variant), rows) in enumerate(races.items()):
        y = top + 0.78 * number
        one = max(rows, key=lambda row: int(row["pairs"]))
        write(figure, 0.12, y, f"{kernel}/{variant}", size=9.5, weight="bold")
        for line, (name, text) in enumerate(
            (
                (f"line {one['first_line']}", one["first"]),
                (f"line {one['second_line']}", one["second"]),
            )
        ):
            write(figure, 1.95, y + 0.19 * line, name, size=8, colour=LIGHT.muted)
            write(figure, 2.7, y + 0.19 * line, text, size=8, family="monospace")
        write(figure, 1.95, y + 0.38, f"{one['where']}: {one['missing']}", size=8)


def _costs(axes: Axes, costs: Sequence[findings.Cost]) -> None:
    columns = ("instructions", "barriers", "LDS, KiB", "VGPRs", "waves per SIMD")
    for x, name in enumerate(columns):
        axes.text(x, -0.62, name, ha="center", va="bottom", size=8, color=LIGHT.muted)
    for y, cost in enumerate(costs):
        lds = tuple(size / KIB for size in cost.lds_bytes)
        cells = (
            signed(cost.instructions),
            signed(cost.barriers),
            _change(lds),
            _change(cost.vgprs),
            _change(cost.waves),
        )
        for x, cell in enumerate(cells):
            axes.text(x, y, cell, ha="center", va="center", size=9)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(costs) - 0.5, -0.5)
    axes.set_yticks(range(len(costs)), [str(cost.variant) for cost in costs])
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _change(pair: tuple[float, ...]) -> str:
    before, after = pair
    if before == after:
        return f"{before:g}"
    return f"{before:g} \N{RIGHTWARDS ARROW} {after:g}"
