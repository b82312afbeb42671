"""The command line's ``bench`` verb: options to a plan, and a plan to a run."""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import flags, shapes
from ..cache import Cache
from ..compiler import CompiledKernel, Compiler, MissingComponent
from .baselines import Absent, Binding, bind, is_installed, parse_baseline
from .cases import OURS, TOKENS, Case, Setting, build_cases, tuned_variants
from .measured import MEASURED
from .memory import require_room
from .plan import Plan, slug
from .procedure import CACHES, Procedure
from .selection import Asked, select

if TYPE_CHECKING:  # it needs SciPy, which a plan does not
    from .live import Live
    from .session import Runner


NEEDS = ("scipy", "torch", "numba")
INSTALL = 'pip install -e ".[bench,compile,emulator]"'
ROUTINGS = ("family-a", "family-b", "balanced", "same", "random", "sparse")
"""Names of :data:`mxfp4kernels.numerics.inputs.ROUTINGS`, whose module imports torch.

A test compares them.
"""

_NUMBER = re.compile(r"0*[1-9][0-9]{0,8}", re.ASCII)
"""A whole number above 0."""
TIMING = {
    "rounds": "--rounds",
    "passes": "--passes",
    "threshold": "--threshold",
    "replay_ms": "--replay-ms",
    "clock_mhz": "--clock-mhz",
    "fresh_process": "--fresh-process",
    "run_name": "--run",
    "output": "--output",
}
"""Options that mean nothing to launches without times, by where their values are."""

Checked = Callable[[Callable[[str], Any]], Callable[[str], Any]]
Report = Callable[[int, int], None] | None


def add_options(
    parser: argparse.ArgumentParser, checked: Checked, variant: Callable[[str], shapes.Variant]
) -> None:
    """What is measured and how.

    Args:
        parser: the verb's.
        checked: makes of a parsing function one whose errors argparse shows in full.
        variant: parses a variant.
    """
    _add_what(parser, checked, variant)
    _add_how(parser, checked)


def _add_what(
    parser: argparse.ArgumentParser, checked: Checked, variant: Callable[[str], shapes.Variant]
) -> None:
    what = parser.add_argument_group("what is measured")
    what.add_argument(
        "--m",
        type=checked(_tokens),
        default=TOKENS,
        metavar="M,M,...",
        help=f"numbers of tokens (default: {','.join(map(str, TOKENS))})",
    )
    what.add_argument(
        "--kernel",
        action="append",
        choices=shapes.KERNELS,
        help="only this one; the variant is that of the published tuning at each M",
    )
    what.add_argument(
        "--variant",
        action="append",
        type=checked(variant),
        help="this one at every M instead; may be given again",
    )
    what.add_argument(
        "--lossy-gemm2", action="store_true", help="bm128_mxfp4 in the tuning from M=8192 on"
    )
    what.add_argument(
        "--study",
        action="append",
        choices=list(flags.STUDIES),
        help="flag settings of this study; again too (default: all studies)",
    )
    what.add_argument(
        "--flags",
        action="append",
        type=checked(flags.parse_flags),
        default=[],
        help="only this setting besides the baseline; again too",
    )
    what.add_argument(
        "--against",
        default="none",
        help="the baseline of all ratios: flags, or a baseline named by --with (default: none)",
    )
    what.add_argument(
        "--with",
        dest="baselines",
        action="append",
        type=checked(parse_baseline),
        default=[],
        metavar="NAME=MODULE:FUNCTION",
        help="also time another package's kernel: aiter-hip or aiter-flydsl",
    )
    _add_routing(what)


def add_launch(parser: argparse.ArgumentParser) -> None:
    """The one launch that counters belong to."""
    parser.add_argument("--m", type=int, required=True, help="number of tokens of the launch")
    _add_routing(parser)


def _add_routing(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--routing", choices=ROUTINGS, default="family-a")
    parser.add_argument("--seed", type=int, default=0, help="of routing and inputs (default: 0)")


def _add_how(parser: argparse.ArgumentParser, checked: Checked) -> None:
    default = Procedure()
    how = parser.add_argument_group("how it is measured")
    how.add_argument("--cache-mode", choices=CACHES, default=default.cache, help="of the device")
    how.add_argument("--rounds", type=int, help=f"default: {default.rounds}")
    how.add_argument("--passes", type=int, help=f"in a round; default: {default.passes}")
    how.add_argument(
        "--threshold",
        type=float,
        help=f"relative difference that matters; default: {default.threshold}",
    )
    how.add_argument(
        "--replay-ms",
        type=float,
        help=f"least duration of a replay; default: {1000 * default.replay_seconds}",
    )
    how.add_argument(
        "--clock-mhz",
        type=float,
        help="the clock that the device has been set to; default: the highest that it has",
    )
    how.add_argument(
        "--fresh-process", action="store_true", help="every round in a process of its own"
    )
    how.add_argument(
        "--launch-only",
        type=checked(_count),
        metavar="N",
        help="check every kernel and launch it N times without graphs or times, for a profiler",
    )
    how.add_argument(
        "--run",
        dest="run_name",
        type=checked(_run_name),
        help="name of the run; the same name goes on with the same run",
    )


def _tokens(text: str) -> tuple[int, ...]:
    words = text.split(",")
    if not all(map(_NUMBER.fullmatch, words)):
        raise ValueError(
            "give whole numbers above 0, of at most nine digits, with commas between, such as "
            f"4,64; got {text[:60]!r}"
        )
    return tuple(dict.fromkeys(map(int, words)))


def _run_name(text: str) -> str:
    if not re.fullmatch(r"[\w+-][\w.+-]{0,99}", text, re.ASCII):
        raise ValueError(
            f"a run is named by at most 100 letters, digits and _ + - .; got {text[:60]!r}"
        )
    return text


def _count(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"give a whole number above 0, of at most nine digits; got {text[:60]!r}")
    return int(text)


def plan_of(arguments: argparse.Namespace) -> Plan:
    """The plan that the options ask for; what they ask for in vain is said on stderr.

    Raises:
        ValueError: a value out of range, options that contradict each other, a baseline that
            ``--with`` does not name, or a case that no device can hold.
        ShapeError: a variant cannot run the shape.
    """
    others = [name for name, _ in arguments.baselines]
    for name in others:
        if others.count(name) > 1:
            raise ValueError(f"--with names {name} more than once; choose one of its functions")
    if arguments.launch_only:
        _require_no_timing(arguments)
    studies = arguments.study or (() if arguments.flags else tuple(flags.STUDIES))
    asked = Asked(tuple(arguments.flags), _against(arguments.against, others))
    cases = build_cases(
        arguments.shape,
        _variants(arguments),
        studies,
        extra=asked.flags,
        others=others,
        against=asked.against,
        routing=arguments.routing,
        seed=arguments.seed,
    )
    cases, notes = select(cases, asked)
    for case in cases:
        require_room(case, arguments.cache_mode)
    for note in [*notes, *_missing(arguments)]:
        print(f"mxfp4kernels: note: {note}", file=sys.stderr)
    return Plan(cases, _procedure(arguments))


def _require_no_timing(arguments: argparse.Namespace) -> None:
    given = [
        option
        for name, option in TIMING.items()
        if getattr(arguments, name, None) not in (None, False)
    ]
    if given:
        raise ValueError(
            f"--launch-only takes no times and writes no files, so {' and '.join(given)} would say "
            "nothing; leave it out"
        )


def _variants(arguments: argparse.Namespace) -> Mapping[int, Sequence[shapes.Variant]]:
    """For every number of tokens the variants that were asked for, or those of the tuning."""
    kernels = tuple(dict.fromkeys(arguments.kernel or shapes.KERNELS))
    if not arguments.variant:
        if arguments.lossy_gemm2:
            _require_lossy(kernels, arguments.m)
        return tuned_variants(kernels, arguments.m, lossy_gemm2=arguments.lossy_gemm2)
    if arguments.lossy_gemm2:
        raise ValueError("--lossy-gemm2 chooses in the tuning, which --variant replaces; drop one")
    found = {variant.kernel for variant in arguments.variant}
    if arguments.kernel and found != set(kernels):
        raise ValueError(
            f"--kernel {' --kernel '.join(kernels)} contradicts --variant "
            f"{' --variant '.join(map(str, arguments.variant))}; drop --kernel"
        )
    return dict.fromkeys(arguments.m, tuple(arguments.variant))


def _require_lossy(kernels: Sequence[str], tokens: Iterable[int]) -> None:
    """Refuse an option that would change nothing."""
    lossy = shapes.find_variant("gemm2", "bm128_mxfp4")
    found = tuned_variants(kernels, tokens, lossy_gemm2=True)
    if not any(lossy in chosen for chosen in found.values()):
        first, _ = shapes.dispatched_tokens(lossy) or (0, None)
        raise ValueError(
            f"--lossy-gemm2 changes nothing here: it stands for gemm2 from M={first} on"
        )


def _missing(arguments: argparse.Namespace) -> list[str]:
    """Baselines that a plan names and that are not installed here."""
    if not arguments.plan:
        return []  # binding them says so
    return [
        f"{name} is absent here: {package} is not installed, so a run here leaves it out"
        for name, where in arguments.baselines
        if not is_installed(package := where.partition(":")[0].partition(".")[0])
    ]


def _procedure(arguments: argparse.Namespace) -> Procedure:
    given = {
        "rounds": arguments.rounds,
        "passes": arguments.passes,
        "replay_seconds": None if arguments.replay_ms is None else arguments.replay_ms / 1000,
        "threshold": arguments.threshold,
        "clock_mhz": arguments.clock_mhz,
    }
    return Procedure(
        **{name: value for name, value in given.items() if value is not None},
        cache=arguments.cache_mode,
        fresh_process=arguments.fresh_process,
        seed=arguments.seed,
    )


def _against(text: str, others: list[str]) -> Setting:
    return Setting(text) if text in others else Setting(OURS, flags.parse_flags(text))


def summary(plan: Plan) -> str:
    """How much the plan is, and how long it takes, in one line."""
    graphs = sum(len(case.labels) for case in plan.cases)
    procedure = plan.procedure
    return (
        f"{len(plan.cases)} cases, {graphs} graphs, {plan.comparisons} comparisons, "
        f"{procedure.rounds} rounds of "
        f"{procedure.passes} replays each: {plan.seconds / 60:.0f} minutes or more; "
        f"rows go to data/{MEASURED.name}/DEVICE, and an interrupted run goes on when it is "
        "started again"
    )


@dataclass(frozen=True)
class Ready:
    """A plan with the device that it will be measured on, and where its files go."""

    plan: Plan
    runner: Runner
    folder: Path


def ready(plan: Plan, arguments: argparse.Namespace) -> Ready:
    """Find the device and the baselines; nothing is measured yet.

    Baselines that are not there are named on stderr and left out of the plan.

    Args:
        plan: from :func:`plan_of`.
        arguments: the same options.

    Raises:
        NoDevice: nothing here runs the kernels.
        MissingComponent: SciPy, torch or FlyDSL is not installed.
        RoundFailed: a measuring process found no device.
        CompileError: a kernel could not be compiled.
    """
    bindings, plan = _bound(plan, arguments)
    runner = _runner(plan, arguments, bindings)
    folder = arguments.output or MEASURED / slug(runner.environment()["name"])
    return Ready(plan, runner, folder)


def run(these: Ready, name: str | None, report: Report) -> Path:
    """Measure; returns the table's path.

    Args:
        these: from :func:`ready`.
        name: of the run.
        report: told of measured and planned rounds.

    Raises:
        JournalError: see :func:`.session.measure`.
        RoundFailed: a measuring process failed.
    """
    from .session import measure

    def progress(case: str, done: int, total: int) -> None:
        if report is not None:
            report(done, total)

    return measure(these.plan, these.runner, these.folder, name=name, progress=progress)


def _bound(plan: Plan, arguments: argparse.Namespace) -> tuple[dict[str, Binding], Plan]:
    """The baselines that are there, and the plan without those that are not."""
    for package in NEEDS:
        if importlib.util.find_spec(package) is None:
            raise MissingComponent(f"the bench needs {package}, which is not installed; {INSTALL}")
    bindings: dict[str, Binding] = {}
    for name, where in arguments.baselines:
        try:
            bindings[name] = bind(name, where)
        except Absent as absent:
            print(f"mxfp4kernels: left out: {absent}", file=sys.stderr)
    there = plan.without({name for name, _ in arguments.baselines} - bindings.keys())
    if len(there.cases) < len(plan.cases):
        left = len(plan.cases) - len(there.cases)
        print(f"mxfp4kernels: left out: {left} cases with nothing else to compare", file=sys.stderr)
    return bindings, there


def launch_only(plan: Plan, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """Launch the plan's kernels for a profiler; one row per setting, with its check.

    Raises:
        ValueError: two launches that the profiler would list under one name.
        NoDevice, MissingComponent, CompileError: as :func:`ready`.
    """
    _require_names(plan)
    bindings, plan = _bound(plan, arguments)
    live = _live(plan, arguments, bindings)
    return [
        {
            "variant": str(case.variant),
            "tokens": case.tokens,
            "setting": label,
            "launches": 1 + arguments.launch_only,
            "check": "passed" if check.passed else check.report,
        }
        for case in plan.cases
        for label, check in live.launch(case, arguments.launch_only).items()
    ]


def _require_names(plan: Plan) -> None:
    """Flags and M are not part of a kernel's symbol, by which a profiler lists launches."""
    seen: dict[shapes.Variant, str] = {}
    for case in plan.cases:
        for setting in case.settings:
            what = f"{setting.label} at M={case.tokens}"
            if setting.implementation == OURS and seen.setdefault(case.variant, what) != what:
                raise ValueError(
                    f"a profiler lists {seen[case.variant]} and {what} of {case.variant} under one "
                    "name; launch one M and one setting at a time, such as --m "
                    f"{case.tokens} --against {setting.label} --flags {setting.label}"
                )


def _runner(plan: Plan, arguments: argparse.Namespace, bindings: Mapping[str, Binding]) -> Runner:
    from .worker import FreshProcesses

    if plan.procedure.fresh_process:
        there = {name: where for name, where in arguments.baselines if name in bindings}
        return FreshProcesses(plan.procedure, arguments.cache, there)
    return _live(plan, arguments, bindings).runner()


def _live(plan: Plan, arguments: argparse.Namespace, bindings: Mapping[str, Binding]) -> Live:
    from .live import Live, jobs
    from .torch_device import require_gfx950

    device = require_gfx950()
    compiler = Compiler(Cache(arguments.cache), workers=arguments.workers)
    compiler.compile_all(jobs(plan.cases))
    return Live(device, plan.procedure, compiler, bindings)


def count(kernel: CompiledKernel, arguments: argparse.Namespace) -> list[dict[str, object]]:
    """rocprofv3's counters of a kernel's launches next to what the emulator executes.

    Raises:
        ValueError: a number of tokens or a seed out of range, or a launch that no device can hold.
        CounterError, TableError, OSError: a file cannot be read, or holds no such launch.
        MissingComponent: torch is not installed.
    """
    if importlib.util.find_spec("torch") is None:
        raise MissingComponent(f"the emulator's inputs need torch, not installed; {INSTALL}")
    from ..numerics.problem import Problem
    from .counters import compare, read_counters
    from .executed import expected_counts

    job = kernel.job
    case = Case(
        job.variant, job.shape, arguments.m, arguments.routing, arguments.seed, (Setting(),)
    )
    require_room(case, "warm")
    counters = read_counters(arguments.file, kernel.program.name)
    problem = Problem(
        job.variant,
        job.shape,
        arguments.m,
        routing=arguments.routing,
        seed=arguments.seed,
    )
    return compare(counters, expected_counts(kernel.assembly, problem))
