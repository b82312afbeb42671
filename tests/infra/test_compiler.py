"""The compiler on small kernels: results, cache, failures, interruption. No device, no ROCm."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from mxfp4kernels import compiler as compiler_module
from mxfp4kernels.cache import Cache, CacheError
from mxfp4kernels.compiler import (
    KERNELS,
    ArchitectureError,
    Builder,
    CompileError,
    Compiler,
    Job,
    MissingComponent,
    find_linker,
)
from mxfp4kernels.flags import ALL, NONE, study_settings
from mxfp4kernels.shapes import (
    REFERENCE_SHAPE,
    VARIANTS,
    Shape,
    ShapeError,
    Variant,
    find_variant,
    variants_of,
)

HERE = Path(__file__).parent
GEMM1 = find_variant("gemm1", "bm128")
GEMM2 = find_variant("gemm2", "bm128_mxfp4")
JOBS = [Job(variant, REFERENCE_SHAPE, flags) for variant in VARIANTS for flags in (NONE, ALL)]


def fake(function: str = "build", expects: str = "global_store") -> Builder:
    return Builder(f"fake_kernels:{function}", (HERE / "fake_kernels.py",), expects)


def job(variant: Variant = GEMM1, shape: Shape = REFERENCE_SHAPE, flags=NONE) -> Job:
    return Job(variant, shape, flags)


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    """A compiler whose cache holds ``JOBS``."""
    compiler = Compiler(Cache(tmp_path_factory.mktemp("cache")), fake())
    compiler.compile_all(JOBS)
    return compiler


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling would be an error."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started although the cache has everything")

    monkeypatch.setattr(compiler_module, "run_all", refuse)


def test_assembly_resources_and_provenance(warm: Compiler) -> None:
    kernel = warm.compile(job())
    assert '.amdgcn_target "amdgcn-amd-amdhsa-unknown-gfx950"' in kernel.assembly
    assert kernel.program.name == "fake_kernel_0"
    assert kernel.resources.kernarg_bytes == 12
    assert kernel.resources.workgroup_threads == 256
    assert (kernel.resources.spills, kernel.resources.scratch_bytes) == (0, 0)
    assert 0 < kernel.resources.vgpr < 16
    assert kernel.provenance.flydsl == importlib.metadata.version("flydsl")
    assert re.fullmatch(r"\d+\.\d+\.\d+(git)? [0-9a-f]{12}", kernel.provenance.llvm)
    assert kernel.provenance.seconds > 0
    assert kernel.warnings == ()


def test_results_come_in_the_order_asked_for(warm: Compiler, no_processes) -> None:
    backwards = warm.compile_all(JOBS[::-1])
    assert [kernel.job for kernel in backwards] == JOBS[::-1]
    assert [kernel.assembly for kernel in warm.compile_all(JOBS)] == [
        kernel.assembly for kernel in backwards[::-1]
    ]


def test_a_job_asked_for_twice_is_compiled_once(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    compiler = Compiler(Cache(tmp_path), fake())
    kernels = compiler.compile_all([job(), job()], lambda done, total: seen.append((done, total)))
    assert kernels[0] == kernels[1]
    assert seen == [(0, 1), (1, 1)]


def test_two_compilations_give_the_same_bytes(warm: Compiler, tmp_path: Path) -> None:
    again = Compiler(Cache(tmp_path), fake(), workers=1).compile_all(JOBS)
    first = warm.compile_all(JOBS)
    assert [kernel.assembly for kernel in again] == [kernel.assembly for kernel in first]
    assert len({kernel.assembly for kernel in first}) > 2


def test_flags_without_effect_share_an_entry(warm: Compiler) -> None:
    idle = job(GEMM1, flags=frozenset({"epilog_hoisting", "hardware_exp2"}))
    acting = job(GEMM1, flags=frozenset({"hardware_exp2"}))
    assert idle == acting
    assert warm.key(idle) == warm.key(acting)


def test_every_setting_has_a_key_of_its_own(warm: Compiler) -> None:
    shapes = (REFERENCE_SHAPE, Shape(385, 7168, 512, 9, inter_real=384), Shape(8, 512, 512, 2))
    jobs = {
        Job(variant, shape, flags)
        for variant in VARIANTS
        for shape in shapes
        for flags in study_settings(variant)
    }
    assert len({warm.key(job) for job in jobs}) == len(jobs)


def test_key_follows_kernel_sources_and_flydsl(tmp_path: Path, monkeypatch) -> None:
    source = tmp_path / "kernels"
    (source / "deep").mkdir(parents=True)
    (source / "deep" / "kernel.py").write_text("a = 1")

    def key() -> str:
        builder = Builder("kernels:build", (source,), "s_endpgm")
        return Compiler(Cache(tmp_path), builder).key(job())

    keys = [key()]
    (source / "deep" / "kernel.py").write_text("a = 2")
    keys.append(key())
    (source / "other.py").write_text("")
    keys.append(key())
    (source / "notes.txt").write_text("not code")
    assert key() == keys[-1]
    monkeypatch.setattr(compiler_module, "flydsl_fingerprint", lambda: "0.6.0 other")
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_the_kernels_key_covers_what_decides_their_code() -> None:
    names = {path.name for path in KERNELS.sources}
    assert {"kernels", "shapes.py", "offline.py"} <= names
    assert all(path.exists() for path in KERNELS.sources)


def test_warm_reading_imports_neither_torch_nor_flydsl(warm: Compiler) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from test_compiler import *\n"
        f"kernels = Compiler(Cache(Path({str(warm.cache.root)!r})), fake()).compile_all(JOBS)\n"
        "assert len(kernels) == len(JOBS)\n"
        "print(sorted({'torch', 'flydsl'} & set(sys.modules)))\n"
    )
    packages = os.pathsep.join(path for path in sys.path if path)
    answer = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == "[]"


def test_damaged_entry_is_compiled_anew(tmp_path: Path, capsys) -> None:
    compiler = Compiler(Cache(tmp_path), fake())
    first = compiler.compile(job())
    path = compiler.cache.path(compiler.key(job()))
    path.write_bytes(path.read_bytes()[:100])
    assert compiler.compile(job()).assembly == first.assembly
    assert capsys.readouterr().err.count("damaged cache entry") == 1
    compiler.compile(job())
    assert capsys.readouterr().err == ""


def test_entries_that_are_no_kernel_are_compiled_anew(
    warm: Compiler, tmp_path: Path, capsys
) -> None:
    """Intact by their checksums, but with a field missing or of another type."""
    changes = (
        {"assembly": None},
        {"assembly": "s_endpgm"},
        {"messages": 3},
        {"llvm": None},
        {"flydsl": []},
        {"seconds": "1"},
    )
    compiler = Compiler(Cache(tmp_path), fake())
    damaged = [job(variant) for variant in VARIANTS[: len(changes)]]
    for one, change in zip(damaged, changes, strict=True):
        stored = warm.cache.get(compiler.key(one))
        assert stored is not None
        changed = {name: value for name, value in (stored | change).items() if value is not None}
        compiler.cache.put(compiler.key(one), changed)
    assert [kernel.assembly for kernel in compiler.compile_all(damaged)] == [
        kernel.assembly for kernel in warm.compile_all(damaged)
    ]
    err = capsys.readouterr().err
    for one in damaged:
        assert err.count(f"damaged cache entry {compiler.cache.path(compiler.key(one))};") == 1
    compiler.compile_all(damaged)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("missing", ["flydsl", "numpy"])
def test_package_that_is_there_but_cannot_be_imported(
    tmp_path: Path, monkeypatch, missing: str
) -> None:
    """Its metadata lies beside it, so that only the compiling process notices."""
    (tmp_path / f"{missing}.py").write_text("raise ImportError('libmissing.so: cannot open')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        MissingComponent, match=r"cannot be imported: ImportError: libmissing\.so.*pip install"
    ):
        Compiler(Cache(tmp_path / "cache"), fake()).compile(job())


def test_unwritable_cache_is_refused_before_anything_is_compiled(no_processes) -> None:
    compiler = Compiler(Cache(Path("/proc/self/ns/cache")), fake())
    with pytest.raises(CacheError, match="/proc/self/ns/cache"):
        compiler.compile(job())


def test_full_disk_during_a_run_is_one_error(tmp_path: Path, monkeypatch) -> None:
    compiler = Compiler(Cache(tmp_path), fake(), workers=2)
    put = compiler.cache.put

    def full_after_the_first(key, value) -> None:
        if len([path for path in tmp_path.rglob("*") if path.is_file()]) > 0:
            raise CacheError("cannot write the cache: No space left on device")
        put(key, value)

    monkeypatch.setattr(compiler.cache, "put", full_after_the_first)
    monkeypatch.setattr(compiler.cache, "probe", lambda: None)
    with pytest.raises(CacheError, match="No space left"):
        compiler.compile_all(JOBS)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_complaint_of_the_back_end_is_an_error_and_not_cached(tmp_path: Path) -> None:
    compiler = Compiler(Cache(tmp_path), fake("build_broken"))
    with pytest.raises(CompileError, match="no libcall available") as caught:
        compiler.compile(job())
    assert "Traceback" in caught.value.details
    assert compiler.cache.get(compiler.key(job())) is None


def test_an_empty_body_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="holds no v_mfma_scale"):
        Compiler(Cache(tmp_path), fake(expects="v_mfma_scale")).compile(job())


def test_failed_jobs_are_named_and_the_others_kept(tmp_path: Path, no_processes_left) -> None:
    jobs = [job(variant) for variant in variants_of("gemm1")]
    compiler = Compiler(Cache(tmp_path), fake("build_or_die"), workers=2)
    with pytest.raises(CompileError, match="1 more of 5 failed") as caught:
        compiler.compile_all(jobs)
    assert "gemm1/bm64 385x7168x512x9 none: the compiling process ended with SIGKILL" in (
        caught.value.details
    )
    assert "gemm1/bm128 385x7168x512x9 none: ValueError: no such tile" in caught.value.details
    stored = [job for job in jobs if compiler.cache.get(compiler.key(job))]
    assert [job.variant.name for job in stored] == ["bm16_iq", "bm32_nt", "bm32_cached"]


def processes_marked(mark: str) -> list[str]:
    """Processes, other than this one, with ``mark`` in the environment they were started with."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(process.name)
        except OSError:  # it has ended meanwhile
            continue
    return found


@pytest.fixture
def no_processes_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Every process started by the test has to be gone soon after it."""
    mark = f"MXFP4_TEST_MARK={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    yield
    deadline = time.monotonic() + 10
    while (left := processes_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


INTERRUPTED_RUN = """
from pathlib import Path
from test_compiler import *
try:
    jobs = [Job(variant, REFERENCE_SHAPE, NONE) for variant in VARIANTS]
    Compiler(Cache(Path(sys.argv[1])), fake("build_slowly"), workers=2).compile_all(
        jobs, lambda done, total: print(done, flush=True)
    )
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_keeps_what_was_finished(
    tmp_path: Path, no_processes_left, signal_number: signal.Signals
) -> None:
    """gemm1's five are quick, gemm2's sleep: the signal comes after the first five."""
    packages = os.pathsep.join(path for path in sys.path if path)
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED_RUN, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": packages},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.stdout is not None
    while run.stdout.readline() != "5\n":
        assert run.poll() is None
    run.send_signal(signal_number)
    rest = run.stdout.read()
    run.wait(timeout=30)
    assert ("interrupted" in rest) == (signal_number == signal.SIGINT)
    compiler = Compiler(Cache(tmp_path), fake("build_slowly"))
    jobs = [job(variant) for variant in variants_of("gemm1")]
    assert all(compiler.cache.get(compiler.key(job)) for job in jobs)
    assert not list(tmp_path.rglob("*.tmp"))


def test_two_runs_at_the_same_time(tmp_path: Path, warm: Compiler) -> None:
    code = (
        "from pathlib import Path\nfrom test_compiler import *\n"
        "Compiler(Cache(Path(sys.argv[1])), fake(), workers=1).compile_all(JOBS)\n"
    )
    packages = os.pathsep.join(path for path in sys.path if path)
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            env={**os.environ, "PYTHONPATH": packages},
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for run in runs:
        assert run.communicate()[1] == ""
        assert run.returncode == 0
    both = Compiler(Cache(tmp_path), fake()).compile_all(JOBS)
    assert [kernel.assembly for kernel in both] == [
        kernel.assembly for kernel in warm.compile_all(JOBS)
    ]


def test_the_users_flydsl_switches_do_not_reach_the_compiler(tmp_path, monkeypatch, warm) -> None:
    monkeypatch.setenv("FLYDSL_GPU_ARCH", "gfx942")
    monkeypatch.setenv("ARCH", "gfx90a")
    monkeypatch.setenv("COMPILE_ONLY", "1")
    monkeypatch.setenv("FLYDSL_DUMP_IR", "1")
    monkeypatch.setenv("FLYDSL_DUMP_DIR", str(tmp_path / "dump"))
    kernel = Compiler(Cache(tmp_path / "cache"), fake()).compile(job())
    assert kernel.assembly == warm.compile(job()).assembly
    assert not (tmp_path / "dump").exists()


def test_missing_flydsl(monkeypatch, tmp_path: Path) -> None:
    def none(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    compiler_module.flydsl_fingerprint.cache_clear()
    monkeypatch.setattr(importlib.metadata, "version", none)
    with pytest.raises(MissingComponent, match=r"FlyDSL is not installed; pip install"):
        Compiler(Cache(tmp_path), fake()).compile(job())


def test_missing_torch(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingComponent, match="torch, which is not installed; pip install"):
        Compiler(Cache(tmp_path), fake()).compile(job())


def test_workers_follow_cores_and_memory(monkeypatch) -> None:
    page = os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)))
    for gibibytes, workers in ((512, 64), (24, 24), (0.5, 1)):
        sizes = {"SC_PHYS_PAGES": int(gibibytes * 2**30) // page, "SC_PAGE_SIZE": page}
        monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
        assert compiler_module.default_workers() == workers


def test_unknown_architecture() -> None:
    with pytest.raises(ArchitectureError, match=r"'gfx942'.*gfx950"):
        Job(GEMM1, REFERENCE_SHAPE, NONE, arch="gfx942")


def test_shape_that_the_variant_cannot_run() -> None:
    with pytest.raises(ShapeError, match="inter_real=384"):
        Job(GEMM2, Shape(8, 512, 384, 2), NONE)


@pytest.fixture(scope="module")
def code(warm: Compiler) -> bytes:
    """A code object by the linker that is found."""
    return warm.code_object(job())


def test_code_object_is_an_elf_for_gfx950(code: bytes) -> None:
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == 224  # EM_AMDGPU
    assert code[48] == 0x4F  # low byte of e_flags: gfx950


def _linker(path: Path, version: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Debian LLD {version}.1.7 (compatible with GNU linkers)'\n")
    path.chmod(0o755)
    return path


def test_linker_on_path_comes_first_and_old_ones_are_passed_over(tmp_path, monkeypatch) -> None:
    rocm = _linker(tmp_path / "rocm" / "llvm" / "bin" / "ld.lld", 20)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    on_path = _linker(tmp_path / "bin" / "ld.lld", 14)
    monkeypatch.setenv("PATH", f"{on_path.parent}:{os.environ['PATH']}")
    assert find_linker() == rocm
    _linker(on_path, 22)
    assert find_linker() == on_path


def _unrunnable(path: Path) -> None:
    path.write_bytes(b"\x7fELF of another machine")


def _failing(path: Path) -> None:
    path.write_text("#!/bin/sh\nexit 1\n")


def _hanging(path: Path) -> None:
    path.write_text("#!/bin/sh\nexec sleep 60\n")


@pytest.mark.parametrize("make", [_unrunnable, _failing, _hanging])
def test_linker_that_does_not_run_is_passed_over(tmp_path, monkeypatch, make) -> None:
    first, second = _linker(tmp_path / "1" / "ld.lld", 22), _linker(tmp_path / "2" / "ld.lld", 22)
    make(first)
    monkeypatch.setattr(compiler_module, "LINKER_SECONDS", 1)
    monkeypatch.setenv("PATH", f"{first.parent}:{second.parent}")
    assert find_linker() == second
    monkeypatch.setattr(compiler_module, "_linker_candidates", lambda: [first])
    with pytest.raises(MissingComponent, match=r"1/ld\.lld cannot be run"):
        find_linker()


def test_linker_of_a_relative_entry_of_path(tmp_path: Path, monkeypatch) -> None:
    linker = _linker(tmp_path / "tools" / "ld.lld", 22)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "tools:/usr/bin:/bin")
    assert find_linker() == linker
    monkeypatch.chdir(tmp_path / "tools")
    monkeypatch.setenv("PATH", ":/usr/bin:/bin")
    assert find_linker() == linker


def test_no_linker_names_the_old_ones(tmp_path: Path, monkeypatch) -> None:
    old = _linker(tmp_path / "ld.lld", 14)
    monkeypatch.setattr(compiler_module, "_linker_candidates", lambda: [old])
    with pytest.raises(MissingComponent, match=r"ld\.lld is 14.*lld-19"):
        find_linker()


def test_code_object_with_a_named_linker(
    warm: Compiler, code: bytes, tmp_path: Path, monkeypatch
) -> None:
    """The toolkit tree holds only the linker, whatever its name and place, a relative one too."""
    shutil.copy(find_linker(), tmp_path / "ld.lld-renamed")
    monkeypatch.chdir(tmp_path)
    assert warm.code_object(job(), Path("ld.lld-renamed")) == code


def test_spills_are_warned_of(warm: Compiler) -> None:
    kernel = warm.compile(job())
    spilled = replace(
        kernel,
        assembly=re.sub(r"(\.vgpr_spill_count:\s+)0", r"\g<1>3", kernel.assembly),
        messages="warning: something",
    )
    assert [warning.partition(": ")[2] for warning in spilled.warnings] == [
        "the compiler said: warning: something",
        "3 registers spilled",
    ]
