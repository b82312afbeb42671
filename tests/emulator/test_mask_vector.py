"""Vector instructions that read or write lane masks: comparisons, select, carries, division."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxfp4kernels.emulator.waves import Mode

from .exact import F16, F32, F64, Format
from .harness import OLD, execute, high, low, pair, signed, unsigned
from .samples import lanes

MASK = st.integers(0, 2**64 - 1)


def mask_of(flags: list[bool]) -> int:
    return sum(1 << lane for lane, flag in enumerate(flags) if flag)


INTEGER: dict[str, Callable[[int, int], bool]] = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ne": lambda a, b: a != b,
    "ge": lambda a, b: a >= b,
    "t": lambda a, b: True,
}
FLOAT: dict[str, Callable[[float, float], bool]] = {
    "f": lambda a, b: False,
    "lt": lambda a, b: a < b,
    "eq": lambda a, b: a == b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "lg": lambda a, b: a < b or a > b,
    "ge": lambda a, b: a >= b,
    "o": lambda a, b: not (math.isnan(a) or math.isnan(b)),
    "u": lambda a, b: math.isnan(a) or math.isnan(b),
    "nge": lambda a, b: not a >= b,
    "nlg": lambda a, b: not (a < b or a > b),
    "ngt": lambda a, b: not a > b,
    "nle": lambda a, b: not a <= b,
    "neq": lambda a, b: a != b,
    "nlt": lambda a, b: not a < b,
    "tru": lambda a, b: True,
}
FORMATS = {"f16": F16, "f32": F32, "f64": F64}


def number(kind: str, bits: int) -> float:
    width = int(kind[1:])
    bits = unsigned(bits, width)
    if kind[0] == "f":
        return FORMATS[kind].to_float(bits)
    return signed(bits, width) if kind[0] == "i" else bits


def sources(kind: str, a: list[int], b: list[int]) -> tuple[str, dict[int, list[int]]]:
    if kind.endswith("64"):
        return "v[0:1], v[2:3]", {0: low(a), 1: high(a), 2: low(b), 3: high(b)}
    return "v0, v1", {0: a, 1: b}


CASES = [
    (f"{name}_{kind}", kind, relation)
    for relations, kinds in (
        (INTEGER, ("u16", "i16", "u32", "i32", "u64", "i64")),
        (FLOAT, ("f16", "f32", "f64")),
    )
    for kind in kinds
    for name, relation in relations.items()
]


@pytest.mark.parametrize(("name", "kind", "relation"), CASES, ids=[case[0] for case in CASES])
def test_compare(name: str, kind: str, relation: Callable[[float, float], bool]) -> None:
    """Lanes that are off give 0; v_cmpx also narrows EXEC."""
    width = int(kind[1:])

    @given(a=lanes(width), b=lanes(width), on=MASK)
    @settings(max_examples=4)
    def check(a: list[int], b: list[int], on: int) -> None:
        text, registers = sources(kind, a, b)
        flags = [relation(number(kind, x), number(kind, y)) for x, y in zip(a, b, strict=True)]
        expected = mask_of(flags) & on
        assert execute(f"v_cmp_{name}_e32 vcc, {text}", registers, exec_=on).vcc == expected
        result = execute(f"v_cmp_{name}_e64 s[4:5], {text}", registers, exec_=on)
        assert (result.s64(4), result.exec) == (expected, on)
        result = execute(f"v_cmpx_{name}_e64 s[4:5], {text}", registers, exec_=on)
        assert (result.s64(4), result.exec) == (expected, expected)

    check()


def kind_of(form: Format, bits: int) -> int:
    """The bit of the class mask that a number belongs to."""
    if form.is_nan(bits):
        return 1 if bits >> form.mantissa_bits - 1 & 1 else 0
    size = bits & form.sign - 1
    if size == form.infinity:
        rank = 0
    elif size >= 1 << form.mantissa_bits:
        rank = 1
    else:
        rank = 2 if size else 3
    return 2 + rank if bits & form.sign else 9 - rank


@pytest.mark.parametrize("kind", FORMATS)
def test_class(kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width), tests=st.integers(0, 1023))
    @settings(max_examples=20)
    def check(a: list[int], tests: int) -> None:
        source = "v[0:1]" if form is F64 else "v0"
        registers = {0: low(a), 1: high(a)} if form is F64 else {0: a}
        expected = mask_of([bool(tests >> kind_of(form, x) & 1) for x in a])
        text = f"v_cmp_class_{kind}_e64 s[4:5], {source}, s0"
        assert execute(text, registers, {0: tests}).s64(4) == expected
        text = f"v_cmpx_class_{kind}_e64 s[4:5], {source}, s0"
        assert execute(text, registers, {0: tests}).exec == expected

    check()


def test_comparison_flushes_denormals_as_the_mode_says() -> None:
    text = "v_cmp_gt_f32_e32 vcc, v0, v1"
    assert execute(text, {0: 1, 1: 0}).vcc == 2**64 - 1
    assert execute(text, {0: 1, 1: 0}, mode=Mode(denorm32=0)).vcc == 0


def test_comparison_with_modifiers() -> None:
    text = "v_cmp_eq_f32_e64 s[0:1], |v0|, -v1"
    assert execute(text, {0: 0xBF800000, 1: 0xBF800000}).s64(0) == 2**64 - 1


@given(a=lanes(32), b=lanes(32), mask=MASK)
@settings(max_examples=20)
def test_select(a: list[int], b: list[int], mask: int) -> None:
    expected = [y if mask >> i & 1 else x for i, (x, y) in enumerate(zip(a, b, strict=True))]
    got = execute("v_cndmask_b32_e32 v2, v0, v1, vcc", {0: a, 1: b}, vcc=mask)
    assert got.v(2) == expected
    got = execute("v_cndmask_b32_e64 v2, v0, v1, s[0:1]", {0: a, 1: b}, pair(mask))
    assert got.v(2) == expected
    got = execute("v_cndmask_b32_e64 v2, -v0, |v1|, s[0:1]", {0: a, 1: b}, pair(mask))
    assert got.v(2) == [
        y & 0x7FFFFFFF if mask >> i & 1 else x ^ 0x80000000
        for i, (x, y) in enumerate(zip(a, b, strict=True))
    ]


def test_select_with_constants() -> None:
    assert (
        execute("v_cndmask_b32_e64 v0, 0, 1, s[0:1]", {0: 0}, pair(5)).v(0) == [1, 0, 1] + [0] * 61
    )
    assert execute("v_cndmask_b32_e64 v0, 0, 1, -1", {0: 0}).v(0) == [1] * 64


CARRIES: dict[str, tuple[Callable[[int, int], int], int]] = {
    "add": (lambda a, b: a + b, 1),
    "sub": (lambda a, b: a - b, -1),
    "subrev": (lambda a, b: b - a, -1),
}
CHAINED = {"add": "addc", "sub": "subb", "subrev": "subbrev"}


@pytest.mark.parametrize("name", CARRIES)
@given(a=lanes(32), b=lanes(32), carry=MASK, on=MASK)
@settings(max_examples=10)
def test_carries(name: str, a: list[int], b: list[int], carry: int, on: int) -> None:
    function, sign = CARRIES[name]
    plain = [function(x, y) for x, y in zip(a, b, strict=True)]
    chained = [x + sign * (carry >> i & 1) for i, x in enumerate(plain)]
    result = execute(f"v_{name}_co_u32_e32 v2, vcc, v0, v1", {0: a, 1: b}, exec_=on)
    check_carry(result.v(2), result.vcc, plain, on)
    result = execute(f"v_{name}_co_u32_e64 v2, s[0:1], v0, v1", {0: a, 1: b}, exec_=on)
    check_carry(result.v(2), result.s64(0), plain, on)
    text = f"v_{CHAINED[name]}_co_u32_e32 v2, vcc, v0, v1, vcc"
    result = execute(text, {0: a, 1: b}, vcc=carry, exec_=on)
    check_carry(result.v(2), result.vcc, chained, on)
    text = f"v_{CHAINED[name]}_co_u32_e64 v2, s[2:3], v0, v1, s[0:1]"
    result = execute(text, {0: a, 1: b}, pair(carry), exec_=on)
    check_carry(result.v(2), result.s64(2), chained, on)


def check_carry(got: list[int], carry: int, exact: list[int], on: int) -> None:
    active = [bool(on >> lane & 1) for lane in range(64)]
    assert got == [unsigned(x) if is_on else OLD for x, is_on in zip(exact, active, strict=True)]
    out = [not 0 <= x < 2**32 and is_on for x, is_on in zip(exact, active, strict=True)]
    assert carry == mask_of(out)


@given(a=lanes(32), b=lanes(32), c=lanes(64))
@settings(max_examples=20)
def test_multiply_add_64(a: list[int], b: list[int], c: list[int]) -> None:
    registers = {0: a, 1: b, 2: low(c), 3: high(c)}
    result = execute("v_mad_u64_u32 v[4:5], s[0:1], v0, v1, v[2:3]", registers)
    exact = [x * y + z for x, y, z in zip(a, b, c, strict=True)]
    assert result.v64(4) == [unsigned(x, 64) for x in exact]
    assert result.s64(0) == mask_of([x >= 2**64 for x in exact])
    result = execute("v_mad_i64_i32 v[4:5], s[0:1], v0, v1, v[2:3]", registers)
    exact = [signed(x) * signed(y) + signed(z, 64) for x, y, z in zip(a, b, c, strict=True)]
    assert result.v64(4) == [unsigned(x, 64) for x in exact]


# ---- division


def steps(kind: str) -> str:
    """The usual expansion of a division: v8 / v6 (pairs for f64), result in v0."""
    wide = kind == "f64"

    def r(n: int) -> str:
        return f"v[{2 * n}:{2 * n + 1}]" if wide else f"v{n}"

    n, d = r(8), r(6)
    return f"""
        v_div_scale_{kind} {r(1)}, s[0:1], {d}, {d}, {n}
        v_div_scale_{kind} {r(2)}, vcc, {n}, {d}, {n}
        v_rcp_{kind}_e32 {r(3)}, {r(1)}
        v_fma_{kind} {r(4)}, -{r(1)}, {r(3)}, 1.0
        v_fma_{kind} {r(3)}, {r(4)}, {r(3)}, {r(3)}
        v_fma_{kind} {r(4)}, -{r(1)}, {r(3)}, 1.0
        v_fma_{kind} {r(3)}, {r(4)}, {r(3)}, {r(3)}
        v_mul_{kind}{"" if wide else "_e32"} {r(4)}, {r(2)}, {r(3)}
        v_fma_{kind} {r(5)}, -{r(1)}, {r(4)}, {r(2)}
        v_fma_{kind} {r(4)}, {r(5)}, {r(3)}, {r(4)}
        v_fma_{kind} {r(5)}, -{r(1)}, {r(4)}, {r(2)}
        v_div_fmas_{kind} {r(5)}, {r(5)}, {r(3)}, {r(4)}
        v_div_fixup_{kind} {r(0)}, {r(5)}, {d}, {n}
    """


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_division_expansion_is_correctly_rounded(kind: str) -> None:
    form = FORMATS[kind]

    @given(a=lanes(form.width), b=lanes(form.width))
    @settings(max_examples=40)
    def check(a: list[int], b: list[int]) -> None:
        text = steps(kind)
        if form is F64:
            registers = {16: low(a), 17: high(a), 12: low(b), 13: high(b)}
            got = execute(text, registers).v64(0)
        else:
            got = execute(text, {8: a, 6: b}).v(0)
        for x, y, z in zip(a, b, got, strict=True):
            expected = form.divide(x, y)
            tiny = expected & form.sign - 1 < 1 << form.mantissa_bits
            # The last step scales a result that was rounded already: denormals round twice.
            assert form.same(z, expected) or (tiny and abs(z - expected) <= 1), (
                hex(x), hex(y), hex(z), hex(expected)
            )  # fmt: skip

    check()


@pytest.mark.parametrize(
    ("top", "bottom", "expected"),
    [
        (0, 0, 0xFE00),
        (0x7C00, 0xFC00, 0xFE00),
        (0x3C00, 0, 0x7C00),
        (0xBC00, 0, 0xFC00),
        (0x7C00, 0xBC00, 0xFC00),
        (0x3C00, 0xFC00, 0x8000),
        (0x7E01, 0x3C00, 0x7E01),
        (0x3C00, 0x7D01, 0x7F01),
        (0x3C00, 0x4000, 0x3C55),
        (0x3C00, 0xC000, 0xBC55),
    ],
)
def test_division_fixup_f16(top: int, bottom: int, expected: int) -> None:
    """Special cases by hand; an ordinary quotient (here 0x3c55) only gets the right sign."""
    got = execute("v_div_fixup_f16 v3, v0, v1, v2", {0: 0x3C55, 1: bottom, 2: top}).v(3)
    assert [x & 0xFFFF for x in got] == [expected] * 64
