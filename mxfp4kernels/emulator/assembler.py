"""What an assembler for gfx950 would refuse, and what no kernel may name: checked while decoding.

Registers past those that the kernel declares, odd register tuples, constants that an encoding has
no room for, immediates out of their range. Where a text does not declare a number of registers,
as a bare listing, that number is not checked. Sources: AMD CDNA3 and CDNA4 ISA manuals, operand
and encoding tables; LLVM AMDGPUUsage, code object directives; all rules were compared with what
llvm-mc 22 accepts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mxfp4kernels.emulator.errors import EmulatorError, IllegalInstruction
from mxfp4kernels.emulator.operands import Operand
from mxfp4kernels.emulator.site import SCALAR_ROWS, Site, Uses
from mxfp4kernels.emulator.vector import split_suffix
from mxfp4kernels.emulator.waves import VCC
from mxfp4kernels.isa.program import AssemblyError, Program
from mxfp4kernels.isa.waitcnt import waitcnt

MAX_ACCUM_OFFSET = 256
NUMBERED_SGPRS = 102

# ---- registers


@dataclass(frozen=True)
class Allocation:
    """Registers that a kernel declares; ``None`` where its text does not say.

    Attributes:
        vgprs, agprs, sgprs: how many of each it may name. VCC and the like are not counted.
    """

    vgprs: int | None
    agprs: int | None
    sgprs: int | None

    @classmethod
    def of(cls, program: Program) -> Allocation:
        """From the directives; an expression over symbols gives way to the metadata.

        Raises:
            EmulatorError: an ``.amdhsa_accum_offset`` that cannot be.
        """
        total = _number(program.directives, "amdhsa_next_free_vgpr")
        accum = _number(program.directives, "amdhsa_accum_offset")
        if accum is not None and (accum % 4 or not 4 <= accum <= MAX_ACCUM_OFFSET):
            raise EmulatorError(
                f"{program.name}: .amdhsa_accum_offset {accum} must be a multiple of 4 in "
                f"4..{MAX_ACCUM_OFFSET}"
            )
        sgprs = _number(program.directives, "amdhsa_next_free_sgpr")
        if total is None:
            total, agprs = (_number(program.metadata, f".{n}_count") for n in ("vgpr", "agpr"))
            if total is None or agprs is None:
                return cls(accum, None, sgprs)
            return cls(total - agprs, agprs, sgprs)
        if accum is None:
            return cls(total, None, sgprs)
        return cls(min(total, accum), max(0, total - accum), sgprs)

    def limit(self, kind: str) -> int | None:
        """Registers of kind ``v``, ``a`` or ``s``."""
        return {"v": self.vgprs, "a": self.agprs, "s": self.sgprs}[kind]


def _number(values: Mapping[str, object], name: str) -> int | None:
    value = values.get(name)
    return value if isinstance(value, int) else None


DIRECTIVES = {
    "v": ".amdhsa_next_free_vgpr and .amdhsa_accum_offset",
    "a": ".amdhsa_next_free_vgpr less .amdhsa_accum_offset",
    "s": ".amdhsa_next_free_sgpr",
}


def _check_registers(site: Site, allocation: Allocation) -> None:
    for operand in site.operands:
        if operand.kind not in DIRECTIVES:
            continue
        last = operand.first + operand.count - 1
        limit = allocation.limit(operand.kind)
        numbered = operand.is_vector or operand.first < NUMBERED_SGPRS
        if limit is not None and numbered and last >= limit:
            raise _illegal(
                site,
                f"{operand.kind}{last} lies past the {limit} that the kernel declares "
                f"({DIRECTIVES[operand.kind]}); declare more or use a lower register",
            )
        _check_alignment(site, operand)


def _check_alignment(site: Site, operand: Operand) -> None:
    if operand.count < 2:
        return
    step = 2 if operand.is_vector or operand.count == 2 else 4
    if operand.first % step:
        raise _illegal(
            site,
            f"operand {operand.text}: {operand.count} registers together must begin at a multiple "
            f"of {step}",
        )


# ---- constants


def _bits(kind: type[np.floating[Any]]) -> frozenset[int]:
    """A float type's inline constants, and -16..-1, as unsigned integers of its width."""
    width = 8 * np.dtype(kind).itemsize
    plain = [sign * size for size in (0.5, 1.0, 2.0, 4.0) for sign in (1, -1)]
    stored = np.array([*plain, 0.5 / np.pi], kind).view(f"u{width // 8}")
    return frozenset(map(int, stored)) | frozenset(range(2**width - 16, 2**width))


INLINE_INTEGERS = frozenset(range(-16, 65)) | _bits(np.float32) | _bits(np.float64)
"""Integers that need no literal: -16..64, and what has the bits of an inline float."""
INLINE_HALVES = _bits(np.float16)
"""The same for 16-bit operands."""
INLINE_FLOATS = frozenset((0.5, 1.0, 2.0, 4.0, -0.5, -1.0, -2.0, -4.0))
LITERAL_RANGE = range(-(1 << 31), 1 << 32)


def _is_literal(operand: Operand, opcode: str) -> bool:
    """Whether a constant takes the instruction's 32-bit literal."""
    if operand.kind != "constant":
        return False
    value = operand.value
    if isinstance(value, int):
        half = "16" in opcode and value in INLINE_HALVES
        return value not in INLINE_INTEGERS and not half
    inverse = np.float32(value) == np.float32(0.5 / np.pi)
    zero = value == 0 and not np.signbit(value)
    return not (value in INLINE_FLOATS or inverse or zero)


def _check_literals(site: Site, opcode: str) -> frozenset[int | float]:
    """The literals of an instruction, each of 32 bits."""
    literals = frozenset(o.value for o in site.operands if _is_literal(o, opcode))
    for value in literals:
        if isinstance(value, int) and value not in LITERAL_RANGE:
            raise _illegal(site, f"constant {value:#x} needs more than the 32 bits of a literal")
    return literals


# ---- vector ALU

_VOP2 = re.compile(
    r"v_(?:add|sub|subrev)_(?:co_u32|u32|u16|f32|f16)|v_(?:mul|min|max)_f(?:32|16)"
    r"|v_(?:min|max)_[iu](?:32|16)|v_mul_(?:hi_)?[iu]32_[iu]24|v_mul_lo_u16"
    r"|v_(?:and|or|xor|xnor)_b32|v_lsh[lr]rev_b(?:32|16)|v_ashrrev_i(?:32|16)|v_ldexp_f16"
    r"|v_dot\dc_\w+|v_fmac_f(?:32|64)|v_fma[am]k_f32"
)
"""Operations of two sources with an encoding of 32 bits, to which a literal can be added."""
_WITH_AGPRS = re.compile(r"v_s?mfmac?_\w+|v_accvgpr_\w+")
_EMBEDDED = re.compile(r"v_fma[am]k_\w+")
"""Operations whose encoding ends in a literal, whatever its value."""


def _vector_sources(site: Site, uses: Uses) -> Sequence[Operand]:
    """The operands behind the result and, where there is one, the result's mask."""
    first, *rest = site.operands
    masked = first.is_vector and rest and rest[0].kind == "s"
    if masked and uses.writes.issuperset(site.rows(rest[0])):
        return rest[1:]
    return rest


def _is_short(site: Site, opcode: str, encoding: str, sources: Sequence[Operand]) -> bool:
    """Whether the instruction is encoded in 32 bits, which a literal may follow."""
    if encoding:
        return encoding == "e32"
    if site.instruction.modifiers or any(o.negate or o.absolute for o in sources):
        return False
    if opcode.startswith("v_cmp"):
        return site.operands[0].first == VCC
    if opcode.startswith("v_accvgpr"):
        return False
    return len(sources) == 1 or _VOP2.fullmatch(opcode) is not None


def _check_vector(site: Site, uses: Uses) -> None:
    if not site.operands:
        return
    opcode, encoding = split_suffix(site.instruction.opcode)
    if _WITH_AGPRS.fullmatch(opcode) is None:
        for operand in site.operands:
            if operand.kind == "a":
                raise _illegal(site, f"operand {operand.text}: this instruction takes no AGPR")
    sources = _vector_sources(site, uses)
    literals = _check_literals(site, opcode)
    if _EMBEDDED.fullmatch(opcode):
        literals |= {o.value for o in sources[1:] if o.kind == "constant"}
    else:
        _check_literal_place(site, opcode, encoding, sources)
    scalars = {(o.first, o.count, o.kind) for o in sources if o.kind in ("s", "status", "aperture")}
    if SCALAR_ROWS + VCC in uses.reads and not any(
        o.first == VCC or o.kind == "status" for o in sources
    ):
        scalars.add((VCC, 2, "s"))
    if len(scalars) + len(literals) > 1:
        raise _illegal(
            site,
            f"reads {len(scalars)} scalar registers and {len(literals)} literals, VCC included; "
            "one of them is the limit",
        )
    if encoding == "e32":
        _check_e32(site, opcode, sources)
    if encoding == "dpp":
        _check_dpp(site, sources)


def _check_literal_place(
    site: Site, opcode: str, encoding: str, sources: Sequence[Operand]
) -> None:
    short = _is_short(site, opcode, encoding, sources)
    for position, operand in enumerate(sources):
        if _is_literal(operand, opcode) and (position or not short):
            raise _illegal(
                site,
                f"literal {operand.text} can only be source 0 of an instruction of 32 bits; "
                "put it into a register",
            )


def _check_e32(site: Site, opcode: str, sources: Sequence[Operand]) -> None:
    if site.instruction.modifiers or any(o.negate or o.absolute for o in sources):
        raise _illegal(site, "an _e32 encoding has no modifiers; use _e64")
    second = sources[2:3] if opcode.startswith("v_fmamk") else sources[1:2]
    for operand in second:
        if operand.kind != "v":
            raise _illegal(
                site, f"operand {operand.text} must be a VGPR in an _e32 encoding; use _e64"
            )


def _check_dpp(site: Site, sources: Sequence[Operand]) -> None:
    for operand in sources[:2]:
        if operand.kind != "v":
            raise _illegal(site, f"operand {operand.text} must be a VGPR in a DPP encoding")
    for name, most in (("row_mask", 15), ("bank_mask", 15), ("bound_ctrl", 1)):
        _check_range(site, name, site.number(name), 0, most)


# ---- immediates

OFFSETS = (
    ("buffer_", 0, (1 << 12) - 1),
    ("flat_", 0, (1 << 12) - 1),
    ("global_", -(1 << 12), (1 << 12) - 1),
    ("scratch_", -(1 << 12), (1 << 12) - 1),
    ("ds_", 0, (1 << 16) - 1),
    ("s_buffer_load", 0, (1 << 20) - 1),
    ("s_load", -(1 << 20), (1 << 20) - 1),
)
"""Least and largest immediate offset by the beginning of the opcode."""
_SOPK = re.compile(r"s_(?:mov|cmov|add|mul|cmp)k_\w+")


def _check_memory(site: Site) -> None:
    opcode = site.instruction.opcode
    if opcode.startswith("buffer_"):
        for operand in site.operands:
            if _is_literal(operand, opcode) or (operand is site.operands[-1] and operand.is_vector):
                raise _illegal(site, f"operand {operand.text} must be an SGPR or inline constant")
    for name in ("offset0", "offset1"):
        _check_range(site, name, site.number(name), 0, 255)
    for beginning, least, most in OFFSETS:
        if opcode.startswith(beginning) and not opcode.startswith("ds_swizzle"):
            _check_range(site, "offset", site.number("offset"), least, most)
            last = site.operands[-1] if site.operands else None
            if opcode.startswith("s_") and last is not None and isinstance(last.value, int):
                _check_range(site, "offset", last.value, least, most)


def _check_scalar(site: Site) -> None:
    opcode = site.instruction.opcode
    if opcode == "s_waitcnt":
        _check_waitcnt(site)
    elif _SOPK.fullmatch(opcode):
        least = 0 if opcode.startswith("s_cmpk") and opcode.endswith("u32") else -(1 << 15)
        for operand in site.operands[1:]:
            if isinstance(operand.value, int):
                _check_range(site, "immediate", operand.value, least, (1 << 16) - 1)
    elif len(literals := _check_literals(site, opcode)) > 1:
        raise _illegal(site, f"needs {len(literals)} literals; one is the limit")


def _check_waitcnt(site: Site) -> None:
    operand = site.operands[0] if len(site.operands) == 1 else None
    if operand is not None and isinstance(operand.value, int):
        _check_range(site, "immediate", operand.value, -(1 << 15), (1 << 16) - 1)
    try:
        waitcnt(site.instruction)
    except AssemblyError as error:
        raise _illegal(site, error.reason) from error


def _check_range(site: Site, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise _illegal(site, f"{name} {value} must lie in {least}..{most}")


# ---- all


def _illegal(site: Site, reason: str) -> IllegalInstruction:
    return IllegalInstruction(site.instruction, reason)


def check(site: Site, uses: Uses, allocation: Allocation) -> None:
    """Refuse an instruction that cannot be encoded, or names what the kernel does not have.

    Args:
        site: the instruction, its modifiers understood.
        uses: the registers that it reads and writes.
        allocation: what the kernel declares.

    Raises:
        IllegalInstruction: with the line, the value and its limit.
    """
    _check_registers(site, allocation)
    opcode = site.instruction.opcode
    if opcode.startswith("v_"):
        _check_vector(site, uses)
    elif opcode.startswith("s_") and not opcode.startswith(("s_load", "s_buffer")):
        _check_scalar(site)
    else:
        _check_memory(site)
