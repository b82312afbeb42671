"""The grammar of what follows an opcode: operands, then modifiers.

Operands are registers, numbers and special names, with ``-``, ``|...|``, ``neg()``, ``abs()`` and
``sext()`` around them; scalar opcodes also take symbols and ``hwreg(...)``. Modifiers are the names
that gfx9 knows, bare or with a value behind a colon.
"""

from __future__ import annotations

import re
from functools import lru_cache

from mxfp4kernels.isa.program import shortened

_REGISTER = (
    r"(?:[vas](?:\d+|\[\d+(?::\d+)?\])|ttmp(?:\d+|\[\d+:\d+\])"
    r"|(?:vcc|exec|flat_scratch|xnack_mask|tba|tma)(?:_lo|_hi)?"
    r"|m0|off|null|scc|vccz|execz|lds_direct|src_\w+)"
)
_NUMBER = r"-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:e[+-]?\d+)?)"
_VALUE = rf"(?:{_REGISTER}|{_NUMBER}|lit(?:64)?\({_NUMBER}\))"
_OPERAND = re.compile(
    rf"{_VALUE}|-?\|{_VALUE}\||-{_REGISTER}|-?(?:neg|abs|sext)\((?:{_VALUE}|\|{_VALUE}\|)\)"
    rf"|-?abs\(sext\({_REGISTER}\)\)|-?\|sext\({_REGISTER}\)\|",
    re.ASCII,
)
_SYMBOL = re.compile(r"\(?[A-Za-z_.$][\w.$@]*\)?(?:[+-]\(?[\w.$@]+\)?)*", re.ASCII)
_FUNCTION_OPERAND = re.compile(r"(?:hwreg|sendmsg|gpr_idx|max|lo|hi)\(.*\)", re.ASCII)
_REGISTER_LIKE = re.compile(r"[vas]\d|[vas]\[")
_WHOLE_TAIL = frozenset(("s_waitcnt", "s_sendmsg", "s_sendmsghalt"))
_NUMBERED = re.compile(r"(?<![\w.])(v|a|s|ttmp)(?:(\d+)|\[(\d+)(?::(\d+))?\])", re.ASCII)

REGISTER_FILES = {"v": 256, "a": 256, "s": 102, "ttmp": 16}
"""Registers of each file on gfx90a to gfx950. Source: AMD CDNA3 and CDNA4 ISA manuals."""

_NEEDS_SCAN = re.compile(r"\(|\[[^\]]*[ \t]")

_BARE_MODIFIERS_TEXT = """
    offen idxen addr64 glc slc dlc nt sc0 sc1 scc lds tfe lwe gds clamp high done vm r128 a16
    d16 unorm da row_mirror row_half_mirror wave_shl wave_shr wave_rol wave_ror
"""
_BARE_MODIFIERS = frozenset(_BARE_MODIFIERS_TEXT.split())
_VALUE_MODIFIERS_TEXT = """
    offset offset0 offset1 format dfmt nfmt op_sel op_sel_hi neg_lo neg_hi bitop3 cbsz abid blgp
    neg quad_perm row_shl row_shr row_ror wave_shl wave_shr wave_rol wave_ror row_bcast
    row_newbcast row_share row_xmask row_mask bank_mask bound_ctrl fi dpp8 dst_sel dst_unused
    src0_sel src1_sel mul div omod scale_sel byte_sel matrix_a_fmt matrix_b_fmt
"""
_VALUE_MODIFIERS = frozenset(_VALUE_MODIFIERS_TEXT.split())


Modifiers = tuple[tuple[str, str], ...]


@lru_cache(maxsize=1 << 16)
def _is_operand(text: str) -> bool:
    if _OPERAND.fullmatch(text) is None:
        return False
    for match in _NUMBERED.finditer(text):
        _check_registers(*match.groups())
    return True


def _check_registers(file: str, single: str | None, first: str | None, last: str | None) -> None:
    """Refuse registers that the file does not have."""
    limit = REGISTER_FILES[file]
    numbers = [number for number in (single, first, last) if number is not None]
    for number in numbers:
        # By length first: Python refuses to convert thousands of digits.
        if len(number.lstrip("0")) > 3 or int(number) >= limit:
            raise ValueError(
                f"{file}{shortened(number)} lies beyond the last register {file}{limit - 1}"
            )
    if len(numbers) == 2 and int(numbers[0]) > int(numbers[1]):
        raise ValueError(f"register range {file}[{first}:{last}] runs backwards")


@lru_cache(maxsize=1 << 14)
def _is_scalar_only_operand(text: str) -> bool:
    """Symbols and ``hwreg(...)``-like operands, which only some opcodes take."""
    if _FUNCTION_OPERAND.fullmatch(text):
        return True
    return _SYMBOL.fullmatch(text) is not None and _REGISTER_LIKE.match(text) is None


def _modifier(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    known = _VALUE_MODIFIERS if colon else _BARE_MODIFIERS
    if name not in known or (colon and not value):
        raise ValueError(f"unknown modifier {shortened(text)!r}")
    return name, value


@lru_cache(maxsize=1 << 14)
def _modifiers(text: str) -> Modifiers:
    return tuple(map(_modifier, _split_outside_brackets(text, " \t")))


def split_tail(opcode: str, tail: str) -> tuple[tuple[str, ...], Modifiers]:
    """Operands and modifiers of what follows the opcode.

    Raises:
        ValueError: an operand or a modifier that is not understood.
    """
    if not tail:
        return (), ()
    if opcode in _WHOLE_TAIL:
        return (tail,), ()
    if _NEEDS_SCAN.search(tail) is None:
        # What compilers print: ", " between operands, blanks before modifiers, nowhere else.
        operands = tail.split(", ")
        operands[-1], _, rest = operands[-1].partition(" ")
        if all(map(_is_operand, operands)):
            return tuple(operands), _modifiers(rest)
    return _split_tail_slowly(opcode, tail)


def _split_tail_slowly(opcode: str, tail: str) -> tuple[tuple[str, ...], Modifiers]:
    *operands, last = _split_outside_brackets(tail, ",")
    first, *rest = _split_outside_brackets(last, " \t") or [""]
    if not operands and _is_modifier(first):
        return (), _modifiers(tail)
    operands.append(first)
    for operand in operands:
        if not _is_operand(operand):
            _check_symbol(opcode, operand)
    return tuple(operands), tuple(map(_modifier, rest))


def _check_symbol(opcode: str, operand: str) -> None:
    takes_symbols = opcode.startswith(("s_", "v_mov_b32"))
    if not (takes_symbols and _is_scalar_only_operand(operand)):
        raise ValueError(f"operand {shortened(operand)!r} is not understood")


def _is_modifier(text: str) -> bool:
    try:
        _modifier(text)
    except ValueError:
        return False
    return True


def _split_outside_brackets(text: str, separators: str) -> list[str]:
    """Split where no bracket or quote is open; blanks inside square brackets are dropped."""
    parts, part, depth, square, quoted = [], "", 0, 0, False
    for character in text:
        if character == '"':
            quoted = not quoted
        elif character in "([":
            depth += 1
            square += character == "["
        elif character in ")]":
            depth -= 1
            square -= character == "]"
        if character in separators and not depth and not quoted:
            parts.append(part.strip())
            part = ""
        elif not (square and character in " \t"):
            part += character
    parts.append(part.strip())
    if separators != ",":
        parts = [part for part in parts if part]
    return parts
