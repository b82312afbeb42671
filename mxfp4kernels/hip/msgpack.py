"""Reads MessagePack, the encoding of a code object's metadata. Source: the msgpack specification.

Only what LLVM writes there: nil, booleans, integers, strings, arrays and maps.
"""

from __future__ import annotations

from typing import Any


def unpack(data: bytes) -> Any:
    """The one object that ``data`` encodes.

    Raises:
        ValueError: a type that metadata does not have, an early end, or bytes left over.
    """
    value, end = _read(data, 0)
    if end != len(data):
        raise ValueError(f"{len(data) - end} bytes follow the MessagePack object")
    return value


_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_SIGNED = range(0xD0, 0xD4)
_UNSIGNED = range(0xCC, 0xD0)
_STRINGS = range(0xD9, 0xDC)
_ARRAYS = range(0xDC, 0xDE)
_MAPS = range(0xDE, 0xE0)


def _read(data: bytes, at: int) -> tuple[Any, int]:
    kind, at = _number(data, at, 1)
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 0x100, at
    if kind < 0x90:
        return _map(data, at, kind & 0xF)
    if kind < 0xA0:
        return _array(data, at, kind & 0xF)
    if kind < 0xC0:
        return _string(data, at, kind & 0x1F)
    if kind in _CONSTANTS:
        return _CONSTANTS[kind], at
    for kinds, signed in ((_UNSIGNED, False), (_SIGNED, True)):
        if kind in kinds:
            return _number(data, at, 1 << kinds.index(kind), signed=signed)
    for kinds, smallest, read in (
        (_STRINGS, 1, _string),
        (_ARRAYS, 2, _array),
        (_MAPS, 2, _map),
    ):
        if kind in kinds:
            length, at = _number(data, at, smallest << kinds.index(kind))
            return read(data, at, length)
    raise ValueError(f"byte {at - 1}: MessagePack type {kind:#x} is not one of metadata's")


def _take(data: bytes, at: int, size: int) -> bytes:
    if at + size > len(data):
        raise ValueError(f"MessagePack ends at byte {len(data)}, within an object")
    return data[at : at + size]


def _number(data: bytes, at: int, size: int, *, signed: bool = False) -> tuple[int, int]:
    return int.from_bytes(_take(data, at, size), "big", signed=signed), at + size


def _string(data: bytes, at: int, length: int) -> tuple[str, int]:
    return _take(data, at, length).decode(), at + length


def _array(data: bytes, at: int, length: int) -> tuple[list[Any], int]:
    items = []
    for _ in range(length):
        item, at = _read(data, at)
        items.append(item)
    return items, at


def _map(data: bytes, at: int, length: int) -> tuple[dict[Any, Any], int]:
    entries = {}
    for _ in range(length):
        key, at = _read(data, at)
        entries[key], at = _read(data, at)
    return entries, at
