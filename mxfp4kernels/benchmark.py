"""What the make targets cost on this machine: ``python -m mxfp4kernels.benchmark``.

Runs the steps of ``make ablation`` with an empty cache and again with a full one, adds up the
memory of all processes, and times parsing and counting of every kernel. Exits with 1 when a limit
is exceeded. ``--record`` runs those targets that it names, or all, and writes
``data/cost/targets.csv``, which the README quotes.
"""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .ablation.runs import count, jobs
from .cache import LOCATION_VARIABLE, CacheError
from .compiler import CompiledKernel, CompileError, Compiler, MissingComponent
from .cost import Run, write_costs

Step = tuple[str, ...]

DRAWING: tuple[Step, ...] = (("mxfp4kernels.plots",), ("mxfp4kernels.notebooks",))
QUOTING: tuple[Step, ...] = (("mxfp4kernels.quoted",), *DRAWING)
TARGETS: Mapping[str, tuple[Step, ...]] = {
    "ablation": (
        ("mxfp4kernels", "ablate", "--quiet"),
        ("mxfp4kernels.ablation.excerpts",),
        ("mxfp4kernels.ablation.nops",),
        ("mxfp4kernels.ablation.tile_loop",),
        *QUOTING,
    ),
    "numerics": (("mxfp4kernels", "study", "--quiet"), *DRAWING),
    "timing": (("mxfp4kernels.modelled.study",), ("mxfp4kernels.modelled.timeline",), *QUOTING),
}
"""The modules that each make target runs."""

LIMITS: Mapping[tuple[str, str], float] = {
    ("ablation", "empty"): 240,
    ("ablation", "full"): 30,
    ("numerics", "empty"): 600,
    ("timing", "empty"): 720,
}
"""Seconds on two cores, by target and state of the cache."""
MOST_GIB: Mapping[str, float] = {"ablation": 6, "numerics": 8, "timing": 6}

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


def run_target(target: str, cache: str, environment: Mapping[str, str]) -> list[Run]:
    """Run a target's steps one after the other.

    Raises:
        CalledProcessError: a step failed.
    """
    return [run_step_of(target, step, cache, environment) for step in TARGETS[target]]


def run_step_of(target: str, step: Step, cache: str, environment: Mapping[str, str]) -> Run:
    """Run one step, and watch its memory."""
    began, peak = time.perf_counter(), 0
    command = [sys.executable, "-m", *step]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, resident_bytes(process.pid))
            time.sleep(SAMPLE_SECONDS)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    name = step[1] if len(step) > 1 else step[0].rpartition(".")[2]
    return Run(target, name, cache, time.perf_counter() - began, peak)


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


def measure(targets: Sequence[str]) -> tuple[list[Run], float]:
    """Run each target with an empty cache of its own and again with the full one.

    Returns:
        What each step cost, and milliseconds to read the slowest kernel.

    Raises:
        CalledProcessError: a step failed.
    """
    runs = []
    for target in targets:
        with tempfile.TemporaryDirectory(prefix="mxfp4kernels-") as folder:
            environment = {**os.environ, LOCATION_VARIABLE: folder}
            for cache in ("empty", "full"):
                runs += run_target(target, cache, environment)
    return runs, reading_milliseconds(Compiler().compile_all(jobs()))


def costs(runs: Sequence[Run], reading: float) -> list[Cost]:
    """The figures that have a limit."""
    totals: dict[tuple[str, str], float] = {}
    for run in runs:
        key = (run.target, run.cache)
        totals[key] = totals.get(key, 0.0) + run.seconds
    limited = [
        Cost(f"{target}, {cache} cache", totals[target, cache], limit, "s")
        for (target, cache), limit in LIMITS.items()
        if (target, cache) in totals
    ]
    peaks = {
        target: max(run.peak for run in runs if run.target == target) / 2**30
        for target in dict.fromkeys(run.target for run in runs)
    }
    return [
        *limited,
        *(
            Cost(f"{target}, peak memory of all processes", peak, MOST_GIB[target], "GiB")
            for target, peak in peaks.items()
        ),
        Cost("parse and count the slowest kernel", reading, 50, "ms"),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the figures; 1 when a limit is exceeded."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.benchmark", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--record",
        nargs="*",
        metavar="TARGET",
        help=f"to data/cost/, of {', '.join(TARGETS)} or of all, which takes half an hour",
    )
    record = parser.parse_args(argv).record
    unknown = set(record or ()) - set(TARGETS)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; choose from {', '.join(TARGETS)}")
    try:
        runs, reading = measure(("ablation",) if record is None else record or tuple(TARGETS))
        if record is not None:
            write_costs(runs)
    except subprocess.CalledProcessError as error:
        print(f"{shlex.join(error.cmd[1:])} failed with {error.returncode}", file=sys.stderr)
        return 1
    except (CacheError, CompileError, MissingComponent, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}")
    found = costs(runs, reading)
    for cost in found:
        print(cost)
    return int(any(cost.exceeded for cost in found))


if __name__ == "__main__":
    sys.exit(main())
