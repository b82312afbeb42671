"""Runs the notebooks in place: ``python -m mxfp4kernels.notebooks``.

Nothing of the run itself is kept, neither times nor the machine's Python, so that a second run
writes the same bytes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .files import REPOSITORY, write_text
from .packages import needed
from .steps import run_step

with needed(__name__):
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

NOTEBOOKS = REPOSITORY / "notebooks"
SECONDS_PER_CELL = 300
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


class NotebookError(RuntimeError):
    """A notebook whose cell failed; the file is left as it was."""


def execute(path: Path) -> str:
    """The notebook with fresh outputs, as the text of its file.

    Raises:
        NotebookError: a cell raised, took too long, or ended the kernel.
        OSError: the file cannot be read.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata = nbformat.from_dict(METADATA)
    with tempfile.TemporaryDirectory(prefix="mxfp4kernels-") as folder:
        # The kernel is the python3 of this environment, started among the notebooks.
        client = NotebookClient(
            notebook,
            timeout=SECONDS_PER_CELL,
            record_timing=False,
            resources={"metadata": {"path": str(path.parent)}},
        )
        # Sockets of our own instead of TCP ports, which any user of the machine could talk to.
        manager = client.create_kernel_manager()
        manager.transport = "ipc"
        manager.ip = f"{folder}/socket"
        manager.connection_file = f"{folder}/kernel.json"
        try:
            client.execute()
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            raise NotebookError(f"{path.name}: {error}") from error
    notebook.metadata = nbformat.from_dict(METADATA)  # the kernel adds its version
    text: str = nbformat.writes(notebook)
    return text.rstrip("\n") + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run all notebooks, or those named; returns an exit code."""
    parser = argparse.ArgumentParser(prog="python -m mxfp4kernels.notebooks", description=__doc__)
    parser.add_argument("notebook", nargs="*", type=Path, help="default: all of notebooks/")
    arguments = parser.parse_args(argv)
    paths = arguments.notebook or sorted(NOTEBOOKS.glob("*.ipynb"))
    return run_step(lambda: map(_run, paths), NotebookError)


def _run(path: Path) -> Path:
    write_text(path, execute(path))
    return path


if __name__ == "__main__":
    sys.exit(main())
