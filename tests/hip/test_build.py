"""The emulated HIP library as a file: built once per content, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mxfp4kernels.compiler import MissingComponent
from mxfp4kernels.hip import HipError
from mxfp4kernels.hip.build import SOURCE, build, find_compiler


@pytest.fixture(autouse=True)
def compiler() -> list[str]:
    try:
        return find_compiler()
    except MissingComponent as error:
        pytest.skip(str(error))


def test_one_content_is_one_file(tmp_path: Path) -> None:
    first = build(tmp_path)
    stamp = first.stat().st_mtime_ns
    assert build(tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert list(tmp_path.iterdir()) == [first]


def test_a_changed_source_is_built_anew(tmp_path: Path) -> None:
    source = tmp_path / "shim.c"
    source.write_bytes(SOURCE.read_bytes())
    first = build(tmp_path / "out", source=source)
    source.write_text(source.read_text().replace("POISON = 0xA5", "POISON = 0x5A"))
    second = build(tmp_path / "out", source=source)
    assert second != first
    assert second.read_bytes() != first.read_bytes()


def test_other_options_of_the_compiler_make_another_file(
    tmp_path: Path, monkeypatch, compiler: list[str]
) -> None:
    first = build(tmp_path)
    monkeypatch.setenv("CC", f"{compiler[0]} -g")
    assert build(tmp_path) != first


def test_builds_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    code = "import sys; from pathlib import Path; from mxfp4kernels.hip import build, library\n"
    code += "print(library.load(Path(sys.argv[1])).path)"
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    answers = {run.communicate()[0].strip() for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    (path,) = tmp_path.iterdir()
    assert answers == {str(path)}


def test_a_failing_compiler_is_quoted_and_leaves_nothing(tmp_path: Path) -> None:
    source = tmp_path / "shim.c"
    source.write_text("int hipFree(void) { return missing; }\n")
    with pytest.raises(HipError, match=r"missing.*undeclared"):
        build(tmp_path / "out", source=source)
    assert list((tmp_path / "out").iterdir()) == []


def test_no_compiler_is_a_missing_component(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingComponent, match=r"tried cc, gcc, clang.*name it in CC"):
        build(tmp_path)


WAY_OUT = "name a C compiler in CC, or unset it to have cc, gcc, clang tried"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no-such-compiler -O2", "CC='no-such-compiler -O2': there is no program 'no-such-com"),
        ("'cc", "is no command \\(No closing quotation\\)"),
    ],
)
def test_a_cc_that_names_no_program(tmp_path: Path, monkeypatch, value: str, message: str) -> None:
    monkeypatch.setenv("CC", value)
    with pytest.raises(MissingComponent, match=f"{message}.*; {WAY_OUT}"):
        build(tmp_path)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\nexit 3\n", "failed with exit status 3"),
        ("#!/bin/sh\nexit 0\n", "made no library"),
        ("#!/no/such/shell\n", "cannot be run"),
    ],
)
def test_a_cc_that_is_no_compiler(tmp_path: Path, monkeypatch, script: str, message: str) -> None:
    broken = tmp_path / "broken"
    broken.write_text(script)
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(HipError, match=f"{message}.*CC='{broken}'; {WAY_OUT}"):
        build(tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(HipError, match=r"cannot write .*--cache"):
        build(blocked / "hip")
