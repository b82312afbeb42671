"""``run``, ``verify``, ``sanitize`` and ``needless``: kernels in the emulator."""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from .. import isa
from ..compiler import MissingComponent
from .exits import FAILED, OK
from .options import (
    KERNEL_OPTIONS,
    AddVerb,
    Noted,
    add_compiler,
    add_flags,
    add_json,
    add_launch_file,
    add_target,
    checked,
    compile_target,
    is_assembly,
    naming,
    parse_seed,
    refuse,
)
from .output import emit, print_json, print_table, shown

if TYPE_CHECKING:
    from .. import execution
    from ..launch_file import Prepared
    from ..numerics.verification import Result

PROBLEM_OPTIONS = ("--m", "--routing", "--content", "--seed", "--workgroup", "--all")
"""They decide the problem that a variant runs."""


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    _add_options(verb("run", run_verb))
    _add_options(verb("verify", verify_verb), assembly=False)
    _add_options(verb("sanitize", sanitize_verb))
    _add_options(verb("needless", needless_verb))


def _add_options(parser: argparse.ArgumentParser, *, assembly: bool = True) -> None:
    add_target(parser, assembly=assembly)
    if assembly:
        add_launch_file(parser)
    add_flags(parser)
    add_compiler(parser)
    _add_problem(parser)
    add_json(parser)


def _add_problem(parser: argparse.ArgumentParser) -> None:
    """Of a variant: the inputs, and how much of the grid runs. See :data:`PROBLEM_OPTIONS`."""
    parser.add_argument(
        "--m", type=int, action=Noted, default=16, help="tokens (default: %(default)s)"
    )
    parser.add_argument(
        "--routing", action=Noted, default="random", help="how tokens choose experts"
    )
    parser.add_argument(
        "--content", action=Noted, default="normal", help="normal, edges or special"
    )
    parser.add_argument(
        "--seed",
        type=checked(parse_seed),
        action=Noted,
        default=0,
        help="of the inputs (default: %(default)s)",
    )
    parser.add_argument(
        "--workgroup",
        type=int,
        nargs="+",
        action=Noted,
        default=(),
        help="run these, not a sample of the grid",
    )
    parser.add_argument("--all", nargs=0, action=Noted, default=False, help="run the whole grid")


class Stopped(RuntimeError):
    """The emulator refused a program or an access."""


@contextmanager
def emulating() -> Iterator[None]:
    """What the emulator needs is there, and what it refuses is one clear line."""
    if importlib.util.find_spec("numba") is None:
        raise MissingComponent('the emulator needs numba; pip install -e ".[emulator]"')
    from ..emulator import EmulatorError

    try:
        yield
    except EmulatorError as error:
        raise Stopped(str(error)) from error


@emulating()
def run_verb(arguments: argparse.Namespace) -> int:
    """Run a variant or any .s file in the emulator; print what was executed."""
    from .. import execution

    target = _target(arguments)
    result = target.run()
    emit(execution.run_rows(result), arguments.json)
    if not arguments.json:
        waves = f"{len(result.workgroups)} workgroups, {result.waves} waves"
        print(f"\n{waves}, {result.wave_instructions} wave-instructions")
        for path in target.save():
            print(f"wrote {path}")
    else:
        target.save()
    return OK


@emulating()
def verify_verb(arguments: argparse.Namespace) -> int:
    """Run a variant in the emulator and compare with the float64 reference."""
    result = _own_kernel(arguments).verify()
    if arguments.json:
        emit([_describe_result(result)], as_json=True)
    else:
        print(result.report())
    return OK if result.passed else FAILED


@emulating()
def sanitize_verb(arguments: argparse.Namespace) -> int:
    """Look for missing waits, missing barriers and races in a variant or any .s file."""
    from .. import execution

    report = _target(arguments).sanitize()
    rows = execution.hazard_rows(report)
    if arguments.json:
        print_json(rows)
    else:
        print_table(execution.alike(rows))
        if rows:
            print("\none row for pairs that differ in lines and registers alone; --json has all")
        print(execution.verdict(report))
    return OK if report.clean else FAILED


@emulating()
def needless_verb(arguments: argparse.Namespace) -> int:
    """List waits and barriers that a variant or any .s file can do without, one at a time."""
    from .. import execution

    report = _target(arguments).sanitize()
    emit(execution.needless_rows(report), arguments.json)
    if not arguments.json:
        print(execution.needless_summary(report))
    return OK


def _target(arguments: argparse.Namespace) -> execution.Target:
    """A .s file with its launch, or a variant with a problem."""
    if not is_assembly(arguments.target):
        refuse(arguments, ["--launch"], "a variant has its own launch")
        return _own_kernel(arguments)
    refuse(arguments, (*KERNEL_OPTIONS, *PROBLEM_OPTIONS), "the launch file describes the launch")
    return launched(arguments)


def launched(arguments: argparse.Namespace) -> Prepared:
    """A .s file with its launch.

    Raises:
        ValueError: no ``--launch``, or one of the files is wrong.
    """
    from .. import execution

    target = arguments.target
    if arguments.launch is None:
        raise ValueError(f"{shown(target)} needs --launch FILE; docs/emulator.md describes it")
    with naming(target, isa.AssemblyError):
        return execution.foreign(Path(target), arguments.launch)


def _own_kernel(arguments: argparse.Namespace) -> execution.OwnKernel:
    from .. import execution

    if arguments.all:
        refuse(arguments, ["--workgroup"], "--all runs every workgroup")
    inputs = execution.Inputs(
        arguments.m,
        arguments.routing,
        arguments.seed,
        arguments.content,
        arguments.workgroup,
        arguments.all,
    )
    return execution.OwnKernel.of(compile_target(arguments), inputs)


def _describe_result(result: Result) -> dict[str, object]:
    plain = asdict(result.comparison)
    wrong = [str(element) for element in result.comparison.wrong]
    return {
        "passed": result.passed,
        "tiles": len(result.tiles),
        **plain,
        "cos": result.comparison.cos,
        "wrong": wrong,
        "stray_bytes": result.strays,
        "output_sha256": result.digest,
        "seconds": result.seconds,
    }
