"""Routing families against the mean active experts that data/published/README.md gives."""

from __future__ import annotations

import pytest
import torch

from mxfp4kernels.numerics.inputs import ROUTINGS, generator
from mxfp4kernels.shapes import REFERENCE_SHAPE, Shape

TOKENS = (4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
ACTIVE = {
    "family-a": (30, 54, 96, 137, 205, 261, 310, 350, 369, 382),
    "family-b": (35, 63, 118, 207, 302, 364, 384, 385, 385, 385),
}


def active(routing: str, tokens: int, seed: int) -> int:
    return ROUTINGS[routing](tokens, REFERENCE_SHAPE, generator(seed)).unique().numel()


@pytest.mark.parametrize("routing", ACTIVE)
def test_active_experts_are_as_many_as_published(routing: str) -> None:
    """The published means are whole numbers of unknown many draws: they must lie where draws do."""
    for tokens, published in zip(TOKENS, ACTIVE[routing], strict=True):
        seeds = range(60 if tokens <= 128 else 8)  # many tokens: slow, and hardly any spread
        draws = torch.tensor([active(routing, tokens, seed) for seed in seeds]).double()
        assert abs(draws.mean() - published) <= 2 * draws.std() + 0.5, tokens


def test_the_families_differ() -> None:
    """From 16 tokens on no draw of one family could be taken for one of the other."""
    for tokens in (16, 64, 256):
        a = max(active("family-a", tokens, seed) for seed in range(20))
        b = min(active("family-b", tokens, seed) for seed in range(20))
        assert a < b


def test_family_a_has_the_last_expert_in_every_token_and_likes_some_others_more() -> None:
    ids = ROUTINGS["family-a"](4096, REFERENCE_SHAPE, generator(3))
    assert (ids == 384).sum(dim=1).eq(1).all()
    routed = torch.bincount(ids[ids < 384], minlength=384).double()
    even = torch.bincount(ROUTINGS["family-b"](4096, REFERENCE_SHAPE, generator(3)).reshape(-1))
    assert routed.std() > 5 * even.double().std()


@pytest.mark.parametrize("routing", ACTIVE)
def test_seeds_and_extreme_shapes(routing: str) -> None:
    choose = ROUTINGS[routing]
    shape = Shape(8, 256, 256, 3)
    assert torch.equal(choose(9, shape, generator(1)), choose(9, shape, generator(1)))
    assert not torch.equal(choose(9, shape, generator(1)), choose(9, shape, generator(2)))
    only_shared = choose(5, Shape(8, 256, 256, 1), generator(0))
    assert only_shared.shape == (5, 1)
    every = choose(2, Shape(3, 256, 256, 3), generator(0))
    assert sorted(every[0].tolist()) == [0, 1, 2]
