"""docs/bench.md and notebook 03 say what the data and the code say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import nbformat
import pytest

from mxfp4kernels import notebooks
from mxfp4kernels.bench import quotes
from mxfp4kernels.bench.cases import TOKENS
from mxfp4kernels.bench.procedure import FLOORS_PER_REPLAY, Procedure
from mxfp4kernels.bench.records import TOLERATED_DRIFT
from mxfp4kernels.bench.rows import CLOCK_SHARE
from mxfp4kernels.bench.verdicts import Mark, Verdict
from mxfp4kernels.curves import TABLE_TOKENS
from mxfp4kernels.files import REPOSITORY

TEXT = quotes.PAGE.read_text(encoding="utf-8")
NOTEBOOK = notebooks.NOTEBOOKS / "03_per_m_curves.ipynb"


def test_the_page_quotes_the_data_as_they_are() -> None:
    """If this fails: ``python -m mxfp4kernels.bench.quotes``."""
    assert quotes.fill(TEXT) == TEXT
    assert set(re.findall(r"<!-- bench (\w+) -->", TEXT)) == set(quotes.TABLES)


def test_a_table_that_there_is_not() -> None:
    with pytest.raises(quotes.QuoteError, match="no table 'weather'; choose from conditions"):
        quotes.fill("<!-- bench weather -->\n<!-- end -->")


def test_the_page_names_every_verdict_and_status() -> None:
    for word in (*Verdict, *Mark):
        assert f"{word}" in TEXT


def test_the_page_states_the_defaults() -> None:
    default = Procedure()
    for words in (
        f"replayed {default.passes} times",
        f"{default.rounds} rounds make a case",
        f"`--threshold`, {100 * default.threshold:g} %",
        f"a replay takes {1000 * default.replay_seconds:g} ms and at least {FLOORS_PER_REPLAY}",
        f"below {CLOCK_SHARE} of the highest",
        f"by more than {100 * TOLERATED_DRIFT:g} %",
    ):
        assert re.search(r"\s+".join(map(re.escape, words.split())), TEXT), words


def test_the_table_of_ratios_has_the_rows_that_the_bench_measures() -> None:
    assert TABLE_TOKENS == TOKENS


class TestNotebook:
    def test_execution_gives_the_committed_outputs(self) -> None:
        """If this fails: ``python -m mxfp4kernels.notebooks``."""
        assert notebooks.execute(NOTEBOOK) == NOTEBOOK.read_text(encoding="utf-8")

    def test_needs_neither_flydsl_nor_torch(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "sitecustomize.py").write_text(
            "import sys\nfor name in ('flydsl', 'torch', 'scipy'):\n    sys.modules[name] = None\n"
        )
        paths = (str(tmp_path), str(REPOSITORY), os.environ.get("PYTHONPATH", ""))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        assert notebooks.execute(NOTEBOOK) == NOTEBOOK.read_text(encoding="utf-8")

    def test_every_picture_is_there(self) -> None:
        pictures = re.findall(r"!\[.*?\]\((.*?)\)", "\n".join(self.cells("markdown")))
        assert len(pictures) == 4
        assert all((NOTEBOOK.parent / path).is_file() for path in pictures)

    def test_cells_are_short_and_no_value_is_typed_into_the_argument(self) -> None:
        for source in self.cells("code"):
            assert len(source.splitlines()) <= 22
        known = re.compile(r"PR #3828|mxfp4kernels|gfx950|gemm\d|bm\d+\w*|MI35\dX|M=\d+|^# 3\.")
        for text in self.cells("markdown"):
            rest = known.sub("", re.sub(r"\]\(.*?\)", "]", text))
            assert not re.findall(r"\d+", rest), rest

    def cells(self, kind: str) -> list[str]:
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        return [cell.source for cell in notebook.cells if cell.cell_type == kind]
