"""Hypothesis for the emulator tests, and the rule that every opcode has a test.

Examples are the same on every run, and there is no deadline, since the first call of a compiled
function includes its compilation. When all the emulator's tests have run and passed, every opcode
that the emulator knows must have been in one of them.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from mxfp4kernels.emulator.registry import REGISTRY

from .harness import ASSEMBLED

settings.register_profile("emulator", deadline=None, derandomize=True)
settings.load_profile("emulator")

HERE = Path(__file__).parent


def _ran_everything(session: pytest.Session) -> bool:
    """Whether no test of this folder was left out."""
    options = session.config.option
    narrowed = options.keyword or options.markexpr or getattr(options, "lf", False)
    named = any("::" in argument for argument in session.config.args)
    files = {item.path for item in session.items}
    return not narrowed and not named and set(HERE.glob("test_*.py")) <= files


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail the run for opcodes that no test has assembled."""
    if exitstatus != 0 or session.config.option.collectonly or not _ran_everything(session):
        return
    untested = sorted(set(REGISTRY.handlers) - ASSEMBLED)
    if untested:
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        assert reporter is not None
        reporter.write_line(f"\nopcodes without a test: {', '.join(untested)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
