"""The script that validates graph timing, on a stand-in that runs torch's operations on the CPU."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from mxfp4kernels.bench.device import Replay
from mxfp4kernels.bench.fake import INFO

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "benchmarks" / "validate_graph_timing.py"


@dataclass(frozen=True)
class CpuGraph:
    launches: int
    work: tuple[Callable[[], object], ...]


class CpuDevice:
    """Runs at once; "graphs" are lists."""

    place = torch.device("cpu")
    info = replace(INFO, cache_bytes=1 << 16)

    def run(self, launch: Callable[[], object]) -> None:
        launch()

    def capture(self, launches: Sequence[Callable[[], object]]) -> CpuGraph:
        return CpuGraph(len(launches), tuple(launches))

    def time(self, graph: CpuGraph) -> Replay:
        return self.time_launches(graph.work)

    def time_launches(self, launches: Sequence[Callable[[], object]]) -> Replay:
        launches[0]()
        began = time.perf_counter()
        for launch in launches:
            launch()
        return Replay(time.perf_counter() - began)

    def event_floor(self) -> float:
        return 1e-6

    def unreadable(self) -> dict[str, str]:
        return {"clock_mhz": "no device"}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch):
    specification = importlib.util.spec_from_file_location("validate_graph_timing", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, specification.name, module)
    specification.loader.exec_module(module)
    return module


def test_every_operation_is_timed_by_every_method(script, monkeypatch, tmp_path, capsys) -> None:
    device = CpuDevice()
    monkeypatch.setattr(script, "TorchDevice", lambda: device)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(
        script, "operations", lambda d: [script._product(d, 64, c) for c in ("rotating", "warm")]
    )
    assert script.main(["--rounds", "3", "--output", str(tmp_path)]) == 0
    with open(tmp_path / "graph_timing.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["cache"], row["method"]) for row in rows} == {
        (cache, method)
        for cache in ("rotating", "warm")
        for method in ("graph", "events", "torch-benchmark")
    }
    assert {row["input_sets"] for row in rows if row["cache"] == "rotating"} == {"7"}
    assert all(int(row["launches"]) % int(row["input_sets"]) == 0 for row in rows)
    graph = {row["cache"]: float(row["median"]) for row in rows if row["method"] == "graph"}
    for row in rows:
        ratio = float(row["median"]) / graph[row["cache"]]
        assert float(row["relative_to_graph"]) == pytest.approx(ratio, rel=0.01, abs=1e-4)
        assert float(row["minimum"]) <= float(row["median"]) <= float(row["q95"])
    assert {row["device"] for row in rows} == {INFO.name}
    assert {row["purpose"] for row in rows} == {"harness validation"}
    document = json.loads((tmp_path / "graph_timing.json").read_text())
    assert document["absent"] == {"clock_mhz": "no device"}
    assert all(len(times) == 3 for one in document["measured"] for times in one["seconds"].values())
    assert "of graph" in capsys.readouterr().out


def test_no_round_is_no_validation(script, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        script.main(["--rounds", "0", "--output", str(tmp_path)])
    assert "--rounds must be at least 1, got 0" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_products_and_copies_do_what_their_names_say(script) -> None:
    device = CpuDevice()
    product = script._product(device, 8, "warm")
    (launch,) = product.launches
    assert torch.equal(launch(), launch.args[0] @ launch.args[1])
    copy = script._copy(device, 32, "warm").launches[0]
    assert torch.equal(copy(), copy.args[0])


def test_it_needs_torch_and_numpy_only_and_says_so_without_a_device(tmp_path) -> None:
    """Everything else that this project requires is made impossible to import."""
    blocker = tmp_path / "sitecustomize.py"
    blocker.write_text(
        "import sys\n"
        "for name in ('yaml', 'scipy', 'flydsl', 'numba', 'llvmlite', 'tqdm', 'matplotlib'):\n"
        "    sys.modules[name] = None\n"
    )
    answer = subprocess.run(
        [sys.executable, SCRIPT, "--output", tmp_path],
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}:{REPOSITORY}",
            "CUDA_VISIBLE_DEVICES": "",
            "HIP_VISIBLE_DEVICES": "",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 3, answer.stderr
    assert answer.stderr.startswith("error: torch")
    assert "sees no device" in answer.stderr
    assert not (tmp_path / "graph_timing.csv").exists()
