"""Intervals against closed forms, verdicts at their edges, and the committed error rates."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t

from mxfp4kernels.bench.intervals import (
    Interval,
    Serial,
    mean_ratio,
    paired_ratio,
    serial_correlation,
)
from mxfp4kernels.bench.procedure import (
    FLOORS_PER_REPLAY,
    MAX_LAUNCHES,
    Procedure,
    input_sets,
    launches_per_replay,
    least_rounds,
)
from mxfp4kernels.bench.records import SERIAL_CHANCE
from mxfp4kernels.bench.simulation import (
    COLUMNS,
    RUNS,
    SCENARIOS,
    SIMULATED_RUNS,
    WANTED,
    main,
    summarise,
)
from mxfp4kernels.bench.verdicts import Mark, Verdict, decide, status
from mxfp4kernels.files import read_csv


class TestIntervals:
    def test_a_common_disturbance_of_a_round_cancels(self) -> None:
        rng = random.Random(0)
        disturbed = [rng.uniform(1, 3) for _ in range(30)]
        ratio = paired_ratio([0.97 * time for time in disturbed], disturbed)
        assert ratio.estimate == pytest.approx(0.97)
        assert ratio.high - ratio.low < 1e-9

    @pytest.mark.parametrize("rounds", [6, 10, 30, 31])
    def test_the_interval_ends_where_the_binomial_distribution_says(self, rounds: int) -> None:
        """The k-th lowest lies above the median if fewer than k rounds lie below it."""
        rng = random.Random(1)
        logarithms = sorted(rng.gauss(0, 0.01) for _ in range(rounds))
        interval = paired_ratio([math.exp(value) for value in logarithms], [1.0] * rounds)
        low = max(k for k in range(rounds) if binom.cdf(k, rounds, 0.5) <= 0.025 or k == 0)
        high = min(k for k in range(rounds) if binom.sf(k, rounds, 0.5) <= 0.025)
        assert binom.cdf(low, rounds, 0.5) <= 0.025
        assert interval.low == pytest.approx(math.exp(logarithms[low]), abs=1e-9)
        assert interval.high == pytest.approx(math.exp(logarithms[high]), abs=1e-9)
        assert interval.estimate == pytest.approx(math.exp(statistics.median(logarithms)))

    @pytest.mark.parametrize("rounds", [6, 10, 30])
    @pytest.mark.parametrize("draw", ["gauss", "skewed"])
    def test_it_holds_the_median_as_often_as_it_says(self, rounds: int, draw: str) -> None:
        rng = random.Random(rounds)
        median = {"gauss": 1.0, "skewed": math.log(2)}[draw]
        draws = {"gauss": lambda: rng.gauss(1.0, 0.1), "skewed": lambda: rng.expovariate(1.0)}
        missed = sum(
            paired_ratio([draws[draw]() for _ in range(rounds)], [1.0] * rounds).excludes(median)
            for _ in range(1000)
        )
        assert missed <= binom.ppf(0.999, 1000, 0.05)

    def test_the_fewest_rounds_that_have_an_interval(self) -> None:
        assert least_rounds(0.95) == 6
        for confidence in (0.6, 0.9, 0.95, 0.99):
            few = least_rounds(confidence)
            times = [1 + 0.01 * number for number in range(few)]
            assert paired_ratio(times, [1.0] * few, confidence=confidence).high == times[-1]
            with pytest.raises(ValueError, match="needs more rounds"):
                paired_ratio(times[1:], [1.0] * (few - 1), confidence=confidence)

    def test_one_bad_round_in_ten_moves_nothing(self) -> None:
        rng = random.Random(2)
        base = [1 + rng.gauss(0, 0.001) for _ in range(30)]
        times = [0.99 * (1 + rng.gauss(0, 0.001)) for _ in range(30)]
        times[3], times[11], times[20] = 1.6, 2.0, 5.0
        assert paired_ratio(times, base).estimate == pytest.approx(0.99, abs=0.001)

    def test_exchanging_the_settings_inverts_the_interval(self) -> None:
        rng = random.Random(3)
        one, other = ([rng.uniform(1, 1.1) for _ in range(20)] for _ in range(2))
        ahead, back = paired_ratio(one, other), paired_ratio(other, one)
        assert ahead.estimate == pytest.approx(1 / back.estimate)
        assert ahead.low == pytest.approx(1 / back.high, rel=2e-3)

    def test_a_mean_ratio_is_student_s(self) -> None:
        rng = random.Random(4)
        values = [rng.uniform(2000, 2400) for _ in range(12)]
        logarithms = [math.log(value / 2400) for value in values]
        half = t.ppf(0.975, 11) * statistics.stdev(logarithms) / math.sqrt(12)
        interval = mean_ratio(values, [2400.0] * 12)
        mean = statistics.fmean(logarithms)
        assert interval.estimate == pytest.approx(math.exp(mean))
        assert interval.low == pytest.approx(math.exp(mean - half))
        assert interval.high == pytest.approx(math.exp(mean + half))
        assert mean_ratio([3.0] * 6, [2.0] * 6) == Interval(1.5, 1.5, 1.5)

    def test_neighbours_are_correlated_by_ranks(self) -> None:
        assert serial_correlation([1.0] * 8, [1.0] * 8) == Serial(0.0, 1.0)
        rising = serial_correlation([1.1**number for number in range(8)], [1.0] * 8)
        assert (rising.correlation, rising.chance) == (pytest.approx(1.0), pytest.approx(0.0))
        rng = random.Random(5)
        value, wandering = 0.0, []
        for _ in range(30):
            value = 0.9 * value + rng.gauss(0, 0.01)
            wandering.append(math.exp(value))
        assert serial_correlation(wandering, [1.0] * 30).chance < 0.001
        alternating = [1 + 0.01 * (-1) ** number + rng.gauss(0, 1e-3) for number in range(30)]
        assert serial_correlation(alternating, [1.0] * 30).chance > 0.99
        with pytest.raises(ValueError, match="four rounds or more, got 3"):
            serial_correlation([1.0] * 3, [1.0] * 3)

    def test_independent_rounds_are_seldom_taken_for_wandering_ones(self) -> None:
        rng = random.Random(6)
        chances = [
            serial_correlation([rng.uniform(1, 2) for _ in range(30)], [1.0] * 30).chance
            for _ in range(1000)
        ]
        assert sum(chance < SERIAL_CHANCE for chance in chances) <= binom.ppf(
            0.999, 1000, SERIAL_CHANCE
        )

    @pytest.mark.parametrize(
        ("times", "baseline"), [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, 0.0], [1.0, 1.0])]
    )
    def test_refused(self, times, baseline) -> None:
        with pytest.raises(ValueError, match=r"two or more rounds|above 0"):
            paired_ratio(times, baseline)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("low", "high", "verdict"),
        [
            (0.95, 0.98, Verdict.FASTER),
            (0.95, 0.996, Verdict.UNSTABLE),
            (0.994, 1.004, Verdict.UNSTABLE),
            (0.996, 1.004, Verdict.SAME),
            (1.001, 1.004, Verdict.SAME),
            (0.996, 1.006, Verdict.UNSTABLE),
            (1.006, 1.2, Verdict.SLOWER),
            (0.9, 1.1, Verdict.UNSTABLE),
        ],
    )
    def test_edges(self, low: float, high: float, verdict: Verdict) -> None:
        assert decide(Interval((low + high) / 2, low, high), 0.005) is verdict

    @given(st.floats(0.5, 2.0), st.floats(0.5, 2.0), st.floats(0.001, 0.4))
    def test_exchanging_the_settings_exchanges_the_verdicts(self, a, b, threshold) -> None:
        low, high = sorted((a, b))
        exchanged = {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}
        there = decide(Interval(low, low, high), threshold)
        back = decide(Interval(1 / low, 1 / high, 1 / low), threshold)
        assert back is exchanged.get(there, there)

    def test_status_words(self) -> None:
        assert status([]) == "OK"
        assert status([Mark.SHARED, Mark.HOST_BOUND]) == "HOST_BOUND+SHARED"


class TestProcedure:
    def test_a_replay_is_long_against_the_event_floor_and_a_whole_number_of_turns(self) -> None:
        assert launches_per_replay(10e-6, 1e-6, 1, 0.010) == 1000
        assert launches_per_replay(10e-6, 1e-6, 7, 0.010) == 7 * 143
        assert launches_per_replay(10e-6, 20e-6, 1, 0.010) * 10e-6 >= FLOORS_PER_REPLAY * 20e-6
        assert launches_per_replay(1.0, 1e-6, 3, 0.010) == 3
        assert launches_per_replay(1e-9, 1e-6, 3, 0.010) <= MAX_LAUNCHES

    @pytest.mark.parametrize("touched", [1, 1000, 10**8, 10**10])
    def test_all_caches_are_turned_over_twice_between_two_uses_of_a_set(self, touched: int) -> None:
        caches = 288 << 20
        assert (input_sets("rotating", touched, caches) - 1) * touched >= 2 * caches
        assert input_sets("warm", touched, caches) == 1

    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("rounds", 5, "at least 6"),
            ("rounds", 10_001, "at most 10000"),
            ("passes", 1_001, "at most 1000"),
            ("clock_mhz", 0.0, "above 0"),
            ("passes", 0, "at least 1"),
            ("replay_seconds", 0.0, "above 0"),
            ("threshold", 0.0, "between 0 and 0.5"),
            ("confidence", 1.0, "between 0.5 and 1"),
            ("cache", "cold", "rotating or warm"),
        ],
    )
    def test_refused(self, name: str, value: object, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            Procedure(**{name: value})


class TestErrorRates:
    """``data/harness/simulated_runs.csv`` is what docs/bench.md quotes."""

    @pytest.fixture
    def table(self) -> list[dict[str, str]]:
        return read_csv(SIMULATED_RUNS, COLUMNS)

    def test_every_scenario_was_run_a_thousand_times(self, table) -> None:
        assert [
            (row["scenario"], int(row["rounds"]), float(row["true_ratio"])) for row in table
        ] == [(scenario.name, rounds, ratio) for scenario, rounds, ratio in WANTED]
        words = {scenario.name: scenario.words for scenario in SCENARIOS}
        assert all(row["conditions"] == words[row["scenario"]] for row in table)
        assert {int(row["runs"]) for row in table} == {RUNS}
        defaults = Procedure()
        for name in ("passes", "threshold", "confidence"):
            assert {float(row[name]) for row in table} == {getattr(defaults, name)}
        for row in table:
            assert sum(int(row[str(verdict)]) for verdict in Verdict) == RUNS

    def test_intervals_hold_the_true_ratio_at_least_as_often_as_they_say(self, table) -> None:
        """For any number of rounds and any scatter, as long as rounds are independent."""
        for row in table:
            if "wander" not in row["scenario"]:
                missed = int(row["excluding_true_ratio"])
                assert missed <= binom.ppf(0.999, RUNS, 0.05), (row["scenario"], row["rounds"])

    def test_no_difference_is_seldom_reported_where_there_is_none(self, table) -> None:
        """At most as often as the interval lies beyond the true ratio, whatever the noise."""
        for row in table:
            if float(row["true_ratio"]) == 1 and "wander" not in row["scenario"]:
                assert int(row["false_positives"]) <= int(row["excluding_true_ratio"])

    def test_wandering_is_found_with_the_default_rounds(self, table) -> None:
        for row in table:
            if "wander" in row["scenario"] and row["rounds"] == "30":
                assert int(row["wandered"]) >= 0.9 * RUNS
                assert int(row["false_positives"]) <= 0.02 * RUNS

    def test_what_does_not_wander_is_seldom_taken_for_it(self, table) -> None:
        """Two tests of 5 % each; a neighbour that comes and goes has rounds that are alike."""
        for row in table:
            if "wander" not in row["scenario"] and row["scenario"] != "shared":
                assert int(row["wandered"]) <= binom.ppf(0.999, RUNS, 0.1)

    def test_one_percent_is_found_on_a_calm_device(self, table) -> None:
        found = {
            (row["scenario"], float(row["true_ratio"])): row
            for row in table
            if row["rounds"] == "30"
        }
        for scenario in ("calm", "drifting", "outliers"):
            assert int(found[scenario, 0.99]["FASTER"]) >= 0.9 * RUNS
            assert int(found[scenario, 1.01]["SLOWER"]) >= 0.9 * RUNS
            assert int(found[scenario, 1.0]["SAME"]) >= 0.9 * RUNS

    def test_a_throttled_device_has_no_verdict(self, table) -> None:
        for row in table:
            if row["scenario"] == "throttling":
                assert int(row["UNSTABLE"]) == RUNS

    def test_a_noisy_device_says_unstable_rather_than_something_wrong(self, table) -> None:
        for row in table:
            if row["scenario"].startswith("nois") and float(row["true_ratio"]) == 1:
                assert int(row["UNSTABLE"]) >= 0.9 * RUNS

    def test_no_run_makes_no_table(self, tmp_path, capsys) -> None:
        with pytest.raises(SystemExit):
            main(["--runs", "0", "--output", str(tmp_path / "table.csv")])
        assert "--runs must be at least 1, got 0" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    def test_the_command_gives_the_committed_rows(self, table) -> None:
        row = summarise(SCENARIOS[0], 1.0, Procedure(), RUNS)
        assert {name: str(value) for name, value in row.items()} == table[0]
