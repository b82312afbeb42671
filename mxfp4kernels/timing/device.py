"""A whole launch on the device: units with different loads, bandwidth, clock, fixed cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .code import Code, Column, Unit
from .constants import Hardware
from .engine import Cause, Floats
from .traffic import A, B, Tiles, Traffic, traffic_of
from .unit import MemoryState, Simulation, UnitRun, arguments_of, hbm_part, mean_latency
from .work import Field, Work

CLOCK_STEPS = 3
CLOCK_TOLERANCE = 0.02
"""GHz between two steps below which the clock has settled."""
UNSHARED = float("inf")
"""Boost of a unit that gets all it asks for: only its own port and stream hold it back."""
SATURATED = 0.85
"""Part of a launch's time that a server must be busy to be called what bounds it. A choice of form:
it names the bound and changes no time."""
MEMORY_WAITS = ("vmcnt", "front_end")
"""Causes that end when data comes: the ones that another bandwidth makes longer or shorter."""
WAVES, BYTES, LAUNCH = "waves", "bytes", "launch"
"""Where the time of a launch comes from, see :class:`Estimate`."""
FIXED = "fixed"
LATENCY = "memory latency"
"""Also what bounds a launch whose first data takes longer than all the bytes behind it."""


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
        clocks: of the launch, without the fixed cost.
        clock: GHz.
        tile_clocks: ``clocks`` per tile of the fullest unit.
        tiles_per_unit: tiles of that unit.
        basis: where the time comes from: ``waves``, the simulated unit; ``bytes``, what the memory
            needs for all bytes and atomics; ``launch``, the rate at which workgroups are given out.
        bound: what bounds it: ``hbm``, ``fabric``, ``l2``, ``atomics``, ``launch``, or the waves'
            most frequent cause; see :func:`_bound`.
        causes: microseconds by cause, see :func:`attribute`; they add up to ``us``.
        simulation, run: the simulated unit that ``causes`` come from, and what it did.
        busy: part of the time that fabric, HBM, L2 and atomic units are busy.
    """

    us: float
    clocks: float
    clock: float
    tile_clocks: float
    tiles_per_unit: int
    basis: str
    bound: str
    causes: Mapping[str, float]
    simulation: Simulation = field(repr=False)
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
    return MemoryState(beyond, hbm, active, switch, boost, arguments_of(buffers))


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
        timed = case.balanced()
        new = clock_of(hardware, timed.duty * load.active / hardware["compute_units"])
        if abs(new - clock) < CLOCK_TOLERANCE:
            break
        clock = new
    launch = tiles.grid / hardware["xcds"] * hardware["workgroup_launch"]
    total = max(timed.clocks, launch)
    us_per_clock = 1 / case.clock / 1000
    busy = case.busy(total)
    spent = attribute(timed.run, timed.unit_clocks, timed.clocks, total)
    causes = {cause: clocks * us_per_clock for cause, clocks in spent.items()}
    basis = BYTES if timed.clocks != timed.unit_clocks else WAVES
    return Estimate(
        us=total * us_per_clock + hardware["kernel_fixed"],
        clocks=total,
        clock=case.clock,
        tile_clocks=total / load.most,
        tiles_per_unit=load.most,
        basis=LAUNCH if launch > timed.clocks else basis,
        bound=LAUNCH if launch > timed.clocks else _bound(busy, causes, basis),
        causes=causes | {FIXED: hardware["kernel_fixed"]},
        simulation=timed.simulation,
        run=timed.run,
        busy=busy,
    )


def attribute(run: UnitRun, unit: float, clocks: float, total: float) -> dict[str, float]:
    """Split a launch's ``total`` clocks among causes; the parts add up to it.

    ``unit`` clocks, what the simulated unit takes for its load, are split as its waves spent
    theirs. Where the memory serves the launch in fewer clocks than a unit with an equal share of it
    takes, the waits for memory are that much shorter, and what waves do otherwise stays as it is.
    Where it needs more, the rest is a cause of its own, ``bytes``; so is what the launch of all
    workgroups takes beyond that, ``launch``.

    Args:
        unit: clocks of the simulated unit at its load.
        clocks: the same, or what the memory needs.
        total: the same, or what the launch of all workgroups takes.
    """
    every = max(1, int(run.by_wave.sum()))
    spent = {
        cause.name.lower(): unit * number / every
        for cause, number in run.causes.items()
        if cause is not Cause.IDLE
    }
    waits = sum(spent[name] for name in MEMORY_WAITS)
    shorter = min(waits, max(0.0, unit - clocks))
    for name in MEMORY_WAITS:
        spent[name] -= shorter * spent[name] / waits if waits else 0.0
    left = sum(spent.values())
    part = min(unit, clocks) / left if left else 0.0  # 1 unless waits are shorter than that
    spent = {name: part * number for name, number in spent.items()}
    return spent | {BYTES: max(0.0, clocks - unit), LAUNCH: total - clocks}


def traffic_for(kernel: Kernel, tiles: Tiles, hardware: Hardware) -> Traffic:
    """The launch's traffic with as many workgroups side by side as fit."""
    per_xcd = int(hardware["compute_units"]) // int(hardware["xcds"])
    return traffic_of(tiles, hardware, per_xcd * kernel.resident)


def clock_of(hardware: Hardware, duty: float) -> float:
    """GHz at a matrix duty: the power-limited law, never above the maximum.

    Fitted by its author between 68 and 95 % duty on two bf16 kernels; used below and for FP4 too.
    """
    law = hardware["clock_intercept"] - hardware["clock_slope"] * 100 * duty
    return float(min(hardware["max_clock"], law * hardware["clock_scale"]))


@dataclass(frozen=True)
class _Timed:
    """What a launch takes at one clock.

    Attributes:
        clocks: of the launch.
        unit_clocks: of a unit by the simulation, at the launch's load.
        simulation, run: the simulation, maybe of fewer workgroups, and what it gave.
    """

    clocks: float
    unit_clocks: float
    simulation: Simulation
    run: UnitRun

    @property
    def duty(self) -> float:
        """Matrix duty of the unit over the launch's clocks."""
        return self.run.matrix_duty * self.unit_clocks / self.clocks if self.clocks else 0.0

    def beyond(self, short: _Timed, apart: int, more: float) -> _Timed:
        """Extrapolated by ``more`` from a run that is ``apart`` shorter and this one."""
        clocks = self.clocks + more * (self.clocks - short.clocks) / apart
        return replace(self, clocks=clocks, unit_clocks=clocks)


@dataclass(frozen=True)
class _Case:
    """A launch at one clock."""

    kernel: Kernel
    tiles: Tiles
    load: Load
    hardware: Hardware
    traffic: Traffic
    clock: float

    def balanced(self) -> _Timed:
        """Clocks of the launch, and the run behind them.

        Units do not all read at once: while some compute, others get more than an equal share of
        the bandwidth. The time lies between that with equal shares and that with the largest share
        that one unit can take, and the memory must still have time for all bytes, once the first
        data of the kernel has come; it is never less than what the bytes alone take.
        """
        equal, fast = self.timed(1.0), self.timed(UNSHARED)
        bytes_alone = self.demand()
        needed = bytes_alone + self.lead(equal.run)
        if needed <= fast.clocks:
            return fast
        return replace(equal, clocks=max(bytes_alone, min(equal.clocks, needed)))

    def demand(self) -> float:
        """Clocks that fabric, HBM, the L2s or the atomic units need for the launch."""
        return max(self.busy(1.0).values())

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

    def timed(self, boost: float) -> _Timed:
        """A unit's clocks at a boost.

        Up to twice what fits and one, the fullest unit is simulated. Beyond, workgroups go to
        whichever unit of their XCD is free, so all units have about the mean load; its clocks are
        extrapolated from what a workgroup adds once the unit is full.
        """
        if self._striding:
            return self._persistent(boost)
        load = self.load
        everyone = (load.active, load.active)
        few = self.kernel.resident + 1
        if load.most > 2 * few:
            short, long = (
                self._ran(self._unit(groups, everyone, boost)) for groups in (few, 2 * few)
            )
            return long.beyond(short, few, self.tiles.count / load.active - 2 * few)
        if load.most == 1 or load.heavy == load.active:
            return self._ran(self._unit(load.most, everyone, boost))
        light = self._ran(self._unit(load.most - 1, everyone, boost))
        switched = (load.active, load.heavy)
        return self._ran(self._unit(load.most, switched, boost, light.clocks))

    def _ran(self, simulation: Simulation) -> _Timed:
        run = simulation.run(self.hardware)
        return _Timed(float(run.clocks), float(run.clocks), simulation, run)

    @property
    def _striding(self) -> bool:
        """Whether workgroups make more than one tile each."""
        return self.tiles.persistent and self.tiles.count > self.tiles.grid

    @property
    def _traced(self) -> int:
        """Tiles of the workgroup that :meth:`timed` simulates last."""
        return max(self.kernel.works) if self._striding else 1

    def _unit(
        self, groups: int, active: tuple[int, int], boost: float, switch: float = float("inf")
    ) -> Simulation:
        return Simulation(
            self.kernel.code, self.kernel.works[1],
            memory_state(self.kernel.buffers, self.traffic, active, switch, boost),
            self.kernel.resident, groups, self.clock, _interval(self.hardware),
        )  # fmt: skip

    def _persistent(self, boost: float) -> _Timed:
        """One workgroup per unit that makes many tiles: two lengths, extrapolated."""
        active = (self.load.active, self.load.active)
        memory = memory_state(self.kernel.buffers, self.traffic, active, boost=boost)
        few, many = sorted(self.kernel.works)[-2:]
        short, long = (
            self._ran(
                Simulation(self.kernel.code, self.kernel.works[tiles], memory, 1, 1, self.clock)
            )
            for tiles in (few, many)
        )
        return long.beyond(short, many - few, self.load.most - many)

    def busy(self, clocks: float) -> Mapping[str, float]:
        """Part of ``clocks`` that fabric, HBM, L2s and atomic units need for the whole launch."""
        hardware, active, work = self.hardware, self.load.active, self.kernel.works[1]
        steps = work.step[work.step[:, 1] >= 0]
        access = work.access[steps[:, 1]]
        unit = self.kernel.code.table[steps[:, 0], Column.UNIT]
        streamed = (access[:, Field.STREAM] >= 0) & (unit >= Unit.LOAD) & (unit <= Unit.STORE)
        stream, bytes_ = access[streamed, Field.STREAM], access[streamed, Field.BYTES]
        written = unit[streamed] == Unit.STORE
        state = memory_state(self.kernel.buffers, self.traffic, (active, active))
        per_clock = self.tiles.count / clocks

        def part(far: Floats, read: float, write: float = float("inf")) -> float:
            needed = np.where(written, 1 / write, 1 / read) * far[stream] * bytes_
            return float(needed.sum()) * per_clock * self.clock / 1000

        reads = hardware["hbm_read"] * hbm_part(hardware, active)
        writes = hardware["hbm_write"] * hbm_part(hardware, active, written=True)
        lanes = float(access[unit == Unit.ATOMIC, Field.LANES].sum())
        return {
            "fabric": part(state.beyond_l2, hardware["mall_read"], hardware["mall_write"]),
            "hbm": part(state.to_hbm, reads, writes),
            "l2": part(np.ones(len(state.to_hbm)), hardware["l2_read"]),
            "atomics": lanes * per_clock / hardware["atomic_rate"],
        }


def _interval(hardware: Hardware) -> float:
    """Clocks between two workgroups for one unit: its XCD serves all its units in turn."""
    return hardware["workgroup_launch"] * hardware["compute_units"] / hardware["xcds"]


def _bound(busy: Mapping[str, float], causes: Mapping[str, float], basis: str) -> str:
    """What bounds a launch.

    A time that is from bytes is what one server needs and what the first data takes: the larger of
    these two bounds it. Otherwise it is a server that is busy, or what waves do most.
    """
    server = max(busy, key=lambda name: busy[name])
    if basis == BYTES:
        return server if busy[server] >= 0.5 else LATENCY
    if busy[server] >= SATURATED:
        return server
    groups = {
        LATENCY: sum(causes[cause] for cause in MEMORY_WAITS),
        "issue": causes["issue"],
        "matrix pipe": causes["mfma"],
        "LDS and scalar waits": causes["lgkmcnt"],
        "barriers": causes["barrier"],
    }
    return max(groups, key=lambda name: groups[name])
