"""A worker process for tests: does what the request says."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

for line in sys.stdin:
    request = json.loads(line)
    time.sleep(request.get("wait", 0))
    sys.stderr.write(request.get("text", ""))
    sys.stderr.flush()
    answer = {"value": request.get("value")}
    if request["do"] == "pid":
        answer = {"value": os.getpid()}
    elif request["do"] == "fail":
        answer = {"error": "failed as asked", "details": "the traceback\n"}
    elif request["do"] == "abort":
        os.abort()
    elif request["do"] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif request["do"] == "exit":
        os._exit(7)
    print(json.dumps(answer), flush=True)
