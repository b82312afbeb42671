"""Program flow: branches, barrier, end, waits and the instructions that change nothing here."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import SCALAR_ROWS, SCC_ROW, Array, Site
from mxfp4kernels.emulator.waves import EXEC, VCC, Mode, Waves


class Stop(Enum):
    """Why a straight run of instructions stops."""

    BRANCH = "branch"
    BARRIER = "barrier"
    END = "end"


@dataclass(frozen=True)
class Flow:
    """An instruction that the scheduler handles.

    Attributes:
        stop: what it does.
        target: index of the instruction that a branch goes to.
        taken: for a branch, the waves that take it, bool [waves].
    """

    stop: Stop
    target: int = -1
    taken: Callable[[Waves], npt.NDArray[np.bool_]] | None = None


def _zero(w: Waves, row: int) -> Array:
    return np.logical_not(w.s[row : row + 2, :, 0].any(axis=0))


CONDITIONS: dict[str, Callable[[Waves], Array]] = {
    "s_branch": lambda w: np.ones(w.count, np.bool_),
    "s_cbranch_scc0": lambda w: ~w.scc[:, 0],
    "s_cbranch_scc1": lambda w: w.scc[:, 0],
    "s_cbranch_vccz": lambda w: _zero(w, VCC),
    "s_cbranch_vccnz": lambda w: ~_zero(w, VCC),
    "s_cbranch_execz": lambda w: _zero(w, EXEC),
    "s_cbranch_execnz": lambda w: ~_zero(w, EXEC),
}


@REGISTRY.add(*CONDITIONS)
def _branch(site: Site, opcode: str, encoding: str) -> Flow:
    site.expect(1)
    label = site.operands[0].text
    if label not in site.program.labels:
        raise site.fail(f"label {label} is not in the program")
    target = site.program.labels[label]
    if target >= len(site.program.instructions):
        raise site.fail(f"label {label} lies behind the last instruction")
    if "vcc" in opcode:
        site.reads.update((SCALAR_ROWS + VCC, SCALAR_ROWS + VCC + 1))
    elif "scc" in opcode:
        site.reads.add(SCC_ROW)
    return Flow(Stop.BRANCH, target, CONDITIONS[opcode])


@REGISTRY.add("s_endpgm", "s_endpgm_saved")
def _end(site: Site, opcode: str, encoding: str) -> Flow:
    return Flow(Stop.END)


@REGISTRY.add("s_barrier")
def _barrier(site: Site, opcode: str, encoding: str) -> Flow:
    return Flow(Stop.BARRIER)


@REGISTRY.add(
    "s_nop", "s_waitcnt", "s_sleep", "s_setprio", "s_sethalt", "s_icache_inv", "s_ttracedata",
    "s_sendmsg", "s_incperflevel", "s_decperflevel", "v_nop", "s_set_gpr_idx_off",
)  # fmt: skip
def _nothing(site: Site, opcode: str, encoding: str) -> Execute:
    """No effect on the results of a program whose waits are right."""
    return lambda w: None


_MODE_FIELDS = {(4, 2): "denorm32", (6, 2): "denorm64"}


@REGISTRY.add("s_setreg_imm32_b32", "s_setreg_b32")
def _set_mode(site: Site, opcode: str, encoding: str) -> Execute:
    """Only the rounding and denormal fields of MODE, rounding only to nearest even."""
    site.expect(2)
    first, width = _mode_field(site, site.operands[0].text)
    read = site.read(site.operands[1], "u32")

    def execute(w: Waves) -> None:
        values = np.unique(read(w)) & np.uint32((1 << width) - 1)
        if len(values) != 1:
            raise site.fail("waves of a batch set different modes")
        bits = _mode_bits(w.mode) & ~((1 << width) - 1 << first) | int(values[0]) << first
        if bits & 0xF:
            raise site.fail("only rounding to nearest even is implemented")
        w.mode = replace(w.mode, denorm32=bits >> 4 & 3, denorm64=bits >> 6 & 3)

    return execute


def _mode_bits(mode: Mode) -> int:
    return mode.denorm32 << 4 | mode.denorm64 << 6


def _mode_field(site: Site, text: str) -> tuple[int, int]:
    parts = [p.strip() for p in text.removeprefix("hwreg(").removesuffix(")").split(",")]
    if parts[0] not in ("HW_REG_MODE", "1"):
        raise site.fail(f"hardware register {parts[0]} is not implemented")
    first, width = (int(parts[1], 0), int(parts[2], 0)) if len(parts) == 3 else (0, 32)
    if first + width > 8:
        raise site.fail("only bits 0..7 of MODE are implemented")
    return first, width
