"""Steps of a make target: what they print, their exit codes, and an interrupt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mxfp4kernels.files import REPOSITORY
from mxfp4kernels.steps import FAILED, INTERRUPTED, OK, run_step


def test_names_what_was_written(capsys, tmp_path: Path) -> None:
    assert run_step(lambda: [REPOSITORY / "data" / "a.csv", tmp_path / "b.csv"]) == OK
    assert capsys.readouterr().out == f"wrote data/a.csv\nwrote {tmp_path / 'b.csv'}\n"


def test_tells_what_is_wrong_after_what_was_written(capsys) -> None:
    def work() -> Iterator[Path]:
        yield REPOSITORY / "one"
        raise ValueError("two cannot be made")

    assert run_step(work, ValueError) == FAILED
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("wrote one\n", "two cannot be made\n")


def test_interrupt_is_one_line(capsys) -> None:
    def work() -> Iterator[Path]:
        raise KeyboardInterrupt
        yield

    assert run_step(work) == INTERRUPTED
    assert capsys.readouterr().err.count("\n") == 1
