"""From (variant, shape, flags) to a launcher that FlyDSL can compile, offline or on a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch

from ..flags import FlagSet, acting, label
from ..shapes import Shape, Variant, check
from . import abi, gemm1, gemm2

_GEMM1_BUFFERS = (
    (torch.uint8, 2),
    (torch.uint8, 2),
    (torch.uint8, 3),
    (torch.uint8, 3),
    (torch.int32, 1),
    (torch.int32, 1),
    (torch.int32, 1),
    None,
    (torch.uint8, 2),
    (torch.uint8, 2),
    (torch.bfloat16, 2),
)


@dataclass(frozen=True)
class Launcher:
    symbol: str
    launcher: Any
    placeholders: tuple[Any, ...]


def build(variant: Variant, shape: Shape, flags: FlagSet) -> Launcher:
    check(variant, shape)
    flags = acting(variant, flags)
    symbol = f"{variant.kernel}_{variant.name}_{shape}"
    mod = gemm1 if variant.kernel == "gemm1" else gemm2
    launcher = mod.build(mod.Plan.of(variant, shape, flags), symbol)
    return Launcher(symbol, launcher, placeholders(flags, _GEMM1_BUFFERS if mod is gemm1 else _GEMM2_BUFFERS))


_GEMM2_BUFFERS = ((torch.uint8,2),(torch.uint8,2),(torch.uint8,3),(torch.uint8,3),(torch.int32,1),(torch.int32,1),(torch.int32,1),(torch.float32,1),None,(torch.uint8,2),(torch.uint8,2))

def placeholders(flags: FlagSet, buffers):
    out = []
    for entry in buffers:
        if entry is None:
            out.append(1)
        elif abi.is_bare(flags):
            out.append(flyc.from_c_void_p(fx.Uint8, None))
        else:
            out.append(torch.empty((4,) * entry[1], dtype=entry[0]))
    return (*out, 1, fx.Stream(None))
