"""DS instructions: LDS reads, writes and atomics, and moves between lanes through that hardware."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator.atomics import COMBINES, Combination
from mxfp4kernels.emulator.lanes import swizzle_source
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import SCALAR_ROWS, Array, Site
from mxfp4kernels.emulator.transfers import (
    Atomic,
    Convert,
    Exchange,
    LdsRead,
    LdsWrite,
    Reach,
    Transfer,
    into_high,
    into_low,
    keep,
    sign8,
    sign16,
)
from mxfp4kernels.emulator.waves import LANES, M0, Waves

READS: dict[str, tuple[int, Convert]] = {
    "b32": (4, keep),
    "b64": (8, keep),
    "b96": (12, keep),
    "b128": (16, keep),
    "u8": (1, keep),
    "i8": (1, sign8),
    "u16": (2, keep),
    "i16": (2, sign16),
    "u8_d16": (1, into_low(keep)),
    "i8_d16": (1, into_low(sign8)),
    "u16_d16": (2, into_low(keep)),
    "u8_d16_hi": (1, into_high(keep)),
    "i8_d16_hi": (1, into_high(sign8)),
    "u16_d16_hi": (2, into_high(keep)),
}
WRITES = {
    "b32": (4, 0),
    "b64": (8, 0),
    "b96": (12, 0),
    "b128": (16, 0),
    "b8": (1, 0),
    "b16": (2, 0),
    "b8_d16_hi": (1, 16),
    "b16_d16_hi": (2, 16),
}


def _address(site: Site, index: int) -> Callable[[Waves], Array]:
    row = site.vector(index, 1, read=True)
    return lambda w: w.v[row]


def _no_gds(site: Site) -> None:
    if site.flag("gds"):
        raise site.fail("global data share is not implemented")


def _paired_offsets(site: Site, size: int, strided: bool) -> tuple[int, int]:
    """The byte offsets of a read2 or write2: in elements, or in 64 elements for st64."""
    unit = size * (64 if strided else 1)
    return site.number("offset0") * unit, site.number("offset1") * unit


@REGISTRY.add(*(f"ds_read_{kind}" for kind in READS))
def _read(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(2)
    _no_gds(site)
    size, convert = READS[opcode.removeprefix("ds_read_")]
    row = site.vector(0, max(1, size // 4), write=True)
    return LdsRead(_address(site, 1), [site.number("offset")], row, size, convert)


@REGISTRY.add(*(f"ds_write_{kind}" for kind in WRITES))
def _write(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(2)
    _no_gds(site)
    size, shift = WRITES[opcode.removeprefix("ds_write_")]
    row = site.vector(1, max(1, size // 4), read=True)
    return LdsWrite(_address(site, 0), [site.number("offset")], [row], size, shift)


@REGISTRY.add("ds_read2_b32", "ds_read2_b64", "ds_read2st64_b32", "ds_read2st64_b64")
def _read2(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(2)
    _no_gds(site)
    size = int(opcode[-2:]) // 8
    row = site.vector(0, 2 * size // 4, write=True)
    offsets = _paired_offsets(site, size, "st64" in opcode)
    return LdsRead(_address(site, 1), offsets, row, size, keep)


@REGISTRY.add("ds_write2_b32", "ds_write2_b64", "ds_write2st64_b32", "ds_write2st64_b64")
def _write2(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(3)
    _no_gds(site)
    size = int(opcode[-2:]) // 8
    rows = [site.vector(i, size // 4, read=True) for i in (1, 2)]
    offsets = _paired_offsets(site, size, "st64" in opcode)
    return LdsWrite(_address(site, 0), offsets, rows, size)


def _lane_address(site: Site) -> Callable[[Waves], Array]:
    """``M0 + 4 * lane`` for the forms that take no address register."""
    site.reads.add(SCALAR_ROWS + M0)
    lanes = 4 * np.arange(LANES, dtype=np.uint32)
    return lambda w: (w.s[M0] & np.uint32(0xFFFF)) + lanes


@REGISTRY.add("ds_read_addtid_b32")
def _read_by_lane(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(1)
    row = site.vector(0, 1, write=True)
    return LdsRead(_lane_address(site), [site.number("offset")], row, 4, keep)


@REGISTRY.add("ds_write_addtid_b32")
def _write_by_lane(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(1)
    row = site.vector(0, 1, read=True)
    return LdsWrite(_lane_address(site), [site.number("offset")], [row], 4)


# ---- between lanes


def _from_lanes(site: Site, index: int, source: Callable[[Waves], Array], row: int) -> Exchange:
    """Every active lane reads operand ``index`` of lane ``source``; an inactive one gives 0."""
    value = site.vector(index, 1, read=True)

    def move(w: Waves) -> tuple[Array, Array]:
        lanes = np.broadcast_to(source(w), (w.count, LANES))
        data = np.where(w.lanes, w.v[value], np.uint32(0))
        return np.take_along_axis(data, lanes, axis=1), w.lanes

    return Exchange(move, row)


@REGISTRY.add("ds_swizzle_b32")
def _swizzle(site: Site, opcode: str, encoding: str) -> Transfer:
    site.expect(2)
    text = site.modifier("offset") or "0"
    try:
        source, _ = swizzle_source(text)
    except (ValueError, KeyError) as error:
        raise site.fail(str(error)) from error
    row = site.vector(0, 1, write=True)
    return _from_lanes(site, 1, lambda w: source[None], row)


@REGISTRY.add("ds_bpermute_b32")
def _pull(site: Site, opcode: str, encoding: str) -> Transfer:
    """Each lane reads the lane numbered by its address / 4, modulo 64."""
    site.expect(3)
    offset = np.uint32(site.number("offset"))
    row = site.vector(0, 1, write=True)
    address = site.vector(1, 1, read=True)

    def source(w: Waves) -> Array:
        return (w.v[address] + offset >> np.uint32(2) & np.uint32(63)).astype(np.int64)

    return _from_lanes(site, 2, source, row)


@REGISTRY.add("ds_permute_b32")
def _push(site: Site, opcode: str, encoding: str) -> Transfer:
    """Each lane sends to the lane numbered by its address / 4; the highest sender wins."""
    site.expect(3)
    offset = np.uint32(site.number("offset"))
    row = site.vector(0, 1, write=True)
    address = site.vector(1, 1, read=True)
    value = site.vector(2, 1, read=True)

    def move(w: Waves) -> tuple[Array, Array]:
        target = (w.v[address] + offset >> np.uint32(2) & np.uint32(63)).astype(np.int64)
        out = np.zeros((w.count, LANES), np.uint32)
        for lane in range(LANES):
            waves = np.flatnonzero(w.lanes[:, lane])
            out[waves, target[waves, lane]] = w.v[value, waves, lane]
        return out, w.lanes

    return Exchange(move, row)


# ---- atomics

_INTEGER = {
    "add_u32": "add", "sub_u32": "sub", "inc_u32": "inc", "dec_u32": "dec",
    "min_i32": "smin", "max_i32": "smax", "min_u32": "umin", "max_u32": "umax",
    "and_b32": "and", "or_b32": "or", "xor_b32": "xor",
}  # fmt: skip
ATOMICS: dict[str, Combination] = {
    name.replace("32", width): COMBINES[how + suffix]
    for name, how in _INTEGER.items()
    for width, suffix in (("32", ""), ("64", "_x2"))
} | {
    "add_f32": COMBINES["add_f32"],
    "add_f64": COMBINES["add_f64"],
    "pk_add_f16": COMBINES["pk_add_f16"],
    "pk_add_bf16": COMBINES["pk_add_bf16"],
}
EXCHANGES = {"wrxchg_rtn_b32": COMBINES["swap"], "wrxchg_rtn_b64": COMBINES["swap_x2"]}


@REGISTRY.add(
    *(f"ds_{name}" for name in ATOMICS),
    *(f"ds_{name.replace('_', '_rtn_', 1)}" for name in ATOMICS if not name.startswith("pk")),
    "ds_pk_add_rtn_f16",
    "ds_pk_add_rtn_bf16",
    *(f"ds_{name}" for name in EXCHANGES),
)
def _atomic(site: Site, opcode: str, encoding: str) -> Transfer:
    name = opcode.removeprefix("ds_")
    how = EXCHANGES[name] if name in EXCHANGES else ATOMICS[name.replace("_rtn", "")]
    return _lds_atomic(site, how, "_rtn_" in opcode)


def _lds_atomic(site: Site, how: Combination, returns: bool) -> Transfer:
    first = 1 if returns else 0
    site.expect(first + 2)
    _no_gds(site)
    result = site.vector(0, how.size // 4, write=True) if returns else None
    row = site.vector(first, 1, read=True)
    data = site.vector(first + 1, how.size // 4, read=True)
    offset = site.number("offset")

    def addresses(w: Waves) -> Reach:
        return Reach(w.v[row].astype(np.int64) + offset, w.lanes)

    rows = range(data, data + how.operand_dwords)
    return Atomic("lds", addresses, rows, how.size, how.combine, result)


@REGISTRY.add("ds_cmpst_b32", "ds_cmpst_b64", "ds_cmpst_rtn_b32", "ds_cmpst_rtn_b64")
def _compare_store(site: Site, opcode: str, encoding: str) -> Transfer:
    """Operands after the address: the expected value, then the new one."""
    returns = "_rtn_" in opcode
    first = 1 if returns else 0
    dwords = int(opcode[-2:]) // 32
    site.expect(first + 3)
    _no_gds(site)
    result = site.vector(0, dwords, write=True) if returns else None
    address = site.vector(first, 1, read=True)
    expected = site.vector(first + 1, dwords, read=True)
    new = site.vector(first + 2, dwords, read=True)
    offset = site.number("offset")

    def combine(old: Array, operand: Array) -> Array:
        equal = (old == operand[:dwords]).all(axis=0)
        return np.where(equal, operand[dwords:], old)

    def addresses(w: Waves) -> Reach:
        return Reach(w.v[address].astype(np.int64) + offset, w.lanes)

    rows = [*range(expected, expected + dwords), *range(new, new + dwords)]
    return Atomic("lds", addresses, rows, 4 * dwords, combine, result)


@REGISTRY.add("ds_nop")
def _nop(site: Site, opcode: str, encoding: str) -> Execute:
    return lambda w: None
