"""A pool of processes that answer lines of JSON, and what happens when one of them dies.

Not :mod:`concurrent.futures`: its processes import the caller's ``__main__``, which a notebook or a
script without a guard does not survive, and one that dies takes the results of all with it.

A process is ``python -m mxfp4kernels.workers MODULE PID``, which has the system end it with the
process PID that started it, and then runs MODULE.
"""

from __future__ import annotations

import ctypes
import json
import os
import queue
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

MODULE = "mxfp4kernels.offline"

Name = TypeVar("Name", bound=Hashable)


class WorkerError(RuntimeError):
    """A request that failed.

    ``details`` is the traceback or what a dead process had written, ``last_words`` the last line
    that a dead process wrote.
    """

    def __init__(self, message: str, details: str, last_words: str = "") -> None:
        super().__init__(message)
        self.details = details
        self.last_words = last_words


class Worker:
    """One process; it starts with its first request, and anew after it died.

    On Linux it ends with the thread that made the request it started with.
    """

    def __init__(self, environment: Mapping[str, str], module: str = MODULE) -> None:
        self._environment = dict(environment, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        self._command = [sys.executable, "-m", __name__, module, str(os.getpid())]
        self._process: subprocess.Popen[str] | None = None
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        self._stopped = False
        self._lock = threading.Lock()  # between starting the process and stopping it

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            WorkerError: the process reports a failure, or died.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        written = self._stderr_size()
        line = ""
        with suppress(BrokenPipeError):  # dead already; what it wrote says why
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith("\n"):
            how = _ending(process.wait())
            said = self._stderr_from(written)
            last = (said.strip().splitlines() or [""])[-1]
            colon = ": " if last else ""
            raise WorkerError(f"the compiling process ended with {how}{colon}{last}", said, last)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            details = answer["details"] + self._stderr_from(written)
            raise WorkerError(answer["error"], details)
        return answer

    def stop(self) -> None:
        """End the process at once; a request under way fails, and so does every later one."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.kill()

    def close(self) -> None:
        """Stop, and give back what the process held."""
        self.stop()
        if self._process is not None:
            _reap(self._process)
        self._stderr.close()

    def _started(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise WorkerError("stopped", "")
            if self._process is not None and self._process.poll() is not None:
                _reap(self._process)
                self._process = None
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=self._environment,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for the parent, which stops its workers
                )
            return self._process

    def _stderr_size(self) -> int:
        return os.fstat(self._stderr.fileno()).st_size

    def _stderr_from(self, start: int) -> str:
        # pread: the process writes at the offset that it shares with this end.
        text = os.pread(self._stderr.fileno(), self._stderr_size() - start, start)
        return text.decode(errors="replace")


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"


def _reap(process: subprocess.Popen[str]) -> None:
    with suppress(BrokenPipeError):  # a request it did not live to read
        process.__exit__(None, None, None)


def run_all(
    requests: Mapping[Name, Mapping[str, Any]],
    count: int,
    environment: Mapping[str, str],
    module: str = MODULE,
) -> Iterator[tuple[Name, dict[str, Any] | WorkerError]]:
    """Answers as they come in, from at most ``count`` processes.

    Leaving the iteration early, by Ctrl-C for one, ends the processes.
    """
    waiting: queue.SimpleQueue[tuple[Name, Mapping[str, Any]]] = queue.SimpleQueue()
    for item in requests.items():
        waiting.put(item)
    answers: queue.SimpleQueue[tuple[Name, dict[str, Any] | WorkerError]] = queue.SimpleQueue()

    def serve(worker: Worker) -> None:
        with suppress(queue.Empty):
            while True:
                name, request = waiting.get_nowait()
                try:
                    answers.put((name, worker.ask(request)))
                except WorkerError as error:
                    answers.put((name, error))

    workers = [Worker(environment, module) for _ in range(min(count, len(requests)))]
    threads = [threading.Thread(target=serve, args=(worker,), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        for _ in requests:
            yield answers.get()
    finally:
        for worker in workers:
            worker.stop()
        for thread in threads:
            thread.join()
        for worker in workers:
            worker.close()


# --- in the process ------------------------------------------------------------------------------

PR_SET_PDEATHSIG = 1
"""Source: prctl(2)."""


def end_with(parent: int) -> None:
    """Let the system kill this process when ``parent``, which started it, dies (Linux only).

    Elsewhere it ends once it has answered its request and finds its standard input closed.

    Raises:
        OSError: the system refuses.
    """
    if not sys.platform.startswith("linux"):
        return
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"prctl(PR_SET_PDEATHSIG): {os.strerror(error)}")
    if os.getppid() != parent:  # dead before the system was asked
        sys.exit(f"process {parent}, which started this one, is gone")


if __name__ == "__main__":
    _, _module, _parent = sys.argv
    end_with(int(_parent))
    runpy.run_module(_module, run_name="__main__", alter_sys=True)
