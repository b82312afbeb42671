"""Whole runs on the simulated device: rows, marks, verdicts, and going on after being killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from mxfp4kernels.bench.cases import Case
from mxfp4kernels.bench.columns import NAMES
from mxfp4kernels.bench.fake import Conditions, FakeDevice
from mxfp4kernels.bench.journal import JournalError, _sealed, read_journal
from mxfp4kernels.bench.plan import Plan, slug
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.rounds import CaseRun, Check
from mxfp4kernels.bench.session import InProcess, measure
from mxfp4kernels.bench.simulation import CASE, FakeWorkload
from mxfp4kernels.bench.verify import IncompleteRun, main, verify
from mxfp4kernels.files import read_csv, write_csv

NONE, AGAIN, ALL = CASE.labels
PROCEDURE = Procedure(rounds=12, passes=3)
ENVIRONMENT = {
    "name": "simulated",
    "arch": "simulated",
    "compute_units": 256,
    "cache_bytes": 1,
    "max_clock_mhz": 2400.0,
    "driver": "6.1",
    "runtime": "ROCm 7",
    "torch": "2.13",
    "flydsl": "0.5.0",
    "commit": "abc",
}


@dataclass
class Simulated:
    """A runner on the simulated device that notes which rounds it was asked for."""

    conditions: Conditions = field(default_factory=Conditions)
    seconds: Mapping[str, float] = field(default_factory=lambda: {NONE: 40e-6, ALL: 39e-6})
    workload: type[FakeWorkload] = FakeWorkload
    options: Mapping[str, Any] = field(default_factory=dict)
    environment_: Mapping[str, Any] = field(default_factory=lambda: dict(ENVIRONMENT))
    procedure: Procedure = PROCEDURE
    asked: list[tuple[int, list[int]]] = field(default_factory=list)

    def environment(self) -> Mapping[str, Any]:
        return self.environment_

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        self.asked.append((case.tokens, list(numbers)))
        device = FakeDevice(self.conditions, seed=100 + case.tokens)
        runner = InProcess(
            device,
            lambda _: self.workload(device, self.seconds, **self.options),
            self.procedure,
            self.environment_,
        )
        return runner.measure(case, numbers)


def plan_of(*tokens: int, procedure: Procedure = PROCEDURE) -> Plan:
    return Plan(tuple(replace(CASE, tokens=one) for one in tokens), procedure)


def rows_of(folder: Path, **options: Any) -> dict[str, dict[str, str]]:
    """One case's rows by label."""
    table = measure(plan_of(4), Simulated(**options), folder)
    rows = read_csv(table, NAMES)
    return dict(zip(CASE.labels, rows, strict=True))


class TestRows:
    def test_a_calm_device(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path)
        assert [rows[label]["role"] for label in CASE.labels] == ["baseline", "again", "setting"]
        assert {row["status"] for row in rows.values()} == {"OK"}
        assert rows[NONE]["verdict"] == rows[NONE]["ratio"] == ""
        assert rows[AGAIN]["verdict"] == "SAME"
        assert rows[ALL]["verdict"] == "FASTER"
        assert float(rows[ALL]["ratio"]) == pytest.approx(39 / 40, rel=2e-3)
        low, high = float(rows[ALL]["ratio_low"]), float(rows[ALL]["ratio_high"])
        assert low < 39 / 40 < high
        assert float(rows[NONE]["median"]) == pytest.approx(40, rel=3e-3)
        order = ("minimum", "q05", "q25", "median", "q75", "q95")
        times = [float(rows[ALL][name]) for name in order]
        assert times == sorted(times)

    def test_what_stands_in_every_row(self, tmp_path: Path) -> None:
        for label, row in rows_of(tmp_path).items():
            assert row["unit"] == "us"
            assert (row["rounds"], row["replays"]) == ("12", "36")
            assert int(row["launches_per_replay"]) % int(row["input_sets"]) == 0
            assert row["tokens"] == "4"
            assert row["active_experts"] == "4"
            assert row["routing"] == "family-a"
            assert row["threshold"] == "0.005"
            assert row["checked_elements"] == "512"
            assert row["clock_mhz"] == "2400"
            assert row["other_processes"] == "0"
            assert row["flags"] == (NONE if label == AGAIN else label)
            for name, column in [("name", "device"), ("torch", "torch"), ("commit", "commit")]:
                assert row[column] == ENVIRONMENT[name]
            assert row["measured_at"].endswith("Z")
            assert row["run"].startswith("run-")

    def test_same_speed_is_same(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, seconds={NONE: 40e-6, ALL: 40e-6})
        assert rows[ALL]["verdict"] == "SAME"

    def test_slower_by_one_percent(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, seconds={NONE: 40e-6, ALL: 40.4e-6})
        assert rows[ALL]["verdict"] == "SLOWER"

    def test_the_rate_of_a_a_pairs_is_that_of_the_run(self, tmp_path: Path) -> None:
        calm = Conditions(noise=0.001)
        table = measure(plan_of(4, 8, 16), Simulated(conditions=calm), tmp_path)
        rows = read_csv(table, NAMES)
        assert len(rows) == 9
        assert {row["aa_pairs"] for row in rows} == {"3"}
        assert {row["aa_different"] for row in rows} == {"0"}
        assert {row["aa_verdict"] for row in rows if row["role"] != "baseline"} == {"SAME"}


class TestMarks:
    def test_throttled_for_a_while(self, tmp_path: Path) -> None:
        """The clock falls for a part of the run; the rows say so, and no verdict rests on them."""
        rows = rows_of(tmp_path, conditions=Conditions(throttle=(0.5, 1.5)))
        assert all("THROTTLED" in row["status"] for row in rows.values())
        assert rows[ALL]["verdict"] == "UNSTABLE"
        assert rows[ALL]["clock_low_mhz"] == "1500"

    def test_throttled_all_along_is_seen_by_the_device_s_own_clock(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, conditions=Conditions(throttle=(0.0, 1e9)))
        assert {row["status"] for row in rows.values()} == {"THROTTLED"}

    def test_a_device_that_was_set_to_a_lower_clock_is_not_throttled_at_it(self, tmp_path) -> None:
        lower = Conditions(throttle=(0.0, 1e9), throttle_clock=1900.0)
        table = measure(
            plan_of(4, procedure=replace(PROCEDURE, clock_mhz=1900.0)),
            Simulated(conditions=lower, procedure=replace(PROCEDURE, clock_mhz=1900.0)),
            tmp_path,
        )
        rows = read_csv(table, NAMES)
        assert {row["status"] for row in rows} == {"OK"}
        assert {row["clock_reference_mhz"] for row in rows} == {"1900"}
        assert rows[2]["verdict"] == "FASTER"

    @pytest.mark.parametrize("share", [1.0, 0.3])
    def test_a_clock_of_one_setting_alone_makes_no_verdict(self, tmp_path: Path, share) -> None:
        """Some of its replays at 2190 MHz, where the baseline's are at 2400; throttling is not."""

        def clock(number: int, label: str, at: int) -> float:
            return 2190.0 if label == ALL and (number * 3 + at) % 10 < 10 * share else 2400.0

        rows = self.rows_with_clocks(tmp_path, clock)
        assert rows[ALL]["status"] == "UNEQUAL_CLOCK"
        assert rows[ALL]["verdict"] == "UNSTABLE"
        assert float(rows[ALL]["clock_ratio"]) < 0.995
        assert (rows[AGAIN]["status"], rows[AGAIN]["verdict"]) == ("OK", "SAME")

    def test_clocks_that_scatter_alike_are_equal(self, tmp_path: Path) -> None:
        rng = random.Random(0)
        rows = self.rows_with_clocks(tmp_path, lambda *place: rng.uniform(2250, 2400))
        assert {row["status"] for row in rows.values()} == {"OK"}

    @pytest.mark.parametrize("stated", [2400.0, None])
    def test_one_absurd_reading_throttles_nothing(self, tmp_path: Path, stated) -> None:
        def clock(number: int, label: str, at: int) -> float:
            return 65535.0 if (number, label, at) == (3, NONE, 0) else 2400.0

        environment = {**ENVIRONMENT, "max_clock_mhz": stated}
        rows = self.rows_with_clocks(tmp_path, clock, environment_=environment)
        assert {row["status"] for row in rows.values()} == {"OK"}
        assert {row["clock_reference_mhz"] for row in rows.values()} == {"2400"}
        assert rows[ALL]["verdict"] == "FASTER"
        assert rows[ALL]["clock_ratio"] == "1.00000"

    def rows_with_clocks(
        self, folder: Path, clock: Callable[[int, str, int], float], **options: Any
    ) -> dict[str, dict[str, str]]:
        """Rows of a calm device whose readings are given by round, label and pass."""

        class Clocked(Simulated):
            def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
                for record in super().measure(case, numbers):
                    if record["kind"] == "round":
                        for label, timed in record["settings"].items():
                            timed["clock_mhz"] = [
                                clock(record["round"], label, at) for at in range(3)
                            ]
                    yield record

        table = measure(plan_of(4), Clocked(**options), folder)
        return dict(zip(CASE.labels, read_csv(table, NAMES), strict=True))

    def test_ratios_that_wander_from_round_to_round_make_no_verdict(self, tmp_path: Path) -> None:
        wandering = Conditions(wander=0.01, wander_seconds=5.0)
        options = {"conditions": wandering, "procedure": replace(PROCEDURE, rounds=30)}
        table = measure(plan_of(4, procedure=options["procedure"]), Simulated(**options), tmp_path)
        rows = dict(zip(CASE.labels, read_csv(table, NAMES), strict=True))
        assert {rows[label]["verdict"] for label in (AGAIN, ALL)} == {"UNSTABLE"}
        assert float(rows[AGAIN]["serial_correlation"]) > 0.3

    def test_without_sensors_nothing_is_claimed(self, tmp_path: Path) -> None:
        calm = Conditions(throttle=(0.0, 1e9), sensors=False, lists_processes=False)
        rows = rows_of(tmp_path, conditions=calm)
        assert {row["status"] for row in rows.values()} == {"OK"}
        for name in ("clock_mhz", "clock_low_mhz", "power_w", "temperature_c", "other_processes"):
            assert {row[name] for row in rows.values()} == {""}
        checks = next(r for r in read_journal(next(tmp_path.glob("*.jsonl"))) if "checks" in r)
        assert checks["unreadable"] == {
            "clock_mhz": "simulated absence",
            "other_processes": "simulated absence",
        }

    def test_a_second_process(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, conditions=Conditions(neighbour=(0.5, 1.0)))
        assert all("SHARED" in row["status"] for row in rows.values())
        assert {row["other_processes"] for row in rows.values()} == {"1"}

    @pytest.mark.parametrize("seen", [[3, 0], [0, 3], [None, 3], [3, None]])
    def test_processes_are_looked_for_at_both_ends_of_a_round(self, seen, monkeypatch) -> None:
        device = FakeDevice()
        workload = FakeWorkload(device, {NONE: 40e-6, ALL: 39e-6})
        run = CaseRun(CASE, workload, device, PROCEDURE)
        answers = list(seen)
        monkeypatch.setattr(device, "other_processes", lambda: answers.pop(0))
        assert run.round(0)["others"] == 3
        assert answers == []

    def test_waiting_for_the_host_makes_no_verdict(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, conditions=Conditions(late=0.5))
        assert {row["status"] for row in rows.values()} == {"HOST_BOUND"}
        assert {rows[label]["verdict"] for label in (AGAIN, ALL)} == {"UNSTABLE"}

    def test_drift_cancels_in_the_ratio_and_is_marked(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, conditions=Conditions(drift=0.05))
        assert {row["status"] for row in rows.values()} == {"DRIFTED"}
        assert float(rows[ALL]["ratio"]) == pytest.approx(39 / 40, rel=2e-3)

    def test_marks_add_up(self, tmp_path: Path) -> None:
        everywhere = (0.0, 1e9)
        both = Conditions(neighbour=everywhere, neighbour_share=0.01, throttle=everywhere)
        rows = rows_of(tmp_path, conditions=both)
        assert rows[ALL]["status"] == "THROTTLED+SHARED"


TIMES = ("unit", "median", "minimum", "q05", "q25", "q75", "q95", "ratio", "verdict", "replays")


class TestWrong:
    def test_a_wrong_setting_has_a_row_without_times(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, options={"wrong": frozenset({ALL})})
        assert rows[ALL]["status"] == "WRONG"
        assert {rows[ALL][name] for name in TIMES} == {""}
        assert rows[ALL]["mismatches"] == "7"
        assert rows[NONE]["status"] == "OK"
        assert rows[AGAIN]["verdict"] == "SAME"

    def test_a_wrong_baseline_leaves_times_without_ratios(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, options={"wrong": frozenset({NONE})})
        assert [rows[label]["status"] for label in CASE.labels] == ["WRONG", "WRONG", "OK"]
        assert float(rows[ALL]["median"]) == pytest.approx(39, rel=3e-3)
        assert rows[ALL]["ratio"] == rows[ALL]["verdict"] == ""
        assert rows[ALL]["aa_pairs"] == "0"

    def test_all_wrong(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, options={"wrong": frozenset({NONE, ALL})})
        assert {row["status"] for row in rows.values()} == {"WRONG"}

    def test_a_graph_that_writes_nothing_is_wrong_however_fast(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, options={"silent": frozenset({ALL})})
        assert rows[ALL]["status"] == "WRONG"
        assert {rows[ALL][name] for name in TIMES} == {""}
        assert rows[NONE]["status"] == "OK"

    def test_buffers_spoiled_during_the_rounds_take_the_case_with_them(self, tmp_path) -> None:
        class Spoiled(FakeWorkload):
            checks = 0

            def check_graph(self, graph: Any, turn: Any) -> Check:
                Spoiled.checks += 1
                passed = Spoiled.checks <= len(CASE.labels)
                return Check(passed, 512, 0, 4, 4, "" if passed else "inputs have changed")

        rows = rows_of(tmp_path, workload=Spoiled)
        assert {row["status"] for row in rows.values()} == {"WRONG"}

    def test_the_numbers_of_a_wrong_row_are_those_of_the_check_that_failed(self, tmp_path) -> None:
        class Flaky(FakeWorkload):
            checks = 0

            def check_graph(self, graph: Any, turn: Any) -> Check:
                Flaky.checks += 1
                return Check(Flaky.checks != 6, 300, 9 * (Flaky.checks == 6), 3, 4)

        rows = rows_of(tmp_path, workload=Flaky)
        assert [rows[label]["status"] for label in CASE.labels] == ["OK", "OK", "WRONG"]
        assert (rows[ALL]["mismatches"], rows[ALL]["checked_elements"]) == ("9", "300")
        assert (rows[NONE]["mismatches"], rows[NONE]["checked_elements"]) == ("0", "512")

    def test_one_of_the_baseline_s_two_graphs_is_enough_to_make_it_wrong(self, tmp_path) -> None:
        class SecondFails(FakeWorkload):
            checks = 0

            def check_graph(self, graph: Any, turn: Any) -> Check:
                SecondFails.checks += 1
                return Check(SecondFails.checks != 5)

        rows = rows_of(tmp_path, workload=SecondFails)
        assert [rows[label]["status"] for label in CASE.labels] == ["WRONG", "WRONG", "OK"]
        assert rows[ALL]["ratio"] == ""

    def test_a_baseline_that_differs_from_itself_makes_the_case_unstable(self, tmp_path) -> None:
        class SecondCaptureIsSlower(FakeWorkload):
            graphs = 0

            def check_graph(self, graph: Any, turn: Any) -> Check:
                SecondCaptureIsSlower.graphs += 1
                if SecondCaptureIsSlower.graphs == 2:
                    object.__setattr__(graph, "seconds", 1.03 * graph.seconds)
                return Check(True)

        rows = rows_of(tmp_path, workload=SecondCaptureIsSlower)
        assert rows[AGAIN]["verdict"] == "SLOWER"
        assert rows[ALL]["aa_verdict"] == "SLOWER"
        assert rows[ALL]["verdict"] == "UNSTABLE"
        assert rows[ALL]["aa_different"] == "1"


def keys(path: Path) -> list[str]:
    return [record["key"] for record in read_journal(path)[1:]]


class TestResume:
    PLAN = plan_of(4, 8, procedure=Procedure(rounds=6, passes=1))

    def runner(self) -> Simulated:
        return Simulated(procedure=self.PLAN.procedure)

    @pytest.fixture
    def whole(self, tmp_path: Path) -> tuple[Path, bytes]:
        table = measure(self.PLAN, self.runner(), tmp_path / "whole")
        journal = table.with_suffix(".jsonl")
        return journal, journal.read_bytes()

    def test_cut_anywhere_nothing_is_lost_or_doubled(self, whole, tmp_path: Path) -> None:
        """Cut before, within and after every line; what was whole stays, byte for byte."""
        journal, content = whole
        ends = [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]
        cuts = sorted({0, 1, *(end + shift for end in ends for shift in (-7, -1, 0))})
        expected = [key for key in keys(journal) if " checks " not in key]
        for cut in cuts:
            folder = tmp_path / str(cut)
            folder.mkdir()
            path = folder / journal.name
            path.write_bytes(content[:cut])
            runner = self.runner()
            table = measure(self.PLAN, runner, folder)
            kept = content[: content.rfind(b"\n", 0, cut) + 1]
            assert path.read_bytes().startswith(kept)
            found = [key for key in keys(path) if " checks " not in key]
            assert sorted(found) == sorted(expected)
            assert len(set(keys(path))) == len(keys(path))
            asked = sum(len(numbers) for _, numbers in runner.asked)
            assert asked + kept.count(b'"kind":"round"') == self.PLAN.rounds
            rows = read_csv(table, NAMES)
            assert [(row["tokens"], row["rounds"]) for row in rows] == [
                (tokens, "6") for tokens in ("4", "8") for _ in CASE.labels
            ]

    def test_a_finished_run_is_not_measured_again(self, whole) -> None:
        journal, content = whole
        table = journal.with_suffix(".csv")
        before = table.read_bytes()
        table.unlink()
        runner = self.runner()
        assert measure(self.PLAN, runner, journal.parent) == table
        assert runner.asked == []
        assert journal.read_bytes() == content
        assert table.read_bytes() == before

    def test_a_case_s_rows_are_on_disk_before_the_next_begins(self, tmp_path: Path) -> None:
        class Watched(Simulated):
            def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
                (table,) = tmp_path.glob("*.csv")
                seen.append(len(read_csv(table, NAMES)))
                return super().measure(case, numbers)

        seen: list[int] = []
        measure(self.PLAN, Watched(procedure=self.PLAN.procedure), tmp_path)
        assert seen == [0, 3]

    def test_another_environment_is_another_run(self, whole) -> None:
        journal, content = whole
        other = replace(self.runner(), environment_={**ENVIRONMENT, "driver": "6.2"})
        assert measure(self.PLAN, other, journal.parent) != journal.with_suffix(".csv")
        assert journal.read_bytes() == content

    def test_a_named_run_of_another_environment_is_refused(self, tmp_path: Path) -> None:
        measure(self.PLAN, self.runner(), tmp_path, name="mine")
        other = replace(self.runner(), environment_={**ENVIRONMENT, "driver": "6.2"})
        with pytest.raises(JournalError, match=r"environment\.driver was 6\.1, is 6\.2"):
            measure(self.PLAN, other, tmp_path, name="mine")
        assert (tmp_path / "mine.csv").exists()

    def test_a_journal_without_its_end_is_an_unfinished_run(self, whole, capsys) -> None:
        journal, content = whole
        table = journal.with_suffix(".csv")
        verify(table)
        assert main([str(table)]) == 0
        before = table.read_bytes()
        lines = content.splitlines(keepends=True)
        for kept in range(len(lines)):
            journal.write_bytes(b"".join(lines[:kept]))
            with pytest.raises(IncompleteRun, match=r"of 2 cases and no end|is empty"):
                verify(table)
        journal.write_bytes(content)
        rows = before.splitlines(keepends=True)
        assert {row["cases"] for row in read_csv(table, NAMES)} == {"2"}
        table.write_bytes(b"".join(rows[:4]))
        with pytest.raises(ValueError, match="is not what its journal gives"):
            verify(table)
        assert main([str(table)]) == 1
        assert "is not what its journal gives" in capsys.readouterr().err

    def test_an_end_before_all_is_measured_is_damage(self, whole, tmp_path: Path) -> None:
        journal, _ = whole
        records = read_journal(journal)
        text, seal = b"", ""
        for record in [*records[:-2], records[-1]]:
            line, seal = _sealed(record, seal)
            text += line
        journal.write_bytes(text)
        with pytest.raises(JournalError, match=r"the run ends, but .* M=8 .* is not measured"):
            measure(self.PLAN, self.runner(), journal.parent)

    def test_what_a_killed_process_left_is_removed(self, whole, monkeypatch) -> None:
        journal, _ = whole
        folder, names = journal.parent, []
        monkeypatch.setattr(os, "replace", lambda old, new: names.append(Path(old)))
        write_csv(folder / "x.csv", ("a",), [])
        monkeypatch.undo()
        (left,) = names  # a name as files have it before they are put in place
        stale, strange = folder / f".{'0' * 16}.tmp", folder / ".my.tmp"
        for path in (left, stale, strange):
            path.touch()
            os.utime(path, (0, 0))
        os.utime(left)
        measure(self.PLAN, self.runner(), folder)
        assert (left.exists(), stale.exists(), strange.exists()) == (True, False, True)
        os.utime(left, (0, 0))
        measure(self.PLAN, self.runner(), folder)
        assert not left.exists()

    SCRIPT = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_session import Simulated, TestResume
from mxfp4kernels.bench.session import measure

class Slow(Simulated):
    def measure(self, case, numbers):
        for record in super().measure(case, numbers):
            time.sleep(0.2)
            yield record

measure(TestResume.PLAN, Slow(procedure=TestResume.PLAN.procedure), Path(sys.argv[1]))
"""

    @pytest.mark.parametrize("lines", [2, 5, 9])
    def test_killed_by_the_system(self, tmp_path: Path, lines: int) -> None:
        script = self.SCRIPT.format(tests=str(Path(__file__).parent))
        process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = list(tmp_path.glob("*.jsonl"))
            if found and found[0].read_bytes().count(b"\n") >= lines:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        (journal,) = tmp_path.glob("*.jsonl")
        before = read_journal(journal)
        assert lines <= len(before) < 17
        table = measure(self.PLAN, self.runner(), tmp_path)
        assert read_journal(journal)[: len(before)] == before
        rounds = [key for key in keys(journal) if " round " in key]
        assert len(rounds) == len(set(rounds)) == self.PLAN.rounds
        assert len(read_csv(table, NAMES)) == 6
        assert not list(tmp_path.glob(".*"))


def test_header_and_records_are_json_of_plain_values(tmp_path: Path) -> None:
    table = measure(plan_of(4), Simulated(), tmp_path, name="plain")
    for line in table.with_suffix(".jsonl").read_text().splitlines():
        assert isinstance(json.loads(line), dict)
    assert os.listdir(tmp_path) == ["plain.jsonl", "plain.csv"] or sorted(os.listdir(tmp_path)) == [
        "plain.csv",
        "plain.jsonl",
    ]


def test_device_names_become_directories() -> None:
    assert slug("AMD Instinct MI355X") == "amd-instinct-mi355x"
    assert slug("") == "unnamed"
