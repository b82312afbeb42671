"""Hypothesis for these tests: the same examples on every run, and no deadline on a busy machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("numerics", deadline=None, derandomize=True)
settings.load_profile("numerics")
