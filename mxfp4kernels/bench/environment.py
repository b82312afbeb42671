"""What a run was measured with: device, driver, versions, the commit of this repository."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..compiler import flydsl_version
from .device import DeviceInfo

_PACKAGE = Path(__file__).parents[1]


def environment(info: DeviceInfo) -> Mapping[str, Any]:
    """Everything that must not change within a run.

    Raises:
        MissingComponent: FlyDSL is not installed.
    """
    version = f"mxfp4kernels {importlib.metadata.version('mxfp4kernels')}"
    return {**asdict(info), "flydsl": flydsl_version(), "commit": commit(_PACKAGE) or version}


def commit(folder: Path) -> str | None:
    """The commit that the files of ``folder`` are from; if any differs, ``+`` and a digest of all.

    ``None`` if no repository tracks them: a package may be installed below a checkout of something
    else.
    """
    tracked = _git(folder, "ls-files", "--", ".")
    if not tracked:
        return None
    changed = _git(folder, "status", "--porcelain", "--", ".")
    return f"{_git(folder, 'rev-parse', 'HEAD')}{f'+{_digest(folder)}' if changed else ''}"


def _digest(folder: Path) -> str:
    """Of every file that is tracked, or new and not ignored: other changes are another version."""
    names = _git(folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ".")
    total = hashlib.sha256()
    for name in sorted(set((names or "").split("\0"))):
        path = folder / name
        content = path.read_bytes() if path.is_file() else b""
        total.update(os.fsencode(f"{name}\0{len(content)}\0") + content)
    return total.hexdigest()[:8]


def _git(folder: Path, *words: str) -> str | None:
    """git's answer; ``None`` without git, or where it knows no repository."""
    try:
        answer = subprocess.run(
            ["git", "-C", folder, *words],
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
