"""Instruction classes: which unit an opcode occupies, as kernel engineers count it.

The rules go by opcode family and cover the gfx90a to gfx950 instruction set (CDNA2 to CDNA4), not
only what our kernels use. They follow the published counts in three choices that one could make
otherwise: MFMA, ACC and TRANS are counted apart from VALU although all four issue through the VALU
port; a load to LDS is VMEM, not LDS, because it counts on vmcnt; ``s_setprio`` and ``s_endpgm``
are OTHER rather than SALU.

An opcode that no rule knows, RDNA's among them, is an error: a count with an instruction left out
or guessed would be worse than none.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from mxfp4kernels.isa.program import AssemblyError, Instruction, shortened


class InstructionClass(str, Enum):
    """The class of an instruction; the order is that of the columns of a count."""

    MFMA = "MFMA"
    VALU = "VALU"
    ACC = "ACC"
    TRANS = "TRANS"
    SALU = "SALU"
    SMEM = "SMEM"
    VMEM = "VMEM"
    LDS = "LDS"
    WAIT = "WAIT"
    BARRIER = "BARRIER"
    NOP = "NOP"
    BRANCH = "BRANCH"
    OTHER = "OTHER"

    def __str__(self) -> str:
        return self.value


class Kind(NamedTuple):
    """A class and the part of it: ``Kind(InstructionClass.VMEM, "load_to_lds")``."""

    of: InstructionClass
    part: str


_ENCODING = re.compile(r"_(?:e32|e64|dpp|sdwa|e64_dpp)$")
_TYPES = r"(?:_(?:[iufb]\d+|bf16|co|legacy|iflag))+"
_SCALAR_TYPES = r"(?:_[iub]\d+)+"
_COMPARISON = r"(?:class|f|lt|eq|le|gt|lg|ne|ge|o|u|nge|nlg|ngt|nle|neq|nlt|t|tru)"
_WIDTH = (
    r"(?:dword(?:x(?:2|3|4|8|16))?|[su](?:byte|short)(?:_d16(?:_hi)?)?|(?:byte|short)(?:_d16(?:_hi)?)?"
    r"|format_(?:d16_(?:hi_)?)?xy?z?w?)"
)

_VALU_OPERATIONS = (
    "add|addc|add3|add_lshl|sub|subb|subrev|subbrev|mul|mul_hi|mul_lo|mul_legacy|mac|mad|madak|madmk"
    "|mad_legacy|fma|fmac|fmaak|fmamk|fma_legacy|fma_mix|fma_mixlo|fma_mixhi"
    "|mad_mix|mad_mixlo|mad_mixhi|min|max|min3|max3|med3|minimum3|maximum3"
    "|and|or|xor|xnor|not|and_or|or3|xad|bitop3|bfe|bfi|bfm|bfrev|bcnt|ffbh|ffbl"
    "|mbcnt_lo|mbcnt_hi|lshl|lshr|ashr|lshlrev|lshrrev|ashrrev|lshl_add|lshl_or|ashr_pk_i8"
    "|ashr_pk_u8|alignbit|alignbyte|perm|lerp|sad|sad_hi|msad|qsad_pk|mqsad_pk|mqsad"
    "|trunc|ceil|rndne|floor|fract|frexp_exp|frexp_mant|ldexp|div_scale|div_fmas|div_fixup"
    "|div_fixup_legacy|trig_preop|cubeid|cubesc|cubetc|cubema|sat_pk|prng|cndmask|mov|swap"
    "|screen_partition_4se|pack"
)
_PACKED = "add|sub|mul|mul_lo|fma|fmac|mad|min|max|minimum3|maximum3|lshlrev|lshrrev|ashrrev|mov"
_SALU_OPERATIONS = (
    "add|sub|addc|subb|addk|mul|mul_hi|mulk|abs|absdiff|min|max|cselect|cmov|cmovk|mov|movk"
    "|and|or|xor|nand|nor|xnor|not|andn1|andn2|orn1|orn2|lshl|lshr|ashr|bfm|bfe|brev|bcnt0|bcnt1"
    "|ff0|ff1|flbit|sext|bitset0|bitset1|bitcmp0|bitcmp1|bitreplicate|quadmask|wqm"
    "|lshl1_add|lshl2_add|lshl3_add|lshl4_add|pack_ll|pack_lh|pack_hh|movrels|movreld|getpc"
)

_RULES: tuple[tuple[str, InstructionClass, str], ...] = (
    (r"v_s?mfma[c]?_\w+", InstructionClass.MFMA, "mfma"),
    (r"v_accvgpr_(?:read|write|mov)(?:_b32)?", InstructionClass.ACC, "move"),
    (
        rf"v_(?:exp|log|rcp|rsq|sqrt|sin|cos){_TYPES}",
        InstructionClass.TRANS,
        "transcendental",
    ),
    (r"v_nop", InstructionClass.NOP, "v_nop"),
    (
        r"v_(?:readlane|readfirstlane|writelane|permlane16_swap|permlane32_swap)_b32",
        InstructionClass.VALU,
        "cross_lane",
    ),
    (r"v_cvt_\w+", InstructionClass.VALU, "convert"),
    (rf"v_cmpx?_{_COMPARISON}_[iuf]\d+", InstructionClass.VALU, "compare"),
    (rf"v_pk_(?:{_PACKED}){_TYPES}", InstructionClass.VALU, "packed"),
    (rf"v_dot\d+c?{_TYPES}", InstructionClass.VALU, "dot"),
    (rf"v_(?:{_VALU_OPERATIONS}){_TYPES}|v_clrexcp", InstructionClass.VALU, "plain"),
    (r"s_waitcnt", InstructionClass.WAIT, "wait"),
    (r"s_barrier", InstructionClass.BARRIER, "barrier"),
    (r"s_nop", InstructionClass.NOP, "s_nop"),
    (
        r"s_branch|s_cbranch_\w+|s_setpc_b64|s_swappc_b64|s_call_b64|s_rfe(?:_restore)?_b64",
        InstructionClass.BRANCH,
        "branch",
    ),
    (
        r"s_setprio|s_endpgm(?:_saved|_ordered_ps_done)?|s_sleep|s_sendmsg(?:halt)?|s_sethalt"
        r"|s_setkill|s_trap|s_wakeup|s_icache_inv|s_incperflevel|s_decperflevel|s_ttracedata",
        InstructionClass.OTHER,
        "control",
    ),
    (r"s_(?:buffer_|scratch_)?load_dword(?:x\d+)?", InstructionClass.SMEM, "load"),
    (r"s_(?:buffer_|scratch_)?store_dword(?:x\d+)?", InstructionClass.SMEM, "store"),
    (r"s_(?:buffer_)?atomic_[a-z]+(?:_x2)?", InstructionClass.SMEM, "atomic"),
    (r"s_(?:dcache|atc_probe)_?\w*", InstructionClass.SMEM, "cache"),
    (r"s_mem(?:time|realtime)", InstructionClass.SMEM, "time"),
    (
        r"s_(?:cmp|cmpk)_(?:eq|lg|gt|ge|lt|le)_[iu]\d+|s_(?:getreg|setreg|setreg_imm32)_b32"
        r"|s_set_gpr_idx_(?:on|off|mode|idx)|s_setvskip|s_\w+_(?:saveexec|wrexec)_b64"
        rf"|s_(?:{_SALU_OPERATIONS}){_SCALAR_TYPES}",
        InstructionClass.SALU,
        "scalar",
    ),
    (rf"(?:global|scratch)_load_lds_{_WIDTH}", InstructionClass.VMEM, "load_to_lds"),
    (rf"(?:t?buffer|global|flat|scratch)_load_{_WIDTH}", InstructionClass.VMEM, "load"),
    (rf"(?:t?buffer|global|flat|scratch)_store_{_WIDTH}", InstructionClass.VMEM, "store"),
    (
        r"(?:buffer|global|flat)_atomic_(?:pk_)?[a-z]+(?:_x2|_f32|_f64|_f16|_bf16)?",
        InstructionClass.VMEM,
        "atomic",
    ),
    (r"buffer_(?:wbl2|inv)", InstructionClass.VMEM, "cache"),
    (r"ds_(?:bpermute|permute|swizzle)_b32", InstructionClass.LDS, "cross_lane"),
    (r"ds_read\w*", InstructionClass.LDS, "read"),
    (r"ds_write\w*", InstructionClass.LDS, "write"),
    (
        r"ds_(?:add|sub|rsub|inc|dec|min|max|and|or|xor|mskor|cmpst|wrxchg2?|wrxchg2st64|wrap"
        r"|condxchg32|pk_add)(?:_rtn)?(?:_(?:[iufb]\d+|bf16))?",
        InstructionClass.LDS,
        "atomic",
    ),
    (r"ds_(?:append|consume)", InstructionClass.LDS, "atomic"),
    (r"ds_gws_\w+|ds_ordered_count", InstructionClass.LDS, "gws"),
    (r"ds_nop", InstructionClass.NOP, "ds_nop"),
)
_PATTERN = re.compile("|".join(f"({pattern})" for pattern, _, _ in _RULES), re.ASCII)
_KINDS = tuple(Kind(of, part) for _, of, part in _RULES)
_VMEM_LOAD = Kind(InstructionClass.VMEM, "load")
_LOAD_TO_LDS = Kind(InstructionClass.VMEM, "load_to_lds")
_DPP_MOVE = Kind(InstructionClass.VALU, "cross_lane")


def base_opcode(opcode: str) -> str:
    """The opcode without its encoding suffix: ``v_add_u32`` for ``v_add_u32_e32``."""
    return _ENCODING.sub("", opcode)


@lru_cache(maxsize=4096)
def _kind_of_opcode(opcode: str) -> Kind | None:
    match = _PATTERN.fullmatch(base_opcode(opcode))
    if match is None or match.lastindex is None:
        return None
    if opcode.endswith("_dpp") and _KINDS[match.lastindex - 1].of is InstructionClass.VALU:
        return _DPP_MOVE
    return _KINDS[match.lastindex - 1]


def kind_of(instruction: Instruction) -> Kind:
    """Class and part of an instruction.

    Parts: VALU ``plain``, ``packed``, ``convert``, ``compare``, ``dot``, ``cross_lane`` (lane
    reads and writes, permlane swaps and every DPP form); VMEM ``load``, ``load_to_lds``, ``store``,
    ``atomic``, ``cache``; LDS ``read``, ``write``, ``cross_lane``, ``atomic``, ``gws``; SMEM
    ``load``, ``store``, ``atomic``, ``cache``, ``time``; NOP ``s_nop``, ``v_nop``, ``ds_nop``.

    Raises:
        AssemblyError: no rule knows the opcode; the message names it and its line.
    """
    kind = _kind_of_opcode(instruction.opcode)
    if kind is None:
        raise AssemblyError(
            f"opcode {shortened(instruction.opcode)} has no class; it is not in the gfx90a to "
            "gfx950 families that mxfp4kernels.isa.classes knows",
            instruction.line,
            instruction.text,
        )
    to_lds = kind == _VMEM_LOAD and ("lds", "") in instruction.modifiers
    return _LOAD_TO_LDS if to_lds else kind


def class_of(instruction: Instruction) -> InstructionClass:
    """The class of an instruction.

    Raises:
        AssemblyError: as for ``kind_of``.
    """
    return kind_of(instruction).of


def nop_states(instruction: Instruction) -> int:
    """Wait states that a NOP fills: one more than ``s_nop``'s operand, one for the others.

    Raises:
        AssemblyError: not a NOP, or an operand that is not a number in 0..15.
    """
    if class_of(instruction) is not InstructionClass.NOP:
        raise AssemblyError("not a nop", instruction.line, instruction.text)
    if instruction.opcode != "s_nop":
        return 1
    try:
        (operand,) = instruction.operands
        states = int(operand, 0) + 1
    except ValueError:
        states = 0
    if not 1 <= states <= 16:
        raise AssemblyError("s_nop takes a number in 0..15", instruction.line, instruction.text)
    return states
