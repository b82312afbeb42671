"""``(variant, shape, flags)`` to a compiled gfx950 kernel: assembly, resources, provenance.

Compiling needs FlyDSL and torch but neither ROCm nor a device; reading what the cache already holds
needs neither of them. Kernels are compiled in processes of their own, see
:mod:`mxfp4kernels.offline`.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .cache import Cache, digest
from .flags import FlagSet, acting, join
from .isa import Program, parse
from .shapes import Shape, Variant, check
from .workers import WorkerError, run_all

ARCHITECTURES = ("gfx950",)
"""The targets that have the scaled MFMA and the LDS that the kernels are written for."""

INSTALL = 'pip install -e ".[compile]"'

MINIMUM_LLD = 19
"""The first LLD that links code object version 6; older ones refuse it."""

LINKER_SECONDS = 30
"""How long a linker may take to say its version."""


class CompileError(RuntimeError):
    """A kernel that could not be compiled.

    ``details`` holds what the compiler wrote and the traceback in the compiling process.
    """

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class MissingComponent(RuntimeError):
    """Something optional that this task needs is not installed."""


class ArchitectureError(ValueError):
    """A target that the kernels do not run on."""


@dataclass(frozen=True)
class Resources:
    """What the code object asks of the device, as its metadata says.

    ``vgpr`` counts the combined register file: ``agpr`` is part of it. Sizes are in bytes;
    ``spills`` are registers, vector and scalar together.
    """

    vgpr: int
    agpr: int
    sgpr: int
    spills: int
    scratch_bytes: int
    lds_bytes: int
    kernarg_bytes: int
    workgroup_threads: int


@dataclass(frozen=True)
class Provenance:
    """Where an assembly text comes from; ``seconds`` is the time its compilation took."""

    flydsl: str
    llvm: str
    isa_sha256: str
    seconds: float


@dataclass(frozen=True)
class Job:
    """One kernel to compile. ``flags`` without an effect in ``variant`` are dropped.

    Raises:
        ShapeError: the variant cannot run the shape.
        ArchitectureError: no such target.
    """

    variant: Variant
    shape: Shape
    flags: FlagSet
    arch: str = "gfx950"

    def __post_init__(self) -> None:
        if self.arch not in ARCHITECTURES:
            raise ArchitectureError(
                f"unknown architecture {self.arch!r}; the kernels are written for "
                f"{', '.join(ARCHITECTURES)}"
            )
        object.__setattr__(self, "flags", acting(self.variant, self.flags))
        check(self.variant, self.shape, safe_lds_reuse="safe_lds_reuse" in self.flags)

    def __str__(self) -> str:
        return f"{self.variant} {self.shape} {join(self.flags)}"


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel's final assembly and where it comes from.

    ``messages`` is what the compiler wrote to standard error, short of an error.
    """

    job: Job
    assembly: str
    provenance: Provenance
    messages: str

    @cached_property
    def program(self) -> Program:
        """The assembly, parsed.

        Raises:
            AssemblyError: the parser does not know something in it.
        """
        return parse(self.assembly)

    @cached_property
    def resources(self) -> Resources:
        """What the metadata says; parses the assembly."""
        metadata = self.program.metadata
        return Resources(
            vgpr=metadata[".vgpr_count"],
            agpr=metadata[".agpr_count"],
            sgpr=metadata[".sgpr_count"],
            spills=metadata[".vgpr_spill_count"] + metadata[".sgpr_spill_count"],
            scratch_bytes=metadata[".private_segment_fixed_size"],
            lds_bytes=metadata[".group_segment_fixed_size"],
            kernarg_bytes=metadata[".kernarg_segment_size"],
            workgroup_threads=metadata[".max_flat_workgroup_size"],
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a caller should not overlook: compiler messages, spilled registers, scratch."""
        found = [f"{self.job}: the compiler said: {self.messages}"] if self.messages else []
        if self.resources.spills:
            found.append(f"{self.job}: {self.resources.spills} registers spilled")
        if self.resources.scratch_bytes:
            found.append(f"{self.job}: {self.resources.scratch_bytes} bytes of scratch per lane")
        return tuple(found)


@dataclass(frozen=True)
class LinkedKernel:
    """A compiled kernel and the ELF code object that was linked from the same lowered module."""

    kernel: CompiledKernel
    code_object: bytes


@dataclass(frozen=True)
class Builder:
    """What turns a job into a launcher, and the files that decide the result.

    Args:
        function: ``module:function`` called with variant, shape and flags; its result has
            ``launcher`` (a ``@flyc.jit`` function) and ``placeholders`` (arguments to compile it
            with, at least one of them a null pointer).
        sources: files and directories of Python files whose content belongs to the key.
        expects: the start of an opcode that every kernel's body must hold.
    """

    function: str
    sources: tuple[Path, ...]
    expects: str

    @cached_property
    def sources_sha256(self) -> str:
        """Digest over names and contents of the source files."""
        hashed = hashlib.sha256()
        for source in self.sources:
            for path in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
                hashed.update(f"{path.relative_to(source.parent)}\0".encode())
                hashed.update(path.read_bytes() + b"\0")
        return hashed.hexdigest()


_PACKAGE = Path(__file__).parent

KERNELS = Builder(
    function="mxfp4kernels.kernels:build",
    sources=(_PACKAGE / "kernels", _PACKAGE / "shapes.py", _PACKAGE / "offline.py"),
    expects="v_mfma_scale_f32_16x16x128_f8f6f4",
)
"""The package's own kernels."""


ENTRY: Mapping[str, type | tuple[type, ...]] = {
    "assembly": str,
    "messages": str,
    "llvm": str,
    "flydsl": str,
    "seconds": (int, float),
}
"""What a cache entry holds at least, and of which type."""

WORKER_BYTES = 2**30
"""Memory to allow for a compiling process; the package's own kernels take about 0.65 GB."""


def default_workers() -> int:
    """All cores that this process may use, or as many as the machine's memory holds."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // WORKER_BYTES))


class Compiler:
    """Compiles jobs through a cache.

    Args:
        cache: where finished kernels are kept.
        builder: what makes a launcher of a job.
        workers: processes; :func:`default_workers` when left out.
    """

    def __init__(
        self,
        cache: Cache | None = None,
        builder: Builder = KERNELS,
        workers: int | None = None,
    ) -> None:
        self.cache = Cache() if cache is None else cache
        self.builder = builder
        self.workers = workers or default_workers()

    def key(self, job: Job) -> str:
        """The cache key: everything that decides the assembly.

        Raises:
            MissingComponent: FlyDSL is not installed, so its version is unknown.
        """
        return digest(
            {
                "builder": [self.builder.function, self.builder.sources_sha256],
                "flydsl": flydsl_fingerprint(),
                "job": self._request(job),
            }
        )

    def compile(self, job: Job) -> CompiledKernel:
        """One kernel; see :meth:`compile_all`."""
        return self.compile_all([job])[0]

    def compile_all(
        self, jobs: Sequence[Job], progress: Callable[[int, int], None] | None = None
    ) -> list[CompiledKernel]:
        """The kernels of ``jobs``, in their order; what the cache lacks is compiled and stored.

        Args:
            progress: called with the number of finished kernels and of all, from the first on.

        Raises:
            CompileError: jobs that failed, after all others were compiled and stored.
            CacheError: the cache cannot be read, or not written when it has to be.
            MissingComponent: FlyDSL or torch is not installed.
        """
        distinct = list(dict.fromkeys(jobs))
        keys = {job: self.key(job) for job in distinct}
        done: dict[Job, CompiledKernel] = {}
        for job in distinct:
            stored = self.cache.get(keys[job], self._sound)
            if stored is not None:
                done[job] = _kernel(job, stored)
        report = progress or (lambda finished, total: None)
        report(len(done), len(distinct))
        missing = [job for job in distinct if job not in done]
        if missing:
            self.cache.probe()

        def store(job: Job, answer: Mapping[str, Any]) -> None:
            entry = {**answer, "flydsl": flydsl_version()}
            done[job] = _kernel(job, entry)
            self.cache.put(keys[job], entry)
            report(len(done), len(distinct))

        self._compile(missing, store)
        return [done[job] for job in jobs]

    def code_object(self, job: Job, linker: Path | None = None) -> bytes:
        """The linked ELF code object of a kernel; see :meth:`link_all`."""
        return self.link_all([job], linker)[0].code_object

    def link_all(self, jobs: Sequence[Job], linker: Path | None = None) -> list[LinkedKernel]:
        """Assembly and code object of each job, both from one lowering; made anew, not kept.

        Args:
            jobs: the kernels.
            linker: an ``ld.lld`` of LLVM 19 or later; :func:`find_linker` when left out.

        Raises:
            CompileError, MissingComponent: as :meth:`compile_all`; no linker was found.
        """
        chosen = find_linker() if linker is None else linker.absolute()
        done: dict[Job, LinkedKernel] = {}

        def keep(job: Job, answer: Mapping[str, Any]) -> None:
            kernel = _kernel(job, {**answer, "flydsl": flydsl_version()})
            done[job] = LinkedKernel(kernel, base64.b64decode(answer["code_object"]))

        self._compile(dict.fromkeys(jobs), keep, linker=str(chosen))
        return [done[job] for job in jobs]

    def _sound(self, entry: Mapping[str, Any]) -> bool:
        """Whether a cache entry is a kernel, and not merely intact."""
        typed = all(isinstance(entry.get(name), of) for name, of in ENTRY.items())
        return typed and self.builder.expects in entry["assembly"]

    def _request(self, job: Job, linker: str | None = None) -> dict[str, Any]:
        return {
            "builder": self.builder.function,
            "kernel": job.variant.kernel,
            "variant": job.variant.name,
            "shape": str(job.shape),
            "flags": sorted(job.flags),
            "arch": job.arch,
            "expects": self.builder.expects,
            "linker": linker,
        }

    def _compile(
        self,
        jobs: Iterable[Job],
        store: Callable[[Job, Mapping[str, Any]], None],
        linker: str | None = None,
    ) -> None:
        """Compile ``jobs`` in worker processes; ``store`` is called here, one result at a time."""
        requests = {job: self._request(job, linker) for job in jobs}
        if not requests:
            return
        flydsl_version()
        if importlib.util.find_spec("torch") is None:
            raise MissingComponent(f"FlyDSL needs torch, which is not installed; {INSTALL}")
        failures: list[tuple[Job, WorkerError]] = []
        for job, result in run_all(requests, self.workers, environment=_environment()):
            if isinstance(result, WorkerError):
                failures.append((job, result))
            else:
                store(job, result)
        for _, error in failures:
            if _IMPORT_FAILED.match(error.last_words):
                raise MissingComponent(
                    f"FlyDSL is installed but cannot be imported: {error.last_words}; {INSTALL}"
                )
        if failures:
            raise _failure(failures, len(requests))


_IMPORT_FAILED = re.compile(r"(?:ModuleNotFound|Import)Error\b")


def _failure(failures: Sequence[tuple[Job, WorkerError]], total: int) -> CompileError:
    job, first = failures[0]
    others = f"; {len(failures) - 1} more of {total} failed" if len(failures) > 1 else ""
    details = "\n".join(f"{job}: {error}\n{error.details}" for job, error in failures)
    return CompileError(f"{job}: {first}{others}", details)


def _environment() -> dict[str, str]:
    """The environment of the compiling processes: none of FlyDSL's switches reaches them."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("FLYDSL_") and name not in ("ARCH", "COMPILE_ONLY")
    }
    # Some of FlyDSL's helpers ask for the architecture themselves. Its own cache is off: its key
    # and ours would have to agree on what makes two kernels equal.
    return ours | {
        "FLYDSL_GPU_ARCH": ARCHITECTURES[0],
        "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
        "PYTHONHASHSEED": "0",
    }


def flydsl_version() -> str:
    """The version of the installed FlyDSL.

    Raises:
        MissingComponent: it is not installed.
    """
    try:
        return importlib.metadata.version("flydsl")
    except importlib.metadata.PackageNotFoundError:
        raise MissingComponent(f"FlyDSL is not installed; {INSTALL}") from None


@cache
def flydsl_fingerprint() -> str:
    """Version and content of the installed FlyDSL, from the hashes pip keeps of its files."""
    version = flydsl_version()
    record = importlib.metadata.distribution("flydsl").read_text("RECORD") or ""
    return f"{version} {hashlib.sha256(record.encode()).hexdigest()}"


def _kernel(job: Job, entry: Mapping[str, Any]) -> CompiledKernel:
    assembly: str = entry["assembly"]
    return CompiledKernel(
        job=job,
        assembly=assembly,
        provenance=Provenance(
            flydsl=entry["flydsl"],
            llvm=entry["llvm"],
            isa_sha256=hashlib.sha256(assembly.encode()).hexdigest(),
            seconds=entry["seconds"],
        ),
        messages=entry["messages"],
    )


def find_linker() -> Path:
    """An ``ld.lld`` of LLVM 19 or later: on PATH, in ROCm, or where Debian puts its versions.

    Raises:
        MissingComponent: none was found; the message says why those that are there will not do.
    """
    refused = []
    for candidate in _linker_candidates():
        version = _linker_version(candidate)
        if version is None:
            refused.append(f"{candidate} cannot be run")
        elif version < MINIMUM_LLD:
            refused.append(f"{candidate} is {version}")
        else:
            return candidate
    found = f"; {', '.join(refused)}" if refused else ""
    raise MissingComponent(
        f"no ld.lld of LLVM {MINIMUM_LLD} or later found{found}; the code object needs one "
        f"(Debian: apt-get install lld-{MINIMUM_LLD}), the assembly does not"
    )


def _linker_candidates() -> list[Path]:
    """Absolute paths: the process that links has another working directory."""
    on_path = [Path(folder or ".", "ld.lld").absolute() for folder in os.get_exec_path()]
    rocm = Path(os.environ.get("ROCM_PATH") or "/opt/rocm").absolute() / "llvm/bin/ld.lld"
    debian = sorted(
        Path("/usr/lib").glob("llvm-*/bin/ld.lld"),
        key=lambda path: int(re.sub(r"\D", "", path.parts[-3]) or 0),
        reverse=True,
    )
    candidates = dict.fromkeys([*on_path, rocm, *debian])
    return [path for path in candidates if path.is_file() and os.access(path, os.X_OK)]


def _linker_version(linker: Path) -> int | None:
    """The linker's major version, 0 if it says none; ``None`` if it does not run."""
    command = [str(linker), "--version"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LINKER_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if answer.returncode:
        return None
    match = re.search(r"LLD (\d+)\.", answer.stdout)
    return int(match[1]) if match else 0
