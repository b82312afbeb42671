"""The state of a batch of waves that sit at one instruction.

All waves of a batch execute an instruction together, as one numpy operation over
``[waves, 64]`` lanes; a batch is split when a scalar branch parts its waves and joined again when
they meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.memory import Memory

if TYPE_CHECKING:
    from mxfp4kernels.emulator.flights import Flights

LANES = 64
VCC, M0, EXEC = 106, 124, 126
SGPR_ROWS = 128
"""Rows of the scalar file: s0..s101, then the special registers at their encoded numbers."""
REGISTER_POISON = 0x7FA1DEAD
"""Content of a register that nothing has written: a signalling NaN as f32."""


@dataclass(frozen=True)
class Layout:
    """Where registers live in the vector file: VGPRs first, then AGPRs.

    Attributes:
        vgprs: rows that hold VGPRs.
        agprs: rows that hold AGPRs.
    """

    vgprs: int
    agprs: int

    @property
    def rows(self) -> int:
        """Rows of the vector file."""
        return self.vgprs + self.agprs


@dataclass(frozen=True)
class Mode:
    """The part of the MODE register that changes results; its IEEE bit is taken as set.

    Attributes:
        denorm32, denorm64: two bits each, for f32 and for f16 and f64: bit 0 keeps denormal
            inputs, bit 1 keeps denormal results; a clear bit flushes them to zero.
        dx10_clamp: a clamped NaN becomes 0.
    """

    denorm32: int = 3
    denorm64: int = 3
    dx10_clamp: bool = True


@dataclass(frozen=True)
class Scratch:
    """Private memory: ``size`` bytes per lane, lane after lane from ``address`` on."""

    address: int = 0
    size: int = 0


class Waves:
    """Registers and program counter of a batch of waves.

    Attributes:
        ids: int64 [waves], position of each wave in the launch's batch, ascending.
        slots: int64 [waves], the LDS slot of each wave's workgroup.
        pc: index of the next instruction; one for the whole batch.
        v: uint32 [rows, waves, 64]; ``vf`` and ``vi`` are its float32 and int32 views.
        s: uint32 [128, waves, 1]; ``sf`` and ``si`` likewise.
        scc: bool [waves, 1].
        lanes: bool [waves, 64], EXEC as a mask; ``full`` when every bit of it is set.
        lds: uint8 [slots, bytes], shared between the batches of a launch.
        memory: global memory, shared likewise.
        flights: memory instructions in flight; only the sanitizer has any.
        mode: the floating-point mode; one for the whole batch.
        scratch: where private memory lies.
        executed: int64 [waves], instructions that each wave has executed.
    """

    def __init__(
        self,
        ids: npt.NDArray[np.int64],
        slots: npt.NDArray[np.int64],
        v: npt.NDArray[np.uint32],
        s: npt.NDArray[np.uint32],
        scc: npt.NDArray[np.bool_],
        lds: npt.NDArray[np.uint8],
        memory: Memory,
        pc: int = 0,
        mode: Mode = Mode(),
        scratch: Scratch = Scratch(),
        executed: npt.NDArray[np.int64] | None = None,
    ) -> None:
        self.ids, self.slots, self.pc, self.mode = ids, slots, pc, mode
        self.scratch = scratch
        self.executed = np.zeros(len(ids), np.int64) if executed is None else executed
        self.v, self.vf, self.vi = v, v.view(np.float32), v.view(np.int32)
        self.s, self.sf, self.si = s, s.view(np.float32), s.view(np.int32)
        self.scc = scc
        self.lds, self.memory = lds, memory
        self.flights: Flights | None = None
        self.exec_changed()

    @property
    def count(self) -> int:
        """Waves in the batch."""
        return len(self.ids)

    def exec_changed(self) -> None:
        """Recompute the lane mask after a write to EXEC."""
        self.lanes = self.mask(EXEC)
        self.full = bool((self.s[EXEC : EXEC + 2] == 0xFFFFFFFF).all())

    def mask(self, row: int) -> npt.NDArray[np.bool_]:
        """The 64-bit mask in scalar rows ``row`` and ``row + 1``, bool [waves, 64]."""
        words = np.ascontiguousarray(self.s[row : row + 2, :, 0].T)
        return np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").view(np.bool_)

    def set_mask(self, row: int, mask: npt.NDArray[np.bool_]) -> None:
        """Write bool [waves, 64] to scalar rows ``row`` and ``row + 1``."""
        words = np.packbits(mask, axis=1, bitorder="little").view(np.uint32)
        self.s[row, :, 0] = words[:, 0]
        self.s[row + 1, :, 0] = words[:, 1]

    def read64(self, row: int) -> npt.NDArray[np.uint64]:
        """Scalar rows ``row`` and ``row + 1`` as uint64 [waves, 1]."""
        low, high = self.s[row].astype(np.uint64), self.s[row + 1].astype(np.uint64)
        value: npt.NDArray[np.uint64] = low | high << np.uint64(32)
        return value

    def write64(self, row: int, value: npt.NDArray[np.uint64]) -> None:
        """Write uint64 [waves, 1] to scalar rows ``row`` and ``row + 1``."""
        self.s[row] = value.astype(np.uint32)
        self.s[row + 1] = (value >> np.uint64(32)).astype(np.uint32)

    def take(self, chosen: npt.NDArray[np.bool_]) -> Waves:
        """The chosen waves as a batch of their own, at the same instruction."""
        part = Waves(
            self.ids[chosen],
            self.slots[chosen],
            np.ascontiguousarray(self.v[:, chosen]),
            np.ascontiguousarray(self.s[:, chosen]),
            self.scc[chosen],
            self.lds,
            self.memory,
            self.pc,
            self.mode,
            self.scratch,
            self.executed[chosen],
        )
        part.flights = None if self.flights is None else self.flights.take(chosen)
        return part


def join(batches: Sequence[Waves]) -> Waves:
    """Batches at one instruction as one batch, waves in ascending order."""
    if len(batches) == 1:
        return batches[0]
    ids = np.concatenate([b.ids for b in batches])
    order = np.argsort(ids, kind="stable")
    whole = Waves(
        ids[order],
        np.concatenate([b.slots for b in batches])[order],
        np.ascontiguousarray(np.concatenate([b.v for b in batches], axis=1)[:, order]),
        np.ascontiguousarray(np.concatenate([b.s for b in batches], axis=1)[:, order]),
        np.concatenate([b.scc for b in batches])[order],
        batches[0].lds,
        batches[0].memory,
        batches[0].pc,
        batches[0].mode,
        batches[0].scratch,
        np.concatenate([b.executed for b in batches])[order],
    )
    flights = [b.flights for b in batches if b.flights is not None]
    if flights:
        whole.flights = flights[0].joined(flights[1:], order)
    return whole
