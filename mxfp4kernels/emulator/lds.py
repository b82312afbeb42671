"""DS instructions: LDS reads, writes and atomics, and moves between lanes through that hardware."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mxfp4kernels.emulator.atomics import COMBINES, Combination
from mxfp4kernels.emulator.lanes import swizzle_source
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import SCALAR_ROWS, Array, Site
from mxfp4kernels.emulator.transfers import (
    Atomic,
    Combine,
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
    "and_b32": "and", "or_b32": "or", "xor_b32": "xor", "rsub_u32": "rsub",
}  # fmt: skip
ATOMICS: dict[str, Combination] = {
    name.replace("32", width): COMBINES[how + suffix]
    for name, how in _INTEGER.items()
    for width, suffix in (("32", ""), ("64", "_x2"))
} | {
    "add_f32": COMBINES["add_f32"],
    "add_f64": COMBINES["add_f64"],
    "min_f32": COMBINES["min_f32"],
    "max_f32": COMBINES["max_f32"],
    "min_f64": COMBINES["min_f64"],
    "max_f64": COMBINES["max_f64"],
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


def _equal_bits(old: Array, data: Array) -> Array:
    """The data is the expected value, then the new one."""
    n = len(old)
    return np.where((old == data[:n]).all(axis=0), data[n:], old)


def _equal_floats(dtype: type[np.floating[Any]]) -> Combine:
    def combine(old: Array, data: Array) -> Array:
        n = len(old)
        a, b = (np.ascontiguousarray(words.T).view(dtype)[:, 0] for words in (old, data[:n]))
        return np.where(a == b, data[n:], old)

    return combine


def _masked_or(old: Array, data: Array) -> Array:
    """The data is the mask of bits to clear, then the bits to set."""
    n = len(old)
    return old & ~data[:n] | data[n:]


def _wrap(old: Array, data: Array) -> Array:
    return np.where(old >= data[:1], old - data[:1], old + data[1:])


TWO_OPERANDS: dict[str, Combine] = {
    "cmpst_b32": _equal_bits,
    "cmpst_b64": _equal_bits,
    "cmpst_f32": _equal_floats(np.float32),
    "cmpst_f64": _equal_floats(np.float64),
    "mskor_b32": _masked_or,
    "mskor_b64": _masked_or,
    "wrap_b32": _wrap,
}


@REGISTRY.add(
    *(f"ds_{name}" for name in TWO_OPERANDS if name != "wrap_b32"),
    *(f"ds_{name.replace('_', '_rtn_')}" for name in TWO_OPERANDS),
)
def _atomic_of_two(site: Site, opcode: str, encoding: str) -> Transfer:
    """Operands after the address: two data values, combined as the table says."""
    returns = "_rtn_" in opcode
    first = 1 if returns else 0
    dwords = int(opcode[-2:]) // 32
    site.expect(first + 3)
    _no_gds(site)
    result = site.vector(0, dwords, write=True) if returns else None
    address = site.vector(first, 1, read=True)
    rows = [site.vector(first + 1 + i, dwords, read=True) for i in range(2)]
    offset = site.number("offset")

    def addresses(w: Waves) -> Reach:
        return Reach(w.v[address].astype(np.int64) + offset, w.lanes)

    combine = TWO_OPERANDS[opcode.removeprefix("ds_").replace("_rtn", "")]
    data_rows = [row + d for row in rows for d in range(dwords)]
    return Atomic("lds", addresses, data_rows, 4 * dwords, combine, result)


@REGISTRY.add(*(f"ds_wrxchg2{stride}_rtn_b{bits}" for stride in ("", "st64") for bits in (32, 64)))
def _exchange_two(site: Site, opcode: str, encoding: str) -> Transfer:
    """Swap two places with two values."""
    size = int(opcode[-2:]) // 8
    site.expect(4)
    _no_gds(site)
    result = site.vector(0, 2 * size // 4, write=True)
    address = site.vector(1, 1, read=True)
    rows = [site.vector(2 + i, size // 4, read=True) for i in range(2)]
    offsets = _paired_offsets(site, size, "st64" in opcode)

    def addresses(w: Waves) -> Reach:
        return Reach(w.v[address].astype(np.int64), w.lanes)

    data_rows = [row + d for row in rows for d in range(size // 4)]
    combine = COMBINES["swap"].combine if size == 4 else COMBINES["swap_x2"].combine
    return Atomic("lds", addresses, data_rows, size, combine, result, offsets)


@REGISTRY.add("ds_nop")
def _nop(site: Site, opcode: str, encoding: str) -> Execute:
    return lambda w: None
