"""What the runs found, as rows of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..compiler import CompiledKernel
from ..flags import FlagSet, join
from .cases import Case

Row = dict[str, object]
Answer = Mapping[str, Any]
YES_NO = {True: "yes", False: "no"}
DIGITS = 7
"""Decimals of a cosine. Sums of float64 agree to more, whatever the machine adds first."""


def _head(case: Case, flags: FlagSet) -> Row:
    return {
        "kernel": case.kernel,
        "variant": case.name,
        "shape": str(case.shape),
        "flags": join(flags),
    }


def _sha(kernels: Sequence[CompiledKernel]) -> str:
    return "+".join(kernel.provenance.isa_sha256 for kernel in kernels)


def verify_rows(
    case: Case, kernels: Sequence[Sequence[CompiledKernel]], answer: Answer
) -> Iterator[Row]:
    """Rows of ``verify.csv``, one per setting."""
    results = answer["results"]
    for flags, compiled, result in zip(case.settings, kernels, results, strict=True):
        yield _head(case, flags) | {
            "path": case.path,
            "tiles": result["tiles"],
            "cos": f"{result['cos']:.{DIGITS}f}",
            "max_abs": f"{result['max_abs']:.4g}",
            "max_ulp": result["max_ulp"],
            "mismatches": result["mismatches"],
            "bit_equal_to_none": YES_NO[result["digest"] == results[0]["digest"]],
            "hazards": len(result["hazards"]) if "hazards" in result else "",
            "needless_waits": len(result["needless"]) if "needless" in result else "",
            "passed": YES_NO[result["passed"]],
            "isa_sha256": _sha(compiled),
        }


def boundary_rows(case: Case, answer: Answer) -> Iterator[Row]:
    """Rows of ``boundaries.csv``, one per setting."""
    names = ("elements", "boundary_cases", "boundary_differences")
    for flags, result in zip(case.settings, answer["results"], strict=True):
        counts = {name: result[name] for name in names}
        yield _head(case, flags) | {"path": case.path, **counts, "stray_bytes": result["strays"]}


def error_rows(case: Case, answer: Answer) -> Iterator[Row]:
    """Rows of ``errors.csv``, one per setting and bin."""
    for flags, result in zip(case.settings, answer["results"], strict=True):
        for low, high, count in result["errors"]:
            bounds = {"low": f"{low:.3f}", "high": f"{high:.3f}", "elements": count}
            yield _head(case, flags) | {"path": case.path, **bounds}


def hazard_rows(case: Case, answer: Answer) -> Iterator[Row]:
    """Rows of ``hazards.csv``: pairs of the same opcodes and the same remedy are one row."""
    for flags, result in zip(case.settings, answer["results"], strict=True):
        groups: dict[tuple[str, ...], list[Answer]] = {}
        for hazard in result["hazards"]:
            opcodes = hazard["first"][1], hazard["second"][1]
            groups.setdefault((hazard["kind"], *opcodes, hazard["missing"]), []).append(hazard)
        for (kind, first, second, missing), hazards in groups.items():
            one = hazards[0]
            yield _head(case, flags) | {
                "kind": kind,
                "first_opcode": first,
                "second_opcode": second,
                "missing": missing,
                "pairs": len(hazards),
                "first_line": one["first"][0],
                "first": one["first"][2],
                "second_line": one["second"][0],
                "second": one["second"][2],
                "where": one["where"],
            }


def needless_rows(case: Case, answer: Answer) -> Iterator[Row]:
    """Rows of ``needless.csv``: waits and barriers that can be dropped one at a time."""
    for flags, result in zip(case.settings, answer["results"], strict=True):
        for need in result["needless"]:
            found = {name: need[name] for name in ("line", "text", "counter")}
            yield _head(case, flags) | {**found, "inline_asm": YES_NO[need["inline_asm"]]}


def mutant_rows(case: Case, flags: FlagSet, answers: Sequence[Answer]) -> Iterator[Row]:
    """Rows of ``mutants.csv`` of one kernel, whose mutants came in parts."""
    for answer in answers:
        for mutant in answer["mutants"]:
            agree = YES_NO[mutant["verdict"] == mutant["predicted"]]
            yield _head(case, flags) | mutant | {"agree": agree}


def timeline_rows(
    case: Case, flags: FlagSet, kernels: Sequence[CompiledKernel], answer: Answer
) -> Iterator[Row]:
    """Rows of ``timeline.csv`` of one kernel."""
    for event in answer["events"]:
        yield _head(case, flags) | event | {"isa_sha256": _sha(kernels)}
