"""No error is lost between the emulator, C and Python, and no launch is taken for another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mxfp4kernels.emulator import MemoryFault
from mxfp4kernels.flags import ALL, NONE
from mxfp4kernels.hip import CodeObjectError, HipError, build, emulated_device, verify_launch
from mxfp4kernels.hip.library import NO_DEVICE, Library, real_library
from mxfp4kernels.hip.programs import Programs
from mxfp4kernels.hip.verify import tensors
from mxfp4kernels.kernels import DeviceKernel, LaunchError, device_kernel
from mxfp4kernels.numerics.problem import Problem
from mxfp4kernels.shapes import Shape, find_variant

PROBLEM = Problem(find_variant("gemm1", "bm32_nt"), Shape(4, 512, 256, 2), 5)
PATHS = ("hip", "metadata")


@pytest.fixture
def kernel(library: Library) -> DeviceKernel:
    return device_kernel(PROBLEM.variant, PROBLEM.shape, ALL)


@pytest.fixture
def launch(kernel: DeviceKernel) -> Callable[..., None]:
    def run(**changes: torch.Tensor) -> None:
        buffers = tensors(kernel, PROBLEM.arguments([0]))
        kernel({**buffers, **changes}, n_tokens=PROBLEM.tokens, m_blocks=PROBLEM.m_blocks)

    return run


def with_slack(tensor: torch.Tensor) -> torch.Tensor:
    """A copy in the first half of memory twice as large."""
    return torch.cat((tensor, torch.zeros_like(tensor)))[: tensor.shape[0]]


@pytest.mark.parametrize("path", PATHS)
def test_an_access_outside_a_tensor_is_raised_by_the_call(path, launch) -> None:
    """Expert 7 of 4: its weights would lie in memory that is there, but not the tensor's."""
    weights = {a.name: a for a in PROBLEM.arguments([0]) if a.name in ("w1", "w1_scale")}
    changes = {
        name: with_slack(torch.from_numpy(argument.data).reshape(argument.shape))
        for name, argument in weights.items()
    }
    changes["sorted_expert_ids"] = torch.full((PROBLEM.m_blocks,), 7, dtype=torch.int32)
    with emulated_device(path) as device:
        with pytest.raises(MemoryFault, match=r"line \d+: .*outside every buffer.*past the .*'w1"):
            launch(**changes)
        assert device.launches == []
        assert device.memory.buffers == ()
        launch()
        assert len(device.launches) == 1


def test_a_store_to_an_input_is_refused(kernel: DeviceKernel, monkeypatch) -> None:
    monkeypatch.setattr("mxfp4kernels.hip.device.WRITTEN", ("out_q",))
    with emulated_device("hip"), pytest.raises(MemoryFault, match="read-only buffer 'out_scale'"):
        verify_launch(PROBLEM, ALL)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_whatever_the_callback_raises_reaches_the_caller(path, error, launch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error("in the callback")

    with emulated_device(path, execute=fail), pytest.raises(error, match="in the callback"):
        launch()


def test_a_failure_that_nobody_raised_is_raised_at_the_end(kernel: DeviceKernel, capfd) -> None:
    """FlyDSL's function called by itself: it prints the status and goes on."""
    with pytest.raises(HipError, match="was not launched by device_kernel"), emulated_device("hip"):
        kernel.handle(*kernel._built.placeholders)
    assert "hipErrorLaunchFailure" in capfd.readouterr().err


def test_after_the_device_is_closed_there_is_none(
    kernel: DeviceKernel, library: Library, launch
) -> None:
    with emulated_device("hip"):
        launch()
    kernel.handle(*kernel._built.placeholders)
    assert library.take_error() == NO_DEVICE
    assert library.take_error() == 0
    with pytest.raises(LaunchError, match=r"lies on cpu; .*emulated_device"):
        launch()


def test_an_error_that_flydsl_only_prints_is_raised(kernel: DeviceKernel, library: Library) -> None:
    """The device's own path: what hipGetLastError reports after the launch."""
    from mxfp4kernels.kernels.device import Call, DeviceError

    buffers = tensors(kernel, PROBLEM.arguments([0]))
    with emulated_device("hip"):
        _ = kernel.handle
    with pytest.raises(DeviceError, match=r"gemm1/bm32_nt .*hipErrorNoDevice \(100\)"):
        kernel._launch(Call(kernel, buffers, PROBLEM.tokens, PROBLEM.m_blocks), 0)


def test_a_code_object_of_other_flags_is_refused(kernel: DeviceKernel, monkeypatch) -> None:
    def other(self: Programs, job, linker=None) -> str:
        return original(self, type(job)(job.variant, job.shape, NONE), linker)

    original = Programs.code_object_sha256
    monkeypatch.setattr(Programs, "code_object_sha256", other)
    with emulated_device("hip") as device:
        with pytest.raises(CodeObjectError, match="the assembly belongs to"):
            verify_launch(PROBLEM, ALL)
        assert device.launches == []


def test_a_second_device_is_refused(library: Library) -> None:
    refused = pytest.raises(HipError, match="open already")
    with emulated_device("metadata"), refused, emulated_device("metadata"):
        pass


def test_surroundings_are_set_up_and_put_back(library: Library, monkeypatch) -> None:
    """The user's switches would have FlyDSL compile only, and for another target."""
    for name, value in {"COMPILE_ONLY": "1", "ARCH": "gfx942", "FLYDSL_GPU_ARCH": "gfx942"}.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    problem = Problem(find_variant("gemm1", "bm32_nt"), Shape(2, 512, 256, 2), 3)
    with emulated_device("hip") as device:
        toolkit = Path(os.environ["ROCM_PATH"])
        assert (toolkit / "llvm" / "bin" / "ld.lld").is_symlink()
        assert verify_launch(problem, ALL).passed
    assert device.path == "hip"
    assert not toolkit.exists()
    assert dict(os.environ) == before


def test_a_stream_is_accepted(kernel: DeviceKernel) -> None:
    buffers = tensors(kernel, PROBLEM.arguments([0]))
    with emulated_device("hip") as device:
        kernel(buffers, n_tokens=PROBLEM.tokens, m_blocks=PROBLEM.m_blocks, stream=0)
    assert len(device.launches) == 1


# --- real HIP libraries ---------------------------------------------------------------------------


def run_alone(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def test_a_process_with_a_real_library_is_refused(library: Library, tmp_path: Path) -> None:
    """Any other file of that name: here the emulated one under the real one's name."""
    real = tmp_path / "libamdhip64.so.7"
    real.write_bytes(library.path.read_bytes())
    answer = run_alone(
        "import ctypes, sys; ctypes.CDLL(sys.argv[1])\n"
        "from mxfp4kernels.hip import emulated_device\n"
        "with emulated_device(): pass",
        str(real),
    )
    assert answer.returncode == 1
    assert f"has loaded a real HIP library, {real}" in answer.stderr.splitlines()[-1]


def test_without_any_library_the_process_lives(library: Library) -> None:
    """FlyDSL would abort it."""
    answer = run_alone("from mxfp4kernels.kernels import device; device._hip()")
    assert answer.returncode == 1
    assert "DeviceError: FlyDSL finds no HIP library" in answer.stderr


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("/opt/rocm-7.0/lib/libamdhip64.so.7.0.70000", True),
        ("/site-packages/torch/lib/libamdhip64.so", True),
        ("/cache/hip/emulated-hip-0123.so", False),
        ("/usr/lib/libc.so.6", False),
    ],
)
def test_real_libraries_are_known_by_their_name(path: str, real: bool) -> None:
    maps = f"7f00-7f01 r-xp 00000000 08:01 1 {path}\n7f02-7f03 rw-p 00000000 00:00 0\n"
    assert real_library(maps) == (path if real else None)


# --- missing parts --------------------------------------------------------------------------------


def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise build.MissingComponent("no C compiler")

    monkeypatch.setattr("mxfp4kernels.hip.library._loaded", None)
    monkeypatch.setattr("mxfp4kernels.hip.build.find_compiler", missing)


def test_without_a_compiler_arguments_come_from_the_metadata(monkeypatch) -> None:
    without_compiler(monkeypatch)
    with emulated_device() as device:
        assert verify_launch(PROBLEM, ALL).passed
    assert device.path == "metadata"
    assert "no C compiler" in device.reason


def test_hip_asked_for_and_not_there_is_an_error(library: Library, monkeypatch) -> None:
    without_compiler(monkeypatch)
    with pytest.raises(build.MissingComponent, match="no C compiler"), emulated_device("hip"):
        pass
