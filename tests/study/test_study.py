"""A study of a few cases: cached, resumable, the same bytes, and loud when a case fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from mxfp4kernels.cache import Cache
from mxfp4kernels.compiler import Compiler
from mxfp4kernels.files import read_csv
from mxfp4kernels.flags import ALL, NONE, acting
from mxfp4kernels.shapes import VARIANTS, find_variant, parse_shape
from mxfp4kernels.study import command, errors, runner, tables, timeline
from mxfp4kernels.study.cases import Case, all_cases, mutation_cases
from mxfp4kernels.study.command import Study
from mxfp4kernels.study.measure import measure
from mxfp4kernels.study.mutation import mutate
from mxfp4kernels.study.runner import Progress, Request, StudyError

SMALL = parse_shape("2x256x256x1")


def case(name: str, **options: object) -> Case:
    kernel, _, variant = name.partition("/")
    found = find_variant(kernel, variant)
    settings = (NONE, acting(found, ALL))
    return Case(found, SMALL, 3, settings, **options)  # type: ignore[arg-type]


CASES = (
    case("gemm1/bm32_nt", every_order=True),
    case("gemm2/bm32_cshuffle"),
    case("gemm1/bm16_iq", follower=find_variant("gemm2", "bm16_atomic_nt")),
)


class Bars:
    """Progress bars that only note what they are told."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def __call__(self, what: str, unit: str) -> Iterator[Progress]:
        yield lambda done, total: self.seen.setdefault(what, []).append((done, total))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(Cache(tmp_path_factory.mktemp("cache")), workers=1)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "all_cases", lambda: CASES)
    monkeypatch.setattr(command, "mutation_cases", lambda: CASES[1:2])


def test_twice_gives_the_same_bytes_and_the_second_runs_nothing(
    compiler: Compiler, few: None, tmp_path: Path
) -> None:
    bars = Bars()
    once = Study(compiler, 2, tmp_path / "once", bars)
    assert once.run(["verify", "mutants"])["verify.csv"] == 6
    assert bars.seen["verifying"] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    again = Study(compiler, 1, tmp_path / "again", bars)
    again.run(["verify", "mutants"])
    assert bars.seen["verifying"][4:] == [(3, 3)]
    written = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert written == sorted(
        path.name
        for path in (
            *(tables.VERIFY, tables.BOUNDARIES, tables.ERRORS, tables.HAZARDS),
            *(tables.NEEDLESS, tables.MUTANTS),
        )
    )
    for name in written:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    rows = read_csv(tmp_path / "once" / "verify.csv", tables.VERIFY_COLUMNS)
    assert {row["passed"] for row in rows} == {"yes"}
    assert [row["hazards"] for row in rows] == ["0", "0", "0", "0", "", ""]
    mutants = read_csv(tmp_path / "once" / "mutants.csv", tables.MUTANTS_COLUMNS)
    assert mutants
    assert {row["agree"] for row in mutants} == {"yes"}


def test_a_case_that_fails_is_named_and_the_others_are_kept(
    compiler: Compiler, tmp_path: Path
) -> None:
    good, bad = CASES[0], case("gemm2/bm64_cshuffle")
    kernels = runner.Kernels.of(compiler, [good])
    compiled = tuple(kernels.of_setting(good, flags) for flags in good.settings)
    requests = [Request("verify", good, compiled), Request("verify", bad, compiled)]
    store = Cache(tmp_path)
    with pytest.raises(StudyError, match="gemm2 bm64_cshuffle 2x256x256x1 M=3 random") as failed:
        runner.run(requests, store, 1)
    assert "Traceback" in failed.value.details
    assert store.get(requests[0].key) is not None
    assert store.get(requests[1].key) is None


def test_a_wrong_kernel_is_reported_not_hidden(compiler: Compiler) -> None:
    one = CASES[1]
    (kernel,) = runner.Kernels.of(compiler, [one]).of_setting(one, NONE)
    spoilt = kernel.assembly.replace("op_sel_hi:[0,0,0] cbsz:4", "op_sel_hi:[0,1,0] cbsz:4")
    assert spoilt != kernel.assembly
    right, wrong = measure(one, [[kernel.assembly], [spoilt]])["results"]
    assert (right["passed"], wrong["passed"]) == (True, False)
    assert right["digest"] != wrong["digest"]
    assert wrong["mismatches"] > 0


def test_mutants_of_a_kernel_agree_with_the_prediction(compiler: Compiler) -> None:
    """An atomic kernel, with a wait that a later wait once made look weaker."""
    one = next(one for one in mutation_cases() if str(one.variant) == "gemm2/bm16_atomic")
    (kernel,) = runner.Kernels.of(compiler, [one]).of_setting(one, one.settings[1])
    records = mutate(one, kernel.assembly, 0)["mutants"]
    assert len(records) == 40
    assert {(r["verdict"], r["predicted"]) for r in records} == {
        ("flagged", "flagged"),
        ("needless", "needless"),
    }
    assert all(bool(r["hazard"]) == (r["verdict"] == "flagged") for r in records)


def test_a_load_is_ended_by_the_first_wait_that_counts_it(compiler: Compiler) -> None:
    one = CASES[1]
    (kernel,) = runner.Kernels.of(compiler, [one]).of_setting(one, NONE)
    events = timeline.timeline(one, kernel.assembly)["events"]
    by_position = {event["position"]: event for event in events}
    loads = [event for event in events if event["kind"] == "load to LDS"]
    assert loads
    for load in loads:
        wait = by_position[load["ended_by"]]
        assert wait["kind"] == "wait"
        assert wait["position"] > load["position"]
        assert "vmcnt" in wait["opcode"]


class TestSteps:
    def test_bf16(self) -> None:
        values = torch.tensor([1.0, -1.5, 2.0, 3.99, 2.0**-126], dtype=torch.float64)
        expected = [2.0**-7, 2.0**-7, 2.0**-6, 2.0**-6, 2.0**-133]
        assert errors.bf16_step(values).tolist() == expected

    def test_e2m1(self) -> None:
        values = torch.tensor([0.0, 1.9, -2.0, 3.9, 4.0, -6.0], dtype=torch.float64)
        assert errors.e2m1_step(values).tolist() == [0.5, 0.5, 1, 1, 2, 2]

    def test_bins_are_around_multiples_of_a_twentieth(self) -> None:
        centres = (np.array(errors.EDGES[:-1]) + errors.EDGES[1:]) / 2
        assert np.allclose(centres, np.arange(-20, 21) / 20)


class TestCases:
    def test_cases_are_distinct_and_start_without_flags(self) -> None:
        keys = [(case.kernel, case.name, str(case.shape), case.path) for case in all_cases()]
        assert len(set(keys)) == len(keys)
        assert all(case.settings[0] == NONE for case in all_cases())

    def test_json_round_trip(self) -> None:
        for one in (*all_cases(), *mutation_cases()):
            assert Case.of(one.as_json()).as_json() == one.as_json()

    def test_edges_of_the_issue_are_among_them(self) -> None:
        for variant in VARIANTS:
            own = [case for case in all_cases() if case.variant == variant]
            assert any(case.tokens == 1 for case in own)
            assert {"random", "same", "sparse"} <= {case.routing for case in own}
            assert {"normal", "edges"} <= {case.content for case in own}
            hidden = {case.shape.hidden for case in own}
            assert {512, 2048, 4096} <= hidden
            assert 8192 in hidden or variant.kernel == "gemm1"
            if variant.kernel == "gemm2":
                inter = {case.shape.inter for case in own}
                assert {256, 512, 1024, 2048} <= inter
                assert {case.shape.inter_real for case in own} >= {384, 640}
            if variant.inline_quant:
                assert any(case.content == "special" for case in own)
