"""gemm1 and gemm2 in FlyDSL, one source each; every flag's two forms stand side by side."""

from .device import DeviceError, DeviceKernel, LaunchError, device_kernel
from .launcher import Launcher, build, parameters_of

__all__ = [
    "DeviceError",
    "DeviceKernel",
    "LaunchError",
    "Launcher",
    "build",
    "device_kernel",
    "parameters_of",
]
