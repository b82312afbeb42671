"""The tables in ``data/numerics/`` and their columns; reading needs neither FlyDSL nor torch."""

from __future__ import annotations

from ..files import DATA

PARTS = ("verify", "mutants", "timeline")
"""Parts of the study, each with tables of its own."""

NUMERICS = DATA / "numerics"
VERIFY = NUMERICS / "verify.csv"
ERRORS = NUMERICS / "errors.csv"
BOUNDARIES = NUMERICS / "boundaries.csv"
HAZARDS = NUMERICS / "hazards.csv"
NEEDLESS = NUMERICS / "needless.csv"
MUTANTS = NUMERICS / "mutants.csv"
TIMELINE = NUMERICS / "timeline.csv"

_KERNEL = ("kernel", "variant", "shape", "flags")
VERIFY_COLUMNS = (
    *(*_KERNEL, "path", "tiles", "cos", "max_abs", "max_ulp", "mismatches"),
    *("bit_equal_to_none", "hazards", "needless_waits", "passed", "isa_sha256"),
)
"""One run. ``passed`` is about the numbers: compared, no mismatch, no byte outside the tiles.
``hazards`` and ``needless_waits`` are the sanitizer's; a layer, whose kernels have rows of their
own, has none. ``isa_sha256`` of a layer is gemm1's and gemm2's."""
BOUNDARIES_COLUMNS = (
    *(*_KERNEL, "path", "elements"),
    *("boundary_cases", "boundary_differences", "stray_bytes"),
)
"""Elements compared in a run, those within the bound of the f32 arithmetic of a point where the
result changes, those of them that came out on the other side, and bytes written elsewhere."""
ERRORS_COLUMNS = (*_KERNEL, "path", "low", "high", "elements")
"""A histogram of (written - reference) in steps of the output format, values beyond the ends in
the outermost bins, elements with a reference of zero left out. The steps are those at the
reference: of bf16, or of E2M1 at the written scale."""
HAZARDS_COLUMNS = (
    *(*_KERNEL, "kind", "first_opcode", "second_opcode", "missing", "pairs"),
    *("first_line", "first", "second_line", "second", "where"),
)
"""Pairs of instructions that nothing orders, one row per kind of pair, with one of them in full."""
NEEDLESS_COLUMNS = (*_KERNEL, "line", "text", "counter", "inline_asm")
MUTANTS_COLUMNS = (
    *("kernel", "variant", "shape", "flags", "line", "text", "mutant"),
    *("verdict", "predicted", "agree", "hazard"),
)
"""One changed wait or barrier. ``verdict`` is what the sanitizer says of the mutant: ``flagged``,
``needless`` or ``unreached``; ``predicted`` is what its run of the original says."""
TIMELINE_COLUMNS = (
    *(*_KERNEL, "position", "line", "opcode", "kind", "region"),
    *("vm_in_flight", "ended_by", "isa_sha256"),
)
"""Loads, LDS reads, MFMAs, waits and barriers that one wave executed, by position."""
