"""The bounds hold for f32 arithmetic in any order, and are zero exactly where nothing rounds."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.mx import BLOCK, MXTensor
from mxfp4kernels.numerics.bounds import bounded_product, silu_bound
from mxfp4kernels.reference import silu_product


def random_mx(rows: int, depth: int, seed: int, spread: int) -> MXTensor:
    """Scales over ``spread`` powers of two either way."""
    generator = torch.Generator().manual_seed(seed)
    packed = torch.randint(0, 256, (rows, depth // 2), dtype=torch.uint8, generator=generator)
    scales = torch.randint(127 - spread, 128 + spread, (rows, depth // BLOCK), generator=generator)
    return MXTensor(packed, scales.to(torch.uint8))


def f32_sums(a: MXTensor, b: MXTensor, order: torch.Tensor) -> torch.Tensor:
    """Block products added one after the other in f32."""
    total = torch.zeros(a.shape[0], b.shape[0], dtype=torch.float32)
    left, right = a.dequantise(), b.dequantise()
    for block in order.tolist():
        span = slice(block * BLOCK, (block + 1) * BLOCK)
        total += (left[:, span] @ right[:, span].T).to(torch.float32)
    return total


@given(st.integers(0, 2**31), st.sampled_from([0, 2, 8, 14]))
def test_every_order_of_additions_stays_within_the_bound(seed: int, spread: int) -> None:
    a, b = random_mx(4, 1024, seed, spread), random_mx(8, 1024, seed + 1, spread)
    exact, bound = bounded_product(a, b)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(4):
        order = torch.randperm(1024 // BLOCK, generator=generator)
        error = (f32_sums(a, b, order).to(torch.float64) - exact).abs()
        assert bool((error <= bound).all())


def test_narrow_scales_leave_nothing_to_round_and_wide_ones_do() -> None:
    _, narrow = bounded_product(random_mx(4, 1024, 0, 2), random_mx(8, 1024, 1, 2))
    assert float(narrow.max()) == 0
    a, b = random_mx(4, 1024, 0, 14), random_mx(8, 1024, 1, 14)
    exact, wide = bounded_product(a, b)
    assert float(wide.min()) > 0
    assert bool((f32_sums(a, b, torch.arange(32)).to(torch.float64) != exact).any())


def test_blocks_of_zeros_do_not_narrow_the_unit() -> None:
    """A zero block's scale byte is 0, which says nothing about the sums."""
    a = random_mx(1, 64, 0, 0)
    a.packed[:, 16:] = 0
    a.scales[:, 1] = 0
    _, bound = bounded_product(a, random_mx(2, 64, 1, 0))
    assert float(bound.max()) == 0


@given(st.integers(0, 2**31), st.floats(0.01, 40))
def test_silu_in_f32_stays_within_the_bound(seed: int, size: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    gate, up = (torch.randn(64, 64, generator=generator) * size for _ in range(2))
    log2_e = torch.tensor(1.4426950408889634, dtype=torch.float32)
    in_f32 = gate * (1 / (1 + torch.exp2(-gate * log2_e))) * up
    gate64, up64 = gate.to(torch.float64), up.to(torch.float64)
    zero = torch.zeros_like(gate64)
    bound = silu_bound(gate64, up64, zero, zero)
    exact = silu_product(gate64, up64)
    assert bool(((in_f32.to(torch.float64) - exact).abs() <= bound).all())
    normal = gate > -80
    assert bool((bound <= 1e-4 * exact.abs())[normal].all()), "no more than rounding"


@given(st.integers(0, 2**31))
def test_errors_of_gate_and_up_carry_over(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    gate, up = (torch.randn(64, dtype=torch.float64, generator=generator) * 5 for _ in range(2))
    shift, other = (torch.rand(64, dtype=torch.float64, generator=generator) for _ in range(2))
    bound = silu_bound(gate, up, 0.01 * shift, 0.01 * other)
    moved = silu_product(gate + 0.01 * shift, up - 0.01 * other)
    assert bool(((moved - silu_product(gate, up)).abs() <= bound).all())


def test_a_value_that_is_no_number_has_no_error() -> None:
    gate = torch.tensor([torch.inf, -torch.inf, torch.nan], dtype=torch.float64)
    one = torch.ones(3, dtype=torch.float64)
    assert silu_bound(gate, one, one, one).tolist() == [0, 0, 0]
