"""How a case is measured: everything that is fixed before the first time is taken."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

CACHES = ("rotating", "warm")
"""``rotating``: each launch takes the next of several sets of buffers, so many that all caches are
turned over twice before a set comes round again. ``warm``: one set, launch after launch."""

FLOORS_PER_REPLAY = 1000
"""A replay lasts at least this many times what its event time can be off by."""
MAX_LAUNCHES = 50_000
"""Launches in a graph; each takes host and device memory."""
MOST_ROUNDS = 10_000
MOST_PASSES = 1_000
SEEDS = 1 << 63
"""Seeds lie below this: what torch's generators take."""
TURNOVERS = 2
"""How often rotating sets turn the caches over before a set comes round again."""


@dataclass(frozen=True)
class Procedure:
    """The settings of a measurement.

    Args:
        rounds: independent repetitions; the interval of a ratio comes from the spread among them.
        passes: replays of each setting in a round, in an order shuffled anew each time; the round's
            value is their median.
        replay_seconds: how long one replay is to last.
        threshold: the relative difference that matters in practice. Differences that lie within it
            with confidence are SAME, those beyond it with confidence FASTER or SLOWER.
        confidence: of the intervals.
        cache: one of :data:`CACHES`.
        fresh_process: every round in a new process, with new allocations and new graphs.
        seed: of the order of settings.
        clock_mhz: the clock that the device was set to; its highest if left out.

    Raises:
        ValueError: a value out of range.
    """

    rounds: int = 30
    passes: int = 5
    replay_seconds: float = 0.010
    threshold: float = 0.005
    confidence: float = 0.95
    cache: str = "rotating"
    fresh_process: bool = False
    seed: int = 0
    clock_mhz: float | None = None

    def __post_init__(self) -> None:
        _require(
            0.5 < self.confidence < 1,
            f"confidence must lie between 0.5 and 1, got {self.confidence}",
        )
        least = least_rounds(self.confidence)
        _require(
            least <= self.rounds <= MOST_ROUNDS,
            f"rounds must be at least {least} for an interval of {self.confidence:.0%} confidence, "
            f"and at most {MOST_ROUNDS}, got {self.rounds}",
        )
        _require(
            1 <= self.passes <= MOST_PASSES,
            f"passes must be at least 1 and at most {MOST_PASSES}, got {self.passes}",
        )
        _require(
            0 < self.replay_seconds <= 10,
            f"replay_seconds must lie above 0 and at most 10, got {self.replay_seconds}",
        )
        _require(
            0 < self.threshold < 0.5,
            f"threshold is a relative difference between 0 and 0.5, got {self.threshold}",
        )
        _require(
            self.clock_mhz is None or 0 < self.clock_mhz <= 10_000,
            f"clock_mhz must lie above 0 and at most 10000, got {self.clock_mhz}",
        )
        _require(
            self.cache in CACHES, f"unknown cache mode {self.cache!r}; choose {' or '.join(CACHES)}"
        )

    def as_json(self) -> dict[str, object]:
        """The settings as a JSON object."""
        return asdict(self)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def least_rounds(confidence: float) -> int:
    """The fewest rounds whose extremes hold the median with this confidence.

    All of n independent rounds lie on one side of the median in one of 2**(n-1) cases.
    """
    return math.ceil(math.log2(2 / (1 - confidence)))


def input_sets(cache: str, touched_bytes: int, cache_bytes: int) -> int:
    """How many sets of buffers the launches take turns with.

    Args:
        cache: one of :data:`CACHES`.
        touched_bytes: what one launch reads and writes.
        cache_bytes: all caches of the device.
    """
    if cache == "warm":
        return 1
    return 1 + -(-TURNOVERS * cache_bytes // touched_bytes)


def launches_per_replay(
    launch_seconds: float, event_floor: float, sets: int, replay_seconds: float
) -> int:
    """How many launches a graph holds: enough for a long replay, a whole number of turns.

    Args:
        launch_seconds: one launch, roughly, from a warm-up.
        event_floor: see :meth:`.device.Device.event_floor`.
        sets: of buffers that the launches take turns with.
        replay_seconds: the least duration of a replay.
    """
    wanted = max(replay_seconds, FLOORS_PER_REPLAY * event_floor)
    turns = -(-wanted // (launch_seconds * sets))
    return sets * max(1, min(int(turns), MAX_LAUNCHES // sets))
