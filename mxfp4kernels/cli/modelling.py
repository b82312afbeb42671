"""``time`` and ``timeline``: modelled device time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .. import files
from ..bench import command as bench
from ..compiler import ARCHITECTURES
from .emulating import emulating, launched
from .exits import OK
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
    compiler_of,
    is_assembly,
    parse_path,
    parse_seed,
    parse_variant,
    refuse,
)
from .output import emit

if TYPE_CHECKING:
    from ..flags import FlagSet
    from ..modelled.launches import Launch, Modeller
    from ..modelled.report import TracedUnit

MOST_TOKENS = 2**20
"""The lists of a launch's tiles grow with M; these take some gigabytes."""
MOST_GROUPS = 4096
"""Workgroups of one unit; the record of its waves grows with them."""
LAUNCH_OPTIONS = ("--m", "--routing", "--seed")
"""They decide the launch of a variant."""
FOREIGN_OPTIONS = ("--launch", "--groups", "--beyond-l2", "--to-hbm")
"""They decide the launch of a ``.s`` file."""


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    timing = verb("time", time_verb)
    _add_options(timing)
    timing.add_argument(
        "--groups",
        type=int,
        action=Noted,
        default=1,
        help="of a .s file: workgroups on a compute unit (default: %(default)s)",
    )
    drawing = verb("timeline", timeline_verb)
    _add_options(drawing)
    drawing.add_argument("-o", "--output", type=checked(parse_path), default=Path("timeline.html"))


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    add_launch_file(parser)
    add_flags(parser)
    add_compiler(parser)
    parser.add_argument(
        "--m", type=int, action=Noted, default=16, help="tokens (default: %(default)s)"
    )
    parser.add_argument(
        "--routing",
        action=Noted,
        choices=bench.ROUTINGS,
        default="family-a",
        help="how tokens choose experts",
    )
    parser.add_argument(
        "--seed", type=checked(parse_seed), action=Noted, default=0, help="of the routing"
    )
    for name, default, where in (
        ("--beyond-l2", 1.0, "miss in L2 (default: 1)"),
        ("--to-hbm", None, "come from HBM (default: all that miss)"),
    ):
        parser.add_argument(
            name,
            type=float,
            action=Noted,
            default=default,
            help=f"of a .s file: fraction of global bytes that {where}",
        )
    add_json(parser)


@emulating()
def time_verb(arguments: argparse.Namespace) -> int:
    """Model the device time of a variant's launch, or of a workgroup of any .s file."""
    from ..modelled import report
    from ..timing.constants import read_hardware

    if is_assembly(arguments.target):
        if not 1 <= arguments.groups <= MOST_GROUPS:
            raise ValueError(f"--groups must lie in 1..{MOST_GROUPS}, got {arguments.groups}")
        rows = _foreign(arguments).rows(arguments.groups, read_hardware())
    else:
        rows = report.launch_rows(*_own(arguments))
    emit(rows, arguments.json)
    if not arguments.json:
        print("\nmodelled, not measured; constants: data/hardware/mi355x.json")
    return OK


@emulating()
def timeline_verb(arguments: argparse.Namespace) -> int:
    """Write an interactive page of what each wave of a workgroup does over time, modelled."""
    from ..modelled import report
    from ..timing.constants import read_hardware

    if is_assembly(arguments.target):
        unit = _foreign(arguments)
    else:
        unit = report.own_unit(*_own(arguments))
    files.write_text(arguments.output, unit.page(read_hardware()))
    print(f"wrote {arguments.output}")
    return OK


def _foreign(arguments: argparse.Namespace) -> TracedUnit:
    """A workgroup of a .s file."""
    from ..modelled import report

    refuse(arguments, (*KERNEL_OPTIONS, *LAUNCH_OPTIONS), "the launch file describes the launch")
    return report.foreign_unit(launched(arguments), arguments.beyond_l2, arguments.to_hbm)


def _own(arguments: argparse.Namespace) -> tuple[Modeller, Launch, FlagSet]:
    """A launch of a variant."""
    from ..modelled.launches import Launch, Modeller

    refuse(arguments, FOREIGN_OPTIONS, "it is of a .s file, and a variant has its own launch")
    if arguments.arch != ARCHITECTURES[0]:
        raise ValueError(f"the model knows {ARCHITECTURES[0]} alone, got --arch {arguments.arch}")
    if not 1 <= arguments.m <= MOST_TOKENS:
        raise ValueError(f"--m must lie in 1..{MOST_TOKENS} to be modelled, got {arguments.m}")
    variant = parse_variant(arguments.target)
    launch = Launch(variant, arguments.shape, arguments.m, arguments.routing, arguments.seed)
    return Modeller(compiler_of(arguments)), launch, arguments.flags
