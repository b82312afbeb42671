"""Options that several verbs share, and what becomes of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import flags, shapes
from ..cache import LOCATION_VARIABLE, Cache
from ..compiler import ARCHITECTURES, CompiledKernel, Compiler, Job
from .output import shown, warn

AddVerb = Callable[[str, Callable[[argparse.Namespace], int]], argparse.ArgumentParser]

KERNEL_OPTIONS = ("--flags", "--shape", "--arch")
"""They decide what is compiled, so they say nothing of a ``.s`` file."""


def parse_variant(text: str) -> shapes.Variant:
    """``gemm1/bm128`` as a variant.

    Raises:
        ValueError: there is none of this name.
    """
    kernel, _, name = text.partition("/")
    if kernel not in shapes.KERNELS:
        raise ValueError(
            f"{shown(text)!r} is no variant; name one such as gemm1/bm128 (mxfp4kernels variants)"
        )
    return shapes.find_variant(kernel, name)


def parse_workers(text: str) -> int:
    """A number of processes."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"workers must be a whole number of at least 1, got {text!r}")
    return int(text)


def parse_seed(text: str) -> int:
    """A seed of a random generator."""
    if not text.isdecimal() or int(text) >= 2**63:
        raise ValueError(f"a seed must be a whole number of 0..2**63-1, got {text!r}")
    return int(text)


def parse_path(text: str) -> Path:
    """A file or directory."""
    if not text:
        raise ValueError("the name of the file or directory is empty")
    return Path(text)


def checked(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """``parse`` for argparse, which shows only errors of this type in full."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


class Noted(argparse.Action):
    """Stores a value and notes that the option was given.

    An option without a value becomes True; one whose default is a tuple collects its values.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """See :class:`argparse.Action`."""
        if isinstance(self.default, tuple):
            values = (*getattr(namespace, self.dest), *values)
        setattr(namespace, self.dest, True if self.nargs == 0 else values)
        namespace.given = getattr(namespace, "given", frozenset()) | {self.option_strings[-1]}


def refuse(arguments: argparse.Namespace, options: Sequence[str], because: str) -> None:
    """Refuse options that would say nothing; they were added with :class:`Noted`.

    Raises:
        ValueError: one was given.
    """
    idle = [option for option in options if option in getattr(arguments, "given", ())]
    if idle:
        raise ValueError(f"{' and '.join(idle)}: {because}; leave {_them(idle)} out")


def _them(several: Sequence[str]) -> str:
    return "it" if len(several) == 1 else "them"


def is_assembly(target: str) -> bool:
    """Whether a target is a ``.s`` file rather than a variant."""
    return target.endswith(".s")


@contextmanager
def naming(name: str, of: type[ValueError] = ValueError) -> Iterator[None]:
    """What is wrong with an assembly is told with the name of its file or kernel."""
    try:
        yield
    except of as error:
        raise ValueError(f"{shown(name)}: {error}") from error


def compiler_of(arguments: argparse.Namespace) -> Compiler:
    """The compiler with the cache and the processes that were asked for."""
    return Compiler(Cache(arguments.cache), workers=arguments.workers)


def compile_target(arguments: argparse.Namespace) -> CompiledKernel:
    """The kernel that the target and the options name.

    Raises:
        ValueError: the target is no variant.
    """
    if is_assembly(arguments.target):
        raise ValueError(
            f"{shown(arguments.target)} is a .s file, and this verb knows what a variant must do; "
            "name one such as gemm1/bm128, or use run, sanitize or needless"
        )
    variant = parse_variant(arguments.target)
    job = Job(variant, arguments.shape, arguments.flags, arguments.arch)
    kernel = compiler_of(arguments).compile(job)
    show_warnings([kernel])
    return kernel


def show_warnings(kernels: Sequence[CompiledKernel]) -> None:
    """Tell the compiler's warnings."""
    for kernel in kernels:
        for warning in kernel.warnings:
            warn(warning)


def add_target(parser: argparse.ArgumentParser, *, assembly: bool = True) -> None:
    """What to work on."""
    either = "a variant such as gemm1/bm128" + (", or a .s file" if assembly else "")
    parser.add_argument("target", help=either)


def add_launch_file(parser: argparse.ArgumentParser) -> None:
    """How to launch a ``.s`` file."""
    parser.add_argument(
        "--launch",
        type=checked(parse_path),
        action=Noted,
        help="YAML or JSON: how to launch a .s file (docs/emulator.md)",
    )


def add_kernel(parser: argparse.ArgumentParser) -> None:
    """Which kernel of a file."""
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of a .s file with several")


def add_json(parser: argparse.ArgumentParser) -> None:
    """Output for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON for a program to read")


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """Less on the terminal."""
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def add_shape(parser: argparse.ArgumentParser) -> None:
    """The MoE shape."""
    parser.add_argument(
        "--shape",
        type=checked(shapes.parse_shape),
        action=Noted,
        default=shapes.REFERENCE_SHAPE,
        help="EXPERTSxHIDDENxINTERxTOPK, optionally rINTER_REAL, or one of "
        f"{', '.join(shapes.SHAPES)} (default: {shapes.REFERENCE_SHAPE})",
    )


def add_flags(parser: argparse.ArgumentParser) -> None:
    """A flag setting."""
    parser.add_argument(
        "--flags",
        type=checked(flags.parse_flags),
        action=Noted,
        default=flags.ALL,
        help="none, all (default), safe, or names joined by +",
    )


def add_compiler(parser: argparse.ArgumentParser, *, shape: bool = True) -> None:
    """What is compiled for, where it is kept, and in how many processes."""
    if shape:
        add_shape(parser)
    parser.add_argument(
        "--arch", action=Noted, default=ARCHITECTURES[0], help="target (default: %(default)s)"
    )
    parser.add_argument(
        "--cache",
        type=checked(parse_path),
        help=f"directory of compiled kernels (default: ${LOCATION_VARIABLE} or the user's cache)",
    )
    parser.add_argument(
        "--workers", type=checked(parse_workers), help="compiling processes (default: all cores)"
    )
