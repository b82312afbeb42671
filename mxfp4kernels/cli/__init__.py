"""The command line: one verb per task, each a few lines over the module that does it.

Exit codes are listed in :data:`~mxfp4kernels.cli.exits.EXIT_CODES`.
"""

from .entry import main
from .exits import EXIT_CODES, FAILED, INTERRUPTED, MISSING, OK, STORAGE, USAGE

__all__ = ["EXIT_CODES", "FAILED", "INTERRUPTED", "MISSING", "OK", "STORAGE", "USAGE", "main"]
