"""One compute unit running equal workgroups: cycles, and where every one of them goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .code import Code, Column, Ints
from .constants import Hardware
from .engine import (
    AT,
    CAUSES,
    FLIGHTS,
    PIECE,
    RING,
    SIMD,
    WAVE,
    Cause,
    Floats,
    Log,
    Params,
    Shared,
    Slots,
    run,
)
from .work import Work

ARGUMENTS = "kernarg"
"""What the emulator calls the buffer of the kernel arguments."""
WIDEST_READ = 16 * 64
"""Bytes of a ds_read_b128 of a wave, whose latency the constant is."""


@dataclass(frozen=True)
class MemoryState:
    """How far a compute unit's global accesses go, and what share of the device it has.

    Attributes:
        beyond_l2: fraction of each stream's bytes that leave the L2 [streams].
        to_hbm: fraction that comes from or ends in HBM [streams].
        active: compute units that share fabric, HBM and atomic units, up to ``switch`` and after.
        switch: clock at which the number changes.
        boost: how much more than its equal share a unit gets while it asks for it, because others
            compute at that time.
        arguments: the stream that the kernel arguments are, -1 for none.
    """

    beyond_l2: Floats
    to_hbm: Floats
    active: tuple[int, int] = (256, 256)
    switch: float = float("inf")
    boost: float = 1.0
    arguments: int = -1

    @classmethod
    def uniform(
        cls,
        buffers: Sequence[str],
        beyond_l2: float = 0.0,
        to_hbm: float = 0.0,
        active: int = 256,
    ) -> MemoryState:
        """The same fractions for every buffer."""
        ones = np.ones(max(1, len(buffers)))
        return cls(
            beyond_l2 * ones, to_hbm * ones, (active, active), arguments=arguments_of(buffers)
        )


def arguments_of(buffers: Sequence[str]) -> int:
    """Which of a trace's buffers the kernel arguments are, -1 for none."""
    return buffers.index(ARGUMENTS) if ARGUMENTS in buffers else -1


@dataclass(frozen=True)
class UnitRun:
    """What a compute unit did.

    Attributes:
        clocks: until the last wave has ended and the last store has left the L2.
        groups, waves: workgroups, and waves in each.
        simds: SIMDs of the unit.
        by_instruction: clocks by static instruction and cause, summed over waves.
        by_wave: clocks by wave and cause, from its start to its end.
        span: start and end of every wave.
        issued: issue clocks of the recorded workgroup, by position in the work.
        spent: its clocks by position and cause.
        matrix_clocks: clocks that a matrix pipe was taken, summed over SIMDs.
    """

    clocks: int
    groups: int
    waves: int
    simds: int
    by_instruction: Ints
    by_wave: Ints
    span: Ints
    issued: Ints
    spent: Ints
    matrix_clocks: int

    @property
    def matrix_duty(self) -> float:
        """Fraction of the SIMDs' time that their matrix pipes were taken."""
        return self.matrix_clocks / (self.simds * self.clocks) if self.clocks else 0.0

    @property
    def causes(self) -> Mapping[Cause, int]:
        """Clocks by cause, summed over waves; :data:`Cause.IDLE` is 0 for a wave that runs."""
        totals = self.by_wave.sum(axis=0)
        return {cause: int(totals[cause]) for cause in Cause}


def params_of(hardware: Hardware, memory: MemoryState, clock: float, interval: float) -> Params:
    """The engine's parameters.

    Args:
        clock: GHz.
        interval: clocks between the launches of two workgroups on this unit.
    """
    streams = len(memory.beyond_l2)
    rates = [_rates(hardware, memory, clock, column) for column in (0, 1)]
    rate = np.empty((streams, 9))
    for column, share in enumerate(rates):
        rate[:, column] = memory.beyond_l2 / share["fabric"]
        rate[:, 2 + column] = memory.to_hbm / share["hbm"]
        rate[:, 4 + column] = memory.beyond_l2 / share["fabric_write"]
        rate[:, 6 + column] = memory.to_hbm / share["hbm_write"]
    rate[:, 8] = mean_latency(hardware, memory, clock)
    wide = WIDEST_READ / hardware["lds_bus"]
    wait = hardware["issue_period"]
    return Params(
        period=int(hardware["issue_period"]),
        shared_port=int(hardware["shared_memory_port"]),
        l2_latency=int(hardware["l2_latency"]),
        operand_read=int(hardware["mfma_operand_read"]),
        overlap_earlier=int(wait * (hardware["mfma_result_wait"] - hardware["mfma_overlap_wait"])),
        packed_wait=int(wait * hardware["packed_f32_wait"]),
        vm_limit=int(hardware["vmcnt_limit"]),
        lgkm_limit=int(hardware["lgkmcnt_limit"]),
        lds_tail=int(hardware["lds_latency"] - wide),
        lds_pairs=int(hardware["lds_pairs"]),
        lds_queue=int(hardware["lds_queue"]),
        lds_bus=int(hardware["lds_bus"]),
        lds_write_turn=int(hardware["lds_write_turn"]),
        lds_dma=int(hardware["lds_dma_bandwidth"]),
        vmem_queue=int(hardware["vmem_queue"]),
        in_flight=int(hardware["vmem_in_flight"]),
        tcp=int(hardware["tcp_bandwidth"]),
        tcp_least=int(hardware["tcp_least"]),
        tcp_dwordx2=int(hardware["tcp_dwordx2"]),
        scalar_hit=int(hardware["smem_hit"]),
        scalar_l2=int(hardware["smem_l2"]),
        line_pieces=int(hardware["l2_line"]) // PIECE,
        barrier=int(hardware["barrier_release"]),
        launch_interval=interval,
        atomic_clk=memory.active[0] / hardware["atomic_rate"],
        switch=memory.switch,
        write_buffer=hardware["write_buffer"],
        rate=rate,
        scalar_cold=_scalar_cold(hardware, memory, clock),
    )


def _scalar_cold(hardware: Hardware, memory: MemoryState, clock: float) -> Ints:
    """Clocks of a first scalar load: arguments are new, the rest an earlier kernel left behind."""
    left = hardware["smem_l2"] + hardware["mall_latency"] * clock
    latency = np.full(len(memory.beyond_l2), round(left), np.int64)
    if memory.arguments >= 0:
        latency[memory.arguments] = round(hardware["smem_cold"])
    return latency


def mean_latency(hardware: Hardware, memory: MemoryState, clock: float) -> Floats:
    """Mean latency of each stream: an L2 hit, and nanoseconds beyond it where bytes go further."""
    to_mall = memory.beyond_l2 - memory.to_hbm
    beyond = to_mall * hardware["mall_latency"] + memory.to_hbm * hardware["hbm_latency"]
    latency: Floats = hardware["l2_latency"] + beyond * clock
    return latency


def _rates(
    hardware: Hardware, memory: MemoryState, clock: float, column: int
) -> Mapping[str, float]:
    """Bytes per clock of this unit; TB/s over GHz is KB per clock."""
    active = memory.active[column]
    share = memory.boost * 1000 / clock / active
    written = hbm_part(hardware, active, written=True)
    port, stream = hardware["tcp_bandwidth"], hardware["cu_stream"] / clock
    return {
        "fabric": min(port, hardware["mall_read"] * share),
        "fabric_write": min(port, hardware["mall_write"] * share),
        "hbm": min(stream, hardware["hbm_read"] * hbm_part(hardware, active) * share),
        "hbm_write": min(stream, hardware["hbm_write"] * written * share),
    }


def hbm_part(hardware: Hardware, active: int, *, written: bool = False) -> float:
    """The part of the HBM bandwidth that ``active`` compute units reach, at most 1.

    The law is a parabola; beyond its top and beyond all units of the device it is taken to stay
    where it is, so that more units never reach less.

    Args:
        written: whether bytes are written; reads have another law.
    """
    square, linear = hardware["hbm_read_square"], hardware["hbm_read_linear"]
    if written:
        square, linear = hardware["hbm_write_square"], hardware["hbm_write_linear"]
    units = min(active, hardware["compute_units"], -linear / (2 * square))
    return min(1.0, square * units**2 + linear * units)


def simulate(
    code: Code,
    work: Work,
    hardware: Hardware,
    memory: MemoryState,
    *,
    resident: int,
    groups: int,
    clock: float | None = None,
    interval: float = 0.0,
    record: int = -1,
) -> UnitRun:
    """Run workgroups on one compute unit.

    Args:
        code: the program.
        work: what every workgroup does.
        hardware: the constants.
        memory: see :class:`MemoryState`.
        resident: workgroups that fit at a time.
        groups: workgroups to run.
        clock: GHz; the maximum when left out.
        interval: clocks between two launches on this unit.
        record: the workgroup to record, or -1.

    Raises:
        ValueError: no workgroup to run or resident.
    """
    if resident < 1 or groups < 1:
        raise ValueError(f"resident and groups must be at least 1, got {resident} and {groups}")
    teams, simds = min(resident, groups), int(hardware["simds"])
    params = params_of(hardware, memory, clock or hardware["max_clock"], interval)
    log = _log(code, work, groups, record)
    shared = _idle(simds, params, int(hardware["scalar_cache"]) // PIECE)
    slots = _slots(work, teams, simds, int(hardware["vector_registers"]))
    clocks = int(run(code, work, params, slots, shared, log, groups, record))
    executed = np.bincount(work.step[:, 0], minlength=len(code.table))
    return UnitRun(
        clocks=clocks,
        groups=groups,
        waves=work.waves,
        simds=simds,
        by_instruction=log.by_instruction,
        by_wave=log.by_wave,
        span=log.span,
        issued=log.issued,
        spent=log.spent,
        matrix_clocks=int((executed * code.table[:, Column.PIPE]).sum()) * groups,
    )


@dataclass(frozen=True)
class Simulation:
    """Workgroups on one compute unit, ready to be run; see :func:`simulate`.

    Attributes:
        code, work, memory, resident, groups, clock, interval: as :func:`simulate` takes them.
    """

    code: Code
    work: Work
    memory: MemoryState
    resident: int
    groups: int
    clock: float
    interval: float = 0.0

    def run(self, hardware: Hardware) -> UnitRun:
        """Run them, the first workgroup recorded; the same each time."""
        return simulate(
            self.code, self.work, hardware, self.memory, resident=self.resident,
            groups=self.groups, clock=self.clock, interval=self.interval, record=0,
        )  # fmt: skip


def _log(code: Code, work: Work, groups: int, record: int) -> Log:
    waves, positions = groups * work.waves, len(work.step) if record >= 0 else 0
    return Log(
        np.zeros((len(code.table), CAUSES), np.int64),
        np.zeros((waves, CAUSES), np.int64),
        np.zeros((waves, 2), np.int64),
        np.zeros(positions, np.int64),
        np.zeros((positions, CAUSES), np.int64),
    )


def _idle(simds: int, params: Params, scalar_pieces: int) -> Shared:
    return Shared(
        simd=np.zeros((simds, 9), np.int64),
        unit=np.zeros(10, np.int64),
        lds_left=np.zeros((params.lds_pairs, params.lds_queue), np.int64),
        queue_left=np.zeros((1, params.vmem_queue), np.int64),
        flight=np.zeros((FLIGHTS, 2), np.int64),
        server=np.zeros(7),
        scalar=np.full((scalar_pieces, 4), -1, np.int64),
    )


def _slots(work: Work, teams: int, simds: int, registers: int) -> Slots:
    count = teams * work.waves
    numbers = np.arange(count, dtype=np.int64)
    row = np.zeros((count, 14), np.int64)
    row[:, AT] = -1
    row[:, WAVE] = numbers % work.waves
    row[:, SIMD] = numbers % simds
    return Slots(
        row=row,
        ready=np.zeros((count, registers), np.int64),
        writer=np.full((count, registers), -1, np.int64),
        vm=np.zeros((count, RING), np.int64),
        lgkm=np.zeros((count, RING), np.int64),
        team=np.zeros((teams, 3), np.int64),
    )
