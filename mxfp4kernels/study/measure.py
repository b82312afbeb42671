"""One case run: numbers compared with the reference, waits and barriers judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..emulator import LOCKSTEP, Hazard, Need, Report, sanitize
from ..numerics.emulation import EmulatedLaunch
from ..numerics.layer import verify_layer
from ..numerics.problem import WORKGROUP, Problem
from ..numerics.verification import (
    Result,
    Verification,
    emptiest_block,
    sampled_workgroups,
)
from .cases import Case
from .errors import histogram


def measure(case: Case, assemblies: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Run every kernel of a case on the same inputs.

    Args:
        case: what to run.
        assemblies: texts per setting, one of each variant of the case.

    Returns:
        ``results``, one record per setting.

    Raises:
        EmulatorError: a kernel cannot be run, or accesses what it must not.
    """
    problem = problem_of(case)
    if case.follower is not None:
        return {"results": [_layer(problem, case, texts) for texts in assemblies]}
    groups = sampled_workgroups(problem) if case.sampled else None
    verification = Verification(problem, groups)
    return {"results": [_kernel(verification, case, text) for (text,) in assemblies]}


def problem_of(case: Case) -> Problem:
    """The case's inputs."""
    return Problem(case.variant, case.shape, case.tokens, case.routing, 0, case.content)


def _kernel(verification: Verification, case: Case, text: str) -> dict[str, Any]:
    result = verification.verify(text)
    errors = histogram(verification)
    report = _sanitized(verification, case, text)
    return _numbers(result) | {
        "errors": errors,
        "hazards": [describe_hazard(hazard) for hazard in report.hazards],
        "needless": [describe_need(need) for need in report.needless],
    }


def _numbers(result: Result) -> dict[str, Any]:
    counts = result.comparison
    return {
        "tiles": len(result.tiles),
        "elements": counts.elements,
        "cos": counts.cos,
        "max_abs": counts.max_abs,
        "max_ulp": counts.max_ulp,
        "mismatches": counts.mismatches,
        "boundary_cases": counts.boundary_cases,
        "boundary_differences": counts.boundary_differences,
        "strays": result.strays,
        "passed": result.passed,
        "digest": result.digest,
    }


def _layer(problem: Problem, case: Case, texts: Sequence[str]) -> dict[str, Any]:
    assert case.follower is not None
    first, second = texts
    layer = verify_layer((first, second), problem, case.follower)
    one, two = _numbers(layer.gemm1), _numbers(layer.gemm2)
    summed = ("tiles", "elements", "mismatches", "boundary_cases", "boundary_differences", "strays")
    return {name: one[name] + two[name] for name in summed} | {
        "cos": layer.cos,
        "max_abs": layer.max_abs,
        "max_ulp": max(one["max_ulp"], two["max_ulp"]),
        "passed": layer.passed,
        "digest": one["digest"] + two["digest"],
    }


# --- the sanitizer -------------------------------------------------------------------------------


class InconsistentReport(RuntimeError):
    """Bytes depend on the order of waves, and the sanitizer names no hazard.

    Or a kernel reads what nothing has written, for which the tables have no column.
    """


def _sanitized(verification: Verification, case: Case, text: str) -> Report:
    """The report on a few workgroups, see :func:`_judged`."""
    problem = verification.problem
    for argument in verification.arguments:
        argument.reset()
    launch = EmulatedLaunch.of(text, problem, verification.arguments)
    report = sanitize(
        launch.program,
        launch.kernarg,
        launch.grid,
        WORKGROUP,
        launch.memory,
        workgroups=_judged(verification),
        run_orders=None if case.every_order else [LOCKSTEP],
    )
    if report.undefined:
        reads = "; ".join(map(str, report.undefined))
        raise InconsistentReport(f"{problem.variant}: {reads}")
    if not report.hazards and not report.clean:
        raise InconsistentReport(f"{problem.variant}: {report.differences}")
    return report


def _judged(verification: Verification) -> list[int]:
    """The first and the last workgroup with tiles, one of the emptiest block, and one past them."""
    problem = verification.problem
    busy = [group for group in verification.workgroups if problem.tiles_of(group)]
    idle = [group for group in verification.workgroups if not problem.tiles_of(group)]
    if problem.variant.persistent and len(problem.tiles_of(busy[0])) > 1:
        return busy[:1]  # it makes several tiles, which is what is to be seen
    emptiest = emptiest_block(problem) * problem.n_blocks
    assert emptiest in busy, "all samples hold it"
    return sorted({busy[0], busy[-1], emptiest, *idle[-1:]})


def describe_hazard(hazard: Hazard) -> dict[str, Any]:
    """A hazard as plain values."""
    return {
        "kind": hazard.kind,
        "first": [hazard.first.line, hazard.first.opcode, hazard.first.text],
        "second": [hazard.second.line, hazard.second.opcode, hazard.second.text],
        "where": hazard.where,
        "missing": hazard.missing,
    }


def describe_need(need: Need) -> dict[str, Any]:
    """A wait or barrier that can be dropped, as plain values."""
    at = need.instruction
    return {
        "line": at.line,
        "text": at.text,
        "counter": need.counter or "barrier",
        "inline_asm": at.inline_asm,
    }
