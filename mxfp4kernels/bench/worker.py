"""A process that measures rounds as lines of JSON ask for it: ``--fresh-process``.

One request, one line with an answer: ``{"environment": ...}`` without a case, else
``{"records": [...]}``; or ``{"error": ..., "details": ...}``.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..cache import Cache
from ..workers import Worker, WorkerError
from .cases import Case
from .device import NoDevice, RoundFailed
from .procedure import Procedure

MODULE = "mxfp4kernels.bench.worker"


class FreshProcesses:
    """A runner whose rounds each have a process of their own.

    Args:
        procedure: how to measure.
        cache: of compiled kernels.
        baselines: where the functions of other implementations are, by name.
        module: what the processes run.
    """

    def __init__(
        self,
        procedure: Procedure,
        cache: Path | None,
        baselines: Mapping[str, str],
        module: str = MODULE,
    ) -> None:
        self._common = {
            "procedure": procedure.as_json(),
            "cache": None if cache is None else str(cache),
            "baselines": dict(baselines),
        }
        self._module = module

    def environment(self) -> Mapping[str, Any]:
        """The device and its software, as a process of its own sees them."""
        found: Mapping[str, Any] = self._ask({})["environment"]
        return found

    def measure(self, case: Case, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        """See :meth:`.session.Runner.measure`."""
        for request in [[number] for number in numbers] or [[]]:
            yield from self._ask({"case": case.as_json(), "numbers": request})["records"]

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        worker = Worker(os.environ, self._module)
        try:
            return worker.ask({**self._common, **request})
        except WorkerError as error:
            kind, _, message = str(error).partition(": ")
            if kind == NoDevice.__name__:
                raise NoDevice(message) from error
            raise RoundFailed(str(error), error.details) from error
        finally:
            worker.close()


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a request asks for, measured on the device.

    Raises:
        NoDevice: there is none that the kernels run on.
        Absent: a baseline that was there when the run began is not.
    """
    from ..compiler import Compiler
    from .baselines import bind
    from .live import Live
    from .torch_device import require_gfx950

    procedure = Procedure(**request["procedure"])
    cache = Cache(None if request["cache"] is None else Path(request["cache"]))
    bindings = {name: bind(name, where) for name, where in request["baselines"].items()}
    runner = Live(require_gfx950(), procedure, Compiler(cache), bindings).runner()
    if "case" not in request:
        return {"environment": dict(runner.environment())}
    return {"records": list(runner.measure(Case.from_json(request["case"]), request["numbers"]))}


def serve(answer_to: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
    """Answer requests until the end of standard input."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what kernels print must not end up among the answers
    for line in sys.stdin:
        try:
            reply = answer_to(json.loads(line))
        except Exception as error:  # noqa: BLE001  the parent reports it, whatever it is
            reply = {
                "error": f"{type(error).__name__}: {error}",
                "details": traceback.format_exc(),
            }
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    serve(answer)
