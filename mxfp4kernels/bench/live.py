"""Our kernels and the baselines on a gfx950 device, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ..compiler import Compiler, Job
from ..kernels import device_kernel
from .baselines import Binding
from .cases import OURS, Case, Setting
from .environment import environment
from .procedure import Procedure
from .rounds import Check
from .session import InProcess
from .torch_device import TorchDevice
from .workload import Kernel, KernelWorkload, WeightStore


class Live:
    """Makes the workloads of a device.

    Args:
        device: where the kernels run.
        procedure: how they are measured.
        compiler: compiles the same kernels offline, for the hash of their assembly.
        bindings: the baselines, by name.
    """

    def __init__(
        self,
        device: TorchDevice,
        procedure: Procedure,
        compiler: Compiler,
        bindings: Mapping[str, Binding],
    ) -> None:
        self._device = device
        self._procedure = procedure
        self._compiler = compiler
        self._bindings = bindings
        self._store = WeightStore(device.place)

    def runner(self) -> InProcess:
        """A runner that measures on the device."""
        return InProcess(
            self._device, self._prepare, self._procedure, environment(self._device.info)
        )

    def launch(self, case: Case, count: int) -> dict[str, Check]:
        """Check every setting and launch it ``count`` more times, for a profiler to look on."""
        workload = self._prepare(case)
        checks = {}
        for setting in case.settings:
            checks[setting.label] = workload.check(setting)
            for number in range(count):
                self._device.run(partial(workload.launch, setting, number % workload.sets))
        return checks

    def _prepare(self, case: Case) -> KernelWorkload:
        return KernelWorkload(
            case,
            self._device,
            self._device.place,
            kernels=partial(self._kernel, case),
            provenance=partial(self._provenance, case),
            store=self._store,
            cache=self._procedure.cache,
        )

    def _kernel(self, case: Case, setting: Setting) -> Kernel:
        if setting.implementation == OURS:
            return device_kernel(case.variant, case.shape, setting.flags)
        return self._bindings[setting.implementation].kernel(case.variant, case.shape)

    def _provenance(self, case: Case, setting: Setting) -> Mapping[str, str]:
        """See :data:`.columns.PROVENANCE`."""
        if setting.implementation != OURS:
            version = self._bindings[setting.implementation].version
            return {"implementation_version": version, "isa_sha256": "", "llvm": ""}
        kernel = self._compiler.compile(Job(case.variant, case.shape, setting.flags))
        return {
            "implementation_version": "",
            "isa_sha256": kernel.provenance.isa_sha256,
            "llvm": kernel.provenance.llvm,
        }


def jobs(cases: Sequence[Case]) -> list[Job]:
    """The kernels that the cases need compiled, each once."""
    wanted = [
        Job(case.variant, case.shape, setting.flags)
        for case in cases
        for setting in case.settings
        if setting.implementation == OURS
    ]
    return list(dict.fromkeys(wanted))
