"""What ``run``, ``verify``, ``sanitize`` and ``needless`` work on, and what they print.

A target is a variant with a seeded problem, or a ``.s`` file with a description of its launch.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from .compiler import INSTALL, CompiledKernel, MissingComponent
from .emulator import Report, RunResult
from .isa import read_assembly
from .launch_file import LaunchFileError, Prepared, prepare

if TYPE_CHECKING:
    from .numerics.emulation import EmulatedLaunch
    from .numerics.verification import Result, Verification

Row = dict[str, object]


class Target(Protocol):
    """A kernel with everything that a launch needs."""

    def run(self) -> RunResult:
        """Run it."""

    def sanitize(self) -> Report:
        """Run it under the sanitizer."""

    def save(self) -> tuple[Path, ...]:
        """Keep what the launch description says; returns the files."""


def foreign(assembly: Path, description: Path) -> Prepared:
    """A ``.s`` file with the launch of a YAML or JSON file.

    Raises:
        LaunchFileError, AssemblyError, LaunchError: see :func:`~mxfp4kernels.launch_file.prepare`.
        LaunchFileError: a buffer would be saved over the assembly.
        AssemblyError: it is a directory, or no text, or has no kernel.
        OSError: a file cannot be read.
    """
    launch = prepare(read_assembly(assembly), description)
    for saved in launch.saved:
        if saved.path.resolve() == assembly.resolve():
            raise LaunchFileError(f"save: {saved.path} is the assembly; name another file")
    return launch


@dataclass(frozen=True)
class OwnKernel:
    """A compiled variant on a seeded problem.

    Attributes:
        assembly: its text.
        verification: the problem, with the workgroups to run.
    """

    assembly: str
    verification: Verification

    @classmethod
    def of(cls, kernel: CompiledKernel, inputs: Inputs) -> OwnKernel:
        """Make a problem's inputs for a compiled kernel.

        Raises:
            MissingComponent: torch, which makes the inputs, is not installed.
            ValueError: the variant cannot run such a problem, or there is no such workgroup.
        """
        if importlib.util.find_spec("torch") is None:
            raise MissingComponent(f"the inputs of a problem need torch; {INSTALL}")
        from .numerics.problem import Problem
        from .numerics.verification import Verification, sampled_workgroups

        job = kernel.job
        problem = Problem(
            job.variant, job.shape, inputs.tokens, inputs.routing, inputs.seed, inputs.content
        )
        chosen = None if inputs.everything else inputs.workgroups or sampled_workgroups(problem)
        return cls(kernel.assembly, Verification(problem, chosen))

    def run(self) -> RunResult:
        """Run the chosen workgroups.

        Raises:
            EmulatorError: the kernel cannot be run, or accesses what it must not.
        """
        return self._launch().run(self.verification.workgroups)

    def sanitize(self) -> Report:
        """Run them under the sanitizer.

        Raises:
            EmulatorError: as :meth:`run`.
        """
        return self.verification.sanitize(self.assembly)

    def verify(self) -> Result:
        """Run them and compare with the float64 reference.

        Raises:
            EmulatorError: as :meth:`run`.
        """
        return self.verification.verify(self.assembly)

    def save(self) -> tuple[Path, ...]:
        """Nothing is kept."""
        return ()

    def _launch(self) -> EmulatedLaunch:
        from .numerics.emulation import EmulatedLaunch

        for argument in self.verification.arguments:
            argument.reset()
        problem = self.verification.problem
        return EmulatedLaunch.of(self.assembly, problem, self.verification.arguments)


@dataclass(frozen=True)
class Inputs:
    """What decides a problem besides variant and shape, and how much of the grid runs.

    Attributes:
        tokens, routing, seed, content: as in :class:`mxfp4kernels.numerics.problem.Problem`.
        workgroups: flat ids; when empty a sample (first, last, partial, padded) is taken.
        everything: run the whole grid instead.
    """

    tokens: int
    routing: str = "random"
    seed: int = 0
    content: str = "normal"
    workgroups: tuple[int, ...] = ()
    everything: bool = False


def run_rows(result: RunResult) -> list[Row]:
    """Executed wave-instructions per opcode, most first."""
    return [
        {"opcode": opcode, "wave_instructions": count}
        for opcode, count in result.by_opcode().most_common()
    ]


def hazard_rows(report: Report) -> list[Row]:
    """Every hazard: both instructions with their lines, the waves, and what is missing.

    A read of what nothing has written comes after them, of kind ``undefined`` and without a first
    instruction.
    """
    hazards: list[Row] = [
        {
            "kind": hazard.kind,
            "first_line": hazard.first.line,
            "first": hazard.first.text,
            "second_line": hazard.second.line,
            "second": hazard.second.text,
            "where": hazard.where,
            "missing": hazard.missing,
        }
        for hazard in report.hazards
    ]
    return hazards + [
        {
            "kind": "undefined",
            "first_line": "",
            "first": "",
            "second_line": read.instruction.line,
            "second": read.instruction.text,
            "where": f"{read.where}: {read.what}",
            "missing": "nothing has written what it reads",
        }
        for read in report.undefined
    ]


def alike(rows: Sequence[Row]) -> list[Row]:
    """One row for those that differ in lines and registers alone: the first, and how many they are.

    Args:
        rows: of :func:`hazard_rows`.
    """
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        opcodes = (str(row[side]).partition(" ")[0] for side in ("first", "second"))
        found.setdefault((row["kind"], row["missing"], *opcodes), []).append(row)
    return [{"kind": few[0]["kind"], "pairs": len(few), **few[0]} for few in found.values()]


def needless_rows(report: Report) -> list[Row]:
    """Waits and barriers that can be dropped, one at a time, without a hazard."""
    return [
        {
            "line": need.instruction.line,
            "text": need.instruction.text,
            "counter": need.counter or "barrier",
            "inline_asm": need.instruction.inline_asm,
        }
        for need in report.needless
    ]


def verdict(report: Report) -> str:
    """The report in one line."""
    if report.clean:
        return f"clean: no hazard, the same bytes in all of {len(report.orders)} orders of waves"
    found = []
    if report.hazards:
        found.append(f"{len(report.hazards)} pairs of instructions that nothing orders")
    if report.undefined:
        found.append(f"{len(report.undefined)} reads of what nothing has written")
    buffers = sorted({one.buffer for one in report.differences if not one.atomic})
    if buffers:
        found.append(f"what {', '.join(buffers)} holds depends on the order of the waves")
    return "; ".join(found) + _early_end(report)


def _early_end(report: Report) -> str:
    return "" if report.fault is None else f"; the run ended early: {report.fault}"


def needless_summary(report: Report) -> str:
    """How many waits and barriers can go, of how many that were reached."""
    reached = sum(need.reached for need in report.needs)
    left = len(report.needs) - reached
    unreached = f"; {left} were not reached and are not judged" if left else ""
    dropped = f"{len(report.needless)} of {reached} can be dropped, one at a time{unreached}"
    return dropped + _early_end(report)
