"""docs/emulator.md: its example is run as written, and prints what the page says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mxfp4kernels.files import REPOSITORY

PAGE = (REPOSITORY / "docs" / "emulator.md").read_text(encoding="utf-8")
ASSEMBLY = REPOSITORY / "tests" / "emulator" / "foreign" / "arithmetic.s"


def marked(mark: str) -> list[str]:
    """The code blocks behind ``<!-- mark -->``."""
    return re.findall(rf"<!-- {mark} -->\n```\w*\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example's files, and the commands that it uses on PATH."""
    shutil.copy(ASSEMBLY, tmp_path)
    (tmp_path / "tree_sum.yaml").write_text(*marked("file tree_sum.yaml"))
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, words in (("python", ""), ("mxfp4kernels", " -m mxfp4kernels")):
        script = commands / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
    }
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_page_does_what_it_says(folder: Path) -> None:
    outputs = iter(marked("output"))
    for script in marked("run"):
        done = shell(folder, script)
        assert done.returncode == 0, done.stderr
        assert next(outputs) in done.stdout + "\n"
    (broken,) = marked("run fails")
    done = shell(folder, broken)
    assert done.returncode == 1, done.stderr
    assert next(outputs).strip() in done.stdout
    assert next(outputs, None) is None


def test_six_of_the_eight_barriers_are_needless(folder: Path) -> None:
    first, second = marked("run")
    done = shell(folder, first.splitlines()[0] + "\n" + second.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"counter": "barrier"') == 6
