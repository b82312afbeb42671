"""Published times, and series of three kinds that never mix; with made-up rows where none exist."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels.ablation.published import FIGURES
from mxfp4kernels.bench.columns import NAMES
from mxfp4kernels.curves.origins import MEASURED, MODELLED, PUBLISHED
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
    Sources,
    contributions,
    pairs_of,
    ratio_table,
    ratios_to_hip,
    read_all,
    speedup,
    times,
)
from mxfp4kernels.files import DATA, read_csv, write_csv
from mxfp4kernels.flags import ALL, NONE, acting, join, study_settings
from mxfp4kernels.plots import curves as figures
from mxfp4kernels.plots import render
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
    hip = {"role": "setting", "implementation": "aiter-hip", **time_of(110), **ratio_of(1.1)}
    return [{**row, **changes} for row in (*rows, {**common, **again}, {**common, **hip})]


def time_of(us: float) -> dict[str, str]:
    return {"median": f"{us:.4f}", "q05": f"{0.99 * us:.4f}", "q95": f"{1.01 * us:.4f}"}


def ratio_of(ratio: float) -> dict[str, str]:
    ends = {"ratio_low": ratio - 0.001, "ratio": ratio, "ratio_high": ratio + 0.001}
    return {name: f"{value:.5f}" for name, value in ends.items()}


def sources_of(folder: Path, *rows: dict[str, object], model: bool = False) -> Sources:
    curve = folder / "curve.csv"
    if model:
        write_model(curve)
    if rows:
        write_csv(folder / "measured" / "mi355x" / "r.csv", NAMES, rows)
    return read_all(folder / "measured", curve)


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
        assert sources.state()[MEASURED] == "AMD Instinct MI355X"
        measured = {one.name: one for one in times(sources, "gemm1", "A") if one.kind == MEASURED}
        assert measured["none"].points[0].value == 100
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
        assert [one for one in times(sources, "gemm1", "A") if one.kind == MEASURED] == []

    def test_the_latest_run_counts_and_runs_are_not_mixed(self, tmp_path: Path) -> None:
        old = measured_rows("gemm1", 4)
        later = {"run": "s", "measured_at": "2026-12-02T00:00:00Z"}
        (baseline,) = [row for row in old if row["role"] == "baseline"]
        new = [{**baseline, **later, **time_of(90)}]
        sources = sources_of(tmp_path, *old, *new)
        measured = {one.name: one for one in times(sources, "gemm1", "A") if one.kind == MEASURED}
        assert measured["none"].points[0].value == 90
        assert speedup(sources, "gemm1", "A") == []

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


DRAWINGS = (
    figures.per_m_times,
    figures.per_m_speedup,
    figures.ratio_to_hip,
    figures.flag_contributions,
)


class TestFigures:
    @pytest.mark.parametrize("draw", DRAWINGS)
    def test_drawn_with_and_without_data_that_does_not_exist_yet(self, tmp_path, draw) -> None:
        empty = sources_of(tmp_path / "empty")
        rows = [row for kernel in KERNELS for m in (4, 4096) for row in measured_rows(kernel, m)]
        full = sources_of(tmp_path / "full", *rows, model=True)
        sheets = [draw(empty), draw(full)]
        texts = [
            " ".join(
                text.get_text() for text in sheet.findobj(lambda one: hasattr(one, "get_text"))
            )
            for sheet in sheets
        ]
        assert "not yet" in texts[0]
        missing = 2 if draw is figures.per_m_speedup else 0  # nothing was made up for family B
        assert texts[1].count("not yet") == missing
        assert "AMD Instinct MI355X" in texts[1]
        bare, drawn = (render(sheet, []) for sheet in sheets)
        assert bare["svg"] != drawn["svg"]
        assert len(drawn["png"]) > 10_000

    def test_the_committed_data_names_no_device_that_is_not_there(self) -> None:
        folders = [path for path in (DATA / "measured").iterdir() if path.is_dir()]
        with_rows = [path for path in folders if list(path.glob("*.csv"))]
        state = read_all().state()
        assert state[MEASURED].startswith("not yet") is (not with_rows)


def test_sources_are_a_table_that_any_reader_takes() -> None:
    with open(DATA / "published" / "sources.csv", newline="") as stream:
        assert all(len(row) == 4 for row in csv.reader(stream))
