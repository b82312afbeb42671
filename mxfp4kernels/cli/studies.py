"""``study``, ``bench`` and ``counters``: whole studies, here and on a device."""

from __future__ import annotations

import argparse

from .. import files
from ..bench import command as bench
from ..study.tables import PARTS
from .emulating import emulating
from .exits import OK
from .options import (
    AddVerb,
    add_compiler,
    add_flags,
    add_json,
    add_quiet,
    add_target,
    checked,
    compile_target,
    compiler_of,
    parse_path,
    parse_variant,
)
from .output import emit, progress_bar


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    _add_study(verb("study", study_verb))
    _add_bench(verb("bench", bench_verb))
    _add_counters(verb("counters", counters_verb))


def _add_study(parser: argparse.ArgumentParser) -> None:
    add_compiler(parser, shape=False)
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="only this part; may be given again"
    )
    parser.add_argument(
        "-o", "--output", type=checked(parse_path), help="directory (default: data/numerics)"
    )
    add_quiet(parser)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    add_compiler(parser)
    bench.add_options(parser, checked, parse_variant)
    parser.add_argument("--plan", action="store_true", help="print the cases and measure nothing")
    parser.add_argument(
        "-o", "--output", type=checked(parse_path), help="directory (default: data/measured/DEVICE)"
    )
    add_quiet(parser)
    add_json(parser)


def _add_counters(parser: argparse.ArgumentParser) -> None:
    add_target(parser, assembly=False)
    parser.add_argument(
        "file", nargs="+", type=checked(parse_path), help="*_counter_collection.csv of rocprofv3"
    )
    add_flags(parser)
    add_compiler(parser)
    bench.add_launch(parser)
    parser.add_argument(
        "-o", "--output", type=checked(parse_path), help="write the table here, as CSV"
    )
    add_json(parser)


@emulating()
def study_verb(arguments: argparse.Namespace) -> int:
    """Run the numerics study: every variant and setting, every mutant; write data/numerics/."""
    from ..study import command

    compiler = compiler_of(arguments)
    study = command.Study(
        compiler,
        arguments.workers or command.default_workers(),
        arguments.output or command.FOLDER,
        lambda what, unit: progress_bar(what, arguments.quiet, unit),
    )
    written = study.run(arguments.part or PARTS)
    if not arguments.quiet:
        for name, rows in written.items():
            print(f"{name}: {rows} rows")
    return OK


def bench_verb(arguments: argparse.Namespace) -> int:
    """Measure device time on a gfx950 device, or say with --plan what would be measured."""
    plan = bench.plan_of(arguments)
    if arguments.plan:
        emit(plan.describe(), arguments.json)
        if not arguments.json:
            print(f"\n{bench.summary(plan)}")
        return OK
    if arguments.launch_only:
        emit(bench.launch_only(plan, arguments), arguments.json)
        return OK
    ready = bench.ready(plan, arguments)
    with progress_bar("measuring", arguments.quiet, unit="round") as progress:
        table = bench.run(ready, arguments.run_name, progress)
    if not arguments.quiet:
        print(f"wrote {table} and, beside it, the journal with every replay")
    return OK


def counters_verb(arguments: argparse.Namespace) -> int:
    """Hold rocprofv3's counters of a kernel against what the emulator executes."""
    rows = bench.count(compile_target(arguments), arguments)
    if arguments.output:
        files.write_csv(arguments.output, list(rows[0]), rows)
    else:
        emit(rows, arguments.json)
    return OK
