"""What the study runs: the cases as data.

Nothing here needs FlyDSL or torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ..flags import ALL, NONE, SAFE, FlagSet, acting, study_settings
from ..shapes import (
    KIMI_DISPATCH,
    REFERENCE_SHAPE,
    SHAPES,
    VARIANTS,
    Shape,
    ShapeError,
    Variant,
    check,
    find_variant,
    parse_shape,
)

EVERY_SETTING = ("presets", "alone", "leave-one-out", "safety")
"""The studies of :data:`mxfp4kernels.flags.STUDIES` whose settings are run in full."""


@dataclass(frozen=True)
class Case:
    """One problem for one variant, or for a whole layer, and the flag settings to run it with.

    Args:
        variant: the kernel; gemm1's in a layer.
        shape: the layer's sizes.
        tokens: number of tokens M.
        settings: flag settings, ``none`` first.
        routing, content: as in :class:`mxfp4kernels.numerics.problem.Problem`.
        sampled: a few workgroups (first, last, partial, padded) in place of the whole grid.
        every_order: sanitize with every wave ahead and behind, not in lockstep alone.
        follower: gemm2's variant of a layer.
    """

    variant: Variant
    shape: Shape
    tokens: int
    settings: tuple[FlagSet, ...]
    routing: str = "random"
    content: str = "normal"
    sampled: bool = False
    every_order: bool = False
    follower: Variant | None = None

    @property
    def kernel(self) -> str:
        """``gemm1``, ``gemm2`` or ``layer``."""
        return self.variant.kernel if self.follower is None else "layer"

    @property
    def name(self) -> str:
        """The variant's name, or both names of a layer."""
        own = self.variant.name
        return own if self.follower is None else f"{own}+{self.follower.name}"

    @property
    def path(self) -> str:
        """How the kernel is run: tokens, routing, content, and how much of the grid."""
        part = "sampled" if self.sampled else "full"
        return f"M={self.tokens} {self.routing} {self.content} {part}"

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The kernels that are needed, one or two."""
        return (self.variant,) if self.follower is None else (self.variant, self.follower)

    def as_json(self) -> dict[str, Any]:
        """All that decides the inputs, for a request and a cache key."""
        plain = asdict(self) | {"shape": str(self.shape)}
        plain["variant"] = str(self.variant)
        plain["follower"] = None if self.follower is None else str(self.follower)
        del plain["settings"]
        return plain

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Case:
        """The case of :meth:`as_json`, without its settings."""
        follower = plain["follower"]
        return cls(
            **{
                **plain,
                "variant": _variant(plain["variant"]),
                "shape": parse_shape(plain["shape"]),
                "follower": None if follower is None else _variant(follower),
                "settings": (),
            }
        )


def _variant(text: str) -> Variant:
    kernel, _, name = text.partition("/")
    return find_variant(kernel, name)


def presets(*variants: Variant) -> tuple[FlagSet, ...]:
    """None and all, and where our safety flags act both forms with them."""
    everything: FlagSet = frozenset().union(*(acting(variant, ALL) for variant in variants))
    fixes: FlagSet = frozenset().union(*(acting(variant, SAFE) for variant in variants))
    fixes -= everything
    return (NONE, everything, fixes, everything | fixes) if fixes else (NONE, everything)


# --- the cases -----------------------------------------------------------------------------------

_SAMPLE_TOKENS = {16: 64, 32: 256, 64: 512, 128: 1024}
"""Tokens of a sample by block height: the shared expert of ``family-a`` fills whole blocks, the
others leave theirs partly padded."""
PERSISTENT_TOKENS = 576
"""All on the same experts, this makes 4.5 blocks of 128 rows per expert: more than 1024 tiles at a
hidden size of 7168 for 8 or 9 experts, so every workgroup of the persistent grid makes several."""
LOOPING = Shape(33, 8192, 256, 1)
"""33 blocks of rows at 32 blocks of columns: 1056 tiles for 256 persistent workgroups."""

SMALL_SHAPES: Mapping[str, tuple[str, ...]] = {
    "gemm1": ("4x512x256x2", "3x1280x384x1"),
    "gemm2": ("4x512x256x2", "4x512x512x2", "3x256x1024x2"),
}
"""Two and five K tiles of gemm1, the last with an odd half of the output; one, two and four
(streaming) of gemm2."""


def runs(variant: Variant, shape: Shape) -> bool:
    """Whether the variant takes the shape, with every flag."""
    try:
        check(variant, shape, safe_lds_reuse=True)
    except ShapeError:
        return False
    return True


def _sample(variant: Variant, shape: Shape, settings: tuple[FlagSet, ...]) -> Case:
    if variant.persistent:
        return Case(variant, shape, PERSISTENT_TOKENS, settings, "same", sampled=True)
    tokens = _SAMPLE_TOKENS[variant.block_m]
    return Case(variant, shape, tokens, settings, "family-a", sampled=True)


def reference_cases() -> Iterator[Case]:
    """Every setting at the reference shape, on sampled tiles."""
    for variant in VARIANTS:
        yield _sample(variant, REFERENCE_SHAPE, study_settings(variant, EVERY_SETTING))


def small_cases() -> Iterator[Case]:
    """Every setting at small shapes, on the whole grid; wave orders for the first shape."""
    for variant in VARIANTS:
        for number, text in enumerate(SMALL_SHAPES[variant.kernel]):
            yield Case(
                variant,
                parse_shape(text),
                2 * variant.block_m + 5,
                study_settings(variant, EVERY_SETTING),
                every_order=number == 0,
            )


def preset_cases() -> Iterator[Case]:
    """Every other named shape, sampled."""
    for shape in SHAPES.values():
        for variant in VARIANTS:
            if shape != REFERENCE_SHAPE and runs(variant, shape):
                yield _sample(variant, shape, presets(variant))


def edge_cases() -> Iterator[Case]:
    """Numbers, routings and sizes at the edge of what is allowed."""
    small, single = parse_shape("4x512x256x2"), parse_shape("3x512x256x1")
    for variant in VARIANTS:
        both = presets(variant)
        yield Case(variant, small, 1, both)
        yield Case(variant, single, variant.block_m + 3, both, "same")
        yield Case(variant, small, 7, both, "sparse")
        yield Case(variant, small, 4, both, content="edges")
        if variant.inline_quant:
            yield Case(variant, small, 6, both, content="special")
        for hidden in (2048, 4096, 8192):
            if runs(variant, shape := Shape(2, hidden, 256, 1)):
                yield Case(variant, shape, 3, both, sampled=variant.kernel == "gemm1")
        if variant.kernel == "gemm2":
            for text in ("3x256x2048x2", "3x256x512x2r384", "3x256x1024x1r640"):
                yield Case(variant, parse_shape(text), 7, both)
        if variant.persistent:
            yield Case(variant, LOOPING, LOOPING.experts, both, "balanced", sampled=True)


_LAYER_TOKENS = (128, 200, 1024, 4096, 8192)
"""One per row of the dispatch table."""


def layer_cases() -> Iterator[Case]:
    """The whole layer on every pair of the dispatch table, its lossy alternative included."""
    pairs = [(row.gemm1, row.gemm2) for row in KIMI_DISPATCH]
    pairs[-1] = (pairs[-1][0], "bm128_mxfp4")
    for (first, second), tokens in zip(pairs, _LAYER_TOKENS, strict=True):
        yield _layer(first, second, tokens, _layer_shape(tokens))
    yield _layer(*pairs[0], 1, parse_shape("4x512x256x2"))
    yield _layer(*pairs[0], 1, REFERENCE_SHAPE)


def _layer_shape(tokens: int) -> Shape:
    return parse_shape("4x512x512x2" if tokens <= 1024 else "4x256x256x1")


def _layer(first: str, second: str, tokens: int, shape: Shape) -> Case:
    pair = find_variant("gemm1", first), find_variant("gemm2", second)
    return Case(pair[0], shape, tokens, presets(*pair), follower=pair[1])


@lru_cache(maxsize=1)
def all_cases() -> tuple[Case, ...]:
    """Every case of the study, in the order of the table."""
    return (
        *reference_cases(),
        *small_cases(),
        *preset_cases(),
        *edge_cases(),
        *layer_cases(),
    )


# --- mutation ------------------------------------------------------------------------------------


def mutation_cases() -> tuple[Case, ...]:
    """Launches of one workgroup in which every wait and barrier of a variant is executed.

    All rows of its block are real, so no store is skipped. gemm1 has four K tiles: two that load
    further ones and two that do not. gemm2 has two as at the reference shape, and four, where they
    stream; a persistent kernel makes three tiles, the first apart and two in its loop.
    """
    cases = []
    for variant in VARIANTS:
        settings = tuple(dict.fromkeys(acting(variant, flags) for flags in (NONE, ALL, SAFE)))
        if variant.kernel == "gemm1":
            cases.append(_mutated(variant, "1x1024x256x1", settings))
        else:
            cases.append(_mutated(variant, "1x768x512x1", settings))
            cases.append(_mutated(variant, "1x768x1024x1", settings[-1:]))
    return tuple(cases)


def _mutated(variant: Variant, shape: str, settings: tuple[FlagSet, ...]) -> Case:
    return Case(variant, parse_shape(shape), variant.block_m, settings, "same", sampled=True)
