"""What the pull request says of each flag, against what the counts say.

Three kinds of claim: for every flag of the registry and every variant, whether the flag changes the
code at all; the static claims of the message and of the diff in :data:`STATIC_CLAIMS`; and the
device times that the commits state, which no static count can show and which are listed as such.

A change is measured on the step from the flags that precede it in the registry to those and
itself: the order of the pull request's commits. How flags interact is a matter of ``counts.csv``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..files import DATA, write_csv
from ..flags import ALL, FLAGS, NAMES, Flag, FlagSet, join, label
from ..isa import Region
from ..shapes import VARIANTS, Variant
from .counts import KERNEL, CountTable
from .published import Figure, Reference, read_figures

CLAIMS = DATA / "isa" / "claims.csv"
COLUMNS = ("flag", "variant", "claim", "published", "ours", "unit", "verdict", "how")

CONFIRMED, DIFFERS, CONTRADICTED = "confirmed", "differs", "contradicted"
NO_EFFECT, ACTS, NOT_APPLICABLE = "no effect", "acts", "not applicable"
NOT_STATED, NOT_STATIC = "not stated", "needs a device"

VERDICTS: Mapping[str, str] = {
    CONFIRMED: "our counts show what is claimed",
    DIFFERS: "they show it, in another amount than published",
    CONTRADICTED: "they show the opposite, or nothing where something is claimed",
    ACTS: "the flag changes the code; no amount is claimed",
    NO_EFFECT: "the flag changes nothing there; no amount is claimed",
    NOT_STATED: "nothing is claimed",
    NOT_STATIC: "a device time, which no count can show",
    NOT_APPLICABLE: "the flag does not act in this variant",
}

NON_MFMA_VECTOR = ("VALU", "ACC", "TRANS")
"""All that issues through the vector port besides MFMA: the message's "non-MFMA VALU"."""

TILES = (Region.KLOOP.value, Region.DRAIN.value)
"""Where K tiles are multiplied. With two tiles or fewer there is no steady state, only drain."""

COMMITS: Mapping[str, FlagSet] = {
    "0a0d0ef41f": frozenset({"bare_pointer_abi"}),
    "6cbec45cdf": frozenset({"backend_waitcnt", "epilog_hoisting", "unsigned_divrem"}),
    "b51ec857f4": frozenset({"hardware_exp2"}),
}
"""The pull request's commits whose messages state numbers, and the flags that each of them is."""

SHARE_POINTS = 2.0
"""How far a share may be from the published one, in percentage points."""

STATIC_METRIC = "percent_delta_non_mfma_valu"
"""The one published figure that is a static count."""


@dataclass(frozen=True)
class StaticClaim:
    """A claim that instruction counts can settle.

    Args:
        flags: the flags it is about, joined by ``+`` when it needs all of them.
        text: the claim.
        quantities, regions: what is counted, summed up; quantities are columns of ``counts.csv``.
        expects: ``fewer``, ``unchanged``, ``stated`` (by :attr:`published`) or ``nothing``, when
            the message does not name the flag.
        share: the change in percent of the count without the flags.
        level: the quantity itself with the flags on, not its change.
        published: the figure for a variant, if there is one.
    """

    flags: str
    text: str
    quantities: tuple[str, ...]
    regions: tuple[str, ...] = (KERNEL,)
    expects: str = "fewer"
    share: bool = False
    level: bool = False
    published: Callable[[Reference, Variant], float | None] = lambda reference, variant: None


def _after(quantity: str) -> Callable[[Reference, Variant], float | None]:
    """The merged kernel's figure; for a variant not in the table, that of its own kind."""

    def published(reference: Reference, variant: Variant) -> float | None:
        found = {
            row.quantities[quantity]
            for row in reference.rows
            if row.flags == ALL
            and row.region == KERNEL
            and (row.variant.kernel, row.variant.persistent) == (variant.kernel, variant.persistent)
        }
        return found.pop() if len(found) == 1 else None

    return published


def _change(quantity: str, region: str) -> Callable[[Reference, Variant], float | None]:
    """After less before in the table, where the flags of the claim are all that can act."""
    return lambda reference, variant: reference.change(variant, quantity, region)


def _exp2_share(reference: Reference, variant: Variant) -> float | None:
    (figure,) = (figure for figure in read_figures("b51ec857f4") if figure.metric == STATIC_METRIC)
    return float(figure.value)


STATIC_CLAIMS: tuple[StaticClaim, ...] = (
    StaticClaim(
        "bare_pointer_abi",
        "the kernel's arguments shrink to plain addresses",
        ("kernarg_bytes",),
        expects="stated",
        level=True,
        published=_after("kernarg_bytes"),
    ),
    StaticClaim(
        "bare_pointer_abi",
        "fewer scalar loads",
        ("SMEM",),
        published=_change("SMEM", KERNEL),
    ),
    StaticClaim(
        "bare_pointer_abi", "fewer waits in the prologue", ("WAIT",), (Region.PROLOGUE.value,)
    ),
    StaticClaim("backend_waitcnt", "a wait inserted twice goes", ("WAIT",), TILES),
    StaticClaim("backend_waitcnt", "no more nops between the tiles", ("NOP",), TILES),
    StaticClaim("backend_waitcnt", "barriers stay as they are", ("BARRIER",), expects="unchanged"),
    StaticClaim(
        "epilog_hoisting",
        "one row product per thread instead of one per element",
        ("VALU",),
        (Region.EPILOGUE.value,),
    ),
    StaticClaim("unsigned_divrem", "sign correction of index arithmetic goes", ("SALU",)),
    StaticClaim(
        "hardware_exp2",
        "share of non-MFMA VALU",
        NON_MFMA_VECTOR,
        expects="stated",
        share=True,
        published=_exp2_share,
    ),
    StaticClaim(
        "hardware_exp2",
        "the range clamp around v_exp_f32 goes",
        ("VALU",),
        (Region.EPILOGUE.value,),
    ),
    StaticClaim("hardware_exp2", "as many v_exp_f32 as before", ("TRANS",), expects="unchanged"),
    StaticClaim("native_packed_max", "nops in the K loop", ("NOP",), TILES, expects="nothing"),
    StaticClaim("interleaved_quant", "nops in the K loop", ("NOP",), TILES, expects="nothing"),
    StaticClaim(
        "native_packed_max+interleaved_quant",
        "nops in the K loop",
        ("NOP",),
        (Region.KLOOP.value,),
        published=_change("NOP", Region.KLOOP.value),
    ),
)
"""The static claims of the message and of the diff, in registry order."""


def check_claims(table: CountTable, reference: Reference) -> list[dict[str, object]]:
    """Every claim under :data:`COLUMNS`, flag by flag, over the variants in ``table``.

    Raises:
        MissingCounts: ``table`` lacks a setting of the cumulative study.
        OSError, TableError: a published table cannot be read.
    """
    variants = [variant for variant in VARIANTS if table.has(variant)]
    rows: list[dict[str, object]] = []
    for flag in FLAGS:
        rows += [_acts(table, flag, variant) for variant in variants]
        rows += [
            _static(table, reference, claim, variant)
            for claim in STATIC_CLAIMS
            if claim.flags.split("+")[-1] == flag.name
            for variant in variants
            if set(claim.flags.split("+")) <= _acting_names(variant)
        ]
    return rows + list(_device_claims())


def _acting_names(variant: Variant) -> set[str]:
    return {flag.name for flag in FLAGS if flag.acts_in(variant)}


def step(variant: Variant, names: FlagSet) -> tuple[FlagSet, FlagSet]:
    """The cumulative settings just before the first and just after the last of ``names``.

    Raises:
        ValueError: a flag that does not act in ``variant``, or acting flags between ``names``.
    """
    acting = [name for name in NAMES if name in _acting_names(variant)]
    positions = [acting.index(name) for name in names]
    first, last = min(positions), max(positions)
    if last - first + 1 != len(names):
        raise ValueError(f"{join(names)} do not follow one another in {variant}")
    return frozenset(acting[:first]), frozenset(acting[: last + 1])


def _acts(table: CountTable, flag: Flag, variant: Variant) -> dict[str, object]:
    """Whether the flag changes the variant's assembly."""
    row: dict[str, object] = {
        "flag": flag.name,
        "variant": str(variant),
        "claim": f"shows in {flag.shows_in}",
        "published": "",  # what the message says of the flag is no number of instructions
        "ours": "",
        "unit": "instructions",
        "verdict": NOT_APPLICABLE,
        "how": "the flag has no place in this variant",
    }
    if flag.acts_in(variant):
        off, on = (table.at(variant, flags) for flags in step(variant, frozenset({flag.name})))
        row["ours"] = on.total - off.total
        row["verdict"] = ACTS if on.isa_sha256 != off.isa_sha256 else NO_EFFECT
        row["how"] = f"total, {off.flags} to {on.flags}; acts when the assembly differs"
    return row


def _static(
    table: CountTable, reference: Reference, claim: StaticClaim, variant: Variant
) -> dict[str, object]:
    off, on = step(variant, frozenset(claim.flags.split("+")))
    before, after = (_sum(table, claim, variant, flags) for flags in (off, on))
    ours: float = after if claim.level else after - before
    if claim.share:
        ours = round(100 * (after - before) / before, 2)
    published = claim.published(reference, variant)
    return {
        "flag": claim.flags,
        "variant": str(variant),
        "claim": claim.text,
        "published": _published_text(claim, published),
        "ours": ours,
        "unit": _unit(claim),
        "verdict": _verdict(claim, published, ours),
        "how": _how(claim, label(variant, off), label(variant, on)),
    }


def _sum(table: CountTable, claim: StaticClaim, variant: Variant, flags: FlagSet) -> int:
    return sum(
        table.at(variant, flags, region).quantity(name)
        for region in claim.regions
        for name in claim.quantities
    )


def _published_text(claim: StaticClaim, published: float | None) -> str:
    if published is not None:
        return f"{published:g}"
    return "not in the message" if claim.expects == "nothing" else claim.expects


def _unit(claim: StaticClaim) -> str:
    if claim.share:
        return "%"
    return "bytes" if claim.level else "instructions"


def _how(claim: StaticClaim, off: str, on: str) -> str:
    what = f"{'+'.join(claim.quantities)} of {'+'.join(claim.regions)}"
    if claim.level:
        return f"{what} with {on}"
    return f"{what}, {off} to {on}" + ("; judged by its sign" if claim.expects == "fewer" else "")


def _verdict(claim: StaticClaim, published: float | None, ours: float) -> str:
    if claim.expects == "stated":
        if published is None:
            return NOT_STATED
        if claim.share:
            return CONFIRMED if abs(ours - published) <= SHARE_POINTS else DIFFERS
        return CONFIRMED if ours == published else CONTRADICTED
    if claim.expects == "unchanged":
        return CONFIRMED if ours == 0 else CONTRADICTED
    if ours == 0:
        return NO_EFFECT
    if claim.expects == "nothing":
        return ACTS
    return CONFIRMED if ours < 0 else CONTRADICTED


def _device_claims() -> Iterator[dict[str, object]]:
    for commit, names in COMMITS.items():
        for figure in read_figures(commit):
            if figure.metric != STATIC_METRIC:
                yield _device_claim(names, figure)


def _device_claim(names: FlagSet, figure: Figure) -> dict[str, object]:
    at = f" at M={figure.tokens}" if figure.tokens else ""
    return {
        "flag": join(names),
        "variant": figure.kernel,
        "claim": f"{figure.what}{at}",
        "published": figure.value,
        "ours": "",
        "unit": "ratio to HIP" if figure.metric.startswith("ratio") else "% of device time",
        "verdict": NOT_STATIC,
        "how": figure.source,
    }


def write_claims(rows: list[dict[str, object]], path: Path = CLAIMS) -> None:
    """Write the verdicts whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, rows)
