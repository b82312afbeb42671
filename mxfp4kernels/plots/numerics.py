"""What the flags do to the numbers, and what the sanitizer finds."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..ablation.counts import read_counts
from ..files import read_csv
from ..flags import ALL, FLAGS, FlagSet, acting, alone, leave_one_out
from ..shapes import REFERENCE_SHAPE, VARIANTS, Variant
from ..study import findings
from ..study.tables import ERRORS, ERRORS_COLUMNS, VERIFY
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import compiled_here
from .theme import LIGHT

LAYER = "layer"
"""What the table calls the kernel of a run of both."""
_ROW, _TOP = 0.26, 2.18
_EPILOGUES = {
    "silu_mxfp4": "gemm1: silu, MXFP4",
    "atomic": "gemm2: atomic bf16",
    "nonatomic": "gemm2: flat bf16",
    "cshuffle": "gemm2: bf16 through LDS",
    "mxfp4": "gemm2: MXFP4",
}

Row = dict[str, str]


def bits_and_errors() -> Figure:
    """Which flags change a bit of the output, and how far outputs lie from the reference."""
    rows, errors = findings.read_verify(), read_csv(ERRORS, ERRORS_COLUMNS)
    height = _ROW * len(VARIANTS)
    changed = _changed(rows)
    with styled():
        figure = sheet(9.4, _TOP + height + 0.6)
        heading(
            figure,
            "No flag changes a bit of any output"
            if not changed
            else f"Settings that change bits of the output: {len(changed)}",
            "Left: blue where the output equals that of the parent's form, bit for bit, on every "
            "problem: each flag alone (left square), all others\nwithout it (right); with all "
            "flags, the problems that are equal, of how many. Right: written minus float64 "
            "reference,\nin steps of the output format, at the reference shape; the bars at both "
            f"ends hold what lies beyond, too.\n{_drawn(rows, errors)}",
        )
        axes = axes_at(figure, Place(1.74, _TOP, 3.85, height))
        _matrix(axes, rows)
        _histograms(figure, errors, height)
        source_line(figure, f"executed in the emulator; {compiled_here(read_counts())}")
    return figure


def _changed(rows: Sequence[Row]) -> set[tuple[str, str]]:
    """Variants and settings with a run that differs."""
    return {(row["variant"], row["flags"]) for row in rows if row["bit_equal_to_none"] == "no"}


def _drawn(rows: Sequence[Row], errors: Sequence[Row]) -> str:
    """Which of the settings that were run at the reference shape have a line."""
    run = {_setting(row) for row in rows if row["shape"] == str(REFERENCE_SHAPE)}
    drawn = {_setting(row) for row in errors}
    layers = {setting for setting in run if setting[0] == LAYER}
    if run - layers != drawn:
        raise LookupError(f"{ERRORS.name} and {VERIFY.name} differ in their settings")
    return (
        f"Drawn are all {len(drawn)} settings of single kernels out of {len(run)} that were run; "
        f"the other {len(layers)} are of a whole layer."
    )


def _setting(row: Row) -> tuple[str, str, str]:
    return row["kernel"], row["variant"], row["flags"]


def _matrix(axes: Axes, rows: Sequence[Row]) -> None:
    for y, variant in enumerate(VARIANTS):
        for x, flag in enumerate(FLAGS):
            if not flag.acts_in(variant):
                continue
            for offset, settings in ((-0.2, alone(variant)), (0.2, leave_one_out(variant))):
                _square(axes, x + offset, y, rows, variant, _about(settings, variant, flag.name))
        found = findings.bits(rows, variant, acting(variant, ALL))
        axes.text(-0.85, y, f"{found.equal}/{found.runs}", va="center", ha="right", size=8)
    axes.text(-0.85, -1, "all", va="bottom", ha="right", size=8, weight="bold")
    axes.set_xlim(-1.8, len(FLAGS) - 0.4)
    axes.set_ylim(len(VARIANTS) - 0.4, -0.6)
    axes.set_yticks(range(len(VARIANTS)), [str(variant) for variant in VARIANTS])
    axes.set_xticks(range(len(FLAGS)), [flag.title.replace(" ", "\n") for flag in FLAGS])
    axes.xaxis.tick_top()
    axes.tick_params(axis="x", labelsize=7.5, rotation=90)
    axes.spines["bottom"].set_visible(False)


def _about(settings: Sequence[FlagSet], variant: Variant, name: str) -> FlagSet:
    """The setting among those alone or left out that is about a flag."""
    for flags in settings:
        if flags in (frozenset({name}), acting(variant, ALL) - {name}):
            return flags
    raise LookupError(f"{name} is not among the settings of {variant}")


def _square(
    axes: Axes, x: float, y: float, rows: Sequence[Row], variant: Variant, flags: FlagSet
) -> None:
    found = findings.bits(rows, variant, flags)
    if not found.runs:
        raise LookupError(f"no run of {variant} with {sorted(flags)}")
    colour = LIGHT.compiled if found.equal == found.runs else LIGHT.more
    axes.plot(x, y, "s", markersize=6.5, color=colour)


def _histograms(figure: Figure, errors: Sequence[Row], height: float) -> None:
    """One panel per epilogue, every variant and setting a line."""
    gap = 0.42
    bins = [(float(row["low"]), float(row["high"])) for row in errors]
    each = (height + gap) / len(_EPILOGUES) - gap
    for number, (epilogue, title) in enumerate(_EPILOGUES.items()):
        axes = axes_at(figure, Place(6.5, _TOP + number * (each + gap), 2.7, each))
        for variant in VARIANTS:
            if variant.epilogue == epilogue:
                _curves(axes, [row for row in errors if _is_of(row, variant)])
        axes.set_title(title, pad=3, size=8.5)
        axes.set_xlim(min(low for low, _ in bins), max(high for _, high in bins))
        axes.set_ylim(bottom=0)
        axes.set_yticks([])
        axes.set_xticks([-1, -0.5, 0, 0.5, 1])
        axes.tick_params(axis="x", labelsize=7, labelbottom=number == len(_EPILOGUES) - 1)
    write(figure, 6.5, _TOP - 0.52, "share of elements by error", size=9, weight="bold")


def _is_of(row: Row, variant: Variant) -> bool:
    return (row["kernel"], row["variant"]) == (variant.kernel, variant.name)


def _curves(axes: Axes, rows: Sequence[Row]) -> None:
    for flags in dict.fromkeys(row["flags"] for row in rows):
        bins = [row for row in rows if row["flags"] == flags]
        total = sum(int(row["elements"]) for row in bins)
        edges = [float(row["low"]) for row in bins] + [float(bins[-1]["high"])]
        shares = [int(row["elements"]) / total for row in bins]
        axes.stairs(shares, edges, color=LIGHT.compiled, linewidth=1.0, alpha=0.9)
