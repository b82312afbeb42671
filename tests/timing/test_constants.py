"""The file of constants: complete, sourced, and each of them used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mxfp4kernels import timing
from mxfp4kernels.timing.code import Column, lower
from mxfp4kernels.timing.constants import read_hardware

from .micro import micro

SOURCES = "".join(
    path.read_text(encoding="utf-8") for path in Path(timing.__file__).parent.glob("*.py")
)


def test_every_constant_is_used_and_every_used_one_is_there() -> None:
    used = set(re.findall(r'hardware\["(\w+)"\]', SOURCES))
    used |= {"mfma_fp4_flops", "mfma_fp8_flops", "mfma_f16_flops", "mfma_f32_flops"}  # chosen there
    assert set(read_hardware().constants) == used


def test_latencies_are_the_differences_that_their_sources_give() -> None:
    """MI300X: 415 to 425 ns to HBM and 218 ns to the MALL, of which 101 ns are an L2 hit."""
    hardware = read_hardware()
    assert 415 - 101 <= hardware["hbm_latency"] <= 425 - 101
    assert hardware["mall_latency"] == 218 - 101
    clocks = hardware["l2_latency"] + hardware["hbm_latency"] * hardware["max_clock"]
    assert clocks == pytest.approx(970, abs=5)


def test_the_l2s_peak_is_the_ports_of_their_units() -> None:
    """So no unit alone is bounded by its L2; all together are, by what has been achieved."""
    hardware = read_hardware()
    ports = hardware["tcp_bandwidth"] * hardware["compute_units"] * hardware["max_clock"] / 1000
    assert hardware.constant("l2_read").high == pytest.approx(ports, rel=0.002)
    assert hardware["l2_read"] < ports


def test_ranges_of_writes_are_those_of_reads_by_ratio() -> None:
    """No source gives them; the notes of both say so."""
    hardware = read_hardware()
    read, write = hardware.constant("hbm_read"), hardware.constant("hbm_write")
    assert write.low / write.value == pytest.approx(read.low / read.value, abs=1e-3)
    assert write.high / write.value == pytest.approx(read.high / read.value, abs=1e-3)
    read, write = hardware.constant("mall_read"), hardware.constant("mall_write")
    assert write.high / write.value == pytest.approx(read.high / read.value, rel=0.01)
    for name in ("hbm_write", "mall_write"):
        assert "derived" in hardware.constant(name).note


@pytest.mark.parametrize(
    ("constant", "value", "column_clocks"),
    [("mfma_result_wait", 4, 36), ("mfma_result_wait", 5, 40)],
)
def test_wait_states_come_from_the_file(constant: str, value: float, column_clocks: int) -> None:
    hardware = read_hardware()
    known = hardware.constant(constant)
    changed = type(hardware)(
        hardware.device,
        {**hardware.constants, constant: type(known)(
            constant, value, value, value, known.unit, known.confidence, known.source
        )},
    )  # fmt: skip
    program = micro(
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[8:11], v[12:15], v[0:3], v16, v17 "
        "cbsz:4 blgp:4\n"
    ).program
    assert lower(program, changed).table[0, Column.LATENCY] == column_clocks
