"""The scaled matrix instructions against exact fractions, with the lane map written out."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from mxfp4kernels.emulator import UnsupportedInstruction

from .exact import F32
from .harness import OLD, execute
from .test_conversion import E2M1_SIGNED, FP8

LANES = range(64)


def e2m3(code: int) -> Fraction:
    mantissa, exponent = code & 7, code >> 3 & 3
    size = (
        Fraction(mantissa, 8)
        if exponent == 0
        else (1 + Fraction(mantissa, 8)) * 2 ** (exponent - 1)
    )
    return -size if code >> 5 else size


def e3m2(code: int) -> Fraction:
    mantissa, exponent = code & 3, code >> 2 & 7
    if exponent == 0:
        size = Fraction(mantissa, 4) / 4
    else:
        size = (1 + Fraction(mantissa, 4)) * Fraction(2) ** (exponent - 3)
    return -size if code >> 5 else size


FORMATS: dict[int, tuple[int, Callable[[int], Fraction]]] = {
    0: (8, lambda code: Fraction(FP8["fp8"][code])),
    1: (8, lambda code: Fraction(FP8["bf8"][code])),
    2: (6, e2m3),
    3: (6, e3m2),
    4: (4, lambda code: E2M1_SIGNED[code]),
}
"""Number in cbsz or blgp: bits per element and value of a code."""


def random_codes(form: int, rows: int, depth: int, seed: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    bits = FORMATS[form][0]
    codes = rng.integers(0, 2**bits, (rows, depth))
    if form == 0:
        codes[codes & 127 == 127] = 0x77
    if form == 1:
        codes[codes >> 2 & 31 == 31] = 0x30
    return [[int(code) for code in row] for row in codes]


def lane_elements(codes: list[list[int]], form: int, lane: int) -> list[int]:
    """The 32 codes that a lane holds, in the order in which it holds them."""
    rows, depth = len(codes), len(codes[0])
    row, group = codes[lane % rows], lane // rows
    if FORMATS[form][0] == 8:
        return row[16 * group : 16 * group + 16] + row[depth // 2 + 16 * group :][:16]
    return row[32 * group : 32 * group + 32]


def operand(codes: list[list[int]], form: int, first: int) -> dict[int, list[int]]:
    """An operand's registers from ``first`` on."""
    bits = FORMATS[form][0]
    columns: list[list[int]] = [[0] * 64 for _ in range(bits)]
    for lane in LANES:
        stream = 0
        for i, code in enumerate(lane_elements(codes, form, lane)):
            stream |= code << bits * i
        for d in range(bits):
            columns[d][lane] = stream >> 32 * d & 0xFFFFFFFF
    return {first + d: column for d, column in enumerate(columns)}


def name(first: int, count: int) -> str:
    return f"v[{first}:{first + count - 1}]"


def result_place(rows: int, row: int, column: int) -> tuple[int, int]:
    """Register and lane of a result element."""
    if rows == 16:
        return row % 4, 16 * (row // 4) + column
    return 4 * (row // 8) + row % 4, 32 * (row // 4 % 2) + column


def expected_sum(
    a: list[Fraction], b: list[Fraction], scale_a: list[int], scale_b: list[int], c: int
) -> Fraction:
    total = F32.value(c)
    for block in range(len(a) // 32):
        span = slice(32 * block, 32 * block + 32)
        part = sum((x * y for x, y in zip(a[span], b[span], strict=True)), Fraction(0))
        total += part * Fraction(2) ** (scale_a[block] - 127 + scale_b[block] - 127)
    return total


def run(rows: int, forms: tuple[int, int], seed: int, *, scaled: bool = True, spread: int = 6,
        byte_a: int = 0, byte_b: int = 0, accumulator: str = "v") -> None:  # fmt: skip
    """One instruction with random operands; every result element is compared."""
    depth = 128 if rows == 16 else 64
    blocks = depth // 32
    registers = rows * rows // 64
    rng = np.random.default_rng(seed)
    codes = [random_codes(form, rows, depth, seed + i) for i, form in enumerate(forms)]
    scales = rng.integers(127 - spread, 128 + spread, (2, rows, blocks)).tolist()
    c_bits = (rng.standard_normal((rows, rows)) * 2.0 ** (spread - 3)).astype(np.float32)
    c = c_bits.view(np.uint32).tolist()
    v = operand(codes[0], forms[0], 0) | operand(codes[1], forms[1], 8)
    for i, byte in enumerate((byte_a, byte_b)):
        # The other bytes hold a scale that would show.
        v[16 + i] = [
            0x90909090 & ~(0xFF << 8 * byte) | scales[i][lane % rows][lane // rows] << 8 * byte
            for lane in LANES
        ]
    columns = [[0] * 64 for _ in range(registers)]
    for row in range(rows):
        for column in range(rows):
            register, lane = result_place(rows, row, column)
            columns[register][lane] = c[row][column]
    a_regs: dict[int, object] = {}
    (a_regs if accumulator == "a" else v).update(
        {(0 if accumulator == "a" else 20) + i: column for i, column in enumerate(columns)}
    )
    first = 0 if accumulator == "a" else 20
    target = f"{accumulator}[{first}:{first + registers - 1}]"
    text = (
        f"v_mfma_{'scale_' if scaled else ''}f32_{rows}x{rows}x{depth}_f8f6f4 {target}, "
        f"{name(0, FORMATS[forms[0]][0])}, {name(8, FORMATS[forms[1]][0])}, {target}"
    )
    if scaled:
        low, high = (byte_a & 1, byte_b & 1), (byte_a >> 1, byte_b >> 1)
        text += f", v16, v17 op_sel:[{low[0]},{low[1]},0] op_sel_hi:[{high[0]},{high[1]},0]"
    else:
        scales = [[[127] * blocks] * rows] * 2
    text += f" cbsz:{forms[0]} blgp:{forms[1]}"
    result = execute(text, v, a=a_regs)
    values = [
        [[FORMATS[form][1](code) for code in row] for row in matrix]
        for form, matrix in zip(forms, codes, strict=True)
    ]
    for row in range(rows):
        for column in range(rows):
            register, lane = result_place(rows, row, column)
            got = result.a(register)[lane] if accumulator == "a" else result.v(20 + register)[lane]
            exact = expected_sum(
                values[0][row], values[1][column], scales[0][row], scales[1][column], c[row][column]
            )
            assert got == F32.round(exact), (row, column, got, exact)


@pytest.mark.parametrize("rows", [16, 32])
@pytest.mark.parametrize("seed", range(2))
def test_fp4(rows: int, seed: int) -> None:
    run(rows, (4, 4), seed)


@pytest.mark.parametrize("byte_a", range(4))
@pytest.mark.parametrize("byte_b", range(4))
def test_scale_bytes(byte_a: int, byte_b: int) -> None:
    """The byte is op_sel + 2 op_sel_hi, for A and B apart."""
    run(16, (4, 4), 3, byte_a=byte_a, byte_b=byte_b)


@pytest.mark.parametrize("forms", [(0, 0), (0, 4), (4, 1), (1, 1), (2, 2), (3, 4), (2, 0), (4, 3)])
@pytest.mark.parametrize("rows", [16, 32])
def test_mixed_formats(rows: int, forms: tuple[int, int]) -> None:
    run(rows, forms, 5, spread=2)


@pytest.mark.parametrize("rows", [16, 32])
def test_without_scales(rows: int) -> None:
    run(rows, (4, 4), 7, scaled=False)
    run(rows, (0, 0), 8, scaled=False)


@pytest.mark.parametrize("rows", [16, 32])
def test_accumulation_registers(rows: int) -> None:
    run(rows, (4, 4), 9, accumulator="a")


ONES = 0x22222222
"""Eight FP4 ones."""


def product_of_ones(text: str, scale: int = 127, c: int = 0) -> list[int]:
    v: dict[int, object] = dict.fromkeys(range(8), ONES)
    v |= {8: scale, 9: 127} | {12 + i: c for i in range(4)}
    return execute(text, v).v(12)


INSTRUCTION = (
    "v_mfma_scale_f32_16x16x128_f8f6f4 v[12:15], v[0:3], v[4:7], {c}, v8, v9 "
    "op_sel_hi:[0,0,0] cbsz:4 blgp:4"
)


@pytest.mark.parametrize(
    ("c", "value"), [("0", 128), ("1.0", 129), ("v[12:15]", 130), ("-4.0", 124)]
)
def test_third_source_may_be_a_constant(c: str, value: int) -> None:
    got = product_of_ones(INSTRUCTION.format(c=c), c=F32.bits_of(2))
    assert got == [F32.bits_of(value)] * 64


def test_scale_of_255_is_nan() -> None:
    assert all(F32.is_nan(x) for x in product_of_ones(INSTRUCTION.format(c="0"), scale=255))


def test_smallest_and_largest_scale() -> None:
    assert (
        product_of_ones(INSTRUCTION.format(c="0"), scale=0)
        == [F32.bits_of(Fraction(2) ** -120)] * 64
    )
    assert product_of_ones(INSTRUCTION.format(c="0"), scale=254) == [F32.infinity] * 64


@pytest.mark.parametrize("text", ["", " op_sel:[0]", " op_sel_hi:[0]"])
def test_missing_bits_of_op_sel_and_op_sel_hi_are_0(text: str) -> None:
    """LLVM encodes op_sel_hi as [0,0,0] where it is left out; only packed arithmetic has ones."""
    text = INSTRUCTION.format(c="0").replace(" op_sel_hi:[0,0,0]", text)
    v: dict[int, object] = dict.fromkeys(range(8), ONES) | {8: 0x00000080, 9: 0x0000007F}
    assert execute(text, v).v(12) == [F32.bits_of(256)] * 64


@pytest.mark.parametrize("scale", ["s8", "a8", "64"])
def test_a_scale_is_a_vgpr(scale: str) -> None:
    text = INSTRUCTION.format(c="0").replace("v8, v9", f"{scale}, v9")
    with pytest.raises(UnsupportedInstruction, match=f"operand {scale} must be a VGPR"):
        execute(text)


def test_exec_is_ignored() -> None:
    v: dict[int, object] = dict.fromkeys(range(8), ONES) | {8: 127, 9: 127}
    assert execute(INSTRUCTION.format(c="0"), v, exec_=0).v(12) == [F32.bits_of(128)] * 64


def test_result_may_overlap_its_sources() -> None:
    text = (
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[0:3], v[4:7], 0, v8, v9 "
        "op_sel_hi:[0,0,0] cbsz:4 blgp:4"
    )
    v: dict[int, object] = dict.fromkeys(range(8), ONES) | {8: 127, 9: 127}
    result = execute(text, v)
    assert [result.v(i) for i in range(4)] == [[F32.bits_of(128)] * 64] * 4


@pytest.mark.parametrize("first", [10, 14])
def test_result_may_overlap_part_of_the_accumulator_input(first: int) -> None:
    """The back end makes such code of 16x16 forms, whose inputs are read before any result."""
    text = (
        f"v_mfma_scale_f32_16x16x128_f8f6f4 v[{first}:{first + 3}], v[0:3], v[4:7], v[12:15], "
        "v8, v9 op_sel_hi:[0,0,0] cbsz:4 blgp:4"
    )
    v: dict[int, object] = dict.fromkeys(range(8), ONES) | {8: 127, 9: 127}
    result = execute(text, v | {12 + i: F32.bits_of(i + 1) for i in range(4)})
    expected = [[F32.bits_of(128 + i + 1)] * 64 for i in range(4)]
    assert [result.v(first + i) for i in range(4)] == expected


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        (INSTRUCTION.format(c="0").replace("cbsz:4", "cbsz:5"), "format 5"),
        (INSTRUCTION.format(c="0").replace("cbsz:4", "cbsz:0"), "must be 8 registers wide"),
        (INSTRUCTION.format(c="v[12:14]"), "must be 4 registers wide"),
        (INSTRUCTION.format(c="0") + " neg_lo:[1,0,0]", "modifier neg_lo"),
    ],
)
def test_refused_forms(text: str, pattern: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=pattern):
        execute(text)


def test_untouched_registers() -> None:
    v: dict[int, object] = dict.fromkeys(range(8), ONES) | {8: 127, 9: 127}
    text = INSTRUCTION.format(c="0") + "\nv_mov_b32_e32 v16, v10"
    assert execute(text, v).v(16) == [OLD] * 64


# ---- dense matrix instructions

DENSE: dict[str, tuple[int, int, int, str]] = {
    "v_mfma_f32_16x16x16_f16": (16, 16, 16, "f16"),
    "v_mfma_f32_16x16x32_f16": (16, 32, 16, "f16"),
    "v_mfma_f32_32x32x8_f16": (32, 8, 16, "f16"),
    "v_mfma_f32_32x32x16_f16": (32, 16, 16, "f16"),
    "v_mfma_f32_16x16x16_bf16": (16, 16, 16, "bf16"),
    "v_mfma_f32_16x16x32_bf16": (16, 32, 16, "bf16"),
    "v_mfma_f32_32x32x8_bf16": (32, 8, 16, "bf16"),
    "v_mfma_f32_32x32x16_bf16": (32, 16, 16, "bf16"),
    "v_mfma_f32_16x16x32_fp8_fp8": (16, 32, 8, "fp8"),
    "v_mfma_f32_32x32x16_fp8_fp8": (32, 16, 8, "fp8"),
    "v_mfma_i32_16x16x32_i8": (16, 32, 8, "i8"),
    "v_mfma_i32_16x16x64_i8": (16, 64, 8, "i8"),
    "v_mfma_i32_32x32x16_i8": (32, 16, 8, "i8"),
    "v_mfma_i32_32x32x32_i8": (32, 32, 8, "i8"),
    "v_mfma_f32_16x16x4_f32": (16, 4, 32, "f32"),
    "v_mfma_f32_32x32x2_f32": (32, 2, 32, "f32"),
}
"""Rows, depth, bits per element, kind."""
for _a, _b in (("fp8", "bf8"), ("bf8", "fp8"), ("bf8", "bf8")):
    DENSE[f"v_mfma_f32_16x16x32_{_a}_{_b}"] = (16, 32, 8, f"{_a} {_b}")
    DENSE[f"v_mfma_f32_32x32x16_{_a}_{_b}"] = (32, 16, 8, f"{_a} {_b}")
ALIASES = {
    opcode.removesuffix(f"_{kind}") + kind: form
    for opcode, form in DENSE.items()
    if " " not in (kind := form[3]) and kind != "fp8"
}
"""The names that older assemblers print."""
ALIASES |= {
    f"v_mfma_f32_{shape}bf16_1k": DENSE[f"v_mfma_f32_{shape}_bf16"]
    for shape in ("16x16x16", "32x32x8")
}


def dense_code(kind: str, number: int) -> int:
    """A small whole number as an element."""
    if kind == "i8":
        return number & 0xFF
    if kind in FP8:
        return FP8[kind].index(float(number))
    if kind == "f32":
        return F32.bits_of(number)
    return F32.bits_of(number) >> 16 if kind == "bf16" else int(np.float16(number).view(np.uint16))


@pytest.mark.parametrize("opcode", [*DENSE, *ALIASES])
def test_dense(opcode: str) -> None:
    """Lane l holds row l % M; its elements are consecutive along K, K / (64 / M) per lane."""
    rows, depth, bits, kinds = (DENSE | ALIASES)[opcode]
    kind_a, *rest = kinds.split()
    kind_b = rest[0] if rest else kind_a
    rng = np.random.default_rng(depth)
    a, b = rng.integers(-4, 5, (2, rows, depth))
    c = rng.integers(-100, 100, (rows, rows))
    per_lane = depth * rows // 64
    dwords = per_lane * bits // 32
    v: dict[int, object] = {}
    for base, matrix, kind in ((0, a, kind_a), (8, b, kind_b)):
        for d in range(dwords):
            v[base + d] = [0] * 64
        for lane in LANES:
            stream = 0
            for i in range(per_lane):
                number = int(matrix[lane % rows, lane // rows * per_lane + i])
                stream |= dense_code(kind, number) << bits * i
            for d in range(dwords):
                v[base + d][lane] = stream >> 32 * d & 0xFFFFFFFF  # type: ignore[index]
    registers = rows * rows // 64
    to_bits = (lambda x: x & 0xFFFFFFFF) if kind_a == "i8" else F32.bits_of
    for i in range(registers):
        v[16 + i] = [0] * 64
    for row in range(rows):
        for column in range(rows):
            register, lane = result_place(rows, row, column)
            v[16 + register][lane] = to_bits(int(c[row, column]))  # type: ignore[index]

    def source(first: int) -> str:
        return name(first, dwords) if dwords > 1 else f"v{first}"

    target = name(16, registers)
    result = execute(f"{opcode} {target}, {source(0)}, {source(8)}, {target}", v)
    exact = a @ b.T + c
    for row in range(rows):
        for column in range(rows):
            register, lane = result_place(rows, row, column)
            assert result.v(16 + register)[lane] == to_bits(int(exact[row, column]))
