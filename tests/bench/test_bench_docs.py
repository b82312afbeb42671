"""docs/bench.md and notebook 03 say what the data and the code say."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
import torch
from scipy.stats import binom

from mxfp4kernels import cli, notebooks
from mxfp4kernels.bench import quotes
from mxfp4kernels.bench.baselines import bind, version_of
from mxfp4kernels.bench.cases import TOKENS, Case, Setting
from mxfp4kernels.bench.fake import FakeDevice
from mxfp4kernels.bench.procedure import FLOORS_PER_REPLAY, Procedure
from mxfp4kernels.bench.records import TOLERATED_DRIFT
from mxfp4kernels.bench.rows import CLOCK_SHARE
from mxfp4kernels.bench.verdicts import Mark, Verdict
from mxfp4kernels.bench.workload import KernelWorkload, WeightStore
from mxfp4kernels.curves.series import TABLE_TOKENS
from mxfp4kernels.files import REPOSITORY
from mxfp4kernels.hip import emulated_device
from mxfp4kernels.shapes import find_variant, parse_shape

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


def test_what_a_default_run_compares_is_what_the_verb_plans(capsys) -> None:
    assert cli.main(["bench", "--plan", "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)
    count = sum(len(case["compared"].split(", ")) for case in cases)
    assert f"A default run makes {count} comparisons." in TEXT
    assert f"own {len(cases)} A/A pairs" in TEXT


def test_the_bound_of_a_rate_is_the_exact_one() -> None:
    """Against the probability of so few events at that rate, from the binomial distribution."""
    for events, trials in ((0, 26), (1, 1000), (7, 50)):
        bound = quotes._rate_at_most(events, trials)
        assert binom.cdf(events, trials, bound) == pytest.approx(1 - quotes.CERTAINTY)


FILLED_IN = """
from mxfp4kernels.flags import ALL
from mxfp4kernels.kernels import device_kernel, parameters_of

def run(variant, shape, values):
    buffers = dict(values)
    tokens = buffers.pop("n_tokens")
    names = {p.name for p in parameters_of(variant)}
    buffers |= dict.fromkeys(names - buffers.keys() - {"n_tokens"})
    blocks = buffers["sorted_expert_ids"].numel()
    device_kernel(variant, shape, ALL)(buffers, n_tokens=tokens, m_blocks=blocks)

def YOUR_GEMM1(a, *rest):
    names = ("a_scale", "w1", "w1_scale", "sorted_expert_ids", "cumsum", "m_indices", "n_tokens",
             "out_q", "out_scale")
    first = "hidden" if CASE.variant.inline_quant else "a_quant"
    run(CASE.variant, CASE.shape, {first: a, **dict(zip(names, rest, strict=True))})

def YOUR_GEMM2(*arguments):
    names = ("a_q", "a_scale", "w2", "w2_scale", "sorted_expert_ids", "cumsum",
             "sorted_token_ids", "sorted_weights", "n_tokens", "out", "out_scale")
    run(CASE.variant, CASE.shape, dict(zip(names, arguments, strict=True)))
"""
"""An aiter whose functions are our own kernels."""


@pytest.fixture
def adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page's example as a file, and a package called aiter beside it, in a checkout."""
    (block,) = re.findall(r"```python\n# my_adapter\.py\n(.*?)```", TEXT, re.S)
    (tmp_path / "my_adapter.py").write_text(block)
    (tmp_path / "aiter").mkdir()
    (tmp_path / "aiter" / "__init__.py").write_text(FILLED_IN)
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "kernels"),
    ):
        subprocess.run(["git", "-C", tmp_path, *words], check=True)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("aiter")
    for name in ("aiter", "my_adapter"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "variant", ["gemm1/bm16_iq", "gemm1/bm32_nt", "gemm2/bm16_atomic_nt", "gemm2/bm128_mxfp4"]
)
def test_the_example_of_an_adapter_passes_the_check(adapter: ModuleType, variant: str) -> None:
    """Filled in with functions that are right, it is right for both kernels."""
    found = find_variant(*variant.split("/"))
    case = Case(found, parse_shape("4x256x256x2"), 3, "family-a", 0, (Setting("aiter-hip"),))
    vars(adapter)["CASE"] = case
    binding = bind("aiter-hip", "my_adapter:moe")
    assert binding.version == version_of("aiter")
    with emulated_device("metadata"):
        workload = KernelWorkload(
            case,
            FakeDevice(),
            torch.device("cpu"),
            kernels=lambda setting: binding.kernel(case.variant, case.shape),
            provenance=lambda setting: {},
            store=WeightStore(torch.device("cpu")),
            cache="warm",
        )
        check = workload.check(case.baseline)
    assert check.passed, check.report


def test_the_table_of_ratios_has_the_rows_that_the_bench_measures() -> None:
    assert set(TABLE_TOKENS) <= set(TOKENS)


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
