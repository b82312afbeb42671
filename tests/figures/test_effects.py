"""Steps, effects alone and last, interactions and shares, on a table made by hand."""

from __future__ import annotations

import pytest

from mxfp4kernels.ablation.counts import (
    CLASSES,
    REGIONS,
    RESOURCES,
    CountRow,
    CountTable,
    read_counts,
)
from mxfp4kernels.ablation.effects import (
    amount,
    first,
    flags_of,
    last,
    share,
    square,
    steps,
    twins,
    whole,
)
from mxfp4kernels.flags import FLAGS, FlagSet, label, study_settings
from mxfp4kernels.shapes import KERNELS, VARIANTS, Variant, find_variant

BM16 = find_variant("gemm1", "bm16_iq")
PAIR = ("native_packed_max", "interleaved_quant")


def made(variants: tuple[Variant, ...], nops: dict[str, int], vector: int = 10) -> CountTable:
    """A table in which each flag removes some nops, the pair 20 more together, and exp2 VALU."""

    def row(variant: Variant, flags: FlagSet, region: str) -> CountRow:
        name = label(variant, flags)
        count = 100 - sum(nops.get(flag, 0) for flag in name.split("+"))
        count -= 20 * (set(PAIR) <= set(name.split("+")))
        classes = dict.fromkeys(CLASSES, 0) | {
            "MFMA": 7,
            "NOP": count,
            "VALU": vector - 4 * ("hardware_exp2" in name),
        }
        resources = dict.fromkeys(RESOURCES, 1)
        where = (variant.kernel, variant.name, "1x256x128x1", name, region)
        return CountRow(*where, classes, resources, "vgpr", "0", "0", name)

    return CountTable(
        row(variant, flags, region)
        for variant in variants
        for flags in study_settings(variant)
        for region in REGIONS
    )


TABLE = made((BM16,), {"bare_pointer_abi": 5, "native_packed_max": 2, "interleaved_quant": 1})


def test_mfma_does_not_count() -> None:
    assert amount(TABLE.at(BM16, frozenset())) == 110


def test_steps_follow_the_registry_and_add_up() -> None:
    found = steps(TABLE, BM16)
    assert {name: step.amount() for name, step in found.items()} == {
        "bare_pointer_abi": -5,
        "hardware_exp2": -4,
        "native_packed_max": -2,
        "interleaved_quant": -21,
    }
    assert whole(TABLE, BM16).amount() == -32


def test_alone_and_last_differ_by_the_interaction() -> None:
    assert first(TABLE, BM16, "native_packed_max").amount() == -2
    assert last(TABLE, BM16, "native_packed_max").amount() == -22
    assert first(TABLE, BM16, "hardware_exp2").amount() == -4
    assert last(TABLE, BM16, "hardware_exp2").amount() == -4


def test_square() -> None:
    found = square(TABLE, BM16, PAIR, "NOP")
    assert (found.neither, found.only_first, found.only_second, found.both) == (95, 93, 94, 72)
    assert (found.additive, found.interaction) == (92, -20)


def test_main_class_goes_with_the_sum() -> None:
    assert steps(TABLE, BM16)["hardware_exp2"].main_class == "VALU"
    assert steps(TABLE, BM16)["interleaved_quant"].main_class == "NOP"
    nothing = first(made((BM16,), {}), BM16, "bare_pointer_abi")
    assert nothing.main_class is None
    assert nothing.acts, "the hash differs although no count does"


def test_share_is_of_what_was_there_before_the_step() -> None:
    assert share(TABLE, BM16, "hardware_exp2") == pytest.approx(40)


class TestTwins:
    def test_equal_counts_stand_together_under_the_common_name(self) -> None:
        pair = (find_variant("gemm1", "bm32_nt"), find_variant("gemm1", "bm32_cached"))
        (found,) = twins(made(pair, {}))
        assert found.variants == pair
        assert str(found) == "gemm1 bm32"

    def test_one_different_count_parts_them(self) -> None:
        one, other = (find_variant("gemm1", name) for name in ("bm32_nt", "bm32_cached"))
        table = CountTable((*made((one,), {}).rows, *made((other,), {}, vector=11).rows))
        assert [str(found) for found in twins(table)] == ["gemm1 bm32_nt", "gemm1 bm32_cached"]

    def test_every_variant_of_the_committed_table_is_in_one(self) -> None:
        found = twins(read_counts())
        assert sorted(str(one) for group in found for one in group.variants) == sorted(
            map(str, VARIANTS)
        )
        assert len({str(group) for group in found}) == len(found)


def test_flags_of_a_kernel_are_those_of_its_variants() -> None:
    both = {name for kernel in KERNELS for name in flags_of(kernel)}
    assert both == {flag.name for flag in FLAGS}
    assert "hardware_exp2" not in flags_of("gemm2")
    assert "unsigned_divrem" not in flags_of("gemm1")
