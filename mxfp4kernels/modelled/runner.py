"""Runs the tasks of the modelled study in processes, through the cache.

What a task gives depends on the constants, the model and the kernels' assembly; the cache key holds
them all.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from multiprocessing.pool import Pool
from pathlib import Path

from tqdm import tqdm

from ..cache import Cache, digest
from ..compiler import Compiler, Job
from ..files import DATA, REPOSITORY
from ..shapes import REFERENCE_SHAPE
from .launches import Modeller
from .tasks import Outcome, Swings, Task, run_task

FILES = (
    "modelled/launches.py", "modelled/tasks.py", "numerics/inputs.py", "numerics/problem.py",
    "layout.py", "shapes.py",
    "emulator/trace.py", "timing/code.py", "timing/constants.py", "timing/device.py",
    "timing/engine.py", "timing/traffic.py", "timing/unit.py", "timing/work.py",
)  # fmt: skip
"""What a modelled time depends on besides the kernel. A trace holds what the kernel's control flow
and addresses do; the rest of the emulator changes it only where it was wrong."""


@cache
def _modeller() -> Modeller:
    return Modeller(Compiler(workers=1))


@cache
def source_digest() -> str:
    """A hash of all code and data that a modelled time depends on."""
    package = Path(__file__).parents[1]
    paths = [package / name for name in FILES]
    paths.append(DATA / "hardware" / "mi355x.json")
    whole = hashlib.sha256()
    for path in paths:
        whole.update(path.relative_to(REPOSITORY).as_posix().encode())
        whole.update(path.read_bytes())
    return whole.hexdigest()


def outcome_of(task: Task) -> Outcome:
    """:func:`run_task` through the cache."""
    modeller = _modeller()
    jobs = [Job(task.variant, REFERENCE_SHAPE, flags) for flags in task.settings]
    settings = [sorted(flags) for flags in task.settings]
    launch = [str(task.variant), task.tokens, task.routing, task.seed, task.every, settings]
    key = digest([source_digest(), modeller.assembly_digests(jobs), launch])
    store = Cache()
    known = store.get(key)
    if known is None:
        known = asdict(run_task(task, modeller))
        store.put(key, known)
    return Outcome(
        known["rows"], known["causes"], _swings(known["swings"]), _swings(known["gain_swings"]),
        {name: _swings(swings) for name, swings in known["moved"].items()},
    )  # fmt: skip


def _swings(stored: Mapping[str, Sequence[float]]) -> Swings:
    return {name: (low, high) for name, (low, high) in stored.items()}


def outcomes_of(tasks: Sequence[Task], workers: int) -> list[Outcome]:
    """Outcomes in order; kernels are compiled first, all at once. A bar on stderr shows progress.

    Leaving early, by Ctrl-C for one, ends the processes; what they had finished is in the cache.

    Raises:
        CacheError, CompileError, MissingComponent: as the compiler.
    """
    jobs = [Job(t.variant, REFERENCE_SHAPE, flags) for t in tasks for flags in t.settings]
    with tqdm(desc="compiling", unit="kernel", disable=None) as bar:

        def progress(finished: int, total: int) -> None:
            bar.total = total
            bar.update(finished - bar.n)

        Compiler(workers=workers).compile_all(list(dict.fromkeys(jobs)), progress)
    heavy_first = sorted(range(len(tasks)), key=lambda n: -tasks[n].tokens)
    made: dict[int, Outcome] = {}
    with (
        _pool(workers) as pool,
        tqdm(total=len(tasks), desc="modelling", unit="launch", disable=None) as bar,
    ):
        requests = [(number, tasks[number]) for number in heavy_first]
        for number, outcome in pool.imap_unordered(_numbered, requests):
            made[number] = outcome
            bar.update()
    return [made[number] for number in range(len(tasks))]


def _pool(workers: int) -> Pool:
    """Processes that leave Ctrl-C to this one: they inherit that it is ignored."""
    ours = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("spawn").Pool(workers)
    finally:
        signal.signal(signal.SIGINT, ours)


def _numbered(request: tuple[int, Task]) -> tuple[int, Outcome]:
    number, task = request
    return number, outcome_of(task)
