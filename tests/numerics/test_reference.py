"""The float64 reference against plain loops and hand values."""

from __future__ import annotations

import math

import pytest
import torch

from mxfp4kernels import layout, reference
from mxfp4kernels.mx import MXTensor, ScaleRule, encode, pack, quantise


def mx(values: torch.Tensor) -> MXTensor:
    """Grid values with all scales 1."""
    rows, depth = values.shape
    scales = torch.full((rows, depth // 32), 127, dtype=torch.uint8)
    return MXTensor(pack(encode(values)), scales)


def random_mx(rows: int, depth: int, seed: int) -> MXTensor:
    generator = torch.Generator().manual_seed(seed)
    return quantise(torch.randn(rows, depth, generator=generator), ScaleRule.GEMM1)


def test_matmul_by_hand() -> None:
    a, b = torch.zeros(1, 32), torch.zeros(2, 32)
    a[0, :3] = torch.tensor([1.0, -2.0, 0.5])
    b[0, :3] = torch.tensor([3.0, 1.5, 4.0])
    b[1, 31] = 6.0
    assert reference.matmul(mx(a), mx(b)).tolist() == [[2.0, 0.0]]


def test_matmul_refuses_different_depths() -> None:
    with pytest.raises(ValueError, match=r"\(1, 32\) and \(1, 64\)"):
        reference.matmul(random_mx(1, 32, 0), random_mx(1, 64, 0))


@pytest.mark.parametrize("gate", [-100.0, -2.0, 0.0, 1.0, 50.0])
def test_silu_product(gate: float) -> None:
    got = reference.silu_product(torch.tensor([gate], dtype=torch.float64), torch.tensor([3.0]))
    assert float(got[0]) == pytest.approx(gate / (1 + math.exp(-gate)) * 3, rel=1e-14)


TOKENS, TOPK, EXPERTS, HIDDEN, INTER = 5, 2, 4, 64, 128


@pytest.fixture
def layer() -> tuple[
    MXTensor, dict[int, MXTensor], dict[int, MXTensor], torch.Tensor, torch.Tensor
]:
    generator = torch.Generator().manual_seed(3)
    ids = torch.rand(TOKENS, EXPERTS, generator=generator).topk(TOPK).indices
    weight = torch.rand(TOKENS, TOPK, generator=generator)
    w1 = {e: random_mx(2 * INTER, HIDDEN, 10 + e) for e in range(EXPERTS)}
    w2 = {e: random_mx(HIDDEN, INTER, 20 + e) for e in range(EXPERTS)}
    return random_mx(TOKENS, HIDDEN, 30), w1, w2, ids, weight


def by_loops(layer: tuple, inter_real: int = INTER) -> torch.Tensor:  # type: ignore[type-arg]
    """The layer token by token, expert by expert; no sorting."""
    a, w1, w2, ids, weight = layer
    out = torch.zeros(TOKENS, HIDDEN, dtype=torch.float64)
    for token in range(TOKENS):
        for k in range(TOPK):
            expert = int(ids[token, k])
            x = a.dequantise()[token]
            both = w1[expert].dequantise() @ x
            gate, up = both[:INTER], both[INTER:]
            y = (gate / (1 + torch.exp(-gate)) * up).to(torch.float32)[None]
            y = quantise(y, ScaleRule.GEMM1).dequantise()[0]
            product = w2[expert].dequantise()[:, :inter_real] @ y[:inter_real]
            out[token] += float(weight[token, k]) * product
    return out


@pytest.mark.parametrize("block_m", [16, 32])
@pytest.mark.parametrize("epilogue", reference.GEMM2_EPILOGUES)
def test_layer_equals_loops_over_tokens(layer: tuple, epilogue: str, block_m: int) -> None:  # type: ignore[type-arg]
    a, w1, w2, ids, weight = layer
    sorting = layout.sort_tokens(ids, weight, EXPERTS, block_m)
    result = reference.moe_layer(a, w1.__getitem__, w2.__getitem__, weight, sorting, epilogue)
    expected = by_loops(layer)
    torch.testing.assert_close(result.exact, expected, rtol=1e-12, atol=1e-9)
    error = (result.output - expected).norm() / expected.norm()
    assert 0 < error < (0.2 if epilogue == "mxfp4" else 2.0**-7)


def test_inter_real_cuts_the_products(layer: tuple) -> None:  # type: ignore[type-arg]
    a, w1, w2, ids, weight = layer
    sorting = layout.sort_tokens(ids, weight, EXPERTS, 16)
    for weights in w2.values():
        weights.scales[:, 96 // 32 :] = 255
    result = reference.moe_layer(
        a, w1.__getitem__, w2.__getitem__, weight, sorting, "nonatomic", inter_real=96
    )
    torch.testing.assert_close(result.exact, by_loops(layer, 96), rtol=1e-12, atol=1e-9)


def test_padding_rows_of_gemm1_are_zero_codes_with_scale_zero(layer: tuple) -> None:  # type: ignore[type-arg]
    a, w1, _, ids, weight = layer
    sorting = layout.sort_tokens(ids, weight, EXPERTS, 16)
    result = reference.gemm1(a, w1.__getitem__, sorting)
    padding = sorting.m_indices == TOKENS
    assert padding.sum() > 0
    assert int(result.quantised.packed[padding].max()) == 0
    assert int(result.quantised.scales[padding].max()) == 0


def test_weights_are_asked_for_once_per_expert_in_use(layer: tuple) -> None:  # type: ignore[type-arg]
    a, w1, _, _, _ = layer
    ids = torch.tensor([[0, 3]] * TOKENS)
    sorting = layout.sort_tokens(ids, torch.ones(TOKENS, 2), EXPERTS, 16)
    asked: list[int] = []

    def weights(expert: int) -> MXTensor:
        asked.append(expert)
        return w1[expert]

    reference.gemm1(a, weights, sorting)
    assert asked == [0, 3]


def test_atomic_rounds_every_addition_to_bf16() -> None:
    """1 + 2**-9 + 2**-9: each addend is lost to the tie, an exact sum would not be."""
    ids = torch.tensor([[0, 1, 2]])
    sorting = layout.sort_tokens(ids, torch.ones(1, 3), 3, 16)
    rows = torch.zeros(sorting.rows, 1, dtype=torch.float64)
    rows[sorting.reverse_sorted.to(torch.int64), 0] = torch.tensor(
        [1.0, 2.0**-8, 2.0**-8], dtype=torch.float64
    )
    assert float(layout.combine_atomic(rows, sorting)) == 1 + 2.0**-7
    assert float(reference.atomic_bf16(rows, sorting)) == 1.0


def test_sizes_that_do_not_belong_together(layer: tuple) -> None:  # type: ignore[type-arg]
    a, w1, w2, ids, weight = layer
    sorting = layout.sort_tokens(ids, weight, EXPERTS, 16)
    with pytest.raises(ValueError, match="a has 2 rows"):
        reference.gemm1(a[:2], w1.__getitem__, sorting)
    with pytest.raises(ValueError, match="inter has 5 rows"):
        reference.gemm2_rows(random_mx(5, INTER, 0), w2.__getitem__, sorting)
    with pytest.raises(ValueError, match="R = "):
        reference.atomic_bf16(torch.zeros(3, 2), sorting)
    with pytest.raises(ValueError, match="unknown epilogue 'none'"):
        reference.moe_layer(a, w1.__getitem__, w2.__getitem__, weight, sorting, "none")
