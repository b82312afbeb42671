"""What a loaded code object says about its kernels: the metadata note of an AMDGPU ELF file."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from .errors import CodeObjectError
from .msgpack import unpack

EM_AMDGPU = 224
SHT_NOTE = 7
NT_AMDGPU_METADATA = 32
"""Source: LLVM AMDGPUUsage, "Code Object V3 and Above Note Records"."""

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NOTE = struct.Struct("<III")


def kernel_metadata(code_object: bytes, kernel: str) -> Mapping[str, Any]:
    """A kernel's entry of ``amdhsa.kernels``: ``.args``, ``.kernarg_segment_size`` and so on.

    Raises:
        CodeObjectError: not an AMDGPU ELF file, damaged, without metadata or such a kernel.
    """
    try:
        metadata = _metadata(code_object)
    except (struct.error, ValueError) as error:
        raise CodeObjectError(f"the code object of {kernel} is damaged: {error}") from error
    for entry in metadata["amdhsa.kernels"]:
        if entry[".name"] == kernel:
            found: Mapping[str, Any] = entry
            return found
    known = ", ".join(entry[".name"] for entry in metadata["amdhsa.kernels"])
    raise CodeObjectError(f"the code object has no kernel {kernel!r}; it holds {known}")


def _metadata(code_object: bytes) -> Any:
    for kind, content in _notes(code_object):
        if kind == NT_AMDGPU_METADATA:
            return unpack(content)
    raise CodeObjectError("the code object carries no AMDGPU metadata note")


def _notes(code_object: bytes) -> Iterator[tuple[int, bytes]]:
    """Type and content of every note of the vendor AMDGPU."""
    identification, _, machine, *_ = header = _HEADER.unpack_from(code_object)
    if identification[:4] != b"\x7fELF" or machine != EM_AMDGPU:
        raise CodeObjectError("the code object is not an ELF file for AMDGPU")
    table, entry_size, entries = header[6], header[11], header[12]
    for index in range(entries):
        section = _SECTION.unpack_from(code_object, table + index * entry_size)
        kind, offset, size = section[1], section[4], section[5]
        if kind == SHT_NOTE:
            yield from _notes_of(code_object[offset : offset + size])


def _notes_of(section: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(section):
        name_size, content_size, kind = _NOTE.unpack_from(section, at)
        name_at = at + _NOTE.size
        content_at = name_at + _padded(name_size)
        if section[name_at : name_at + name_size].rstrip(b"\0") == b"AMDGPU":
            yield kind, section[content_at : content_at + content_size]
        at = content_at + _padded(content_size)


def _padded(size: int) -> int:
    return -(-size // 4) * 4
