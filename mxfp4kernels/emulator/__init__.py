"""Executes gfx950 assembly on the CPU, bit for bit where the ISA defines the bits.

Knows the instruction set and nothing of any kernel: it takes a parsed program, the bytes of its
arguments, a grid and a memory, and changes the memory.
"""

from mxfp4kernels.emulator.decode import Decoded, decode, unsupported
from mxfp4kernels.emulator.errors import (
    EmulatorError,
    LaunchError,
    MemoryFault,
    UnsupportedInstruction,
)
from mxfp4kernels.emulator.kernarg import explicit_arguments, pack_kernarg
from mxfp4kernels.emulator.launch import RunResult, launch
from mxfp4kernels.emulator.memory import Memory

__all__ = [
    "Decoded",
    "EmulatorError",
    "LaunchError",
    "Memory",
    "MemoryFault",
    "RunResult",
    "UnsupportedInstruction",
    "decode",
    "explicit_arguments",
    "launch",
    "pack_kernarg",
    "unsupported",
]
