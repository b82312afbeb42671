"""The cache: damage, full disks, directories without permission, writers at the same time."""

from __future__ import annotations

import errno
import hashlib
import multiprocessing
import os
import resource
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from mxfp4kernels import files
from mxfp4kernels.cache import LOCATION_VARIABLE, Cache, CacheError, default_location, digest

KEY = digest("some kernel")
VALUE = {"assembly": "s_endpgm\n" * 1000, "seconds": 0.25}


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.name.endswith(".tmp")]


def test_round_trip(cache: Cache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, VALUE)
    assert cache.get(KEY) == VALUE


def test_location_prefers_our_variable_then_xdg(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv(LOCATION_VARIABLE, raising=False)
    assert default_location() == tmp_path / "xdg" / "mxfp4kernels"
    monkeypatch.setenv(LOCATION_VARIABLE, str(tmp_path / "ours"))
    assert default_location() == tmp_path / "ours"
    monkeypatch.delenv(LOCATION_VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert default_location() == tmp_path / "home" / ".cache" / "mxfp4kernels"


def test_digest_depends_on_content_not_on_order() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest({"a": 1, "b": 2}) != digest({"a": 2, "b": 1})


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: b"",
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: b"0" + content[1:],
        lambda content: content.replace(b"\n", b"", 1),
    ],
    ids=["truncated", "empty", "bit flip", "checksum", "no newline"],
)
def test_damaged_entry_is_reported_and_counts_as_none(cache, damage, capsys) -> None:
    cache.put(KEY, VALUE)
    path = cache.path(KEY)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get(KEY) is None
    assert str(path) in capsys.readouterr().err
    cache.put(KEY, VALUE)
    assert cache.get(KEY) == VALUE
    assert capsys.readouterr().err == ""


def _entry(body: bytes) -> bytes:
    """A file whose checksum holds."""
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "body",
    [
        b"not compressed",
        b"",
        zlib.compress(b"not JSON"),
        zlib.compress(b"\xff\xfe"),
        zlib.compress(b"[1, 2]"),
        zlib.compress(b"null"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b'{"assembly": 1'),
    ],
    ids=["no zlib", "empty", "no JSON", "no text", "list", "null", "deep", "cut short"],
)
def test_entry_with_a_good_checksum_over_something_else(cache, body, capsys) -> None:
    cache.path(KEY).parent.mkdir(parents=True)
    cache.path(KEY).write_bytes(_entry(body))
    assert cache.get(KEY) is None
    assert capsys.readouterr().err.count(f"damaged cache entry {cache.path(KEY)}") == 1
    cache.put(KEY, VALUE)
    assert cache.get(KEY) == VALUE
    assert capsys.readouterr().err == ""


def test_entry_that_its_reader_cannot_use(cache, capsys) -> None:
    cache.put(KEY, {})
    assert cache.get(KEY) == {}
    assert cache.get(KEY, lambda value: "assembly" in value) is None
    assert "damaged cache entry" in capsys.readouterr().err


def test_directory_that_is_a_file_names_path_and_way_out(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a directory")
    cache = Cache(tmp_path / "cache")
    for act in (lambda: cache.get(KEY), lambda: cache.put(KEY, VALUE), cache.probe):
        with pytest.raises(CacheError, match=f"{cache.root}.*{LOCATION_VARIABLE}"):
            act()


def _as_a_user(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python without root's power to read and write everything."""
    drop = "import os; os.getuid() or os.setuid(65534)\n"
    packages = os.pathsep.join(path for path in sys.path if path)
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"import mxfp4kernels.cache as c, sys, pathlib\n{drop}{code}",
            *arguments,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": packages},
    )


ATTEMPT = """
try:
    getattr(c.Cache(pathlib.Path(sys.argv[1])), sys.argv[2])(*eval(sys.argv[3]))
except c.CacheError as error:
    print(error)
"""


def test_read_only_directory(tmp_path: Path) -> None:
    root = Path("/proc/self/ns/cache")  # no one may write there, root included
    with pytest.raises(CacheError, match=str(root)):
        Cache(root).probe()
    with pytest.raises(CacheError, match=str(root)):
        Cache(root).put(KEY, VALUE)


def test_directory_of_another_user(cache: Cache) -> None:
    cache.put(KEY, VALUE)
    cache.root.chmod(0o500)
    try:
        refused = _as_a_user(ATTEMPT, str(cache.root), "put", f"({KEY!r}, {{}})")
    finally:
        cache.root.chmod(0o700)
    assert "Permission denied" in refused.stdout
    assert str(cache.root) in refused.stdout
    assert LOCATION_VARIABLE in refused.stdout
    assert refused.stderr == ""


def test_unreadable_entry(cache: Cache) -> None:
    cache.put(KEY, VALUE)
    cache.path(KEY).chmod(0o000)
    for folder in (cache.root, cache.path(KEY).parent):
        folder.chmod(0o755)
    refused = _as_a_user(ATTEMPT, str(cache.root), "get", f"({KEY!r},)")
    assert "Permission denied" in refused.stdout
    assert str(cache.path(KEY)) in refused.stdout
    assert refused.stderr == ""


def test_full_disk_leaves_the_old_entry_and_no_part(cache: Cache, monkeypatch) -> None:
    cache.put(KEY, VALUE)

    def no_space(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", no_space)
    with pytest.raises(CacheError, match="No space left on device"):
        cache.put(KEY, {"assembly": "new"})
    assert cache.get(KEY) == VALUE
    assert leftovers(cache.root) == []


def test_file_size_limit_leaves_no_part(cache: Cache) -> None:
    """A write that the kernel cuts short, as on a full disk."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    # What does not compress, so that the entry is longer than the limit.
    noise = os.urandom(200_000).hex()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old[1]))
    try:
        with pytest.raises(CacheError, match="File too large"):
            cache.put(KEY, {"assembly": noise})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert cache.get(KEY) is None
    assert leftovers(cache.root) == []


def _write_many(root: str, times: int) -> None:
    for _ in range(times):
        Cache(Path(root)).put(KEY, VALUE)


def test_two_writers_and_a_reader_at_the_same_time(cache: Cache, capsys) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(cache.root), 200)) for _ in range(2)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        value = cache.get(KEY)
        assert value in (None, VALUE)
        seen += value == VALUE
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen > 0
    assert cache.get(KEY) == VALUE
    assert capsys.readouterr().err == ""
    assert leftovers(cache.root) == []
