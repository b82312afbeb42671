"""The command line: one verb per task, each a few lines over the module that does it.

Exit codes are listed in :data:`EXIT_CODES`.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # before the imports below, which may lack a package or be interrupted
    from mxfp4kernels.__main__ import main as start

    sys.exit(start())

import argparse
import importlib.util
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tqdm import tqdm

from . import ablation, claims, counts, files, flags, isa, parity, published, shapes
from .bench import command as bench
from .bench.device import NoDevice
from .bench.worker import RoundFailed
from .cache import LOCATION_VARIABLE, Cache, CacheError
from .compiler import (
    ARCHITECTURES,
    CompiledKernel,
    CompileError,
    Compiler,
    Job,
    MissingComponent,
)
from .study.runner import StudyError
from .study.tables import PARTS

if TYPE_CHECKING:
    from . import execution
    from .launch_file import Prepared
    from .modelled import Launch, Modeller
    from .modelled_report import TracedUnit
    from .numerics import Result

OK, FAILED, USAGE, MISSING, STORAGE, INTERRUPTED = 0, 1, 2, 3, 4, 130

EXIT_CODES: Mapping[int, str] = {
    OK: "done",
    FAILED: "a check failed: a claim's verdict, a tolerance, a compilation, a run, a hazard",
    USAGE: "wrong usage or input: an unknown name, a shape no kernel runs, unreadable assembly",
    MISSING: "something optional is not there: FlyDSL, torch, a linker, a gfx950 device",
    STORAGE: "a file, the cache or the output could not be read or written",
    INTERRUPTED: "interrupted; what was finished is in the cache",
}

CELL_WIDTH = 40
"""Characters of a table's cell on the terminal."""

_EPILOG = "exit codes:\n" + "\n".join(f"  {code:3}  {text}" for code, text in EXIT_CODES.items())

_EXAMPLES = """\
start here:
  mxfp4kernels flags                                  what can be switched, and what it claims
  mxfp4kernels variants --shape kimi-k2.5-tp4         what can be compiled, and where it runs
  mxfp4kernels compile gemm1/bm128 --flags all -o gemm1.s
  mxfp4kernels isa gemm1/bm128 --flags none           counts per region, registers, occupancy
  mxfp4kernels diff gemm1/bm128 none all              what the seven changes do to the assembly
  mxfp4kernels ablate                                 every flag setting, to data/isa/
  mxfp4kernels ablate --factorial native_packed_max+interleaved_quant -o factorial
  mxfp4kernels verify gemm1/bm32_nt --m 64            run the assembly, compare with float64
  mxfp4kernels sanitize kernel.s --launch launch.yml  races and missing waits of any gfx950 kernel
  mxfp4kernels bench --plan                           what a gfx950 device would be asked to time

"""


def _variant(text: str) -> shapes.Variant:
    kernel, _, name = text.partition("/")
    return shapes.find_variant(kernel, name)


def _workers(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"workers must be a whole number of at least 1, got {text!r}")
    return int(text)


def _path(text: str) -> Path:
    if not text:
        raise ValueError("the name of the file or directory is empty")
    return Path(text)


def _shown(name: str) -> str:
    """A file's name as text, which it need not be."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@contextmanager
def _naming(name: str, of: type[ValueError] = ValueError) -> Iterator[None]:
    """What is wrong with an assembly is told with the name of its file or kernel."""
    try:
        yield
    except of as error:
        raise ValueError(f"{_shown(name)}: {error}") from error


def _checked(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """``parse`` for argparse, which shows only errors of this type in full."""

    def convert(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _print_table(rows: Sequence[Mapping[str, object]], out: TextIO, whole: str = "") -> None:
    """``rows`` in aligned columns, numbers to the right, long texts cut; JSON has them whole.

    ``whole`` is a column that is not cut.
    """
    if not rows:
        return
    names = list(rows[0])
    cells = [
        [str(row[name]) if name == whole else _cut(str(row[name])) for name in names]
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
    numeric = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    for line in [names, *cells]:
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip(), file=out)


def _cut(text: str) -> str:
    return text if len(text) <= CELL_WIDTH else f"{text[: CELL_WIDTH - 3]}..."


def _print_json(value: object) -> None:
    json.dump(value, sys.stdout, indent=1)
    print()


def _emit(rows: Sequence[Mapping[str, object]], as_json: bool) -> None:
    if as_json:
        _print_json(list(rows))
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
            "origin": "pull request" if flag in flags.FLAGS else "ours",
            "presets": " ".join(
                preset for preset, names in flags.PRESETS.items() if flag.name in names
            ),
            "provenance": flag.provenance,
        }
        for flag in flags.REGISTRY
    ]
    if arguments.json:
        _emit(rows, as_json=True)
        return OK
    for row in rows:
        print(row["flag"])
        for name in ("off", "on", "claim", "shows_in", "variants", "origin", "presets"):
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
                "kimi_tp4_m": _tokens(variant),
                f"runs_{arguments.shape}": fits,
                "flags": flags.join(flags.acting(variant, flags.SAFE)),
            }
        )
    if arguments.json:
        _emit(rows, as_json=True)
        return OK
    _print_table(rows, sys.stdout, whole="flags")
    print("\nkimi_tp4_m: tokens at which the published tuning for Kimi-K2.5 TP4 runs a variant")
    return OK


def _tokens(variant: shapes.Variant) -> str:
    """The numbers of tokens at which the published tuning runs a variant."""
    found = shapes.dispatched_tokens(variant)
    if found is None:
        return "never"
    first, last = found
    chosen = shapes.dispatch(variant.kernel, first) == variant
    return f"{first}..{'' if last is None else last}{'' if chosen else ' on request (lossy)'}"


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


def isa_verb(arguments: argparse.Namespace) -> int:
    """Count the instructions of a kernel or of any .s file, and say what limits its occupancy."""
    name, program, about = _program(arguments)
    with _naming(name):
        counted = isa.count_program(program)
        occupancy, unknown = _occupancy(program)
    regions = {counts.KERNEL: counted.kernel} | {
        region.value: of_region for region, of_region in counted.regions.items()
    }
    rows = [
        {"region": name}
        | {of.value: number for of, number in of_region.classes.items()}
        | {"total": of_region.total}
        for name, of_region in regions.items()
    ]
    if arguments.json:
        report = {**about, "symbol": program.name, "target": program.target, "regions": rows}
        report["occupancy"] = None if occupancy is None else asdict(occupancy)
        _print_json(report)
        return OK
    _print_table(rows, sys.stdout)
    print(f"\n{unknown if occupancy is None else _describe_occupancy(occupancy)}")
    return OK


def _occupancy(program: isa.Program) -> tuple[isa.Occupancy | None, str]:
    """The occupancy, or why it is not known."""
    try:
        return isa.occupancy_of(program), ""
    except isa.UnknownOccupancy as error:
        return None, f"occupancy unknown: {error}"


def _program(arguments: argparse.Namespace) -> tuple[str, isa.Program, dict[str, object]]:
    """The program of a .s file or of a compiled variant: its name, itself, what is known of it."""
    if arguments.target.endswith(".s"):
        program = _read_assembly(arguments.target, arguments.kernel)
        return arguments.target, program, {"file": _shown(arguments.target)}
    if arguments.kernel is not None:
        raise ValueError("--kernel picks a kernel of a .s file; a variant has only one")
    kernel = _compiler(arguments).compile(
        Job(_variant(arguments.target), arguments.shape, arguments.flags, arguments.arch)
    )
    _show_warnings([kernel])
    return str(kernel.job), kernel.program, _describe(kernel)


def _read_assembly(path: str, kernel: str | None) -> isa.Program:
    with _naming(path):
        return isa.parse(Path(path).read_text(encoding="utf-8"), kernel)


def _describe_occupancy(occupancy: isa.Occupancy) -> str:
    lines = [
        f"{occupancy.waves_per_simd} waves per SIMD, {occupancy.workgroups_per_cu} workgroups per "
        f"compute unit, limited by {occupancy.limiter}"
    ]
    for limit in occupancy.limits:
        gain = "" if limit.to_gain is None else f", {limit.to_gain} fewer for the next step"
        lines.append(f"  {limit.resource:5} {limit.used:7}  allows {limit.waves}{gain}")
    return "\n".join(lines)


def diff_verb(arguments: argparse.Namespace) -> int:
    """Show what differs between two flag settings of a variant, or between two .s files."""
    sides = _sides(arguments)
    for name, program in sides:
        with _naming(name):  # comparing would not say which side it is that it cannot divide
            isa.count_program(program)
    (left_name, left), (right_name, right) = sides
    difference = isa.diff(left, right, left_name=_shown(left_name), right_name=_shown(right_name))
    if arguments.html:
        files.write_text(arguments.html, isa.render_html(difference))
    if arguments.json:
        _print_json(_describe_difference(difference))
    elif not arguments.html:
        print(isa.render_text(difference, arguments.context, colour=sys.stdout.isatty()))
    return OK


def _sides(arguments: argparse.Namespace) -> list[tuple[str, isa.Program]]:
    """Both programs and what to call them."""
    words = arguments.what
    if len(words) == 2:
        return [(word, _read_assembly(word, arguments.kernel)) for word in words]
    if len(words) != 3:
        raise ValueError("diff takes two .s files, or a variant and two flag settings")
    if arguments.kernel is not None:
        raise ValueError("--kernel picks a kernel of .s files; a variant has only one")
    variant = _variant(words[0])
    jobs = [
        Job(variant, arguments.shape, flags.parse_flags(word), arguments.arch) for word in words[1:]
    ]
    kernels = _compiler(arguments).compile_all(jobs)
    _show_warnings(kernels)
    return [(str(kernel.job), kernel.program) for kernel in kernels]


def _describe_difference(difference: isa.Difference) -> dict[str, object]:
    return {
        "left": {"name": difference.left_name, **_describe_counts(difference.left)},
        "right": {"name": difference.right_name, **_describe_counts(difference.right)},
        "regions": [
            {
                "region": section.title,
                "rows": len(section.rows),
                "changed": sum(not row.same for row in section.rows),
                "left": _describe_counts(section.left),
                "right": _describe_counts(section.right),
            }
            for section in difference.sections
        ],
    }


def _describe_counts(counted: isa.Counts) -> dict[str, int]:
    return {of.value: number for of, number in counted.classes.items()} | {"total": counted.total}


def ablate_verb(arguments: argparse.Namespace) -> int:
    """Compile and count every flag setting that the studies need; write the tables."""
    if arguments.factorial is not None and arguments.study is not None:
        raise ValueError("--factorial is a study of its own; leave out --study")
    variants, refused = ablation.runnable(arguments.shape, _variants_of(arguments))
    parts = (arguments.variant, arguments.study, arguments.factorial)
    whole = arguments.shape == shapes.REFERENCE_SHAPE and parts == (None, None, None)
    if not whole and arguments.output is None:
        raise ValueError(
            f"with another shape, or a part of the variants or studies, name --output; "
            f"{counts.COUNTS.parent} holds all of {shapes.REFERENCE_SHAPE}"
        )
    for reason in refused:
        print(f"mxfp4kernels: left out: {reason}", file=sys.stderr)
    if arguments.factorial is None:
        jobs = ablation.jobs(arguments.shape, variants, arguments.study or tuple(flags.STUDIES))
    else:
        jobs = ablation.factorial_jobs(arguments.shape, variants, arguments.factorial)
    with _progress("compiling", arguments.quiet) as progress:
        table, warnings = ablation.run(_compiler(arguments), jobs, progress)
    for warning in warnings:
        print(f"mxfp4kernels: warning: {warning}", file=sys.stderr)
    folder = arguments.output or counts.COUNTS.parent
    counts.write_counts(table, folder / counts.COUNTS.name)
    written = [counts.COUNTS.name]
    if whole:
        reference = published.read_reference()
        claims.write_claims(claims.check_claims(table, reference), folder / claims.CLAIMS.name)
        parity.write_parity(parity.compare(table, reference), folder / parity.PARITY.name)
        written += [claims.CLAIMS.name, parity.PARITY.name]
    if not arguments.quiet:
        print(f"{len(jobs)} kernels counted; wrote {', '.join(written)} in {folder}")
    return OK


def _variants_of(arguments: argparse.Namespace) -> Sequence[shapes.Variant]:
    """Those that were asked for; else all, of a factorial all in which its flags act."""
    if arguments.variant:
        chosen: Sequence[shapes.Variant] = arguments.variant
        return chosen
    wanted = arguments.factorial or flags.NONE
    found = [variant for variant in shapes.VARIANTS if wanted <= flags.acting(variant, flags.SAFE)]
    if not found:
        raise ValueError(f"no variant in which {flags.join(wanted)} act together")
    return found


@contextmanager
def _progress(
    what: str, quiet: bool, unit: str = "kernel"
) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr; where stderr is no terminal, a line every few seconds and at the end."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _lines(what, unit)
        return
    with tqdm(desc=what, unit=unit, file=sys.stderr) as bar:

        def report(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield report


SECONDS_PER_LINE = 5.0


def _lines(what: str, unit: str) -> Callable[[int, int], None]:
    """Progress for a log: whole lines, few of them, no line twice."""
    last, due = "", time.monotonic() + SECONDS_PER_LINE

    def report(done: int, total: int) -> None:
        nonlocal last, due
        if done < total and time.monotonic() < due:
            return
        share = 100 * done // total if total else 100
        line = f"{what}: {share}% ({done} of {total} {unit}s)"
        if line != last:
            print(line, file=sys.stderr, flush=True)
        last, due = line, time.monotonic() + SECONDS_PER_LINE

    return report


def claims_verb(arguments: argparse.Namespace) -> int:
    """Check what the pull request says against the counts; needs no compiler."""
    table = counts.read_counts(arguments.counts)
    reference = published.read_reference()
    if arguments.parity:
        rows = parity.compare(table, reference)
    else:
        rows = claims.check_claims(table, reference)
    shown = [row for row in rows if arguments.all or row["verdict"] not in _TACIT]
    if not arguments.json and not arguments.parity:
        shown = [{name: row[name] for name in claims.COLUMNS if name != "how"} for row in shown]
    _emit(shown, arguments.json)
    failed = any(row["verdict"] in (claims.CONTRADICTED, parity.OUTSIDE) for row in rows)
    return FAILED if arguments.check and failed else OK


_TACIT = (claims.NOT_APPLICABLE, parity.NOT_HELD)
"""Verdicts of rows that say nothing by themselves."""


def bench_verb(arguments: argparse.Namespace) -> int:
    """Measure device time on a gfx950 device, or say with --plan what would be measured."""
    plan = bench.plan_of(arguments)
    if arguments.plan:
        _emit(plan.describe(), arguments.json)
        if not arguments.json:
            print(f"\n{bench.summary(plan)}")
        return OK
    if arguments.launch_only:
        _emit(bench.launch_only(plan, arguments), arguments.json)
        return OK
    ready = bench.ready(plan, arguments)
    with _progress("measuring", arguments.quiet, unit="round") as progress:
        table = bench.run(ready, arguments.run_name, progress)
    if not arguments.quiet:
        print(f"wrote {table} and, beside it, the journal with every replay")
    return OK


def counters_verb(arguments: argparse.Namespace) -> int:
    """Hold rocprofv3's counters of a kernel against what the emulator executes."""
    kernel = _compiler(arguments).compile(
        Job(arguments.variant, arguments.shape, arguments.flags, arguments.arch)
    )
    rows = bench.count(kernel, arguments)
    if arguments.output:
        files.write_csv(arguments.output, list(rows[0]), rows)
    else:
        _emit(rows, arguments.json)
    return OK


class Stopped(RuntimeError):
    """The emulator refused a program or an access."""


@contextmanager
def _emulating() -> Iterator[None]:
    """What the emulator needs is there, and what it refuses is one clear line."""
    if importlib.util.find_spec("numba") is None:
        raise MissingComponent('the emulator needs numba; pip install "mxfp4kernels[emulator]"')
    from .emulator import EmulatorError

    try:
        yield
    except EmulatorError as error:
        raise Stopped(str(error)) from error


@_emulating()
def run_verb(arguments: argparse.Namespace) -> int:
    """Run a variant or any .s file in the emulator; print what was executed."""
    from . import execution

    target = _target(arguments)
    result = target.run()
    _emit(execution.run_rows(result), arguments.json)
    if not arguments.json:
        waves = f"{len(result.workgroups)} workgroups, {result.waves} waves"
        print(f"\n{waves}, {result.wave_instructions} wave-instructions")
        for path in target.save():
            print(f"wrote {path}")
    else:
        target.save()
    return OK


@_emulating()
def verify_verb(arguments: argparse.Namespace) -> int:
    """Run a variant in the emulator and compare with the float64 reference."""
    result = _own_kernel(arguments).verify()
    if arguments.json:
        _emit([_describe_result(result)], as_json=True)
    else:
        print(result.report())
    return OK if result.passed else FAILED


@_emulating()
def sanitize_verb(arguments: argparse.Namespace) -> int:
    """Look for missing waits, missing barriers and races in a variant or any .s file."""
    from . import execution

    report = _target(arguments).sanitize()
    _emit(execution.hazard_rows(report), arguments.json)
    if not arguments.json:
        print(execution.verdict(report))
    return OK if report.clean else FAILED


@_emulating()
def needless_verb(arguments: argparse.Namespace) -> int:
    """List waits and barriers that a variant or any .s file can do without, one at a time."""
    from . import execution

    report = _target(arguments).sanitize()
    _emit(execution.needless_rows(report), arguments.json)
    if not arguments.json:
        print(execution.needless_summary(report))
    return OK


@_emulating()
def study_verb(arguments: argparse.Namespace) -> int:
    """Run the numerics study: every variant and setting, every mutant; write data/numerics/."""
    from .study import command

    compiler = _compiler(arguments)
    study = command.Study(
        compiler,
        arguments.workers or command.default_workers(),
        arguments.output or command.FOLDER,
        lambda what, unit: _progress(what, arguments.quiet, unit),
    )
    written = study.run(arguments.part or PARTS)
    if not arguments.quiet:
        for name, rows in written.items():
            print(f"{name}: {rows} rows")
    return OK


@_emulating()
def time_verb(arguments: argparse.Namespace) -> int:
    """Model the device time of a variant's launch, or of a workgroup of any .s file."""
    from . import modelled_report as report
    from .timing.constants import read_hardware

    if arguments.target.endswith(".s"):
        rows = _traced(arguments).rows(arguments.groups, read_hardware())
    else:
        rows = report.launch_rows(_modeller(arguments), _modelled(arguments), arguments.flags)
    _emit(rows, arguments.json)
    if not arguments.json:
        print("\nmodelled, not measured; constants: data/hardware/mi355x.json")
    return OK


@_emulating()
def timeline_verb(arguments: argparse.Namespace) -> int:
    """Write an interactive page of what each wave of a workgroup does over time, modelled."""
    from .timing.constants import read_hardware

    files.write_text(arguments.output, _traced(arguments).page(read_hardware()))
    print(f"wrote {arguments.output}")
    return OK


def _traced(arguments: argparse.Namespace) -> TracedUnit:
    from . import modelled_report as report

    if not arguments.target.endswith(".s"):
        return report.own_unit(_modeller(arguments), _modelled(arguments), arguments.flags)
    prepared = _foreign(arguments)
    return report.foreign_unit(prepared, arguments.beyond_l2, arguments.to_hbm)


def _modeller(arguments: argparse.Namespace) -> Modeller:
    from .modelled import Modeller

    return Modeller(_compiler(arguments))


def _modelled(arguments: argparse.Namespace) -> Launch:
    from .modelled import Launch

    variant = _variant(arguments.target)
    return Launch(variant, arguments.shape, arguments.m, arguments.routing, arguments.seed)


def _target(arguments: argparse.Namespace) -> execution.Target:
    """A .s file with its launch, or a variant with a problem."""
    if not arguments.target.endswith(".s"):
        return _own_kernel(arguments)
    return _foreign(arguments)


def _foreign(arguments: argparse.Namespace) -> Prepared:
    """A .s file with its launch."""
    from . import execution

    if arguments.launch is None:
        raise ValueError(f"{arguments.target} needs --launch FILE; docs/emulator.md describes it")
    with (
        _naming(arguments.target, isa.AssemblyError),
        _naming(arguments.target, UnicodeDecodeError),
    ):
        return execution.foreign(Path(arguments.target), arguments.launch)


def _own_kernel(arguments: argparse.Namespace) -> execution.OwnKernel:
    from . import execution

    job = Job(_variant(arguments.target), arguments.shape, arguments.flags, arguments.arch)
    kernel = _compiler(arguments).compile(job)
    _show_warnings([kernel])
    inputs = execution.Inputs(
        arguments.m,
        arguments.routing,
        arguments.seed,
        arguments.content,
        tuple(arguments.workgroup or ()),
        arguments.all,
    )
    return execution.OwnKernel.of(kernel, inputs)


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
    compiling.add_argument("-o", "--output", type=_checked(_path), help="write the assembly here")
    compiling.add_argument(
        "--code-object", type=_checked(_path), help="also link the ELF code object; needs an ld.lld"
    )
    _add_json(compiling)
    reading = verb("isa", isa_verb)
    reading.add_argument("target", help="a variant such as gemm1/bm128, or a .s file")
    _add_flags(reading)
    _add_compiler(reading)
    _add_kernel(reading)
    _add_json(reading)
    _add_diff(verb("diff", diff_verb))
    _add_ablate(verb("ablate", ablate_verb))
    _add_claims(verb("claims", claims_verb))
    _add_launch(verb("run", run_verb), foreign=True)
    _add_launch(verb("verify", verify_verb), foreign=False)
    _add_launch(verb("sanitize", sanitize_verb), foreign=True)
    _add_launch(verb("needless", needless_verb), foreign=True)
    _add_time(verb("time", time_verb))
    drawing = verb("timeline", timeline_verb)
    _add_time(drawing)
    drawing.add_argument("-o", "--output", type=_checked(_path), default=Path("timeline.html"))
    _add_study(verb("study", study_verb))
    _add_bench(verb("bench", bench_verb))
    _add_counters(verb("counters", counters_verb))
    return parser


def _add_launch(parser: argparse.ArgumentParser, *, foreign: bool) -> None:
    either = "a variant such as gemm1/bm128" + (", or a .s file" if foreign else "")
    parser.add_argument("target", help=either)
    if foreign:
        parser.add_argument(
            "--launch",
            type=_checked(_path),
            help="YAML or JSON: how to launch a .s file (docs/emulator.md)",
        )
    _add_flags(parser)
    _add_compiler(parser)
    parser.add_argument("--m", type=int, default=16, help="tokens (default: %(default)s)")
    parser.add_argument("--routing", default="random", help="how tokens choose experts")
    parser.add_argument("--content", default="normal", help="normal, edges or special")
    parser.add_argument("--seed", type=int, default=0, help="of the inputs (default: %(default)s)")
    parser.add_argument(
        "--workgroup", type=int, action="append", help="run this one; may be given again"
    )
    parser.add_argument(
        "--all", action="store_true", help="run the whole grid, not a sample of workgroups"
    )
    _add_json(parser)


def _add_time(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help="a variant such as gemm1/bm128, or a .s file")
    parser.add_argument(
        "--launch",
        type=_checked(_path),
        help="YAML or JSON: how to launch a .s file (docs/emulator.md)",
    )
    _add_flags(parser)
    _add_compiler(parser)
    parser.add_argument("--m", type=int, default=16, help="tokens (default: %(default)s)")
    parser.add_argument(
        "--routing", choices=bench.ROUTINGS, default="family-a", help="how tokens choose experts"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the routing")
    parser.add_argument("--groups", type=int, default=1, help="of a .s file: workgroups on a unit")
    for name in ("--beyond-l2", "--to-hbm"):
        parser.add_argument(
            name, type=float, default=1.0, help="of a .s file: fraction of global bytes (0..1)"
        )
    _add_json(parser)


def _add_study(parser: argparse.ArgumentParser) -> None:
    _add_compiler(parser, shape=False)
    parser.add_argument(
        "--part", action="append", choices=PARTS, help="only this part; may be given again"
    )
    parser.add_argument(
        "-o", "--output", type=_checked(_path), help="directory (default: data/numerics)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="a variant and two flag settings (gemm1/bm128 none all), or two .s files",
    )
    _add_compiler(parser)
    _add_kernel(parser)
    parser.add_argument("--html", type=_checked(_path), help="write one self-contained page")
    parser.add_argument(
        "--context", type=int, default=3, help="unchanged instructions around a change"
    )
    _add_json(parser)


def _add_ablate(parser: argparse.ArgumentParser) -> None:
    _add_compiler(parser)
    parser.add_argument(
        "--variant",
        action="append",
        type=_checked(_variant),
        help="only this variant; may be given again",
    )
    parser.add_argument(
        "--study", action="append", choices=list(flags.STUDIES), help="only this study; again too"
    )
    parser.add_argument(
        "--factorial",
        type=_checked(flags.parse_flags),
        metavar="FLAGS",
        help="every combination of these flags instead of the studies; names joined by +",
    )
    parser.add_argument("-o", "--output", type=_checked(_path), help="directory for the tables")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")


def _add_claims(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--counts",
        type=_checked(_path),
        default=counts.COUNTS,
        help="the table (default: %(default)s)",
    )
    parser.add_argument(
        "--parity", action="store_true", help="the published counts of both commits instead"
    )
    parser.add_argument("--all", action="store_true", help="also rows without a verdict")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 if a claim or a tolerance fails"
    )
    _add_json(parser)


def _add_bench(parser: argparse.ArgumentParser) -> None:
    _add_compiler(parser)
    bench.add_options(parser, _checked, _variant)
    parser.add_argument("--plan", action="store_true", help="print the cases and measure nothing")
    parser.add_argument(
        "-o", "--output", type=_checked(_path), help="directory (default: data/measured/DEVICE)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    _add_json(parser)


def _add_counters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("variant", type=_checked(_variant), help="such as gemm1/bm128")
    parser.add_argument(
        "file", nargs="+", type=_checked(_path), help="*_counter_collection.csv of rocprofv3"
    )
    _add_flags(parser)
    _add_compiler(parser)
    bench.add_launch(parser)
    parser.add_argument("-o", "--output", type=_checked(_path), help="write the table here, as CSV")
    _add_json(parser)


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kernel", metavar="NAME", help="which kernel of a .s file with several")


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


def _add_compiler(parser: argparse.ArgumentParser, *, shape: bool = True) -> None:
    if shape:
        _add_shape(parser)
    parser.add_argument("--arch", default=ARCHITECTURES[0], help="target (default: %(default)s)")
    parser.add_argument(
        "--cache",
        type=_checked(_path),
        help=f"directory of compiled kernels (default: ${LOCATION_VARIABLE} or the user's cache)",
    )
    parser.add_argument(
        "--workers", type=_checked(_workers), help="compiling processes (default: all cores)"
    )


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
        _parser().parse_args(argv, arguments)
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


LONGEST_LINE = 2000


def _complain(code: int, message: str) -> int:
    first, *more = message.splitlines() or ["no reason given"]
    shown = first if len(first) <= LONGEST_LINE else f"{first[:LONGEST_LINE]}..."
    print(f"mxfp4kernels: error: {shown}{' [...]' if more else ''}", file=sys.stderr)
    return code
