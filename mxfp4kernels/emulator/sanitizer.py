"""Are the waits and barriers of a program right?

Three things are done that a device does not do on request:

* Every memory operation takes effect at the latest moment that the program's waits allow, so a
  missing wait shows in the results, and any use of a result in flight is reported.
* Each wave in turn runs ahead of the others between barriers, and behind them.
* Every LDS and global byte is checked for races between the waves of a workgroup, by an argument
  that covers all interleavings (see :mod:`~mxfp4kernels.emulator.races`). A load to LDS counts
  from its issue to the wait that ends it.

A read of a register or an LDS byte that nothing has written is reported, too. It is kept per wave
and register, and per workgroup and byte: a register of which the wave wrote one lane or one byte
counts as written, and a wave without an active lane may read any vector register but by
``v_readlane`` and ``v_readfirstlane``, which read inactive lanes.

The same run tells which waits carry no order: for every use of a result and every pair of accesses
it is known whether the order rests on one wait, or one barrier, alone. What no order rests on can
be dropped, one at a time, without a hazard in any interleaving of the paths that were run.

Not judged: order between workgroups, cache maintenance, and the wait states that the compiler fills
with ``s_nop``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mxfp4kernels.emulator.decode import Decoded
from mxfp4kernels.emulator.errors import EmulatorError, LaunchError
from mxfp4kernels.emulator.findings import Difference, Hazard, Need, Undefined
from mxfp4kernels.emulator.flow import Stop
from mxfp4kernels.emulator.kernarg import Size3
from mxfp4kernels.emulator.launch import Launch, for_each_batch, initial_waves, prepare
from mxfp4kernels.emulator.memory import Bytes, Journal, Memory
from mxfp4kernels.emulator.orders import Order, orders
from mxfp4kernels.emulator.scheduler import INSTRUCTION_LIMIT
from mxfp4kernels.emulator.watcher import Ledger, Watcher
from mxfp4kernels.isa.program import Program
from mxfp4kernels.isa.waitcnt import waitcnt


@dataclass(frozen=True)
class Report:
    """What the sanitizer found in a program.

    Attributes:
        decoded: the program.
        hazards: results used or memory touched without order, each pair of instructions once.
        differences: bytes that depend on which wave runs ahead.
        undefined: reads of registers and LDS bytes that nothing has written.
        needs: for every wait (by counter) and barrier, whether the program can do without it.
        orders: the orders that were run.
        fault: the error that ended the run early, where hazards or undefined reads found before
            may explain it; the needs are then those of the part that ran.
    """

    decoded: Decoded
    hazards: tuple[Hazard, ...]
    differences: tuple[Difference, ...]
    undefined: tuple[Undefined, ...]
    needs: tuple[Need, ...]
    orders: tuple[Order, ...]
    fault: EmulatorError | None = None

    @property
    def clean(self) -> bool:
        """No hazard, no undefined read, and no difference outside buffers that receive atomics."""
        return not (self.hazards or self.undefined) and all(d.atomic for d in self.differences)

    def beyond(self, other: Report) -> tuple[Hazard, ...]:
        """Hazards between instructions that ``other``, of the same program or a mutant, has not."""
        known = {hazard.pair for hazard in other.hazards}
        return tuple(hazard for hazard in self.hazards if hazard.pair not in known)

    @property
    def needless(self) -> tuple[Need, ...]:
        """Waits and barriers that can be dropped, one at a time, without a hazard."""
        return tuple(need for need in self.needs if need.needless)


def sanitize(
    program: Program | Decoded,
    kernarg: bytes,
    grid: Size3,
    block: Size3,
    memory: Memory,
    *,
    workgroups: Iterable[int] | None = None,
    dynamic_lds: int = 0,
    limit: int = INSTRUCTION_LIMIT,
    run_orders: Sequence[Order] | None = None,
) -> Report:
    """Run a kernel under the sanitizer; memory is left as the lockstep run leaves it.

    Args:
        run_orders: the orders to run, by default lockstep and every wave ahead and behind. Hazards
            and needs do not depend on it; differences are told against the first.

    The other arguments and the errors raised are those of
    :func:`~mxfp4kernels.emulator.launch.launch`; a fault after a finding is in the report
    instead.
    """
    call = prepare(program, kernarg, grid, block, memory, workgroups, dynamic_lds)
    chosen = tuple(run_orders) if run_orders is not None else orders(call.waves_per_workgroup)
    if not chosen:
        raise LaunchError("run_orders must name at least one order")
    ledger = Ledger()
    with memory.journal() as journal:
        results: list[dict[int, Bytes]] = []
        fault = None
        for order in chosen:
            fault = _attempt(call, order, ledger, limit, watch=order == chosen[0])
            results.append(journal.contents())
            journal.restore(journal.before)
            if fault is not None:
                break
        journal.restore(results[0])
        ran = chosen[: len(results)]
        differences = _differences(journal, results, ran, ledger.atomics) if fault is None else ()
    hazards = tuple(ledger.hazards[key] for key in sorted(ledger.hazards))
    undefined = tuple(ledger.undefined[key] for key in sorted(ledger.undefined))
    needs = _needs(call.decoded, ledger)
    return Report(call.decoded, hazards, differences, undefined, needs, ran, fault)


def _attempt(
    call: Launch, order: Order, ledger: Ledger, limit: int, *, watch: bool
) -> EmulatorError | None:
    """Run one order; an error is handed back if what was found before may explain it."""
    try:
        _run(call, order, ledger, limit, watch)
    except EmulatorError as error:
        if not (ledger.hazards or ledger.undefined):
            raise
        return error
    return None


def _run(call: Launch, order: Order, ledger: Ledger, limit: int, watch: bool) -> None:
    def run(chosen: Sequence[int], address: int) -> None:
        scheduler = Watcher(
            call.decoded,
            chosen,
            call.waves_per_workgroup,
            limit,
            order,
            ledger,
            call.lds_bytes,
            watch,
        )
        scheduler.run(initial_waves(call, chosen, address))
        ledger.reached.update(int(at) for at in np.flatnonzero(scheduler.counts))

    for_each_batch(call, run)


def _differences(
    journal: Journal, results: list[dict[int, Bytes]], chosen: Sequence[Order], atomics: set[int]
) -> tuple[Difference, ...]:
    """Bytes that another order than the first leaves otherwise."""
    found = []
    for order, result in zip(chosen[1:], results[1:], strict=True):
        for buffer in journal.touched:
            before = journal.before[buffer.address]
            expected = results[0].get(buffer.address, before)
            differs = np.flatnonzero(expected != result.get(buffer.address, before))
            if differs.size:
                atomic = buffer.address in atomics
                found.append(
                    Difference(buffer.name, str(order), differs.size, int(differs[0]), atomic)
                )
    return tuple(found)


def _needs(decoded: Decoded, ledger: Ledger) -> tuple[Need, ...]:
    """One entry per counter of every wait, and one per barrier, in program order."""
    needs = []
    for at, step in enumerate(decoded.steps):
        counters: Mapping[str | None, int] = {}
        if step.instruction.opcode == "s_waitcnt":
            counters = {str(name): count for name, count in waitcnt(step.instruction).items()}
        elif step.flow is not None and step.flow.stop is Stop.BARRIER:
            counters = {None: 0}
        for counter, count in counters.items():
            largest = ledger.largest.get((at, counter))
            needs.append(Need(step.instruction, counter, count, at in ledger.reached, largest))
    return tuple(needs)
