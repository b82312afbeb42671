"""The loaded emulated HIP library: one per process, because the loader binds by soname.

FlyDSL's runtime library finds it in place of the real one. It stays loaded, and so do the modules
that FlyDSL keeps in it; a device is only what its callbacks reach while one is open.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from . import build
from .errors import HipError

NO_DEVICE = 100
LAUNCH_FAILURE = 719
INVALID_VALUE = 1
"""``hipError_t``; source: hip_runtime_api.h."""


@dataclass(frozen=True)
class RawLaunch:
    """A kernel launch as the HIP library receives it.

    Args:
        kernel: the symbol.
        code_object: the ELF file it was loaded from.
        grid: workgroups along x, y, z.
        block: work-items of a workgroup along x, y, z.
        dynamic_lds: bytes of LDS beyond the static size.
        parameters: address of the array of pointers to the explicit arguments' values.
    """

    kernel: str
    code_object: bytes
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    parameters: int

    def values(self, sizes: Sequence[int]) -> list[bytes]:
        """The explicit arguments, given their sizes in bytes from the code object's metadata."""
        pointers = ctypes.cast(self.parameters, ctypes.POINTER(ctypes.c_void_p))
        return [
            ctypes.string_at(pointers[position] or 0, size) for position, size in enumerate(sizes)
        ]


class Handler(Protocol):
    """What an open device does with the library's calls; each returns a ``hipError_t``.

    None of them may raise: what a callback raises cannot pass through C.
    """

    def on_launch(self, launch: RawLaunch) -> int: ...

    def on_map(self, address: int, size: int) -> int: ...

    def on_unmap(self, address: int) -> int: ...


class _Launch(ctypes.Structure):
    _fields_ = (
        ("kernel", ctypes.c_char_p),
        ("image", ctypes.c_void_p),
        ("image_size", ctypes.c_uint64),
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_lds", ctypes.c_uint32),
        ("parameters", ctypes.c_void_p),
    )


_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Launch))
_MAP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64)
_UNMAP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class _Callbacks(ctypes.Structure):
    _fields_ = (("launch", _LAUNCH), ("map", _MAP), ("unmap", _UNMAP))


class Library:
    """The loaded library and the device that its calls go to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.handler: Handler | None = None
        self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self._callbacks = _Callbacks(_LAUNCH(self._launch), _MAP(self._map), _UNMAP(self._unmap))
        self._library.emulated_hip_set_callbacks(ctypes.byref(self._callbacks))

    def take_error(self) -> int:
        """``hipGetLastError`` of this thread: the last failure since it was asked before."""
        return int(self._library.hipGetLastError())

    def _launch(self, pointer: ctypes._Pointer[_Launch]) -> int:
        if self.handler is None:
            return NO_DEVICE
        raw = pointer.contents
        return self.handler.on_launch(
            RawLaunch(
                kernel=raw.kernel.decode(),
                code_object=ctypes.string_at(raw.image, raw.image_size),
                grid=tuple(raw.grid),
                block=tuple(raw.block),
                dynamic_lds=raw.dynamic_lds,
                parameters=raw.parameters or 0,
            )
        )

    def _map(self, address: int, size: int) -> int:
        return NO_DEVICE if self.handler is None else self.handler.on_map(address, size)

    def _unmap(self, address: int) -> int:
        return NO_DEVICE if self.handler is None else self.handler.on_unmap(address)


_loaded: Library | None = None


def load(folder: Path | None = None) -> Library:
    """The process's emulated HIP library, built and loaded on the first call.

    Args:
        folder: where to keep the built file; see :func:`mxfp4kernels.hip.build.build`.

    Raises:
        HipError: it cannot be built, or the process has loaded a real HIP library.
        MissingComponent: there is no C compiler.
    """
    global _loaded
    if _loaded is None:
        real = real_library()
        if real is not None:
            raise HipError(
                f"this process has loaded a real HIP library, {real}; an emulated one beside it "
                "would be ignored. Start a process that does not (a ROCm build of torch loads it "
                "on import), or launch on the device"
            )
        _loaded = Library(build.build(folder))
    return _loaded


def real_library(maps: str | None = None) -> str | None:
    """The file of a HIP library that this process has mapped, or ``None``.

    Args:
        maps: the process's mappings as in ``/proc/self/maps``, read from there when left out.
    """
    if maps is None:
        maps = Path(f"/proc/{os.getpid()}/maps").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"\S*/libamdhip64\.so\S*", maps)
    return found[0] if found else None
