"""Whether outputs on a device are what they must be: the gate before any time is taken.

A few tiles are held against the float64 reference, element by element. Of all others it is seen
that they were written, and of everything outside them that it was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from .. import layout
from ..mx import BLOCK
from ..numerics.expected import tile_columns
from ..numerics.problem import Argument, Problem, Tile
from ..numerics.verification import Verification, sampled_workgroups
from .rounds import Check

EXTRA_ROW_BLOCKS = 24
"""Random blocks of rows whose first and last tile are compared, besides the telling ones."""
COLUMN_BLOCKS = 3
"""Blocks of columns compared where tiles add up: a sum needs all tiles of its columns."""
PIECE = 8
"""Bytes of an output that one changed byte stands for: within a tile each piece must have one.

Lanes store 8 bytes and more at once. Four bf16 values or sixteen codes that all look like the fill
do not come from inputs such as these; a single byte may."""
_ROWS_AT_ONCE = 4096


def checked_workgroups(problem: Problem) -> tuple[int, ...]:
    """Workgroups whose tiles are held against the reference."""
    if problem.variant.epilogue != "atomic":
        return sampled_workgroups(problem, EXTRA_ROW_BLOCKS)
    rng = np.random.default_rng(problem.seed)
    picked = {0, problem.n_blocks - 1, *rng.integers(0, problem.n_blocks, COLUMN_BLOCKS - 2)}
    return tuple(
        m_block * problem.n_blocks + int(n_block)
        for m_block in range(problem.sorting.blocks)
        for n_block in sorted(picked)
    )


class OutputCheck:
    """The check of one problem, for any number of kernels.

    Args:
        problem: what the kernels are launched on.

    Attributes:
        arguments: the launch's arguments in the host's memory; weights only where tiles are
            compared.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._verification = Verification(problem, checked_workgroups(problem))
        self.arguments = self._verification.arguments
        self._fills = {
            argument.name: argument.fill
            for argument in self.arguments
            if argument.fill is not None and argument.data is not None
        }

    def poison(self, outputs: Mapping[str, Tensor]) -> None:
        """Fill outputs as before a launch."""
        for name, fill in self._fills.items():
            outputs[name].view(torch.uint8).fill_(fill)

    def check(self, outputs: Mapping[str, Tensor]) -> Check:
        """Compare the outputs of one launch of the whole grid on poisoned buffers.

        Args:
            outputs: the output buffers by name, on any device.
        """

        def fetch(arguments: Sequence[Argument], workgroups: Sequence[int]) -> None:
            for argument in arguments:
                if argument.name in self._fills:
                    _fetch(self._problem, self._verification.tiles, argument, outputs)

        result = self._verification.verify_run(fetch)
        uncovered = self.coverage(outputs)
        report = "" if result.passed else result.report()
        return Check(
            passed=result.passed and not uncovered,
            elements=result.comparison.elements,
            mismatches=result.comparison.mismatches,
            tiles=len(result.tiles),
            of=self._problem.sorting.blocks * self._problem.n_blocks,
            report="; ".join(filter(None, (uncovered, report))),
        )

    def coverage(self, outputs: Mapping[str, Tensor]) -> str:
        """What is not as it must be, or nothing: tiles left poisoned, bytes written outside.

        Only sums may be checked after more than one launch: others are the same every time.
        """
        found = []
        for name, fill in self._fills.items():
            if name == "out_scale":
                unwritten, strays = self._scales(outputs[name], fill)
                part = "bytes"
            else:
                unwritten, strays = self._main(outputs[name], fill)
                part = f"pieces of {PIECE} bytes"
            if unwritten:
                found.append(f"{unwritten} {part} of {name} were not written")
            if strays:
                found.append(f"{strays} bytes of {name} outside all tiles were written")
        return "; ".join(found)

    def _main(self, output: Tensor, fill: int) -> tuple[int, int]:
        """Pieces within tiles that still hold the fill, and bytes outside that do not."""
        problem = self._problem
        atomic = problem.variant.epilogue == "atomic"
        rows, used = (
            (problem.tokens, problem.tokens) if atomic else (problem.max_rows, problem.sorting.rows)
        )
        view = output.view(torch.uint8).reshape(rows, -1)
        pieces = view.view(torch.int64)
        poison = int.from_bytes([fill] * PIECE, "little", signed=True)
        parts = (pieces[at : min(at + _ROWS_AT_ONCE, used)] for at in range(0, used, _ROWS_AT_ONCE))
        unwritten = sum(int((part == poison).sum()) for part in parts)
        return unwritten, int((view[used:] != fill).sum())

    def _scales(self, output: Tensor, fill: int) -> tuple[int, int]:
        """As :meth:`_main`, byte by byte: no scale of these inputs is the fill."""
        scales = output.view(torch.uint8).reshape(-1)
        inside = self._scale_mask.to(scales.device)
        return int((scales[inside] == fill).sum()), int((scales[~inside] != fill).sum())

    @cached_property
    def _scale_mask(self) -> Tensor:
        problem = self._problem
        blocks = range(problem.sorting.blocks)
        return scale_mask(problem, [Tile(m, n) for m in blocks for n in range(problem.n_blocks)])


def scale_mask(problem: Problem, tiles: Sequence[Tile]) -> Tensor:
    """Which bytes of ``out_scale`` the tiles write: bool ``[bytes]``."""
    width = problem.shape.inter if problem.is_gemm1 else problem.shape.hidden
    marked = torch.zeros(problem.max_rows, width // BLOCK, dtype=torch.uint8)
    for tile in tiles:
        rows, columns = _bytes_of(problem, tile, marked.shape[1])
        marked[rows, columns] = 1
    if problem.is_gemm1:
        marked = layout.shuffle_scales(marked, group_pairs=problem.group_pairs)
    return marked.reshape(-1).to(torch.bool)


def _bytes_of(problem: Problem, tile: Tile, row_bytes: int) -> tuple[slice, slice]:
    """A tile's rows, and its columns of an output whose rows take ``row_bytes``."""
    total = problem.shape.inter if problem.is_gemm1 else problem.shape.hidden
    columns = tile_columns(problem, tile)
    atomic = problem.variant.epilogue == "atomic"
    rows = slice(0, problem.tokens) if atomic else problem.sorting.block_rows(tile.m_block)
    return rows, slice(columns.start * row_bytes // total, columns.stop * row_bytes // total)


def _fetch(
    problem: Problem, tiles: Sequence[Tile], argument: Argument, outputs: Mapping[str, Tensor]
) -> None:
    """Copy what the tiles write of one output into the host's memory."""
    assert argument.data is not None
    source = outputs[argument.name].view(torch.uint8).reshape(-1)
    target = torch.from_numpy(argument.data)
    if argument.name == "out_scale" and problem.is_gemm1:
        mask = scale_mask(problem, tiles)
        target[mask] = source.cpu()[mask]
        return
    rows = problem.tokens if problem.variant.epilogue == "atomic" else problem.max_rows
    source, target = source.reshape(rows, -1), target.reshape(rows, -1)
    for place in sorted({_places(problem, tile, source.shape[1]) for tile in tiles}):
        start, stop, first, last = place
        target[start:stop, first:last] = source[start:stop, first:last].cpu()


def _places(problem: Problem, tile: Tile, row_bytes: int) -> tuple[int, int, int, int]:
    rows, columns = _bytes_of(problem, tile, row_bytes)
    return rows.start, rows.stop, columns.start, columns.stop
