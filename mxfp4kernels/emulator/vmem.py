"""Vector memory: buffer (MUBUF), global and flat loads, stores, loads to LDS and atomics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator import access
from mxfp4kernels.emulator.atomics import COMBINES, Combination
from mxfp4kernels.emulator.errors import AccessError
from mxfp4kernels.emulator.operands import APERTURES
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import SCALAR_ROWS, Array, Site
from mxfp4kernels.emulator.smem import ADDRESS_BITS, ignore_cache_hints
from mxfp4kernels.emulator.transfers import (
    Addresses,
    Atomic,
    Convert,
    GlobalLoad,
    GlobalStore,
    LoadToLds,
    Reach,
    Transfer,
    into_high,
    into_low,
    keep,
    sign8,
    sign16,
)
from mxfp4kernels.emulator.waves import LANES, M0, Waves

LOADS: dict[str, tuple[int, Convert]] = {
    "dword": (4, keep),
    "dwordx2": (8, keep),
    "dwordx3": (12, keep),
    "dwordx4": (16, keep),
    "ubyte": (1, keep),
    "sbyte": (1, sign8),
    "ushort": (2, keep),
    "sshort": (2, sign16),
    "ubyte_d16": (1, into_low(keep)),
    "sbyte_d16": (1, into_low(sign8)),
    "short_d16": (2, into_low(keep)),
    "ubyte_d16_hi": (1, into_high(keep)),
    "sbyte_d16_hi": (1, into_high(sign8)),
    "short_d16_hi": (2, into_high(keep)),
}
"""Bytes per lane and how they fill the register."""
LDS_LOADS = ("dword", "dwordx3", "dwordx4", "ubyte", "sbyte", "ushort", "sshort")
"""The loads that can go to LDS."""
STORES = {
    "dword": (4, 0),
    "dwordx2": (8, 0),
    "dwordx3": (12, 0),
    "dwordx4": (16, 0),
    "byte": (1, 0),
    "short": (2, 0),
    "byte_d16_hi": (1, 16),
    "short_d16_hi": (2, 16),
}
"""Bytes per lane and the bit of the register that they start at."""


def _buffer_addresses(site: Site, first: int, size: int) -> Addresses:
    """Addresses of a MUBUF instruction whose operands from ``first`` on are vaddr, srsrc, soffset.

    A raw buffer (stride 0) checks ``offset + voffset + soffset + 4`` of each dword (the whole of an
    atomic or of a smaller access) against num_records; a structured one checks the index. Out of
    range, loads give 0 and stores and atomics are dropped. Source: AMD CDNA3 ISA manual, 9.1.5.
    """
    offen, idxen = site.flag("offen"), site.flag("idxen")
    immediate = site.number("offset")
    resource = site.scalar(first + 1, 4, read=True)
    scalar = site.read(site.operands[first + 2], "u32")
    index, offset = _buffer_vaddr(site, first, offen, idxen)
    whole_only = "atomic" in site.instruction.opcode

    def addresses(w: Waves) -> Reach:
        base = w.read64(resource).view(np.int64) & ADDRESS_BITS
        records = w.s[resource + 2].astype(np.int64)
        stride = (w.s[resource + 1] >> np.uint32(16) & np.uint32(0x3FFF)).astype(np.int64)
        at = offset(w) + immediate + scalar(w)
        whole = None
        in_range = at + size <= records
        if stride.any():
            _refuse_swizzle(site, w, resource)
            in_range = np.where(stride != 0, index(w) < records, in_range)
            at = at + index(w) * stride
        elif size > 4 and not whole_only:
            partly = (at + 4 <= records) & ~in_range
            if (partly & w.lanes).any():
                whole = np.broadcast_to(np.where(in_range, size, records - at) // 4, partly.shape)
                in_range = in_range | partly
        at = np.broadcast_to(base + at, (w.count, LANES))
        zero = w.lanes & ~in_range
        return Reach(at, w.lanes & in_range, zero if zero.any() else None, whole)

    return addresses


def _refuse_swizzle(site: Site, w: Waves, resource: int) -> None:
    if (w.s[resource + 1] >> np.uint32(31)).any():
        raise site.fail("swizzled buffers are not implemented")


def _buffer_vaddr(
    site: Site, first: int, offen: bool, idxen: bool
) -> tuple[Callable[[Waves], Array], Callable[[Waves], Array]]:
    """Index and offset from vaddr, int64."""
    zero = np.zeros((1, 1), np.int64)
    if not offen and not idxen:
        if site.operands[first].is_vector:
            raise site.fail("an address register without offen or idxen")
        return (lambda w: zero), (lambda w: zero)
    row = site.vector(first, 2 if offen and idxen else 1, read=True)
    position = row + 1 if idxen else row

    def index(w: Waves) -> Array:
        return w.v[row].astype(np.int64) if idxen else zero

    def offset(w: Waves) -> Array:
        return w.v[position].astype(np.int64) if offen else zero

    return index, offset


def _flat_addresses(site: Site, vaddr: int, saddr: int | None) -> Addresses:
    """Addresses of global and flat instructions; ``saddr`` is an operand number or None."""
    immediate = site.number("offset")
    if saddr is None or site.operands[saddr].kind == "name":
        if saddr is not None and site.operands[saddr].text != "off":
            raise site.fail(f"operand {site.operands[saddr].text} must be off or a scalar pair")
        row = site.vector(vaddr, 2, read=True)

        def from_vector(w: Waves) -> Reach:
            high = w.v[row + 1].astype(np.int64) << np.int64(32)
            at = (w.v[row] | high) + immediate
            if saddr is None:
                _refuse_apertures(at, w)
            return Reach(at, w.lanes)

        return from_vector
    base = site.scalar(saddr, 2, read=True)
    row = site.vector(vaddr, 1, read=True)

    def from_scalar(w: Waves) -> Reach:
        at = w.read64(base).view(np.int64) + w.v[row].astype(np.int64) + immediate
        return Reach(at, w.lanes)

    return from_scalar


def _refuse_apertures(addresses: Array, w: Waves) -> None:
    """Flat addresses that mean LDS or scratch.

    Raises:
        AccessError: an active lane has one.
    """
    for name, space in (("shared", "LDS"), ("private", "scratch")):
        first = APERTURES[f"src_{name}_base"]
        bad = w.lanes & (addresses >= first) & (addresses <= APERTURES[f"src_{name}_limit"])
        if bad.any():
            raise AccessError(
                int(bad.argmax()),
                f"flat access to {space} is not implemented; use ds_ or scratch_ instructions",
            )


def _lds_base(site: Site) -> Callable[[Waves], Array]:
    offset = site.number("offset")
    site.reads.add(SCALAR_ROWS + M0)
    return lambda w: w.s[M0].astype(np.int64) + offset


@REGISTRY.add(*(f"buffer_load_{kind}" for kind in LOADS))
def _buffer_load(site: Site, opcode: str, encoding: str) -> Transfer:
    size, convert = LOADS[opcode.removeprefix("buffer_load_")]
    ignore_cache_hints(site)
    if site.flag("lds"):
        site.expect(3)
        if opcode.removeprefix("buffer_load_") not in LDS_LOADS:
            raise site.fail("this load cannot go to LDS")
        return LoadToLds(_buffer_addresses(site, 0, size), _lds_base(site), size, convert)
    site.expect(4)
    row = site.vector(0, max(1, size // 4), write=True)
    return GlobalLoad(_buffer_addresses(site, 1, size), row, size, convert)


@REGISTRY.add(*(f"buffer_store_{kind}" for kind in STORES))
def _buffer_store(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(4)
    size, shift = STORES[opcode.removeprefix("buffer_store_")]
    ignore_cache_hints(site)
    row = site.vector(0, max(1, size // 4), read=True)
    return GlobalStore(_buffer_addresses(site, 1, size), row, size, shift)


@REGISTRY.add(*(f"{space}_load_{kind}" for space in ("global", "flat") for kind in LOADS))
def _flat_load(site: Site, opcode: str, encoding: str) -> Transfer:
    space, kind = opcode.split("_load_")
    size, convert = LOADS[kind]
    ignore_cache_hints(site)
    site.expect(3 if space == "global" else 2)
    row = site.vector(0, max(1, size // 4), write=True)
    addresses = _flat_addresses(site, 1, 2 if space == "global" else None)
    return _counted(GlobalLoad(addresses, row, size, convert), space)


@REGISTRY.add(*(f"{space}_store_{kind}" for space in ("global", "flat") for kind in STORES))
def _flat_store(site: Site, opcode: str, encoding: str) -> Transfer:
    space, kind = opcode.split("_store_")
    size, shift = STORES[kind]
    ignore_cache_hints(site)
    site.expect(3 if space == "global" else 2)
    row = site.vector(1, max(1, size // 4), read=True)
    addresses = _flat_addresses(site, 0, 2 if space == "global" else None)
    return _counted(GlobalStore(addresses, row, size, shift), space)


def _counted(transfer: Transfer, space: str) -> Transfer:
    if space == "flat":
        transfer.counters = ("vmcnt", "lgkmcnt")
    return transfer


def _scratch_addresses(site: Site, vaddr: int, saddr: int, size: int) -> Addresses:
    """Addresses in the wave's private memory; each lane has its own.

    Raises:
        AccessError: a lane leaves its private segment.
    """
    immediate = site.number("offset")
    lane_offset = _optional(site, vaddr, vector=True)
    base = _optional(site, saddr, vector=False)

    def addresses(w: Waves) -> Reach:
        offset = np.broadcast_to(lane_offset(w) + base(w) + immediate, (w.count, LANES))
        bad = access.outside(offset.reshape(-1), w.lanes.reshape(-1), w.scratch.size, size)
        if bad >= 0:
            raise AccessError(
                bad,
                f"scratch access of {size} bytes at {int(offset.reshape(-1)[bad])} leaves the "
                f"lane's {w.scratch.size} bytes",
            )
        lane = w.ids[:, None] * LANES + np.arange(LANES)
        return Reach(w.scratch.address + lane * w.scratch.size + offset, w.lanes)

    return addresses


def _optional(site: Site, index: int, *, vector: bool) -> Callable[[Waves], Array]:
    """A 32-bit offset from a register, or 0 for ``off``."""
    if site.operands[index].text == "off":
        zero = np.zeros((1, 1), np.int64)
        return lambda w: zero
    if vector:
        row = site.vector(index, 1, read=True)
        return lambda w: w.v[row].astype(np.int64)
    read = site.read(site.operands[index], "u32")
    return lambda w: read(w).astype(np.int64)


@REGISTRY.add(*(f"scratch_load_{kind}" for kind in LOADS))
def _scratch_load(site: Site, opcode: str, encoding: str) -> Transfer:
    size, convert = LOADS[opcode.removeprefix("scratch_load_")]
    ignore_cache_hints(site)
    site.expect(3)
    row = site.vector(0, max(1, size // 4), write=True)
    return GlobalLoad(_scratch_addresses(site, 1, 2, size), row, size, convert)


@REGISTRY.add(*(f"scratch_store_{kind}" for kind in STORES))
def _scratch_store(site: Site, opcode: str, encoding: str) -> Transfer:
    size, shift = STORES[opcode.removeprefix("scratch_store_")]
    ignore_cache_hints(site)
    site.expect(3)
    row = site.vector(1, max(1, size // 4), read=True)
    return GlobalStore(_scratch_addresses(site, 0, 2, size), row, size, shift)


@REGISTRY.add(*(f"global_load_lds_{kind}" for kind in LDS_LOADS))
def _global_load_lds(site: Site, opcode: str, encoding: str) -> Transfer:
    """The instruction offset is added to both the global and the LDS address."""
    size, convert = LOADS[opcode.removeprefix("global_load_lds_")]
    ignore_cache_hints(site)
    site.expect(2)
    return LoadToLds(_flat_addresses(site, 0, 1), _lds_base(site), size, convert)


LDS_ONLY = ("rsub", "rsub_x2", "min_f32", "max_f32")
"""Operations that gfx950 has in LDS but not in memory."""


def _atomic_names(prefix: str) -> list[str]:
    return [f"{prefix}_atomic_{name}" for name in COMBINES if name not in LDS_ONLY]


@REGISTRY.add(*_atomic_names("buffer"))
def _buffer_atomic(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(4)
    combination = COMBINES[opcode.removeprefix("buffer_atomic_")]
    returns = site.flag("sc0")
    ignore_cache_hints(site)
    row = site.vector(0, combination.operand_dwords, read=True, write=returns)
    addresses = _buffer_addresses(site, 1, combination.size)
    return _atomic(addresses, row, combination, row if returns else None)


@REGISTRY.add(*_atomic_names("global"), *_atomic_names("flat"))
def _flat_atomic(site: Site, opcode: str, encoding: str) -> Transfer:
    space, name = opcode.split("_atomic_")
    combination = COMBINES[name]
    returns = site.flag("sc0")
    ignore_cache_hints(site)
    first = 1 if returns else 0
    site.expect(first + (3 if space == "global" else 2))
    result = site.vector(0, combination.size // 4, write=True) if returns else None
    row = site.vector(first + 1, combination.operand_dwords, read=True)
    addresses = _flat_addresses(site, first, first + 2 if space == "global" else None)
    return _counted(_atomic(addresses, row, combination, result), space)


def _atomic(addresses: Addresses, row: int, how: Combination, result: int | None) -> Atomic:
    rows = range(row, row + how.operand_dwords)
    return Atomic("global", addresses, rows, how.size, how.combine, result)


@REGISTRY.add("buffer_wbl2", "buffer_inv")
def _cache(site: Site, opcode: str, encoding: str) -> Execute:
    ignore_cache_hints(site)
    return lambda w: None
