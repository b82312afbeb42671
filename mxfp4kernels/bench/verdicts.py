"""What a comparison says, and what is wrong with a row."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it needs SciPy, which the words do not
    from .intervals import Interval


class Verdict(str, Enum):
    """A setting against the baseline of its case.

    - ``FASTER``, ``SLOWER``: the interval lies beyond the practical threshold.
    - ``SAME``: the interval lies within it.
    - ``UNSTABLE``: the interval crosses the threshold, so more or calmer rounds are needed; or the
      case's baseline differed from itself, ratios wandered from round to round, times include
      waiting for the host, or the clock was not what it should be.
    """

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNSTABLE = "UNSTABLE"

    def __str__(self) -> str:
        return self.value


class Mark(str, Enum):
    """Why a row should not be taken at face value; a row without any is ``OK``.

    - ``WRONG``: the output was not what it must be; the row has no times.
    - ``HOST_BOUND``: the device waited for the host in more than a tenth of the replays.
    - ``THROTTLED``: in more than a tenth of the replays the clock was below 0.9 of what the device
      was set to or, if it was not, can reach; if nobody says, of the highest that the run showed.
    - ``UNEQUAL_CLOCK``: the clock differed from that of the baseline's replays by more than the
      practical threshold.
    - ``SHARED``: another process was on the device.
    - ``DRIFTED``: the baseline's last third of rounds differs from its first by more than 5 %.
    """

    WRONG = "WRONG"
    HOST_BOUND = "HOST_BOUND"
    THROTTLED = "THROTTLED"
    UNEQUAL_CLOCK = "UNEQUAL_CLOCK"
    SHARED = "SHARED"
    DRIFTED = "DRIFTED"

    def __str__(self) -> str:
        return self.value


DECIDED = (Verdict.FASTER, Verdict.SLOWER)
"""Verdicts that say that there is a difference."""

OK = "OK"
"""The status of a row without marks."""


def decide(ratio: Interval, threshold: float) -> Verdict:
    """The verdict of an interval of time(setting) / time(baseline).

    Args:
        ratio: the interval.
        threshold: the practical threshold, relative; the band 1/(1+t) to 1+t is symmetric, so that
            exchanging setting and baseline exchanges the verdicts.
    """
    least, most = 1 / (1 + threshold), 1 + threshold
    if ratio.high < least:
        return Verdict.FASTER
    if ratio.low > most:
        return Verdict.SLOWER
    if least <= ratio.low and ratio.high <= most:
        return Verdict.SAME
    return Verdict.UNSTABLE


def status(marks: Iterable[Mark]) -> str:
    """``OK``, or the marks joined by ``+`` in a fixed order."""
    present = set(marks)
    return "+".join(mark.value for mark in Mark if mark in present) or OK
