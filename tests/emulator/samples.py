"""Lanes of test numbers: the edges of each type mixed with random bits, drawn by hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

EDGES = {
    16: [0, 1, 2, 3, 0x7F, 0x80, 0xFF, 0x100, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x7C00, 0x7C01,
         0x7E00, 0x7FFF, 0x8000, 0x8001, 0x8400, 0xBC00, 0xFBFF, 0xFC00, 0xFE00, 0xFFFF],
    32: [0, 1, 2, 3, 31, 32, 0x7F, 0x80, 0xFF, 0xFFFF, 0x10000, 0x007FFFFF, 0x00800000, 0x3F000000,
         0x3F800000, 0x3FC00000, 0x40000000, 0x4F000000, 0x4F800000, 0x7F7FFFFF, 0x7F800000,
         0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x80800000, 0xBF800000,
         0xCF000000, 0xFF7FFFFF, 0xFF800000, 0xFFC00000, 0xFFFFFFF0, 0xFFFFFFFF],
    64: [0, 1, 2, 63, 64, 0xFFFFFFFF, 0x100000000, 0x000FFFFFFFFFFFFF, 0x0010000000000000,
         0x3FE0000000000000, 0x3FF0000000000000, 0x41E0000000000000, 0x7FEFFFFFFFFFFFFF,
         0x7FF0000000000000, 0x7FF8000000000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000,
         0x8010000000000000, 0xBFF0000000000000, 0xFFF0000000000000, 0xFFFFFFFFFFFFFFFF],
}  # fmt: skip


def lanes(bits: int) -> st.SearchStrategy[list[int]]:
    """64 lanes: 16 numbers of the given width, four times over."""
    number = st.one_of(
        st.sampled_from(EDGES[bits]),
        st.integers(0, 2**bits - 1),
        st.integers(0, 80),
        st.integers(0, 80).map(lambda n: (-n) % 2**bits),
    )
    return st.lists(number, min_size=16, max_size=16).map(lambda numbers: numbers * 4)
