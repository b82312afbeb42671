"""``python -m mxfp4kernels.modelled.timeline`` writes ``data/timing/timeline.csv``, modelled.

The first workgroup of the simulation behind the time of gemm2 bm128_nonatomic, in the parent's and
in the merged form: a few tiles of a persistent workgroup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..files import DATA, write_csv
from ..flags import ALL, NONE, FlagSet, label
from ..packages import needed

with needed(__name__):
    from .launches import PERSISTENT_TILES, Launch, Modeller

from ..cache import CacheError
from ..compiler import CompileError, MissingComponent
from ..shapes import REFERENCE_SHAPE, find_variant
from ..steps import plain_step
from ..timing.timeline import binned, segments_of

TIMELINE = DATA / "timing" / "timeline.csv"
LAUNCH = Launch(find_variant("gemm2", "bm128_nonatomic"), REFERENCE_SHAPE, 4096)
BIN_CLOCKS = 160


def timeline_rows(modeller: Modeller, flags: FlagSet) -> list[dict[str, object]]:
    """Bins of the first workgroup's waves, by their main cause."""
    made = modeller.estimate(LAUNCH, flags)
    return [
        {
            "kernel": LAUNCH.variant.kernel,
            "variant": LAUNCH.variant.name,
            "M": LAUNCH.tokens,
            "flags": label(LAUNCH.variant, flags),
            "tiles": max(PERSISTENT_TILES),
            "wave": part.wave,
            "start": part.start,
            "end": part.end,
            "cause": part.cause.name.lower(),
            "kind": "modelled",
        }
        for part in binned(segments_of(made.simulation.work, made.run), BIN_CLOCKS)
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table; returns an exit code."""
    errors = (CacheError, CompileError, MissingComponent)
    return plain_step(argv, "modelled.timeline", __doc__, _write, *errors)


def _write() -> Iterator[Path]:
    modeller = Modeller()
    rows = [row for flags in (NONE, ALL) for row in timeline_rows(modeller, flags)]
    write_csv(TIMELINE, list(rows[0]), rows)
    yield TIMELINE


if __name__ == "__main__":
    sys.exit(main())
