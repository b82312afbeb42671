"""MoE shapes, the kernel variants, and which variant runs at which number of tokens.

Nothing here needs FlyDSL or torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

TILE_N = 256
"""Columns of one output tile (BN); the same for both kernels."""
TILE_K = 256
"""Elements along K in one K tile (BK); the same for both kernels."""
BLOCK_THREADS = 256
"""Threads of a workgroup: four waves of 64 lanes."""
BUFFER_LIMIT = 2**32
"""A buffer descriptor carries a 32-bit size in bytes, and offsets into it are 32 bits wide."""

MAX_TOPK = 128
"""Experts per token that a sorted token id can tell apart: seven bits above the token's 24."""

LDS_LIMIT = 163840
"""LDS bytes of a compute unit of gfx950; no workgroup can have more."""
MFMA_ROWS = 16
"""Rows (and columns) of one MFMA result."""
SCALE_TILE_BYTES = 256
"""Bytes of the scale dwords of one pair of 16-row groups and one K tile: one dword per lane."""
PERSISTENT_WORKGROUPS = 256
"""The grid of a persistent kernel that has more than four tiles for each of them."""
OUTPUT_ELEMENT_BYTES = {"silu_mxfp4": 4, "atomic": 4, "nonatomic": 0, "mxfp4": 4, "cshuffle": 2}
"""Bytes per element of the tile that an epilogue exchanges through LDS."""


class ShapeError(ValueError):
    """A shape, or a shape and variant together, that the kernels do not support."""


@dataclass(frozen=True, order=True)
class Shape:
    """A MoE layer on one device, as the two kernels see it.

    Args:
        experts: number of experts whose weights are on the device (NE), shared ones included.
        hidden: hidden size H; gemm1's K and gemm2's N.
        inter: intermediate size I per shard; gemm2's K. gemm1 makes 2*I columns.
        topk: experts per token, shared ones included.
        inter_real: the part of ``inter`` that holds data when weights are padded to a multiple of
            256; gemm2 neither loads nor multiplies the 128-wide halves beyond it. ``None``: all.

    Raises:
        ShapeError: a size that no variant of either kernel could run.
    """

    experts: int
    hidden: int
    inter: int
    topk: int
    inter_real: int | None = None

    def __post_init__(self) -> None:
        for name in ("experts", "hidden", "inter", "topk"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ShapeError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.topk > self.experts:
            raise ShapeError(
                f"topk must be at most experts, got topk={self.topk} with experts={self.experts}"
            )
        if self.topk > MAX_TOPK:
            raise ShapeError(
                f"topk must be at most {MAX_TOPK}, got {self.topk}; a sorted token id has no room "
                "for more experts per token"
            )
        if self.inter_real is not None and not 0 < self.inter_real <= self.inter:
            raise ShapeError(
                f"inter_real must lie in 1..inter={self.inter}, got {self.inter_real}; "
                "leave it out when the weights are not padded"
            )

    def __str__(self) -> str:
        text = f"{self.experts}x{self.hidden}x{self.inter}x{self.topk}"
        return text if self.inter_real is None else f"{text}r{self.inter_real}"

    @property
    def inter_used(self) -> int:
        """Elements along gemm2's K that hold data."""
        return self.inter if self.inter_real is None else self.inter_real


_SHAPE_TEXT = re.compile(r"(\d+)x(\d+)x(\d+)x(\d+)(?:r(\d+))?", re.ASCII)

SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "kimi-k2.5-tp4": Shape(385, 7168, 512, 9),
        "kimi-k2.5-tp8": Shape(385, 7168, 256, 9),
        "kimi-k2.5-routed": Shape(384, 7168, 512, 8),
        "deepseek-v3-tp4": Shape(257, 7168, 512, 9),
        "deepseek-v3-tp8": Shape(257, 7168, 256, 9),
        "deepseek-v3-ep8": Shape(32, 7168, 2048, 8),
    }
)
"""Named shapes. Kimi-K2.5 at TP=4 (384 routed experts and one shared) is the reference shape."""

REFERENCE_SHAPE = SHAPES["kimi-k2.5-tp4"]


def parse_shape(text: str) -> Shape:
    """A preset's name, or ``EXPERTSxHIDDENxINTERxTOPK`` with an optional ``rINTER_REAL``.

    Raises:
        ShapeError: the text is neither, or names an impossible shape.
    """
    if text in SHAPES:
        return SHAPES[text]
    match = _SHAPE_TEXT.fullmatch(text)
    if match is None:
        raise ShapeError(
            f"unknown shape {text!r}; give EXPERTSxHIDDENxINTERxTOPK such as 385x7168x512x9, "
            f"or one of {', '.join(SHAPES)}"
        )
    experts, hidden, inter, topk, real = match.groups()
    return Shape(
        int(experts), int(hidden), int(inter), int(topk), None if real is None else int(real)
    )


@dataclass(frozen=True)
class Variant:
    """One instance family of a kernel: the block height, the data path and the epilogue.

    ``epilogue`` is ``silu_mxfp4`` for gemm1 and ``atomic``, ``nonatomic``, ``mxfp4`` or
    ``cshuffle`` for gemm2. ``persistent`` kernels stride over their tiles by the grid size.
    """

    kernel: str
    name: str
    block_m: int
    epilogue: str
    inline_quant: bool = False
    nontemporal_weights: bool = False
    persistent: bool = False

    def __str__(self) -> str:
        return f"{self.kernel}/{self.name}"


def _gemm1(name: str, block_m: int, **options: bool) -> Variant:
    return Variant("gemm1", name, block_m, "silu_mxfp4", **options)


def _gemm2(name: str, block_m: int, epilogue: str, **options: bool) -> Variant:
    return Variant("gemm2", name, block_m, epilogue, **options)


VARIANTS: tuple[Variant, ...] = (
    _gemm1("bm16_iq", 16, inline_quant=True, nontemporal_weights=True),
    _gemm1("bm32_nt", 32, nontemporal_weights=True),
    _gemm1("bm32_cached", 32),
    _gemm1("bm64", 64),
    _gemm1("bm128", 128),
    _gemm2("bm16_atomic", 16, "atomic"),
    _gemm2("bm16_atomic_nt", 16, "atomic", nontemporal_weights=True),
    _gemm2("bm32_atomic", 32, "atomic"),
    _gemm2("bm32_atomic_nt", 32, "atomic", nontemporal_weights=True),
    _gemm2("bm64_atomic", 64, "atomic"),
    _gemm2("bm64_atomic_nt", 64, "atomic", nontemporal_weights=True),
    _gemm2("bm32_cshuffle", 32, "cshuffle"),
    _gemm2("bm64_cshuffle", 64, "cshuffle"),
    _gemm2("bm128_cshuffle", 128, "cshuffle"),
    _gemm2("bm128_nonatomic", 128, "nonatomic", persistent=True),
    _gemm2("bm128_mxfp4", 128, "mxfp4", persistent=True),
)
"""Every variant, gemm1 first, in the order in which tables list them."""

KERNELS = ("gemm1", "gemm2")


def variants_of(kernel: str) -> tuple[Variant, ...]:
    """The variants of ``gemm1`` or ``gemm2``.

    Raises:
        ValueError: no such kernel.
    """
    if kernel not in KERNELS:
        raise ValueError(f"unknown kernel {kernel!r}; choose {' or '.join(KERNELS)}")
    return tuple(variant for variant in VARIANTS if variant.kernel == kernel)


def find_variant(kernel: str, name: str) -> Variant:
    """The variant of that name.

    Raises:
        ValueError: no such kernel, or no such variant of it.
    """
    known = variants_of(kernel)
    for variant in known:
        if variant.name == name:
            return variant
    raise ValueError(
        f"{kernel} has no variant {name!r}; choose one of {', '.join(v.name for v in known)}"
    )


def weight_bytes(kernel: str, shape: Shape) -> int:
    """Bytes of all experts' packed FP4 weights that the kernel reads through one descriptor."""
    rows = 2 * shape.inter if kernel == "gemm1" else shape.hidden
    depth = shape.hidden if kernel == "gemm1" else shape.inter
    return shape.experts * rows * depth // 2


def n_blocks(variant: Variant, shape: Shape) -> int:
    """Column blocks of the kernel's product: of 2*I gate and up columns, or of H."""
    return (2 * shape.inter if variant.kernel == "gemm1" else shape.hidden) // TILE_N


def k_tiles(variant: Variant, shape: Shape) -> int:
    """K tiles that the kernel multiplies; gemm2's last may be half empty with ``inter_real``."""
    return -(-(shape.hidden if variant.kernel == "gemm1" else shape.inter_used) // TILE_K)


def a_slots(variant: Variant, shape: Shape, *, safe_lds_reuse: bool = False) -> int:
    """A tiles that LDS holds: three while tiles stream, two when all fit.

    gemm1 bm128 streams through two, and then loads into the tile that waves may still be reading,
    unless ``safe_lds_reuse``.
    """
    if variant.kernel == "gemm1":
        return 2 if variant.block_m == 128 and not safe_lds_reuse else 3
    return 2 if k_tiles(variant, shape) <= 2 else 3


def scale_slots(variant: Variant, shape: Shape) -> int:
    """K tiles whose A scales LDS holds: all when staged up front, one per A slot when made in line.

    gemm2 keeps them in registers.
    """
    if variant.kernel == "gemm2":
        return 0
    return a_slots(variant, shape) if variant.inline_quant else k_tiles(variant, shape)


def row_pairs(block_m: int) -> int:
    """Pairs of 16-row groups in a row block; a pair shares its scale dwords. BM=16 has half one."""
    return -(-block_m // (2 * MFMA_ROWS))


def lds_bytes(variant: Variant, shape: Shape, *, safe_lds_reuse: bool = False) -> int:
    """LDS of a workgroup: A tiles and scales, and then, in the same place, the exchange tile."""
    pairs = row_pairs(variant.block_m)
    operands = (
        a_slots(variant, shape, safe_lds_reuse=safe_lds_reuse) * variant.block_m * TILE_K // 2
        + scale_slots(variant, shape) * pairs * SCALE_TILE_BYTES
    )
    return max(operands, variant.block_m * TILE_N * OUTPUT_ELEMENT_BYTES[variant.epilogue])


def workgroups(variant: Variant, shape: Shape, m_blocks: int) -> int:
    """The grid for up to ``m_blocks`` blocks of rows: one workgroup per tile, or a fixed number.

    A persistent kernel runs 256 workgroups, one per compute unit, once each has more than four
    tiles. A workgroup without a tile exits at once.
    """
    tiles = m_blocks * n_blocks(variant, shape)
    if variant.persistent and tiles > 4 * PERSISTENT_WORKGROUPS:
        return PERSISTENT_WORKGROUPS
    return tiles


def check(variant: Variant, shape: Shape, *, safe_lds_reuse: bool = False) -> None:
    """Refuse a shape that this variant cannot run.

    ``safe_lds_reuse`` is the flag of that name, which takes LDS.

    Raises:
        ShapeError: naming the argument, its value, the limit and the way out.
    """
    if shape.hidden % TILE_K:
        raise ShapeError(
            f"{variant.kernel} needs hidden % {TILE_K} == 0, got hidden={shape.hidden}; "
            f"pad the hidden size to {-(-shape.hidden // TILE_K) * TILE_K}"
        )
    if variant.kernel == "gemm1":
        if shape.inter % 128:
            raise ShapeError(
                f"gemm1 needs inter % 128 == 0 (2*inter is a whole number of {TILE_N}-column "
                f"tiles), got inter={shape.inter}; pad the weights to "
                f"inter={-(-shape.inter // 128) * 128}"
            )
    else:
        if shape.inter % TILE_K:
            padded = -(-shape.inter // TILE_K) * TILE_K
            raise ShapeError(
                f"gemm2 needs inter % {TILE_K} == 0, got inter={shape.inter}; pass "
                f"inter_real={shape.inter} with weights padded to inter={padded}"
            )
        if shape.inter_used % 128:
            raise ShapeError(
                f"gemm2 needs inter_real % 128 == 0 (it skips whole 128-wide halves of a K tile), "
                f"got inter_real={shape.inter_real}; use "
                f"inter_real={-(-shape.inter_used // 128) * 128}"
            )
    size = weight_bytes(variant.kernel, shape)
    if size >= BUFFER_LIMIT:
        name = "w1" if variant.kernel == "gemm1" else "w2"
        raise ShapeError(
            f"{variant.kernel} reads {name} through one buffer descriptor of less than "
            f"{BUFFER_LIMIT} bytes, got {size} bytes for shape {shape}; "
            "use fewer experts per device"
        )
    lds = lds_bytes(variant, shape, safe_lds_reuse=safe_lds_reuse)
    if lds > LDS_LIMIT:
        raise ShapeError(
            f"{variant} stages the scales of all {k_tiles(variant, shape)} K tiles in LDS, which "
            f"takes {lds} bytes of {LDS_LIMIT} with hidden={shape.hidden}; use a variant with "
            "fewer rows per block"
        )


@dataclass(frozen=True)
class Dispatch:
    """The pair of variants that runs for ``tokens`` up to ``max_tokens``."""

    max_tokens: int | None
    gemm1: str
    gemm2: str


KIMI_DISPATCH: tuple[Dispatch, ...] = (
    Dispatch(128, "bm16_iq", "bm16_atomic_nt"),
    Dispatch(512, "bm32_nt", "bm32_atomic_nt"),
    Dispatch(2048, "bm32_cached", "bm32_atomic"),
    Dispatch(4096, "bm128", "bm128_nonatomic"),
    Dispatch(None, "bm128", "bm128_nonatomic"),
)
"""Which variants the published tuning for Kimi-K2.5 TP4 runs, by number of tokens.

The tuning has an entry at each power of two from 4 to 16384; a number in between takes the next
entry up. From 8192 tokens on ``bm128_mxfp4`` may stand in for ``bm128_nonatomic``: it is lossy and
an opt-in (``lossy_gemm2`` of :func:`dispatch`).
Source: ROCm/aiter PR #3828, commit b242ba66a6.
"""


def dispatch(kernel: str, tokens: int, *, lossy_gemm2: bool = False) -> Variant:
    """The variant that the published Kimi tuning runs for this many tokens.

    Raises:
        ValueError: unknown kernel, or ``tokens`` below 1.
    """
    if tokens < 1:
        raise ValueError(f"tokens must be at least 1, got {tokens}")
    if kernel not in KERNELS:
        raise ValueError(f"unknown kernel {kernel!r}; choose {' or '.join(KERNELS)}")
    row = next(row for row in KIMI_DISPATCH if row.max_tokens is None or tokens <= row.max_tokens)
    name = row.gemm1 if kernel == "gemm1" else row.gemm2
    if kernel == "gemm2" and lossy_gemm2 and row.max_tokens is None:
        name = "bm128_mxfp4"
    return find_variant(kernel, name)


def dispatched_tokens(variant: Variant) -> tuple[int, int | None] | None:
    """First and last number of tokens for which :func:`dispatch` picks the variant.

    The last is ``None`` for no limit; the whole is ``None`` for a variant that the tuning never
    picks. The lossy one is picked only on request.
    """
    lossy = variant.name == "bm128_mxfp4"
    first, found = 1, None
    for row in KIMI_DISPATCH:
        name = row.gemm1 if variant.kernel == "gemm1" else row.gemm2
        if name == variant.name or (lossy and row.max_tokens is None):
            found = (first if found is None else found[0], row.max_tokens)
        first = (row.max_tokens or 0) + 1
    return found
