"""The command line: what each verb prints, its exit codes, and one clear line for each error."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mxfp4kernels import cli, compiler, counts, parity
from mxfp4kernels.cache import LOCATION_VARIABLE
from mxfp4kernels.flags import FLAGS
from mxfp4kernels.isa import parse
from mxfp4kernels.shapes import SHAPES, VARIANTS

COMMAND = (sys.executable, "-m", "mxfp4kernels.cli")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command, in this process."""
    try:
        code = cli.main(words)
    except SystemExit as ended:  # argparse
        code = int(ended.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Exit code and the one line of error."""
    code, out, err = run(capsys, *words)
    assert out == ""
    message = err.splitlines()[-1]
    assert message.startswith("mxfp4kernels")
    assert "Traceback" not in err
    return code, message


@pytest.fixture
def assembly(tmp_path: Path, ablated_kernels) -> Path:
    """A compiled kernel's assembly as a file."""
    path = tmp_path / "kernel.s"
    path.write_text(ablated_kernels[0].assembly)
    return path


@pytest.fixture
def no_flydsl(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    compiler.flydsl_fingerprint.cache_clear()
    monkeypatch.setattr(importlib.metadata, "version", none)


class TestHelp:
    def test_help_shows_verbs_examples_and_exit_codes(self, capsys) -> None:
        code, out, _ = run(capsys, "--help")
        assert code == 0
        for verb in ("flags", "variants", "compile", "isa", "diff", "ablate", "claims"):
            assert f"\n    {verb}" in out
        assert "start here:" in out
        for number, text in cli.EXIT_CODES.items():
            assert f"{number:3}  {text}" in out

    @pytest.mark.parametrize(
        "verb", ["flags", "variants", "compile", "isa", "diff", "ablate", "claims"]
    )
    def test_each_verb_has_help(self, capsys, verb) -> None:
        code, out, _ = run(capsys, verb, "--help")
        assert code == 0
        assert "exit codes:" in out

    def test_no_verb(self, capsys) -> None:
        assert run(capsys)[0] == cli.USAGE

    def test_examples_in_the_help_are_valid(self) -> None:
        words = [
            line.split("  ")[1].split()[1:]
            for line in cli._EXAMPLES.splitlines()
            if "mxfp4kernels" in line
        ]
        assert len(words) >= 5
        for example in words:
            cli._parser().parse_args(example)


class TestListings:
    def test_flags(self, capsys) -> None:
        code, out, _ = run(capsys, "flags")
        assert code == 0
        for flag in FLAGS:
            assert f"\n{flag.name}\n" in f"\n{out}"
            assert flag.claim in out

    def test_flags_as_json(self, capsys) -> None:
        rows = json.loads(run(capsys, "flags", "--json")[1])
        assert [row["flag"] for row in rows] == [flag.name for flag in FLAGS]
        assert rows[0]["listed"] is True

    def test_variants_tell_which_run_a_shape(self, capsys) -> None:
        rows = json.loads(run(capsys, "variants", "--shape", "8x512x384x2", "--json")[1])
        fits = {row["variant"]: row["runs_8x512x384x2"] for row in rows}
        assert fits["gemm1/bm64"] == "yes"
        assert fits["gemm2/bm64_atomic"].startswith("no: gemm2 needs inter % 256 == 0")
        assert list(fits) == [str(variant) for variant in VARIANTS]

    @pytest.mark.parametrize("shape", SHAPES)
    def test_named_shapes(self, capsys, shape) -> None:
        assert run(capsys, "variants", "--shape", shape)[0] == 0


class TestCompile:
    def test_assembly_to_stdout_and_to_a_file(self, capsys, tmp_path: Path) -> None:
        code, out, err = run(capsys, "compile", "gemm1/bm64", "--flags", "none")
        assert (code, err) == (0, "")
        assert "v_mfma_scale_f32_16x16x128_f8f6f4" in out
        path = tmp_path / "deep" / "kernel.s"
        code, nothing, _ = run(capsys, "compile", "gemm1/bm64", "--flags", "none", "-o", str(path))
        assert (code, nothing) == (0, "")
        assert path.read_text() == out

    def test_json(self, capsys) -> None:
        (row,) = json.loads(run(capsys, "compile", "gemm2/bm64_atomic", "--json")[1])
        assert row["variant"] == "bm64_atomic"
        assert row["flags"] == "bare_pointer_abi+unsigned_divrem"
        assert (row["kernarg_bytes"], row["spills"]) == (88, 0)

    def test_code_object(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "kernel.o"
        code, out, _ = run(capsys, "compile", "gemm1/bm64", "--code-object", str(path))
        assert (code, out) == (0, "")
        assert path.read_bytes()[:4] == b"\x7fELF"

    def test_no_linker(self, capsys, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.setattr(compiler, "_linker_candidates", list)
        path = tmp_path / "kernel.o"
        code, message = refused(capsys, "compile", "gemm1/bm64", "--code-object", str(path))
        assert code == cli.MISSING
        assert "no ld.lld" in message
        assert not path.exists()


class TestIsa:
    def test_of_a_variant(self, capsys) -> None:
        code, out, _ = run(capsys, "isa", "gemm1/bm64", "--flags", "none")
        assert code == 0
        lines = out.splitlines()
        assert lines[0].split() == ["region", *counts.CLASSES, "total"]
        assert [line.split()[0] for line in lines[1:6]] == list(counts.REGIONS)
        assert "waves per SIMD" in out

    def test_of_a_file_equals_the_variant(self, capsys, assembly: Path, ablated_kernels) -> None:
        report = json.loads(run(capsys, "isa", str(assembly), "--json")[1])
        job = ablated_kernels[0].job
        words = ("isa", str(job.variant), "--flags", "none", "--json")
        of_variant = json.loads(run(capsys, *words)[1])
        assert report["regions"] == of_variant["regions"]
        assert report["occupancy"] == of_variant["occupancy"]

    def test_of_a_file_without_flydsl(self, capsys, assembly: Path, no_flydsl) -> None:
        assert run(capsys, "isa", str(assembly))[0] == 0

    def test_of_a_bare_listing(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "bare.s"
        path.write_text("kernel:\n  v_add_u32_e32 v0, v1, v2\n  s_endpgm\n")
        code, out, _ = run(capsys, "isa", str(path))
        assert code == 0
        assert "waves per SIMD" not in out  # no metadata, so nothing is known

    def test_unreadable_assembly(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "bad.s"
        path.write_text("kernel:\n  v_frobnicate_b32 v0, v1\n  s_endpgm\n")
        code, message = refused(capsys, "isa", str(path))
        assert code == cli.USAGE
        assert "v_frobnicate_b32" in message

    def test_missing_file(self, capsys, tmp_path: Path) -> None:
        code, message = refused(capsys, "isa", str(tmp_path / "none.s"))
        assert code == cli.STORAGE
        assert "none.s: No such file" in message

    def test_not_text(self, capsys, tmp_path: Path) -> None:
        (tmp_path / "binary.s").write_bytes(b"\x7fELF\xff\xfe")
        code, message = refused(capsys, "isa", str(tmp_path / "binary.s"))
        assert code == cli.USAGE
        assert "binary.s" in message


class TestDiff:
    def test_of_two_settings(self, capsys) -> None:
        code, out, _ = run(capsys, "diff", "gemm1/bm64", "none", "hardware_exp2")
        assert code == 0
        lines = out.splitlines()
        assert lines[0].endswith("none")
        assert lines[1].endswith("hardware_exp2")
        assert any("v_ldexp_f32" in line for line in lines if line.startswith("-"))

    def test_of_two_files(self, capsys, assembly: Path) -> None:
        code, out, _ = run(capsys, "diff", str(assembly), str(assembly), "--json")
        assert code == 0
        assert sum(section["changed"] for section in json.loads(out)) == 0

    def test_html(self, capsys, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        assert run(capsys, "diff", "gemm1/bm64", "none", "all", "--html", str(page))[:2] == (0, "")
        assert page.read_text().startswith("<!DOCTYPE html>")

    def test_idle_flag_makes_no_difference(self, capsys) -> None:
        words = ("diff", "gemm1/bm64", "none", "epilog_hoisting", "--json")
        assert sum(s["changed"] for s in json.loads(run(capsys, *words)[1])) == 0

    @pytest.mark.parametrize("words", [("gemm1/bm64",), ("gemm1/bm64", "none", "all", "all")])
    def test_wrong_number_of_sides(self, capsys, words) -> None:
        code, message = refused(capsys, "diff", *words)
        assert code == cli.USAGE
        assert "two .s files, or a variant and two flag settings" in message


class TestAblate:
    def test_a_part_writes_only_counts_and_only_where_told(self, capsys, tmp_path: Path) -> None:
        words = ("ablate", "--variant", "gemm1/bm64", "--study", "presets")
        code, out, _ = run(capsys, *words, "--output", str(tmp_path))
        assert code == 0
        assert "2 kernels counted; wrote counts.csv" in out
        assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]
        table = counts.read_counts(tmp_path / "counts.csv")
        assert {row.flags for row in table.rows} == {"none", "bare_pointer_abi+hardware_exp2"}

    def test_a_part_does_not_replace_the_whole(self, capsys) -> None:
        before = counts.COUNTS.read_bytes()
        parts = (("--variant", "gemm1/bm64"), ("--study", "alone"), ("--shape", "8x512x512x2"))
        for words in parts:
            code, message = refused(capsys, "ablate", *words)
            assert code == cli.USAGE
            assert "--output" in message
        assert counts.COUNTS.read_bytes() == before

    def test_variants_that_cannot_run_are_told(self, capsys, tmp_path: Path) -> None:
        words = ("ablate", "--shape", "8x512x384x2", "--study", "presets", "-o", str(tmp_path))
        code, _, err = run(capsys, *words, "--quiet")
        assert code == 0
        assert err.count("left out: gemm2/") == 11

    def test_whole_run_writes_the_committed_bytes(self, capsys, tmp_path: Path, table) -> None:
        code, out, _ = run(capsys, "ablate", "--output", str(tmp_path))
        assert code == 0
        for name in ("counts.csv", "claims.csv", "reference.csv"):
            assert name in out
            committed = counts.COUNTS.parent / name
            assert (tmp_path / name).read_bytes() == committed.read_bytes(), name

    def test_progress_goes_to_stderr(self, capsys, tmp_path: Path) -> None:
        words = ("ablate", "--variant", "gemm1/bm64", "-o", str(tmp_path))
        assert "compiling: 100%" in run(capsys, *words)[2]
        assert run(capsys, *words, "--quiet")[1:] == ("", "")

    def test_full_disk_leaves_the_old_table(self, capsys, tmp_path: Path, monkeypatch) -> None:
        words = ("ablate", "--variant", "gemm1/bm64", "-o", str(tmp_path), "--quiet")
        (tmp_path / "counts.csv").write_text("old")

        def no_space(*_: object) -> None:
            raise OSError(28, os.strerror(28), str(tmp_path / "counts.csv"))

        run(capsys, *words[:3], "-o", str(tmp_path / "warm"), "--quiet")
        monkeypatch.setattr("mxfp4kernels.files.os.replace", no_space)
        code, message = refused(capsys, *words)
        assert code == cli.STORAGE
        assert "counts.csv: No space left on device" in message
        assert (tmp_path / "counts.csv").read_text() == "old"
        assert not list(tmp_path.glob(".*"))


class TestClaims:
    def test_verdicts(self, capsys) -> None:
        code, out, _ = run(capsys, "claims")
        assert code == 0
        assert "share of non-MFMA VALU" in out
        assert "not applicable" not in out
        assert "not applicable" in run(capsys, "claims", "--all")[1]

    def test_parity_as_json(self, capsys) -> None:
        rows = json.loads(run(capsys, "claims", "--parity", "--json")[1])
        assert rows
        assert {row["verdict"] for row in rows} <= {parity.WITHIN, parity.OUTSIDE}

    def test_check_fails_on_a_contradicted_claim(self, capsys, tmp_path: Path, table) -> None:
        rows = [row for row in table.rows if row.variant == "bm64"]
        counts.write_counts(counts.CountTable(rows), tmp_path / "good.csv")
        words = ("claims", "--counts", str(tmp_path / "good.csv"), "--check")
        assert run(capsys, *words)[0] == 0
        text = (tmp_path / "good.csv").read_text().replace(",88,", ",96,")
        (tmp_path / "bad.csv").write_text(text)
        words = ("claims", "--counts", str(tmp_path / "bad.csv"))
        assert run(capsys, *words)[0] == 0
        assert run(capsys, *words, "--check")[0] == cli.FAILED

    def test_needs_no_flydsl(self, capsys, no_flydsl) -> None:
        assert run(capsys, "claims")[0] == 0

    def test_table_that_is_not_there(self, capsys, tmp_path: Path) -> None:
        code, message = refused(capsys, "claims", "--counts", str(tmp_path / "none.csv"))
        assert code == cli.STORAGE
        assert "none.csv" in message

    def test_table_that_is_no_table(self, capsys, tmp_path: Path) -> None:
        (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
        code, message = refused(capsys, "claims", "--counts", str(tmp_path / "odd.csv"))
        assert code == cli.USAGE
        assert "no column" in message


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("compile", "gemm3/bm64"), "unknown kernel 'gemm3'; choose gemm1 or gemm2"),
            (("compile", "gemm1/bm48"), "gemm1 has no variant 'bm48'"),
            (("compile", "gemm1/bm64", "--flags", "fast"), "unknown flag or preset 'fast'"),
            (("compile", "gemm1/bm64", "--shape", "big"), "unknown shape 'big'"),
            (("compile", "gemm1/bm64", "--shape", "8x512x100x2"), "gemm1 needs inter % 128"),
            (("compile", "gemm1/bm64", "--arch", "gfx942"), "unknown architecture 'gfx942'"),
            (("compile", "gemm1/bm64", "--workers", "0"), "at least 1"),
            (("isa", "gemm1/bm48"), "gemm1 has no variant 'bm48'"),
            (("diff", "gemm1/bm64", "none", "fast"), "unknown flag or preset 'fast'"),
            (("ablate", "--study", "sideways"), "invalid choice: 'sideways'"),
            (("ablate", "--shape", "8x100x512x2", "-o", "x"), "hidden % 256"),
        ],
    )
    def test_wrong_input_is_one_clear_line(self, capsys, words, expected) -> None:
        code, message = refused(capsys, *words)
        assert code == cli.USAGE
        assert expected in message

    def test_missing_flydsl(self, capsys, no_flydsl) -> None:
        code, message = refused(capsys, "compile", "gemm1/bm64")
        assert code == cli.MISSING
        assert 'FlyDSL is not installed; pip install "mxfp4kernels[compile]"' in message

    def test_cache_that_cannot_be_written(self, capsys) -> None:
        words = ("compile", "gemm1/bm64", "--cache", "/proc/self/ns/cache")
        code, message = refused(capsys, *words)
        assert code == cli.STORAGE
        assert "/proc/self/ns/cache" in message
        assert LOCATION_VARIABLE in message

    def test_failed_compilation_shows_details_on_request(
        self, capsys, tmp_path: Path, monkeypatch
    ) -> None:
        here = Path(__file__).parent / "fake_kernels.py"
        broken = compiler.Builder("fake_kernels:build_broken", (here,), "global_store")
        monkeypatch.setattr(
            cli, "Compiler", lambda cache, workers: compiler.Compiler(cache, broken, workers)
        )
        words = ("compile", "gemm1/bm64", "--cache", str(tmp_path))
        code, message = refused(capsys, *words)
        assert code == cli.FAILED
        assert "gemm1/bm64 385x7168x512x9" in message
        assert "no libcall available for ftan" in message
        assert "--verbose" in message
        code, _, err = run(capsys, "--verbose", *words)
        assert code == cli.FAILED
        assert "Traceback" in err

    def test_interrupt(self, capsys, monkeypatch) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(cli, "_print_table", interrupt)
        code, message = refused(capsys, "variants")
        assert code == cli.INTERRUPTED
        assert "run again" in message


class TestProcess:
    def test_installed_command(self) -> None:
        command = Path(sys.executable).with_name("mxfp4kernels")
        answer = subprocess.run([command, "flags", "--json"], capture_output=True, check=True)
        assert len(json.loads(answer.stdout)) == len(FLAGS)

    def test_reader_that_has_seen_enough(self) -> None:
        read, write = os.pipe()
        os.close(read)
        answer = subprocess.run([*COMMAND, "flags"], stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        assert answer.stderr == b""
        assert answer.returncode == cli.STORAGE

    def test_full_device(self) -> None:
        with open("/dev/full", "wb") as full:
            answer = subprocess.run([*COMMAND, "flags"], stdout=full, stderr=subprocess.PIPE)
        assert answer.returncode == cli.STORAGE
        assert answer.stderr == b"mxfp4kernels: error: output: No space left on device\n"

    def test_assembly_is_read_back(self, capsys, ablated_kernels) -> None:
        """What compile prints is text that the parser takes."""
        out = run(capsys, "compile", "gemm1/bm16_iq", "--flags", "none")[1]
        assert parse(out).name == ablated_kernels[0].program.name
