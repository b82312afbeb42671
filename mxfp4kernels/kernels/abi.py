"""The two kernel ABIs: 64-bit addresses, or tensors with run-time shape and stride."""

from __future__ import annotations

from typing import Any

import flydsl.expr as fx
from flydsl.expr.typing import AddressSpace, PointerType

from ..flags import FlagSet
from .primitives import Value

ALIGNMENT = 16
"""Every buffer starts at a multiple of this many bytes."""


def is_bare(flags: FlagSet) -> bool:
    """Whether kernel parameters are addresses (on) or tensors (off)."""
    return "bare_pointer_abi" in flags


def kernel_parameter(flags: FlagSet) -> Any:
    """The type of a buffer parameter of the kernel."""
    return fx.Int64 if is_bare(flags) else fx.Tensor


def launcher_parameter(flags: FlagSet) -> Any:
    """The type of a buffer parameter of the host launcher.

    A launcher whose parameters were all numbers could not be compiled without running it, so the
    bare ABI takes pointers on the host and addresses on the device.
    """
    return fx.Pointer if is_bare(flags) else fx.Tensor


def argument(parameter: Value) -> Value:
    """What a launcher passes to the kernel for one of its buffer parameters."""
    if isinstance(parameter, fx.Pointer):
        return fx.Int64(fx.ptrtoint(parameter))
    return parameter


def as_pointer(parameter: Value) -> fx.Pointer:
    """The global pointer to bytes behind a buffer parameter of either ABI."""
    byte_pointer = PointerType.get(
        elem_ty=fx.Uint8.ir_type, address_space=AddressSpace.Global, alignment=ALIGNMENT
    )
    if isinstance(parameter, fx.Tensor):
        return fx.recast_iter(byte_pointer, fx.get_iter(parameter))
    return fx.inttoptr(byte_pointer, parameter)
