"""Kernarg segments against bytes laid out by hand from compiled metadata."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mxfp4kernels.kernarg import KernargError, Pointer, Scalar, is_tensor_abi, pack_kernarg

GRID, GROUP = (12, 3, 1), (256, 1, 1)


def entry(offset: int, size: int, kind: str = "by_value") -> dict[str, Any]:
    return {".offset": offset, ".size": size, ".value_kind": kind}


def metadata(size: int, *entries: dict[str, Any]) -> dict[str, Any]:
    return {".kernarg_segment_size": size, ".args": list(entries)}


POINTERS = [Pointer("x", 0x7F0000001000, (4, 6)), Pointer("y", 0x7F0000002000, (5,))]


def test_addresses_in_natural_alignment() -> None:
    """Two addresses, an i32, and an address again: four bytes of padding before it."""
    kernel = metadata(32, entry(0, 8), entry(8, 8), entry(16, 4), entry(24, 8))
    parameters = [*POINTERS, Scalar("n", -3), Pointer("z", 0, (0, 0))]
    expected = struct.pack("<QQi4xQ", 0x7F0000001000, 0x7F0000002000, -3, 0)
    assert pack_kernarg(kernel, parameters, GRID, GROUP) == expected
    assert not is_tensor_abi(kernel, parameters)


def test_tensors_carry_dimensions_then_strides() -> None:
    """2-D: 16 packed bytes of two i32 and one i64; 1-D: one i32; the last stride is not carried."""
    kernel = metadata(
        44,
        entry(0, 8, "global_buffer"),
        entry(8, 16),
        entry(24, 8, "global_buffer"),
        entry(32, 4),
        entry(40, 4),
    )
    parameters = [*POINTERS, Scalar("n", 7)]
    expected = struct.pack("<QiiqQi4xi", 0x7F0000001000, 4, 6, 6, 0x7F0000002000, 5, 7)
    assert pack_kernarg(kernel, parameters, GRID, GROUP) == expected
    assert is_tensor_abi(kernel, parameters)


def test_three_dimensions() -> None:
    kernel = metadata(36, entry(0, 8, "global_buffer"), entry(8, 28))
    packed = pack_kernarg(kernel, [Pointer("w", 1 << 40, (385, 1024, 3584))], GRID, GROUP)
    assert packed == struct.pack("<Qiiiqq", 1 << 40, 385, 1024, 3584, 1024 * 3584, 3584)


def test_hidden_arguments() -> None:
    kernel = metadata(
        40,
        entry(0, 8),
        entry(8, 4, "hidden_block_count_x"),
        entry(12, 4, "hidden_block_count_y"),
        entry(16, 2, "hidden_group_size_x"),
        entry(18, 2, "hidden_remainder_x"),
        entry(20, 2, "hidden_grid_dims"),
        entry(24, 8, "hidden_hostcall_buffer"),
    )
    expected = struct.pack("<QIIHHH2xQ8x", 0x7F0000001000, 12, 3, 256, 0, 2, 0)
    assert pack_kernarg(kernel, POINTERS[:1], GRID, GROUP) == expected


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (metadata(16, entry(0, 8)), "1 explicit kernarg entries"),
        (metadata(24, entry(0, 8), entry(8, 4), entry(16, 4)), "3 explicit"),
        (metadata(16, entry(0, 8), entry(8, 4)), "takes 4 bytes"),
        (metadata(12, entry(0, 8), entry(8, 8)), "past the segment's 12 bytes"),
        (metadata(40, *(entry(8 * i, 8) for i in range(4))), "shape struct of 8 bytes"),
        (
            metadata(64, entry(0, 8), entry(8, 28), entry(40, 8), entry(48, 4)),
            "rank 3, the launch has shape",
        ),
        (metadata(24, entry(0, 8), entry(8, 8), entry(16, 8, "hidden_new")), "hidden_new"),
    ],
)
def test_what_does_not_fit_is_refused(kernel: dict[str, Any], message: str) -> None:
    with pytest.raises(KernargError, match=message):
        pack_kernarg(kernel, POINTERS, GRID, GROUP)
