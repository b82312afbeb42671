"""What can go wrong with the emulated device itself; the kernel's own errors pass through as they
are."""

from __future__ import annotations


class HipError(RuntimeError):
    """The emulated HIP library cannot be built or loaded, or a launch asks what it lacks."""


class CodeObjectError(HipError):
    """A code object that cannot be read, or that does not belong to the assembly to be run."""
