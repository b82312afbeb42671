"""The same kernels through another LLVM.

``python -m mxfp4kernels.ablation.other_llvm --clang clang-22`` writes ``data/isa/other_llvm*.csv``.
The published counts come from LLVM 22, ours from the LLVM inside FlyDSL. To tell the compiler's
part of a difference from the source's, FlyDSL traces and lowers as always, and an installed clang
optimises and emits instead of FlyDSL's own LLVM. Its IR is newer than the clang that reads it; a
clang that does not know something in it stops with an error.

Writes ``data/isa/other_llvm.csv``: rows as in ``counts.csv`` for ``none`` and ``all``, and with
each row the hash of FlyDSL's own assembly, so that counts of older kernels are noticed;
``data/isa/other_llvm_nops.csv``, as ``nops.csv``; and ``data/isa/other_llvm_excerpts.csv`` with an
excerpt of its assembly.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tqdm import tqdm

from ..cache import CacheError
from ..compiler import CompiledKernel, CompileError, Compiler, Job, MissingComponent, Provenance
from ..files import DATA, write_csv
from ..flags import ALL, NONE
from ..shapes import REFERENCE_SHAPE, VARIANTS
from ..steps import run_step
from . import nops
from .counts import COLUMNS
from .excerpts import EXP2_PAIRS, ExcerptError, cut, write_excerpts
from .nops import write_nops
from .runs import count

COUNTS = DATA / "isa" / "other_llvm.csv"
EXCERPTS = DATA / "isa" / "other_llvm_excerpts.csv"
NOPS = DATA / "isa" / "other_llvm_nops.csv"
FLYDSL_SHA256 = "flydsl_isa_sha256"
"""The column with the hash of what FlyDSL's LLVM makes of the same kernel."""
OPTIONS = ("--target=amdgcn-amd-amdhsa", "-mcpu=gfx950", "-nogpulib", "-O3", "-S")
_TARGET = '#rocdl.target<chip = "gfx950">'
_UNOPTIMISED = '#rocdl.target<O = 0, chip = "gfx950">'


def version(clang: str) -> str:
    """Version of a clang with an AMDGPU target, such as ``22.1.8``.

    Raises:
        MissingComponent: no such program, or it does not know gfx950.
    """
    if shutil.which(clang) is None:
        raise MissingComponent(f"no {clang} to be found; install it, or name another with --clang")
    known = subprocess.run(
        [clang, "--target=amdgcn-amd-amdhsa", "--print-supported-cpus"],
        capture_output=True,
        text=True,
    )
    if "gfx950" not in known.stdout + known.stderr:
        raise MissingComponent(f"{clang} has no AMDGPU target with gfx950; name another clang")
    found = re.search(r"version (\d+\.\d+\.\d+)", known.stdout + known.stderr)
    if found is None:
        raise MissingComponent(f"{clang} does not tell its version")
    return found[1]


def bitcode(job: Job) -> bytes:
    """The kernel as FlyDSL lowers it, before any optimisation by LLVM.

    Raises:
        CompileError: FlyDSL's module does not name its target as expected.
    """
    from .. import offline  # FlyDSL is needed to make the counts, not to read them

    build = importlib.import_module("mxfp4kernels.kernels").build
    kernel = build(job.variant, job.shape, job.flags)
    text = offline.lower(kernel.launcher, kernel.placeholders)
    if _TARGET not in text:
        raise CompileError(f"{job}: FlyDSL's module has no {_TARGET}")
    return offline.serialise(text.replace(_TARGET, _UNOPTIMISED), "llvm")


def compile_with(clang: str, job: Job) -> str:
    """Assembly of a kernel by ``clang``.

    Raises:
        CompileError: clang refused the module.
    """
    made = subprocess.run(
        [clang, *OPTIONS, "-x", "ir", "-", "-o", "-"], input=bitcode(job), capture_output=True
    )
    messages = made.stderr.decode(errors="replace").strip()
    if made.returncode:
        raise CompileError(f"{clang} could not compile {job}: {messages}", messages)
    return made.stdout.decode()


def kernels(clang: str, jobs: Iterable[Job]) -> list[CompiledKernel]:
    """Every job through ``clang``.

    Raises:
        CompileError, MissingComponent: see the functions above.
    """
    from .. import offline

    llvm, flydsl = version(clang), importlib.metadata.version("flydsl")
    offline.install_backend("gfx950")
    made = []
    for job in tqdm(list(jobs), desc=clang, unit="kernel", disable=None):
        assembly = compile_with(clang, job)
        digest = hashlib.sha256(assembly.encode()).hexdigest()
        made.append(CompiledKernel(job, assembly, Provenance(flydsl, llvm, digest, 0.0), ""))
    return made


def write_tables(clang: str) -> tuple[Path, ...]:
    """Count the kernels that ``clang`` makes, cut the excerpt, and write the tables whole.

    Returns:
        The files.

    Raises:
        CompileError, MissingComponent, ExcerptError, OSError.
    """
    jobs = [Job(variant, REFERENCE_SHAPE, flags) for variant in VARIANTS for flags in (NONE, ALL)]
    own = Compiler().compile_all(jobs)
    made = kernels(clang, jobs)
    rows: list[dict[str, object]] = [
        {**row.as_row(), FLYDSL_SHA256: twin.provenance.isa_sha256}
        for kernel, twin in zip(made, own, strict=True)
        for row in count(kernel)
    ]
    shown = next(kernel for kernel in made if kernel.job == EXP2_PAIRS.job)
    write_csv(COUNTS, (*COLUMNS, FLYDSL_SHA256), rows)
    write_nops((row for kernel in made for row in nops.rows(kernel)), NOPS)
    write_excerpts(cut(shown, EXP2_PAIRS), EXCERPTS)
    return COUNTS, NOPS, EXCERPTS


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables; returns an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.ablation.other_llvm", description=__doc__
    )
    parser.add_argument("--clang", default="clang-22", help="default: %(default)s")
    arguments = parser.parse_args(argv)
    return run_step(
        lambda: write_tables(arguments.clang),
        *(CacheError, CompileError, MissingComponent, ExcerptError),
    )


if __name__ == "__main__":
    sys.exit(main())
