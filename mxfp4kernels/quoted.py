"""Numbers, tables and excerpts that the docs quote, filled in from the data.

``python -m mxfp4kernels.ablation.quoted`` rewrites ``README.md`` and ``docs/*.md`` in place. A
document marks what it quotes with comments that do not show:

    35<!-- counts gemm1/bm16_iq none kernel NOP -->       a number; also other and published
    8<!-- cost numerics all empty min -->                 seconds or minutes of a make target
    4.7<!-- model like-for-like median -->                a model's error; also worst and number
    <!-- table NAME --> ... <!-- end -->                  one of TABLES
    <!-- excerpt NAME --> ... <!-- end -->                assembly; other/NAME for the other LLVM's

Needs neither FlyDSL nor torch.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .ablation import nops, other_llvm, tile_loop
from .ablation.counts import KERNEL, REGIONS, CountTable, read_counts
from .ablation.effects import (
    NON_MFMA,
    acting_names,
    amount,
    change,
    first,
    last,
    share,
    square,
    steps,
    twins,
    whole,
)
from .ablation.excerpts import Excerpt, read_excerpts
from .ablation.parity import OUTSIDE, PARITY, QUANTITIES, our_quantity
from .ablation.published import Reference, ReferenceRow, read_reference
from .cost import seconds_of
from .files import REPOSITORY, read_csv, write_text
from .flags import ALL, FLAGS, NONE, SAFE, SAFETY_FLAGS, label, parse_flags
from .modelled.validation import UNMAPPED, VALIDATION, error_lines
from .shapes import find_variant, variants_of
from .steps import run_step

LISTED = 6
"""Rows of the table of interactions."""
DOCS = REPOSITORY / "docs"
DOCUMENTS = (REPOSITORY / "README.md", *sorted(DOCS.glob("*.md")))
MINUS = "\N{MINUS SIGN}"

_FIGURES = re.compile(r"(?:[\d.]|\+|%|/|to|\s|\N{MINUS SIGN}|\N{RIGHTWARDS ARROW})*")
_NUMBER = re.compile(r"[+\N{MINUS SIGN}]?\d+(?:\.\d+)?(?P<tag><!-- (?P<query>[^>]*?) -->)")
_BLOCK = re.compile(
    r"(?P<tag><!-- (?P<kind>table|excerpt) (?P<name>[\w/]+) -->\n).*?(?P<end><!-- end -->)", re.S
)


class QuoteError(ValueError):
    """A mark in a document that asks for something there is not."""


@dataclass(frozen=True)
class Data:
    """Everything that can be quoted, read once."""

    @cached_property
    def counts(self) -> CountTable:
        return read_counts()

    @cached_property
    def other(self) -> CountTable:
        return read_counts(other_llvm.COUNTS)

    @cached_property
    def published(self) -> Reference:
        return read_reference()

    @cached_property
    def validation(self) -> list[dict[str, str]]:
        return read_csv(VALIDATION)

    @cached_property
    def unmapped(self) -> list[dict[str, str]]:
        return read_csv(UNMAPPED)

    @cached_property
    def excerpts(self) -> dict[str, Excerpt]:
        theirs = read_excerpts(other_llvm.EXCERPTS)
        return read_excerpts() | {f"other/{name}": one for name, one in theirs.items()}


def signed(number: int) -> str:
    """With its sign, a zero without."""
    return f"{number:+d}".replace("-", MINUS) if number else "0"


def number(data: Data, query: str) -> str:
    """A number by a query of :data:`QUERIES`.

    Raises:
        QuoteError: the query is not understood, or there is no such number.
    """
    kind, *words = query.split()
    try:
        return QUERIES[kind](data, *words)
    except (ValueError, LookupError, TypeError) as error:
        raise QuoteError(f"cannot quote {query!r}: {error}") from error


def _count(table: str) -> Callable[..., str]:
    """A query ``kernel/variant flags region quantity`` of a table of counts."""

    def quote(data: Data, name: str, flags: str, region: str, quantity: str) -> str:
        counts: CountTable = getattr(data, table)
        row = counts.at(find_variant(*name.split("/")), parse_flags(flags), region)
        return str(our_quantity(row, quantity))

    return quote


def _published(data: Data, name: str, flags: str, region: str, quantity: str) -> str:
    """The same of the published counts."""
    variant = find_variant(*name.split("/"))
    found = data.published.quantity(variant, parse_flags(flags), quantity, region)
    if found is None:
        raise LookupError("no such published count")
    return str(found)


def _cost(data: Data, target: str, step: str, cache: str, unit: str) -> str:
    """What a make target took, rounded up.

    ``step`` is one of its steps or ``all``, ``cache`` is ``empty`` or ``full``, ``unit`` is ``s``
    or ``min``.
    """
    return str(math.ceil(seconds_of(target, step, cache) / {"s": 1, "min": 60}[unit]))


def _model(data: Data, line: str, quantity: str) -> str:
    """A line of the model's errors; its name has hyphens for spaces."""
    if line == "unmapped":
        return str(len(data.unmapped))
    if line == "published":
        return str(len(data.unmapped) + len(data.validation))
    found = next(
        (one for one in error_lines(data.validation) if one.rows.replace(" ", "-") == line), None
    )
    if found is None:
        raise LookupError(f"no line {line!r}")
    return str(found.number) if quantity == "number" else f"{getattr(found, quantity):.1f}"


QUERIES: Mapping[str, Callable[..., str]] = {
    "counts": _count("counts"),
    "other": _count("other"),
    "published": _published,
    "cost": _cost,
    "model": _model,
}


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; columns of numbers stand to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = list(zip(*cells, strict=True)) or [() for _ in head]
    rules = ["---:" if all(map(_FIGURES.fullmatch, column)) else "---" for column in columns]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rules, *cells))


def _arrow(before: object, after: object) -> str:
    return str(before) if before == after else f"{before} \N{RIGHTWARDS ARROW} {after}"


def _llvm(table: CountTable) -> str:
    return f"LLVM {table.rows[0].llvm.split('.')[0]}"


def flags_table(data: Data) -> str:
    """Each flag: where it acts, and what its step changes there."""
    rows = []
    for flag in FLAGS:
        found = [
            (one, steps(data.counts, one.first)[flag.name])
            for one in twins(data.counts)
            if flag.acts_in(one.first)
        ]
        totals = [step.amount() for _, step in found]
        weights: Counter[str] = Counter()
        for _, step in found:
            if step.main_class:
                weights[step.main_class] += abs(step[step.main_class])
        rows.append(
            [
                f"`{flag.name}`",
                sum(len(one.variants) for one, _ in found),
                "none" if not any(step.acts for _, step in found) else "all",
                " to ".join(map(signed, dict.fromkeys((min(totals), max(totals))))),
                ", ".join(name for name, _ in weights.most_common()),
            ]
        )
    return markdown(("flag", "variants", "assembly differs in", "instructions", "mostly"), rows)


def abi_table(data: Data) -> str:
    """What the bare-pointer ABI alone changes."""
    rows = []
    for one in twins(data.counts):
        alone = change(data.counts, one.first, NONE, frozenset({"bare_pointer_abi"}))
        before, after = alone.before, alone.after
        cells = [
            _arrow(before.quantity(name), after.quantity(name))
            for name in ("kernarg_bytes", "SMEM", "SALU", "WAIT")
        ]
        rows.append([str(one), *cells, signed(alone.amount())])
    head = ("variant", "kernarg bytes", "SMEM", "SALU", "WAIT", "all but MFMA")
    return markdown(head, rows)


def flag_effect_table(flag: str, quantities: Sequence[str]) -> Callable[[Data], str]:
    """A table of one flag's step by quantity."""

    def table(data: Data) -> str:
        rows = []
        for one in twins(data.counts):
            if flag in acting_names(one.first):
                step = steps(data.counts, one.first)[flag]
                cells = [
                    _arrow(our_quantity(step.before, name), our_quantity(step.after, name))
                    for name in quantities
                ]
                rows.append([str(one), *cells, signed(step.amount())])
        return markdown(("variant", *quantities, "all but MFMA"), rows)

    return table


def share_table(data: Data) -> str:
    """hardware_exp2 by variant of gemm1."""
    rows = []
    for variant in variants_of("gemm1"):
        step = steps(data.counts, variant)["hardware_exp2"]
        vector = [amount(row, ("VALU", "ACC", "TRANS")) for row in (step.before, step.after)]
        removed = share(data.counts, variant, "hardware_exp2")
        exponentials = step.before.quantity("TRANS") // 2
        rows.append(
            [
                str(variant),
                _arrow(*vector),
                f"{MINUS}{removed:.1f} %",
                exponentials,
                f"{-step['VALU'] / exponentials:.1f}",
            ]
        )
    head = ("variant", "VALU+ACC+TRANS", "change", "exponentials", "VALU removed for each")
    return markdown(head, rows)


def square_table(data: Data) -> str:
    """native_packed_max and interleaved_quant in all combinations."""
    pair = ("native_packed_max", "interleaved_quant")
    variant = find_variant("gemm1", "bm16_iq")
    rows = []
    for region in ("kernel", "kloop"):
        found = square(data.counts, variant, pair, "NOP", region)
        cells = (found.neither, found.only_first, found.only_second, found.both, found.additive)
        rows.append([region, *cells])
    head = ("s_nop", "neither", *(f"only `{name}`" for name in pair), "both", "if they added up")
    return markdown(head, rows)


def region_changes(data: Data) -> str:
    """What all changes together add to each region."""
    regions = REGIONS[1:]
    rows = [
        [one, *(signed(whole(data.counts, one.first, region).amount()) for region in regions)]
        for one in twins(data.counts)
    ]
    return markdown(("instructions besides MFMA", *regions), rows)


def interactions_table(data: Data) -> str:
    """The flags whose effect depends most on the others."""
    found = [
        (one, name, first(data.counts, one.first, name), last(data.counts, one.first, name))
        for one in twins(data.counts)
        for name in acting_names(one.first)
    ]
    found.sort(key=lambda row: -abs(row[3].amount() - row[2].amount()))
    rows = [
        [
            f"{one} `{name}`",
            signed(alone.amount()),
            signed(on_top.amount()),
            signed(on_top.amount() - alone.amount()),
        ]
        for one, name, alone, on_top in found[:LISTED]
    ]
    head = ("largest interactions", "alone", "on top of all others", "difference")
    return markdown(head, rows)


def nops_table(data: Data) -> str:
    """What the nops wait for, parent to merged, by both compilers."""
    ours, other = nops.read_nops(), nops.read_nops(other_llvm.NOPS)
    rows = []
    for one in twins(data.counts):
        ends = [(one.kernel, one.first.name, label(one.first, flags)) for flags in (NONE, ALL)]
        counted = [[table[end] for end in ends] for table in (ours, other)]
        for found, name in zip(counted, (str(one), ""), strict=True):
            cells = [_arrow(*(end[cause] for end in found)) for cause in nops.CAUSES]
            compiler = data.counts if name else data.other
            rows.append([name, _llvm(compiler), *("" if cell == "0" else cell for cell in cells)])
    return markdown(("variant", "by", *nops.CAUSES), rows)


def tile_loop_table(data: Data) -> str:
    """One trip of the persistent loop, published and ours."""
    ours, published = tile_loop.read_tile_loop(), tile_loop.read_published()
    counted = (*ours.values(), *published.values())
    names = [name for name in QUANTITIES if any(one[name] for one in counted)]
    rows = [
        [
            f"{variant} {flags}",
            *(_pair(published[variant, flags][name], ours[variant, flags][name]) for name in names),
        ]
        for variant, flags in published
    ]
    return markdown(("published / here", *names), rows)


def _pair(published: int, ours: int) -> str:
    return str(ours) if published == ours else f"{published} / {ours}"


def outside_table(data: Data) -> str:
    """The counts outside their tolerance."""
    rows = [
        [
            f"{row['kernel']} {row['variant']}",
            "none" if row["flags"] == "none" else "all",
            row["quantity"],
            row["published"],
            our_quantity(
                data.other.at(
                    find_variant(row["kernel"], row["variant"]), parse_flags(row["flags"])
                ),
                row["quantity"],
            ),
            row["ours"],
            row["allowed"],
        ]
        for row in read_csv(PARITY)
        if row["verdict"] == OUTSIDE
    ]
    theirs, ours = (f"here, {_llvm(table)}" for table in (data.other, data.counts))
    head = ("variant", "flags", "class", "published", theirs, ours, "allowed")
    return markdown(head, rows)


def parity_table(flags: str) -> Callable[[Data], str]:
    """Published, ours by LLVM 22, ours by LLVM 24, for whole kernels."""

    def table(data: Data) -> str:
        names = ("VALU", "ACC", "SALU+OTHER", "SMEM", "LDS", "WAIT", "NOP", "total")
        rows = [
            [str(row.variant), *(_triple(data, row, name) for name in names)]
            for row in data.published.rows
            if row.flags == parse_flags(flags) and row.region == KERNEL
        ]
        return markdown(("variant", *names), rows)

    return table


def region_table(data: Data) -> str:
    """The same for the regions of gemm1 in the merged form."""
    names = ("MFMA", "VALU", "SALU+OTHER", "LDS", "WAIT", "NOP")
    rows = [
        [f"{row.variant} {row.region}", *(_triple(data, row, name) for name in names)]
        for row in data.published.rows
        if row.flags == ALL and row.region != KERNEL
    ]
    return markdown(("variant and region", *names), rows)


def _triple(data: Data, row: ReferenceRow, name: str) -> str:
    """Published / LLVM 22 / LLVM 24, or one number if they are all the same."""
    ours = [
        our_quantity(table.at(row.variant, row.flags, row.region), name)
        for table in (data.other, data.counts)
    ]
    numbers = [row.quantities[name], *ours]
    return str(numbers[0]) if len(set(numbers)) == 1 else " / ".join(map(str, numbers))


def split(data: Data, name: str) -> tuple[int, int]:
    """A class's difference from the published counts, in the source's and the compiler's part.

    Sums over the published kernels, before and after, of the absolute differences between the
    published count and ours by the other LLVM, and between that and ours by FlyDSL's.
    """
    source = compiler = 0
    for row in data.published.rows:
        if row.region == KERNEL:
            other, ours = (
                our_quantity(table.at(row.variant, row.flags), name)
                for table in (data.other, data.counts)
            )
            source += abs(other - row.quantities[name])
            compiler += abs(ours - other)
    return source, compiler


def safe_table(data: Data) -> str:
    """What our safety flags cost on top of the merged form."""
    rows = []
    for variant in (one for flag in SAFETY_FLAGS for one in flag.variants):
        cost = change(data.counts, variant, ALL, SAFE)
        changed = [f"{name} {signed(cost[name])}" for name in NON_MFMA if cost[name]]
        occupancy = [row.quantity("waves_per_simd") for row in (cost.before, cost.after)]
        rows.append([str(variant), signed(cost.amount()), ", ".join(changed), _arrow(*occupancy)])
    return markdown(("variant", "all but MFMA", "by class", "waves per SIMD"), rows)


def model_errors_table(data: Data) -> str:
    """Absolute errors of the modelled times against the published ones."""
    rows = [
        (one.rows, f"{one.median:.1f} %", f"{one.worst:.1f} %", one.number)
        for one in error_lines(data.validation)
    ]
    return markdown(("rows", "median", "worst", "number"), rows)


TABLES: Mapping[str, Callable[[Data], str]] = {
    "flags": flags_table,
    "abi": abi_table,
    "backend_waitcnt": flag_effect_table("backend_waitcnt", ("WAIT", "NOP", "BARRIER")),
    "epilog_hoisting": flag_effect_table("epilog_hoisting", ("VALU", "SALU", "NOP")),
    "unsigned_divrem": flag_effect_table("unsigned_divrem", ("SALU", "NOP", "vgpr")),
    "share": share_table,
    "square": square_table,
    "region_changes": region_changes,
    "interactions": interactions_table,
    "nops": nops_table,
    "tile_loop": tile_loop_table,
    "outside": outside_table,
    "parity_none": parity_table("none"),
    "parity_all": parity_table("all"),
    "regions": region_table,
    "safe": safe_table,
    "model_errors": model_errors_table,
}
"""The tables that a document can ask for."""


def _block(data: Data, kind: str, name: str) -> str:
    known: Mapping[str, object] = TABLES if kind == "table" else data.excerpts
    if name not in known:
        raise QuoteError(f"no {kind} {name!r}; choose from {', '.join(known)}")
    if kind == "table":
        return TABLES[name](data)
    return f"```asm\n{data.excerpts[name].text}\n```"


def fill(text: str, data: Data) -> str:
    """A document with everything that it quotes as the data have it now.

    Raises:
        QuoteError: a mark that asks for something there is not.
    """

    def block(match: re.Match[str]) -> str:
        return f"{match['tag']}{_block(data, match['kind'], match['name'])}\n{match['end']}"

    return _NUMBER.sub(
        lambda match: f"{number(data, match['query'])}{match['tag']}", _BLOCK.sub(block, text)
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Fill in all documents, or those named; returns an exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m mxfp4kernels.ablation.quoted", description=__doc__
    )
    parser.add_argument(
        "document", nargs="*", type=Path, help="default: README.md and all of docs/"
    )
    arguments = parser.parse_args(argv)
    documents = arguments.document or DOCUMENTS
    return run_step(lambda: _fill_all(documents), QuoteError)


def _fill_all(documents: Iterable[Path]) -> Iterator[Path]:
    data = Data()
    for path in documents:
        try:
            write_text(path, fill(path.read_text(encoding="utf-8"), data))
        except (QuoteError, LookupError) as error:
            raise QuoteError(f"{path.name}: {error}") from error
        yield path


if __name__ == "__main__":
    sys.exit(main())
