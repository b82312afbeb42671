"""A whole launch on the device: units with different loads, bandwidth, clock, fixed cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .code import Code, Column, Unit
from .constants import Hardware
from .engine import Cause, Floats
from .traffic import A, B, Tiles, Traffic, traffic_of
from .unit import MemoryState, UnitRun, hbm_part, mean_latency, simulate
from .work import Field, Work

CLOCK_STEPS = 3
CLOCK_TOLERANCE = 0.02
"""GHz between two steps below which the clock has settled."""
MOST_BOOST = 8.0
"""More than any unit can take of the fabric or of HBM: its own limits hold then."""
SATURATED = 0.85
"""Part of a launch's time that a server must be busy to be called what bounds it."""
LAUNCH_BOUND, MEMORY_CAUSES = "launch", (Cause.VMCNT, Cause.FRONT_END)


@dataclass(frozen=True)
class Kernel:
    """A kernel ready to be timed.

    Attributes:
        code: the program.
        works: what a workgroup does, by the number of tiles that it makes; 1 at least, and two
            larger numbers for a persistent kernel.
        buffers: names of its global buffers.
        resident: workgroups that fit on a compute unit.
    """

    code: Code
    works: Mapping[int, Work]
    buffers: Sequence[str]
    resident: int


@dataclass(frozen=True)
class Estimate:
    """The modelled time of one launch.

    Attributes:
        us: kernel time, fixed cost included.
        clocks: of the compute unit with the most work.
        clock: GHz.
        tile_clocks: clocks of that unit per tile that it makes.
        tiles_per_unit: tiles of that unit.
        bound: what bounds it: ``hbm``, ``fabric``, ``atomics``, ``launch``, or the waves' most
            frequent cause.
        causes: microseconds of the launch by cause, in proportion to the waves' clocks.
        run: the last simulation behind it.
        busy: part of the time that fabric, HBM and atomic units are busy.
    """

    us: float
    clocks: float
    clock: float
    tile_clocks: float
    tiles_per_unit: int
    bound: str
    causes: Mapping[Cause, float]
    run: UnitRun = field(repr=False)
    busy: Mapping[str, float]


def operand_of(buffer: str) -> int | None:
    """Whether a buffer is part of A, of B, or neither.

    Names are those of the kernels' parameters: weights and their scales are B, activations and
    theirs A.
    """
    if buffer.startswith("w"):
        return B
    return A if buffer.startswith(("a_", "hidden")) else None


def memory_state(
    buffers: Sequence[str],
    traffic: Traffic,
    active: tuple[int, int],
    switch: float = float("inf"),
    boost: float = 1.0,
) -> MemoryState:
    """How far each buffer's accesses go: operands as replayed, outputs to HBM, the rest L2."""
    beyond, hbm = np.zeros(len(buffers)), np.zeros(len(buffers))
    for number, name in enumerate(buffers):
        operand = operand_of(name)
        if operand is not None:
            beyond[number], hbm[number] = traffic.beyond_l2(operand), traffic.to_hbm(operand)
        elif name.startswith("out"):
            beyond[number] = hbm[number] = 1.0
    return MemoryState(beyond, hbm, active, switch, boost)


@dataclass(frozen=True)
class Load:
    """How many tiles or workgroups the units get: ``most`` for ``heavy`` of ``active`` units."""

    most: int
    heavy: int
    active: int


def load_of(tiles: int, hardware: Hardware) -> Load:
    """Spread tiles over XCDs by number and over the units of each XCD in turn."""
    units, xcds = int(hardware["compute_units"]), int(hardware["xcds"])
    per_xcd = units // xcds
    counts = [tiles // xcds + (x < tiles % xcds) for x in range(xcds)]
    most = max(-(-count // per_xcd) for count in counts)
    heavy = sum(max(0, count - (most - 1) * per_xcd) for count in counts)
    return Load(most, heavy, min(units, tiles))


def estimate(
    kernel: Kernel,
    tiles: Tiles,
    hardware: Hardware,
    traffic: Traffic,
    clock: float | None = None,
) -> Estimate:
    """Time a launch.

    Args:
        traffic: of the same tiles, see :func:`traffic_for`.
        clock: GHz to start from; the maximum when left out.

    Raises:
        ValueError: a launch without tiles.
    """
    if tiles.count == 0:
        raise ValueError("a launch needs at least one tile")
    load = load_of(tiles.count, hardware)
    clock = hardware["max_clock"] if clock is None else clock
    for _ in range(CLOCK_STEPS):
        case = _Case(kernel, tiles, load, hardware, traffic, clock)
        clocks, run = case.balanced()
        new = clock_of(hardware, run.matrix_duty * load.active / hardware["compute_units"])
        if abs(new - clock) < CLOCK_TOLERANCE:
            break
        clock = new
    launch = tiles.grid / hardware["xcds"] * hardware["workgroup_launch"]
    total = max(clocks, launch)
    us = total / case.clock / 1000
    busy = case.busy(total)
    share = {cause: us * n / max(1, run.by_wave.sum()) for cause, n in run.causes.items()}
    return Estimate(
        us=us + hardware["kernel_fixed"],
        clocks=total,
        clock=case.clock,
        tile_clocks=total / load.most,
        tiles_per_unit=load.most,
        bound=LAUNCH_BOUND if launch > clocks else _bound(busy, share),
        causes=share,
        run=run,
        busy=busy,
    )


def traffic_for(kernel: Kernel, tiles: Tiles, hardware: Hardware) -> Traffic:
    """The launch's traffic with as many workgroups side by side as fit."""
    units, xcds = int(hardware["compute_units"]), int(hardware["xcds"])
    return traffic_of(tiles, xcds, units // xcds * kernel.resident)


def clock_of(hardware: Hardware, duty: float) -> float:
    """GHz at a matrix duty: the power-limited law, never above the maximum.

    Fitted by its author between 68 and 95 % duty on two bf16 kernels; used below and for FP4 too.
    """
    law = hardware["clock_intercept"] - hardware["clock_slope"] * 100 * duty
    return float(min(hardware["max_clock"], law * hardware["clock_scale"]))


@dataclass(frozen=True)
class _Case:
    """A launch at one clock."""

    kernel: Kernel
    tiles: Tiles
    load: Load
    hardware: Hardware
    traffic: Traffic
    clock: float

    def balanced(self) -> tuple[float, UnitRun]:
        """Clocks of the fullest unit, and the run behind them.

        Units do not all read at once: while some compute, others get more than an equal share of
        the bandwidth. The time lies between that with equal shares and that with the largest share
        that one unit can take, and fabric and HBM must still have time for all bytes, once the
        first data of the kernel has come; it is never less than what the bytes alone take.
        """
        equal, equal_run = self.clocks(1.0)
        fast, fast_run = self.clocks(MOST_BOOST)
        bytes_alone = self.demand(1.0)
        needed = bytes_alone + self.lead(equal_run)
        if needed <= fast:
            return fast, fast_run
        return max(bytes_alone, min(equal, needed)), equal_run

    def demand(self, clocks: float) -> float:
        """Part of ``clocks`` that fabric or HBM need for the launch."""
        busy = self.busy(clocks)
        return max(busy["fabric"], busy["hbm"])

    def lead(self, run: UnitRun) -> float:
        """Clocks until the first operand of the first workgroup is there."""
        work = self.kernel.works[self._traced]
        state = memory_state(self.kernel.buffers, self.traffic, (self.load.active,) * 2)
        latency = mean_latency(self.hardware, state, self.clock)
        best = float("inf")
        for position in np.flatnonzero(work.step[:, 1] >= 0):
            stream = work.access[work.step[position, 1], Field.STREAM]
            if stream >= 0 and operand_of(self.kernel.buffers[stream]) == B:
                best = min(best, run.issued[position] + latency[stream])
        return best

    def clocks(self, boost: float) -> tuple[float, UnitRun]:
        """Clocks of the fullest unit at a boost.

        Beyond twice what fits and one, workgroups are extrapolated from the last that fit.
        """
        if self.tiles.persistent and self.tiles.count > self.tiles.grid:
            return self._persistent(boost)
        load = self.load
        everyone = (load.active, load.active)
        few = self.kernel.resident + 1
        if load.most > 2 * few:
            short, long = (self._run(groups, everyone, boost) for groups in (few, 2 * few))
            slope = (long.clocks - short.clocks) / few
            mean = self.tiles.count / load.active
            return long.clocks + slope * (mean - 2 * few), long
        if load.most == 1 or load.heavy == load.active:
            heavy = self._run(load.most, everyone, boost)
            return heavy.clocks, heavy
        light = self._run(load.most - 1, everyone, boost)
        heavy = self._run(load.most, (load.active, load.heavy), boost, float(light.clocks))
        return heavy.clocks, heavy

    @property
    def _traced(self) -> int:
        """Tiles of the workgroup that :meth:`clocks` simulates last."""
        striding = self.tiles.persistent and self.tiles.count > self.tiles.grid
        return max(self.kernel.works) if striding else 1

    def _run(
        self, groups: int, active: tuple[int, int], boost: float, switch: float = float("inf")
    ) -> UnitRun:
        return simulate(
            self.kernel.code, self.kernel.works[1], self.hardware,
            memory_state(self.kernel.buffers, self.traffic, active, switch, boost),
            resident=self.kernel.resident, groups=groups, clock=self.clock,
            interval=_interval(self.hardware), record=0,
        )  # fmt: skip

    def _persistent(self, boost: float) -> tuple[float, UnitRun]:
        """One workgroup per unit that makes many tiles: two lengths, extrapolated."""
        active = (self.load.active, self.load.active)
        memory = memory_state(self.kernel.buffers, self.traffic, active, boost=boost)
        few, many = sorted(self.kernel.works)[-2:]
        short, long = (
            simulate(
                self.kernel.code, self.kernel.works[tiles], self.hardware, memory,
                resident=1, groups=1, clock=self.clock, record=0,
            )
            for tiles in (few, many)
        )  # fmt: skip
        slope = (long.clocks - short.clocks) / (many - few)
        return long.clocks + slope * (self.load.most - many), long

    def busy(self, clocks: float) -> Mapping[str, float]:
        """Part of ``clocks`` that fabric, HBM and the atomic units need for the whole launch."""
        hardware, active, work = self.hardware, self.load.active, self.kernel.works[1]
        steps = work.step[work.step[:, 1] >= 0]
        access = work.access[steps[:, 1]]
        unit = self.kernel.code.table[steps[:, 0], Column.UNIT]
        streamed = (access[:, Field.STREAM] >= 0) & (unit >= Unit.LOAD) & (unit <= Unit.STORE)
        stream, bytes_ = access[streamed, Field.STREAM], access[streamed, Field.BYTES]
        written = unit[streamed] == Unit.STORE
        state = memory_state(self.kernel.buffers, self.traffic, (active, active))
        per_clock = self.tiles.count / clocks

        def part(far: Floats, read: float, write: float) -> float:
            needed = np.where(written, 1 / write, 1 / read) * far[stream] * bytes_
            return float(needed.sum()) * per_clock * self.clock / 1000

        reach = hbm_part(hardware, active)
        lanes = float(access[unit == Unit.ATOMIC, Field.LANES].sum())
        return {
            "fabric": part(state.beyond_l2, hardware["mall_read"], hardware["mall_write"]),
            "hbm": part(state.to_hbm, hardware["hbm_read"] * reach, hardware["hbm_write"] * reach),
            "atomics": lanes * per_clock / hardware["atomic_rate"],
        }


def _interval(hardware: Hardware) -> float:
    """Clocks between two workgroups for one unit: its XCD serves all its units in turn."""
    return hardware["workgroup_launch"] * hardware["compute_units"] / hardware["xcds"]


def _bound(busy: Mapping[str, float], causes: Mapping[Cause, float]) -> str:
    server = max(busy, key=lambda name: busy[name])
    if busy[server] >= SATURATED:
        return server
    groups = {
        "memory latency": sum(causes[cause] for cause in MEMORY_CAUSES),
        "issue": causes[Cause.ISSUE],
        "matrix pipe": causes[Cause.MFMA],
        "LDS and scalar waits": causes[Cause.LGKMCNT],
        "barriers": causes[Cause.BARRIER],
    }
    return max(groups, key=lambda name: groups[name])
