"""Which vector registers an instruction writes and reads, as bit masks.

Bit ``n`` stands for VGPR ``vn`` and bit ``256 + n`` for AGPR ``an``. Scalar registers are not
tracked. What an instruction reads only as an address is told apart from data, because a value does
not flow through an address.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from mxfp4kernels.isa.classes import InstructionClass, Kind, base_opcode, kind_of
from mxfp4kernels.isa.program import Instruction

ACC_BASE = 256
"""Bit of register ``a0``."""

_VECTOR = re.compile(r"(?<![\w.])([va])(?:(\d+)|\[(\d+)(?::(\d+))?\])")
_SWAPS = re.compile(r"v_swap_b32|v_permlane(?:16|32)_swap_b32")
_ACCUMULATES = re.compile(
    r"v_(?:pk_)?fmac_\w+|v_mac_\w+|v_dot\d+c_\w+|v_smfmac_\w+|v_writelane_b32"
)
_KEEPS_PART = re.compile(
    r"v_cvt_scalef32_(?:sr_)?(?:pk_)?(?:fp4|fp8|bf8|f16)_\w+|v_cvt_(?:sr|pk)_(?:fp8|bf8)_\w+"
    r"|v_(?:fma|mad)_mixhi_f16|\w+_d16(?:_hi)?(?:_\w+)?"
)


class Access(NamedTuple):
    """Masks of the vector registers that an instruction writes, reads as data, reads as address."""

    writes: int
    data: int
    address: int

    @property
    def reads(self) -> int:
        """Registers read for any purpose."""
        return self.data | self.address


@lru_cache(maxsize=1 << 16)
def vector_mask(operand: str) -> int:
    """Mask of the vector registers that an operand names, sign and absolute bars included."""
    mask = 0
    for file, single, first, last in _VECTOR.findall(operand):
        low = int(single or first)
        high = int(last) if last else low
        mask |= ((1 << (high - low + 1)) - 1) << (low + (ACC_BASE if file == "a" else 0))
    return mask


def vector_access(instruction: Instruction) -> Access:
    """Vector registers that an instruction writes and reads.

    A destination of which a part survives (byte-selecting conversions, ``d16`` loads, SDWA with
    ``UNUSED_PRESERVE``, DPP with lanes off, accumulation in place) counts as read, too. An atomic's
    operands all count as data.

    Raises:
        AssemblyError: the opcode has no class.
    """
    kind = kind_of(instruction)
    masks = [vector_mask(operand) for operand in instruction.operands]
    if not any(masks):
        return Access(0, 0, 0)
    if kind.of is InstructionClass.VMEM or kind.of is InstructionClass.LDS:
        return _memory_access(instruction, kind, masks)
    opcode = base_opcode(instruction.opcode)
    writes, data = masks[0], _union(masks[1:])
    if _SWAPS.match(opcode):
        writes = data = masks[0] | masks[1]
    elif _keeps_part(instruction, opcode):
        data |= writes
    return Access(writes, data, 0)


def _memory_access(instruction: Instruction, kind: Kind, masks: list[int]) -> Access:
    opcode, first, rest = instruction.opcode, masks[0], _union(masks[1:])
    if kind.part in ("load", "read"):
        return Access(first, first if _KEEPS_PART.fullmatch(opcode) else 0, rest)
    if kind.part == "cross_lane":
        swizzle = opcode.startswith("ds_swizzle")
        return Access(first, masks[1], 0) if swizzle else Access(first, masks[2], masks[1])
    if kind.part == "write" or (kind.part == "store" and not opcode.startswith(("buffer", "tbuf"))):
        return Access(0, rest, first)
    if kind.part == "store":
        return Access(0, first, rest)
    if kind.part == "atomic":
        return Access(first if _returns(instruction) else 0, first | rest, 0)
    return Access(0, 0, first | rest)


def _returns(atomic: Instruction) -> bool:
    """Whether an atomic brings the old value back."""
    if atomic.opcode.startswith("ds_"):
        return "_rtn_" in atomic.opcode or atomic.opcode in ("ds_append", "ds_consume")
    return any(name in ("sc0", "glc") for name, _ in atomic.modifiers)


def _keeps_part(instruction: Instruction, opcode: str) -> bool:
    if _ACCUMULATES.fullmatch(opcode) or _KEEPS_PART.fullmatch(opcode):
        return True
    if instruction.opcode.endswith("_sdwa"):
        return instruction.modifier("dst_unused") == "UNUSED_PRESERVE"
    if instruction.opcode.endswith("_dpp"):
        return instruction.modifier("bound_ctrl") is None
    half = instruction.modifier("op_sel") is not None
    return half and not opcode.startswith(("v_pk_", "v_mfma_", "v_dot"))


def _union(masks: list[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union
