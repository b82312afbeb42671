"""Occupancy against the table of the hardware, and the distances against their definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxfp4kernels.isa import UnknownOccupancy, combined_vgprs, occupancy, occupancy_of, parse


@pytest.mark.parametrize(
    ("vgprs", "waves"),
    [
        (0, 8), (64, 8), (65, 7), (72, 7), (73, 6), (80, 6), (81, 5), (96, 5), (97, 4), (128, 4),
        (129, 3), (168, 3), (169, 2), (256, 2), (257, 1), (512, 1),
    ],
)  # fmt: skip
def test_waves_by_vector_registers(vgprs, waves):
    found = occupancy(vgprs, sgprs=32, lds_bytes=0)
    assert found.waves_per_simd == waves
    assert found.limiter == ("waves" if waves == 8 else "vgpr")


@pytest.mark.parametrize(("sgprs", "waves"), [(100, 8), (101, 7), (108, 7)])
def test_waves_by_scalar_registers(sgprs, waves):
    """What LLVM 22 prints as "Occupancy" for kernels that use so many."""
    found = occupancy(16, sgprs, lds_bytes=0)
    assert (found.waves_per_simd, found.limit("sgpr").waves) == (waves, waves)


@pytest.mark.parametrize(
    ("lds_bytes", "workgroups"),
    [
        (0, 8), (20480, 8), (20481, 7), (23040, 7), (23041, 6), (32768, 4), (65536, 2), (81920, 2),
        (81921, 1), (163840, 1),
    ],
)  # fmt: skip
def test_workgroups_by_lds(lds_bytes, workgroups):
    found = occupancy(32, 32, lds_bytes, workgroup_lanes=256)
    assert found.workgroups_per_cu == found.waves_per_simd == workgroups
    assert found.limiter == ("waves" if workgroups == 8 else "lds")


def test_whole_workgroups_can_be_the_limit():
    found = occupancy(168, 32, 0, workgroup_lanes=512)  # 3 waves per SIMD hold one of 8 waves
    assert (found.workgroups_per_cu, found.waves_per_simd, found.limiter) == (1, 2, "workgroup")


@pytest.mark.parametrize(("arch", "acc", "total"), [(5, 0, 5), (5, 3, 11), (164, 144, 308)])
def test_agprs_begin_at_a_multiple_of_four(arch, acc, total):
    assert combined_vgprs(arch, acc) == total


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((513, 0, 0), "vgprs"),
        ((-1, 0, 0), "vgprs"),
        ((0, 113, 0), "sgprs"),
        ((0, 0, 163841), "lds_bytes"),
        ((0, 0, 0, 1025), "workgroup_lanes"),
    ],
)
def test_more_than_the_hardware_has_is_refused(arguments, name):
    with pytest.raises(ValueError, match=rf"{name} must lie in .*, got {max(arguments, key=abs)}"):
        occupancy(*arguments)


def test_workgroup_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="does not fit"):
        occupancy(257, 0, 0, workgroup_lanes=1024)


@given(st.integers(1, 512), st.integers(1, 108), st.integers(0, 163840), st.sampled_from([64, 256]))
def test_distances_are_what_they_say(vgprs, sgprs, lds_bytes, lanes):
    use = {"vgpr": vgprs, "sgpr": sgprs, "lds": lds_bytes}
    names = {"vgpr": "vgprs", "sgpr": "sgprs", "lds": "lds_bytes"}
    tops = {"vgpr": 512, "sgpr": 112, "lds": 163840}
    found = occupancy(vgprs, sgprs, lds_bytes, lanes)

    def steps(resource: str, amount: int) -> int:
        """Steps of one resource's stairs: waves for registers, workgroups for LDS."""
        only = dict.fromkeys(names.values(), 0) | {names[resource]: amount}
        alone = occupancy(**only, workgroup_lanes=lanes)
        return alone.workgroups_per_cu if resource == "lds" else alone.limit(resource).waves

    for resource, amount in use.items():
        limit = found.limit(resource)
        here = steps(resource, amount)
        if limit.to_gain is not None:
            assert steps(resource, amount - limit.to_gain) > here
            assert steps(resource, amount - limit.to_gain + 1) == here
        most = min(tops[resource], amount + limit.spare)
        assert steps(resource, most) == here
        if most < tops[resource]:
            assert steps(resource, most + 1) < here


def test_unknown_resource():
    with pytest.raises(KeyError):
        occupancy(1, 1, 1).limit("agpr")


METADATA = """
k:
 s_endpgm
 .amdhsa_kernel k
 .end_amdhsa_kernel
 .amdgpu_metadata
---
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: k
    .vgpr_count: 128
    .sgpr_count: 46
    .group_segment_fixed_size: 32768
    .max_flat_workgroup_size: 256
...
 .end_amdgpu_metadata
"""


def test_from_metadata():
    program = parse(METADATA)
    assert (occupancy_of(program).waves_per_simd, occupancy_of(program).limiter) == (4, "vgpr")
    assert occupancy_of(program, dynamic_lds_bytes=32768).limiter == "lds"


@pytest.mark.parametrize("target", ["gfx942", "gfx1100", "gfx90a"])
def test_limits_of_another_target_are_not_known(target):
    with pytest.raises(UnknownOccupancy, match=rf"'k' is for {target}; only the limits of gfx950"):
        occupancy_of(parse(METADATA.replace("gfx950", target)))


def test_text_that_names_no_target():
    text = METADATA.replace("amdhsa.target: amdgcn-amd-amdhsa--gfx950\n", "")
    with pytest.raises(UnknownOccupancy, match="a target that the text does not name"):
        occupancy_of(parse(text))


def test_directive_names_the_target_before_the_metadata():
    directive = '.amdgcn_target "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"\n'
    assert parse(directive + METADATA).target == "gfx942"
    assert parse(METADATA).target == "gfx950"


def test_program_without_metadata():
    with pytest.raises(UnknownOccupancy, match=r"no \.vgpr_count in its metadata"):
        occupancy_of(parse("s_endpgm"))
