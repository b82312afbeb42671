"""Colours of the figures: the Okabe-Ito palette, which colour-blind readers tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Theme:
    """What the figures are painted with.

    Attributes:
        name: ends the file name of a figure drawn in more than one theme.
        paper, ink, muted, faint: background, text, secondary text, grid lines and empty marks.
        fewer, more: less and more of something than before.
        fewer_end, more_end: the same at full strength, where the colour itself shows a size.
        compiled, other, published: a series compiled here, compiled here by another LLVM, or
            published by others.
    """

    name: str
    paper: str
    ink: str
    muted: str
    faint: str
    fewer: str
    more: str
    fewer_end: str
    more_end: str
    compiled: str
    other: str
    published: str


LIGHT = Theme(
    name="light",
    paper="#ffffff",
    ink="#1b1f24",
    muted="#57606a",
    faint="#d8dee4",
    fewer="#0072b2",
    more="#d55e00",
    fewer_end="#0072b2",
    more_end="#d55e00",
    compiled="#0072b2",
    other="#56b4e9",
    published="#1b1f24",
)
DARK = Theme(
    name="dark",
    paper="#0d1117",
    ink="#e6edf3",
    muted="#9198a1",
    faint="#30363d",
    fewer="#56b4e9",
    more="#f0883e",
    fewer_end="#1f7fbf",
    more_end="#c95f0e",
    compiled="#56b4e9",
    other="#0072b2",
    published="#e6edf3",
)

GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "vector": ("VALU", "ACC", "TRANS"),
        "scalar": ("SALU", "SMEM", "BRANCH"),
        "VMEM": ("VMEM",),
        "LDS": ("LDS",),
        "waits": ("WAIT", "BARRIER"),
        "nops": ("NOP",),
        "other": ("OTHER",),
    }
)
"""Classes that stacked bars show together; every class but MFMA is in one of them."""

GROUP_COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "vector": "#0072b2",
        "scalar": "#e69f00",
        "VMEM": "#009e73",
        "LDS": "#56b4e9",
        "waits": "#cc79a7",
        "nops": "#d55e00",
        "other": "#b6bdc5",
    }
)
REGION_COLOURS: Mapping[str, str] = MappingProxyType(
    {"prologue": "#56b4e9", "kloop": "#0072b2", "drain": "#009e73", "epilogue": "#e69f00"}
)
