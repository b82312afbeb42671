"""A seeded problem for one kernel: routing, inputs, and every buffer the kernel is launched with.

Weights are made per expert on demand and written only for the experts that a run needs, so the full
size of a large model costs address space rather than memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import layout, shapes
from ..mx import BLOCK, MXTensor, ScaleRule, quantise
from ..shapes import BLOCK_THREADS, Shape, Variant
from .inputs import (
    CONTENTS,
    ROUTINGS,
    edge_activations,
    edge_packed_scales,
    edge_weights,
    garbage,
    generator,
    random_activations,
    random_weights,
    special_activations,
)

Bytes = npt.NDArray[np.uint8]

XCDS = 8
"""Compute dies of the device; a persistent kernel gives each a contiguous range of tiles."""
BF16_BYTES = 2
WORKGROUP = (BLOCK_THREADS, 1, 1)


@dataclass(frozen=True, order=True)
class Tile:
    """A BM x 256 tile of the kernel's product, by its block of rows and block of columns."""

    m_block: int
    n_block: int


@dataclass(frozen=True)
class Argument:
    """One kernel parameter.

    Args:
        name: its name in the kernel.
        data: the buffer's bytes, or ``None`` for a null address.
        shape: what a tensor parameter would carry.
        value: set for the i32 parameter, whose ``data`` is ``None``.
        fill: set for an output: the byte that it is filled with before a launch.
    """

    POISON: ClassVar[int] = 0xA5
    """Fills outputs that are written, not added to. As a scale byte it stands for 2**38."""
    _SCAN: ClassVar[int] = 1 << 24

    name: str
    data: Bytes | None = None
    shape: tuple[int, ...] = ()
    value: int | None = None
    fill: int | None = None

    @property
    def output(self) -> bool:
        """Whether the kernel writes it."""
        return self.fill is not None

    def reset(self) -> None:
        """Fill an output as before a launch; an input stays as it is."""
        if self.fill is not None and self.data is not None:
            self.data.fill(self.fill)

    def changed(self) -> int:
        """Bytes of an output that differ from its fill."""
        if self.fill is None or self.data is None:
            return 0
        parts = range(0, self.data.size, self._SCAN)
        return sum(int((self.data[at : at + self._SCAN] != self.fill).sum()) for at in parts)


# --- the problem ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """Inputs of one kernel launch; equal arguments give equal problems.

    Args:
        variant: the kernel and its variant.
        shape: the layer's sizes.
        tokens: number of tokens M.
        routing: one of :data:`ROUTINGS`.
        seed: of routing, activations and weights.
        content: one of :data:`CONTENTS`.
        given_a: rows ``[R, I]`` that gemm2 is to work on instead of random ones.

    Raises:
        ShapeError: the variant cannot run the shape.
        ValueError: no token or too many, an unknown routing or content, or ``special`` content for
            a variant whose activations come quantised.
    """

    variant: Variant
    shape: Shape
    tokens: int
    routing: str = "random"
    seed: int = 0
    content: str = "normal"
    given_a: MXTensor | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        shapes.check(self.variant, self.shape)
        if self.tokens < 1:
            raise ValueError(f"tokens must be at least 1, got {self.tokens}")
        if self.tokens >= layout.TOKEN_MASK:
            raise ValueError(
                f"tokens must be at most {layout.TOKEN_MASK - 1}, as a sorted token id has 24 bits "
                f"for the token, got {self.tokens}"
            )
        for name, known in (("routing", tuple(ROUTINGS)), ("content", CONTENTS)):
            if getattr(self, name) not in known:
                raise ValueError(
                    f"unknown {name} {getattr(self, name)!r}; choose from {', '.join(known)}"
                )
        if self.content == "special" and not self.variant.inline_quant:
            raise ValueError(
                f"special content needs a variant that quantises bf16 itself, got {self.variant}; "
                "use gemm1/bm16_iq"
            )

    # --- sizes ---

    @property
    def is_gemm1(self) -> bool:
        return self.variant.kernel == "gemm1"

    @property
    def depth(self) -> int:
        """Elements along K."""
        return self.shape.hidden if self.is_gemm1 else self.shape.inter

    @property
    def columns(self) -> int:
        """Columns of the product: 2*I of gate and up, or H."""
        return 2 * self.shape.inter if self.is_gemm1 else self.shape.hidden

    @property
    def n_blocks(self) -> int:
        """Column blocks of the product."""
        return shapes.n_blocks(self.variant, self.shape)

    @property
    def max_rows(self) -> int:
        """Rows that sorted buffers are allocated for."""
        return layout.max_rows(
            self.tokens, self.shape.topk, self.shape.experts, self.variant.block_m
        )

    @property
    def group_pairs(self) -> bool:
        """Whether activation scale dwords hold two 16-row groups (all but BM=16)."""
        return self.variant.block_m > layout.GROUP_ROWS

    # --- routing and inputs ---

    @cached_property
    def topk_ids(self) -> Tensor:
        """int64 ``[M, TOPK]``."""
        choose = ROUTINGS[self.routing]
        return choose(self.tokens, self.shape, generator(self.seed, 1)).contiguous()

    @cached_property
    def topk_weight(self) -> Tensor:
        """float32 ``[M, TOPK]``, each token's weights summing to 1."""
        scores = torch.randn(self.tokens, self.shape.topk, generator=generator(self.seed, 2))
        return torch.softmax(scores, dim=1)

    @cached_property
    def sorting(self) -> layout.Sorting:
        return layout.sort_tokens(
            self.topk_ids, self.topk_weight, self.shape.experts, self.variant.block_m
        )

    @cached_property
    def hidden(self) -> Tensor:
        """bf16 ``[M, H]``, gemm1's activations before quantisation."""
        return self._activations(self.tokens, 3)

    @cached_property
    def a(self) -> MXTensor:
        """gemm1: quantised activations ``[M, H]``. gemm2: sorted rows ``[R, I]``, padding too."""
        if self.given_a is not None:
            return self.given_a
        if self.is_gemm1:
            quantised = quantise(self.hidden, ScaleRule.ACTIVATION)
        else:
            values = self._activations(self.sorting.rows, 4)
            quantised = quantise(values.to(torch.float32), ScaleRule.GEMM1)
        if self.content == "edges" and not self.variant.inline_quant:
            return edge_packed_scales(quantised)
        return quantised

    def _activations(self, rows: int, key: int) -> Tensor:
        values = random_activations(rows, self.depth, generator(self.seed, key))
        if self.content == "edges":
            return edge_activations(values)
        return special_activations(values) if self.content == "special" else values

    def weights(self, expert: int) -> MXTensor:
        """One expert's weights ``[columns, K]``; W1's rows are gate then up, not interleaved.

        Beyond ``inter_real`` codes are arbitrary and scales are NaN: a kernel that multiplied them
        would show it.
        """
        return _expert_weights(self, expert)

    def followed_by(self, gemm2: Variant, rows: MXTensor) -> Problem:
        """The same layer's problem of gemm2, on ``rows`` that gemm1 has written.

        Its weights are ordinary ones: extreme scales need activations made to meet them.
        """
        return replace(self, variant=gemm2, given_a=rows, content="normal")

    # --- launch ---

    @property
    def m_blocks(self) -> int:
        """Blocks of rows that the grid is made for, from :attr:`max_rows`."""
        return self.max_rows // self.variant.block_m

    @property
    def workgroups(self) -> int:
        """The number of workgroups of the launch."""
        return shapes.workgroups(self.variant, self.shape, self.m_blocks)

    def tiles_of(self, workgroup: int) -> tuple[Tile, ...]:
        """The tiles that a workgroup makes; none for one past the last."""
        total = self.sorting.blocks * self.n_blocks
        if not self.variant.persistent:
            numbers = [workgroup] if workgroup < total else []
        else:
            numbers = [
                _xcd_remap(number, total) for number in range(workgroup, total, self.workgroups)
            ]
        return tuple(Tile(*divmod(number, self.n_blocks)) for number in numbers)

    def arguments(self, experts: Iterable[int]) -> tuple[Argument, ...]:
        """Every kernel parameter in order, with the weights of ``experts`` filled in.

        What nobody has written when the kernel starts holds arbitrary bytes: rows of sorted buffers
        past R, and outputs that are not added to. Other experts' weights are zero bytes.
        """
        make = _gemm1_arguments if self.is_gemm1 else _gemm2_arguments
        return make(self, sorted(set(experts)))


def _xcd_remap(number: int, total: int) -> int:
    quotient, remainder = divmod(total, XCDS)
    xcd = number % XCDS
    return xcd * quotient + min(xcd, remainder) + number // XCDS


@lru_cache(maxsize=64)
def _expert_weights(problem: Problem, expert: int) -> MXTensor:
    if not 0 <= expert < problem.shape.experts:
        raise ValueError(f"expert must lie in 0..{problem.shape.experts - 1}, got {expert}")
    rng = generator(problem.seed, 5 if problem.is_gemm1 else 6, expert)
    weights = random_weights(problem.columns, problem.depth, rng)
    if problem.content == "edges":
        weights = edge_weights(weights)
    if not problem.is_gemm1:
        weights.scales[:, problem.shape.inter_used // BLOCK :] = 255
    return weights


# --- buffers -------------------------------------------------------------------------------------


def _bytes(tensor: Tensor) -> Bytes:
    """The bytes of a tensor as an array of its own."""
    data: Bytes = tensor.contiguous().view(torch.uint8).numpy().reshape(-1).copy()
    return data


def _padded(tensor: Tensor, rows: int, key: int) -> Tensor:
    """``tensor`` in a buffer of ``rows`` rows, the rest arbitrary bytes."""
    as_bytes = tensor.contiguous().view(torch.uint8)
    as_bytes = as_bytes.reshape(tensor.shape[0], -1)
    tail = garbage((rows - tensor.shape[0], as_bytes.shape[1]), key)
    return torch.cat((as_bytes, tail)).view(tensor.dtype).reshape(rows, *tensor.shape[1:])


def _null(name: str) -> Argument:
    """A two-dimensional buffer that the variant has no use for: a null address."""
    return Argument(name, shape=(0, 0))


def _input(name: str, tensor: Tensor) -> Argument:
    return Argument(name, _bytes(tensor), tuple(tensor.shape))


def _weight_arguments(problem: Problem, experts: list[int]) -> tuple[Argument, Argument]:
    """The shuffled weights and scales of all experts, only ``experts`` filled in."""
    count, columns, depth = problem.shape.experts, problem.columns, problem.depth
    packed = np.zeros((count, columns * depth // 2), np.uint8)
    scales = np.zeros((count, layout.scale_bytes(columns, depth // BLOCK)), np.uint8)
    for expert in experts:
        weights = problem.weights(expert)
        order = torch.arange(columns)
        if problem.is_gemm1:
            order = layout.interleave_gate_up(order)
        packed[expert] = layout.shuffle_weight(weights.packed[order]).numpy()
        scales[expert] = layout.shuffle_scales(weights.scales[order]).numpy()
    name = "w1" if problem.is_gemm1 else "w2"
    return (
        Argument(name, packed.reshape(-1), (count, columns, depth // 2)),
        Argument(f"{name}_scale", scales.reshape(-1), (count, columns, depth // BLOCK)),
    )


def _routing_arguments(problem: Problem) -> dict[str, Argument]:
    sorting, rows, blocks = problem.sorting, problem.max_rows, problem.m_blocks
    padded = {
        "sorted_expert_ids": _padded(sorting.sorted_expert_ids, blocks, 1),
        "sorted_token_ids": _padded(sorting.sorted_token_ids, rows, 2),
        "sorted_weights": _padded(sorting.sorted_weights, rows, 3),
        "m_indices": _padded(sorting.m_indices, rows, 4),
        "cumsum": sorting.cumsum,
    }
    return {name: _input(name, tensor) for name, tensor in padded.items()}


def _sorted_scales(scales: Tensor, problem: Problem, key: int) -> Tensor:
    """Activation scales ``[R, K/32]`` as dwords for all allocated rows, bytes past R arbitrary."""
    whole = _padded(scales, problem.max_rows, key)
    dwords = layout.shuffle_scales(whole, group_pairs=problem.group_pairs)
    return dwords.reshape(problem.max_rows, -1)


def _gemm1_arguments(problem: Problem, experts: list[int]) -> tuple[Argument, ...]:
    shape, sorting, routing = problem.shape, problem.sorting, _routing_arguments(problem)
    if problem.variant.inline_quant:
        inputs = (_null("a_quant"), _null("a_scale"))
        hidden = _input("hidden", problem.hidden)
    else:
        inputs = (_input("a_quant", problem.a.packed), _gemm1_scales(problem))
        hidden = _null("hidden")
    blocks = shape.inter // BLOCK
    out_scale = layout.scale_bytes(problem.max_rows, blocks, group_pairs=problem.group_pairs)
    return (
        *inputs,
        *_weight_arguments(problem, experts),
        routing["sorted_expert_ids"],
        routing["cumsum"],
        routing["m_indices"],
        Argument("n_tokens", value=sorting.tokens),
        _output("out_q", (problem.max_rows, shape.inter // 2)),
        _output("out_scale", (problem.max_rows, out_scale // problem.max_rows)),
        hidden,
    )


def _gemm1_scales(problem: Problem) -> Argument:
    """Sorted A scales; padding rows hold arbitrary bytes but no NaN (their elements are zero)."""
    scales = layout.gather_rows(problem.a.scales, problem.sorting.m_indices)
    padding = problem.sorting.m_indices == problem.tokens
    scales[padding] = garbage((int(padding.sum()), scales.shape[1]), 7).clamp(max=254)
    return _input("a_scale", _sorted_scales(scales, problem, 8))


def _gemm2_arguments(problem: Problem, experts: list[int]) -> tuple[Argument, ...]:
    sorting, routing = problem.sorting, _routing_arguments(problem)
    return (
        _input("a_q", _padded(problem.a.packed, problem.max_rows, 9)),
        _input("a_scale", _sorted_scales(problem.a.scales, problem, 10)),
        *_weight_arguments(problem, experts),
        routing["sorted_expert_ids"],
        routing["cumsum"],
        routing["sorted_token_ids"],
        routing["sorted_weights"],
        Argument("n_tokens", value=sorting.tokens),
        *_gemm2_outputs(problem),
    )


def _gemm2_outputs(problem: Problem) -> tuple[Argument, Argument]:
    rows, hidden, epilogue = problem.max_rows, problem.shape.hidden, problem.variant.epilogue
    if epilogue == "mxfp4":
        return _output("out", (rows, hidden // 2)), _output("out_scale", (rows, hidden // BLOCK))
    if epilogue == "atomic":
        out = _output("out", (problem.tokens, hidden), BF16_BYTES, fill=0)
    else:
        out = _output("out", (rows, hidden), BF16_BYTES)
    return out, _null("out_scale")


def _output(
    name: str, shape: tuple[int, int], element_bytes: int = 1, fill: int = Argument.POISON
) -> Argument:
    data = np.full(shape[0] * shape[1] * element_bytes, fill, np.uint8)
    return Argument(name, data, shape, fill=fill)
