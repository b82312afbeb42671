"""LDS reads, writes and atomics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mxfp4kernels.emulator import MemoryFault, UnsupportedInstruction

from .exact import F32, F64
from .harness import OLD, execute, high, low, signed, unsigned

LANES = range(64)
DATA = bytes((11 * i + 5) % 256 for i in range(65536))


def word(at: int, size: int = 4) -> int:
    return int.from_bytes(DATA[at : at + size], "little")


READS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "b32": (4, lambda x, old: x),
    "u8": (1, lambda x, old: x),
    "i8": (1, lambda x, old: unsigned(signed(x, 8))),
    "u16": (2, lambda x, old: x),
    "i16": (2, lambda x, old: unsigned(signed(x, 16))),
    "u8_d16": (1, lambda x, old: x | old & 0xFFFF0000),
    "i8_d16": (1, lambda x, old: signed(x, 8) & 0xFFFF | old & 0xFFFF0000),
    "u16_d16": (2, lambda x, old: x | old & 0xFFFF0000),
    "u8_d16_hi": (1, lambda x, old: x << 16 | old & 0xFFFF),
    "i8_d16_hi": (1, lambda x, old: (signed(x, 8) & 0xFFFF) << 16 | old & 0xFFFF),
    "u16_d16_hi": (2, lambda x, old: x << 16 | old & 0xFFFF),
}


@pytest.mark.parametrize("kind", READS)
def test_read(kind: str) -> None:
    size, convert = READS[kind]
    v = {0: [12 * n for n in LANES], 1: OLD}
    got = execute(f"ds_read_{kind} v1, v0 offset:8", v, lds=DATA[:1024], exec_=2**64 - 2).v(1)
    assert got == [OLD] + [convert(word(8 + 12 * n, size), OLD) for n in LANES[1:]]


@pytest.mark.parametrize("dwords", [2, 3, 4])
def test_wide_read(dwords: int) -> None:
    text = f"ds_read_b{32 * dwords} v[4:{3 + dwords}], v0 offset:16"
    result = execute(text, {0: [20 * n for n in LANES]}, lds=DATA[:2048])
    for d in range(dwords):
        assert result.v(4 + d) == [word(16 + 20 * n + 4 * d) for n in LANES]


def test_read_into_accumulator() -> None:
    result = execute("ds_read_b64 a[0:1], v0", {0: [8 * n for n in LANES]}, lds=DATA[:512])
    assert result.a(1) == [word(8 * n + 4) for n in LANES]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("strided", [False, True])
def test_read2(bits: int, strided: bool) -> None:
    """Offsets count elements, or 64 elements for st64."""
    size = bits // 8
    unit = size * (64 if strided else 1)
    name = f"ds_read2{'st64' if strided else ''}_b{bits}"
    text = f"{name} v[4:{3 + 2 * size // 4}], v0 offset0:3 offset1:7"
    result = execute(text, {0: [size * n for n in LANES]}, lds=DATA[:8192])
    for part, offset in enumerate((3, 7)):
        for d in range(size // 4):
            row = 4 + part * size // 4 + d
            assert result.v(row) == [word(size * n + unit * offset + 4 * d) for n in LANES]


WRITES = {"b32": (4, 0), "b8": (1, 0), "b16": (2, 0), "b8_d16_hi": (1, 16), "b16_d16_hi": (2, 16)}


@pytest.mark.parametrize("kind", WRITES)
def test_write(kind: str) -> None:
    size, shift = WRITES[kind]
    values = [word(4 * n) for n in LANES]
    v = {0: [5 * n for n in LANES], 1: values}
    result = execute(f"ds_write_{kind} v0, v1 offset:3", v, lds=bytes(512), exec_=2**63 - 1)
    expected = bytearray(512)
    for n in LANES[:63]:
        at = 3 + 5 * n
        expected[at : at + size] = (values[n] >> shift).to_bytes(4, "little")[:size]
    assert result.lds == bytes(expected)


@pytest.mark.parametrize("dwords", [2, 3, 4])
def test_wide_write(dwords: int) -> None:
    v: dict[int, object] = {0: [16 * n for n in LANES]}
    v |= {4 + d: [word(16 * n + 4 * d) for n in LANES] for d in range(dwords)}
    text = f"ds_write_b{32 * dwords} v0, v[4:{3 + dwords}]"
    result = execute(text, v, lds=bytes(1024))
    for n in LANES:
        assert result.lds[16 * n : 16 * n + 4 * dwords] == DATA[16 * n : 16 * n + 4 * dwords]


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("strided", [False, True])
def test_write2(bits: int, strided: bool) -> None:
    size = bits // 8
    unit = size * (64 if strided else 1)
    v: dict[int, object] = {0: [size * n for n in LANES]}
    rows = ("v4", "v6") if bits == 32 else ("v[4:5]", "v[6:7]")
    for part in range(2):
        for d in range(size // 4):
            v[4 + 2 * part + d] = [word(size * n + 4 * d + 1000 * part) for n in LANES]
    name = f"ds_write2{'st64' if strided else ''}_b{bits}"
    result = execute(f"{name} v0, {rows[0]}, {rows[1]} offset1:65", v, lds=bytes(40000))
    for n in LANES:
        for part, offset in enumerate((0, 65)):
            at = size * n + unit * offset
            expected = DATA[size * n + 1000 * part :][:size]
            assert result.lds[at : at + size] == expected


def test_address_by_lane() -> None:
    result = execute("ds_read_addtid_b32 v0 offset:8", {0: 0}, {124: 16}, lds=DATA[:512])
    assert result.v(0) == [word(24 + 4 * n) for n in LANES]
    v = {0: list(LANES)}
    result = execute("ds_write_addtid_b32 v0 offset:8", v, {124: 16}, lds=bytes(512))
    assert np.frombuffer(result.lds, "<u4")[6:70].tolist() == list(LANES)


INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "add_u": lambda old, x, bits: unsigned(old + x, bits),
    "sub_u": lambda old, x, bits: unsigned(old - x, bits),
    "rsub_u": lambda old, x, bits: unsigned(x - old, bits),
    "inc_u": lambda old, x, bits: 0 if old >= x else old + 1,
    "dec_u": lambda old, x, bits: x if old == 0 or old > x else old - 1,
    "min_i": lambda old, x, bits: min(old, x, key=lambda y: signed(y, bits)),
    "max_i": lambda old, x, bits: max(old, x, key=lambda y: signed(y, bits)),
    "min_u": lambda old, x, bits: min(old, x),
    "max_u": lambda old, x, bits: max(old, x),
    "and_b": lambda old, x, bits: old & x,
    "or_b": lambda old, x, bits: old | x,
    "xor_b": lambda old, x, bits: old ^ x,
}


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
def test_integer_atomics(name: str, bits: int, returns: bool) -> None:
    size = bits // 8
    start = [word(size * n + 99, size) for n in range(8)]
    values = [word(size * n + 7, size) for n in LANES]
    targets = [3 * n % 8 for n in LANES]
    v: dict[int, object] = {0: [size * t for t in targets], 4: low(values), 5: high(values)}
    data, back = ("v4", "v6") if bits == 32 else ("v[4:5]", "v[6:7]")
    if bits == 32:
        del v[5]
    operation, kind = name.split("_")
    opcode = f"ds_{operation}_rtn_{kind}{bits}" if returns else f"ds_{name}{bits}"
    text = f"{opcode} {back}, v0, {data}" if returns else f"{opcode} v0, {data}"
    content = b"".join(x.to_bytes(size, "little") for x in start)
    result = execute(text, v, lds=content)
    expected, old = list(start), []
    for target, value in zip(targets, values, strict=True):
        old.append(expected[target])
        expected[target] = INTEGER[name](expected[target], value, bits)
    assert np.frombuffer(result.lds, f"<u{size}").tolist() == expected
    if returns:
        assert (result.v(6) if bits == 32 else result.v64(6)) == old


@pytest.mark.parametrize("bits", [32, 64])
def test_exchange(bits: int) -> None:
    size = bits // 8
    data, back = ("v4", "v6") if bits == 32 else ("v[4:5]", "v[6:7]")
    v: dict[int, object] = {0: [size * n for n in LANES], 4: 77}
    if bits == 64:
        v[5] = 0
    text = f"ds_wrxchg_rtn_b{bits} {back}, v0, {data}"
    result = execute(text, v, lds=DATA[: 64 * size])
    got = result.v(6) if bits == 32 else result.v64(6)
    assert got == [word(size * n, size) for n in LANES]
    assert np.frombuffer(result.lds, f"<u{size}").tolist() == [77] * 64


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
def test_compare_and_store(bits: int, returns: bool) -> None:
    """Operands: address, expected value, new value."""
    size = bits // 8
    expected = [word(size * n, size) if n % 3 else 1 for n in LANES]
    v: dict[int, object] = {0: [size * n for n in LANES]}
    if bits == 32:
        v |= {4: expected, 6: 500}
        operands, back = "v0, v4, v6", "v8"
    else:
        v |= {4: low(expected), 5: high(expected), 6: 500, 7: 0}
        operands, back = "v0, v[4:5], v[6:7]", "v[8:9]"
    text = f"ds_cmpst_rtn_b{bits} {back}, {operands}" if returns else f"ds_cmpst_b{bits} {operands}"
    result = execute(text, v, lds=DATA[: 64 * size])
    after = np.frombuffer(result.lds, f"<u{size}").tolist()
    assert after == [500 if n % 3 else word(size * n, size) for n in LANES]
    if returns:
        old = result.v(8) if bits == 32 else result.v64(8)
        assert old == [word(size * n, size) for n in LANES]


@pytest.mark.parametrize(("operation", "expected"), [("add", 70.5), ("max", 6.5), ("min", 1.0)])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
def test_float_atomics(operation: str, expected: float, bits: int, returns: bool) -> None:
    form, size = (F32, 4) if bits == 32 else (F64, 8)
    one = form.bits_of(1)
    start = form.bits_of(6.5).to_bytes(size, "little")
    v: dict[int, object] = {0: 0, 4: one & 0xFFFFFFFF}
    if bits == 64:
        v[5] = one >> 32
    data, back = ("v4", "v6") if bits == 32 else ("v[4:5]", "v[6:7]")
    name = f"ds_{operation}_rtn_f{bits} {back}, v0," if returns else f"ds_{operation}_f{bits} v0,"
    result = execute(f"{name} {data}", v, lds=start)
    assert form.to_float(int.from_bytes(result.lds, "little")) == expected
    if returns:
        first = result.v(6)[0] if bits == 32 else result.v64(6)[0]
        assert form.to_float(first) == 6.5


@pytest.mark.parametrize(("kind", "start", "expected"), [
    ("f16", 0x3C00BC00, 0x5410D410), ("bf16", 0x3F80BF80, 0x4282C282),
])  # fmt: skip
def test_packed_atomics(kind: str, start: int, expected: int) -> None:
    """1 and -1, each added 64 times to itself: 65 and -65."""
    content = start.to_bytes(4, "little")
    result = execute(f"ds_pk_add_{kind} v0, v1", {0: 0, 1: start}, lds=content)
    assert int.from_bytes(result.lds, "little") == expected
    result = execute(f"ds_pk_add_rtn_{kind} v2, v0, v1", {0: 0, 1: start}, lds=content)
    assert result.v(2)[0] == start


def test_more_atomics() -> None:
    result = execute("ds_mskor_b32 v0, v1, v2", {0: 0, 1: 0xFF00, 2: 0x1200}, lds=b"\xee" * 4)
    assert int.from_bytes(result.lds, "little") == 0xEEEE12EE
    result = execute("ds_mskor_rtn_b32 v3, v0, v1, v2", {0: 0, 1: 1, 2: 0}, lds=b"\xff" * 4)
    assert int.from_bytes(result.lds, "little") == 0xFFFFFFFE
    v = {0: 0, 2: 0xFF00, 3: 0, 4: 0x1200, 5: 0}
    result = execute("ds_mskor_b64 v0, v[2:3], v[4:5]", v, lds=b"\xee" * 8)
    assert int.from_bytes(result.lds, "little") == 0xEEEEEEEEEEEE12EE
    result = execute("ds_mskor_rtn_b64 v[6:7], v0, v[2:3], v[4:5]", v, lds=b"\xee" * 8)
    assert int.from_bytes(result.lds, "little") == 0xEEEEEEEEEEEE12EE
    assert result.v64(6)[0] == 0xEEEEEEEEEEEEEEEE


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("returns", [False, True])
def test_float_compare_and_store(bits: int, returns: bool) -> None:
    """Zeros of either sign are equal, a NaN equals nothing."""
    form, size = (F32, 4) if bits == 32 else (F64, 8)
    for old, expected, stored in ((0, form.sign, True), (form.nan, form.nan, False)):
        words = [expected & 0xFFFFFFFF, expected >> 32, 9, 0]
        if bits == 32:
            v: dict[int, object] = {0: 0, 4: words[0], 6: 9}
            text = "ds_cmpst_f32 v0, v4, v6"
        else:
            v = {0: 0} | {4 + i: x for i, x in enumerate(words)}
            text = "ds_cmpst_f64 v0, v[4:5], v[6:7]"
        if returns:
            back = "v8" if bits == 32 else "v[8:9]"
            text = text.replace("cmpst", "cmpst_rtn").replace(" v0", f" {back}, v0")
        result = execute(text, v, lds=old.to_bytes(size, "little"))
        after = result.lds
        if returns:
            assert (result.v(8) if bits == 32 else result.v64(8))[0] == old
        assert int.from_bytes(after, "little") == (9 if stored else old)
    text = "ds_wrap_rtn_b32 v3, v0, v1, v2"
    content = b"".join(n.to_bytes(4, "little") for n in LANES)
    result = execute(text, {0: [4 * n for n in LANES], 1: 10, 2: 100}, lds=content)
    assert result.v(3) == list(LANES)
    wrapped = [n - 10 if n >= 10 else n + 100 for n in LANES]
    assert np.frombuffer(result.lds, "<u4").tolist() == wrapped


@pytest.mark.parametrize(("strided", "unit"), [("", 1), ("st64", 64)])
@pytest.mark.parametrize("bits", [32, 64])
def test_exchange_of_two(strided: str, unit: int, bits: int) -> None:
    size = bits // 8
    v: dict[int, object] = {0: [size * n for n in LANES], 4: 8, 6: 9}
    operands, back = ("v4, v6", "v[8:9]") if bits == 32 else ("v[4:5], v[6:7]", "v[8:11]")
    if bits == 64:
        v |= {5: 0, 7: 0}
    text = f"ds_wrxchg2{strided}_rtn_b{bits} {back}, v0, {operands} offset0:0 offset1:64"
    result = execute(text, v, lds=DATA[:40000])
    got = (result.v(8), result.v(9)) if bits == 32 else (result.v64(8), result.v64(10))
    after = np.frombuffer(result.lds, f"<u{size}")
    for part, offset in enumerate((0, 64 * unit)):
        assert got[part] == [word(size * (n + offset), size) for n in LANES]
        assert after[offset : offset + 64].tolist() == [8 + part] * 64


# ---- faults


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("ds_read_b128 v[4:7], v0", "lane 2: LDS load of 16 bytes at 60 leaves .* 64 bytes"),
        ("ds_write_b64 v0, v[4:5]", "lane 2: LDS store of 8 bytes at 60"),
        ("ds_add_u32 v0, v4 offset:8", "lane 2: LDS load of 4 bytes at 68"),
    ],
)
def test_access_beyond_lds_is_a_fault(text: str, pattern: str) -> None:
    with pytest.raises(MemoryFault, match=pattern):
        execute(text, {0: [0, 16, 60, *[0] * 61], 4: 0}, lds=bytes(64))


def test_lanes_that_are_off_may_carry_any_address() -> None:
    got = execute("ds_read_b32 v1, v0", {0: [2**32 - 1] * 63 + [4]}, lds=DATA[:8], exec_=2**63)
    assert got.v(1)[63] == word(4)


def test_global_data_share_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="global data share"):
        execute("ds_add_u32 v0, v1 gds")


def test_nop() -> None:
    execute("ds_nop")
