"""The figure at the top of the README: what it draws is in the tables, the gap included."""

from __future__ import annotations

from dataclasses import replace

import pytest
from matplotlib.text import Text

from mxfp4kernels.curves.origins import GAINS, MODELLED, read_gains
from mxfp4kernels.curves.published import read_claimed_gains
from mxfp4kernels.curves.series import read_all
from mxfp4kernels.files import read_csv
from mxfp4kernels.plots import contributions, hero, stated
from mxfp4kernels.plots.theme import DARK, LIGHT
from mxfp4kernels.shapes import KERNELS, dispatch


def texts(theme=LIGHT) -> list[str]:
    return [text.get_text() for text in hero.hero(theme).findobj(Text)]


def title(theme=LIGHT) -> str:
    return next(text for text in texts(theme) if text.startswith("The published speedups"))


def test_a_shorter_time_is_a_larger_gain() -> None:
    assert stated.gain(-50) == pytest.approx(100)
    assert stated.gain(0) == 0
    assert stated.gain(25) == pytest.approx(-20)


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
    known = [claim for claim in read_claimed_gains() if claim.kernel == kernel]
    for claim in stated.claims_of(kernel):
        if claim.high == 0:
            continue  # "level", which is stated without a number
        here = [one for one in known if one.first <= claim.tokens <= (one.last or claim.tokens)]
        ends = [100 * (end - 1) for one in here for end in (one.low, one.high)]
        assert min(abs(claim.low - end) for end in ends) < 0.2
        assert min(abs(claim.high - end) for end in ends) < 0.2


def test_the_title_compares_the_same_points(monkeypatch: pytest.MonkeyPatch) -> None:
    claims = [claim for kernel in KERNELS for claim in stated.claims_of(kernel)]
    published, modelled = stated.highest(claims)
    before = title()
    assert f"up to {published:.0f} %" in before
    assert f"at most {modelled:.0f} %" in before
    assert title(DARK) == before
    monkeypatch.setattr(hero, "read_gains", lambda: _halved())  # where nothing is published
    assert title() == before
    more = [replace(claim, modelled=7.0) for claim in claims]
    monkeypatch.setattr(hero, "claims_of", lambda kernel: more)
    assert "at most 7 %" in title()


def _halved():
    return {key: replace(point, value=1.5, high=1.6) for key, point in read_gains().items()}


def test_every_mark_is_named_and_every_kind_of_mark_is_in_the_key() -> None:
    found = texts()
    exp2 = hero.CHANGES[("hardware_exp2",)]
    assert found.count(exp2) == sum(
        claim.flags == ("hardware_exp2",) for claim in stated.claims_of("gemm1")
    )
    assert found.count(hero.CHANGES[stated.TOGETHER]) == 2
    assert {"published", "published range", "the named change, modelled"} <= set(found)


def test_says_how_words_became_gains() -> None:
    said = hero.conversions()
    assert '"about 7 % faster" is read as that much less time, so 7.5 % faster' in said
    assert "from 1.11 to 1.00 is\n11 % faster" in said
    assert said in texts()


def test_every_claim_has_words_and_its_model_beside_it() -> None:
    rows = read_csv(stated.CLAIMS)
    drawn = [claim for kernel in KERNELS for claim in stated.claims_of(kernel)]
    assert len(drawn) == len(rows)
    assert all(hero.words_of(claim) for claim in drawn)
    assert {GAINS, stated.CLAIMS} <= set(hero.SOURCES)


def test_a_claim_about_unknown_changes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{**row, "claim": "magic M=1"} for row in read_csv(stated.CLAIMS)]
    monkeypatch.setattr(stated, "read_csv", lambda path: rows)
    with pytest.raises(LookupError, match="no changes of the name 'magic'"):
        stated.claims_of("gemm1")


class TestContributions:
    """The other figure of the same claims."""

    def test_has_every_claim_at_the_same_m(self) -> None:
        for kernel in KERNELS:
            panels = [contributions._panel(read_all(), kernel, m) for m in contributions.TOKENS]
            drawn = [claim for panel in panels for claim in panel.claims]
            assert drawn == stated.claims_of(kernel)

    def test_has_the_model_s_value_of_every_claim(self) -> None:
        sources = read_all()
        for kernel in KERNELS:
            for claim in stated.claims_of(kernel):
                panel = contributions._panel(sources, kernel, claim.tokens)
                values = [
                    100 * (one.point.value - 1)
                    for one in panel.found
                    if one.kind == MODELLED and one.flag == "+".join(claim.flags)
                ]
                assert len(values) == len(contributions.STUDIES)
                assert any(value == pytest.approx(claim.modelled, abs=0.02) for value in values)
