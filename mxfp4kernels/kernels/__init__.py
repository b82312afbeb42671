"""gemm1 and gemm2 in FlyDSL, one source each; every flag's two forms stand side by side."""

from .launcher import Launcher, build

__all__ = ["Launcher", "build"]
