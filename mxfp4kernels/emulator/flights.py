"""Memory instructions in flight: which counter they are on, and when a wait forces them to end.

Order of return on gfx950: vector memory operations (loads, loads to LDS, stores, atomics) return
in the order of issue among themselves, LDS operations likewise; scalar loads in any order. A wait
for a counter to fall to ``n`` therefore proves an ordered operation done if more than ``n`` of its
class were issued from it on, and a scalar one only if ``n`` is 0. A flat operation is on both
counters and may overtake; it is done once both were waited for to 0. Source: AMD CDNA3 ISA manual,
4.4; LLVM AMDGPUUsage, memory model of gfx942.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.defined import Defined
from mxfp4kernels.emulator.transfers import LGKMCNT, VMCNT, Access, ScalarLoad, Transfer

VECTOR, LOCAL, SCALAR, FLAT = "vector memory", "LDS", "scalar memory", "flat"
ORDERED = (VECTOR, LOCAL)
COUNTER = {VECTOR: VMCNT, LOCAL: LGKMCNT, SCALAR: LGKMCNT}


def class_of(transfer: Transfer) -> str:
    """The class within which an operation returns in order."""
    if len(transfer.counters) == 2:
        return FLAT
    if isinstance(transfer, ScalarLoad):
        return SCALAR
    return VECTOR if transfer.counters[0] == VMCNT else LOCAL


@dataclass
class Flight:
    """One issued memory instruction of a batch of waves.

    Attributes:
        step: its index in the program.
        access: what it moves, until it is performed.
        kind: its class of return order.
        number: operations of its class that the waves issued before it.
        rows: registers that it fills.
        records: its entry in the race detector per wave, int64 [waves]; empty if it has none.
        owner: index of the wait that forced it to end, or -1 while it may be in flight.
        spare: the largest count of that wait that would still have forced it.
        waited: counters that were waited for to 0 (flat only).
    """

    step: int
    access: Access | None
    kind: str
    number: int
    rows: frozenset[int]
    records: npt.NDArray[np.int64]
    owner: int = -1
    spare: int = 0
    waited: frozenset[str] = frozenset()

    @property
    def done(self) -> bool:
        """Whether a wait has forced it to end."""
        return self.owner >= 0

    def key(self) -> tuple[object, ...]:
        """Equal for two flights that differ only in their waves."""
        return (self.step, self.number, self.owner, self.spare, self.waited)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Flight:
        """The part of the chosen waves."""
        access = None if self.access is None else self.access.take(chosen)
        records = self.records[chosen] if len(self.records) else self.records
        return replace(self, access=access, records=records)


@dataclass
class Flights:
    """The flights of a batch that a later wait may still have to answer for, oldest first.

    Attributes:
        flights: in flight, or ended by one wait only.
        issued: operations issued so far, by class.
        busy: the flight that fills a register, by row.
        defined: registers that have been written, or that the launch sets up.
    """

    defined: Defined
    flights: list[Flight] = field(default_factory=list)
    issued: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys((VECTOR, LOCAL, SCALAR, FLAT), 0)
    )
    busy: dict[int, Flight] = field(default_factory=dict)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Flights:
        """The part of the chosen waves."""
        parts = [flight.take(chosen) for flight in self.flights]
        twin = dict(zip(map(id, self.flights), parts, strict=True))
        busy = {row: twin[id(flight)] for row, flight in self.busy.items()}
        return Flights(self.defined.take(chosen), parts, dict(self.issued), busy)

    def key(self) -> tuple[object, ...]:
        """Equal for batches that can be joined."""
        flights = tuple(flight.key() for flight in self.flights)
        busy = frozenset((row, flight.key()) for row, flight in self.busy.items())
        return (flights, tuple(self.issued.values()), busy)

    def joined(self, others: Sequence[Flights], order: npt.NDArray[np.int64]) -> Flights:
        """These and the others' flights as one; all have the same key."""
        parts = []
        for together in zip(self.flights, *(o.flights for o in others), strict=True):
            parts.append(_join(together, order))
        twin = dict(zip(map(id, self.flights), parts, strict=True))
        busy = {row: twin[id(flight)] for row, flight in self.busy.items()}
        defined = self.defined.joined([other.defined for other in others], order)
        return Flights(defined, parts, dict(self.issued), busy)

    def add(self, flight: Flight) -> None:
        """A newly issued one; its registers now wait for it."""
        self.flights.append(flight)
        self.issued[flight.kind] += 1
        self.busy.update(dict.fromkeys(flight.rows, flight))

    def later(self, flight: Flight) -> int:
        """Operations of the flight's class issued after it."""
        return self.issued[flight.kind] - flight.number - 1

    def forced(self, counters: dict[str, int]) -> Iterator[tuple[Flight, int]]:
        """Flights that a wait proves done, oldest first, each with the largest count that would."""
        for flight in list(self.flights):
            if flight.kind == FLAT:
                flight.waited |= {name for name, count in counters.items() if count == 0}
                if {VMCNT, LGKMCNT} <= flight.waited:
                    yield flight, 0
                continue
            count = counters.get(COUNTER[flight.kind])
            if count is None:
                continue
            largest = self.later(flight) if flight.kind in ORDERED else 0
            if count <= largest:
                yield flight, largest

    def release(self, flight: Flight) -> None:
        """Two different waits have ended it: no single wait has to answer for it any more."""
        self.flights = [other for other in self.flights if other is not flight]
        for row in flight.rows:
            if self.busy.get(row) is flight:
                del self.busy[row]

    def overwritten(self, rows: frozenset[int]) -> None:
        """Registers got new values; the ended flights that filled them no longer matter."""
        for row in rows:
            flight = self.busy.get(row)
            if flight is not None and flight.done:
                del self.busy[row]


def _join(flights: Sequence[Flight], order: npt.NDArray[np.int64]) -> Flight:
    first = flights[0]
    access = None
    if first.access is not None:
        access = first.access.joined([f.access for f in flights[1:] if f.access], order)
    records = first.records
    if len(records):
        records = np.concatenate([flight.records for flight in flights])[order]
    return replace(first, access=access, records=records)
