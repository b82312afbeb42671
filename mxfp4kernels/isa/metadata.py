"""The ``.amdgpu_metadata`` of an assembly text, held to what its readers count on.

Source of names and types: LLVM's "User Guide for AMDGPU Backend", code object V5 metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mxfp4kernels.isa.program import shortened

_COUNTS = (
    *(".vgpr_count", ".agpr_count", ".sgpr_count", ".vgpr_spill_count", ".sgpr_spill_count"),
    *(".group_segment_fixed_size", ".private_segment_fixed_size", ".kernarg_segment_size"),
    *(".kernarg_segment_align", ".max_flat_workgroup_size", ".wavefront_size"),
)
_ARGUMENT_COUNTS = (".offset", ".size")


class MetadataError(ValueError):
    """Metadata that is no YAML, or whose values are not of the type that their names promise."""


@dataclass(frozen=True)
class Metadata:
    """One metadata document.

    Attributes:
        target: the value of ``amdhsa.target``, or an empty string.
        kernels: the entries of ``amdhsa.kernels``, each with a ``.name``.
    """

    target: str
    kernels: tuple[Mapping[str, Any], ...]


def read_metadata(text: str) -> Metadata:
    """The document between ``.amdgpu_metadata`` and ``.end_amdgpu_metadata``.

    Raises:
        MetadataError: see there; the message goes on from the words ".amdgpu_metadata".
    """
    document = _load(text)
    if not isinstance(document, dict):
        raise MetadataError("is not a mapping")
    target = document.get("amdhsa.target", "")
    if not isinstance(target, str):
        raise MetadataError(f"has amdhsa.target {_shown(target)}, expected text")
    kernels = document.get("amdhsa.kernels", [])
    if not isinstance(kernels, list):
        raise MetadataError(f"has amdhsa.kernels {_shown(kernels)}, expected a list")
    for kernel in kernels:
        _check_kernel(kernel)
    return Metadata(target, tuple(kernels))


def _load(text: str) -> object:
    import yaml  # here, so that bare listings are read without it

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.YAMLError as error:
        raise MetadataError(f"is not valid YAML: {error}") from None
    except RecursionError:
        raise MetadataError("is nested too deeply") from None
    except (ValueError, LookupError, AttributeError) as error:
        # PyYAML lets these through for a tag over a value that does not fit: !!int lots
        raise MetadataError(f"holds a value that does not fit its tag: {error}") from None


@lru_cache(maxsize=1)
def _loader() -> Any:
    """Safe YAML with the tags that LLVM puts before scalars that it could misread: ``!str 1``."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    Loader.add_constructor("!str", lambda loader, node: str(loader.construct_scalar(node)))
    return Loader


def _check_kernel(kernel: object) -> None:
    if not isinstance(kernel, dict):
        raise MetadataError(f"has {_shown(kernel)} in amdhsa.kernels, expected a mapping")
    name = kernel.get(".name")
    if not isinstance(name, str):
        raise MetadataError(f"has a kernel with .name {_shown(name)}, expected text")
    where = f"of kernel {shortened(name)}"
    _check_counts(kernel, _COUNTS, where)
    arguments = kernel.get(".args", [])
    if not isinstance(arguments, list):
        raise MetadataError(f"has .args {_shown(arguments)} {where}, expected a list")
    for argument in arguments:
        if not isinstance(argument, dict):
            raise MetadataError(f"has {_shown(argument)} in .args {where}, expected a mapping")
        _check_counts(argument, _ARGUMENT_COUNTS, f"in .args {where}")


def _check_counts(entry: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
    for name in names:
        value = entry.get(name, 0)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise MetadataError(
                f"has {name} {_shown(value)} {where}, expected a whole number of at least 0"
            )


def _shown(value: object) -> str:
    return shortened("empty" if value is None else repr(value))
