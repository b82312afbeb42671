"""Notebook 01: executed from committed data, to the outputs that are committed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

from mxfp4kernels import notebooks
from mxfp4kernels.files import REPOSITORY

NOTEBOOK = notebooks.NOTEBOOKS / "01_isa_ablation.ipynb"
NUMBERED = re.compile(r"\d\d_[a-z0-9_]+\.ipynb")

BLOCKER = """
import sys
for name in ("flydsl", "torch"):
    sys.modules[name] = None
"""
"""A module that is None cannot be imported."""


def test_execution_gives_the_committed_outputs() -> None:
    """If this fails: ``python -m mxfp4kernels.notebooks``."""
    assert notebooks.execute(NOTEBOOK) == NOTEBOOK.read_text(encoding="utf-8")


def test_needs_neither_flydsl_nor_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(BLOCKER)
    paths = (str(site), str(REPOSITORY), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    assert notebooks.execute(NOTEBOOK) == NOTEBOOK.read_text(encoding="utf-8")


def cells(kind: str) -> list[str]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def test_is_numbered_and_alone_under_its_number() -> None:
    names = [path.name for path in notebooks.NOTEBOOKS.glob("*.ipynb")]
    assert all(map(NUMBERED.fullmatch, names))
    assert len({name[:2] for name in names}) == len(names)


def test_cells_are_short_and_logic_is_in_the_package() -> None:
    for source in cells("code"):
        assert len(source.splitlines()) <= 22
        assert "class " not in source
    assert sum(source.count("def ") for source in cells("code")) == 1, "only say()"


def test_every_picture_is_there() -> None:
    pictures = [
        path for text in cells("markdown") for path in re.findall(r"!\[.*?\]\((.*?)\)", text)
    ]
    assert pictures
    assert all((NOTEBOOK.parent / path).is_file() for path in pictures)


def test_no_count_is_typed_into_the_argument() -> None:
    """Numbers in the prose are names and rules of the hardware; all that is counted is computed."""
    known = re.compile(r"PR #3828|gfx950|gemm\d|bm\d+\w*|BM=\d+|MXFP4|64-bit|^# 1\.|\d\d?_\w+")
    for text in cells("markdown"):
        rest = known.sub("", re.sub(r"\]\(.*?\)", "]", text))
        assert not re.findall(r"\d+", rest), rest


def test_holds_no_path_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/", text)
