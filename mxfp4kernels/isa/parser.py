"""Assembly text to programs.

Reads what LLVM 19 to 24 print for AMDGPU, directly or through HIP, Triton or FlyDSL, and bare
listings written by hand. A line that is not understood is an error that gives its number and text;
no line is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from mxfp4kernels.isa.program import AssemblyError, Instruction, Program

_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_INSTRUCTION = re.compile(r"[ \t]*([a-z]\w*)(?:[ \t]+([^;]*))?(?:;.*)?$", re.ASCII)
_LABEL = re.compile(r"[ \t]*(\"[^\"]+\"|[A-Za-z_.$][\w.$@]*):[ \t]*")
_DIRECTIVE = re.compile(r"[ \t]*\.([A-Za-z_][\w.]*)[ \t]*(.*?)[ \t]*$", re.ASCII)
_ASM_MARK = re.compile(r"[ \t]*[;#]+[ \t]*(?:(ASMSTART|APP)|ASMEND|NO_APP)\b")
_TYPE_FUNCTION = re.compile(r"\"?([^\",]+)\"?\s*,\s*[@%]function")
_KERNEL_NAMES = re.compile(r"^[ \t]*\.amdhsa_kernel[ \t]+\"?([^\s\";]+)", re.MULTILINE)
_PROCESSOR = re.compile(r"gfx\w+")

_DATA_DIRECTIVES_TEXT = """
    text data bss section pushsection popsection previous subsection globl global weak local
    hidden protected internal type size set equ p2align p2alignl p2alignw align balign fill zero
    space skip byte short long quad 2byte 4byte 8byte octa int value ascii asciz string uleb128
    sleb128 comm lcomm file loc ident addrsig addrsig_sym reloc hsa_code_object_version
    end_amdhsa_kernel amdgcn_target amdhsa_kernel amdhsa_code_object_version amdgpu_hsa_kernel
    amdgpu_lds amdgpu_resource_usage amdgpu_info end_amdgpu_info amdgpu_flags amdgpu_num_vgpr
    amdgpu_num_agpr amdgpu_num_sgpr amdgpu_private_segment_size amdgpu_use amdgpu_call
    amdgpu_indirect_call amdgpu_typeid
"""
_DATA_DIRECTIVES = frozenset(_DATA_DIRECTIVES_TEXT.split())

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


@dataclass
class _Function:
    """A symbol's instructions while they are being read."""

    name: str
    line: int
    instructions: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


@dataclass
class _Reader:
    """What has been read so far."""

    kernel_names: frozenset[str]
    functions: list[_Function] = field(default_factory=list)
    function_names: set[str] = field(default_factory=set)
    descriptors: dict[str, dict[str, str | int]] = field(default_factory=dict)
    descriptor: dict[str, str | int] | None = None
    symbols: dict[str, int] = field(default_factory=dict)
    metadata: list[str] | None = None
    metadata_line: int = 0
    documents: list[Mapping[str, Any]] = field(default_factory=list)
    target: str = ""
    inline_asm: bool = False
    line: int = 0

    @property
    def bare(self) -> bool:
        """Whether the text is a listing without any kernel descriptor."""
        return not self.kernel_names

    def read(self, text: str) -> None:
        for self.line, line in enumerate(text.split("\n"), 1):
            if self.metadata is None:
                self._line(line)
            elif line.strip() == ".end_amdgpu_metadata":
                self._end_metadata()
            else:
                self.metadata.append(line)
        if self.metadata is not None:
            raise AssemblyError(".amdgpu_metadata has no .end_amdgpu_metadata", self.metadata_line)

    def _line(self, line: str) -> None:
        match = _INSTRUCTION.match(line)
        if match is not None and "//" not in line:
            self._instruction(match[1], (match[2] or "").rstrip(), line)
            return
        start = line.lstrip()
        if not start or start[0] in ";#" or start.startswith("//"):
            mark = _ASM_MARK.match(line)
            if mark is not None:
                self.inline_asm = mark[1] is not None
            return
        label = _LABEL.match(line)
        if label is not None:
            self._label(label[1].strip('"'))
            self._line(line[label.end() :])
            return
        directive = _DIRECTIVE.match(line)
        if directive is not None:
            self._directive(directive[1], directive[2], line)
            return
        if "//" in line:
            self._line(line[: line.index("//")])
            return
        raise AssemblyError("not understood", self.line, line)

    def _instruction(self, opcode: str, tail: str, line: str) -> None:
        try:
            operands, modifiers = _split_tail(opcode, tail)
        except ValueError as error:
            raise AssemblyError(str(error), self.line, line) from None
        instructions = self._function(line).instructions
        instructions.append(
            Instruction(
                len(instructions),
                self.line,
                opcode,
                operands,
                modifiers,
                self.inline_asm,
                f"{opcode} {tail}" if tail else opcode,
            )
        )

    def _function(self, line: str) -> _Function:
        if not self.functions:
            if not self.bare:
                raise AssemblyError("an instruction before any function", self.line, line)
            self.functions.append(_Function("", self.line))
        return self.functions[-1]

    def _label(self, name: str) -> None:
        first = self.bare and not self.functions and not name.startswith(".L")
        if name in self.kernel_names or name in self.function_names or first:
            self.functions.append(_Function(name, self.line))
        if not self.functions:
            if not self.bare:
                return  # a label of a data section ahead of the code
            self.functions.append(_Function("", self.line))
        labels = self.functions[-1].labels
        if name in labels:
            raise AssemblyError(f"label {name} is defined twice", self.line)
        labels[name] = len(self.functions[-1].instructions)

    def _directive(self, name: str, value: str, line: str) -> None:
        value = _without_comment(value)
        if name == "amdgpu_metadata":
            self.metadata, self.metadata_line = [], self.line
        elif name == "amdhsa_kernel":
            self.descriptor = self.descriptors.setdefault(value.strip('"'), {})
        elif name == "end_amdhsa_kernel":
            self.descriptor = None
        elif name.startswith("amdhsa_") and self.descriptor is not None:
            self.descriptor[name] = self._value(value)
        elif name == "amdgcn_target":
            self.target = _processor(value)
        elif name in ("set", "equ"):
            self._set(value)
        elif name == "type":
            match = _TYPE_FUNCTION.match(value)
            if match is not None:
                self.function_names.add(match[1])
        elif name not in _DATA_DIRECTIVES and not name.startswith("cfi_"):
            raise AssemblyError(f"unknown directive .{name}", self.line, line)

    def _set(self, value: str) -> None:
        name, _, text = value.partition(",")
        number = self._value(text.strip())
        if isinstance(number, int):
            self.symbols[name.strip()] = number

    def _value(self, text: str) -> str | int:
        try:
            return int(text, 0)
        except ValueError:
            return self.symbols.get(text, text)

    def _end_metadata(self) -> None:
        try:
            document = yaml.load("\n".join(self.metadata or ()), Loader=_YAML_LOADER)
        except yaml.YAMLError as error:
            raise AssemblyError(
                f".amdgpu_metadata is not valid YAML: {error}", self.metadata_line
            ) from None
        if not isinstance(document, dict):
            raise AssemblyError(".amdgpu_metadata is not a mapping", self.metadata_line)
        self.documents.append(document)
        self.metadata = None

    def programs(self) -> tuple[Program, ...]:
        entries = {
            entry.get(".name"): entry
            for document in self.documents
            for entry in document.get("amdhsa.kernels", ())
        }
        found = {function.name: function for function in self.functions}
        missing = [name for name in self.descriptors if name not in found]
        if missing:
            raise AssemblyError(f"kernel {missing[0]} has a descriptor but no code")
        return tuple(
            Program(
                function.name,
                self.target,
                tuple(function.instructions),
                dict(function.labels),
                dict(self.descriptors.get(function.name, {})),
                entries.get(function.name, {}),
            )
            for function in self.functions
            if self.bare or function.name in self.kernel_names
        )


def _without_comment(text: str) -> str:
    return text.partition(";")[0].partition("//")[0].rstrip()


def _processor(value: str) -> str:
    match = _PROCESSOR.search(value)
    return match[0] if match is not None else value.strip('"')


@lru_cache(maxsize=1 << 16)
def _is_operand(text: str) -> bool:
    return _OPERAND.fullmatch(text) is not None


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
        raise ValueError(f"unknown modifier {text!r}")
    return name, value


@lru_cache(maxsize=1 << 14)
def _modifiers(text: str) -> Modifiers:
    return tuple(map(_modifier, _split_outside_brackets(text, " \t")))


def _split_tail(opcode: str, tail: str) -> tuple[tuple[str, ...], Modifiers]:
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
        raise ValueError(f"operand {operand!r} is not understood")


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


def parse_all(text: str) -> tuple[Program, ...]:
    """Every kernel of an assembly text, in the order of the text.

    Functions that are not kernels are read and checked but make no program. A text without any
    ``.amdhsa_kernel`` is taken as one bare listing, named by its first global label.

    Raises:
        AssemblyError: a line that is not understood, with its number and text; a descriptor
            without code; a label defined twice; metadata that is not valid YAML.
    """
    if "/*" in text:
        text = _blank_block_comments(text)
    reader = _Reader(frozenset(_KERNEL_NAMES.findall(text)))
    reader.read(text)
    return reader.programs()


def parse(text: str) -> Program:
    """The one kernel of an assembly text.

    Raises:
        AssemblyError: as for ``parse_all``, and when the text has no kernel or more than one.
    """
    programs = parse_all(text)
    if len(programs) != 1:
        raise AssemblyError(
            f"the text has {len(programs)} kernels{_names(programs)}, expected one; "
            "use parse_all for several"
        )
    return programs[0]


def _names(programs: Iterable[Program]) -> str:
    names = ", ".join(program.name for program in programs)
    return f" ({names})" if names else ""


def _blank_block_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.S)
