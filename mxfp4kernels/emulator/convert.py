"""Packing and narrow-format conversions, and v_bitop3."""

# numpy's stubs type operators on arrays of any dtype as Any.
# mypy: disable-error-code=no-any-return

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mxfp4kernels.emulator import floats
from mxfp4kernels.emulator.registry import REGISTRY, Execute
from mxfp4kernels.emulator.site import Array, Site, store32
from mxfp4kernels.emulator.vector import Result, Sources, flush
from mxfp4kernels.emulator.waves import LANES, Waves

U32 = np.uint32


@REGISTRY.add("v_bitop3_b32", "v_bitop3_b16")
def _bitop3(site: Site, opcode: str, encoding: str) -> Execute:
    """Bit ``a<<2 | b<<1 | c`` of the truth table, at every bit position."""
    site.expect(4)
    table = site.number("bitop3")
    kind = opcode[-3:]
    if not 0 <= table < 256:
        raise site.fail(f"bitop3:{table} must lie in 0..255")
    if kind == "b16" and site.modifier("op_sel") is not None:
        raise site.fail("op_sel is not implemented here")
    readers = [site.read(operand, kind) for operand in site.operands[1:]]
    write = site.write(site.operands[0], kind)

    def execute(w: Waves) -> None:
        a, b, c = (reader(w) for reader in readers)
        result = a & a.dtype.type(0) & b & c
        for row in range(8):
            if table >> row & 1:
                result = result | (
                    (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
                )
        write(w, result)

    return execute


# ---- two numbers into one register

Pack = Callable[[Array, Array], Array]


def _pack16(low: Array, high: Array) -> Array:
    return low.astype(U32) & U32(0xFFFF) | high.astype(U32) << U32(16)


def toward_zero_f16(x: Array) -> Array:
    """float32 to f16 bits, truncated; finite values never become infinite."""
    nearest = floats.to_f16(x)
    over = np.abs(nearest.astype(np.float64)) > np.abs(x.astype(np.float64))
    bits = nearest.view(np.uint16)
    return np.where(over & np.isfinite(x), bits - np.uint16(1), bits)


def _normalised(x: Array, low: float, high: float, scale: float) -> Array:
    wide = x.astype(np.float64)
    return np.rint(np.clip(np.where(np.isnan(wide), 0, wide), low, high) * scale).astype(np.int64)


PACKS: dict[str, tuple[str, Pack]] = {
    "v_cvt_pkrtz_f16_f32": ("f32", lambda a, b: _pack16(toward_zero_f16(a), toward_zero_f16(b))),
    "v_cvt_pk_f16_f32": ("f32", lambda a, b: _pack16(
        floats.to_f16(a).view(np.uint16), floats.to_f16(b).view(np.uint16))),
    "v_cvt_pk_bf16_f32": ("f32", lambda a, b: _pack16(floats.to_bf16(a), floats.to_bf16(b))),
    "v_cvt_pknorm_i16_f32": ("f32", lambda a, b: _pack16(
        _normalised(a, -1, 1, 32767), _normalised(b, -1, 1, 32767))),
    "v_cvt_pknorm_u16_f32": ("f32", lambda a, b: _pack16(
        _normalised(a, 0, 1, 65535), _normalised(b, 0, 1, 65535))),
    "v_cvt_pk_u16_u32": ("u32", lambda a, b: _pack16(
        np.minimum(a, U32(0xFFFF)), np.minimum(b, U32(0xFFFF)))),
    "v_cvt_pk_i16_i32": ("i32", lambda a, b: _pack16(
        np.clip(a, -32768, 32767), np.clip(b, -32768, 32767))),
}  # fmt: skip
"""Source type and how two sources make a dword."""


@REGISTRY.add(*PACKS)
def _pack(site: Site, opcode: str, encoding: str) -> Execute:
    site.expect(3)
    kind, function = PACKS[opcode]
    sources = Sources(site, encoding)
    readers = [sources.reader(site.operands[1 + i], kind, i) for i in range(2)]
    result = Result(site, sources, "b32", None)

    def execute(w: Waves) -> None:
        values = [reader(w) for reader in readers]
        if kind == "f32":
            values = [flush(kind, value, w, 1) for value in values]
        result.store(w, function(*np.broadcast_arrays(*values)))

    return execute


@REGISTRY.add("v_cvt_pk_u8_f32")
def _pack_byte(site: Site, opcode: str, encoding: str) -> Execute:
    """Byte ``b`` of ``c`` replaced by ``a`` rounded to nearest even and saturated to 0..255."""
    site.expect(4)
    value, index, old = (
        site.read(operand, kind)
        for operand, kind in zip(site.operands[1:], ("f32", "u32", "u32"), strict=True)
    )
    write = site.write(site.operands[0], "u32")

    def execute(w: Waves) -> None:
        x = value(w)
        byte = np.clip(np.rint(np.where(np.isnan(x), 0, x)), 0, 255).astype(U32)
        shift = (index(w) & U32(3)) * U32(8)
        write(w, old(w) & ~(U32(0xFF) << shift) | byte << shift)

    return execute


# ---- FP8 without a scale


def _codec(name: str) -> floats.Float8:
    return floats.BF8 if "bf8" in name else floats.FP8


@REGISTRY.add("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def _pack_fp8(site: Site, opcode: str, encoding: str) -> Execute:
    """Two bytes into the half that the last op_sel bit picks; the other half is kept."""
    site.expect(3)
    high = site.bits("op_sel", 3, 0)[2]
    codec = _codec(opcode)
    readers = [site.read(operand, "f32") for operand in site.operands[1:]]
    row = site.vector(0, 1, write=True, keep=True)

    def execute(w: Waves) -> None:
        low, up = (codec.encode(reader(w).astype(np.float64)) for reader in readers)
        _store_field(w, row, low | up << U32(8), 16 * high, 16)

    return execute


def _store_field(w: Waves, row: int, value: Array, first: int, bits: int) -> None:
    """Replace ``bits`` bits of a register from bit ``first`` on, in the active lanes."""
    mask = U32(((1 << bits) - 1) << first)
    store32(w, row, w.v[row] & ~mask | value << U32(first) & mask)


@REGISTRY.add("v_cvt_f32_fp8", "v_cvt_f32_bf8")
def _unpack_fp8(site: Site, opcode: str, encoding: str) -> Execute:
    """The low byte, or the one that the SDWA selector picks."""
    site.expect(2)
    sources = Sources(site, encoding)
    read = sources.reader(site.operands[1], "b32", 0)
    codec = _codec(opcode)
    result = Result(site, sources, "f32", None)

    def execute(w: Waves) -> None:
        code = (read(w) & U32(0xFF)).astype(np.intp)
        result.store(w, codec.decode(code).astype(np.float32))

    return execute


@REGISTRY.add("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def _unpack_fp8_pair(site: Site, opcode: str, encoding: str) -> Execute:
    """The low half's two bytes, or those of the half that the SDWA selector picks."""
    site.expect(2)
    sources = Sources(site, encoding)
    read = sources.reader(site.operands[1], "b32", 0)
    codec, row = _codec(opcode), site.vector(0, 2, write=True)

    def execute(w: Waves) -> None:
        word = read(w)
        for i in range(2):
            code = (word >> U32(8 * i) & U32(0xFF)).astype(np.intp)
            store32(w, row + i, codec.decode(code).astype(np.float32).view(U32))

    return execute


# ---- conversions with a scale

Elements = Callable[[Waves], list[Array]]


def _pair_source(site: Site, index: int, kind: str) -> tuple[Elements, int]:
    """Two elements as float64 from one or two operands, and the number of operands."""
    if kind == "f32":
        if site.operands[index].count == 2:
            operand = site.operands[index]
            reads = [site.raw(operand, part) for part in range(2)]
            return lambda w: [r(w).view(np.float32).astype(np.float64) for r in reads], 1
        readers = [site.read(site.operands[index + i], "f32") for i in range(2)]
        return lambda w: [reader(w).astype(np.float64) for reader in readers], 2
    raw = site.raw(site.operands[index], 0)
    return lambda w: half_pair(raw(w), kind), 1


def half_pair(word: Array, kind: str) -> list[Array]:
    """The two f16 or bf16 numbers of a dword as float64."""
    halves = [word & U32(0xFFFF), word >> U32(16)]
    if kind == "bf16":
        return [floats.from_bf16(half).astype(np.float64) for half in halves]
    return [half.astype(np.uint16).view(np.float16).astype(np.float64) for half in halves]


def _scaled(elements: list[Array], scale: Array) -> list[Array]:
    """Divide by the power of two in the scale's exponent field; exact in float64."""
    factor = floats.scale_from_f32(scale)
    return [element / factor for element in elements]


@REGISTRY.add(*(f"v_cvt_scalef32_pk_fp4_{kind}" for kind in ("f32", "f16", "bf16")))
def _pack_fp4(site: Site, opcode: str, encoding: str) -> Execute:
    """Two E2M1 codes into one byte, the first in its low nibble; the other bytes are kept.

    op_sel's third and fourth bits pick byte ``x + 2 y``.
    """
    kind = opcode.rsplit("_", 1)[1]
    source, count = _pair_source(site, 1, kind)
    site.expect(2 + count)
    scale = site.read(site.operands[1 + count], "f32")
    selected = site.bits("op_sel", 4, 0)
    byte = selected[2] + 2 * selected[3]
    row = site.vector(0, 1, write=True, keep=True)

    def execute(w: Waves) -> None:
        low, high = (floats.to_e2m1(x) for x in _scaled(source(w), scale(w)))
        _store_field(w, row, low | high << U32(4), 8 * byte, 8)

    return execute


@REGISTRY.add(
    *(f"v_cvt_scalef32_pk_{f}_{kind}" for f in ("fp8", "bf8") for kind in ("f32", "f16", "bf16"))
)
def _pack_scaled_fp8(site: Site, opcode: str, encoding: str) -> Execute:
    """Two FP8 bytes into the half that op_sel's last bit picks; the other half is kept.

    There is one bit per source and one for the destination: four with two f32 sources, else three.
    """
    form, kind = opcode.removeprefix("v_cvt_scalef32_pk_").split("_")
    source, count = _pair_source(site, 1, kind)
    site.expect(2 + count)
    scale = site.read(site.operands[1 + count], "f32")
    half = site.bits("op_sel", 3 + (kind == "f32"), 0)[-1]
    codec = _codec(form)
    row = site.vector(0, 1, write=True, keep=True)

    def execute(w: Waves) -> None:
        low, high = (codec.encode(x) for x in _scaled(source(w), scale(w)))
        _store_field(w, row, low | high << U32(8), 16 * half, 16)

    return execute


def _decoded(form: str, word: Array, index: int) -> Array:
    """Element ``index`` of a dword of fp4, fp8 or bf8 codes as float64."""
    if form == "fp4":
        return floats.E2M1_VALUES[(word >> U32(4 * index) & U32(0xF)).astype(np.intp)]
    return _codec(form).decode((word >> U32(8 * index) & U32(0xFF)).astype(np.intp))


def _store_pair(w: Waves, row: int, values: list[Array], kind: str) -> None:
    """Two float64 numbers as two f32 registers or one register of f16 or bf16."""
    wide = [np.broadcast_to(value, (w.count, LANES)) for value in values]
    if kind == "f32":
        for i, value in enumerate(wide):
            store32(w, row + i, value.astype(np.float32).view(U32))
        return
    halves: list[Array] = (
        [value.astype(np.float16).view(np.uint16) for value in wide]
        if kind == "f16"
        else [floats.to_bf16(value.astype(np.float32)) for value in wide]
    )
    store32(w, row, _pack16(*halves))


def _source_byte(site: Site, *, to_half: bool = False) -> tuple[int, int]:
    """Byte ``x + 2 y`` of the source and the half of the destination, from op_sel's three bits.

    Raises:
        UnsupportedInstruction: a half of a destination that is written whole.
    """
    x, y, half = site.bits("op_sel", 3, 0)
    if half and not to_half:
        raise site.fail("op_sel picks a half of a destination that is written whole")
    return x + 2 * y, half


@REGISTRY.add(
    *(f"v_cvt_scalef32_pk_{k}_{f}" for k in ("f32", "f16", "bf16") for f in ("fp4", "fp8", "bf8"))
)
def _unpack_scaled(site: Site, opcode: str, encoding: str) -> Execute:
    """Two elements times the scale; op_sel picks the byte (fp4) or half (fp8) of the source."""
    site.expect(3)
    kind, form = opcode.removeprefix("v_cvt_scalef32_pk_").split("_")
    byte, _ = _source_byte(site)
    first = 2 * byte if form == "fp4" else 2 * (byte & 1)
    word, scale = site.read(site.operands[1], "b32"), site.read(site.operands[2], "f32")
    row = site.vector(0, 2 if kind == "f32" else 1, write=True)

    def execute(w: Waves) -> None:
        source, factor = word(w), floats.scale_from_f32(scale(w))
        _store_pair(w, row, [_decoded(form, source, first + i) * factor for i in range(2)], kind)

    return execute


@REGISTRY.add("v_cvt_scalef32_f32_fp8", "v_cvt_scalef32_f32_bf8")
def _unpack_one(site: Site, opcode: str, encoding: str) -> Execute:
    """One FP8 byte, picked by op_sel, times the scale."""
    site.expect(3)
    form = opcode.rsplit("_", 1)[1]
    byte, _ = _source_byte(site)
    word, scale = site.read(site.operands[1], "b32"), site.read(site.operands[2], "f32")
    write = site.write(site.operands[0], "f32")

    def execute(w: Waves) -> None:
        value = _decoded(form, word(w), byte)
        write(w, (value * floats.scale_from_f32(scale(w))).astype(np.float32))

    return execute


@REGISTRY.add("v_cvt_scalef32_f16_fp8", "v_cvt_scalef32_f16_bf8")
def _unpack_one_half(site: Site, opcode: str, encoding: str) -> Execute:
    """One FP8 byte times the scale, as f16 into the half that op_sel picks; the other is kept."""
    site.expect(3)
    form = opcode.rsplit("_", 1)[1]
    byte, half = _source_byte(site, to_half=True)
    word, scale = site.read(site.operands[1], "b32"), site.read(site.operands[2], "f32")
    row = site.vector(0, 1, write=True, keep=True)

    def execute(w: Waves) -> None:
        value = _decoded(form, word(w), byte) * floats.scale_from_f32(scale(w))
        bits = value.astype(np.float16).view(np.uint16).astype(U32)
        _store_field(w, row, bits, 16 * half, 16)

    return execute
