"""MXFP4 numbers against values worked out by hand and against exact rational arithmetic."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.mx import (
    BLOCK,
    MXTensor,
    ScaleRule,
    block_amax,
    decode,
    decode_scale,
    encode,
    encode_scaled,
    pack,
    power_of_two,
    quantise,
    scale_byte,
    unpack,
)

GRID = [Fraction(n, 2) for n in (0, 1, 2, 3, 4, 6, 8, 12)]
INF, NAN = float("inf"), float("nan")


def f32(bits: int) -> torch.Tensor:
    return torch.tensor(struct.unpack("<f", struct.pack("<I", bits)), dtype=torch.float32)


def f32_bits(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


# Value and code; ties go to the even code, 5 and up saturates at 6.
HAND_CODES = [
    (0.0, 0), (0.24, 0), (0.25, 0), (0.26, 1), (0.5, 1), (0.74, 1), (0.75, 2), (1.0, 2),
    (1.25, 2), (1.26, 3), (1.5, 3), (1.74, 3), (1.75, 4), (2.0, 4), (2.5, 4), (2.51, 5), (3.0, 5),
    (3.49, 5), (3.5, 6), (4.0, 6), (5.0, 6), (5.01, 7), (6.0, 7), (7.0, 7), (1e30, 7), (INF, 7),
    (NAN, 7),
]  # fmt: skip


@pytest.mark.parametrize(("value", "code"), HAND_CODES)
def test_encode_hand_values(value: float, code: int) -> None:
    assert encode(torch.tensor([value])).tolist() == [code]
    assert encode(torch.tensor([-value])).tolist() == [code + 8]


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_encode_is_nearest_with_ties_to_even(value: float) -> None:
    code = int(encode(torch.tensor([value], dtype=torch.float64))[0])
    size = min(abs(Fraction(value)), Fraction(6))
    distances = [abs(size - step) for step in GRID]
    nearest = [i for i, distance in enumerate(distances) if distance == min(distances)]
    expected = nearest[0] if len(nearest) == 1 else next(i for i in nearest if i % 2 == 0)
    assert code & 7 == expected
    assert bool(code & 8) == (struct.pack(">d", value)[0] >> 7 == 1)


@given(st.integers(0, 15))
def test_every_code_survives_decode_and_encode(code: int) -> None:
    value = decode(torch.tensor([code], dtype=torch.uint8))
    assert encode(value).tolist() == [code]


def test_first_element_is_in_the_low_nibble() -> None:
    codes = torch.tensor([1, 2, 15, 0], dtype=torch.uint8)
    assert pack(codes).tolist() == [0x21, 0x0F]
    assert unpack(pack(codes)).tolist() == [1, 2, 15, 0]


@given(st.lists(st.integers(0, 255), min_size=1, max_size=64))
def test_pack_inverts_unpack(data: list[int]) -> None:
    packed = torch.tensor(data, dtype=torch.uint8)
    assert torch.equal(pack(unpack(packed)), packed)


# Largest magnitude, byte. 1.75 * 2**e moves up: 1.75 -> 3.5 on the grid, just below -> 6.99.
HAND_SCALES = [
    (0.0, 0),
    (1.0, 125),
    (1.7499999, 125),
    (1.75, 126),
    (2.0, 126),
    (3.4999998, 126),
    (3.5, 127),
    (6.0, 127),
    (7.0, 128),
    (2.0**-126, 0),
    (1.75 * 2.0**-125, 1),
    (2.0**-124, 1),
    (2.0**-123, 2),
    (2.0**127, 252),
]


@pytest.mark.parametrize("rule", list(ScaleRule))
@pytest.mark.parametrize(("amax", "byte"), HAND_SCALES)
def test_scale_hand_values(rule: ScaleRule, amax: float, byte: int) -> None:
    assert scale_byte(torch.tensor([amax], dtype=torch.float32), rule).tolist() == [byte]


def test_rules_differ_only_at_the_top() -> None:
    """From 1.75 * 2**127 on the float form has an infinity or a NaN to divide by four."""
    for bits in (0x7F600000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000):
        amax = f32(bits)
        assert scale_byte(amax, ScaleRule.GEMM1).tolist() == [254]
        assert scale_byte(amax, ScaleRule.ACTIVATION).tolist() == [253]
    assert scale_byte(f32(0x7FE00000), ScaleRule.ACTIVATION).tolist() == [254]


def test_gemm2_truncates_before_it_looks_for_1_75() -> None:
    """0x3FDFFFFF is just below 1.75 and stays below; low mantissa bits never carry."""
    assert scale_byte(f32(0x3FDFFFFF), ScaleRule.GEMM2).tolist() == [125]
    assert scale_byte(f32(0x3FE0FFFF), ScaleRule.GEMM2).tolist() == [126]


@given(st.integers(0, 0x7F7FFFFF))
def test_scale_rule_in_plain_integers(bits: int) -> None:
    by_integer = min(max((bits + 0x200000 >> 23) - 2, 0), 254)
    assert scale_byte(f32(bits), ScaleRule.ACTIVATION).tolist() == [by_integer]
    truncated = min(max(((bits & 0xFFFF0000) + 0x200000 >> 23) - 2, 0), 254)
    assert scale_byte(f32(bits), ScaleRule.GEMM2).tolist() == [truncated]


@given(st.integers(f32_bits(2.0**-123), f32_bits(2.0**126)))
def test_scaled_maximum_lands_between_3_5_and_7(bits: int) -> None:
    amax = f32(bits)
    byte = scale_byte(amax, ScaleRule.GEMM1)
    ratio = float(amax.to(torch.float64) / decode_scale(byte))
    assert 3.5 <= ratio < 7


def test_scale_bytes_decode_to_powers_of_two() -> None:
    values = decode_scale(torch.tensor([0, 1, 127, 254, 255], dtype=torch.uint8))
    assert values[:4].tolist() == [2.0**-127, 2.0**-126, 1.0, 2.0**127]
    assert bool(values[4].isnan())


def test_power_of_two_is_exact_over_the_whole_range() -> None:
    exponents = torch.arange(-1022, 1024)
    assert power_of_two(exponents).tolist() == [2.0**e for e in range(-1022, 1024)]


def test_zero_block_has_scale_zero_and_keeps_signs() -> None:
    values = torch.zeros(1, BLOCK)
    values[0, 3] = -0.0
    result = quantise(values, ScaleRule.GEMM1)
    assert result.scales.tolist() == [[0]]
    assert result.codes().tolist() == [[8 if i == 3 else 0 for i in range(BLOCK)]]


@pytest.mark.parametrize("byte", [0, 254])
def test_extreme_scales_quantise_exactly(byte: int) -> None:
    """A block of grid values times 2**-127 or 2**127 comes back as its codes."""
    codes = torch.arange(BLOCK, dtype=torch.uint8).reshape(1, BLOCK) % 16
    scales = torch.tensor([[byte]], dtype=torch.uint8)
    values = MXTensor(pack(codes), scales).dequantise()
    assert torch.equal(encode_scaled(values, scales), codes)


def test_infinity_and_nan_in_activations() -> None:
    values = torch.ones(2, BLOCK, dtype=torch.bfloat16)
    values[0, 5], values[1, 6] = INF, NAN
    result = quantise(values, ScaleRule.ACTIVATION)
    assert result.scales.tolist() == [[253], [253]]
    assert int(result.codes()[0, 5]) == 7
    assert int(result.codes()[1, 6]) == 7
    assert int(result.codes()[0, 0]) == 0, "an infinity leaves nothing of its block"


def test_nan_does_not_count_as_f32_maximum() -> None:
    """Unless all eight elements of a lane are NaN."""
    values = torch.ones(1, BLOCK)
    values[0, :7] = NAN
    assert block_amax(values, ScaleRule.GEMM1).tolist() == [[1.0]]
    values[0, 7] = NAN
    assert bool(block_amax(values, ScaleRule.GEMM1).isnan())
    assert quantise(values, ScaleRule.GEMM1).scales.tolist() == [[254]]


@given(st.integers(0, 2**32 - 1), st.integers(-100, 100))
def test_quantisation_error_is_at_most_half_a_step_below_saturation(seed: int, power: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(4, 64, generator=generator) * 2.0**power
    result = quantise(values, ScaleRule.GEMM1)
    unit = decode_scale(result.scales).repeat_interleave(BLOCK, dim=-1)
    error = (result.dequantise() - values.to(torch.float64)).abs() / unit
    ratio = values.to(torch.float64).abs() / unit
    half_step = torch.where(ratio < 2, 0.25, torch.where(ratio < 4, 0.5, 1.0))
    assert bool((error <= half_step).all())


@given(st.integers(0, 2**32 - 1))
def test_quantised_values_quantise_to_themselves(seed: int) -> None:
    """Unless the maximum came down to 3 or below, its scale and codes do not change."""
    generator = torch.Generator().manual_seed(seed)
    once = quantise(torch.randn(4, 64, generator=generator), ScaleRule.GEMM1)
    twice = quantise(once.dequantise().to(torch.float32), ScaleRule.GEMM1)
    assert torch.equal(once.dequantise(), twice.dequantise())


def test_mxtensor_rows_and_leading_columns() -> None:
    tensor = quantise(torch.randn(4, 128), ScaleRule.GEMM1)
    whole = tensor.dequantise()
    assert tensor.shape == (4, 128)
    assert torch.equal(tensor[1:3].dequantise(), whole[1:3])
    assert torch.equal(tensor.first(96).dequantise(), whole[:, :96])


@pytest.mark.parametrize("elements", [0, 48, 160])
def test_first_refuses_parts_of_blocks(elements: int) -> None:
    tensor = quantise(torch.zeros(1, 128), ScaleRule.GEMM1)
    with pytest.raises(ValueError, match=str(elements)):
        tensor.first(elements)


def test_wrong_inputs_are_named() -> None:
    zeros = torch.zeros(1, 64)
    with pytest.raises(TypeError, match=r"torch\.bfloat16"):
        quantise(zeros, ScaleRule.ACTIVATION)
    with pytest.raises(TypeError, match=r"torch\.float64"):
        scale_byte(zeros.to(torch.float64), ScaleRule.GEMM1)
    with pytest.raises(ValueError, match="48"):
        quantise(torch.zeros(1, 48), ScaleRule.GEMM1)
    with pytest.raises(TypeError, match=r"torch\.int64"):
        encode(torch.arange(4))
    with pytest.raises(ValueError, match="16"):
        decode(torch.tensor([16], dtype=torch.uint8))
    with pytest.raises(ValueError, match="3"):
        pack(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(ValueError, match="scales"):
        MXTensor(torch.zeros(1, 32, dtype=torch.uint8), torch.zeros(1, 3, dtype=torch.uint8))
    with pytest.raises(TypeError, match="packed"):
        MXTensor(torch.zeros(1, 32), torch.zeros(1, 2, dtype=torch.uint8))
