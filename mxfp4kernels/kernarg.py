"""The kernels' parameters as explicit kernel arguments, for both ABIs.

With 64-bit addresses a parameter is one argument. With tensors of run-time shape a tensor is two:
its pointer, and a packed struct of one i32 per dimension and one i64 per stride, the unit stride
left out. Source of both forms: FlyDSL 0.5.0, seen in compiled metadata.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ArgumentEntry = Mapping[str, Any]
"""An entry of ``.args`` in a code object's metadata: ``.offset``, ``.size``, ``.value_kind``."""


class KernargError(ValueError):
    """Parameters that do not fit the kernel's metadata."""


@dataclass(frozen=True)
class Pointer:
    """A buffer parameter: its device address and the shape a tensor parameter would have."""

    name: str
    address: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Scalar:
    """An i32 parameter."""

    name: str
    value: int


Parameter = Pointer | Scalar


def explicit_values(
    entries: Sequence[ArgumentEntry], parameters: Sequence[Parameter]
) -> list[int | bytes]:
    """One value per explicit argument, as the emulator packs them: a number, or a struct's bytes.

    Args:
        entries: the metadata of the kernel's explicit arguments, hidden ones left out.
        parameters: in the kernel's order.

    Raises:
        KernargError: entries that fit the parameters in neither ABI, or another tensor rank.
    """
    tensors = is_tensor_abi(entries, parameters)
    values: list[int | bytes] = []
    for parameter in parameters:
        if isinstance(parameter, Scalar):
            values.append(parameter.value)
            continue
        values.append(parameter.address)
        if tensors:
            values.append(_shape_struct(parameter, int(entries[len(values)][".size"])))
    return values


def is_tensor_abi(entries: Sequence[ArgumentEntry], parameters: Sequence[Parameter]) -> bool:
    """Whether pointers come with a struct of shape and strides.

    Raises:
        KernargError: the number of entries fits neither ABI.
    """
    pointers = sum(isinstance(parameter, Pointer) for parameter in parameters)
    if len(entries) == len(parameters):
        return False
    if len(entries) == len(parameters) + pointers:
        return True
    raise KernargError(
        f"the kernel has {len(entries)} explicit arguments; its {len(parameters)} parameters "
        f"make {len(parameters)} with addresses and {len(parameters) + pointers} with tensors"
    )


def _shape_struct(parameter: Pointer, size: int) -> bytes:
    """i32 per dimension, then i64 per stride but the last, for a contiguous tensor."""
    rank, rest = divmod(size + 8, 12)
    if rest or rank < 1:
        raise KernargError(
            f"{parameter.name}: no tensor rank has a shape struct of {size} bytes; "
            "4, 16, 28 and 40 belong to ranks 1 to 4"
        )
    if rank != len(parameter.shape):
        raise KernargError(
            f"{parameter.name}: the kernel wants rank {rank}, the launch has shape "
            f"{parameter.shape}"
        )
    strides = [math.prod(parameter.shape[axis + 1 :]) for axis in range(rank - 1)]
    return struct.pack(f"<{rank}i{rank - 1}q", *parameter.shape, *strides)
