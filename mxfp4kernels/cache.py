"""A store of results on disk, addressed by the content they were made from.

An entry is one file: the SHA-256 of the rest on the first line, then the value as compressed JSON.
Files are replaced whole, so runs at the same time need no lock: both write the same content.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .files import write_bytes

LOCATION_VARIABLE = "MXFP4KERNELS_CACHE"
WAY_OUT = f"name another directory with --cache or {LOCATION_VARIABLE}"


class CacheError(RuntimeError):
    """The cache directory cannot be read or written."""


def default_location() -> Path:
    """``$MXFP4KERNELS_CACHE``, else ``mxfp4kernels`` in the user's XDG cache directory."""
    chosen = os.environ.get(LOCATION_VARIABLE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mxfp4kernels"


def digest(value: object) -> str:
    """A key: the SHA-256 of ``value`` as JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Cache:
    """JSON objects in a directory, by key.

    Args:
        root: the directory; :func:`default_location` when left out. Made on the first write.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = default_location() if root is None else root

    def path(self, key: str) -> Path:
        """Where the entry of a key lies."""
        return self.root / key[:2] / key

    def get(
        self, key: str, sound: Callable[[Mapping[str, Any]], bool] = lambda value: True
    ) -> dict[str, Any] | None:
        """The value of ``key``, or ``None`` when there is none.

        A damaged entry counts as none and is reported on stderr; the next :meth:`put` mends it.

        Args:
            sound: whether a value is what its reader can use; one that is not counts as damaged.

        Raises:
            CacheError: the directory or the entry cannot be read.
        """
        path = self.path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CacheError(
                f"cannot read the cache: {path}: {error.strerror}; {WAY_OUT}"
            ) from error
        value = _decode(content)
        if value is None or not sound(value):
            print(f"mxfp4kernels: damaged cache entry {path}; making it anew", file=sys.stderr)
            return None
        return value

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Store ``value``; an entry of that key is replaced.

        Raises:
            CacheError: the directory cannot be written or the disk is full; nothing half-written
                stays.
        """
        try:
            write_bytes(self.path(key), _encode(value))
        except OSError as error:
            raise CacheError(
                f"cannot write the cache: {self.root}: {error.strerror}; {WAY_OUT}"
            ) from error

    def probe(self) -> None:
        """Check that entries can be written, before work is done whose result they would hold.

        Raises:
            CacheError: they cannot.
        """
        name = f"probe-{os.getpid()}"
        self.put(name, {})
        self.path(name).unlink(missing_ok=True)


def _encode(value: Mapping[str, Any]) -> bytes:
    body = zlib.compress(json.dumps(value, sort_keys=True).encode())
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _decode(content: bytes) -> dict[str, Any] | None:
    checksum, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        return None
    try:
        value = json.loads(zlib.decompress(body))
    except (zlib.error, ValueError, RecursionError):  # the checksum holds, of something else
        return None
    return value if isinstance(value, dict) else None
