"""Rounds in fresh processes, and the runner of real kernels with the emulator as its device."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from mxfp4kernels import cli
from mxfp4kernels.bench import torch_device
from mxfp4kernels.bench.baselines import PARAMETERS, Absent, bind, parse_baseline, version_of
from mxfp4kernels.bench.cases import Setting, build_cases
from mxfp4kernels.bench.columns import NAMES
from mxfp4kernels.bench.device import NoDevice, Replay, RoundFailed, Sensors
from mxfp4kernels.bench.environment import commit, environment
from mxfp4kernels.bench.fake import INFO
from mxfp4kernels.bench.journal import read_journal
from mxfp4kernels.bench.live import Live, jobs
from mxfp4kernels.bench.plan import Plan
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.session import measure
from mxfp4kernels.bench.simulation import CASE
from mxfp4kernels.bench.worker import FreshProcesses
from mxfp4kernels.compiler import Compiler
from mxfp4kernels.files import read_csv
from mxfp4kernels.hip import emulated_device
from mxfp4kernels.kernels import parameters_of
from mxfp4kernels.shapes import VARIANTS, find_variant, parse_shape

SHAPE = parse_shape("4x256x256x2")


class TestFreshProcesses:
    PROCEDURE = Procedure(rounds=6, passes=1, fresh_process=True)

    @pytest.fixture
    def runner(self) -> FreshProcesses:
        return FreshProcesses(self.PROCEDURE, None, {}, module="measuring_worker")

    def test_every_round_has_a_process_with_checks_of_its_own(self, runner, tmp_path) -> None:
        table = measure(Plan((CASE,), self.PROCEDURE), runner, tmp_path)
        records = read_journal(table.with_suffix(".jsonl"))[1:]
        assert [record["kind"] for record in records] == [
            *["checks", "round", "after"] * 6,
            "end",
        ]
        processes = [record["process"] for record in records if record["kind"] == "round"]
        assert len({*processes, os.getpid()}) == 7
        rows = read_csv(table, NAMES)
        assert {row["processes"] for row in rows} == {"fresh"}
        assert {row["verdict"] for row in rows[1:]} <= {"SAME", "UNSTABLE"}

    def test_no_process_s_last_check_is_lost(self, runner, tmp_path) -> None:
        """Only the second of six processes finds its graphs wrong at the end."""
        plan = Plan((replace(CASE, seed=665),), self.PROCEDURE)
        rows = read_csv(measure(plan, runner, tmp_path), NAMES)
        assert [row["status"] for row in rows] == ["OK", "OK", "WRONG"]
        assert rows[2]["mismatches"] == "9"
        assert rows[2]["median"] == rows[2]["verdict"] == ""

    @pytest.mark.parametrize(
        ("seed", "error", "words"),
        [
            (666, RoundFailed, "ValueError: this seed fails"),
            (667, RoundFailed, "exit status 9"),
            (668, NoDevice, "^it was there a moment ago"),
        ],
    )
    def test_failures_say_what_happened(self, runner, tmp_path, seed, error, words) -> None:
        plan = Plan((replace(CASE, seed=seed),), self.PROCEDURE)
        with pytest.raises(error, match=words):
            measure(plan, runner, tmp_path)
        (table,) = tmp_path.glob("*.csv")
        assert read_csv(table, NAMES) == []


@dataclass(frozen=True)
class EmulatedGraph:
    launches: int
    work: tuple[Callable[[], None], ...]


class EmulatedDevice:
    """Launches run in the emulator; time is a millisecond for each, whatever they do."""

    place = torch.device("cpu")
    info = replace(INFO, cache_bytes=1 << 10)

    def run(self, launch: Callable[[], None]) -> None:
        launch()

    def capture(self, launches: Sequence[Callable[[], None]]) -> EmulatedGraph:
        return EmulatedGraph(len(launches), tuple(launches))

    def replay(self, graph: EmulatedGraph) -> None:
        for launch in graph.work:
            launch()

    def time(self, graph: EmulatedGraph) -> Replay:
        return Replay(1e-3 * graph.launches, sensors=Sensors())

    def event_floor(self) -> float:
        return 1e-6

    def other_processes(self) -> int | None:
        return None

    def unreadable(self) -> dict[str, str]:
        return {}


@pytest.fixture
def emulated() -> Iterator[None]:
    with emulated_device("metadata"):
        yield


PACKAGE = """
from mxfp4kernels.flags import ALL
from mxfp4kernels.kernels import device_kernel, parameters_of
from mxfp4kernels.shapes import find_variant, parse_shape

def gemm2(*arguments, variant, shape):
    variant, shape = find_variant("gemm2", variant), parse_shape(shape)
    buffers = dict(zip([p.name for p in parameters_of(variant)], arguments, strict=True))
    tokens = buffers.pop("n_tokens")
    blocks = buffers["sorted_expert_ids"].numel()
    device_kernel(variant, shape, ALL)(buffers, n_tokens=tokens, m_blocks=blocks)

def broken(*arguments):
    pass

def only_gemm1(*arguments, kernel, variant):
    raise NotImplementedError(f"nothing for {kernel}/{variant}")

not_a_function = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Somebody's package with kernels that take our buffers, in a checkout."""
    name = "somebodys_kernels"
    folder = tmp_path / "checkout" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "kernels"),
    ):
        subprocess.run(["git", "-C", folder, *words], check=True)
    monkeypatch.syspath_prepend(folder.parent)
    yield name
    sys.modules.pop(name, None)


@pytest.mark.usefixtures("emulated")
class TestLive:
    PROCEDURE = Procedure(rounds=6, passes=1, replay_seconds=0.002)

    def test_our_kernels_and_a_baseline_from_plan_to_table(self, package, tmp_path) -> None:
        variant = find_variant("gemm2", "bm16_atomic_nt")
        cases = build_cases(
            SHAPE, {3: [variant]}, ("presets",), others=["aiter-hip"], routing="family-b"
        )
        bindings = {"aiter-hip": bind("aiter-hip", f"{package}:gemm2")}
        live = Live(EmulatedDevice(), self.PROCEDURE, Compiler(workers=1), bindings)
        table = measure(Plan(cases, self.PROCEDURE), live.runner(), tmp_path / "out")
        rows = read_csv(table, NAMES)
        assert [row["status"] for row in rows] == ["OK"] * 4
        assert [row["implementation"] for row in rows] == ["mxfp4kernels"] * 3 + ["aiter-hip"]
        assert all(float(row["median"]) == 1000 for row in rows)
        assert all(len(row["isa_sha256"]) == 64 for row in rows[:3])
        assert len({row["isa_sha256"] for row in rows[:3]}) == 2
        assert rows[3]["isa_sha256"] == rows[3]["flags"] == ""
        assert rows[3]["implementation_version"] == version_of(package)
        assert int(rows[0]["input_sets"]) == 2
        assert int(rows[0]["checked_elements"]) > 0
        assert rows[0]["verdict"] == ""
        assert {row["verdict"] for row in rows[1:]} == {"SAME"}

    def test_a_baseline_that_does_nothing_has_no_time(self, package, tmp_path) -> None:
        variant = find_variant("gemm2", "bm32_cshuffle")
        cases = build_cases(SHAPE, {3: [variant]}, (), others=["aiter-hip"])
        bindings = {"aiter-hip": bind("aiter-hip", f"{package}:broken")}
        live = Live(EmulatedDevice(), self.PROCEDURE, Compiler(workers=1), bindings)
        rows = read_csv(measure(Plan(cases, self.PROCEDURE), live.runner(), tmp_path / "o"))
        assert [row["status"] for row in rows] == ["OK", "OK", "WRONG"]
        assert rows[2]["median"] == rows[2]["ratio"] == ""

    def test_a_baseline_that_raises_has_no_time_and_the_run_goes_on(self, package, tmp_path):
        variant = find_variant("gemm2", "bm32_cshuffle")
        cases = build_cases(SHAPE, {3: [variant]}, (), others=["aiter-hip"])
        bindings = {"aiter-hip": bind("aiter-hip", f"{package}:only_gemm1")}
        live = Live(EmulatedDevice(), self.PROCEDURE, Compiler(workers=1), bindings)
        table = measure(Plan(cases, self.PROCEDURE), live.runner(), tmp_path / "o")
        assert [row["status"] for row in read_csv(table)] == ["OK", "OK", "WRONG"]
        checks = read_journal(table.with_suffix(".jsonl"))[1]["checks"]
        assert checks["aiter-hip"]["report"] == (
            "NotImplementedError: nothing for gemm2/bm32_cshuffle"
        )

    def test_a_baseline_that_no_graph_holds_has_no_time(self, package, monkeypatch) -> None:
        class Uncaptured(EmulatedDevice):
            def capture(self, launches: Sequence[Callable[[], None]]) -> EmulatedGraph:
                if "aiter" in str(launches[0].args):
                    raise RuntimeError("operation not permitted when stream is capturing")
                return super().capture(launches)

        variant = find_variant("gemm2", "bm16_atomic_nt")
        (case,) = build_cases(SHAPE, {3: [variant]}, (), others=["aiter-hip"])
        bindings = {"aiter-hip": bind("aiter-hip", f"{package}:gemm2")}
        runner = Live(Uncaptured(), self.PROCEDURE, Compiler(workers=1), bindings).runner()
        checks, *_ = runner.measure(case, [0])
        assert checks["checks"]["none"]["passed"]
        assert not checks["checks"]["aiter-hip"]["passed"]
        assert "capturing" in checks["checks"]["aiter-hip"]["report"]

    def test_one_of_ours_that_raises_ends_the_run(self, monkeypatch) -> None:
        def fails(*arguments: object) -> Callable[..., None]:
            def launch(buffers: object, **sizes: int) -> None:
                raise RuntimeError("a bug")

            return launch

        monkeypatch.setattr("mxfp4kernels.bench.live.device_kernel", fails)
        (case,) = build_cases(SHAPE, {3: [find_variant("gemm2", "bm32_cshuffle")]}, ("presets",))
        runner = Live(EmulatedDevice(), self.PROCEDURE, Compiler(workers=1), {}).runner()
        with pytest.raises(RuntimeError, match="a bug"):
            list(runner.measure(case, [0]))

    def test_launches_for_a_profiler(self) -> None:
        cases = build_cases(SHAPE, {2: [find_variant("gemm1", "bm32_nt")]}, ("presets",))
        live = Live(EmulatedDevice(), self.PROCEDURE, Compiler(workers=1), {})
        checks = live.launch(cases[0], 2)
        assert {label: check.passed for label, check in checks.items()} == {
            setting.label: True for setting in cases[0].settings
        }

    def test_the_verb_from_options_to_files(self, package, tmp_path, monkeypatch, capsys) -> None:
        monkeypatch.setattr(torch_device, "require_gfx950", EmulatedDevice)
        words = ("bench", "--shape", str(SHAPE), "--variant", "gemm2/bm16_atomic_nt", "--m", "3")
        words = (*words, "--study", "presets", "--with", f"aiter-hip={package}:gemm2")
        words = (*words, "--with", "aiter-flydsl=not_there:f")
        out = ("-o", str(tmp_path / "out"))
        assert cli.main([*words, *out, "--rounds", "6", "--passes", "1", "--replay-ms", "2"]) == 0
        captured = capsys.readouterr()
        assert "left out: aiter-flydsl is absent: not_there is not installed" in captured.err
        (table,) = (tmp_path / "out").glob("*.csv")
        assert str(table) in captured.out
        rows = read_csv(table, NAMES)
        assert [row["implementation"] for row in rows][-1] == "aiter-hip"
        assert cli.main([*words, "--launch-only", "1"]) == cli.USAGE
        assert "a profiler lists none at M=3 and bare_pointer_abi" in capsys.readouterr().err
        words = [word for word in words if word not in ("--study", "presets")]
        words = [*words, "--flags", "all", "--against", "all"]
        assert cli.main([*words, "--launch-only", "1", "--json"]) == 0
        launched = json.loads(capsys.readouterr().out)
        assert [row["setting"] for row in launched] == [
            "bare_pointer_abi+unsigned_divrem",
            "aiter-hip",
        ]
        assert [row["check"] for row in launched] == ["passed"] * 2

    def test_the_jobs_of_a_plan_are_each_kernel_once(self) -> None:
        variant = find_variant("gemm1", "bm32_nt")
        cases = build_cases(SHAPE, {2: [variant], 4: [variant]}, ("presets",), others=["aiter-hip"])
        assert len(jobs(cases)) == 2


class TestBaselines:
    def test_absent_with_a_reason(self, package, monkeypatch) -> None:
        for where, words in [
            ("not_installed_anywhere:f", "not_installed_anywhere is not installed"),
            (f"{package}.sub:f", "cannot be imported"),
            (f"{package}:missing", "has no function missing"),
            (f"{package}:not_a_function", "has no function not_a_function"),
        ]:
            with pytest.raises(Absent, match=f"aiter-hip is absent: .*{words}"):
                bind("aiter-hip", where)

    def test_an_adapter_states_the_commit_of_what_it_calls(self, package, tmp_path) -> None:
        adapter = tmp_path / "checkout" / "adapter_of_a_test.py"
        adapter.write_text(f'BASELINE_PACKAGE = "{package}"\ndef moe(*a, kernel, shape): pass\n')
        found = bind("aiter-hip", "adapter_of_a_test:moe")
        assert found.version == version_of(package)
        assert found.named == {"kernel", "shape"}
        sys.modules.pop("adapter_of_a_test")
        adapter.write_text('BASELINE_PACKAGE = "not_installed"\ndef moe(*a): pass\n')
        importlib.invalidate_caches()
        adapter.with_name("adapter_of_a_test2.py").write_text(adapter.read_text())
        with pytest.raises(Absent, match="aiter-hip is absent: not_installed is not installed"):
            bind("aiter-hip", "adapter_of_a_test2:moe")

    def test_an_adapter_that_fails_on_import_is_absent(self, tmp_path, monkeypatch) -> None:
        monkeypatch.syspath_prepend(tmp_path)
        (tmp_path / "fails_on_import.py").write_text('raise OSError("no libamdhip64.so")\n')
        with pytest.raises(Absent, match=r"cannot be imported: OSError: no libamdhip64\.so"):
            bind("aiter-hip", "fails_on_import:moe")

    def test_a_package_that_does_not_say_its_commit_is_absent(self) -> None:
        with pytest.raises(Absent, match="its commit is unknown"):
            version_of("scipy")

    def test_the_commit_of_a_version(self, monkeypatch) -> None:
        import importlib.metadata

        names = []
        monkeypatch.setattr(
            importlib.metadata, "packages_distributions", lambda: {"scipy": ["amd-scipy"]}
        )
        monkeypatch.setattr(
            importlib.metadata,
            "version",
            lambda name: names.append(name) or "0.1.7.dev18+g1a2b3c4d5",
        )
        assert version_of("scipy") == "1a2b3c4d5"
        assert names == ["amd-scipy"]

    def test_without_leaves_the_rest_and_refuses_to_lose_the_baseline(self) -> None:
        case = build_cases(
            SHAPE, {2: [find_variant("gemm1", "bm64")]}, ("presets",), others=["aiter-hip"]
        )[0]
        plan = Plan((case,), Procedure())
        assert Setting("aiter-hip") not in plan.without({"aiter-hip"}).cases[0].settings
        assert plan.without(set()) == plan
        only = build_cases(SHAPE, {2: [case.variant]}, (), others=["aiter-hip"])
        assert Plan((case, *only), Procedure()).without({"aiter-hip"}).cases == (
            plan.without({"aiter-hip"}).cases
        )
        with pytest.raises(ValueError, match="aiter-hip absent, and nothing else to compare"):
            Plan(only, Procedure()).without({"aiter-hip"})
        alone = Plan((replace(case, settings=case.settings[:1]),), Procedure())
        assert alone.without({"aiter-hip"}) == alone
        against = build_cases(
            SHAPE, {2: [case.variant]}, ("presets",), against=Setting("aiter-hip")
        )
        with pytest.raises(ValueError, match="aiter-hip is absent, so nothing can be compared"):
            Plan(against, Procedure()).without({"aiter-hip"})

    def test_parameters_are_the_kernels_own(self) -> None:
        for variant in VARIANTS:
            names = tuple(parameter.name for parameter in parameters_of(variant))
            assert names == PARAMETERS[variant.kernel]

    def test_parsing(self) -> None:
        assert parse_baseline("aiter-hip=a.b:c") == ("aiter-hip", "a.b:c")


class TestEnvironment:
    def test_the_commit_of_this_repository(self) -> None:
        folder = Path(__file__).parent
        head = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        assert commit(folder).partition("+")[0] == head

    def test_changed_files_are_told(self, package, tmp_path) -> None:
        folder = tmp_path / "checkout" / package
        clean = commit(folder)
        assert "+" not in clean
        found = []
        for name, text in [("more.py", ""), ("more.py", "x"), ("__init__.py", "y")]:
            (folder / name).write_text(text)
            found.append(commit(folder))
        assert len(set(found)) == 3
        assert {one.partition("+")[0] for one in found} == {clean}
        subprocess.run(["git", "-C", folder, "checkout", "-q", "--", "."], check=True)
        (folder / "more.py").unlink()
        assert commit(folder) == clean

    def test_files_below_a_checkout_that_it_does_not_track_have_no_commit(self, package, tmp_path):
        folder = tmp_path / "checkout" / package / "installed"
        folder.mkdir()
        (folder / "x.py").write_text("")
        assert commit(folder) is None

    def test_everything_that_a_row_says_of_it(self) -> None:
        found = environment(INFO)
        assert found["flydsl"]
        assert set(found) - {"name", "max_clock_mhz"} <= set(NAMES)
