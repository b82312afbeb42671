"""Opening an emulated device: library loaded, FlyDSL's surroundings set up, launches directed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ..compiler import ARCHITECTURES, Compiler, MissingComponent, find_linker
from ..emulator import launch as emulate
from ..kernels.device import TARGET
from ..offline import toolkit
from . import library
from .device import EmulatedDevice, Execute, HipDevice, MetadataDevice
from .errors import HipError
from .programs import Programs

LaunchPath = Literal["auto", "hip", "metadata"]


@contextmanager
def emulated_device(
    path: LaunchPath = "auto",
    *,
    workgroups: Sequence[int] | None = None,
    execute: Execute = emulate,
    compiler: Compiler | None = None,
) -> Iterator[EmulatedDevice]:
    """While open, kernels of :func:`~mxfp4kernels.kernels.device_kernel` run in the emulator.

    They take CPU tensors, whose memory they read and write in place.

    Args:
        path: ``hip`` has FlyDSL's own host code pack the arguments and launch, through an emulated
            HIP library; ``metadata`` packs them by the kernel's metadata; ``auto`` is ``hip`` where
            a C compiler and ``ld.lld`` are found, else ``metadata``.
        workgroups: flat ids of the workgroups to run in each launch, all when ``None``.
        execute: runs a kernel; ``emulator.sanitize`` is another choice.
        compiler: makes the assembly; one with the user's cache when left out.

    Raises:
        MissingComponent: ``hip`` was asked for and a C compiler or ``ld.lld`` is missing.
        HipError: the library cannot be built, the process has loaded a real one, or a device is
            open already.
    """
    if TARGET.get() is not None:
        raise HipError("an emulated device is open already; close it first")
    programs = Programs(Compiler() if compiler is None else compiler)
    reason = ""
    if path != "metadata":
        try:
            linker, loaded = find_linker(), library.load()
        except MissingComponent as error:
            if path == "hip":
                raise
            reason = str(error)
        else:
            with _hip_device(programs, execute, workgroups, loaded, linker) as device:
                yield device
            return
    with _target(MetadataDevice(programs, execute, workgroups, reason)) as fallback:
        yield fallback


@contextmanager
def _hip_device(
    programs: Programs,
    execute: Execute,
    workgroups: Sequence[int] | None,
    loaded: library.Library,
    linker: Path,
) -> Iterator[EmulatedDevice]:
    if loaded.handler is not None:
        raise HipError("an emulated device is open in another thread; close it first")
    device = HipDevice(programs, execute, workgroups, loaded, linker)
    with toolkit(str(linker)) as root, _environment(root), _target(device):
        loaded.handler = device
        try:
            yield device
        finally:
            loaded.handler = None
    device.raise_failure()


@contextmanager
def _target(device: EmulatedDevice) -> Iterator[EmulatedDevice]:
    token = TARGET.set(device)
    try:
        yield device
    finally:
        TARGET.reset(token)


@contextmanager
def _environment(root: Path) -> Iterator[None]:
    """FlyDSL's surroundings: the target, the linker below ``root``, and no switch of the user's.

    FlyDSL reads all of them when it compiles. Its own disk cache is off because its key does not
    cover the linker.
    """
    before = dict(os.environ)
    for name in before:
        if name.startswith("FLYDSL_") or name in ("ARCH", "COMPILE_ONLY"):
            del os.environ[name]
    os.environ |= {
        "FLYDSL_GPU_ARCH": ARCHITECTURES[0],
        "FLYDSL_RUNTIME_ENABLE_CACHE": "0",
        "ROCM_PATH": str(root),
    }
    try:
        yield
    finally:
        _restore(before)


def _restore(before: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(before):
        del os.environ[name]
    os.environ.update(before)
