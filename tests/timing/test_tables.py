"""The committed tables of ``data/timing/`` hold what the model gives and what they promise."""

from __future__ import annotations

import pytest

from mxfp4kernels.ablation.published import FIGURES
from mxfp4kernels.files import read_csv
from mxfp4kernels.flags import NONE, acting, label, study_settings
from mxfp4kernels.modelled import validation as held
from mxfp4kernels.modelled.launches import Launch, Modeller
from mxfp4kernels.modelled.study import (
    CAUSES,
    CLAIM_TABLE,
    CURVE,
    GAINS,
    SENSITIVITY,
    UNMAPPED,
    VALIDATION,
)
from mxfp4kernels.modelled.tasks import (
    FAMILY_A,
    FAMILY_B,
    LOSSY,
    LOSSY_TOKENS,
    MAIN_CONSTANTS,
    MATTERS,
    STUDIES,
    TOKENS,
)
from mxfp4kernels.quoted import DOCS, markdown
from mxfp4kernels.shapes import KERNELS, REFERENCE_SHAPE, dispatch, find_variant
from mxfp4kernels.timing.constants import read_hardware

Row = dict[str, str]


@pytest.fixture(name="curve", scope="module")
def _curve() -> list[Row]:
    return read_csv(CURVE)


@pytest.fixture(name="validation", scope="module")
def _validation() -> list[Row]:
    return read_csv(VALIDATION)


def test_the_curve_has_every_setting_of_the_dispatched_variant(curve: list[Row]) -> None:
    have = {key_of(row) for row in curve}
    for tokens in TOKENS:
        variants = [dispatch(kernel, tokens) for kernel in KERNELS]
        for variant in variants + ([LOSSY] if tokens >= LOSSY_TOKENS else []):
            for flags in study_settings(variant, STUDIES):
                assert (variant.name, FAMILY_A, tokens, label(variant, flags)) in have


def test_family_b_has_both_presets_wherever_a_time_was_published(curve: list[Row]) -> None:
    have = {key_of(row) for row in curve}
    published = [row for row in held.read_published() if row.routing == FAMILY_B]
    tokens = {row.tokens for row in published} | set(TOKENS)
    for count in tokens:
        for variant in (dispatch(kernel, count) for kernel in KERNELS):
            for flags in (NONE, acting(variant)):
                assert (variant.name, FAMILY_B, count, label(variant, flags)) in have


def key_of(row: Row) -> tuple[str, str, int, str]:
    return row["variant"], row["routing"], int(row["M"]), row["flags"]


def test_gains_are_ratios_of_the_curve_with_a_band_around_them(curve: list[Row]) -> None:
    us = {key_of(row): float(row["us"]) for row in curve}
    rows = read_csv(GAINS)
    assert len(rows) == len({(row["variant"], row["routing"], row["M"]) for row in curve})
    for row in rows:
        variant = find_variant(row["kernel"], row["variant"])
        place = (row["variant"], row["routing"], int(row["M"]))
        before, after = (us[(*place, label(variant, flags))] for flags in (NONE, acting(variant)))
        assert float(row["gain"]) == pytest.approx(before / after, rel=5e-4)
        assert float(row["low"]) <= float(row["gain"]) <= float(row["high"])
        assert row["kind"] == "modelled"


def test_bands_hold_their_times_and_every_row_says_modelled(curve: list[Row]) -> None:
    for row in curve:
        assert 0 < float(row["low"]) <= float(row["us"]) <= float(row["high"])
        assert row["kind"] == "modelled"


def test_every_constant_that_matters_is_moved_at_every_m() -> None:
    """Else a band is narrower at one M than at the next for no reason of the kernel's."""
    rows = read_csv(SENSITIVITY)
    moving = {
        row["constant"]
        for row in rows
        if max(abs(float(row[end])) for end in ("at_low_pct", "at_high_pct")) >= MATTERS
    }
    assert {"hbm_write", "lds_latency"} <= moving <= set(MAIN_CONSTANTS)
    assert set(MAIN_CONSTANTS) <= {one.name for one in read_hardware().ranged}


def test_causes_add_up_to_the_time(curve: list[Row]) -> None:
    """To what the curve says, which has three decimals; the fixed cost is one of them."""
    fixed = read_hardware()["kernel_fixed"]
    totals: dict[tuple[str, str, int, str], float] = {}
    for row in read_csv(CAUSES):
        assert float(row["us"]) >= 0
        totals[key_of(row)] = totals.get(key_of(row), 0.0) + float(row["us"])
        if row["cause"] == "fixed":
            assert float(row["us"]) == fixed
    assert totals.keys() == {key_of(row) for row in curve}
    for row in curve:
        assert totals[key_of(row)] == pytest.approx(float(row["us"]), abs=6e-4)


def test_every_row_says_where_its_time_comes_from(curve: list[Row]) -> None:
    assert {row["basis"] for row in curve} <= {"waves", "bytes", "launch"}


def test_every_published_row_of_a_kernel_of_ours_is_there(validation: list[Row]) -> None:
    published = held.read_published()
    assert len(validation) == len(published) > 50
    for row, known in zip(validation, published, strict=True):
        assert float(row["published"]) == pytest.approx(known.us, abs=1e-3)
        error = 100 * (float(row["modelled"]) / float(row["published"]) - 1)
        assert float(row["error_pct"]) == pytest.approx(error, abs=0.06)


def test_published_times_are_compared_or_named_with_a_reason(validation: list[Row]) -> None:
    """Mapped and unmapped rows are all rows, and none is both."""
    unmapped = read_csv(UNMAPPED)
    published = [
        row
        for row in read_csv(FIGURES)
        if row["metric"] == "us" and row["kernel"].startswith("gemm")
    ]
    assert len(validation) + len(unmapped) == len(published)
    names = ("source", "kernel", "backend", "variant", "M")
    every = sorted(tuple(row[name] for name in names) for row in published)
    names = ("source", "kernel", "backend", "published_name", "M")
    split = sorted(tuple(row[name] for name in names) for row in [*validation, *unmapped])
    assert split == every
    assert all(len(row["reason"]) > 20 for row in unmapped)
    assert unmapped == [
        {name: str(value) for name, value in row.items()} for row in held.unmapped_rows()
    ]


def test_the_document_states_all_lines_of_errors(validation: list[Row]) -> None:
    """Like for like and all FlyDSL rows side by side, as the table has them."""
    lines = held.error_lines(validation)
    table = markdown(
        ("rows", "median", "worst", "number"),
        [(one.rows, f"{one.median:.1f} %", f"{one.worst:.1f} %", one.number) for one in lines],
    )
    assert table.strip() in (DOCS / "timing.md").read_text(encoding="utf-8")
    flydsl = next(one for one in lines if one.rows == "all FlyDSL")
    assert flydsl.number == sum(row["backend"] == "flydsl" for row in validation)


def test_nothing_is_fitted_and_the_median_error_is_within_the_target(validation: list[Row]) -> None:
    assert {row["used_for_fit"] for row in validation} == {"no"}
    like = [row for row in validation if row["likeness"] == held.LIKE]
    median, _, number = held.median_error(like)
    assert number > 30
    assert median <= 15


def test_verdicts_of_the_claims_follow_from_their_numbers() -> None:
    for row in read_csv(CLAIM_TABLE):
        low, high = float(row["published_low_pct"]), float(row["published_high_pct"])
        change = float(row["modelled_pct"])
        recomputed = 100 * (float(row["after_us"]) / float(row["before_us"]) - 1)
        assert change == pytest.approx(recomputed, abs=0.02)
        assert row["verdict"] == held.verdict_of(low, high, change)
        if "mechanism" in row:
            assert float(row["low"]) <= change <= float(row["high"])
            assert row["mechanism"].startswith("bound by ")
            assert row["bound"] in row["mechanism"].split(";")[0]


def form(us: float, bound: str, issue: float, vmcnt: float) -> held.Form:
    return held.Form(us, 1.0, bound, {"issue": issue, "vmcnt": vmcnt, "fixed": us - issue - vmcnt})


def test_the_mechanism_says_what_bounds_and_which_causes_move() -> None:
    forms = held.Comparison(form(10, "fabric", 4, 3), form(10, "fabric", 3, 4), (-0.01, 0.02))
    assert held.mechanism_of(forms) == (
        "bound by fabric in both forms; issue falls by 25 % (4.00 to 3.00 us); "
        "vmcnt rises by 33 % (3.00 to 4.00 us)"
    )
    assert forms.change == 0
    assert forms.ends == pytest.approx((-1, 2))


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (form(9, "hbm", 3, 3), "bound by issue, then hbm; issue falls by 25 % (4.00 to 3.00 us)"),
        (form(10, "issue", 4, 3), "bound by issue in both forms; no cause changes by 0.01 us"),
    ],
)
def test_a_mechanism_names_only_what_moves(after: held.Form, said: str) -> None:
    forms = held.Comparison(form(10, "issue", 4, 3), after, (0.0, 0.0))
    assert held.mechanism_of(forms) == said


@pytest.mark.parametrize(
    ("low", "high", "change", "verdict"),
    [
        (-7.0, -7.0, -5.5, held.EXPLAINED),
        (-7.0, -7.0, -1.7, held.NOT_EXPLAINED),
        (-1.9, -1.9, 0.0, held.ABSENT),
        (-6.0, -2.0, 1.0, held.NOT_EXPLAINED),
        (0.0, 0.0, 0.4, held.EXPLAINED),
    ],
)
def test_no_change_explains_no_claim(low: float, high: float, change: float, verdict: str) -> None:
    assert held.verdict_of(low, high, change) == verdict


@pytest.mark.parametrize(("kernel", "name", "tokens"), [("gemm2", "bm32_atomic_nt", 512)])
def test_committed_times_are_what_the_model_gives(
    curve: list[Row], kernel: str, name: str, tokens: int
) -> None:
    variant = find_variant(kernel, name)
    flags = acting(variant)
    made = Modeller().estimate(Launch(variant, REFERENCE_SHAPE, tokens), flags)
    row = next(
        row for row in curve if key_of(row) == (name, FAMILY_A, tokens, label(variant, flags))
    )
    assert float(row["us"]) == pytest.approx(made.us, rel=1e-3)
    assert row["bound"] == made.bound


@pytest.mark.parametrize(
    ("name", "likeness", "variant"),
    [
        ("flydsl_mxmoe_g2_a4w4_32x256x256_atomic", held.LIKE, "bm32_atomic"),
        ("flydsl_mxmoe_g1_a4w4_128x256x256_xcd2", held.REMAPPED, "bm128"),
        ("flydsl_mxmoe_g1_a4w4_16x128x256_f16in_nt_il", "tiles of 128 columns", None),
        ("flydsl_mxmoe_g2_a4w4_64x256x256_reduce", "no variant of ours has 64 rows", None),
        ("ck_moe", "a kernel name that is not understood", None),
    ],
)
def test_which_published_kernels_are_ours(name: str, likeness: str, variant: str | None) -> None:
    row = {
        "source": "kimik2_fp4_tuned_fmoe.csv", "kernel": "gemm", "backend": "flydsl",
        "variant": name, "M": "64", "value": "1", "metric": "us", "note": "",
    }  # fmt: skip
    found = held.row_of(row)
    if variant is None:
        assert isinstance(found, str)
        assert found.startswith(likeness)
    else:
        assert isinstance(found, held.PublishedRow)
        assert (found.likeness, found.variant.name) == (likeness, variant)
