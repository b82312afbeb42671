"""The figures: drawn from committed data alone, the same bytes each time, readable, up to date."""

from __future__ import annotations

import ast
import hashlib
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from mxfp4kernels import plots
from mxfp4kernels.ablation import counts
from mxfp4kernels.ablation.counts import COUNTS
from mxfp4kernels.curves.published import FAMILIES
from mxfp4kernels.curves.series import read_all, times
from mxfp4kernels.files import REPOSITORY, TableError, read_csv, write_csv
from mxfp4kernels.plots import DRAWINGS, FIGURES, Drawing, draw, render
from mxfp4kernels.plots.canvas import digest
from mxfp4kernels.plots.series import OTHERS
from mxfp4kernels.shapes import KERNELS

WITHOUT_COMPILER = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("flydsl", "torch"):
            raise ImportError(f"{name} is blocked in this test")

sys.meta_path.insert(0, Blocker())
from pathlib import Path
from mxfp4kernels.plots import DRAWINGS, draw
draw(DRAWINGS, Path(sys.argv[1]))
"""

each = pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda drawing: drawing.name)


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.iterdir())
    }


def test_all_are_drawn_without_flydsl_and_torch_and_come_out_the_same(tmp_path: Path) -> None:
    for run in ("first", "second"):
        made = subprocess.run(
            [sys.executable, "-c", WITHOUT_COMPILER, str(tmp_path / run)],
            capture_output=True,
            text=True,
            cwd=REPOSITORY,
            env={"PYTHONHASHSEED": "1" if run == "first" else "2", "PATH": ""},
        )
        assert made.returncode == 0, made.stderr
    first, second = digests(tmp_path / "first"), digests(tmp_path / "second")
    assert first == second
    assert sorted(first) == sorted(
        f"{drawing.name}.{form}" for drawing in DRAWINGS for form in ("png", "svg")
    )


def test_the_folder_holds_every_figure_and_nothing_else() -> None:
    drawn = {f"{drawing.name}.{form}" for drawing in DRAWINGS for form in ("png", "svg")}
    assert {path.name for path in FIGURES.iterdir()} == drawn


@each
def test_committed_figure_is_of_the_committed_data(drawing: Drawing) -> None:
    """A figure names the hashes of what it was drawn from; ``make figures`` brings them up."""
    for form in ("svg", "png"):
        content = (FIGURES / f"{drawing.name}.{form}").read_bytes()
        assert digest(drawing.sources).encode() in content, f"redraw {drawing.name}.{form}"


@each
def test_nothing_in_the_files_depends_on_the_run(drawing: Drawing) -> None:
    content = (FIGURES / f"{drawing.name}.svg").read_text(encoding="utf-8")
    root = ET.fromstring(content)
    kinds = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert "date" not in kinds
    assert "image" not in kinds, "raster content in an SVG"
    assert str(REPOSITORY) not in content


def texts(figure: Figure) -> list[tuple[str, Bbox]]:
    """Every visible text with the box that it covers, in pixels."""
    canvas = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()
    renderer = canvas.get_renderer()
    found = []
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip():
            found.append((text.get_text(), text.get_window_extent(renderer)))
    return found


@each
def test_no_text_is_cut_off(drawing: Drawing) -> None:
    figure = drawing.make()
    found = texts(figure)
    width, height = figure.canvas.get_width_height()
    assert found
    outside = [
        text for text, box in found if box.x0 < 0 or box.y0 < 0 or box.x1 > width or box.y1 > height
    ]
    assert not outside


@each
def test_no_text_lies_on_another(drawing: Drawing) -> None:
    overlapping = []
    for (one, a), (two, b) in itertools.combinations(texts(drawing.make()), 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        if width > 1 and height > 3:  # boxes are a little larger than the ink
            overlapping.append((one, two))
    assert not overlapping


def outside(figure: Figure) -> list[tuple[str, float]]:
    """Numbers in data coordinates that the limits of their axes hide, with what draws them."""
    hidden = []
    for axes in figure.axes:
        limits = (sorted(axes.get_xlim()), sorted(axes.get_ylim()))
        for artist, points in drawn_in(axes):
            for across, (low, high) in enumerate(limits):
                slack = 1e-6 * (high - low)
                values = points[:, across]
                wrong = values[(values < low - slack) | (values > high + slack)]
                hidden += [(f"{axes.get_title()} {type(artist).__name__}", one) for one in wrong]
    return hidden


def drawn_in(axes: Axes) -> Iterator[tuple[Artist, np.ndarray]]:
    """Lines, bars and bands with their corners; what spans the axes on purpose is left out."""
    for line in axes.lines:
        if line.get_transform() == axes.transData:
            points = np.asarray(line.get_xydata(), float)
            yield line, points[np.isfinite(points).all(axis=1)]
    for patch in axes.patches:
        if isinstance(patch, Rectangle) and patch.get_data_transform() == axes.transData:
            yield patch, patch.get_bbox().get_points()
    for band in axes.collections:
        if isinstance(band, PolyCollection):
            for path in band.get_paths():
                yield band, path.vertices


@each
def test_every_value_lies_inside_its_axes(drawing: Drawing) -> None:
    assert not outside(drawing.make())


def test_a_hidden_value_is_found() -> None:
    """The check itself: a point, a bar and a band that stick out."""
    for draw_one in (
        lambda axes: axes.plot([1, 2], [1, 9]),
        lambda axes: axes.bar([1], [9]),
        lambda axes: axes.fill_between([1, 2], [1, 1], [2, 9]),
    ):
        figure = Figure()
        axes = figure.add_subplot()
        draw_one(axes)
        axes.set_xlim(0, 3)
        axes.set_ylim(0, 10)
        assert not outside(figure)
        axes.set_ylim(0, 8)
        assert {value for _, value in outside(figure)} == {9}


@each
def test_says_where_the_numbers_come_from(drawing: Drawing) -> None:
    found = " ".join(text for text, _ in texts(drawing.make()))
    if COUNTS not in drawing.sources:
        assert all(f"{kind}: " in found for kind in ("published", "measured", "modelled"))
        return
    assert "compiled here: FlyDSL" in found
    if drawing.name in ("exp2-share", "against-published"):
        assert "published" in found.lower()


def strings(tree: ast.Module) -> list[tuple[int, str]]:
    """String constants that are neither docstrings nor format specifications."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            skipped |= {id(inner) for inner in ast.walk(node.format_spec)}
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in skipped
    ]


NUMBER = re.compile(r"(?<![\w#.])[+-]?\d+(?:\.\d+)?(?![\w.])")
ALLOWED = {"Line at 0: published counts (", "0"}
"""Texts with a number that is no result: the origin of an axis."""


@pytest.mark.parametrize(
    "module", sorted(Path(plots.__file__).parent.glob("*.py")), ids=lambda path: path.stem
)
def test_no_number_is_typed_into_a_text(module: Path) -> None:
    typed = [
        (line, text)
        for line, text in strings(ast.parse(module.read_text(encoding="utf-8")))
        if NUMBER.search(text) and text not in ALLOWED
    ]
    assert not typed


def test_published_times_of_other_kernels_are_set_apart() -> None:
    """Kernels that we have none like, another variant than the line's, another tile order."""
    other = [row for row in read_csv(plots.curves.UNMAPPED) if "128 columns" in row["reason"]]
    other += [
        row
        for row in read_csv(plots.curves.VALIDATION)
        if "_xcd" in row["published_name"]
        or (row["backend"], row["variant"]) == ("flydsl", "bm128_mxfp4")
    ]
    sources = read_all()
    apart, points = [], 0
    for kernel, family in itertools.product(KERNELS, FAMILIES):
        found = times(sources, kernel, family)
        drawn = plots.curves.set_apart(found, kernel, family)
        apart += [
            (kernel, point.tokens, f"{point.value:.3f}")
            for series in drawn
            if series.name == OTHERS
            for point in series.points
        ]
        points += sum(len(series.points) for series in drawn)
        assert sum(len(one.points) for one in found) == sum(len(one.points) for one in drawn)
    assert points
    assert sorted(apart) == sorted(
        (row["kernel"], int(row["M"]), row["published"]) for row in other
    )
    assert OTHERS in " ".join(text for text, _ in texts(plots.curves.per_m_times()))


def test_published_times_are_counted_alike() -> None:
    """The two figures of them differ in what they leave out, not in how many there are."""
    said = [" ".join(text for text, _ in texts(make())) for make in (
        plots.curves.per_m_times, plots.modelled.validation,
    )]  # fmt: skip
    total = re.search(r"times of single kernels at this shape: (\d+)", said[0])
    compared = re.search(r"(\d+) of (\d+) device times of single kernels", said[1])
    assert total is not None
    assert compared is not None
    assert total[1] == compared[2]


@pytest.mark.parametrize("size", [7.5, 9, 13])
def test_single_lines_of_one_height_share_a_baseline(size: float) -> None:
    figure = plots.canvas.sheet(4, 2)
    for text in ("mfma", "s_nop", "dependency", "(y)", "\N{BLACK CIRCLE} x"):
        plots.canvas.write(figure, 0.1, 0.5, text, size=size)
    assert {text.get_verticalalignment() for text in figure.texts} == {"baseline"}
    assert len({text.get_position()[1] for text in figure.texts}) == 1


def test_a_changed_count_changes_the_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = read_csv(counts.COUNTS)
    for row in rows:
        if row["variant"] == "bm64" and row["flags"] != "none" and row["region"] == "kernel":
            row["VALU"] = str(int(row["VALU"]) - 100)
            row["total"] = str(int(row["total"]) - 100)
    changed = tmp_path / "counts.csv"
    write_csv(changed, tuple(rows[0]), rows)
    waterfall = next(drawing for drawing in DRAWINGS if drawing.name == "waterfall")
    before = [text for text, _ in texts(waterfall.make())]
    monkeypatch.setattr(plots.waterfall, "read_counts", lambda: counts.read_counts(changed))
    after = [text for text, _ in texts(waterfall.make())]
    assert before != after


def test_rendering_twice_gives_the_same_bytes_and_leaves_settings_alone() -> None:
    drawing = DRAWINGS[0]
    with matplotlib.rc_context({"savefig.bbox": "tight", "font.size": 23}):
        once, again = (render(drawing.make(), drawing.sources) for _ in range(2))
        assert matplotlib.rcParams["font.size"] == 23
    assert once == again
    assert once == render(drawing.make(), drawing.sources), "a user's settings show"


class TestCommandLine:
    def test_draws_only_what_is_named(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(plots, "draw", lambda some: [Path(one.name) for one in some])
        assert plots.main(["regions", "resources"]) == 0
        assert capsys.readouterr().out == "wrote regions\nwrote resources\n"

    def test_refuses_an_unknown_figure(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            plots.main(["mona-lisa"])
        assert stopped.value.code == 2
        assert "unknown figure mona-lisa; choose from hero-light" in capsys.readouterr().err

    def test_data_that_cannot_be_read_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(some: object) -> None:
            raise TableError("counts.csv has no column VALU")

        monkeypatch.setattr(plots, "draw", fail)
        assert plots.main([]) == 1
        assert capsys.readouterr().err == "counts.csv has no column VALU\n"

    def test_a_file_that_cannot_be_written_leaves_nothing(self, tmp_path: Path) -> None:
        blocked = tmp_path / "figures"
        blocked.write_text("a file where the folder should be")
        with pytest.raises(OSError, match="figures"):
            draw(DRAWINGS[:1], blocked)
        assert [path.name for path in tmp_path.iterdir()] == ["figures"]
