"""The tables of docs/bench.md from the data: ``python -m mxfp4kernels.bench.quotes`` fills them in.

The page marks each with ``<!-- bench NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

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
    """How often every verdict came out with the default number of rounds, out of all runs."""
    rows = [
        [
            row["scenario"],
            f"{float(row['true_ratio']):.2f}",
            *(row[str(verdict)] for verdict in Verdict),
            row["false_positives"],
            row["wandered"],
            row["excluding_true_ratio"],
            f"{100 * float(row['median_width']):.2f}",
        ]
        for row in _simulated()
    ]
    head = ("device", "true ratio", *map(str, Verdict), "false", "wander", "misses", "width, %")
    return markdown(head, rows)


def fewer_rounds() -> str:
    """Error rates by the number of rounds, where there is no difference."""
    rows = [
        [
            row["scenario"],
            row["rounds"],
            *(_percent(row, name) for name in ("false_positives", "wandered")),
            *(_percent(row, name) for name in ("excluding_true_ratio", "excluding_by_bootstrap")),
        ]
        for row in read_csv(SIMULATED_RUNS)
        if float(row["true_ratio"]) == 1
    ]
    repeated = {row[0] for row in rows if row[1] != str(Procedure().rounds)}
    head = ("device", "rounds", "false, %", "wander, %", "misses, %", "bootstrap misses, %")
    return markdown(head, [row for row in rows if row[0] in repeated])


def rates() -> str:
    """The errors of all runs without a difference and with the default rounds, in sentences."""
    same = [row for row in _simulated() if float(row["true_ratio"]) == 1]
    wandering = [row for row in same if "wander" in row["scenario"]]
    steady = [row for row in same if row not in wandering]
    false, worst = _sum(steady, "false_positives"), _worst(steady, "false_positives")
    missed, most = _sum(steady, "excluding_true_ratio"), _worst(steady, "excluding_true_ratio")
    runs = _sum(steady, "runs")
    slow = _worst(wandering, "excluding_true_ratio")
    return (
        f"With the default {Procedure().rounds} rounds, {false} of {runs} simulated runs without a "
        f"difference reported one on devices whose rounds are independent; at most "
        f"{_percent(worst, 'false_positives')} %, on the {worst['scenario']} one. The interval "
        f"missed the true ratio of 1 in {100 * missed / runs:.1f} % of them, at most "
        f"{_percent(most, 'excluding_true_ratio')} %; it promises "
        f"{100 * (1 - Procedure().confidence):.0f} % or fewer. On devices that wander it misses "
        f"far more, {_percent(slow, 'excluding_true_ratio')} % on the one {slow['scenario']}: of "
        f"{_sum(wandering, 'runs')} such runs {_sum(wandering, 'wandered')} were found to wander, "
        f"and {_sum(wandering, 'false_positives')} reported a difference."
    )


def comparisons() -> str:
    """How many verdicts of a default run are expected to be false, at the simulated rates."""
    variants = tuned_variants(KERNELS, TOKENS)
    plan = Plan(build_cases(REFERENCE_SHAPE, variants, STUDIES), Procedure())
    count, pairs = plan.comparisons, len(plan.cases)
    same = [row for row in _simulated() if float(row["true_ratio"]) == 1]
    calm, worst = same[0], _worst(same, "false_positives")
    events, trials = int(worst["false_positives"]), int(worst["runs"])
    bound = _rate_at_most(events, trials)
    missed = _worst(
        [row for row in same if "wander" not in row["scenario"]], "excluding_true_ratio"
    )
    return (
        f"A default run makes {count} comparisons. If no setting made a difference, "
        f"{count * int(calm['false_positives']) / int(calm['runs']):.1f} of its verdicts would be "
        f"expected to be FASTER or SLOWER at the rate of the calm simulated device "
        f"({calm['false_positives']} of {calm['runs']}), and {count * events / trials:.1f} at that "
        f"of the worst, the {worst['scenario']} one ({events} of {trials}; at most "
        f"{100 * bound:.1f} % with {100 * CERTAINTY:.0f} % confidence, or {count * bound:.1f} "
        f"verdicts). A run's own {pairs} A/A pairs say less: even if none comes out different, a "
        f"rate of up to {100 * _rate_at_most(0, pairs):.0f} % is possible. A setting whose true "
        "difference is just the threshold comes out beyond it in up to "
        f"{50 * int(missed['excluding_true_ratio']) / int(missed['runs']):.1f} % of cases, half of "
        "what the intervals miss."
    )


def _simulated() -> list[dict[str, str]]:
    """The simulated runs with the default number of rounds."""
    rounds = str(Procedure().rounds)
    return [row for row in read_csv(SIMULATED_RUNS) if row["rounds"] == rounds]


def _sum(rows: Iterable[Mapping[str, str]], name: str) -> int:
    return sum(int(row[name]) for row in rows)


def _worst(rows: Sequence[Mapping[str, str]], name: str) -> Mapping[str, str]:
    return max(rows, key=lambda row: int(row[name]) / int(row["runs"]))


def _percent(row: Mapping[str, str], name: str) -> str:
    return f"{100 * int(row[name]) / int(row['runs']):.1f}"


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
    for one in (
        conditions,
        verdicts,
        fewer_rounds,
        rates,
        comparisons,
        graph_timing,
        graph_device,
    )
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
