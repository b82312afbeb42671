"""The ``bench`` verb: what it plans, what it refuses, and the tables it promises."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import torch
from test_session import Simulated, plan_of

from mxfp4kernels import cli, files
from mxfp4kernels.bench import command
from mxfp4kernels.bench.cases import AGAIN, TOKENS, Case, Setting, build_cases, tuned_variants
from mxfp4kernels.bench.columns import COLUMNS, FACTS, NAMES, PROVENANCE
from mxfp4kernels.bench.device import NoDevice
from mxfp4kernels.bench.schema import SCHEMA, write_schema
from mxfp4kernels.bench.session import measure
from mxfp4kernels.bench.verify import verify
from mxfp4kernels.flags import ALL, NONE, acting
from mxfp4kernels.flags import NAMES as FLAG_NAMES
from mxfp4kernels.numerics.inputs import ROUTINGS
from mxfp4kernels.shapes import REFERENCE_SHAPE, VARIANTS, find_variant


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = cli.main(("bench", *words))
    except SystemExit as ended:  # argparse
        code = int(ended.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


class TestPlan:
    def test_one_command_covers_every_flag_at_every_m(self, capsys) -> None:
        code, out, _ = run(capsys, "--plan", "--json")
        assert code == 0
        cases = json.loads(out)
        assert {case["tokens"] for case in cases} == set(TOKENS)
        assert len(cases) == 2 * len(TOKENS)
        for flag in FLAG_NAMES:
            assert any(flag in case["compared"] for case in cases), flag
        assert {case["baseline"] for case in cases} == {"none"}

    def test_the_table_ends_with_how_long_it_takes(self, capsys) -> None:
        code, out, _ = run(capsys, "--plan", "--m", "4,64")
        assert code == 0
        assert "4 cases" in out
        assert "minutes" in out.splitlines()[-1]

    def test_many_tokens_take_longer(self, capsys) -> None:
        """From what no device can do faster, and from what was measured of inputs and checks."""
        minutes = []
        for tokens in ("4", "16384", "1000000"):
            _, out, _ = run(capsys, "--plan", "--m", tokens, "--study", "presets")
            (found,) = re.findall(r"(\d+) minutes or more", out)
            minutes.append(int(found))
        assert minutes == sorted(set(minutes))

    def test_options_reach_the_plan(self, capsys) -> None:
        words = ("--m", "8", "--variant", "gemm1/bm64", "--flags", "hardware_exp2")
        code, out, _ = run(capsys, "--plan", "--json", *words, "--routing", "family-b")
        (case,) = json.loads(out)
        assert code == 0
        assert case["variant"] == "gemm1/bm64"
        assert case["compared"] == "hardware_exp2"
        assert case["routing"] == "family-b"

    def test_a_plan_needs_neither_scipy_nor_torch(self, capsys, monkeypatch) -> None:
        for name in ("scipy", "scipy.stats", "torch"):
            monkeypatch.setitem(sys.modules, name, None)
        assert run(capsys, "--plan", "--m", "4")[0] == 0

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--m", "0"), "whole numbers above 0"),
            (("--m", "٤"), "whole numbers above 0"),
            (("--m", "9" * 5000), "of at most nine digits"),
            (("--rounds", "10001"), "at most 10000"),
            (("--passes", "1001"), "at most 1000"),
            (("--replay-ms", "10001"), "at most 10"),
            (("--replay-ms", "nan"), "above 0"),
            (("--clock-mhz", "0"), "above 0"),
            (("--seed", "-1"), "0..2**63-1, got -1"),
            (("--seed", str(2**63)), "0..2**63-1"),
            (("--run", "a" * 101), "at most 100 letters"),
            (("--with", "aiter-hip=1a:b"), "of names as Python has them"),
            (("--with", "aiter-hip=a:b.c"), "of names as Python has them"),
            (("--launch-only", "1", "--rounds", "30"), "so --rounds would say nothing"),
            (("--launch-only", "1", "--run", "x"), "so --run would say nothing"),
            (("--launch-only", "1", "--fresh-process"), "so --fresh-process would say"),
            (("--launch-only", "1", "--passes", "5", "--threshold", ".1"), "so --passes and --th"),
            (("--launch-only", "1", "-o", "x"), "so --output would say nothing"),
            (("--m", "4,x"), "whole numbers above 0"),
            (("--variant", "gemm1/bm7"), "no variant 'bm7'"),
            (("--rounds", "2"), "at least 6"),
            (("--launch-only", "0"), "a whole number above 0"),
            (("--threshold", "0.9"), "between 0 and 0.5"),
            (("--against", "aiter-hip"), "unknown flag or preset 'aiter-hip'"),
            (("--with", "triton=a:b"), "unknown baseline 'triton'"),
            (("--with", "aiter-hip"), "needs the function that launches it"),
            (("--with", "aiter-hip=.a:b"), "needs the function that launches it"),
            (("--with", "aiter-hip=a:b", "--with", "aiter-hip=c:d"), "aiter-hip more than once"),
            (("--shape", "8x256x192x2"), "inter % 128 == 0"),
            (("--run", "a/b"), "named by at most 100 letters, digits"),
            (
                ("--kernel", "gemm1", "--variant", "gemm2/bm32_cshuffle"),
                "--kernel gemm1 contradicts --variant gemm2/bm32_cshuffle; drop --kernel",
            ),
            (
                ("--kernel", "gemm1", "--kernel", "gemm2", "--variant", "gemm1/bm64"),
                "--kernel gemm1 --kernel gemm2 contradicts --variant gemm1/bm64",
            ),
            (("--lossy-gemm2", "--variant", "gemm1/bm64"), "in the tuning, which --variant repl"),
            (("--lossy-gemm2", "--m", "4096"), "changes nothing here: it stands for gemm2 from M="),
            (("--lossy-gemm2", "--kernel", "gemm1"), "changes nothing here"),
            (
                ("--kernel", "gemm1", "--flags", "hardware_exp2+unsigned_divrem"),
                "unsigned_divrem acts in none of gemm1/bm16_iq",
            ),
            (
                ("--variant", "gemm2/bm16_atomic", "--flags", "all", "--against", "hardware_exp2"),
                "hardware_exp2 acts in none of gemm2/bm16_atomic; it acts in gemm1/",
            ),
            (
                ("--variant", "gemm1/bm64", "--study", "safety"),
                "nothing to compare with none in gemm1/bm64",
            ),
            (
                ("--m", "16,2000000"),
                "gemm1/bm128 385x7168x512x9 M=2000000 family-a seed 0: a_quant takes 7168000000 by",
            ),
            (
                ("--m", "1170000", "--kernel", "gemm2"),
                "2 sets of buffers take at least 289 GiB, but an MI350X or MI355X has 288; "
                "use --cache-mode warm, or measure fewer tokens",
            ),
        ],
    )
    def test_refused(self, capsys, words, message) -> None:
        code, _, err = run(capsys, "--plan", *words)
        assert code == cli.USAGE
        assert message in err
        assert "Traceback" not in err

    def test_kernel_and_variant_that_agree_are_no_contradiction(self, capsys) -> None:
        words = ("--m", "8", "--kernel", "gemm1", "--variant", "gemm1/bm64")
        assert run(capsys, "--plan", *words)[0] == 0

    def test_what_is_asked_for_twice_is_planned_once(self, capsys) -> None:
        words = ("--m", "8,8", "--variant", "gemm1/bm64", "--variant", "gemm1/bm64")
        twice = (*words, "--flags", "all", "--flags", "all")
        code, out, err = run(capsys, "--plan", "--json", *twice)
        (case,) = json.loads(out)
        assert (code, err, case["graphs"]) == (0, "", 3)

    def test_flags_that_do_not_act_are_told_and_make_no_second_kernel(self, capsys) -> None:
        words = ("--m", "4,64,16384", "--flags", "all", "--flags", "hardware_exp2+unsigned_divrem")
        code, out, err = run(capsys, "--plan", "--json", *words)
        cases = json.loads(out)
        assert code == 0
        assert {case["compared"].split(", ")[1] for case in cases} == {
            "hardware_exp2",
            "unsigned_divrem",
        }
        asked = "note: unsigned_divrem+hardware_exp2 in"
        assert f"{asked} gemm1/bm16_iq, gemm1/bm128: unsigned_divrem does not act\n" in err
        assert f"{asked} gemm2/bm16_atomic_nt, gemm2/bm128_nonatomic: hardware_exp2 does not" in err

    def test_settings_that_come_to_the_same_kernel_are_told(self, capsys) -> None:
        words = ("--m", "64", "--flags", "safe", "--flags", "all", "--variant")
        _, out, err = run(capsys, "--plan", "--json", *words, "gemm1/bm64")
        assert json.loads(out)[0]["graphs"] == 3
        assert "note: all in gemm1/bm64: the same kernel as safe, measured once\n" in err
        _, out, err = run(capsys, "--plan", "--json", *words, "gemm1/bm128")
        assert json.loads(out)[0]["graphs"] == 4
        assert err == ""

    def test_a_case_with_nothing_to_compare_is_left_out_and_told(self, capsys) -> None:
        code, out, err = run(capsys, "--plan", "--json", "--m", "4", "--flags", "hardware_exp2")
        assert code == 0
        assert [case["variant"] for case in json.loads(out)] == ["gemm1/bm16_iq"]
        assert "gemm2/bm16_atomic_nt left out: nothing to compare with none there" in err

    def test_only_the_baseline_if_that_is_asked_for(self, capsys) -> None:
        for words in (("--flags", "none"), ("--flags", "all", "--against", "all")):
            code, out, err = run(capsys, "--plan", "--json", "--m", "4", *words)
            assert (code, err) == (0, "")
            assert [(case["graphs"], case["compared"]) for case in json.loads(out)] == [(2, "")] * 2

    def test_a_baseline_that_is_not_installed_is_told_to_be_absent(self, capsys) -> None:
        words = (
            "--m",
            "4",
            "--with",
            "aiter-hip=not_installed.moe:f",
            "--with",
            "aiter-flydsl=json:f",
        )
        code, _, err = run(capsys, "--plan", *words)
        assert code == 0
        assert err == (
            "mxfp4kernels: note: aiter-hip is absent here: not_installed is not installed, so a "
            "run here leaves it out\n"
        )

    def test_routings_are_those_of_the_inputs(self) -> None:
        assert set(command.ROUTINGS) == set(ROUTINGS)


class TestRefusal:
    """No device here: the words for each reason, before anything is compiled or written."""

    @pytest.mark.skipif(torch.version.hip is not None, reason="torch is a ROCm build")
    @pytest.mark.parametrize("more", [(), ("--fresh-process",)], ids=["same", "fresh"])
    def test_torch_without_rocm(self, capsys, tmp_path: Path, more) -> None:
        code, out, err = run(capsys, "--m", "4", "-o", str(tmp_path), *more)
        assert code == cli.MISSING
        assert out == ""
        assert "ROCm build of torch" in err
        assert "--plan" in err
        assert list(tmp_path.iterdir()) == []

    def test_rocm_without_a_device(self, monkeypatch) -> None:
        from mxfp4kernels.bench import torch_device

        monkeypatch.setattr(torch.version, "hip", "7.1")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(NoDevice, match=r"sees no device; look at rocminfo"):
            torch_device.require_gfx950()

    def test_another_device(self, monkeypatch) -> None:
        from types import SimpleNamespace

        from mxfp4kernels.bench import torch_device

        properties = SimpleNamespace(gcnArchName="gfx942:sramecc+:xnack-")
        monkeypatch.setattr(torch.version, "hip", "7.1")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: "AMD Instinct MI300X")
        with pytest.raises(NoDevice, match=r"is gfx942 \(AMD Instinct MI300X\).*gfx950"):
            torch_device.require_gfx950()

    def test_no_scipy(self, capsys, monkeypatch) -> None:
        import importlib.util

        found = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "scipy" else found(name)
        )
        code, _, err = run(capsys, "--m", "4")
        assert code == cli.MISSING
        assert 'needs scipy, which is not installed; pip install -e ".[bench,' in err


class TestCases:
    def test_a_case_and_its_json(self) -> None:
        cases = build_cases(REFERENCE_SHAPE, tuned_variants(("gemm1",), (4, 4096)), ("presets",))
        for case in cases:
            assert Case.from_json(json.loads(json.dumps(case.as_json()))) == case
        first = cases[0]
        assert first.labels[:2] == ("none", "none" + AGAIN)
        assert first.setting_of("none" + AGAIN) is first.baseline

    def test_settings_come_once_and_idle_flags_are_dropped(self) -> None:
        variant = find_variant("gemm1", "bm128")
        (case,) = build_cases(
            REFERENCE_SHAPE,
            {64: [variant]},
            ("presets", "alone"),
            extra=[ALL, frozenset({"hardware_exp2", "unsigned_divrem"})],
        )
        flags = [setting.flags for setting in case.settings]
        assert len(flags) == len(set(flags))
        assert flags[0] == NONE
        assert acting(variant, ALL) in flags
        assert frozenset({"hardware_exp2"}) in flags

    def test_the_tuning_decides_the_variant(self) -> None:
        chosen = tuned_variants(("gemm1", "gemm2"), TOKENS, lossy_gemm2=True)
        assert [str(variant) for variant in chosen[4]] == ["gemm1/bm16_iq", "gemm2/bm16_atomic_nt"]
        assert str(chosen[16384][1]) == "gemm2/bm128_mxfp4"
        assert all(variant in VARIANTS for pair in chosen.values() for variant in pair)

    def test_refused(self) -> None:
        variant, one = find_variant("gemm1", "bm64"), Setting()
        with pytest.raises(ValueError, match="each once"):
            Case(variant, REFERENCE_SHAPE, 4, "family-a", 0, (one, one))
        with pytest.raises(ValueError, match="at least 1, got 0"):
            Case(variant, REFERENCE_SHAPE, 0, "family-a", 0, (one,))


class TestTables:
    def test_the_committed_schema_is_that_of_the_code(self, tmp_path: Path) -> None:
        write_schema(tmp_path / "schema.csv")
        assert SCHEMA.read_bytes() == (tmp_path / "schema.csv").read_bytes()

    def test_columns_are_named_once_and_explained(self) -> None:
        assert len(set(NAMES)) == len(NAMES)
        assert all(column.meaning for column in COLUMNS)
        assert {*FACTS, *PROVENANCE} <= set(NAMES)

    def test_nothing_but_a_device_writes_measurements(self) -> None:
        """The folder holds its description, and tables that name a gfx950 device."""
        folder = SCHEMA.parent
        assert {path.name for path in folder.iterdir() if path.is_file()} == {
            "README.md",
            "schema.csv",
        }
        for table in folder.glob("*/*.csv"):
            assert {row["arch"] for row in files.read_csv(table, NAMES)} == {"gfx950"}
            verify(table)

    def test_a_table_is_made_from_its_journal_alone(self, tmp_path: Path) -> None:
        table = measure(plan_of(4), Simulated(), tmp_path)
        verify(table)
        table.write_text(table.read_text().replace("FASTER", "SLOWER"))
        with pytest.raises(ValueError, match="is not what its journal gives"):
            verify(table)
