"""Runs compiled kernels in the emulator and compares what they wrote with the float64 reference.

``python -m mxfp4kernels.numerics.verification gemm1 bm32_nt --shape 8x512x256x2 --m 5`` prints a
verdict and, where there are mismatches, the first wrong elements.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

from ..packages import needed

with needed(__name__):
    import numpy as np
    import torch
    from torch import Tensor

from .. import layout
from ..emulator import Report
from ..mx import BLOCK, MXTensor, ScaleRule
from ..shapes import Shape, Variant, find_variant, parse_shape
from .compare import Comparison, WrongElement, compare_bf16, compare_mxfp4, ends, round_bf16
from .emulation import EmulatedLaunch
from .expected import AtomicColumns, tile_columns, tile_value, tile_width
from .inputs import CONTENTS, ROUTINGS
from .problem import Argument, Problem, Tile

Run = Callable[[Sequence[Argument], Sequence[int]], None]
"""Executes workgroups of a kernel on the arguments' own memory."""


@dataclass(frozen=True)
class Result:
    """What a kernel's output looked like next to the reference.

    Args:
        problem: what was run.
        tiles: the tiles compared.
        comparison: the counts; see :class:`mxfp4kernels.numerics.compare.Comparison`.
        strays: output bytes changed outside the tiles that ran.
        digest: SHA-256 over the compared output; equal for runs that wrote the same bits.
        seconds: time in the emulator.
    """

    problem: Problem
    tiles: tuple[Tile, ...]
    comparison: Comparison
    strays: int
    digest: str
    seconds: float

    @property
    def passed(self) -> bool:
        """No mismatch, no stray write, and something was compared."""
        return self.comparison.elements > 0 and self.comparison.mismatches == 0 and self.strays == 0

    def report(self) -> str:
        """The verdict in one line, then the first wrong elements."""
        counts, problem = self.comparison, self.problem
        head = (
            f"{'PASS' if self.passed else 'FAIL'} {problem.variant} {problem.shape} "
            f"M={problem.tokens} {problem.routing} {problem.content}: {len(self.tiles)} tiles, "
            f"{counts.elements} elements, {counts.mismatches} mismatches, {self.strays} stray "
            f"bytes, {counts.boundary_cases} boundary cases ({counts.boundary_differences} "
            f"differ), cos {counts.cos:.8f}, max_abs {counts.max_abs:.3g}, max_ulp "
            f"{counts.max_ulp}, {self.seconds:.2f} s"
        )
        return "\n".join([head, *(f"  {self._locate(wrong)}" for wrong in counts.wrong)])

    def _locate(self, wrong: WrongElement) -> str:
        n_block, column = divmod(wrong.column, tile_width(self.problem))
        if self.problem.variant.epilogue == "atomic":
            return f"{wrong} [token {wrong.row}, n_block {n_block} column {column}]"
        m_block, row = divmod(wrong.row, self.problem.variant.block_m)
        return f"{wrong} [m_block {m_block} row {row}, n_block {n_block} column {column}]"


# --- what to run ---------------------------------------------------------------------------------


def all_workgroups(problem: Problem) -> tuple[int, ...]:
    """The whole grid, workgroups past the last tile included."""
    return tuple(range(problem.workgroups))


def emptiest_block(problem: Problem) -> int:
    """The block of rows with the most padding."""
    padding = (problem.sorting.m_indices == problem.tokens).reshape(problem.sorting.blocks, -1)
    return int(padding.sum(dim=1).argmax())


def sampled_workgroups(problem: Problem, extra: int = 2) -> tuple[int, ...]:
    """A few workgroups: of the first, the last, the emptiest and ``extra`` random row blocks.

    The emptiest takes the paths that skip padded rows. Of each block of rows the first and the last
    block of columns are taken, and one workgroup past the last tile if there is one. Workgroups of
    a persistent grid make many tiles each: three.
    """
    tiles = problem.sorting.blocks * problem.n_blocks
    if problem.variant.persistent and problem.workgroups < tiles:
        return (0, problem.workgroups // 2, problem.workgroups - 1)
    rng = np.random.default_rng(problem.seed)
    picked = {0, problem.sorting.blocks - 1, emptiest_block(problem)}
    picked |= {int(block) for block in rng.integers(0, problem.sorting.blocks, extra)}
    ends = (0, problem.n_blocks - 1)
    chosen = {block * problem.n_blocks + n_block for block in picked for n_block in ends}
    return tuple(sorted({*chosen, min(tiles, problem.workgroups - 1)}))


# --- running and comparing -----------------------------------------------------------------------


class Verification:
    """A problem made ready once, for any number of kernels: inputs laid out, reference kept.

    Args:
        problem: the inputs.
        workgroups: which to run; the whole grid when left out.

    Raises:
        ValueError: no workgroup, or one outside the grid.
    """

    def __init__(self, problem: Problem, workgroups: Sequence[int] | None = None) -> None:
        chosen = all_workgroups(problem) if workgroups is None else sorted(set(workgroups))
        if not chosen or chosen[0] < 0 or chosen[-1] >= problem.workgroups:
            raise ValueError(
                f"workgroups must lie in 0..{problem.workgroups - 1}, got {list(chosen[:8])}"
            )
        self.problem = problem
        self.workgroups = tuple(chosen)
        self.tiles = tuple(sorted(t for group in chosen for t in problem.tiles_of(group)))
        self._expected = cache(lambda tile: tile_value(problem, tile))

    def expected(self, tile: Tile) -> tuple[Tensor, Tensor]:
        """A tile's reference and its bounds, see :func:`.expected.tile_value`."""
        return self._expected(tile)

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The launch's arguments, with the weights that the tiles need."""
        experts = self.problem.sorting.sorted_expert_ids
        return self.problem.arguments({int(experts[tile.m_block]) for tile in self.tiles})

    def verify(self, assembly: str) -> Result:
        """Run a kernel's assembly in the emulator and compare.

        Args:
            assembly: text with exactly one kernel, compiled for the problem's variant and shape.

        Raises:
            KernargError: the kernel takes other parameters.
            EmulatorError: the kernel cannot be run, or accesses what it must not.
        """

        def run(arguments: Sequence[Argument], workgroups: Sequence[int]) -> None:
            EmulatedLaunch.of(assembly, self.problem, arguments).run(workgroups)

        return self.verify_run(run)

    def sanitize(self, assembly: str) -> Report:
        """Run a kernel's assembly under the sanitizer, on the same inputs and workgroups.

        Raises:
            KernargError, EmulatorError: as :meth:`verify`.
        """
        for argument in self.arguments:
            argument.reset()
        return EmulatedLaunch.of(assembly, self.problem, self.arguments).sanitize(self.workgroups)

    def verify_run(self, run: Run) -> Result:
        """As :meth:`verify`, with ``run`` in place of the emulator."""
        for argument in self.arguments:
            argument.reset()
        start = time.perf_counter()
        run(self.arguments, self.workgroups)
        seconds = time.perf_counter() - start
        total, inside, digest = Comparison(), 0, hashlib.sha256()
        for part in self._parts(Outputs(self.problem, self.arguments)):
            total += part.comparison
            inside += part.changed
            digest.update(part.written.numpy().tobytes())
        changed = sum(argument.changed() for argument in self.arguments)
        return Result(
            self.problem, self.tiles, total, changed - inside, digest.hexdigest(), seconds
        )

    def _parts(self, outputs: Outputs) -> Iterator[_Part]:
        epilogue = self.problem.variant.epilogue
        if epilogue == "atomic":
            return self._atomic_parts(outputs)
        if epilogue in ("silu_mxfp4", "mxfp4"):
            return (self._mxfp4_part(outputs, tile) for tile in self.tiles)
        return (self._flat_part(outputs, tile) for tile in self.tiles)

    def _mxfp4_part(self, outputs: Outputs, tile: Tile) -> _Part:
        rule = ScaleRule.GEMM1 if self.problem.is_gemm1 else ScaleRule.GEMM2
        got = outputs.mxfp4(tile)
        comparison = compare_mxfp4(got, *self._expected(tile), rule)
        written = torch.cat((got.packed.reshape(-1), got.scales.reshape(-1)))
        return _Part(outputs.place(comparison, tile), written)

    def _flat_part(self, outputs: Outputs, tile: Tile) -> _Part:
        value, bound = self._expected(tile)
        least, most = ends(value, bound)
        low, rounded, high = (round_bf16(number) for number in (least, value, most))
        got = outputs.bf16(tile)
        comparison = outputs.place(compare_bf16(got, value, low, rounded, high), tile)
        return _Part(comparison, got.contiguous().view(torch.uint8))

    def _atomic_parts(self, outputs: Outputs) -> Iterator[_Part]:
        for n_block, sums in self._sums.items():
            columns = tile_columns(self.problem, Tile(0, n_block))
            got = outputs.tokens()[:, columns]
            comparison = compare_bf16(got, sums.value, sums.low, sums.rounded, sums.high)
            written = got[sums.touched].contiguous().view(torch.uint8)
            yield _Part(_moved(comparison, 0, columns.start), written, fill=0)

    def atomic_columns(self, outputs: Outputs) -> Iterator[tuple[Tensor, Tensor]]:
        """Written and reference values, float64, of the tokens that an atomic kernel adds to."""
        for n_block, sums in self._sums.items():
            got = outputs.tokens()[:, tile_columns(self.problem, Tile(0, n_block))]
            yield got[sums.touched].to(torch.float64), sums.value[sums.touched]

    @cached_property
    def _sums(self) -> Mapping[int, AtomicColumns]:
        n_blocks = sorted({tile.n_block for tile in self.tiles})
        return {
            n_block: AtomicColumns(
                self.problem, [tile for tile in self.tiles if tile.n_block == n_block]
            )
            for n_block in n_blocks
        }


def verify(assembly: str, problem: Problem, workgroups: Sequence[int] | None = None) -> Result:
    """:meth:`Verification.verify` of one kernel on one problem."""
    return Verification(problem, workgroups).verify(assembly)


@dataclass(frozen=True)
class _Part:
    """A compared part of the outputs and its bytes as they were written."""

    comparison: Comparison
    written: Tensor
    fill: int = Argument.POISON

    @property
    def changed(self) -> int:
        return int((self.written != self.fill).sum())


class Outputs:
    """The output buffers of a launch, by tile.

    Args:
        problem: what was run.
        arguments: the launch's arguments.
    """

    def __init__(self, problem: Problem, arguments: Sequence[Argument]) -> None:
        self.problem = problem
        self._buffers = {
            argument.name: torch.from_numpy(argument.data)
            for argument in arguments
            if argument.output and argument.data is not None
        }

    @cached_property
    def packed(self) -> Tensor:
        """Codes, uint8 ``[allocated rows, row bytes]``."""
        buffer = self._buffers["out_q" if self.problem.is_gemm1 else "out"]
        return buffer.reshape(self.problem.max_rows, -1)

    @cached_property
    def scales(self) -> Tensor:
        """Scales, uint8 ``[allocated rows, 32-blocks]``, read back from gemm1's layout."""
        rows, blocks = self.problem.max_rows, self.packed.shape[1] * 2 // BLOCK
        buffer = self._buffers["out_scale"]
        if not self.problem.is_gemm1:
            return buffer.reshape(rows, blocks)
        return layout.unshuffle_scales(buffer, rows, blocks, group_pairs=self.problem.group_pairs)

    def mxfp4(self, tile: Tile) -> MXTensor:
        """A tile of quantised output."""
        rows, columns = self._rows(tile), tile_columns(self.problem, tile)
        blocks = slice(columns.start // BLOCK, columns.stop // BLOCK)
        codes = slice(columns.start // 2, columns.stop // 2)
        return MXTensor(self.packed[rows, codes], self.scales[rows, blocks])

    def rows_mxfp4(self) -> MXTensor:
        """All rows in use of a quantised output."""
        rows = self.problem.sorting.rows
        return MXTensor(self.packed[:rows], self.scales[:rows])

    def bf16(self, tile: Tile) -> Tensor:
        """A tile of flat bf16 output."""
        return self.rows_bf16()[self._rows(tile), tile_columns(self.problem, tile)]

    def rows_bf16(self) -> Tensor:
        """Flat bf16 output, ``[allocated rows, H]``."""
        return self._buffers["out"].view(torch.bfloat16).reshape(self.problem.max_rows, -1)

    def tokens(self) -> Tensor:
        """Output that rows were added to, bf16 ``[M, H]``."""
        return self._buffers["out"].view(torch.bfloat16).reshape(self.problem.tokens, -1)

    def place(self, comparison: Comparison, tile: Tile) -> Comparison:
        """The comparison of a tile with its wrong elements numbered in the whole output."""
        return _moved(comparison, self._rows(tile).start, tile_columns(self.problem, tile).start)

    def _rows(self, tile: Tile) -> slice:
        return self.problem.sorting.block_rows(tile.m_block)


def _moved(comparison: Comparison, row: int, column: int) -> Comparison:
    wrong = tuple(
        replace(element, row=element.row + row, column=element.column + column)
        for element in comparison.wrong
    )
    return replace(comparison, wrong=wrong)


# --- command -------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mxfp4kernels.numerics.verification", description=__doc__)
    parser.add_argument("kernel", choices=("gemm1", "gemm2"))
    parser.add_argument("variant")
    parser.add_argument("--shape", default="4x512x256x2", help="preset or ExHxIxTOPK[rREAL]")
    parser.add_argument("--m", type=int, default=5, help="tokens")
    parser.add_argument("--flags", default="all")
    parser.add_argument("--routing", choices=tuple(ROUTINGS), default="random")
    parser.add_argument("--content", choices=CONTENTS, default="normal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", action="store_true", help="a few tiles instead of all")
    parser.add_argument("--asm", type=Path, help="assembly to run instead of compiling")
    return parser


def _assembly(variant: Variant, shape: Shape, flags: str) -> str:
    from ..compiler import Compiler, Job
    from ..flags import parse_flags

    return Compiler(workers=1).compile(Job(variant, shape, parse_flags(flags))).assembly


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if the kernel's output is right, 1 if not."""
    options = _parser().parse_args(argv)
    torch.set_num_threads(1)  # many small operations: threads cost more than they bring
    variant, shape = find_variant(options.kernel, options.variant), parse_shape(options.shape)
    problem = Problem(variant, shape, options.m, options.routing, options.seed, options.content)
    text = options.asm.read_text() if options.asm else _assembly(variant, shape, options.flags)
    workgroups = sampled_workgroups(problem) if options.sample else None
    result = verify(text, problem, workgroups)
    print(result.report())
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
