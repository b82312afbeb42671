"""Figures of the timing model: where the cycles go, how far it is from what others published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..files import DATA, read_csv
from .canvas import Place, axes_at, heading, sheet, source_line, styled, write
from .labels import measured_elsewhere, percent
from .theme import LIGHT

TIMING = DATA / "timing"
CAUSES = TIMING / "causes.csv"
VALIDATION, UNMAPPED = TIMING / "validation.csv", TIMING / "unmapped.csv"
SENSITIVITY = TIMING / "sensitivity.csv"
TIMELINE = TIMING / "timeline.csv"
SHOWN_TOKENS = tuple(map(str, (4, 64, 512, 4096, 16384)))
TOKEN_TICKS = tuple(4**power for power in range(8))
NEAR = 0.15
"""Half the height of the grey zone around published times."""
SWING_TICK = 25
LEAST_SWING = 0.5
"""Constants that move no time by more than this many percent are left out."""
MODELLED = "Modelled, not measured."
CAUSE_COLOURS = {
    "mfma": "#009e73",
    "issue": "#0072b2",
    "nop": "#56b4e9",
    "lgkmcnt": "#e69f00",
    "vmcnt": "#d55e00",
    "front_end": "#cc79a7",
    "barrier": "#7a7a7a",
    "dependency": "#f0e442",
}
"""Matrix pipe and issue first, then what waves wait for; Okabe-Ito colours."""
PART_COLOURS = CAUSE_COLOURS | {"bytes": "#8c510a", "launch": "#1b1f24", "fixed": "#b6bdc5"}
"""What a launch's time goes to besides: more bytes than the waves wait for, the launch of
workgroups, the kernel's fixed cost."""
NAMES = {"nop": "s_nop", "fixed": "fixed cost"}

Row = dict[str, str]


def stall_stacks() -> Figure:
    """Microseconds by cause for the parent's and the merged form at five M, both kernels."""
    rows = [row for row in read_csv(CAUSES) if row["M"] in SHOWN_TOKENS and _main(row)]
    shown = [name for name in PART_COLOURS if any(_seen(row, name) for row in rows)]
    with styled():
        figure = sheet(9.4, 5.7)
        heading(
            figure,
            "Where a launch's time goes, before and after",
            f"{MODELLED} Microseconds (above the bars) by what the waves spend their clocks on, "
            "and a kernel's fixed cost. Left bar\nthe parent's form, right bar the merged one. "
            "Family A routing, published dispatch.",
        )
        for across, kernel in enumerate(("gemm1", "gemm2")):
            axes = axes_at(figure, Place(0.72 + 4.45 * across, 1.15, 3.95, 3.55))
            _stacks(axes, [row for row in rows if row["kernel"] == kernel])
            axes.set_title(kernel)
            axes.set_ylabel("part of the launch's time, %" if across == 0 else "")
        _key(figure, 0.72, 5.05, shown)
        _origins(figure, "data/timing/causes.csv")
    return figure


def _origins(figure: Figure, modelled: str, published: str = "none shown") -> None:
    measured = measured_elsewhere()
    source_line(figure, f"modelled: {modelled}; published: {published}; measured: {measured}")


def _main(row: Row) -> bool:
    """The default dispatch, not its lossy stand-in, in the family that has every setting."""
    return row["variant"] != "bm128_mxfp4" and row["routing"] == "family-a"


def _seen(row: Row, cause: str) -> bool:
    return row["cause"] == cause and float(row["us"]) > 0


def _stacks(axes: Axes, rows: Sequence[Row]) -> None:
    for at, tokens in enumerate(SHOWN_TOKENS):
        here = [row for row in rows if row["M"] == tokens]
        labels = list(dict.fromkeys(row["flags"] for row in here))
        merged = max(labels, key=lambda text: (text != "none", text.count("+")))
        for offset, flags in ((-0.2, "none"), (0.2, merged)):
            us = {row["cause"]: float(row["us"]) for row in here if row["flags"] == flags}
            total, bottom = sum(us.values()), 0.0
            for cause, colour in PART_COLOURS.items():
                height = 100 * us.get(cause, 0.0) / total
                axes.bar(at + offset, height, 0.36, bottom=bottom, color=colour)
                bottom += height
            axes.text(at + offset, 101, f"{total:.0f}", ha="center", va="bottom", size=7.5)
    axes.set_xticks(range(len(SHOWN_TOKENS)), [f"M={tokens}" for tokens in SHOWN_TOKENS])
    axes.text(-0.62, 105, "\N{MICRO SIGN}s", ha="right", va="bottom", size=7.5)
    axes.set_xlim(-0.6, len(SHOWN_TOKENS) - 0.4)
    axes.set_ylim(0, 110)


def _key(figure: Figure, left: float, top: float, names: Sequence[str]) -> None:
    step = 8.5 / max(8, len(names))
    for number, name in enumerate(names):
        x = left + step * number
        axes = axes_at(figure, Place(x, top, 0.14, 0.14))
        axes.set_facecolor(PART_COLOURS[name])
        axes.set_xticks([])
        axes.set_yticks([])
        write(figure, x + 0.2, top, NAMES.get(name, name.replace("_", " ")), size=8)


def validation() -> Figure:
    """Modelled over published, row by row, with the model's band."""
    rows = read_csv(VALIDATION)
    kinds = {"like for like": LIGHT.compiled, "other tile order": "#e69f00"}
    kinds["other implementation"] = LIGHT.muted
    with styled():
        figure = sheet(9.4, 5.2)
        heading(
            figure,
            "Modelled times against published ones",
            f"{MODELLED} No constant's value is fitted. Bars: band from the constants' ranges. "
            f"Grey zone: {percent(100 * NEAR)}.\nRows of another tile order or of HIP are no test "
            "of the model; they are here for completeness.",
        )
        ends = [_of_published(row, name) for row in rows for name in ("low", "modelled", "high")]
        limits = (min(0.5, *ends) - 0.05, max(1.5, *ends) + 0.05)
        for across, kernel in enumerate(("gemm1", "gemm2")):
            axes = axes_at(figure, Place(0.72 + 4.45 * across, 1.15, 3.95, 3.2))
            _ratios(axes, [row for row in rows if row["kernel"] == kernel], kinds)
            axes.set_ylim(*limits)
            axes.set_title(kernel)
            axes.set_ylabel("modelled / published" if across == 0 else "")
        for number, (kind, colour) in enumerate(kinds.items()):
            write(figure, 0.72 + 2.1 * number, 4.75, f"\u25cf {kind}", size=9, colour=colour)
        total = len(rows) + len(read_csv(UNMAPPED))
        counted = f"{len(rows)} of {total} device times of single kernels at this shape; the rest"
        _origins(figure, "data/timing/validation.csv", f"{counted} are in unmapped.csv")
    return figure


def _of_published(row: Row, name: str) -> float:
    return float(row[name]) / float(row["published"])


def _ratios(axes: Axes, rows: Sequence[Row], kinds: dict[str, str]) -> None:
    axes.axhspan(1 - NEAR, 1 + NEAR, color=LIGHT.faint, alpha=0.6, linewidth=0)
    axes.axhline(1, color=LIGHT.muted, linewidth=0.8)
    for row in rows:
        low, middle, high = (_of_published(row, name) for name in ("low", "modelled", "high"))
        colour = kinds[row["likeness"]]
        axes.plot([float(row["M"])] * 2, [low, high], color=colour, linewidth=1)
        marker = "o" if row["routing"] == "family-a" else "s"
        axes.plot(float(row["M"]), middle, marker, color=colour, markersize=4)
    axes.set_xscale("log", base=2)
    axes.set_xlim(TOKEN_TICKS[0] / 2, 4 * TOKEN_TICKS[-1])
    axes.set_xticks(TOKEN_TICKS, list(map(str, TOKEN_TICKS)))
    axes.set_xlabel("M (circles: family A, squares: family B)")
    axes.grid(axis="y")


def sensitivity() -> Figure:
    """Which constants' ranges move the merged form's time, at five M."""
    rows = [row for row in read_csv(SENSITIVITY) if row["M"] in SHOWN_TOKENS and _main(row)]
    widest: dict[str, float] = defaultdict(float)
    for row in rows:
        span = max(abs(float(row["at_low_pct"])), abs(float(row["at_high_pct"])))
        widest[row["constant"]] = max(widest[row["constant"]], span)
    names = sorted(
        (name for name in widest if widest[name] >= LEAST_SWING), key=lambda n: -widest[n]
    )
    limit = 1.1 * max(1.5 * SWING_TICK, *widest.values())
    with styled():
        figure = sheet(9.4, 1.85 + 0.26 * len(names))
        heading(
            figure,
            "Which constant moves the answer most",
            f"{MODELLED} Change of the merged form's time, %, when one constant goes to the ends "
            f"of its range.\nConstants below {percent(LEAST_SWING, 1)} in all of these left out, "
            "and so is the lossy bm128_mxfp4. Thick: gemm1, thin: gemm2.",
        )
        for across, tokens in enumerate(SHOWN_TOKENS):
            place = Place(1.75 + 1.53 * across, 1.12, 1.4, 0.26 * len(names))
            axes = axes_at(figure, place)
            _swings(axes, [row for row in rows if row["M"] == tokens], names)
            axes.set_xlim(-limit, limit)
            axes.set_title(f"M={tokens}")
            axes.tick_params(labelleft=across == 0)
        _origins(figure, "data/timing/sensitivity.csv")
    return figure


def _swings(axes: Axes, rows: Sequence[Row], names: Sequence[str]) -> None:
    for row in rows:
        if row["constant"] not in names:
            continue
        first = row["kernel"] == "gemm1"
        at = names.index(row["constant"]) + (-0.17 if first else 0.2)
        ends = sorted((float(row["at_low_pct"]), float(row["at_high_pct"]), 0.0))
        height = 0.34 if first else 0.18
        axes.barh(at, ends[-1] - ends[0], left=ends[0], height=height, color=LIGHT.compiled)
    axes.axvline(0, color=LIGHT.muted, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xticks([-SWING_TICK, 0, SWING_TICK])


def timelines() -> Figure:
    """A tile of gemm2 before and after, wave by wave."""
    rows = read_csv(TIMELINE)
    forms = list(dict.fromkeys(row["flags"] for row in rows))
    last = max(int(row["end"]) for row in rows)
    with styled():
        figure = sheet(9.4, 4.75)
        heading(
            figure,
            f"One workgroup over time: gemm2 {rows[0]['variant']}, its first {rows[0]['tiles']} "
            "tiles",
            f"{MODELLED} Each strip is a wave; the colour is what it spends most of a few clocks "
            f"on.\nM={rows[0]['M']}, family A; the run that the launch's time comes from.",
        )
        for down, flags in enumerate(forms):
            axes = axes_at(figure, Place(0.72, 1.05 + 1.55 * down, 8.4, 1.1))
            for row in (row for row in rows if row["flags"] == flags):
                start, width = int(row["start"]), int(row["end"]) - int(row["start"])
                axes.barh(
                    int(row["wave"]), width, left=start, height=0.86,
                    color=CAUSE_COLOURS.get(row["cause"], LIGHT.faint), linewidth=0,
                )  # fmt: skip
            axes.set_title("parent's form" if flags == "none" else "merged form", loc="left")
            axes.set_xlim(0, last)
            axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick < 0.98 * last])
            axes.set_yticks(range(4), [f"wave {wave}" for wave in range(4)])
            axes.set_ylim(3.6, -0.6)
        axes.set_xlabel("clocks")
        _key(figure, 0.72, 4.25, list(CAUSE_COLOURS))
        _origins(figure, "data/timing/timeline.csv")
    return figure
