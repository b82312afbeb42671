"""Vector comparisons: v_cmp_*, v_cmpx_* and the class tests."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site
from mxfp4kernels.emulator.vector import Sources, flush
from mxfp4kernels.emulator.waves import EXEC, Waves

Relation = Callable[[Array, Array], Array]


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _constant(value: bool) -> Relation:
    return lambda a, b: np.full(np.broadcast_shapes(a.shape, b.shape), value)


INTEGER: dict[str, Relation] = {
    "f": _constant(False),
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "t": _constant(True),
}
FLOAT: dict[str, Relation] = {
    "f": _constant(False),
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b),
    "ge": np.greater_equal,
    "o": lambda a, b: ~_unordered(a, b),
    "u": _unordered,
    "nge": lambda a, b: ~(a >= b),
    "nlg": lambda a, b: ~((a < b) | (a > b)),
    "ngt": lambda a, b: ~(a > b),
    "nle": lambda a, b: ~(a <= b),
    "neq": lambda a, b: ~(a == b),
    "nlt": lambda a, b: ~(a < b),
    "tru": _constant(True),
}


def _class(x: Array, mask: Array) -> Array:
    """Bits of the mask: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal,
    +normal, +inf."""
    size = np.abs(x)
    tiny = (size > 0) & (size < np.finfo(x.dtype).smallest_normal)
    kinds = [size == np.inf, np.isfinite(x) & (size > 0) & ~tiny, tiny, size == 0]
    negative = np.signbit(x)
    signalling = floats.is_signalling(x)
    tests = [signalling, np.isnan(x) & ~signalling]
    tests += [negative & kind for kind in kinds]
    tests += [~negative & kind for kind in reversed(kinds)]
    result = np.zeros(np.broadcast_shapes(x.shape, mask.shape), np.bool_)
    for bit, test in enumerate(tests):
        result |= test & (mask >> np.uint32(bit) & np.uint32(1)).astype(np.bool_)
    return result


RELATIONS: dict[str, tuple[tuple[str, str], Relation]] = {}
for _kind in ("u16", "i16", "u32", "i32", "u64", "i64"):
    for _name, _relation in INTEGER.items():
        RELATIONS[f"{_name}_{_kind}"] = ((_kind, _kind), _relation)
for _kind in ("f16", "f32", "f64"):
    for _name, _relation in FLOAT.items():
        RELATIONS[f"{_name}_{_kind}"] = ((_kind, _kind), _relation)
    RELATIONS[f"class_{_kind}"] = ((_kind, "u32"), _class)


@REGISTRY.add(*(f"{prefix}_{name}" for prefix in ("v_cmp", "v_cmpx") for name in RELATIONS))
def _build(site: Site, opcode: str, encoding: str) -> Execute:
    """Inactive lanes give 0; v_cmpx writes EXEC as well."""
    site.expect(3)
    prefix, name = opcode.split("_", 2)[1:]
    kinds, relation = RELATIONS[name]
    if encoding == "dpp":
        raise site.fail("gfx9 comparisons have no DPP form")
    sources = Sources(site, encoding)
    if site.flag("clamp"):
        raise site.fail("clamp (signalling) has no meaning here: exceptions are not modelled")
    readers = [
        sources.reader(operand, kind, i)
        for i, (operand, kind) in enumerate(zip(site.operands[1:], kinds, strict=True))
    ]
    write = site.write_mask(site.operands[0])
    floating = kinds[0][0] == "f"
    classify = name.startswith("class")

    def execute(w: Waves) -> None:
        values = [reader(w) for reader in readers]
        if floating and not classify:
            values = [flush(kinds[0], value, w, 1) for value in values]
        mask = relation(*values) & w.lanes
        write(w, mask)
        if prefix == "cmpx":
            w.set_mask(EXEC, mask)
            w.exec_changed()

    return execute
