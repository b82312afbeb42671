"""What the waves of one workgroup do, as flat arrays for the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..emulator.trace import Trace, WaveTrace

Ints = npt.NDArray[np.int64]


class Field(IntEnum):
    """Columns of :attr:`Work.access`; see :data:`mxfp4kernels.emulator.trace.ACCESS`.

    ``STREAM`` is the buffer, -1 for none; ``LINE`` the lowest 64 B piece.
    """

    BYTES = 0
    LANES = 1
    SEGMENTS = 2
    TURNS = 3
    STREAM = 4
    LINE = 5


class Work(NamedTuple):
    """The executed instructions of a workgroup, its waves one behind the other.

    Attributes:
        start: first position of each wave, and the end, int64 [waves + 1].
        step: per position the static instruction, and its row in ``access`` or -1.
        access: int64 [accesses, fields], see :class:`Field`.
    """

    start: Ints
    step: Ints
    access: Ints

    @property
    def waves(self) -> int:
        """Waves of the workgroup."""
        return len(self.start) - 1


def work_of(waves: Sequence[WaveTrace]) -> Work:
    """The arrays of one workgroup's waves.

    Raises:
        ValueError: no wave.
    """
    if not waves:
        raise ValueError("a workgroup has at least one wave")
    start = np.cumsum([0, *(len(wave.indices) for wave in waves)], dtype=np.int64)
    index = np.concatenate([wave.indices for wave in waves]).astype(np.int64)
    access = np.full(len(index), -1, np.int64)
    records = np.concatenate([wave.accesses for wave in waves])
    places = np.concatenate(
        [wave.accesses["position"] + first for wave, first in zip(waves, start, strict=False)]
    )
    access[places] = np.arange(len(records))
    names = ("bytes", "lanes", "segments", "turns", "buffer", "first_line")
    table = np.stack([records[name].astype(np.int64) for name in names], axis=1)
    return Work(start, np.stack((index, access), axis=1), table)


def workgroup_of(trace: Trace, workgroup: int) -> Work:
    """The arrays of one workgroup of a trace."""
    return work_of(trace.of_workgroup(workgroup))


def bytes_by_stream(work: Work, buffers: Sequence[str]) -> Mapping[str, int]:
    """Bytes that a workgroup asks of each global buffer, repeats included."""
    return {
        name: int(work.access[work.access[:, Field.STREAM] == number, Field.BYTES].sum())
        for number, name in enumerate(buffers)
    }
