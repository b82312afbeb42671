"""The gate before any time: real problems, with the emulator in the place of the device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np
import pytest
import torch

from mxfp4kernels.bench.cases import OURS, Case, Setting
from mxfp4kernels.bench.fake import FakeDevice, FakeGraph
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.rounds import CaseRun
from mxfp4kernels.bench.workload import Buffers, KernelWorkload, WeightStore
from mxfp4kernels.flags import ALL, NONE, acting
from mxfp4kernels.hip import emulated_device
from mxfp4kernels.kernels import device_kernel
from mxfp4kernels.numerics.problem import Argument, Problem
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
    replayed = workload.check_graph(graph, turn_of(workload, case_of(variant), device))
    assert replayed.passed, replayed.report
    assert replayed.elements == check.elements
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


def unwritten(name: str, row: int, size: int) -> Callable[[Mapping[str, torch.Tensor]], None]:
    def spoil(buffers: Mapping[str, torch.Tensor]) -> None:
        rows = buffers[name].view(torch.uint8).reshape(buffers[name].shape[0], -1)
        rows[row, :size] = Argument.POISON

    return spoil


LAST_ROW = -1
"""Past the rows in use: buffers are made for the worst routing."""


@pytest.mark.parametrize(
    ("variant", "spoil", "words"),
    [
        ("gemm1/bm32_nt", flip("out_q", 0, 3), "1 mismatches"),
        ("gemm1/bm32_nt", flip("out_scale", 0, 0), "mismatches"),
        (
            "gemm1/bm32_nt",
            flip("out_q", LAST_ROW, 3),
            "1 bytes of out_q outside all tiles were written",
        ),
        (
            "gemm1/bm32_nt",
            flip("out_scale", LAST_ROW, 0),
            "bytes of out_scale outside all tiles were written",
        ),
        ("gemm1/bm32_nt", unwritten("out_q", 1, 64), "8 pieces of 8 bytes of out_q were not wr"),
        ("gemm1/bm32_nt", unwritten("out_q", 1, 9), "1 pieces of 8 bytes of out_q were not wr"),
        ("gemm1/bm32_nt", unwritten("out_scale", 0, 3), "3 bytes of out_scale were not written"),
        ("gemm2/bm32_cshuffle", unwritten("out", 1, 8), "1 pieces of 8 bytes of out were not wr"),
        ("gemm2/bm128_mxfp4", unwritten("out_scale", 1, 2), "2 bytes of out_scale were not wr"),
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
    turn = turn_of(workload, case, device)
    assert "were not written" in workload.check_graph(graph, turn).report


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
    turn = turn_of(workload, case, device)
    report = workload.check_graph(turn, turn).report
    assert "set 1: out_q differs from set 0" in report
    assert workload.check_graph(turn, turn).passed
    assert "set 2" in workload.check_graph(graph_of(workload, case, device, 2), turn).report


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


def turn_of(workload: KernelWorkload, case: Case, device: FakeDevice):
    return graph_of(workload, case, device, workload.sets)


class After:
    """A kernel that is right until it was launched ``count`` times, and then something else."""

    def __init__(self, variant: Variant, count: int, instead: Callable[..., None]) -> None:
        self.kernel = device_kernel(variant, SHAPE, NONE)
        self.left, self.instead = count, instead

    def __call__(self, buffers: Buffers, *, n_tokens: int, m_blocks: int) -> None:
        self.left -= 1
        kernel = self.kernel if self.left >= 0 else self.instead
        kernel(buffers, n_tokens=n_tokens, m_blocks=m_blocks)


def constant(buffers: Buffers, **sizes: int) -> None:
    """Writes everything that it may, whatever the inputs are."""
    for name in ("out", "out_q"):
        if buffers.get(name) is not None:
            buffers[name].view(torch.uint8).fill_(0x11)


@pytest.mark.parametrize("variant", ["gemm1/bm16_iq", "gemm2/bm16_atomic_nt"])
def test_what_is_replayed_is_held_against_the_reference(variant: str, device: FakeDevice) -> None:
    """All sets alike and all written, but right at the first launch only."""
    case = case_of(find_variant(*variant.split("/")))
    workload = workload_of(case, device, lambda setting: After(case.variant, 1, constant))
    run = CaseRun(case, workload, device, Procedure(rounds=6, passes=1, replay_seconds=2e-3))
    assert run.graphs == {}
    for check in run.checks.values():
        assert "replaying the graph, set 0" in check.report
        assert check.mismatches > 0


@pytest.mark.parametrize("variant", ["gemm1/bm16_iq", "gemm2/bm16_atomic_nt"])
def test_every_timed_graph_is_checked_again_at_the_end(variant: str, device: FakeDevice) -> None:
    case = case_of(find_variant(*variant.split("/")))
    second = After(case.variant, 10**6, constant)

    def kernels(setting: Setting) -> Callable[..., None]:
        return second if setting.flags else device_kernel(case.variant, SHAPE, NONE)

    workload = workload_of(case, device, kernels)
    run = CaseRun(case, workload, device, Procedure(rounds=6, passes=1, replay_seconds=2e-3))
    assert all(check.passed for check in run.check_after().values())
    second.left = 0
    after = run.check_after()
    assert {label: check.passed for label, check in after.items()} == {
        case.labels[0]: True,
        case.labels[1]: True,
        case.labels[2]: False,
    }


@pytest.mark.usefixtures("three_sets")
@pytest.mark.parametrize("variant", ["gemm1/bm16_iq", "gemm2/bm16_atomic_nt"])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_inputs_of_any_set_that_changed_are_found(variant, number, device: FakeDevice) -> None:
    case = case_of(find_variant(*variant.split("/")))
    workload = workload_of(case, device)
    run = CaseRun(case, workload, device, Procedure(rounds=6, passes=1, replay_seconds=6e-3))
    weights = "w1" if case.variant.kernel == "gemm1" else "w2"
    workload._buffers[number][weights].view(torch.uint8).fill_(0)
    for check in run.check_after().values():
        assert not check.passed
        # Other sets are compared with the first.
        assert f"set {number if number or 'atomic' in variant else 0}: " in check.report


def test_a_graph_that_adds_once_whatever_it_holds_is_found(device: FakeDevice) -> None:
    case = case_of(find_variant("gemm2", "bm16_atomic_nt"))
    workload = workload_of(case, device)
    turn = turn_of(workload, case, device)
    replayed = FakeGraph(launches=4, seconds=4e-3, effects=turn.effects)
    report = workload.check_graph(replayed, turn).report
    assert "replaying the graph, set 0: 100% of the sums" in report
    assert workload.check_graph(graph_of(workload, case, device, 4), turn).passed


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

    run = CaseRun(case, workload_of(case, device, kernels), device, Procedure(rounds=6, passes=1))
    assert list(run.graphs) == ["none", "none (again)"]
    assert set(run.round(0)["settings"]) == {"none", "none (again)"}
    record = run.record_of_checks()
    assert record["checks"]["none"]["passed"]
    assert "mismatches" in record["checks"][case.labels[2]]["report"]
    assert {label for label, check in run.check_after().items() if check.passed} == set(run.graphs)
