"""Modelled device times of this package's kernels: compile, trace a workgroup, time the launch.

Every number that comes from here is modelled, not measured; :mod:`mxfp4kernels.timing` says how.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from .. import emulator, shapes
from ..compiler import CompiledKernel, Compiler, Job
from ..emulator.trace import Trace, trace
from ..flags import FlagSet, acting
from ..isa import Program, occupancy_of
from ..kernarg import explicit_values
from ..layout import max_rows, sort_tokens
from ..numerics.emulation import parameters
from ..numerics.inputs import ROUTINGS, generator
from ..numerics.problem import WORKGROUP, Problem
from ..shapes import Shape, Variant
from ..timing.code import lower
from ..timing.constants import Hardware, read_hardware
from ..timing.device import Estimate, Kernel, estimate, traffic_for
from ..timing.traffic import Tiles, Traffic
from ..timing.work import workgroup_of

PERSISTENT_TILES = (6, 12)
"""Tiles per workgroup of a persistent kernel's two traces: both are past the start, so that
their difference is what tiles add. They divide the tiles of a trace's nine blocks evenly."""
CODE_CONSTANTS = ("trans_cycles", "packed_f32_cycles", "cross_lane_cycles")
"""Constants with a range that the lowered code depends on."""


@dataclass(frozen=True)
class Launch:
    """One launch to model.

    Attributes:
        variant, shape: the kernel.
        tokens: M.
        routing: one of :data:`mxfp4kernels.numerics.inputs.ROUTINGS`.
        seed: of the routing.
    """

    variant: Variant
    shape: Shape
    tokens: int
    routing: str = "family-a"
    seed: int = 0


@lru_cache(maxsize=64)
def tiles_of(launch: Launch) -> Tiles:
    """The tiles of a launch, from its routing."""
    variant, shape = launch.variant, launch.shape
    rng = generator(launch.seed, 1)
    chosen = ROUTINGS[launch.routing](launch.tokens, shape, rng).contiguous()
    weights = torch.zeros(chosen.shape)
    sorting = sort_tokens(chosen, weights, shape.experts, variant.block_m)
    token = sorting.m_indices.numpy().astype(np.int64).reshape(-1, variant.block_m)
    real = token < launch.tokens
    first = variant.kernel == "gemm1"
    row = token[real] if first else np.arange(len(token), dtype=np.int64)
    counts = real.sum(axis=1) if first else np.ones(len(token), np.int64)
    k_bytes = shapes.TILE_K // 2
    rows = 1 if first else variant.block_m
    values = 2 * shapes.TILE_K if variant.inline_quant else k_bytes
    most = max_rows(launch.tokens, shape.topk, shape.experts, variant.block_m)
    return Tiles(
        expert=sorting.sorted_expert_ids.numpy().astype(np.int64),
        row_start=np.cumsum([0, *counts.tolist()], dtype=np.int64),
        row=row,
        columns=shapes.n_blocks(variant, shape),
        k_tiles=shapes.k_tiles(variant, shape),
        row_bytes=rows * (values + shapes.TILE_K // 32),
        column_bytes=shapes.TILE_N * (k_bytes + shapes.TILE_K // 32),
        grid=shapes.workgroups(variant, shape, most // variant.block_m),
        persistent=variant.persistent,
    )


def fill_of(launch: Launch) -> int:
    """The mean number of real rows of the launch's blocks, to the nearest whole row."""
    pairs = launch.tokens * launch.shape.topk
    return max(1, round(pairs / tiles_of(launch).blocks))


class Modeller:
    """Models launches; keeps what they share.

    Args:
        compiler: makes the kernels; its cache is used.
        hardware: the constants.
    """

    def __init__(self, compiler: Compiler | None = None, hardware: Hardware | None = None) -> None:
        self.compiler = Compiler() if compiler is None else compiler
        self.hardware = read_hardware() if hardware is None else hardware
        self._compiled: dict[Job, CompiledKernel] = {}
        self._kernels: dict[tuple[Job, int], tuple[Kernel, Program]] = {}
        self._traffic: dict[tuple[Launch, int], Traffic] = {}

    def prepare(self, jobs: Iterable[Job]) -> None:
        """Compile what is missing, in parallel."""
        missing = [job for job in dict.fromkeys(jobs) if job not in self._compiled]
        for job, made in zip(missing, self.compiler.compile_all(missing), strict=True):
            self._compiled[job] = made

    def assembly_digests(self, jobs: Sequence[Job]) -> list[str]:
        """SHA-256 of each job's assembly."""
        self.prepare(jobs)
        texts = [self._compiled[job].assembly for job in jobs]
        return [hashlib.sha256(text.encode()).hexdigest() for text in texts]

    def kernel(self, variant: Variant, shape: Shape, flags: FlagSet, fill: int) -> Kernel:
        """A kernel with the trace of a workgroup whose block has ``fill`` real rows."""
        return self.traced(variant, shape, flags, fill)[0]

    def traced(
        self, variant: Variant, shape: Shape, flags: FlagSet, fill: int
    ) -> tuple[Kernel, Program]:
        """The kernel and its program."""
        job = Job(variant, shape, acting(variant, flags))
        key = (job, fill)
        if key not in self._kernels:
            self.prepare([job])
            program = self._compiled[job].program
            self._kernels[key] = (
                trace_kernel(program, variant, shape, fill, self.hardware),
                program,
            )
        return self._kernels[key]

    def traffic(self, launch: Launch, kernel: Kernel) -> Traffic:
        """The launch's traffic; the same for all kernels with equal occupancy."""
        key = (launch, kernel.resident)
        if key not in self._traffic:
            self._traffic[key] = traffic_for(kernel, tiles_of(launch), self.hardware)
        return self._traffic[key]

    def estimate(
        self,
        launch: Launch,
        flags: FlagSet,
        hardware: Hardware | None = None,
        clock: float | None = None,
    ) -> Estimate:
        """The modelled time of a launch with some flags on; ``clock`` is a first guess in GHz."""
        kernel, program = self.traced(launch.variant, launch.shape, flags, fill_of(launch))
        traffic = self.traffic(launch, kernel)
        if hardware is not None and any(
            hardware[name] != self.hardware[name] for name in CODE_CONSTANTS
        ):
            kernel = replace(kernel, code=lower(program, hardware))
        return estimate(kernel, tiles_of(launch), hardware or self.hardware, traffic, clock)


def trace_kernel(
    program: Program, variant: Variant, shape: Shape, fill: int, hardware: Hardware
) -> Kernel:
    """Run one workgroup in the emulator and make the kernel ready to be timed.

    All weights are zero: control flow and addresses do not depend on them. All tokens choose the
    same experts, so that each has ``fill`` rows.
    """
    problem = Problem(variant, shape, fill, "same")
    arguments = problem.arguments([])
    memory = emulator.Memory()
    addresses = {
        argument.name: memory.allocate(argument.name, argument.data, writable=argument.output)
        for argument in arguments
        if argument.data is not None
    }
    entries = emulator.explicit_arguments(program)
    values = explicit_values(entries, parameters(arguments, addresses))
    total = problem.sorting.blocks * problem.n_blocks
    grids = {1: problem.workgroups if not variant.persistent else total}
    if variant.persistent:
        grids |= {tiles: -(-total // tiles) for tiles in PERSISTENT_TILES}
    traces: dict[int, Trace] = {}
    for tiles, grid in grids.items():
        kernarg = emulator.pack_kernarg(program, values, (grid, 1, 1), WORKGROUP)
        traces[tiles] = trace(program, kernarg, (grid, 1, 1), WORKGROUP, memory, workgroups=[0])
    return Kernel(
        code=lower(program, hardware),
        works={tiles: workgroup_of(made, 0) for tiles, made in traces.items()},
        buffers=_same_buffers(list(traces.values())),
        resident=occupancy_of(program).workgroups_per_cu,
    )


def _same_buffers(traces: Sequence[Trace]) -> tuple[str, ...]:
    """The buffers of traces that saw the same memory."""
    (names,) = {made.buffers for made in traces}
    return names
