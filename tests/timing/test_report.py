"""``time`` and ``timeline`` say the same of a launch, ours or of foreign assembly."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mxfp4kernels.emulator import Memory, pack_kernarg
from mxfp4kernels.files import read_csv
from mxfp4kernels.flags import ALL, NONE, label
from mxfp4kernels.isa import Program
from mxfp4kernels.isa.occupancy import UnknownOccupancy
from mxfp4kernels.isa.parser import parse_all
from mxfp4kernels.launch_file import Prepared
from mxfp4kernels.modelled import report
from mxfp4kernels.modelled.launches import Launch, Modeller, tiles_of
from mxfp4kernels.modelled.timeline import BIN_CLOCKS, LAUNCH, TIMELINE
from mxfp4kernels.shapes import REFERENCE_SHAPE, dispatch
from mxfp4kernels.timing.constants import read_hardware
from mxfp4kernels.timing.engine import Cause

FOREIGN = Path(__file__).parents[1] / "emulator" / "foreign" / "arithmetic.s"
HARDWARE = read_hardware()


@cache
def modeller() -> Modeller:
    return Modeller()


def segments(page: str) -> list[list[int]]:
    """Wave, start, length, cause and instruction of each strip that a page draws."""
    (data,) = re.findall(r"const d=(\{.*\}),c=document", page)
    drawn: list[list[int]] = json.loads(data)["segments"]
    return drawn


LAUNCHES = [
    ("gemm1", 1),
    ("gemm1", 64),
    ("gemm1", 4096),
    ("gemm2", 1),
    ("gemm2", 64),
    ("gemm2", 4096),
]


@pytest.mark.parametrize(("kernel", "tokens"), LAUNCHES)
def test_the_timeline_is_of_the_run_behind_the_time(kernel: str, tokens: int) -> None:
    launch = Launch(dispatch(kernel, tokens), REFERENCE_SHAPE, tokens)
    made = modeller().estimate(launch, ALL)
    unit = report.own_unit(modeller(), launch, ALL)
    drawn = segments(unit.page(HARDWARE))
    waves = made.run.waves
    for wave in range(waves):
        mine = [(start, length) for of, start, length, *_ in drawn if of == wave]
        assert mine[0][0] == made.run.span[wave, 0]
        assert mine[-1][0] + mine[-1][1] == made.run.span[wave, 1]
    by_cause = np.bincount([s[3] for s in drawn], [s[2] for s in drawn], len(Cause))
    assert by_cause.tolist() == made.run.by_wave[:waves].sum(axis=0).tolist()
    units = int(HARDWARE["compute_units"])
    assert unit.simulation.memory.active[0] == min(units, tiles_of(launch).count)
    assert unit.simulation.clock == made.clock
    assert f"{made.us:.2f} us" in unit.about
    if launch.variant.persistent:
        assert (unit.simulation.groups, unit.simulation.resident) == (1, 1)
    else:
        assert unit.simulation.groups <= made.tiles_per_unit


@pytest.mark.parametrize("flags", [NONE, ALL], ids=["none", "all"])
def test_the_committed_timeline_is_of_the_run_behind_the_time(flags: frozenset[str]) -> None:
    made = modeller().estimate(LAUNCH, flags)
    rows = [row for row in read_csv(TIMELINE) if row["flags"] == label(LAUNCH.variant, flags)]
    for wave in range(made.run.waves):
        last = max(int(row["end"]) for row in rows if row["wave"] == str(wave))
        assert 0 <= last - made.run.span[wave, 1] < BIN_CLOCKS


def test_rows_of_a_launch_add_up_to_its_time() -> None:
    launch = Launch(dispatch("gemm2", 64), REFERENCE_SHAPE, 64)
    values = {
        str(row["what"]): str(row["value"]) for row in report.launch_rows(modeller(), launch, ALL)
    }
    parts = [float(value) for what, value in values.items() if what.startswith("us on ")]
    assert sum(parts) == pytest.approx(float(values["modelled us"]), abs=0.001 * len(parts))
    assert values["us on fixed"] == f"{HARDWARE['kernel_fixed']:.3f}"
    assert values["time from"] in ("waves", "bytes", "launch")


# --- assembly that we did not compile ------------------------------------------------------------


@cache
def programs() -> dict[str, Program]:
    return {program.name: program for program in parse_all(FOREIGN.read_text())}


def prepared(name: str, groups: int = 4) -> Prepared:
    """A launch over buffers of ones that may be written."""
    memory, program, grid = Memory(), programs()[name], (groups, 1, 1)
    x, y, z = program.metadata.get(".reqd_workgroup_size", (256, 1, 1))
    block = (x, y, z)
    count = len([a for a in program.metadata[".args"] if a[".value_kind"] == "global_buffer"])
    ones = [np.ones(2048, np.int32) for _ in range(count)]
    addresses = [memory.allocate(f"argument{i}", data) for i, data in enumerate(ones)]
    kernarg = pack_kernarg(program, addresses, grid, block)
    return Prepared(program, kernarg, grid, block, memory, None, 0, ())


def foreign_names() -> list[str]:
    return [
        name
        for name, program in programs().items()
        if all(
            a[".value_kind"] == "global_buffer" or a[".value_kind"].startswith("hidden")
            for a in program.metadata[".args"]
        )
    ]


@pytest.mark.parametrize("name", foreign_names())
def test_causes_of_a_foreign_kernel_add_up_and_the_page_agrees(name: str) -> None:
    unit = report.foreign_unit(prepared(name))
    rows = unit.rows(unit.simulation.groups, HARDWARE)
    *parts, total = rows
    assert total["cause"] == "all"
    assert sum(int(str(row["wave_clocks"])) for row in parts) == total["wave_clocks"]
    run = unit.run(unit.simulation.groups, HARDWARE)
    assert total["part"] == f"{run.clocks} clocks"
    drawn = segments(unit.page(HARDWARE))
    waves = run.waves
    assert sum(s[2] for s in drawn) == run.by_wave[:waves].sum()
    assert max(s[1] + s[2] for s in drawn) == run.span[:waves, 1].max()


def test_more_workgroups_on_a_unit_take_longer() -> None:
    unit = report.foreign_unit(prepared(foreign_names()[0]))
    clocks = [unit.run(groups, HARDWARE).clocks for groups in (1, 8, 64)]
    assert clocks == sorted(clocks)
    assert clocks[0] < clocks[-1]


def test_a_kernel_without_metadata_has_no_known_occupancy() -> None:
    """How many workgroups share a unit is not guessed."""
    text = re.sub(
        r"\t\.amdgpu_metadata.*?\.end_amdgpu_metadata", "", FOREIGN.read_text(), flags=re.S
    )
    name = foreign_names()[0]
    bare = {program.name: program for program in parse_all(text)}[name]
    whole = prepared(name)
    without = Prepared(bare, whole.kernarg, whole.grid, whole.block, whole.memory, None, 0, ())
    with pytest.raises(UnknownOccupancy, match=f"kernel '{name}' has no .vgpr_count"):
        report.foreign_unit(without)


def test_fractions_out_of_order_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"0 <= to_hbm <= beyond_l2 <= 1 must hold, got 1\.0 and 0\.5"
    ):
        report.foreign_unit(prepared(foreign_names()[0]), beyond_l2=0.5, to_hbm=1.0)
