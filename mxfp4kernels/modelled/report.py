"""What the verbs ``time`` and ``timeline`` print: a launch of ours, or any traced ``.s`` file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..emulator.trace import trace
from ..flags import FlagSet, label
from ..isa import Program, occupancy_of
from ..launch_file import Prepared
from ..timing.code import lower
from ..timing.constants import Hardware, read_hardware
from ..timing.timeline import page
from ..timing.unit import MemoryState, Simulation, UnitRun
from ..timing.work import workgroup_of
from .launches import Launch, Modeller, fill_of

Row = dict[str, object]


@dataclass(frozen=True)
class TracedUnit:
    """A traced kernel on a compute unit.

    Attributes:
        name: for titles.
        about: what the unit's run stands for.
        program: the kernel.
        simulation: the workgroups on the unit and the state of the memory behind it.
    """

    name: str
    about: str
    program: Program
    simulation: Simulation

    def run(self, groups: int, hardware: Hardware) -> UnitRun:
        """Run ``groups`` workgroups, the first one recorded."""
        return replace(self.simulation, groups=groups).run(hardware)

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
        """The interactive timeline of the first workgroup of the simulation."""
        run = self.simulation.run(hardware)
        return page(self.name, self.program, self.simulation.work, run, self.about)


def foreign_unit(
    prepared: Prepared, beyond_l2: float = 1.0, to_hbm: float | None = None
) -> TracedUnit:
    """Trace the first workgroup of a launch of any assembly.

    Args:
        beyond_l2, to_hbm: fractions of all global bytes, the second the first when left out;
            nothing is known of their reuse.

    Raises:
        EmulatorError: the kernel cannot be run.
        ValueError: no occupancy without metadata, or fractions out of order.
    """
    to_hbm = beyond_l2 if to_hbm is None else to_hbm
    if not 0 <= to_hbm <= beyond_l2 <= 1:
        raise ValueError(f"0 <= to_hbm <= beyond_l2 <= 1 must hold, got {to_hbm} and {beyond_l2}")
    hardware = read_hardware()
    resident = occupancy_of(prepared.program, prepared.dynamic_lds).workgroups_per_cu
    chosen = prepared.workgroups[:1] if prepared.workgroups else (0,)
    made = trace(
        prepared.program, prepared.kernarg, prepared.grid, prepared.block, prepared.memory,
        workgroups=chosen, dynamic_lds=prepared.dynamic_lds, limit=prepared.instruction_limit,
    )  # fmt: skip
    groups = prepared.grid[0] * prepared.grid[1] * prepared.grid[2]
    active = min(int(hardware["compute_units"]), groups)
    return TracedUnit(
        f"{prepared.program.name}, workgroup {chosen[0]}",
        f"{resident} workgroups at a time on the unit, {active} units share the memory",
        prepared.program,
        Simulation(
            lower(prepared.program, hardware),
            workgroup_of(made, chosen[0]),
            MemoryState.uniform(made.buffers, beyond_l2, to_hbm, active),
            resident,
            groups=resident,
            clock=hardware["max_clock"],
        ),
    )


def own_unit(modeller: Modeller, launch: Launch, flags: FlagSet) -> TracedUnit:
    """The compute unit behind the time of a launch of ours, as :func:`launch_rows` reports it."""
    _, program = modeller.traced(launch.variant, launch.shape, flags, fill_of(launch))
    made = modeller.estimate(launch, flags)
    unit = made.simulation
    return TracedUnit(
        f"{launch.variant}, M={launch.tokens}, {label(launch.variant, flags)}",
        f"The launch: {made.us:.2f} us, from {made.basis}. The unit: {made.run.clocks} clocks at "
        f"{made.clock:.2f} GHz for {unit.groups} workgroups, up to {unit.resident} at a time, of "
        f"which the first is shown; {unit.memory.active[0]} units share the memory",
        program,
        unit,
    )


def launch_rows(modeller: Modeller, launch: Launch, flags: FlagSet) -> list[Row]:
    """The modelled time of a launch: microseconds, what bounds it, and microseconds by cause.

    The rows ``us on`` add up to ``modelled us``, but for their rounding.
    """
    made = modeller.estimate(launch, flags)
    rows: list[Row] = [
        {"what": "modelled us", "value": f"{made.us:.3f}"},
        {"what": "time from", "value": made.basis},
        {"what": "bound", "value": made.bound},
        {"what": "clock, GHz", "value": f"{made.clock:.2f}"},
        {"what": "cycles per tile", "value": f"{made.tile_clocks:.0f}"},
        {"what": "tiles on the fullest unit", "value": str(made.tiles_per_unit)},
    ]
    rows += [{"what": f"busy: {name}", "value": f"{part:.0%}"} for name, part in made.busy.items()]
    rows += [{"what": f"us on {name}", "value": f"{us:.3f}"} for name, us in made.causes.items()]
    return rows
