"""Short stretches of the compiled assembly, for docs and notebook: what a flag does, in its words.

``python -m mxfp4kernels.ablation.excerpts`` cuts them anew from the kernels of today into
``data/isa/excerpts.csv``. Where to cut is a rule on opcodes, so that an excerpt follows its kernel
when registers and schedule move. Reading needs neither FlyDSL nor torch.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..cache import CacheError
from ..compiler import CompiledKernel, CompileError, Compiler, Job, MissingComponent
from ..files import DATA, read_csv, write_csv
from ..flags import ALL, NONE, FlagSet, join
from ..isa import Instruction, Region, find_regions
from ..shapes import REFERENCE_SHAPE, find_variant
from ..steps import plain_step

EXCERPTS = DATA / "isa" / "excerpts.csv"
COLUMNS = (
    *("excerpt", "kernel", "variant", "shape", "flags", "llvm"),
    *("index", "inline_asm", "text", "isa_sha256"),
)
ELISION = "..."
WIDTH = 78
"""Longer instructions are shown without their last modifiers."""

Select = Callable[[Sequence[Instruction]], "list[Instruction]"]


class ExcerptError(LookupError):
    """A rule that no longer finds its place, or an excerpt that does not exist."""


def _find(instructions: Sequence[Instruction], pattern: str, start: int, nth: int = 0) -> int:
    """Where the instruction stands that is the ``nth`` from ``start`` on to match."""
    places = (
        at for at in range(start, len(instructions)) if re.match(pattern, instructions[at].text)
    )
    for _ in range(nth):
        next(places, None)
    at = next(places, None)
    if at is None:
        raise ExcerptError(f"no instruction matches {pattern!r}")
    return at


def span(
    start: str, stop: str, keep: str = ".", *, nth: int = 0, stops: int = 1, lead: int = 0
) -> Select:
    """From the ``nth`` match of ``start`` to the ``stops``-th match of ``stop`` behind it.

    Both ends belong to it, and ``lead`` instructions before the start; of all these only what
    matches ``keep`` is shown.
    """

    def select(instructions: Sequence[Instruction]) -> list[Instruction]:
        first = _find(instructions, start, 0, nth)
        last = _find(instructions, stop, first + 1, stops - 1)
        return [one for one in instructions[first - lead : last + 1] if re.match(keep, one.text)]

    return select


def in_turn(*patterns: str, nth: int = 0) -> Select:
    """The ``nth`` match of the first pattern, then for each further one its next match."""

    def select(instructions: Sequence[Instruction]) -> list[Instruction]:
        at = _find(instructions, patterns[0], 0, nth)
        found = [at]
        for pattern in patterns[1:]:
            at = _find(instructions, pattern, at + 1)
            found.append(at)
        return [instructions[at] for at in found]

    return select


def stores_through(nth: int) -> Select:
    """The ``nth`` address that an add with carry makes, and the stores that use it."""

    def select(instructions: Sequence[Instruction]) -> list[Instruction]:
        at = _find(instructions, "v_addc_co_u32", 0, nth)
        high = int(instructions[at].operands[0].removeprefix("v"))
        low_sum = rf"v_add_co_u32_e32 v{high - 1},"
        sums = [one for one in instructions[:at] if re.match(low_sum, one.text)]
        found = [sums[-1], instructions[at]]
        for one in instructions[at + 1 :]:
            if re.match(rf"v_addc_co_u32_e32 v{high},", one.text):
                break
            if re.match(rf"global_store_short v\[{high - 1}:{high}\]", one.text):
                found.append(one)
        return found

    return select


@dataclass(frozen=True)
class Rule:
    """Where to cut an excerpt.

    Args:
        name: of the excerpt.
        variant: ``kernel/variant``.
        flags: the setting that is compiled.
        select: picks the instructions.
        region: where to look; ``None`` for the whole kernel.
        tile_loop: look in the persistent loop instead of the straight code before it.
    """

    name: str
    variant: str
    flags: FlagSet
    select: Select
    region: Region | None = None
    tile_loop: bool = False

    @property
    def job(self) -> Job:
        """What has to be compiled."""
        kernel, name = self.variant.split("/")
        return Job(find_variant(kernel, name), REFERENCE_SHAPE, self.flags)


def _flags(*names: str) -> FlagSet:
    return frozenset(names)


_EXCHANGE = r"v_mov_b32_dpp .*\[1,0,3,2\]"
_EXCHANGE_KEEP = r"v_mov_b32_dpp|v_pk_max_u16|s_nop|v_max_u32_sdwa"
_SECOND_PIECE = span(_EXCHANGE, r"v_max_u32_sdwa", _EXCHANGE_KEEP, nth=21, lead=1)
"""The two exchanges among four lanes for the second piece of K tile 10."""
_BOTH_PIECES = span(_EXCHANGE, r"v_max_u32_sdwa", _EXCHANGE_KEEP, nth=20, stops=2, lead=1)
_QUANT_REST = _flags("bare_pointer_abi", "hardware_exp2")
_DIVISION = in_turn(
    r"s_mul_hi_i32",
    r"s_add_i32 .*, s2$",
    r"s_lshr_b32 .*, 31$",
    r"s_ashr_i32",
    r"s_add_i32",
    r"s_mul_i32",
    r"s_cmp_lg_u32 s2",
    r"s_cselect_b64",
    r"s_cmp_lt_i32 s2, 0",
    r"s_cselect_b64",
    r"s_and_b64",
    r"s_subb_u32",
)
_FENCE = span(r"s_waitcnt vmcnt\(\d+\)", r"v_mfma", r"s_waitcnt|s_barrier|v_mfma", stops=5)
_ARGUMENTS = span(r"s_load_dword", r"s_waitcnt vmcnt", r"s_load_dword|s_waitcnt lgkmcnt")
EXP2_PAIRS = Rule(
    "exp2_pairs",
    "gemm1/bm128",
    ALL,
    span(r"v_exp_f32", r"v_rcp_f32", stops=4, nth=32),
    Region.EPILOGUE,
)

RULES: tuple[Rule, ...] = (
    Rule("abi_off", "gemm1/bm32_cached", NONE, _ARGUMENTS, Region.PROLOGUE),
    Rule("abi_on", "gemm1/bm32_cached", _flags("bare_pointer_abi"), _ARGUMENTS, Region.PROLOGUE),
    Rule("waitcnt_off", "gemm2/bm128_nonatomic", NONE, _FENCE),
    Rule("waitcnt_on", "gemm2/bm128_nonatomic", _flags("backend_waitcnt"), _FENCE),
    Rule(
        "hoisting_off",
        "gemm2/bm128_nonatomic",
        NONE,
        in_turn(
            *(r"v_mad_i64_i32", r"v_lshl_add_u64", r"global_store_short"),
            *(3 * (r"v_add_co_u32", r"v_addc_co_u32", r"global_store_short")),
            nth=20,
        ),
        Region.EPILOGUE,
        tile_loop=True,
    ),
    Rule(
        "hoisting_on",
        "gemm2/bm128_nonatomic",
        _flags("epilog_hoisting"),
        stores_through(12),
        Region.EPILOGUE,
        tile_loop=True,
    ),
    Rule(
        "hoisting_mxfp4_off",
        "gemm2/bm128_mxfp4",
        NONE,
        in_turn(
            r"v_or_b32_e32 v\d+, 32,",
            r"v_mad_i64_i32",
            r"v_lshl_add_u64",
            r"global_store_dword",
            r"s_and_saveexec_b64",
            r"v_mov_b64",
            r"v_mad_i64_i32",
            r"v_lshl_add_u64",
            r"global_store_byte",
        ),
        Region.EPILOGUE,
        tile_loop=True,
    ),
    Rule(
        "hoisting_mxfp4_on",
        "gemm2/bm128_mxfp4",
        _flags("epilog_hoisting"),
        in_turn(
            r"v_add_co_u32_e32 v\d+, vcc, 0x1c000",
            r"v_addc_co_u32",
            r"global_store_dword",
            r"s_and_saveexec_b64",
            r"v_mov_b64",
            r"v_mad_i64_i32",
            r"v_lshl_add_u64",
            r"v_add_co_u32",
            r"s_nop",
            r"v_addc_co_u32",
            r"global_store_byte",
        ),
        Region.EPILOGUE,
        tile_loop=True,
    ),
    Rule("divrem_off", "gemm2/bm32_cshuffle", NONE, _DIVISION, Region.PROLOGUE),
    Rule(
        "divrem_on",
        "gemm2/bm32_cshuffle",
        _flags("unsigned_divrem"),
        in_turn(r"s_lshr_b32 .*, s2, 2$", r"s_mul_hi_u32"),
        Region.PROLOGUE,
    ),
    Rule(
        "exp2_off",
        "gemm1/bm32_cached",
        NONE,
        in_turn(
            r"v_cmp_gt_f32",
            r"v_cndmask_b32",
            r"v_add_f32",
            r"v_exp_f32",
            r"v_cndmask_b32",
            r"v_ldexp_f32",
        ),
        Region.EPILOGUE,
    ),
    Rule(
        "exp2_on",
        "gemm1/bm32_cached",
        _flags("hardware_exp2"),
        in_turn(r"v_exp_f32"),
        Region.EPILOGUE,
    ),
    Rule("quant_neither", "gemm1/bm16_iq", _QUANT_REST, _SECOND_PIECE, Region.KLOOP),
    Rule(
        "quant_native",
        "gemm1/bm16_iq",
        _QUANT_REST | {"native_packed_max"},
        _SECOND_PIECE,
        Region.KLOOP,
    ),
    Rule(
        "quant_interleaved",
        "gemm1/bm16_iq",
        _QUANT_REST | {"interleaved_quant"},
        _BOTH_PIECES,
        Region.KLOOP,
    ),
    Rule("quant_both", "gemm1/bm16_iq", ALL, _BOTH_PIECES, Region.KLOOP),
    EXP2_PAIRS,
)
"""The excerpts of FlyDSL's own LLVM."""


@dataclass(frozen=True)
class Excerpt:
    """Some instructions of a kernel, in its order.

    Attributes:
        name, kernel, variant, shape, flags, llvm: what was compiled, by which LLVM.
        lines: index in the kernel, whether it is inline assembly, and text of each instruction.
    """

    name: str
    kernel: str
    variant: str
    shape: str
    flags: str
    llvm: str
    lines: tuple[tuple[int, bool, str], ...]

    @property
    def text(self) -> str:
        """One instruction per line; what was left out shows as an elision."""
        lines: list[str] = []
        before = self.lines[0][0] - 1
        for index, inline_asm, text in self.lines:
            if index != before + 1:
                lines.append(ELISION)
            short = _shorten(text)
            lines.append(f"{short:<44}; inline asm" if inline_asm else short)
            before = index
        return "\n".join(lines)


def _shorten(text: str) -> str:
    """The instruction without a long tail of modifiers."""
    if len(text) <= WIDTH:
        return text
    return f"{text[:WIDTH].rsplit(' ', 1)[0]} {ELISION}"


def cut(kernel: CompiledKernel, rule: Rule) -> list[dict[str, object]]:
    """The rows of an excerpt.

    Raises:
        ExcerptError: the rule finds nothing there.
        AssemblyError: the regions of the kernel cannot be found.
    """
    program = kernel.program
    instructions: Sequence[Instruction] = program.instructions
    if rule.region is not None:
        indices = find_regions(program).indices(rule.region, rule.tile_loop)
        instructions = [program.instructions[index] for index in indices]
    try:
        chosen = rule.select(instructions)
    except ExcerptError as error:
        raise ExcerptError(f"excerpt {rule.name} of {kernel.job}: {error}") from None
    job = kernel.job
    return [
        {
            "excerpt": rule.name,
            "kernel": job.variant.kernel,
            "variant": job.variant.name,
            "shape": job.shape,
            "flags": join(job.flags),
            "llvm": kernel.provenance.llvm,
            "index": one.index,
            "inline_asm": int(one.inline_asm),
            "text": one.text,
            "isa_sha256": kernel.provenance.isa_sha256,
        }
        for one in chosen
    ]


def cut_all(compiler: Compiler) -> list[dict[str, object]]:
    """The rows of every excerpt in :data:`RULES`.

    Raises:
        CompileError, MissingComponent, ExcerptError, AssemblyError.
    """
    kernels = compiler.compile_all([rule.job for rule in RULES])
    return [row for rule, kernel in zip(RULES, kernels, strict=True) for row in cut(kernel, rule)]


def write_excerpts(rows: Iterable[Mapping[str, object]], path: Path = EXCERPTS) -> None:
    """Write the table whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, rows)


def read_excerpts(path: Path = EXCERPTS) -> dict[str, Excerpt]:
    """The excerpts by name.

    Raises:
        TableError, ValueError, OSError: the file cannot be read or understood.
    """
    grouped: dict[str, list[dict[str, str]]] = {}
    for row in read_csv(path, COLUMNS):
        grouped.setdefault(row["excerpt"], []).append(row)
    return {name: _excerpt(name, rows) for name, rows in grouped.items()}


def _excerpt(name: str, rows: Sequence[Mapping[str, str]]) -> Excerpt:
    named = {key: rows[0][key] for key in ("kernel", "variant", "shape", "flags", "llvm")}
    lines = tuple((int(row["index"]), row["inline_asm"] == "1", row["text"]) for row in rows)
    return Excerpt(name=name, lines=lines, **named)


def main(argv: Sequence[str] | None = None) -> int:
    """Cut all excerpts; returns an exit code."""
    errors = (CacheError, CompileError, MissingComponent, ExcerptError)
    return plain_step(argv, "ablation.excerpts", __doc__, _write, *errors)


def _write() -> Iterable[Path]:
    write_excerpts(cut_all(Compiler()))
    yield EXCERPTS


if __name__ == "__main__":
    sys.exit(main())
