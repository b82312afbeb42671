"""Launching a kernel: one compiled handle per (variant, shape, flags), buffers checked, a stream.

On a gfx950 device with a ROCm build of torch this runs the kernel. Compiling needs no device.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch

from ..flags import FlagSet, acting
from ..shapes import (
    BUFFER_LIMIT,
    SCALE_TILE_BYTES,
    TILE_K,
    Shape,
    Variant,
    weight_bytes,
    workgroups,
)
from . import abi
from .entry import Parameter
from .launcher import build, parameters_of
from .tile import ADma

FLAT_OUTPUTS = ("nonatomic", "mxfp4", "cshuffle")
"""Epilogues that address their output with 64 bits; every other buffer has 32-bit offsets."""

Buffers = Mapping[str, torch.Tensor | None]
"""A tensor for every buffer parameter by name; ``None`` where the variant has no use for it."""


class LaunchError(ValueError):
    """A buffer that the kernel cannot be launched with."""


def device_kernel(variant: Variant, shape: Shape, flags: FlagSet) -> DeviceKernel:
    """The compiled kernel; each is compiled once per process.

    Raises:
        ShapeError: the variant cannot run the shape.
    """
    return _device_kernel(variant, shape, acting(variant, flags))


@functools.cache
def _device_kernel(variant: Variant, shape: Shape, flags: FlagSet) -> DeviceKernel:
    return DeviceKernel(variant, shape, flags)


class DeviceKernel:
    """A compiled kernel that launches on the stream it is given."""

    def __init__(self, variant: Variant, shape: Shape, flags: FlagSet) -> None:
        self.variant = variant
        self.shape = shape
        self.flags = flags
        self.parameters = parameters_of(variant)
        built = build(variant, shape, flags)
        self._handle: Any = flyc.compile(built.launcher, *built.placeholders)

    def __call__(
        self, buffers: Buffers, *, n_tokens: int, m_blocks: int, stream: int | None = None
    ) -> None:
        """Launch the kernel for up to ``m_blocks`` blocks of sorted rows.

        Args:
            buffers: contiguous tensors, laid out as docs/kernels.md says; sorted ones hold
                ``m_blocks * BM`` rows.
            n_tokens: number of tokens M.
            m_blocks: blocks of rows that the sorted buffers hold; cumsum says how many are used.
            stream: the HIP stream's handle; ``None`` takes torch's current stream.

        Raises:
            LaunchError: a buffer is missing, or its type, size or layout does not fit.
        """
        self._check(buffers, n_tokens, m_blocks)
        values = [
            n_tokens if parameter.dtype is None else self._argument(buffers, parameter)
            for parameter in self.parameters
        ]
        if stream is None:
            stream = torch.cuda.current_stream().cuda_stream
        grid = workgroups(self.variant, self.shape, m_blocks)
        self._handle(*values, grid, fx.Stream(stream))

    def _argument(self, buffers: Buffers, parameter: Parameter) -> Any:
        tensor = buffers.get(parameter.name)
        if abi.is_bare(self.flags):
            return flyc.from_c_void_p(fx.Uint8, None if tensor is None else tensor.data_ptr())
        if tensor is None:
            assert parameter.dtype is not None
            return torch.empty((2,) * parameter.rank, dtype=parameter.dtype)
        return tensor

    def _check(self, buffers: Buffers, n_tokens: int, m_blocks: int) -> None:
        if n_tokens < 1 or m_blocks < 1:
            raise LaunchError(
                f"n_tokens and m_blocks must be at least 1, got {n_tokens} and {m_blocks}"
            )
        known = {parameter.name for parameter in self.parameters if parameter.dtype is not None}
        unknown = sorted(set(buffers) - known)
        if unknown:
            raise LaunchError(
                f"{self.variant} has no buffer {unknown[0]!r}; it takes {', '.join(sorted(known))}"
            )
        needed = self.buffer_bytes(n_tokens, m_blocks)
        for parameter in self.parameters:
            if parameter.name in needed:
                self._check_one(parameter, buffers.get(parameter.name), needed[parameter.name])

    def _check_one(self, parameter: Parameter, tensor: torch.Tensor | None, needed: int) -> None:
        name = f"{self.variant} {parameter.name}"
        if needed >= self._limit(parameter.name):
            raise LaunchError(
                f"{name} takes {needed} bytes, but its byte offsets reach only "
                f"{self._limit(parameter.name)}; launch fewer tokens at a time"
            )
        if tensor is None:
            raise LaunchError(f"{name} is missing; pass a {parameter.dtype} tensor")
        if tensor.dtype != parameter.dtype or tensor.dim() != parameter.rank:
            raise LaunchError(
                f"{name} must be a {parameter.dtype} tensor of rank {parameter.rank}, got "
                f"{tensor.dtype} of shape {tuple(tensor.shape)}"
            )
        if not tensor.is_contiguous():
            raise LaunchError(f"{name} must be contiguous; pass tensor.contiguous()")
        if tensor.data_ptr() % abi.ALIGNMENT:
            raise LaunchError(
                f"{name} must start at a multiple of {abi.ALIGNMENT} bytes, got address "
                f"{tensor.data_ptr():#x}"
            )
        if tensor.numel() * tensor.element_size() < needed:
            raise LaunchError(
                f"{name} holds {tensor.numel() * tensor.element_size()} bytes, this launch needs "
                f"{needed}"
            )

    def _limit(self, name: str) -> int:
        """Bytes that the kernel's offsets into a buffer can reach."""
        if name in ("out", "out_scale") and self.variant.epilogue in FLAT_OUTPUTS:
            return 2**63
        if name == "a_q" and self.shape.inter_used % TILE_K:
            return ADma.HALF_TILE_RECORDS
        return BUFFER_LIMIT

    def buffer_bytes(self, n_tokens: int, m_blocks: int) -> dict[str, int]:
        """Bytes that each buffer must hold, for the buffers that the variant uses."""
        sizes = self._gemm1_bytes if self.variant.kernel == "gemm1" else self._gemm2_bytes
        return sizes(n_tokens, m_blocks)

    def _scale_bytes(self, m_blocks: int, depth: int) -> int:
        """Sorted activation scales: a dword per lane for each row pair and K tile."""
        pairs = m_blocks * -(-self.variant.block_m // 32)
        return pairs * -(-depth // TILE_K) * SCALE_TILE_BYTES

    def _gemm1_bytes(self, n_tokens: int, m_blocks: int) -> dict[str, int]:
        hidden, inter, rows = self.shape.hidden, self.shape.inter, m_blocks * self.variant.block_m
        weights = weight_bytes("gemm1", self.shape)
        sizes = {
            "w1": weights,
            "w1_scale": weights // 16,
            "sorted_expert_ids": 4 * m_blocks,
            "cumsum": 4,
            "m_indices": 4 * rows,
            "out_q": rows * inter // 2,
            "out_scale": self._scale_bytes(m_blocks, inter),
        }
        if self.variant.inline_quant:
            return {**sizes, "hidden": n_tokens * hidden * 2}
        return {
            **sizes,
            "a_quant": n_tokens * hidden // 2,
            "a_scale": self._scale_bytes(m_blocks, hidden),
        }

    def _gemm2_bytes(self, n_tokens: int, m_blocks: int) -> dict[str, int]:
        hidden, inter, rows = self.shape.hidden, self.shape.inter, m_blocks * self.variant.block_m
        weights = weight_bytes("gemm2", self.shape)
        sizes = {
            "a_q": rows * inter // 2,
            "a_scale": self._scale_bytes(m_blocks, inter),
            "w2": weights,
            "w2_scale": weights // 16,
            "sorted_expert_ids": 4 * m_blocks,
            "cumsum": 4,
        }
        if self.variant.epilogue == "atomic":
            routing = {"sorted_token_ids": 4 * rows, "sorted_weights": 4 * rows}
            return {**sizes, **routing, "out": n_tokens * hidden * 2}
        if self.variant.epilogue == "mxfp4":
            return {**sizes, "out": rows * hidden // 2, "out_scale": rows * hidden // 32}
        return {**sizes, "out": rows * hidden * 2}
