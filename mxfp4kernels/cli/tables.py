"""``ablate`` and ``claims``: the tables of counts, and what they say of the pull request."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from .. import flags, shapes
from ..ablation import claims, counts, parity, published, runs
from .exits import FAILED, OK
from .options import (
    AddVerb,
    add_compiler,
    add_json,
    add_quiet,
    checked,
    compiler_of,
    parse_path,
    parse_variant,
)
from .output import emit, progress_bar, warn

TACIT = (claims.NOT_APPLICABLE, parity.NOT_HELD)
"""Verdicts of rows that say nothing by themselves."""


def add(verb: AddVerb) -> None:
    """Add the verbs."""
    _add_ablate(verb("ablate", ablate_verb))
    _add_claims(verb("claims", claims_verb))


def _add_ablate(parser: argparse.ArgumentParser) -> None:
    add_compiler(parser)
    parser.add_argument(
        "--variant",
        action="append",
        type=checked(parse_variant),
        help="only this variant; may be given again",
    )
    parser.add_argument(
        "--study", action="append", choices=list(flags.STUDIES), help="only this study; again too"
    )
    parser.add_argument(
        "--factorial",
        type=checked(flags.parse_flags),
        metavar="FLAGS",
        help="every combination of these flags instead of the studies; names joined by +",
    )
    parser.add_argument("-o", "--output", type=checked(parse_path), help="directory for the tables")
    add_quiet(parser)


def _add_claims(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--counts",
        type=checked(parse_path),
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
    add_json(parser)


def ablate_verb(arguments: argparse.Namespace) -> int:
    """Compile and count every flag setting that the studies need; write the tables."""
    if arguments.factorial is not None and arguments.study is not None:
        raise ValueError("--factorial is a study of its own; leave out --study")
    variants, refused = runs.runnable(arguments.shape, _variants_of(arguments))
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
        jobs = runs.jobs(arguments.shape, variants, arguments.study or tuple(flags.STUDIES))
    else:
        jobs = runs.factorial_jobs(arguments.shape, variants, arguments.factorial)
    with progress_bar("compiling", arguments.quiet) as progress:
        table, warnings = runs.run(compiler_of(arguments), jobs, progress)
    for warning in warnings:
        warn(warning)
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


def _print_tally(verdicts: Counter[object]) -> None:
    """How often each verdict was given, and what it means."""
    print()
    for verdict, number in verdicts.most_common():
        meaning = claims.VERDICTS.get(str(verdict), "")
        print(f"{number:4}  {verdict}{f': {meaning}' if meaning else ''}")


def claims_verb(arguments: argparse.Namespace) -> int:
    """Check what the pull request says against the counts; needs no compiler."""
    table = counts.read_counts(arguments.counts)
    reference = published.read_reference()
    if arguments.parity:
        rows = parity.compare(table, reference)
    else:
        rows = claims.check_claims(table, reference)
    shown = [row for row in rows if arguments.all or row["verdict"] not in TACIT]
    if not arguments.json and not arguments.parity:
        shown = [{name: row[name] for name in claims.COLUMNS if name != "how"} for row in shown]
    emit(shown, arguments.json)
    if not arguments.json:
        _print_tally(Counter(row["verdict"] for row in shown))
    failed = any(row["verdict"] in (claims.CONTRADICTED, parity.OUTSIDE) for row in rows)
    return FAILED if arguments.check and failed else OK
