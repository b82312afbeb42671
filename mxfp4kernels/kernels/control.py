"""Structured control flow for code that runs while a kernel is traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from flydsl._mlir import ir
from flydsl._mlir.dialects import arith, scf
from flydsl.expr.typing import as_ir_value

from .primitives import Value


@contextmanager
def when(condition: Value) -> Iterator[None]:
    """The body runs where ``condition`` holds: ``with when(i < n): ...``."""
    branch = scf.IfOp(as_ir_value(condition), [], has_else=False)
    with ir.InsertionPoint(branch.regions[0].blocks[0]):
        yield
        scf.YieldOp([])
