"""Starts the command line: ``mxfp4kernels``, or ``python -m mxfp4kernels``.

Apart from :mod:`mxfp4kernels.cli`, so that a missing package and a Ctrl-C while that module's
imports run are one clear line, too.
"""

from __future__ import annotations

import io
import os
import sys

from .packages import MISSING, missing, ours

INTERRUPTED = 130


def main() -> int:
    """Run the command line of this process; returns its exit code."""
    try:
        _open_streams()
        from . import cli

        return cli.main()
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, "interrupted")
    except ImportError as error:
        if ours(error):
            raise
        return _complain(MISSING, missing(error))


def _complain(code: int, message: str) -> int:
    print(f"mxfp4kernels: error: {message}", file=sys.stderr)
    return code


def _open_streams() -> None:
    """Have standard streams that the caller closed stand for something.

    Their numbers would go to the next files that are opened, and what is printed would end up in
    those. Standard output becomes a file that refuses every write, so that a command that prints
    fails and one that writes files does not.
    """
    for descriptor, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file name may be no text


if __name__ == "__main__":
    sys.exit(main())
