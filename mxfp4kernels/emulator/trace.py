"""What every wave of a launch executed: instructions in order, and what its memory accesses touch.

The emulator runs as usual; a :class:`Recorder` stands in for the scheduler and looks at each memory
instruction between its issue and its effect. Straight runs are kept as pairs of indices and memory
accesses as fixed-size records, so a workgroup that executes 20 000 instructions takes some 200 KB.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.decode import Decoded
from mxfp4kernels.emulator.errors import AccessError
from mxfp4kernels.emulator.flow import Flow
from mxfp4kernels.emulator.kernarg import Size3
from mxfp4kernels.emulator.launch import for_each_batch, initial_waves, prepare
from mxfp4kernels.emulator.memory import Memory
from mxfp4kernels.emulator.scheduler import INSTRUCTION_LIMIT, Scheduler
from mxfp4kernels.emulator.transfers import Access, Transfer
from mxfp4kernels.emulator.waves import LANES, Waves
from mxfp4kernels.isa.program import Program

ACCESS = np.dtype(
    [
        ("position", np.int32),
        ("instruction", np.int32),
        ("bytes", np.int32),
        ("lanes", np.int16),
        ("segments", np.int16),
        ("lines", np.int16),
        ("turns", np.int16),
        ("phases", np.int16),
        ("buffer", np.int16),
        ("first_line", np.int64),
    ]
)
"""One memory instruction of one wave: its place among the wave's executed instructions; its index;
bytes that active lanes move; active lanes; distinct 64 B and 128 B pieces of global memory; LDS
turns (see :func:`lds_turns`) and the turns of an access without conflicts; the global buffer as a
position in :attr:`Trace.buffers`, or -1; the number of the lowest 64 B piece, or -1."""

_B128 = np.array(
    [*range(0, 4), *range(12, 16), *range(20, 28), *range(4, 12), *range(16, 20), *range(28, 32)]
)
READ_BANKS, WRITE_BANKS = 64, 32
READ_ORDERS = {
    1: (np.arange(LANES), 64),
    2: (np.arange(LANES), 32),
    3: (np.arange(LANES), 8),
    4: (np.concatenate((_B128, _B128 + 32)), 16),
}
"""By dwords per lane: lanes in the order in which a read serves them, and lanes per turn.
Source: HipKittens analysis/paper_experiments/phases (MI355X), amd-shark-ai kernel guide (MI350X).
b32 is not among their measurements; 64 banks serve 64 lanes of one dword in one turn."""
WRITE_ORDERS = {dwords: (np.arange(LANES), max(8, 32 // dwords)) for dwords in (1, 2, 3, 4)}
"""The same for writes: consecutive lanes on 32 banks."""


@dataclass(frozen=True)
class WaveTrace:
    """One wave.

    Attributes:
        workgroup: flat id.
        wave: number in the workgroup.
        indices: int32 [executed], index of each executed instruction, in order.
        accesses: records of dtype :data:`ACCESS`, in order.
    """

    workgroup: int
    wave: int
    indices: npt.NDArray[np.int32]
    accesses: npt.NDArray[np.void]


@dataclass(frozen=True)
class Trace:
    """The waves of the workgroups that ran, by workgroup and wave.

    Attributes:
        decoded: the program.
        buffers: names of the global buffers, as accesses number them.
        waves: every wave.
    """

    decoded: Decoded
    buffers: tuple[str, ...]
    waves: tuple[WaveTrace, ...]

    def of_workgroup(self, workgroup: int) -> tuple[WaveTrace, ...]:
        """The waves of a workgroup in order.

        Raises:
            KeyError: it did not run.
        """
        chosen = tuple(wave for wave in self.waves if wave.workgroup == workgroup)
        if not chosen:
            raise KeyError(f"workgroup {workgroup} did not run")
        return chosen


def trace(
    program: Program | Decoded,
    kernarg: bytes,
    grid: Size3,
    block: Size3,
    memory: Memory,
    *,
    workgroups: Iterable[int] | None = None,
    dynamic_lds: int = 0,
    limit: int = INSTRUCTION_LIMIT,
) -> Trace:
    """Run a kernel to its end and record what its waves did.

    Args and errors are those of :func:`~mxfp4kernels.emulator.launch.launch`.
    """
    call = prepare(program, kernarg, grid, block, memory, workgroups, dynamic_lds)
    waves: list[WaveTrace] = []
    names: list[str] = []

    def run(chosen: Sequence[int], address: int) -> None:
        recorder = Recorder(call.decoded, chosen, call.waves_per_workgroup, memory, limit)
        recorder.run(initial_waves(call, chosen, address))
        names[:] = recorder.names
        waves.extend(recorder.traces())

    for_each_batch(call, run)
    return Trace(call.decoded, tuple(names), tuple(waves))


class Recorder(Scheduler):
    """A scheduler that records what it runs."""

    def __init__(
        self,
        decoded: Decoded,
        workgroups: Sequence[int],
        waves_per_workgroup: int,
        memory: Memory,
        limit: int,
    ) -> None:
        super().__init__(decoded, workgroups, waves_per_workgroup, limit)
        total = len(workgroups) * waves_per_workgroup
        self.names = [buffer.name for buffer in memory.buffers]
        self._ends = np.array([buffer.end for buffer in memory.buffers], np.int64)
        self._runs: list[list[tuple[int, int]]] = [[] for _ in range(total)]
        self._done = np.zeros(total, np.int64)
        self._accesses: list[list[npt.NDArray[np.void]]] = [[] for _ in range(total)]
        self._transfers = [
            (index, step.transfer)
            for index, step in enumerate(decoded.steps)
            if step.transfer is not None
        ]
        self._memory_index = np.array([index for index, _ in self._transfers], np.int64)

    def straight(self, w: Waves, start: int, stop: int) -> None:
        """Execute a straight run, memory instructions in two halves."""
        first, last = np.searchsorted(self._memory_index, (start, stop))
        at = start
        for index, transfer in self._transfers[first:last]:
            super().straight(w, at, index)
            self._transfer(w, start, index, transfer)
            at = index + 1
        super().straight(w, at, stop)
        self._ran(w, start, stop)

    def follow(self, w: Waves, flow: Flow) -> None:
        """Record the branch, barrier or end, then do it."""
        self._ran(w, w.pc, w.pc + 1)
        super().follow(w, flow)

    def traces(self) -> list[WaveTrace]:
        """What each wave did."""
        return [self._trace(wave) for wave in range(len(self._runs))]

    def _trace(self, wave: int) -> WaveTrace:
        runs = [np.arange(start, stop, dtype=np.int32) for start, stop in self._runs[wave]]
        accesses = self._accesses[wave]
        workgroup, number = divmod(wave, self.waves_per_workgroup)
        return WaveTrace(
            self.workgroups[workgroup],
            number,
            np.concatenate(runs) if runs else np.empty(0, np.int32),
            np.array(accesses, ACCESS) if accesses else np.empty(0, ACCESS),
        )

    def _ran(self, w: Waves, start: int, stop: int) -> None:
        if start == stop:
            return
        for wave in w.ids.tolist():
            self._runs[wave].append((start, stop))
        self._done[w.ids] += stop - start

    def _transfer(self, w: Waves, start: int, index: int, transfer: Transfer) -> None:
        try:
            access = transfer.issue(w)
            records = self._measure(access)
            transfer.perform(w, access)
        except AccessError as error:
            raise self.fault(w, index, error) from error
        records["instruction"] = index
        records["position"] = self._done[w.ids] + index - start
        for wave, record in zip(w.ids.tolist(), records, strict=True):
            self._accesses[wave].append(record)

    def _measure(self, access: Access) -> npt.NDArray[np.void]:
        """What an access of a batch of waves touches, one record per wave."""
        transfer, mask = access.transfer, access.mask
        records = np.zeros(len(mask), ACCESS)
        records["buffer"] = records["first_line"] = -1
        records["lanes"] = mask.sum(axis=1)
        records["bytes"] = records["lanes"] * transfer.size * max(1, len(access.addresses))
        if transfer.space == "exchange":
            records["turns"] = records["phases"] = 1
        elif transfer.space == "lds":
            self._measure_lds(access, records)
        else:
            self._measure_global(access, records)
        return records

    @staticmethod
    def _measure_lds(access: Access, records: npt.NDArray[np.void]) -> None:
        dwords = max(1, access.transfer.size // 4)
        orders = READ_ORDERS if access.transfer.loads else WRITE_ORDERS
        banks = READ_BANKS if access.transfer.loads and dwords != 3 else WRITE_BANKS
        order, group = orders[dwords]
        for addresses in access.addresses:
            records["turns"] += lds_turns(addresses, access.mask, order, group, dwords, banks)
            records["phases"] += LANES // group

    def _measure_global(self, access: Access, records: npt.NDArray[np.void]) -> None:
        (addresses,) = access.addresses
        size = access.transfer.size if access.transfer.lanes in (1, LANES) else 4
        records["segments"] = distinct_pieces(addresses, access.mask, size, 6)
        records["lines"] = distinct_pieces(addresses, access.mask, size, 7)
        lowest = np.where(access.mask, addresses, np.iinfo(np.int64).max).min(axis=1)
        touched = access.mask.any(axis=1)
        records["first_line"] = np.where(touched, lowest >> 6, -1)
        place = np.searchsorted(self._ends, lowest, side="right")
        records["buffer"] = np.where(touched, place, -1)


@numba.njit(cache=True, nogil=True)
def distinct_pieces(
    addresses: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_], size: int, shift: int
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Distinct aligned pieces of ``1 << shift`` bytes that each wave's masked lanes touch.

    Args:
        addresses: int64 [waves, lanes].
        mask: bool [waves, lanes].
        size: bytes per lane.
        shift: binary logarithm of the piece.

    Returns:
        int64 [waves].
    """
    waves, lanes = addresses.shape
    result = np.zeros(waves, np.int64)
    for w in range(waves):
        touched = np.empty(lanes * (1 + (size - 1 >> shift) + 1), np.int64)
        count = 0
        for lane in range(lanes):
            if mask[w, lane]:
                first = addresses[w, lane] >> shift
                last = addresses[w, lane] + size - 1 >> shift
                for piece in range(first, last + 1):
                    touched[count] = piece
                    count += 1
        touched[:count].sort()
        for i in range(count):
            if i == 0 or touched[i] != touched[i - 1]:
                result[w] += 1
    return result


@numba.njit(cache=True, nogil=True)
def lds_turns(
    addresses: npt.NDArray[np.int64],
    mask: npt.NDArray[np.bool_],
    order: npt.NDArray[np.int64],
    group: int,
    dwords: int,
    banks: int,
) -> npt.NDArray[np.int64]:  # pragma: no cover - compiled
    """Turns of the LDS array that each wave's access takes.

    Lanes are served in groups; a group takes as many turns as its busiest bank has different
    dwords. An access that is not aligned to its size (at least a dword) serves one lane per turn.

    Args:
        addresses: int64 [waves, 64], byte offsets.
        mask: bool [waves, 64].
        order: lanes in the order in which they are served.
        group: lanes per group.
        dwords: dwords per lane.
        banks: banks that take part.

    Returns:
        int64 [waves], at least 1 for a wave with an active lane.
    """
    waves = addresses.shape[0]
    result = np.zeros(waves, np.int64)
    alignment = 4 * dwords if dwords != 3 else 4
    for w in range(waves):
        for start in range(0, len(order), group):
            rows = np.full((banks, group * dwords), -1, np.int64)
            used = np.zeros(banks, np.int64)
            turns = 0
            unaligned = 0
            for k in range(start, start + group):
                lane = order[k]
                if not mask[w, lane]:
                    continue
                if dwords > 1 and addresses[w, lane] % alignment != 0:
                    unaligned += 1
                for d in range(dwords):
                    dword = (addresses[w, lane] >> 2) + d
                    bank = dword % banks
                    known = False
                    for i in range(used[bank]):
                        if rows[bank, i] == dword:
                            known = True
                            break
                    if not known:
                        rows[bank, used[bank]] = dword
                        used[bank] += 1
                        turns = max(turns, used[bank])
            result[w] += max(turns, unaligned)
    return result
