"""The study as a whole: compile, run, write the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from ..compiler import Compiler
from ..files import write_csv
from ..flags import NONE, acting
from ..shapes import REFERENCE_SHAPE, find_variant
from . import results, tables
from .cases import Case, all_cases, mutation_cases
from .parts import parts_of
from .runner import Kernels, Progress, Request, default_workers, run

__all__ = ["FOLDER", "Study", "default_workers", "timeline_cases"]

Bar = Callable[[str, str], AbstractContextManager[Progress | None]]
"""Opens a progress bar: what is done, and what is counted."""

FOLDER = tables.NUMERICS


@dataclass(frozen=True)
class Study:
    """Where and how to run.

    Attributes:
        compiler: makes the kernels; its cache also keeps the results.
        workers: processes.
        folder: receives the tables.
        bar: shows progress.
    """

    compiler: Compiler
    workers: int
    folder: Path
    bar: Bar

    def run(self, parts: Sequence[str]) -> dict[str, int]:
        """Run parts of the study and write their tables.

        Returns:
            Rows by table.

        Raises:
            StudyError: a case could not be run.
            CompileError, MissingComponent, CacheError, OSError: as the compiler and the files do.
        """
        written: dict[str, int] = {}
        for part in tables.PARTS:
            if part in parts:
                for path, columns, rows in getattr(self, f"_{part}")():
                    write_csv(self.folder / path.name, columns, rows)
                    written[path.name] = len(rows)
        return written

    def _compile(self, cases: Sequence[Case]) -> Kernels:
        with self.bar("compiling", "kernel") as progress:
            return Kernels.of(self.compiler, cases, progress)

    def _answers(self, what: str, requests: Sequence[Request]) -> list[results.Answer]:
        with self.bar(what, "case") as progress:
            return list(run(requests, self.compiler.cache, self.workers, progress))

    def _verify(self) -> list[Table]:
        cases = all_cases()
        kernels = self._compile(cases)
        compiled = [
            tuple(kernels.of_setting(case, flags) for flags in case.settings) for case in cases
        ]
        requests = [
            Request("verify", case, settings)
            for case, settings in zip(cases, compiled, strict=True)
        ]
        answers = self._answers("verifying", requests)
        done = list(zip(cases, answers, strict=True))
        shown = [(case, answer) for case, answer in done if _is_reference(case)]
        verify = [
            row
            for case, settings, answer in zip(cases, compiled, answers, strict=True)
            for row in results.verify_rows(case, settings, answer)
        ]
        return [
            (tables.VERIFY, tables.VERIFY_COLUMNS, verify),
            _table(tables.BOUNDARIES, tables.BOUNDARIES_COLUMNS, done, results.boundary_rows),
            _table(tables.ERRORS, tables.ERRORS_COLUMNS, shown, results.error_rows),
            _table(tables.HAZARDS, tables.HAZARDS_COLUMNS, shown, results.hazard_rows),
            _table(tables.NEEDLESS, tables.NEEDLESS_COLUMNS, shown, results.needless_rows),
        ]

    def _mutants(self) -> list[Table]:
        cases = mutation_cases()
        kernels = self._compile(cases)
        settings = [(case, flags) for case in cases for flags in case.settings]
        requests = {
            (case, flags): [
                Request("mutate", case, (compiled,), part) for part in parts_of(compiled[0].program)
            ]
            for case, flags in settings
            for compiled in [kernels.of_setting(case, flags)]
        }
        flat = [one for parts in requests.values() for one in parts]
        answers = dict(zip([one.key for one in flat], self._answers("mutating", flat), strict=True))
        rows = [
            row
            for (case, flags), parts in requests.items()
            for row in results.mutant_rows(case, flags, [answers[one.key] for one in parts])
        ]
        return [(tables.MUTANTS, tables.MUTANTS_COLUMNS, rows)]

    def _timeline(self) -> list[Table]:
        cases = timeline_cases()
        kernels = self._compile(cases)
        chosen = [(case, flags) for case in cases for flags in case.settings]
        compiled = [kernels.of_setting(case, flags) for case, flags in chosen]
        requests = [
            Request("timeline", case, (one,))
            for (case, _), one in zip(chosen, compiled, strict=True)
        ]
        answers = self._answers("tracing", requests)
        rows = [
            row
            for (case, flags), one, answer in zip(chosen, compiled, answers, strict=True)
            for row in results.timeline_rows(case, flags, one, answer)
        ]
        return [(tables.TIMELINE, tables.TIMELINE_COLUMNS, rows)]


Table = tuple[Path, Sequence[str], list[results.Row]]


def _table(
    path: Path,
    columns: Sequence[str],
    done: Sequence[tuple[Case, results.Answer]],
    rows: Callable[[Case, results.Answer], Iterable[results.Row]],
) -> Table:
    return path, columns, [row for case, answer in done for row in rows(case, answer)]


def _is_reference(case: Case) -> bool:
    return case.follower is None and case.shape == REFERENCE_SHAPE


def timeline_cases() -> tuple[Case, ...]:
    """The kernel whose waits the pull request speaks of, without and with the flag."""
    variant = find_variant("gemm2", "bm128_nonatomic")
    flags = acting(variant, frozenset({"backend_waitcnt"}))
    return (Case(variant, REFERENCE_SHAPE, variant.block_m, (NONE, flags), "same"),)
