"""The command line: one verb per task, each a few lines over the module that does it.

Exit codes are listed in :data:`EXIT_CODES`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from . import files, flags, shapes
from .cache import LOCATION_VARIABLE, Cache, CacheError
from .compiler import (
    ARCHITECTURES,
    CompiledKernel,
    CompileError,
    Compiler,
    Job,
    MissingComponent,
)

OK, FAILED, USAGE, MISSING, STORAGE, INTERRUPTED = 0, 1, 2, 3, 4, 130

EXIT_CODES: Mapping[int, str] = {
    OK: "done",
    FAILED: "a check failed: a claim's verdict, a tolerance, a compilation",
    USAGE: "wrong usage or input: an unknown name, a shape no kernel runs, unreadable assembly",
    MISSING: "something optional is not installed: FlyDSL, torch, a linker",
    STORAGE: "a file, the cache or the output could not be read or written",
    INTERRUPTED: "interrupted; what was finished is in the cache",
}

_EPILOG = "exit codes:\n" + "\n".join(f"  {code:3}  {text}" for code, text in EXIT_CODES.items())

_EXAMPLES = """\
start here:
  mxfp4kernels flags                                  what can be switched, and what it claims
  mxfp4kernels variants --shape kimi-k2.5-tp4         what can be compiled, and where it runs
  mxfp4kernels compile gemm1/bm128 --flags all -o gemm1.s
  mxfp4kernels isa gemm1/bm128 --flags none           counts per region, registers, occupancy
  mxfp4kernels diff gemm1/bm128 none all              what the seven changes do to the assembly
  mxfp4kernels ablate                                 every flag setting, to data/isa/

"""


def _variant(text: str) -> shapes.Variant:
    kernel, _, name = text.partition("/")
    return shapes.find_variant(kernel, name)


def _checked(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """``parse`` for argparse, which shows only errors of this type in full."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _print_table(rows: Sequence[Mapping[str, object]], out: TextIO) -> None:
    """``rows`` in aligned columns; numbers to the right."""
    if not rows:
        return
    names = list(rows[0])
    cells = [[str(row[name]) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    numeric = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    for line in [names, *cells]:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip(), file=out)


def _emit(rows: Sequence[Mapping[str, object]], as_json: bool) -> None:
    if as_json:
        json.dump(list(rows), sys.stdout, indent=1)
        print()
    else:
        _print_table(rows, sys.stdout)


def _compiler(arguments: argparse.Namespace) -> Compiler:
    return Compiler(Cache(arguments.cache), workers=arguments.workers)


def _show_warnings(kernels: Sequence[CompiledKernel]) -> None:
    for kernel in kernels:
        for warning in kernel.warnings:
            print(f"mxfp4kernels: warning: {warning}", file=sys.stderr)


def flags_verb(arguments: argparse.Namespace) -> int:
    """List the flags."""
    rows = [
        {
            "flag": flag.name,
            "variants": " ".join(map(str, flag.variants)),
            "claim": flag.claim,
            "shows_in": flag.shows_in,
            "off": flag.off,
            "on": flag.on,
            "listed": flag.listed,
            "provenance": flag.provenance,
        }
        for flag in flags.FLAGS
    ]
    if arguments.json:
        _emit(rows, as_json=True)
        return OK
    for row in rows:
        print(row["flag"])
        for name in ("off", "on", "claim", "shows_in", "variants"):
            print(f"  {name.replace('_', ' '):9} {row[name]}")
    print(f"\npresets: {', '.join(flags.PRESETS)}; studies: {', '.join(flags.STUDIES)}")
    return OK


def variants_verb(arguments: argparse.Namespace) -> int:
    """List the variants, with what runs them and whether they take the shape."""
    rows = []
    for variant in shapes.VARIANTS:
        try:
            shapes.check(variant, arguments.shape)
            fits = "yes"
        except shapes.ShapeError as error:
            fits = f"no: {error}"
        rows.append(
            {
                "variant": str(variant),
                "block_m": variant.block_m,
                "epilogue": variant.epilogue,
                "persistent": variant.persistent,
                "flags": flags.join(flags.acting(variant)),
                f"runs_{arguments.shape}": fits,
            }
        )
    _emit(rows, arguments.json)
    return OK


def compile_verb(arguments: argparse.Namespace) -> int:
    """Compile one kernel."""
    compiler = _compiler(arguments)
    job = Job(arguments.variant, arguments.shape, arguments.flags, arguments.arch)
    kernel = compiler.compile(job)
    _show_warnings([kernel])
    if arguments.code_object:
        files.write_bytes(arguments.code_object, compiler.code_object(job))
    if arguments.output:
        files.write_text(arguments.output, kernel.assembly)
    elif not arguments.json and not arguments.code_object:
        sys.stdout.write(kernel.assembly)
    if arguments.json:
        _emit([_describe(kernel)], as_json=True)
    return OK


def _describe(kernel: CompiledKernel) -> dict[str, object]:
    job = kernel.job
    return {
        "kernel": job.variant.kernel,
        "variant": job.variant.name,
        "shape": str(job.shape),
        "flags": flags.join(job.flags),
        "arch": job.arch,
        "symbol": kernel.program.name,
        **asdict(kernel.resources),
        **asdict(kernel.provenance),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mxfp4kernels",
        description="Compile the MXFP4 MoE kernels for gfx950 without a GPU, and read their ISA.",
        epilog=_EXAMPLES + _EPILOG,
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

    _add_json(verb("flags", flags_verb))
    listing = verb("variants", variants_verb)
    _add_shape(listing)
    _add_json(listing)
    compiling = verb("compile", compile_verb)
    compiling.add_argument("variant", type=_checked(_variant), help="such as gemm1/bm128")
    _add_flags(compiling)
    _add_compiler(compiling)
    compiling.add_argument("-o", "--output", type=Path, help="write the assembly here")
    compiling.add_argument(
        "--code-object", type=Path, help="also link the ELF code object; needs an ld.lld"
    )
    _add_json(compiling)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON for a program to read")


def _add_shape(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        type=_checked(shapes.parse_shape),
        default=shapes.REFERENCE_SHAPE,
        help="EXPERTSxHIDDENxINTERxTOPK, optionally rINTER_REAL, or one of "
        f"{', '.join(shapes.SHAPES)} (default: {shapes.REFERENCE_SHAPE})",
    )


def _add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--flags",
        type=_checked(flags.parse_flags),
        default=flags.ALL,
        help="none, all (default), or names joined by +",
    )


def _add_compiler(parser: argparse.ArgumentParser) -> None:
    _add_shape(parser)
    parser.add_argument("--arch", default=ARCHITECTURES[0], help="target (default: %(default)s)")
    parser.add_argument(
        "--cache",
        type=Path,
        help=f"directory of compiled kernels (default: ${LOCATION_VARIABLE} or the user's cache)",
    )
    parser.add_argument("--workers", type=int, help="compiling processes (default: all cores)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has seen enough. Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STORAGE
    except KeyboardInterrupt:
        return _complain(INTERRUPTED, "interrupted; what was finished is kept, run again to go on")
    except CompileError as error:
        if arguments.verbose:
            print(error.details, file=sys.stderr)
        return _complain(FAILED, f"{_first_line(error)} (--verbose shows the compiler's words)")
    except MissingComponent as error:
        return _complain(MISSING, str(error))
    except ValueError as error:
        return _complain(USAGE, str(error))
    except CacheError as error:
        return _complain(STORAGE, str(error))
    except OSError as error:
        return _complain(STORAGE, f"{error.filename or 'output'}: {error.strerror}")


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _complain(code: int, message: str) -> int:
    print(f"mxfp4kernels: error: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
