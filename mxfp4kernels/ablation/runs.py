"""The ISA ablation: every flag setting that the studies need, compiled and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..compiler import CompiledKernel, Compiler, Job
from ..flags import STUDIES, FlagSet, factorial, join, study_settings
from ..isa import Counts, Occupancy, count_program, occupancy_of
from ..shapes import REFERENCE_SHAPE, VARIANTS, Shape, ShapeError, Variant, check
from .counts import KERNEL, CountRow, CountTable


def runnable(
    shape: Shape, variants: Iterable[Variant] = VARIANTS
) -> tuple[tuple[Variant, ...], tuple[str, ...]]:
    """Those of ``variants`` that can run the shape, and why each of the others cannot.

    Raises:
        ShapeError: none of them can.
    """
    fit: list[Variant] = []
    refused: list[str] = []
    for variant in variants:
        try:
            check(variant, shape)
            fit.append(variant)
        except ShapeError as error:
            refused.append(f"{variant} cannot run {shape}: {error}")
    if not fit:
        raise ShapeError(refused[0] if refused else "no variant was asked for")
    return tuple(fit), tuple(refused)


def jobs(
    shape: Shape = REFERENCE_SHAPE,
    variants: Iterable[Variant] = VARIANTS,
    studies: Iterable[str] = tuple(STUDIES),
) -> list[Job]:
    """What the studies need, variant by variant.

    Raises:
        FlagError: no such study.
        ShapeError: a variant cannot run the shape.
    """
    names = tuple(studies)
    return [
        Job(variant, shape, flags)
        for variant in variants
        for flags in study_settings(variant, names)
    ]


def factorial_jobs(shape: Shape, variants: Iterable[Variant], names: FlagSet) -> list[Job]:
    """Every combination of the named flags, the others off, variant by variant.

    Raises:
        FlagError: a flag has no effect in one of the variants.
        ShapeError: a variant cannot run the shape.
    """
    return [
        Job(variant, shape, flags) for variant in variants for flags in factorial(variant, names)
    ]


def count(kernel: CompiledKernel) -> list[CountRow]:
    """One row for the whole kernel, then one per region.

    Raises:
        AssemblyError: the assembly holds an opcode without a class, or has no known structure.
    """
    counted = count_program(kernel.program)
    regions = {KERNEL: counted.kernel} | {
        region.value: counts for region, counts in counted.regions.items()
    }
    occupancy = occupancy_of(kernel.program)
    return [_row(kernel, occupancy, region, counts) for region, counts in regions.items()]


def _row(kernel: CompiledKernel, occupancy: Occupancy, region: str, counts: Counts) -> CountRow:
    resources = kernel.resources
    return CountRow(
        kernel=kernel.job.variant.kernel,
        variant=kernel.job.variant.name,
        shape=str(kernel.job.shape),
        flags=join(kernel.job.flags),
        region=region,
        classes={of.value: number for of, number in counts.classes.items()},
        resources={
            "vgpr": resources.vgpr,
            "agpr": resources.agpr,
            "sgpr": resources.sgpr,
            "lds_bytes": resources.lds_bytes,
            "kernarg_bytes": resources.kernarg_bytes,
            "spills": resources.spills,
            "waves_per_simd": occupancy.waves_per_simd,
        },
        limiter=occupancy.limiter,
        flydsl=kernel.provenance.flydsl,
        llvm=kernel.provenance.llvm,
        isa_sha256=kernel.provenance.isa_sha256,
    )


def run(
    compiler: Compiler,
    asked: Sequence[Job],
    progress: Callable[[int, int], None] | None = None,
) -> tuple[CountTable, tuple[str, ...]]:
    """Compile and count ``asked``, in its order.

    Returns:
        the table, and the warnings of the compilations.

    Raises:
        CompileError, CacheError, MissingComponent: see :meth:`.Compiler.compile_all`.
        AssemblyError: see :func:`count`.
    """
    kernels = compiler.compile_all(asked, progress)
    rows = [row for kernel in kernels for row in count(kernel)]
    return CountTable(rows), tuple(warning for kernel in kernels for warning in kernel.warnings)
