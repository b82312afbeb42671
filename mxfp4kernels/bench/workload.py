"""A case's kernels with real buffers: the problem of the numerics, laid out on a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import torch
from torch import Tensor

from ..kernels import parameters_of
from ..numerics.problem import Argument, Problem
from ..shapes import Shape, Variant, find_variant
from .cases import Case, Setting
from .check import OutputCheck
from .device import Device, Graph
from .procedure import input_sets
from .rounds import Check

Buffers = Mapping[str, Tensor | None]
"""A tensor for every buffer parameter of a kernel; ``None`` where the variant has no use for it."""

WEIGHTS = ("w1", "w1_scale", "w2", "w2_scale")


class Kernel(Protocol):
    """Enqueues a kernel on the current stream."""

    def __call__(self, buffers: Buffers, *, n_tokens: int, m_blocks: int) -> None:
        """Launch on buffers that hold ``m_blocks`` blocks of sorted rows."""


class NotEnoughMemory(ValueError):
    """The buffers of a case do not fit on the device."""


class WeightStore:
    """All experts' weights on a device, made once per kernel, shape and seed.

    Args:
        place: the device.
    """

    def __init__(self, place: torch.device) -> None:
        self._place = place
        self._kept: dict[tuple[str, Shape, int], dict[str, Tensor]] = {}

    def weights(self, variant: Variant, shape: Shape, seed: int) -> dict[str, Tensor]:
        """The two weight buffers; they do not depend on variant or tokens."""
        key = (variant.kernel, shape, seed)
        if key not in self._kept:
            smallest = find_variant(
                variant.kernel, "bm16_iq" if variant.kernel == "gemm1" else "bm16_atomic"
            )
            problem = Problem(smallest, shape, tokens=1, seed=seed)
            buffers = to_tensors(smallest, problem.arguments(range(shape.experts)))
            self._kept[key] = {
                name: tensor.to(self._place)
                for name, tensor in buffers.items()
                if name in WEIGHTS and tensor is not None
            }
        return self._kept[key]


def to_tensors(variant: Variant, arguments: Sequence[Argument]) -> dict[str, Tensor | None]:
    """A launch's buffers as tensors of the kernel's types; they share the arguments' memory."""
    dtypes = {parameter.name: parameter.dtype for parameter in parameters_of(variant)}
    found: dict[str, Tensor | None] = {}
    for argument in arguments:
        dtype = dtypes[argument.name]
        if dtype is not None:
            found[argument.name] = (
                None
                if argument.data is None
                else torch.from_numpy(argument.data).view(dtype).reshape(argument.shape)
            )
    return found


class KernelWorkload:
    """See :class:`.rounds.Workload`.

    Args:
        case: what is measured.
        device: where the kernels run.
        place: the same device as torch names it.
        kernels: gives the kernel of a setting.
        provenance: says where a setting's kernel comes from.
        store: the weights.
        cache: one of :data:`.procedure.CACHES`.

    Raises:
        NotEnoughMemory: the sets of buffers do not fit.
    """

    def __init__(
        self,
        case: Case,
        device: Device,
        place: torch.device,
        *,
        kernels: Callable[[Setting], Kernel],
        provenance: Callable[[Setting], Mapping[str, str]],
        store: WeightStore,
        cache: str,
    ) -> None:
        self._case = case
        self._device = device
        self._problem = Problem(
            case.variant, case.shape, case.tokens, routing=case.routing, seed=case.seed
        )
        self._check = OutputCheck(self._problem)
        self._kernels = {setting: kernels(setting) for setting in case.settings}
        self.provenance = provenance
        self._buffers = self._lay_out(place, store, cache)

    @property
    def sets(self) -> int:
        """Sets of buffers."""
        return len(self._buffers)

    @cached_property
    def facts(self) -> Mapping[str, Any]:
        """See :data:`.columns.FACTS`."""
        return {
            "active_experts": self._active,
            "sorted_rows": self._problem.sorting.rows,
            "touched_bytes": self._touched,
            "input_sets": self.sets,
        }

    def launch(self, setting: Setting, number: int) -> None:
        """Enqueue a setting's kernel on a set of buffers."""
        self._kernels[setting](
            self._buffers[number],
            n_tokens=self._problem.tokens,
            m_blocks=self._problem.m_blocks,
        )

    def check(self, setting: Setting) -> Check:
        """Poison, launch once on the first set, compare."""
        self._check.poison(self._outputs(0))
        self._device.run(lambda: self.launch(setting, 0))
        return self._check.check(self._outputs(0))

    def check_graph(self, graph: Graph, turn: Graph) -> Check:
        """See :meth:`.rounds.Workload.check_graph`."""
        if not self._sums or graph.launches == self.sets:
            return self._replayed(graph)
        check = self._replayed(turn)
        return self._grown(graph, check) if check.passed else check

    @property
    def _sums(self) -> bool:
        """Whether launches add to what earlier ones wrote, in an order that may change."""
        return self._problem.variant.epilogue == "atomic"

    def _replay(self, graph: Graph) -> None:
        for number in range(self.sets):
            self._check.poison(self._outputs(number))
        self._device.replay(graph)

    def _replayed(self, graph: Graph) -> Check:
        """Every set against the reference; where bits must agree, through those of the first."""
        self._replay(graph)
        first = self._check.check(self._outputs(0))
        if not first.passed:
            return _in_graph(first, 0, first.report)
        for number in range(1, self.sets):
            if self._sums:
                other = self._check.check(self._outputs(number))
                if not other.passed:
                    return _in_graph(other, number, other.report)
            elif unequal := self._unequal(number):
                return _in_graph(first, number, f"{', '.join(unequal)} differs from set 0")
        return first

    def _unequal(self, number: int) -> list[str]:
        first, other = self._outputs(0), self._outputs(number)
        return [name for name in first if not torch.equal(first[name], other[name])]

    def _grown(self, graph: Graph, check: Check) -> Check:
        """What can be said of sums of many launches: all is written, and most have grown.

        Rounding to bf16 at every addition leaves no useful bound on them. The outputs of one launch
        are there when this is called.
        """
        once = [self._outputs(number)["out"].abs() for number in range(self.sets)]
        self._replay(graph)
        for number, before in enumerate(once):
            outputs = self._outputs(number)
            grown = float((outputs["out"].abs() > before)[before > 0].double().mean())
            wrong = self._check.coverage(outputs)
            if not wrong and not grown > 0.5:
                wrong = f"{1 - grown:.0%} of the sums of many launches are no larger than of one"
            if wrong:
                return _in_graph(check, number, wrong)
        return check

    def _outputs(self, number: int) -> dict[str, Tensor]:
        return {
            argument.name: tensor
            for argument in self._check.arguments
            if argument.output and (tensor := self._buffers[number][argument.name]) is not None
        }

    def _lay_out(
        self, place: torch.device, store: WeightStore, cache: str
    ) -> list[dict[str, Tensor | None]]:
        weights = store.weights(self._case.variant, self._case.shape, self._case.seed)
        host = {
            name: tensor
            for name, tensor in to_tensors(self._case.variant, self._check.arguments).items()
            if name not in weights
        }
        sets = input_sets(cache, self._touched, self._device.info.cache_bytes)
        self._require_memory(place, sets, [*weights.values(), *host.values()])
        laid_out = []
        for number in range(sets):
            own = {
                name: None if one is None else one.to(place, copy=True)
                for name, one in host.items()
            }
            copies = {name: one.clone() if number else one for name, one in weights.items()}
            laid_out.append({**own, **copies})
        return laid_out

    def _require_memory(
        self, place: torch.device, sets: int, tensors: Sequence[Tensor | None]
    ) -> None:
        if place.type != "cuda":
            return
        one = sum(
            tensor.numel() * tensor.element_size() for tensor in tensors if tensor is not None
        )
        torch.cuda.empty_cache()  # what the case before had
        free, _ = torch.cuda.mem_get_info(place)
        if sets * one > free:
            raise NotEnoughMemory(
                f"{self._case}: {sets} sets of {one / 1e9:.1f} GB do not fit into the "
                f"{free / 1e9:.1f} GB that are free; use --cache-mode warm, or leave this M out"
            )

    @cached_property
    def _active(self) -> int:
        return len(set(self._problem.topk_ids.reshape(-1).tolist()))

    @cached_property
    def _touched(self) -> int:
        """Bytes: active experts' weights, and the rows in use of everything else."""
        problem, total = self._problem, 0
        for argument in self._check.arguments:
            if argument.data is None:
                continue
            size = argument.data.size
            if argument.name in WEIGHTS:
                size = size * self._active // problem.shape.experts
            elif argument.shape[0] == problem.max_rows:
                size = size * problem.sorting.rows // problem.max_rows
            total += size
        return total


def _in_graph(check: Check, number: int, wrong: str) -> Check:
    """A check that failed while a graph was replayed, on one set of buffers."""
    return replace(check, passed=False, report=f"replaying the graph, set {number}: {wrong}")
