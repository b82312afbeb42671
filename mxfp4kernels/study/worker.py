"""The process that runs kernels in the emulator: a request per line, an answer per line, in JSON.

:func:`mxfp4kernels.workers.run_all` starts ``python -m mxfp4kernels.study.worker`` and ends it by
closing its standard input.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .cases import Case
from .measure import measure
from .mutation import mutate
from .timeline import timeline

TASKS: Mapping[str, Callable[[Case, Mapping[str, Any]], dict[str, Any]]] = {
    "verify": lambda case, request: measure(case, request["assemblies"]),
    "mutate": lambda case, request: mutate(case, request["assemblies"][0], request["part"]),
    "timeline": lambda case, request: timeline(case, request["assemblies"][0]),
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a request asks for, or ``error`` and ``details``."""
    try:
        return TASKS[request["task"]](Case.of(request["case"]), request)
    except Exception as error:  # noqa: BLE001  the parent reports it, with its traceback
        what = f"{type(error).__name__}: {error}"
        return {"error": what, "details": traceback.format_exc()}


def main() -> None:
    """Serve requests until the end of standard input."""
    torch.set_num_threads(1)  # sums of float64 in one order, and no core taken from the others
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not end up among the answers
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
