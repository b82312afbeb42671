"""Runs a compiled kernel in the emulator and compares what it wrote with the float64 reference.

``python -m mxfp4kernels.numerics gemm1 bm32_nt --shape 8x512x256x2 --m 5 --flags all`` prints a
verdict and, where there are mismatches, the first wrong elements.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from . import layout
from .bounds import F32_STEP, product_bound, silu_bound
from .compare import Comparison, WrongElement, compare_bf16, compare_mxfp4, round_bf16
from .emulator import Memory, explicit_arguments, pack_kernarg
from .emulator import launch as emulate
from .inputs import CONTENTS, ROUTINGS
from .isa.parser import parse
from .kernarg import Parameter, Pointer, Scalar, explicit_values
from .mx import BLOCK, MXTensor, ScaleRule
from .problem import WORKGROUP, Argument, Problem, Tile
from .reference import gate_up_rows, matmul, silu_product
from .shapes import TILE_N, Shape, Variant, find_variant, parse_shape

OUTPUTS_PER_TILE = TILE_N // 2
"""Columns of gemm1's output that a tile of gate and up makes."""


@dataclass(frozen=True)
class Result:
    """What a kernel's output looked like next to the reference.

    Args:
        problem: what was run.
        tiles: the tiles compared.
        comparison: the counts; see :class:`mxfp4kernels.compare.Comparison`.
        strays: output bytes changed outside the tiles that ran.
        outputs: the output buffers as uint8 ``[bytes]``.
        seconds: time in the emulator.
    """

    problem: Problem
    tiles: tuple[Tile, ...]
    comparison: Comparison
    strays: int
    outputs: Mapping[str, Tensor]
    seconds: float

    @property
    def digest(self) -> str:
        """SHA-256 over the output buffers: equal for runs that wrote the same bits."""
        digest = hashlib.sha256()
        for name in sorted(self.outputs):
            digest.update(self.outputs[name].numpy().tobytes())
        return digest.hexdigest()

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
        width = OUTPUTS_PER_TILE if self.problem.is_gemm1 else TILE_N
        block_m = self.problem.variant.block_m
        if self.problem.variant.epilogue == "atomic":
            return f"{wrong} [token row, n_block {wrong.column // width}]"
        return (
            f"{wrong} [m_block {wrong.row // block_m} row {wrong.row % block_m}, "
            f"n_block {wrong.column // width} column {wrong.column % width}]"
        )


# --- what to run ---------------------------------------------------------------------------------


def all_workgroups(problem: Problem) -> tuple[int, ...]:
    """The whole grid, workgroups past the last tile included."""
    return tuple(range(problem.workgroups))


def sampled_workgroups(problem: Problem, extra: int = 2) -> tuple[int, ...]:
    """Workgroups of the first, the last, a partly padded and ``extra`` random blocks, and one idle.

    Of each block of rows the first and the last block of columns are taken.
    """
    sorting = problem.sorting
    padding = (sorting.m_indices == problem.tokens).reshape(sorting.blocks, -1)
    partial = padding.any(dim=1).nonzero().flatten().tolist()
    rng = np.random.default_rng(problem.seed)
    picked = {0, sorting.blocks - 1, *partial[:1]}
    picked |= {int(block) for block in rng.integers(0, sorting.blocks, extra)}
    ends = (0, problem.n_blocks - 1)
    tiles = sorting.blocks * problem.n_blocks
    chosen = {block * problem.n_blocks + n_block for block in picked for n_block in ends}
    chosen.add(min(tiles, problem.workgroups - 1))
    return tuple(sorted({number % problem.workgroups for number in chosen}))


# --- the launch ----------------------------------------------------------------------------------


def verify(assembly: str, problem: Problem, workgroups: Sequence[int] | None = None) -> Result:
    """Run a kernel's assembly on a problem and compare.

    Args:
        assembly: text with exactly one kernel, compiled for the problem's variant and shape.
        problem: the inputs.
        workgroups: which to run; the whole grid when left out.

    Raises:
        ValueError: no workgroup, or one outside the grid.
    """
    chosen = all_workgroups(problem) if workgroups is None else tuple(sorted(set(workgroups)))

    def run(arguments: Sequence[Argument]) -> None:
        launch(assembly, problem, arguments, chosen)

    return verify_run(run, problem, chosen)


def verify_run(
    run: Callable[[Sequence[Argument]], None], problem: Problem, workgroups: Sequence[int]
) -> Result:
    """Let ``run`` write the outputs among a problem's arguments, and compare.

    Args:
        run: executes ``workgroups`` of the kernel on the arguments' own memory.
        problem: the inputs.
        workgroups: what ``run`` executes.

    Raises:
        ValueError: no workgroup, or one outside the grid.
    """
    if not workgroups or min(workgroups) < 0 or max(workgroups) >= problem.workgroups:
        raise ValueError(
            f"workgroups must lie in 0..{problem.workgroups - 1}, got {list(workgroups)[:8]}"
        )
    tiles = tuple(sorted(tile for group in workgroups for tile in problem.tiles_of(group)))
    experts = {int(problem.sorting.sorted_expert_ids[tile.m_block]) for tile in tiles}
    arguments = problem.arguments(experts)
    outputs = {
        argument.name: torch.from_numpy(argument.data)
        for argument in arguments
        if argument.output and argument.data is not None
    }
    before = {name: data.clone() for name, data in outputs.items()}
    start = time.perf_counter()
    run(arguments)
    seconds = time.perf_counter() - start
    comparison, written = check_outputs(problem, tiles, outputs)
    strays = sum(
        int(((data != before[name]) & ~written[name]).sum()) for name, data in outputs.items()
    )
    return Result(problem, tiles, comparison, strays, outputs, seconds)


def launch(
    assembly: str,
    problem: Problem,
    arguments: Sequence[Argument],
    workgroups: Sequence[int],
) -> None:
    """Run ``workgroups`` in the emulator on the arguments' own memory.

    Inputs are read-only, buffers have their exact size, and a buffer that the variant has no use
    for is a null address, so that a wrong access faults.

    Raises:
        KernargError: the kernel takes other parameters.
        EmulatorError: the kernel cannot be run, or accesses what it must not.
    """
    program = parse(assembly)
    memory = Memory()
    addresses = {
        argument.name: memory.allocate(argument.name, argument.data, writable=argument.output)
        for argument in arguments
        if argument.data is not None
    }
    grid = (problem.workgroups, 1, 1)
    values = explicit_values(explicit_arguments(program), parameters(arguments, addresses))
    kernarg = pack_kernarg(program, values, grid, WORKGROUP)
    emulate(program, kernarg, grid, WORKGROUP, memory, workgroups=workgroups)


def parameters(arguments: Sequence[Argument], addresses: dict[str, int]) -> list[Parameter]:
    """The arguments as kernel parameters; an argument without an address is null."""
    return [
        Scalar(argument.name, argument.value)
        if argument.value is not None
        else Pointer(argument.name, addresses.get(argument.name, 0), argument.shape)
        for argument in arguments
    ]


# --- the comparison ------------------------------------------------------------------------------


def check_outputs(
    problem: Problem, tiles: Sequence[Tile], outputs: dict[str, Tensor]
) -> tuple[Comparison, dict[str, Tensor]]:
    """Compare the outputs of ``tiles`` with the reference.

    Args:
        problem: what was run.
        tiles: the tiles that ran.
        outputs: the output buffers as uint8 ``[bytes]``.

    Returns:
        The counts, and for every output which bytes the tiles may have changed.
    """
    if problem.is_gemm1:
        return _check_mxfp4(problem, tiles, outputs)
    if problem.variant.epilogue == "mxfp4":
        return _check_mxfp4(problem, tiles, outputs)
    if problem.variant.epilogue == "atomic":
        return _check_atomic(problem, tiles, outputs)
    return _check_flat(problem, tiles, outputs)


def tile_value(problem: Problem, tile: Tile) -> tuple[Tensor, Tensor]:
    """A tile's exact values and the bounds of the kernel's: float64 ``[BM, 128 or 256]`` each."""
    expert = int(problem.sorting.sorted_expert_ids[tile.m_block])
    span = problem.sorting.block_rows(tile.m_block)
    weights = problem.weights(expert)
    if problem.is_gemm1:
        return _gemm1_tile(problem, span, weights, tile.n_block)
    used = problem.shape.inter_used
    columns = slice(tile.n_block * TILE_N, (tile.n_block + 1) * TILE_N)
    a, b = problem.a[span].first(used), weights[columns].first(used)
    return matmul(a, b), product_bound(a, b)


def _gemm1_tile(
    problem: Problem, span: slice, weights: MXTensor, n_block: int
) -> tuple[Tensor, Tensor]:
    indices = problem.sorting.m_indices[span]
    a = MXTensor(
        layout.gather_rows(problem.a.packed, indices), layout.gather_rows(problem.a.scales, indices)
    )
    columns = slice(n_block * OUTPUTS_PER_TILE, (n_block + 1) * OUTPUTS_PER_TILE)
    gate_rows, up_rows = (half[columns] for half in gate_up_rows(weights))
    gate, up = matmul(a, gate_rows), matmul(a, up_rows)
    bound = silu_bound(gate, up, product_bound(a, gate_rows), product_bound(a, up_rows))
    return silu_product(gate, up), bound


def _at(comparison: Comparison, row: int, column: int) -> Comparison:
    """The comparison with its wrong elements numbered in the whole output."""
    moved = tuple(
        replace(wrong, row=wrong.row + row, column=wrong.column + column)
        for wrong in comparison.wrong
    )
    return replace(comparison, wrong=moved)


def _check_mxfp4(
    problem: Problem, tiles: Sequence[Tile], outputs: dict[str, Tensor]
) -> tuple[Comparison, dict[str, Tensor]]:
    q_name = "out_q" if problem.is_gemm1 else "out"
    width = OUTPUTS_PER_TILE if problem.is_gemm1 else TILE_N
    rule = ScaleRule.GEMM1 if problem.is_gemm1 else ScaleRule.GEMM2
    packed = outputs[q_name].reshape(problem.max_rows, -1)
    scales = _read_scales(problem, outputs["out_scale"], packed.shape[1] * 2 // BLOCK)
    q_written = torch.zeros_like(packed, dtype=torch.bool)
    scale_written = torch.zeros_like(scales, dtype=torch.bool)
    total = Comparison()
    for tile in tiles:
        value, bound = tile_value(problem, tile)
        rows = problem.sorting.block_rows(tile.m_block)
        q_columns = slice(tile.n_block * width // 2, (tile.n_block + 1) * width // 2)
        s_columns = slice(tile.n_block * width // BLOCK, (tile.n_block + 1) * width // BLOCK)
        got = MXTensor(packed[rows, q_columns], scales[rows, s_columns])
        total += _at(compare_mxfp4(got, value, bound, rule), rows.start, tile.n_block * width)
        q_written[rows, q_columns] = True
        scale_written[rows, s_columns] = True
    written = {
        q_name: q_written.reshape(-1),
        "out_scale": _scale_mask(problem, scale_written),
    }
    return total, written


def _read_scales(problem: Problem, buffer: Tensor, blocks: int) -> Tensor:
    if not problem.is_gemm1:
        return buffer.reshape(problem.max_rows, blocks)
    return layout.unshuffle_scales(
        buffer, problem.max_rows, blocks, group_pairs=problem.group_pairs
    )


def _scale_mask(problem: Problem, written: Tensor) -> Tensor:
    if not problem.is_gemm1:
        return written.reshape(-1)
    as_bytes = written.to(torch.uint8)
    return layout.shuffle_scales(as_bytes, group_pairs=problem.group_pairs).to(torch.bool)


def _check_flat(
    problem: Problem, tiles: Sequence[Tile], outputs: dict[str, Tensor]
) -> tuple[Comparison, dict[str, Tensor]]:
    out = outputs["out"].view(torch.bfloat16).reshape(problem.max_rows, -1)
    written = torch.zeros_like(out, dtype=torch.bool)
    total = Comparison()
    for tile in tiles:
        value, bound = tile_value(problem, tile)
        rows = problem.sorting.block_rows(tile.m_block)
        columns = slice(tile.n_block * TILE_N, (tile.n_block + 1) * TILE_N)
        ends = (round_bf16(end) for end in (value - bound, value, value + bound))
        result = compare_bf16(out[rows, columns], value, *ends)
        total += _at(result, rows.start, columns.start)
        written[rows, columns] = True
    return total, {"out": written.reshape(-1).repeat_interleave(2)}


def _check_atomic(
    problem: Problem, tiles: Sequence[Tile], outputs: dict[str, Tensor]
) -> tuple[Comparison, dict[str, Tensor]]:
    out = outputs["out"].view(torch.bfloat16).reshape(problem.tokens, -1)
    written = torch.zeros_like(out, dtype=torch.bool)
    total = Comparison()
    for n_block in sorted({tile.n_block for tile in tiles}):
        columns = slice(n_block * TILE_N, (n_block + 1) * TILE_N)
        sums = _AtomicSums(problem.tokens)
        for tile in tiles:
            if tile.n_block == n_block:
                sums.add(problem, tile)
        result = compare_bf16(out[:, columns], sums.value, *sums.ends())
        total += _at(result, 0, columns.start)
        written[:, columns] = sums.touched[:, None]
    return total, {"out": written.reshape(-1).repeat_interleave(2)}


class _AtomicSums:
    """Weighted rows that tiles of one block of columns add to each token, as intervals in bf16.

    A tile is of one expert and so holds a token at most once. ``low``, ``rounded`` and ``high`` are
    each addition's operand after its rounding to bf16; slot i holds a token's i-th addition, and
    tokens with fewer have zeros there.
    """

    def __init__(self, tokens: int) -> None:
        self.value = torch.zeros(tokens, TILE_N, dtype=torch.float64)
        self.counts = torch.zeros(tokens, dtype=torch.int64)
        self._low: list[Tensor] = []
        self._rounded: list[Tensor] = []
        self._high: list[Tensor] = []

    @property
    def touched(self) -> Tensor:
        """Tokens that something is added to: bool ``[tokens]``."""
        return self.counts > 0

    def add(self, problem: Problem, tile: Tile) -> None:
        span = problem.sorting.block_rows(tile.m_block)
        tokens = problem.sorting.m_indices[span].to(torch.int64)
        real = tokens < problem.tokens
        tokens = tokens[real]
        value, bound = (part[real] for part in tile_value(problem, tile))
        weight = problem.sorting.sorted_weights[span][real].to(torch.float64)[:, None]
        weighted = value * weight
        reach = (bound + value.abs() * F32_STEP) * weight.abs()
        self.value[tokens] += weighted
        self._put(self._low, tokens, round_bf16(weighted - reach))
        self._put(self._rounded, tokens, round_bf16(weighted))
        self._put(self._high, tokens, round_bf16(weighted + reach))
        self.counts[tokens] += 1

    def _put(self, slots: list[Tensor], tokens: Tensor, rows: Tensor) -> None:
        while len(slots) <= int(self.counts[tokens].max()):
            slots.append(torch.zeros(self.value.shape, dtype=torch.bfloat16))
        for slot in set(self.counts[tokens].tolist()):
            here = self.counts[tokens] == slot
            slots[slot][tokens[here]] = rows[here]

    def ends(self) -> tuple[Tensor, Tensor, Tensor]:
        """The least, the in-order and the greatest sum over every order of additions."""
        in_order = torch.zeros(self.value.shape, dtype=torch.bfloat16)
        for slot in self._rounded:
            in_order += slot
        return (
            extreme_sum(self._low, torch.minimum),
            in_order,
            extreme_sum(self._high, torch.maximum),
        )


def extreme_sum(addends: Sequence[Tensor], better: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The extreme bf16 sum over all orders of adding, each partial sum rounded.

    Rounded addition is monotone, so the extreme of a set of addends comes from the extreme of the
    set without its last one: 2**n sets instead of n! orders.

    Args:
        addends: bf16 tensors of one shape.
        better: ``torch.minimum`` or ``torch.maximum``.
    """
    best = {frozenset[int](): torch.zeros_like(addends[0])}
    for size in range(1, len(addends) + 1):
        larger: dict[frozenset[int], Tensor] = {}
        for chosen in map(frozenset, combinations(range(len(addends)), size)):
            sums = [best[chosen - {last}] + addends[last] for last in chosen]
            larger[chosen] = reduce(better, sums)
        best = larger
    return next(iter(best.values()))


# --- command -------------------------------------------------------------------------------------


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mxfp4kernels.numerics", description=__doc__)
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
    from .compiler import Compiler, Job
    from .flags import parse_flags

    return Compiler(workers=1).compile(Job(variant, shape, parse_flags(flags))).assembly


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; 0 if the kernel's output is right, 1 if not."""
    options = _parser().parse_args(argv)
    variant, shape = find_variant(options.kernel, options.variant), parse_shape(options.shape)
    problem = Problem(variant, shape, options.m, options.routing, options.seed, options.content)
    text = options.asm.read_text() if options.asm else _assembly(variant, shape, options.flags)
    workgroups = sampled_workgroups(problem) if options.sample else None
    result = verify(text, problem, workgroups)
    print(result.report())
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
