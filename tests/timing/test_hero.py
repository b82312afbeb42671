"""The figure at the top of the README: what it draws is in the tables, the gap included."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.text import Text

from mxfp4kernels.curves.origins import GAINS, read_gains
from mxfp4kernels.curves.published import read_claimed_gains
from mxfp4kernels.files import read_csv
from mxfp4kernels.plots import hero
from mxfp4kernels.plots.theme import DARK, LIGHT
from mxfp4kernels.shapes import KERNELS, dispatch


def title(theme=LIGHT) -> str:
    texts = [text.get_text() for text in hero.hero(theme).findobj(Text)]
    return next(text for text in texts if text.startswith("Published"))


def test_a_shorter_time_is_a_larger_gain() -> None:
    assert hero.gain(-50) == pytest.approx(100)
    assert hero.gain(0) == 0
    assert hero.gain(25) == pytest.approx(-20)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_line_is_of_the_variant_that_is_run_at_each_m(kernel: str) -> None:
    points = hero.curve_of(kernel)
    assert [point.tokens for point in points] == [2**power for power in range(16)]
    gains = read_gains()
    for point in points:
        known = gains[kernel, dispatch(kernel, point.tokens).name, "family-a", point.tokens]
        assert point.value == pytest.approx(100 * (known.value - 1))
        assert point.low <= point.value <= point.high


@pytest.mark.parametrize("kernel", KERNELS)
def test_published_gains_are_those_that_the_commits_state(kernel: str) -> None:
    stated = [claim for claim in read_claimed_gains() if claim.kernel == kernel]
    for claim in hero.claims_of(kernel):
        if claim.high == 0:
            continue  # "level", which is stated without a number
        here = [one for one in stated if one.first <= claim.tokens <= (one.last or claim.tokens)]
        ends = [100 * (end - 1) for one in here for end in (one.low, one.high)]
        assert min(abs(claim.low - end) for end in ends) < 0.2
        assert min(abs(claim.high - end) for end in ends) < 0.2


def test_the_title_has_the_largest_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = max(claim.high for kernel in KERNELS for claim in hero.claims_of(kernel))
    assert f"up to {stated:.0f} %" in title()
    before = title()
    assert title(DARK) == before
    gains = {key: replace(point, value=1.5, high=1.6) for key, point in read_gains().items()}
    monkeypatch.setattr(hero, "read_gains", lambda: gains)
    assert "50 %" in title()
    assert "50 %" not in before


def test_every_claim_has_words_and_its_model_beside_it() -> None:
    rows = read_csv(hero.CLAIMS)
    drawn = [claim for kernel in KERNELS for claim in hero.claims_of(kernel)]
    assert len(drawn) == len(rows)
    assert all(claim.words for claim in drawn)
    assert GAINS in hero.SOURCES
