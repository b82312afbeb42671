"""Other packages' kernels on the same buffers: ROCm/aiter's HIP and FlyDSL ones.

aiter is no requirement. Where it is not installed, or has no function that takes these buffers, its
kernels are absent from the run, with a reason; they are never a zero. Which function it is differs
between commits of aiter, so it is named: ``--with aiter-hip=module:function``, aiter's own or that
of an adapter such as docs/bench.md shows. Whatever is called must pass the same check of its output
as our own kernels before it is timed, so a wrong binding cannot make a number.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..shapes import Shape, Variant
from .environment import commit

BASELINES = ("aiter-hip", "aiter-flydsl")
"""Implementations besides our own, as rows name them."""

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "gemm1": (
        *("a_quant", "a_scale", "w1", "w1_scale", "sorted_expert_ids", "cumsum", "m_indices"),
        *("n_tokens", "out_q", "out_scale", "hidden"),
    ),
    "gemm2": (
        *("a_q", "a_scale", "w2", "w2_scale", "sorted_expert_ids", "cumsum"),
        *("sorted_token_ids", "sorted_weights", "n_tokens", "out", "out_scale"),
    ),
}
"""The kernels' parameters in the order of the published ABI; a bound function takes them by
position, then those of :data:`CONTEXT` by name that it has parameters for."""

CONTEXT = frozenset({"kernel", "variant", "shape"})
"""What a bound function can ask for by name: each is a text such as tables hold."""

WRAPPED = "BASELINE_PACKAGE"
"""An adapter's name for the package that it calls, whose commit rows then state."""


class Absent(LookupError):
    """A baseline that cannot be run here; the message says why."""


@dataclass(frozen=True)
class Binding:
    """A baseline's function, found and ready to be called.

    Args:
        name: one of :data:`BASELINES`.
        version: the commit that it is from.
        function: enqueues the kernel on torch's current stream.
        named: which of :data:`CONTEXT` it takes.
    """

    name: str
    version: str
    function: Callable[..., object]
    named: frozenset[str]

    def kernel(self, variant: Variant, shape: Shape) -> Callable[..., None]:
        """The function as the bench launches kernels: ``(buffers, n_tokens=, m_blocks=)``."""
        context = {"kernel": variant.kernel, "variant": variant.name, "shape": str(shape)}
        named = {name: value for name, value in context.items() if name in self.named}

        def launch(buffers: Mapping[str, Any], *, n_tokens: int, m_blocks: int) -> None:
            values = {**buffers, "n_tokens": n_tokens}
            self.function(*(values[name] for name in PARAMETERS[variant.kernel]), **named)

        return launch


def parse_baseline(text: str) -> tuple[str, str]:
    """``aiter-hip=package.module:function`` as a name and where its function is.

    Raises:
        ValueError: no such baseline, or no function is named.
    """
    name, _, where = text.partition("=")
    if name not in BASELINES:
        raise ValueError(f"unknown baseline {name[:60]!r}; choose from {', '.join(BASELINES)}")
    module, _, function = where.partition(":")
    if not all(word.isidentifier() for word in (*module.split("."), function)):
        raise ValueError(
            f"{name} needs the function that launches it, such as {name}=package.module:function, "
            f"of names as Python has them; got {where[:60]!r}"
        )
    return name, where


def bind(name: str, where: str) -> Binding:
    """Find a baseline's function.

    Args:
        name: one of :data:`BASELINES`.
        where: ``package.module:function``.

    Raises:
        Absent: a package is not installed or cannot be imported, has no such function, or does not
            say which commit it is from.
    """
    module_name, _, function_name = where.partition(":")
    package = module_name.partition(".")[0]
    _require_installed(name, package)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever another package raises, it cannot be called
        reason = f"{type(error).__name__}: {error}"
        raise Absent(f"{name} is absent: {module_name} cannot be imported: {reason}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise Absent(f"{name} is absent: {module_name} has no function {function_name}")
    wrapped = str(getattr(module, WRAPPED, package))
    _require_installed(name, wrapped)
    return Binding(name, version_of(wrapped), function, _named_parameters(function))


def is_installed(package: str) -> bool:
    """Whether a top-level package can be found; it is not imported."""
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # a name that no package has, or a module made by hand
        return False


def _require_installed(name: str, package: str) -> None:
    if not is_installed(package):
        raise Absent(f"{name} is absent: {package} is not installed")


def _named_parameters(function: Callable[..., object]) -> frozenset[str]:
    code = getattr(function, "__code__", None)
    if code is None:
        return frozenset()  # compiled; the published ABI is all that it takes
    count: int = code.co_argcount + code.co_kwonlyargcount
    return CONTEXT & set(code.co_varnames[:count])


def version_of(package: str) -> str:
    """The commit that a package is from: of its checkout, or in its version.

    Raises:
        Absent: neither says; a row without it could not be traced.
    """
    specification = importlib.util.find_spec(package)
    assert specification is not None
    for location in specification.submodule_search_locations or ():
        found = commit(Path(location))
        if found is not None:
            return found
    # A distribution need not be called what is imported: aiter comes in amd-aiter.
    (distribution, *_) = importlib.metadata.packages_distributions().get(package, [package])
    try:
        version = importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        version = ""
    match = re.search(r"\+g([0-9a-f]{7,40})", version)
    if match is None:
        raise Absent(
            f"{package} is absent: its commit is unknown (version {version or 'unknown'}); install "
            "it from a checkout"
        )
    return match[1]
