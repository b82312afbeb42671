"""The ablation on the real kernels: what is compiled, counted and committed."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels.ablation import counts, runs
from mxfp4kernels.ablation.counts import (
    CLASSES,
    COLUMNS,
    KERNEL,
    REGIONS,
    CountTable,
    MissingCounts,
    read_counts,
    write_counts,
)
from mxfp4kernels.cache import Cache
from mxfp4kernels.compiler import Compiler
from mxfp4kernels.files import TableError
from mxfp4kernels.flags import ALL, FLAGS, NONE, STUDIES, FlagError, acting, label
from mxfp4kernels.shapes import REFERENCE_SHAPE, VARIANTS, Shape, ShapeError, find_variant

HEADER = (
    "kernel,variant,shape,flags,region,MFMA,VALU,ACC,TRANS,SALU,SMEM,VMEM,LDS,WAIT,BARRIER,NOP,"
    "BRANCH,OTHER,total,vgpr,agpr,sgpr,lds_bytes,kernarg_bytes,spills,waves_per_simd,limiter,"
    "flydsl,llvm,isa_sha256"
)


def test_columns_are_the_promised_ones() -> None:
    assert ",".join(COLUMNS) == HEADER


def test_jobs_cover_every_study_once() -> None:
    jobs = runs.jobs()
    assert len(set(jobs)) == len(jobs)
    for variant in VARIANTS:
        wanted = {label(variant, flags) for study in STUDIES.values() for flags in study(variant)}
        found = [label(variant, job.flags) for job in jobs if job.variant == variant]
        assert sorted(found) == sorted(wanted)
        assert found[0] == "none"


def test_unknown_study() -> None:
    with pytest.raises(FlagError, match="unknown study 'sideways'"):
        runs.jobs(studies=["sideways"])


def test_variants_that_cannot_run_a_shape_are_told_with_the_reason() -> None:
    fit, refused = runs.runnable(Shape(8, 512, 384, 2))
    assert {variant.kernel for variant in fit} == {"gemm1"}
    assert all("gemm2 needs inter % 256 == 0, got inter=384" in reason for reason in refused)
    assert len(fit) + len(refused) == len(VARIANTS)


def test_shape_that_no_variant_can_run() -> None:
    with pytest.raises(ShapeError, match="hidden=100"):
        runs.runnable(Shape(8, 100, 512, 2))


def test_table_has_every_region_of_every_job(table: CountTable) -> None:
    expected = [
        (job.variant.kernel, job.variant.name, label(job.variant, job.flags), region)
        for job in runs.jobs()
        for region in REGIONS
    ]
    assert [(row.kernel, row.variant, row.flags, row.region) for row in table.rows] == expected


def test_regions_add_up_to_the_kernel(table: CountTable) -> None:
    for key, group in itertools.groupby(table.rows, lambda r: (r.kernel, r.variant, r.flags)):
        whole, *parts = group
        assert whole.region == KERNEL, key
        for name in CLASSES:
            assert whole.classes[name] == sum(part.classes[name] for part in parts), (key, name)


def test_no_kernel_spills_or_uses_scratch(ablated_kernels) -> None:
    assert [warning for kernel in ablated_kernels for warning in kernel.warnings] == []


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.name)
def test_a_flag_changes_exactly_the_variants_it_says(table: CountTable, flag) -> None:
    for variant in VARIANTS:
        off = table.at(variant, NONE)
        on = table.at(variant, frozenset({flag.name}))
        without = table.at(variant, acting(variant) - {flag.name})
        everything = table.at(variant, ALL)
        changed = {off.isa_sha256 != on.isa_sha256, without.isa_sha256 != everything.isa_sha256}
        assert changed == {flag.acts_in(variant)}, variant


def test_provenance_is_in_every_row(table: CountTable, ablated_kernels) -> None:
    hashes = {kernel.provenance.isa_sha256 for kernel in ablated_kernels}
    assert {row.isa_sha256 for row in table.rows} == hashes
    assert all(len(row.isa_sha256) == 64 for row in table.rows)
    assert len({(row.flydsl, row.llvm) for row in table.rows}) == 1


def test_committed_table_is_what_the_kernels_give(table: CountTable, tmp_path: Path) -> None:
    write_counts(table, tmp_path / "counts.csv")
    assert (tmp_path / "counts.csv").read_bytes() == counts.COUNTS.read_bytes(), (
        "data/isa/counts.csv is not what the kernels compile to; run make ablation"
    )


def test_two_cold_runs_write_the_same_bytes(tmp_path: Path) -> None:
    variants = [find_variant("gemm1", "bm32_nt"), find_variant("gemm2", "bm32_cshuffle")]
    written = []
    for name, workers in (("first", 1), ("second", 2)):
        compiler = Compiler(Cache(tmp_path / name), workers=workers)
        table, _ = runs.run(compiler, runs.jobs(REFERENCE_SHAPE, variants))
        write_counts(table, tmp_path / f"{name}.csv")
        written.append((tmp_path / f"{name}.csv").read_bytes())
    assert written[0] == written[1]


def test_round_trip(table: CountTable, tmp_path: Path) -> None:
    write_counts(table, tmp_path / "counts.csv")
    assert read_counts(tmp_path / "counts.csv").rows == table.rows


def test_missing_row_is_named(table: CountTable) -> None:
    variant = find_variant("gemm1", "bm64")
    gone = CountTable(row for row in table.rows if row.variant != "bm64")
    assert not gone.has(variant)
    with pytest.raises(MissingCounts, match=r"gemm1/bm64 with flags none.*ablate"):
        gone.at(variant, NONE)


def test_two_shapes_or_a_row_twice_make_no_table(table: CountTable) -> None:
    row = table.rows[0]
    with pytest.raises(ValueError, match="one shape"):
        CountTable([row, replace(row, shape="8x512x512x2")])
    with pytest.raises(ValueError, match="more than one row"):
        CountTable([row, row])


def test_table_without_a_column(table: CountTable, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("kernel,variant\ngemm1,bm64\n")
    with pytest.raises(TableError, match="no column"):
        read_counts(path)


def test_reading_and_judging_the_tables_imports_neither_torch_nor_flydsl() -> None:
    code = (
        "import sys\n"
        "from mxfp4kernels.ablation import claims, counts, parity, published\n"
        "table, reference = counts.read_counts(), published.read_reference()\n"
        "assert claims.check_claims(table, reference)\n"
        "assert parity.compare(table, reference)\n"
        "print(sorted({'torch', 'flydsl', 'numba'} & set(sys.modules)))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "[]"
