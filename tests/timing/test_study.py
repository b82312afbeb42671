"""The commands that write ``data/timing/``: what they say, an interrupt, a second run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels.compiler import CompileError
from mxfp4kernels.files import REPOSITORY, read_csv
from mxfp4kernels.flags import NONE, acting
from mxfp4kernels.modelled import study, tasks, timeline
from mxfp4kernels.modelled.tasks import FAMILY_A, FAMILY_B, Outcome, Task, ends
from mxfp4kernels.modelled.validation import CLAIMS
from mxfp4kernels.shapes import dispatch, find_variant

VARIANT = find_variant("gemm2", "bm16_atomic_nt")


def task(routing: str = FAMILY_B, tokens: int = 4) -> Task:
    return Task(VARIANT, tokens, routing, (NONE, acting(VARIANT)))


def outcome() -> Outcome:
    rows = [
        {
            "flags": flags, "us": us, "clock_ghz": 2.4, "cycles_per_tile": 1.0, "basis": "bytes",
            "bound": "hbm",
        }
        for flags, us in (("none", 11.0), ("bare_pointer_abi+unsigned_divrem", 10.0))
    ]  # fmt: skip
    causes = [{"flags": "none", "cause": "fixed", "us": 11.0}]
    swings = {"hbm_read": (0.03, -0.01), "kernel_fixed": (-0.04, 0.04)}
    return Outcome(rows, causes, swings, {"hbm_read": (0.001, -0.002)})


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (
        "CURVE", "GAINS", "CAUSES", "SENSITIVITY", "VALIDATION", "UNMAPPED", "CLAIM_TABLE",
    ):  # fmt: skip
        path = getattr(study, name)
        monkeypatch.setattr(study, name, tmp_path / path.name)
    return tmp_path


def test_the_band_is_the_root_of_the_summed_squares_on_each_side() -> None:
    low, high = ends({"a": (0.03, -0.01), "b": (-0.04, 0.04), "c": (0.0, 0.0)})
    assert low == pytest.approx(-((0.01**2 + 0.04**2) ** 0.5))
    assert high == pytest.approx(0.05)


def test_a_claims_band_moves_both_times_at_once() -> None:
    """A constant that makes both forms longer alike changes nothing between them."""
    moved = {
        "none": {"both": (-0.1, 0.1), "first": (0.0, 0.01)},
        "bare_pointer_abi+unsigned_divrem": {"both": (-0.1, 0.1), "first": (0.0, 0.0)},
    }
    made = replace(outcome(), moved=moved)
    low, high = made.change_band("none", "bare_pointer_abi+unsigned_divrem")
    assert low == pytest.approx(1 / 1.01 - 1)
    assert high == 0
    causes = [{"flags": flags, "cause": "fixed", "us": 1.0} for flags in moved]
    forms = replace(made, causes=causes).comparison(*moved)
    assert (forms.before.us, forms.after.us, forms.after.bound) == (11.0, 10.0, "hbm")
    assert forms.change == pytest.approx(100 * (10 / 11 - 1))


def test_every_claim_has_both_its_forms_among_the_tasks() -> None:
    settings = {(one.variant, one.tokens): one.settings for one in tasks.claim_tasks()}
    assert all(one.every for one in tasks.claim_tasks())
    for claim in CLAIMS:
        for variant, tokens in claim.cases:
            assert acting(variant, claim.before) in settings[variant, tokens]
            assert acting(variant, claim.after) in settings[variant, tokens]


def test_tables_name_what_was_written_and_come_out_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "curve_tasks", lambda: [task()])
    monkeypatch.setattr(study, "published_tasks", lambda rows, known: [])
    monkeypatch.setattr(study, "claim_tasks", list)
    monkeypatch.setattr(study, "read_published", tuple)
    monkeypatch.setattr(study, "validation_rows", lambda rows, times: [{"a": 1}])
    monkeypatch.setattr(study, "claim_rows", lambda settings: [{"a": 1}])
    monkeypatch.setattr(study, "outcomes_of", lambda tasks, workers: [outcome()])
    assert study.main([]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["wrote"] * 7
    first = {path.name: path.read_bytes() for path in folder.iterdir()}
    (gain,) = read_csv(folder / "gains.csv")
    assert (gain["gain"], gain["low"], gain["high"]) == ("1.10000", "1.09780", "1.10110")
    (none, merged) = read_csv(folder / "curve.csv")
    assert (none["us"], none["basis"]) == ("11.000", "bytes")
    assert float(merged["low"]) == pytest.approx(10 * (1 - (0.01**2 + 0.04**2) ** 0.5), abs=1e-3)
    warm = outcome()
    warm = replace(warm, swings=dict(sorted(warm.swings.items(), reverse=True)))
    monkeypatch.setattr(study, "outcomes_of", lambda tasks, workers: [warm])
    assert study.main([]) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == first


@pytest.mark.parametrize(
    ("failure", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (CompileError("gemm1 cannot be compiled", ""), 1, "gemm1 cannot be compiled"),
    ],
    ids=["interrupt", "failure"],
)
def test_what_goes_wrong_is_one_line_and_no_table(
    failure: BaseException,
    code: int,
    said: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(tasks: object, workers: int) -> list[Outcome]:
        raise failure

    monkeypatch.setattr(study, "outcomes_of", fail)
    assert study.main(["--workers", "1"]) == code
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told
    assert list(folder.iterdir()) == []


def test_the_timeline_says_what_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timeline, "TIMELINE", tmp_path / "timeline.csv")
    monkeypatch.setattr(timeline, "timeline_rows", lambda modeller, flags: [{"a": 1}])
    assert timeline.main([]) == 0
    assert capsys.readouterr().out == f"wrote {tmp_path / 'timeline.csv'}\n"


SLOW = """
import sys, time
from mxfp4kernels.modelled import runner, study
if __name__ == "__main__":
    runner.Compiler.compile_all = lambda self, jobs, progress=None: []
    print("started", flush=True)
    sys.exit(study.main(["--workers", "2"]))
"""


@pytest.fixture(name="running")
def _running(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    script = tmp_path / "slow.py"
    script.write_text(SLOW)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=REPOSITORY, env={"PYTHONPATH": str(REPOSITORY), "PATH": "", "HOME": str(tmp_path)},
        start_new_session=True,
    )  # fmt: skip
    yield process
    if process.poll() is None:
        process.kill()
    process.communicate()


def test_ctrl_c_ends_the_processes_with_one_line(running: subprocess.Popen[str]) -> None:
    """The signal reaches every process of the terminal, as Ctrl-C does."""
    assert running.stdout is not None
    assert running.stdout.readline() == "started\n"
    time.sleep(3)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    assert told.strip().splitlines() == [told.strip()]
    assert "interrupted" in told


def test_no_less_than_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        study.main(["--workers", "0"])
    assert stopped.value.code == 2
    assert "--workers" in capsys.readouterr().err


def test_what_is_on_the_curve_is_not_modelled_again_for_published_times() -> None:
    curve = tasks.curve_tasks()
    published = study.read_published()
    more = tasks.published_tasks(published, curve)
    have = {(one.variant, one.tokens, one.routing) for one in [*curve, *more]}
    assert {(row.variant, row.tokens, row.routing) for row in published} <= have
    assert len(have) == len(curve) + len(more)


@pytest.mark.parametrize("routing", [FAMILY_A, FAMILY_B])
def test_both_families_have_every_m(routing: str) -> None:
    found = [one for one in tasks.curve_tasks() if one.routing == routing]
    for tokens in tasks.TOKENS:
        wanted = {dispatch(kernel, tokens) for kernel in ("gemm1", "gemm2")}
        assert wanted <= {one.variant for one in found if one.tokens == tokens}


def test_make_runs_both_then_draws_then_runs_the_notebooks() -> None:
    shown = subprocess.run(
        ["make", "-n", "timing"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    modules = [line.split()[-1] for line in shown.splitlines() if " -m mxfp4kernels." in line]
    names = ("modelled.study", "modelled.timeline", "quoted", "plots", "notebooks")
    assert modules == [f"mxfp4kernels.{name}" for name in names]
