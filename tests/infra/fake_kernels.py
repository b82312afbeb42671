"""Small FlyDSL kernels with the interface of ``mxfp4kernels.kernels``, to test the compiler."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import flydsl.compiler as flyc
import flydsl.expr as fx

from mxfp4kernels.shapes import Shape, Variant


@dataclass(frozen=True)
class Launcher:
    launcher: Any
    placeholders: tuple[Any, ...]
    symbol: str


def _pointer() -> Any:
    return flyc.from_c_void_p(fx.Int32, None)


def build(variant: Variant, shape: Shape, flags: frozenset[str]) -> Launcher:
    """Stores lane number + a constant that tells variant, shape and flags apart."""
    constant = 1000 * variant.block_m + shape.topk + 100_000 * len(flags)

    @flyc.kernel
    def fake_kernel(out: fx.Pointer, n: fx.Int32):
        lane = fx.Int32(fx.thread_idx.x)
        fx.generic_store(out + lane, lane * n + constant)

    @flyc.jit
    def launch(out: fx.Pointer, n: fx.Int32, stream: fx.Stream):
        fake_kernel(out, n).launch(grid=(1, 1, 1), block=(256, 1, 1), stream=stream)

    return Launcher(launch, (_pointer(), 3, fx.Stream(None)), "fake_kernel")


def build_broken(variant: Variant, shape: Shape, flags: frozenset[str]) -> Launcher:
    """f32 tan has no device code: LLVM says so on stderr, and the body becomes an s_endpgm."""

    @flyc.kernel
    def broken_kernel(out: fx.Pointer, n: fx.Int32):
        lane = fx.Int32(fx.thread_idx.x)
        fx.generic_store(out + lane, fx.Int32(fx.math.tan(fx.Float32(lane))))

    @flyc.jit
    def launch(out: fx.Pointer, n: fx.Int32, stream: fx.Stream):
        broken_kernel(out, n).launch(grid=(1, 1, 1), block=(256, 1, 1), stream=stream)

    return Launcher(launch, (_pointer(), 3, fx.Stream(None)), "broken_kernel")


def build_or_die(variant: Variant, shape: Shape, flags: frozenset[str]) -> Launcher:
    """Kills its process at block height 64, raises at 128, else :func:`build`."""
    if variant.block_m == 64:
        os.kill(os.getpid(), signal.SIGKILL)
    if variant.block_m == 128:
        raise ValueError("no such tile")
    return build(variant, shape, flags)


def build_slowly(variant: Variant, shape: Shape, flags: frozenset[str]) -> Launcher:
    """:func:`build` after a pause that leaves time to interrupt the run."""
    if variant.kernel == "gemm2":
        time.sleep(60)
    return build(variant, shape, flags)
