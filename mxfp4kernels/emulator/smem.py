"""Scalar memory: s_load, s_buffer_load, and the cache and clock instructions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site
from mxfp4kernels.emulator.transfers import Reach, ScalarLoad, Transfer
from mxfp4kernels.emulator.waves import Waves

WIDTHS = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
ADDRESS_BITS = (1 << 48) - 1


def scalar_offset(site: Site) -> Callable[[Waves], Array]:
    """The byte offset of operand 2 plus the ``offset`` modifier, int64 [waves, 1]."""
    immediate = site.number("offset")
    operand = site.operands[2]
    if operand.kind == "constant":
        constant = np.array([[int(operand.value) + immediate]], np.int64)
        return lambda w: constant
    read = site.read(operand, "u32")
    return lambda w: read(w).astype(np.int64) + immediate


def ignore_cache_hints(site: Site) -> None:
    """Accept the modifiers that steer caches and change no result."""
    for name in ("glc", "slc", "sc0", "sc1", "nt"):
        site.flag(name)


@REGISTRY.add(*(f"s_load_{width}" for width in WIDTHS))
def _load(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(3)
    dwords = WIDTHS[opcode.removeprefix("s_load_")]
    row = site.scalar(0, dwords, write=True)
    base = site.scalar(1, 2, read=True)
    offset = scalar_offset(site)
    ignore_cache_hints(site)

    def addresses(w: Waves) -> Reach:
        at = w.read64(base).view(np.int64) + offset(w) & ~np.int64(3)
        return Reach(at, np.ones((w.count, 1), np.bool_))

    return ScalarLoad(addresses, row, dwords)


@REGISTRY.add(*(f"s_buffer_load_{width}" for width in WIDTHS))
def _buffer_load(site: Site, opcode: str, encoding: str) -> Transfer:
    """Dwords beyond num_records (times the stride, if there is one) give 0."""
    site.expect(3)
    dwords = WIDTHS[opcode.removeprefix("s_buffer_load_")]
    row = site.scalar(0, dwords, write=True)
    base = site.scalar(1, 4, read=True)
    offset = scalar_offset(site)
    ignore_cache_hints(site)
    steps = 4 * np.arange(dwords, dtype=np.int64)

    def addresses(w: Waves) -> Reach:
        start = w.read64(base).view(np.int64) & ADDRESS_BITS
        stride = (w.s[base + 1] >> np.uint32(16) & np.uint32(0x3FFF)).astype(np.int64)
        limit = w.s[base + 2].astype(np.int64) * np.maximum(stride, 1)
        at = (offset(w) & ~np.int64(3)) + steps
        inside = np.broadcast_to(at + 4 <= limit, (w.count, dwords))
        return Reach(np.broadcast_to(start + at, (w.count, dwords)), inside, ~inside)

    return ScalarLoad(addresses, row, dwords, dwords)


@REGISTRY.add("s_dcache_inv", "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol")
def _cache(site: Site, opcode: str, encoding: str) -> Execute:
    return lambda w: None


@REGISTRY.add("s_memtime", "s_memrealtime")
def _clock(site: Site, opcode: str, encoding: str) -> Execute:
    """A clock that stands still: the emulator has no notion of time."""
    row = site.scalar(0, 2, write=True)
    return lambda w: w.write64(row, np.zeros((w.count, 1), np.uint64))
