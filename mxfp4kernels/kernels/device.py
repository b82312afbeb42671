"""Launching a kernel: one compiled handle per (variant, shape, flags), buffers checked, a stream.

On a gfx950 device with a ROCm build of torch this runs the kernel. Compiling needs no device, and
neither does running it while :func:`mxfp4kernels.hip.emulated_device` is open.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import flydsl
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
    row_pairs,
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


WRITTEN = ("out", "out_q", "out_scale")
"""Buffers that a kernel writes; every other one is only read."""


class LaunchError(ValueError):
    """A buffer that the kernel cannot be launched with."""


class DeviceError(RuntimeError):
    """There is no HIP library, or it reports that a launch failed."""


@dataclass(frozen=True)
class Call:
    """A launch whose buffers have been checked."""

    kernel: DeviceKernel
    buffers: Buffers
    n_tokens: int
    m_blocks: int

    @property
    def workgroups(self) -> int:
        """The size of the grid."""
        return workgroups(self.kernel.variant, self.kernel.shape, self.m_blocks)


class Target(Protocol):
    """What stands between launches and the HIP library: it sees the buffers behind the pointers."""

    def run(self, call: Call, launch: Callable[[], None]) -> None:
        """Carry out ``call``; ``launch`` hands it to FlyDSL and the HIP library."""


TARGET: ContextVar[Target | None] = ContextVar("TARGET", default=None)
"""Where launches go; ``None`` is the device itself."""


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
        self._built = build(variant, shape, flags)

    @functools.cached_property
    def handle(self) -> Any:
        """FlyDSL's compiled function, made when it is first used."""
        return flyc.compile(self._built.launcher, *self._built.placeholders)

    def __call__(
        self, buffers: Buffers, *, n_tokens: int, m_blocks: int, stream: int | None = None
    ) -> None:
        """Launch the kernel for up to ``m_blocks`` blocks of sorted rows.

        Args:
            buffers: contiguous tensors, laid out as docs/kernels.md says; sorted ones hold
                ``m_blocks * BM`` rows.
            n_tokens: number of tokens M.
            m_blocks: blocks of rows that the sorted buffers hold; cumsum says how many are used.
            stream: the HIP stream's handle; ``None`` takes torch's current stream, or the null
                stream of an emulated device.

        Raises:
            LaunchError: a buffer is missing, or its type, place, size or layout does not fit.
            DeviceError: there is no HIP library, or it reports a failure.
        """
        self._check(buffers, n_tokens, m_blocks)
        call = Call(self, buffers, n_tokens, m_blocks)
        target = TARGET.get()
        if target is not None:
            target.run(call, lambda: self._launch(call, stream or 0))
            return
        if stream is None:
            stream = torch.cuda.current_stream().cuda_stream
        self._launch(call, stream)

    def _launch(self, call: Call, stream: int) -> None:
        values = [
            call.n_tokens if parameter.dtype is None else self._argument(call.buffers, parameter)
            for parameter in self.parameters
        ]
        hip = _hip()
        self.handle(*values, call.workgroups, fx.Stream(stream))
        # FlyDSL prints what the library returns and goes on.
        error = hip.hipGetLastError()
        if error:
            raise DeviceError(
                f"{self.variant} {self.shape}: the HIP library reports "
                f"{hip.hipGetErrorName(error).decode()} ({error}), from this launch or from an "
                "earlier call that nobody checked"
            )

    def _argument(self, buffers: Buffers, parameter: Parameter) -> Any:
        tensor = buffers.get(parameter.name)
        if abi.is_bare(self.flags):
            return flyc.from_c_void_p(fx.Uint8, None if tensor is None else tensor.data_ptr())
        return null_tensor(parameter) if tensor is None else tensor

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
        self._check_place(name, tensor)
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

    @staticmethod
    def _check_place(name: str, tensor: torch.Tensor) -> None:
        emulated = TARGET.get() is not None
        if tensor.is_cuda is not emulated:
            return
        way_out = (
            "an emulated device needs tensor.cpu()"
            if emulated
            else "pass tensor.cuda(), or open mxfp4kernels.hip.emulated_device()"
        )
        raise LaunchError(f"{name} lies on {tensor.device}; {way_out}")

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
        pairs = m_blocks * row_pairs(self.variant.block_m)
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


def null_tensor(parameter: Parameter) -> torch.Tensor:
    """What a tensor parameter gets that the variant has no use for: no rows and a null address."""
    assert parameter.dtype is not None
    return torch.empty((0,) + (2,) * (parameter.rank - 1), dtype=parameter.dtype)


@functools.cache
def _hip() -> ctypes.CDLL:
    """The HIP library that FlyDSL launches with.

    Found through FlyDSL's runtime library, whose dependency it is: a second one under another name
    would keep errors of its own. Without one FlyDSL itself would abort the process.
    """
    runtime = Path(flydsl.__file__).parent / "_mlir" / "_mlir_libs" / "libfly_jit_runtime.so"
    try:
        library = ctypes.CDLL(str(runtime))
    except OSError as error:
        raise DeviceError(
            f"FlyDSL finds no HIP library ({error}); install ROCm, or open "
            "mxfp4kernels.hip.emulated_device()"
        ) from error
    library.hipGetErrorName.restype = ctypes.c_char_p
    return library
