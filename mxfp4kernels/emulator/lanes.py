"""Moves between lanes: DPP controls, ds_swizzle patterns; and the SDWA byte selects."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mxfp4kernels.emulator.site import Array, Reader, Site
from mxfp4kernels.emulator.waves import LANES, Waves

Lanes = npt.NDArray[np.int64]
Valid = npt.NDArray[np.bool_]
LANE = np.arange(LANES)

SELECTS = {"DWORD": (0, 32), "WORD_0": (0, 16), "WORD_1": (16, 16)} | {
    f"BYTE_{n}": (8 * n, 8) for n in range(4)
}
"""SDWA selector to (first bit, width)."""


def dpp_source(control: str, text: str) -> tuple[Lanes, Valid]:
    """For each lane, the lane that a DPP control reads and whether there is one.

    Rows are 16 lanes. Shifts and rotations name the direction in which data moves.

    Raises:
        ValueError: an unknown control, or a value out of its range.
    """
    in_row = LANE % 16
    row = LANE - in_row
    if control == "quad_perm":
        order = [int(part, 0) for part in text.strip("[]").split(",")]
        if len(order) != 4 or not all(0 <= lane < 4 for lane in order):
            raise ValueError(f"quad_perm:{text} must be four lanes in 0..3")
        return LANE // 4 * 4 + np.array(order)[LANE % 4], np.ones(LANES, np.bool_)
    if control in ("row_shl", "row_shr", "row_ror"):
        amount = int(text, 0)
        if not 1 <= amount <= 15:
            raise ValueError(f"{control}:{text} must lie in 1..15")
        moved = in_row + (amount if control == "row_shl" else -amount)
        valid = (moved >= 0) & (moved < 16) | (control == "row_ror")
        return row + moved % 16, valid
    if control in ("wave_shl", "wave_shr", "wave_rol", "wave_ror"):
        moved = LANE + (1 if control.endswith("l") else -1)
        valid = (moved >= 0) & (moved < LANES) | ("ro" in control)
        return moved % LANES, valid
    if control == "row_newbcast":
        lane = int(text, 0)
        if not 0 <= lane <= 15:
            raise ValueError(f"row_newbcast:{text} must lie in 0..15")
        return row + lane, np.ones(LANES, np.bool_)
    if control == "row_mirror":
        return row + 15 - in_row, np.ones(LANES, np.bool_)
    if control == "row_half_mirror":
        return LANE // 8 * 8 + 7 - LANE % 8, np.ones(LANES, np.bool_)
    if control == "row_bcast" and text == "15":
        return np.maximum(row - 1, 0), row > 0
    if control == "row_bcast" and text == "31":
        return np.full(LANES, 31), LANE >= 32
    raise ValueError(f"DPP control {control}:{text} is unknown")


DPP_CONTROLS = (
    "quad_perm",
    "row_shl",
    "row_shr",
    "row_ror",
    "wave_shl",
    "wave_shr",
    "wave_rol",
    "wave_ror",
    "row_newbcast",
    "row_mirror",
    "row_half_mirror",
    "row_bcast",
)


class Dpp:
    """The DPP part of an instruction: where source 0 comes from and which lanes are written."""

    def __init__(self, site: Site) -> None:
        given = [(name, site.modifier(name)) for name in DPP_CONTROLS]
        chosen = [(name, text) for name, text in given if text is not None]
        if len(chosen) != 1:
            raise site.fail("needs exactly one DPP control")
        try:
            self.source, self.valid = dpp_source(*chosen[0])
        except ValueError as error:
            raise site.fail(str(error)) from error
        rows = site.number("row_mask", 0xF)
        banks = site.number("bank_mask", 0xF)
        chosen_rows = rows >> (LANE // 16) & 1
        self.enabled = (chosen_rows & banks >> (LANE // 4 % 4) & 1).astype(np.bool_)
        self.zero_fill = site.modifier("bound_ctrl") is not None

    def permute(self, raw: Reader) -> Reader:
        """``raw`` read from the source lanes, 0 where there is none."""

        def read(w: Waves) -> Array:
            moved = np.broadcast_to(raw(w), (w.count, LANES))[:, self.source]
            return np.where(self.readable(w), moved, np.uint32(0))

        return read

    def readable(self, w: Waves) -> npt.NDArray[np.bool_]:
        """Lanes whose source lane exists and is active."""
        return self.valid & w.lanes[:, self.source]

    def written(self, w: Waves) -> npt.NDArray[np.bool_]:
        """Lanes that the instruction may write."""
        lanes = w.lanes & self.enabled
        return lanes if self.zero_fill else lanes & self.readable(w)


def select(raw: Reader, selector: str, extend: bool) -> Reader:
    """Bytes or words of a dword, zero- or sign-extended to 32 bits."""
    first, width = SELECTS[selector]
    if width == 32:
        return raw
    up, down = np.uint32(32 - width - first), np.uint32(32 - width)
    if extend:
        return lambda w: ((raw(w) << up).view(np.int32) >> down.astype(np.int32)).view(np.uint32)
    return lambda w: (raw(w) << up) >> down


_SWIZZLE = re.compile(r"swizzle\(([A-Z_]+)\s*,\s*(.*)\)")


def swizzle_source(text: str) -> tuple[Lanes, Valid]:
    """For each lane, the lane that ``ds_swizzle_b32 offset:text`` reads.

    A number is the raw pattern: bit 15 set permutes quads by two bits per lane, clear applies
    and, or and xor masks of five bits within each half of the wave; 0xE000 and up are the
    rotation and FFT modes, of which only rotation is implemented.

    Raises:
        ValueError: a pattern that is not understood.
    """
    match = _SWIZZLE.fullmatch(text.strip())
    if match is None:
        return _raw_swizzle(int(text, 0))
    mode, arguments = match[1], [part.strip().strip('"') for part in match[2].split(",")]
    if mode == "BITMASK_PERM":
        masks = {"0": (0, 0, 0), "1": (0, 1, 0), "p": (1, 0, 0), "i": (1, 0, 1)}
        parts = [masks[c] for c in arguments[0]]
        keep, force, flip = (int("".join(str(p[i]) for p in parts), 2) for i in range(3))
        return _raw_swizzle(keep | force << 5 | flip << 10)
    numbers = [int(part, 0) for part in arguments]
    if mode == "QUAD_PERM":
        return _raw_swizzle(0x8000 | sum(lane << 2 * i for i, lane in enumerate(numbers)))
    if mode == "SWAP":
        return _raw_swizzle(0x1F | numbers[0] << 10)
    if mode == "REVERSE":
        return _raw_swizzle(0x1F | (numbers[0] - 1) << 10)
    if mode == "BROADCAST":
        return _raw_swizzle((0x1F & ~(numbers[0] - 1)) | numbers[1] << 5)
    if mode == "ROTATE":
        return _raw_swizzle(0xC000 | numbers[0] << 10 | numbers[1] << 5)
    raise ValueError(f"swizzle mode {mode} is not implemented")


def _raw_swizzle(pattern: int) -> tuple[Lanes, Valid]:
    everywhere = np.ones(LANES, np.bool_)
    half = LANE // 32 * 32
    within = LANE % 32
    if pattern >= 0xE000:
        raise ValueError(f"swizzle pattern {pattern:#x} (FFT mode) is not implemented")
    if pattern >= 0xC000:
        amount = pattern >> 5 & 0x1F
        amount = -amount if pattern >> 10 & 1 else amount
        mask = pattern & 0x1F
        return half + (within & mask | within + amount & ~mask & 0x1F), everywhere
    if pattern & 0x8000:
        quad = np.array([pattern >> 2 * i & 3 for i in range(4)])
        return LANE // 4 * 4 + quad[LANE % 4], everywhere
    keep, force, flip = pattern & 0x1F, pattern >> 5 & 0x1F, pattern >> 10 & 0x1F
    return half + (((within & keep) | force) ^ flip), everywhere


LaneMove = Callable[[str], tuple[Lanes, Valid]]
