"""What the command's exit codes mean."""

from __future__ import annotations

from collections.abc import Mapping

OK, FAILED, USAGE, MISSING, STORAGE, INTERRUPTED = 0, 1, 2, 3, 4, 130

EXIT_CODES: Mapping[int, str] = {
    OK: "done",
    FAILED: "a check failed: with --check a claim or a tolerance; a compilation, a run, a hazard",
    USAGE: "wrong usage or input: an unknown name, a shape no kernel runs, unreadable assembly",
    MISSING: "something optional is not there: FlyDSL, torch, a linker, a gfx950 device",
    STORAGE: "a file, the cache or the output could not be read or written",
    INTERRUPTED: "interrupted; what was finished is in the cache",
}
