"""The compiled kernels themselves, executed in the emulator and held against the reference."""

from __future__ import annotations

import functools
import re

import pytest

from mxfp4kernels.flags import ALL, NONE, FlagSet, join
from mxfp4kernels.numerics.layer import verify_layer
from mxfp4kernels.numerics.problem import Problem
from mxfp4kernels.numerics.verification import Verification, main, sampled_workgroups
from mxfp4kernels.shapes import VARIANTS, Shape, Variant, dispatch, find_variant

pytest.importorskip("flydsl", reason="compiling the kernels needs FlyDSL")

from mxfp4kernels.compiler import CompiledKernel, Compiler, Job

SMALL = Shape(4, 512, 256, 2)


@functools.cache
def compiled(shape: Shape) -> dict[tuple[Variant, FlagSet], CompiledKernel]:
    """Every variant with no flag and with all, compiled together."""
    settings = [(variant, flags) for variant in VARIANTS for flags in (NONE, ALL)]
    kernels = Compiler().compile_all([Job(variant, shape, flags) for variant, flags in settings])
    return dict(zip(settings, kernels, strict=True))


def assembly(variant: Variant, flags: FlagSet = ALL, shape: Shape = SMALL) -> str:
    return compiled(shape)[variant, flags].assembly


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_parent_and_merged_form_are_right_and_bit_equal(variant: Variant) -> None:
    """Whole grid, partly padded blocks, workgroups past the last tile; both ABIs."""
    verification = Verification(Problem(variant, SMALL, 5))
    results = {join(flags): verification.verify(assembly(variant, flags)) for flags in (NONE, ALL)}
    for flags, result in results.items():
        assert result.passed, f"{flags}: {result.report()}"
    assert len({result.digest for result in results.values()}) == 1


@pytest.mark.parametrize("routing", ["same", "sparse", "balanced"])
@pytest.mark.parametrize("tokens", [1, 37])
@pytest.mark.parametrize("name", ["gemm1/bm16_iq", "gemm1/bm32_nt", "gemm2/bm32_atomic"])
def test_routings(name: str, tokens: int, routing: str) -> None:
    variant = find_variant(*name.split("/"))
    result = Verification(Problem(variant, SMALL, tokens, routing)).verify(assembly(variant))
    assert result.passed, result.report()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_edge_values(variant: Variant) -> None:
    """Zero blocks, magnitudes at 1.75, rounding ties, scales 0 and 254."""
    result = Verification(Problem(variant, SMALL, 4, content="edges")).verify(assembly(variant))
    assert result.passed, result.report()


def test_infinities_and_nan_in_activations() -> None:
    """They stay in their token: 6 at scale byte 254 where a gate or up overflowed; see mx.py."""
    variant = find_variant("gemm1", "bm16_iq")
    result = Verification(Problem(variant, SMALL, 6, content="special")).verify(assembly(variant))
    assert result.passed, result.report()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("gemm1/bm32_nt", "2x256x384x1"),
        ("gemm1/bm16_iq", "2x1280x128x1"),
        ("gemm2/bm32_atomic", "3x256x768x2"),
        ("gemm2/bm128_mxfp4", "3x256x512x2r384"),
        ("gemm2/bm64_cshuffle", "3x256x1024x1r640"),
    ],
)
def test_odd_shapes(name: str, shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An odd number of output halves, K of one, three and five tiles, a cut last tile."""
    assert main([*name.split("/"), "--shape", shape, "--m", "7", "--flags", "none"]) == 0
    assert "PASS" in capsys.readouterr().out


@pytest.mark.parametrize("tokens", [1, 200])
def test_whole_layer_on_a_dispatch_path(tokens: int) -> None:
    first, second = dispatch("gemm1", tokens), dispatch("gemm2", tokens)
    result = verify_layer(
        (assembly(first), assembly(second)), Problem(first, SMALL, tokens), second
    )
    assert result.passed, result.gemm1.report() + result.gemm2.report()
    assert result.cos > 0.9999


@pytest.mark.parametrize(
    ("variant", "pattern", "replacement"),
    [
        ("gemm1/bm32_nt", r"0x200000\b", "0x100000"),
        ("gemm1/bm32_nt", r"0xbfb8aa3b", "0xbfb8a000"),
        ("gemm2/bm32_cshuffle", r"op_sel_hi:\[0,0,0\]", "op_sel_hi:[0,1,0]"),
        ("gemm2/bm128_mxfp4", r"0xffff0000", "0xff800000"),
    ],
)
def test_a_changed_instruction_fails(variant: str, pattern: str, replacement: str) -> None:
    """Rounding of a scale, a constant of the exponential, a scale selector, a mask."""
    found = find_variant(*variant.split("/"))
    text = assembly(found)
    changed, count = re.subn(pattern, replacement, text)
    assert count > 0
    verification = Verification(Problem(found, SMALL, 64))
    assert verification.verify(text).passed
    assert not verification.verify(changed).passed


def test_a_sample_of_the_reference_shape() -> None:
    variant = find_variant("gemm1", "bm32_nt")
    shape = Shape(385, 7168, 512, 9)
    problem = Problem(variant, shape, 64)
    text = Compiler().compile(Job(variant, shape, ALL)).assembly
    result = Verification(problem, sampled_workgroups(problem)).verify(text)
    assert result.passed, result.report()
