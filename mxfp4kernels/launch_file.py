"""A launch written down in YAML or JSON, for assembly that comes from elsewhere.

    kernel: tree_sum            # which one, if the file holds several
    grid: [4, 1, 1]             # workgroups
    block: [256, 1, 1]          # work-items of a workgroup
    arguments:                  # as the kernel declares them, hidden ones left out
      - {buffer: out, shape: [4], dtype: int32, fill: 0}
      - {buffer: a, npy: a.npy, read_only: true}
      - {value: 1024}
      - {bytes: "00 04 00 00"}

A buffer has its content from ``npy`` (a file next to this one), or a ``shape`` and a ``dtype`` with
a ``fill`` (a number in every element; without it, poison), or a ``size`` in bytes. ``save: x.npy``
keeps what the kernel left in it; directories are made. ``workgroups`` picks some of the grid,
``dynamic_lds`` adds LDS, ``instruction_limit`` is how many instructions a wave may execute before
it counts as endless.
Needs neither FlyDSL nor torch.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from .emulator import Memory, Report, RunResult, launch, pack_kernarg, sanitize
from .emulator.memory import POISON
from .emulator.scheduler import INSTRUCTION_LIMIT
from .files import write_bytes
from .isa import AssemblyError, Program, parse_all
from .isa.parser import NO_KERNEL

Array = npt.NDArray[np.generic]
Size3 = tuple[int, int, int]

KEYS = (
    *("kernel", "grid", "block", "dynamic_lds", "workgroups", "arguments"),
    "instruction_limit",
)
BUFFER_KEYS = ("buffer", "npy", "shape", "dtype", "size", "fill", "read_only", "save")
BUFFER_LIMIT = 1 << 34
"""Bytes of a buffer."""


class LaunchFileError(ValueError):
    """A launch description that cannot be understood or does not fit the kernel."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc] # PyYAML has no types
    """YAML in which no key may come twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                line = key.start_mark.line + 1
                raise LaunchFileError(f"line {line}: key {name} comes twice; keep one")
            seen.add(name)
        mapping: dict[Any, Any] = super().construct_mapping(node, deep)
        return mapping


@dataclass(frozen=True)
class Saved:
    """A buffer to be kept: its array, and the file to write."""

    array: Array
    path: Path


@dataclass(frozen=True)
class Prepared:
    """A kernel ready to run, its buffers in memory.

    Attributes:
        program: the kernel.
        kernarg: its arguments.
        grid, block: workgroups, and work-items of each, along x, y, z.
        memory: holds the buffers.
        workgroups: flat ids to run, all when ``None``.
        dynamic_lds: bytes of LDS beyond the static size.
        saved: buffers to be kept.
        instruction_limit: instructions that a wave may execute.
    """

    program: Program
    kernarg: bytes
    grid: Size3
    block: Size3
    memory: Memory
    workgroups: tuple[int, ...] | None
    dynamic_lds: int
    saved: tuple[Saved, ...]
    instruction_limit: int = INSTRUCTION_LIMIT

    def run(self) -> RunResult:
        """Run the kernel; stores land in the buffers.

        Raises:
            EmulatorError: the kernel cannot be run, or accesses what it must not.
        """
        return launch(
            self.program,
            self.kernarg,
            self.grid,
            self.block,
            self.memory,
            workgroups=self.workgroups,
            dynamic_lds=self.dynamic_lds,
            limit=self.instruction_limit,
        )

    def sanitize(self) -> Report:
        """Run the kernel under the sanitizer.

        Raises:
            EmulatorError: as :meth:`run`.
        """
        return sanitize(
            self.program,
            self.kernarg,
            self.grid,
            self.block,
            self.memory,
            workgroups=self.workgroups,
            dynamic_lds=self.dynamic_lds,
            limit=self.instruction_limit,
        )

    def save(self) -> tuple[Path, ...]:
        """Write the buffers that are to be kept, each whole; returns the files.

        Raises:
            OSError: a file cannot be written.
        """
        for saved in self.saved:
            write_bytes(saved.path, _npy(saved.array))
        return tuple(saved.path for saved in self.saved)


def _npy(array: Array) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def prepare(assembly: str, path: Path) -> Prepared:
    """The launch of ``path`` for a kernel of ``assembly``.

    Raises:
        LaunchFileError: the description is wrong; the message names the place.
        AssemblyError, LaunchError: the text is no kernel, or the arguments do not fit it.
        OSError: a file cannot be read.
    """
    plain = _mapping(path)
    program = _program(assembly, plain.get("kernel"), path)
    grid, block = (_size3(plain, name, path) for name in ("grid", "block"))
    memory = Memory()
    values: list[int | float | bytes] = []
    saved: list[Saved] = []
    entries = _list(plain, "arguments", path)
    taken = {path.resolve(): "this launch description"}
    taken |= dict.fromkeys(_inputs(entries, path.parent), "read by the launch")
    for position, entry in enumerate(entries):
        try:
            value, keep = _argument(entry, memory, path.parent)
            _check_file(keep, saved, taken)
        except (LaunchFileError, TypeError, ValueError, OverflowError, MemoryError) as error:
            raise LaunchFileError(f"{path.name}: argument {position}: {error}") from error
        values.append(value)
        saved += keep
    lds = _whole(plain.get("dynamic_lds", 0), f"{path.name}: dynamic_lds")
    chosen = [_whole(one, f"{path.name}: workgroups") for one in _list(plain, "workgroups", path)]
    if "workgroups" in plain and not chosen:
        raise LaunchFileError(
            f"{path.name}: workgroups must name at least one; leave it out to run all"
        )
    return Prepared(
        program,
        pack_kernarg(program, values, grid, block, lds),
        grid,
        block,
        memory,
        tuple(chosen) if "workgroups" in plain else None,
        lds,
        tuple(saved),
        _whole(
            plain.get("instruction_limit", INSTRUCTION_LIMIT), f"{path.name}: instruction_limit", 1
        ),
    )


def _mapping(path: Path) -> Mapping[str, Any]:
    try:
        plain = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except LaunchFileError as error:
        raise LaunchFileError(f"{path.name}: {error}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LaunchFileError(f"{path.name} is neither YAML nor JSON: {error}") from error
    if not isinstance(plain, dict):
        raise LaunchFileError(f"{path.name} must be a mapping with {', '.join(KEYS)}")
    _known(plain, KEYS, path.name)
    return plain


def _known(plain: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    unknown = [str(key) for key in plain if key not in keys]
    if unknown:
        raise LaunchFileError(
            f"{where}: unknown key {', '.join(unknown)}; choose from {', '.join(keys)}"
        )


def _whole(value: object, where: str, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise LaunchFileError(f"{where} must be a whole number of at least {least}, got {value!r}")
    return value


def _list(plain: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    value = plain.get(name, [])
    if not isinstance(value, list):
        raise LaunchFileError(f"{path.name}: {name} must be a list, got {value!r}")
    return value


def _program(assembly: str, name: object, path: Path) -> Program:
    if name is not None and not isinstance(name, str):
        raise LaunchFileError(f"{path.name}: kernel must be a name, got {name!r}")
    programs = {program.name: program for program in parse_all(assembly)}
    if not programs:
        raise AssemblyError(NO_KERNEL)
    if name is None and len(programs) == 1:
        return next(iter(programs.values()))
    names = ", ".join(programs)
    if name is None:
        raise LaunchFileError(
            f"{path.name}: the assembly has {len(programs)} kernels; choose one with kernel: NAME "
            f"from {names}"
        )
    if name not in programs:
        raise LaunchFileError(
            f"{path.name}: kernel {name!r} is not in the assembly; it has {names}"
        )
    return programs[name]


def _size3(plain: Mapping[str, Any], name: str, path: Path) -> Size3:
    value = plain.get(name)
    sizes = [value] if isinstance(value, int) else value
    if not isinstance(sizes, list) or not 1 <= len(sizes) <= 3:
        raise LaunchFileError(f"{path.name}: {name} must be one to three sizes, got {value!r}")
    x, y, z = (*(_whole(size, f"{path.name}: {name}", 1) for size in sizes), 1, 1)[:3]
    return x, y, z


def _argument(
    entry: Mapping[str, Any], memory: Memory, folder: Path
) -> tuple[int | float | bytes, list[Saved]]:
    """The value of an argument, and the buffer to keep, if any."""
    if not isinstance(entry, dict):
        raise LaunchFileError(f"needs buffer, value or bytes, got {entry!r}")
    if "buffer" in entry:
        return _buffer(entry, memory, folder)
    if "value" in entry:
        _known(entry, ("value",), "a value")
        value = entry["value"]
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise LaunchFileError(f"value must be a number, got {value!r}")
        return value, []
    if "bytes" in entry:
        _known(entry, ("bytes",), "bytes")
        return bytes.fromhex(entry["bytes"]), []
    raise LaunchFileError(f"needs buffer, value or bytes, got {entry!r}")


def _buffer(entry: Mapping[str, Any], memory: Memory, folder: Path) -> tuple[int, list[Saved]]:
    _known(entry, BUFFER_KEYS, "a buffer")
    name = str(entry["buffer"])
    if any(buffer.name == name for buffer in memory.buffers):
        raise LaunchFileError(f"an earlier buffer is called {name!r}, too; give each its own name")
    array = _content(entry, folder)
    read_only = entry.get("read_only", False)
    if not isinstance(read_only, bool):
        raise LaunchFileError(f"read_only must be true or false, got {read_only!r}")
    address = memory.allocate(name, array, writable=not read_only)
    return address, [Saved(array, folder / _file(entry, "save"))] if "save" in entry else []


def _file(entry: Mapping[str, Any], key: str) -> str:
    name = entry[key]
    if not isinstance(name, str) or not name:
        raise LaunchFileError(f"{key} must be the name of a file, got {name!r}")
    return name


def _inputs(entries: Sequence[Any], folder: Path) -> Iterator[Path]:
    """The files that buffers are read from."""
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("npy"), str):
            yield (folder / entry["npy"]).resolve()


def _check_file(keep: Sequence[Saved], saved: Sequence[Saved], taken: Mapping[Path, str]) -> None:
    """Refuse a file that must not or could not be written after the run; directories are made."""
    for path in (one.path for one in keep):
        if any(other.path.resolve() == path.resolve() for other in saved):
            raise LaunchFileError(f"save: {path} is taken by an earlier buffer; name another file")
        if path.resolve() in taken:
            raise LaunchFileError(f"save: {path} is {taken[path.resolve()]}; name another file")
        if path.is_dir():
            raise LaunchFileError(f"save: {path} is a directory; name a file in it")
        above = next(one for one in path.parents if one.exists())
        if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
            raise LaunchFileError(
                f"save: {path} cannot be written, as {above} is no directory or closed to you; "
                "name another place"
            )


def _shape(entry: Mapping[str, Any], dtype: np.dtype[Any]) -> tuple[int, ...]:
    if "size" not in entry:
        extents = entry["shape"] if isinstance(entry["shape"], list) else [entry["shape"]]
        return tuple(_whole(extent, "shape") for extent in extents)
    size = _whole(entry["size"], "size")
    if size % dtype.itemsize:
        raise LaunchFileError(f"size {size} is not a multiple of {dtype}'s {dtype.itemsize} bytes")
    return (size // dtype.itemsize,)


def _fill(value: object, dtype: np.dtype[Any]) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise LaunchFileError(f"fill must be a number, got {value!r}")
    if dtype.kind != "f":
        limits = np.iinfo(dtype)
        if isinstance(value, float) or not limits.min <= value <= limits.max:
            raise LaunchFileError(
                f"fill must be a whole number in {limits.min}..{limits.max} for {dtype}, "
                f"got {value!r}"
            )
    elif math.isfinite(value) and abs(value) > float(np.finfo(dtype).max):
        raise LaunchFileError(
            f"fill must be at most {np.finfo(dtype).max} for {dtype}, got {value}"
        )
    return value


def _loaded(entry: Mapping[str, Any], folder: Path) -> Array:
    beside = [name for name in ("dtype", "fill") if name in entry]
    if beside:
        raise LaunchFileError(f"{beside[0]} says nothing beside npy, which brings its own; drop it")
    name = _file(entry, "npy")
    loaded = np.load(folder / name, allow_pickle=False)
    if not isinstance(loaded, np.ndarray):
        loaded.close()
        raise LaunchFileError(f"npy: {name} is an archive of arrays; save one with numpy.save")
    return np.ascontiguousarray(loaded)


def _content(entry: Mapping[str, Any], folder: Path) -> Array:
    given = [name for name in ("npy", "shape", "size") if name in entry]
    if len(given) != 1:
        raise LaunchFileError(f"buffer {entry['buffer']!r} needs one of npy, shape and size")
    if "npy" in entry:
        return _loaded(entry, folder)
    dtype = np.dtype(entry.get("dtype", "uint8"))
    if dtype.kind not in "iuf":
        raise LaunchFileError(f"dtype must be an integer or a float type, got {dtype}")
    shape = _shape(entry, dtype)
    size = math.prod(shape) * dtype.itemsize
    if size > BUFFER_LIMIT:
        raise LaunchFileError(f"a buffer has at most {BUFFER_LIMIT} bytes, got {size}")
    if "fill" in entry:
        return np.full(shape, _fill(entry["fill"], dtype), dtype)
    poison = np.full(math.prod(shape) * dtype.itemsize, POISON, np.uint8)
    typed: Array = poison.view(dtype).reshape(shape)
    return typed
