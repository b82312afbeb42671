"""Explicit arguments and whole kernarg segments against bytes laid out by hand."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from mxfp4kernels.emulator import pack_kernarg
from mxfp4kernels.isa.program import Program
from mxfp4kernels.kernarg import (
    KernargError,
    Parameter,
    Pointer,
    Scalar,
    explicit_values,
    is_tensor_abi,
)


def entry(offset: int, size: int, kind: str = "by_value") -> dict[str, Any]:
    return {".offset": offset, ".size": size, ".value_kind": kind}


def segment(size: int, entries: list[dict[str, Any]], parameters: list[Parameter]) -> bytes:
    metadata = {".kernarg_segment_size": size, ".args": entries}
    program = Program("kernel", "gfx950", (), {}, {}, metadata)
    explicit = [e for e in entries if not e[".value_kind"].startswith("hidden_")]
    values = explicit_values(explicit, parameters)
    return pack_kernarg(program, values, (12, 1, 1), (256, 1, 1))


POINTERS: list[Parameter] = [
    Pointer("x", 0x7F0000001000, (4, 6)),
    Pointer("y", 0x7F0000002000, (5,)),
]


def test_addresses_in_natural_alignment() -> None:
    """Two addresses, an i32, and an address again: four bytes of padding before it."""
    entries = [entry(0, 8), entry(8, 8), entry(16, 4), entry(24, 8)]
    parameters = [*POINTERS, Scalar("n", -3), Pointer("z", 0, (0, 0))]
    expected = struct.pack("<QQi4xQ", 0x7F0000001000, 0x7F0000002000, -3, 0)
    assert segment(32, entries, parameters) == expected
    assert not is_tensor_abi(entries, parameters)


def test_tensors_carry_dimensions_then_strides() -> None:
    """2-D: 16 packed bytes of two i32 and one i64; 1-D: one i32; the last stride is not carried."""
    entries = [
        entry(0, 8, "global_buffer"),
        entry(8, 16),
        entry(24, 8, "global_buffer"),
        entry(32, 4),
        entry(40, 4),
    ]
    parameters = [*POINTERS, Scalar("n", 7)]
    expected = struct.pack("<QiiqQi4xi", 0x7F0000001000, 4, 6, 6, 0x7F0000002000, 5, 7)
    assert segment(44, entries, parameters) == expected
    assert is_tensor_abi(entries, parameters)


def test_three_dimensions() -> None:
    entries = [entry(0, 8, "global_buffer"), entry(8, 28)]
    packed = segment(36, entries, [Pointer("w", 1 << 40, (385, 1024, 3584))])
    assert packed == struct.pack("<Qiiiqq", 1 << 40, 385, 1024, 3584, 1024 * 3584, 3584)


def test_the_grid_of_a_persistent_kernel_is_a_hidden_argument() -> None:
    entries = [entry(0, 8), entry(8, 4, "hidden_block_count_x"), entry(12, 4, "hidden_none")]
    assert segment(16, entries, POINTERS[:1]) == struct.pack("<QII", 0x7F0000001000, 12, 0)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([entry(0, 8)], "1 explicit arguments"),
        ([entry(0, 8), entry(8, 4), entry(16, 4)], "3 explicit"),
        ([entry(8 * i, 8) for i in range(4)], "shape struct of 8 bytes"),
        ([entry(0, 8), entry(8, 28), entry(40, 8), entry(48, 4)], "rank 3, the launch has shape"),
    ],
)
def test_what_does_not_fit_is_refused(entries: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(KernargError, match=message):
        explicit_values(entries, POINTERS)
