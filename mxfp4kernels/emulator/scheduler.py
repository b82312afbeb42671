"""Runs batches of waves: straight runs of instructions, branches, barriers and ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.decode import Decoded
from mxfp4kernels.emulator.errors import AccessError, EmulatorError, MemoryFault
from mxfp4kernels.emulator.flow import Flow, Stop
from mxfp4kernels.emulator.waves import LANES, Waves, join

PATIENCE = 1024
"""Turns of one batch after which another gets one, so that a wave that spins on a value in memory
does not starve the wave that would write it."""
INSTRUCTION_LIMIT = 1 << 26
"""Instructions that a wave may execute: minutes in the emulator, and far more than a kernel that
ends executes in one wave."""


def _not_straight(w: Waves) -> None:
    raise AssertionError("an instruction that changes the flow ended up in a straight run")


class Scheduler:
    """Runs the waves of some workgroups to their end.

    The batch at the lowest program counter runs first, so that batches parted by a branch meet
    again behind it; it stops where another batch waits and the two join.

    Args:
        decoded: the program.
        workgroups: flat ids, by LDS slot.
        waves_per_workgroup: waves in each.
        limit: instructions that a wave may execute before the run is given up.
    """

    def __init__(
        self,
        decoded: Decoded,
        workgroups: Sequence[int],
        waves_per_workgroup: int,
        limit: int = INSTRUCTION_LIMIT,
    ) -> None:
        self.decoded = decoded
        self.workgroups = tuple(workgroups)
        self.waves_per_workgroup = waves_per_workgroup
        self.live = np.full(len(workgroups), waves_per_workgroup, np.int64)
        self.arrived = np.zeros(len(workgroups), np.int64)
        self.ready: list[Waves] = []
        self.parked: list[Waves] = []
        self._entered = np.zeros(len(decoded.steps) + 1, np.int64)
        self._limit = self._left = limit
        self._turns = 0
        self._actions = [step.action or _not_straight for step in decoded.steps]

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """Waves that executed each instruction, int64 [instructions]."""
        return np.cumsum(self._entered)[:-1]

    def run(self, waves: Waves) -> None:
        """Run until every wave has ended.

        Raises:
            MemoryFault: an access outside every buffer or LDS.
            UnsupportedInstruction: a form found to be unsupported only when it ran.
            EmulatorError: a wave ran past the last instruction, or the limit was reached.
        """
        self.run_all([waves])

    def run_all(self, batches: list[Waves]) -> None:
        """Run several batches of the same launch until every wave has ended."""
        self.ready = batches
        with np.errstate(all="ignore"):
            while self.ready:
                self._turn()
        assert not self.parked, "a barrier is left when all waves of its workgroup wait or ended"

    def _turn(self) -> None:
        w = self._pick()
        ahead = min((other.pc for other in self.ready if other.pc > w.pc), default=None)
        if w.pc >= len(self._actions):
            raise EmulatorError(f"{self.decoded.program.name} ran past its last instruction")
        stop = self.decoded.stops[w.pc]
        meets = ahead is not None and ahead <= stop
        if ahead is not None and meets:
            stop = ahead
        self._count(w, w.pc, stop)
        self.straight(w, w.pc, stop)
        w.pc = stop
        if meets or stop == len(self._actions):
            self.ready.append(w)
            return
        flow = self.decoded.steps[stop].flow
        assert flow is not None
        self._count(w, stop, stop + 1)
        self.follow(w, flow)

    def _pick(self) -> Waves:
        """Take the batch to run next out of the ready ones, joined with those at its place."""
        self._turns += 1
        choose = max if self._turns % PATIENCE == 0 else min
        candidates = self.preferred(self.ready)
        pc = choose(w.pc for w in candidates)
        here = [w for w in candidates if w.pc == pc]
        chosen = self.joinable(here)
        self.ready = [w for w in self.ready if not any(w is c for c in chosen)]
        return join(chosen)

    def preferred(self, ready: list[Waves]) -> list[Waves]:
        """Which of the ready batches may run next."""
        return ready

    def joinable(self, here: list[Waves]) -> list[Waves]:
        """Which of the batches at one instruction can go on as one."""
        return [w for w in here if w.mode == here[0].mode]

    def _count(self, w: Waves, start: int, stop: int) -> None:
        self._entered[start] += w.count
        self._entered[stop] -= w.count
        w.executed += stop - start
        self._left -= stop - start
        if self._left < 0:
            self._check_limit(w)

    def _check_limit(self, w: Waves) -> None:
        """Give up if a wave of the batch is past the limit, else see how many may still follow.

        Raises:
            EmulatorError: with the place and the way out.
        """
        wave = int(w.executed.argmax())
        if w.executed[wave] <= self._limit:
            counts = [int(other.executed.max()) for other in (w, *self.ready, *self.parked)]
            self._left = self._limit - max(counts)
            return
        instruction = self.decoded.steps[w.pc].instruction
        raise EmulatorError(
            f"{self.decoded.program.name}: {self.describe(w, wave)} did not end within "
            f"{self._limit} instructions, now at line {instruction.line} ({instruction.text}); "
            "if it is no endless loop, raise instruction_limit (in a launch file) or limit "
            "(in Python)"
        )

    def straight(self, w: Waves, start: int, stop: int) -> None:
        """Execute instructions ``start .. stop - 1``, none of which changes the flow."""
        at = start
        try:
            for at in range(start, stop):
                self._actions[at](w)
        except AccessError as error:
            raise self.fault(w, at, error) from error

    def follow(self, w: Waves, flow: Flow) -> None:
        """Do what the flow instruction at ``w.pc`` asks for."""
        if flow.stop is Stop.END:
            self.end(w)
        elif flow.stop is Stop.BARRIER:
            self.arrive(w)
        else:
            assert flow.taken is not None
            self._branch(w, flow.target, flow.taken(w))

    def _branch(self, w: Waves, target: int, taken: npt.NDArray[np.bool_]) -> None:
        if taken.all():
            w.pc = target
        elif not taken.any():
            w.pc += 1
        else:
            part = w.take(taken)
            part.pc = target
            self.ready.append(part)
            w = w.take(~taken)
            w.pc += 1
        self.ready.append(w)

    def end(self, w: Waves) -> None:
        """These waves have ended."""
        np.subtract.at(self.live, w.slots, 1)
        self._release()

    def arrive(self, w: Waves) -> None:
        """These waves wait at a barrier, at ``w.pc``."""
        np.add.at(self.arrived, w.slots, 1)
        self.parked.append(w)
        self._release()

    def _release(self) -> None:
        """Let workgroups go on whose waves all wait or have ended."""
        complete = (self.arrived == self.live) & (self.arrived > 0)
        if not complete.any():
            return
        self.passed(complete)
        self.arrived[complete] = 0
        still: list[Waves] = []
        for w in self.parked:
            chosen = complete[w.slots]
            if not chosen.all():
                still.append(w.take(~chosen) if chosen.any() else w)
            if chosen.any():
                free = w if chosen.all() else w.take(chosen)
                free.pc += 1
                self.ready.append(free)
        self.parked = still

    def passed(self, complete: npt.NDArray[np.bool_]) -> None:
        """Called when the workgroups in these slots pass a barrier."""

    def fault(self, w: Waves, at: int, error: AccessError) -> MemoryFault:
        """The fault of an instruction with its wave and lane."""
        instruction = self.decoded.steps[at].instruction
        transfer = self.decoded.steps[at].transfer
        lanes = LANES if transfer is None else transfer.lanes
        wave, lane = divmod(error.position, lanes)
        place = self.describe(w, wave) + (f", lane {lane}" if lanes == LANES else "")
        return MemoryFault(f"line {instruction.line}: {instruction.text}: {place}: {error.message}")

    def describe(self, w: Waves, wave: int) -> str:
        """Workgroup and wave of position ``wave`` in a batch."""
        number = int(w.ids[wave]) % self.waves_per_workgroup
        return f"workgroup {self.workgroups[int(w.slots[wave])]}, wave {number}"
