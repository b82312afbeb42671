"""Sheets to draw on, and files that come out the same on every run."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..files import REPOSITORY, write_bytes
from .theme import LIGHT, Theme

FIGURES = REPOSITORY / "figures"
POINTS = 72
"""Of an inch."""
ASCENT = 0.93
"""Of DejaVu Sans: from the baseline to the upper edge of a line, over the size of the type."""
STYLE = Path(__file__).with_name("style.mplstyle")


@contextmanager
def styled(theme: Theme = LIGHT) -> Iterator[None]:
    """The house style in the colours of ``theme``, and nothing of the user's own settings."""
    colours = {
        "figure.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.muted,
        "axes.titlecolor": theme.ink,
        "grid.color": theme.faint,
        "text.color": theme.ink,
        "xtick.color": theme.muted,
        "ytick.color": theme.ink,
    }
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.style.use([STYLE, colours])
        yield


def sheet(width: float, height: float) -> Figure:
    """An empty figure, sizes in inches; no window, no global state."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class Place:
    """A rectangle of a sheet in inches from its top left corner."""

    left: float
    top: float
    width: float
    height: float


def axes_at(figure: Figure, place: Place) -> Axes:
    """Axes that fill ``place``."""
    width, height = figure.get_size_inches()
    return figure.add_axes(
        (
            place.left / width,
            1 - (place.top + place.height) / height,
            place.width / width,
            place.height / height,
        )
    )


def write(
    figure: Figure,
    left: float,
    top: float,
    text: str,
    *,
    size: float = 9,
    colour: str | None = None,
    weight: str = "normal",
    align: str = "left",
    family: str | None = None,
) -> None:
    """Text with its upper edge ``top`` inches below the top of the sheet.

    A single line is placed by its baseline, so that texts of one ``top`` and size stand in one
    line whatever letters they have.
    """
    width, height = figure.get_size_inches()
    single = "\n" not in text
    down = ASCENT * size / POINTS if single else 0
    figure.text(
        left / width,
        1 - (top + down) / height,
        text,
        size=size,
        weight=weight,
        color=colour or matplotlib.rcParams["text.color"],
        family=family or matplotlib.rcParams["font.family"],
        ha=align,
        va="baseline" if single else "top",
        linespacing=1.35,
    )


def heading(figure: Figure, title: str, subtitle: str, theme: Theme = LIGHT) -> None:
    """What the figure says, and how to read it."""
    write(figure, 0.12, 0.10, title, size=13, weight="bold")
    write(figure, 0.12, 0.40, subtitle, size=9, colour=theme.muted)


def source_line(figure: Figure, text: str, theme: Theme = LIGHT) -> None:
    """Where the numbers come from, at the foot of the sheet."""
    write(figure, 0.12, figure.get_size_inches()[1] - 0.22, text, size=7.5, colour=theme.muted)


def digest(sources: Sequence[Path]) -> str:
    """The data files of a figure with the start of their hashes: its provenance."""
    return ", ".join(
        f"{path.relative_to(REPOSITORY).as_posix()} "
        f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
        for path in sources
    )


def render(figure: Figure, sources: Sequence[Path]) -> dict[str, bytes]:
    """The figure as ``svg`` and ``png``, each naming the data that it was drawn from.

    Two renderings have the same bytes: no date, no version, no random names.
    """
    description = f"Drawn by mxfp4kernels from {digest(sources)}"
    metadata = {
        "svg": {"Description": description, "Date": None, "Creator": "mxfp4kernels"},
        "png": {"Description": description, "Software": None},
    }
    made = {}
    with styled():  # resolution and names in the SVG are chosen when a figure is saved
        for form, entries in metadata.items():
            stream = io.BytesIO()
            figure.savefig(stream, format=form, metadata=entries)
            made[form] = stream.getvalue()
    return made


def save(name: str, figure: Figure, sources: Sequence[Path], folder: Path = FIGURES) -> list[Path]:
    """Write ``name.svg`` and ``name.png`` whole.

    Raises:
        OSError: a file cannot be written.
    """
    paths = []
    for form, content in render(figure, sources).items():
        path = folder / f"{name}.{form}"
        write_bytes(path, content)
        paths.append(path)
    return paths
