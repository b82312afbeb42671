"""The device through torch, with a stand-in for ``torch.cuda`` that notes what it is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from mxfp4kernels.bench.device import NoDevice, Sensors
from mxfp4kernels.bench.telemetry import Reading, Telemetry
from mxfp4kernels.bench.torch_device import GFX950_CACHES, TorchDevice


class Cuda:
    """A stream's worth of calls in order; time passes by one millisecond per launch."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.now = 0.0
        self.host_is_late = False
        self.ended: list[bool] = []
        self.events = 0
        self.processes = [{7}, {7, 42}, {7, 42}]

    def launch(self) -> None:
        self.calls.append("launch")
        self.now += 1.0

    def event(self, enable_timing: bool) -> SimpleNamespace:
        assert enable_timing
        event = SimpleNamespace(at=None)
        starts = self.events % 2 == 0
        self.events += 1

        def record() -> None:
            self.calls.append("event")
            event.at = self.now
            self.now += 0.01

        event.record = record
        event.query = lambda: self.host_is_late if starts else self._has_ended()
        event.synchronize = lambda: None
        event.elapsed_time = lambda other: other.at - event.at
        return event

    def _has_ended(self) -> bool:
        return self.ended.pop(0) if self.ended else False

    @contextmanager
    def capture(self, graph: SimpleNamespace, stream: object) -> Iterator[None]:
        before, self.calls = self.calls, []
        yield
        graph.recorded, self.calls = self.calls, before

    def new_graph(self) -> SimpleNamespace:
        graph = SimpleNamespace(recorded=[])

        def replay() -> None:
            self.calls.append(f"replay of {len(graph.recorded)}")
            self.now += len(graph.recorded)

        graph.replay = replay
        return graph

    def list_processes(self, place: torch.device) -> str:
        listed = self.processes.pop(0) if len(self.processes) > 1 else self.processes[0]
        lines = [f"process {pid:>10d} uses {1.5:>12.3f} MB GPU memory" for pid in sorted(listed)]
        return "\n".join(["GPU:0", *lines])


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    fake = Cuda()
    properties = SimpleNamespace(
        gcnArchName="gfx950:sramecc+:xnack-",
        multi_processor_count=256,
        L2_cache_size=4 << 20,
        clock_rate=2_400_000,
    )
    replacements = {
        "is_available": lambda: True,
        "Stream": lambda place: "stream",
        "stream": lambda stream: nullcontext(),
        "device": lambda place: nullcontext(),
        "synchronize": lambda place: None,
        "Event": fake.event,
        "CUDAGraph": fake.new_graph,
        "graph": fake.capture,
        "get_device_properties": lambda place: properties,
        "get_device_name": lambda place: "AMD Instinct MI355X",
        "list_gpu_processes": fake.list_processes,
        "clock_rate": lambda place: 2350,
        "power_draw": lambda place: 900,
        "temperature": lambda place: 61,
    }
    for name, replacement in replacements.items():
        monkeypatch.setattr(torch.cuda, name, replacement)
    monkeypatch.setattr(torch.version, "hip", "7.1.0")
    monkeypatch.setattr(torch, "zeros", lambda *sizes, device: None)
    return fake


def test_a_timed_replay_follows_on_an_untimed_one(cuda: Cuda) -> None:
    device = TorchDevice()
    graph = device.capture([cuda.launch] * 5)
    assert graph.launches == 5
    assert "launch" not in cuda.calls, "capturing runs nothing"
    cuda.calls.clear()
    replay = device.time(graph)
    assert cuda.calls == ["replay of 5", "event", "replay of 5", "event"]
    assert replay.seconds == pytest.approx(5.01e-3)
    assert not replay.late
    cuda.host_is_late = True
    assert device.time(graph).late


def test_without_a_graph_one_launch_leads(cuda: Cuda) -> None:
    device = TorchDevice()
    cuda.calls.clear()
    replay = device.time_launches([cuda.launch] * 3)
    assert cuda.calls == ["launch", "event", "launch", "launch", "launch", "event"]
    assert replay.seconds == pytest.approx(3.01e-3)


def test_the_event_floor_is_what_two_events_are_apart(cuda: Cuda) -> None:
    assert TorchDevice().event_floor() == pytest.approx(0.01e-3)


def test_what_the_device_is(cuda: Cuda) -> None:
    info = TorchDevice().info
    assert (info.name, info.arch, info.compute_units) == ("AMD Instinct MI355X", "gfx950", 256)
    assert info.cache_bytes == GFX950_CACHES == 288 << 20
    assert info.max_clock_mhz == 2400
    assert info.runtime == "ROCm 7.1.0"


def test_sensors_in_the_vendor_s_units(cuda: Cuda, monkeypatch) -> None:
    device = TorchDevice()
    replay = device.time(device.capture([cuda.launch]))
    assert replay.sensors.clock_mhz == 2350
    assert replay.sensors.power_w == 900
    assert replay.sensors.temperature_c == 61
    assert device.unreadable() == {}
    monkeypatch.setattr(torch.version, "hip", None)
    assert Telemetry(device.place).sensors().power_w == pytest.approx(0.9)


def test_a_reading_that_comes_after_the_replay_is_left_out(cuda: Cuda) -> None:
    device = TorchDevice()
    graph = device.capture([cuda.launch])
    # Asked before and after each reading; the power's arrives too late, the next is not begun.
    cuda.ended = [False, False, False, True, True]
    sensors = device.time(graph).sensors
    assert (sensors.clock_mhz, sensors.power_w, sensors.temperature_c) == (2350, None, None)
    assert cuda.ended == []


def test_this_process_is_known_where_nothing_was_listed_before(cuda: Cuda, monkeypatch) -> None:
    listed = iter(["amdsmi is busy"])
    working = cuda.list_processes
    monkeypatch.setattr(
        torch.cuda, "list_gpu_processes", lambda place: next(listed, None) or working(place)
    )
    cuda.processes = [{os.getpid(), 99}]
    assert TorchDevice().other_processes() == 1


def test_other_processes_are_those_that_did_not_come_with_us(cuda: Cuda) -> None:
    device = TorchDevice()
    assert device.other_processes() == 1
    cuda.processes = [{7, 42, 99}]
    assert device.other_processes() == 2
    cuda.processes = [{42}]
    assert device.other_processes() == 0


def test_what_cannot_be_read_is_none_with_its_reason(cuda: Cuda, monkeypatch) -> None:
    class VendorError(Exception):
        """The libraries' errors derive from nothing that can be named here."""

    def fails(place: torch.device) -> int:
        raise VendorError("permission denied")

    monkeypatch.setattr(torch.cuda, "clock_rate", fails)
    monkeypatch.setattr(torch.cuda, "power_draw", lambda place: 0)
    monkeypatch.setattr(
        torch.cuda, "list_gpu_processes", lambda place: "amdsmi module not found, please install"
    )
    device = TorchDevice()
    replay = device.time(device.capture([cuda.launch]))
    assert replay.sensors.clock_mhz is None
    assert replay.sensors.power_w is None
    assert replay.sensors.temperature_c == 61
    assert device.other_processes() is None
    assert device.unreadable() == {
        "clock_mhz": "VendorError: permission denied",
        "power_w": "not supported by this device",
        "other_processes": "RuntimeError: amdsmi module not found, please install",
    }


def test_a_reading_that_works_again_forgets_its_reason() -> None:
    values: list[object] = [RuntimeError("busy"), 5]

    def read() -> object:
        value = values.pop(0)
        if isinstance(value, Exception):
            raise value
        return value

    reading = Reading(read)
    assert reading() is None
    assert reading.absent_because == "RuntimeError: busy"
    assert reading() == 5
    assert reading.absent_because == ""


@pytest.mark.parametrize("value", [0, 0xFFFF, 0xFFFF_FFFF])
def test_numbers_that_stand_for_nothing_are_no_readings(cuda: Cuda, monkeypatch, value) -> None:
    for name in ("clock_rate", "power_draw", "temperature"):
        monkeypatch.setattr(torch.cuda, name, lambda place: value)
    assert Telemetry(torch.device("cpu")).sensors() == Sensors(None, None, None)


def test_devices_of_a_kind_are_told_apart(cuda: Cuda, monkeypatch, tmp_path) -> None:
    def machine(**more: str) -> str:
        properties = SimpleNamespace(**vars(torch.cuda.get_device_properties(0)), **more)
        with monkeypatch.context() as patch:
            patch.setattr(torch.cuda, "get_device_properties", lambda place: properties)
            return TorchDevice().info.machine

    (tmp_path / "id").write_text("a machine")
    monkeypatch.setattr("mxfp4kernels.bench.torch_device.MACHINE_ID", tmp_path / "id")
    units = [machine(uuid=f"1f2e-000{number}") for number in (1, 2)]
    fallbacks = [machine(), machine(uuid="00000000-0000-0000"), machine(uuid="")]
    assert len({*units, *fallbacks}) == 3
    assert all(len(one) == 10 for one in (*units, *fallbacks))
    (tmp_path / "id").unlink()
    assert machine() == ""


def test_no_device(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(NoDevice, match="sees no device"):
        TorchDevice()
