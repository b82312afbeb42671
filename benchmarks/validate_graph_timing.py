"""Holds the bench's graph timing against two other ways of timing, with torch's own operations.

Any accelerator that torch calls "cuda" will do, NVIDIA's included: what is under test is the
harness, not a kernel. It needs torch and numpy, and this repository on PYTHONPATH:

    PYTHONPATH=. python benchmarks/validate_graph_timing.py

Every operation is timed per launch by

- ``graph``: :class:`mxfp4kernels.bench.torch_device.TorchDevice`, as the bench does it;
- ``events``: events around as many launches without a graph, by the same class;
- ``torch-benchmark``: :class:`torch.utils.benchmark.Timer`, host clock and synchronisation;
- ``triton-do-bench``: ``triton.testing.do_bench_cudagraph``, if triton is installed.

The rounds of all methods take turns. Written are ``data/harness/graph_timing.csv`` (one row per
operation and method) and, with the same numbers and every single round, ``graph_timing.json``.
"""

from __future__ import annotations

import argparse
import json
import platform
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
import torch.utils.benchmark

from mxfp4kernels.bench.device import NoDevice
from mxfp4kernels.bench.procedure import input_sets, launches_per_replay
from mxfp4kernels.bench.torch_device import TorchDevice, TorchGraph
from mxfp4kernels.files import DATA, write_csv, write_text

COLUMNS = (
    *("purpose", "operation", "cache", "input_sets", "method", "launches", "rounds", "unit"),
    *("median", "minimum", "q05", "q95", "relative_to_graph", "late_share", "event_floor"),
    *("device", "arch", "driver", "runtime", "torch", "triton", "python", "date"),
)
PURPOSE = "harness validation"
REPLAY_SECONDS = 0.010
TRITON_MILLISECONDS = 20
LOAD_BYTES = 1 << 26


@dataclass(frozen=True)
class Operation:
    """A torch operation on sets of buffers.

    Args:
        name: what a row calls it.
        launches: one launch per set of buffers.
        touched_bytes: what one launch reads and writes.
        cache: ``rotating`` or ``warm``.
    """

    name: str
    launches: tuple[Callable[[], object], ...]
    touched_bytes: int
    cache: str


def operations(device: TorchDevice) -> list[Operation]:
    """Products and copies from a few microseconds to milliseconds, with cold and warm caches."""
    found = []
    for cache in ("rotating", "warm"):
        for size in (256, 1024, 4096):
            found.append(_product(device, size, cache))
        for size in (1 << 16, 1 << 24, 1 << 28):
            found.append(_copy(device, size, cache))
    return found


def _product(device: TorchDevice, size: int, cache: str) -> Operation:
    touched = 3 * 2 * size * size
    sets = input_sets(cache, touched, device.info.cache_bytes)
    launches = []
    for _ in range(sets):
        a, b = (
            torch.randn(size, size, device=device.place, dtype=torch.bfloat16) for _ in range(2)
        )
        out = torch.empty(size, size, device=device.place, dtype=torch.bfloat16)
        launches.append(partial(torch.mm, a, b, out=out))
    return Operation(f"bf16 product {size}x{size}x{size}", tuple(launches), touched, cache)


def _copy(device: TorchDevice, size: int, cache: str) -> Operation:
    sets = input_sets(cache, 2 * size, device.info.cache_bytes)
    launches = []
    for _ in range(sets):
        source = torch.randint(0, 255, (size,), device=device.place, dtype=torch.uint8)
        launches.append(partial(torch.empty_like(source).copy_, source))
    return Operation(f"copy of {size} bytes", tuple(launches), 2 * size, cache)


class Timing:
    """An operation made ready for every method.

    Args:
        device: where it runs.
        operation: what runs.
    """

    def __init__(self, device: TorchDevice, operation: Operation) -> None:
        self._device = device
        self._operation = operation
        for launch in operation.launches:
            device.run(launch)
        self.floor = device.event_floor()
        sets = len(operation.launches)
        warm_up = self._capture(max(sets, 20))
        seconds = min(device.time(warm_up).seconds for _ in range(3)) / warm_up.launches
        self.launches = launches_per_replay(max(seconds, 1e-7), self.floor, sets, REPLAY_SECONDS)
        self._graph = self._capture(self.launches)
        self.late: dict[str, int] = {"graph": 0, "events": 0}

    def _turns(self, count: int) -> list[Callable[[], object]]:
        sets = self._operation.launches
        return [sets[number % len(sets)] for number in range(count)]

    def _capture(self, count: int) -> TorchGraph:
        return self._device.capture(self._turns(count))

    def methods(self) -> dict[str, Callable[[], float]]:
        """Seconds per launch by each method that is there."""
        found = {
            "graph": self._by_graph,
            "events": self._by_events,
            "torch-benchmark": self._by_torch,
        }
        if find_spec("triton") is not None and len(self._operation.launches) == 1:
            found["triton-do-bench"] = self._by_triton
        return found

    def _by_graph(self) -> float:
        replay = self._device.time(self._graph)
        self.late["graph"] += replay.late
        return replay.seconds / self.launches

    def _by_events(self) -> float:
        replay = self._device.time_launches(self._turns(self.launches))
        self.late["events"] += replay.late
        return replay.seconds / self.launches

    def _by_torch(self) -> float:
        turns = self._turns(self.launches)

        def run() -> None:
            for launch in turns:
                launch()

        timer = torch.utils.benchmark.Timer("run()", globals={"run": run})
        return float(timer.timeit(1).median) / self.launches

    def _by_triton(self) -> float:
        from triton.testing import do_bench_cudagraph

        with torch.cuda.device(self._device.place), torch.cuda.stream(torch.cuda.Stream()):
            return (
                float(
                    do_bench_cudagraph(
                        self._operation.launches[0], rep=TRITON_MILLISECONDS, return_mode="median"
                    )
                )
                / 1000
            )


def measure(device: TorchDevice, operation: Operation, rounds: int) -> dict[str, object]:
    """Seconds per launch of every round, by method, and what belongs to them."""
    timing = Timing(device, operation)
    methods = timing.methods()
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    order = random.Random(0)
    for _ in range(rounds):
        names = list(methods)
        order.shuffle(names)
        for name in names:
            seconds[name].append(methods[name]())
    return {
        "operation": operation.name,
        "cache": operation.cache,
        "input_sets": len(operation.launches),
        "launches": timing.launches,
        "event_floor": timing.floor,
        "late": timing.late,
        "seconds": seconds,
    }


def rows(measured: dict[str, object], about: dict[str, str]) -> list[dict[str, object]]:
    """One row per method of an operation; times in microseconds per launch."""
    seconds = measured["seconds"]
    reference = np.median(seconds["graph"])
    found = []
    for method, times in seconds.items():
        values = np.array(times)
        quantiles = 1e6 * np.quantile(values, (0.5, 0.0, 0.05, 0.95))
        names = ("median", "minimum", "q05", "q95")
        late = measured["late"].get(method)
        found.append(
            {
                **{name: measured[name] for name in ("operation", "cache", "input_sets")},
                "launches": measured["launches"],
                "purpose": PURPOSE,
                "method": method,
                "rounds": len(times),
                "unit": "us",
                **{name: f"{value:.4f}" for name, value in zip(names, quantiles, strict=True)},
                "relative_to_graph": f"{np.median(values) / reference:.4f}",
                "late_share": "" if late is None else f"{late / len(times):.3f}",
                "event_floor": f"{1e6 * measured['event_floor']:.3f}",
                **about,
            }
        )
    return found


def describe(device: TorchDevice) -> dict[str, str]:
    """What every row says of the device and the software."""
    info = asdict(device.info)
    triton = "absent"
    if find_spec("triton") is not None:
        import triton as found

        triton = found.__version__
    return {
        "device": info["name"],
        **{name: str(info[name]) for name in ("arch", "driver", "runtime", "torch")},
        "triton": triton,
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a table and write both files; 3 without a device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--output", type=Path, default=DATA / "harness", help="directory")
    arguments = parser.parse_args(argv)
    if arguments.rounds < 1:
        parser.error(f"--rounds must be at least 1, got {arguments.rounds}")
    try:
        device = TorchDevice()
    except NoDevice as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    about = describe(device)
    print(f"{about['device']}, {about['runtime']}, driver {about['driver']}, {about['torch']}")
    measured, table = [], []
    for operation in operations(device):
        torch.cuda.empty_cache()
        measured.append(measure(device, operation, arguments.rounds))
        table += rows(measured[-1], about)
        for row in table[-len(measured[-1]["seconds"]) :]:
            print(
                f"{row['operation']:28} {row['cache']:9} {row['method']:16} "
                f"{row['median']:>12} us  {row['relative_to_graph']} of graph"
            )
    write_csv(arguments.output / "graph_timing.csv", COLUMNS, table)
    document = {"purpose": PURPOSE, **about, "absent": device.unreadable(), "measured": measured}
    write_text(arguments.output / "graph_timing.json", json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
