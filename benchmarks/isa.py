"""How long one kernel takes to read, divide into regions, count and compare.

    python benchmarks/isa.py [--limit-ms 50] [kernel.s ...]

Without files, a synthetic unrolled kernel of 5000 instructions. Prints milliseconds of CPU time,
the least of several runs from a cold operand cache, and fails when reading and counting a
kernel takes longer than the limit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mxfp4kernels.isa import count_program, diff, find_regions, operands, parse, registers

RUNS = 7
SYNTHETIC_INSTRUCTIONS = 5000


def synthetic() -> str:
    """An unrolled kernel with the mix of gemm1's K loop and registers that keep changing."""
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_waitcnt lgkmcnt(0)", "s_barrier"]
    tile = 0
    while len(lines) < SYNTHETIC_INSTRUCTIONS - 100:
        lines.append(f"buffer_load_dwordx4 v{tile % 64}, s[4:7], s{tile % 90} offen lds")
        for j in range(64):
            a, b, d = 4 * (j % 16), 64 + 4 * (j % 8), 128 + 4 * (j % 32)
            if j % 4 == 0:
                lines.append(f"ds_read_b128 v[{a}:{a + 3}], v{250 - j} offset:{64 * (tile + j)}")
                lines.append("s_waitcnt lgkmcnt(0)")
            lines.append(
                f"v_mfma_scale_f32_16x16x128_f8f6f4 v[{d}:{d + 3}], v[{a}:{a + 3}], "
                f"v[{b}:{b + 3}], v[{d}:{d + 3}], v{100 + j}, v{101 + j} "
                "op_sel_hi:[0,0,0] cbsz:4 blgp:4"
            )
            if j % 8 == 7:
                lines.append(f"buffer_load_dwordx4 v[{b}:{b + 3}], v{60 + j}, s[8:11], 0 offen")
        lines.append("s_barrier")
        tile += 1
    while len(lines) < SYNTHETIC_INSTRUCTIONS - 1:
        lines.append(f"v_mul_f32_e32 v{len(lines) % 120}, 0x3fb8aa3b, v{len(lines) % 119}")
    return "".join(f"\t{line}\n" for line in [*lines, "s_endpgm"])


def milliseconds(call: Callable[[], object]) -> float:
    """Least CPU time of several runs."""
    times = []
    for _ in range(RUNS):
        _forget()
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return 1000 * min(times)


def _forget() -> None:
    """Empty the caches that one kernel would fill for the next."""
    for module in (operands, registers):
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


def _parse_and_count(text: str) -> object:
    return count_program(parse(text))


def main() -> int:
    """Print the table; 1 when a kernel is over the limit."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("files", nargs="*", type=Path)
    arguments.add_argument("--limit-ms", type=float, default=50.0)
    options = arguments.parse_args()
    texts = {path.name: path.read_text() for path in options.files} or {"synthetic": synthetic()}
    print(f"{'kernel':32} {'instr':>6} {'parse':>7} {'regions':>7} {'all':>7} {'diff':>7}  ms")
    slow = []
    for name, text in texts.items():
        program = parse(text)
        total = milliseconds(partial(_parse_and_count, text))
        parts = (
            milliseconds(partial(parse, text)),
            milliseconds(partial(find_regions, program)),
            total,
            milliseconds(partial(diff, program, program)),
        )
        print(f"{name:32} {len(program):6}", *(f"{part:7.1f}" for part in parts))
        if total > options.limit_ms:
            slow.append(name)
    if slow:
        print(f"over the limit of {options.limit_ms} ms: {', '.join(slow)}", file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
