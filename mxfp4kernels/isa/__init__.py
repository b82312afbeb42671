"""Reads gfx950 assembly text: programs, blocks, loops, regions, counts, occupancy, differences.

Works on text alone, so any gfx950 assembly will do, whichever compiler printed it.

    program = parse(text)
    counts = count_program(program)
    counts.regions[Region.KLOOP]["MFMA"]
    occupancy_of(program).waves_per_simd
"""

from mxfp4kernels.isa.blocks import Block, ControlFlow, Loop, control_flow
from mxfp4kernels.isa.classes import (
    InstructionClass,
    Kind,
    base_opcode,
    class_of,
    kind_of,
    nop_states,
)
from mxfp4kernels.isa.counts import Counts, ProgramCounts, count, count_program
from mxfp4kernels.isa.diff import Difference, Row, Section, diff
from mxfp4kernels.isa.diff_html import render_html
from mxfp4kernels.isa.diff_text import render_text
from mxfp4kernels.isa.occupancy import (
    Limit,
    Occupancy,
    UnknownOccupancy,
    combined_vgprs,
    occupancy,
    occupancy_of,
)
from mxfp4kernels.isa.parser import parse, parse_all
from mxfp4kernels.isa.program import AssemblyError, Instruction, Program
from mxfp4kernels.isa.regions import Pass, Region, Regions, find_regions
from mxfp4kernels.isa.registers import Access, vector_access, vector_mask
from mxfp4kernels.isa.source import read_assembly
from mxfp4kernels.isa.waitcnt import waitcnt

__all__ = [
    "Access",
    "AssemblyError",
    "Block",
    "ControlFlow",
    "Counts",
    "Difference",
    "Instruction",
    "InstructionClass",
    "Kind",
    "Limit",
    "Loop",
    "Occupancy",
    "Pass",
    "Program",
    "ProgramCounts",
    "Region",
    "Regions",
    "Row",
    "Section",
    "UnknownOccupancy",
    "base_opcode",
    "class_of",
    "combined_vgprs",
    "control_flow",
    "count",
    "count_program",
    "diff",
    "find_regions",
    "kind_of",
    "nop_states",
    "occupancy",
    "occupancy_of",
    "parse",
    "parse_all",
    "read_assembly",
    "render_html",
    "render_text",
    "vector_access",
    "vector_mask",
    "waitcnt",
]
