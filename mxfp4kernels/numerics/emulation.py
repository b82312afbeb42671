"""A problem's launch in the emulator: buffers of exact size, arguments packed, run or sanitized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .. import emulator
from ..isa.parser import parse
from ..isa.program import Program
from ..kernarg import Parameter, Pointer, Scalar, explicit_values
from .problem import WORKGROUP, Argument, Problem


@dataclass(frozen=True)
class EmulatedLaunch:
    """A kernel with its arguments in the emulator's memory, which is the arguments' own.

    Inputs are read-only, and a buffer that the variant has no use for is a null address, so that a
    wrong access faults.
    """

    program: Program
    kernarg: bytes
    grid: tuple[int, int, int]
    memory: emulator.Memory

    @classmethod
    def of(
        cls,
        assembly: str,
        problem: Problem,
        arguments: Sequence[Argument],
        workgroups: int | None = None,
    ) -> EmulatedLaunch:
        """Make a kernel's launch ready.

        Args:
            assembly: text with exactly one kernel, compiled for the problem's variant and shape.
            problem: decides the grid.
            arguments: the problem's.
            workgroups: another grid; a persistent kernel makes all tiles with any.

        Raises:
            AssemblyError: the text is no kernel.
            KernargError: the kernel takes other parameters.
        """
        program = parse(assembly)
        memory = emulator.Memory()
        addresses = {
            argument.name: memory.allocate(argument.name, argument.data, writable=argument.output)
            for argument in arguments
            if argument.data is not None
        }
        grid = (problem.workgroups if workgroups is None else workgroups, 1, 1)
        entries = emulator.explicit_arguments(program)
        values = explicit_values(entries, parameters(arguments, addresses))
        return cls(program, emulator.pack_kernarg(program, values, grid, WORKGROUP), grid, memory)

    def run(self, workgroups: Sequence[int]) -> emulator.RunResult:
        """Run some workgroups.

        Raises:
            EmulatorError: the kernel cannot be run, or accesses what it must not.
        """
        return emulator.launch(
            self.program, self.kernarg, self.grid, WORKGROUP, self.memory, workgroups=workgroups
        )

    def sanitize(self, workgroups: Sequence[int]) -> emulator.Report:
        """Run some workgroups with effects delayed and waves reordered, and report hazards.

        Raises:
            EmulatorError: as :meth:`run`.
        """
        return emulator.sanitize(
            self.program, self.kernarg, self.grid, WORKGROUP, self.memory, workgroups=workgroups
        )


def parameters(arguments: Sequence[Argument], addresses: Mapping[str, int]) -> list[Parameter]:
    """The arguments as kernel parameters; an argument without an address is null."""
    return [
        Scalar(argument.name, argument.value)
        if argument.value is not None
        else Pointer(argument.name, addresses.get(argument.name, 0), argument.shape)
        for argument in arguments
    ]
