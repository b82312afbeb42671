"""The harness passes a right kernel and fails every kind of wrong one.

The right kernel is ``oracle.py``: plain loops over the launch's bytes, apart from the package's
layouts, numbers and reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import oracle
import pytest
import torch

from mxfp4kernels.numerics.expected import extreme_sum
from mxfp4kernels.numerics.problem import Argument, Problem
from mxfp4kernels.numerics.verification import Result, Verification, sampled_workgroups
from mxfp4kernels.shapes import VARIANTS, Shape, Variant, find_variant

Outputs = dict[str, np.ndarray]
SHAPES = {"gemm1": Shape(3, 256, 128, 2), "gemm2": Shape(3, 256, 256, 2, inter_real=128)}


def run_oracle(
    problem: Problem,
    workgroups: Sequence[int] | None = None,
    spoil: Callable[[Outputs], None] | None = None,
) -> Result:
    verification = Verification(problem, workgroups)

    def run(arguments: Sequence[Argument], groups: Sequence[int]) -> None:
        oracle.run(problem, tuple(arguments), list(verification.tiles))
        if spoil is not None:
            spoil({a.name: a.data for a in arguments if a.data is not None})

    return verification.verify_run(run)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_right_kernel_passes(variant: Variant) -> None:
    result = run_oracle(Problem(variant, SHAPES[variant.kernel], 3))
    assert result.passed, result.report()
    assert result.comparison.max_ulp == 0
    assert result.comparison.cos > 0.98


@pytest.mark.parametrize("routing", ["balanced", "same", "sparse"])
@pytest.mark.parametrize(("kernel", "name"), [("gemm1", "bm16_iq"), ("gemm2", "bm16_atomic")])
def test_every_routing_passes(kernel: str, name: str, routing: str) -> None:
    result = run_oracle(Problem(find_variant(kernel, name), SHAPES[kernel], 4, routing))
    assert result.passed, result.report()


@pytest.mark.parametrize(
    ("kernel", "name", "content"),
    [
        ("gemm1", "bm16_iq", "edges"),
        ("gemm1", "bm16_iq", "special"),
        ("gemm1", "bm32_nt", "edges"),
        ("gemm2", "bm32_atomic", "edges"),
        ("gemm2", "bm32_cshuffle", "edges"),
        ("gemm2", "bm128_mxfp4", "edges"),
    ],
)
def test_edge_and_special_values_pass(kernel: str, name: str, content: str) -> None:
    problem = Problem(find_variant(kernel, name), SHAPES[kernel], 4, content=content)
    result = run_oracle(problem)
    assert result.passed, result.report()


def test_two_tiles_of_k_and_an_odd_half_of_the_output() -> None:
    """H = 512 and I = 384: three column tiles, the last K tile of the output scales half used."""
    result = run_oracle(Problem(find_variant("gemm1", "bm32_nt"), Shape(2, 512, 384, 1), 3))
    assert result.passed, result.report()
    assert {tile.n_block for tile in result.tiles} == {0, 1, 2}


def test_a_sample_compares_its_tiles_and_no_others() -> None:
    problem = Problem(find_variant("gemm1", "bm16_iq"), Shape(4, 256, 512, 2), 3)
    groups = sampled_workgroups(problem)
    result = run_oracle(problem, groups)
    assert result.passed, result.report()
    assert 0 < len(result.tiles) < problem.sorting.blocks * problem.n_blocks


def flip(name: str, position: int, bits: int) -> Callable[[Outputs], None]:
    def spoil(outputs: Outputs) -> None:
        outputs[name][position] ^= bits

    return spoil


GEMM1 = Problem(find_variant("gemm1", "bm32_nt"), SHAPES["gemm1"], 3)
FLAT = Problem(find_variant("gemm2", "bm32_cshuffle"), SHAPES["gemm2"], 3)
ATOMIC = Problem(find_variant("gemm2", "bm32_atomic"), SHAPES["gemm2"], 3)
LOSSY = Problem(find_variant("gemm2", "bm128_mxfp4"), SHAPES["gemm2"], 3)


@pytest.mark.parametrize(
    ("problem", "spoil", "mismatches"),
    [
        (GEMM1, flip("out_q", 5, 0x01), 1),
        (GEMM1, flip("out_q", 5, 0x80), 1),
        (GEMM1, flip("out_scale", 0, 0x01), 32),
        (FLAT, flip("out", 0, 0x01), 1),
        (FLAT, flip("out", 513, 0x80), 1),
        (ATOMIC, flip("out", 3, 0x01), 1),
        (LOSSY, flip("out", 5, 0x10), 1),
        (LOSSY, flip("out_scale", 3, 0x02), 32),
    ],
)
def test_one_wrong_byte_fails(
    problem: Problem, spoil: Callable[[Outputs], None], mismatches: int
) -> None:
    result = run_oracle(problem, spoil=spoil)
    assert not result.passed
    assert result.comparison.mismatches == mismatches
    assert "FAIL" in result.report()


@pytest.mark.parametrize(
    ("problem", "name"), [(GEMM1, "out_q"), (GEMM1, "out_scale"), (FLAT, "out"), (LOSSY, "out")]
)
def test_one_byte_past_the_rows_in_use_is_a_stray(problem: Problem, name: str) -> None:
    result = run_oracle(problem, spoil=flip(name, -1, 0xFF))
    assert problem.sorting.rows < problem.max_rows
    assert (result.comparison.mismatches, result.strays) == (0, 1)
    assert not result.passed


def test_adding_to_a_token_without_a_tile_is_a_stray() -> None:
    problem = Problem(find_variant("gemm2", "bm16_atomic"), SHAPES["gemm2"], 40, "balanced")
    result = run_oracle(problem, [0], spoil=flip("out", -1, 0x3F))
    untouched = int(problem.sorting.m_indices[:16].max()) < 39
    assert untouched
    assert not result.passed


def test_a_tile_left_out_fails() -> None:
    verification = Verification(GEMM1)
    result = verification.verify_run(
        lambda arguments, groups: oracle.run(GEMM1, tuple(arguments), verification.tiles[1:])
    )
    assert result.comparison.mismatches > 1000
    assert "m_block 0 row 0, n_block 0 column 0" in result.report()


def test_two_tiles_swapped_fail() -> None:
    """Right numbers in the wrong rows."""

    def swap(outputs: Outputs) -> None:
        rows = outputs["out_q"].reshape(GEMM1.max_rows, -1)
        rows[[0, 32]] = rows[[32, 0]]

    assert run_oracle(GEMM1, spoil=swap).comparison.mismatches > 64


@pytest.mark.parametrize("groups", [[], [-1], [10**6]])
def test_workgroups_outside_the_grid_are_refused(groups: list[int]) -> None:
    with pytest.raises(ValueError, match="workgroups must lie in"):
        Verification(GEMM1, groups)


def test_comparing_nothing_does_not_pass() -> None:
    """A workgroup past the last tile makes no tile."""
    past = GEMM1.sorting.blocks * GEMM1.n_blocks
    assert past < GEMM1.workgroups
    assert not Verification(GEMM1, [past]).verify_run(lambda arguments, groups: None).passed


def test_every_run_starts_from_fresh_outputs() -> None:
    verification = Verification(ATOMIC)

    def run(arguments: Sequence[Argument], groups: Sequence[int]) -> None:
        oracle.run(ATOMIC, tuple(arguments), list(verification.tiles))

    first, second = verification.verify_run(run), verification.verify_run(run)
    assert first.passed
    assert second.passed
    assert first.digest == second.digest
    spoilt = run_oracle(ATOMIC, spoil=flip("out", 3, 0x01))
    assert spoilt.digest != first.digest


def test_extreme_sums_cover_every_order() -> None:
    generator = torch.Generator().manual_seed(0)
    addends = list(torch.randn(4, 64, generator=generator).to(torch.bfloat16))
    orders = []
    for order in torch.cartesian_prod(*[torch.arange(4)] * 4).tolist():
        if len(set(order)) == 4:
            total = torch.zeros(64, dtype=torch.bfloat16)
            for index in order:
                total += addends[index]
            orders.append(total)
    every = torch.stack(orders)
    assert torch.equal(extreme_sum(addends, torch.minimum), every.amin(dim=0))
    assert torch.equal(extreme_sum(addends, torch.maximum), every.amax(dim=0))
    assert bool((every.amin(dim=0) < every.amax(dim=0)).any())
