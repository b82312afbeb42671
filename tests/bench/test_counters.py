"""Counter files of rocprofv3, and what the emulator expects of a whole launch."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from mxfp4kernels import cli
from mxfp4kernels.bench.counters import (
    ABSENT,
    DIFFERS,
    EQUAL,
    QUANTITIES,
    ROW,
    RUN_COLUMNS,
    CounterError,
    Expected,
    compare,
    measured,
    read_counters,
)
from mxfp4kernels.bench.executed import by_class, expected_counts
from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.files import TableError, read_csv
from mxfp4kernels.flags import ALL
from mxfp4kernels.isa import InstructionClass
from mxfp4kernels.numerics.emulation import EmulatedLaunch
from mxfp4kernels.numerics.problem import Problem
from mxfp4kernels.numerics.verification import all_workgroups
from mxfp4kernels.shapes import Variant, find_variant, parse_shape

SHAPE = parse_shape("4x512x256x2")
HEADER = [
    *("Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id"),
    *("Grid_Size", "Kernel_Id", "Kernel_Name", "Workgroup_Size", "LDS_Block_Size"),
    *("Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count", "Counter_Name"),
    *("Counter_Value", "Start_Timestamp", "End_Timestamp"),
]
"""The header that rocprofv3 of ROCm 7 writes."""


def write(path: Path, rows: list[tuple[int, str, str, object]]) -> Path:
    with open(path, "w", newline="") as stream:
        writer = csv.DictWriter(stream, HEADER, restval="0", quoting=csv.QUOTE_ALL)
        writer.writeheader()
        for dispatch, kernel, counter, value in rows:
            writer.writerow(
                {
                    "Dispatch_Id": dispatch,
                    "Kernel_Name": kernel,
                    "Counter_Name": counter,
                    "Counter_Value": value,
                }
            )
    return path


class TestReading:
    def test_dispatches_files_and_other_kernels(self, tmp_path: Path) -> None:
        first = write(
            tmp_path / "1.csv",
            [
                (1, "k.kd", "SQ_WAVES", 8),
                (2, "k.kd", "SQ_WAVES", 8),
                (3, "other", "SQ_WAVES", 99),
                (4, "k.kd", "SQ_WAVES", 10),
                (5, "k_longer", "SQ_WAVES", 77),
            ],
        )
        second = write(tmp_path / "2.csv", [(1, "k", "SQ_INSTS_LDS", "1.5e3")])
        counters = read_counters([first, second], "k")
        waves = counters["SQ_WAVES"]
        assert (waves.dispatches, waves.median, waves.least, waves.most) == (3, 8, 8, 10)
        assert counters["SQ_INSTS_LDS"].median == 1500
        assert set(counters) == {"SQ_WAVES", "SQ_INSTS_LDS"}

    @pytest.mark.parametrize("value", [5, 7])
    def test_a_dispatch_twice_in_one_file(self, tmp_path: Path, value: int) -> None:
        """The profiler adds the instances of a counter up; a second row is of a second copy."""
        rows = [(1, "k", "TCC_HIT", 5), (2, "k", "TCC_HIT", 12), (1, "k", "TCC_HIT", value)]
        path = write(tmp_path / "c.csv", rows)
        words = r"c\.csv:4: .*c\.csv:2 has TCC_HIT of dispatch 1 too, .* leave one of them out"
        with pytest.raises(CounterError, match=words):
            read_counters([path], "k")

    def test_two_files_joined_to_one(self, tmp_path: Path) -> None:
        one = write(tmp_path / "1.csv", [(1, "k", "SQ_WAVES", 8)])
        other = write(tmp_path / "2.csv", [(2, "k", "SQ_WAVES", 8)])
        (tmp_path / "both.csv").write_text(one.read_text() + other.read_text())
        with pytest.raises(CounterError, match=r"both\.csv:3: the header again"):
            read_counters([tmp_path / "both.csv"], "k")

    @pytest.mark.parametrize("column", RUN_COLUMNS)
    def test_files_that_do_not_tell_runs_apart(self, tmp_path: Path, column: str) -> None:
        one = write(tmp_path / "1.csv", [(1, "k", "SQ_WAVES", 8)])
        other = tmp_path / "2.csv"
        other.write_text(one.read_text().replace(column, "Something"))
        for paths in ([one, other], [other, one]):
            with pytest.raises(CounterError, match=f"differ in the columns {column}, by which"):
                read_counters(paths, "k")
        assert read_counters([other], "k")["SQ_WAVES"].dispatches == 1

    def test_no_such_kernel_names_those_there_are(self, tmp_path: Path) -> None:
        path = write(tmp_path / "c.csv", [(1, "gemm2_x", "SQ_WAVES", 1)])
        words = "no dispatch of gemm1_x with a counter .* the files hold SQ_WAVES of gemm2_x$"
        with pytest.raises(CounterError, match=words):
            read_counters([path], "gemm1_x")
        many = [(1, "k", f"GRBM_{number}", 1) for number in range(8)]
        with pytest.raises(CounterError, match=r"GRBM_0 of k, .* and 3 more"):
            read_counters([write(tmp_path / "m.csv", many)], "k")

    @pytest.mark.parametrize(
        "value",
        ["n/a", "", "nan", "inf", "-inf", "1e999", "1e300", "-1", "2.5", "6_4", "٦", "0x10", " 8"],
    )
    def test_what_no_count_can_be(self, tmp_path: Path, value: str) -> None:
        rows = [(1, "k", "SQ_INSTS_LDS", 3), (1, "k", "SQ_WAVES", value)]
        path = write(tmp_path / "c.csv", rows)
        words = f"{re.escape(str(path))}:3: SQ_WAVES of dispatch 1 is '{value}', .* collect"
        with pytest.raises(CounterError, match=words):
            read_counters([path], "k")

    def test_sizes_in_kilobytes_may_have_a_fraction(self, tmp_path: Path) -> None:
        path = write(tmp_path / "c.csv", [(1, "k", "FETCH_SIZE", 0.03125)])
        assert read_counters([path], "k")["FETCH_SIZE"].median == 0.03125
        for value in ("nan", "-0.5"):
            with pytest.raises(CounterError, match=f"FETCH_SIZE of dispatch 1 is '{value}'"):
                read_counters([write(tmp_path / "d.csv", [(1, "k", "FETCH_SIZE", value)])], "k")

    def test_a_counter_that_is_not_read_may_hold_anything(self, tmp_path: Path) -> None:
        rows = [(1, "k", "SQ_WAVES", 8), (1, "k", "L2CacheHit", "nan"), (2, "o", "SQ_WAVES", "x")]
        assert set(read_counters([write(tmp_path / "c.csv", rows)], "k")) == {"SQ_WAVES"}

    def test_one_file_under_two_names(self, tmp_path: Path, monkeypatch) -> None:
        path = write(tmp_path / "c.csv", [(1, "k", "SQ_WAVES", 8)])
        (tmp_path / "soft.csv").symlink_to(path)
        (tmp_path / "hard.csv").hardlink_to(path)
        (tmp_path / "folder").mkdir()
        monkeypatch.chdir(tmp_path)
        for other in ("c.csv", "soft.csv", "hard.csv", "folder/../c.csv", str(path)):
            with pytest.raises(CounterError, match=r"same file as c\.csv; give every file once"):
                read_counters([Path("c.csv"), Path(other)], "k")

    def test_a_dispatch_in_two_files(self, tmp_path: Path) -> None:
        """A copy counts nothing new; passes of a collection hold different counters."""
        rows = [(1, "o", "SQ_WAVES", 8), (7, "k", "SQ_WAVES", 8)]
        one, copy = (write(tmp_path / name, rows) for name in ("1.csv", "2.csv"))
        words = r"2\.csv:3: .*1\.csv:3 has SQ_WAVES of dispatch 7 too, .* leave one of"
        with pytest.raises(CounterError, match=words):
            read_counters([one, copy], "k")
        other_pass = write(tmp_path / "3.csv", [(7, "k", "SQ_INSTS_LDS", 1)])
        assert read_counters([one, other_pass], "k")["SQ_WAVES"].dispatches == 1

    def test_the_same_number_in_another_run_is_another_dispatch(self, tmp_path: Path) -> None:
        one = write(tmp_path / "1.csv", [(1, "k", "SQ_WAVES", 8)])
        text = one.read_text()
        for column in RUN_COLUMNS:
            cells = ["0"] * len(HEADER)
            cells[HEADER.index(column)] = "99"
            for name, value in [("Dispatch_Id", "1"), ("Kernel_Name", "k")]:
                cells[HEADER.index(name)] = value
            for name, value in [("Counter_Name", "SQ_WAVES"), ("Counter_Value", "8")]:
                cells[HEADER.index(name)] = value
            other = tmp_path / "2.csv"
            other.write_text(text.splitlines()[0] + "\n" + ",".join(cells) + "\n")
            assert read_counters([one, other], "k")["SQ_WAVES"].dispatches == 2

    def test_another_table(self, tmp_path: Path) -> None:
        (tmp_path / "c.csv").write_text("Kernel_Name,Time\nk,1\n")
        with pytest.raises(TableError, match="no column Counter_Name"):
            read_counters([tmp_path / "c.csv"], "k")


class TestComparing:
    EXPECTED = Expected(
        waves=16,
        low={"VALU": 70, "MFMA": 20, "TRANS": 8, "ACC": 2, "VMEM": 30, "SALU": 10},
        high={"VALU": 74, "MFMA": 20, "TRANS": 8, "ACC": 2, "VMEM": 30, "SALU": 10},
    )

    def rows(self, tmp_path: Path, **values: object) -> dict[str, dict[str, object]]:
        path = write(tmp_path / "c.csv", [(1, "k", name, value) for name, value in values.items()])
        compared = compare(read_counters([path], "k"), self.EXPECTED)
        assert [row["quantity"] for row in compared] == [one.name for one in QUANTITIES]
        assert all(tuple(row) == ROW for row in compared)
        return {str(row["quantity"]): row for row in compared}

    def test_verdicts(self, tmp_path: Path) -> None:
        rows = self.rows(tmp_path, SQ_WAVES=16, SQ_INSTS_VALU=102, SQ_INSTS_MFMA=21)
        assert rows["waves"]["verdict"] == EQUAL
        assert rows["VALU"]["verdict"] == EQUAL  # anywhere within 100 to 104
        assert (rows["VALU"]["expected_low"], rows["VALU"]["expected_high"]) == (100, 104)
        assert rows["MFMA"]["verdict"] == DIFFERS

    def test_what_was_not_collected_is_absent_and_never_zero(self, tmp_path: Path) -> None:
        row = self.rows(tmp_path, SQ_WAVES=16)["LDS"]
        assert row["verdict"] == ABSENT
        assert row["counted"] == row["dispatches"] == ""

    def test_what_the_emulator_does_not_count_has_no_verdict(self, tmp_path: Path) -> None:
        rows = self.rows(tmp_path, SQ_BUSY_CYCLES=5, FETCH_SIZE=3)
        assert rows["busy"]["verdict"] == rows["busy"]["expected_low"] == ""
        assert rows["read from memory"]["counted"] == 3072

    def test_vmem_from_its_parts_only_if_both_are_there(self, tmp_path: Path) -> None:
        rows = self.rows(tmp_path, SQ_INSTS_VMEM_RD=20, SQ_INSTS_VMEM_WR=10)
        assert rows["VMEM"]["verdict"] == EQUAL
        assert self.rows(tmp_path, SQ_INSTS_VMEM_RD=30)["VMEM"]["verdict"] == ABSENT

    def test_every_quantity_can_be_measured_and_every_class_is_one(self) -> None:
        for quantity in QUANTITIES:
            assert measured(quantity, {}) is None
            assert set(quantity.classes) <= {str(one) for one in InstructionClass}


def compiled(variant: Variant) -> str:
    return Compiler(workers=1).compile(Job(variant, SHAPE, ALL)).assembly


@pytest.mark.parametrize(
    ("kernel", "name"),
    [("gemm1", "bm32_nt"), ("gemm2", "bm16_atomic_nt"), ("gemm2", "bm128_mxfp4")],
)
def test_a_few_workgroups_stand_for_the_whole_launch(kernel: str, name: str) -> None:
    """Against the emulator's own count of every workgroup."""
    variant = find_variant(kernel, name)
    problem = Problem(variant, SHAPE, 37, routing="family-a")
    assembly = compiled(variant)
    expected = expected_counts(assembly, problem)
    everything = EmulatedLaunch.of(assembly, problem, problem.arguments(range(4)))
    result = everything.run(all_workgroups(problem))
    whole = by_class(result)
    assert expected.waves == result.waves
    assert set(expected.low) == set(whole)
    for name_, count in whole.items():
        assert expected.low[name_] <= count <= expected.high[name_], name_
    assert expected.low["MFMA"] == expected.high["MFMA"] == whole["MFMA"]


def test_persistent_workgroups_are_counted_by_their_tiles(monkeypatch) -> None:
    from mxfp4kernels import shapes

    monkeypatch.setattr(shapes, "PERSISTENT_WORKGROUPS", 3)
    variant = find_variant("gemm2", "bm128_mxfp4")
    problem = Problem(variant, SHAPE, 300, routing="balanced")
    assert problem.workgroups == 3
    tiles = {len(problem.tiles_of(one)) for one in range(3)}
    assert len(tiles) == 2
    assembly = compiled(variant)
    expected = expected_counts(assembly, problem)
    launch = EmulatedLaunch.of(assembly, problem, problem.arguments(range(4)))
    whole = by_class(launch.run(all_workgroups(problem)))
    assert expected.low == expected.high == whole


def test_the_verb(tmp_path: Path, capsys) -> None:
    variant = find_variant("gemm1", "bm32_nt")
    assembly = compiled(variant)
    expected = expected_counts(assembly, Problem(variant, SHAPE, 5, routing="family-a"))
    symbol = f"gemm1_bm32_nt_{SHAPE}"
    assert f"{symbol}:" in assembly
    path = write(
        tmp_path / "c.csv",
        [(1, f"{symbol}.kd", "SQ_WAVES", expected.waves), (1, f"{symbol}.kd", "SQ_INSTS_LDS", 1)],
    )
    words = ["counters", "gemm1/bm32_nt", str(path), "--m", "5", "--shape", str(SHAPE), "--json"]
    assert cli.main(words) == 0
    rows = {row["quantity"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["waves"]["verdict"] == EQUAL
    assert rows["LDS"]["verdict"] == DIFFERS
    assert rows["VALU"]["verdict"] == ABSENT
    assert cli.main([*words[:-1], "-o", str(tmp_path / "out.csv")]) == 0
    assert len(read_csv(tmp_path / "out.csv", ROW)) == len(QUANTITIES)
    for tokens, words_ in [("0", "at least 1"), ("99999999", "reach only"), ("-5", "at least 1")]:
        assert cli.main([*words[:3], "--m", tokens, *words[5:]]) == cli.USAGE
        assert words_ in capsys.readouterr().err
    assert cli.main(["counters", "gemm1/bm64", str(path), "--m", "5", "--shape", str(SHAPE)]) == 2
    assert "no dispatch of gemm1_bm64" in capsys.readouterr().err
