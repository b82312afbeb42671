"""From words to a verb, and from what it raises to one clear line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from ..ablation import counts
from ..bench.device import NoDevice, RoundFailed
from ..cache import CacheError
from ..compiler import CompileError, MissingComponent
from ..study.runner import StudyError
from . import assembly, emulating, listing, modelling, studies, tables
from .emulating import Stopped
from .exits import EXIT_CODES, FAILED, INTERRUPTED, MISSING, STORAGE, USAGE

LONGEST_LINE = 2000
"""Characters of an error's line on the terminal."""

_EPILOG = "exit codes:\n" + "\n".join(f"  {code:3}  {text}" for code, text in EXIT_CODES.items())

EXAMPLES = """\
start here:
  mxfp4kernels flags                                  what can be switched, and what it claims
  mxfp4kernels variants --shape kimi-k2.5-tp4         what can be compiled, and where it runs
  mxfp4kernels compile gemm1/bm128 --flags all -o gemm1.s
  mxfp4kernels isa gemm1/bm128 --flags none           counts per region, registers, occupancy
  mxfp4kernels diff gemm1/bm128 none all              what the seven changes do to the assembly
  mxfp4kernels ablate                                 every flag setting, to data/isa/
  mxfp4kernels ablate --factorial native_packed_max+interleaved_quant -o factorial
  mxfp4kernels verify gemm1/bm32_nt --m 64            run the assembly, compare with float64
  mxfp4kernels sanitize kernel.s --launch launch.yaml  races and missing waits of any kernel
  mxfp4kernels bench --plan                           what a gfx950 device would be asked to time

"""


class Parser(argparse.ArgumentParser):
    """Tells when help cannot be written, which argparse keeps to itself."""

    def print_help(self, file: Any = None) -> None:
        """Write the help to ``file``, or to standard output."""
        (sys.stdout if file is None else file).write(self.format_help())


def make_parser() -> argparse.ArgumentParser:
    """The command line, all verbs added."""
    parser = Parser(
        prog="mxfp4kernels",
        description="The MXFP4 MoE kernels of gfx950: compile, count, emulate, sanitize and model "
        "them without a GPU; time them with one.",
        epilog=EXAMPLES + _EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--verbose", action="store_true", help="with an error, show what the compiler wrote"
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")

    def verb(name: str, run: Callable[[argparse.Namespace], int]) -> argparse.ArgumentParser:
        summary = (run.__doc__ or "").strip().splitlines()[0]
        added = verbs.add_parser(name, help=summary, description=summary, epilog=_EPILOG)
        added.formatter_class = argparse.RawDescriptionHelpFormatter
        added.set_defaults(run=run)
        return added

    for module in (listing, assembly, tables, emulating, modelling, studies):
        module.add(verb)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns its exit code."""
    arguments = argparse.Namespace(verbose=False, verb="")
    try:
        return _run(argv, arguments)
    except BrokenPipeError:  # the reader has seen enough
        _drop_output()
        return STORAGE
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, "interrupted; what was finished is kept, run again to go on")
    except (CompileError, RoundFailed, StudyError) as error:
        if arguments.verbose:
            print(error.details, file=sys.stderr)
        return _complain(FAILED, f"{error}; mxfp4kernels --verbose {arguments.verb} shows more")
    except Stopped as error:
        return _complain(FAILED, str(error))
    except (MissingComponent, NoDevice) as error:
        return _complain(MISSING, str(error))
    except (ValueError, counts.MissingCounts) as error:
        if arguments.verbose:
            traceback.print_exc()
        return _complain(USAGE, str(error))
    except CacheError as error:
        return _complain(STORAGE, str(error))
    except OSError as error:
        if error.filename is None:
            _drop_output()
        return _complain(STORAGE, f"{error.filename or 'output'}: {error.strerror}")


def _run(argv: Sequence[str] | None, arguments: argparse.Namespace) -> int:
    try:
        make_parser().parse_args(argv, arguments)
        code: int = arguments.run(arguments)
        return code
    finally:
        sys.stdout.flush()  # here, where an error is still told, also after --help


def _drop_output() -> None:
    """Have what standard output refused go nowhere; Python would complain again at its end."""
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # a stream of the caller's, without a file
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def _complain(code: int, message: str) -> int:
    first, *more = message.splitlines() or ["no reason given"]
    shown = first if len(first) <= LONGEST_LINE else f"{first[:LONGEST_LINE]}..."
    print(f"mxfp4kernels: error: {shown}{' [...]' if more else ''}", file=sys.stderr)
    return code
