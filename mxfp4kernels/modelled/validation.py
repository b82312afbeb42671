"""Published device times and claims that kernels of ours correspond to, beside modelled ones."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..ablation.published import FIGURES
from ..files import DATA, read_csv
from ..flags import FlagSet
from ..shapes import KERNELS, TILE_N, Variant, dispatch, find_variant

VALIDATION, UNMAPPED = DATA / "timing" / "validation.csv", DATA / "timing" / "unmapped.csv"

LIKE, REMAPPED, OTHER_CODE = "like for like", "other tile order", "other implementation"

FLYDSL = "flydsl"

_TUNER = re.compile(r"flydsl_mxmoe_g([12])_a4w4_(\d+)x(\d+)x256(?:_(\w+))?")
_TUNER_GEMM2 = {
    (16, "atomic_nt"): "bm16_atomic_nt",
    (32, "atomic_nt"): "bm32_atomic_nt",
    (32, "atomic"): "bm32_atomic",
    (128, ""): "bm128_nonatomic",
    (128, "f4out"): "bm128_mxfp4",
}
_TUNER_GEMM1 = {16: "bm16_iq", 32: "bm32_cached", 128: "bm128"}
_NOTES = "kimi_fp4_moe"
_EXCLUDED: Mapping[str, str] = {
    "legacy": "the legacy FlyDSL kernels, of another tile and data path",
    "BN512": "tiles of 512 columns, which its author rejected; ours have 256",
    "eager": "an eager profiler's time, not that of a graph's replay",
}
"""Words of a row of the notes, and why it is of no kernel of ours or not of its time."""
ROUTING_OF = {"tuner": "family-b", "notes": "family-a"}

Times = Mapping[tuple[Variant, int, str], tuple[Mapping[str, object], tuple[float, float]]]


@dataclass(frozen=True)
class PublishedRow:
    """A published device time of a kernel with the tile and data path of one of ours.

    Attributes:
        likeness: :data:`LIKE`; :data:`REMAPPED` for FlyDSL kernels that hand tiles to XCDs in
            another order; :data:`OTHER_CODE` for HIP.
    """

    source: str
    kernel: str
    backend: str
    name: str
    variant: Variant
    routing: str
    tokens: int
    us: float
    likeness: str


def _gemm_times() -> list[dict[str, str]]:
    """The published table's device times of one of the two kernels."""
    columns = ("source", "kernel", "backend", "variant", "M", "metric", "value", "note")
    rows = read_csv(FIGURES, columns)
    return [row for row in rows if row["metric"] == "us" and row["kernel"].startswith("gemm")]


def read_published() -> tuple[PublishedRow, ...]:
    """Every row of the published table that a variant of ours corresponds to."""
    made = map(row_of, _gemm_times())
    return tuple(row for row in made if isinstance(row, PublishedRow))


def unmapped_rows() -> list[dict[str, object]]:
    """One line per published time that no variant of ours corresponds to, with the reason."""
    return [
        {
            "source": row["source"],
            "kernel": row["kernel"],
            "backend": row["backend"],
            "published_name": row["variant"],
            "M": row["M"],
            "published": f"{float(row['value']):.3f}",
            "reason": found,
        }
        for row in _gemm_times()
        if isinstance(found := row_of(row), str)
    ]


def row_of(row: Mapping[str, str]) -> PublishedRow | str:
    """The row of the published table, or why no variant of ours has its tile and data path."""
    found = _of_tuner(row) if "tuned" in row["source"] else _of_notes(row)
    if isinstance(found, str):
        return found
    variant, routing, likeness = found
    return PublishedRow(
        row["source"], row["kernel"], row["backend"], row["variant"], variant, routing,
        int(row["M"]), float(row["value"]), likeness,
    )  # fmt: skip


def _of_tuner(row: Mapping[str, str]) -> tuple[Variant, str, str] | str:
    match = _TUNER.fullmatch(row["variant"])
    if match is None:
        return "a kernel name that is not understood"
    gemm, block, columns, options = int(match[1]), int(match[2]), int(match[3]), match[4] or ""
    if columns != TILE_N:
        return f"tiles of {columns} columns; ours have {TILE_N}"
    likeness = REMAPPED if "xcd" in options else LIKE
    name = _TUNER_GEMM2.get((block, options)) if gemm == 2 else _TUNER_GEMM1.get(block)
    if name is None:
        return f"no variant of ours has {block} rows and the options {options or 'none'}"
    return find_variant(f"gemm{gemm}", name), ROUTING_OF["tuner"], likeness


def _of_notes(row: Mapping[str, str]) -> tuple[Variant, str, str] | str:
    text = f"{row['variant']} {row['backend']} {row['note']}"
    if _NOTES not in row["source"]:
        return "a source that does not say which variant it timed"
    for word, reason in _EXCLUDED.items():
        if word in text:
            return reason
    lossy = "f4out" in row["variant"]
    variant = dispatch(row["kernel"], int(row["M"]), lossy_gemm2=lossy)
    return variant, ROUTING_OF["notes"], LIKE if row["backend"] == FLYDSL else OTHER_CODE


def validation_rows(rows: Sequence[PublishedRow], times: Times) -> list[dict[str, object]]:
    """One line per published row with the modelled time, its band and the error."""
    table = []
    for row in rows:
        made, (low, high) = times[row.variant, row.tokens, row.routing]
        us = float(str(made["us"]))
        table.append(
            {
                "source": row.source,
                "kernel": row.kernel,
                "backend": row.backend,
                "published_name": row.name,
                "variant": row.variant.name,
                "routing": row.routing,
                "M": row.tokens,
                "published": f"{row.us:.3f}",
                "modelled": f"{us:.3f}",
                "low": f"{us * (1 + low):.3f}",
                "high": f"{us * (1 + high):.3f}",
                "error_pct": f"{100 * (us / row.us - 1):.1f}",
                "used_for_fit": "no",
                "likeness": row.likeness,
                "bound": made["bound"],
            }
        )
    return table


def median_error(rows: Iterable[Mapping[str, str]]) -> tuple[float, float, int]:
    """Median and worst absolute error in percent, and the number of rows."""
    errors = [abs(float(row["error_pct"])) for row in rows]
    if not errors:
        raise ValueError("no row to take the median of")
    return statistics.median(errors), max(errors), len(errors)


@dataclass(frozen=True)
class ErrorLine:
    """The errors of some rows of the validation table, absolute, in percent."""

    rows: str
    median: float
    worst: float
    number: int


def error_lines(validation: Sequence[Mapping[str, str]]) -> list[ErrorLine]:
    """Like-for-like rows, all FlyDSL rows, and the parts of both, each with its errors."""
    like = [row for row in validation if row["likeness"] == LIKE]
    parts: dict[str, Sequence[Mapping[str, str]]] = {
        "like for like": like,
        "all FlyDSL": [row for row in validation if row["backend"] == FLYDSL],
        "like for like, one per point": distinct(like),
        **{f"like for like, {k}": [r for r in like if r["kernel"] == k] for k in KERNELS},
        REMAPPED: [row for row in validation if row["likeness"] == REMAPPED],
        f"{OTHER_CODE} (HIP)": [row for row in validation if row["likeness"] == OTHER_CODE],
    }
    return [ErrorLine(name, *median_error(rows)) for name, rows in parts.items()]


def distinct(rows: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """One row per variant, routing and M: published runs of one point by their median."""
    points: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        points.setdefault((row["variant"], row["routing"], row["M"]), []).append(row)
    made = []
    for runs in points.values():
        published = statistics.median(float(row["published"]) for row in runs)
        error = 100 * (float(runs[0]["modelled"]) / published - 1)
        made.append({**runs[0], "published": f"{published:.3f}", "error_pct": f"{error:.1f}"})
    return made


def inside_band(rows: Iterable[Mapping[str, str]]) -> int:
    """How many published times lie in the model's band."""
    return sum(float(r["low"]) <= float(r["published"]) <= float(r["high"]) for r in rows)


@dataclass(frozen=True)
class TimingClaim:
    """A claim of the pull request about time.

    Attributes:
        name, text: what it says.
        cases: variants and M that it is about.
        before, after: flag settings that it compares.
        published: change in percent, lowest and highest as stated.
    """

    name: str
    text: str
    cases: tuple[tuple[Variant, int], ...]
    before: FlagSet
    after: FlagSet
    published: tuple[float, float]


_ABI = frozenset({"bare_pointer_abi"})
_TRIO = _ABI | {"backend_waitcnt", "epilog_hoisting", "unsigned_divrem"}
_EXP2 = _TRIO | {"hardware_exp2"}
_FLAT = find_variant("gemm2", "bm128_nonatomic")
_BM128 = find_variant("gemm1", "bm128")


def _decode(tokens: Sequence[int]) -> tuple[tuple[Variant, int], ...]:
    return tuple((dispatch(kernel, m), m) for m in tokens for kernel in ("gemm1", "gemm2"))


def _ratio(before: float, after: float) -> tuple[float, float]:
    change = 100 * (after / before - 1)
    return change, change


CLAIMS: tuple[TimingClaim, ...] = (
    TimingClaim(
        "bare_pointer_abi decode", "about 7 % faster at M=4 and 8", _decode((4, 8)),
        frozenset(), _ABI, (-7, -7),
    ),
    TimingClaim(
        "bare_pointer_abi level", "level from M=64", _decode((64,)), frozenset(), _ABI, (0, 0)
    ),
    TimingClaim(
        "gemm2 M=4096", "from 1.11 to 1.00 of HIP", ((_FLAT, 4096),), _ABI, _TRIO,
        _ratio(1.11, 1.00),
    ),
    TimingClaim(
        "gemm2 M=16384", "from 1.10 to 1.03 of HIP", ((_FLAT, 16384),), _ABI, _TRIO,
        _ratio(1.10, 1.03),
    ),
    TimingClaim(
        "hardware_exp2 M=4096", "from 1.07 to 1.05 of HIP", ((_BM128, 4096),), _TRIO, _EXP2,
        _ratio(1.07, 1.05),
    ),
    TimingClaim(
        "hardware_exp2 large M", "2 to 6 % at large M", ((_BM128, 16384),), _TRIO, _EXP2, (-6, -2)
    ),
)  # fmt: skip
"""The pull request's timing claims; two of the five cover two settings each."""
TOLERANCE = 2.0
"""Points by which a modelled change may miss a published one and still count as explained."""


NOTICEABLE = 0.5
"""Points that a change must have to count as there at all."""
EXPLAINED, ABSENT, NOT_EXPLAINED = "explained", "within 2 points, but absent", "not explained"


def verdict_of(low: float, high: float, change: float) -> str:
    """Whether a modelled change in percent explains a published one.

    It must come within :data:`TOLERANCE` of the published range, and where that excludes zero it
    must be there: a small claim is not explained by no change at all.
    """
    if not low - TOLERANCE <= change <= high + TOLERANCE:
        return NOT_EXPLAINED
    if (high < 0 and change > -NOTICEABLE) or (low > 0 and change < NOTICEABLE):
        return ABSENT
    return EXPLAINED


@dataclass(frozen=True)
class Form:
    """One of the two modelled forms that a claim compares.

    Attributes:
        us, cycles_per_tile, bound: as in the curve.
        causes: microseconds by cause.
    """

    us: float
    cycles_per_tile: float
    bound: str
    causes: Mapping[str, float]


@dataclass(frozen=True)
class Comparison:
    """Both forms of a claim, and the relative ends of the second's time over the first's."""

    before: Form
    after: Form
    band: tuple[float, float]

    @property
    def change(self) -> float:
        """Of the time, in percent."""
        return 100 * (self.after.us / self.before.us - 1)

    @property
    def ends(self) -> tuple[float, float]:
        """The band of :attr:`change`, in percent."""
        low, high = (100 * (self.after.us / self.before.us * (1 + end) - 1) for end in self.band)
        return low, high


Comparisons = Mapping[tuple[str, Variant, int], Comparison]
"""By claim, variant and M."""
SEEN = 0.01
"""Microseconds that a cause must change by to be named in a mechanism."""


def mechanism_of(forms: Comparison) -> str:
    """What bounds both forms, and the causes that lose and gain most time from one to the other.

    Where the memory bounds a launch, what waves save elsewhere they wait for memory instead.
    """
    before, after = forms.before, forms.after
    same = f"bound by {after.bound} in both forms"
    parts = [
        same if before.bound == after.bound else f"bound by {before.bound}, then {after.bound}"
    ]
    moved = {cause: us - before.causes[cause] for cause, us in after.causes.items()}
    least, most = min(moved, key=moved.__getitem__), max(moved, key=moved.__getitem__)
    if moved[least] <= -SEEN:
        parts.append(_moved_cause("falls", least, before.causes[least], after.causes[least]))
    if moved[most] >= SEEN:
        parts.append(_moved_cause("rises", most, before.causes[most], after.causes[most]))
    return "; ".join(parts if len(parts) > 1 else [*parts, f"no cause changes by {SEEN} us"])


def _moved_cause(verb: str, cause: str, before: float, after: float) -> str:
    by = f" by {100 * abs(after / before - 1):.0f} %" if before >= SEEN else ""
    return f"{cause} {verb}{by} ({before:.2f} to {after:.2f} us)"


def claim_rows(comparisons: Comparisons) -> list[dict[str, object]]:
    """One line per claim and case: both changes, the verdict, and what bounds both forms.

    The modelled change has a band, in percent, and a mechanism, see :func:`mechanism_of`.
    """
    return [
        _claim_row(claim, variant, tokens, comparisons[claim.name, variant, tokens])
        for claim in CLAIMS
        for variant, tokens in claim.cases
    ]


def _claim_row(
    claim: TimingClaim, variant: Variant, tokens: int, forms: Comparison
) -> dict[str, object]:
    low, high = claim.published
    least, most = forms.ends
    return {
        "claim": claim.name,
        "text": claim.text,
        "kernel": variant.kernel,
        "variant": variant.name,
        "M": tokens,
        "published_low_pct": f"{low:.1f}",
        "published_high_pct": f"{high:.1f}",
        "modelled_pct": f"{forms.change:.2f}",
        "low": f"{least:.2f}",
        "high": f"{most:.2f}",
        "before_us": f"{forms.before.us:.3f}",
        "after_us": f"{forms.after.us:.3f}",
        "before_cycles_per_tile": f"{forms.before.cycles_per_tile:.0f}",
        "after_cycles_per_tile": f"{forms.after.cycles_per_tile:.0f}",
        "bound": forms.after.bound,
        "mechanism": mechanism_of(forms),
        "verdict": verdict_of(round(low, 1), round(high, 1), round(forms.change, 2)),
    }
