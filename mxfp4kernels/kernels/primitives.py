"""The few device operations that both kernels share, each one instruction or one small idiom.

Values are FlyDSL scalars (``fx.Int32`` ...) or bare MLIR values; byte offsets are 32 bits wide.
Everything here runs while a kernel is traced.
"""

from __future__ import annotations

from typing import Any

import flydsl.expr as fx
from flydsl._mlir import ir
from flydsl._mlir.dialects import arith, llvm, vector
from flydsl.expr.typing import T, as_ir_value

from ..shapes import BUFFER_LIMIT

rocdl = fx.rocdl

Value = Any
"""A FlyDSL scalar or vector, or a bare MLIR value."""

WAVE = 64
UNBOUNDED = BUFFER_LIMIT - 1
"""``num_records`` of a descriptor that is not meant to check its range."""
NONTEMPORAL = 2
"""Cache-policy operand that the back end prints as ``nt``."""
FP4 = 4
"""Format code of E2M1 in ``v_mfma_scale_f32_*_f8f6f4``."""
DYNAMIC = -(2**31)
"""Marks a run-time index of a GEP."""
ABSOLUTE_BF16_PAIR = 0x7FFF7FFF


def u32(value: int | Value) -> fx.Uint32:
    """An unsigned 32-bit scalar from a Python number or a traced integer."""
    return fx.Uint32(value)


def i32_words(words: int) -> ir.Type:
    """The type of ``words`` dwords: ``i32`` for one, a vector for more."""
    return T.i32 if words == 1 else ir.VectorType.get([words], T.i32)


def uniform(value: Value) -> fx.Uint32:
    """A value known to be equal in all lanes, as a scalar register."""
    return fx.Uint32(rocdl.readfirstlane(T.i32, as_ir_value(value)))


def element(vec: Value, index: int) -> Value:
    """Element ``index`` of an MLIR vector."""
    return vector.extract(as_ir_value(vec), [], [index])


def pack(values: list[Value]) -> Value:
    """An MLIR vector of equal-typed values."""
    raw = [as_ir_value(value) for value in values]
    return vector.from_elements(ir.VectorType.get([len(raw)], raw[0].type), raw)


def bitcast(value: Value, result_type: ir.Type) -> Value:
    """The same bits under another type."""
    return llvm.bitcast(result_type, as_ir_value(value))


def const_i32(value: int) -> Value:
    return arith.constant(T.i32, value)


def const_f32(value: float) -> Value:
    return arith.constant(T.f32, value)


# What may still cross a scheduling barrier.
ANY_ARITHMETIC = 0x1
ANY_LDS = 0x80

# --- global memory -------------------------------------------------------------------------------


def buffer(pointer: fx.Pointer, size: int | Value = UNBOUNDED) -> Value:
    """A raw buffer descriptor of ``size`` bytes: loads past the end give 0, stores are dropped."""
    if not isinstance(size, int):
        size = fx.Int64(fx.Uint64(size))
    return rocdl.get_buffer_rsrc(rocdl.make_buffer_ptr(pointer, size))


def buffer_load(
    rsrc: Value,
    offset: Value,
    *,
    words: int,
    scalar_offset: int | Value = 0,
    nontemporal: bool = False,
) -> Value:
    """``words`` dwords per lane from byte ``offset`` (by lane) plus ``scalar_offset`` (by wave)."""
    return as_ir_value(
        rocdl.raw_ptr_buffer_load(
            i32_words(words),
            rsrc,
            as_ir_value(offset),
            as_ir_value(fx.Int32(scalar_offset)),
            aux=cache_policy(nontemporal),
        )
    )


def buffer_store(rsrc: Value, value: Value, offset: Value, *, nontemporal: bool = False) -> None:
    """Store one value per lane at byte ``offset``."""
    rocdl.raw_ptr_buffer_store(
        as_ir_value(value),
        rsrc,
        as_ir_value(offset),
        const_i32(0),
        aux=cache_policy(nontemporal),
    )


def cache_policy(nontemporal: bool) -> ir.Attribute | None:
    """The cache-policy operand of a buffer instruction."""
    return ir.IntegerAttr.get(T.i32, NONTEMPORAL) if nontemporal else None


def buffer_atomic_add_bf16(rsrc: Value, pair: Value, offset: Value) -> None:
    """Add a pair of bf16 to memory at byte ``offset``; the old value is not returned."""
    rocdl.raw_ptr_buffer_atomic_fadd(pair, rsrc, as_ir_value(offset), const_i32(0))


def global_store(
    pointer: fx.Pointer,
    value: Value,
    offset: Value,
    constant: int,
    size: int,
    *,
    nontemporal: bool = False,
) -> None:
    """Store ``size`` bytes, aligned to their size, ``offset + constant`` bytes past the pointer.

    ``offset`` is 64 bits wide, for outputs that a 32-bit buffer offset cannot reach.
    """
    pointer_type = llvm.PointerType.get(1)
    flags = llvm.GEPNoWrapFlags.inbounds
    address = llvm.getelementptr(
        pointer_type, pointer.llvm_ptr, [as_ir_value(offset)], [DYNAMIC], T.i8, flags
    )
    if constant:
        address = llvm.getelementptr(pointer_type, address, [], [constant], T.i8, flags)
    llvm.StoreOp(as_ir_value(value), address, alignment=size, nontemporal=nontemporal or None)


def load_i32(pointer: fx.Pointer, index: Value) -> fx.Int32:
    """The i32 at ``index``; a scalar load where the back end can prove the address uniform."""
    address = fx.add_offset(fx.recast_iter(fx.Int32, pointer), fx.Int32(index))
    return fx.generic_load(address, dtype=fx.Int32)


# --- LDS -----------------------------------------------------------------------------------------


class Lds:
    """The one static LDS allocation of a kernel, addressed in bytes."""

    def __init__(self, size: int) -> None:
        storage = fx.SharedAllocator(16).allocate(fx.Array[fx.Uint8, size]).peek()
        self._base = storage.ptr.llvm_ptr if hasattr(storage, "ptr") else storage.llvm_ptr

    def at(self, offset: int | Value, constant: int = 0) -> Value:
        """The address ``offset + constant`` bytes into the allocation."""
        pointer_type = llvm.PointerType.get(3)
        flags = llvm.GEPNoWrapFlags.inbounds
        address = self._base
        if isinstance(offset, int):
            constant += offset
        else:
            address = llvm.getelementptr(
                pointer_type, address, [as_ir_value(offset)], [DYNAMIC], T.i8, flags
            )
        if constant:
            address = llvm.getelementptr(pointer_type, address, [], [constant], T.i8, flags)
        return address

    def load(self, offset: int | Value, constant: int, result_type: ir.Type, size: int) -> Value:
        """Read ``size`` bytes, aligned to their size, as ``result_type``."""
        return llvm.LoadOp(result_type, self.at(offset, constant), alignment=size).result

    def store(self, value: Value, offset: int | Value, constant: int, size: int) -> None:
        """Write ``size`` bytes, aligned to their size."""
        llvm.StoreOp(as_ir_value(value), self.at(offset, constant), alignment=size)

    def dma(
        self,
        rsrc: Value,
        destination: int | Value,
        offset: Value,
        *,
        size: int,
        scalar_offset: int | Value = 0,
    ) -> None:
        """Start a load of ``size`` bytes per lane straight to LDS.

        The wave's lanes land side by side from ``destination``, which must be wave-uniform.
        """
        rocdl.raw_ptr_buffer_load_lds(
            rsrc,
            self.at(destination),
            const_i32(size),
            as_ir_value(offset),
            as_ir_value(fx.Int32(scalar_offset)),
            const_i32(0),
            const_i32(0),
        )


# --- arithmetic ----------------------------------------------------------------------------------


def mfma_fp4(
    a: Value, b: Value, acc: Value, scale_a: Value, byte_a: int, scale_b: Value, byte_b: int
) -> Value:
    """One ``v_mfma_scale_f32_16x16x128_f8f6f4`` with FP4 operands.

    ``a``, ``b`` are 4 dwords (32 elements) per lane, ``acc`` 4 floats; ``byte_*`` picks the E8M0
    byte of the lane's scale dword.
    """
    return rocdl.mfma_scale_f32_16x16x128_f8f6f4(
        ir.VectorType.get([4], T.f32), [a, b, acc, FP4, FP4, byte_a, scale_a, byte_b, scale_b]
    )


def quad_swap(value: Value, lanes: tuple[int, int, int, int]) -> Value:
    """The dword that lane ``lanes[i]`` of each group of four holds, for lane ``i`` of the group."""
    control = sum(lane << (2 * i) for i, lane in enumerate(lanes))
    return rocdl.update_dpp(T.i32, const_i32(0), as_ir_value(value), control, 0xF, 0xF, True)


def fp4_pair_f32(packed: Value, low: Value, high: Value, scale: Value, byte: int) -> Value:
    """Convert two f32 to E2M1 after division by 2^exponent(scale), into ``byte`` of ``packed``."""
    return as_ir_value(
        rocdl.cvt_scalef32_pk_fp4_f32(T.i32, packed, low, high, as_ir_value(scale), byte)
    )


def fp4_pair_bf16(packed: Value, pair: Value, scale: Value, byte: int) -> Value:
    """Convert two packed bf16 to E2M1 after division by 2^exponent(scale), into ``byte``."""
    pair = bitcast(pair, ir.VectorType.get([2], T.bf16))
    return rocdl.cvt_scalef32_pk_fp4_bf16(T.i32, packed, pair, as_ir_value(scale), byte)


# --- scheduling ----------------------------------------------------------------------------------


def fence_schedule() -> None:
    """No instruction may be moved across this point by the back end's scheduler."""
    rocdl.sched_barrier(0)


def fence_vector_memory() -> None:
    """No vector-memory instruction may be moved across this point by the scheduler."""
    rocdl.sched_barrier(ANY_ARITHMETIC | ANY_LDS)


def set_priority(level: int) -> None:
    """Raise (1) or lower (0) the wave's issue priority."""
    rocdl.s_setprio(level)
