"""Structured control flow for code that runs while a kernel is traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import scf
from flydsl.expr.typing import as_ir_value

from .primitives import Value


@contextmanager
def when(condition: Value) -> Iterator[None]:
    """The body runs where ``condition`` holds: ``with when(i < n): ...``."""
    branch = scf.IfOp(as_ir_value(condition), [], has_else=False)
    with ir.InsertionPoint(branch.regions[0].blocks[0]):
        yield
        scf.YieldOp([])


@contextmanager
def stride(start: Value, stop: Value, step: Value) -> Iterator[fx.Int32]:
    """A run-time loop over i32 values: ``with stride(a, b, s) as i: ...``."""
    loop = scf.ForOp(*(as_ir_value(fx.Int32(bound)) for bound in (start, stop, step)))
    with ir.InsertionPoint(loop.body):
        yield fx.Int32(loop.induction_variable)
        scf.YieldOp([])
