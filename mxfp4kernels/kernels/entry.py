"""A kernel's entry points, made from the list of its parameters: device function and host launcher.

Both have an explicit signature, which FlyDSL reads; the list is written down once per kernel.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch

from ..flags import FlagSet
from ..shapes import BLOCK_THREADS
from . import abi
from .primitives import Value


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: a buffer of ``rank`` dimensions, or an i32 if ``dtype`` is ``None``."""

    name: str
    dtype: torch.dtype | None = None
    rank: int = 0


Body = Callable[[Mapping[str, Value]], None]
"""Traces the kernel; buffers come as global pointers, numbers as they are."""


def launcher(symbol: str, parameters: Sequence[Parameter], flags: FlagSet, body: Body) -> Any:
    """The ``@flyc.jit`` launcher of a kernel of 256 threads and a one-dimensional grid.

    It takes the kernel's parameters, the number of workgroups and a stream.
    """
    buffers = {parameter.name for parameter in parameters if parameter.dtype is not None}

    def kernel(**arguments: Value) -> None:
        body({name: _unwrap(value, name in buffers) for name, value in arguments.items()})

    _declare(kernel, _types(parameters, abi.kernel_parameter(flags)))
    device = flyc.kernel(name=symbol, known_block_size=[BLOCK_THREADS, 1, 1])(kernel)

    def launch(workgroups: Value, stream: Value, **arguments: Value) -> None:
        passed = {name: abi.argument(value) for name, value in arguments.items()}
        device(**passed).launch(grid=(workgroups, 1, 1), block=(BLOCK_THREADS, 1, 1), stream=stream)

    host = _types(parameters, abi.launcher_parameter(flags))
    _declare(launch, {**host, "workgroups": fx.Int32, "stream": fx.Stream})
    return flyc.jit(launch)


def placeholders(parameters: Sequence[Parameter], flags: FlagSet) -> tuple[Any, ...]:
    """Arguments of a launcher that FlyDSL compiles without running it."""
    return (*(_placeholder(parameter, flags) for parameter in parameters), 1, fx.Stream(None))


def _types(parameters: Sequence[Parameter], buffer: type) -> dict[str, type]:
    return {
        parameter.name: fx.Int32 if parameter.dtype is None else buffer for parameter in parameters
    }


def _declare(function: Callable[..., None], types: Mapping[str, type]) -> None:
    """Give ``function`` the signature that FlyDSL reads instead of its own."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind, annotation=type_) for name, type_ in types.items()]
    )
    function.__annotations__ = dict(types)


def _unwrap(value: Value, is_buffer: bool) -> Value:
    return abi.as_pointer(value) if is_buffer else value


def _placeholder(parameter: Parameter, flags: FlagSet) -> Any:
    """A number, a null pointer, or a CPU tensor of the parameter's rank."""
    if parameter.dtype is None:
        return 1
    if abi.is_bare(flags):
        return flyc.from_c_void_p(fx.Uint8, None)
    # Any extents but 1 will do: they are dynamic.
    return torch.empty((2,) * parameter.rank, dtype=parameter.dtype)
