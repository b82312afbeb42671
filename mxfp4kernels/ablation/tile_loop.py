"""One trip of the persistent kernels' tile loop, which is what runs when tiles are many.

``python -m mxfp4kernels.ablation.tile_loop`` counts it into ``data/isa/tile_loop.csv``. The regions
of ``counts.csv`` add the loop to the straight code before it; the published counts have it apart,
too. Reading needs neither FlyDSL nor torch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..cache import CacheError
from ..compiler import CompiledKernel, CompileError, Compiler, Job, MissingComponent
from ..files import DATA, read_csv, write_csv
from ..flags import ALL, NONE, join
from ..isa import count_program
from ..shapes import REFERENCE_SHAPE, VARIANTS
from ..steps import plain_step
from .counts import CLASSES
from .published import CLASS_COLUMNS, REFERENCE, SALU_AND_OTHER, SETS

TILE_LOOP = DATA / "isa" / "tile_loop.csv"
COLUMNS = ("kernel", "variant", "shape", "flags", "llvm", *CLASSES, "total", "isa_sha256")
SCOPE = "persistent loop body (one tile)"
"""How the published table calls one trip."""


def row(kernel: CompiledKernel) -> dict[str, object]:
    """One trip of the loop.

    Raises:
        ValueError: the kernel has no tile loop.
        AssemblyError: the assembly is not understood.
    """
    trip = count_program(kernel.program).tile_loop
    if trip is None:
        raise ValueError(f"{kernel.job} has no tile loop; only persistent kernels do")
    job = kernel.job
    return {
        "kernel": job.variant.kernel,
        "variant": job.variant.name,
        "shape": job.shape,
        "flags": join(job.flags),
        "llvm": kernel.provenance.llvm,
        **{of.value: number for of, number in trip.classes.items()},
        "total": trip.total,
        "isa_sha256": kernel.provenance.isa_sha256,
    }


def jobs() -> list[Job]:
    """The persistent kernels in the parent's and the merged form."""
    persistent = [variant for variant in VARIANTS if variant.persistent]
    return [Job(one, REFERENCE_SHAPE, flags) for one in persistent for flags in (NONE, ALL)]


def write_tile_loop(rows: Iterable[Mapping[str, object]], path: Path = TILE_LOOP) -> None:
    """Write the table whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, rows)


def read_tile_loop(path: Path = TILE_LOOP) -> dict[tuple[str, str], dict[str, int]]:
    """Counts by class, of each variant's name and ``none`` or ``all``; SALU and OTHER together.

    Raises:
        TableError, ValueError, OSError: the file cannot be read or understood.
    """
    found = {}
    for one in read_csv(path, COLUMNS):
        numbers = {name: int(one[name]) for name in (*CLASSES, "total")}
        numbers[SALU_AND_OTHER] = numbers.pop("SALU") + numbers.pop("OTHER")
        found[one["variant"], "none" if one["flags"] == "none" else "all"] = numbers
    return found


def read_published(path: Path = REFERENCE) -> dict[tuple[str, str], dict[str, int]]:
    """The same from the published table.

    Raises:
        TableError, ValueError, OSError: the file cannot be read or understood.
    """
    found = {}
    for one in read_csv(path, ("set", "instance", "scope")):
        if one["set"] in SETS and one["scope"] == SCOPE:
            numbers = {name: int(one[column]) for name, column in CLASS_COLUMNS.items()}
            numbers[SALU_AND_OTHER] = numbers.pop("SALU")
            numbers["total"] = int(one["total"])
            variant = "bm128_mxfp4" if one["instance"].endswith("mxfp4") else "bm128_nonatomic"
            found[variant, "none" if SETS[one["set"]] == NONE else "all"] = numbers
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table; returns an exit code."""
    errors = (CacheError, CompileError, MissingComponent)
    return plain_step(argv, "ablation.tile_loop", __doc__, _write, *errors)


def _write() -> Iterable[Path]:
    write_tile_loop(map(row, Compiler().compile_all(jobs())))
    yield TILE_LOOP


if __name__ == "__main__":
    sys.exit(main())
