"""Claims and comparison with the published counts: the rules, on made-up and on real tables."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels.ablation import claims, parity, published
from mxfp4kernels.ablation.claims import STATIC_CLAIMS, check_claims, step
from mxfp4kernels.ablation.counts import KERNEL, CountTable, MissingCounts
from mxfp4kernels.ablation.published import SALU_AND_OTHER, read_figures, read_reference
from mxfp4kernels.files import TableError, read_csv, write_csv
from mxfp4kernels.flags import ALL, FLAGS, NAMES, NONE, SAFETY_FLAGS, acting, cumulative
from mxfp4kernels.shapes import VARIANTS, find_variant

GEMM1 = find_variant("gemm1", "bm128")
IQ = find_variant("gemm1", "bm16_iq")
NONATOMIC = find_variant("gemm2", "bm128_nonatomic")


@pytest.fixture(scope="module")
def reference() -> published.Reference:
    return read_reference()


@pytest.fixture(scope="module")
def rows(table: CountTable, reference) -> list[dict[str, object]]:
    return check_claims(table, reference)


def find(rows, flag: str, variant, text: str) -> dict[str, object]:
    (row,) = (
        row
        for row in rows
        if (row["flag"], row["variant"]) == (flag, str(variant)) and text in str(row["claim"])
    )
    return row


def with_counts(table: CountTable, variant, flags, region=KERNEL, **counts: int) -> CountTable:
    """``table`` with some counts of one row replaced."""
    chosen = table.at(variant, flags, region)
    return CountTable(
        replace(
            row,
            classes={
                **row.classes,
                **{name: n for name, n in counts.items() if name in row.classes},
            },
            resources={
                **row.resources,
                **{name: n for name, n in counts.items() if name in row.resources},
            },
        )
        if row is chosen
        else row
        for row in table.rows
    )


class TestPublished:
    def test_like_for_like_rows_are_read_typed(self, reference) -> None:
        assert {row.set for row in reference.rows} == set(published.SETS)
        assert {row.region for row in reference.rows} == {
            KERNEL,
            "prologue",
            "kloop",
            "drain",
            "epilogue",
        }
        assert len({row.variant for row in reference.rows}) == 8

    def test_classes_of_a_row_add_up_to_its_total(self, reference) -> None:
        for row in reference.rows:
            classes = {
                name: number
                for name, number in row.quantities.items()
                if name.isupper() or name == SALU_AND_OTHER
            }
            assert sum(classes.values()) == row.quantities["total"], row

    def test_change_is_after_less_before(self, reference) -> None:
        before = reference.quantity(GEMM1, NONE, "VALU")
        after = reference.quantity(GEMM1, ALL, "VALU")
        assert reference.change(GEMM1, "VALU") == after - before

    def test_variant_without_a_row(self, reference) -> None:
        cached = find_variant("gemm1", "bm32_cached")
        assert reference.quantity(cached, NONE, "VALU") is None
        assert reference.change(cached, "VALU") is None

    def test_unknown_kernel_in_the_table(self, tmp_path: Path) -> None:
        (tmp_path / "table.csv").write_text(
            published.REFERENCE.read_text().replace("_bm64_cached", "_bm48_cached")
        )
        with pytest.raises(ValueError, match=r"no variant of ours.*bm48_cached"):
            read_reference(tmp_path / "table.csv")

    def test_missing_column(self, tmp_path: Path) -> None:
        (tmp_path / "table.csv").write_text("set,compiler\n")
        with pytest.raises(TableError, match="no column gemm, instance, scope"):
            read_reference(tmp_path / "table.csv")

    def test_figures_of_every_commit_that_states_numbers(self) -> None:
        stated = {
            row["commit_or_pr"][:10]
            for row in read_csv(published.FIGURES)
            if "in #3828" in row["commit_or_pr"]
        }
        assert stated == set(claims.COMMITS)
        assert all(read_figures(commit) for commit in claims.COMMITS)


class TestStep:
    def test_steps_walk_the_cumulative_study(self) -> None:
        for variant in VARIANTS:
            settings = cumulative(variant)
            names = [name for name in NAMES if name in acting(variant)]
            for before, after, name in zip(settings, settings[1:], names, strict=False):
                assert step(variant, frozenset({name})) == (before, after)

    def test_flags_apart_are_refused(self) -> None:
        with pytest.raises(ValueError, match="do not follow one another"):
            step(NONATOMIC, frozenset({"bare_pointer_abi", "unsigned_divrem"}))


class TestClaims:
    def test_every_flag_has_a_row_in_every_variant(self, rows) -> None:
        general = {
            (row["flag"], row["variant"])
            for row in rows
            if str(row["claim"]).startswith("shows in")
        }
        assert general == {(flag.name, str(variant)) for flag in FLAGS for variant in VARIANTS}

    def test_not_applicable_exactly_where_the_flag_cannot_act(self, rows) -> None:
        found = {
            (row["flag"], row["variant"]) for row in rows if row["verdict"] == claims.NOT_APPLICABLE
        }
        assert found == {
            (flag.name, str(variant))
            for flag in FLAGS
            for variant in VARIANTS
            if not flag.acts_in(variant)
        }

    def test_nothing_published_stands_beside_another_unit(self, rows) -> None:
        """A claim about time is not what a number of instructions is to be read against."""
        for row in rows:
            if row["unit"] in ("instructions", "bytes", "%"):
                said = str(row["published"])
                number = re.fullmatch(r"-?\d+(\.\d+)?", said)
                assert number or said in ("", "fewer", "unchanged", "stated", "not in the message")
            if str(row["claim"]).startswith("shows in"):
                assert row["published"] == ""

    def test_static_claims_name_flags_of_the_registry(self) -> None:
        assert {name for claim in STATIC_CLAIMS for name in claim.flags.split("+")} == set(NAMES)

    def test_a_new_flag_is_judged_without_a_change_elsewhere(
        self, table, reference, monkeypatch
    ) -> None:
        """Under another name, hardware_exp2 is a flag that nothing but the registry knows."""
        renamed = [
            replace(flag, name="brand_new") if flag.name == "hardware_exp2" else flag
            for flag in FLAGS
        ]
        names = tuple(flag.name for flag in renamed)
        for module in ("flags", "ablation.claims"):
            monkeypatch.setattr(f"mxfp4kernels.{module}.FLAGS", tuple(renamed))
            monkeypatch.setattr(f"mxfp4kernels.{module}.NAMES", names)
        monkeypatch.setattr("mxfp4kernels.flags.REGISTRY", (*renamed, *SAFETY_FLAGS))
        monkeypatch.setattr(
            "mxfp4kernels.ablation.published.SETS",
            {name: frozenset(names) if flags else NONE for name, flags in published.SETS.items()},
        )
        anew = CountTable(
            replace(row, flags=row.flags.replace("hardware_exp2", "brand_new"))
            for row in table.rows
        )
        rows = check_claims(anew, reference)
        assert find(rows, "brand_new", GEMM1, "shows in")["verdict"] == claims.ACTS

    def test_exp2_share_at_bm128_is_the_published_one(self, rows) -> None:
        row = find(rows, "hardware_exp2", GEMM1, "share")
        assert row["published"] == "-31"
        assert row["verdict"] == claims.CONFIRMED

    @pytest.mark.parametrize(
        ("valu", "verdict"), [(0.69, claims.CONFIRMED), (0.60, claims.DIFFERS)]
    )
    def test_exp2_share_follows_the_counts(self, table, reference, valu, verdict) -> None:
        off, on = step(GEMM1, frozenset({"hardware_exp2"}))
        changed = with_counts(table, GEMM1, off, VALU=1000, ACC=0, TRANS=0)
        changed = with_counts(changed, GEMM1, on, VALU=int(1000 * valu), ACC=0, TRANS=0)
        row = find(check_claims(changed, reference), "hardware_exp2", GEMM1, "share")
        assert row["ours"] == pytest.approx(100 * valu - 100)
        assert row["verdict"] == verdict

    @pytest.mark.parametrize(
        ("change", "verdict"),
        [(-1, claims.CONFIRMED), (0, claims.NO_EFFECT), (1, claims.CONTRADICTED)],
    )
    def test_fewer_is_judged_by_its_sign(self, table, reference, change, verdict) -> None:
        off, on = step(NONATOMIC, frozenset({"unsigned_divrem"}))
        salu = table.at(NONATOMIC, off).classes["SALU"]
        changed = with_counts(table, NONATOMIC, on, SALU=salu + change)
        row = find(check_claims(changed, reference), "unsigned_divrem", NONATOMIC, "sign corr")
        assert (row["ours"], row["verdict"]) == (change, verdict)

    def test_kernarg_bytes_are_compared_with_the_published(self, table, reference, rows) -> None:
        row = find(rows, "bare_pointer_abi", NONATOMIC, "arguments")
        assert (row["published"], row["ours"], row["verdict"]) == ("344", 344, claims.CONFIRMED)
        _, on = step(NONATOMIC, frozenset({"bare_pointer_abi"}))
        changed = with_counts(table, NONATOMIC, on, kernarg_bytes=352)
        row = find(check_claims(changed, reference), "bare_pointer_abi", NONATOMIC, "arguments")
        assert row["verdict"] == claims.CONTRADICTED

    def test_unchanged_is_held_to_zero(self, table, reference) -> None:
        _, on = step(NONATOMIC, frozenset({"backend_waitcnt"}))
        barriers = table.at(NONATOMIC, on).classes["BARRIER"]
        changed = with_counts(table, NONATOMIC, on, BARRIER=barriers - 1)
        row = find(check_claims(changed, reference), "backend_waitcnt", NONATOMIC, "barriers")
        assert (row["ours"], row["verdict"]) == (-1, claims.CONTRADICTED)

    def test_a_flag_without_effect_says_so(self, table, reference) -> None:
        off, on = step(IQ, frozenset({"native_packed_max"}))
        same = table.at(IQ, off).isa_sha256
        changed = CountTable(
            replace(row, isa_sha256=same)
            if (row.variant, row.flags) == (IQ.name, table.at(IQ, on).flags)
            else row
            for row in table.rows
        )
        row = find(check_claims(changed, reference), "native_packed_max", IQ, "shows in")
        assert row["verdict"] == claims.NO_EFFECT

    def test_device_times_are_listed_and_not_judged(self, rows) -> None:
        device = [row for row in rows if row["verdict"] == claims.NOT_STATIC]
        stated = sum(len(read_figures(commit)) for commit in claims.COMMITS)
        assert len(device) == stated - 1  # the one static figure
        assert all(row["ours"] == "" and row["published"] for row in device)

    def test_setting_missing_from_the_table(self, table, reference) -> None:
        gone = CountTable(row for row in table.rows if row.flags != "bare_pointer_abi")
        with pytest.raises(MissingCounts, match="flags bare_pointer_abi"):
            check_claims(gone, reference)

    def test_committed_claims_are_current(self, rows, tmp_path: Path) -> None:
        claims.write_claims(rows, tmp_path / "claims.csv")
        assert (tmp_path / "claims.csv").read_bytes() == claims.CLAIMS.read_bytes(), (
            "data/isa/claims.csv is not what the counts say; run make ablation"
        )


class TestParity:
    @pytest.mark.parametrize(
        ("name", "published_count", "within", "outside"),
        [
            ("MFMA", 100, [100], [99, 101]),
            ("VMEM", 100, [100], [99, 101]),
            ("BARRIER", 5, [5], [4, 6]),
            ("LDS", 100, [95, 105], [94, 106]),
            ("VALU", 100, [50, 105], [106]),
            ("SMEM", 7, [5, 9], [4, 10]),
            ("kernarg_bytes", 88, [88], [80, 96]),
            ("spills", 2, [0], [2]),
            ("waves_per_simd", 3, [3, 4], [2]),
        ],
    )
    def test_tolerances(self, name, published_count, within, outside) -> None:
        holds = parity.TOLERANCES[name].holds
        assert all(holds(published_count, ours) for ours in within)
        assert not any(holds(published_count, ours) for ours in outside)

    def test_every_published_kernel_row_is_compared(self, table, reference) -> None:
        rows = parity.compare(table, reference)
        whole = [row for row in rows if row["region"] == KERNEL]
        names = {*parity.QUANTITIES, *parity.RESOURCES}
        assert len(whole) == 16 * len(names)
        assert {row["quantity"] for row in whole} == names
        held = {row["quantity"] for row in rows if row["verdict"] != parity.NOT_HELD}
        assert held == set(parity.TOLERANCES)

    def test_salu_is_compared_with_what_the_table_counts_as_salu(self, table, reference) -> None:
        row = next(
            row
            for row in parity.compare(table, reference)
            if row["quantity"] == SALU_AND_OTHER and row["variant"] == GEMM1.name
        )
        ours = table.at(GEMM1, NONE).classes
        assert row["ours"] == ours["SALU"] + ours["OTHER"]

    def test_kernarg_bytes_are_held_only_with_the_bare_abi(self, table, reference) -> None:
        verdicts = {
            (row["flags"] == "none", row["verdict"] == parity.NOT_HELD)
            for row in parity.compare(table, reference)
            if row["quantity"] == "kernarg_bytes"
        }
        assert verdicts == {(True, True), (False, False)}

    def test_a_difference_beyond_the_tolerance_is_outside(self, table, reference) -> None:
        changed = with_counts(table, GEMM1, ALL, VMEM=1)
        (row,) = (
            row
            for row in parity.compare(changed, reference)
            if (row["variant"], row["quantity"], row["region"]) == ("bm128", "VMEM", KERNEL)
            and row["flags"] != "none"
        )
        assert row["verdict"] == parity.OUTSIDE
        assert row["difference"] == 1 - row["published"]

    def test_committed_comparison_is_current(self, table, reference, tmp_path: Path) -> None:
        write_csv(tmp_path / "reference.csv", parity.COLUMNS, parity.compare(table, reference))
        assert (tmp_path / "reference.csv").read_bytes() == parity.PARITY.read_bytes(), (
            "data/isa/reference.csv is not what the counts say; run make ablation"
        )
