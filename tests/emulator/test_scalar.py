"""Scalar ALU instructions and SCC against plain Python integers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from .harness import execute, pair, signed, unsigned
from .samples import EDGES

Outcome = tuple[int, bool | None]
"""Result and SCC; None leaves SCC as it was."""
WORD = st.one_of(st.sampled_from(EDGES[32]), st.integers(0, 2**32 - 1))
LONG = st.one_of(st.sampled_from(EDGES[64]), st.integers(0, 2**64 - 1))


def logic(function: Callable[..., int], bits: int) -> Callable[..., Outcome]:
    def apply(*args: int) -> Outcome:
        result = unsigned(function(*args), bits)
        return result, result != 0

    return apply


def signed_result(function: Callable[..., int]) -> Callable[..., Outcome]:
    """Signed arithmetic with SCC on overflow."""

    def apply(a: int, b: int) -> Outcome:
        exact = function(signed(a), signed(b))
        return unsigned(exact), signed(unsigned(exact)) != exact

    return apply


def plain(function: Callable[..., int], bits: int = 32) -> Callable[..., Outcome]:
    return lambda *args: (unsigned(function(*args), bits), None)


def field(x: int, control: int, bits: int, is_signed: bool) -> int:
    offset, width = control & bits - 1, min(control >> 16 & 0x7F, bits)
    kept = min(width, bits - offset)
    if kept == 0:
        return 0
    value = x >> offset & (1 << kept) - 1
    return unsigned(signed(value, kept), bits) if is_signed else value


BINARY: dict[str, Callable[[int, int], Outcome]] = {
    "s_add_u32": lambda a, b: (unsigned(a + b), a + b >= 2**32),
    "s_sub_u32": lambda a, b: (unsigned(a - b), b > a),
    "s_add_i32": signed_result(lambda a, b: a + b),
    "s_sub_i32": signed_result(lambda a, b: a - b),
    "s_min_u32": lambda a, b: (min(a, b), a < b),
    "s_max_u32": lambda a, b: (max(a, b), a > b),
    "s_min_i32": lambda a, b: (unsigned(min(signed(a), signed(b))), signed(a) < signed(b)),
    "s_max_i32": lambda a, b: (unsigned(max(signed(a), signed(b))), signed(a) > signed(b)),
    "s_mul_i32": plain(lambda a, b: a * b),
    "s_mul_hi_u32": plain(lambda a, b: a * b >> 32),
    "s_mul_hi_i32": plain(lambda a, b: signed(a) * signed(b) >> 32),
    "s_and_b32": logic(lambda a, b: a & b, 32),
    "s_or_b32": logic(lambda a, b: a | b, 32),
    "s_xor_b32": logic(lambda a, b: a ^ b, 32),
    "s_andn2_b32": logic(lambda a, b: a & ~b, 32),
    "s_orn2_b32": logic(lambda a, b: a | ~b, 32),
    "s_nand_b32": logic(lambda a, b: ~(a & b), 32),
    "s_nor_b32": logic(lambda a, b: ~(a | b), 32),
    "s_xnor_b32": logic(lambda a, b: ~(a ^ b), 32),
    "s_lshl_b32": logic(lambda a, b: a << (b & 31), 32),
    "s_lshr_b32": logic(lambda a, b: a >> (b & 31), 32),
    "s_ashr_i32": logic(lambda a, b: signed(a) >> (b & 31), 32),
    "s_bfm_b32": plain(lambda a, b: ((1 << (a & 31)) - 1) << (b & 31)),
    "s_bfe_u32": logic(lambda a, b: field(a, b, 32, False), 32),
    "s_bfe_i32": logic(lambda a, b: field(a, b, 32, True), 32),
    "s_absdiff_i32": logic(lambda a, b: abs(signed(unsigned(a - b))), 32),
    "s_pack_ll_b32_b16": plain(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
    "s_pack_lh_b32_b16": plain(lambda a, b: a & 0xFFFF | (b >> 16) << 16),
    "s_pack_hh_b32_b16": plain(lambda a, b: a >> 16 | (b >> 16) << 16),
} | {
    f"s_lshl{n}_add_u32": lambda a, b, n=n: (unsigned((a << n) + b), (a << n) + b >= 2**32)
    for n in range(1, 5)
}


@pytest.mark.parametrize("opcode", BINARY)
@given(a=WORD, b=WORD, scc=st.booleans())
@settings(max_examples=40)
def test_binary(opcode: str, a: int, b: int, scc: bool) -> None:
    result = execute(f"{opcode} s2, s0, s1", s={0: a, 1: b}, scc=scc)
    expected, flag = BINARY[opcode](a, b)
    assert (result.s(2), result.scc) == (expected, scc if flag is None else flag)


def leading(x: int, bits: int) -> int:
    return unsigned(-1) if x == 0 else bits - x.bit_length()


def leading_sign(x: int, bits: int) -> int:
    return leading(unsigned(~x, bits) if x >> bits - 1 else x, bits)


def trailing(x: int) -> int:
    return unsigned(-1) if x == 0 else (x & -x).bit_length() - 1


def ones(x: int) -> int:
    return bin(x).count("1")


def quads(x: int, bits: int) -> list[bool]:
    return [bool(x >> i & 15) for i in range(0, bits, 4)]


def whole_quads(x: int, bits: int) -> int:
    return sum(15 << 4 * i for i, any_ in enumerate(quads(x, bits)) if any_)


def quad_mask(x: int, bits: int) -> int:
    return sum(1 << i for i, any_ in enumerate(quads(x, bits)) if any_)


def unary(bits: int) -> dict[str, Callable[[int], Outcome]]:
    """Operations whose result is as wide as the source."""
    return {
        f"s_mov_b{bits}": plain(lambda a: a, bits),
        f"s_not_b{bits}": logic(lambda a: ~a, bits),
        f"s_brev_b{bits}": plain(lambda a: int(f"{a:0{bits}b}"[::-1], 2), bits),
        f"s_wqm_b{bits}": logic(lambda a: whole_quads(a, bits), bits),
        f"s_quadmask_b{bits}": logic(lambda a: quad_mask(a, bits), bits),
    }


def counting(bits: int) -> dict[str, Callable[[int], Outcome]]:
    """Operations whose result is 32 bits wide."""
    flip = (1 << bits) - 1
    return {
        f"s_bcnt1_i32_b{bits}": logic(ones, 32),
        f"s_bcnt0_i32_b{bits}": logic(lambda a: bits - ones(a), 32),
        f"s_ff1_i32_b{bits}": plain(trailing),
        f"s_ff0_i32_b{bits}": plain(lambda a: trailing(a ^ flip)),
        f"s_flbit_i32_b{bits}": plain(lambda a: leading(a, bits)),
        f"s_flbit_i32{'' if bits == 32 else '_i64'}": plain(lambda a: leading_sign(a, bits)),
    }


UNARY32 = unary(32) | counting(32) | {
    "s_abs_i32": logic(lambda a: abs(signed(a)), 32),
    "s_sext_i32_i8": plain(lambda a: signed(a, 8)),
    "s_sext_i32_i16": plain(lambda a: signed(a, 16)),
}  # fmt: skip


@pytest.mark.parametrize("opcode", UNARY32)
@given(a=WORD, scc=st.booleans())
@settings(max_examples=30)
def test_unary(opcode: str, a: int, scc: bool) -> None:
    result = execute(f"{opcode} s2, s0", s={0: a}, scc=scc)
    expected, flag = UNARY32[opcode](a)
    assert (result.s(2), result.scc) == (expected, scc if flag is None else flag)


@pytest.mark.parametrize("opcode", [*unary(64), *counting(64)])
@given(a=LONG, scc=st.booleans())
@settings(max_examples=30)
def test_unary_64(opcode: str, a: int, scc: bool) -> None:
    wide = opcode in unary(64)
    result = execute(f"{opcode} {'s[2:3]' if wide else 's2'}, s[0:1]", s=pair(a), scc=scc)
    expected, flag = (unary(64) | counting(64))[opcode](a)
    got = result.s64(2) if wide else result.s(2)
    assert (got, result.scc) == (expected, scc if flag is None else flag)


BINARY64: dict[str, Callable[[int, int], Outcome]] = {
    opcode.replace("b32", "b64"): logic(function, 64)
    for opcode, function in {
        "s_and_b32": lambda a, b: a & b,
        "s_or_b32": lambda a, b: a | b,
        "s_xor_b32": lambda a, b: a ^ b,
        "s_andn2_b32": lambda a, b: a & ~b,
        "s_orn2_b32": lambda a, b: a | ~b,
        "s_nand_b32": lambda a, b: ~(a & b),
        "s_nor_b32": lambda a, b: ~(a | b),
        "s_xnor_b32": lambda a, b: ~(a ^ b),
    }.items()
}


@pytest.mark.parametrize("opcode", BINARY64)
@given(a=LONG, b=LONG)
@settings(max_examples=30)
def test_binary_64(opcode: str, a: int, b: int) -> None:
    result = execute(f"{opcode} s[4:5], s[0:1], s[2:3]", s=pair(a) | pair(b, 2))
    assert (result.s64(4), result.scc) == BINARY64[opcode](a, b)


WITH_AMOUNT: dict[str, Callable[[int, int], Outcome]] = {
    "s_lshl_b64": logic(lambda a, n: a << (n & 63), 64),
    "s_lshr_b64": logic(lambda a, n: a >> (n & 63), 64),
    "s_ashr_i64": logic(lambda a, n: signed(a, 64) >> (n & 63), 64),
    "s_bfe_u64": logic(lambda a, n: field(a, n, 64, False), 64),
    "s_bfe_i64": logic(lambda a, n: field(a, n, 64, True), 64),
}


@pytest.mark.parametrize("opcode", WITH_AMOUNT)
@given(a=LONG, n=st.one_of(WORD, st.integers(0, 64).map(lambda w: w << 16 | 64 - w)))
@settings(max_examples=40)
def test_shifts_and_fields_64(opcode: str, a: int, n: int) -> None:
    result = execute(f"{opcode} s[4:5], s[0:1], s2", s=pair(a) | {2: n})
    assert (result.s64(4), result.scc) == WITH_AMOUNT[opcode](a, n)


@given(a=WORD, b=WORD)
def test_field_mask_64(a: int, b: int) -> None:
    expected = unsigned(((1 << (a & 63)) - 1) << (b & 63), 64)
    assert execute("s_bfm_b64 s[2:3], s0, s1", s={0: a, 1: b}).s64(2) == expected


@given(a=WORD)
def test_bit_replicate(a: int) -> None:
    expected = sum(3 << 2 * i for i in range(32) if a >> i & 1)
    assert execute("s_bitreplicate_b64_b32 s[2:3], s0", s={0: a}).s64(2) == expected


@pytest.mark.parametrize("bits", [32, 64])
@given(n=WORD, old=LONG)
def test_bit_set(bits: int, n: int, old: int) -> None:
    old = unsigned(old, bits)
    target, bit = ("s2" if bits == 32 else "s[2:3]"), 1 << (n & bits - 1)
    for value in (0, 1):
        result = execute(f"s_bitset{value}_b{bits} {target}, s0", s=pair(old, 2) | {0: n})
        got = result.s(2) if bits == 32 else result.s64(2)
        assert got == (old | bit if value else old & ~bit)


@pytest.mark.parametrize("bits", [32, 64])
@given(a=LONG, n=WORD)
def test_bit_compare(bits: int, a: int, n: int) -> None:
    a = unsigned(a, bits)
    source = "s0" if bits == 32 else "s[0:1]"
    for wanted in (0, 1):
        result = execute(f"s_bitcmp{wanted}_b{bits} {source}, s2", s=pair(a) | {2: n})
        assert result.scc == ((a >> (n & bits - 1) & 1) == wanted)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}


@pytest.mark.parametrize("kind", ["u32", "i32"])
@pytest.mark.parametrize("name", RELATIONS)
@given(a=WORD, b=WORD)
@settings(max_examples=30)
def test_compare(name: str, kind: str, a: int, b: int) -> None:
    numbers = (signed(a), signed(b)) if kind == "i32" else (a, b)
    result = execute(f"s_cmp_{name}_{kind} s0, s1", s={0: a, 1: b})
    assert result.scc == RELATIONS[name](*numbers)
    assert execute(f"s_cmp_{name}_{kind} s0, s0", s={0: a}).scc == RELATIONS[name](a, a)


@pytest.mark.parametrize("name", ["eq", "lg"])
@given(a=LONG, b=LONG)
def test_compare_64(name: str, a: int, b: int) -> None:
    result = execute(f"s_cmp_{name}_u64 s[0:1], s[2:3]", s=pair(a) | pair(b, 2))
    assert result.scc == RELATIONS[name](a, b)


@pytest.mark.parametrize("kind", ["u32", "i32"])
@pytest.mark.parametrize("name", RELATIONS)
@pytest.mark.parametrize("k", [0, 1, 0x7FFF, 0x8000, 0xFFFF])
def test_compare_with_immediate(name: str, kind: str, k: int) -> None:
    """Sign-extended for i32, zero-extended for u32."""
    constant = signed(k, 16) if kind == "i32" else k
    for a in (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0xFFFF8000, 0xFFFFFFFF):
        number = signed(a) if kind == "i32" else a
        result = execute(f"s_cmpk_{name}_{kind} s0, {k:#x}", s={0: a})
        assert result.scc == RELATIONS[name](number, constant)


@given(a=WORD, b=WORD, scc=st.booleans())
@settings(max_examples=60)
def test_carry_chain(a: int, b: int, scc: bool) -> None:
    result = execute("s_addc_u32 s2, s0, s1", s={0: a, 1: b}, scc=scc)
    assert (result.s(2), result.scc) == (unsigned(a + b + scc), a + b + scc >= 2**32)
    result = execute("s_subb_u32 s2, s0, s1", s={0: a, 1: b}, scc=scc)
    assert (result.s(2), result.scc) == (unsigned(a - b - scc), b + scc > a)


@pytest.mark.parametrize("scc", [False, True])
def test_select_and_conditional_move(scc: bool) -> None:
    text = """
        s_cselect_b32 s4, s0, s1
        s_cselect_b64 s[6:7], s[0:1], s[2:3]
        s_cmov_b32 s0, s3
        s_cmovk_i32 s1, 0xfffe
    """
    result = execute(text, s={0: 10, 1: 11, 2: 12, 3: 13}, scc=scc)
    got = (result.s(4), result.s64(6), result.s(0), result.s(1))
    if scc:
        assert got == (10, 10 | 11 << 32, 13, unsigned(-2))
    else:
        assert got == (11, 12 | 13 << 32, 10, 11)


@pytest.mark.parametrize("scc", [False, True])
def test_conditional_move_64(scc: bool) -> None:
    result = execute("s_cmov_b64 s[2:3], s[0:1]", s=pair(5) | pair(6, 2), scc=scc)
    assert result.s64(2) == (5 if scc else 6)


@pytest.mark.parametrize(
    ("text", "before", "after", "scc"),
    [
        ("s_movk_i32 s0, 0x8000", 1, unsigned(-32768), None),
        ("s_movk_i32 s0, 0x7fff", 1, 32767, None),
        ("s_addk_i32 s0, 0xffff", 5, 4, False),
        ("s_addk_i32 s0, 0x7fff", 2**31 - 1, 2**31 + 32766, True),
        ("s_mulk_i32 s0, 0xfffd", 7, unsigned(-21), None),
    ],
)
def test_immediates(text: str, before: int, after: int, scc: bool | None) -> None:
    for old in (False, True):
        result = execute(text, s={0: before}, scc=old)
        assert (result.s(0), result.scc) == (after, old if scc is None else scc)


EXEC_RULES: dict[str, Callable[[int, int], int]] = {
    "and": lambda s, e: s & e,
    "or": lambda s, e: s | e,
    "xor": lambda s, e: s ^ e,
    "andn1": lambda s, e: ~s & e,
    "andn2": lambda s, e: s & ~e,
    "orn1": lambda s, e: ~s | e,
    "orn2": lambda s, e: s | ~e,
    "nand": lambda s, e: ~(s & e),
    "nor": lambda s, e: ~(s | e),
    "xnor": lambda s, e: ~(s ^ e),
}


@pytest.mark.parametrize("name", EXEC_RULES)
@given(source=LONG, old=LONG)
@settings(max_examples=20)
def test_save_exec(name: str, source: int, old: int) -> None:
    """The old EXEC is saved, the new one governs the next vector instruction."""
    text = f"s_{name}_saveexec_b64 s[2:3], s[0:1]\nv_mov_b32_e32 v0, 1"
    result = execute(text, {0: 0}, pair(source), exec_=old)
    expected = unsigned(EXEC_RULES[name](source, old), 64)
    assert (result.s64(2), result.exec, result.scc) == (old, expected, expected != 0)
    assert result.v(0) == [expected >> lane & 1 for lane in range(64)]


@pytest.mark.parametrize("name", ["andn1", "andn2"])
@given(source=LONG, old=LONG)
@settings(max_examples=20)
def test_write_exec(name: str, source: int, old: int) -> None:
    """The result goes to both the destination and EXEC."""
    result = execute(f"s_{name}_wrexec_b64 s[2:3], s[0:1]", s=pair(source), exec_=old)
    expected = unsigned(EXEC_RULES[name](source, old), 64)
    assert (result.s64(2), result.exec, result.scc) == (expected, expected, expected != 0)


def test_exec_halves_are_written_apart() -> None:
    text = "s_mov_b32 exec_lo, 3\ns_mov_b32 exec_hi, 0\nv_mov_b32_e32 v0, 7"
    assert execute(text, {0: 0}).v(0) == [7, 7] + [0] * 62


def test_relative_moves() -> None:
    registers = {10 + n: 100 + n for n in range(8)} | {124: 3}
    assert execute("s_movrels_b32 s0, s10", s=registers).s(0) == 103
    assert execute("s_movreld_b32 s10, s11", s=registers).s(13) == 101
    assert execute("s_movrels_b64 s[0:1], s[10:11]", s=registers).s64(0) == 103 | 104 << 32
    assert execute("s_movreld_b64 s[10:11], s[14:15]", s=registers).s64(13) == 104 | 105 << 32


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s_mov_b64 s[0:1], -1", 2**64 - 1),
        ("s_mov_b64 s[0:1], 64", 64),
        ("s_mov_b64 s[0:1], 0xffffff00", 0xFFFFFF00),
        ("s_mov_b64 s[0:1], exec", 0xF0),
        ("s_mov_b64 s[0:1], vcc", 0x12345678ABCDEF01),
        ("s_ashr_i64 s[0:1], 0xffffff00, 4", 2**64 - 16),
        ("s_mov_b64 s[0:1], 1.0", 0x3F800000),
        ("s_mov_b64 s[0:1], src_scc", 1),
    ],
)
def test_64_bit_constants(text: str, expected: int) -> None:
    result = execute(text, exec_=0xF0, vcc=0x12345678ABCDEF01, scc=True)
    assert result.s64(0) == expected
