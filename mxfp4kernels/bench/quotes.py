"""The tables of docs/bench.md from the data: ``python -m mxfp4kernels.bench.quotes`` fills them in.

The page marks each with ``<!-- bench NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from scipy.stats import beta

from ..files import DATA, REPOSITORY, read_csv, write_text
from ..flags import STUDIES
from ..quoted import markdown
from ..shapes import KERNELS, REFERENCE_SHAPE
from .cases import TOKENS, build_cases, tuned_variants
from .plan import Plan
from .procedure import Procedure
from .simulation import SIMULATED_RUNS
from .verdicts import Verdict

PAGE = REPOSITORY / "docs" / "bench.md"
GRAPH_TIMING = DATA / "harness" / "graph_timing.csv"

CERTAINTY = 0.95
"""Confidence of the bounds on error rates."""

_BLOCK = re.compile(r"(?P<tag><!-- bench (?P<name>\w+) -->\n).*?(?P<end><!-- end -->)", re.S)


class QuoteError(ValueError):
    """A mark in the page that asks for something there is not."""


def conditions() -> str:
    """The simulated conditions in words."""
    words = {row["scenario"]: row["conditions"] for row in read_csv(SIMULATED_RUNS)}
    return markdown(("device", "conditions"), words.items())


def verdicts() -> str:
    """How often every verdict came out, out of all runs."""
    rows = [
        [
            row["scenario"],
            f"{float(row['true_ratio']):.2f}",
            *(row[str(verdict)] for verdict in Verdict),
            row["false_positives"],
            row["excluding_true_ratio"],
            f"{100 * float(row['median_width']):.2f}",
        ]
        for row in read_csv(SIMULATED_RUNS)
    ]
    head = ("device", "true ratio", *map(str, Verdict), "false", "interval misses", "width, %")
    return markdown(head, rows)


def rates() -> str:
    """The false positives of all runs without a difference, in one sentence."""
    same = [row for row in read_csv(SIMULATED_RUNS) if float(row["true_ratio"]) == 1]
    runs = sum(int(row["runs"]) for row in same)
    false = sum(int(row["false_positives"]) for row in same)
    missed = sum(int(row["excluding_true_ratio"]) for row in same)
    worst = max(same, key=lambda row: int(row["excluding_true_ratio"]))
    most = 100 * int(worst["excluding_true_ratio"]) / int(worst["runs"])
    return (
        f"In {runs} simulated runs without a difference, {false} reported one. The interval missed "
        f"the true ratio of 1 in {100 * missed / runs:.1f} % of them (at most {most:.1f} %, on the "
        f"{worst['scenario']} device); it promises {100 * (1 - Procedure().confidence):.0f} %."
    )


def comparisons() -> str:
    """How many verdicts of a default run are expected to be false, at the simulated rates."""
    variants = tuned_variants(KERNELS, TOKENS)
    plan = Plan(build_cases(REFERENCE_SHAPE, variants, STUDIES), Procedure())
    count, pairs = plan.comparisons, len(plan.cases)
    same = [row for row in read_csv(SIMULATED_RUNS) if float(row["true_ratio"]) == 1]
    runs = sum(int(row["runs"]) for row in same)
    false = sum(int(row["false_positives"]) for row in same)
    missed = sum(int(row["excluding_true_ratio"]) for row in same)
    worst = max(same, key=lambda row: int(row["false_positives"]) / int(row["runs"]))
    events, trials = int(worst["false_positives"]), int(worst["runs"])
    bound = _rate_at_most(events, trials)
    return (
        f"A default run makes {count} comparisons. If no setting made a difference, "
        f"{count * false / runs:.2f} of its verdicts would be expected to be FASTER or SLOWER at "
        f"the rate of all simulated runs ({false} of {runs}), and {count * events / trials:.2f} at "
        f"that of the worst simulated device, the {worst['scenario']} one ({events} of {trials}). "
        f"That device's rate is at most {100 * bound:.2f} % ({100 * CERTAINTY:.0f} % confidence), "
        f"or {count * bound:.1f} verdicts. A run's own {pairs} A/A pairs say less: even if none "
        f"comes out different, a rate of up to {100 * _rate_at_most(0, pairs):.0f} % is possible. "
        "A setting whose true difference is just the threshold comes out beyond it in about "
        f"{50 * missed / runs:.1f} % of cases, half of what the intervals miss."
    )


def _rate_at_most(events: int, trials: int) -> float:
    """Upper end of the one-sided exact interval of a rate (Clopper and Pearson)."""
    return float(beta.ppf(CERTAINTY, events + 1, trials - events))


def graph_timing() -> str:
    """Torch's operations by every method, relative to the bench's graphs."""
    rows = read_csv(GRAPH_TIMING)
    methods = list(dict.fromkeys(row["method"] for row in rows))
    cells: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for row in rows:
        cells.setdefault((row["operation"], row["cache"]), {})[row["method"]] = row
    table = [
        [
            operation,
            cache,
            f"{float(found['graph']['median']):.2f}",
            *(
                f"{float(found[method]['relative_to_graph']):.3f}" if method in found else "absent"
                for method in methods
                if method != "graph"
            ),
        ]
        for (operation, cache), found in cells.items()
    ]
    others = [f"{method} / graph" for method in methods if method != "graph"]
    return markdown(("operation", "caches", "graph, µs", *others), table)


def graph_device() -> str:
    """Where and when the graph timing was validated."""
    row = read_csv(GRAPH_TIMING)[0]
    return (
        f"{row['purpose'].capitalize()}: {row['device']}, driver {row['driver']}, "
        f"{row['runtime']}, torch {row['torch']}, triton {row['triton']}, {row['date']}."
    )


TABLES: Mapping[str, Callable[[], str]] = {
    one.__name__: one
    for one in (conditions, verdicts, rates, comparisons, graph_timing, graph_device)
}
"""What the page can ask for."""


def fill(text: str) -> str:
    """The page with everything that it quotes as the data have it now.

    Raises:
        QuoteError: a mark that asks for something there is not.
    """

    def block(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in TABLES:
            raise QuoteError(f"no table {name!r}; choose from {', '.join(TABLES)}")
        return f"{match['tag']}{TABLES[name]()}\n{match['end']}"

    return _BLOCK.sub(block, text)


if __name__ == "__main__":
    write_text(PAGE, fill(PAGE.read_text(encoding="utf-8")))
