"""The hardware constants of the model: ``data/hardware/*.json``, each with range and source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from ..files import DATA

MI355X = DATA / "hardware" / "mi355x.json"
CONFIDENCES = ("H", "M", "L")


class ConstantError(ValueError):
    """A hardware file that lacks a constant or holds a wrong one, or a value out of range."""


@dataclass(frozen=True)
class Constant:
    """One hardware constant.

    Attributes:
        name: its key.
        value: what the model uses.
        low, high: what the sources allow.
        unit: as written in the file.
        confidence: ``H``, ``M`` or ``L``, see the file.
        source: where it comes from.
        note: what it means, or how far it reaches.
    """

    name: str
    value: float
    low: float
    high: float
    unit: str
    confidence: str
    source: str
    note: str = ""

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ConstantError(
                f"{self.name} = {self.value} {self.unit} lies outside its range "
                f"{self.low}..{self.high}; widen the range only with a source"
            )
        if self.confidence not in CONFIDENCES or not self.source:
            raise ConstantError(f"{self.name} needs a source and a confidence of H, M or L")

    @property
    def ranged(self) -> bool:
        """Whether the sources leave a range."""
        return self.low < self.high


@dataclass(frozen=True)
class Hardware:
    """All constants of a device."""

    device: str
    constants: Mapping[str, Constant]

    def __getitem__(self, name: str) -> float:
        """The value of a constant.

        Raises:
            ConstantError: no such constant.
        """
        return self.constant(name).value

    def constant(self, name: str) -> Constant:
        """A constant with its range and source.

        Raises:
            ConstantError: no such constant.
        """
        if name not in self.constants:
            raise ConstantError(f"{self.device} has no constant {name!r}")
        return self.constants[name]

    def with_values(self, values: Mapping[str, float]) -> Hardware:
        """The same device with some constants at other values within their ranges.

        Raises:
            ConstantError: no such constant, or a value out of its range.
        """
        changed = dict(self.constants)
        for name, value in values.items():
            old = self.constant(name)
            changed[name] = Constant(
                name, value, old.low, old.high, old.unit, old.confidence, old.source, old.note
            )
        return Hardware(self.device, MappingProxyType(changed))

    @property
    def ranged(self) -> tuple[Constant, ...]:
        """The constants that have a range, in the file's order."""
        return tuple(constant for constant in self.constants.values() if constant.ranged)


@lru_cache(maxsize=8)
def read_hardware(path: Path = MI355X) -> Hardware:
    """Read a hardware file.

    Raises:
        ConstantError: a constant is incomplete or outside its own range.
        OSError: the file cannot be read.
    """
    content = json.loads(path.read_text(encoding="utf-8"))
    try:
        constants = {
            name: Constant(name=name, **entry) for name, entry in content["constants"].items()
        }
        return Hardware(content["device"], MappingProxyType(constants))
    except (KeyError, TypeError) as error:
        raise ConstantError(f"{path}: {error}") from error
