"""Notebook 02: executed from committed data alone, to the outputs that are committed."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

from mxfp4kernels import notebooks
from mxfp4kernels.files import REPOSITORY

NOTEBOOK = notebooks.NOTEBOOKS / "02_numerics_and_hazards.ipynb"
BLOCKER = """
import sys
for name in ("flydsl", "torch", "numba"):
    sys.modules[name] = None
"""
"""A module that is None cannot be imported."""


def cells(kind: str) -> list[str]:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def test_needs_neither_compiler_nor_emulator_and_gives_the_committed_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If this fails: ``python -m mxfp4kernels.notebooks``."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(BLOCKER)
    paths = (str(site), str(REPOSITORY), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    assert notebooks.execute(NOTEBOOK) == NOTEBOOK.read_text(encoding="utf-8")


def test_every_picture_is_there() -> None:
    pictures = [
        path for text in cells("markdown") for path in re.findall(r"!\[.*?\]\((.*?)\)", text)
    ]
    assert len(pictures) == 3
    assert all((NOTEBOOK.parent / path).is_file() for path in pictures)


def test_cells_are_short_and_no_count_is_typed_into_the_argument() -> None:
    assert all(len(source.splitlines()) <= 22 for source in cells("code"))
    known = re.compile(
        r"PR #3828|gfx950|gemm\d|BM=\d+|MXFP4|mxfp4kernels|E2M1|float64|f32|^# 2\.|hardware_exp2"
        r"|\d\d?_\w+"
    )
    for text in cells("markdown"):
        rest = known.sub("", re.sub(r"\]\(.*?\)", "]", text))
        assert not re.findall(r"\d+", rest), rest


def test_holds_no_path_of_a_machine() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not re.search(r"(?<![\w.])/(?:home|root|tmp|work|usr|Users)/", text)
