"""Kernels that clang compiled from OpenCL C, run against plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mxfp4kernels.emulator import (
    Memory,
    RunResult,
    explicit_arguments,
    launch,
    pack_kernarg,
    sanitize,
)
from mxfp4kernels.isa import Program
from mxfp4kernels.isa.parser import parse_all

from .exact import F16, F32, F64

FOREIGN = Path(__file__).parent / "foreign" / "arithmetic.s"
BLOCK = (256, 1, 1)
N = 1024
EDGES32 = [0, 1, -1, 2, 7, -7, 100, 2**31 - 1, -(2**31), 2**16, -(2**16), 12345]


@cache
def programs() -> dict[str, Program]:
    return {program.name: program for program in parse_all(FOREIGN.read_text())}


def run(name: str, *arrays: np.ndarray, n: int = N) -> RunResult:
    """Launch with one buffer per array; the first ones may be written."""
    memory = Memory()
    addresses = [memory.allocate(f"argument{i}", array) for i, array in enumerate(arrays)]
    grid = (n // 256, 1, 1)
    program = programs()[name]
    return launch(program, pack_kernarg(program, addresses, grid, BLOCK), grid, BLOCK, memory)


def integers(seed: int, bits: int = 32) -> np.ndarray:
    """Edges crossed with each other, then random numbers of all magnitudes."""
    rng = np.random.default_rng(seed)
    value = rng.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, N, endpoint=True)
    value >>= rng.integers(0, bits - 1, N)
    edges = np.array(EDGES32)
    crossed = np.repeat(edges, len(edges)) if seed % 2 else np.tile(edges, len(edges))
    value[: len(crossed)] = crossed
    return value.astype(f"i{bits // 8}")


def floats32(seed: int) -> np.ndarray:
    """All exponents, both signs, then special values crossed."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, N, dtype=np.uint32)
    special = np.array(
        [0, 0x80000000, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0x7F800000,
         0xFF800000, 0x7FC00000, 0x40490FDB],
        np.uint32,
    )  # fmt: skip
    crossed = np.repeat(special, 12) if seed % 2 else np.tile(special, 12)
    bits[: len(crossed)] = crossed
    return bits.view(np.float32)


def quotient(a: int, b: int) -> int:
    """C division of integers."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def wrap(value: int, bits: int = 32) -> int:
    return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def test_integer_division() -> None:
    a, b = integers(0), integers(1)
    b[b == 0] = 3
    out = np.zeros(4 * N, np.int32)
    run("integer_division", out, a, b)
    for i in range(N):
        x, y = int(a[i]), int(b[i])
        if (x, y) == (-(2**31), -1):
            continue  # undefined in C
        ux, uy = x % 2**32, y % 2**32
        expected = [quotient(x, y), x - y * quotient(x, y), wrap(ux // uy), wrap(ux % uy)]
        assert out[4 * i : 4 * i + 4].tolist() == expected, (x, y)


def test_long_division() -> None:
    a, b = integers(2, 64), integers(3, 64)
    b[b == 0] = 3
    out = np.zeros(3 * N, np.int64)
    run("long_division", out, a, b)
    for i in range(N):
        x, y = int(a[i]), int(b[i])
        if (x, y) == (-(2**63), -1):
            continue
        remainder = wrap((x % 2**64) % (y % 2**64), 64)
        expected = [quotient(x, y), remainder, wrap(x * y, 64)]
        assert out[3 * i : 3 * i + 3].tolist() == expected, (x, y)


def test_float_division_is_correctly_rounded() -> None:
    """clang expands it to div_scale, rcp, fma steps, div_fmas and div_fixup, to 2.5 ulp at worst;
    without -cl-fp32-correctly-rounded-divide-sqrt it may take the shorter form."""
    a, b = floats32(0), floats32(1)
    out = np.zeros(N, np.float32)
    run("float_division", out, a, b)
    for x, y, z in zip(a, b, out, strict=True):
        expected = F32.to_float(F32.divide(F32.bits(x), F32.bits(y)))
        if math.isnan(expected):
            assert math.isnan(z), (x, y)
        elif math.isinf(expected) or expected == 0 or abs(expected) < 2**-125:
            assert abs(float(z) - expected) <= 2**-146 or z == expected, (x, y, z, expected)
        else:
            assert abs(Fraction(float(z)) / Fraction(expected) - 1) <= Fraction(3, 2**23), (x, y)


def test_double_division_and_fma_are_correctly_rounded() -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, (2, N), dtype=np.uint64)
    special = [0, 1 << 63, 1, (1 << 52) - 1, 1 << 52, 0x3FF << 52, 0x7FE << 52 | (1 << 52) - 1,
               0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48]  # fmt: skip
    bits[0, :100], bits[1, :100] = np.repeat(np.array(special, np.uint64), 10), special * 10
    a, b = bits.view(np.float64)
    out = np.zeros(2 * N, np.float64)
    run("double_division", out, a.copy(), b.copy())
    for i in range(N):
        x, y = int(bits[0, i]), int(bits[1, i])
        assert F64.same(F64.bits(out[2 * i]), F64.divide(x, y)), (a[i], b[i], out[2 * i])
        assert F64.same(F64.bits(out[2 * i + 1]), F64.fma(x, y, x)), (a[i], b[i])


def test_square_root() -> None:
    a = np.abs(floats32(7))
    out = np.zeros(N, np.float32)
    run("square_root", out, a)
    for x, z in zip(a, out, strict=True):
        if not math.isfinite(x):
            assert z == x or (math.isnan(z) and math.isnan(x))
        else:
            assert abs(float(z) - math.sqrt(float(x))) <= 3 * 2**-23 * math.sqrt(float(x))


def test_divergent_loop() -> None:
    a = np.arange(1, N + 1).astype(np.int32)
    out = np.zeros(N, np.int32)
    result = run("collatz", out, a)

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    assert out.tolist() == [steps(n) for n in a.tolist()]
    assert result.waves == N // 64


def test_conversions() -> None:
    rng = np.random.default_rng(8)
    a = (rng.standard_normal(N) * 10.0 ** rng.integers(-3, 8, N)).astype(np.float32)
    b = integers(9)
    out = np.zeros(8 * N, np.int32)
    run("conversions", out, a, b)
    for i in range(N):
        x, n = float(a[i]), int(b[i])
        u = n % 2**32
        long = wrap(0x123456789ABCDEF * n, 64)
        got = out[8 * i : 8 * i + 8].tolist()
        assert got[0] == max(-(2**31), min(2**31 - 1, int(x)))
        assert got[1] == int(abs(x))
        assert [F32.bits_of(v) for v in (n, u, long)] == [g % 2**32 for g in got[2:5]]
        leading = 32 - (u | 1).bit_length()
        low = u | 2**31
        trailing = (low & -low).bit_length() - 1
        assert got[5] == bin(u).count("1") + 100 * leading + 10000 * trailing
        assert got[6] % 2**32 == int(f"{u:032b}"[::-1], 2)
        assert got[7] % 2**16 == F16.bits_of(Fraction(x))


def test_bytes_and_shorts() -> None:
    rng = np.random.default_rng(10)
    a = rng.integers(0, 256, N + 1, dtype=np.uint8)
    b = rng.integers(-(2**15), 2**15, N + 1).astype(np.int16)
    out = np.zeros(4 * N, np.uint8)
    run("bytes", out, a, b)
    for i in range(N):
        x, y, s, t = int(a[i]), int(a[i + 1]), int(b[i]), int(b[i + 1])
        expected = [(x + y) % 256, max(x, y), (s >> 8) % 256, (s * t >> 16) % 256]
        assert out[4 * i : 4 * i + 4].tolist() == expected


def test_packed_halves() -> None:
    rng = np.random.default_rng(11)
    a = rng.standard_normal((N, 2)).astype(np.float16)
    b = rng.standard_normal((N, 2)).astype(np.float16)
    out = np.zeros((N, 3, 2), np.float16)
    run("halves", out, a, b)
    for i in range(N):
        for k in range(2):
            x, y = float(a[i, k]), float(b[i, k])
            fused = np.float16(x * y + x)  # the sum of 22 and 11 bits is exact in double
            assert out[i, 0, k] in (fused, np.float16(np.float16(x * y) + a[i, k]))
            assert out[i, 1, k] == max(x, y)
            assert out[i, 2, k] == np.float16(float(a[i, 1 - k]) - y)


def test_bfloats() -> None:
    rng = np.random.default_rng(12)
    a = rng.standard_normal((N, 2)).astype(np.float32)
    b = (rng.standard_normal((N, 2)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    out = np.zeros((N, 2, 2), np.uint16)
    run("bfloats", out, a, b)

    def round_bf16(value: float) -> int:
        bits = F32.bits_of(value)
        return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16

    for i in range(N):
        for k in range(2):
            packed = round_bf16(float(a[i, k]))
            assert out[i, 0, k] == packed
            total = F32.to_float(packed << 16) + F32.to_float(int(b[i, k]) << 16)
            assert out[i, 1, k] == round_bf16(total)


def test_tree_sum() -> None:
    a = integers(13)
    out = np.zeros(N // 256, np.int32)
    run("tree_sum", out, a)
    assert out.tolist() == [wrap(int(part.astype(np.int64).sum())) for part in a.reshape(-1, 256)]


def test_tree_sum_needs_its_barriers_only_across_waves() -> None:
    """The steps of 128 and 64 reach into another wave; the smaller ones stay within wave 0."""
    memory = Memory()
    program = programs()["tree_sum"]
    addresses = [
        memory.allocate("out", np.zeros(1, np.int32)),
        memory.allocate("a", integers(13), writable=False),
    ]
    kernarg = pack_kernarg(program, addresses, (1, 1, 1), BLOCK)
    report = sanitize(program, kernarg, (1, 1, 1), BLOCK, memory)
    assert report.clean
    assert len(report.orders) == 9
    barriers = [need.needless for need in report.needs if need.counter is None]
    assert barriers == [False, False, True, True, True, True, True, True]


def test_wave_operations() -> None:
    a = integers(14)
    out = np.zeros((N, 4), np.int32)
    run("wave_sum", out, a)
    for first in range(0, N, 64):
        wave = [int(x) for x in a[first : first + 64]]
        for lane in range(64):
            expected = [
                wrap(sum(wave)),
                sum(x & 1 for x in wave),
                wrap(wave[5] + wave[0]),
                wave[lane ^ 16],
            ]
            assert out[first + lane].tolist() == expected


def test_atomics() -> None:
    rng = np.random.default_rng(15)
    a = rng.integers(0, 1000, N).astype(np.int32)
    bins, total = np.zeros(16, np.int32), np.zeros(1, np.float32)
    run("histogram", bins, a, total)
    assert bins.tolist() == np.bincount(a & 15, minlength=16).tolist()
    assert total[0] == (a & 15).sum()


def test_three_dimensions_and_hidden_arguments() -> None:
    grid, block = (3, 2, 2), (8, 4, 2)
    nx, ny, nz = (g * b for g, b in zip(grid, block, strict=True))
    out = np.full(nx * ny * nz, -1, np.int32)
    memory = Memory()
    program = programs()["positions"]
    kernarg = pack_kernarg(program, [memory.allocate("out", out)], grid, block)
    launch(program, kernarg, grid, block, memory)
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                expected = x + 1000 * y + 1000000 * z + 10000000 * grid[2]
                assert out[(z * ny + y) * nx + x] == expected


@pytest.mark.parametrize("name", ["integer_division", "collatz", "histogram"])
def test_workgroups_can_be_chosen(name: str) -> None:
    """A launch of some workgroups executes only their waves."""
    memory = Memory()
    program = programs()[name]
    ones = np.ones(16 * N, np.int32)
    addresses = [
        memory.allocate(f"a{i}", ones.copy()) for i in range(len(program.metadata[".args"]))
    ]
    addresses = addresses[: 2 if name == "collatz" else 3]
    kernarg = pack_kernarg(program, addresses, (4, 1, 1), BLOCK)
    result = launch(program, kernarg, (4, 1, 1), BLOCK, memory, workgroups=[2])
    assert result.workgroups == (2,)
    assert result.counts[0] == 4


@pytest.mark.parametrize("name", [p.name for p in parse_all(FOREIGN.read_text())])
def test_compiled_code_reads_nothing_undefined(name: str) -> None:
    """Nor has it a hazard. Small positive numbers, so that every loop ends."""
    memory, program = Memory(), programs()[name]
    content = 1 + np.arange(16 * N, dtype=np.int32) % 97
    addresses = [
        memory.allocate(f"argument{i}", content.copy())
        for i in range(len(explicit_arguments(program)))
    ]
    block = tuple(program.metadata.get(".reqd_workgroup_size", BLOCK))
    kernarg = pack_kernarg(program, addresses, (2, 1, 1), block)
    report = sanitize(program, kernarg, (2, 1, 1), block, memory)
    assert report.undefined == ()
    assert report.hazards == ()
