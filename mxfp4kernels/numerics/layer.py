"""The whole MoE layer through both kernels: gemm1's written output is gemm2's input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .. import layout
from ..reference import LayerOutput, moe_layer
from ..shapes import Variant
from .emulation import EmulatedLaunch
from .problem import Argument, Problem
from .verification import Outputs, Result, Verification

Run = Callable[[Problem, Sequence[Argument], Sequence[int]], None]
"""Executes workgroups of a problem's kernel on the arguments' own memory."""


@dataclass(frozen=True)
class LayerResult:
    """A run of both kernels and the combination of their rows.

    Args:
        gemm1, gemm2: each kernel next to the reference of the input that it really had.
        output: float64 ``[M, H]``, the layer's result.
        reference: what the layer must compute, from the same inputs.
    """

    gemm1: Result
    gemm2: Result
    output: Tensor
    reference: LayerOutput

    @property
    def passed(self) -> bool:
        """Both kernels are right on the inputs that they had."""
        return self.gemm1.passed and self.gemm2.passed

    @property
    def cos(self) -> float:
        """Cosine between the layer's result and the reference without output rounding."""
        exact = self.reference.exact
        return float((self.output * exact).sum() / (self.output.norm() * exact.norm()))

    @property
    def max_abs(self) -> float:
        """Largest distance from that reference."""
        return float((self.output - self.reference.exact).abs().max())


def verify_layer(assemblies: tuple[str, str], problem: Problem, gemm2: Variant) -> LayerResult:
    """Run gemm1 and gemm2 in the emulator, one after the other, and compare.

    Args:
        assemblies: gemm1's and gemm2's text.
        problem: gemm1's inputs.
        gemm2: the variant of gemm2; its block height must be gemm1's, since both share the sorting.

    Raises:
        ValueError: the variants' block heights differ, or ``problem`` is not one of gemm1.
    """

    def run(of: Problem, arguments: Sequence[Argument], workgroups: Sequence[int]) -> None:
        EmulatedLaunch.of(assemblies[0 if of.is_gemm1 else 1], of, arguments).run(workgroups)

    return run_layer(run, problem, gemm2)


def run_layer(run: Run, problem: Problem, gemm2: Variant) -> LayerResult:
    """As :func:`verify_layer`, with ``run`` in place of the emulator."""
    if not problem.is_gemm1:
        raise ValueError(f"a layer starts with gemm1, got a problem of {problem.variant}")
    if problem.variant.block_m != gemm2.block_m:
        raise ValueError(
            f"both kernels share one sorting: {problem.variant} has blocks of "
            f"{problem.variant.block_m} rows, {gemm2} of {gemm2.block_m}"
        )
    first, written = _run_kernel(run, problem)
    second_problem = problem.followed_by(gemm2, written.rows_mxfp4())
    second, written = _run_kernel(run, second_problem)
    reference = moe_layer(
        problem.a,
        problem.weights,
        second_problem.weights,
        problem.topk_weight,
        problem.sorting,
        gemm2.epilogue,
        problem.shape.inter_real,
    )
    return LayerResult(first, second, layer_output(written), reference)


def _run_kernel(run: Run, problem: Problem) -> tuple[Result, Outputs]:
    verification = Verification(problem)
    result = verification.verify_run(lambda arguments, groups: run(problem, arguments, groups))
    return result, Outputs(problem, verification.arguments)


def layer_output(outputs: Outputs) -> Tensor:
    """The layer's result, float64 ``[M, H]``: gemm2's output, combined if its rows are flat."""
    problem = outputs.problem
    if problem.variant.epilogue == "atomic":
        return outputs.tokens().to(torch.float64)
    if problem.variant.epilogue == "mxfp4":
        flat = outputs.rows_mxfp4().dequantise()
    else:
        flat = outputs.rows_bf16().to(torch.float64)
    return layout.combine_flat(flat, problem.topk_weight, problem.sorting.reverse_sorted)
