"""Which Python has vLLM: this one in the runtime image, and perhaps that of the command `vllm` in another image."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

_COMMAND = "vllm"
_LONGEST = 1024


def with_vllm() -> str:
    """Return the Python that has vLLM; this one where no other is known."""
    if importlib.util.find_spec(_COMMAND) is not None:
        return sys.executable
    found = shutil.which(_COMMAND)
    return (found and _python_of(Path(found))) or sys.executable


def _python_of(script: Path) -> str | None:
    """Return the Python in the first line of a script; None if that file does not exist."""
    try:
        with script.open("rb") as file:
            line = file.readline(_LONGEST).decode(errors="replace")
    except OSError:
        return None
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    python = words[0] if words and "python" in Path(words[0]).name else None
    return python if python and Path(python).is_file() else None
