"""Runs waves with delayed effects, in a given order, and keeps watch over order and definedness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.decode import Decoded, Step
from mxfp4kernels.emulator.defined import Defined
from mxfp4kernels.emulator.errors import AccessError
from mxfp4kernels.emulator.findings import Hazard, Undefined
from mxfp4kernels.emulator.flights import COUNTER, FLAT, ORDERED, SCALAR, Flight, Flights, class_of
from mxfp4kernels.emulator.flow import Flow, Stop
from mxfp4kernels.emulator.operands import SPECIAL
from mxfp4kernels.emulator.orders import Order
from mxfp4kernels.emulator.races import (
    ATOMIC,
    BARRIER,
    CONFLICT,
    FILL,
    FLAT_ATOMIC,
    FLAT_READ,
    FLAT_WRITE,
    OPEN,
    OWNER,
    READ,
    SCALAR_READ,
    UNWRITTEN,
    WRITE,
    Moment,
    RaceDetector,
)
from mxfp4kernels.emulator.scheduler import PATIENCE, Scheduler
from mxfp4kernels.emulator.site import SCALAR_ROWS
from mxfp4kernels.emulator.transfers import Access, Atomic, Transfer
from mxfp4kernels.emulator.waves import LANES, REGISTER_POISON, SGPR_ROWS, Layout, Waves
from mxfp4kernels.isa.waitcnt import LIMITS, waitcnt

WaitKey = tuple[int, str | None]
"""Index of a wait and its counter; of a barrier and None."""
SEVERAL = -1
"""In place of a barrier's index: the waves met at different ones."""


@dataclass
class Ledger:
    """What the runs of a program have shown so far.

    Attributes:
        hazards: by kind and the two instructions.
        largest: for each wait that an order rests on, the largest count that keeps it.
        reached: instructions that some wave executed.
        atomics: addresses of buffers that received atomics.
        undefined: reads of what nothing has written, by instruction and register (-1 for LDS).
    """

    hazards: dict[tuple[str, int, int], Hazard] = field(default_factory=dict)
    largest: dict[WaitKey, int] = field(default_factory=dict)
    reached: set[int] = field(default_factory=set)
    atomics: set[int] = field(default_factory=set)
    undefined: dict[tuple[int, int], Undefined] = field(default_factory=dict)

    def need(self, key: WaitKey, largest: int) -> None:
        """An order rests on this wait, with a count of at most ``largest``."""
        self.largest[key] = min(largest, self.largest.get(key, largest))


SPECIAL_NAMES = {
    row: name for name, (row, dwords) in SPECIAL.items() if dwords == 1
} | {SGPR_ROWS: "scc"}  # fmt: skip


def register_name(row: int, layout: Layout) -> str:
    """The register of a recorded row."""
    if row >= SCALAR_ROWS:
        number = row - SCALAR_ROWS
        return SPECIAL_NAMES.get(number, f"s{number}")
    return f"v{row}" if row < layout.vgprs else f"a{row - layout.vgprs}"


def set_up_rows(waves: Waves) -> frozenset[int]:
    """Registers that hold no poison before the first instruction."""
    vectors = np.flatnonzero((waves.v != REGISTER_POISON).all(axis=(1, 2)))
    scalars = np.flatnonzero((waves.s != REGISTER_POISON).all(axis=(1, 2)))
    return frozenset(int(row) for row in vectors) | {SCALAR_ROWS + int(row) for row in scalars}


class Watcher(Scheduler):
    """Runs waves with delayed effects, in a given order, and watches.

    Args:
        order: which wave runs first between barriers.
        ledger: receives the findings.
        lds_bytes: LDS of a workgroup.
        watch: look for hazards; without it, effects are only delayed. One watched order is enough,
            since hazards do not depend on the order.
    """

    def __init__(
        self,
        decoded: Decoded,
        workgroups: Sequence[int],
        waves_per_workgroup: int,
        limit: int,
        order: Order,
        ledger: Ledger,
        lds_bytes: int,
        watch: bool,
    ) -> None:
        super().__init__(decoded, workgroups, waves_per_workgroup, limit)
        self.order, self.ledger, self.watch = order, ledger, watch
        slots = len(workgroups)
        self.epochs = np.zeros(slots, np.int64)
        self.last_barrier = np.full(slots, SEVERAL, np.int64)
        self.same_since = np.zeros(slots, np.int64)
        self._idle_turns = 0
        transfers = [step.transfer for step in decoded.steps if step.transfer is not None]
        flat = any(class_of(transfer) == FLAT for transfer in transfers)
        self.races = RaceDetector(slots if watch else 0, waves_per_workgroup, lds_bytes, flat)
        self._waits = {
            at: waitcnt(step.instruction)
            for at, step in enumerate(decoded.steps)
            if step.instruction.opcode == "s_waitcnt"
        }
        self._touched = [step.uses.reads | step.uses.writes for step in decoded.steps]

    # ---- order of waves

    def run(self, waves: Waves) -> None:
        """Run until every wave has ended, the chosen wave apart."""
        waves.flights = Flights(Defined(waves.count, set_up_rows(waves)))
        if self.order.wave < 0:
            super().run(waves)
            return
        apart = waves.ids % self.waves_per_workgroup == self.order.wave
        chosen, rest = waves.take(apart), waves.take(~apart)
        self.run_all([chosen, rest])

    def preferred(self, ready: list[Waves]) -> list[Waves]:
        """The batches that the order lets run now.

        Without a barrier or an end for long, a wave may be waiting for a value that another one
        writes: the others then get as many turns.
        """
        if self.order.wave < 0:
            return ready
        self._idle_turns += 1
        spins = self._idle_turns // PATIENCE % 2 == 1
        first = [w for w in ready if self._is_apart(w) == (self.order.ahead != spins)]
        return first or ready

    def end(self, w: Waves) -> None:
        """These waves have ended."""
        self._idle_turns = 0
        super().end(w)

    def _is_apart(self, w: Waves) -> bool:
        return int(w.ids[0]) % self.waves_per_workgroup == self.order.wave

    def joinable(self, here: list[Waves]) -> list[Waves]:
        """Batches of the same mode, the same side of the order and the same flights."""

        def key(w: Waves) -> tuple[object, ...]:
            assert w.flights is not None
            return (w.mode, self._is_apart(w), w.flights.key())

        first = key(here[0])
        return [w for w in here if w is here[0] or key(w) == first]

    # ---- execution

    def straight(self, w: Waves, start: int, stop: int) -> None:
        """Execute instructions with delayed effects."""
        at = start
        try:
            for at in range(start, stop):
                self._execute(w, at, self.decoded.steps[at])
        except AccessError as error:
            raise self.fault(w, at, error) from error

    def _execute(self, w: Waves, at: int, step: Step) -> None:
        if at in self._waits:
            self._wait(w, at)
            return
        if self.watch:
            self._check_registers(w, at)
            self._check_defined(w, at, step)
        if step.transfer is not None:
            self._issue(w, at, step.transfer)
        else:
            assert step.action is not None
            step.action(w)
            if step.uses.writes:
                assert w.flights is not None
                w.flights.overwritten(step.uses.writes)

    def follow(self, w: Waves, flow: Flow) -> None:
        """A branch reads registers, too; an end lets everything in flight happen."""
        if self.watch:
            self._check_registers(w, w.pc)
            self._check_defined(w, w.pc, self.decoded.steps[w.pc])
        if flow.stop is Stop.END:
            assert w.flights is not None
            for flight in w.flights.flights:
                self._perform(w, flight)
        super().follow(w, flow)

    def _wait(self, w: Waves, at: int) -> None:
        assert w.flights is not None
        for flight, largest in w.flights.forced(self._waits[at]):
            if flight.done and flight.owner != at:
                self._end(w, flight, 1)
                w.flights.release(flight)
                continue
            if not flight.done:
                self._perform(w, flight)
                flight.owner = at
                self._end(w, flight, 0)
            flight.spare = largest
            self._spare(w, flight, largest)

    def _spare(self, w: Waves, flight: Flight, largest: int) -> None:
        """How much weaker the wait could be, for an order between waves.

        A wait that is met again behind a barrier, in a loop, comes too late for what the barrier
        orders, so the count of the first time stands.
        """
        if len(flight.records):
            records = self.races.records
            timely = records.ends[0, flight.records] == self.epochs[w.slots]
            records.spares[flight.records[timely]] = largest

    def _end(self, w: Waves, flight: Flight, which: int) -> None:
        if len(flight.records):
            records = self.races.records
            records.ends[which, flight.records] = self.epochs[w.slots]
            records.owners[flight.records] = flight.owner

    def _perform(self, w: Waves, flight: Flight) -> None:
        """Let a flight take effect; a fault then names the instruction that issued it."""
        if flight.access is None:
            return
        try:
            flight.access.transfer.perform(w, flight.access)
        except AccessError as error:
            raise self.fault(w, flight.step, error) from error
        flight.access = None

    def _issue(self, w: Waves, at: int, transfer: Transfer) -> None:
        assert w.flights is not None
        access = transfer.issue(w)
        uses = self.decoded.steps[at].uses
        kind = class_of(transfer)
        records = np.empty(0, np.int64)
        watched = self.watch and transfer.space != "exchange"
        if watched:
            waves = w.ids % self.waves_per_workgroup
            records = self.races.records.add(at, waves)
        flight = Flight(at, access, kind, w.flights.issued[kind], uses.writes, records)
        w.flights.overwritten(uses.writes)
        w.flights.add(flight)
        if watched:
            self._check_races(w, at, flight, access)

    # ---- registers

    def _check_registers(self, w: Waves, at: int) -> None:
        """Report registers in flight; note the waits that the use of ended ones rests on."""
        assert w.flights is not None
        busy = w.flights.busy
        if not busy:
            return
        step = self.decoded.steps[at]
        for row in self._touched[at]:
            flight = busy.get(row)
            if flight is None:
                continue
            if flight.done:
                self._rests_on(flight.owner, flight.spare, flight.kind)
            elif row in step.uses.reads or not self._follows_in_order(flight, step):
                self._in_flight(w, at, flight, row)

    def _check_defined(self, w: Waves, at: int, step: Step) -> None:
        """Report reads of registers that nothing has written.

        A wave without an active lane may read what it likes: code of a branch that it did not take.
        Not so by an instruction that reads inactive lanes.
        """
        assert w.flights is not None
        defined = w.flights.defined
        for row, lacking in defined.lacking(step.uses.sources):
            whatever = row >= SCALAR_ROWS or row in step.uses.inactive
            reading = lacking if whatever else lacking & w.lanes.any(axis=1)
            if reading.any() and (at, row) not in self.ledger.undefined:
                name = register_name(row, self.decoded.layout)
                place = self.describe(w, int(reading.argmax()))
                self.ledger.undefined[at, row] = Undefined(step.instruction, name, place)
        defined.write(step.uses.writes)

    def _follows_in_order(self, flight: Flight, step: Step) -> bool:
        """Whether the step is a load that returns after the flight anyway."""
        if step.transfer is None or flight.kind not in ORDERED:
            return False
        return class_of(step.transfer) == flight.kind

    def _rests_on(self, owner: int, spare: int, kind: str) -> None:
        """An order rests on wait ``owner``, which may wait for ``spare`` at most."""
        for counter in self._waits[owner] if kind == FLAT else (COUNTER[kind],):
            self.ledger.need((owner, counter), spare)

    def _in_flight(self, w: Waves, at: int, flight: Flight, row: int) -> None:
        register = register_name(row, self.decoded.layout)
        where = f"{self.describe(w, 0)}: {register}"
        self._report("register", flight.step, at, where, self._missing_wait(w, flight))

    def _missing_wait(self, w: Waves, flight: Flight) -> str:
        assert w.flights is not None
        if flight.kind == FLAT:
            return "needs s_waitcnt vmcnt(0) lgkmcnt(0) between them"
        count = w.flights.later(flight) if flight.kind in ORDERED else 0
        counter = COUNTER[flight.kind]
        if count > LIMITS[counter]:
            return f"needs s_waitcnt for its {counter} between them"
        return f"needs s_waitcnt {counter}({count}) between them"

    def _report(self, kind: str, first: int, second: int, where: str, missing: str) -> None:
        key = (kind, first, second)
        seen = self.ledger.hazards
        if key not in seen and (kind == "register" or (kind, second, first) not in seen):
            steps = self.decoded.steps
            seen[key] = Hazard(
                kind, steps[first].instruction, steps[second].instruction, where, missing
            )

    # ---- races

    def _check_races(self, w: Waves, at: int, flight: Flight, access: Access) -> None:
        transfer = access.transfer
        size = transfer.size if transfer.lanes in (1, LANES) else 4
        kind = _access_kind(transfer)
        if isinstance(transfer, Atomic):
            self._note_atomics(w, access)
        for position in range(w.count):
            when = self._moment(w, position)
            record = int(flight.records[position])
            found = 0
            for addresses in access.addresses[:, position]:
                mask = access.mask[position]
                if transfer.space == "lds":
                    found |= self.races.lds(when, kind, record, addresses, mask, size)
                else:
                    watched = w.memory.writable_lanes(addresses, mask)
                    found |= self.races.memory(when, kind, record, addresses, watched, size)
            if access.local is not None:
                mask = access.mask[position]
                if access.zero is not None:
                    mask = mask | access.zero[position]
                local = access.local[position]
                found |= self.races.lds(when, FILL, record, local, mask, max(4, size))
            if found & UNWRITTEN and kind in (READ, ATOMIC) and transfer.space == "lds":
                undefined = Undefined(
                    self.decoded.steps[at].instruction, "LDS", self.describe(w, position)
                )
                self.ledger.undefined.setdefault((at, -1), undefined)
            if found & ~UNWRITTEN:
                space = "lds" if access.local is not None or transfer.space == "lds" else "global"
                self._judge(w, at, position, when, space)

    def _note_atomics(self, w: Waves, access: Access) -> None:
        if access.transfer.space == "global":
            addresses = access.addresses[0][access.mask]
            while addresses.size:
                buffer = w.memory.find(int(addresses[0]))
                if buffer is None:
                    addresses = addresses[1:]
                    continue
                self.ledger.atomics.add(buffer.address)
                inside = (addresses >= buffer.address) & (addresses < buffer.end)
                addresses = addresses[~inside]

    def _moment(self, w: Waves, position: int) -> Moment:
        slot = int(w.slots[position])
        wave = int(w.ids[position]) % self.waves_per_workgroup
        return Moment(slot, wave, int(self.epochs[slot]), int(self.same_since[slot]))

    def _judge(self, w: Waves, at: int, position: int, when: Moment, space: str) -> None:
        """Turn the findings of one wave's access into hazards and needs."""
        records = self.races.records
        for record, finding in zip(*records.marked(), strict=True):
            step = int(records.steps[record])
            if finding & CONFLICT:
                wave = int(records.waves[record])
                where = f"{self.describe(w, position)} against wave {wave}"
                ended = bool(records.ends[0, record] != OPEN)
                missing = _missing_order(self._kind(step), wave == when.wave, ended)
                self._report(space, step, at, where, missing)
            if finding & OWNER:
                owner, spare = int(records.owners[record]), int(records.spares[record])
                self._rests_on(owner, spare, self._kind(step))
            barrier = int(self.last_barrier[when.slot])
            if finding & BARRIER and barrier != SEVERAL:
                self.ledger.need((barrier, None), 0)

    def _kind(self, step: int) -> str:
        transfer = self.decoded.steps[step].transfer
        assert transfer is not None
        return class_of(transfer)

    # ---- barriers

    def passed(self, complete: npt.NDArray[np.bool_]) -> None:
        """Workgroups pass a barrier: a new epoch begins.

        Where waves meet at different instructions, each of these is needed: without one, a wave
        would meet the others at another place from there on.
        """
        self._idle_turns = 0
        met: dict[int, set[int]] = {int(slot): set() for slot in np.flatnonzero(complete)}
        for w in self.parked:
            for slot in np.unique(w.slots[complete[w.slots]]):
                met[int(slot)].add(w.pc)
        for slot, barriers in met.items():
            if len(barriers) > 1:
                for at in barriers:
                    self.ledger.need((at, None), 0)
            barrier = barriers.pop() if len(barriers) == 1 else SEVERAL
            if barrier == SEVERAL or self.last_barrier[slot] != barrier:
                self.same_since[slot] = self.epochs[slot]
                self.last_barrier[slot] = barrier
        self.epochs[complete] += 1


def _access_kind(transfer: Transfer) -> int:
    """The race detector's kind of an access."""
    kind = ATOMIC if isinstance(transfer, Atomic) else WRITE if transfer.stores else READ
    of_class = class_of(transfer)
    if of_class == FLAT:
        return {READ: FLAT_READ, WRITE: FLAT_WRITE, ATOMIC: FLAT_ATOMIC}[kind]
    return SCALAR_READ if of_class == SCALAR else kind


def _missing_order(kind: str, same_wave: bool, ended: bool) -> str:
    """What would order an earlier access of class ``kind`` before a later one."""
    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)" if kind == FLAT else f"s_waitcnt for its {COUNTER[kind]}"
    if same_wave:
        return f"needs {wait} between them"
    if ended:
        return "needs s_barrier between them"
    return f"needs {wait} in the first wave, then s_barrier, between them"
