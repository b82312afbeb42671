"""What the nops wait for: ``python -m mxfp4kernels.ablation.nops`` writes ``data/isa/nops.csv``.

The back end fills wait states that an instruction needs after the one before it with ``s_nop``.
Which rule made it do so is not in the assembly, but can be told from the instruction behind the nop
and from what wrote its operands last. Reading the table needs neither FlyDSL nor torch.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..cache import CacheError
from ..compiler import CompiledKernel, CompileError, Compiler, Job, MissingComponent
from ..files import DATA, read_csv, write_csv
from ..flags import ALL, NONE, join
from ..isa import Instruction, InstructionClass, Program, base_opcode, class_of, vector_access
from ..shapes import REFERENCE_SHAPE, VARIANTS
from ..steps import plain_step

NOPS = DATA / "isa" / "nops.csv"
COLUMNS = ("kernel", "variant", "shape", "flags", "llvm", "cause", "nops", "isa_sha256")

DPP = "DPP reads a VALU result"
VCC = "VCC that a VALU wrote"
M0 = "m0 before a load to LDS"
MFMA = "MFMA result"
TRANS = "exp2 or rcp result"
BYTES = "next byte of packed FP4"
PACKED = "packed f32 result"
OTHER = "other"
CAUSES = (DPP, VCC, M0, MFMA, TRANS, BYTES, PACKED, OTHER)

WINDOW = 20
"""Instructions before a nop among which the writer of an operand is looked for: more wait states
than any rule of gfx950 asks for."""


def cause(program: Program, index: int) -> str:
    """What the nop at ``index`` waits for, one of :data:`CAUSES`."""
    reader = next((one for one in program.instructions[index + 1 :] if one.opcode != "s_nop"), None)
    if reader is None:
        return OTHER
    if reader.modifier("quad_perm") is not None:
        return DPP
    if _reads_vcc(reader):
        return VCC
    before = program.instructions[max(index - WINDOW, 0) : index]
    if reader.modifier("lds") is not None and any(one.operands[:1] == ("m0",) for one in before):
        return M0
    return _by_writer(before, reader)


def _reads_vcc(instruction: Instruction) -> bool:
    """A select or the upper half of a 64-bit addition, with VCC as its last operand."""
    selects = base_opcode(instruction.opcode) in ("v_addc_co_u32", "v_cndmask_b32")
    return selects and instruction.operands[-1] == "vcc"


def _by_writer(before: Sequence[Instruction], reader: Instruction) -> str:
    """By what wrote one of the reader's vector registers last."""
    access = vector_access(reader)
    touched = access.reads | access.writes
    writer = next((one for one in reversed(before) if vector_access(one).writes & touched), None)
    if writer is None:
        return OTHER
    opcode = base_opcode(writer.opcode)
    by_class = {InstructionClass.MFMA: MFMA, InstructionClass.TRANS: TRANS}
    if class_of(writer) in by_class:
        return by_class[class_of(writer)]
    if opcode.startswith("v_cvt_scalef32_pk_fp4") and base_opcode(reader.opcode) == opcode:
        return BYTES
    return PACKED if opcode in ("v_pk_mul_f32", "v_pk_add_f32") else OTHER


def rows(kernel: CompiledKernel) -> list[dict[str, object]]:
    """One row for each cause, zero included.

    Raises:
        AssemblyError: the assembly holds an opcode without a class.
    """
    program = kernel.program
    found = Counter(
        cause(program, one.index) for one in program.instructions if one.opcode == "s_nop"
    )
    job = kernel.job
    return [
        {
            "kernel": job.variant.kernel,
            "variant": job.variant.name,
            "shape": job.shape,
            "flags": join(job.flags),
            "llvm": kernel.provenance.llvm,
            "cause": name,
            "nops": found[name],
            "isa_sha256": kernel.provenance.isa_sha256,
        }
        for name in CAUSES
    ]


def write_nops(table: Iterable[Mapping[str, object]], path: Path = NOPS) -> None:
    """Write the table whole.

    Raises:
        OSError: the file cannot be written.
    """
    write_csv(path, COLUMNS, table)


def read_nops(path: Path = NOPS) -> dict[tuple[str, str, str], dict[str, int]]:
    """Nops by cause of each ``(kernel, variant, flags)``.

    Raises:
        TableError, ValueError, OSError: the file cannot be read or understood.
    """
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in read_csv(path, COLUMNS):
        key = (row["kernel"], row["variant"], row["flags"])
        found.setdefault(key, {})[row["cause"]] = int(row["nops"])
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Write the table for ``none`` and ``all``; returns an exit code."""
    errors = (CacheError, CompileError, MissingComponent)
    return plain_step(argv, "ablation.nops", __doc__, _write, *errors)


def _write() -> Iterable[Path]:
    jobs = [Job(variant, REFERENCE_SHAPE, flags) for variant in VARIANTS for flags in (NONE, ALL)]
    write_nops(row for kernel in Compiler().compile_all(jobs) for row in rows(kernel))
    yield NOPS


if __name__ == "__main__":
    sys.exit(main())
