"""With ``MXFP4_NO_SKIP`` set, a skipped test fails: a fresh checkout has to run every one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

NO_SKIP = bool(os.environ.get("MXFP4_NO_SKIP"))


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped although MXFP4_NO_SKIP is set: {report.longrepr}"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    outcome = yield
    _fail_if_skipped(outcome.get_result())


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    outcome = yield
    _fail_if_skipped(outcome.get_result())
