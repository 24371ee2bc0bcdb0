"""Runs specdec_runtime out of the folder that this file lies in: `python3 FOLDER serve ...`, in an image without it.

The folder is put before the image's own PYTHONPATH, for the engine that this process becomes and for its children. A
python3 that is too old for specdec_runtime gives way to the one that has vLLM.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from specdec_runtime.interpreter import with_vllm

_OLDEST = (3, 11)


def run() -> int:
    """Run the command in the arguments; return its exit code."""
    folder = str(Path(__file__).resolve().parent)
    if sys.version_info < _OLDEST and (python := with_vllm()) != sys.executable:
        os.execv(python, [python, folder, *sys.argv[1:]])  # noqa: S606 (no shell on purpose)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    from specdec_runtime.__main__ import main  # noqa: PLC0415 (an older Python cannot read it)

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(run())
