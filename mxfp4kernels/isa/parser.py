"""Assembly text to programs.

Reads what LLVM 19 to 24 print for AMDGPU, directly or through HIP, Triton or FlyDSL, and bare
listings written by hand. A line that is not understood is an error that gives its number and text;
no line is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mxfp4kernels.isa.metadata import Metadata, MetadataError, read_metadata
from mxfp4kernels.isa.operands import split_tail
from mxfp4kernels.isa.program import AssemblyError, Instruction, Program, shortened

_INSTRUCTION = re.compile(r"[ \t]*([a-z]\w*)(?:[ \t]+([^;]*))?(?:;.*)?$", re.ASCII)
_LABEL = re.compile(r"[ \t]*(\"[^\"]+\"|[A-Za-z_.$][\w.$@]*):[ \t]*")
_DIRECTIVE = re.compile(r"[ \t]*\.([A-Za-z_][\w.]*)[ \t]*(.*?)[ \t]*$", re.ASCII)
_ASM_MARK = re.compile(r"[ \t]*[;#]+[ \t]*(?:(ASMSTART|APP)|ASMEND|NO_APP)\b")
_TYPE_FUNCTION = re.compile(r"\"?([^\",]+)\"?\s*,\s*[@%]function")
_KERNEL_NAMES = re.compile(r"^[ \t]*\.amdhsa_kernel[ \t]+\"?([^\s\";]+)", re.MULTILINE)
_PROCESSOR = re.compile(r"gfx\w+")

NO_KERNEL = "the text has no kernel: not a single instruction and no .amdhsa_kernel"
_SECTIONS = frozenset(("text", "data", "bss", "section"))
_DATA_DIRECTIVES_TEXT = """
    globl global weak local
    hidden protected internal type size set equ p2align p2alignl p2alignw align balign fill zero
    space skip byte short long quad 2byte 4byte 8byte octa int value ascii asciz string uleb128
    sleb128 comm lcomm file loc ident addrsig addrsig_sym reloc hsa_code_object_version
    end_amdhsa_kernel amdgcn_target amdhsa_kernel amdhsa_code_object_version amdgpu_hsa_kernel
    amdgpu_lds amdgpu_resource_usage amdgpu_info end_amdgpu_info amdgpu_flags amdgpu_num_vgpr
    amdgpu_num_agpr amdgpu_num_sgpr amdgpu_private_segment_size amdgpu_use amdgpu_call
    amdgpu_indirect_call amdgpu_typeid
"""
_DATA_DIRECTIVES = frozenset(_DATA_DIRECTIVES_TEXT.split())
_VALUES_TEXT = """
    byte short long quad 2byte 4byte 8byte octa int value ascii asciz string uleb128 sleb128
    fill zero space skip reloc
"""
_VALUES = frozenset(_VALUES_TEXT.split())
"""Directives that put bytes where they stand."""
_ENDS = ("s_endpgm", "s_branch", "s_setpc_b64", "s_code_end", "s_trap")
"""What no wave goes past; padding may follow."""


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
    documents: list[Metadata] = field(default_factory=list)
    target: str = ""
    inline_asm: bool = False
    in_code: bool = True
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
            end = 0
            while label is not None:
                self._label(label[1].strip('"'))
                end = label.end()
                label = _LABEL.match(line, end)
            self._line(line[end:])
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
            operands, modifiers = split_tail(opcode, tail)
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
        if not self.in_code:
            return
        first = self.bare and not self.functions and not name.startswith(".L")
        if name in self.kernel_names or name in self.function_names or first:
            self.functions.append(_Function(name, self.line))
        if not self.functions:
            if not self.bare:
                return  # a debug label ahead of the code
            self.functions.append(_Function("", self.line))
        labels = self.functions[-1].labels
        if name in labels:
            raise AssemblyError(f"label {shortened(name)} is defined twice", self.line)
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
            self.target = value
        elif name in _SECTIONS:
            self.in_code = name == "text" or value.strip('"').startswith(".text")
        elif name in ("set", "equ"):
            self._set(value)
        elif name == "type":
            match = _TYPE_FUNCTION.match(value)
            if match is not None:
                self.function_names.add(match[1])
        elif name in _VALUES:
            self._refuse_data_in_code(name, line)
        elif name not in _DATA_DIRECTIVES and not name.startswith("cfi_"):
            raise AssemblyError(f"unknown directive .{shortened(name)}", self.line, line)

    def _refuse_data_in_code(self, name: str, line: str) -> None:
        """Bytes that a wave would execute; behind the end of a function they are padding."""
        if not self.in_code or not self.functions:
            return
        instructions = self.functions[-1].instructions
        if not instructions or instructions[-1].opcode not in _ENDS:
            raise AssemblyError(
                f".{name} among the instructions puts bytes that are not read as instructions; "
                "write the instruction itself",
                self.line,
                line,
            )

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
            document = read_metadata("\n".join(self.metadata or ()))
        except MetadataError as error:
            raise AssemblyError(f".amdgpu_metadata {error}", self.metadata_line) from None
        self.documents.append(document)
        self.metadata = None

    def programs(self) -> tuple[Program, ...]:
        entries = {
            entry[".name"]: entry for document in self.documents for entry in document.kernels
        }
        target = self.target or next((document.target for document in self.documents), "")
        found = {function.name: function for function in self.functions}
        missing = [name for name in self.descriptors if name not in found]
        if missing:
            raise AssemblyError(f"kernel {missing[0]} has a descriptor but no code")
        return tuple(
            Program(
                function.name,
                _processor(target),
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


def parse_all(text: str) -> tuple[Program, ...]:
    """Every kernel of an assembly text, in the order of the text.

    Functions that are not kernels are read and checked but make no program. A text without any
    ``.amdhsa_kernel`` is taken as one bare listing, named by its first global label.

    Raises:
        AssemblyError: a line that is not understood, with its number and text; a descriptor
            without code; a label defined twice; metadata that is not valid YAML.
    """
    text = text.removeprefix("\ufeff")  # the byte order mark that some editors put there
    if "/*" in text:
        text = _blank_block_comments(text)
    reader = _Reader(frozenset(_KERNEL_NAMES.findall(text)))
    reader.read(text)
    return reader.programs()


def parse(text: str, kernel: str | None = None) -> Program:
    """One kernel of an assembly text: the only one, or the one of that name.

    Raises:
        AssemblyError: as for ``parse_all``; the text has no kernel, not the one that is named, or
            several of which none is named.
    """
    programs = parse_all(text)
    if kernel is None and len(programs) == 1:
        return programs[0]
    for program in programs:
        if program.name == kernel:
            return program
    if not programs:
        raise AssemblyError(NO_KERNEL)
    if kernel is None:
        raise AssemblyError(
            f"the text has {len(programs)} kernels{_names(programs)}, expected one; name it "
            "(on the command line with --kernel NAME)"
        )
    raise AssemblyError(f"no kernel {shortened(kernel)!r} in the text; it has{_names(programs)}")


def _names(programs: Iterable[Program]) -> str:
    names = ", ".join(program.name for program in programs)
    return f" ({names})"


def _blank_block_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.S)
