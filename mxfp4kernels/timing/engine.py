"""The compute unit, compiled: picks the wave that can issue first, issues it, moves on.

Waves issue in the order of time, so whatever they share (ports, pipes, queues, memory) is claimed
in that order and its state never has to be taken back. All times are clocks from the start of the
kernel; issue times lie on the four-clock cadence of their SIMD.
"""

# Numba compiles these functions; its decorators are untyped.
# mypy: disable-error-code="untyped-decorator"

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from .code import Code, Column, Ints, Unit
from .work import Field, Work

Floats = npt.NDArray[np.float64]


class Cause(IntEnum):
    """What a wave spends a clock on; every clock of a wave has exactly one cause.

    When several things hold a wave back at once, the clock goes to the first of them in the order
    dependency, counters, front end, MFMA, issue: what lasts long before what lasts a slot or two.
    """

    ISSUE = 0
    DEPENDENCY = 1
    MFMA = 2
    VMCNT = 3
    LGKMCNT = 4
    BARRIER = 5
    NOP = 6
    FRONT_END = 7
    IDLE = 8


class Port(IntEnum):
    """Issue ports of a SIMD, one instruction each per period."""

    VECTOR = 0
    VMEM = 1
    LDS = 2
    SCALAR = 3


CAUSES, PORTS = len(Cause), len(Port)
RING = 64
"""Completion times that are kept of each counter: more than any counter counts."""
FLIGHTS = 4096
"""Loads in flight that are kept: more than fit in flight when each is a single piece."""
NEVER = 1 << 60
TAG = 1024
"""Makes one number of two register numbers: more than there are registers."""
PIECE = 64
"""Bytes in which a trace counts what an access touches."""

# Fields of Slots.row: position in the work (-1 for an empty slot); number of the wave in its
# workgroup; number of the workgroup; SIMD; priority and age for ties; when the wave could issue if
# nothing held it back; when dependencies and counters let it, and the latest of these; whether it
# waits at a barrier; operations counted.
AT, WAVE, GROUP, SIMD, SLOT_PRIORITY, AGE, NEXT, DEPEND = range(8)
COUNTER_VM, COUNTER_LGKM, OWN, PARKED, VM_COUNT, LGKM_COUNT = range(8, 14)
ARRIVED, LIVE, LAST = range(3)
PIPE_FREE, BLOCK = 4, 5
ARRAY, BUS, LDS_COUNT, TCP, QUEUE_COUNT, FLIGHT, FLIGHT_END, FLIGHT_BYTES = 0, 1, 3, 5, 6, 7, 8, 9
OWED, REGARDED = 3, 5
SCALAR_LINE, SCALAR_THERE, PAIR_LINE, PAIR_THERE = range(4)
READS, WRITES, LATENCY_OF = 0, 4, 8
"""Columns of Params.rate: clocks per byte of the fabric before and after the switch, of HBM before
and after, for reads and for writes; latency."""

UNIT = int(Column.UNIT)
HOLD = int(Column.HOLD)
LATENCY = int(Column.LATENCY)
PIPE = int(Column.PIPE)
SCALED = int(Column.SCALED)
VALU_WAIT = int(Column.VALU_WAIT)
VM_WAIT = int(Column.VM_WAIT)
LGKM_WAIT = int(Column.LGKM_WAIT)
PRIORITY = int(Column.PRIORITY)
READ = int(Column.READ)
READ_END = int(Column.READ_END)
WRITE = int(Column.WRITE)
WRITE_END = int(Column.WRITE_END)
SOURCE = int(Column.SOURCE)
SOURCE_END = int(Column.SOURCE_END)
RESULT = int(Column.RESULT)
RESULT_END = int(Column.RESULT_END)
DWORDS = int(Column.DWORDS)
BYTES = int(Field.BYTES)
LANES = int(Field.LANES)
SEGMENTS = int(Field.SEGMENTS)
TURNS = int(Field.TURNS)
STREAM = int(Field.STREAM)
LINE = int(Field.LINE)

_VALU, _PACKED, _MFMA = int(Unit.VALU), int(Unit.PACKED_F32), int(Unit.MFMA)
_SALU, _SMEM = int(Unit.SALU), int(Unit.SMEM)
_LDS_FIRST, _LDS_LAST, _LDS_WRITE = int(Unit.LDS_READ), int(Unit.LDS_MOVE), int(Unit.LDS_WRITE)
_VM_FIRST, _VM_LAST = int(Unit.LOAD), int(Unit.ATOMIC)
_TO_LDS, _STORE, _ATOMIC = int(Unit.LOAD_TO_LDS), int(Unit.STORE), int(Unit.ATOMIC)
_WAIT, _BARRIER, _NOP, _END = int(Unit.WAIT), int(Unit.BARRIER), int(Unit.NOP), int(Unit.END)


class Params(NamedTuple):
    """Constants of one run, in clocks and bytes per clock.

    Attributes:
        period: issue period.
        shared_port: 1 if LDS and vector memory share a port.
        l2_latency: until a store or an atomic is acknowledged.
        operand_read: what an MFMA keeps its SIMD from issuing.
        overlap_earlier: by how much an accumulator input that partly overlaps an MFMA's result is
            there before the result can be read otherwise.
        packed_wait: how long after an MFMA's passes packed f32 has to wait.
        vm_limit, lgkm_limit: what the counters count to.
        lds_tail: from the end of an LDS service to the data.
        lds_pairs, lds_queue, lds_bus, lds_write_turn, lds_dma: see the constants.
        vmem_queue, in_flight, tcp, tcp_least, tcp_dwordx2: vector memory front end.
        scalar_hit, scalar_l2: scalar load latencies.
        line_pieces: 64 B pieces of an L2 line.
        barrier: release after the last arrival.
        launch_interval: clocks between two workgroups that this CU is given.
        atomic_clk: clocks per atomic dword of this CU.
        switch: time at which the memory rates change from column 0 to column 1.
        write_buffer: bytes of this CU's stores that the L2 may hold back.
        rate: of each stream, float64 [streams, 9]: clocks per byte read and written, see
            :data:`READS`, and the latency beyond service.
        scalar_cold: latency of a scalar load that is the first to touch its line, of each stream,
            int64 [streams].
    """

    period: int
    shared_port: int
    l2_latency: int
    operand_read: int
    overlap_earlier: int
    packed_wait: int
    vm_limit: int
    lgkm_limit: int
    lds_tail: int
    lds_pairs: int
    lds_queue: int
    lds_bus: int
    lds_write_turn: int
    lds_dma: int
    vmem_queue: int
    in_flight: int
    tcp: int
    tcp_least: int
    tcp_dwordx2: int
    scalar_hit: int
    scalar_l2: int
    line_pieces: int
    barrier: int
    launch_interval: float
    atomic_clk: float
    switch: float
    write_buffer: float
    rate: Floats
    scalar_cold: Ints


class Shared(NamedTuple):
    """What the waves of a compute unit share.

    Attributes:
        simd: per SIMD when each port is free, when the matrix pipe takes the next MFMA, and until
            when an MFMA keeps VALU, memory, scalar and packed f32 from issuing [simds, 9].
        unit: when the LDS array, the two buses and the vector cache are free, how many entries have
            entered the queues, and the ring of loads in flight: first, end, bytes [10].
        lds_left: when the last entries left each pair's LDS queue [2, queue].
        queue_left: the same for the vector memory queue [1, queue].
        flight: end and bytes of loads in flight, a ring [FLIGHTS, 2].
        server: when the fabric, HBM and the atomic units are free; writes that the fabric and HBM
            still owe, in clocks, and until when that was reckoned [7].
        scalar: what the scalar cache holds, direct mapped: pieces and when they are there, then the
            same for the lines that they brought into the L2 [pieces, 4].
    """

    simd: Ints
    unit: Ints
    lds_left: Ints
    queue_left: Ints
    flight: Ints
    server: Floats
    scalar: Ints


class Slots(NamedTuple):
    """The resident waves.

    Attributes:
        row: per slot the fields below [slots, 14].
        ready: when each vector register can be read [slots, 512].
        writer: start and end of the MFMA result that wrote a register, or -1 [slots, 512].
        vm, lgkm: completion times of the last operations [slots, RING].
        team: per resident workgroup the waves at its barrier, alive, and the latest arrival
            [workgroups, 3].
    """

    row: Ints
    ready: Ints
    writer: Ints
    vm: Ints
    lgkm: Ints
    team: Ints


class Log(NamedTuple):
    """What a run leaves behind.

    Attributes:
        by_instruction: clocks by static instruction and cause [instructions, causes].
        by_wave: clocks by wave and cause [workgroups * waves, causes].
        span: start and end of each wave [workgroups * waves, 2].
        issued: issue time of each position of the recorded workgroup [positions].
        spent: clocks by position and cause of the recorded workgroup [positions, causes].
    """

    by_instruction: Ints
    by_wave: Ints
    span: Ints
    issued: Ints
    spent: Ints


@numba.njit(cache=True, nogil=True)
def serve(
    free: float, start: float, amount: float, slow: float, fast: float, switch: float
) -> float:  # pragma: no cover - compiled
    """When a server is done with ``amount`` that arrives at ``start``.

    A unit of work takes ``slow`` clocks until ``switch`` and ``fast`` clocks from then on.
    """
    begin = max(free, start)
    if begin >= switch:
        return begin + amount * fast
    if slow <= 0 or begin + amount * slow <= switch:
        return begin + amount * slow
    return switch + (amount - (switch - begin) / slow) * fast


@numba.njit(cache=True, nogil=True)
def _enter(
    s: Slots, p: Params, slot: int, code: Code, work: Work
) -> None:  # pragma: no cover - compiled
    """Work out what the wave's next instruction waits for by itself."""
    at = s.row[slot, AT]
    i = work.step[at, 0]
    depend = 0
    for k in range(code.table[i, READ], code.table[i, READ_END]):
        depend = max(depend, s.ready[slot, code.read[k]])
    first, end = code.table[i, SOURCE], code.table[i, SOURCE_END]
    if first >= 0:
        depend = max(depend, _accumulator(s, p, slot, first, end))
    else:
        for k in range(code.table[i, WRITE], code.table[i, WRITE_END]):
            depend = max(depend, s.ready[slot, code.write[k]])
    s.row[slot, DEPEND] = depend = max(0, depend - code.table[i, SCALED])
    s.row[slot, COUNTER_VM] = _fallen(s.vm, slot, s.row[slot, VM_COUNT], code.table[i, VM_WAIT])
    s.row[slot, COUNTER_LGKM] = _fallen(
        s.lgkm, slot, s.row[slot, LGKM_COUNT], code.table[i, LGKM_WAIT]
    )
    s.row[slot, OWN] = max(
        s.row[slot, NEXT], depend, s.row[slot, COUNTER_VM], s.row[slot, COUNTER_LGKM]
    )


@numba.njit(cache=True, nogil=True)
def _accumulator(
    s: Slots, p: Params, slot: int, first: int, end: int
) -> int:  # pragma: no cover - compiled
    """When the third source of an MFMA is there: at once if it is exactly an MFMA's result."""
    same = True
    latest = 0
    for register in range(first, end):
        writer = s.writer[slot, register]
        same = same and writer == first * TAG + end
        early = p.overlap_earlier if writer >= 0 else 0
        latest = max(latest, s.ready[slot, register] - early)
    return 0 if same else int(latest)


@numba.njit(cache=True, nogil=True)
def _fallen(
    times: Ints, slot: int, count: int, threshold: int
) -> int:  # pragma: no cover - compiled
    """When a counter has fallen to a threshold."""
    if threshold < 0 or count <= threshold:
        return 0
    return int(times[slot, (count - threshold - 1) % RING])


@numba.njit(cache=True, nogil=True)
def _holds(
    s: Slots, c: Shared, p: Params, code: Code, slot: int, i: int, hold: Ints
) -> int:  # pragma: no cover - compiled
    """Fill ``hold`` with when dependency, vmcnt, lgkmcnt, front end, MFMA and port let go.

    Returns the first clock of the SIMD's cadence at which the wave can issue.
    """
    unit, simd = code.table[i, UNIT], s.row[slot, SIMD]
    hold[0], hold[1], hold[2] = (
        s.row[slot, DEPEND],
        s.row[slot, COUNTER_VM],
        s.row[slot, COUNTER_LGKM],
    )
    hold[4] = hold[3] = hold[5] = 0
    if unit == _MFMA:
        hold[4] = c.simd[simd, PIPE_FREE]
        hold[5] = c.simd[simd, 0]
    elif unit <= _PACKED:
        hold[4] = max(c.simd[simd, BLOCK], c.simd[simd, BLOCK + 3] if unit == _PACKED else 0)
        hold[5] = c.simd[simd, 0]
    elif unit <= _SMEM:
        hold[4] = c.simd[simd, BLOCK + 2]
        hold[5] = c.simd[simd, 3]
    elif unit <= _LDS_LAST:
        pair = simd % p.lds_pairs
        hold[4] = c.simd[simd, BLOCK + 1]
        hold[3] = _queue_free(c.lds_left, pair, c.unit[LDS_COUNT + pair], p.lds_queue)
        hold[3] = max(hold[3], _fallen(s.lgkm, slot, s.row[slot, LGKM_COUNT], p.lgkm_limit - 1))
        hold[5] = c.simd[simd, 2]
    elif unit <= _VM_LAST:
        hold[4] = c.simd[simd, BLOCK + 1]
        hold[3] = _queue_free(c.queue_left, 0, c.unit[QUEUE_COUNT], p.vmem_queue)
        hold[3] = max(hold[3], _fallen(s.vm, slot, s.row[slot, VM_COUNT], p.vm_limit - 1))
        hold[5] = c.simd[simd, 2 if p.shared_port else 1]
    else:
        hold[4] = c.simd[simd, BLOCK + 2]
    time = max(s.row[slot, OWN], hold[3], hold[4], hold[5])
    return int(time + (simd - time) % p.period)


@numba.njit(cache=True, nogil=True)
def _queue_free(left: Ints, row: int, count: int, size: int) -> int:  # pragma: no cover - compiled
    """When the entry ``size`` before the next one has left the queue."""
    return int(left[row, count % size]) if count >= size else 0


@numba.njit(cache=True, nogil=True)
def _issue_matrix(
    c: Shared, p: Params, code: Code, i: int, simd: int, time: int
) -> int:  # pragma: no cover - compiled
    """Occupy the pipe; returns when the MFMA proper starts, behind its scale fetch."""
    start = time + code.table[i, SCALED]
    free = start + p.operand_read
    c.simd[simd, PIPE_FREE] = time + code.table[i, PIPE]
    c.simd[simd, BLOCK] = free + code.table[i, VALU_WAIT]
    c.simd[simd, BLOCK + 1] = free
    c.simd[simd, BLOCK + 2] = start + p.period
    c.simd[simd, BLOCK + 3] = start + code.table[i, PIPE] + p.packed_wait
    return int(start)


@numba.njit(cache=True, nogil=True)
def _issue_lds(
    c: Shared, p: Params, work: Work, access: int, unit: int, simd: int, time: int
) -> int:  # pragma: no cover - compiled
    """Pass the array and the pair's bus; returns when the data is there."""
    pair = simd % p.lds_pairs
    turns = work.access[access, TURNS] * (p.lds_write_turn if unit == _LDS_WRITE else 1)
    begin = max(time, c.unit[ARRAY])
    c.unit[ARRAY] = begin + turns
    carried = max(begin, c.unit[BUS + pair]) + -(-work.access[access, BYTES] // p.lds_bus)
    c.unit[BUS + pair] = carried
    done = max(c.unit[ARRAY], carried)
    c.lds_left[pair, c.unit[LDS_COUNT + pair] % p.lds_queue] = done
    c.unit[LDS_COUNT + pair] += 1
    return int(done + p.lds_tail)


@numba.njit(cache=True, nogil=True)
def _issue_vector_memory(
    c: Shared, p: Params, work: Work, access: int, unit: int, time: int, wide: bool
) -> int:  # pragma: no cover - compiled
    """Wait for the cache and for room in flight; returns when the counter falls."""
    bytes_, stream = work.access[access, BYTES], work.access[access, STREAM]
    service = max(p.tcp_least, work.access[access, SEGMENTS] * PIECE // p.tcp)
    if wide:
        service = max(service, p.tcp_dwordx2)
    begin = max(time, c.unit[TCP])
    if unit <= _TO_LDS:
        begin = _room(c, p, begin, bytes_)
    c.queue_left[0, c.unit[QUEUE_COUNT] % p.vmem_queue] = begin
    c.unit[QUEUE_COUNT] += 1
    c.unit[TCP] = begin + service
    done = float(c.unit[TCP])
    if stream < 0:
        return int(done)
    if unit == _ATOMIC:
        c.server[2] = max(c.server[2], done) + work.access[access, LANES] * p.atomic_clk
        done = max(done, c.server[2])
    elif unit == _STORE:
        done = max(done, _write_back(c, p, stream, bytes_, begin))
    else:
        done = max(done, _memory(c, p, READS, stream, bytes_, begin))
    done = np.ceil(done + (p.l2_latency if unit >= _STORE else p.rate[stream, LATENCY_OF]))
    if unit <= _TO_LDS:
        k = c.unit[FLIGHT_END]
        c.flight[k % FLIGHTS, 0], c.flight[k % FLIGHTS, 1] = int(done), bytes_
        c.unit[FLIGHT_END] = k + 1
        c.unit[FLIGHT_BYTES] += bytes_
    if unit == _TO_LDS:
        c.unit[ARRAY] = max(c.unit[ARRAY], time) + -(-bytes_ // p.lds_dma)
    return int(done)


@numba.njit(cache=True, nogil=True)
def _memory(
    c: Shared, p: Params, column: int, stream: int, bytes_: int, begin: int
) -> float:  # pragma: no cover - compiled
    """Pass this CU's share of the fabric and of HBM."""
    for k in range(2):
        _pay(c, k, begin)
        slow, fast = p.rate[stream, column + 2 * k], p.rate[stream, column + 2 * k + 1]
        c.server[k] = serve(c.server[k], begin, bytes_, slow, fast, p.switch)
    return float(max(c.server[0], c.server[1]))


@numba.njit(cache=True, nogil=True)
def _pay(c: Shared, k: int, time: int) -> None:  # pragma: no cover - compiled
    """Let a server write back what it owes in the clocks that it had nothing to read."""
    idle = time - max(c.server[k], c.server[REGARDED + k])
    if idle > 0:
        c.server[OWED + k] = max(0.0, c.server[OWED + k] - idle)
    c.server[REGARDED + k] = max(c.server[REGARDED + k], float(time))


@numba.njit(cache=True, nogil=True)
def _write_back(
    c: Shared, p: Params, stream: int, bytes_: int, begin: int
) -> float:  # pragma: no cover - compiled
    """Leave stores in the L2, which writes them back later; wait if it holds too many."""
    done = float(begin)
    for k in range(2):
        _pay(c, k, begin)
        column = WRITES + 2 * k + (1 if begin >= p.switch else 0)
        c.server[OWED + k] += bytes_ * p.rate[stream, column]
        excess = c.server[OWED + k] - p.write_buffer * p.rate[stream, column]
        if excess > 0:
            c.server[k] = max(c.server[k], float(begin)) + excess
            c.server[OWED + k] -= excess
            done = max(done, c.server[k])
    return done


@numba.njit(cache=True, nogil=True)
def _room(c: Shared, p: Params, begin: int, bytes_: int) -> int:  # pragma: no cover - compiled
    """When enough loads have come back for ``bytes_`` more in flight."""
    while c.unit[FLIGHT] < c.unit[FLIGHT_END]:
        first = c.unit[FLIGHT] % FLIGHTS
        oldest = c.flight[first, 0]
        if oldest > begin:
            if c.unit[FLIGHT_BYTES] + bytes_ <= p.in_flight:
                break
            begin = oldest
        c.unit[FLIGHT_BYTES] -= c.flight[first, 1]
        c.unit[FLIGHT] += 1
    return begin


@numba.njit(cache=True, nogil=True)
def _scalar_data(
    p: Params, c: Shared, line: int, cold: int, time: int
) -> int:  # pragma: no cover - compiled
    """When a scalar load's 64 B piece is there: from the scalar cache, the L2, or beyond.

    ``cold`` is what it takes from beyond the L2, 0 if it must be in the L2 by now. A piece on its
    way is there no earlier for whoever asks for it next, nor is the rest of its line in the L2.
    """
    whole = line // p.line_pieces
    at, pair = line % len(c.scalar), whole % len(c.scalar)
    if c.scalar[at, SCALAR_LINE] == line:
        return int(max(time + p.scalar_hit, c.scalar[at, SCALAR_THERE]))
    if cold and c.scalar[pair, PAIR_LINE] != whole:
        done = time + cold
        c.scalar[pair, PAIR_LINE], c.scalar[pair, PAIR_THERE] = whole, done
    else:
        done = time + p.scalar_l2
        if c.scalar[pair, PAIR_LINE] == whole:
            done = max(done, c.scalar[pair, PAIR_THERE])
    c.scalar[at, SCALAR_LINE], c.scalar[at, SCALAR_THERE] = line, done
    return int(done)


@numba.njit(cache=True, nogil=True)
def _complete(
    row: Ints, times: Ints, counter: int, slot: int, done: int
) -> None:  # pragma: no cover - compiled
    """Count an operation; a counter falls in the order of issue."""
    count = row[slot, counter]
    if count > 0:
        done = max(done, times[slot, (count - 1) % RING])
    times[slot, count % RING] = done
    row[slot, counter] = count + 1


@numba.njit(cache=True, nogil=True)
def _attribute(
    s: Slots, log: Log, slot: int, hold: Ints, time: int, i: int, place: int
) -> None:  # pragma: no cover - compiled
    """Split the clocks between ``NEXT`` and the issue among their causes."""
    causes = (1, 3, 4, 7, 2, 0)
    row = s.row[slot, GROUP] * (len(s.row) // len(s.team)) + s.row[slot, WAVE]
    cursor = s.row[slot, NEXT]
    for k in range(6):
        if hold[k] > cursor:
            _spend(log, row, i, place, causes[k], hold[k] - cursor)
            cursor = hold[k]
    _spend(log, row, i, place, 0, time - cursor)


@numba.njit(cache=True, nogil=True)
def _spend(
    log: Log, row: int, i: int, place: int, cause: int, clocks: int
) -> None:  # pragma: no cover - compiled
    log.by_instruction[i, cause] += clocks
    log.by_wave[row, cause] += clocks
    if place >= 0:
        log.spent[place, cause] += clocks


@numba.njit(cache=True, nogil=True)
def _settle(
    s: Slots,
    c: Shared,
    p: Params,
    code: Code,
    work: Work,
    slot: int,
    i: int,
    time: int,
) -> int:  # pragma: no cover - compiled
    """Claim what the instruction uses; returns for how long it occupies its wave."""
    unit, simd, hold = code.table[i, UNIT], s.row[slot, SIMD], code.table[i, HOLD]
    access = work.step[s.row[slot, AT], 1]
    start = time
    if unit == _MFMA:
        start = _issue_matrix(c, p, code, i, simd, time)
        hold += start - time
        c.simd[simd, 0] = time + hold
    elif unit <= _PACKED:
        c.simd[simd, 0] = time + hold
    elif unit <= _SMEM:
        c.simd[simd, 3] = time + hold
        if unit == _SMEM and access >= 0:
            # What the first workgroups have asked for is in the L2 when later ones begin.
            early = s.row[slot, GROUP] < len(s.team)
            cold = p.scalar_cold[work.access[access, STREAM]] if early else 0
            done = _scalar_data(p, c, work.access[access, LINE], cold, time)
            _complete(s.row, s.lgkm, LGKM_COUNT, slot, done)
    elif unit <= _LDS_LAST:
        c.simd[simd, 2] = time + hold
        done = _issue_lds(c, p, work, access, unit, simd, time)
        _complete(s.row, s.lgkm, LGKM_COUNT, slot, done)
    elif unit <= _VM_LAST:
        c.simd[simd, 2 if p.shared_port else 1] = time + hold
        wide = unit <= _TO_LDS and code.table[i, DWORDS] == 2
        done = _issue_vector_memory(c, p, work, access, unit, time, wide)
        _complete(s.row, s.vm, VM_COUNT, slot, done)
    if code.table[i, PRIORITY] >= 0:
        s.row[slot, SLOT_PRIORITY] = code.table[i, PRIORITY]
    _write(s, code, slot, i, start)
    return int(hold)


@numba.njit(cache=True, nogil=True)
def _write(s: Slots, code: Code, slot: int, i: int, start: int) -> None:  # pragma: no cover
    """Note when the results can be read, and which MFMA made them."""
    tag = -1
    if code.table[i, UNIT] == _MFMA:
        tag = code.table[i, RESULT] * TAG + code.table[i, RESULT_END]
    for k in range(code.table[i, WRITE], code.table[i, WRITE_END]):
        s.ready[slot, code.write[k]] = (
            start + code.table[i, LATENCY] if code.table[i, LATENCY] else 0
        )
        s.writer[slot, code.write[k]] = tag


@numba.njit(cache=True, nogil=True)
def _release(
    s: Slots, p: Params, log: Log, code: Code, work: Work, team: int, waves: int, record: int
) -> None:  # pragma: no cover - compiled
    """Let a workgroup pass its barrier if all its live waves are there."""
    if s.team[team, ARRIVED] == 0 or s.team[team, ARRIVED] < s.team[team, LIVE]:
        return
    time = s.team[team, LAST] + p.barrier
    for slot in range(team * waves, (team + 1) * waves):
        if s.row[slot, AT] < 0 or not s.row[slot, PARKED]:
            continue
        i = work.step[s.row[slot, AT], 0]
        place = s.row[slot, AT] if s.row[slot, GROUP] == record else -1
        _spend(
            log,
            s.row[slot, GROUP] * waves + s.row[slot, WAVE],
            i,
            place,
            5,
            time - s.row[slot, NEXT],
        )
        s.row[slot, NEXT] = time
        s.row[slot, PARKED] = 0
        s.row[slot, AT] += 1
        _enter(s, p, slot, code, work)
    s.team[team, ARRIVED] = s.team[team, LAST] = 0


@numba.njit(cache=True, nogil=True)
def _begin(
    s: Slots,
    p: Params,
    log: Log,
    code: Code,
    work: Work,
    team: int,
    group: int,
    waves: int,
    time: int,
) -> None:  # pragma: no cover - compiled
    """Place a workgroup on its slots."""
    s.team[team, LIVE], s.team[team, ARRIVED], s.team[team, LAST] = waves, 0, 0
    for slot in range(team * waves, (team + 1) * waves):
        s.row[slot, AT], s.row[slot, GROUP] = work.start[s.row[slot, WAVE]], group
        s.row[slot, NEXT], s.row[slot, AGE] = time, group * waves + s.row[slot, WAVE]
        s.row[slot, SLOT_PRIORITY] = s.row[slot, PARKED] = s.row[slot, VM_COUNT] = s.row[
            slot, LGKM_COUNT
        ] = 0
        s.ready[slot, :] = 0
        s.writer[slot, :] = -1
        log.span[group * waves + s.row[slot, WAVE], 0] = time
        _enter(s, p, slot, code, work)


@numba.njit(cache=True, nogil=True)
def _pick(
    s: Slots, c: Shared, p: Params, code: Code, work: Work, hold: Ints
) -> tuple[int, int]:  # pragma: no cover - compiled
    """The slot that issues next and when: the earliest, within a period by :func:`_before`."""
    best, best_time = -1, NEVER
    for slot in range(len(s.row)):
        if s.row[slot, AT] < 0 or s.row[slot, PARKED] or s.row[slot, OWN] >= best_time + p.period:
            continue
        i = work.step[s.row[slot, AT], 0]
        time = _holds(s, c, p, code, slot, i, hold)
        later = time - best_time
        near = abs(later) < p.period
        if best < 0 or (_before(s, code, work, slot, best) if near else later < 0):
            best, best_time = slot, time
    return best, best_time


@numba.njit(cache=True, nogil=True)
def _before(s: Slots, code: Code, work: Work, one: int, other: int) -> bool:  # pragma: no cover
    """Whether ``one`` goes first in the same period: priority, MFMA, longest ready, oldest."""
    if s.row[one, SLOT_PRIORITY] != s.row[other, SLOT_PRIORITY]:
        return bool(s.row[one, SLOT_PRIORITY] > s.row[other, SLOT_PRIORITY])
    matrix = code.table[work.step[s.row[one, AT], 0], UNIT] == _MFMA
    if matrix != (code.table[work.step[s.row[other, AT], 0], UNIT] == _MFMA):
        return bool(matrix)
    if s.row[one, OWN] != s.row[other, OWN]:
        return bool(s.row[one, OWN] < s.row[other, OWN])
    return bool(s.row[one, AGE] < s.row[other, AGE])


@numba.njit(cache=True, nogil=True)
def _drained(c: Shared, end: int) -> int:  # pragma: no cover - compiled
    """When the last write has left the L2 and the last atomic is done, too.

    A kernel ends with its output visible.
    """
    end = max(end, int(np.ceil(c.server[2])))
    for k in range(2):
        _pay(c, k, end)
        end = max(end, int(np.ceil(max(c.server[k], float(end)) + c.server[OWED + k])))
    return end


@numba.njit(cache=True, nogil=True)
def run(
    code: Code, work: Work, p: Params, s: Slots, c: Shared, log: Log, groups: int, record: int
) -> int:  # pragma: no cover - compiled
    """Run ``groups`` equal workgroups on one compute unit; returns when all is done and written.

    Args:
        s: empty slots, as many as waves are resident.
        c: idle shared state.
        log: zeros; filled.
        groups: workgroups.
        record: the workgroup whose positions are recorded, or -1.
    """
    waves = len(work.start) - 1
    teams = len(s.team)
    hold = np.zeros(6, np.int64)
    begun = 0
    for team in range(min(teams, groups)):
        _begin(s, p, log, code, work, team, begun, waves, int(begun * p.launch_interval))
        begun += 1
    end = 0
    while True:
        slot, time = _pick(s, c, p, code, work, hold)
        if slot < 0:
            return _drained(c, end)
        i = work.step[s.row[slot, AT], 0]
        _holds(s, c, p, code, slot, i, hold)
        place = s.row[slot, AT] if s.row[slot, GROUP] == record else -1
        row = s.row[slot, GROUP] * waves + s.row[slot, WAVE]
        _attribute(s, log, slot, hold, time, i, place)
        if place >= 0:
            log.issued[place] = time
        taken = _settle(s, c, p, code, work, slot, i, time)
        fetch = code.table[i, SCALED]
        _spend(log, row, i, place, 2, fetch)
        _spend(log, row, i, place, 6 if code.table[i, UNIT] == _NOP else 0, taken - fetch)
        s.row[slot, NEXT] = time + taken
        team = slot // waves
        if code.table[i, UNIT] == _BARRIER:
            s.row[slot, PARKED] = 1
            s.team[team, ARRIVED] += 1
            s.team[team, LAST] = max(s.team[team, LAST], s.row[slot, NEXT])
            _release(s, p, log, code, work, team, waves, record)
        elif code.table[i, UNIT] == _END:
            log.span[row, 1] = s.row[slot, NEXT]
            end = max(end, s.row[slot, NEXT])
            s.row[slot, AT] = -1
            s.team[team, LIVE] -= 1
            if s.team[team, LIVE] > 0:
                _release(s, p, log, code, work, team, waves, record)
            elif begun < groups:
                start = max(s.row[slot, NEXT], int(begun * p.launch_interval))
                _begin(s, p, log, code, work, team, begun, waves, start)
                begun += 1
        else:
            s.row[slot, AT] += 1
            _enter(s, p, slot, code, work)
