"""What the tests of compiler, tables and command line share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxfp4kernels.ablation import runs
from mxfp4kernels.ablation.counts import CountTable
from mxfp4kernels.compiler import CompiledKernel, Compiler


@pytest.fixture(scope="session")
def ablated_kernels() -> list[CompiledKernel]:
    """Every kernel of the ablation, through the user's cache: its keys are content."""
    return Compiler().compile_all(runs.jobs())


@pytest.fixture(scope="session")
def table(ablated_kernels: list[CompiledKernel]) -> CountTable:
    """The counts of every kernel of the ablation, made now."""
    return CountTable(row for kernel in ablated_kernels for row in runs.count(kernel))


@pytest.fixture
def repository() -> Path:
    """The checkout."""
    return Path(__file__).parents[2]
