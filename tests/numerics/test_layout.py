"""Layouts against addresses worked out one by one, and sorting against its definition."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels import layout
from mxfp4kernels.layout import Sorting


def distinct_bytes(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)


# --- weights -------------------------------------------------------------------------------------


def weight_address(column: int, k: int, row_bytes: int) -> int:
    """Where the byte of elements k, k+1 of a column lies."""
    return (
        column // 16 * 16 * row_bytes
        + k // 256 * 2048
        + k % 256 // 128 * 1024
        + k % 128 // 32 * 256
        + column % 16 * 16
        + k % 32 // 2
    )


def test_weight_hand_addresses() -> None:
    """K = 512: a column group of 16 takes 4096 bytes, a K tile 2048 of them."""
    packed = distinct_bytes(32, 256)
    shuffled = layout.shuffle_weight(packed)
    assert shuffled[0] == packed[0, 0]
    assert shuffled[15] == packed[0, 15]
    assert shuffled[16] == packed[1, 0]
    assert shuffled[256] == packed[0, 16]
    assert shuffled[1024] == packed[0, 64]
    assert shuffled[2048] == packed[0, 128]
    assert shuffled[4096] == packed[16, 0]


@given(st.integers(1, 4), st.integers(1, 3), st.data())
def test_weight_addresses(groups: int, tiles: int, data: st.DataObject) -> None:
    columns, depth = 16 * groups, 256 * tiles
    packed = distinct_bytes(columns, depth // 2, seed=groups * 10 + tiles)
    shuffled = layout.shuffle_weight(packed)
    column = data.draw(st.integers(0, columns - 1))
    k = data.draw(st.integers(0, depth // 2 - 1)) * 2
    assert shuffled[weight_address(column, k, depth // 2)] == packed[column, k // 2]
    assert torch.equal(layout.unshuffle_weight(shuffled, columns), packed)


def test_one_lane_reads_32_consecutive_elements() -> None:
    """Lane l of the MFMA holds column l%16, elements 32*(l/16).. of the half: 16 bytes in a row."""
    packed = distinct_bytes(16, 128)
    lanes = layout.shuffle_weight(packed)[:1024].reshape(64, 16)
    for lane in range(64):
        assert torch.equal(lanes[lane], packed[lane % 16, 16 * (lane // 16) :][:16])


def test_gate_and_up_alternate_in_groups_of_16() -> None:
    rows = torch.arange(128)
    order = layout.interleave_gate_up(rows)
    assert order[:48].tolist() == [*range(16), *range(64, 80), *range(16, 32)]
    assert torch.equal(layout.deinterleave_gate_up(order), rows)


@given(st.integers(1, 6), st.integers(1, 3))
def test_interleaving_is_undone(groups: int, width: int) -> None:
    rows = distinct_bytes(32 * groups, width)
    assert torch.equal(layout.deinterleave_gate_up(layout.interleave_gate_up(rows)), rows)


# --- scales --------------------------------------------------------------------------------------


def scale_address(row: int, block: int, blocks: int, group_pairs: bool) -> int:
    """Where the scale byte of a row's 32-block lies; ``blocks`` is K/32."""
    rows = 32 if group_pairs else 16
    tiles = -(-blocks // 8)
    dword = row // rows * tiles * 64 + block // 8 * 64 + block % 4 * 16 + row % 16
    return 4 * dword + 2 * (block % 8 // 4) + row % rows // 16


def test_scale_hand_addresses() -> None:
    """K = 512: a pair takes 128 dwords, a K tile 64 of them."""
    scales = distinct_bytes(64, 16)
    shuffled = layout.shuffle_scales(scales)
    assert shuffled[0] == scales[0, 0]
    assert shuffled[1] == scales[16, 0], "second group of the pair"
    assert shuffled[2] == scales[0, 4], "second half of the K tile"
    assert shuffled[3] == scales[16, 4]
    assert shuffled[4] == scales[1, 0], "next row"
    assert shuffled[4 * 16] == scales[0, 1], "next 32-block"
    assert shuffled[4 * 64] == scales[0, 8], "next K tile"
    assert shuffled[4 * 128] == scales[32, 0], "next pair"


@given(st.integers(1, 3), st.integers(1, 5), st.booleans())
def test_scale_addresses(groups: int, halves: int, group_pairs: bool) -> None:
    rows, blocks = groups * (32 if group_pairs else 16), 4 * halves
    scales = distinct_bytes(rows, blocks, seed=groups * 10 + halves)
    shuffled = layout.shuffle_scales(scales, group_pairs=group_pairs)
    assert shuffled.numel() == layout.scale_bytes(rows, blocks, group_pairs=group_pairs)
    expected = torch.zeros_like(shuffled)
    for row in range(rows):
        for block in range(blocks):
            expected[scale_address(row, block, blocks, group_pairs)] = scales[row, block]
    assert torch.equal(shuffled, expected), "bytes without a scale are 0"
    back = layout.unshuffle_scales(shuffled, rows, blocks, group_pairs=group_pairs)
    assert torch.equal(back, scales)


def test_scale_sizes_of_the_reference_shape() -> None:
    """Kimi W1: 1024 columns, K = 7168: 32 pairs * 28 tiles * 64 dwords."""
    assert layout.scale_bytes(1024, 7168 // 32) == 32 * 28 * 64 * 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layout.shuffle_weight(distinct_bytes(24, 16)), "24"),
        (lambda: layout.shuffle_weight(distinct_bytes(16, 24)), "48"),
        (lambda: layout.unshuffle_weight(distinct_bytes(100), 16), "100"),
        (lambda: layout.shuffle_scales(distinct_bytes(48, 8)), "48"),
        (lambda: layout.shuffle_scales(distinct_bytes(32, 6)), "192"),
        (lambda: layout.unshuffle_scales(distinct_bytes(255), 32, 8), "255"),
        (lambda: layout.interleave_gate_up(torch.zeros(48)), "48"),
    ],
)
def test_sizes_that_do_not_fit_are_named(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_bytes_are_required() -> None:
    with pytest.raises(TypeError, match=r"torch\.int64"):
        layout.shuffle_weight(torch.zeros(16, 16, dtype=torch.int64))
    with pytest.raises(TypeError, match=r"torch\.float32"):
        layout.shuffle_scales(torch.zeros(32, 8))


# --- sorting -------------------------------------------------------------------------------------


def test_sorting_worked_by_hand() -> None:
    """Three tokens, two slots, four experts, blocks of 16; expert 1 has no token."""
    ids = torch.tensor([[2, 0], [2, 3], [0, 2]])
    weight = torch.tensor([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]])
    sorting = layout.sort_tokens(ids, weight, 4, 16)
    assert sorting.cumsum.tolist() == [48]
    assert sorting.sorted_expert_ids.tolist() == [0, 2, 3]
    assert sorting.sorted_token_ids[:3].tolist() == [0 | 1 << 24, 2, 3]
    assert sorting.sorted_token_ids[16:20].tolist() == [0, 1, 2 | 1 << 24, 3]
    assert sorting.sorted_token_ids[32:34].tolist() == [1 | 1 << 24, 3]
    assert sorting.m_indices[16:20].tolist() == [0, 1, 2, 3]
    assert sorting.sorted_weights[[0, 1, 16, 17, 18, 32]].tolist() == pytest.approx(
        [0.1, 0.7, 0.9, 0.8, 0.3, 0.2]
    )
    assert sorting.sorted_weights[[2, 19, 33]].tolist() == [0, 0, 0]
    assert sorting.reverse_sorted.tolist() == [16, 0, 17, 32, 1, 18]


@st.composite
def routings(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor, int, int]:
    experts = draw(st.integers(1, 12))
    topk = draw(st.integers(1, min(experts, 4)))
    tokens = draw(st.integers(1, 40))
    block_m = draw(st.sampled_from([16, 32, 64, 128]))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    ids = torch.rand(tokens, experts, generator=generator).topk(topk).indices
    return ids, torch.rand(tokens, topk, generator=generator), experts, block_m


@given(routings())
def test_sorting_by_its_definition(routing: tuple[torch.Tensor, torch.Tensor, int, int]) -> None:
    ids, weight, experts, block_m = routing
    sorting = layout.sort_tokens(ids, weight, experts, block_m)
    tokens, topk = ids.shape
    assert sorting.rows == block_m * sorting.blocks == sorting.sorted_token_ids.numel()
    assert sorting.rows <= layout.max_rows(tokens, topk, experts, block_m)
    expert_ids = sorting.sorted_expert_ids.tolist()
    assert expert_ids == sorted(expert_ids)
    counts = torch.bincount(ids.reshape(-1), minlength=experts).tolist()
    assert [expert_ids.count(e) for e in range(experts)] == [-(-c // block_m) for c in counts]

    seen = set()
    for row, packed in enumerate(sorting.sorted_token_ids.tolist()):
        token, slot = packed & 0xFFFFFF, packed >> 24
        assert int(sorting.m_indices[row]) == token
        if token == tokens:
            assert packed == tokens
            assert float(sorting.sorted_weights[row]) == 0
            continue
        seen.add((token, slot))
        assert int(ids[token, slot]) == expert_ids[row // block_m]
        assert float(sorting.sorted_weights[row]) == float(weight[token, slot])
        assert int(sorting.reverse_sorted[token * topk + slot]) == row
    assert len(seen) == tokens * topk, "every pair once"


@pytest.mark.parametrize("block_m", [16, 128])
def test_row_bound_is_reached(block_m: int) -> None:
    """Every expert one pair more than whole blocks."""
    ids = torch.arange(4).repeat(block_m + 1)[:, None]
    sorting = layout.sort_tokens(ids, torch.ones(ids.shape), 4, block_m)
    assert sorting.rows == 8 * block_m
    assert layout.max_rows(len(ids), 1, 4, block_m) == 8 * block_m


def test_one_token_and_one_expert() -> None:
    sorting = layout.sort_tokens(torch.tensor([[7]]), torch.ones(1, 1), 8, 32)
    assert sorting.rows == 32
    assert sorting.sorted_expert_ids.tolist() == [7]
    assert sorting.m_indices.tolist() == [0, *[1] * 31]
    everyone = layout.sort_tokens(torch.full((33, 1), 3), torch.ones(33, 1), 8, 32)
    assert everyone.sorted_expert_ids.tolist() == [3, 3]
    assert everyone.m_indices.tolist() == [*range(33), *[33] * 31]


def test_block_rows() -> None:
    sorting = layout.sort_tokens(torch.zeros(40, 1, dtype=torch.int64), torch.ones(40, 1), 1, 32)
    assert sorting.block_rows(1) == slice(32, 64)
    with pytest.raises(ValueError, match="block 2"):
        sorting.block_rows(2)


def test_bad_routing_is_named() -> None:
    ids, weight = torch.zeros(2, 1, dtype=torch.int64), torch.ones(2, 1)
    with pytest.raises(ValueError, match="got 5"):
        layout.sort_tokens(ids + 5, weight, 4, 16)
    with pytest.raises(ValueError, match="got -1"):
        layout.sort_tokens(ids - 1, weight, 4, 16)
    with pytest.raises(ValueError, match="block_m"):
        layout.sort_tokens(ids, weight, 4, 24)
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        layout.sort_tokens(ids, torch.ones(2, 2), 4, 16)
    with pytest.raises(TypeError, match=r"torch\.float64"):
        layout.sort_tokens(ids, weight.to(torch.float64), 4, 16)
    with pytest.raises(TypeError, match="topk_ids"):
        layout.sort_tokens(ids.to(torch.float32), weight, 4, 16)
    with pytest.raises(ValueError, match="topk must be at most 128"):
        layout.sort_tokens(torch.zeros(1, 129, dtype=torch.int64), torch.ones(1, 129), 4, 16)


# --- combining -----------------------------------------------------------------------------------


def sorted_and_flat(
    routing: tuple[torch.Tensor, torch.Tensor, int, int],
) -> tuple[Sorting, torch.Tensor]:
    sorting = layout.sort_tokens(*routing)
    generator = torch.Generator().manual_seed(1)
    return sorting, torch.randn(sorting.rows, 8, dtype=torch.float64, generator=generator)


@given(routings())
def test_both_ways_to_combine_agree(
    routing: tuple[torch.Tensor, torch.Tensor, int, int],
) -> None:
    sorting, rows = sorted_and_flat(routing)
    flat = layout.combine_flat(rows, routing[1], sorting.reverse_sorted)
    torch.testing.assert_close(layout.combine_atomic(rows, sorting), flat, rtol=1e-12, atol=1e-12)


def test_combining_drops_padding() -> None:
    sorting = layout.sort_tokens(torch.tensor([[1]]), torch.full((1, 1), 0.5), 2, 16)
    rows = torch.full((16, 2), float("nan"), dtype=torch.float64)
    rows[0] = 4.0
    assert layout.combine_atomic(rows, sorting).tolist() == [[2.0, 2.0]]
    assert layout.combine_flat(rows, torch.full((1, 1), 0.5), sorting.reverse_sorted).tolist() == [
        [2.0, 2.0]
    ]


def test_gathering_pads_with_zero_rows() -> None:
    rows = torch.tensor([[1, 2], [3, 4]], dtype=torch.uint8)
    picked = layout.gather_rows(rows, torch.tensor([1, 2, 0], dtype=torch.int32))
    assert picked.tolist() == [[3, 4], [0, 0], [1, 2]]


def test_combining_refuses_other_sizes() -> None:
    sorting = layout.sort_tokens(torch.tensor([[0]]), torch.ones(1, 1), 1, 16)
    with pytest.raises(ValueError, match="R = 16"):
        layout.combine_atomic(torch.zeros(15, 2), sorting)
    with pytest.raises(ValueError, match="reverse_sorted"):
        layout.combine_flat(torch.zeros(16, 2), torch.ones(2, 1), sorting.reverse_sorted)
    with pytest.raises(ValueError, match="row 20 of 16"):
        layout.combine_flat(torch.zeros(16, 2), torch.ones(1, 1), torch.tensor([20]))
