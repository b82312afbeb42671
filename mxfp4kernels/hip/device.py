"""Emulated devices: what :func:`~mxfp4kernels.kernels.device_kernel` launches while one is open.

:class:`HipDevice` sits below FlyDSL, behind the HIP library that it launches with;
:class:`MetadataDevice` takes FlyDSL's place where that library cannot be built.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from ..compiler import Job
from ..emulator import Memory, explicit_arguments, pack_kernarg
from ..isa import Program
from ..kernarg import Parameter, Pointer, Scalar, explicit_values
from ..kernels.device import WRITTEN, Call, DeviceError, null_tensor
from ..shapes import BLOCK_THREADS
from .code_object import kernel_metadata
from .errors import HipError
from .library import INVALID_VALUE, LAUNCH_FAILURE, Library, RawLaunch
from .programs import Programs, sha256

Size3 = tuple[int, int, int]

BEYOND_HOST = 1 << 48
"""Kernarg segments lie here, where no process has memory: tensors keep their own addresses."""


class Execute(Protocol):
    """Runs a kernel: :func:`mxfp4kernels.emulator.launch`, ``sanitize``, or alike."""

    def __call__(
        self,
        program: Program,
        kernarg: bytes,
        grid: Size3,
        block: Size3,
        memory: Memory,
        *,
        workgroups: Sequence[int] | None,
        dynamic_lds: int,
    ) -> Any: ...


@dataclass(frozen=True)
class Launch:
    """A kernel launch that the emulator has run.

    Args:
        program: the kernel.
        grid: workgroups along x, y, z.
        block: work-items of a workgroup along x, y, z.
        dynamic_lds: bytes of LDS beyond the static size.
        kernarg: the kernarg segment, hidden arguments included.
        code_object_sha256: of the ELF file that FlyDSL loaded; ``None`` from a metadata device.
        result: what the executing function returned.
    """

    program: Program
    grid: Size3
    block: Size3
    dynamic_lds: int
    kernarg: bytes
    code_object_sha256: str | None
    result: Any


class EmulatedDevice(ABC):
    """Runs launches in the emulator.

    Attributes:
        launches: those that ended without an error, oldest first.
        memory: what kernels can reach; a launch's tensors are added for its duration.
    """

    path: str
    """How launches get here: ``hip`` or ``metadata``."""

    def __init__(
        self, programs: Programs, execute: Execute, workgroups: Sequence[int] | None
    ) -> None:
        self.launches: list[Launch] = []
        self.memory = Memory(BEYOND_HOST)
        self._programs = programs
        self._execute = execute
        self._workgroups = workgroups

    @abstractmethod
    def run(self, call: Call, launch: Callable[[], None]) -> None:
        """Carry out a launch of a package kernel.

        Raises:
            EmulatorError: the kernel cannot be run, or accesses what it must not.
            HipError: the launch does not fit the code object, or asks what the library lacks.
        """

    def _emulate(
        self,
        program: Program,
        values: Sequence[int | bytes],
        grid: Size3,
        block: Size3,
        dynamic_lds: int = 0,
        code_object_sha256: str | None = None,
    ) -> None:
        kernarg = pack_kernarg(program, values, grid, block, dynamic_lds)
        result = self._execute(
            program,
            kernarg,
            grid,
            block,
            self.memory,
            workgroups=self._workgroups,
            dynamic_lds=dynamic_lds,
        )
        self.launches.append(
            Launch(program, grid, block, dynamic_lds, kernarg, code_object_sha256, result)
        )

    @contextmanager
    def _reachable(self, call: Call) -> Iterator[None]:
        """The launch's tensors as buffers of exact size at their own addresses.

        A tensor that the variant has no use for is not among them, so its use faults.
        """
        added: list[int] = []
        try:
            for name in call.kernel.buffer_bytes(call.n_tokens, call.m_blocks):
                tensor = call.buffers[name]
                assert tensor is not None, "the launch has been checked"
                content = tensor.detach().view(torch.uint8).reshape(-1).numpy()
                address, writable = tensor.data_ptr(), name in WRITTEN
                added.append(
                    self.memory.allocate(name, content, address=address, writable=writable)
                )
            yield
        finally:
            for address in added:
                self.memory.free(address)


def job_of(call: Call) -> Job:
    """What compiles to the kernel of a launch."""
    return Job(call.kernel.variant, call.kernel.shape, call.kernel.flags)


# --- below FlyDSL --------------------------------------------------------------------------------


class HipDevice(EmulatedDevice):
    """The device behind the emulated HIP library.

    Args:
        programs: of the kernels.
        execute: runs a kernel.
        workgroups: flat ids of those to run, all when ``None``.
        library: the loaded library, whose handler this is.
        linker: links code objects, FlyDSL's and those of ``programs``.
    """

    path = "hip"

    def __init__(
        self,
        programs: Programs,
        execute: Execute,
        workgroups: Sequence[int] | None,
        library: Library,
        linker: Path,
    ) -> None:
        super().__init__(programs, execute, workgroups)
        self._library = library
        self._linker = linker
        self._job: Job | None = None
        self._failure: BaseException | None = None

    def run(self, call: Call, launch: Callable[[], None]) -> None:
        """Let FlyDSL's host code launch; the callback's errors are raised here, after it.

        Raises:
            EmulatorError, HipError: see :meth:`EmulatedDevice.run`.
            DeviceError: the library reported an error of its own.
        """
        before = len(self.launches)
        self._job = job_of(call)
        self._programs.code_object_sha256(self._job, self._linker)
        try:
            with self._reachable(call):
                launch()
        except DeviceError as error:
            self.raise_failure(error)
            raise
        finally:
            self._job = None
        self.raise_failure()
        if len(self.launches) != before + 1:
            raise HipError(f"{call.kernel.variant}: FlyDSL returned without one launch")

    def raise_failure(self, cause: BaseException | None = None) -> None:
        """Raise what a callback could not: C has only seen a status."""
        failure, self._failure = self._failure, None
        if failure is not None:
            self._library.take_error()
            raise failure from cause

    def on_launch(self, launch: RawLaunch) -> int:
        return self._guarded(LAUNCH_FAILURE, self._launch, launch)

    def on_map(self, address: int, size: int) -> int:
        return self._guarded(INVALID_VALUE, self._map, address, size)

    def on_unmap(self, address: int) -> int:
        return self._guarded(INVALID_VALUE, self.memory.free, address)

    def _guarded(self, status: int, function: Callable[..., None], *arguments: Any) -> int:
        try:
            function(*arguments)
        except BaseException as error:  # noqa: BLE001  it would end at C; raise_failure goes on
            self._failure = self._failure or error
            return status
        return 0

    def _launch(self, launch: RawLaunch) -> None:
        if self._job is None:
            raise HipError(
                f"{launch.kernel} was not launched by device_kernel, so its assembly and its "
                "buffers are unknown"
            )
        self._programs.check(self._job, launch.code_object, self._linker)
        metadata = kernel_metadata(launch.code_object, launch.kernel)
        sizes = [
            int(argument[".size"])
            for argument in metadata[".args"]
            if not argument[".value_kind"].startswith("hidden_")
        ]
        self._emulate(
            self._programs.program(self._job),
            launch.values(sizes),
            launch.grid,
            launch.block,
            launch.dynamic_lds,
            sha256(launch.code_object),
        )

    def _map(self, address: int, size: int) -> None:
        content = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
        self.memory.allocate(f"HIP memory at {address:#x}", content, address=address)


# --- in FlyDSL's place ---------------------------------------------------------------------------


class MetadataDevice(EmulatedDevice):
    """Packs the arguments itself, by the metadata in the assembly; needs no linker, no C compiler.

    Args:
        programs: of the kernels.
        execute: runs a kernel.
        workgroups: flat ids of those to run, all when ``None``.
        reason: why it is used; empty if it was asked for.
    """

    path = "metadata"

    def __init__(
        self,
        programs: Programs,
        execute: Execute,
        workgroups: Sequence[int] | None,
        reason: str = "",
    ) -> None:
        super().__init__(programs, execute, workgroups)
        self.reason = reason

    def run(self, call: Call, launch: Callable[[], None]) -> None:
        """Run a launch without FlyDSL: ``launch`` is not called.

        Raises:
            EmulatorError: see :meth:`EmulatedDevice.run`.
            KernargError: the arguments do not fit the kernel's metadata.
        """
        program = self._programs.program(job_of(call))
        values = explicit_values(explicit_arguments(program), parameters_of_call(call))
        with self._reachable(call):
            self._emulate(program, values, (call.workgroups, 1, 1), (BLOCK_THREADS, 1, 1))


def parameters_of_call(call: Call) -> list[Parameter]:
    """The kernel's parameters with the addresses and shapes of a launch's tensors."""
    found: list[Parameter] = []
    for parameter in call.kernel.parameters:
        if parameter.dtype is None:
            found.append(Scalar(parameter.name, call.n_tokens))
            continue
        given = call.buffers.get(parameter.name)
        tensor = null_tensor(parameter) if given is None else given
        found.append(Pointer(parameter.name, tensor.data_ptr(), tuple(tensor.shape)))
    return found
