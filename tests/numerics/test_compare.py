"""The comparison lets pass what rounding allows, counts it, and nothing else."""

from __future__ import annotations

import math

import pytest
import torch

from mxfp4kernels.mx import BLOCK, MXTensor, ScaleRule, pack, quantise
from mxfp4kernels.numerics.compare import (
    Comparison,
    bf16_position,
    compare_bf16,
    compare_mxfp4,
    ends,
    round_bf16,
)


def block(*values: float) -> torch.Tensor:
    """One row of 32 values with a largest magnitude of 6, so that the scale is 1 (byte 127)."""
    row = torch.zeros(1, BLOCK, dtype=torch.float64)
    row[0, -1] = 6.0
    row[0, : len(values)] = torch.tensor(values, dtype=torch.float64)
    return row


def written(value: torch.Tensor) -> MXTensor:
    return quantise(value.to(torch.float32), ScaleRule.GEMM1)


def with_code(tensor: MXTensor, column: int, code: int) -> MXTensor:
    codes = tensor.codes()
    codes[0, column] = code
    return MXTensor(pack(codes), tensor.scales)


NO_BOUND = torch.zeros(1, BLOCK, dtype=torch.float64)


def test_equal_output_has_no_mismatch() -> None:
    value = block(0.7, -2.2, 0.1)
    result = compare_mxfp4(written(value), value, NO_BOUND, ScaleRule.GEMM1)
    assert (result.elements, result.mismatches, result.boundary_cases) == (32, 0, 0)
    assert result.max_ulp == 0
    assert result.max_abs == pytest.approx(0.2)


def test_neighbouring_code_is_a_mismatch() -> None:
    value = block(0.7)
    got = with_code(written(value), 0, 2)
    result = compare_mxfp4(got, value, NO_BOUND, ScaleRule.GEMM1)
    assert (result.mismatches, result.max_ulp) == (1, 1)
    wrong = result.wrong[0]
    assert (wrong.row, wrong.column, wrong.got, wrong.low, wrong.high) == (0, 0, 1.0, 0.5, 0.5)


def test_near_a_rounding_point_either_neighbour_may_come() -> None:
    value = block(0.7499)
    bound = torch.full_like(value, 0.001)
    for code, differs in ((1, 0), (2, 1)):
        got = with_code(written(value), 0, code)
        result = compare_mxfp4(got, value, bound, ScaleRule.GEMM1)
        assert (result.mismatches, result.boundary_differences) == (0, differs)
        assert result.boundary_cases == 1 + (BLOCK - 2), "zeros may become -0: 30 more"
    got = with_code(written(value), 0, 3)
    assert compare_mxfp4(got, value, bound, ScaleRule.GEMM1).mismatches == 1


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_an_exact_zero_counts(zero: float) -> None:
    value = block(zero)
    right = 8 if math.copysign(1.0, zero) < 0 else 0
    for code, mismatches in ((right, 0), (8 - right, 1)):
        got = with_code(written(value), 0, code)
        result = compare_mxfp4(got, value, NO_BOUND, ScaleRule.GEMM1)
        assert (result.mismatches, result.boundary_cases) == (mismatches, 0)
        assert result.boundary_differences == 0


def test_a_zero_within_a_bound_may_have_either_sign_and_is_counted() -> None:
    value = block(-0.0)
    bound = NO_BOUND.clone()
    bound[0, 0] = 2.0**-30
    for code, differs in ((8, 0), (0, 1)):
        got = with_code(written(value), 0, code)
        result = compare_mxfp4(got, value, bound, ScaleRule.GEMM1)
        assert (result.mismatches, result.boundary_cases) == (0, 1)
        assert result.boundary_differences == differs


def test_another_scale_is_a_mismatch_of_the_block_even_if_values_agree() -> None:
    """0.5 with scale 2 is 1 with scale 1: the same number in another form."""
    value = torch.zeros(1, BLOCK, dtype=torch.float64)
    value[0, 0] = 4.0
    got = written(value)
    assert got.scales.tolist() == [[127]]
    codes = torch.zeros(1, BLOCK, dtype=torch.uint8)
    codes[0, 0] = 4
    other = MXTensor(pack(codes), torch.tensor([[128]], dtype=torch.uint8))
    assert torch.equal(other.dequantise(), got.dequantise())
    result = compare_mxfp4(other, value, NO_BOUND, ScaleRule.GEMM1)
    assert result.mismatches == BLOCK
    assert "scale byte 128" in str(result.wrong[0])


def test_scale_near_1_75_may_be_either_and_codes_follow_it() -> None:
    """Just below 3.5: byte 126 and 6, or byte 127 and 3 (a tie would be 4)."""
    value = torch.zeros(1, BLOCK, dtype=torch.float64)
    value[0, 0] = 3.4999
    bound = torch.zeros_like(value)
    bound[0, 0] = 0.001
    for byte, code in ((126, 7), (127, 5), (127, 6)):
        codes = torch.zeros(1, BLOCK, dtype=torch.uint8)
        codes[0, 0] = code
        got = MXTensor(pack(codes), torch.tensor([[byte]], dtype=torch.uint8))
        result = compare_mxfp4(got, value, bound, ScaleRule.GEMM1)
        assert result.mismatches == 0
        assert result.boundary_cases == BLOCK
    codes[0, 0] = 4
    got = MXTensor(pack(codes), torch.tensor([[127]], dtype=torch.uint8))
    assert compare_mxfp4(got, value, bound, ScaleRule.GEMM1).mismatches == 1


def bf16(*values: float) -> torch.Tensor:
    return torch.tensor([values], dtype=torch.bfloat16)


def test_bf16_positions_are_neighbours_across_zero() -> None:
    numbers = [-1.0, -(2.0**-133), 0.0, -0.0, 2.0**-133, 1.0, 1.0078125]
    positions = bf16_position(bf16(*numbers))[0].tolist()
    assert positions[1:5] == [-2, 0, -1, 1]
    assert positions[6] - positions[5] == 1
    assert positions[0] == -1 - positions[5]


def test_ends_of_an_interval() -> None:
    value = torch.tensor([-0.0, 0.0, 1.0, math.inf], dtype=torch.float64)
    exact = torch.zeros_like(value)
    for end in ends(value, exact):
        assert torch.equal(end.view(torch.int64), value.view(torch.int64)), "bit for bit"
    low, high = ends(value[:3], exact[:3] + 0.25)
    assert low.tolist() == [-0.25, -0.25, 0.75]
    assert high.tolist() == [0.25, 0.25, 1.25]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_the_sign_of_an_exact_bf16_zero_counts(zero: float) -> None:
    value = torch.tensor([[zero]], dtype=torch.float64)
    low, high = (round_bf16(end) for end in ends(value, torch.zeros_like(value)))
    for got, mismatches in ((zero, 0), (-zero, 1)):
        result = compare_bf16(bf16(got), value, low, round_bf16(value), high)
        assert (result.mismatches, result.boundary_cases) == (mismatches, 0)


def test_bf16_interval() -> None:
    value = torch.tensor([[1.003]], dtype=torch.float64)
    low, high = ends(value, torch.full_like(value, 0.002))
    interval = [round_bf16(number) for number in (low, value, high)]
    assert [float(number) for number in interval] == [1.0, 1.0, 1.0078125]
    for got, mismatches, differences in ((1.0, 0, 0), (1.0078125, 0, 1), (1.015625, 1, 0)):
        result = compare_bf16(bf16(got), value, *interval)
        assert (result.mismatches, result.boundary_differences) == (mismatches, differences)
        assert result.boundary_cases == 1


@pytest.mark.parametrize("bad", [math.nan, -math.nan, math.inf])
def test_not_a_number_is_a_mismatch(bad: float) -> None:
    value = torch.tensor([[1.0]], dtype=torch.float64)
    one = bf16(1.0)
    assert compare_bf16(bf16(bad), value, one, one, one).mismatches == 1


def test_parts_add_up() -> None:
    value = torch.tensor([[3.0]], dtype=torch.float64)
    good = compare_bf16(bf16(3.0), value, bf16(3.0), bf16(3.0), bf16(3.0))
    bad = compare_bf16(bf16(4.0), value, bf16(3.0), bf16(3.0), bf16(3.0))
    both = Comparison() + good + bad
    assert (both.elements, both.mismatches, both.max_abs) == (2, 1, 1.0)
    assert both.cos == pytest.approx(21 / math.sqrt(25 * 18))
    assert len(both.wrong) == 1
    assert math.isnan(Comparison().cos)


def test_a_nan_must_become_the_largest_magnitude() -> None:
    value = block(math.nan)
    for code, mismatches in ((7, 0), (15, 0), (6, 1), (0, 1)):
        got = with_code(written(value), 0, code)
        assert compare_mxfp4(got, value, NO_BOUND, ScaleRule.GEMM1).mismatches == mismatches
