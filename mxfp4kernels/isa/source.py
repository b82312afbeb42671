"""Assembly as it lies in a file."""

from __future__ import annotations

from pathlib import Path

from .program import AssemblyError


def read_assembly(path: Path) -> str:
    """The text of a ``.s`` file.

    Raises:
        AssemblyError: it is a directory, or no text.
        OSError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except IsADirectoryError:
        raise AssemblyError("this is a directory; name a .s file in it") from None
    except UnicodeDecodeError:
        raise AssemblyError(
            "this is no text; give the assembly that the compiler writes (clang -S): a code object "
            "is not read, nor what llvm-objdump prints of one"
        ) from None
