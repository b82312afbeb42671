"""What the verbs ``time`` and ``timeline`` print: a launch of ours, or any traced ``.s`` file."""

from __future__ import annotations

from dataclasses import dataclass

from .emulator.trace import trace
from .flags import FlagSet
from .isa import Program, occupancy_of
from .launch_file import Prepared
from .modelled import Launch, Modeller, fill_of
from .timing.code import Code, lower
from .timing.constants import Hardware, read_hardware
from .timing.device import memory_state
from .timing.engine import Cause
from .timing.timeline import page
from .timing.unit import MemoryState, UnitRun, simulate
from .timing.work import Work, workgroup_of

Row = dict[str, object]


@dataclass(frozen=True)
class TracedUnit:
    """A traced workgroup with the state of the memory behind its compute unit.

    Attributes:
        name: for titles.
        program, code, work: the kernel and what its workgroup does.
        memory: how far its accesses go.
        resident: workgroups that fit on a compute unit.
        clock: GHz.
    """

    name: str
    program: Program
    code: Code
    work: Work
    memory: MemoryState
    resident: int
    clock: float

    def run(self, groups: int, hardware: Hardware) -> UnitRun:
        """Run ``groups`` workgroups, the first one recorded."""
        return simulate(
            self.code, self.work, hardware, self.memory,
            resident=self.resident, groups=groups, clock=self.clock, record=0,
        )  # fmt: skip

    def rows(self, groups: int, hardware: Hardware) -> list[Row]:
        """Clocks by cause, and the total."""
        run = self.run(groups, hardware)
        waves = run.by_wave.sum()
        rows: list[Row] = [
            {"cause": cause.name.lower(), "wave_clocks": n, "part": f"{100 * n / waves:.1f} %"}
            for cause, n in run.causes.items()
            if n
        ]
        return [*rows, {"cause": "all", "wave_clocks": int(waves), "part": f"{run.clocks} clocks"}]

    def page(self, hardware: Hardware) -> str:
        """The interactive timeline of one workgroup beside those resident with it."""
        run = self.run(self.resident, hardware)
        return page(self.name, self.program, self.work, run)


def foreign_unit(prepared: Prepared, beyond_l2: float = 1.0, to_hbm: float = 1.0) -> TracedUnit:
    """Trace the first workgroup of a launch of any assembly.

    Args:
        beyond_l2, to_hbm: fractions of all global bytes; nothing is known of their reuse.

    Raises:
        EmulatorError: the kernel cannot be run.
        ValueError: no occupancy without metadata, or fractions out of order.
    """
    if not 0 <= to_hbm <= beyond_l2 <= 1:
        raise ValueError(f"0 <= to_hbm <= beyond_l2 <= 1 must hold, got {to_hbm} and {beyond_l2}")
    hardware = read_hardware()
    chosen = prepared.workgroups[:1] if prepared.workgroups else (0,)
    made = trace(
        prepared.program, prepared.kernarg, prepared.grid, prepared.block, prepared.memory,
        workgroups=chosen, dynamic_lds=prepared.dynamic_lds,
    )  # fmt: skip
    resident = occupancy_of(prepared.program, prepared.dynamic_lds).workgroups_per_cu
    groups = prepared.grid[0] * prepared.grid[1] * prepared.grid[2]
    active = min(int(hardware["compute_units"]), groups)
    return TracedUnit(
        f"{prepared.program.name}, workgroup {chosen[0]}",
        prepared.program,
        lower(prepared.program, hardware),
        workgroup_of(made, chosen[0]),
        MemoryState.uniform(len(made.buffers), beyond_l2, to_hbm, active),
        resident,
        hardware["max_clock"],
    )


def own_unit(modeller: Modeller, launch: Launch, flags: FlagSet) -> TracedUnit:
    """One workgroup of a launch of ours, with the launch's own traffic and clock."""
    kernel, program = modeller.traced(launch.variant, launch.shape, flags, fill_of(launch))
    made = modeller.estimate(launch, flags)
    traffic = modeller.traffic(launch, kernel)
    active = min(int(modeller.hardware["compute_units"]), made.tiles_per_unit * 256)
    return TracedUnit(
        f"{launch.variant}, M={launch.tokens}",
        program,
        kernel.code,
        kernel.works[1],
        memory_state(kernel.buffers, traffic, (active, active)),
        kernel.resident,
        made.clock,
    )


def launch_rows(modeller: Modeller, launch: Launch, flags: FlagSet) -> list[Row]:
    """The modelled time of a launch: microseconds, what bounds it, and microseconds by cause."""
    made = modeller.estimate(launch, flags)
    rows: list[Row] = [
        {"what": "modelled us", "value": f"{made.us:.2f}"},
        {"what": "clock, GHz", "value": f"{made.clock:.2f}"},
        {"what": "cycles per tile", "value": f"{made.tile_clocks:.0f}"},
        {"what": "tiles on the fullest unit", "value": str(made.tiles_per_unit)},
        {"what": "bound", "value": made.bound},
    ]
    rows += [{"what": f"busy: {name}", "value": f"{part:.0%}"} for name, part in made.busy.items()]
    rows += [
        {"what": f"us on {cause.name.lower()}", "value": f"{us:.2f}"}
        for cause, us in made.causes.items()
        if cause is not Cause.IDLE
    ]
    return rows
