"""Launching a kernel: registers as the hardware sets them up, workgroups in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.decode import Decoded, decode
from mxfp4kernels.emulator.errors import LaunchError
from mxfp4kernels.emulator.kernarg import Size3
from mxfp4kernels.emulator.memory import Memory
from mxfp4kernels.emulator.scheduler import INSTRUCTION_LIMIT, Scheduler
from mxfp4kernels.emulator.transfers import Atomic
from mxfp4kernels.emulator.waves import (
    EXEC,
    LANES,
    REGISTER_POISON,
    SGPR_ROWS,
    Mode,
    Scratch,
    Waves,
)
from mxfp4kernels.isa.program import Program

LDS_LIMIT = 163840
"""Bytes of LDS that a workgroup can have on gfx950."""
MAX_BLOCK = 1024
GRID_LIMIT = 2**32 - 1
"""Work-items along an axis of a grid that a dispatch packet can name."""
STATE_LIMIT = 1 << 29
"""Bytes of registers and LDS that one batch of workgroups may take."""
MAX_BATCH = 64
MAX_WORKGROUPS = 1 << 20
"""Workgroups of one launch that can be run: far more than the emulator gets through in a day."""


@dataclass(frozen=True)
class RunResult:
    """What a launch executed.

    Attributes:
        decoded: the program.
        workgroups: flat ids of the workgroups that ran.
        waves: waves that ran.
        counts: int64 [instructions], waves that executed each instruction.
    """

    decoded: Decoded
    workgroups: tuple[int, ...]
    waves: int
    counts: npt.NDArray[np.int64]

    @property
    def wave_instructions(self) -> int:
        """Instructions executed, summed over waves."""
        return int(self.counts.sum())

    def by_opcode(self) -> Counter[str]:
        """Executed wave-instructions per opcode."""
        total: Counter[str] = Counter()
        for step, count in zip(self.decoded.steps, self.counts, strict=True):
            if count:
                total[step.instruction.opcode] += int(count)
        return total


@dataclass(frozen=True)
class Launch:
    """One kernel launch.

    Attributes:
        decoded: the program.
        kernarg: the kernarg segment.
        grid: workgroups along x, y, z.
        block: work-items of a workgroup along x, y, z.
        memory: global memory.
        workgroups: flat ids (x fastest) of the workgroups to run.
        dynamic_lds: bytes of LDS beyond the static size.
    """

    decoded: Decoded
    kernarg: bytes
    grid: Size3
    block: Size3
    memory: Memory
    workgroups: tuple[int, ...]
    dynamic_lds: int

    @property
    def waves_per_workgroup(self) -> int:
        """Waves of a workgroup, the last one perhaps with lanes off."""
        return -(-(self.block[0] * self.block[1] * self.block[2]) // LANES)

    @property
    def lds_bytes(self) -> int:
        """LDS of a workgroup."""
        return self.directive("amdhsa_group_segment_fixed_size") + self.dynamic_lds

    def directive(self, name: str, default: int = 0) -> int:
        """An integer ``.amdhsa_`` directive.

        Raises:
            LaunchError: the directive is an expression, not a number.
        """
        value = self.decoded.program.directives.get(name, default)
        if not isinstance(value, int):
            raise LaunchError(f"directive .{name} must be a number, got {value!r}")
        return value


def launch(
    program: Program | Decoded,
    kernarg: bytes,
    grid: Size3,
    block: Size3,
    memory: Memory,
    *,
    workgroups: Iterable[int] | None = None,
    dynamic_lds: int = 0,
    limit: int = INSTRUCTION_LIMIT,
    threads: int = 1,
) -> RunResult:
    """Run a kernel to its end.

    Args:
        program: parsed or decoded.
        kernarg: the kernarg segment, see :func:`~mxfp4kernels.emulator.kernarg.pack_kernarg`.
        grid: workgroups along x, y, z.
        block: work-items of a workgroup along x, y, z.
        memory: global memory; stores land in its buffers.
        workgroups: flat ids to run (x fastest), all by default.
        dynamic_lds: bytes of LDS beyond the static size.
        limit: instructions that a wave may execute before the run is given up.
        threads: batches of workgroups to run at once. A program with scratch or global atomics
            runs on one whatever is asked, so that the order of the atomics stays the same.

    Raises:
        LaunchError: arguments that do not fit the program.
        UnsupportedInstruction: an instruction that is not implemented.
        MemoryFault: an access outside every buffer or outside LDS.
        EmulatorError: a wave ran past the last instruction, or past the limit.
    """
    call = prepare(program, kernarg, grid, block, memory, workgroups, dynamic_lds)
    counted: list[npt.NDArray[np.int64]] = []

    def run(chosen: Sequence[int], address: int) -> None:
        scheduler = Scheduler(call.decoded, chosen, call.waves_per_workgroup, limit)
        scheduler.run(initial_waves(call, chosen, address))
        counted.append(scheduler.counts)

    for_each_batch(call, run, 1 if _must_be_sequential(call) else threads)
    counts = np.sum([np.zeros(len(call.decoded.steps), np.int64), *counted], axis=0)
    waves = len(call.workgroups) * call.waves_per_workgroup
    return RunResult(call.decoded, call.workgroups, waves, counts)


def prepare(
    program: Program | Decoded,
    kernarg: bytes,
    grid: Size3,
    block: Size3,
    memory: Memory,
    workgroups: Iterable[int] | None,
    dynamic_lds: int,
) -> Launch:
    """Check the arguments of a launch and decode the program.

    Raises:
        LaunchError: see :func:`launch`.
    """
    decoded = program if isinstance(program, Decoded) else decode(program)
    name = decoded.program.name
    threads = block[0] * block[1] * block[2]
    if min(*grid, *block) < 1 or threads > MAX_BLOCK:
        raise LaunchError(
            f"{name}: grid {grid} and block {block} must be at least 1 everywhere and a block at "
            f"most {MAX_BLOCK} work-items"
        )
    if max(grid) > GRID_LIMIT:
        raise LaunchError(f"{name}: grid {grid} must be at most {GRID_LIMIT} along each axis")
    total = grid[0] * grid[1] * grid[2]
    if workgroups is None and total > MAX_WORKGROUPS:
        raise LaunchError(
            f"{name}: grid {grid} has {total} workgroups, and at most {MAX_WORKGROUPS} can be run "
            "at once; choose some with workgroups"
        )
    chosen = tuple(range(total)) if workgroups is None else tuple(int(w) for w in workgroups)
    if any(not 0 <= w < total for w in chosen) or len(set(chosen)) != len(chosen):
        raise LaunchError(f"{name}: workgroups must be distinct and lie in 0..{total - 1}")
    call = Launch(decoded, kernarg, grid, block, memory, chosen, dynamic_lds)
    needed = call.directive("amdhsa_kernarg_size")
    if len(kernarg) < needed:
        raise LaunchError(f"{name} needs {needed} bytes of kernarg, got {len(kernarg)}")
    if call.lds_bytes > LDS_LIMIT:
        raise LaunchError(f"{name} asks for {call.lds_bytes} bytes of LDS, limit {LDS_LIMIT}")
    required = decoded.program.metadata.get(".reqd_workgroup_size")
    if required is not None and tuple(required) != tuple(block):
        raise LaunchError(f"{name} requires block {tuple(required)}, got {tuple(block)}")
    return call


SCRATCH = "scratch"


def _scratch(call: Launch) -> Scratch:
    """The private memory that :func:`for_each_batch` made."""
    size = call.directive("amdhsa_private_segment_fixed_size")
    found = [buffer for buffer in call.memory.buffers if buffer.name == SCRATCH]
    return Scratch(found[-1].address, size) if size else Scratch()


def _must_be_sequential(call: Launch) -> bool:
    """Batches share the scratch buffer, and the order of their global atomics must not vary."""
    transfers = (step.transfer for step in call.decoded.steps)
    atomics = any(isinstance(t, Atomic) and t.space == "global" for t in transfers)
    return atomics or bool(call.directive("amdhsa_private_segment_fixed_size"))


def for_each_batch(
    call: Launch, run: Callable[[Sequence[int], int], None], threads: int = 1
) -> None:
    """Call ``run(workgroups, kernarg address)`` for batches that fit in memory."""
    address = call.memory.allocate(
        "kernarg", np.frombuffer(call.kernarg or b"\0", np.uint8), writable=False
    )
    registers = call.waves_per_workgroup * 4 * (call.decoded.layout.rows * LANES + SGPR_ROWS)
    size = min(MAX_BATCH, STATE_LIMIT // (registers + call.lds_bytes + 1))
    size = max(1, min(size, -(-len(call.workgroups) // threads)))
    batches = [call.workgroups[i : i + size] for i in range(0, len(call.workgroups), size)]
    lanes = size * call.waves_per_workgroup * LANES
    private = call.directive("amdhsa_private_segment_fixed_size") * lanes
    scratch = call.memory.allocate(SCRATCH, private) if private else None
    try:
        if threads == 1:
            for batch in batches:
                run(batch, address)
        else:
            with ThreadPoolExecutor(threads) as pool:
                for _ in pool.map(run, batches, [address] * len(batches)):
                    pass
    finally:
        call.memory.free(address)
        if scratch is not None:
            call.memory.free(scratch)


def initial_waves(call: Launch, workgroups: Sequence[int], kernarg_address: int) -> Waves:
    """The waves of some workgroups before their first instruction.

    Registers and LDS that the hardware does not set hold poison.
    """
    per = call.waves_per_workgroup
    count = per * len(workgroups)
    ids = np.arange(count)
    slots = ids // per
    v = np.full((call.decoded.layout.rows, count, LANES), REGISTER_POISON, np.uint32)
    s = np.full((SGPR_ROWS, count, 1), REGISTER_POISON, np.uint32)
    lds = np.full((len(workgroups), -(-call.lds_bytes // 4)), REGISTER_POISON, np.uint32)
    lds_bytes = lds.view(np.uint8)[:, : call.lds_bytes]
    flat = np.array(workgroups, np.int64)[slots]
    _set_scalars(call, s, flat, kernarg_address)
    item = (ids % per)[:, None] * LANES + np.arange(LANES)
    _set_items(call, v, item)
    active = item < call.block[0] * call.block[1] * call.block[2]
    mode = Mode(
        call.directive("amdhsa_float_denorm_mode_32", 3),
        call.directive("amdhsa_float_denorm_mode_16_64", 3),
        bool(call.directive("amdhsa_dx10_clamp", 1)),
    )
    scc = np.zeros((count, 1), np.bool_)
    lds_bytes = np.ascontiguousarray(lds_bytes)
    waves = Waves(ids, slots, v, s, scc, lds_bytes, call.memory, 0, mode, _scratch(call))
    waves.set_mask(EXEC, active)
    waves.exec_changed()
    return waves


def _set_items(call: Launch, v: npt.NDArray[np.uint32], item: npt.NDArray[np.int64]) -> None:
    """v0: work-item ids, x in bits 9:0, y in 19:10, z in 29:20 (packed since gfx90a)."""
    x = item % call.block[0]
    y = item // call.block[0] % call.block[1]
    z = item // (call.block[0] * call.block[1])
    dimensions = call.directive("amdhsa_system_vgpr_workitem_id")
    packed = x | (y << 10 if dimensions >= 1 else 0) | (z << 20 if dimensions >= 2 else 0)
    v[0] = packed.astype(np.uint32)


UNSUPPORTED_USER_SGPRS = (
    ("private_segment_buffer", 4),
    ("dispatch_ptr", 2),
    ("queue_ptr", 2),
)


def _set_scalars(
    call: Launch, s: npt.NDArray[np.uint32], flat: npt.NDArray[np.int64], kernarg_address: int
) -> None:
    """User SGPRs in the order that the directives enable, then the workgroup ids.

    Source: LLVM AMDGPUUsage, "Initial Kernel Execution State". Pointers to structures that this
    launch does not have (dispatch packet, queue) stay poisoned.
    """
    at = 0
    for name, size in UNSUPPORTED_USER_SGPRS:
        at += size if call.directive(f"amdhsa_user_sgpr_{name}") else 0
    if call.directive("amdhsa_user_sgpr_kernarg_segment_ptr"):
        s[at] = kernarg_address & 0xFFFFFFFF
        s[at + 1] = kernarg_address >> 32
        at += 2
    for name, size in (("dispatch_id", 2), ("flat_scratch_init", 2), ("private_segment_size", 1)):
        at += size if call.directive(f"amdhsa_user_sgpr_{name}") else 0
    at += _preload(call, s, at)
    at = max(at, call.directive("amdhsa_user_sgpr_count", at))
    x = flat % call.grid[0]
    y = flat // call.grid[0] % call.grid[1]
    z = flat // (call.grid[0] * call.grid[1])
    for name, value, default in (("x", x, 1), ("y", y, 0), ("z", z, 0)):
        if call.directive(f"amdhsa_system_sgpr_workgroup_id_{name}", default):
            s[at, :, 0] = value.astype(np.uint32)
            at += 1


def _preload(call: Launch, s: npt.NDArray[np.uint32], at: int) -> int:
    """Kernarg dwords that the hardware loads ahead into SGPRs."""
    length = call.directive("amdhsa_user_sgpr_kernarg_preload_length")
    offset = call.directive("amdhsa_user_sgpr_kernarg_preload_offset")
    content = call.kernarg[4 * offset : 4 * (offset + length)].ljust(4 * length, b"\0")
    s[at : at + length] = np.frombuffer(content, "<u4")[:, None, None]
    return length
