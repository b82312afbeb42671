"""Every kernel from the Python launcher through FlyDSL's host code into the emulator."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from mxfp4kernels.compiler import Compiler, Job
from mxfp4kernels.emulator import Report, sanitize
from mxfp4kernels.flags import ALL, NONE, FlagSet
from mxfp4kernels.hip import Launch, emulated_device, verify_launch
from mxfp4kernels.hip.library import Library
from mxfp4kernels.hip.programs import Programs
from mxfp4kernels.hip.verify import tensors
from mxfp4kernels.kernels import device_kernel
from mxfp4kernels.numerics.problem import Argument, Problem
from mxfp4kernels.numerics.verification import Verification
from mxfp4kernels.shapes import VARIANTS, Shape, Variant, find_variant

SHAPE = Shape(4, 512, 256, 2)
TOKENS = 5
FLAGS = {"none": NONE, "all": ALL}


@pytest.fixture(scope="module", autouse=True)
def compiled(library: Library) -> None:
    """All kernels of this module compiled and linked in parallel, for the cache."""
    Programs(Compiler()).prepare(
        [Job(variant, SHAPE, flags) for variant in VARIANTS for flags in FLAGS.values()]
    )


def record_only(*_: object, **__: object) -> None:
    """Stands in for the emulator where only the arguments are of interest."""


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_flydsl_launches_into_the_emulator(variant: Variant, flags: FlagSet) -> None:
    """The output is right, and FlyDSL's argument bytes are those packed by the metadata."""
    problem = Problem(variant, SHAPE, TOKENS)
    kernel = device_kernel(variant, SHAPE, flags)
    launches: list[Launch] = []

    def run(arguments: Sequence[Argument], _: Sequence[int]) -> None:
        buffers = tensors(kernel, arguments)
        for path, options in (("hip", {}), ("metadata", {"execute": record_only})):
            with emulated_device(path, **options) as device:
                assert device.path == path
                kernel(buffers, n_tokens=TOKENS, m_blocks=problem.m_blocks)
            launches.extend(device.launches)

    result = Verification(problem).verify_run(run)
    assert result.passed, result.report()
    hip, metadata = launches
    assert hip.kernarg == metadata.kernarg
    assert hip.grid == metadata.grid == (problem.workgroups, 1, 1)
    assert hip.block == metadata.block == (256, 1, 1)
    assert hip.dynamic_lds == 0
    assert hip.program is not metadata.program
    assert hip.program == metadata.program
    assert hip.result.by_opcode()["v_mfma_scale_f32_16x16x128_f8f6f4"] > 0
    assert hip.code_object_sha256 is not None
    assert metadata.code_object_sha256 is None


def test_the_two_abis_differ_in_their_arguments(library: Library) -> None:
    """Equal bytes would not say much if both ABIs made the same ones."""
    problem = Problem(VARIANTS[0], SHAPE, TOKENS)
    with emulated_device("hip", execute=record_only) as device:
        for flags in FLAGS.values():
            kernel = device_kernel(problem.variant, SHAPE, flags)
            buffers = tensors(kernel, problem.arguments([0]))
            kernel(buffers, n_tokens=TOKENS, m_blocks=problem.m_blocks)
    tensor_abi, addresses = (len(launch.kernarg) for launch in device.launches)
    assert tensor_abi > addresses


def test_the_metadata_path_computes_the_same() -> None:
    """What a machine without C compiler or linker gets."""
    problem = Problem(find_variant("gemm1", "bm32_nt"), SHAPE, TOKENS)
    with emulated_device("metadata") as device:
        result = verify_launch(problem, ALL)
    assert result.passed, result.report()
    assert [launch.code_object_sha256 for launch in device.launches] == [None]


def test_chosen_workgroups_run_and_no_others() -> None:
    problem = Problem(find_variant("gemm1", "bm32_nt"), SHAPE, TOKENS)
    with emulated_device("hip", workgroups=[1, 2]) as device:
        result = verify_launch(problem, ALL, [1, 2])
    assert result.passed, result.report()
    assert len(result.tiles) == 2
    assert device.launches[0].result.workgroups == (1, 2)


def test_a_launch_can_run_under_the_sanitizer() -> None:
    problem = Problem(find_variant("gemm1", "bm32_nt"), SHAPE, TOKENS)
    with emulated_device("hip", workgroups=[0], execute=sanitize) as device:
        result = verify_launch(problem, ALL, [0])
    assert result.passed, result.report()
    report = device.launches[0].result
    assert isinstance(report, Report)
    assert report.needs


def test_a_kernel_outlives_the_device_that_it_was_first_launched_on() -> None:
    """FlyDSL keeps the loaded module; a second device runs it again."""
    problem = Problem(find_variant("gemm2", "bm32_cshuffle"), SHAPE, TOKENS)
    for _ in range(2):
        with emulated_device("hip") as device:
            result = verify_launch(problem, ALL)
        assert result.passed, result.report()
        assert len(device.launches) == 1


def test_tensors_are_reachable_during_their_launch_only() -> None:
    seen: dict[str, tuple[int, int, bool]] = {}

    def look(program, kernarg, grid, block, memory, **_: object) -> None:
        seen.update({b.name: (b.address, b.data.size, b.writable) for b in memory.buffers})

    problem = Problem(find_variant("gemm1", "bm16_iq"), SHAPE, TOKENS)
    kernel = device_kernel(problem.variant, SHAPE, NONE)
    buffers = tensors(kernel, problem.arguments([0]))
    with emulated_device("hip", execute=look) as device:
        # What the variant has no use for is not reachable although it is passed.
        extra = {"a_quant": torch.zeros(5, 256, dtype=torch.uint8)}
        kernel({**buffers, **extra}, n_tokens=TOKENS, m_blocks=problem.m_blocks)
        assert device.memory.buffers == ()
    assert seen == {
        name: (
            tensor.data_ptr(),
            tensor.numel() * tensor.element_size(),
            name in ("out_q", "out_scale"),
        )
        for name, tensor in buffers.items()
        if tensor is not None
    }
