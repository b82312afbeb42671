"""Speed of the emulator: ``python benchmarks/emulator.py`` prints a table; ``--check`` holds it.

Three figures, each the best of several runs, compilation of the emulator's own loops apart:

* wave-instructions per second of a gemm1 bm32 launch of 64 workgroups at H=7168, on two threads,
* seconds for one gemm1 bm128 workgroup at H=7168,
* seconds for the same workgroup under the sanitizer (lockstep order).

Needs FlyDSL to compile the kernels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.emulator import LOCKSTEP, launch, sanitize
from mxfp4kernels.flags import ALL, acting
from mxfp4kernels.numerics.emulation import EmulatedLaunch
from mxfp4kernels.numerics.problem import WORKGROUP, Problem
from mxfp4kernels.shapes import Shape, find_variant

SHAPE = Shape(experts=8, hidden=7168, inter=512, topk=2)
"""The reference hidden and intermediate sizes with fewer experts: speed does not depend on them."""
TARGETS = {"rate": 2.0e6, "workgroup": 0.5, "sanitized": 3.0}
REPEATS = 5


def prepared(variant: str, tokens: int) -> EmulatedLaunch:
    """A compiled gemm1 with all flags and its inputs."""
    kind = find_variant("gemm1", variant)
    kernel = Compiler().compile(Job(kind, SHAPE, acting(kind, ALL)))
    problem = Problem(kind, SHAPE, tokens)
    return EmulatedLaunch.of(kernel.assembly, problem, problem.arguments(range(SHAPE.experts)))


def run(case: EmulatedLaunch, workgroups: int, threads: int) -> int:
    """Run the first workgroups; returns the executed wave-instructions."""
    result = launch(
        case.program,
        case.kernarg,
        case.grid,
        WORKGROUP,
        case.memory,
        workgroups=range(workgroups),
        threads=threads,
    )
    return result.wave_instructions


def check(case: EmulatedLaunch) -> None:
    """Sanitize the first workgroup in lockstep."""
    sanitize(
        case.program,
        case.kernarg,
        case.grid,
        WORKGROUP,
        case.memory,
        workgroups=[0],
        run_orders=[LOCKSTEP],
    )


def seconds(function: Callable[[], object]) -> float:
    """The shortest of several runs, after one that compiles."""
    function()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> dict[str, float]:
    """The three figures by the names of ``TARGETS``."""
    small, large = prepared("bm32_nt", 128), prepared("bm128", 512)
    executed = run(small, 64, 2)
    return {
        "rate": executed / seconds(lambda: run(small, 64, 2)),
        "workgroup": seconds(lambda: run(large, 1, 1)),
        "sanitized": seconds(lambda: check(large)),
    }


def main() -> int:
    """Print the figures beside their targets; exit status 1 with ``--check`` and a miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a target is missed")
    must_meet = parser.parse_args().check
    figures = measure()
    met = {
        name: value >= TARGETS[name] if name == "rate" else value <= TARGETS[name]
        for name, value in figures.items()
    }
    rate = figures["rate"]
    print(f"gemm1 bm32, 64 workgroups, 2 threads: {rate / 1e6:.2f} M wave-instructions/s (>= 2)")
    print(f"gemm1 bm128, one workgroup: {figures['workgroup']:.3f} s (<= 0.5)")
    print(f"gemm1 bm128, one workgroup, sanitizer: {figures['sanitized']:.3f} s (<= 3)")
    return int(must_meet and not all(met.values()))


if __name__ == "__main__":
    raise SystemExit(main())
