"""What ``make ablation`` costs on this machine: ``python -m mxfp4kernels.benchmark``.

Runs its steps with an empty cache and again with a full one, adds up the memory of all processes,
and times parsing and counting of every kernel. Exits with 1 when a limit is exceeded.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .ablation import count, jobs
from .cache import LOCATION_VARIABLE, Cache, CacheError
from .compiler import CompiledKernel, CompileError, Compiler, MissingComponent

STEPS: tuple[tuple[str, ...], ...] = (
    ("mxfp4kernels", "ablate", "--quiet"),
    ("mxfp4kernels.excerpts",),
    ("mxfp4kernels.nops",),
    ("mxfp4kernels.tile_loop",),
    ("mxfp4kernels.quoted",),
    ("mxfp4kernels.plots",),
    ("mxfp4kernels.notebooks",),
)
"""The modules that ``make ablation`` runs."""

SAMPLE_SECONDS = 0.1
REPEATS = 5


@dataclass(frozen=True)
class Cost:
    """A measured figure and its limit on a machine of two cores."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def exceeded(self) -> bool:
        """Whether the figure is over its limit."""
        return self.value > self.limit

    def __str__(self) -> str:
        verdict = "EXCEEDED" if self.exceeded else "ok"
        return f"{self.name:36} {self.value:8.1f} {self.unit:3} of {self.limit:g}  {verdict}"


def resident_bytes(root: int) -> int:
    """Resident memory of a process and its descendants; pages they share count for each."""
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The command's name, in parentheses, may hold spaces.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        parents[int(folder.name)] = int(fields[1])
        sizes[int(folder.name)] = int(fields[21]) * page
    return sum(size for process, size in sizes.items() if _descends(process, root, parents))


def _descends(process: int, root: int, parents: Mapping[int, int]) -> bool:
    while process != root and process in parents:
        process = parents[process]
    return process == root


def run_steps(environment: Mapping[str, str]) -> tuple[float, int]:
    """Seconds and peak bytes of the steps, one after the other.

    Raises:
        CalledProcessError: a step failed.
    """
    began, peak = time.perf_counter(), 0
    for step in STEPS:
        command = [sys.executable, "-m", *step]
        with subprocess.Popen(command, env=environment) as process:
            while process.poll() is None:
                peak = max(peak, resident_bytes(process.pid))
                time.sleep(SAMPLE_SECONDS)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - began, peak


def reading_milliseconds(kernels: Sequence[CompiledKernel]) -> float:
    """Processor time to parse and count the slowest kernel; the best of some repeats."""
    return max(1000 * min(_timed(_read_anew(kernel)) for _ in range(REPEATS)) for kernel in kernels)


def _read_anew(kernel: CompiledKernel) -> Callable[[], object]:
    def read() -> object:
        # A copy without the program that the kernel has parsed already.
        return count(CompiledKernel(kernel.job, kernel.assembly, kernel.provenance, ""))

    return read


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()  # so that other processes do not count
    work()
    return time.process_time() - began


def measure() -> list[Cost]:
    """All figures; takes about as long as a cold ``make ablation`` and two warm ones.

    Raises:
        CalledProcessError: a step failed.
    """
    with tempfile.TemporaryDirectory(prefix="mxfp4kernels-") as folder:
        environment = {**os.environ, LOCATION_VARIABLE: folder}
        cold, cold_peak = run_steps(environment)
        warm, warm_peak = run_steps(environment)
        kernels = Compiler(Cache(Path(folder))).compile_all(jobs())
        reading = reading_milliseconds(kernels)
    return [
        Cost("ablation, empty cache", cold, 240, "s"),
        Cost("ablation, full cache", warm, 30, "s"),
        Cost("peak memory, all processes", max(cold_peak, warm_peak) / 2**30, 6, "GiB"),
        Cost("parse and count the slowest kernel", reading, 50, "ms"),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a limit is exceeded."""
    argparse.ArgumentParser(
        prog="python -m mxfp4kernels.benchmark", description=__doc__
    ).parse_args(argv)
    try:
        costs = measure()
    except subprocess.CalledProcessError as error:
        print(f"{shlex.join(error.cmd[1:])} failed with {error.returncode}", file=sys.stderr)
        return 1
    except (CacheError, CompileError, MissingComponent, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}")
    for cost in costs:
        print(cost)
    return int(any(cost.exceeded for cost in costs))


if __name__ == "__main__":
    sys.exit(main())
