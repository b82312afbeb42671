"""Loads, LDS reads, MFMAs and waits of a K loop in the order of issue, from an executed trace.

For each load it is known which wait ends it: the first that waits for few enough later operations.
The order is that of issue, not of time; how long anything takes is another question.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from ..emulator.trace import trace
from ..isa import Program, find_regions, waitcnt
from ..isa.classes import InstructionClass, Kind, kind_of
from ..numerics.emulation import EmulatedLaunch
from ..numerics.problem import WORKGROUP
from ..numerics.verification import Verification
from .cases import Case
from .measure import problem_of

VM, LGKM = "vmcnt", "lgkmcnt"


def timeline(case: Case, assembly: str) -> dict[str, Any]:
    """The memory operations, MFMAs, waits and barriers of one wave of workgroup 0.

    Returns:
        ``events``: for each the position among executed instructions, line, opcode (a wait whole),
        kind, region, vector memory operations in flight after it, and of a load or LDS read the
        position of the wait that ends it (empty: none before the end).

    Raises:
        EmulatorError: the kernel cannot be run.
    """
    verification = Verification(problem_of(case), [0])
    launch = EmulatedLaunch.of(assembly, verification.problem, verification.arguments)
    run = trace(
        launch.program, launch.kernarg, launch.grid, WORKGROUP, launch.memory, workgroups=[0]
    )
    return {"events": events(launch.program, run.waves[0].indices.tolist())}


KINDS = {
    (InstructionClass.VMEM, "load_to_lds"): "load to LDS",
    (InstructionClass.VMEM, "load"): "load",
    (InstructionClass.LDS, "read"): "LDS read",
    (InstructionClass.MFMA, "mfma"): "MFMA",
    (InstructionClass.WAIT, "wait"): "wait",
    (InstructionClass.BARRIER, "barrier"): "barrier",
}
"""What is kept of a run."""


def events(program: Program, executed: Sequence[int]) -> list[dict[str, Any]]:
    """What :func:`timeline` returns, of a wave that executed these instructions."""
    regions = find_regions(program)
    queues: dict[str, deque[dict[str, Any]]] = {VM: deque(), LGKM: deque()}
    found = []
    for position, index in enumerate(executed):
        instruction = program.instructions[index]
        kind = kind_of(instruction)
        counter = _counter(kind)
        event = {
            "position": position,
            "line": instruction.line,
            "opcode": instruction.text if kind.of is InstructionClass.WAIT else instruction.opcode,
            "kind": KINDS.get((kind.of, kind.part), ""),
            "region": str(regions.of[index]),
            "ended_by": "",
        }
        if counter:
            queues[counter].append(event)
        for name, count in (waitcnt(instruction) if event["kind"] == "wait" else {}).items():
            while len(queues.get(name, ())) > count:
                queues[name].popleft()["ended_by"] = position
        event["vm_in_flight"] = len(queues[VM])
        if event["kind"]:
            found.append(event)
    return found


def _counter(kind: Kind) -> str:
    """The counter that an instruction is on, if any."""
    if kind.of is InstructionClass.VMEM:
        return VM
    return LGKM if kind.of in (InstructionClass.LDS, InstructionClass.SMEM) else ""
