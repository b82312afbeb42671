"""Waves per SIMD: how many waves fit, what limits them, and how far the next step is.

Constants of gfx950: each SIMD has 512 vector registers per lane that arch VGPRs and AGPRs share,
granted in eights; 800 scalar registers; eight wave slots. A compute unit has
four SIMDs and 163840 B of LDS granted in 1280 B. Sources: LLVM's AMDGPU backend
(FeatureAddressableLocalMemorySize163840, GCNSubtarget), AMD CDNA4 ISA manual.
"""

from __future__ import annotations

from dataclasses import dataclass

from mxfp4kernels.isa.program import Program

TARGET = "gfx950"
VGPRS_PER_SIMD = 512
VGPR_GRANULE = 8
ACCUM_OFFSET_MULTIPLE = 4
SGPRS_PER_SIMD = 800
SGPR_GRANULE = 1  # LLVM grants sixteens but divides the file exactly: 100 fit eight times
SGPRS_PER_WAVE = 112
WAVES_PER_SIMD = 8
SIMDS_PER_CU = 4
LDS_BYTES_PER_CU = 163840
LDS_GRANULE = 1280
LANES_PER_WAVE = 64
WORKGROUP_LANES_LIMIT = 1024


@dataclass(frozen=True)
class Limit:
    """What one resource allows.

    Attributes:
        resource: ``vgpr``, ``sgpr`` or ``lds``.
        used: registers per lane (vgpr, AGPRs included), registers per wave (sgpr), or bytes per
            workgroup (lds).
        granted: ``used`` rounded up to the granule.
        waves: waves per SIMD that fit by this resource alone, at most eight.
        to_gain: how much less must be used for the next step up; ``None`` at the top.
        spare: how much more may be used without a step down.
    """

    resource: str
    used: int
    granted: int
    waves: int
    to_gain: int | None
    spare: int


@dataclass(frozen=True)
class Occupancy:
    """Occupancy of a kernel.

    Attributes:
        waves_per_simd: waves on the fullest SIMD when workgroups are plenty.
        workgroups_per_cu: whole workgroups resident on a compute unit.
        limiter: ``vgpr``, ``sgpr`` or ``lds``; ``waves`` when the eight slots of a SIMD are the
            limit; ``workgroup`` when every resource has room left that no whole workgroup fits in.
        limits: what each resource allows by itself.
    """

    waves_per_simd: int
    workgroups_per_cu: int
    limiter: str
    limits: tuple[Limit, ...]

    def limit(self, resource: str) -> Limit:
        """The limit of ``vgpr``, ``sgpr`` or ``lds``.

        Raises:
            KeyError: no such resource.
        """
        for limit in self.limits:
            if limit.resource == resource:
                return limit
        raise KeyError(resource)


class UnknownOccupancy(ValueError):
    """A program that does not say what it uses, or a target whose limits are not known here."""


def combined_vgprs(arch: int, acc: int) -> int:
    """Registers of the shared pool: AGPRs begin at a multiple of four behind the arch VGPRs."""
    return arch if acc == 0 else _round_up(arch, ACCUM_OFFSET_MULTIPLE) + acc


def occupancy(
    vgprs: int, sgprs: int, lds_bytes: int, workgroup_lanes: int = LANES_PER_WAVE * SIMDS_PER_CU
) -> Occupancy:
    """Occupancy from resource use.

    Args:
        vgprs: arch VGPRs and AGPRs together, as in ``.vgpr_count`` (see ``combined_vgprs``).
        sgprs: scalar registers, VCC and the like included, as in ``.sgpr_count``.
        lds_bytes: per workgroup, static and dynamic together.
        workgroup_lanes: lanes of a workgroup.

    Raises:
        ValueError: a size below zero or beyond what the hardware has.
    """
    _check("vgprs", vgprs, 0, VGPRS_PER_SIMD)
    _check("sgprs", sgprs, 0, SGPRS_PER_WAVE)
    _check("lds_bytes", lds_bytes, 0, LDS_BYTES_PER_CU)
    _check("workgroup_lanes", workgroup_lanes, 1, WORKGROUP_LANES_LIMIT)
    waves = -(-workgroup_lanes // LANES_PER_WAVE)
    limits = (
        _register_limit("vgpr", vgprs, VGPRS_PER_SIMD, VGPR_GRANULE),
        _register_limit("sgpr", sgprs, SGPRS_PER_SIMD, SGPR_GRANULE),
        _lds_limit(lds_bytes, waves),
    )
    by_registers = min(limit.waves for limit in limits[:2]) * SIMDS_PER_CU // waves
    workgroups = min(by_registers, _workgroups_by_lds(lds_bytes, waves))
    if workgroups == 0:
        raise ValueError(
            f"a workgroup of {waves} waves does not fit a compute unit with {vgprs} VGPRs and "
            f"{sgprs} SGPRs per wave; use smaller workgroups or fewer registers"
        )
    resident = -(-workgroups * waves // SIMDS_PER_CU)
    return Occupancy(resident, workgroups, _limiter(resident, limits), limits)


def occupancy_of(program: Program, dynamic_lds_bytes: int = 0) -> Occupancy:
    """Occupancy of a kernel from its metadata.

    Args:
        dynamic_lds_bytes: LDS asked for at launch, which the metadata does not hold.

    Raises:
        UnknownOccupancy: the program is for another target than gfx950, or lacks the metadata.
        ValueError: it uses more than the hardware has.
    """
    metadata = program.metadata
    if metadata and program.target != TARGET:
        target = program.target or "a target that the text does not name"
        raise UnknownOccupancy(
            f"kernel {program.name!r} is for {target}; only the limits of {TARGET} are known here"
        )
    try:
        return occupancy(
            metadata[".vgpr_count"],
            metadata[".sgpr_count"],
            metadata[".group_segment_fixed_size"] + dynamic_lds_bytes,
            metadata[".max_flat_workgroup_size"],
        )
    except KeyError as missing:
        raise UnknownOccupancy(
            f"kernel {program.name!r} has no {missing.args[0]} in its metadata"
        ) from None


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name} must lie in {least}..{most} on gfx950, got {value}")


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _register_limit(resource: str, used: int, pool: int, granule: int) -> Limit:
    granted = _round_up(used, granule)
    waves = min(WAVES_PER_SIMD, pool // granted) if granted else WAVES_PER_SIMD
    to_gain = None if waves == WAVES_PER_SIMD else used - _largest(pool, waves + 1, granule)
    return Limit(resource, used, granted, waves, to_gain, _largest(pool, waves, granule) - used)


def _largest(pool: int, shares: int, granule: int) -> int:
    """The most that each of ``shares`` users of a pool may be granted."""
    return pool // shares // granule * granule


def _workgroups_by_lds(lds_bytes: int, waves: int) -> int:
    slots = WAVES_PER_SIMD * SIMDS_PER_CU // waves
    granted = _round_up(lds_bytes, LDS_GRANULE)
    return min(slots, LDS_BYTES_PER_CU // granted) if granted else slots


def _lds_limit(lds_bytes: int, waves: int) -> Limit:
    slots = WAVES_PER_SIMD * SIMDS_PER_CU // waves
    workgroups = _workgroups_by_lds(lds_bytes, waves)
    to_gain = None
    if workgroups < slots:
        to_gain = lds_bytes - _largest(LDS_BYTES_PER_CU, workgroups + 1, LDS_GRANULE)
    return Limit(
        "lds",
        lds_bytes,
        _round_up(lds_bytes, LDS_GRANULE),
        min(WAVES_PER_SIMD, -(-workgroups * waves // SIMDS_PER_CU)),
        to_gain,
        _largest(LDS_BYTES_PER_CU, workgroups, LDS_GRANULE) - lds_bytes,
    )


def _limiter(resident: int, limits: tuple[Limit, ...]) -> str:
    if resident == WAVES_PER_SIMD:
        return "waves"
    for limit in limits:
        if limit.waves == resident:
            return limit.resource
    return "workgroup"
