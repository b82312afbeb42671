"""The whole layer: gemm1's bytes are gemm2's input, on every pair that dispatch uses."""

from __future__ import annotations

from collections.abc import Sequence

import oracle
import pytest

from mxfp4kernels.numerics.layer import run_layer
from mxfp4kernels.numerics.problem import Argument, Problem
from mxfp4kernels.shapes import Shape, find_variant

SHAPE = Shape(3, 256, 256, 2)
PAIRS = [
    ("bm16_iq", "bm16_atomic_nt"),
    ("bm32_nt", "bm32_atomic_nt"),
    ("bm32_cached", "bm32_atomic"),
    ("bm128", "bm128_nonatomic"),
    ("bm128", "bm128_mxfp4"),
    ("bm64", "bm64_cshuffle"),
]


def run_oracle(problem: Problem, arguments: Sequence[Argument], workgroups: Sequence[int]) -> None:
    tiles = [tile for group in workgroups for tile in problem.tiles_of(group)]
    oracle.run(problem, tuple(arguments), tiles)


@pytest.mark.parametrize(("gemm1", "gemm2"), PAIRS)
def test_layer_of_right_kernels(gemm1: str, gemm2: str) -> None:
    problem = Problem(find_variant("gemm1", gemm1), SHAPE, 4)
    result = run_layer(run_oracle, problem, find_variant("gemm2", gemm2))
    assert result.passed, result.gemm1.report() + result.gemm2.report()
    assert result.cos > (0.98 if gemm2 == "bm128_mxfp4" else 0.9999)
    size = float(result.reference.exact.abs().max())
    assert 0 < result.max_abs < size * (0.2 if gemm2 == "bm128_mxfp4" else 0.02)


def test_a_wrong_gemm1_shows_in_its_own_verdict() -> None:
    def run(problem: Problem, arguments: Sequence[Argument], workgroups: Sequence[int]) -> None:
        run_oracle(problem, arguments, workgroups)
        if problem.is_gemm1:
            out = next(a.data for a in arguments if a.name == "out_q")
            assert out is not None
            out[:] ^= 0x88

    problem = Problem(find_variant("gemm1", "bm16_iq"), SHAPE, 2)
    result = run_layer(run, problem, find_variant("gemm2", "bm16_atomic"))
    assert not result.gemm1.passed
    assert result.gemm2.passed, "right on the input that it had"
    assert not result.passed
    assert result.cos < 0


def test_kernels_that_cannot_share_a_sorting_are_refused() -> None:
    problem = Problem(find_variant("gemm1", "bm32_nt"), SHAPE, 2)
    with pytest.raises(ValueError, match="blocks of 32 rows"):
        run_layer(run_oracle, problem, find_variant("gemm2", "bm16_atomic"))
    flat = Problem(find_variant("gemm2", "bm32_atomic"), SHAPE, 2)
    with pytest.raises(ValueError, match="starts with gemm1"):
        run_layer(run_oracle, flat, find_variant("gemm2", "bm32_atomic"))
