"""The process that compiles: FlyDSL stopped before the binary pass, without device or ROCm.

:mod:`mxfp4kernels.compiler` starts ``python -m mxfp4kernels.offline``, one process per core: FlyDSL
keeps the kernel under compilation in a class attribute, so threads would mix kernels up. A request
is a line of JSON on stdin, its answer a line of JSON on stdout; end of file ends the process, so a
parent that dies leaves none behind. Standard error has to be a file: LLVM reports a failed
code generation there, and nowhere else.

This module and ``kernels/`` are the only ones that import FlyDSL.
"""

from __future__ import annotations

import base64
import ctypes
import functools
import importlib
import json
import mmap
import os
import re
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import flydsl
import flydsl.compiler as flyc
from flydsl._mlir import ir
from flydsl._mlir.dialects import gpu
from flydsl._mlir.passmanager import PassManager
from flydsl.compiler.llvm_options import llvm_options

from .flags import flag_set
from .shapes import find_variant, parse_shape

WAVE_LANES = 64

_StockBackend = type(flyc.get_backend("rocm", arch="gfx942"))  # instances are kept per arch
_hints: dict[str, Any] = {}
"""The compile hints of the launcher being lowered; serialising needs its LLVM options too."""


class CompilerError(RuntimeError):
    """The back end complained, or its result is not the kernel that was asked for."""


def _offline_backend(arch: str) -> type:
    class OfflineBackend(_StockBackend):  # type: ignore[misc, valid-type]
        """The stock ROCm backend, pinned to ``arch`` and without ``gpu-module-to-binary``."""

        @staticmethod
        def detect_target() -> Any:
            return flyc.GPUTarget(backend="rocm", arch=arch, warp_size=WAVE_LANES)

        def pipeline_fragments(self, *, compile_hints: dict[str, Any]) -> list[str]:
            _hints.clear()
            _hints.update(compile_hints)
            *lowering, binary = super().pipeline_fragments(compile_hints=compile_hints)
            if not binary.startswith("gpu-module-to-binary"):
                raise CompilerError(f"FlyDSL's pipeline ends in {binary!r}, not in the binary pass")
            return list(lowering)

        def hash(self) -> str:
            return f"{super().hash()}-offline"

    return OfflineBackend


@functools.cache
def install_backend(arch: str) -> None:
    """Make FlyDSL lower for ``arch``, once per process; a process serves one architecture."""
    if install_backend.cache_info().currsize:
        raise CompilerError(f"this process already compiles for another architecture than {arch}")
    flyc.register_backend("rocm", _offline_backend(arch), force=True)


def lower(launcher: Any, placeholders: tuple[Any, ...]) -> str:
    """The launcher's module in MLIR's LLVM dialect, as text."""
    handle = flyc.compile(launcher, *placeholders)
    if handle is None:
        raise CompilerError("FlyDSL took the placeholders for a live call; pass a null pointer")
    text: str = handle._keepalive.ir
    return text


def serialise(module_text: str, form: str, toolkit: Path | None = None) -> bytes:
    """The kernel of a lowered module as ``isa`` (assembly text) or ``bin`` (linked code object).

    ``toolkit`` is a directory with ``llvm/bin/ld.lld``; only ``bin`` needs it.
    """
    root = "" if toolkit is None else f" toolkit={toolkit}"
    with ir.Context(), llvm_options(_hints.get("llvm_options") or {}):
        module = ir.Module.parse(module_text)
        PassManager.parse(f"builtin.module(gpu-module-to-binary{{format={form}{root}}})").run(
            module.operation
        )
        objects = [
            gpu.ObjectAttr(operation.attributes["objects"][0]).object
            for operation in module.body.operations
            if operation.operation.name == "gpu.binary"
        ]
    if len(objects) != 1:
        raise CompilerError(f"expected one device module in the launcher, got {len(objects)}")
    content: bytes = objects[0]
    return content


@functools.cache
def llvm_version() -> str:
    """Version and commit of the LLVM inside FlyDSL, such as ``24.0.0git 941a04e69ee8``.

    Read from the library itself: nothing in FlyDSL's Python interface carries it.
    """
    pattern = re.compile(rb"\b(\d+\.\d+\.\d+(?:git)?) ([0-9a-f]{12})[0-9a-f]{28}\b")
    folder = Path(flydsl.__file__).parent / "_mlir" / "_mlir_libs"
    for library in sorted(folder.glob("libFlyPythonCAPI.so*")):
        with (
            open(library, "rb") as stream,
            mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            match = pattern.search(content)
            if match:
                return b" ".join(match.groups()).decode()
    raise CompilerError(f"no LLVM version in libFlyPythonCAPI.so* of {folder}")


@contextmanager
def captured_stderr() -> Iterator[list[str]]:
    """What this process, C++ code included, writes to its standard error; filled in at the end."""
    sys.stderr.flush()
    start = os.fstat(2).st_size
    text: list[str] = []
    try:
        yield text
    finally:
        sys.stderr.flush()
        text.append(os.pread(2, os.fstat(2).st_size - start, start).decode(errors="replace"))


@contextmanager
def toolkit(linker: str) -> Iterator[Path]:
    """A directory laid out as ROCm's, holding nothing but the linker."""
    with tempfile.TemporaryDirectory(prefix="mxfp4kernels-") as folder:
        tools = Path(folder, "llvm", "bin")
        tools.mkdir(parents=True)
        (tools / "ld.lld").symlink_to(linker)
        yield Path(folder)


def check_body(assembly: str, expects: str) -> None:
    """Refuse assembly without the instruction that the kernel exists for.

    Raises:
        CompilerError: a kernel whose code generation failed is an ``s_endpgm`` and nothing else.
    """
    if re.search(rf"^\s+{re.escape(expects)}", assembly, re.MULTILINE) is None:
        raise CompilerError(f"the compiled body holds no {expects}")


def compile_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Build, lower and serialise one kernel.

    Args:
        request: ``builder`` (``module:function``), ``kernel``, ``variant``, ``shape``, ``flags``,
            ``arch``, ``expects`` (an opcode, or the start of one, that the body must hold) and
            ``linker`` (path, or null for no code object).

    Returns:
        ``assembly``, ``code_object`` (base64 or null), ``messages`` (what the compiler wrote to
        stderr), ``llvm``, ``seconds``.
    """
    began = time.perf_counter()
    install_backend(request["arch"])
    module, _, function = request["builder"].partition(":")
    code: bytes | None = None
    with captured_stderr() as captured:
        kernel = getattr(importlib.import_module(module), function)(
            find_variant(request["kernel"], request["variant"]),
            parse_shape(request["shape"]),
            flag_set(request["flags"]),
        )
        text = lower(kernel.launcher, kernel.placeholders)
        assembly = serialise(text, "isa").decode()
        if request["linker"] is not None:
            with toolkit(request["linker"]) as root:
                code = serialise(text, "bin", root)
    messages = captured[0].strip()
    if re.search(r"\berror:", messages):
        raise CompilerError(f"the back end complained: {messages}")
    check_body(assembly, request["expects"])
    return {
        "assembly": assembly,
        "code_object": None if code is None else base64.b64encode(code).decode(),
        "messages": messages,
        "llvm": llvm_version(),
        "seconds": time.perf_counter() - began,
    }


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return compile_request(request)
    except Exception as error:  # noqa: BLE001  a kernel may raise anything; the parent reports it
        ours = isinstance(error, CompilerError)
        return {
            "error": str(error) if ours else f"{type(error).__name__}: {error}",
            "details": traceback.format_exc(),
        }


def _die_with_parent() -> None:
    """Have the kernel end this process with its parent, in the middle of a request too."""
    set_parent_death_signal = 1  # PR_SET_PDEATHSIG of linux/prctl.h
    if ctypes.CDLL(None).prctl(set_parent_death_signal, int(signal.SIGKILL)):
        raise OSError("prctl refused PR_SET_PDEATHSIG")


def main() -> None:
    """Serve requests until the end of standard input."""
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what kernels print must not end up among the answers
    for line in sys.stdin:
        print(json.dumps(_answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
