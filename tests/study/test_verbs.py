"""run, verify, sanitize and needless on the command line."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mxfp4kernels import cli
from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.files import REPOSITORY
from mxfp4kernels.flags import ALL, SAFE
from mxfp4kernels.shapes import Shape, find_variant

SMALL = ("--shape", "4x512x256x2", "--m", "5")
LOOPING = ("--shape", "1x1024x256x1", "--m", "128", "--routing", "same", "--workgroup", "0")
"""Four K tiles: gemm1 bm128 loads into an A tile that other waves may be reading."""


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.main(words)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_verify_prints_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "verify", "gemm1/bm32_nt", *SMALL, "--all")
    assert code == cli.OK
    assert out.startswith("PASS gemm1/bm32_nt 4x512x256x2 M=5 random normal: 8 tiles")


def test_verify_as_json_and_of_chosen_workgroups(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys, "verify", "gemm2/bm32_cshuffle", *SMALL, "--workgroup", "1", "--json"
    )
    (row,) = json.loads(out)
    assert code == cli.OK
    assert (row["passed"], row["tiles"], row["mismatches"]) == (True, 1, 0)
    assert row["elements"] == 32 * 256


def test_run_counts_what_was_executed(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "run", "gemm2/bm32_atomic", *SMALL, "--workgroup", "0")
    assert code == cli.OK
    mfma = re.search(r"v_mfma_scale_f32_16x16x128_f8f6f4 +(\d+)", out)
    assert mfma is not None
    assert int(mfma[1]) == 4 * 2 * 4 * 2, "4 waves, 2 row groups, 4 column groups, 2 halves"
    assert "1 workgroups, 4 waves" in out


def test_sanitize_names_both_instructions_and_the_safe_form_is_clean(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run(capsys, "sanitize", "gemm1/bm128", *LOOPING, "--json")
    rows = json.loads(out)
    assert code == cli.FAILED
    assert {row["kind"] for row in rows} == {"lds"}
    assert all(row["first_line"] and row["second_line"] and row["missing"] for row in rows)
    _, out, _ = run(capsys, "sanitize", "gemm1/bm128", *LOOPING)
    pairs = [int(number) for number in re.findall(r"^lds +(\d+)", out, re.M)]
    assert sum(pairs) == len(rows) > len(pairs)
    code, out, _ = run(capsys, "sanitize", "gemm1/bm128", *LOOPING, "--flags", "safe")
    assert code == cli.OK
    assert out == "clean: no hazard, the same bytes in all of 9 orders of waves\n"


def test_needless_lists_what_can_go(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "needless", "gemm1/bm16_iq", *LOOPING[:2], "--m", "16")
    assert code == cli.OK
    listed, reached = map(int, re.findall(r"^(\d+) of (\d+) can be dropped", out, re.M)[0])
    assert out.count("s_waitcnt") + out.count("s_barrier") == listed < reached


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """One of our own kernels as somebody else's file."""
    variant, shape = find_variant("gemm1", "bm128"), Shape(1, 1024, 256, 1)
    path = tmp_path / "kernel.s"
    path.write_text(Compiler(workers=1).compile(Job(variant, shape, ALL & SAFE)).assembly)
    return path


@pytest.mark.parametrize("verb", ["run", "sanitize", "needless"])
def test_a_file_needs_a_launch(capsys: pytest.CaptureFixture[str], kernel: Path, verb: str) -> None:
    code, _, err = run(capsys, verb, str(kernel))
    assert code == cli.USAGE
    assert "needs --launch FILE; docs/emulator.md" in err


def test_a_fault_is_one_line_with_the_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    np.save(tmp_path / "a.npy", np.zeros(255, np.int32))
    launch = tmp_path / "launch.yaml"
    launch.write_text(
        "{kernel: tree_sum, grid: 1, block: 256, arguments: "
        "[{buffer: out, size: 4}, {buffer: a, npy: a.npy}]}"
    )
    foreign = REPOSITORY / "tests" / "emulator" / "foreign" / "arithmetic.s"
    code, out, err = run(capsys, "run", str(foreign), "--launch", str(launch))
    assert (code, out) == (cli.FAILED, "")
    assert re.search(r"error: line \d+: global_load_dword .* wave 3, lane 63.*'a' \(1020", err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--routing", "fair"), "unknown routing 'fair'; choose from random"),
        (("--content", "special"), "special content needs a variant that quantises bf16 itself"),
        (("--m", "0"), "tokens must be at least 1, got 0"),
        (("--workgroup", "999"), "workgroups must lie in 0.."),
    ],
)
def test_problems_that_cannot_be(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    code, _, err = run(capsys, "verify", "gemm1/bm32_nt", *SMALL, *words)
    assert code == cli.USAGE
    assert message in err


@pytest.mark.parametrize(("missing", "extra"), [("numba", "emulator"), ("torch", "compile")])
def test_what_is_not_installed_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, missing: str, extra: str
) -> None:
    run(capsys, "verify", "gemm1/bm32_nt", *SMALL, "--workgroup", "0")  # in the cache from here
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else found(name)
    )
    code, _, err = run(capsys, "verify", "gemm1/bm32_nt", *SMALL)
    assert code == cli.MISSING
    assert f".[{extra}]" in err


IDLE = [
    (("run", "gemm1/bm64", "--launch", "l.yml"), "--launch: a variant has its own launch"),
    (("run", "k.s", "--launch", "l.yml", "--m", "4"), "--m: the launch file describes the launch"),
    (("sanitize", "k.s", "--workgroup", "1", "--all"), "--workgroup and --all: the launch file"),
    (("needless", "k.s", "--flags", "none"), "--flags: the launch file"),
    (("verify", "gemm1/bm64", "--workgroup", "1", "--all"), "--workgroup: --all runs every"),
    (("isa", "k.s", "--flags", "none"), "--flags: a .s file is compiled already"),
    (("diff", "k.s", "k.s", "--shape", "4x512x256x2"), "--shape: a .s file is compiled already"),
    (("time", "k.s", "--m", "4", "--seed", "1"), "--m and --seed: the launch file"),
    (("time", "gemm1/bm64", "--groups", "2"), "--groups: it is of a .s file"),
    (("timeline", "gemm1/bm64", "--to-hbm", "0.5"), "--to-hbm: it is of a .s file"),
]


@pytest.mark.parametrize(("words", "message"), IDLE)
def test_an_option_that_would_do_nothing_is_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (cli.USAGE, "")
    assert message in err
    assert re.search(r"; leave (it|them) out$", err.strip())


def test_workgroups_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--workgroup", "0", "1", "--workgroup", "3")
    _, out, _ = run(capsys, "run", "gemm2/bm32_atomic", *SMALL, *words)
    assert "3 workgroups, 12 waves" in out


@pytest.mark.parametrize("seed", ["-1", "1.5", str(2**63)])
def test_seeds_out_of_range(capsys: pytest.CaptureFixture[str], seed: str) -> None:
    with pytest.raises(SystemExit):
        cli.main(["verify", "gemm1/bm64", "--seed", seed])
    assert f"a seed must be a whole number of 0..2**63-1, got '{seed}'" in capsys.readouterr().err


def test_targets_that_are_neither(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, _, err = run(capsys, "run", str(tmp_path))
    assert code == cli.USAGE
    assert f"'{tmp_path}' is no variant; name one such as gemm1/bm128" in err
    code, _, err = run(capsys, "verify", str(tmp_path / "kernel.s"))
    assert code == cli.USAGE
    assert "is a .s file, and this verb knows what a variant must do" in err


@pytest.mark.parametrize("tokens", ["-3", "0", "99999999"])
def test_launches_too_small_or_large_to_model(
    capsys: pytest.CaptureFixture[str], tokens: str
) -> None:
    code, _, err = run(capsys, "time", "gemm1/bm128", "--m", tokens)
    assert code == cli.USAGE
    assert f"--m must lie in 1..1048576 to be modelled, got {tokens}" in err


def test_more_workgroups_than_a_unit_is_modelled_with(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "time", "k.s", "--groups", "100000000000")
    assert code == cli.USAGE
    assert "--groups must lie in 1..4096, got 100000000000" in err
