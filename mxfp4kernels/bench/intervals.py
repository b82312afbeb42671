"""The ratio of two settings' times, paired by round: its interval, and whether it wanders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import quantile_test, spearmanr, ttest_1samp

Logarithms = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate and an interval that holds the true value with a stated confidence."""

    estimate: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether ``value`` lies outside."""
        return not self.low <= value <= self.high


@dataclass(frozen=True)
class Serial:
    """How a round's ratio goes with that of the round before.

    Args:
        correlation: Spearman's rank correlation of neighbours.
        chance: of one as high where rounds are independent.
    """

    correlation: float
    chance: float


def paired_ratio(
    times: Sequence[float], baseline: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """The median over rounds of a setting's time relative to the baseline's in the same round.

    What slows a whole round down, a drifting clock for one, cancels in the round's ratio. The
    median leaves out rounds in which something hit one setting only. The interval is that of
    :func:`scipy.stats.quantile_test`: it ends at two of the rounds' ratios, so far out that it
    holds the median of independent rounds at least as often as stated, however they scatter.

    Args:
        times, baseline: one value per round, in the same order.
        confidence: of the interval.

    Raises:
        ValueError: different numbers of rounds, too few for the confidence, or a time that is not
            above 0.
    """
    logarithms = _logarithms(times, baseline)
    found = quantile_test(logarithms, p=0.5).confidence_interval(confidence)
    ends = (float(np.median(logarithms)), float(found.low), float(found.high))
    if np.isnan(ends).any():
        raise ValueError(
            f"an interval of {confidence:.0%} confidence needs more rounds, got {len(logarithms)}"
        )
    return Interval(*(float(np.exp(end)) for end in ends))


def mean_ratio(
    values: Sequence[float], baseline: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """As :func:`paired_ratio`, of the mean, with Student's interval.

    For readings that cannot be far off, and of which a part must tell as well as all of them.
    """
    logarithms = _logarithms(values, baseline)
    mean = float(logarithms.mean())
    if np.ptp(logarithms) == 0:
        return Interval(*[float(np.exp(mean))] * 3)
    found = ttest_1samp(logarithms, 0.0).confidence_interval(confidence)
    return Interval(*(float(np.exp(end)) for end in (mean, found.low, found.high)))


def serial_correlation(times: Sequence[float], baseline: Sequence[float]) -> Serial:
    """Whether the ratios of neighbouring rounds are alike, as those of something that wanders are.

    Rounds that wander say less than as many independent ones: the interval of
    :func:`paired_ratio` is then too narrow. The test is Spearman's, :func:`scipy.stats.spearmanr`.

    Args:
        times, baseline: as for :func:`paired_ratio`.

    Raises:
        ValueError: as :func:`paired_ratio`, for fewer than four rounds.
    """
    logarithms = _logarithms(times, baseline)
    if len(logarithms) < 4:
        raise ValueError(f"neighbours need four rounds or more, got {len(logarithms)}")
    before, after = logarithms[:-1], logarithms[1:]
    if np.ptp(before) == 0 or np.ptp(after) == 0:
        return Serial(0.0, 1.0)
    found = spearmanr(before, after, alternative="greater")
    return Serial(float(found.statistic), float(found.pvalue))


def _logarithms(times: Sequence[float], baseline: Sequence[float]) -> Logarithms:
    if len(times) != len(baseline) or len(times) < 2:
        raise ValueError(
            f"a paired ratio needs two or more rounds of both settings, got {len(times)} and "
            f"{len(baseline)}"
        )
    pairs = np.array([times, baseline], dtype=np.float64)
    if not (pairs > 0).all():
        raise ValueError(f"times must be above 0, got {pairs.min()}")
    logarithms: Logarithms = np.log(pairs[0] / pairs[1])
    return logarithms
