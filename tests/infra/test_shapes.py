"""Shapes that are refused, and which variant runs at which number of tokens."""

from __future__ import annotations

import pytest

from mxfp4kernels.shapes import (
    KERNELS,
    MAX_TOPK,
    VARIANTS,
    Shape,
    ShapeError,
    dispatch,
    dispatched_tokens,
    parse_shape,
)


def test_more_experts_per_token_than_a_sorted_id_has_room_for() -> None:
    assert Shape(256, 512, 512, MAX_TOPK).topk == 128
    with pytest.raises(ShapeError, match="topk must be at most 128, got 129"):
        parse_shape("256x512x512x129")


@pytest.mark.parametrize("text", ["８x512x512x2", "8x512x512x٢", "8x512x512x2r２56"])  # noqa: RUF001
def test_digits_of_other_scripts_are_no_shape(text: str) -> None:
    with pytest.raises(ShapeError, match="unknown shape"):
        parse_shape(text)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("lossy", [False, True])
def test_ranges_say_what_dispatch_does(kernel: str, lossy: bool) -> None:
    for tokens in (1, 16, 128, 129, 512, 513, 2048, 2049, 4096, 4097, 16384):
        ranges = {
            variant: dispatched_tokens(variant) for variant in VARIANTS if variant.kernel == kernel
        }
        inside = {
            variant
            for variant, found in ranges.items()
            if found is not None and found[0] <= tokens and (found[1] is None or tokens <= found[1])
        }
        chosen = dispatch(kernel, tokens, lossy_gemm2=lossy)
        assert chosen in inside
        assert {variant.name for variant in inside - {chosen}} <= {"bm128_mxfp4", "bm128_nonatomic"}


def test_a_variant_that_the_tuning_never_picks() -> None:
    (cshuffle,) = (variant for variant in VARIANTS if variant.name == "bm32_cshuffle")
    assert dispatched_tokens(cshuffle) is None
