"""The ratio of two settings' times with a bootstrap interval, paired by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

RESAMPLES = 1999


@dataclass(frozen=True)
class Interval:
    """An estimate and an interval that holds the true value with a stated confidence."""

    estimate: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether ``value`` lies outside."""
        return not self.low <= value <= self.high


def paired_ratio(
    times: Sequence[float],
    baseline: Sequence[float],
    *,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The median over rounds of a setting's time relative to the baseline's in the same round.

    What slows a whole round down, a drifting clock for one, cancels in the round's ratio. The
    median leaves out rounds in which something hit one setting only. Rounds are resampled; the
    interval is the percentile bootstrap of :func:`scipy.stats.bootstrap`.

    Args:
        times, baseline: one value per round, in the same order.
        confidence: of the interval.
        resamples: bootstrap samples.
        seed: of the resampling.

    Raises:
        ValueError: different numbers of rounds, fewer than two, or a time that is not above 0.
    """
    if len(times) != len(baseline) or len(times) < 2:
        raise ValueError(
            f"a paired ratio needs two or more rounds of both settings, got {len(times)} and "
            f"{len(baseline)}"
        )
    pairs = np.array([times, baseline], dtype=np.float64)
    if not (pairs > 0).all():
        raise ValueError(f"times must be above 0, got {pairs.min()}")
    logarithms = np.log(pairs[0] / pairs[1])
    result = bootstrap(
        (logarithms,),
        np.median,
        n_resamples=resamples,
        confidence_level=confidence,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return Interval(*(float(np.exp(end)) for end in (np.median(logarithms), low, high)))
