"""The launch path without a GPU: an emulated HIP library below FlyDSL's own host code.

It stands beside the emulator and not in it: the emulator runs any gfx950 assembly on numpy alone,
this knows FlyDSL, torch and the package's kernels.
"""

from .device import EmulatedDevice, HipDevice, Launch, MetadataDevice
from .errors import CodeObjectError, HipError
from .session import emulated_device
from .verify import verify_launch

__all__ = [
    "CodeObjectError",
    "EmulatedDevice",
    "HipDevice",
    "HipError",
    "Launch",
    "MetadataDevice",
    "emulated_device",
    "verify_launch",
]
