"""Scalar loads, buffer, global and flat instructions, atomics; faults that name their place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxfp4kernels.emulator import MemoryFault, UnsupportedInstruction
from mxfp4kernels.emulator.memory import FIRST_ADDRESS, Memory
from mxfp4kernels.emulator.waves import Scratch

from .exact import F32, F64
from .harness import OLD, execute, high, low, pair, signed, unsigned
from .samples import lanes

LANES = range(64)
DATA = bytes((7 * i + 3) % 256 for i in range(4096))


def word(at: int, size: int = 4) -> int:
    return int.from_bytes(DATA[at : at + size], "little")


def memory_with(content: bytes = DATA, writable: bool = True) -> tuple[Memory, int, np.ndarray]:
    memory = Memory()
    array = np.frombuffer(content, np.uint8).copy()
    return memory, memory.allocate("data", array, writable=writable), array


def descriptor(address: int, records: int, stride: int = 0, row: int = 4) -> dict[int, int]:
    words = (address & 0xFFFFFFFF, address >> 32 | stride << 16, records, 0x27000)
    return {row + i: value for i, value in enumerate(words)}


@pytest.mark.parametrize(("base", "name"), [("shared", "LDS"), ("private", "scratch")])
@pytest.mark.parametrize(
    "access",
    ["flat_load_dword v3, v[0:1]", "flat_store_dword v[0:1], v0", "flat_atomic_inc v[0:1], v0"],
)
def test_flat_access_to_lds_and_scratch_is_said_to_be_missing(
    access: str, base: str, name: str
) -> None:
    text = f"s_mov_b64 s[2:3], src_{base}_base\nv_mov_b32_e32 v0, 16\nv_mov_b32_e32 v1, s3\n"
    with pytest.raises(MemoryFault, match=f"lane 0: flat access to {name} is not implemented"):
        execute(text + access, memory=memory_with()[0])


# ---- scalar loads


@pytest.mark.parametrize("dwords", [1, 2, 4, 8, 16])
def test_scalar_load(dwords: int) -> None:
    memory, address, _ = memory_with()
    name = "s_load_dword" + (f"x{dwords}" if dwords > 1 else "")
    target = f"s[16:{15 + dwords}]" if dwords > 1 else "s16"
    for offset, extra in (("0x10", 0x10), ("s2", 0x24), ("s2 offset:0x8", 0x2C)):
        scalars = pair(address) | {2: 0x24}
        result = execute(f"{name} {target}, s[0:1], {offset}", s=scalars, memory=memory)
        assert [result.s(16 + d) for d in range(dwords)] == [
            word(extra + 4 * d) for d in range(dwords)
        ]


def test_scalar_load_drops_the_low_address_bits() -> None:
    memory, address, _ = memory_with()
    result = execute("s_load_dword s2, s[0:1], 0x0", s=pair(address + 7), memory=memory)
    assert result.s(2) == word(4)


def test_scalar_buffer_load_gives_0_out_of_range() -> None:
    memory, address, _ = memory_with()
    scalars = descriptor(address, 20)
    result = execute("s_buffer_load_dwordx4 s[8:11], s[4:7], 0xc", s=scalars, memory=memory)
    assert [result.s(8 + d) for d in range(4)] == [word(12), word(16), 0, 0]


@pytest.mark.parametrize("dwords", [1, 2, 4, 8, 16])
def test_scalar_buffer_load(dwords: int) -> None:
    memory, address, _ = memory_with()
    name = "s_buffer_load_dword" + (f"x{dwords}" if dwords > 1 else "")
    target = f"s[16:{15 + dwords}]" if dwords > 1 else "s16"
    scalars = descriptor(address, 4096) | {2: 20}
    result = execute(f"{name} {target}, s[4:7], s2", s=scalars, memory=memory)
    assert [result.s(16 + d) for d in range(dwords)] == [word(20 + 4 * d) for d in range(dwords)]


def test_scalar_load_fault_names_wave_and_buffer() -> None:
    memory, address, _ = memory_with()
    with pytest.raises(MemoryFault, match=r"s_load_dwordx2 .* wave 0: load of 8 bytes .* 'data'"):
        execute("s_load_dwordx2 s[2:3], s[0:1], 0xffc", s=pair(address), memory=memory)


def test_scalar_cache_and_clock() -> None:
    """The emulator has no time, so its clock stands still."""
    text = "s_dcache_inv\ns_dcache_wb\ns_dcache_inv_vol\ns_dcache_wb_vol\n"
    result = execute(text + "s_memtime s[0:1]\ns_memrealtime s[2:3]")
    assert (result.s64(0), result.s64(2)) == (0, 0)


# ---- vector loads

LOADS: dict[str, tuple[int, Callable[[int, int], int]]] = {
    "ubyte": (1, lambda x, old: x),
    "sbyte": (1, lambda x, old: unsigned(signed(x, 8))),
    "ushort": (2, lambda x, old: x),
    "sshort": (2, lambda x, old: unsigned(signed(x, 16))),
    "ubyte_d16": (1, lambda x, old: x | old & 0xFFFF0000),
    "sbyte_d16": (1, lambda x, old: signed(x, 8) & 0xFFFF | old & 0xFFFF0000),
    "short_d16": (2, lambda x, old: x | old & 0xFFFF0000),
    "ubyte_d16_hi": (1, lambda x, old: x << 16 | old & 0xFFFF),
    "sbyte_d16_hi": (1, lambda x, old: (signed(x, 8) & 0xFFFF) << 16 | old & 0xFFFF),
    "short_d16_hi": (2, lambda x, old: x << 16 | old & 0xFFFF),
    "dword": (4, lambda x, old: x),
}
WIDE = {"dwordx2": 2, "dwordx3": 3, "dwordx4": 4}


def forms(kind: str, target: str, address: int) -> list[tuple[str, dict, dict]]:
    """The same access through every addressing form: text, VGPRs, SGPRs."""
    offsets = [5 * lane for lane in LANES]
    full = [address + offset for offset in offsets]
    pointers = {0: low(full), 1: high(full)}
    return [
        (f"global_load_{kind} {target}, v[0:1], off offset:16", pointers, {}),
        (f"global_load_{kind} {target}, v0, s[0:1] offset:16 nt", {0: offsets}, pair(address)),
        (f"flat_load_{kind} {target}, v[0:1] offset:16", pointers, {}),
        (
            f"buffer_load_{kind} {target}, v0, s[4:7], s2 offen offset:12 sc0",
            {0: offsets},
            descriptor(address, 4096) | {2: 4},
        ),
    ]


@pytest.mark.parametrize("kind", LOADS)
@pytest.mark.parametrize("form", range(4))
def test_load(kind: str, form: int) -> None:
    memory, address, _ = memory_with()
    size, convert = LOADS[kind]
    text, v, s = forms(kind, "v2", address)[form]
    got = execute(text, {**v, 2: OLD}, s, memory=memory, exec_=2**64 - 2).v(2)
    assert got == [OLD] + [convert(word(16 + 5 * lane, size), OLD) for lane in LANES[1:]]


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("form", range(4))
def test_wide_load(kind: str, form: int) -> None:
    memory, address, _ = memory_with()
    text, v, s = forms(kind, f"v[4:{3 + WIDE[kind]}]", address)[form]
    result = execute(text, v, s, memory=memory)
    for d in range(WIDE[kind]):
        assert result.v(4 + d) == [word(16 + 5 * lane + 4 * d) for lane in LANES]


def test_load_into_accumulator() -> None:
    memory, address, _ = memory_with()
    text = "buffer_load_dwordx2 a[2:3], v0, s[4:7], 0 offen"
    result = execute(text, {0: [8 * n for n in LANES]}, descriptor(address, 4096), memory=memory)
    assert result.a(3) == [word(8 * n + 4) for n in LANES]


def test_buffer_without_offset_register() -> None:
    memory, address, _ = memory_with()
    text = "buffer_load_dword v0, off, s[4:7], s2 offset:4"
    result = execute(text, {0: 0}, descriptor(address, 4096) | {2: 12}, memory=memory)
    assert result.v(0) == [word(16)] * 64


def test_negative_global_offset() -> None:
    memory, address, _ = memory_with()
    text = "global_load_dword v0, v0, s[0:1] offset:-8"
    result = execute(text, {0: 100}, pair(address), memory=memory)
    assert result.v(0) == [word(92)] * 64


def test_raw_buffer_range_check() -> None:
    """An access is out of range if offset + voffset + soffset + size exceeds num_records."""
    memory, address, _ = memory_with()
    scalars = descriptor(address, 128) | {2: 8}
    text = "buffer_load_dword v1, v0, s[4:7], s2 offen offset:4"
    offsets = [4 * n for n in LANES]
    got = execute(text, {0: offsets}, scalars, memory=memory).v(1)
    assert got == [word(12 + x) if 12 + x + 4 <= 128 else 0 for x in offsets]
    huge = execute(text, {0: 0xFFFFFFFC}, scalars, memory=memory).v(1)
    assert huge == [0] * 64


def test_range_check_of_each_dword() -> None:
    """The dwords of a wide access are checked one by one."""
    memory, address, array = memory_with()
    scalars = descriptor(address, 24)
    text = "buffer_load_dwordx4 v[4:7], v0, s[4:7], 0 offen"
    result = execute(text, {0: [4 * n for n in LANES]}, scalars, memory=memory)
    for d in range(4):
        assert result.v(4 + d) == [word(4 * (n + d)) if n + d < 6 else 0 for n in LANES]
    text = "buffer_store_dwordx2 v[4:5], v0, s[4:7], 0 offen"
    execute(text, {0: 20, 4: 1, 5: 2}, scalars, memory=memory)
    assert array[20:28].tolist() == [1, 0, 0, 0, *DATA[24:28]]


def test_structured_buffer() -> None:
    """With a stride the index is checked against num_records."""
    memory, address, _ = memory_with()
    scalars = descriptor(address, 10, stride=32)
    text = "buffer_load_dword v2, v[0:1], s[4:7], 0 idxen offen"
    got = execute(text, {0: list(LANES), 1: 8}, scalars, memory=memory).v(2)
    assert got == [word(32 * n + 8) if n < 10 else 0 for n in LANES]
    text = "buffer_load_dword v2, v0, s[4:7], 0 idxen offset:4"
    got = execute(text, {0: list(LANES), 2: 0}, scalars, memory=memory).v(2)
    assert got == [word(32 * n + 4) if n < 10 else 0 for n in LANES]


def test_small_loads_out_of_range_give_0() -> None:
    memory, address, _ = memory_with()
    scalars = descriptor(address, 3)
    text = "buffer_load_ushort v1, v0, s[4:7], 0 offen"
    got = execute(text, {0: list(LANES)}, scalars, memory=memory).v(1)
    assert got == [word(0, 2), word(1, 2)] + [0] * 62
    text = "buffer_load_short_d16_hi v1, v0, s[4:7], 0 offen"
    assert execute(text, {0: 8, 1: OLD}, scalars, memory=memory).v(1) == [OLD & 0xFFFF] * 64


# ---- stores

STORES = {
    "byte": (1, 0), "short": (2, 0), "byte_d16_hi": (1, 16), "short_d16_hi": (2, 16),
    "dword": (4, 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("form", range(4))
@given(values=lanes(32))
@settings(max_examples=3)
def test_store(kind: str, form: int, values: list[int]) -> None:
    memory, address, array = memory_with()
    size, shift = STORES[kind]
    check_store(kind, form, 1, memory, address, [values])
    expected = bytearray(DATA)
    for lane, value in enumerate(values):
        at = 16 + 5 * lane
        expected[at : at + size] = (value >> shift).to_bytes(4, "little")[:size]
    assert array.tobytes() == bytes(expected)


def check_store(
    kind: str, form: int, dwords: int, memory: Memory, address: int, values: list[list[int]]
) -> None:
    text, v, s = forms(kind, "DATA", address)[form]
    data = f"v[4:{3 + dwords}]" if dwords > 1 else "v4"
    text = text.replace("_load_", "_store_")
    if form == 3:
        text = text.replace("DATA", data)
    else:
        opcode, rest = text.split(" DATA, ")
        pointer, *more = rest.split(" ")
        tail = [pointer.rstrip(","), data, *([" ".join(more)] if form != 2 else [])]
        text = f"{opcode} " + ", ".join(tail)
        if form == 2:
            text += " " + " ".join(more)
    v = v | {4 + d: column for d, column in enumerate(values)}
    execute(text, v, s, memory=memory)


@pytest.mark.parametrize("kind", WIDE)
@pytest.mark.parametrize("form", range(4))
def test_wide_store(kind: str, form: int) -> None:
    dwords = WIDE[kind]
    memory = Memory()
    array = np.zeros(64 * 5 + 64, np.uint8)
    address = memory.allocate("data", array)
    values = [[1000 * d + lane for lane in LANES] for d in range(dwords)]
    check_store(kind, form, dwords, memory, address, values)
    expected = bytearray(len(array))
    for lane in LANES:  # neighbours overlap; the highest lane wins
        for d in range(dwords):
            at = 16 + 5 * lane + 4 * d
            expected[at : at + 4] = values[d][lane].to_bytes(4, "little")
    assert array.tobytes() == bytes(expected)


def test_stores_out_of_range_are_dropped() -> None:
    memory, address, array = memory_with()
    text = "buffer_store_dword v1, v0, s[4:7], 0 offen"
    execute(text, {0: [4 * n for n in LANES], 1: 0}, descriptor(address, 8), memory=memory)
    assert array.tobytes() == bytes(8) + DATA[8:]


# ---- scratch


def scratch_of(content: np.ndarray) -> tuple[Memory, Scratch]:
    """Private memory of 32 bytes per lane."""
    memory = Memory()
    return memory, Scratch(memory.allocate("scratch", content), 32)


@pytest.mark.parametrize("kind", [*LOADS, *WIDE])
def test_scratch_load(kind: str) -> None:
    memory, scratch = scratch_of(np.frombuffer(DATA, np.uint8)[: 64 * 32].copy())
    dwords = WIDE.get(kind, 1)
    target = f"v[4:{3 + dwords}]" if dwords > 1 else "v4"
    v = {1: 4} | {4 + d: OLD for d in range(dwords)}
    text = f"scratch_load_{kind} {target}, v1, s0 offset:4"
    result = execute(text, v, {0: 8}, memory=memory, scratch=scratch)
    for lane in LANES:
        if dwords > 1:
            got = [result.v(4 + d)[lane] for d in range(dwords)]
            assert got == [word(32 * lane + 16 + 4 * d) for d in range(dwords)]
        else:
            size, convert = LOADS[kind]
            assert result.v(4)[lane] == convert(word(32 * lane + 16, size), OLD)


@pytest.mark.parametrize("kind", [*STORES, *WIDE])
def test_scratch_store(kind: str) -> None:
    content = np.zeros(64 * 32, np.uint8)
    memory, scratch = scratch_of(content)
    dwords = WIDE.get(kind, 1)
    size, shift = STORES.get(kind, (4 * dwords, 0))
    data = f"v[4:{3 + dwords}]" if dwords > 1 else "v4"
    v = {4 + d: [word(16 * n + 4 * d) for n in LANES] for d in range(dwords)}
    execute(f"scratch_store_{kind} off, {data}, off offset:12", v, memory=memory, scratch=scratch)
    for lane in LANES:
        stored = word(16 * lane, 4 * dwords) >> shift
        expected = bytes(12) + (stored & (1 << 8 * size) - 1).to_bytes(20, "little")
        assert content[32 * lane : 32 * lane + 32].tobytes() == expected


# ---- faults


@pytest.mark.parametrize(
    ("text", "offset", "pattern"),
    [
        ("global_load_dword v1, v0, s[0:1]", 4093, "lane 3: load of 4 bytes .* 4093 bytes into"),
        ("global_store_dword v0, v1, s[0:1]", 5000, "store .* 904 bytes past the end of 'data'"),
        ("global_load_dword v1, v0, s[0:1] offset:-16", 8, "8 bytes before 'data' .4096 bytes at"),
        ("global_atomic_add v0, v1, s[0:1]", 4096, "line 6: global_atomic_add .*outside every"),
    ],
)
def test_faults_name_their_place(text: str, offset: int, pattern: str) -> None:
    memory, address, _ = memory_with()
    offsets = [16] * 3 + [offset] + [16] * 60
    with pytest.raises(MemoryFault, match=pattern):
        execute(text, {0: offsets, 1: 0}, pair(address), memory=memory)


def test_store_to_a_read_only_buffer_is_a_fault() -> None:
    memory, address, _ = memory_with(writable=False)
    with pytest.raises(MemoryFault, match="read-only buffer 'data'"):
        execute("global_store_dword v0, v0, s[0:1]", {0: 0}, pair(address), memory=memory)


def test_access_without_any_buffer() -> None:
    with pytest.raises(MemoryFault, match="there is no buffer at all"):
        execute("global_load_dword v0, v0, s[0:1]", {0: 0}, pair(64))


def test_lanes_that_are_off_may_carry_any_address() -> None:
    memory, address, _ = memory_with()
    offsets = [0xFFFFFFFF] * 63 + [4]
    text = "global_load_dword v1, v0, s[0:1]"
    got = execute(text, {0: offsets, 1: 7}, pair(address), memory=memory, exec_=2**63).v(1)
    assert got == [7] * 63 + [word(4)]


def test_lanes_may_touch_different_buffers() -> None:
    memory, first, _ = memory_with()
    second = memory.allocate("second", np.arange(64, dtype=np.uint32))
    full = [second + 4 * n if n % 2 else first + 4 * n for n in LANES]
    got = execute("global_load_dword v2, v[0:1], off", {0: low(full), 1: high(full)}, memory=memory)
    assert got.v(2) == [n if n % 2 else word(4 * n) for n in LANES]
    full[5] = second + 4 * 64
    with pytest.raises(MemoryFault, match="lane 5"):
        execute("global_load_dword v2, v[0:1], off", {0: low(full), 1: high(full)}, memory=memory)


# ---- loads to LDS


@pytest.mark.parametrize(("kind", "size"), [("dword", 4), ("dwordx3", 12), ("dwordx4", 16)])
def test_buffer_load_to_lds(kind: str, size: int) -> None:
    """Lane l fills M0 + offset + size * l; lanes that are off fill nothing."""
    memory, address, _ = memory_with()
    on = 2**64 - 1 - (1 << 7)
    text = f"buffer_load_{kind} v0, s[4:7], s2 offen offset:8 lds"
    scalars = descriptor(address, 4096) | {2: 4, 124: 64}
    offsets = [(16 * n * 5) % 1024 for n in LANES]
    before = bytes([0xEE]) * 1200
    result = execute(text, {0: offsets}, scalars, lds=before, memory=memory, exec_=on)
    expected = bytearray(before)
    for lane in LANES:
        if on >> lane & 1:
            at = 64 + 8 + size * lane
            expected[at : at + size] = DATA[12 + offsets[lane] :][:size]
    assert result.lds == bytes(expected)


def test_load_to_lds_out_of_range_fills_zeros() -> None:
    memory, address, _ = memory_with()
    scalars = descriptor(address, 32) | {124: 0}
    text = "buffer_load_dwordx4 v0, s[4:7], 0 offen lds"
    result = execute(
        text, {0: [16 * n for n in LANES]}, scalars, lds=bytes([0xEE]) * 1024, memory=memory
    )
    assert result.lds == DATA[:32] + bytes(992)


@pytest.mark.parametrize(("kind", "size", "is_signed"), [
    ("ubyte", 1, False), ("sbyte", 1, True), ("ushort", 2, False), ("sshort", 2, True),
])  # fmt: skip
def test_small_loads_to_lds_fill_a_dword(kind: str, size: int, is_signed: bool) -> None:
    memory, address, _ = memory_with()
    scalars = descriptor(address, 4096) | {124: 0}
    text = f"buffer_load_{kind} v0, s[4:7], 0 offen lds"
    result = execute(text, {0: [3 * n for n in LANES]}, scalars, lds=bytes(256), memory=memory)
    for lane in LANES:
        value = word(3 * lane, size)
        expected = unsigned(signed(value, 8 * size)) if is_signed else value
        assert result.lds[4 * lane : 4 * lane + 4] == expected.to_bytes(4, "little")


@pytest.mark.parametrize("kind", ["ubyte", "sbyte", "ushort", "sshort"])
def test_small_global_loads_to_lds(kind: str) -> None:
    memory, address, _ = memory_with()
    size = 1 if "byte" in kind else 2
    text = f"global_load_lds_{kind} v0, s[0:1]"
    scalars = pair(address) | {124: 0}
    result = execute(text, {0: list(LANES)}, scalars, lds=bytes(256), memory=memory)
    for lane in LANES:
        value = word(lane, size)
        expected = unsigned(signed(value, 8 * size)) if kind[0] == "s" else value
        assert result.lds[4 * lane : 4 * lane + 4] == expected.to_bytes(4, "little")


@pytest.mark.parametrize(("kind", "size"), [("dword", 4), ("dwordx3", 12), ("dwordx4", 16)])
def test_global_load_to_lds(kind: str, size: int) -> None:
    memory, address, _ = memory_with()
    text = f"global_load_lds_{kind} v0, s[0:1] offset:16"
    scalars = pair(address) | {124: 32}
    result = execute(text, {0: [size * n for n in LANES]}, scalars, lds=bytes(1200), memory=memory)
    assert result.lds == bytes(48) + DATA[16 : 16 + 64 * size] + bytes(1200 - 48 - 64 * size)


def test_load_to_lds_beyond_lds_is_a_fault() -> None:
    memory, address, _ = memory_with()
    scalars = descriptor(address, 4096) | {124: 0}
    text = "buffer_load_dword v0, s[4:7], 0 offen lds"
    with pytest.raises(MemoryFault, match=r"LDS store of 4 bytes at 128 leaves .* 128 bytes"):
        execute(text, {0: 0}, scalars, lds=bytes(128), memory=memory)


# ---- atomics

INTEGER: dict[str, Callable[[int, int, int], int]] = {
    "swap": lambda old, x, bits: x,
    "add": lambda old, x, bits: unsigned(old + x, bits),
    "sub": lambda old, x, bits: unsigned(old - x, bits),
    "smin": lambda old, x, bits: min(old, x, key=lambda y: signed(y, bits)),
    "umin": lambda old, x, bits: min(old, x),
    "smax": lambda old, x, bits: max(old, x, key=lambda y: signed(y, bits)),
    "umax": lambda old, x, bits: max(old, x),
    "and": lambda old, x, bits: old & x,
    "or": lambda old, x, bits: old | x,
    "xor": lambda old, x, bits: old ^ x,
    "inc": lambda old, x, bits: 0 if old >= x else old + 1,
    "dec": lambda old, x, bits: x if old == 0 or old > x else old - 1,
}


def run_atomic(name: str, form: int, dwords: int, values: list[int], targets: list[int],
               start: list[int]) -> tuple[list[int], list[int]]:  # fmt: skip
    """Memory afterwards and the returned values."""
    memory = Memory()
    bits = 32 * dwords
    array = np.array(start, f"u{bits // 8}")
    address = memory.allocate("data", array)
    offsets = [4 * dwords * t for t in targets]
    data = "v4" if dwords == 1 else "v[4:5]"
    back = "v6" if dwords == 1 else "v[6:7]"
    full = [address + offset for offset in offsets]
    v = {4: low(values), 5: high(values)} if dwords == 2 else {4: values}
    s = pair(address)
    if form == 0:
        text, v = (
            f"global_atomic_{name} {back}, v[0:1], {data}, off sc0",
            v | {0: low(full), 1: high(full)},
        )
    elif form == 1:
        text, v = f"global_atomic_{name} {back}, v0, {data}, s[0:1] sc0", v | {0: offsets}
    elif form == 2:
        text, v = (
            f"flat_atomic_{name} {back}, v[0:1], {data} sc0",
            v | {0: low(full), 1: high(full)},
        )
    else:
        text = f"buffer_atomic_{name} {data}, v0, s[4:7], 0 offen sc0"
        v, s = v | {0: offsets}, descriptor(address, array.nbytes, row=4)
    result = execute(text, v, s, memory=memory)
    row = 4 if form == 3 else 6
    return [int(x) for x in array], result.v(row) if dwords == 1 else result.v64(row)


@pytest.mark.parametrize("name", INTEGER)
@pytest.mark.parametrize("dwords", [1, 2])
@pytest.mark.parametrize("form", range(4))
def test_integer_atomics(name: str, dwords: int, form: int) -> None:
    """Lanes act in ascending order, also where several hit one place."""
    bits = 32 * dwords
    rng = np.random.default_rng(dwords + 2 * form)
    values = [int(x) >> 64 - bits for x in rng.integers(0, 2**64 - 1, 64, dtype=np.uint64)]
    targets = [int(x) for x in rng.integers(0, 16, 64)]
    start = [int(x) >> 64 - bits for x in rng.integers(0, 2**64 - 1, 16, dtype=np.uint64)]
    suffix = "_x2" if dwords == 2 else ""
    got, returned = run_atomic(name + suffix, form, dwords, values, targets, start)
    expected, old = list(start), []
    for target, value in zip(targets, values, strict=True):
        old.append(expected[target])
        expected[target] = INTEGER[name](expected[target], value, bits)
    assert (got, returned) == (expected, old)


@pytest.mark.parametrize("dwords", [1, 2])
@pytest.mark.parametrize("space", ["global", "flat"])
def test_compare_and_swap(space: str, dwords: int) -> None:
    """The data is the new value, then the expected one."""
    memory = Memory()
    array = np.arange(64, dtype=f"u{4 * dwords}")
    address = memory.allocate("data", array)
    offsets = [4 * dwords * n for n in LANES]
    expected = [n if n % 2 else 99 for n in LANES]
    if space == "global":
        pointer, tail = "v0", ", s[0:1] sc0"
        v: dict[int, object] = {0: offsets}
    else:
        pointer, tail = "v[0:1]", " sc0"
        v = {0: [address + x & 0xFFFFFFFF for x in offsets], 1: address >> 32}
    if dwords == 1:
        text = f"{space}_atomic_cmpswap v8, {pointer}, v[4:5]{tail}"
        v |= {4: 1000, 5: expected}
    else:
        text = f"{space}_atomic_cmpswap_x2 v[8:9], {pointer}, v[4:7]{tail}"
        v |= {4: 1000, 5: 0, 6: expected, 7: 0}
    result = execute(text, v, pair(address), memory=memory)
    assert array.tolist() == [1000 if n % 2 else n for n in LANES]
    assert result.v(8) == list(LANES)


def test_wide_buffer_compare_and_swap() -> None:
    memory = Memory()
    array = np.arange(64, dtype=np.uint64)
    scalars = descriptor(memory.allocate("data", array), array.nbytes)
    text = "buffer_atomic_cmpswap_x2 v[4:7], v0, s[4:7], 0 offen"
    expected = [n if n % 2 else 99 for n in LANES]
    v = {0: [8 * n for n in LANES], 4: 500, 5: 1, 6: expected, 7: 0}
    execute(text, v, scalars, memory=memory)
    assert array.tolist() == [1 << 32 | 500 if n % 2 else n for n in LANES]


def test_buffer_compare_and_swap_returns_into_its_data() -> None:
    memory = Memory()
    array = np.arange(64, dtype=np.uint32)
    scalars = descriptor(memory.allocate("data", array), array.nbytes)
    text = "buffer_atomic_cmpswap v[4:5], v0, s[4:7], 0 offen sc0"
    v = {0: [4 * n for n in LANES], 4: 500, 5: list(LANES)}
    result = execute(text, v, scalars, memory=memory)
    assert array.tolist() == [500] * 64
    assert result.v(4) == list(LANES)


@pytest.mark.parametrize("form", range(4))
def test_float_atomics(form: int) -> None:
    one = F32.bits_of(1)
    got, returned = run_atomic("add_f32", form, 1, [one] * 64, [0] * 64, [F32.bits_of(5)])
    assert got == [F32.bits_of(69)]
    assert returned == [F32.bits_of(5 + n) for n in LANES]
    for name, expected in (("add_f64", 3 + 64 * 2), ("max_f64", 3), ("min_f64", 2)):
        two, three = F64.bits_of(2), F64.bits_of(3)
        got, _ = run_atomic(name, form, 2, [two] * 64, [0] * 64, [three])
        assert got == [F64.bits_of(expected)]


@pytest.mark.parametrize("form", range(4))
def test_packed_atomics(form: int) -> None:
    """Each half is rounded by itself; bf16 256 + 1 rounds back to 256."""
    bf16 = (0x4380 << 16) | 0x3F80  # 256, 1
    got, _ = run_atomic("pk_add_bf16", form, 1, [0x3F803F80] * 2 + [0] * 62, [0] * 64, [bf16])
    assert got == [0x4380 << 16 | 0x4040]
    got, _ = run_atomic("pk_add_f16", form, 1, [0x3C00BC00] * 64, [0] * 64, [0])
    assert got == [0x5400 << 16 | 0xD400]


def test_atomics_out_of_range_are_dropped() -> None:
    memory = Memory()
    array = np.zeros(4, np.uint32)
    scalars = descriptor(memory.allocate("data", array), 8)
    text = "buffer_atomic_add v1, v0, s[4:7], 0 offen sc0"
    v = {0: [4 * (n % 8) for n in LANES], 1: 1}
    result = execute(text, v, scalars, memory=memory)
    assert array.tolist() == [8, 8, 0, 0]
    assert result.v(1)[2:8] == [0] * 6


def test_cache_instructions_do_nothing() -> None:
    execute("buffer_wbl2 sc1\nbuffer_inv sc0 sc1")


# ---- buffers of the memory itself


def test_buffers_share_the_bytes_of_their_array() -> None:
    memory = Memory()
    array = np.zeros((4, 4), np.float32)
    address = memory.allocate("a", array)
    text = "global_store_dword v0, v1, s[0:1]"
    execute(text, {0: 0, 1: F32.bits_of(1)}, pair(address), memory=memory, exec_=1)
    assert array[0, 0] == 1


def test_buffer_by_size_is_poisoned() -> None:
    memory = Memory()
    address = memory.allocate("a", 16, poison=0x5A)
    assert address >= FIRST_ADDRESS
    assert memory.buffers[0].data.tolist() == [0x5A] * 16


def test_refused_buffers() -> None:
    memory = Memory()
    with pytest.raises(RuntimeError, match="C-contiguous"):
        memory.allocate("a", np.zeros((4, 4))[:, ::2])
    frozen = np.zeros(4)
    frozen.flags.writeable = False
    with pytest.raises(RuntimeError, match="read-only array"):
        memory.allocate("a", frozen)
    memory.allocate("a", 16, address=1000)
    for address in (999, 1000, 1015):
        with pytest.raises(RuntimeError, match="overlaps 'a'"):
            memory.allocate("b", 16, address=address)
    memory.allocate("c", 16, address=1016)
    memory.free(1000)
    memory.allocate("d", 16, address=1000)
    with pytest.raises(RuntimeError, match="no buffer starts"):
        memory.free(12)


def test_journal_restores_what_stores_changed() -> None:
    memory, address, array = memory_with()
    with memory.journal() as journal:
        execute("global_store_dword v0, v0, s[0:1]", {0: 0}, pair(address), memory=memory)
        assert array[:4].tolist() == [0, 0, 0, 0]
        assert [buffer.name for buffer in journal.touched] == ["data"]
        after = journal.contents()
        journal.restore(journal.before)
        assert array.tobytes() == DATA
        journal.restore(after)
        with pytest.raises(RuntimeError, match="open already"), memory.journal():
            pass
    assert array[:4].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("buffer_load_dword v0, v1, s[4:7], 0 offen tfe", "modifier tfe"),
        ("buffer_load_dword v0, v1, s[4:7], 0", "without offen or idxen"),
        ("buffer_load_dwordx4 v[0:2], v1, s[4:7], 0 offen", "must be 4 registers wide"),
        ("global_load_dword v0, v1, vcc_lo", "must be 2 registers wide"),
    ],
)
def test_unsupported_forms(text: str, pattern: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=f"line 6: .*{pattern}"):
        execute(text)


@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(1, 40)), min_size=1, max_size=8),
    st.integers(0, 400),
)
def test_lookup_finds_the_buffer_that_holds_an_address(
    ranges: list[tuple[int, int]], address: int
) -> None:
    memory = Memory()
    placed: list[tuple[int, int]] = []
    for start, size in ranges:
        if all(start + size <= s or s + n <= start for s, n in placed):
            memory.allocate(f"b{start}", size, address=start)
            placed.append((start, size))
    expected = [start for start, size in placed if start <= address < start + size]
    found = memory.find(address)
    assert [found.address] == expected if found else not expected
