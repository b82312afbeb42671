"""The gate before any time: real problems, with the emulator in the place of the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pytest
import torch

from mxfp4kernels.bench.cases import OURS, Case, Setting
from mxfp4kernels.bench.fake import FakeDevice
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.rounds import CaseRun
from mxfp4kernels.bench.workload import Buffers, KernelWorkload, WeightStore
from mxfp4kernels.flags import ALL, NONE, acting
from mxfp4kernels.hip import emulated_device
from mxfp4kernels.kernels import device_kernel
from mxfp4kernels.problem import Argument, Problem
from mxfp4kernels.shapes import Variant, find_variant, parse_shape

SHAPE = parse_shape("4x512x256x2")
CPU = torch.device("cpu")
VARIANTS = [
    find_variant("gemm1", "bm16_iq"),
    find_variant("gemm1", "bm32_nt"),
    find_variant("gemm2", "bm16_atomic_nt"),
    find_variant("gemm2", "bm32_cshuffle"),
    find_variant("gemm2", "bm128_mxfp4"),
]


@pytest.fixture(autouse=True)
def device() -> Iterator[FakeDevice]:
    """Kernels that are launched run in the emulator, on the tensors' own memory."""
    with emulated_device("metadata"):
        yield FakeDevice()


def case_of(variant: Variant, tokens: int = 5) -> Case:
    settings = (Setting(OURS, NONE), Setting(OURS, acting(variant, ALL)))
    return Case(variant, SHAPE, tokens, "family-a", 0, settings)


class Submitted:
    """A kernel on the simulated device: of known duration, with the real one as its effect."""

    def __init__(self, device: FakeDevice, kernel: Callable[..., None]) -> None:
        self.device = device
        self.kernel = kernel

    def __call__(self, buffers: Buffers, *, n_tokens: int, m_blocks: int) -> None:
        effect = partial(self.kernel, buffers, n_tokens=n_tokens, m_blocks=m_blocks)
        self.device.submit(1e-3, effect)


Kernels = Callable[[Setting], Callable[..., None]]


def workload_of(
    case: Case, device: FakeDevice, kernels: Kernels | None = None, cache: str = "warm"
) -> KernelWorkload:
    made = kernels or (lambda setting: device_kernel(case.variant, SHAPE, setting.flags))
    return KernelWorkload(
        case,
        device,
        CPU,
        kernels=lambda setting: Submitted(device, made(setting)),
        provenance=lambda setting: {},
        store=WeightStore(CPU),
        cache=cache,
    )


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_compiled_kernels_pass(variant: Variant, device: FakeDevice) -> None:
    workload = workload_of(case_of(variant), device)
    for setting in case_of(variant).settings:
        check = workload.check(setting)
        assert check.passed, check.report
        assert check.elements > 0
        assert 0 < check.tiles <= check.of
    graph = device.capture([partial(workload.launch, case_of(variant).baseline, 0)] * 2)
    assert workload.check_graph(graph).passed
    assert workload.facts["input_sets"] == 1
    assert 2 <= workload.facts["active_experts"] <= 4


class Spoiled:
    """A right kernel whose output something then happens to."""

    def __init__(self, variant: Variant, spoil: Callable[[Mapping[str, torch.Tensor]], None]):
        self.kernel = device_kernel(variant, SHAPE, ALL)
        self.spoil = spoil

    def __call__(self, buffers: Buffers, *, n_tokens: int, m_blocks: int) -> None:
        self.kernel(buffers, n_tokens=n_tokens, m_blocks=m_blocks)
        self.spoil(buffers)


def flip(name: str, row: int, column: int) -> Callable[[Mapping[str, torch.Tensor]], None]:
    def spoil(buffers: Mapping[str, torch.Tensor]) -> None:
        buffers[name].view(torch.uint8).reshape(buffers[name].shape[0], -1)[row, column] ^= 0x70

    return spoil


def unwritten(row: int) -> Callable[[Mapping[str, torch.Tensor]], None]:
    def spoil(buffers: Mapping[str, torch.Tensor]) -> None:
        buffers["out_q"][row, :64] = Argument.POISON

    return spoil


LAST_ROW = -1
"""Past the rows in use: buffers are made for the worst routing."""


@pytest.mark.parametrize(
    ("variant", "spoil", "words"),
    [
        ("gemm1/bm32_nt", flip("out_q", 0, 3), "1 mismatches"),
        ("gemm1/bm32_nt", flip("out_scale", 0, 0), "mismatches"),
        ("gemm1/bm32_nt", flip("out_q", LAST_ROW, 3), "1 bytes outside all tiles were written"),
        ("gemm1/bm32_nt", flip("out_scale", LAST_ROW, 0), "bytes outside all tiles were written"),
        ("gemm1/bm32_nt", unwritten(1), "1 rows of tiles were not written"),
        ("gemm2/bm16_atomic_nt", flip("out", 2, 1), "mismatches"),
        ("gemm2/bm32_cshuffle", flip("out", 0, 1), "mismatches"),
        ("gemm2/bm32_cshuffle", flip("out", LAST_ROW, 1), "outside all tiles"),
        ("gemm2/bm128_mxfp4", flip("out_scale", 0, 0), "mismatches"),
        ("gemm2/bm128_mxfp4", flip("out_scale", LAST_ROW, 0), "outside all tiles"),
    ],
)
def test_each_kind_of_wrong_output_is_found(variant: str, spoil, words: str, device) -> None:
    case = case_of(find_variant(*variant.split("/")))
    workload = workload_of(case, device, lambda setting: Spoiled(case.variant, spoil))
    check = workload.check(case.baseline)
    assert not check.passed
    assert words in check.report


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_a_kernel_that_does_nothing_is_wrong(variant: Variant, device: FakeDevice) -> None:
    case = case_of(variant)
    workload = workload_of(case, device, lambda setting: lambda buffers, **sizes: None)
    check = workload.check(case.baseline)
    assert not check.passed
    assert "were not written" in check.report
    graph = device.capture([partial(workload.launch, case.baseline, 0)])
    assert "were not written" in workload.check_graph(graph).report


@pytest.fixture
def three_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mxfp4kernels.bench.workload.input_sets", lambda *sizes: 3)


@pytest.mark.usefixtures("three_sets")
def test_a_set_that_comes_out_otherwise_is_found(device: FakeDevice) -> None:
    case = case_of(find_variant("gemm1", "bm32_nt"), tokens=3)
    right = device_kernel(case.variant, SHAPE, NONE)
    calls = []

    def second_is_wrong(buffers: Buffers, **sizes: int) -> None:
        right(buffers, **sizes)
        calls.append(1)
        if len(calls) == 2:
            flip("out_q", 0, 0)(buffers)

    workload = workload_of(case, device, lambda setting: second_is_wrong)
    report = workload.check_graph(graph_of(workload, case, device, 3)).report
    assert "set 1: out_q differs from set 0" in report
    assert workload.check_graph(graph_of(workload, case, device, 3)).passed
    assert "set 2" in workload.check_graph(graph_of(workload, case, device, 2)).report


@pytest.mark.usefixtures("three_sets")
def test_sets_are_copies_and_every_launch_takes_the_next(device: FakeDevice) -> None:
    case = case_of(find_variant("gemm1", "bm32_nt"), tokens=3)
    seen: dict[str, list[int]] = {"w1": [], "a_quant": [], "out_q": []}

    def look(buffers: Buffers, **sizes: int) -> None:
        for name, addresses in seen.items():
            addresses.append(buffers[name].data_ptr())

    workload = workload_of(case, device, lambda setting: look)
    device.replay(graph_of(workload, case, device, 6))
    for addresses in seen.values():
        assert len(set(addresses)) == 3
        assert addresses == addresses[:3] * 2


def graph_of(workload: KernelWorkload, case: Case, device: FakeDevice, count: int):
    return device.capture(
        [partial(workload.launch, case.baseline, n % workload.sets) for n in range(count)]
    )


def test_weights_do_not_depend_on_variant_or_tokens() -> None:
    store = WeightStore(CPU)
    for kernel, name in (("gemm1", "bm64"), ("gemm2", "bm32_cshuffle")):
        variant = find_variant(kernel, name)
        problem = Problem(variant, SHAPE, 7, routing="balanced", seed=3)
        for argument in problem.arguments(range(SHAPE.experts)):
            if argument.name.startswith("w"):
                kept = store.weights(variant, SHAPE, 3)[argument.name]
                assert tuple(kept.shape) == argument.shape
                assert np.array_equal(kept.numpy().reshape(-1), argument.data)


def test_a_case_is_measured_whole(device: FakeDevice) -> None:
    """Checks, capture and rounds together; the wrong setting is not timed."""
    case = case_of(find_variant("gemm1", "bm32_nt"), tokens=3)

    def kernels(setting: Setting) -> Callable[..., None]:
        if setting.flags == NONE:
            return device_kernel(case.variant, SHAPE, NONE)
        return Spoiled(case.variant, flip("out_q", 0, 0))

    run = CaseRun(case, workload_of(case, device, kernels), device, Procedure(rounds=5, passes=1))
    assert list(run.graphs) == ["none", "none (again)"]
    assert set(run.round(0)["settings"]) == {"none", "none (again)"}
    record = run.record_of_checks()
    assert record["checks"]["none"]["passed"]
    assert "mismatches" in record["checks"][case.labels[2]]["report"]
    assert run.check_after().passed
