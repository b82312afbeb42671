"""The benchmark of the ablation: what it measures, and that a limit can be exceeded."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mxfp4kernels import benchmark
from mxfp4kernels.benchmark import Cost


def test_steps_are_those_of_make_ablation(repository) -> None:
    recipe = (repository / "Makefile").read_text().partition("\nablation:")[2].partition("\n\n")[0]
    found = [line.split()[1:] for line in recipe.splitlines() if line.startswith("\t")]
    wanted = [["-m", step[0]] for step in benchmark.STEPS[1:]]
    assert found == [["ablate"], *wanted]
    assert benchmark.STEPS[0] == ("mxfp4kernels", "ablate", "--quiet")


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
    monkeypatch.setattr(benchmark, "STEPS", (("mxfp4kernels.no_such_step",),))
    with pytest.raises(subprocess.CalledProcessError, match="no_such_step"):
        benchmark.run_steps(dict(os.environ))
    assert benchmark.main([]) == 1
    assert "-m mxfp4kernels.no_such_step failed with 1" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "code", "word"), [(5.0, 0, "ok"), (7.0, 1, "EXCEEDED")])
def test_exit_code_says_whether_a_limit_is_exceeded(monkeypatch, capsys, value, code, word) -> None:
    monkeypatch.setattr(benchmark, "measure", lambda: [Cost("memory", value, 6, "GiB")])
    assert benchmark.main([]) == code
    assert capsys.readouterr().out.splitlines()[-1].endswith(word)


def test_reading_the_largest_kernel_takes_less_than_50_milliseconds(ablated_kernels) -> None:
    largest = max(ablated_kernels, key=lambda kernel: len(kernel.assembly))
    assert benchmark.reading_milliseconds([largest]) < 50
