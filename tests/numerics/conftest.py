"""Hypothesis for these tests: the same examples on every run, and no deadline on a busy machine.

Torch runs on one thread: the tests are many small operations, which threads only slow down.
"""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("numerics", deadline=None, derandomize=True)
settings.load_profile("numerics")
torch.set_num_threads(1)
