"""From (variant, shape, flags) to a launcher that FlyDSL compiles, offline or on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..flags import FlagSet, acting
from ..shapes import Shape, Variant, check
from . import entry, gemm1, gemm2
from .entry import Parameter
from .primitives import Value


@dataclass(frozen=True)
class Launcher:
    """What FlyDSL compiles: the ``@flyc.jit`` function and stand-ins for its arguments.

    The function takes the kernel's parameters, the number of workgroups and a stream.
    """

    symbol: str
    launcher: Any
    placeholders: tuple[Any, ...]


def parameters_of(variant: Variant) -> tuple[Parameter, ...]:
    """The kernel's parameters in the order of its ABI."""
    if variant.kernel == "gemm1":
        return gemm1.PARAMETERS
    if variant.epilogue == "mxfp4":
        return gemm2.PARAMETERS
    return tuple(
        replace(parameter, dtype=torch.bfloat16) if parameter.name == "out" else parameter
        for parameter in gemm2.PARAMETERS
    )


def build(variant: Variant, shape: Shape, flags: FlagSet) -> Launcher:
    """The launcher of a kernel, traced when FlyDSL compiles it.

    Raises:
        ShapeError: the variant cannot run the shape.
    """
    flags = acting(variant, flags)
    check(variant, shape, safe_lds_reuse="safe_lds_reuse" in flags)
    symbol = f"{variant.kernel}_{variant.name}_{shape}"
    kernel: Any = gemm1 if variant.kernel == "gemm1" else gemm2
    plan = kernel.Plan.of(variant, shape, flags)
    parameters = parameters_of(variant)

    def body(arguments: Mapping[str, Value]) -> None:
        kernel.run(plan, kernel.Arguments(**arguments))

    return Launcher(
        symbol,
        entry.launcher(symbol, parameters, flags, body),
        entry.placeholders(parameters, flags),
    )
