"""MessagePack against bytes from its specification, and code objects with parts missing."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.compiler import Compiler, Job, MissingComponent, find_linker
from mxfp4kernels.flags import NONE
from mxfp4kernels.hip import CodeObjectError
from mxfp4kernels.hip.code_object import kernel_metadata
from mxfp4kernels.hip.msgpack import unpack
from mxfp4kernels.shapes import Shape, find_variant


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        ("c0", None),
        ("c2", False),
        ("c3", True),
        ("00", 0),
        ("7f", 127),
        ("e0", -32),
        ("ff", -1),
        ("cc80", 128),
        ("cd0100", 256),
        ("ce00010000", 65536),
        ("cf0000000100000000", 2**32),
        ("d080", -128),
        ("d1ff7f", -129),
        ("d2ffff7fff", -32769),
        ("d3ffffffff7fffffff", -(2**31) - 1),
        ("a0", ""),
        ("a3616263", "abc"),
        ("d903c3a962", "éb"),
        ("da000161", "a"),
        ("db0000000161", "a"),
        ("93010203", [1, 2, 3]),
        ("dc000101", [1]),
        ("dd0000000101", [1]),
        ("81a16101", {"a": 1}),
        ("de0001a16190", {"a": []}),
        ("df00000001a161c0", {"a": None}),
    ],
)
def test_every_form(encoded: str, value: Any) -> None:
    found = unpack(bytes.fromhex(encoded))
    assert found == value
    assert type(found) is type(value)


def pack(value: Any) -> bytes:
    """The widest form of everything, so that lengths and numbers are easy to write."""
    if isinstance(value, bool) or value is None:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return struct.pack(">Bq", 0xD3, value)
    if isinstance(value, str):
        return struct.pack(">BI", 0xDB, len(value.encode())) + value.encode()
    if isinstance(value, list):
        return struct.pack(">BI", 0xDD, len(value)) + b"".join(map(pack, value))
    entries = b"".join(pack(key) + pack(entry) for key, entry in value.items())
    return struct.pack(">BI", 0xDF, len(value)) + entries


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


@given(VALUES)
def test_nested_values(value: Any) -> None:
    assert unpack(pack(value)) == value


@given(VALUES, st.data())
def test_a_part_is_refused(value: Any, data: st.DataObject) -> None:
    encoded = pack(value)
    end = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises(ValueError, match="MessagePack ends"):
        unpack(encoded[:end])


@pytest.mark.parametrize(
    ("encoded", "message"),
    [("ca3f800000", "type 0xca"), ("c40100", "type 0xc4"), ("0102", "1 bytes follow")],
)
def test_what_metadata_does_not_have_is_refused(encoded: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack(bytes.fromhex(encoded))


@pytest.fixture(scope="module")
def linked() -> tuple[str, bytes]:
    try:
        find_linker()
    except MissingComponent as error:
        pytest.skip(str(error))
    job = Job(find_variant("gemm1", "bm32_nt"), Shape(4, 512, 256, 2), NONE)
    (result,) = Compiler().link_all([job])
    return result.kernel.program.name, result.code_object


def test_the_note_says_what_the_assembly_says(linked: tuple[str, bytes]) -> None:
    name, code_object = linked
    job = Job(find_variant("gemm1", "bm32_nt"), Shape(4, 512, 256, 2), NONE)
    assert kernel_metadata(code_object, name) == Compiler().compile(job).program.metadata


def test_unknown_kernels_and_foreign_files_are_refused(linked: tuple[str, bytes]) -> None:
    name, code_object = linked
    with pytest.raises(CodeObjectError, match=f"no kernel 'other'; it holds {name}"):
        kernel_metadata(code_object, "other")
    host = code_object[:18] + struct.pack("<H", 62) + code_object[20:]
    with pytest.raises(CodeObjectError, match="not an ELF file for AMDGPU"):
        kernel_metadata(host, name)
    with pytest.raises(CodeObjectError, match="is damaged"):
        kernel_metadata(code_object[: len(code_object) // 2], name)
    with pytest.raises(CodeObjectError, match="is damaged"):
        kernel_metadata(code_object[:40], name)
    without = code_object.replace(b"AMDGPU\0", b"NOBODY\0")
    with pytest.raises(CodeObjectError, match="no AMDGPU metadata note"):
        kernel_metadata(without, name)
