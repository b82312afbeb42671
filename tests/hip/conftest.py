"""What the tests of the launch path share."""

from __future__ import annotations

import pytest

from mxfp4kernels.compiler import MissingComponent, find_linker
from mxfp4kernels.hip.build import find_compiler
from mxfp4kernels.hip.library import Library, load, real_library


@pytest.fixture(scope="session")
def library() -> Library:
    """The emulated HIP library, loaded; needs a C compiler and ld.lld."""
    try:
        find_compiler(), find_linker()
    except MissingComponent as error:
        pytest.skip(str(error))
    real = real_library()
    if real is not None:
        pytest.skip(f"this process has loaded a real HIP library, {real}")
    return load()
