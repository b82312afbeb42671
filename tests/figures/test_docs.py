"""The docs quote what the data say, and the data are of today's kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from mxfp4kernels import quoted
from mxfp4kernels.ablation import excerpts, nops, other_llvm, tile_loop
from mxfp4kernels.ablation.counts import COLUMNS, read_counts
from mxfp4kernels.ablation.excerpts import RULES, cut, read_excerpts
from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.files import DATA, read_csv
from mxfp4kernels.flags import ALL, NONE
from mxfp4kernels.quoted import TABLES, Data, QuoteError, fill, markdown
from mxfp4kernels.shapes import REFERENCE_SHAPE, VARIANTS, find_variant

FINDINGS = quoted.DOCS / "isa-findings.md"


@pytest.fixture(scope="module")
def data() -> Data:
    return Data()


@pytest.mark.parametrize("document", quoted.DOCUMENTS, ids=lambda path: path.stem)
def test_documents_quote_the_data_as_they_are(document: Path, data: Data) -> None:
    """If this fails: ``python -m mxfp4kernels.quoted``."""
    text = document.read_text(encoding="utf-8")
    assert fill(text, data) == text


def test_the_findings_quote_every_excerpt_and_table(data: Data) -> None:
    text = FINDINGS.read_text(encoding="utf-8")
    unused = {name for name in TABLES if f"<!-- table {name} -->" not in text}
    notebook, timing = {"region_changes", "interactions"}, {"model_errors"}
    assert unused == notebook | timing, "those are quoted there"
    unused = {name for name in data.excerpts if f"<!-- excerpt {name} -->" not in text}
    assert unused == {"quant_neither"}, "it differs from quant_native in inline assembly only"


class TestFill:
    def test_a_number(self, data: Data) -> None:
        mark = "<!-- counts gemm1/bm16_iq all kernel kernarg_bytes -->"
        assert fill(f"takes 12345{mark} bytes", data) == f"takes 88{mark} bytes"

    def test_a_published_number(self, data: Data) -> None:
        mark = "<!-- published gemm2/bm128_mxfp4 none kernel LDS -->"
        assert fill(f"0{mark}", data) == f"352{mark}"

    def test_errors_of_the_model(self, data: Data) -> None:
        errors = [abs(float(row["error_pct"])) for row in data.validation]
        alike = [
            error
            for error, row in zip(errors, data.validation, strict=True)
            if row["likeness"] == "like for like"
        ]
        assert fill("1.5<!-- model like-for-like worst -->", data).startswith(f"{max(alike):.1f}<")
        assert fill("0<!-- model like-for-like number -->", data).startswith(f"{len(alike)}<")
        assert fill("0<!-- model unmapped number -->", data).startswith(f"{len(data.unmapped)}<")

    def test_a_table_and_an_excerpt(self, data: Data) -> None:
        text = fill("<!-- table square -->\nold\n<!-- end -->\n", data)
        assert text == f"<!-- table square -->\n{TABLES['square'](data)}\n<!-- end -->\n"
        text = fill("<!-- excerpt exp2_on -->\n<!-- end -->\n", data)
        assert text.splitlines()[1:4] == ["```asm", data.excerpts["exp2_on"].text, "```"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("1<!-- counts gemm1/bm17 all kernel VALU -->", "gemm1 has no variant 'bm17'"),
            ("1<!-- counts gemm1/bm64 all kernel -->", "cannot quote"),
            ("1<!-- guesses gemm1/bm64 all kernel VALU -->", "cannot quote"),
            ("1<!-- counts gemm1/bm64 all attic VALU -->", "no counts of gemm1/bm64"),
            ("1<!-- published gemm1/bm64 all kernel luck -->", "cannot quote"),
            ("1<!-- model by-luck median -->", "no line 'by-luck'"),
            ("1<!-- cost ablation all never s -->", "no cost of ablation all with never cache"),
            ("1<!-- published gemm2/bm64_atomic all kernel VALU -->", "no such published count"),
            ("<!-- table weather -->\n<!-- end -->", "no table 'weather'; choose from flags"),
            ("<!-- excerpt weather -->\n<!-- end -->", "no excerpt 'weather'; choose from abi_off"),
        ],
    )
    def test_refuses_what_there_is_not(self, data: Data, text: str, message: str) -> None:
        with pytest.raises(QuoteError, match=message):
            fill(text, data)

    def test_command_line_rewrites_in_place(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        page = tmp_path / "page.md"
        mark = "<!-- counts gemm2/bm128_mxfp4 all kernel kernarg_bytes -->"
        page.write_text(f"1{mark}")
        assert quoted.main([str(page)]) == 0
        assert page.read_text() == f"344{mark}"
        page.write_text("1<!-- counts gemm1/bm17 all kernel VALU -->")
        assert quoted.main([str(page)]) == 1
        assert page.read_text().startswith("1<!--")
        assert "page.md: cannot quote" in capsys.readouterr().err


def test_columns_of_numbers_stand_to_the_right() -> None:
    rows = [("a", 1, "2 → 3", "x"), (2, 3, f"{quoted.MINUS}4", 5)]
    table = markdown(("name", "number", "change", "text"), rows)
    assert table.splitlines()[1] == "| --- | ---: | ---: | --- |"


class TestDataAreOfTodaysKernels:
    """If one fails: ``python -m mxfp4kernels.ablation.excerpts`` (``.nops``, ``.other_llvm``)."""

    def test_excerpts(self) -> None:
        kernels = Compiler().compile_all([rule.job for rule in RULES])
        fresh = [
            {key: str(value) for key, value in row.items()}
            for rule, kernel in zip(RULES, kernels, strict=True)
            for row in cut(kernel, rule)
        ]
        assert read_csv(excerpts.EXCERPTS) == fresh

    def test_nops(self) -> None:
        jobs = [
            Job(variant, REFERENCE_SHAPE, flags) for variant in VARIANTS for flags in (NONE, ALL)
        ]
        fresh = [
            {key: str(value) for key, value in row.items()}
            for kernel in Compiler().compile_all(jobs)
            for row in nops.rows(kernel)
        ]
        assert read_csv(nops.NOPS) == fresh

    def test_tile_loop(self) -> None:
        fresh = [
            {key: str(value) for key, value in tile_loop.row(kernel).items()}
            for kernel in Compiler().compile_all(tile_loop.jobs())
        ]
        assert read_csv(tile_loop.TILE_LOOP) == fresh

    def test_other_llvm(self) -> None:
        """Its compiler may not be here; but it must have compiled the kernels that we count."""
        counts = read_counts()
        rows = read_csv(other_llvm.COUNTS, (*COLUMNS, other_llvm.FLYDSL_SHA256))
        assert len(rows) == 5 * 2 * len(VARIANTS)
        for row in rows:
            variant = find_variant(row["kernel"], row["variant"])
            flags = NONE if row["flags"] == "none" else ALL
            assert row[other_llvm.FLYDSL_SHA256] == counts.at(variant, flags).isa_sha256
            assert row["llvm"] == "22.1.8", "the version that the published counts come from"

    def test_nops_add_up_to_the_counts(self) -> None:
        for table, path in ((read_counts(), nops.NOPS), (read_counts(other_llvm.COUNTS), None)):
            found = nops.read_nops(path or other_llvm.NOPS)
            for variant in VARIANTS:
                for flags in (NONE, ALL):
                    row = table.at(variant, flags)
                    causes = found[row.kernel, row.variant, row.flags]
                    assert sum(causes.values()) == row.quantity("NOP")


class TestWhatTheFindingsSay:
    """Statements in words that rest on the data."""

    def published(self, variant: str, scope: str, column: str) -> int:
        rows = read_csv(DATA / "published" / "isa_reference.csv")
        (value,) = {
            int(row[column])
            for row in rows
            if row["set"] == "FlyDSL after, rebuilt"
            and row["instance"].endswith(variant)
            and row["scope"] == scope
        }
        return value

    def test_lds_differs_by_the_source_alone(self, data: Data) -> None:
        for variant in VARIANTS:
            for flags in (NONE, ALL):
                ours, other = (table.at(variant, flags) for table in (data.counts, data.other))
                assert ours.quantity("LDS") == other.quantity("LDS")

    def test_published_gemm1_bm64_stores_and_reads_in_fewer_pairs(self, data: Data) -> None:
        writes = self.published("bm64_cached", "epilogue", "ds_write")
        assert (writes, 2 * writes - 64) == (40, 16), "stores, and those that are single"
        extra = {
            region: self.published("bm64_cached", scope, "ds_read")
            - data.counts.at(find_variant("gemm1", "bm64"), ALL, region).quantity("LDS")
            for region, scope in (("kloop", "K-loop, 26 tiles"), ("drain", "drain, 2 tiles"))
        }
        assert sum(extra.values()) == 8

    def test_published_gemm2_mxfp4_pairs_stores_in_the_straight_copy_only(self) -> None:
        loop = self.published("nonatomic_mxfp4", tile_loop.SCOPE, "ds_write")
        straight = self.published("nonatomic_mxfp4", "whole kernel", "ds_write") - loop
        assert (128 - loop, 2 * loop - 128) == (0, 128), "pairs, and single stores"
        assert (128 - straight, 2 * straight - 128) == (32, 64)

    def test_one_trip_of_the_mxfp4_loop_is_as_long_as_published(self) -> None:
        ours, published = tile_loop.read_tile_loop(), tile_loop.read_published()
        assert ours["bm128_mxfp4", "all"]["total"] == published["bm128_mxfp4", "all"]["total"]
        more = {
            name
            for name, number in ours["bm128_mxfp4", "all"].items()
            if number > published["bm128_mxfp4", "all"][name]
        }
        assert more == {"VALU", "NOP"}

    def test_waits_before_the_barrier_are_the_same_by_both(self, data: Data) -> None:
        for name in ("bm32_nt", "bm32_cached", "bm64"):
            variant = find_variant("gemm1", name)
            ours, other = (table.at(variant, ALL, "kloop") for table in (data.counts, data.other))
            assert ours.quantity("WAIT") == other.quantity("WAIT")


def test_excerpts_are_found_by_name() -> None:
    found = read_excerpts()
    assert set(found) == {rule.name for rule in RULES}
    assert "s_nop 1" in found["quant_native"].text
    assert "s_nop 0" in found["quant_interleaved"].text
    assert "s_nop" not in found["quant_both"].text
