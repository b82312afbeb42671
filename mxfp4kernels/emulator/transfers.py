"""Memory instructions in two halves: issue, which reads registers, and effect, which moves data.

Run at once, the two make an ordinary emulator. Apart, they let the sanitizer delay the effect to
the latest moment that the program's waits allow.
"""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator import access
from mxfp4kernels.emulator.errors import AccessError
from mxfp4kernels.emulator.site import Array
from mxfp4kernels.emulator.waves import EXEC, LANES, Waves

VMCNT, LGKMCNT = "vmcnt", "lgkmcnt"


ABSENT = {"zero": False, "whole": 4}
"""What an absent part of an access stands for: no lane out of range, all dwords in range."""


@dataclass
class Access:
    """One issued memory instruction of a batch of waves.

    Attributes:
        transfer: the instruction.
        addresses: int64 [parts, waves, lanes]; global addresses, or byte offsets in LDS. One lane
            for scalar loads. Empty for exchanges between lanes.
        mask: bool [waves, lanes], lanes that access memory.
        zero: lanes of a buffer load that lie out of the buffer's range and receive 0, or None.
        data: uint32 [dwords, waves, lanes], what is stored, or None.
        local: int64 [waves, lanes], LDS offsets that a load to LDS fills, or None.
        whole: int64 [waves, lanes], how many leading dwords of a buffer access lie in range where
            not all do, or None. The other dwords of a load are 0, those of a store are dropped.
    """

    transfer: Transfer
    addresses: npt.NDArray[np.int64]
    mask: npt.NDArray[np.bool_]
    zero: npt.NDArray[np.bool_] | None = None
    data: npt.NDArray[np.uint32] | None = None
    local: npt.NDArray[np.int64] | None = None
    whole: npt.NDArray[np.int64] | None = None

    def take(self, chosen: npt.NDArray[np.bool_]) -> Access:
        """The part of the chosen waves."""
        return replace(
            self,
            addresses=self.addresses[:, chosen],
            mask=self.mask[chosen],
            zero=None if self.zero is None else self.zero[chosen],
            data=None if self.data is None else self.data[:, chosen],
            local=None if self.local is None else self.local[chosen],
            whole=None if self.whole is None else self.whole[chosen],
        )

    def joined(self, others: Sequence[Access], order: npt.NDArray[np.int64]) -> Access:
        """This and the others' accesses of the same instruction, waves in the given order."""
        parts = [self, *others]

        def by_wave(name: str, axis: int) -> Array | None:
            arrays = [getattr(part, name) for part in parts]
            if all(array is None for array in arrays):
                return None
            if name in ABSENT:
                arrays = [
                    np.full(part.mask.shape, ABSENT[name]) if array is None else array
                    for array, part in zip(arrays, parts, strict=True)
                ]
            whole = np.concatenate(arrays, axis=axis)
            return whole[order] if axis == 0 else whole[:, order]

        addresses, mask = by_wave("addresses", 1), by_wave("mask", 0)
        assert addresses is not None
        assert mask is not None
        return Access(
            self.transfer,
            addresses,
            mask,
            by_wave("zero", 0),
            by_wave("data", 1),
            by_wave("local", 0),
            by_wave("whole", 0),
        )


class Transfer(ABC):
    """A memory instruction.

    Attributes:
        counters: the counters it increments: vmcnt, lgkmcnt, or both for flat.
        space: ``global``, ``lds`` or ``exchange`` (between lanes, no memory).
        loads, stores: whether it reads or writes memory of its space.
        fills_lds: a load whose data goes to LDS.
        size: bytes per lane and part.
        lanes: columns of an access: 64, or 1 (or one per dword) for scalar loads.
    """

    counters: tuple[str, ...] = (VMCNT,)
    space = "global"
    loads = False
    stores = False
    fills_lds = False
    size = 4
    lanes = LANES

    @abstractmethod
    def issue(self, w: Waves) -> Access:
        """Take addresses and data from registers."""

    @abstractmethod
    def perform(self, w: Waves, access: Access) -> None:
        """Move the data."""

    def __call__(self, w: Waves) -> None:
        """Issue and perform at once."""
        self.perform(w, self.issue(w))


class Reach(NamedTuple):
    """Where an instruction reaches: global addresses int64 [waves, lanes], and as in Access."""

    addresses: Array
    mask: Array
    zero: Array | None = None
    whole: Array | None = None


Addresses = Callable[[Waves], Reach]
Convert = Callable[[Array, Array], Array]
"""Loaded value (zero-extended, uint32) and old register to the new register."""


def keep(loaded: Array, old: Array) -> Array:
    """A load that fills its register as it is."""
    return loaded


def sign8(loaded: Array, old: Array) -> Array:
    """A signed byte."""
    return loaded.astype(np.int8).astype(np.int32).view(np.uint32)


def sign16(loaded: Array, old: Array) -> Array:
    """A signed word."""
    return loaded.astype(np.int16).astype(np.int32).view(np.uint32)


def into_low(convert: Convert) -> Convert:
    """Replace the low half of the register (``d16``)."""
    low, high = np.uint32(0xFFFF), np.uint32(0xFFFF0000)
    return lambda loaded, old: convert(loaded, old) & low | old & high


def into_high(convert: Convert) -> Convert:
    """Replace the high half of the register (``d16_hi``)."""
    low = np.uint32(0xFFFF)
    return lambda loaded, old: convert(loaded, old) << np.uint32(16) | old & low


def load_global(w: Waves, access: Access, size: int, out: Array) -> None:
    """Load into uint32 [dwords, waves * lanes]; dwords out of a buffer's range give 0."""
    flat, mask = access.addresses.reshape(-1), access.mask.reshape(-1)
    if access.whole is None:
        w.memory.load(flat, mask, size, out)
        return
    for d, row in enumerate(out):
        inside = mask & (access.whole.reshape(-1) > d)
        row[mask & ~inside] = 0
        w.memory.load(flat + 4 * d, inside, 4, row[None])


def store_global(w: Waves, access: Access, size: int, words: Array) -> None:
    """Store uint32 [dwords, waves * lanes]; dwords out of a buffer's range are dropped."""
    flat, mask = access.addresses.reshape(-1), access.mask.reshape(-1)
    if access.whole is None:
        w.memory.store(flat, mask, size, words)
        return
    for d, row in enumerate(words):
        inside = mask & (access.whole.reshape(-1) > d)
        w.memory.store(flat + 4 * d, inside, 4, row[None])


class GlobalLoad(Transfer):
    """A load from global memory to vector registers."""

    loads = True

    def __init__(self, addresses: Addresses, row: int, size: int, convert: Convert) -> None:
        self.addresses, self.row, self.size, self.convert = addresses, row, size, convert

    def issue(self, w: Waves) -> Access:
        reach = self.addresses(w)
        return Access(self, reach.addresses[None], reach.mask, reach.zero, whole=reach.whole)

    def perform(self, w: Waves, access: Access) -> None:
        dwords = max(1, self.size // 4)
        registers = w.v[self.row : self.row + dwords]
        if access.zero is not None:
            registers[:, access.zero] = (
                0
                if self.size >= 4
                else self.convert(
                    np.zeros(int(access.zero.sum()), np.uint32), registers[0, access.zero]
                )
            )
        if not access.mask.any():
            return
        if self.size >= 4:
            load_global(w, access, self.size, registers.reshape(dwords, -1))
            return
        loaded = np.zeros((1, access.mask.size), np.uint32)
        load_global(w, access, self.size, loaded)
        value = self.convert(loaded.reshape(access.mask.shape), registers[0])
        np.copyto(registers[0], value, where=access.mask)


class GlobalStore(Transfer):
    """A store from vector registers to global memory."""

    stores = True

    def __init__(self, addresses: Addresses, row: int, size: int, shift: int = 0) -> None:
        self.addresses, self.row, self.size = addresses, row, size
        self.shift = np.uint32(shift)

    def issue(self, w: Waves) -> Access:
        reach = self.addresses(w)
        data = w.v[self.row : self.row + max(1, self.size // 4)] >> self.shift
        return Access(self, reach.addresses[None], reach.mask, data=data, whole=reach.whole)

    def perform(self, w: Waves, access: Access) -> None:
        assert access.data is not None
        if access.mask.any():
            store_global(w, access, self.size, access.data.reshape(len(access.data), -1))


class LoadToLds(Transfer):
    """A load from global memory to LDS: lane ``l`` fills ``M0 + offset + l * width``."""

    loads = True
    fills_lds = True

    def __init__(
        self, addresses: Addresses, base: Callable[[Waves], Array], size: int, convert: Convert
    ) -> None:
        self.addresses, self.base, self.size, self.convert = addresses, base, size, convert
        self.width = max(4, size)

    def issue(self, w: Waves) -> Access:
        reach = self.addresses(w)
        local = self.base(w).astype(np.int64) + self.width * np.arange(LANES)
        addresses = reach.addresses[None]
        return Access(self, addresses, reach.mask, reach.zero, local=local, whole=reach.whole)

    def perform(self, w: Waves, access: Access) -> None:
        assert access.local is not None
        loaded = np.zeros((max(1, self.size // 4), access.mask.size), np.uint32)
        if access.mask.any():
            load_global(w, access, self.size, loaded)
        if self.size < 4:
            loaded = self.convert(loaded, loaded)
        written = access.mask if access.zero is None else access.mask | access.zero
        store_lds(w, access.local, written, self.width, loaded)


class ScalarLoad(Transfer):
    """A load from global memory to scalar registers.

    With one lane, the whole load has one address; with one per dword, each has its own range check
    and masked ones give 0.
    """

    counters = (LGKMCNT,)
    loads = True

    def __init__(self, addresses: Addresses, row: int, dwords: int, lanes: int = 1) -> None:
        self.addresses, self.row, self.size, self.lanes = addresses, row, 4 * dwords, lanes

    def issue(self, w: Waves) -> Access:
        reach = self.addresses(w)
        return Access(self, reach.addresses[None], reach.mask, reach.zero)

    def perform(self, w: Waves, access: Access) -> None:
        dwords = self.size // 4
        if self.lanes == 1:
            loaded = np.zeros((dwords, w.count), np.uint32)
            w.memory.load(access.addresses.reshape(-1), access.mask.reshape(-1), self.size, loaded)
        else:  # each dword has its own range check
            flat = np.zeros((1, access.mask.size), np.uint32)
            if access.mask.any():
                w.memory.load(access.addresses.reshape(-1), access.mask.reshape(-1), 4, flat)
            loaded = flat.reshape(access.mask.shape).T
        w.s[self.row : self.row + dwords, :, 0] = loaded
        if self.row + dwords > EXEC:
            w.exec_changed()


def lds_positions(w: Waves, offsets: Array, mask: Array, size: int, what: str) -> Array:
    """Flat positions in ``w.lds`` of byte offsets [waves, lanes].

    Raises:
        AccessError: a masked lane leaves its workgroup's LDS.
    """
    limit = w.lds.shape[1]
    flat, active = offsets.reshape(-1), mask.reshape(-1)
    bad = access.outside(flat, active, limit, size)
    if bad >= 0:
        raise AccessError(
            bad,
            f"LDS {what} of {size} bytes at {int(flat[bad])} leaves the workgroup's {limit} bytes",
        )
    return (w.slots[:, None] * limit + offsets).reshape(-1)


def load_lds(w: Waves, offsets: Array, mask: Array, size: int, out: Array) -> None:
    """Load ``size`` bytes per masked lane to ``out`` uint32 [dwords, waves * lanes]."""
    positions = lds_positions(w, offsets, mask, size, "load")
    if size < 4:
        access.gather_bytes(w.lds.reshape(-1), 0, positions, mask.reshape(-1), size, out)
    else:
        access.gather_dwords(w.lds.reshape(-1), 0, positions, mask.reshape(-1), out)


def store_lds(w: Waves, offsets: Array, mask: Array, size: int, words: Array) -> None:
    """Store the low ``size`` bytes per masked lane of uint32 [dwords, waves * lanes]."""
    positions = lds_positions(w, offsets, mask, size, "store")
    access.scatter(w.lds.reshape(-1), 0, positions, mask.reshape(-1), size, words)


class LdsRead(Transfer):
    """A read of one or two places in LDS per lane."""

    counters = (LGKMCNT,)
    space = "lds"
    loads = True

    def __init__(
        self, base: Callable[[Waves], Array], offsets: Sequence[int], row: int, size: int,
        convert: Convert,
    ) -> None:  # fmt: skip
        self.base, self.row, self.size, self.convert = base, row, size, convert
        self.offsets = np.array(offsets, np.int64)[:, None, None]

    def issue(self, w: Waves) -> Access:
        base = np.broadcast_to(self.base(w), (w.count, LANES))
        return Access(self, base.astype(np.int64) + self.offsets, w.lanes)

    def perform(self, w: Waves, access: Access) -> None:
        dwords = max(1, self.size // 4)
        for part, offsets in enumerate(access.addresses):
            row = self.row + part * dwords
            registers = w.v[row : row + dwords].reshape(dwords, -1)
            if self.size >= 4:
                load_lds(w, offsets, access.mask, self.size, registers)
                continue
            loaded = np.zeros_like(registers)
            load_lds(w, offsets, access.mask, self.size, loaded)
            value = self.convert(loaded, registers).reshape(access.mask.shape)
            np.copyto(w.v[row], value, where=access.mask)


class LdsWrite(Transfer):
    """A write to one or two places in LDS per lane."""

    counters = (LGKMCNT,)
    space = "lds"
    stores = True

    def __init__(
        self, base: Callable[[Waves], Array], offsets: Sequence[int], rows: Sequence[int],
        size: int, shift: int = 0,
    ) -> None:  # fmt: skip
        self.base, self.rows, self.size, self.shift = base, tuple(rows), size, np.uint32(shift)
        self.offsets = np.array(offsets, np.int64)[:, None, None]

    def issue(self, w: Waves) -> Access:
        base = np.broadcast_to(self.base(w), (w.count, LANES))
        dwords = max(1, self.size // 4)
        data = np.concatenate([w.v[row : row + dwords] for row in self.rows]) >> self.shift
        return Access(self, base.astype(np.int64) + self.offsets, w.lanes, data=data)

    def perform(self, w: Waves, access: Access) -> None:
        assert access.data is not None
        dwords = max(1, self.size // 4)
        for part, offsets in enumerate(access.addresses):
            words = access.data[part * dwords : (part + 1) * dwords].reshape(dwords, -1)
            store_lds(w, offsets, access.mask, self.size, words)


class Exchange(Transfer):
    """Data moved between the lanes of a wave through the LDS hardware, without memory."""

    counters = (LGKMCNT,)
    space = "exchange"

    def __init__(self, move: Callable[[Waves], tuple[Array, Array]], row: int) -> None:
        self.move, self.row = move, row

    def issue(self, w: Waves) -> Access:
        value, mask = self.move(w)
        return Access(self, np.empty((0, w.count, LANES), np.int64), mask, data=value[None])

    def perform(self, w: Waves, access: Access) -> None:
        assert access.data is not None
        np.copyto(w.v[self.row], access.data[0], where=access.mask)


Combine = Callable[[Array, Array], Array]
"""Old value and operand, uint32 [dwords, lanes] each, to the new value."""
Load = Callable[[Array, Array, int, Array], None]
Store = Callable[[Array, Array, int, Array], None]


class Atomic(Transfer):
    """A read-modify-write of one or two places per lane, in ascending order of wave and lane.

    Hardware fixes no order between lanes and waves; this is one of the orders that may happen.
    """

    loads = True
    stores = True

    def __init__(
        self, space: str, addresses: Addresses, data_rows: Sequence[int], size: int,
        combine: Combine, result_row: int | None, offsets: Sequence[int] = (0,),
    ) -> None:  # fmt: skip
        self.addresses, self.data_rows = addresses, list(data_rows)
        self.offsets = np.array(offsets, np.int64)[:, None, None]
        self.size, self.combine, self.result_row, self.space = size, combine, result_row, space
        self.counters = (VMCNT,) if space == "global" else (LGKMCNT,)

    def issue(self, w: Waves) -> Access:
        reach = self.addresses(w)
        data = w.v[self.data_rows]
        addresses = reach.addresses[None] + self.offsets
        return Access(self, addresses, reach.mask, reach.zero, data)

    def perform(self, w: Waves, access: Access) -> None:
        assert access.data is not None
        parts = len(access.addresses)
        data = access.data.reshape(parts, len(access.data) // parts, -1)
        for part, addresses in enumerate(access.addresses):
            old = self._modify(w, addresses.reshape(-1), access.mask.reshape(-1), data[part])
            if self.result_row is not None:
                self._give_back(w, access, old, self.result_row + part * len(old))

    def _modify(self, w: Waves, addresses: Array, mask: Array, data: Array) -> Array:
        """Change memory; returns the old values, uint32 [dwords, lanes]."""
        load, store = self._ports(w)
        old = np.zeros((self.size // 4, addresses.size), np.uint32)
        for turn in turns(addresses, mask):
            load(addresses, turn, self.size, old)
            new = np.zeros_like(old)
            new[:, turn] = self.combine(old[:, turn], data[:, turn])
            store(addresses, turn, self.size, new)
        return old

    def _ports(self, w: Waves) -> tuple[Load, Store]:
        if self.space == "global":
            return w.memory.load, w.memory.store
        shape = (w.count, LANES)
        return (
            lambda at, mask, size, out: load_lds(
                w, at.reshape(shape), mask.reshape(shape), size, out
            ),
            lambda at, mask, size, words: store_lds(
                w, at.reshape(shape), mask.reshape(shape), size, words
            ),
        )

    def _give_back(self, w: Waves, access: Access, old: Array, row: int) -> None:
        lanes = access.mask if access.zero is None else access.mask | access.zero
        for d, word in enumerate(old):
            np.copyto(w.v[row + d], word.reshape(access.mask.shape), where=lanes)


def turns(addresses: Array, mask: Array) -> list[Array]:
    """Split the masked lanes so that no turn holds an address twice, in ascending lane order."""
    lanes = np.flatnonzero(mask)
    order = np.argsort(addresses[lanes], kind="stable")
    ordered = addresses[lanes][order]
    first = np.ones(len(lanes), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    starts = np.maximum.accumulate(np.where(first, np.arange(len(lanes)), 0))
    rank = np.empty(len(lanes), np.int64)
    rank[order] = np.arange(len(lanes)) - starts
    result = []
    for turn in range(int(rank.max(initial=-1)) + 1):
        chosen = np.zeros(mask.shape, np.bool_)
        chosen[lanes[rank == turn]] = True
        result.append(chosen)
    return result
