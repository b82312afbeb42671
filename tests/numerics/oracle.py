"""A kernel of plain loops: reads the launch's buffers byte by byte and writes what a kernel would.

It shares no code with layout.py, mx.py or reference.py: addresses are worked out one by one,
numbers decoded and rounded with Python arithmetic. Slow, so only for small shapes; a way to find an
error that packing and comparison make alike.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np

from mxfp4kernels.numerics.problem import Argument, Problem, Tile

GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def run(problem: Problem, arguments: tuple[Argument, ...], tiles: Sequence[Tile]) -> None:
    """Write the outputs of ``tiles`` into the arguments' buffers."""
    data = {argument.name: argument.data for argument in arguments}
    for tile in tiles:
        accumulators = _accumulate(problem, data, tile)
        if problem.is_gemm1:
            _gemm1_epilogue(problem, data, tile, accumulators)
        else:
            _gemm2_epilogue(problem, data, tile, accumulators)


def _accumulate(problem: Problem, data: dict, tile: Tile) -> np.ndarray:
    """f32 [BM, 256] of the tile, columns in the interleaved order of the weights."""
    block_m, depth = problem.variant.block_m, problem.depth
    used = depth if problem.is_gemm1 else problem.shape.inter_used
    expert = int(data["sorted_expert_ids"].view(np.int32)[tile.m_block])
    a = np.array(
        [
            [_a_value(problem, data, tile.m_block * block_m + row, k) for k in range(used)]
            for row in range(block_m)
        ]
    )
    b = np.array(
        [
            [_b_value(problem, data, expert, tile.n_block * 256 + n, k) for k in range(used)]
            for n in range(256)
        ]
    )
    with np.errstate(over="ignore"):
        return (a @ b.T).astype(np.float32)


def _a_value(problem: Problem, data: dict, row: int, k: int) -> float:
    depth = problem.depth
    if problem.is_gemm1:
        token = int(data["m_indices"].view(np.int32)[row])
        if token >= problem.tokens:
            return 0.0
        if problem.variant.inline_quant:
            return _inline_value(data["hidden"], token * depth, k)
        code_row, codes = token, data["a_quant"]
    else:
        code_row, codes = row, data["a_q"]
    if problem.variant.block_m == 16:
        dword = (row // 16 * (depth // 256) + k // 256) * 64 + k % 128 // 32 * 16 + row % 16
        byte = 2 * (k % 256 // 128)
    else:
        dword = (row // 32 * (depth // 256) + k // 256) * 64 + k % 128 // 32 * 16 + row % 16
        byte = 2 * (k % 256 // 128) + row % 32 // 16
    return _element(codes[code_row * depth // 2 + k // 2], k, data["a_scale"][4 * dword + byte])


def _b_value(problem: Problem, data: dict, expert: int, column: int, k: int) -> float:
    depth, columns = problem.depth, problem.columns
    name = "w1" if problem.is_gemm1 else "w2"
    address = (
        (expert * columns + column // 16 * 16) * depth // 2
        + k // 256 * 2048
        + k % 256 // 128 * 1024
        + k % 128 // 32 * 256
        + column % 16 * 16
        + k % 32 // 2
    )
    pair = expert * (columns // 32) + column // 32
    dword = pair * (depth // 256) * 64 + k // 256 * 64 + k % 128 // 32 * 16 + column % 16
    scale = data[f"{name}_scale"][4 * dword + 2 * (k % 256 // 128) + column % 32 // 16]
    return _element(data[name][address], k, scale)


def _element(byte: int, k: int, scale: int) -> float:
    code = int(byte) >> 4 if k % 2 else int(byte) & 15
    return math.ldexp(-GRID[code & 7] if code & 8 else GRID[code], int(scale) - 127)


def _inline_value(hidden: np.ndarray, start: int, k: int) -> float:
    block = hidden.view(np.uint16)[start + k // 32 * 32 :][:32]
    widened = (block.astype(np.uint32) << 16).view(np.float32)
    scale = _scale_byte(max(int(bits) & 0x7FFF for bits in block) << 16)
    return math.ldexp(_round(math.ldexp(float(widened[k % 32]), 127 - scale)), scale - 127)


def _scale_byte(amax_bits: int) -> int:
    return min(max((amax_bits + 0x200000 >> 23) - 2, 0), 254)


def _amax_bits(values: np.ndarray) -> int:
    """Eight neighbours compare as numbers, NaN losing; the four results compare as bits."""
    lanes = np.abs(values).reshape(4, 8)
    return max(int(np.fmax.reduce(lane).view(np.uint32)) for lane in lanes)


def _round(value: float) -> float:
    """To the nearest of the E2M1 grid; a tie to the even code; NaN to 6."""
    size = 6.0 if math.isnan(value) else min(abs(value), 6.0)
    upper = min(bisect.bisect_left(GRID, size), 7)
    lower = max(upper - 1, 0)
    to_lower, to_upper = size - GRID[lower], GRID[upper] - size
    code = lower if to_lower < to_upper or (to_lower == to_upper and lower % 2 == 0) else upper
    return math.copysign(GRID[code], value)


def _code(value: float) -> int:
    return GRID.index(abs(value)) + (8 if math.copysign(1.0, value) < 0 else 0)


def _exponent_by_float(amax_bits: int) -> int:
    with np.errstate(invalid="ignore"):  # the sum may be a signalling NaN, which stays a NaN
        quarter = np.array([amax_bits + 0x200000], np.uint32).view(np.float32) * np.float32(0.25)
    return int(quarter.view(np.uint32)[0]) >> 23


def _quantise(values: np.ndarray, exponent: int) -> tuple[list[int], int]:
    """Codes of 32 f32 values, and the scale byte; an exponent of 255 makes NaNs of them."""
    if exponent == 255:
        return [7] * 32, 254
    return [_code(_round(math.ldexp(float(v), 127 - exponent))) for v in values], exponent


def _gemm1_epilogue(problem: Problem, data: dict, tile: Tile, acc: np.ndarray) -> None:
    block_m, inter = problem.variant.block_m, problem.shape.inter
    groups = acc.reshape(block_m, 8, 2, 16)
    gate = groups[:, :, 0].reshape(block_m, 128).astype(np.float64)
    up = groups[:, :, 1].reshape(block_m, 128).astype(np.float64)
    # An infinite exponential gives silu's -0, as it must, and minus infinity a NaN.
    with np.errstate(over="ignore", invalid="ignore"):
        value = (gate / (1 + np.exp(-gate)) * up).astype(np.float32)
    tiles = -(-inter // 256)
    for row in range(block_m):
        whole_row = tile.m_block * block_m + row
        for block in range(4):
            part = value[row, 32 * block : 32 * block + 32]
            codes, scale = _quantise(part, _exponent_by_float(_amax_bits(part)))
            start = whole_row * inter // 2 + tile.n_block * 64 + 16 * block
            data["out_q"][start : start + 16] = [
                low | high << 4 for low, high in zip(codes[0::2], codes[1::2], strict=True)
            ]
            rows = 16 if block_m == 16 else 32
            dword = (whole_row // rows * tiles + tile.n_block // 2) * 64 + block * 16 + row % 16
            group = 0 if block_m == 16 else row % 32 // 16
            data["out_scale"][4 * dword + 2 * (tile.n_block % 2) + group] = scale


def _gemm2_epilogue(problem: Problem, data: dict, tile: Tile, acc: np.ndarray) -> None:
    block_m, hidden = problem.variant.block_m, problem.shape.hidden
    for row in range(block_m):
        whole_row = tile.m_block * block_m + row
        if problem.variant.epilogue == "mxfp4":
            for block in range(8):
                part = acc[row, 32 * block : 32 * block + 32]
                codes, scale = _quantise(part, _scale_byte(_amax_bits(part) & ~0xFFFF))
                column = tile.n_block * 256 + 32 * block
                start = (whole_row * hidden + column) // 2
                data["out"][start : start + 16] = [
                    low | high << 4 for low, high in zip(codes[0::2], codes[1::2], strict=True)
                ]
                data["out_scale"][(whole_row * hidden + column) // 32] = scale
            continue
        out = data["out"].view(np.uint16)
        if problem.variant.epilogue == "atomic":
            token = int(data["sorted_token_ids"].view(np.int32)[whole_row]) & 0xFFFFFF
            if token >= problem.tokens:
                continue
            weight = data["sorted_weights"].view(np.float32)[whole_row]
            start = token * hidden + tile.n_block * 256
            old = (out[start : start + 256].astype(np.uint32) << 16).view(np.float32)
            out[start : start + 256] = _bf16(old + _widen(_bf16(acc[row] * weight)))
        else:
            start = whole_row * hidden + tile.n_block * 256
            out[start : start + 256] = _bf16(acc[row])


def _bf16(values: np.ndarray) -> np.ndarray:
    """f32 to bf16 bits, to nearest even; no NaN among them."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _widen(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)
