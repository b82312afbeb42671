"""Problems are seeded, cover the cases they claim, and fit the launch that they describe."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mxfp4kernels.numerics.inputs import ROUTINGS
from mxfp4kernels.numerics.problem import Problem, Tile
from mxfp4kernels.numerics.verification import sampled_workgroups
from mxfp4kernels.shapes import REFERENCE_SHAPE, VARIANTS, Shape, ShapeError, Variant, find_variant

SMALL = Shape(6, 256, 256, 2)
BM32 = find_variant("gemm1", "bm32_nt")
PERSISTENT = find_variant("gemm2", "bm128_nonatomic")


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_same_seed_same_buffers_other_seed_other_inputs(variant: Variant) -> None:
    def data(seed: int) -> dict[str, np.ndarray | None]:
        return {a.name: a.data for a in Problem(variant, SMALL, 5, seed=seed).arguments([0, 1])}

    first, again, other = data(1), data(1), data(2)
    for name, content in first.items():
        assert np.array_equal(content, again[name]) or content is again[name] is None
    weights = "w1" if variant.kernel == "gemm1" else "w2"
    assert not np.array_equal(first[weights], other[weights])


@pytest.mark.parametrize("routing", ROUTINGS)
def test_routings_choose_distinct_experts(routing: str) -> None:
    ids = Problem(BM32, SMALL, 9, routing).topk_ids
    assert ids.shape == (9, 2)
    assert all(len(set(row)) == 2 for row in ids.tolist())
    assert 0 <= int(ids.min()) <= int(ids.max()) < 6


def test_routings_do_what_their_names_say() -> None:
    def counts(routing: str) -> list[int]:
        ids = Problem(BM32, SMALL, 9, routing).topk_ids
        return torch.bincount(ids.reshape(-1), minlength=6).tolist()

    assert counts("balanced") == [3] * 6
    assert counts("same") == [0, 0, 0, 0, 9, 9]
    assert counts("sparse")[1::2] == [0, 0, 0]


def test_routing_weights_sum_to_one() -> None:
    weight = Problem(BM32, SMALL, 9).topk_weight
    torch.testing.assert_close(weight.sum(dim=1), torch.ones(9))


GEMM1_PARAMETERS = """
    a_quant a_scale w1 w1_scale sorted_expert_ids cumsum m_indices n_tokens out_q out_scale hidden
"""
GEMM2_PARAMETERS = """
    a_q a_scale w2 w2_scale sorted_expert_ids cumsum sorted_token_ids sorted_weights n_tokens
    out out_scale
"""


@pytest.mark.parametrize(
    ("variant", "names"), [(BM32, GEMM1_PARAMETERS), (PERSISTENT, GEMM2_PARAMETERS)]
)
def test_arguments_follow_the_parameter_order(variant: Variant, names: str) -> None:
    assert [a.name for a in Problem(variant, SMALL, 1).arguments([])] == names.split()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_shapes_and_bytes_of_arguments_agree(variant: Variant) -> None:
    widths = {"sorted_expert_ids": 4, "cumsum": 4, "m_indices": 4, "sorted_token_ids": 4}
    widths |= {"sorted_weights": 4, "hidden": 2}
    if variant.epilogue in ("atomic", "nonatomic", "cshuffle"):
        widths["out"] = 2
    for argument in Problem(variant, SMALL, 3).arguments([]):
        if argument.data is not None:
            elements = int(np.prod(argument.shape))
            assert argument.data.size == elements * widths.get(argument.name, 1), argument.name


def test_gemm1_a_is_sized_by_tokens_exactly() -> None:
    """Index M of padding rows must fall past the end."""
    arguments = {a.name: a for a in Problem(BM32, SMALL, 5).arguments([])}
    assert arguments["a_quant"].data is not None
    assert arguments["a_quant"].data.size == 5 * 256 // 2


@pytest.mark.parametrize("tokens", [1, 130])
@pytest.mark.parametrize("variant", [BM32, PERSISTENT], ids=str)
def test_workgroups_cover_every_tile_once(variant: Variant, tokens: int) -> None:
    problem = Problem(variant, SMALL, tokens)
    tiles = [tile for group in range(problem.workgroups) for tile in problem.tiles_of(group)]
    expected = {Tile(m, n) for m in range(problem.sorting.blocks) for n in range(problem.n_blocks)}
    assert len(tiles) == len(expected)
    assert set(tiles) == expected


def test_persistent_grid() -> None:
    """More than 1024 tiles run on 256 workgroups, each XCD over a contiguous range."""
    problem = Problem(PERSISTENT, REFERENCE_SHAPE, 1024)
    assert problem.workgroups == 256
    total = problem.sorting.blocks * problem.n_blocks
    numbers = [tile.m_block * 28 + tile.n_block for tile in problem.tiles_of(8)]
    assert numbers[0] == 1
    assert numbers[:3] == [1, 33, 65]
    everything = [t for group in range(256) for t in problem.tiles_of(group)]
    assert len(everything) == len(set(everything)) == total
    few = Problem(PERSISTENT, SMALL, 1)
    assert few.workgroups == few.m_blocks * few.n_blocks


def test_samples_hold_the_cases_that_matter() -> None:
    problem = Problem(BM32, REFERENCE_SHAPE, 512)
    groups = sampled_workgroups(problem)
    tiles = [tile for group in groups for tile in problem.tiles_of(group)]
    last = problem.sorting.blocks - 1
    assert {Tile(0, 0), Tile(0, 3), Tile(last, 0), Tile(last, 3)} <= set(tiles)
    padding = (problem.sorting.m_indices == 512).reshape(-1, 32)
    assert any(bool(padding[tile.m_block].any()) for tile in tiles)
    assert any(not problem.tiles_of(group) for group in groups), "one past the last tile"
    assert len(tiles) < 20


def test_weights_beyond_inter_real_are_poison() -> None:
    problem = Problem(PERSISTENT, Shape(2, 256, 256, 1, inter_real=128), 1)
    scales = problem.weights(0).scales
    assert bool((scales[:, 4:] == 255).all())
    assert bool((scales[:, :4] != 255).all())


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at most 16777214, .* got 99999999999"):
        Problem(BM32, SMALL, 99999999999)
    with pytest.raises(ValueError, match="tokens must be at least 1, got 0"):
        Problem(BM32, SMALL, 0)
    with pytest.raises(ValueError, match="unknown routing 'none'"):
        Problem(BM32, SMALL, 1, "none")
    with pytest.raises(ShapeError, match="hidden"):
        Problem(BM32, Shape(2, 300, 256, 1), 1)
    with pytest.raises(ValueError, match=r"0\.\.5, got 6"):
        Problem(BM32, SMALL, 1).weights(6)


def test_edge_content_holds_the_edges() -> None:
    problem = Problem(BM32, Shape(2, 512, 128, 1), 4, content="edges")
    scales = problem.a.scales
    assert {0, 254} <= set(scales.reshape(-1).tolist())
    assert {0, 254} <= set(problem.weights(0).scales.reshape(-1).tolist())
    maxima = problem.hidden.to(torch.float64).abs().reshape(4, -1, 32).amax(dim=-1)[0].tolist()
    assert {0.0, 1.75, 1.7421875} <= set(maxima)
    assert bool((problem.hidden[1] == 0).all())
    products = problem.a.dequantise() @ problem.weights(0).dequantise().T
    assert float(products.abs().max()) < 2.0**20, "extreme scales meet their opposite"


def test_special_content_is_for_bf16_activations() -> None:
    inline = find_variant("gemm1", "bm16_iq")
    hidden = Problem(inline, SMALL, 4, content="special").hidden
    assert [bool(row.isfinite().all()) for row in hidden] == [False, False, False, True]
    with pytest.raises(ValueError, match="bm16_iq"):
        Problem(BM32, SMALL, 4, content="special")
    with pytest.raises(ValueError, match="unknown content 'odd'"):
        Problem(BM32, SMALL, 4, content="odd")
