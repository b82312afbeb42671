"""Packages that only some tasks need: what to install when one of them is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

MISSING = 3
"""Exit code of a command that lacks a package."""

EXTRAS: Mapping[str, str] = {
    "flydsl": "compile",
    "torch": "compile",
    "scipy": "bench",
    "llvmlite": "emulator",
    "numba": "emulator",
    "matplotlib": "plots",
    "nbclient": "notebooks",
    "nbformat": "notebooks",
    "ipykernel": "notebooks",
}
"""The extra of ``pyproject.toml`` that brings a module; any other comes with the package itself."""


def missing(error: ImportError) -> str:
    """What cannot be imported, and how to get it."""
    name = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(name)
    wanted = f".[{extra}]" if extra else "."
    if isinstance(error, ModuleNotFoundError) and name:
        what = f"{name} is not installed"
    else:
        what = (str(error).strip().splitlines() or ["a package cannot be imported"])[0]
    return f'{what}; pip install -e "{wanted}"'


def ours(error: ImportError) -> bool:
    """Whether it is the package itself that is broken: no installation mends that."""
    return (error.name or "").partition(".")[0] == "mxfp4kernels"


@contextmanager
def needed(importer: str) -> Iterator[None]:
    """Around the imports of ``importer``, a module's ``__name__``, that not everyone has.

    Where the module is imported, the error says what to install; where it is the command that
    runs, ``python -m``, that is one line and exit code :data:`MISSING`.

    Raises:
        ModuleNotFoundError: a package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if ours(error):
            raise
        # While python -m looks for its module, it imports the package around it.
        if importer == "__main__" or sys.argv[:1] == ["-m"]:
            print(f"mxfp4kernels: error: {missing(error)}", file=sys.stderr)
            raise SystemExit(MISSING) from None
        raise ModuleNotFoundError(missing(error), name=error.name) from error
