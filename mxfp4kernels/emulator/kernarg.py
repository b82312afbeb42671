"""Packing kernel arguments by the kernel's metadata."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mxfp4kernels.emulator.errors import LaunchError
from mxfp4kernels.isa.program import Program

Size3 = tuple[int, int, int]
Value = int | float | bytes

HIDDEN: dict[str, Callable[[Size3, Size3, int], int]] = {
    "hidden_block_count_x": lambda grid, block, lds: grid[0],
    "hidden_block_count_y": lambda grid, block, lds: grid[1],
    "hidden_block_count_z": lambda grid, block, lds: grid[2],
    "hidden_group_size_x": lambda grid, block, lds: block[0],
    "hidden_group_size_y": lambda grid, block, lds: block[1],
    "hidden_group_size_z": lambda grid, block, lds: block[2],
    "hidden_grid_dims": lambda grid, block, lds: 3 if grid[2] > 1 else 2 if grid[1] > 1 else 1,
    "hidden_dynamic_lds_size": lambda grid, block, lds: lds,
    "hidden_shared_base": lambda grid, block, lds: 1 << 16,
    "hidden_private_base": lambda grid, block, lds: 2 << 16,
}
"""Hidden arguments with a value; every other ``hidden_*`` is 0 (whole workgroups, no offsets).
Source: LLVM AMDGPUUsage, code object V5 metadata."""


def explicit_arguments(program: Program) -> tuple[Mapping[str, Any], ...]:
    """The metadata entries of the arguments that a caller gives.

    Raises:
        LaunchError: the program has no argument metadata.
    """
    if ".args" not in program.metadata:
        raise LaunchError(
            f"{program.name} has no .args in its metadata; pack the kernarg bytes by hand"
        )
    return tuple(
        argument
        for argument in program.metadata[".args"]
        if not str(argument[".value_kind"]).startswith("hidden_")
    )


def pack_kernarg(
    program: Program,
    values: Sequence[Value],
    grid: Size3,
    block: Size3,
    dynamic_lds: int = 0,
) -> bytes:
    """The kernarg segment for a launch.

    Args:
        program: the kernel; its metadata fixes offsets and sizes.
        values: one per explicit argument, in order: an address or integer, a float (4 or 8
            bytes), or the bytes themselves for anything else.
        grid: workgroups along x, y, z.
        block: work-items of a workgroup along x, y, z.
        dynamic_lds: bytes of LDS beyond the static size.

    Raises:
        LaunchError: a value too many, too few, or that does not fit its argument.
    """
    explicit = explicit_arguments(program)
    if len(values) != len(explicit):
        raise LaunchError(f"{program.name} takes {len(explicit)} arguments, got {len(values)}")
    segment = bytearray(int(program.metadata[".kernarg_segment_size"]))
    given = iter(values)
    for position, argument in enumerate(program.metadata[".args"]):
        offset, size = int(argument[".offset"]), int(argument[".size"])
        kind = str(argument[".value_kind"])
        if kind.startswith("hidden_"):
            rule = HIDDEN.get(kind)
            hidden = rule(grid, block, dynamic_lds) if rule else 0
            if hidden >= 1 << 8 * size:
                raise LaunchError(
                    f"{program.name} is told its {kind} in {size} bytes, got {hidden}; "
                    "launch a smaller grid, block or dynamic_lds"
                )
            content = hidden.to_bytes(size, "little")
        else:
            content = _pack(program.name, position, next(given), size)
        segment[offset : offset + size] = content
    return bytes(segment)


def _pack(kernel: str, position: int, value: Value, size: int) -> bytes:
    if isinstance(value, bytes):
        if len(value) != size:
            raise LaunchError(f"argument {position} of {kernel} is {size} bytes, got {len(value)}")
        return value
    if isinstance(value, float):
        if size not in (4, 8):
            raise LaunchError(f"argument {position} of {kernel} is {size} bytes, got a float")
        return struct.pack("<f" if size == 4 else "<d", value)
    try:
        return int(value).to_bytes(size, "little", signed=value < 0)
    except OverflowError as error:
        raise LaunchError(
            f"argument {position} of {kernel} is {size} bytes, got {value}"
        ) from error
