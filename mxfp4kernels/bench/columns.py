"""The columns of ``data/measured/<device>/<run>.csv``; ``data/measured/schema.csv`` lists them."""

from __future__ import annotations

from typing import NamedTuple


class Column(NamedTuple):
    """A column of the table, with its unit and what it holds."""

    name: str
    unit: str
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("run", "", "name of the run; its journal has the same name"),
    Column("cases", "", "that the run planned; a table with fewer is of an unfinished run"),
    Column("measured_at", "UTC", "when the case's last round was measured"),
    Column(
        "status",
        "",
        "OK, or marks joined by +: WRONG HOST_BOUND THROTTLED UNEQUAL_CLOCK SHARED DRIFTED",
    ),
    Column("verdict", "", "FASTER SLOWER SAME UNSTABLE; empty for a baseline or a WRONG row"),
    Column("role", "", "baseline, again (the baseline's second graph) or setting"),
    Column("kernel", "", "gemm1 or gemm2"),
    Column("variant", "", "as mxfp4kernels variants lists them"),
    Column("shape", "", "EXPERTSxHIDDENxINTERxTOPK"),
    Column("tokens", "", "M"),
    Column("routing", "", "family-a, family-b, balanced, same, random or sparse"),
    Column("seed", "", "of routing, activations and weights"),
    Column("active_experts", "", "experts that some token chose"),
    Column("sorted_rows", "", "rows after sorting, padded to whole blocks"),
    Column("touched_bytes", "B", "what one launch reads and writes at least"),
    Column("cache", "", "rotating or warm"),
    Column("input_sets", "", "sets of buffers that the launches take turns with"),
    Column("implementation", "", "mxfp4kernels, aiter-hip or aiter-flydsl"),
    Column("implementation_version", "", "its commit or version"),
    Column("flags", "", "none, or the acting flags joined by +"),
    Column("unit", "", "of the times: us"),
    Column("median", "us", "per launch, over all replays of all rounds"),
    Column("minimum", "us", "likewise"),
    Column("q05", "us", "5 % quantile, likewise"),
    Column("q25", "us", "likewise"),
    Column("q75", "us", "likewise"),
    Column("q95", "us", "likewise"),
    Column("rounds", "", "rounds measured"),
    Column("replays", "", "timed replays in all rounds together"),
    Column("launches_per_replay", "", "kernels in one graph"),
    Column("processes", "", "one, or fresh (one per round)"),
    Column("baseline", "", "label of the setting that the ratio is relative to"),
    Column("ratio", "", "median over rounds of time(setting) / time(baseline)"),
    Column("ratio_low", "", "lower end of its interval"),
    Column("ratio_high", "", "upper end of its interval"),
    Column("confidence", "", "of the interval"),
    Column("threshold", "", "relative difference that matters in practice, set beforehand"),
    Column("serial_correlation", "", "rank correlation of a round's ratio with the next round's"),
    Column("aa_verdict", "", "the verdict on the case's baseline against itself"),
    Column("aa_pairs", "", "pairs of a baseline with itself in the run"),
    Column("aa_different", "", "those that came out FASTER or SLOWER: false positives"),
    Column("aa_excluding_one", "", "those whose interval did not hold 1"),
    Column("checked_elements", "", "output elements held against the float64 reference"),
    Column("mismatches", "", "those outside what rounding allows; of the check that failed"),
    Column("checked_tiles", "", "tiles compared"),
    Column("tiles", "", "tiles of the launch"),
    Column("late_share", "", "share of replays that the device reached before the host was ready"),
    Column("clock_mhz", "MHz", "median while replays ran; empty if it could not be read"),
    Column("clock_low_mhz", "MHz", "5 % quantile, likewise"),
    Column("clock_reference_mhz", "MHz", "what the device was set to, can reach, or has shown"),
    Column("clock_ratio", "", "mean over rounds of clock(setting) / clock(baseline)"),
    Column("power_w", "W", "median, likewise"),
    Column("temperature_c", "C", "median, likewise"),
    Column("other_processes", "", "most that were seen on the device; empty if nobody says"),
    Column("device", "", "product name"),
    Column("machine", "", "digest of the device's UUID: which runs are of the same one"),
    Column("arch", "", "such as gfx950"),
    Column("compute_units", "", "of the device"),
    Column("cache_bytes", "B", "all caches together"),
    Column("driver", "", "version of the kernel driver"),
    Column("runtime", "", "version of ROCm"),
    Column("torch", "", "its version"),
    Column("flydsl", "", "its version"),
    Column("llvm", "", "version of FlyDSL's LLVM"),
    Column("isa_sha256", "", "of the kernel's assembly, compiled offline from the same source"),
    Column("commit", "", "of this repository; if files differed, with + and a digest of them"),
)
NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)

FACTS = ("active_experts", "sorted_rows", "touched_bytes", "input_sets")
"""What a workload says of its case."""
PROVENANCE = ("implementation_version", "isa_sha256", "llvm")
"""What a workload says of a setting's kernel."""
