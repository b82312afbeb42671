"""Data races between the waves of a workgroup, on LDS and global bytes.

Time within a workgroup is counted in epochs: the number of barriers passed. An access lasts from
its issue to the epoch in which a wait of its own wave forces it to end. Two accesses to a byte by
different waves, one of them a write, are ordered only if the first ended in an epoch before the one
in which the second was issued: its wave had to wait, and a barrier had to follow. Nothing else
orders waves, so the verdict holds for every interleaving, not only for the one that was run.

For every byte and wave the latest access of each kind is kept. That is enough, because a wait that
ends an access ends the earlier ones of its wave and kind, too. Scalar and flat accesses are kinds
of their own: they do not return in order with those of vector memory. For the same reason a wave
must wait between a store and a scalar load of one byte, whichever comes first. Source: LLVM,
SIInsertWaitcnts, which waits for scalar loads before such a store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

READ, WRITE, FILL, ATOMIC, SCALAR_READ, FLAT_READ, FLAT_WRITE, FLAT_ATOMIC = range(8)
"""Kinds of access; a fill is a load to LDS, which runs apart from the other LDS operations."""
LDS_KINDS, GLOBAL_KINDS, KINDS = 4, 5, 8
"""How many of the kinds a shadow holds: of LDS, of memory without flat accesses, and with them."""
OPEN = 2**31 - 1
"""Epoch of an end that has not come yet."""
PAGE = 4096
CONFLICT, OWNER, BARRIER, UNWRITTEN = 1, 2, 4, 8
"""What a check finds: a race; an order that rests on one wait; one that rests on one barrier; a
read of a byte that no wave has written."""


def _pairs(first: tuple[int, ...], second: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    """bool [kinds, kinds], set where one kind is in ``first`` and the other in ``second``."""
    table = np.zeros((KINDS, KINDS), np.bool_)
    table[np.ix_(first, second)] = table[np.ix_(second, first)] = True
    return table


_READS, _ATOMICS = (READ, SCALAR_READ, FLAT_READ), (ATOMIC, FLAT_ATOMIC)
_OTHERS = ~(_pairs(_READS, _READS) | _pairs(_ATOMICS, _ATOMICS))
"""Pairs that must be ordered between two waves."""
_OWN_LDS = _pairs((FILL,), (READ, WRITE, ATOMIC))
_OWN_GLOBAL = _pairs((SCALAR_READ,), (WRITE, FLAT_WRITE, *_ATOMICS))
"""Pairs that a wave must order with itself."""


@numba.njit(cache=True, nogil=True)
def _own_finding(entry: int, ends: npt.NDArray[np.int32]) -> int:  # pragma: no cover - compiled
    """Order between two accesses of one wave: the first must have been waited for."""
    if ends[0, entry] == OPEN:
        return CONFLICT
    return OWNER if ends[1, entry] == OPEN else 0


@numba.njit(cache=True, nogil=True)
def _finding(
    entry: int, epoch: int, same_barrier_since: int, ends: npt.NDArray[np.int32]
) -> int:  # pragma: no cover - compiled
    """Order between an earlier access and one of another wave, issued in ``epoch``."""
    if ends[0, entry] >= epoch:
        return CONFLICT
    finding = 0
    if ends[1, entry] >= epoch:
        finding |= OWNER
    if ends[0, entry] >= same_barrier_since:
        finding |= BARRIER
    return finding


@numba.njit(cache=True, nogil=True)
def _check(
    shadow: npt.NDArray[np.int32],
    wave: int,
    kind: int,
    positions: npt.NDArray[np.int64],
    mask: npt.NDArray[np.bool_],
    size: int,
    epoch: int,
    same_barrier_since: int,
    ends: npt.NDArray[np.int32],
    others: npt.NDArray[np.bool_],
    own: npt.NDArray[np.bool_],
    marks: npt.NDArray[np.uint8],
    record: int,
) -> int:  # pragma: no cover - compiled
    """Compare one wave's access with what the shadow holds, then enter it.

    Args:
        shadow: int32 [kinds, waves, bytes], record of the latest access or -1.
        positions: int64 [lanes], first byte; ``mask`` tells which lanes access.
        same_barrier_since: the epoch since which only one static barrier was passed.
        ends: int32 [2, records], epochs in which the first and the second wait ended an access.
        marks: uint8 [records], receives the findings per earlier record.

    Returns:
        The findings of all lanes together.
    """
    found = 0
    for lane in range(positions.shape[0]):
        if not mask[lane]:
            continue
        for byte in range(positions[lane], positions[lane] + size):
            written = False
            for before in range(shadow.shape[0]):
                for other in range(shadow.shape[1]):
                    entry = shadow[before, other, byte]
                    if entry < 0:
                        continue
                    written = written or before != READ
                    if other == wave:
                        finding = _own_finding(entry, ends) if own[kind, before] else 0
                    elif others[kind, before]:
                        finding = _finding(entry, epoch, same_barrier_since, ends)
                    else:
                        finding = 0
                    marks[entry] |= np.uint8(finding)
                    found |= finding
            if kind in (READ, ATOMIC) and not written:
                found |= UNWRITTEN
            shadow[kind, wave, byte] = record
    return found


class Records:
    """Accesses by number.

    Attributes:
        ends: int32 [2, records], epochs in which the first and the second wait ended them.
        steps, waves: instruction and wave that issued them.
        owners, spares: the first wait that ended them, and the largest count that would have.
        marks: findings not yet collected.
    """

    def __init__(self) -> None:
        self.count = 0
        self.ends = np.full((2, 1024), OPEN, np.int32)
        self.steps = np.zeros(1024, np.int32)
        self.waves = np.zeros(1024, np.int32)
        self.owners = np.zeros(1024, np.int32)
        self.spares = np.zeros(1024, np.int32)
        self.marks = np.zeros(1024, np.uint8)

    def add(self, step: int, waves: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """One open record per wave; returns their numbers."""
        new = np.arange(self.count, self.count + len(waves))
        self.count += len(waves)
        while self.count > self.steps.size:
            self.ends = np.concatenate([self.ends, np.full_like(self.ends, OPEN)], axis=1)
            for name in ("steps", "waves", "owners", "spares", "marks"):
                column = getattr(self, name)
                setattr(self, name, np.concatenate([column, np.zeros_like(column)]))
        self.steps[new], self.waves[new] = step, waves
        return new

    def marked(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Records with findings and the findings; clears them."""
        where = np.flatnonzero(self.marks[: self.count])
        found = self.marks[where].copy()
        self.marks[where] = 0
        return where, found


@dataclass(frozen=True)
class Moment:
    """When and by whom an access is issued.

    Attributes:
        slot: LDS slot of the workgroup.
        wave: number of the wave in its workgroup.
        epoch: barriers that the workgroup has passed.
        same_barrier_since: the epoch since which it passed one static barrier only.
    """

    slot: int
    wave: int
    epoch: int
    same_barrier_since: int


class RaceDetector:
    """Shadows of LDS and of the global pages that a workgroup's waves touch.

    Args:
        slots: workgroups.
        waves: waves in each.
        lds_bytes: LDS of each.
        flat: whether there are flat accesses.
    """

    def __init__(self, slots: int, waves: int, lds_bytes: int, flat: bool) -> None:
        self.records = Records()
        self._page_kinds = KINDS if flat else GLOBAL_KINDS
        self._waves = waves
        self._lds = [self._empty(LDS_KINDS, lds_bytes) for _ in range(slots)]
        self._pages: list[dict[int, npt.NDArray[np.int32]]] = [{} for _ in range(slots)]

    def _empty(self, kinds: int, size: int) -> npt.NDArray[np.int32]:
        return np.full((kinds, self._waves, size), -1, np.int32)

    def lds(
        self, when: Moment, kind: int, record: int, offsets: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_], size: int,
    ) -> int:  # fmt: skip
        """Check and enter an LDS access of one wave; returns the findings.

        Lanes outside LDS are left out: the access itself will fault.
        """
        shadow = self._lds[when.slot]
        inside = mask & (offsets >= 0) & (offsets + size <= shadow.shape[2])
        return self._compare(shadow, when, kind, record, offsets, inside, size, _OWN_LDS)

    def memory(
        self, when: Moment, kind: int, record: int, addresses: npt.NDArray[np.int64],
        mask: npt.NDArray[np.bool_], size: int,
    ) -> int:  # fmt: skip
        """Check and enter a global access of one wave, page by page; returns the findings."""
        found = 0
        pages = self._pages[when.slot]
        first, last = addresses // PAGE, (addresses + size - 1) // PAGE
        for page in np.unique(np.concatenate([first[mask], last[mask]])):
            shadow = pages.get(int(page))
            if shadow is None:
                shadow = pages[int(page)] = self._empty(self._page_kinds, PAGE)
            lanes = mask & (first <= page) & (last >= page)
            inside = addresses - page * PAGE
            whole = lanes & (first == last)
            found |= self._compare(shadow, when, kind, record, inside, whole, size, _OWN_GLOBAL)
            for lane in np.flatnonzero(lanes & ~whole):  # straddles two pages
                start = max(0, int(inside[lane]))
                stop = min(PAGE, int(inside[lane]) + size)
                found |= self._compare(
                    shadow, when, kind, record, np.array([start]), np.array([True]),
                    stop - start, _OWN_GLOBAL,
                )  # fmt: skip
        return found

    def _compare(
        self, shadow: npt.NDArray[np.int32], when: Moment, kind: int, record: int,
        positions: npt.NDArray[np.int64], mask: npt.NDArray[np.bool_], size: int,
        own: npt.NDArray[np.bool_],
    ) -> int:  # fmt: skip
        r = self.records
        return _check(
            shadow, when.wave, kind, np.ascontiguousarray(positions), np.ascontiguousarray(mask),
            size, when.epoch, when.same_barrier_since, r.ends, _OTHERS, own, r.marks, record,
        )  # fmt: skip
