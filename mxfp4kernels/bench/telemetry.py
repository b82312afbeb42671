"""Clock, power, temperature and processes, as far as the system library of a device gives them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

import torch

from .device import Sensors

Value = TypeVar("Value")

NOT_AVAILABLE = (0, 0xFFFF, 0xFFFF_FFFF)
"""What the libraries give where they mean N/A: the last two fill AMD's 16 and 32 bit fields."""


class Reading(Generic[Value]):
    """Something that can be read, or a reason why it cannot.

    The system libraries raise exceptions of types that exist only where they are installed, so all
    are caught here; the last one's text is kept and goes into the journal.

    Attributes:
        absent_because: why the last reading gave nothing; empty if it gave a value.
    """

    def __init__(self, read: Callable[[], Value | None]) -> None:
        self._read = read
        self.absent_because = ""

    def __call__(self) -> Value | None:
        """The value now, or ``None``."""
        try:
            value = self._read()
        except Exception as error:  # noqa: BLE001  see the docstring
            self.absent_because = f"{type(error).__name__}: {error}"[:200]
            return None
        self.absent_because = "" if value is not None else "not supported by this device"
        return value


def _known(reading: float, scale: float) -> float | None:
    return None if reading in NOT_AVAILABLE else float(reading) * scale


def _unless(ended: Callable[[], bool], value: float | None) -> float | None:
    return None if ended() else value


class Telemetry:
    """The readings of one device; torch knows the vendors' libraries (amdsmi, pynvml).

    Args:
        place: the device.
    """

    def __init__(self, place: torch.device) -> None:
        # torch gives AMD's power in W and NVIDIA's in mW.
        watts = 1.0 if torch.version.hip else 0.001
        self._place = place
        self._clock = Reading(lambda: _known(torch.cuda.clock_rate(place), 1.0))
        self._power = Reading(lambda: _known(torch.cuda.power_draw(place), watts))
        self._temperature = Reading(lambda: _known(torch.cuda.temperature(place), 1.0))
        self.processes = Reading(self._list_processes)

    def sensors(self, ended: Callable[[], bool] = lambda: False) -> Sensors:
        """Clock, power and temperature of what runs.

        Args:
            ended: whether it has; a reading that was not there before that may be of an idle device
                and is left out.
        """
        readings = (self._clock, self._power, self._temperature)
        return Sensors(*(None if ended() else _unless(ended, reading()) for reading in readings))

    def absent(self) -> dict[str, str]:
        """What cannot be read, and why."""
        self.sensors()
        self.processes()
        reasons = {
            "clock_mhz": self._clock.absent_because,
            "power_w": self._power.absent_because,
            "temperature_c": self._temperature.absent_because,
            "other_processes": self.processes.absent_because,
        }
        return {name: reason for name, reason in reasons.items() if reason}

    def _list_processes(self) -> frozenset[int]:
        text = torch.cuda.list_gpu_processes(self._place)
        if not text.startswith("GPU:"):
            raise RuntimeError(text)  # a sentence about what is missing
        return frozenset(int(number) for number in re.findall(r"process +(\d+) uses", text))
