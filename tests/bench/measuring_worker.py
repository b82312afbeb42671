"""A measuring process for tests: simulated rounds, and failures as asked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from mxfp4kernels.bench.cases import Case
from mxfp4kernels.bench.device import NoDevice
from mxfp4kernels.bench.fake import FakeDevice
from mxfp4kernels.bench.procedure import Procedure
from mxfp4kernels.bench.session import InProcess
from mxfp4kernels.bench.simulation import FakeWorkload
from mxfp4kernels.bench.worker import serve

ENVIRONMENT = {
    "name": "simulated",
    "arch": "simulated",
    "compute_units": 1,
    "cache_bytes": 1,
    "max_clock_mhz": None,
    "driver": "",
    "runtime": "",
    "torch": "",
    "flydsl": "",
    "commit": "",
}


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    if "case" not in request:
        return {"environment": ENVIRONMENT}
    case = Case.from_json(request["case"])
    if case.seed == 666:
        raise ValueError("this seed fails")
    if case.seed == 667:
        os._exit(9)
    if case.seed == 668:
        raise NoDevice("it was there a moment ago")
    print("noise on standard output")
    seconds = {setting.label: 40e-6 for setting in case.settings}
    device = FakeDevice(seed=sum(request["numbers"]))
    runner = InProcess(
        device,
        lambda _: FakeWorkload(device, seconds),
        Procedure(**request["procedure"]),
        ENVIRONMENT,
    )
    records = list(runner.measure(case, request["numbers"]))
    if case.seed == 665 and request["numbers"] == [1]:
        check = records[-1]["checks"][case.labels[2]]
        check.update(passed=False, mismatches=9, report="inputs were overwritten")
    return {"records": [{**record, "process": os.getpid()} for record in records]}


if __name__ == "__main__":
    serve(answer)
