"""The committed tables: complete, of the committed kernels, and without a failure."""

from __future__ import annotations

import pytest

from mxfp4kernels.ablation.counts import read_counts
from mxfp4kernels.files import read_csv
from mxfp4kernels.flags import ALL, NONE, SAFE, acting, join, study_settings
from mxfp4kernels.shapes import KIMI_DISPATCH, REFERENCE_SHAPE, SHAPES, VARIANTS, Variant
from mxfp4kernels.study import findings, tables
from mxfp4kernels.study.cases import EVERY_SETTING, all_cases, mutation_cases, runs

ROWS = findings.read_verify()
MUTANTS = read_csv(tables.MUTANTS, tables.MUTANTS_COLUMNS)

each = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def test_one_row_per_case_and_setting_in_the_order_of_the_cases() -> None:
    """If this fails: ``mxfp4kernels study``."""
    expected = [
        (case.kernel, case.name, str(case.shape), join(flags), case.path)
        for case in all_cases()
        for flags in case.settings
    ]
    names = ("kernel", "variant", "shape", "flags", "path")
    assert [tuple(row[name] for name in names) for row in ROWS] == expected
    assert len(set(expected)) == len(expected)


@each
def test_every_setting_at_the_reference_shape_is_of_the_counted_kernel(variant: Variant) -> None:
    counts = read_counts()
    for flags in study_settings(variant, EVERY_SETTING):
        row = findings.at_reference(ROWS, variant, flags)
        assert row["isa_sha256"] == counts.at(variant, flags).isa_sha256, "mxfp4kernels study"


@each
def test_every_preset_shape_that_the_variant_takes(variant: Variant) -> None:
    shapes = {row["shape"] for row in findings.of_variant(ROWS, variant)}
    assert {str(shape) for shape in SHAPES.values() if runs(variant, shape)} <= shapes


def test_every_dispatch_path_as_a_layer() -> None:
    layers = {row["variant"] for row in ROWS if row["kernel"] == "layer"}
    pairs = {f"{row.gemm1}+{row.gemm2}" for row in KIMI_DISPATCH}
    assert layers == pairs | {"bm128+bm128_mxfp4"}


def test_every_run_is_right() -> None:
    wrong = [row for row in ROWS if row["passed"] != "yes" or row["mismatches"] != "0"]
    assert not wrong


def test_no_flag_changes_a_bit() -> None:
    assert {row["bit_equal_to_none"] for row in ROWS} == {"yes"}


def test_a_persistent_kernel_makes_several_tiles_per_workgroup() -> None:
    for variant in VARIANTS:
        if variant.persistent:
            row = findings.at_reference(ROWS, variant, NONE)
            assert int(row["tiles"]) > 3 * 3, "three workgroups"


def test_hazards_are_those_that_the_safety_flags_fix() -> None:
    """Races stand in the published forms of two kernels, and in no safe form at any shape."""
    racing = {(row["kernel"], row["variant"]) for row in ROWS if row["hazards"] not in ("", "0")}
    assert racing == {("gemm1", "bm128"), ("gemm2", "bm128_mxfp4")}
    safe = [row for row in ROWS if findings.is_safe(row["flags"])]
    assert safe
    assert {row["hazards"] for row in safe if row["kernel"] != "layer"} == {"0"}


def test_hazards_are_described() -> None:
    found = read_csv(tables.HAZARDS, tables.HAZARDS_COLUMNS)
    total: dict[tuple[str, ...], int] = {}
    for row in found:
        key = (row["kernel"], row["variant"], row["flags"])
        total[key] = total.get(key, 0) + int(row["pairs"])
        assert row["first"].startswith(row["first_opcode"])
        assert row["second"].startswith(row["second_opcode"])
    expected = {
        (row["kernel"], row["variant"], row["flags"]): int(row["hazards"])
        for row in ROWS
        if row["shape"] == str(REFERENCE_SHAPE) and row["hazards"] not in ("", "0")
    }
    assert total == expected


@each
def test_every_mutant_of_every_form(variant: Variant) -> None:
    own = {
        (row["flags"], row["shape"])
        for row in MUTANTS
        if (row["kernel"], row["variant"]) == (variant.kernel, variant.name)
    }
    assert own == {
        (join(flags), str(case.shape))
        for case in mutation_cases()
        if case.variant == variant
        for flags in case.settings
    }
    assert {join(acting(variant, flags)) for flags in (NONE, ALL, SAFE)} == {
        flags for flags, _ in own
    }


def test_every_mutant_was_reached_and_came_out_as_predicted() -> None:
    assert {row["agree"] for row in MUTANTS} == {"yes"}
    assert {row["verdict"] for row in MUTANTS} == {"flagged", "needless"}
    kinds = {findings.change_kind(row["mutant"]) for row in MUTANTS}
    assert kinds == {"wait removed", "wait weakened", "barrier removed"}


def test_bins_hold_every_compared_element_with_a_reference() -> None:
    errors = read_csv(tables.ERRORS, tables.ERRORS_COLUMNS)
    boundaries = {
        (row["kernel"], row["variant"], row["flags"]): int(row["elements"])
        for row in read_csv(tables.BOUNDARIES, tables.BOUNDARIES_COLUMNS)
        if row["shape"] == str(REFERENCE_SHAPE)
    }
    total: dict[tuple[str, ...], int] = {}
    for row in errors:
        key = (row["kernel"], row["variant"], row["flags"])
        total[key] = total.get(key, 0) + int(row["elements"])
    assert set(total) == {
        (variant.kernel, variant.name, join(flags))
        for variant in VARIANTS
        for flags in study_settings(variant, EVERY_SETTING)
    }
    assert all(0 < count <= boundaries[key] for key, count in total.items())


def test_the_parent_waits_for_more_loads_than_the_first_lds_read_needs() -> None:
    """The claim that the figure of loads and waits makes."""
    ended = {}
    for flags in ("none", "backend_waitcnt"):
        events = [
            row
            for row in read_csv(tables.TIMELINE, tables.TIMELINE_COLUMNS)
            if row["flags"] == flags
        ]
        first = min(int(row["position"]) for row in events if row["kind"] == "LDS read")
        loads = [row for row in events if row["kind"] in ("load", "load to LDS")]
        early = [row for row in loads if row["ended_by"] and int(row["ended_by"]) < first]
        ended[flags] = {kind: sum(row["kind"] == kind for row in early) for kind in
                        ("load", "load to LDS")}  # fmt: skip
    assert ended["none"]["load"] > 0
    assert ended["backend_waitcnt"]["load"] == 0
    assert ended["none"]["load to LDS"] == ended["backend_waitcnt"]["load to LDS"] > 0
