"""A device that takes no time: durations come from a known distribution, and a clock of its own.

It shows what the harness makes of noise, drift, throttling, outliers, a second process, a host that
is late, and a kernel that writes nothing; see :mod:`.simulation`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .device import DeviceInfo, Graph, Launch, Replay, Sensors

CLOCK_MHZ = 2400.0
INFO = DeviceInfo(
    name="simulated",
    arch="simulated",
    compute_units=256,
    cache_bytes=288 << 20,
    max_clock_mhz=CLOCK_MHZ,
    driver="",
    runtime="",
    torch="",
)


@dataclass(frozen=True)
class Conditions:
    """What replays are exposed to; times are seconds on the device's own clock.

    Args:
        noise: standard deviation of the logarithm of a replay's time, independent of the others.
        drift: how much slower everything is after each further second; thermal, say.
        swing: amplitude of a slow sine on top, with a period of ``swing_period``.
        outliers: share of replays that take ``outlier_factor`` times as long.
        throttle: from when to when the clock is ``throttle_clock`` MHz; times grow in proportion.
        neighbour: from when to when a second process takes ``neighbour_share`` of the device.
        late: share of replays that wait for the host for ``late_seconds``.
        wander: standard deviation of the logarithm of a factor that every graph has for itself and
            that wanders (Ornstein and Uhlenbeck), forgetting itself over ``wander_seconds``.
        tick: event times are whole multiples of this.
        sensors: whether clock, power and temperature can be read.
        lists_processes: whether other processes can be seen.
    """

    noise: float = 0.003
    drift: float = 0.0
    swing: float = 0.0
    swing_period: float = 20.0
    outliers: float = 0.0
    outlier_factor: float = 1.5
    throttle: tuple[float, float] | None = None
    throttle_clock: float = 1500.0
    neighbour: tuple[float, float] | None = None
    neighbour_share: float = 0.3
    late: float = 0.0
    late_seconds: float = 0.002
    wander: float = 0.0
    wander_seconds: float = 1.0
    tick: float = 1e-6
    sensors: bool = True
    lists_processes: bool = True


@dataclass(frozen=True)
class FakeGraph:
    """Captured launches: their time on an undisturbed device, and what they do besides.

    ``number`` tells one graph of a device from the others.
    """

    launches: int
    seconds: float
    effects: tuple[Callable[[], None], ...]
    number: int = 0


class FakeDevice:
    """See the module's docstring.

    Args:
        conditions: what disturbs it.
        seed: of the noise.
    """

    def __init__(self, conditions: Conditions | None = None, seed: int = 0) -> None:
        self.conditions = Conditions() if conditions is None else conditions
        self.now = 0.0
        self._random = random.Random(seed)
        self._recording: list[tuple[float, Callable[[], None] | None]] | None = None
        self._graphs = 0
        self._wandered: dict[int, tuple[float, float]] = {}

    @property
    def info(self) -> DeviceInfo:
        """The simulated device."""
        return INFO

    def submit(self, seconds: float, effect: Callable[[], None] | None = None) -> None:
        """A kernel's launch: of ``seconds`` undisturbed, with ``effect`` on memory."""
        if self._recording is not None:
            self._recording.append((seconds, effect))
            return
        self.now += self._disturbed(seconds)
        if effect is not None:
            effect()

    def run(self, launch: Launch) -> None:
        """Launch at once."""
        launch()

    def capture(self, launches: Sequence[Launch]) -> FakeGraph:
        """Record what the launches submit."""
        recorded: list[tuple[float, Callable[[], None] | None]] = []
        self._recording = recorded
        try:
            for launch in launches:
                launch()
        finally:
            self._recording = None
        self._graphs += 1
        return FakeGraph(
            launches=len(recorded),
            seconds=sum(seconds for seconds, _ in recorded),
            effects=tuple(effect for _, effect in recorded if effect is not None),
            number=self._graphs,
        )

    def replay(self, graph: Graph) -> None:
        """Let time pass and have the effects."""
        assert isinstance(graph, FakeGraph)
        self.now += self._disturbed(graph.seconds) * self._wandering(graph)
        for effect in graph.effects:
            effect()

    def time(self, graph: Graph) -> Replay:
        """An untimed replay and a timed one."""
        self.replay(graph)
        began = self.now
        sensors = self._read_sensors()
        self.replay(graph)
        late = self._random.random() < self.conditions.late
        if late:
            self.now += self.conditions.late_seconds
        ticks = round((self.now - began) / self.conditions.tick)
        return Replay(ticks * self.conditions.tick, late, sensors)

    def event_floor(self) -> float:
        """Two ticks."""
        return 2 * self.conditions.tick

    def other_processes(self) -> int | None:
        """One while the neighbour runs."""
        if not self.conditions.lists_processes:
            return None
        return int(_within(self.now, self.conditions.neighbour))

    def unreadable(self) -> dict[str, str]:
        """What the conditions say."""
        absent = {} if self.conditions.sensors else {"clock_mhz": "simulated absence"}
        if not self.conditions.lists_processes:
            absent["other_processes"] = "simulated absence"
        return absent

    def _disturbed(self, seconds: float) -> float:
        at = self.conditions
        factor = (
            1 + at.drift * self.now + at.swing * math.sin(math.tau * self.now / at.swing_period)
        )
        if self._random.random() < at.outliers:
            factor *= at.outlier_factor
        if _within(self.now, at.throttle):
            factor *= CLOCK_MHZ / at.throttle_clock
        if _within(self.now, at.neighbour):
            factor /= 1 - at.neighbour_share * self._random.random()
        return seconds * factor * math.exp(self._random.gauss(0.0, at.noise))

    def _wandering(self, graph: FakeGraph) -> float:
        """A graph's own factor, moved on to the time that it now is."""
        at = self.conditions
        if not at.wander:
            return 1.0
        value, then = self._wandered.get(graph.number, (0.0, -math.inf))
        kept = math.exp((then - self.now) / at.wander_seconds)
        value = kept * value + self._random.gauss(0.0, at.wander * math.sqrt(1 - kept * kept))
        self._wandered[graph.number] = (value, self.now)
        return math.exp(value)

    def _read_sensors(self) -> Sensors:
        if not self.conditions.sensors:
            return Sensors()
        throttled = _within(self.now, self.conditions.throttle)
        clock = self.conditions.throttle_clock if throttled else CLOCK_MHZ
        return Sensors(clock_mhz=clock, power_w=900.0, temperature_c=60.0)


def _within(now: float, span: tuple[float, float] | None) -> bool:
    return span is not None and span[0] <= now < span[1]
