"""Builds the emulated HIP library with the system's C compiler, once per content.

The file's name is a digest of all that decides its content, so an edited source or another compiler
makes another file, and builds at the same time write the same one.
"""

from __future__ import annotations

import hashlib
import os
import platform
import secrets
import shlex
import shutil
import subprocess
from pathlib import Path

from ..cache import WAY_OUT, default_location
from ..compiler import MissingComponent
from .errors import HipError

SONAME = "libamdhip64.so.7"
"""What FlyDSL's runtime library asks the loader for; source: its DT_NEEDED, FlyDSL 0.5.0."""

SOURCE = Path(__file__).with_name("shim.c")
VERSIONS = Path(__file__).with_name("shim.map")
COMPILERS = ("cc", "gcc", "clang")
CC_WAY_OUT = f"name a C compiler in CC, or unset it to have {', '.join(COMPILERS)} tried"
OPTIONS = (
    *("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"),
    f"-Wl,-soname,{SONAME}",
)


def find_compiler() -> list[str]:
    """The C compiler's command: ``$CC`` if it is set, else ``cc``, ``gcc`` or ``clang`` on PATH.

    Raises:
        MissingComponent: none of them is there, or what CC names is not.
    """
    chosen = os.environ.get("CC", "").strip()
    if chosen:
        return _chosen_compiler(chosen)
    for name in COMPILERS:
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise MissingComponent(
        f"no C compiler for the emulated HIP library (tried {', '.join(COMPILERS)}); install one "
        "(Debian: apt-get install gcc libc6-dev) or name it in CC"
    )


def _chosen_compiler(chosen: str) -> list[str]:
    try:
        name, *options = shlex.split(chosen)
    except ValueError as error:
        raise MissingComponent(f"CC={chosen!r} is no command ({error}); {CC_WAY_OUT}") from error
    found = shutil.which(name)
    if found is None:
        raise MissingComponent(f"CC={chosen!r}: there is no program {name!r}; {CC_WAY_OUT}")
    return [found, *options]


def build(folder: Path | None = None, *, source: Path = SOURCE, versions: Path = VERSIONS) -> Path:
    """The library's file, compiled if it is not there yet.

    Args:
        folder: where to keep it; ``hip`` in the cache of compiled kernels when left out.
        source: the C file.
        versions: the linker's version script; FlyDSL asks for symbols of version ``hip_4.2``.

    Raises:
        MissingComponent: there is no C compiler.
        HipError: it fails or cannot be run, or the folder cannot be written.
    """
    compiler = find_compiler()
    place = default_location() / "hip" if folder is None else folder
    library = place / f"emulated-hip-{_digest(compiler, source, versions)}.so"
    if not library.exists():
        try:
            _compile(compiler, source, versions, library)
        except OSError as error:
            raise HipError(f"cannot write {library}: {error.strerror}; {WAY_OUT}") from error
    return library


def _digest(compiler: list[str], source: Path, versions: Path) -> str:
    answer = _run([*compiler, "--version"])
    hashed = hashlib.sha256()
    command = "\0".join([*compiler, *OPTIONS, platform.machine()]).encode()
    for part in (source.read_bytes(), versions.read_bytes(), command, answer.stdout.encode()):
        hashed.update(hashlib.sha256(part).digest())
    return hashed.hexdigest()[:32]


def _compile(compiler: list[str], source: Path, versions: Path, library: Path) -> None:
    library.parent.mkdir(parents=True, exist_ok=True)
    temporary = library.with_name(f".{library.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    script = f"-Wl,--version-script={versions}"
    command = [*compiler, *OPTIONS, script, "-o", str(temporary), str(source)]
    try:
        answer = _run(command)
        if answer.returncode or not temporary.exists():
            code = answer.returncode
            how = f"failed with exit status {code}" if code else "made no library"
            raise HipError(f"{shlex.join(command)} {how}{_by_cc()}:\n{answer.stderr.strip()}")
        os.replace(temporary, library)
    finally:
        temporary.unlink(missing_ok=True)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise HipError(f"{command[0]} cannot be run ({error.strerror}){_by_cc()}") from error


def _by_cc() -> str:
    """Who chose the compiler, and the way out, if it was CC."""
    chosen = os.environ.get("CC", "").strip()
    return f" (CC={chosen!r}; {CC_WAY_OUT})" if chosen else ""
