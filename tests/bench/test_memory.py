"""What a plan says of device memory, against what kernels and problems take."""

from __future__ import annotations

import pytest

from mxfp4kernels.bench.cases import Case, Setting
from mxfp4kernels.bench.device import GFX950_CACHES, GFX950_MEMORY
from mxfp4kernels.bench.memory import (
    buffer_bytes,
    bytes_at_least,
    launch_seconds_at_least,
    require_room,
    sets_at_least,
)
from mxfp4kernels.flags import NONE
from mxfp4kernels.kernels import device_kernel
from mxfp4kernels.numerics.problem import Problem
from mxfp4kernels.shapes import REFERENCE_SHAPE, VARIANTS, Variant, find_variant, parse_shape

SMALL = parse_shape("4x512x256x2")


def case_of(variant: Variant, tokens: int) -> Case:
    return Case(variant, REFERENCE_SHAPE, tokens, "family-a", 0, (Setting(),))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("tokens", [1, 5, 300])
def test_sizes_are_those_of_the_kernel_and_its_buffers(variant: Variant, tokens: int) -> None:
    problem = Problem(variant, SMALL, tokens)
    sizes = buffer_bytes(variant, SMALL, tokens)
    assert sizes == device_kernel(variant, SMALL, NONE).buffer_bytes(tokens, problem.m_blocks)
    arguments = {one.name: one.data.size for one in problem.arguments([0]) if one.data is not None}
    # A problem has some buffers that the variant does not read: a plan may promise too little.
    assert arguments.keys() >= sizes.keys()
    for name, size in sizes.items():
        assert size <= arguments[name] <= size + 8, name


def test_few_tokens_need_more_sets_than_many() -> None:
    few, many = (case_of(find_variant("gemm1", "bm128"), tokens) for tokens in (4, 16384))
    assert sets_at_least(few, "warm") == sets_at_least(many, "warm") == 1
    assert sets_at_least(many, "rotating") == 2
    one = bytes_at_least(few, "warm")
    assert bytes_at_least(few, "rotating") == sets_at_least(few, "rotating") * one
    # 36 of 385 experts at most, so a launch reads at most that share of the weights.
    assert (sets_at_least(few, "rotating") - 1) * one * 36 // 385 >= 2 * GFX950_CACHES


@pytest.mark.parametrize(
    ("name", "tokens", "seconds"),
    [
        # 36 MB of nine experts' weights at 8 TB/s; 2 x 9 x 16384 x 7168 x 1024 operations at 10 PF.
        ("gemm1/bm16_iq", 4, 9 * 7168 * 1024 / 2 / 8e12),
        ("gemm1/bm128", 16384, 2 * 9 * 16384 * 7168 * 1024 / 1.0066e16),
        ("gemm2/bm128_nonatomic", 16384, 2 * 9 * 16384 * 512 * 7168 / 1.0066e16),
    ],
)
def test_a_launch_takes_no_less_than_the_peaks_allow(name: str, tokens: int, seconds) -> None:
    case = case_of(find_variant(*name.split("/")), tokens)
    assert launch_seconds_at_least(case) == pytest.approx(seconds, rel=2e-2)


def test_what_does_not_fit_is_refused_and_what_does_is_not() -> None:
    variant = find_variant("gemm2", "bm128_nonatomic")
    fits, not_quite = case_of(variant, 1_160_000), case_of(variant, 1_170_000)
    assert bytes_at_least(fits, "rotating") <= GFX950_MEMORY < bytes_at_least(not_quite, "rotating")
    require_room(fits, "rotating")
    with pytest.raises(ValueError, match=r"2 sets of buffers take at least 289 GiB.* has 288; use"):
        require_room(not_quite, "rotating")
    require_room(not_quite, "warm")


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_buffers_out_of_reach_are_those_that_the_kernel_refuses(variant: Variant) -> None:
    kernel = device_kernel(variant, REFERENCE_SHAPE, NONE)
    outcomes = set()
    for tokens in (100_000, 290_000, 310_000, 590_000, 1_250_000, 2_000_000, 4_000_000):
        case = case_of(variant, tokens)
        sizes = buffer_bytes(variant, REFERENCE_SHAPE, tokens)
        unreachable = any(size >= kernel._limit(name) for name, size in sizes.items())
        outcomes.add(unreachable)
        if unreachable:
            with pytest.raises(ValueError, match=r"byte offsets reach only 4294967296; measure"):
                require_room(case, "warm")
        elif bytes_at_least(case, "warm") <= GFX950_MEMORY:
            require_room(case, "warm")
    assert outcomes == {False, True}
