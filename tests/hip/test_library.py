"""The emulated HIP library called as FlyDSL's runtime calls it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import flydsl
import pytest

from mxfp4kernels.emulator import EmulatorError
from mxfp4kernels.hip import emulated_device
from mxfp4kernels.hip.library import INVALID_VALUE, NO_DEVICE, Library

INVALID_DEVICE, INVALID_IMAGE, INVALID_HANDLE, NOT_SUPPORTED = 101, 200, 400, 801


@pytest.fixture
def hip(library: Library) -> ctypes.CDLL:
    functions = ctypes.CDLL(str(library.path))
    functions.hipGetErrorName.restype = ctypes.c_char_p
    yield functions
    functions.hipGetLastError()


def test_everything_that_flydsl_imports_is_there(library: Library) -> None:
    """Loaded with every symbol bound, not on first use."""
    runtime = Path(flydsl.__file__).parent / "_mlir" / "_mlir_libs" / "libfly_jit_runtime.so"
    ctypes.CDLL(str(runtime), mode=os.RTLD_NOW)


def test_an_error_stays_until_it_is_asked_for(hip: ctypes.CDLL) -> None:
    assert hip.hipSetDevice(3) == INVALID_DEVICE
    assert hip.hipSetDevice(0) == 0
    assert hip.hipPeekAtLastError() == INVALID_DEVICE
    assert hip.hipGetLastError() == INVALID_DEVICE
    assert hip.hipGetLastError() == 0
    assert hip.hipGetErrorName(INVALID_DEVICE) == b"hipErrorInvalidDevice"
    assert hip.hipGetErrorName(-7) == b"hipErrorUnknown"


def test_what_is_no_elf_file_is_no_module(hip: ctypes.CDLL) -> None:
    module = ctypes.c_void_p()
    image = ctypes.create_string_buffer(b"__CLANG_OFFLOAD_BUNDLE__", 256)
    assert hip.hipModuleLoadData(ctypes.byref(module), image) == INVALID_IMAGE
    assert hip.hipModuleGetFunction(ctypes.byref(module), None, b"kernel") == INVALID_HANDLE


def test_what_is_not_emulated_does_not_pretend(hip: ctypes.CDLL) -> None:
    query = hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor
    assert query(ctypes.byref(ctypes.c_int()), None, 256, 0) == NOT_SUPPORTED


def test_memory_is_the_open_device_s(hip: ctypes.CDLL) -> None:
    pointer = ctypes.c_void_p()
    assert hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == NO_DEVICE
    with emulated_device("hip") as device:
        assert hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)) == 0
        (buffer,) = device.memory.buffers
        assert (buffer.address, buffer.data.size) == (pointer.value, 64)
        assert set(buffer.data) == {0xA5}
        assert hip.hipMemsetD32Async(pointer, 0x01020304, ctypes.c_size_t(4), None) == 0
        assert (
            hip.hipMemsetD16Async(
                ctypes.c_void_p(pointer.value + 16), 0x0506, ctypes.c_size_t(2), None
            )
            == 0
        )
        assert hip.hipMemset(ctypes.c_void_p(pointer.value + 20), 7, ctypes.c_size_t(2)) == 0
        expected = bytes([4, 3, 2, 1] * 4 + [6, 5] * 2 + [7] * 2 + [0xA5] * 42)
        assert buffer.data.tobytes() == expected
        target = ctypes.create_string_buffer(64)
        assert hip.hipMemcpyAsync(target, pointer, ctypes.c_size_t(64), 2, None) == 0
        assert target.raw == expected
        assert hip.hipFree(pointer) == 0
        assert device.memory.buffers == ()


def test_registered_host_memory_is_reachable_until_unregistered(hip: ctypes.CDLL) -> None:
    host = ctypes.create_string_buffer(32)
    with emulated_device("hip") as device:
        assert hip.hipHostRegister(host, ctypes.c_size_t(32), 0) == 0
        assert device.memory.find(ctypes.addressof(host) + 31) is not None
        assert device.memory.find(ctypes.addressof(host) + 32) is None
        assert hip.hipHostUnregister(host) == 0
        assert device.memory.buffers == ()


def test_freeing_what_was_not_allocated_is_an_error_twice(hip: ctypes.CDLL) -> None:
    """As HIP's status at once, and as the emulator's error when the device is closed."""
    host = ctypes.create_string_buffer(32)
    with pytest.raises(EmulatorError, match="no buffer starts at"), emulated_device("hip"):
        assert hip.hipFree(host) == INVALID_VALUE


def test_streams_and_events_are_handles(hip: ctypes.CDLL) -> None:
    stream, event = ctypes.c_void_p(), ctypes.c_void_p()
    assert hip.hipStreamCreate(ctypes.byref(stream)) == 0
    assert hip.hipEventCreateWithFlags(ctypes.byref(event), 0) == 0
    assert stream.value
    assert event.value
    assert hip.hipEventRecord(event, stream) == 0
    assert hip.hipStreamWaitEvent(stream, event, 0) == 0
    assert hip.hipEventSynchronize(event) == 0
    assert hip.hipStreamSynchronize(stream) == 0
    assert hip.hipDeviceSynchronize() == 0
    assert hip.hipEventDestroy(event) == 0
    assert hip.hipStreamDestroy(stream) == 0
