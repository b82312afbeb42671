"""The committed tables of ``data/timing/`` hold what the model gives and what they promise."""

from __future__ import annotations

import pytest

from mxfp4kernels import modelled_validation as held
from mxfp4kernels.files import read_csv
from mxfp4kernels.flags import acting, label, study_settings
from mxfp4kernels.modelled import Launch, Modeller
from mxfp4kernels.modelled_study import (
    CAUSES,
    CLAIM_TABLE,
    CURVE,
    LOSSY,
    STUDIES,
    TOKENS,
    VALIDATION,
)
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
    have = {(row["variant"], int(row["M"]), row["flags"]) for row in curve}
    for tokens in TOKENS:
        variants = [dispatch(kernel, tokens) for kernel in KERNELS]
        for variant in variants + ([LOSSY] if tokens >= 8192 else []):
            for flags in study_settings(variant, STUDIES):
                assert (variant.name, tokens, label(variant, flags)) in have


def test_bands_hold_their_times_and_every_row_says_modelled(curve: list[Row]) -> None:
    for row in curve:
        assert 0 < float(row["low"]) <= float(row["us"]) <= float(row["high"])
        assert row["kind"] == "modelled"


def test_causes_add_up_to_the_time_without_the_fixed_cost(curve: list[Row]) -> None:
    fixed = read_hardware()["kernel_fixed"]
    totals: dict[tuple[str, ...], float] = {}
    for row in read_csv(CAUSES):
        key = (row["variant"], row["M"], row["flags"])
        totals[key] = totals.get(key, 0.0) + float(row["us"])
    for row in curve:
        key = (row["variant"], row["M"], row["flags"])
        assert totals[key] == pytest.approx(float(row["us"]) - fixed, rel=1e-3)


def test_every_published_row_of_a_kernel_of_ours_is_there(validation: list[Row]) -> None:
    published = held.read_published()
    assert len(validation) == len(published) > 50
    for row, known in zip(validation, published, strict=True):
        assert float(row["published"]) == pytest.approx(known.us, abs=1e-3)
        error = 100 * (float(row["modelled"]) / float(row["published"]) - 1)
        assert float(row["error_pct"]) == pytest.approx(error, abs=0.06)


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
        row
        for row in curve
        if (row["variant"], row["M"], row["flags"]) == (name, str(tokens), label(variant, flags))
    )
    assert float(row["us"]) == pytest.approx(made.us, rel=1e-3)
    assert row["bound"] == made.bound


@pytest.mark.parametrize(
    ("name", "likeness", "variant"),
    [
        ("flydsl_mxmoe_g2_a4w4_32x256x256_atomic", held.LIKE, "bm32_atomic"),
        ("flydsl_mxmoe_g1_a4w4_128x256x256_xcd2", held.REMAPPED, "bm128"),
        ("flydsl_mxmoe_g1_a4w4_16x128x256_f16in_nt_il", None, None),
    ],
)
def test_which_published_kernels_are_ours(
    name: str, likeness: str | None, variant: str | None
) -> None:
    row = {
        "source": "kimik2_fp4_tuned_fmoe.csv", "kernel": "gemm", "backend": "flydsl",
        "variant": name, "M": "64", "value": "1", "metric": "us", "note": "",
    }  # fmt: skip
    found = held.row_of(row)
    assert (found and found.likeness) == likeness
    assert (found and found.variant.name) == variant
