"""Published times, and series of three kinds that never mix; with made-up rows where none exist."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from mxfp4kernels.ablation.published import FIGURES
from mxfp4kernels.bench.cases import Case
from mxfp4kernels.bench.columns import NAMES
from mxfp4kernels.bench.fake import Conditions, FakeDevice
from mxfp4kernels.bench.measured import read_measured
from mxfp4kernels.bench.plan import Plan
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.session import InProcess, measure
from mxfp4kernels.bench.simulation import CASE, FakeWorkload
from mxfp4kernels.curves.checks import checked
from mxfp4kernels.curves.origins import MEASURED, MODELLED, PUBLISHED, Point
from mxfp4kernels.curves.published import (
    FAMILIES,
    PER_KERNEL,
    ComparisonError,
    Times,
    ratio,
    read_claimed_gains,
    read_sources,
    read_times,
)
from mxfp4kernels.curves.series import (
    TABLE_TOKENS,
    Series,
    Sources,
    contributions,
    pairs_of,
    ratio_table,
    ratios_to_hip,
    read_all,
    speedup,
    times,
)
from mxfp4kernels.files import DATA, TableError, read_csv, write_csv
from mxfp4kernels.flags import ALL, NONE, acting, join, study_settings
from mxfp4kernels.plots import curves as figures
from mxfp4kernels.plots import hero, labels, modelled, render
from mxfp4kernels.plots.contributions import flag_contributions
from mxfp4kernels.plots.theme import LIGHT
from mxfp4kernels.shapes import KERNELS, REFERENCE_SHAPE, VARIANTS, dispatch


@pytest.fixture(scope="module")
def published() -> Times:
    return read_times()


class TestPublished:
    def test_every_row_of_the_table_has_a_source_that_is_described(self) -> None:
        described = read_sources()
        assert {row["source"] for row in read_csv(FIGURES)} == set(described)
        assert {source.family for source in described.values()} == {"A", "B", ""}

    def test_every_time_is_of_one_family(self, published: Times) -> None:
        counted = sum(len(published.of(family).rows) for family in FAMILIES)
        assert counted == len(published.rows) > 150

    def test_a_curve_over_both_families_is_refused(self, published: Times) -> None:
        with pytest.raises(ComparisonError, match="routing families A and B"):
            published.series("gemm1", "flydsl")
        assert published.of("A").series("gemm1", "flydsl")
        with pytest.raises(ComparisonError, match="unknown routing family 'C'"):
            published.of("C")

    def test_a_ratio_over_families_or_measurements_is_refused(self, published: Times) -> None:
        a = published.of("A").series("gemm1", "hip")[0]
        b = next(row for row in published.of("B").rows if row.tokens == a.tokens)
        with pytest.raises(ComparisonError, match="no ratio of routing family B to A"):
            ratio(b, a)
        flydsl = published.of("A").ratios("gemm1")[0].flydsl
        with pytest.raises(ComparisonError, match="were not measured together"):
            ratio(flydsl, replace(a, date="2026-01-01"))

    def test_pairs_are_of_one_row_of_a_source(self, published: Times) -> None:
        for kernel in (*PER_KERNEL, "moe_e2e", "moe_kernel_sum"):
            pairs = published.ratios(kernel)
            assert pairs
            for pair in pairs:
                assert pair.hip.backend == "hip"
                assert pair.flydsl.date == pair.hip.date
                assert pair.flydsl.tokens == pair.hip.tokens
                assert 0.9 < pair.value < 1.2

    def test_a_known_pair(self, published: Times) -> None:
        values = [pair.value for pair in published.ratios("gemm2") if pair.flydsl.tokens == 4]
        assert values == [pytest.approx(12.351 / 10.949)]

    def test_rejected_and_eager_rows_are_on_no_curve(self, published: Times) -> None:
        large = [row.us for row in published.of("A").series("gemm2", "flydsl") if row.tokens > 9999]
        assert 952.2 not in large
        assert 1176.8 not in large

    def test_what_the_commits_claim(self) -> None:
        gains = {(gain.kernel, gain.flags, gain.first): gain for gain in read_claimed_gains()}
        abi = gains["gemm1", ("bare_pointer_abi",), 4]
        assert (abi.last, abi.low) == (8, pytest.approx(1 / 0.93))
        exp2 = gains["gemm1", ("hardware_exp2",), 1024]
        assert exp2.last is None
        assert (exp2.low, exp2.high) == (pytest.approx(1 / 0.98), pytest.approx(1 / 0.94))
        three = ("backend_waitcnt", "epilog_hoisting", "unsigned_divrem")
        assert gains["gemm2", three, 4096].low == pytest.approx(1.11)
        assert gains["gemm2", three, 16384].low == pytest.approx(1.10 / 1.03)

    def test_the_table_has_every_row_and_shows_its_gaps(self) -> None:
        rows = ratio_table(read_all())
        assert [(row.kernel, row.tokens) for row in rows] == [
            (kernel, tokens) for kernel in KERNELS for tokens in TABLE_TOKENS
        ]
        stated = [(row.kernel, row.tokens) for row in rows if row.after is not None]
        assert stated == [("gemm1", 4096), ("gemm2", 4096), ("gemm2", 16384)]
        ours = {(row.kernel, row.tokens): row.port for row in rows if row.port is not None}
        assert ours["gemm1", 4] == pytest.approx(25.984 / 24.504)
        assert ("gemm1", 8) not in ours


def model_us(kernel: str, flags: Iterable[str], tokens: int) -> float:
    """Made up: every acting flag takes off 1 %, and the order does not matter."""
    variant = dispatch(kernel, tokens)
    return 10 * tokens**0.5 * 0.99 ** len(acting(variant, frozenset(flags)))


def write_model(path: Path) -> None:
    names = ["kernel", "variant", "shape", "routing", "M", "flags", "us", "low", "high"]
    rows = []
    for kernel in KERNELS:
        for tokens in (4, 4096):
            variant = dispatch(kernel, tokens)
            for flags in study_settings(variant):
                us = model_us(kernel, flags, tokens)
                rows.append(
                    {
                        **dict.fromkeys(names, ""),
                        "kernel": kernel,
                        "variant": variant.name,
                        "shape": REFERENCE_SHAPE,
                        "routing": "family-a",
                        "M": tokens,
                        "flags": join(flags),
                        "us": us,
                        "low": 0.9 * us,
                        "high": 1.1 * us,
                    }
                )
    write_csv(path, names, rows)


def measured_rows(kernel: str, tokens: int, **changes: str) -> list[dict[str, object]]:
    """A run of all settings and of aiter's HIP kernel, a tenth slower than ours with no flag."""
    variant = dispatch(kernel, tokens)
    common = {
        **dict.fromkeys(NAMES, ""),
        "run": "r",
        "device": "AMD Instinct MI355X",
        "arch": "gfx950",
        "compute_units": "256",
        "seed": "0",
        "processes": "one",
        "unit": "us",
        "measured_at": "2026-12-01T00:00:00Z",
        "status": "OK",
        "kernel": kernel,
        "variant": variant.name,
        "shape": str(REFERENCE_SHAPE),
        "tokens": str(tokens),
        "routing": "family-a",
        "cache": "rotating",
        "implementation": "mxfp4kernels",
    }
    rows: list[dict[str, object]] = []
    for flags in study_settings(variant):
        ratio = 0.98 ** len(acting(variant, flags))
        role = "baseline" if flags == NONE else "setting"
        rows.append({**common, "flags": join(flags), "role": role, **time_of(100 * ratio)})
        if flags != NONE:
            rows[-1] |= ratio_of(ratio)
    again = {"role": "again", "flags": "none", **time_of(77), **ratio_of(0.77)}
    hip = {"role": "setting", "implementation": "aiter-hip", "flags": ""}
    hip |= {**time_of(110), **ratio_of(1.1)}
    return [{**row, **changes} for row in (*rows, {**common, **again}, {**common, **hip})]


def time_of(us: float) -> dict[str, str]:
    shares = {"minimum": 0.98, "q05": 0.99, "median": 1, "q95": 1.01}
    return {name: f"{share * us:.4f}" for name, share in shares.items()}


def ratio_of(ratio: float) -> dict[str, str]:
    ends = {"ratio_low": ratio - 0.001, "ratio": ratio, "ratio_high": ratio + 0.001}
    return {name: f"{value:.5f}" for name, value in ends.items()}


Row = dict[str, object]


def sources_of(folder: Path, *rows: Row, model: bool = False) -> Sources:
    """Of rows of one device."""
    return devices_of(folder, {"mi355x": rows} if rows else {}, model=model)


def devices_of(folder: Path, devices: dict[str, Iterable[Row]], model: bool = False) -> Sources:
    """Of every device's rows, each in the table of its run."""
    curve = folder / "curve.csv"
    if model:
        write_model(curve)
    for device, rows in devices.items():
        for run in {str(row["run"]) for row in rows}:
            mine = [row for row in rows if row["run"] == run]
            write_csv(folder / "measured" / device / f"{run}.csv", NAMES, mine)
    return read_all(folder / "measured", curve)


def measured(found: Iterable[Series]) -> list[Series]:
    return [one for one in found if one.kind == MEASURED]


LATER = {"run": "again", "measured_at": "2026-12-02T00:00:00Z"}
"""A second run with ``--run again``."""


class TestSeries:
    def test_what_is_not_there_is_said_and_gives_no_series(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path)
        state = sources.state()
        assert state[MEASURED].startswith("not yet")
        assert state[MODELLED] == "not yet"
        for kernel in KERNELS:
            for family in FAMILIES:
                assert {one.kind for one in times(sources, kernel, family)} == {PUBLISHED}
                assert speedup(sources, kernel, family) == []
            assert contributions(sources, kernel, "A", 4) == []

    def test_the_model(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path, model=True)
        modelled = [one for one in times(sources, "gemm1", "A") if one.kind == MODELLED]
        assert [(one.name, len(one.points)) for one in modelled] == [("none", 2), ("all", 2)]
        first = modelled[1].points[0]
        assert first.value == pytest.approx(model_us("gemm1", ALL, 4))
        assert (first.low, first.high) == pytest.approx((0.9 * first.value, 1.1 * first.value))
        (gain,) = speedup(sources, "gemm1", "A")
        assert gain.points[0].value == pytest.approx(0.99**-4)
        assert math.isnan(gain.points[0].low)
        assert speedup(sources, "gemm1", "B") == []

    def test_a_device(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path, *measured_rows("gemm1", 4))
        assert sources.state()[MEASURED] == "AMD Instinct MI355X: 13 rows"
        ours = {one.name: one for one in measured(times(sources, "gemm1", "A"))}
        assert ours["none"].points[0].value == 100
        assert ours["none"].origin == "measured mi355x/r"
        (gain,) = speedup(sources, "gemm1", "A")
        (point,) = gain.points
        assert point.value == pytest.approx(0.98**-4, rel=1e-4)
        assert point.low < point.value < point.high
        to_hip = {one.name: one for one in ratios_to_hip(sources, "gemm1")}
        assert to_hip["all"].kind == MEASURED
        assert to_hip["all"].points[0].value == pytest.approx(100 * 0.98**4 / 110, rel=1e-3)

    @pytest.mark.parametrize(
        "change",
        [
            {"status": "THROTTLED"},
            {"cache": "warm"},
            {"routing": "family-b"},
            {"shape": "8x256x256x2"},
            {"implementation": "somebody"},
        ],
        ids=str,
    )
    def test_rows_that_are_marked_or_of_something_else_are_left_out(self, tmp_path, change) -> None:
        sources = sources_of(tmp_path, *measured_rows("gemm1", 4, **change))
        assert measured(times(sources, "gemm1", "A")) == []

    def test_the_latest_run_of_a_setting_counts_and_no_line_joins_runs(self, tmp_path) -> None:
        old = [row for tokens in (4, 8) for row in measured_rows("gemm1", tokens)]
        (baseline,) = [row for row in old if (row["role"], row["tokens"]) == ("baseline", "4")]
        sources = sources_of(tmp_path, *old, {**baseline, **LATER, **time_of(90)})
        found = [one for one in measured(times(sources, "gemm1", "A")) if one.name == "none"]
        assert {one.run: [(p.tokens, p.value) for p in one.points] for one in found} == {
            "mi355x/again": [(4, 90)],
            "mi355x/r": [(8, 100)],
        }

    def test_a_ratio_is_of_the_latest_run_that_has_both(self, tmp_path: Path) -> None:
        """What docs/bench.md advises, one row measured again, takes nothing away."""
        old = measured_rows("gemm1", 4)
        again = [
            {**row, **LATER, **(ratio_of(0.9) if row["role"] == "setting" else {})}
            for row in old
            if row["role"] != "setting" or row["flags"] == "hardware_exp2"
        ]
        before, after = sources_of(tmp_path / "a", *old), sources_of(tmp_path / "b", *old, *again)
        found = contributions(after, "gemm1", "A", 4)
        assert len(found) == len(contributions(before, "gemm1", "A", 4)) == 12
        of_again = [one for one in found if one.point.run == "mi355x/again"]
        assert [(one.flag, one.study) for one in of_again] == [("hardware_exp2", "alone")]
        assert of_again[0].point.value == pytest.approx(1 / 0.9)
        assert speedup(after, "gemm1", "A") == speedup(before, "gemm1", "A")

    @pytest.mark.parametrize(
        "other",
        [
            {"machine": "1234"},
            {"compute_units": "32"},
            {"seed": "1"},
            {"processes": "fresh"},
            {"device": "AMD Instinct MI350X"},
        ],
        ids=str,
    )
    def test_what_was_measured_otherwise_stands_beside_it(self, tmp_path: Path, other) -> None:
        rows = [*measured_rows("gemm1", 4), *measured_rows("gemm1", 4, **LATER, **other)]
        found = measured(speedup(sources_of(tmp_path, *rows), "gemm1", "A"))
        assert [one.run for one in found] == ["mi355x/again", "mi355x/r"]

    def test_devices_are_neither_joined_nor_divided(self, tmp_path: Path) -> None:
        one = [row for row in measured_rows("gemm1", 4) if row["role"] == "baseline"]
        other = [row for row in measured_rows("gemm1", 4) if row["role"] == "setting"]
        more = measured_rows("gemm1", 8)
        sources = devices_of(tmp_path, {"mi350x": one, "mi355x": other, "mi355x-b": more})
        found = {(s.name, s.run): s.points for s in measured(times(sources, "gemm1", "A"))}
        assert set(found) == {
            ("none", "mi350x/r"),
            ("all", "mi355x/r"),
            ("none", "mi355x-b/r"),
            ("all", "mi355x-b/r"),
        }
        assert all(len(points) == 1 for points in found.values())
        assert [one.run for one in measured(speedup(sources, "gemm1", "A"))] == ["mi355x-b/r"]
        assert {one.point.run for one in contributions(sources, "gemm1", "A", 4)} == {"mi355x/r"}

    def test_a_wrong_baseline_leaves_gaps(self, tmp_path: Path) -> None:
        """The rows beside it are OK and have a time, but no ratio."""
        rows = measured_rows("gemm1", 4)
        for row in rows:
            row |= {"ratio": "", "ratio_low": "", "ratio_high": "", "verdict": ""}
            if row["role"] != "setting":
                row |= dict.fromkeys(time_of(1), "") | {"status": "WRONG"}
        sources = sources_of(tmp_path, *rows)
        assert [one.name for one in measured(times(sources, "gemm1", "A"))] == ["all"]
        assert speedup(sources, "gemm1", "A") == []
        assert contributions(sources, "gemm1", "A", 4) == []
        assert measured(ratios_to_hip(sources, "gemm1")) == []
        assert sources.state()[MEASURED].endswith("13 rows, 2 of them marked and left out")
        for draw in DRAWINGS:
            draw(sources)

    def test_every_measured_ratio_has_an_interval(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path, *measured_rows("gemm1", 4))
        for one in contributions(sources, "gemm1", "A", 4):
            assert one.point.low < one.point.value < one.point.high, one
        alone, left_out = contributions(sources, "gemm1", "A", 4)[:2]
        assert alone.point.low == pytest.approx(1 / 0.981, abs=1e-5)
        assert left_out.study == "leave-one-out"
        without, with_ = 0.98**3, 0.98**4
        assert left_out.point.low == pytest.approx((without - 0.001) / (with_ + 0.001), rel=1e-4)

    @pytest.mark.parametrize("baseline", ["none", "all", "hip"])
    def test_a_ratio_to_hip_is_of_paired_ratios(self, tmp_path: Path, baseline: str) -> None:
        """The medians of a run are no pair: here HIP's is far off, its ratio is not."""
        rows = measured_rows("gemm1", 4)
        everything = join(acting(dispatch("gemm1", 4)))
        ratios = {"none": 1.0, "all": 0.98**4, "hip": 1.1}
        kept = []
        for row in rows:
            hip = row["implementation"] == "aiter-hip"
            name = "hip" if hip else {"none": "none", everything: "all"}.get(str(row["flags"]))
            if name is None or row["role"] == "again":
                continue
            row |= ratio_of(ratios[name] / ratios[baseline]) | {"role": "setting"}
            if name == baseline:
                row |= {"ratio": "", "ratio_low": "", "ratio_high": "", "role": "baseline"}
            kept.append({**row, **(time_of(200) if hip else {})})
        (found,) = measured(ratios_to_hip(sources_of(tmp_path, *kept), "gemm1"))
        (point,) = found.points
        assert point.value == pytest.approx(0.98**4 / 1.1, rel=1e-4)
        assert point.low < point.value < point.high

    @pytest.mark.parametrize("change", [{"verdict": "UNSTABLE"}, {"aa_verdict": "FASTER"}], ids=str)
    def test_what_is_no_result_is_told(self, tmp_path: Path, change: dict[str, str]) -> None:
        calm = measured_rows("gemm1", 4)
        rows = [{**row, **change} if row["role"] == "setting" else row for row in calm]
        sources = sources_of(tmp_path, *rows)
        ours = {one.name: one.points[0] for one in measured(times(sources, "gemm1", "A"))}
        assert ours["all"].unstable
        assert ours["none"].unstable is ("aa_verdict" in change)
        assert all(one.point.unstable for one in contributions(sources, "gemm1", "A", 4))
        assert not any(
            one.point.unstable
            for one in contributions(sources_of(tmp_path / "calm", *calm), "gemm1", "A", 4)
        )

    def test_contributions_by_every_study(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path, *measured_rows("gemm1", 4), model=True)
        found = contributions(sources, "gemm1", "A", 4)
        for kind, gain in ((MEASURED, 1 / 0.98), (MODELLED, 1 / 0.99)):
            mine = [one for one in found if one.kind == kind]
            assert len(mine) == 3 * len(acting(dispatch("gemm1", 4)))
            for one in mine:
                assert one.point.value == pytest.approx(gain, rel=1e-4), one

    def test_studies_compare_settings_that_are_compiled(self) -> None:
        for variant in VARIANTS:
            settings = set(study_settings(variant))
            for flag, study, without, with_ in pairs_of(variant):
                assert with_ - without == {flag}, study
                assert {without, with_} <= settings
            last = [with_ for _, study, _, with_ in pairs_of(variant) if study == "cumulative"]
            assert last[-1] == acting(variant)


WRONG_VALUES = [
    ({"median": "nan"}, "median is 'nan', no number above 0"),
    ({"median": "-5"}, "median is '-5', no number above 0"),
    ({"median": "inf"}, "median is 'inf', no number above 0"),
    ({"median": ""}, "median is '', no number above 0"),
    ({"median": "abc"}, "median is 'abc', no number above 0"),
    ({"median": "1e9"}, "out of order: .* median 1e9"),
    ({"ratio": "0"}, "ratio is '0', no number above 0"),
    ({"ratio_low": ""}, "ratio_low is '', no number above 0"),
    ({"ratio_high": "0.1"}, "out of order: .* ratio_high 0.1"),
    ({"tokens": "x"}, "tokens is 'x', no count"),
    ({"tokens": "-4"}, "tokens is '-4', no count"),
    ({"tokens": "0"}, "tokens is '0', no count"),
    ({"status": "ok"}, "status is 'ok', no marks"),
    ({"status": "OK+WRONG"}, "status is .*, no marks"),
    ({"verdict": "MAYBE"}, "verdict is 'MAYBE', none of empty, FASTER"),
    ({"role": ""}, "role is '', none of baseline"),
    ({"arch": "sm_90"}, "arch is 'sm_90', none of gfx950"),
    ({"unit": "ms"}, "unit is 'ms', not us"),
    ({"device": ""}, "device is empty"),
    ({"measured_at": "garbage"}, "measured_at is 'garbage', no time"),
    ({"measured_at": "2026-12-01T00:00:00"}, "measured_at is .*, no time"),
]


class TestChecks:
    @pytest.mark.parametrize(("change", "message"), WRONG_VALUES, ids=str)
    def test_a_value_that_cannot_be_is_told_with_its_line(self, tmp_path, change, message) -> None:
        rows = measured_rows("gemm1", 4)
        rows[2] |= change
        with pytest.raises(TableError, match=rf"mi355x/r\.csv:4: {message}"):
            sources_of(tmp_path, *rows)

    def test_a_row_that_comes_twice(self, tmp_path: Path) -> None:
        rows = measured_rows("gemm1", 4)
        with pytest.raises(TableError, match=r"r\.csv:15: is the row of line 3 again"):
            sources_of(tmp_path, *rows, rows[1])

    def test_a_table_of_another_run(self, tmp_path: Path) -> None:
        write_csv(tmp_path / "mi355x" / "copy.csv", NAMES, measured_rows("gemm1", 4))
        with pytest.raises(TableError, match=r"copy\.csv:2: run is 'r', not the table's name"):
            read_all(tmp_path, tmp_path / "none")

    def test_what_the_bench_writes_passes(self, tmp_path: Path) -> None:
        """Whole rows, a WRONG one and marked ones."""
        plan = Plan((CASE, replace(CASE, tokens=8)), Procedure(rounds=6, passes=2))
        marked = Conditions(throttle=(0.0, 0.5))
        for conditions, wrong in ((Conditions(), CASE.labels[0]), (marked, CASE.labels[2])):
            runner = Simulated(conditions, wrong, plan.procedure)
            table = measure(plan, runner, tmp_path / wrong / "mi355x")
            rows = checked(read_measured(tmp_path / wrong))
            assert len(rows) == len(read_csv(table)) == 6
            assert {"WRONG"} < {row["status"] for row in rows}


@dataclass
class Simulated:
    """A runner on the simulated device, one of whose kernels is wrong."""

    conditions: Conditions
    wrong: str
    procedure: Procedure

    def environment(self) -> Mapping[str, Any]:
        said = {"name": "AMD Instinct MI355X", "arch": "gfx950", "compute_units": 256}
        return {**said, "max_clock_mhz": 2400.0}

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        device = FakeDevice(self.conditions, seed=1)
        seconds = {case.labels[0]: 40e-6, case.labels[2]: 39e-6}

        def workload(_: Case) -> FakeWorkload:
            return FakeWorkload(device, seconds, wrong=frozenset({self.wrong}))

        return InProcess(device, workload, self.procedure, self.environment()).measure(
            case, numbers
        )


DRAWINGS = (
    figures.per_m_times,
    figures.per_m_speedup,
    figures.ratio_to_hip,
    flag_contributions,
)


def words(figure: Figure) -> str:
    return " ".join(text.get_text() for text in figure.findobj(Text))


def ends_of(points: Iterable[Point]) -> list[float]:
    numbers = [end for point in points for end in (point.low, point.value, point.high)]
    return [number for number in numbers if not math.isnan(number)]


class TestElsewhere:
    def test_figures_without_measured_values_say_whether_there_are_any(self, tmp_path) -> None:
        assert labels.measured_elsewhere(tmp_path) == "none yet"
        write_csv(tmp_path / "mi355x" / "r.csv", NAMES, measured_rows("gemm1", 4))
        assert labels.measured_elsewhere(tmp_path) == "none in this figure"

    @pytest.mark.parametrize("state", [labels.NONE_YET, "something else"])
    def test_the_model_s_figures_and_the_hero_ask(self, monkeypatch, state: str) -> None:
        for module in (modelled, hero):
            monkeypatch.setattr(module, "measured_elsewhere", lambda: state)
        for figure in (modelled.stall_stacks(), modelled.validation(), hero.hero(LIGHT)):
            assert f"measured: {state}" in words(figure)
        assert (hero.OPEN in words(hero.hero(LIGHT))) is (state == labels.NONE_YET)


class TestFigures:
    @pytest.mark.parametrize("draw", DRAWINGS)
    def test_drawn_with_and_without_data_that_does_not_exist_yet(self, tmp_path, draw) -> None:
        empty = sources_of(tmp_path / "empty")
        rows = [row for kernel in KERNELS for m in (4, 4096) for row in measured_rows(kernel, m)]
        full = sources_of(tmp_path / "full", *rows, model=True)
        sheets = [draw(empty), draw(full)]
        texts = [words(sheet) for sheet in sheets]
        assert "not yet" in texts[0]
        missing = 2 if draw is figures.per_m_speedup else 0  # nothing was made up for family B
        assert texts[1].count("not yet") == missing
        assert "AMD Instinct MI355X" in texts[1]
        assert "mi355x/r" in texts[1]
        bare, drawn = (render(sheet, []) for sheet in sheets)
        assert bare["svg"] != drawn["svg"]
        assert len(drawn["png"]) > 10_000

    def test_what_is_far_off_lies_inside_the_axes(self, tmp_path: Path) -> None:
        """A device a hundred times as fast, one as slow, and ratios far from 1."""
        rows = []
        for kernel in KERNELS:
            for tokens, us, off in ((4, 0.3, 0.5), (4096, 30000, 1.9)):
                for row in measured_rows(kernel, tokens):
                    far = row["role"] == "setting" and row["implementation"] == "mxfp4kernels"
                    rows.append({**row, **time_of(us), **(ratio_of(off) if far else {})})
        sources = sources_of(tmp_path, *rows)
        panels = [(kernel, family) for family in FAMILIES for kernel in KERNELS]
        for figure, series in (
            (figures.per_m_times(sources), [times(sources, *panel) for panel in panels]),
            (figures.per_m_speedup(sources), [speedup(sources, *panel) for panel in panels]),
            (figures.ratio_to_hip(sources), [ratios_to_hip(sources, k) for k in KERNELS]),
        ):
            for axes, found in zip(figure.axes, series, strict=True):
                points = [point for one in found for point in one.points]
                assert all(axes.get_ylim()[0] < end < axes.get_ylim()[1] for end in ends_of(points))
                assert all(axes.get_xlim()[0] < p.tokens < axes.get_xlim()[1] for p in points)
        for axes in flag_contributions(sources).axes:
            low, high = axes.get_xlim()
            for kernel, tokens in itertools.product(KERNELS, (4, 4096)):
                points = [one.point for one in contributions(sources, kernel, "A", tokens)]
                assert all(low < 100 * (end - 1) < high for end in ends_of(points))

    def test_says_what_is_measured_and_what_is_no_result(self, tmp_path: Path) -> None:
        rows = [row for kernel in KERNELS for row in measured_rows(kernel, 4)]
        calm = sources_of(tmp_path / "calm", *rows)
        for row in rows:
            row["verdict"] = "UNSTABLE" if row["role"] == "setting" else ""
        unstable = sources_of(tmp_path / "unstable", *rows)
        for draw in DRAWINGS:
            assert "UNSTABLE" not in words(draw(calm))
            assert "UNSTABLE: no result" in words(draw(unstable))
        assert "Ratios to HIP, published and measured" in words(figures.ratio_to_hip(calm))
        bare = words(figures.ratio_to_hip(sources_of(tmp_path / "bare")))
        assert "as far as they have been published" in bare

    def test_counts_the_values_that_it_has(self, tmp_path: Path) -> None:
        sources = sources_of(tmp_path, *measured_rows("gemm1", 4), model=True)
        drawn = [times(sources, kernel, family) for kernel in KERNELS for family in FAMILIES]
        count = dict.fromkeys((PUBLISHED, MEASURED, MODELLED), 0)
        for one in (one for found in drawn for one in found):
            count[one.kind] += len(one.points)
        said = words(figures.per_m_times(sources))
        assert count[PUBLISHED] == len(
            [row for row in sources.times.rows if row.kernel in PER_KERNEL and row.kept]
        )
        for kind, number in count.items():
            assert f"{kind}: {number} values" in said
        assert "published: no values" in words(figures.per_m_speedup(sources))

    def test_names_the_flydsl_kernels_that_are_not_the_merged_ones(self) -> None:
        said = words(figures.per_m_times())
        assert "stand-alone FlyDSL port, published" in said
        assert "FlyDSL of an unmerged branch, published" in said

    def test_the_committed_data_names_no_device_that_is_not_there(self) -> None:
        folders = [path for path in (DATA / "measured").iterdir() if path.is_dir()]
        with_rows = [path for path in folders if list(path.glob("*.csv"))]
        state = read_all().state()
        assert state[MEASURED].startswith("not yet") is (not with_rows)


def test_sources_are_a_table_that_any_reader_takes() -> None:
    with open(DATA / "published" / "sources.csv", newline="") as stream:
        assert all(len(row) == 5 for row in csv.reader(stream))
