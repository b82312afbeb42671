"""Executes gfx950 assembly on the CPU, bit for bit where the ISA defines the bits.

Knows the instruction set and nothing of any kernel: it takes a parsed program, the bytes of its
arguments, a grid and a memory, and changes the memory.
"""

from mxfp4kernels.emulator.decode import Decoded, decode, unsupported
from mxfp4kernels.emulator.errors import (
    EmulatorError,
    IllegalInstruction,
    LaunchError,
    MemoryFault,
    UnsupportedInstruction,
)
from mxfp4kernels.emulator.findings import Difference, Hazard, Need, Undefined
from mxfp4kernels.emulator.kernarg import explicit_arguments, pack_kernarg
from mxfp4kernels.emulator.launch import RunResult, launch
from mxfp4kernels.emulator.memory import Memory
from mxfp4kernels.emulator.mutants import Mutant, mutants
from mxfp4kernels.emulator.orders import LOCKSTEP, Order, orders
from mxfp4kernels.emulator.sanitizer import Report, sanitize

__all__ = [
    "LOCKSTEP",
    "Decoded",
    "Difference",
    "EmulatorError",
    "Hazard",
    "IllegalInstruction",
    "LaunchError",
    "Memory",
    "MemoryFault",
    "Mutant",
    "Need",
    "Order",
    "Report",
    "RunResult",
    "Undefined",
    "UnsupportedInstruction",
    "decode",
    "explicit_arguments",
    "launch",
    "mutants",
    "orders",
    "pack_kernarg",
    "sanitize",
    "unsupported",
]
