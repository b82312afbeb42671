"""What the harness needs of a device: graphs of launches, their event time, sensors, neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

Launch = Callable[[], None]
"""Enqueues one kernel on the device's current stream."""

GFX950_CACHES = (8 * 4 + 256) << 20
"""L2 of the eight dies and the last-level cache behind them: 8 x 4 MB and 256 MB.

Source: AMD's hardware specifications of MI350X and MI355X. ROCm reports a single die's L2."""
GFX950_MEMORY = 288 << 30
"""Device memory of MI350X and MI355X; AMD states 288 GB. What is above this does not fit."""

GFX950_BYTES_PER_SECOND = 8e12
GFX950_FLOPS = 256 * 4 * 4096 * 2.4e9
"""Peaks of MI355X, which no kernel exceeds: 8 TB/s, and MXFP4 on four SIMDs of 256 CUs at 2.4 GHz.

Source: AMD's data sheet; ``data/hardware/mi355x.json``."""


class NoDevice(RuntimeError):
    """There is no device that can be used, or no torch that can drive it."""


class RoundFailed(RuntimeError):
    """A measuring process that failed; ``details`` is its traceback or what it wrote."""

    def __init__(self, message: str, details: str) -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True)
class DeviceInfo:
    """What a device is and what drives it; everything here goes into every row.

    Args:
        name: the product, as the driver calls it.
        arch: ``gfx950``, ``sm_90``.
        compute_units: CUs or SMs.
        cache_bytes: all caches between the compute units and the memory.
        max_clock_mhz: the highest engine clock; ``None`` if nobody says.
        driver: version of the kernel driver; empty if nobody says.
        runtime: ``ROCm 7.1``, ``CUDA 13.0``.
        torch: its version.
        machine: a digest that tells this device from others of its kind; empty if nobody says.
    """

    name: str
    arch: str
    compute_units: int
    cache_bytes: int
    max_clock_mhz: float | None
    driver: str
    runtime: str
    torch: str
    machine: str = ""


@dataclass(frozen=True)
class Sensors:
    """Readings while a kernel ran; ``None`` where there is no library or no permission to read."""

    clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None


@dataclass(frozen=True)
class Replay:
    """One timed replay.

    Args:
        seconds: between the events around all launches of the graph.
        late: the device had reached the first event before the host had enqueued the last one, so
            that waiting for the host may be part of ``seconds``.
        sensors: read while the replay ran.
    """

    seconds: float
    late: bool = False
    sensors: Sensors = Sensors()


class Graph(Protocol):
    """Launches that were captured once and can be replayed."""

    @property
    def launches(self) -> int:
        """How many kernels one replay runs."""


class Device(Protocol):
    """A device, or something that behaves like one."""

    @property
    def info(self) -> DeviceInfo:
        """What it is."""

    def run(self, launch: Launch) -> None:
        """Launch outside a graph and wait until it is done."""

    def capture(self, launches: Sequence[Launch]) -> Graph:
        """Capture launches in their order, without running them."""

    def replay(self, graph: Graph) -> None:
        """Run a graph untimed and wait until it is done."""

    def time(self, graph: Graph) -> Replay:
        """Time one replay that follows directly on an untimed one of the same graph.

        The untimed replay brings clocks, caches and queues into the state that the timed one goes
        on in, and gives the host time to enqueue it.
        """

    def event_floor(self) -> float:
        """Seconds between two events with nothing between them: what a time can be off by."""

    def other_processes(self) -> int | None:
        """Processes on the device besides this one; ``None`` if nobody says."""

    def unreadable(self) -> Mapping[str, str]:
        """Which of sensors and processes cannot be read, and why."""
