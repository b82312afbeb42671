"""A problem launched as a user of a device would launch it, and compared with the reference."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..flags import FlagSet
from ..kernels.device import DeviceKernel, device_kernel
from ..kernels.entry import Parameter
from ..numerics.problem import Argument, Problem
from ..numerics.verification import Result, Verification


def verify_launch(
    problem: Problem, flags: FlagSet, workgroups: Sequence[int] | None = None
) -> Result:
    """Launch the problem's kernel and compare what it wrote.

    Args:
        problem: the inputs.
        flags: the kernel's flags.
        workgroups: the ones that the open device runs; the whole grid when left out.

    Raises:
        LaunchError, DeviceError, HipError, EmulatorError: the launch was refused or failed.
    """
    kernel = device_kernel(problem.variant, problem.shape, flags)

    def run(arguments: Sequence[Argument], _: Sequence[int]) -> None:
        kernel(tensors(kernel, arguments), n_tokens=problem.tokens, m_blocks=problem.m_blocks)

    return Verification(problem, workgroups).verify_run(run)


def tensors(kernel: DeviceKernel, arguments: Sequence[Argument]) -> dict[str, torch.Tensor | None]:
    """A problem's buffers as tensors of the kernel's types; they share the arguments' memory."""
    return {
        parameter.name: _tensor(parameter, parameter.dtype, argument)
        for parameter, argument in zip(kernel.parameters, arguments, strict=True)
        if parameter.dtype is not None
    }


def _tensor(parameter: Parameter, dtype: torch.dtype, argument: Argument) -> torch.Tensor | None:
    if parameter.name != argument.name:
        raise ValueError(f"the problem's {argument.name} stands where {parameter.name} belongs")
    if argument.data is None:
        return None
    return torch.from_numpy(argument.data).view(dtype).reshape(argument.shape)
