"""The matrix pipe on micro-kernels whose timing is published."""

from __future__ import annotations

import pytest

from mxfp4kernels.timing.engine import Cause

from .micro import gaps, micro, total

FP4 = "cbsz:4 blgp:4"
SMALL = "v_mfma_scale_f32_16x16x128_f8f6f4"
LARGE = "v_mfma_scale_f32_32x32x64_f8f6f4"


def small(result: int, *, form: str = FP4, width: int = 4, source: int | None = None) -> str:
    """A 16x16x128 that accumulates into v[result:result+3]."""
    c = result if source is None else source
    a, b = f"v[100:{99 + width}]", f"v[120:{119 + width}]"
    return f"{SMALL} v[{result}:{result + 3}], {a}, {b}, v[{c}:{c + 3}], v140, v141 {form}\n"


def large(result: int, *, form: str = FP4, width: int = 4) -> str:
    """A 32x32x64 that accumulates into v[result:result+15]."""
    a, b, d = f"v[100:{99 + width}]", f"v[120:{119 + width}]", f"v[{result}:{result + 15}]"
    return f"{LARGE} {d}, {a}, {b}, {d}, v140, v141 {form}\n"


@pytest.mark.parametrize(
    ("text", "clocks"),
    [
        (small, 16),
        (lambda d: small(d, form="", width=8), 32),
        (large, 32),
        (lambda d: large(d, form="", width=8), 64),
    ],
    ids=["fp4 16x16x128", "fp8 16x16x128", "fp4 32x32x64", "fp8 32x32x64"],
)
def test_independent_mfmas_follow_at_the_pipe_rate(text, clocks: int) -> None:
    kernel = micro("".join(text(16 * k) for k in range(5)))
    assert gaps(kernel.issued(kernel.run(), "v_mfma")) == [clocks] * 4


def test_accumulating_into_the_same_registers_costs_nothing() -> None:
    kernel = micro(small(0) * 6)
    assert gaps(kernel.issued(kernel.run(), "v_mfma")) == [16] * 5


def test_an_accumulator_that_overlaps_in_part_waits_passes_and_two() -> None:
    kernel = micro(small(0) + small(8, source=2))
    assert gaps(kernel.issued(kernel.run(), "v_mfma")) == [28]


@pytest.mark.parametrize(
    ("text", "clocks"),
    [
        (small, 36),
        (lambda d: small(d, form="", width=8), 52),
        (large, 52),
        (lambda d: large(d, form="", width=8), 84),
    ],
    ids=["fp4 16x16x128", "fp8 16x16x128", "fp4 32x32x64", "fp8 32x32x64"],
)
def test_a_dependent_reader_waits_for_the_result(text, clocks: int) -> None:
    kernel = micro(text(0) + "v_add_f32 v50, v0, v1\n")
    run = kernel.run()
    fetch = 4
    start = kernel.issued(run, "v_mfma")[0] + fetch
    assert kernel.issued(run, "v_add")[0] - start == clocks
    assert total(run, Cause.DEPENDENCY) > 0


def test_nops_that_cover_the_wait_are_not_counted_twice() -> None:
    alone = micro(small(0) + "v_add_f32 v50, v0, v1\n").run()
    covered = micro(small(0) + "s_nop 3\nv_add_f32 v50, v0, v1\n").run()
    assert covered.clocks == alone.clocks
    assert total(covered, Cause.NOP) == 16


@pytest.mark.parametrize(
    ("text", "slot"),
    [(small, 2), (lambda d: small(d, form="", width=8), 3), (large, 2)],
    ids=["fp4 16x16x128", "fp8 16x16x128", "fp4 32x32x64"],
)
def test_valu_issues_in_its_slot_behind_an_mfma(text, slot: int) -> None:
    kernel = micro(text(0) + "v_add_f32 v50, v51, v52\n")
    run = kernel.run()
    start = kernel.issued(run, "v_mfma")[0] + 4
    assert kernel.issued(run, "v_add")[0] == start + 4 * slot


@pytest.mark.parametrize(("text", "free"), [(small, 1), (large, 5)], ids=["16x16x128", "32x32x64"])
def test_free_slots_behind_a_scaled_mfma(text, free: int) -> None:
    """That many VALU instructions hide behind each MFMA; one more delays the next."""
    valu = "".join(f"v_mov_b32 v{50 + k}, v60\n" for k in range(free + 1))
    hidden = "\n".join(valu.splitlines()[:free]) + "\n"
    fits = micro("".join(text(16 * k % 48) + hidden for k in range(5)))
    late = micro("".join(text(16 * k % 48) + valu for k in range(5)))
    rate = 16 if text is small else 32
    assert gaps(fits.issued(fits.run(), "v_mfma")) == [rate] * 4
    assert gaps(late.issued(late.run(), "v_mfma")) == [rate + 4] * 4


def test_two_waves_of_a_simd_share_its_pipe() -> None:
    kernel = micro("".join(small(16 * k) for k in range(6)), waves=8)
    run = kernel.run()
    assert run.clocks == pytest.approx(12 * 16, abs=24)
    assert run.matrix_duty > 0.9
