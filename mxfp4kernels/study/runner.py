"""Runs the study's requests in processes, through the cache, and hands back what they found."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from ..cache import Cache, digest
from ..compiler import CompiledKernel, Compiler, Job
from ..flags import FlagSet
from ..workers import WorkerError, run_all
from .cases import Case

MODULE = "mxfp4kernels.study.worker"
_PACKAGE = Path(__file__).parents[1]
SOURCES = (
    *("emulator", "isa", "numerics"),
    *("study/cases.py", "study/errors.py", "study/measure.py", "study/mutation.py"),
    *("study/parts.py", "study/timeline.py"),
    *("kernarg.py", "layout.py", "mx.py", "reference.py", "shapes.py"),
)
"""What decides a result besides the assembly and the case."""
WORKER_BYTES = 4 * 2**30
"""Memory to allow for a process; the largest case takes 3.6 GB."""

Progress = Callable[[int, int], None]


def default_workers() -> int:
    """All cores that this process may use, or as many as the machine's memory holds."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // WORKER_BYTES))


class StudyError(RuntimeError):
    """A case that could not be run; ``details`` is the traceback."""

    def __init__(self, message: str, details: str) -> None:
        super().__init__(message)
        self.details = details


@dataclass(frozen=True)
class Kernels:
    """The compiled kernels of some cases.

    Attributes:
        by_job: each kernel by its job.
    """

    by_job: dict[Job, CompiledKernel]

    @classmethod
    def of(
        cls, compiler: Compiler, cases: Iterable[Case], progress: Progress | None = None
    ) -> Kernels:
        """Compile what the cases need.

        Raises:
            CompileError, MissingComponent, CacheError: see :mod:`mxfp4kernels.compiler`.
        """
        jobs = [
            Job(variant, case.shape, flags)
            for case in cases
            for flags in case.settings
            for variant in case.variants
        ]
        return cls(dict(zip(jobs, compiler.compile_all(jobs, progress), strict=True)))

    def of_setting(self, case: Case, flags: FlagSet) -> tuple[CompiledKernel, ...]:
        """The kernels of a case under one setting: one, or two of a layer."""
        return tuple(self.by_job[Job(variant, case.shape, flags)] for variant in case.variants)


@dataclass(frozen=True)
class Request:
    """One request to a worker.

    Attributes:
        task: a name in :data:`mxfp4kernels.study.worker.TASKS`.
        case: what to launch.
        kernels: assembly texts; of a ``verify`` request one tuple per setting.
        part: of a ``mutate`` request.
    """

    task: str
    case: Case
    kernels: tuple[tuple[CompiledKernel, ...], ...]
    part: int = 0

    @cached_property
    def key(self) -> str:
        """The cache key: all that decides the answer."""
        shas = [[one.provenance.isa_sha256 for one in kernels] for kernels in self.kernels]
        return digest(
            {
                "study": self.task,
                "case": self.case.as_json(),
                "kernels": shas,
                "part": self.part,
                "sources": sources_sha256(),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """The line that the worker reads."""
        texts = [[one.assembly for one in kernels] for kernels in self.kernels]
        return {
            "task": self.task,
            "case": self.case.as_json(),
            "assemblies": texts if self.task == "verify" else texts[0],
            "part": self.part,
        }


@cache
def sources_sha256() -> str:
    """Digest over the modules that decide a result; taken once per process."""
    hashed = hashlib.sha256()
    for name in SOURCES:
        path = _PACKAGE / name
        for one in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            hashed.update(f"{one.relative_to(_PACKAGE)}\0".encode())
            hashed.update(one.read_bytes() + b"\0")
    return hashed.hexdigest()


def run(
    requests: Sequence[Request], store: Cache, workers: int, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """The answers in the order of the requests; what the cache holds is not run again.

    Raises:
        StudyError: requests that failed, after all others were run and stored.
        CacheError: the cache cannot be read or written.
    """
    answers = {request.key: store.get(request.key) for request in requests}
    missing = {one.key: one.as_json() for one in requests if answers[one.key] is None}
    report = progress or (lambda done, total: None)
    done = len(answers) - len(missing)
    report(done, len(answers))
    failures: list[tuple[str, WorkerError]] = []
    for key, answer in run_all(missing, workers, _environment(), MODULE):
        if isinstance(answer, WorkerError):
            failures.append((key, answer))
        else:
            store.put(key, answer)
            answers[key] = answer
        done += 1
        report(done, len(answers))
    if failures:
        raise _failure(requests, failures)
    found = [answers[request.key] for request in requests]
    return [answer for answer in found if answer is not None]


def _failure(
    requests: Sequence[Request], failures: Sequence[tuple[str, WorkerError]]
) -> StudyError:
    cases = {request.key: request.case for request in requests}
    lines = [
        f"{cases[key].kernel} {cases[key].name} {cases[key].shape} {cases[key].path}: {error}"
        for key, error in failures
    ]
    more = f"; {len(lines) - 1} more failed" if len(lines) > 1 else ""
    details = "\n".join(
        f"{line}\n{error.details}" for line, (_, error) in zip(lines, failures, strict=True)
    )
    return StudyError(f"{lines[0]}{more}", details)


def _environment() -> dict[str, str]:
    """One thread per process: there are as many processes as cores."""
    single = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**os.environ, **dict.fromkeys(single, "1"), "PYTHONHASHSEED": "0"}
