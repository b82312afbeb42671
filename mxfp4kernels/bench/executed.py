"""What one launch executes: the emulator's counts of a few workgroups, taken for all like them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from ..emulator import RunResult
from ..isa import class_of
from ..numerics.emulation import EmulatedLaunch
from ..numerics.problem import Problem
from ..shapes import BLOCK_THREADS
from .counters import Expected

WAVE_LANES = 64


def expected_counts(assembly: str, problem: Problem) -> Expected:
    """Executed instructions of the whole grid.

    Workgroups with the same number of tiles are taken to execute what the emulated ones of them do;
    where these differ among themselves the result is an interval.

    Args:
        assembly: text with exactly one kernel, compiled for the problem's variant and shape.
        problem: the launch; its routing decides which workgroups have tiles.

    Raises:
        KernargError, EmulatorError: the kernel does not fit the problem or cannot be run.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for workgroup in range(problem.workgroups):
        groups[len(problem.tiles_of(workgroup))].append(workgroup)
    low: Counter[str] = Counter()
    high: Counter[str] = Counter()
    for workgroups in groups.values():
        runs = [_executed(assembly, problem, one) for one in _representatives(workgroups)]
        for name in {name for run in runs for name in run}:
            low[name] += len(workgroups) * min(run.get(name, 0) for run in runs)
            high[name] += len(workgroups) * max(run.get(name, 0) for run in runs)
    return Expected(problem.workgroups * BLOCK_THREADS // WAVE_LANES, low, high)


def _representatives(workgroups: list[int]) -> list[int]:
    """The first, the last and one between."""
    return sorted({workgroups[0], workgroups[len(workgroups) // 2], workgroups[-1]})


def _executed(assembly: str, problem: Problem, workgroup: int) -> Mapping[str, int]:
    """Instructions by class that one workgroup's waves execute."""
    tiles = problem.tiles_of(workgroup)
    experts = {int(problem.sorting.sorted_expert_ids[tile.m_block]) for tile in tiles}
    launch = EmulatedLaunch.of(assembly, problem, problem.arguments(experts))
    return by_class(launch.run([workgroup]))


def by_class(result: RunResult) -> Mapping[str, int]:
    """Executed wave-instructions by class."""
    total: Counter[str] = Counter()
    for step, count in zip(result.decoded.steps, result.counts, strict=True):
        if count:
            total[str(class_of(step.instruction))] += int(count)
    return total
