"""Vector instructions that move values between lanes or between lanes and scalars."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site, store32
from mxfp4kernels.emulator.waves import LANES, Waves


@REGISTRY.add("v_readfirstlane_b32")
def _read_first(site: Site, opcode: str, encoding: str) -> Execute:
    """The lowest active lane, or lane 0 when none is active."""
    site.expect(2)
    row = site.vector(1, 1, read=True)
    site.inactive.add(row)
    write = site.write(site.operands[0], "b32")

    def execute(w: Waves) -> None:
        first = np.argmax(w.lanes, axis=1)
        write(w, w.v[row, np.arange(w.count), first][:, None])

    return execute


def _lane(site: Site, index: int) -> Callable[[Waves], Array]:
    """A lane number from a scalar or a constant, int64 [waves], modulo 64."""
    read = site.read(site.operands[index], "u32")
    mask = np.uint32(LANES - 1)
    return lambda w: np.broadcast_to(read(w) & mask, (w.count, 1))[:, 0].astype(np.int64)


@REGISTRY.add("v_readlane_b32")
def _read_lane(site: Site, opcode: str, encoding: str) -> Execute:
    """EXEC is ignored."""
    site.expect(3)
    row = site.vector(1, 1, read=True)
    site.inactive.add(row)
    lane = _lane(site, 2)
    write = site.write(site.operands[0], "b32")
    return lambda w: write(w, w.v[row, np.arange(w.count), lane(w)][:, None])


@REGISTRY.add("v_writelane_b32")
def _write_lane(site: Site, opcode: str, encoding: str) -> Execute:
    """EXEC is ignored; the other lanes keep their values."""
    site.expect(3)
    row = site.vector(0, 1, write=True, keep=True)
    value = site.read(site.operands[1], "b32")
    lane = _lane(site, 2)

    def execute(w: Waves) -> None:
        chosen = np.broadcast_to(value(w), (w.count, 1))[:, 0]
        w.v[row, np.arange(w.count), lane(w)] = chosen

    return execute


@REGISTRY.add("v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32")
def _count_below(site: Site, opcode: str, encoding: str) -> Execute:
    """Bits of the mask that belong to lanes below this one, in the low or high half, plus a sum."""
    site.expect(3)
    high = "hi" in opcode
    lane = np.arange(LANES) - (32 if high else 0)
    below = np.array([(1 << int(np.clip(n, 0, 32))) - 1 for n in lane], np.uint32)
    mask, addend = (site.read(operand, "u32") for operand in site.operands[1:])
    write = site.write(site.operands[0], "u32")
    if encoding not in ("", "e64"):
        raise site.fail(f"{encoding} is not implemented here")
    return lambda w: write(w, np.bitwise_count(mask(w) & below).astype(np.uint32) + addend(w))


@REGISTRY.add("v_swap_b32")
def _swap(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(2)
    a, b = (site.vector(i, 1, read=True, write=True) for i in range(2))

    def execute(w: Waves) -> None:
        old = w.v[a].copy()
        store32(w, a, w.v[b])
        store32(w, b, old)

    return execute


@REGISTRY.add("v_permlane16_swap_b32", "v_permlane32_swap_b32")
def _swap_rows(site: Site, opcode: str, encoding: str) -> Execute:
    """Exchange odd rows of the first register with even rows of the second.

    A row is 16 or 32 lanes. Lanes off in EXEC keep their values; a value read from a lane that is
    off is taken as it is with ``fi``, else 0 with ``bound_ctrl`` and not written without.
    """
    site.expect(2)
    rows = 16 if "16" in opcode else 32
    a, b = (site.vector(i, 1, read=True, write=True) for i in range(2))
    zero_fill, fetch_inactive = site.flag("bound_ctrl"), site.flag("fi")
    odd = np.arange(LANES) // rows % 2 == 1
    partner = np.arange(LANES) ^ rows

    def execute(w: Waves) -> None:
        readable = w.lanes[:, partner] | fetch_inactive
        to_a = np.where(readable, w.v[b][:, partner], np.uint32(0))
        to_b = np.where(readable, w.v[a][:, partner], np.uint32(0))
        lanes = w.lanes & (readable | zero_fill)
        np.copyto(w.v[a], to_a, where=lanes & odd)
        np.copyto(w.v[b], to_b, where=lanes & ~odd)

    return execute
