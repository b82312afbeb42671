"""Processes that answer, fail, die and are stopped, without FlyDSL."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mxfp4kernels.workers import Worker, WorkerError, run_all

ENVIRONMENT = dict(os.environ)
MODULE = "echo_worker"


def ask_all(requests, count=2):
    return dict(run_all(requests, count, ENVIRONMENT, MODULE))


def test_every_request_is_answered_once() -> None:
    answers = ask_all({n: {"do": "echo", "value": n} for n in range(20)})
    assert answers == {n: {"value": n} for n in range(20)}


def test_processes_are_used_again_and_in_parallel() -> None:
    answers = ask_all({n: {"do": "pid", "wait": 0.1} for n in range(8)}, count=2)
    assert len({answer["value"] for answer in answers.values()}) == 2


def test_a_failure_carries_traceback_and_stderr_of_its_own_request() -> None:
    answers = ask_all(
        {
            "fine": {"do": "write", "text": "noise of another request\n"},
            "bad": {"do": "fail", "text": "words of the compiler\n"},
        },
        count=1,
    )
    error = answers["bad"]
    assert isinstance(error, WorkerError)
    assert str(error) == "failed as asked"
    assert "the traceback" in error.details
    assert "words of the compiler" in error.details
    assert "noise" not in error.details


@pytest.mark.parametrize(
    ("how", "ending"), [("abort", "SIGABRT"), ("kill", "SIGKILL"), ("exit", "exit status 7")]
)
def test_a_process_that_dies_fails_its_request_and_no_other(how: str, ending: str) -> None:
    requests = {n: {"do": "echo", "value": n} for n in range(6)}
    requests[3] = {"do": how, "text": "last words\n"}
    answers = ask_all(requests, count=1)
    error = answers.pop(3)
    assert isinstance(error, WorkerError)
    assert ending in str(error)
    assert "last words" in error.details
    assert error.last_words == "last words"
    assert str(error).endswith(f"{ending}: last words")
    assert answers == {n: {"value": n} for n in range(6) if n != 3}


def test_process_that_cannot_start() -> None:
    answers = dict(run_all({0: {}}, 1, ENVIRONMENT, "no_such_module_for_a_worker"))
    assert "exit status 1" in str(answers[0])
    assert "no_such_module_for_a_worker" in answers[0].details


def test_leaving_early_ends_the_processes(tmp_path: Path) -> None:
    requests = {n: {"do": "pid", "wait": 0 if n == 0 else 60} for n in range(4)}
    began = time.monotonic()
    running = run_all(requests, 2, ENVIRONMENT, MODULE)
    name, answer = next(running)
    assert name == 0
    running.close()
    assert time.monotonic() - began < 20
    with pytest.raises(ProcessLookupError):
        os.kill(answer["value"], 0)


def test_stopped_worker_refuses_at_once_and_while_asked() -> None:
    worker = Worker(ENVIRONMENT, MODULE)
    worker.ask({"do": "echo", "value": 1})
    timer = threading.Timer(0.2, worker.stop)
    timer.start()
    with pytest.raises(WorkerError, match="SIGKILL"):
        worker.ask({"do": "pid", "wait": 60})
    with pytest.raises(WorkerError, match="stopped"):
        worker.ask({"do": "echo", "value": 1})
    worker.close()


PARENT = f"""
import os
from mxfp4kernels.workers import run_all
requests = {{0: {{"do": "pid"}}, 1: {{"do": "pid", "wait": 60}}}}
for _, answer in run_all(requests, 1, dict(os.environ), "{MODULE}"):
    print(answer["value"], flush=True)
"""


def is_running(pid: int) -> bool:
    """Whether the process is there and has not ended, collected or not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a service of Linux")
def test_a_killed_parent_takes_its_busy_workers_along() -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert is_running(worker)
    parent.kill()
    parent.communicate()
    began = time.monotonic()
    while is_running(worker):
        assert time.monotonic() - began < 20, "the request under way takes 60 s"
        time.sleep(0.05)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a service of Linux")
def test_a_worker_whose_parent_died_before_it_could_ask_does_nothing() -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"],
                          stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    started = subprocess.run(
        [sys.executable, "-m", "mxfp4kernels.workers", MODULE, gone.stdout.strip()],
        input='{"do": "pid"}\n',
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert (started.returncode, started.stdout) == (1, "")
    assert "which started this one, is gone" in started.stderr
