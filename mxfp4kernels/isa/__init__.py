"""Reads gfx950 assembly text: programs, blocks, loops, regions, counts, occupancy, differences.

Works on text alone, so any gfx950 assembly will do, whichever compiler printed it.
"""

from mxfp4kernels.isa.parser import parse, parse_all
from mxfp4kernels.isa.program import AssemblyError, Instruction, Program
from mxfp4kernels.isa.waitcnt import waitcnt

__all__ = ["AssemblyError", "Instruction", "Program", "parse", "parse_all", "waitcnt"]
