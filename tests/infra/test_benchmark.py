"""The benchmark of the ablation: what it measures, and that a limit can be exceeded."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels import benchmark, cost
from mxfp4kernels.cost import Run


@pytest.mark.parametrize("target", benchmark.TARGETS)
def test_steps_are_those_of_the_make_target(repository, target: str) -> None:
    text = (repository / "Makefile").read_text()
    recipe = text.partition(f"\n{target}:")[2].partition("\n\n")[0]
    found = [line.split()[1:] for line in recipe.splitlines() if line.startswith("\t")]
    wanted = [
        ["-m", *step] if len(step) == 1 else list(step[1:-1]) for step in benchmark.TARGETS[target]
    ]
    assert found == wanted


def test_memory_of_children_is_counted() -> None:
    code = "x = bytearray(100_000_000); print('ready', flush=True); input()"
    alone = benchmark.resident_bytes(os.getpid())
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        both = benchmark.resident_bytes(os.getpid())
        child.communicate(b"\n")
    assert 10_000_000 < alone < both - 90_000_000


def test_a_failed_step_is_an_error(monkeypatch, capsys) -> None:
    monkeypatch.setattr(benchmark, "TARGETS", {"ablation": (("mxfp4kernels.no_such_step",),)})
    with pytest.raises(subprocess.CalledProcessError, match="no_such_step"):
        benchmark.run_target("ablation", "empty", dict(os.environ))
    assert benchmark.main([]) == 1
    assert "-m mxfp4kernels.no_such_step failed with 1" in capsys.readouterr().err


RUNS = [
    Run("ablation", "ablate", "empty", 20.04, 2**30),
    Run("ablation", "plots", "empty", 5.0, 2**29),
    Run("ablation", "ablate", "full", 1.5, 2**28),
]


@pytest.mark.parametrize(("peak", "code", "word"), [(5, 0, "ok"), (7, 1, "EXCEEDED")])
def test_exit_code_says_whether_a_limit_is_exceeded(monkeypatch, capsys, peak, code, word) -> None:
    runs = [replace(RUNS[0], peak=peak * 2**30)]
    monkeypatch.setattr(benchmark, "measure", lambda targets: (runs, 30.0))
    assert benchmark.main([]) == code
    memory = next(line for line in capsys.readouterr().out.splitlines() if "memory" in line)
    assert memory.endswith(word)


def test_costs_are_sums_over_a_target() -> None:
    found = {one.name: one.value for one in benchmark.costs(RUNS, 30.0)}
    assert found["ablation, empty cache"] == pytest.approx(25.04)
    assert found["ablation, full cache"] == 1.5
    assert found["ablation, peak memory of all processes"] == 1.0


def test_records_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    cost.write_costs(RUNS, path)
    assert cost.seconds_of("ablation", "plots", "empty", path) == 5.0
    assert cost.seconds_of("ablation", "all", "empty", path) == 25.0
    cost.write_costs([Run("timing", "plots", "empty", 7.0, 2**29)], path)
    assert cost.seconds_of("ablation", "all", "empty", path) == 25.0, "other targets stay"
    assert cost.seconds_of("timing", "all", "empty", path) == 7.0
    with pytest.raises(LookupError, match="no cost of ablation plots with full cache in costs"):
        cost.seconds_of("ablation", "plots", "full", path)
