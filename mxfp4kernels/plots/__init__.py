"""Every figure, each drawn by one function from committed data: ``python -m mxfp4kernels.plots``.

Needs matplotlib, neither FlyDSL nor torch. A figure comes out with the same bytes on every run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..packages import needed
from ..steps import run_step

with needed(__name__):
    from matplotlib.figure import Figure

from ..ablation.claims import CLAIMS
from ..ablation.counts import COUNTS, MissingCounts
from ..ablation.excerpts import EXCERPTS
from ..ablation.other_llvm import COUNTS as OTHER_LLVM
from ..ablation.published import REFERENCE
from ..files import TableError
from ..study.tables import ERRORS, HAZARDS, TIMELINE, VERIFY
from . import (
    contributions,
    curves,
    grid,
    hazards,
    hero,
    interaction,
    modelled,
    numerics,
    published,
    regions,
    resources,
    timeline,
    waterfall,
)
from .canvas import FIGURES, render, save
from .theme import DARK, LIGHT

__all__ = ["DRAWINGS", "FIGURES", "Drawing", "draw", "main", "render"]


@dataclass(frozen=True)
class Drawing:
    """A figure: its file name, what draws it, and the files that its numbers come from."""

    name: str
    make: Callable[[], Figure]
    sources: tuple[Path, ...]


DRAWINGS: tuple[Drawing, ...] = (
    Drawing("hero-light", lambda: hero.hero(LIGHT), hero.SOURCES),
    Drawing("hero-dark", lambda: hero.hero(DARK), hero.SOURCES),
    Drawing("instruction-grid", grid.instruction_grid, (COUNTS,)),
    Drawing("waterfall", waterfall.waterfall, (COUNTS,)),
    Drawing("alone-or-last", interaction.alone_or_last, (COUNTS,)),
    Drawing("quant-pair", interaction.quant_pair, (COUNTS, EXCERPTS)),
    Drawing("regions", regions.regions, (COUNTS,)),
    Drawing("waits-and-nops", regions.waits_and_nops, (COUNTS,)),
    Drawing("resources", resources.resources, (COUNTS,)),
    Drawing("exp2-share", published.exp2_share, (CLAIMS, COUNTS)),
    Drawing("against-published", published.against_published, (COUNTS, OTHER_LLVM, REFERENCE)),
    Drawing("bits-and-errors", numerics.bits_and_errors, (VERIFY, ERRORS, COUNTS)),
    Drawing("hazards", hazards.hazards, (VERIFY, HAZARDS, COUNTS)),
    Drawing("loads-and-waits", timeline.loads_and_waits, (TIMELINE, COUNTS)),
    Drawing("per-m-times", curves.per_m_times, curves.data_files()),
    Drawing("per-m-speedup", curves.per_m_speedup, curves.data_files()),
    Drawing("ratio-to-hip", curves.ratio_to_hip, curves.data_files()),
    Drawing("flag-contributions", contributions.flag_contributions, curves.data_files()),
    Drawing("stall-stacks", modelled.stall_stacks, (modelled.CAUSES,)),
    Drawing("modelled-validation", modelled.validation, (modelled.VALIDATION, modelled.UNMAPPED)),
    Drawing("modelled-sensitivity", modelled.sensitivity, (modelled.SENSITIVITY,)),
    Drawing("wave-timelines", modelled.timelines, (modelled.TIMELINE,)),
)
"""Every figure under ``figures/``."""


def draw(drawings: Sequence[Drawing] = DRAWINGS, folder: Path = FIGURES) -> list[Path]:
    """Draw figures and write each as SVG and PNG.

    Raises:
        TableError, MissingCounts, OSError: data cannot be read, or a file not be written.
    """
    return [
        path
        for drawing in drawings
        for path in save(drawing.name, drawing.make(), drawing.sources, folder)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Redraw all figures, or those named; returns an exit code."""
    names = [drawing.name for drawing in DRAWINGS]
    parser = argparse.ArgumentParser(prog="python -m mxfp4kernels.plots", description=__doc__)
    parser.add_argument("figure", nargs="*", help=f"default: all of {', '.join(names)}")
    arguments = parser.parse_args(argv)
    unknown = [name for name in arguments.figure if name not in names]
    if unknown:
        parser.error(f"unknown figure {', '.join(unknown)}; choose from {', '.join(names)}")
    wanted = [one for one in DRAWINGS if not arguments.figure or one.name in arguments.figure]
    return run_step(
        lambda: (path for one in wanted for path in draw([one])), MissingCounts, TableError
    )
