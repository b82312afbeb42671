"""Compiled gathers and scatters: the inner loops of every vector memory and LDS instruction.

All take byte arrays and signed 64-bit positions, move whole dwords or one or two bytes per lane in
ascending lane order, touch only lanes whose mask is set, and return the flat index of the first
lane whose bytes do not all lie inside, or -1. Nothing is moved for lanes from that one on.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint32]


@numba.njit(cache=True, nogil=True)
def gather_dwords(
    data: Bytes, start: int, addresses: Positions, mask: Mask, out: Words
) -> int:  # pragma: no cover - compiled
    """``out[d, lane] = dword d at addresses[lane]``; ``start`` is the address of ``data[0]``."""
    dwords = out.shape[0]
    last = data.shape[0] - 4 * dwords
    for lane in range(addresses.shape[0]):
        if mask[lane]:
            at = addresses[lane] - start
            if at < 0 or at > last:
                return lane
            for d in range(dwords):
                b = at + 4 * d
                out[d, lane] = (
                    np.uint32(data[b])
                    | np.uint32(data[b + 1]) << np.uint32(8)
                    | np.uint32(data[b + 2]) << np.uint32(16)
                    | np.uint32(data[b + 3]) << np.uint32(24)
                )
    return -1


@numba.njit(cache=True, nogil=True)
def gather_bytes(
    data: Bytes, start: int, addresses: Positions, mask: Mask, size: int, out: Words
) -> int:  # pragma: no cover - compiled
    """``out[0, lane]`` = the ``size`` (1 or 2) bytes at ``addresses[lane]``, zero-extended."""
    last = data.shape[0] - size
    for lane in range(addresses.shape[0]):
        if mask[lane]:
            at = addresses[lane] - start
            if at < 0 or at > last:
                return lane
            value = np.uint32(data[at])
            if size == 2:
                value |= np.uint32(data[at + 1]) << np.uint32(8)
            out[0, lane] = value
    return -1


@numba.njit(cache=True, nogil=True)
def scatter(
    data: Bytes, start: int, addresses: Positions, mask: Mask, size: int, words: Words
) -> int:  # pragma: no cover - compiled
    """Store the low ``size`` bytes of each lane's words; the last lane wins on overlap."""
    last = data.shape[0] - size
    for lane in range(addresses.shape[0]):
        if mask[lane]:
            at = addresses[lane] - start
            if at < 0 or at > last:
                return lane
            for b in range(size):
                data[at + b] = np.uint8(words[b >> 2, lane] >> np.uint32(8 * (b & 3)))
    return -1


@numba.njit(cache=True, nogil=True)
def outside(
    addresses: Positions, mask: Mask, limit: int, size: int
) -> int:  # pragma: no cover - compiled
    """The first masked lane for which ``[address, address + size)`` leaves ``[0, limit)``."""
    for lane in range(addresses.shape[0]):
        if mask[lane] and (addresses[lane] < 0 or addresses[lane] + size > limit):
            return lane
    return -1
