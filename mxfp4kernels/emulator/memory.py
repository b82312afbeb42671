"""Global memory: named buffers of exact size in a 64-bit address space.

A buffer made from an array shares its bytes, so the caller sees what a kernel stored. An address
that lies in no buffer is never valid; there is no slack at a buffer's end.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator import access
from mxfp4kernels.emulator.errors import AccessError, EmulatorError

Bytes = npt.NDArray[np.uint8]

FIRST_ADDRESS = 0x7F00_0000_0000
"""Where the first buffer lies; high enough that a truncated address never hits a buffer."""
ALIGNMENT = 4096
GUARD = 1 << 20
"""Unmapped bytes after a buffer, so that an overrun does not land in the next one."""
POISON = 0xA5
"""Byte that fills a buffer allocated by size alone."""


@dataclass(frozen=True)
class Buffer:
    """``size`` bytes at ``address``; ``data`` is their uint8 view."""

    name: str
    address: int
    data: Bytes
    writable: bool = True

    @property
    def end(self) -> int:
        """The address after the last byte."""
        return self.address + self.data.size


class Journal:
    """The buffers that stores have touched since it was opened, as they were before."""

    def __init__(self) -> None:
        self.before: dict[int, Bytes] = {}
        self._buffers: dict[int, Buffer] = {}

    def note(self, buffer: Buffer) -> None:
        """Keep a buffer's content before its first store."""
        if buffer.address not in self.before:
            self.before[buffer.address] = buffer.data.copy()
            self._buffers[buffer.address] = buffer

    @property
    def touched(self) -> tuple[Buffer, ...]:
        """Buffers that received stores."""
        return tuple(self._buffers.values())

    def contents(self) -> dict[int, Bytes]:
        """The touched buffers as they are now, by address."""
        return {address: buffer.data.copy() for address, buffer in self._buffers.items()}

    def restore(self, contents: Mapping[int, Bytes]) -> None:
        """Put buffers back to the given contents."""
        for address, data in contents.items():
            self._buffers[address].data[:] = data


class Memory:
    """The buffers that a launch may touch.

    Args:
        first_address: where the first buffer without an address of its own lies.
    """

    def __init__(self, first_address: int = FIRST_ADDRESS) -> None:
        self._journal: Journal | None = None
        self._buffers: list[Buffer] = []
        self._starts: list[int] = []
        self._next = first_address

    def allocate(
        self,
        name: str,
        content: npt.NDArray[np.generic] | int,
        *,
        address: int | None = None,
        writable: bool = True,
        poison: int = POISON,
    ) -> int:
        """Make a buffer and return its address.

        Args:
            name: how faults and reports call it.
            content: a C-contiguous array, whose bytes are shared, or a size in bytes.
            address: where to put it; by default behind the last one with a guard between.
            writable: whether stores are allowed.
            poison: byte that fills a buffer given by size.

        Raises:
            EmulatorError: the array is not contiguous or not writable, or the range is taken.
        """
        if isinstance(content, (int, np.integer)):
            data = np.full(int(content), poison, np.uint8)
        else:
            if not content.flags.c_contiguous:
                raise EmulatorError(
                    f"buffer {name!r} must be C-contiguous; pass numpy.ascontiguousarray(array)"
                )
            if writable and not content.flags.writeable:
                raise EmulatorError(
                    f"buffer {name!r} is a read-only array; pass writable=False or a copy"
                )
            data = content.reshape(-1).view(np.uint8)
        if address is None:
            address = self._next
            step = data.size + GUARD + ALIGNMENT - 1
            self._next += step // ALIGNMENT * ALIGNMENT
        self._insert(Buffer(name, address, data, writable))
        return address

    def _insert(self, buffer: Buffer) -> None:
        at = bisect.bisect_right(self._starts, buffer.address)
        for other in self._buffers[max(0, at - 1) : at + 1]:
            if buffer.address < other.end and other.address < buffer.end:
                raise EmulatorError(
                    f"buffer {buffer.name!r} at {buffer.address:#x}..{buffer.end:#x} overlaps "
                    f"{other.name!r} at {other.address:#x}..{other.end:#x}"
                )
        self._starts.insert(at, buffer.address)
        self._buffers.insert(at, buffer)

    def free(self, address: int) -> None:
        """Drop the buffer that starts at ``address``.

        Raises:
            EmulatorError: no buffer starts there.
        """
        at = bisect.bisect_left(self._starts, address)
        if at == len(self._starts) or self._starts[at] != address:
            raise EmulatorError(f"no buffer starts at {address:#x}")
        del self._starts[at], self._buffers[at]

    @contextmanager
    def journal(self) -> Iterator[Journal]:
        """Keep what stores overwrite while the context is open.

        Raises:
            EmulatorError: a journal is open already.
        """
        if self._journal is not None:
            raise EmulatorError("a journal of this memory is open already")
        self._journal = Journal()
        try:
            yield self._journal
        finally:
            self._journal = None

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers by ascending address."""
        return tuple(self._buffers)

    def find(self, address: int) -> Buffer | None:
        """The buffer that holds ``address``, or ``None``."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at >= 0 and address < self._buffers[at].end:
            return self._buffers[at]
        return None

    def describe(self, address: int) -> str:
        """``address`` as an offset from the nearest buffer."""
        if not self._buffers:
            return "there is no buffer at all"
        nearest = min(
            self._buffers,
            key=lambda b: b.address - address if address < b.address else address - b.end,
        )
        if nearest.address <= address < nearest.end:
            where = f"{address - nearest.address} bytes into"
        elif address < nearest.address:
            where = f"{nearest.address - address} bytes before"
        else:
            where = f"{address - nearest.end} bytes past the end of"
        return f"{where} {nearest.name!r} ({nearest.data.size} bytes at {nearest.address:#x})"

    def _fault(self, what: str, position: int, address: int, size: int) -> AccessError:
        buffer = self.find(address)
        if buffer is not None and address + size <= buffer.end:
            return AccessError(
                position, f"{what} of {size} bytes in read-only buffer {buffer.name!r}"
            )
        return AccessError(
            position,
            f"{what} of {size} bytes at {address:#x} is outside every buffer: "
            f"{self.describe(address)}",
        )

    def _likely(
        self, addresses: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_]
    ) -> Buffer | None:
        """The buffer of the first masked lane: nearly always that of all lanes."""
        return self.find(int(addresses[int(np.argmax(mask))]))

    def _parts(
        self, addresses: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_], what: str, size: int
    ) -> list[tuple[Buffer, npt.NDArray[np.bool_]]]:
        """The buffers that masked lanes start in, each with the mask of its lanes."""
        left = mask.copy()
        parts: list[tuple[Buffer, npt.NDArray[np.bool_]]] = []
        while left.any():
            first = int(np.argmax(left))
            buffer = self.find(int(addresses[first]))
            if buffer is None:
                raise self._fault(what, first, int(addresses[first]), size)
            inside = left & (addresses >= buffer.address) & (addresses < buffer.end)
            parts.append((buffer, inside))
            left &= ~inside
        return parts

    def writable_lanes(
        self, addresses: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """The masked lanes whose address lies in a buffer that allows stores, bool [lanes]."""
        found = np.zeros_like(mask)
        left = mask.copy()
        while left.any():
            first = int(np.argmax(left))
            buffer = self.find(int(addresses[first]))
            if buffer is None:
                left[first] = False
                continue
            inside = left & (addresses >= buffer.address) & (addresses < buffer.end)
            left &= ~inside
            if buffer.writable:
                found |= inside
        return found

    def load(
        self,
        addresses: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_],
        size: int,
        out: npt.NDArray[np.uint32],
    ) -> None:
        """Load ``size`` bytes per masked lane into ``out[dword, lane]``; others stay as they are.

        Args:
            addresses: int64 [lanes].
            mask: bool [lanes].
            size: 1, 2 or a multiple of 4.
            out: uint32 [max(1, size // 4), lanes]; one or two bytes are zero-extended.

        Raises:
            AccessError: a masked lane reads outside every buffer.
        """
        if self._load(self._likely(addresses, mask), addresses, mask, size, out) < 0:
            return
        for buffer, lanes in self._parts(addresses, mask, "load", size):
            bad = self._load(buffer, addresses, lanes, size, out)
            if bad >= 0:
                raise self._fault("load", bad, int(addresses[bad]), size)

    @staticmethod
    def _load(
        buffer: Buffer | None,
        addresses: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_],
        size: int,
        out: npt.NDArray[np.uint32],
    ) -> int:
        if buffer is None:
            return 0
        if size < 4:
            return access.gather_bytes(buffer.data, buffer.address, addresses, mask, size, out)
        return access.gather_dwords(buffer.data, buffer.address, addresses, mask, out)

    def store(
        self,
        addresses: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_],
        size: int,
        words: npt.NDArray[np.uint32],
    ) -> None:
        """Store the low ``size`` bytes of ``words[:, lane]`` per masked lane, in lane order.

        Raises:
            AccessError: a masked lane writes outside every buffer or into a read-only one.
        """
        if self._store(self._likely(addresses, mask), addresses, mask, size, words) < 0:
            return
        for buffer, lanes in self._parts(addresses, mask, "store", size):
            bad = self._store(buffer, addresses, lanes, size, words)
            if bad >= 0:
                raise self._fault("store", bad, int(addresses[bad]), size)

    def _store(
        self,
        buffer: Buffer | None,
        addresses: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_],
        size: int,
        words: npt.NDArray[np.uint32],
    ) -> int:
        if buffer is None or not buffer.writable:
            return int(np.argmax(mask))
        if self._journal is not None:
            self._journal.note(buffer)
        return access.scatter(buffer.data, buffer.address, addresses, mask, size, words)
