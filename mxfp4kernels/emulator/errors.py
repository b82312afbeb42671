"""What can go wrong while a program runs, each with the place in the assembly where it happened."""

from __future__ import annotations

from mxfp4kernels.isa.program import Instruction


class EmulatorError(RuntimeError):
    """A program, a launch or an access that the emulator refuses."""


class LaunchError(EmulatorError, ValueError):
    """Launch arguments that do not fit the program."""


class UnsupportedInstruction(EmulatorError):
    """An opcode, operand or modifier that the emulator does not implement.

    Attributes:
        instruction: the instruction as parsed.
    """

    def __init__(self, instruction: Instruction, reason: str) -> None:
        super().__init__(f"line {instruction.line}: {instruction.text}: {reason}")
        self.instruction = instruction


class IllegalInstruction(UnsupportedInstruction):
    """An instruction that no assembler accepts, or that names what its kernel does not have."""


class MemoryFault(EmulatorError):
    """An access outside every buffer, outside LDS, or a store to a read-only buffer."""


class AccessError(Exception):
    """A bad access before its place is known; the scheduler turns it into a :class:`MemoryFault`.

    Attributes:
        position: flat index of the lane in ``[waves, 64]`` (or of the wave, for scalar loads).
        message: what was accessed and why it is refused.
    """

    def __init__(self, position: int, message: str) -> None:
        super().__init__(message)
        self.position = position
        self.message = message
