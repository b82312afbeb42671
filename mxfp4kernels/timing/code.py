"""A program as the compute unit sees it: per instruction its unit, occupancy and registers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..isa import InstructionClass, Kind, Program, kind_of, nop_states, vector_access, waitcnt
from ..isa.classes import base_opcode
from ..isa.program import AssemblyError, Instruction
from ..isa.registers import vector_mask
from .constants import Hardware

Ints = npt.NDArray[np.int64]


class Unit(IntEnum):
    """What executes an instruction."""

    VALU = 0
    PACKED_F32 = 1
    MFMA = 2
    SALU = 3
    SMEM = 4
    LDS_READ = 5
    LDS_WRITE = 6
    LDS_MOVE = 7
    LOAD = 8
    LOAD_TO_LDS = 9
    STORE = 10
    ATOMIC = 11
    WAIT = 12
    BARRIER = 13
    NOP = 14
    BRANCH = 15
    CONTROL = 16
    END = 17


class Column(IntEnum):
    """Columns of :attr:`Code.table`; times in clocks.

    ``HOLD``: for how long the instruction occupies its wave and its issue port. ``LATENCY``: issue
    to first use of the vector registers it writes; 0 when ``HOLD`` covers it or a counter does.
    ``PIPE``: occupancy of the matrix pipe. ``SCALED``: clocks of an MFMA's scale fetch.
    ``VALU_WAIT``: how much longer than other units VALU waits behind this MFMA. ``VM_WAIT``,
    ``LGKM_WAIT``: thresholds of an ``s_waitcnt``, -1 for no wait. ``PRIORITY``: what ``s_setprio``
    sets, else -1. ``READ``, ``WRITE`` and their ends: ranges in the register lists. ``SOURCE``,
    ``RESULT`` and their ends: registers of an MFMA's third source and destination, -1 for none.
    ``DWORDS``: what a vector memory instruction moves for a lane, by its opcode; 1 for less.
    """

    UNIT = 0
    HOLD = 1
    LATENCY = 2
    PIPE = 3
    SCALED = 4
    VALU_WAIT = 5
    VM_WAIT = 6
    LGKM_WAIT = 7
    PRIORITY = 8
    READ = 9
    READ_END = 10
    WRITE = 11
    WRITE_END = 12
    SOURCE = 13
    SOURCE_END = 14
    RESULT = 15
    RESULT_END = 16
    DWORDS = 17


class Code(NamedTuple):
    """A program for the engine.

    Attributes:
        table: int64 [instructions, columns], see :class:`Column`.
        read, write: vector registers that instructions need and write, AGPRs from 256 on.
    """

    table: Ints
    read: Ints
    write: Ints


_MFMA_SIZE = re.compile(r"_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?_")
_DWORDS = re.compile(r"_dwordx(\d)\b")
_NARROW = ("2", "3", "4")
"""cbsz and blgp of FP6 (2, 3) and FP4 (4) operands; 0 and 1 are FP8 and BF8."""
_MEMORY = {
    (InstructionClass.VMEM, "load"): Unit.LOAD,
    (InstructionClass.VMEM, "load_to_lds"): Unit.LOAD_TO_LDS,
    (InstructionClass.VMEM, "store"): Unit.STORE,
    (InstructionClass.VMEM, "atomic"): Unit.ATOMIC,
    (InstructionClass.VMEM, "cache"): Unit.CONTROL,
    (InstructionClass.LDS, "read"): Unit.LDS_READ,
    (InstructionClass.LDS, "write"): Unit.LDS_WRITE,
    (InstructionClass.LDS, "atomic"): Unit.LDS_WRITE,
    (InstructionClass.LDS, "cross_lane"): Unit.LDS_MOVE,
}
_CLASSES = {
    InstructionClass.MFMA: Unit.MFMA,
    InstructionClass.VALU: Unit.VALU,
    InstructionClass.ACC: Unit.VALU,
    InstructionClass.TRANS: Unit.VALU,
    InstructionClass.SALU: Unit.SALU,
    InstructionClass.SMEM: Unit.SMEM,
    InstructionClass.WAIT: Unit.WAIT,
    InstructionClass.BARRIER: Unit.BARRIER,
    InstructionClass.NOP: Unit.NOP,
    InstructionClass.BRANCH: Unit.BRANCH,
    InstructionClass.OTHER: Unit.CONTROL,
}


def lower(program: Program, hardware: Hardware) -> Code:
    """The static arrays of a program.

    Raises:
        AssemblyError: an opcode without a class, or an MFMA whose rate is not known.
    """
    table = np.zeros((len(program.instructions), len(Column)), np.int64)
    table[:, [Column.VM_WAIT, Column.LGKM_WAIT, Column.PRIORITY]] = -1
    table[:, Column.SOURCE : Column.RESULT_END + 1] = -1
    read: list[int] = []
    write: list[int] = []
    for row, instruction in zip(table, program.instructions, strict=True):
        reads, writes, columns = _lower(instruction, hardware)
        for column, value in columns.items():
            row[column] = value
        row[Column.READ], row[Column.WRITE] = len(read), len(write)
        read += _registers(reads)
        write += _registers(writes)
        row[Column.READ_END], row[Column.WRITE_END] = len(read), len(write)
    return Code(table, np.array(read, np.int64), np.array(write, np.int64))


def _registers(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def unit_of(instruction: Instruction) -> Unit:
    """What executes an instruction.

    Raises:
        AssemblyError: an opcode without a class or without a unit.
    """
    kind = kind_of(instruction)
    if instruction.opcode.startswith("s_endpgm"):
        return Unit.END
    if kind == Kind(InstructionClass.VALU, "packed") and "f32" in instruction.opcode:
        return Unit.PACKED_F32
    if kind.of in _CLASSES:
        return _CLASSES[kind.of]
    if (kind.of, kind.part) not in _MEMORY:
        raise AssemblyError(
            f"the timing model has no unit for {instruction.opcode}",
            instruction.line,
            instruction.text,
        )
    return _MEMORY[kind.of, kind.part]


Columns = Mapping[Column, int]


def _lower(instruction: Instruction, hardware: Hardware) -> tuple[int, int, Columns]:
    """Masks of the registers read and written, and the columns that differ from none."""
    unit, period = unit_of(instruction), int(hardware["issue_period"])
    access = vector_access(instruction)
    row = {Column.UNIT: int(unit), Column.HOLD: period}
    if unit is Unit.MFMA:
        reads, more = _matrix(instruction, hardware)
        return reads, access.writes, row | dict(more)
    if unit in (Unit.VALU, Unit.PACKED_F32):
        row[Column.HOLD] = _vector_hold(instruction, unit, hardware)
        if kind_of(instruction).of is InstructionClass.TRANS:
            wait = period * int(hardware["trans_wait"])
            row[Column.LATENCY] = int(hardware["trans_cycles"]) + wait
    elif Unit.LOAD <= unit <= Unit.ATOMIC:
        wide = _DWORDS.search(instruction.opcode)
        row[Column.DWORDS] = int(wide[1]) if wide else 1
    elif unit is Unit.LDS_WRITE:
        row[Column.HOLD] = period + period * access.data.bit_count()
    elif unit is Unit.WAIT:
        waits = waitcnt(instruction)
        row[Column.VM_WAIT] = waits.get("vmcnt", -1)
        row[Column.LGKM_WAIT] = waits.get("lgkmcnt", -1)
    elif unit is Unit.NOP:
        row[Column.HOLD] = period * nop_states(instruction)
    elif instruction.opcode == "s_setprio":
        row[Column.PRIORITY] = int(instruction.operands[0], 0)
    return access.reads, access.writes, row


def _vector_hold(instruction: Instruction, unit: Unit, hardware: Hardware) -> int:
    opcode = base_opcode(instruction.opcode)
    if kind_of(instruction).of is InstructionClass.TRANS:
        return int(hardware["trans_cycles"])
    if opcode.startswith("v_permlane"):
        return int(hardware["cross_lane_cycles"])
    if unit is Unit.PACKED_F32:
        return int(hardware["packed_f32_cycles"])
    return int(hardware["issue_period"])


def _matrix(instruction: Instruction, hardware: Hardware) -> tuple[int, Columns]:
    """Registers that an MFMA reads but for its accumulator, and its columns.

    A result can be read ``mfma_result_wait`` wait states after the passes (the engine knows the
    shorter ones of accumulators); VALU issues a slot later for each ``mfma_source_bytes`` of the
    widest A or B source.
    """
    cycles = _matrix_cycles(instruction, _is_narrow(instruction), hardware)
    period = int(hardware["issue_period"])
    masks = [vector_mask(operand) for operand in instruction.operands]
    scaled = "_scale_" in instruction.opcode
    reads = masks[1] | masks[2] | (masks[4] | masks[5] if scaled else 0)
    sources = max(masks[1].bit_count(), masks[2].bit_count())
    source, result = _span(masks[3]), _span(masks[0])
    return reads, {
        Column.LATENCY: period * (1 + cycles // period + int(hardware["mfma_result_wait"])),
        Column.PIPE: cycles,
        Column.SCALED: int(hardware["mfma_scale_fetch"]) if scaled else 0,
        Column.VALU_WAIT: max(0, period * (4 * sources // int(hardware["mfma_source_bytes"]) - 1)),
        Column.SOURCE: source[0],
        Column.SOURCE_END: source[1],
        Column.RESULT: result[0],
        Column.RESULT_END: result[1],
    }


def _span(mask: int) -> tuple[int, int]:
    if mask == 0:
        return -1, -1
    return (mask & -mask).bit_length() - 1, mask.bit_length()


def _is_narrow(instruction: Instruction) -> bool:
    return all(instruction.modifier(name, "0") in _NARROW for name in ("cbsz", "blgp"))


def _matrix_cycles(instruction: Instruction, narrow: bool, hardware: Hardware) -> int:
    opcode = instruction.opcode
    size = _MFMA_SIZE.search(opcode)
    if size is None or "f64" in opcode:
        raise AssemblyError(f"the rate of {opcode} is not known", instruction.line, opcode)
    m, n, k, blocks = (int(part or 1) for part in size.groups())
    if "f8f6f4" in opcode:
        rate = "mfma_fp4_flops" if narrow else "mfma_fp8_flops"
    elif re.search(r"fp8|bf8|i8$", opcode):
        rate = "mfma_fp8_flops"
    elif re.search(r"f16", opcode):
        rate = "mfma_f16_flops"
    else:
        rate = "mfma_f32_flops"
    least = int(hardware["mfma_least_cycles"])
    return max(least, round(2 * m * n * k * blocks / hardware[rate]))
