"""A device through torch: ROCm for the kernels, and CUDA for validating the harness itself."""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch

from .cases import digest
from .device import GFX950_CACHES, DeviceInfo, Graph, Launch, NoDevice, Replay
from .telemetry import Telemetry

ARCH = "gfx950"
"""The one target that the kernels are written for."""
MACHINE_ID = Path("/etc/machine-id")
EVENT_PAIRS = 101
"""Pairs of events with nothing between them, whose median distance is the event floor."""


def require_gfx950(index: int = 0) -> TorchDevice:
    """The device, if the kernels run on it.

    Raises:
        NoDevice: torch is no ROCm build, sees no device, or the device is another one.
    """
    if torch.version.hip is None:
        raise NoDevice(
            f"the kernels run on {ARCH} through a ROCm build of torch, and torch "
            f"{torch.__version__} is none; install one from AMD's or PyTorch's ROCm index, or see "
            "what would run with --plan"
        )
    if not torch.cuda.is_available():
        raise NoDevice(
            f"torch {torch.__version__} sees no device; look at rocminfo, at the groups video and "
            "render, and at HIP_VISIBLE_DEVICES"
        )
    arch = _arch(torch.cuda.get_device_properties(index))
    if arch != ARCH:
        raise NoDevice(
            f"device {index} is {arch} ({torch.cuda.get_device_name(index)}); the kernels use "
            f"instructions that only {ARCH} (MI350X, MI355X) has"
        )
    return TorchDevice(index)


@dataclass(frozen=True)
class TorchGraph:
    """Captured launches."""

    launches: int
    graph: torch.cuda.CUDAGraph


class TorchDevice:
    """One device of torch; everything runs on a stream of its own.

    Args:
        index: which, as torch numbers them.

    Raises:
        NoDevice: torch sees none.
    """

    def __init__(self, index: int = 0) -> None:
        if not torch.cuda.is_available():
            raise NoDevice(f"torch {torch.__version__} sees no device")
        self.place = torch.device("cuda", index)
        self._telemetry = Telemetry(self.place)
        before = self._telemetry.processes()  # None where nobody says
        self._stream = torch.cuda.Stream(self.place)
        with self._current():
            torch.zeros(1, device=self.place)
        self.synchronize()
        # Inside a container the device's driver may know this process by another number: what has
        # appeared with the context is taken for this process.
        after = self._telemetry.processes()
        appeared = frozenset() if before is None or after is None else after - before
        self._own = appeared | {os.getpid()}

    @cached_property
    def info(self) -> DeviceInfo:
        """What torch and the kernel driver say of the device."""
        properties = torch.cuda.get_device_properties(self.place)
        hip = torch.version.hip
        arch = _arch(properties)
        kilohertz = getattr(properties, "clock_rate", None)
        return DeviceInfo(
            name=torch.cuda.get_device_name(self.place),
            arch=arch,
            compute_units=properties.multi_processor_count,
            cache_bytes=GFX950_CACHES if arch == ARCH else properties.L2_cache_size,
            max_clock_mhz=kilohertz / 1000 if kilohertz else None,
            driver=_driver(hip is not None),
            runtime=f"ROCm {hip}" if hip else f"CUDA {torch.version.cuda}",
            torch=torch.__version__,
            machine=_machine(properties),
        )

    def synchronize(self) -> None:
        """Wait until everything that was enqueued is done."""
        torch.cuda.synchronize(self.place)

    def run(self, launch: Launch) -> None:
        """Launch on the stream and wait."""
        with self._current():
            launch()
        self.synchronize()

    def capture(self, launches: Sequence[Launch]) -> TorchGraph:
        """Capture launches; each must have run once before, so that nothing is loaded or allocated.

        Raises:
            RuntimeError: something that a graph cannot hold.
        """
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.place), torch.cuda.graph(graph, stream=self._stream):
            for launch in launches:
                launch()
        return TorchGraph(len(launches), graph)

    def replay(self, graph: Graph) -> None:
        """Replay once, untimed."""
        assert isinstance(graph, TorchGraph)
        with self._current():
            graph.graph.replay()
        self.synchronize()

    def time(self, graph: Graph) -> Replay:
        """Event time of a replay that follows on another; sensors are read while they run."""
        assert isinstance(graph, TorchGraph)
        return self._timed(graph.graph.replay, graph.graph.replay)

    def time_launches(self, launches: Sequence[Launch]) -> Replay:
        """Event time of launches without a graph, the first of them once more as a lead."""

        def enqueue() -> None:
            for launch in launches:
                launch()

        return self._timed(launches[0], enqueue)

    def _timed(self, lead: Launch, work: Launch) -> Replay:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.synchronize()
        with self._current():
            lead()
            start.record()
            work()
            stop.record()
        late = bool(start.query())
        sensors = self._telemetry.sensors(ended=stop.query)
        stop.synchronize()
        return Replay(start.elapsed_time(stop) / 1000, late, sensors)

    def event_floor(self) -> float:
        """The median over pairs of events with nothing between them."""
        distances = []
        for _ in range(EVENT_PAIRS):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            with self._current():
                start.record()
                stop.record()
            stop.synchronize()
            distances.append(start.elapsed_time(stop) / 1000)
        return max(float(statistics.median(distances)), 1e-7)

    def other_processes(self) -> int | None:
        """Processes that the system library lists, without this one."""
        listed = self._telemetry.processes()
        return None if listed is None else len(listed - self._own)

    def unreadable(self) -> dict[str, str]:
        """Which of sensors and processes cannot be read, and why."""
        return self._telemetry.absent()

    @contextmanager
    def _current(self) -> Iterator[None]:
        with torch.cuda.device(self.place), torch.cuda.stream(self._stream):
            yield


def _arch(properties: object) -> str:
    """``gfx950`` without its feature suffix, or ``sm_90``."""
    name = getattr(properties, "gcnArchName", "")
    if torch.version.hip is not None:
        return str(name).partition(":")[0]
    return f"sm_{getattr(properties, 'major', 0)}{getattr(properties, 'minor', 0)}"


def _machine(properties: object) -> str:
    """A digest of the device's UUID, else of the machine's; empty if there is neither."""
    unit = str(getattr(properties, "uuid", ""))
    if not re.search(r"[1-9a-f]", unit):
        try:
            unit = MACHINE_ID.read_text().strip()
        except OSError:
            unit = ""
    return digest(unit) if unit else ""


def _driver(amd: bool) -> str:
    """The kernel driver's version, where Linux shows it; empty otherwise."""
    module = Path("/sys/module", "amdgpu" if amd else "nvidia", "version")
    try:
        return module.read_text().strip()
    except OSError:  # a driver that is part of the kernel has no version of its own
        return ""
