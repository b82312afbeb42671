"""The rule of bytes in flight: a tile that memory bounds has 44 KB under way per round trip.

The source (ROCm/gfx950-gluon-tutorials, tcp_bound_tile_model) held the rule against the in-loop
MFMA duty of eight GEMM tiles at a round trip of 1000 clocks and says how far off it was; what we
have of it names neither the tiles nor their figures. Held here is the rule itself, on tiles that we
chose: the same K loop by the simulated unit and by the formula.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

from mxfp4kernels.timing.constants import Hardware, read_hardware
from mxfp4kernels.timing.unit import MemoryState

from .micro import CLOCK, Micro, micro

ROUND_TRIP = 1000
WAVES, STEPS = 4, 24
TILE_K, LOAD_BYTES = 256, 1024
MFMA_CLOCKS = 16


def trip_hardware() -> Hardware:
    """A device whose loads take :data:`ROUND_TRIP` clocks from the queue to the data, loaded.

    Of the 44 KB of the rule 32 KB are in flight and 12 KB in the queue, so that a load is in flight
    for 32 / 44 of the round trip. The constant leaves its range for that.
    """
    hardware = read_hardware()
    flight = ROUND_TRIP * hardware["vmem_in_flight"] / under_way(hardware)
    known = hardware.constant("mall_latency")
    value = (flight - hardware["l2_latency"]) / CLOCK
    changed = replace(known, value=value, high=value)
    return Hardware("test", MappingProxyType({**hardware.constants, known.name: changed}))


def under_way(hardware: Hardware) -> float:
    """Bytes in flight and in the queue."""
    return hardware["vmem_in_flight"] + hardware["vmem_queue"] * LOAD_BYTES


def loads_of(rows: int, columns: int) -> int:
    """Loads of a wave and K step: FP4 operands, scales left out."""
    return (rows + columns) * TILE_K // 2 // LOAD_BYTES // WAVES


def matrix_of(rows: int, columns: int) -> int:
    """16x16x128 MFMAs of a wave and K step."""
    return rows * columns * TILE_K // (16 * 16 * 128) // WAVES


def rule(rows: int, columns: int, hardware: Hardware) -> float:
    """MFMA duty by the rule."""
    rate = under_way(hardware) / ROUND_TRIP
    memory = loads_of(rows, columns) * WAVES * LOAD_BYTES / rate
    return min(1.0, matrix_of(rows, columns) * MFMA_CLOCKS / memory)


def loop_of(rows: int, columns: int, hardware: Hardware) -> Micro:
    """An unrolled K loop that prefetches more than can be under way, loads between the MFMAs."""
    loads, matrix = loads_of(rows, columns), matrix_of(rows, columns)
    ahead = 1 + -(-int(under_way(hardware)) // (loads * WAVES * LOAD_BYTES))
    body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\ns_waitcnt lgkmcnt(0)\n"
    load = "global_load_dwordx4 v[4:7], v1, s[4:5]\n"
    body += load * (loads * ahead)
    for _ in range(STEPS):
        body += f"s_waitcnt vmcnt({loads * (ahead - 1)})\n"
        for at in range(matrix):
            if at * loads // matrix != (at - 1) * loads // matrix:
                body += load
            d = 64 + 4 * (at % 16)
            body += (
                f"v_mfma_scale_f32_16x16x128_f8f6f4 v[{d}:{d + 3}], v[8:11], v[12:15], "
                f"v[{d}:{d + 3}], v16, v17 cbsz:4 blgp:4\n"
            )
    return micro(body + "s_waitcnt vmcnt(0)\n", data={"x": 1 << 16}, waves=WAVES)


def duty(rows: int, columns: int, hardware: Hardware) -> float:
    """MFMA duty in the loop by the simulated unit, its beginning and end left out."""
    kernel = loop_of(rows, columns, hardware)
    state = MemoryState.uniform(kernel.trace.buffers, 1.0, active=1)
    times = kernel.issued(kernel.run(hardware, memory=state), "v_mfma")
    matrix, first, last = matrix_of(rows, columns), STEPS // 3, STEPS - STEPS // 3
    span = times[last * matrix] - times[first * matrix]
    return (last - first) * matrix * MFMA_CLOCKS / span


BOUND = [(64, 64), (64, 128), (128, 64), (128, 128)]


@pytest.mark.parametrize(("rows", "columns"), BOUND)
def test_tiles_that_memory_bounds_have_the_duty_of_the_rule(rows: int, columns: int) -> None:
    hardware = trip_hardware()
    assert rule(rows, columns, hardware) < 0.75
    assert duty(rows, columns, hardware) == pytest.approx(rule(rows, columns, hardware), abs=0.02)


@pytest.mark.parametrize(("rows", "columns"), [(128, 256), (256, 256)])
def test_no_tile_has_more_duty_than_the_rule(rows: int, columns: int) -> None:
    """At the boundary the rule is too high by its source, and so it is against the simulation."""
    hardware = trip_hardware()
    found = duty(rows, columns, hardware)
    assert rule(rows, columns, hardware) - 0.15 < found <= rule(rows, columns, hardware) + 0.005
