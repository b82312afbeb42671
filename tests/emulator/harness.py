"""Runs a few instructions on given registers and hands back the registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from mxfp4kernels.emulator.decode import Decoded, decode
from mxfp4kernels.emulator.memory import Memory
from mxfp4kernels.emulator.scheduler import Scheduler
from mxfp4kernels.emulator.vector import split_suffix
from mxfp4kernels.emulator.waves import EXEC, LANES, SGPR_ROWS, VCC, Mode, Scratch, Waves
from mxfp4kernels.isa import Program
from mxfp4kernels.isa.parser import parse

ALL_LANES = 2**64 - 1
OLD = 0xDEADBEEF
"""What registers hold that a test does not set."""

ASSEMBLED: set[str] = set()
"""Every opcode, without encoding suffix, that a test has assembled."""

HEADER = """
        .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
        .text
        .type   test,@function
test:
"""
FOOTER = """
        s_endpgm
        .amdhsa_kernel test
{directives}
        .end_amdhsa_kernel
"""


def assemble(text: str, **directives: int) -> Program:
    """A kernel with the given instructions, one per line, and an s_endpgm."""
    lines = "\n".join(f"                .{name} {value}" for name, value in directives.items())
    program = parse(HEADER + text + FOOTER.format(directives=lines))
    ASSEMBLED.update(split_suffix(i.opcode)[0] for i in program.instructions)
    return program


@cache
def _decoded(text: str) -> Decoded:
    return decode(assemble(text))


@dataclass
class Result:
    """Registers of one wave after a run."""

    waves: Waves
    vgprs: int
    lds: bytes

    def v(self, number: int) -> list[int]:
        """The 64 lanes of a VGPR."""
        return [int(x) for x in self.waves.v[number, 0]]

    def a(self, number: int) -> list[int]:
        """The 64 lanes of an AGPR."""
        return self.v(self.vgprs + number)

    def v64(self, number: int) -> list[int]:
        """The 64 lanes of a VGPR pair."""
        return [
            low | high << 32 for low, high in zip(self.v(number), self.v(number + 1), strict=True)
        ]

    def s(self, number: int) -> int:
        """An SGPR, or a special register by its row."""
        return int(self.waves.s[number, 0, 0])

    def s64(self, number: int) -> int:
        """An SGPR pair."""
        return self.s(number) | self.s(number + 1) << 32

    @property
    def vcc(self) -> int:
        return self.s64(VCC)

    @property
    def exec(self) -> int:
        return self.s64(EXEC)

    @property
    def scc(self) -> bool:
        return bool(self.waves.scc[0, 0])


def execute(
    text: str,
    v: Mapping[int, object] | None = None,
    s: Mapping[int, int] | None = None,
    *,
    a: Mapping[int, object] | None = None,
    vcc: int = 0,
    exec_: int = ALL_LANES,
    scc: bool = False,
    lds: bytes = b"",
    memory: Memory | None = None,
    mode: Mode = Mode(),  # noqa: B008
    scratch: Scratch = Scratch(),  # noqa: B008
) -> Result:
    """Run instructions in one wave.

    Args:
        v, a: VGPRs and AGPRs by number: a number for all lanes, or 64 numbers.
        s: scalar registers by row, 32 bits each.
        lds: the initial content of LDS, whose size it fixes.
    """
    decoded = _decoded(text)
    layout = decoded.layout
    vector = np.full((layout.rows, 1, LANES), OLD, np.uint32)
    for base, given in ((0, v), (layout.vgprs, a)):
        for number, value in (given or {}).items():
            vector[base + number, 0] = np.array(value, np.uint64).astype(np.uint32)
    scalar = np.full((SGPR_ROWS, 1, 1), OLD, np.uint32)
    for row, number in (s or {}).items():
        scalar[row] = number & 0xFFFFFFFF
    for row, pair in ((VCC, vcc), (EXEC, exec_)):
        scalar[row], scalar[row + 1] = pair & 0xFFFFFFFF, pair >> 32
    waves = Waves(
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        vector,
        scalar,
        np.array([[scc]]),
        np.frombuffer(lds, np.uint8).copy()[None],
        memory or Memory(),
        mode=mode,
        scratch=scratch,
    )
    Scheduler(decoded, [0], 1).run(waves)
    return Result(waves, layout.vgprs, waves.lds.tobytes())


def pair(number: int, row: int = 0) -> dict[int, int]:
    """A 64-bit number as two scalar registers."""
    return {row: number & 0xFFFFFFFF, row + 1: number >> 32}


def low(values: list[int]) -> list[int]:
    """Low dwords of 64-bit lanes."""
    return [value & 0xFFFFFFFF for value in values]


def high(values: list[int]) -> list[int]:
    """High dwords of 64-bit lanes."""
    return [value >> 32 for value in values]


def signed(value: int, bits: int = 32) -> int:
    """Two's complement to a Python integer."""
    return (value & (1 << bits) - 1 ^ 1 << bits - 1) - (1 << bits - 1)


def unsigned(value: int, bits: int = 32) -> int:
    """A Python integer to two's complement."""
    return value & (1 << bits) - 1
