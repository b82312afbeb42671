"""One step of a make target, ``python -m mxfp4kernels.NAME``: what it wrote, or what is wrong."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from .files import REPOSITORY

OK, FAILED, INTERRUPTED = 0, 1, 130


def run_step(work: Callable[[], Iterable[Path]], *errors: type[Exception]) -> int:
    """Do the work and print each file that it yields once written; returns an exit code.

    Args:
        work: yields or returns the files that it wrote.
        errors: what it may raise besides ``OSError``; told in one line.
    """
    told: tuple[type[Exception], ...] = (OSError, *errors)
    try:
        for path in work():
            print(f"wrote {_from_here(path)}", flush=True)
    except KeyboardInterrupt:
        print("interrupted; what was finished is kept, run again to go on", file=sys.stderr)
        return INTERRUPTED
    except told as error:
        print(error, file=sys.stderr)
        return FAILED
    return OK


def plain_step(
    argv: Sequence[str] | None,
    module: str,
    description: str | None,
    work: Callable[[], Iterable[Path]],
    *errors: type[Exception],
) -> int:
    """:func:`run_step` for a module whose command has no options but ``--help``."""
    prog = f"python -m mxfp4kernels.{module}"
    argparse.ArgumentParser(prog=prog, description=description).parse_args(argv)
    return run_step(work, *errors)


def _from_here(path: Path) -> Path:
    whole = path.resolve()
    return whole.relative_to(REPOSITORY) if whole.is_relative_to(REPOSITORY) else path
