"""``python -m mxfp4kernels.modelled_timeline`` writes ``data/timing/timeline.csv``, modelled.

Three tiles of one workgroup of gemm2 bm128_nonatomic in the parent's and the merged form.
"""

from __future__ import annotations

import sys

from .files import DATA, write_csv
from .flags import ALL, NONE, FlagSet, label
from .packages import needed

with needed(__name__):
    from .modelled import PERSISTENT_TILES, Launch, Modeller, fill_of
from .shapes import REFERENCE_SHAPE, find_variant
from .timing.device import memory_state
from .timing.timeline import binned, segments_of
from .timing.unit import simulate

TIMELINE = DATA / "timing" / "timeline.csv"
LAUNCH = Launch(find_variant("gemm2", "bm128_nonatomic"), REFERENCE_SHAPE, 4096)
BIN_CLOCKS = 40


def timeline_rows(modeller: Modeller, flags: FlagSet) -> list[dict[str, object]]:
    """Bins of the first workgroup's waves, by their main cause."""
    kernel, _ = modeller.traced(LAUNCH.variant, LAUNCH.shape, flags, fill_of(LAUNCH))
    traffic, clock = modeller.traffic(LAUNCH, kernel), modeller.estimate(LAUNCH, flags).clock
    work = kernel.works[PERSISTENT_TILES[0]]
    memory = memory_state(kernel.buffers, traffic, (256, 256))
    run = simulate(
        kernel.code, work, modeller.hardware, memory, resident=1, groups=1, clock=clock, record=0
    )
    return [
        {
            "kernel": LAUNCH.variant.kernel,
            "variant": LAUNCH.variant.name,
            "M": LAUNCH.tokens,
            "flags": label(LAUNCH.variant, flags),
            "wave": part.wave,
            "start": part.start,
            "end": part.end,
            "cause": part.cause.name.lower(),
            "kind": "modelled",
        }
        for part in binned(segments_of(work, run), BIN_CLOCKS)
    ]


def main() -> int:
    """Write the table; returns an exit code."""
    modeller = Modeller()
    rows = [row for flags in (NONE, ALL) for row in timeline_rows(modeller, flags)]
    write_csv(TIMELINE, list(rows[0]), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
