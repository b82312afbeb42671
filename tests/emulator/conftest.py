"""Hypothesis for the emulator tests: the same examples on every run, and no deadline, since the
first call of a compiled function includes its compilation."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("emulator", deadline=None, derandomize=True)
settings.load_profile("emulator")
