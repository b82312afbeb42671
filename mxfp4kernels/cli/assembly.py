"""``compile``, ``isa`` and ``diff``: assembly, and what it holds."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from .. import files, flags, isa
from ..ablation import counts
from ..compiler import CompiledKernel, Job
from .exits import OK
from .options import (
    KERNEL_OPTIONS,
    AddVerb,
    add_compiler,
    add_flags,
    add_json,
    add_kernel,
    add_target,
    checked,
    compile_target,
    compiler_of,
    is_assembly,
    naming,
    parse_path,
    parse_variant,
    refuse,
    show_warnings,
)
from .output import emit, print_json, print_table, shown

COMPILED = "a .s file is compiled already"


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    _add_compile(verb("compile", compile_verb))
    reading = verb("isa", isa_verb)
    add_target(reading)
    add_flags(reading)
    add_compiler(reading)
    add_kernel(reading)
    add_json(reading)
    _add_diff(verb("diff", diff_verb))


def _add_compile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("variant", type=checked(parse_variant), help="such as gemm1/bm128")
    add_flags(parser)
    add_compiler(parser)
    parser.add_argument("-o", "--output", type=checked(parse_path), help="write the assembly here")
    parser.add_argument(
        "--code-object",
        type=checked(parse_path),
        help="also link the ELF code object; needs an ld.lld",
    )
    add_json(parser)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="a variant and two flag settings (gemm1/bm128 none all), or two .s files",
    )
    add_compiler(parser)
    add_kernel(parser)
    parser.add_argument("--html", type=checked(parse_path), help="write one self-contained page")
    parser.add_argument(
        "--context", type=int, default=3, help="unchanged instructions around a change"
    )
    add_json(parser)


def compile_verb(arguments: argparse.Namespace) -> int:
    """Compile one kernel."""
    compiler = compiler_of(arguments)
    job = Job(arguments.variant, arguments.shape, arguments.flags, arguments.arch)
    kernel = compiler.compile(job)
    show_warnings([kernel])
    if arguments.code_object:
        files.write_bytes(arguments.code_object, compiler.code_object(job))
    if arguments.output:
        files.write_text(arguments.output, kernel.assembly)
    elif not arguments.json and not arguments.code_object:
        sys.stdout.write(kernel.assembly)
    if arguments.json:
        emit([_describe_kernel(kernel)], as_json=True)
    return OK


def isa_verb(arguments: argparse.Namespace) -> int:
    """Count the instructions of a kernel or of any .s file, and say what limits its occupancy."""
    name, program, about = _program(arguments)
    with naming(name):
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
        print_json(report)
        return OK
    print_table(rows)
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
    if is_assembly(arguments.target):
        refuse(arguments, KERNEL_OPTIONS, COMPILED)
        program = _read_assembly(arguments.target, arguments.kernel)
        return arguments.target, program, {"file": shown(arguments.target)}
    if arguments.kernel is not None:
        raise ValueError("--kernel picks a kernel of a .s file; a variant has only one")
    kernel = compile_target(arguments)
    return str(kernel.job), kernel.program, _describe_kernel(kernel)


def _read_assembly(path: str, kernel: str | None) -> isa.Program:
    with naming(path):
        return isa.parse(isa.read_assembly(Path(path)), kernel)


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
        with naming(name):  # comparing would not say which side it is that it cannot divide
            isa.count_program(program)
    (left_name, left), (right_name, right) = sides
    difference = isa.diff(left, right, left_name=shown(left_name), right_name=shown(right_name))
    if arguments.html:
        files.write_text(arguments.html, isa.render_html(difference))
    if arguments.json:
        print_json(_describe_difference(difference))
    elif not arguments.html:
        print(isa.render_text(difference, arguments.context, colour=sys.stdout.isatty()))
    return OK


def _sides(arguments: argparse.Namespace) -> list[tuple[str, isa.Program]]:
    """Both programs and what to call them."""
    words = arguments.what
    if len(words) == 2:
        refuse(arguments, KERNEL_OPTIONS, COMPILED)
        return [(word, _read_assembly(word, arguments.kernel)) for word in words]
    if len(words) != 3:
        raise ValueError("diff takes two .s files, or a variant and two flag settings")
    if arguments.kernel is not None:
        raise ValueError("--kernel picks a kernel of .s files; a variant has only one")
    variant = parse_variant(words[0])
    jobs = [
        Job(variant, arguments.shape, flags.parse_flags(word), arguments.arch) for word in words[1:]
    ]
    kernels = compiler_of(arguments).compile_all(jobs)
    show_warnings(kernels)
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


def _describe_kernel(kernel: CompiledKernel) -> dict[str, object]:
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
