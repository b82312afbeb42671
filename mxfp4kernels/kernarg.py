"""Kernel arguments packed from a code object's metadata, for both ABIs of the kernels.

With 64-bit addresses each parameter is one entry of the segment. With tensors of run-time shape a
tensor is two: its pointer, and a packed struct of one i32 per dimension and one i64 per stride, the
unit stride left out. Source of both forms: FlyDSL 0.5.0, seen in compiled metadata.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

POINTER_BYTES = 8
SCALAR_BYTES = 4

Metadata = Mapping[str, Any]


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


def pack_kernarg(
    metadata: Metadata,
    parameters: Sequence[Parameter],
    grid: tuple[int, int, int],
    workgroup: tuple[int, int, int],
) -> bytes:
    """The kernarg segment of a launch, hidden arguments filled in.

    Args:
        metadata: the kernel's entry of ``amdhsa.kernels``: ``.args``, ``.kernarg_segment_size``.
        parameters: in the kernel's order.
        grid: workgroups per dimension.
        workgroup: threads per dimension.

    Raises:
        KernargError: entries that do not match the parameters in number, kind or size, or a hidden
            argument that this launcher cannot fill.
    """
    segment = bytearray(int(metadata[".kernarg_segment_size"]))
    entries = list(metadata[".args"])
    explicit = [entry for entry in entries if not _is_hidden(entry)]
    for entry, data in zip(explicit, _explicit_values(explicit, parameters), strict=True):
        _store(segment, entry, data)
    for entry in entries:
        if _is_hidden(entry):
            _store(segment, entry, _hidden_value(entry, grid, workgroup))
    return bytes(segment)


def is_tensor_abi(metadata: Metadata, parameters: Sequence[Parameter]) -> bool:
    """Whether pointers come with a struct of shape and strides.

    Raises:
        KernargError: the number of entries fits neither ABI.
    """
    explicit = sum(not _is_hidden(entry) for entry in metadata[".args"])
    pointers = sum(isinstance(parameter, Pointer) for parameter in parameters)
    if explicit == len(parameters):
        return False
    if explicit == len(parameters) + pointers:
        return True
    raise KernargError(
        f"the kernel has {explicit} explicit kernarg entries; its {len(parameters)} parameters "
        f"make {len(parameters)} with addresses and {len(parameters) + pointers} with tensors"
    )


def _explicit_values(explicit: Sequence[Metadata], parameters: Sequence[Parameter]) -> list[bytes]:
    tensors = is_tensor_abi({".args": explicit}, parameters)
    values: list[bytes] = []
    for parameter in parameters:
        if isinstance(parameter, Scalar):
            values.append(struct.pack("<i", parameter.value))
            continue
        values.append(struct.pack("<Q", parameter.address))
        if tensors:
            values.append(_shape_struct(parameter, int(explicit[len(values)][".size"])))
    return values


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


def _is_hidden(entry: Metadata) -> bool:
    return str(entry[".value_kind"]).startswith("hidden_")


def _hidden_value(
    entry: Metadata, grid: tuple[int, int, int], workgroup: tuple[int, int, int]
) -> bytes:
    kind, size = str(entry[".value_kind"]), int(entry[".size"])
    axis = "xyz".find(kind[-1])
    if kind.startswith("hidden_block_count_"):
        value = grid[axis]
    elif kind.startswith("hidden_group_size_"):
        value = workgroup[axis]
    elif kind == "hidden_grid_dims":
        value = max(1, sum(extent > 1 for extent in grid))
    elif kind in _ZERO_HIDDEN:
        value = 0
    else:
        raise KernargError(f"hidden argument {kind!r} is not known; add it to kernarg.py")
    return value.to_bytes(size, "little")


_ZERO_HIDDEN = frozenset(
    {
        "hidden_none",
        *(f"hidden_remainder_{axis}" for axis in "xyz"),
        *(f"hidden_global_offset_{axis}" for axis in "xyz"),
        "hidden_printf_buffer",
        "hidden_hostcall_buffer",
        "hidden_multigrid_sync_arg",
        "hidden_heap_v1",
        "hidden_default_queue",
        "hidden_completion_action",
        "hidden_dynamic_lds_size",
        "hidden_private_base",
        "hidden_shared_base",
        "hidden_queue_ptr",
    }
)
"""Whole workgroups, no offset, and none of the runtime services: these are 0."""


def _store(segment: bytearray, entry: Metadata, data: bytes) -> None:
    offset, size = int(entry[".offset"]), int(entry[".size"])
    if len(data) != size:
        raise KernargError(
            f"kernarg entry at offset {offset} ({entry['.value_kind']}) takes {size} bytes, "
            f"the parameter has {len(data)}"
        )
    if offset + size > len(segment):
        raise KernargError(
            f"kernarg entry at {offset}..{offset + size} lies past the segment's "
            f"{len(segment)} bytes"
        )
    segment[offset : offset + size] = data
