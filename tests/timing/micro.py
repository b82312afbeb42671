"""Micro-kernels: a few lines of assembly, run in the emulator for a trace, then timed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mxfp4kernels.emulator import Memory
from mxfp4kernels.emulator.trace import Trace, trace
from mxfp4kernels.isa import Program, parse
from mxfp4kernels.timing.code import lower
from mxfp4kernels.timing.constants import Hardware, read_hardware
from mxfp4kernels.timing.engine import Cause
from mxfp4kernels.timing.unit import MemoryState, UnitRun, simulate
from mxfp4kernels.timing.work import Work, workgroup_of

TEXT = """
        .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
        .text
        .type   test,@function
test:
{body}
        s_endpgm
        .amdhsa_kernel test
                .amdhsa_group_segment_fixed_size {lds}
                .amdhsa_user_sgpr_kernarg_segment_ptr 1
                .amdhsa_user_sgpr_count 2
                .amdhsa_kernarg_size {kernarg}
        .end_amdhsa_kernel
"""
CLOCK = 2.4


@dataclass(frozen=True)
class Micro:
    """A traced micro-kernel."""

    program: Program
    trace: Trace
    work: Work

    def run(self, hardware: Hardware | None = None, **options: Any) -> UnitRun:
        """Time it; ``memory``, ``resident``, ``groups``, ``record`` as for ``simulate``."""
        hardware = hardware or read_hardware()
        options = {"resident": 1, "groups": 1, "clock": CLOCK, "record": 0} | options
        options.setdefault("memory", MemoryState.uniform(self.trace.buffers, active=1))
        return simulate(lower(self.program, hardware), self.work, hardware, **options)

    def issued(self, run: UnitRun, opcode: str, wave: int = 0) -> list[int]:
        """Issue clocks of an opcode's instructions in a wave."""
        positions = range(self.work.start[wave], self.work.start[wave + 1])
        return [
            int(run.issued[at])
            for at in positions
            if self.program.instructions[self.work.step[at, 0]].opcode.startswith(opcode)
        ]


def micro(
    body: str, *, waves: int = 1, data: dict[str, int] | None = None, lds: int = 65536
) -> Micro:
    """Trace a kernel body.

    Args:
        waves: of the one workgroup.
        data: buffers by name and size; the kernel argument holds their addresses in order.
        lds: bytes.
    """
    memory = Memory()
    addresses = [memory.allocate(name, size) for name, size in (data or {}).items()]
    kernarg = np.array(addresses, np.uint64).tobytes()
    program = parse(TEXT.format(body=body, lds=lds, kernarg=len(kernarg)))
    made = trace(program, kernarg, (1, 1, 1), (64 * waves, 1, 1), memory)
    return Micro(program, made, workgroup_of(made, 0))


def gaps(times: list[int]) -> list[int]:
    """Clocks from each issue to the next."""
    return [after - before for before, after in pairwise(times)]


def total(run: UnitRun, cause: Cause) -> int:
    """Clocks of a cause over all waves."""
    return run.causes[cause]
