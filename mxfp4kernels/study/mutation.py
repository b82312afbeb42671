"""One kernel's mutants: every wait weakened or removed, every barrier removed, one at a time.

The sanitizer runs the original once and predicts which of the changes are harmless; here each
changed program is run, and has to bear it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..emulator import LOCKSTEP, EmulatorError, Mutant, Need, Report, decode, sanitize
from ..emulator.decode import Decoded, decode_changed
from ..numerics.emulation import EmulatedLaunch
from ..numerics.problem import WORKGROUP
from ..numerics.verification import Verification
from .cases import Case
from .measure import problem_of
from .parts import mutants_of

FLAGGED, NEEDLESS, UNREACHED = "flagged", "needless", "unreached"


@dataclass(frozen=True)
class Bench:
    """A kernel on a launch of one workgroup that makes every tile of the case.

    Attributes:
        launch: with a grid of one workgroup, so that a persistent kernel loops.
        decoded: the kernel as it is.
        report: the sanitizer's on it.
    """

    launch: EmulatedLaunch
    decoded: Decoded
    report: Report

    @classmethod
    def of(cls, case: Case, assembly: str) -> Bench:
        """Prepare the launch and sanitize the original.

        Raises:
            EmulatorError: the kernel cannot be run.
        """
        verification = Verification(problem_of(case), [0])
        arguments = verification.arguments
        for argument in arguments:
            argument.reset()
        launch = EmulatedLaunch.of(assembly, verification.problem, arguments, workgroups=1)
        decoded = decode(launch.program)
        return cls(launch, decoded, _sanitize(launch, decoded))

    def judge(self, mutant: Mutant) -> tuple[str, str]:
        """The verdict on a mutant, and the first hazard that it adds."""
        changed = decode_changed(self.decoded, mutant.program, mutant.instruction.index)
        try:
            added = _sanitize(self.launch, changed).beyond(self.report)
        except EmulatorError as error:  # a wait so late that an address is wrong
            return FLAGGED, str(error)
        return (FLAGGED, f"{added[0].kind}: {added[0].missing}") if added else (NEEDLESS, "")


def _sanitize(launch: EmulatedLaunch, decoded: Decoded) -> Report:
    return sanitize(
        decoded,
        launch.kernarg,
        launch.grid,
        WORKGROUP,
        launch.memory,
        workgroups=[0],
        run_orders=[LOCKSTEP],
    )


def mutate(case: Case, assembly: str, part: int) -> dict[str, Any]:
    """Judge a part of a kernel's mutants.

    Args:
        case: how to launch the kernel.
        assembly: its text.
        part: which of :func:`~.parts.parts_of`.

    Returns:
        ``mutants``, one record each; ``hazards`` of the original.

    Raises:
        EmulatorError: the original cannot be run.
    """
    bench = Bench.of(case, assembly)
    needs = {(need.instruction.index, need.counter): need for need in bench.report.needs}
    chosen = mutants_of(bench.launch.program, part)
    return {
        "mutants": [
            _record(bench, mutant, needs[mutant.instruction.index, mutant.counter])
            for mutant in chosen
        ],
        "hazards": len(bench.report.hazards),
    }


def _record(bench: Bench, mutant: Mutant, need: Need) -> dict[str, Any]:
    verdict, hazard = bench.judge(mutant) if need.reached else (UNREACHED, "")
    predicted = NEEDLESS if mutant.survives(need) else FLAGGED
    return {
        "line": mutant.instruction.line,
        "text": mutant.instruction.text,
        "mutant": mutant.change,
        "verdict": verdict,
        "predicted": predicted if need.reached else UNREACHED,
        "hazard": hazard,
    }
