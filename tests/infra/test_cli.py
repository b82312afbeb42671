"""The command line: what each verb prints, its exit codes, and one clear line for each error."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from mxfp4kernels import cli, compiler, packages
from mxfp4kernels.ablation import counts, parity
from mxfp4kernels.cache import LOCATION_VARIABLE
from mxfp4kernels.cli import entry, listing, options, output
from mxfp4kernels.flags import FLAGS, PRESETS, REGISTRY
from mxfp4kernels.isa import parse
from mxfp4kernels.shapes import SHAPES, VARIANTS

COMMAND = (sys.executable, "-m", "mxfp4kernels")


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


BARE = "kernel:\n  v_add_u32_e32 v0, v1, v2\n  s_endpgm\n"

UNSTRUCTURED = [
    "kernel:\n  v_frobnicate_b32 v0, v1\n  s_endpgm\n",
    "kernel:\n  s_branch .Lnowhere\n  s_endpgm\n",
    "kernel:\n  s_nop 99\n  s_endpgm\n",
    "kernel:\n  s_waitcnt vmcnt(99)\n  s_endpgm\n",
    "kernel:\n  v_mov_b32_e32 v0, v300\n  s_endpgm\n",
]
"""What the parser takes, or not, and counting does not: an unknown class, label, nop, wait."""

SEVERAL = "".join(
    f"\t.type\t{name},@function\n{name}:\n{body}\ts_endpgm\n"
    f"\t.amdhsa_kernel {name}\n\t.end_amdhsa_kernel\n"
    for name, body in (("one", ""), ("two", "\ts_nop 0\n"))
)


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
            for line in entry.EXAMPLES.splitlines()
            if "mxfp4kernels" in line
        ]
        assert len(words) >= 5
        for example in words:
            entry.make_parser().parse_args(example)


class TestListings:
    def test_flags(self, capsys) -> None:
        code, out, _ = run(capsys, "flags")
        assert code == 0
        for flag in REGISTRY:
            assert f"\n{flag.name}\n" in f"\n{out}"
            assert flag.claim in out
        assert out.count("\n  origin    ours\n  presets   safe\n") == len(REGISTRY) - len(FLAGS)

    def test_flags_as_json(self, capsys) -> None:
        rows = json.loads(run(capsys, "flags", "--json")[1])
        assert [row["flag"] for row in rows] == [flag.name for flag in REGISTRY]
        assert rows[0]["listed"] is True
        ours = {row["flag"] for row in rows if row["origin"] == "ours"}
        assert ours == {flag.name for flag in REGISTRY} - {flag.name for flag in FLAGS}
        for row in rows:
            assert set(row["presets"].split()) == {
                preset for preset, names in PRESETS.items() if row["flag"] in names
            }

    def test_variants_tell_every_flag_that_acts(self, capsys) -> None:
        rows = json.loads(run(capsys, "variants", "--json")[1])
        text = run(capsys, "variants")[1]
        for row in rows:
            acting = {flag.name for flag in REGISTRY if row["variant"] in map(str, flag.variants)}
            assert set(row["flags"].split("+")) == acting
            assert f" {row['flags']}\n" in text

    def test_variants_tell_at_how_many_tokens_they_run(self, capsys) -> None:
        rows = json.loads(run(capsys, "variants", "--json")[1])
        tokens = {row["variant"]: row["kimi_tp4_m"] for row in rows}
        assert tokens["gemm1/bm16_iq"] == "1..128"
        assert tokens["gemm2/bm32_atomic_nt"] == "129..512"
        assert tokens["gemm2/bm128_nonatomic"] == "2049.."
        assert tokens["gemm2/bm128_mxfp4"] == "4097.. on request (lossy)"
        assert tokens["gemm2/bm64_cshuffle"] == "never"

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
        assert "waves per SIMD" not in out
        assert "occupancy unknown: kernel 'kernel' has no .vgpr_count in its metadata" in out

    @pytest.mark.parametrize("target", ["gfx942", "gfx90a"])
    def test_occupancy_of_another_target_is_not_known(
        self, capsys, assembly: Path, target: str
    ) -> None:
        assembly.write_text(assembly.read_text().replace("gfx950", target))
        code, out, _ = run(capsys, "isa", str(assembly))
        assert code == 0
        assert "waves per SIMD" not in out
        assert f"is for {target}; only the limits of gfx950 are known here" in out
        report = json.loads(run(capsys, "isa", str(assembly), "--json")[1])
        assert (report["target"], report["occupancy"]) == (target, None)

    @pytest.mark.parametrize("body", UNSTRUCTURED)
    def test_errors_name_file_and_line(self, capsys, tmp_path: Path, body: str) -> None:
        path = tmp_path / "bad.s"
        path.write_text(body)
        code, message = refused(capsys, "isa", str(path))
        assert code == cli.USAGE
        assert f"{path}: line 2: " in message

    def test_long_words_are_not_echoed_whole(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "long.s"
        path.write_text(f"kernel:\n  v_{'x' * 100_000}_b32 v0\n")
        assert len(refused(capsys, "isa", str(path))[1]) < 1000
        assert len(refused(capsys, "isa", "x" * 100_000)[1]) < 3000

    def test_one_of_several_kernels(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "two.s"
        path.write_text(SEVERAL)
        code, message = refused(capsys, "isa", str(path))
        assert code == cli.USAGE
        assert "(one, two)" in message
        assert "--kernel NAME" in message
        words = ("isa", str(path), "--json", "--kernel")
        assert json.loads(run(capsys, *words, "two")[1])["symbol"] == "two"
        code, message = refused(capsys, *words, "three")
        assert "no kernel 'three' in the text; it has (one, two)" in message
        assert "only one" in refused(capsys, "isa", "gemm1/bm64", "--kernel", "two")[1]

    def test_byte_order_mark(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "marked.s"
        path.write_bytes(b"\xef\xbb\xbf" + BARE.encode())
        assert run(capsys, "isa", str(path))[0] == 0

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
        report = json.loads(out)
        assert sum(section["changed"] for section in report["regions"]) == 0
        assert report["left"]["name"] == report["right"]["name"] == str(assembly)
        for side in ("left", "right"):
            total = report[side]["total"]
            assert total == sum(report[side][name] for name in counts.CLASSES)
            assert total == sum(section[side]["total"] for section in report["regions"]) > 0

    def test_html(self, capsys, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        assert run(capsys, "diff", "gemm1/bm64", "none", "all", "--html", str(page))[:2] == (0, "")
        assert page.read_text().startswith("<!DOCTYPE html>")

    def test_html_and_json_at_once(self, capsys, tmp_path: Path, assembly: Path) -> None:
        page = tmp_path / "page.html"
        words = ("diff", str(assembly), str(assembly), "--html", str(page), "--json")
        code, out, _ = run(capsys, *words)
        assert code == 0
        assert json.loads(out)["left"]["total"] > 0
        assert page.read_text().startswith("<!DOCTYPE html>")

    def test_file_name_that_is_no_text(self, tmp_path: Path) -> None:
        folder = os.fsencode(tmp_path)
        name = os.path.join(folder, b"caf\xe9.s")
        with open(name, "w") as stream:
            stream.write(BARE)
        page = os.path.join(folder, b"p\xe4ge.html")
        answer = subprocess.run([*COMMAND, "diff", name, name, "--html", page])
        assert answer.returncode == 0
        with open(page, encoding="utf-8") as stream:
            assert "caf\\xe9.s" in stream.read()
        for verb in (["diff", name, name], ["isa", name, "--json"]):
            answer = subprocess.run([*COMMAND, *verb], capture_output=True, check=True)
            assert b"xe9.s" in answer.stdout or b"udce9" in answer.stdout

    @pytest.mark.parametrize("body", UNSTRUCTURED)
    def test_the_side_that_cannot_be_read_is_named(self, capsys, tmp_path: Path, body) -> None:
        good, bad = tmp_path / "good.s", tmp_path / "bad.s"
        good.write_text(BARE)
        bad.write_text(body)
        for sides in ((good, bad), (bad, good)):
            code, message = refused(capsys, "diff", *map(str, sides))
            assert code == cli.USAGE
            assert f"{bad}: line 2: " in message

    def test_one_of_several_kernels(self, capsys, tmp_path: Path) -> None:
        path = tmp_path / "two.s"
        path.write_text(SEVERAL)
        code, message = refused(capsys, "diff", str(path), str(path))
        assert code == cli.USAGE
        assert "--kernel" in message
        words = ("diff", str(path), str(path), "--json", "--kernel", "two")
        assert json.loads(run(capsys, *words)[1])["left"]["total"] == 2
        code, message = refused(capsys, "diff", "gemm1/bm64", "none", "all", "--kernel", "two")
        assert "a variant has only one" in message

    def test_idle_flag_makes_no_difference(self, capsys) -> None:
        words = ("diff", "gemm1/bm64", "none", "epilog_hoisting", "--json")
        assert sum(s["changed"] for s in json.loads(run(capsys, *words)[1])["regions"]) == 0

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

    def test_factorial(self, capsys, tmp_path: Path) -> None:
        names = "native_packed_max+interleaved_quant"
        words = ("ablate", "--factorial", names, "-o", str(tmp_path), "--quiet")
        assert run(capsys, *words)[:2] == (0, "")
        table = counts.read_counts(tmp_path / "counts.csv")
        assert {row.variant for row in table.rows} == {"bm16_iq"}  # where both act
        assert {row.flags for row in table.rows} == {
            "none",
            "native_packed_max",
            "interleaved_quant",
            names,
        }
        assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]

    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("native_packed_max", "--variant", "gemm1/bm64"), "no effect in gemm1/bm64"),
            (("native_packed_max+epilog_hoisting",), "no variant in which"),
            (("fast",), "unknown flag or preset 'fast'"),
            (("hardware_exp2", "--study", "alone"), "leave out --study"),
            (("hardware_exp2",), "--output"),
        ],
    )
    def test_factorial_that_cannot_be(self, capsys, tmp_path: Path, words, expected) -> None:
        output = () if expected == "--output" else ("-o", str(tmp_path))
        code, message = refused(capsys, "ablate", "--factorial", *words, *output)
        assert code == cli.USAGE
        assert expected in message
        assert list(tmp_path.iterdir()) == []

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
        err = run(capsys, *words)[2]
        assert err == "compiling: 100% (4 of 4 kernels)\n"  # no terminal: whole lines alone
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


class TestProgress:
    def test_lines_of_a_log_are_few_and_none_comes_twice(self, capsys, monkeypatch) -> None:
        now = 0.0
        monkeypatch.setattr(output.time, "monotonic", lambda: now)
        with output.progress_bar("compiling", quiet=False) as report:
            assert report is not None
            for done in range(101):
                now = done / 10
                report(done, 100)
            report(100, 100)
        assert capsys.readouterr().err.splitlines() == [
            "compiling: 50% (50 of 100 kernels)",
            "compiling: 100% (100 of 100 kernels)",
        ]

    def test_nothing_to_do(self, capsys) -> None:
        with output.progress_bar("measuring", quiet=False, unit="round") as report:
            assert report is not None
            report(0, 0)
        assert capsys.readouterr().err == "measuring: 100% (0 of 0 rounds)\n"


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

    @pytest.mark.parametrize(
        ("old", "new", "expected"),
        [
            (",88,", ",many,", "'many'"),
            ("385x7168x512x9", "8x512x512x2", "one shape"),
            (",kernel,", ",kloop,", "more than one row"),
        ],
    )
    def test_table_whose_rows_are_wrong_is_named(
        self, capsys, tmp_path: Path, old, new, expected
    ) -> None:
        path = tmp_path / "odd.csv"
        path.write_text(counts.COUNTS.read_text().replace(old, new, 1))
        code, message = refused(capsys, "claims", "--counts", str(path))
        assert code == cli.USAGE
        assert str(path) in message
        assert expected in message

    def test_table_that_is_not_text(self, capsys, tmp_path: Path) -> None:
        (tmp_path / "odd.csv").write_bytes(b"kernel,\xff\xfe\n")
        code, message = refused(capsys, "claims", "--counts", str(tmp_path / "odd.csv"))
        assert code == cli.USAGE
        assert "odd.csv" in message

    def test_table_that_is_no_table(self, capsys, tmp_path: Path) -> None:
        (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
        code, message = refused(capsys, "claims", "--counts", str(tmp_path / "odd.csv"))
        assert code == cli.USAGE
        assert "no column" in message


class TestRefusals:
    @pytest.mark.parametrize(
        ("words", "expected"),
        [
            (("compile", "gemm3/bm64"), "'gemm3/bm64' is no variant; name one such as gemm1/bm128"),
            (("compile", "gemm1/bm48"), "gemm1 has no variant 'bm48'"),
            (("compile", "gemm1/bm64", "--flags", "fast"), "unknown flag or preset 'fast'"),
            (("compile", "gemm1/bm64", "--shape", "big"), "unknown shape 'big'"),
            (("compile", "gemm1/bm64", "--shape", "8x512x100x2"), "gemm1 needs inter % 128"),
            (("compile", "gemm1/bm64", "--arch", "gfx942"), "unknown architecture 'gfx942'"),
            (("compile", "gemm1/bm64", "--workers", "0"), "at least 1"),
            (("isa", "gemm1/bm48"), "gemm1 has no variant 'bm48'"),
            (("diff", "gemm1/bm64", "none", "fast"), "unknown flag or preset 'fast'"),
            (("compile", "gemm1/bm64", "-o", ""), "name of the file or directory is empty"),
            (("compile", "gemm1/bm64", "--code-object", ""), "directory is empty"),
            (("compile", "gemm1/bm64", "--cache", ""), "argument --cache: the name of the file"),
            (("diff", "gemm1/bm64", "none", "all", "--html", ""), "directory is empty"),
            (("ablate", "-o", ""), "directory is empty"),
            (("claims", "--counts", ""), "directory is empty"),
            (("run", "x.s", "--launch", ""), "directory is empty"),
            (("compile", "gemm1/bm64", "--shape", "256x512x512x129"), "topk must be at most 128"),
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
        assert 'FlyDSL is not installed; pip install -e ".[compile]"' in message

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
            options, "Compiler", lambda cache, workers: compiler.Compiler(cache, broken, workers)
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
        def interrupt(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(listing, "print_table", interrupt)
        code, message = refused(capsys, "variants")
        assert code == cli.INTERRUPTED
        assert "run again" in message


HINTS = {
    "tqdm": ("mxfp4kernels", 'tqdm is not installed; pip install -e "."'),
    "yaml": ("mxfp4kernels", 'yaml is not installed; pip install -e "."'),
    "matplotlib": ("mxfp4kernels.plots", 'pip install -e ".[plots]"'),
    "nbclient": ("mxfp4kernels.notebooks", 'pip install -e ".[notebooks]"'),
    "nbformat": ("mxfp4kernels.notebooks", 'pip install -e ".[notebooks]"'),
    "torch": ("mxfp4kernels.numerics.verification", 'pip install -e ".[compile]"'),
}


class TestStart:
    """What happens before there is a command line."""

    @staticmethod
    def start(folder: Path, module: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A command whose imports look into ``folder`` first."""
        return subprocess.run(
            [sys.executable, "-m", module, *words],
            env={**os.environ, "PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    @pytest.mark.parametrize("package", HINTS)
    def test_missing_package(self, tmp_path: Path, assembly: Path, package: str) -> None:
        module, hint = HINTS[package]
        error = f"ModuleNotFoundError('No module named {package}', name={package!r})"
        (tmp_path / f"{package}.py").write_text(f"raise {error}\n")
        words = ("isa", str(assembly)) if module == "mxfp4kernels" else ()
        answer = self.start(tmp_path, module, *words)
        assert answer.returncode == cli.MISSING
        assert answer.stdout == ""
        assert answer.stderr.startswith("mxfp4kernels: error: ")
        assert answer.stderr.endswith(f"{hint}\n")
        assert answer.stderr.count("\n") == 1

    @pytest.mark.parametrize("module", ["ablation.excerpts", "ablation.nops", "ablation.tile_loop"])
    def test_steps_of_the_ablation_report_an_unusable_cache(self, module, monkeypatch) -> None:
        monkeypatch.setenv(LOCATION_VARIABLE, "/proc/self/ns/cache")
        command = [sys.executable, "-m", f"mxfp4kernels.{module}"]
        answer = subprocess.run(command, capture_output=True, text=True)
        assert answer.returncode == cli.FAILED
        assert answer.stderr.startswith("cannot write the cache: /proc/self/ns/cache")
        assert answer.stderr.count("\n") == 1

    def test_bare_listings_are_read_without_yaml(self, tmp_path: Path) -> None:
        (tmp_path / "yaml.py").write_text("raise ModuleNotFoundError('no', name='yaml')\n")
        (tmp_path / "bare.s").write_text(BARE)
        assert self.start(tmp_path, "mxfp4kernels", "isa", str(tmp_path / "bare.s")).stderr == ""

    def test_package_that_cannot_be_imported(self, tmp_path: Path) -> None:
        (tmp_path / "tqdm.py").write_text("raise ImportError('libmissing.so: cannot open')\n")
        answer = self.start(tmp_path, "mxfp4kernels", "flags")
        assert answer.returncode == cli.MISSING
        assert "error: libmissing.so: cannot open; pip install" in answer.stderr

    def test_an_import_says_what_to_install_and_can_be_caught(self, tmp_path: Path) -> None:
        (tmp_path / "nbformat.py").write_text("raise ModuleNotFoundError('no', name='nbformat')\n")
        code = "try: import mxfp4kernels.notebooks\nexcept ModuleNotFoundError as e: print(e)"
        answer = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
        )
        assert answer.stdout == ('nbformat is not installed; pip install -e ".[notebooks]"\n')

    def test_a_broken_part_of_the_package_itself_is_no_missing_package(self) -> None:
        with (
            pytest.raises(ModuleNotFoundError, match=r"mxfp4kernels\.nothing"),
            packages.needed("__main__"),
        ):
            importlib.import_module("mxfp4kernels.nothing")

    def test_interrupt_while_the_imports_run(self, tmp_path: Path) -> None:
        (tmp_path / "tqdm.py").write_text(
            "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n"
        )
        answer = self.start(tmp_path, "mxfp4kernels", "flags")
        assert answer.returncode == cli.INTERRUPTED
        assert answer.stderr == "mxfp4kernels: error: interrupted\n"

    def test_tables_fit_a_terminal_and_are_whole_elsewhere(self, capsys, monkeypatch) -> None:
        rows = [{"name": "a", "text": "word " * 40, "n": 7}, {"name": "bb", "text": "", "n": 12}]
        output.print_table(rows)
        assert ("word " * 40).rstrip() in capsys.readouterr().out
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", "60")
        output.print_table(rows)
        head, first, second = capsys.readouterr().out.splitlines()
        assert len(first) == 60
        assert first.endswith("...   7")
        assert second.endswith(" 12")
        assert head.startswith("name  text")

    def test_no_column_is_narrowed_to_nothing(self) -> None:
        assert output.fit([5, 90, 30], 10) == [5, output.NARROWEST, output.NARROWEST]
        assert output.fit([5, 90, 30], 1000) == [5, 90, 30]

    @pytest.mark.parametrize("words", [("flags",), ("flags", "--json"), ("--help",)])
    def test_closed_stdout(self, words: tuple[str, ...]) -> None:
        answer = self.closed(">&-", *words)
        assert answer.returncode == cli.STORAGE
        assert answer.stderr == "mxfp4kernels: error: output: Bad file descriptor\n"

    def test_closed_stdout_is_not_mistaken_for_the_file_that_is_written(
        self, tmp_path: Path, assembly: Path
    ) -> None:
        page = tmp_path / "page.html"
        words = ("diff", str(assembly), str(assembly), "--html", str(page))
        assert self.closed(">&-", *words).returncode == 0
        assert page.read_text().startswith("<!DOCTYPE html>")

    def test_closed_stderr_and_stdin(self) -> None:
        answer = self.closed("2>&- <&-", "flags", "--json")
        assert answer.returncode == 0
        assert len(json.loads(answer.stdout)) == len(REGISTRY)
        answer = self.closed("2>&-", "compile", "gemm3/bm64")
        assert (answer.returncode, answer.stdout) == (cli.USAGE, "")

    @staticmethod
    def closed(redirection: str, *words: str) -> subprocess.CompletedProcess[str]:
        """The command with standard streams that the shell closed."""
        command = shlex.join([*COMMAND, *words])
        return subprocess.run(
            ["sh", "-c", f"{command} {redirection}"], capture_output=True, text=True, check=False
        )


class TestProcess:
    def test_installed_command(self) -> None:
        command = Path(sys.executable).with_name("mxfp4kernels")
        answer = subprocess.run([command, "flags", "--json"], capture_output=True, check=True)
        assert len(json.loads(answer.stdout)) == len(REGISTRY)

    def test_reader_that_has_seen_enough(self) -> None:
        read, write = os.pipe()
        os.close(read)
        answer = subprocess.run([*COMMAND, "flags"], stdout=write, stderr=subprocess.PIPE)
        os.close(write)
        assert answer.stderr == b""
        assert answer.returncode == cli.STORAGE

    @pytest.mark.parametrize("words", [("flags",), ("--help",), ("isa", "--help")])
    def test_full_device(self, words: tuple[str, ...]) -> None:
        with open("/dev/full", "wb") as full:
            answer = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE)
        assert answer.returncode == cli.STORAGE
        assert answer.stderr == b"mxfp4kernels: error: output: No space left on device\n"

    def test_assembly_is_read_back(self, capsys, ablated_kernels) -> None:
        """What compile prints is text that the parser takes."""
        out = run(capsys, "compile", "gemm1/bm16_iq", "--flags", "none")[1]
        assert parse(out).name == ablated_kernels[0].program.name


@pytest.mark.parametrize("verb", ["time", "timeline"])
def test_unknown_routing_is_refused_by_name(verb, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([verb, "gemm1/bm16_iq", "--m", "3", "--routing", "foo"])
    assert stopped.value.code == 2
    assert "'foo'" in capsys.readouterr().err
