"""The project's own files: requirements, Makefile, CI script, notebook runner, no skipped test."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from mxfp4kernels import notebooks
from mxfp4kernels.benchmark import TARGETS

pytest_plugins = ["pytester"]

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def pyproject(repository: Path) -> dict:
    return tomllib.loads((repository / "pyproject.toml").read_text())


class TestRequirements:
    def test_environment_for_conda_says_the_same_as_pyproject(self, repository: Path) -> None:
        project = pyproject(repository)["project"]
        extras = project["optional-dependencies"]
        wanted = {f"python{project['requires-python']}", *project["dependencies"]}
        for name, requirements in extras.items():
            if name != "all":
                wanted |= set(requirements)
        environment = yaml.safe_load((repository / "environment.yml").read_text())
        *conda, last = environment["dependencies"]
        found = {*conda, *last["pip"]}
        assert found - {"pip", "-e ."} == wanted
        assert {"pip", "-e ."} <= found

    def test_what_only_pip_has_is_asked_of_pip(self, repository: Path) -> None:
        environment = yaml.safe_load((repository / "environment.yml").read_text())
        extras = pyproject(repository)["project"]["optional-dependencies"]
        assert set(environment["dependencies"][-1]["pip"]) == {*extras["compile"], "-e ."}

    def test_all_is_every_extra(self, repository: Path) -> None:
        extras = dict(pyproject(repository)["project"]["optional-dependencies"])
        (everything,) = extras.pop("all")
        assert set(re.findall(r"\[(.*)\]", everything)[0].split(",")) == set(extras)

    def test_a_build_with_a_local_version_satisfies_the_torch_pin(self, repository: Path) -> None:
        from packaging.requirements import Requirement

        pins = pyproject(repository)["project"]["optional-dependencies"]["compile"]
        (torch,) = [pin for pin in map(Requirement, pins) if pin.name == "torch"]
        for build in ("2.13.0", "2.13.0+cpu", "2.13.0+rocm7.1"):
            assert torch.specifier.contains(build)
        assert not torch.specifier.contains("2.14.0")

    def test_every_import_of_the_package_is_required(self, repository: Path) -> None:
        project = pyproject(repository)["project"]
        extras = project["optional-dependencies"].values()
        required = {
            re.match(r"[\w-]+", requirement)[0].lower()
            for requirements in (project["dependencies"], *extras)
            for requirement in requirements
        }
        distributions = {"yaml": "pyyaml"}
        imported = set()
        for path in (repository / "mxfp4kernels").rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    imported.add(str(node.module).partition(".")[0])
        foreign = imported - set(sys.stdlib_module_names) - {"mxfp4kernels"}
        assert {distributions.get(name, name) for name in foreign} <= required


FAKE_PYTHON = """#!/bin/sh
# Stands in for python3: notes how it was called, and makes a venv of copies of itself.
echo "$@" >> "$LOG"
case "$*" in
  *version_info*) exit $TOO_OLD ;;
  *ensurepip*) exit $NO_VENV ;;
  "-m venv "*) mkdir -p "$3/bin"
    for name in python mxfp4kernels ruff mypy; do cp "$0" "$3/bin/$name"; done ;;
  *"pip install"*editable*) exit $NO_NETWORK ;;
esac
exit 0
"""


class Make:
    """A copy of the Makefile with a python3 that only notes what it is asked.

    Its environment is made from nothing: under ``make test VENV=...`` the variables of the outer
    make would otherwise have the inner one work on the environment that these tests run in.
    """

    def __init__(self, folder: Path, repository: Path) -> None:
        self.folder = folder
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(repository / name, folder / name)
        python = folder / "bin" / "python3"
        python.parent.mkdir()
        python.write_text(FAKE_PYTHON)
        python.chmod(0o755)

    def __call__(self, *words: str, **faults: str) -> subprocess.CompletedProcess[str]:
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        environment = {
            "HOME": str(self.folder),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "LOG": str(log),
            **{"TOO_OLD": "0", "NO_VENV": "0", "NO_NETWORK": "0", **faults},
        }
        return subprocess.run(
            ["make", *words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        log = self.folder / "log"
        return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def make(tmp_path: Path, repository: Path) -> Make:
    return Make(tmp_path, repository)


class TestMakefile:
    def test_help_is_the_default_and_names_every_target(self, make: Make) -> None:
        answer = make()
        assert answer.returncode == 0
        targets = re.findall(r"^(\w+):", (make.folder / "Makefile").read_text(), re.M)
        for target in set(targets) - {"help"}:
            assert f"make {target}" in answer.stdout
        assert make.calls == []

    def test_first_run_sets_up_and_the_next_does_not(self, make: Make) -> None:
        first = make("test")
        assert first.returncode == 0, first.stderr
        assert [call for call in make.calls if "pip install" in call] == [
            "-m pip install --upgrade pip",
            "-m pip install --editable .[all]",
        ]
        assert make.calls[-1] == "-m pytest"
        assert make("test").returncode == 0
        assert make.calls == ["-m pytest"]

    def test_changed_requirements_are_installed(self, make: Make) -> None:
        make("test")
        later = (make.folder / ".venv" / ".installed").stat().st_mtime + 10
        os.utime(make.folder / "pyproject.toml", (later, later))
        make("test")
        assert any("--editable" in call for call in make.calls)

    def test_interrupted_setup_is_taken_up_again(self, make: Make) -> None:
        assert make("test", NO_NETWORK="1").returncode == 2
        assert not any("pytest" in call for call in make.calls)
        assert make("test").returncode == 0
        assert make.calls[-1] == "-m pytest"

    def test_options_reach_pip_and_pytest(self, make: Make) -> None:
        make("test", "PIP_ARGS=--index-url somewhere", "PYTEST_ARGS=-k cache")
        installs = [call for call in make.calls if "pip install" in call]
        assert all("--index-url somewhere" in call for call in installs)
        assert make.calls[-1] == "-m pytest -k cache"

    def test_variables_of_an_outer_make_do_not_reach_these_tests(
        self, make: Make, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("VENV", "PYTHON", "PIP_ARGS", "PYTEST_ARGS"):
            monkeypatch.setenv(name, "elsewhere")
        monkeypatch.setenv("MAKEFLAGS", " -- VENV=elsewhere")
        make("test")
        assert (make.folder / ".venv" / ".installed").exists()
        assert not (make.folder / "elsewhere").exists()
        assert not any("elsewhere" in call for call in make.calls)

    def test_old_python_is_one_clear_error(self, make: Make) -> None:
        answer = make("test", TOO_OLD="1")
        assert answer.returncode == 2
        assert "older than Python 3.10" in answer.stderr
        assert "make PYTHON=" in answer.stderr
        assert not (make.folder / ".venv").exists()

    def test_missing_python_is_one_clear_error(self, make: Make) -> None:
        answer = make("test", "PYTHON=python3-that-is-not-there")
        assert answer.returncode == 2
        assert "python3-that-is-not-there is missing" in answer.stderr

    def test_python_without_venv_is_one_clear_error(self, make: Make) -> None:
        answer = make("test", NO_VENV="1")
        assert answer.returncode == 2
        assert "apt-get install python3-venv" in answer.stderr
        assert not (make.folder / ".venv").exists()

    def test_ablation_counts_then_draws_then_runs_the_notebooks(self, make: Make) -> None:
        assert make("ablation").returncode == 0
        assert make.calls[-2:] == ["-m mxfp4kernels.plots", "-m mxfp4kernels.notebooks"]
        assert make.calls.index("ablate") == len(make.calls) - len(TARGETS["ablation"])

    def test_benchmark_runs_those_of_the_folder_that_need_no_device(
        self, make: Make, repository: Path
    ) -> None:
        assert make("benchmark").returncode == 0
        ran = {call for call in make.calls if call.startswith("benchmarks/")}
        there = {f"benchmarks/{path.name}" for path in (repository / "benchmarks").glob("*.py")}
        assert there - ran == {"benchmarks/validate_graph_timing.py"}

    def test_clean_leaves_committed_files_alone(self, make: Make, repository: Path) -> None:
        """Run for real, on a checkout with everything that is committed and some litter."""
        for folder in ("data", "figures", "notebooks", "mxfp4kernels", "tests"):
            (make.folder / folder).mkdir()
            (make.folder / folder / "kept").write_text("")
        litter = [Path(".ruff_cache", "x"), Path("mxfp4kernels", "__pycache__", "x.pyc")]
        for path in litter:
            (make.folder / path).parent.mkdir()
            (make.folder / path).write_text("")
        make("test")
        assert make("clean").returncode == 0
        assert not any((make.folder / path).exists() for path in litter)
        assert len(list(make.folder.glob("*/kept"))) == 5
        assert (make.folder / ".venv" / ".installed").exists()
        assert make("distclean").returncode == 0
        assert not (make.folder / ".venv").exists()
        assert len(list(make.folder.glob("*/kept"))) == 5


class TestCi:
    def test_script_is_executable_bash_that_parses(self, repository: Path) -> None:
        script = repository / ".ci" / "run"
        assert os.access(script, os.X_OK)
        subprocess.run(["bash", "-n", script], check=True)

    def test_tests_come_last_and_may_not_skip(self, repository: Path) -> None:
        lines = (repository / ".ci" / "run").read_text().splitlines()
        assert lines[-1] == "MXFP4_NO_SKIP=1 make test"


class TestNoSkip:
    TEST = """
        import pytest

        @pytest.mark.skip(reason="no device")
        def test_marked(): ...

        def test_inside():
            pytest.skip("no linker")

        @pytest.mark.xfail(reason="known", strict=True)
        def test_known():
            assert False

        def test_fine(): ...
    """

    @pytest.fixture
    def outcome(self, pytester: pytest.Pytester, repository: Path, monkeypatch):
        pytester.makepyfile(self.TEST)
        shutil.copy(repository / "tests" / "conftest.py", pytester.path / "conftest.py")

        def run(no_skip: str):
            monkeypatch.setenv("MXFP4_NO_SKIP", no_skip)
            return pytester.runpytest_subprocess("-p", "no:cacheprovider")

        return run

    def test_skips_fail_when_none_is_allowed(self, outcome) -> None:
        result = outcome("1")
        result.assert_outcomes(passed=1, failed=1, errors=1, xfailed=1)
        result.stdout.fnmatch_lines(["*skipped although MXFP4_NO_SKIP is set*no device*"])

    def test_skips_stay_skips_otherwise(self, outcome) -> None:
        outcome("").assert_outcomes(passed=1, skipped=2, xfailed=1)

    def test_a_module_that_skips_itself_fails(self, outcome, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(test_module="import pytest\npytest.importorskip('no_such_module')")
        outcome("1").assert_outcomes(errors=1)


class TestNotebooks:
    @pytest.fixture
    def notebook(self, tmp_path: Path) -> Path:
        cells = [
            nbformat.v4.new_markdown_cell("An argument.", id="one"),
            nbformat.v4.new_code_cell("import pathlib\nprint(6 * 7)", id="two"),
        ]
        path = tmp_path / "01_test.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        return path

    def test_outputs_are_written_and_a_second_run_changes_nothing(self, notebook: Path) -> None:
        assert notebooks.main([str(notebook)]) == 0
        first = notebook.read_bytes()
        assert nbformat.read(notebook, 4).cells[1].outputs[0].text == "42\n"
        assert notebooks.main([str(notebook)]) == 0
        assert notebook.read_bytes() == first
        assert nbformat.read(notebook, 4).metadata == notebooks.METADATA

    def test_a_run_leaves_nothing_behind_and_says_what_it_wrote(
        self, notebook: Path, tmp_path
    ) -> None:
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        answer = subprocess.run(
            [sys.executable, "-m", "mxfp4kernels.notebooks", str(notebook)],
            env={**os.environ, "TMPDIR": str(temporary)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (answer.stdout, answer.stderr) == (f"wrote {notebook}\n", "")
        assert list(temporary.iterdir()) == []
        assert sorted(tmp_path.iterdir()) == [notebook, temporary]

    def test_a_cell_that_fails_leaves_the_file(self, notebook: Path, capsys) -> None:
        notebook.write_text(notebook.read_text().replace("6 * 7", "6 / 0"))
        before = notebook.read_bytes()
        assert notebooks.main([str(notebook)]) == 1
        assert notebook.read_bytes() == before
        assert "01_test.ipynb" in capsys.readouterr().err
