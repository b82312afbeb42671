"""From a loaded code object to the program that the emulator runs, with proof that they belong.

FlyDSL makes the code object in this process; the assembly comes from the package's compiler, whose
worker serialises one lowered module as assembly and as a code object. The loaded code object must
be that one, byte for byte.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ..cache import digest
from ..compiler import Compiler, Job, find_linker
from ..isa import Program
from .code_object import kernel_metadata
from .errors import CodeObjectError


def sha256(code_object: bytes) -> str:
    """How code objects are compared and recorded."""
    return hashlib.sha256(code_object).hexdigest()


class Programs:
    """Compiled programs and the digests of their code objects.

    Args:
        compiler: compiles, and keeps both in its cache.
    """

    def __init__(self, compiler: Compiler) -> None:
        self._compiler = compiler
        self._programs: dict[Job, Program] = {}
        self._digests: dict[Job, str] = {}

    def program(self, job: Job) -> Program:
        """The kernel's assembly, parsed.

        Raises:
            CompileError, CacheError, MissingComponent: as
                :meth:`mxfp4kernels.compiler.Compiler.compile_all`.
        """
        if job not in self._programs:
            self._programs[job] = self._compiler.compile(job).program
        return self._programs[job]

    def prepare(self, jobs: Sequence[Job], linker: Path | None = None) -> None:
        """Compile and link the kernels of ``jobs`` on all cores; later calls need not.

        Raises:
            CompileError, CacheError, MissingComponent: as :meth:`program`.
            CodeObjectError: the cached assembly of a kernel is not what it compiles to now.
        """
        chosen = find_linker() if linker is None else linker
        version = subprocess.run([chosen, "--version"], capture_output=True, check=True).stdout
        cache, missing = self._compiler.cache, {}
        for job in jobs:
            key = digest({"code_object": self._compiler.key(job), "linker": sha256(version)})
            stored = cache.get(key)
            if stored is None:
                missing[job] = key
            else:
                self._digests[job] = stored["sha256"]
        kernels = self._compiler.compile_all(list(missing))
        for kernel, linked in zip(
            kernels, self._compiler.link_all(list(missing), chosen), strict=True
        ):
            if linked.kernel.assembly != kernel.assembly:
                raise CodeObjectError(
                    f"{kernel.job}: the cache holds other assembly than it compiles to now; "
                    "clear the cache"
                )
            self._digests[kernel.job] = sha256(linked.code_object)
            cache.put(missing[kernel.job], {"sha256": self._digests[kernel.job]})

    def code_object_sha256(self, job: Job, linker: Path | None = None) -> str:
        """The digest of the code object that belongs to :meth:`program`.

        Args:
            job: the kernel.
            linker: links it; :func:`~mxfp4kernels.compiler.find_linker` when left out.

        Raises:
            CompileError, CacheError, MissingComponent, CodeObjectError: as :meth:`prepare`.
        """
        if job not in self._digests:
            self.prepare([job], linker)
        return self._digests[job]

    def check(self, job: Job, code_object: bytes, linker: Path | None = None) -> None:
        """Hold a loaded code object against the program of ``job``.

        Raises:
            CodeObjectError: it is another one.
        """
        found, expected = sha256(code_object), self.code_object_sha256(job, linker)
        if found != expected:
            raise CodeObjectError(
                f"{job}: FlyDSL loaded code object {found[:16]}, the assembly belongs to "
                f"{expected[:16]}; the sources have changed since this process read them, or "
                "the process and the compiler differ in FlyDSL's settings"
            )
        program = self.program(job)
        if kernel_metadata(code_object, program.name) != program.metadata:
            raise CodeObjectError(f"{job}: code object and assembly differ in their metadata")
