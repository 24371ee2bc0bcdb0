"""Hands the process over to vLLM's OpenAI server with the flags as they came: nothing is added, nothing removed."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specdec_runtime.flags import Flags

SERVER = "vllm.entrypoints.openai.api_server"


def plan_path() -> Path:
    """Return where launch leaves a note for prove, which runs as another process of the same container."""
    return Path(tempfile.gettempdir()) / "specdec-plan.json"


def write_plan(flags: Flags, path: Path) -> None:
    """Leave the note: what prove has to find in the metrics."""
    tokens = (flags.speculation or {}).get("num_speculative_tokens")
    path.write_text(json.dumps({"method": flags.method, "tokens": tokens}) + "\n", encoding="utf-8")


def command(arguments: Sequence[str]) -> list[str]:
    """Return the command line of vLLM."""
    return [sys.executable, "-m", SERVER, *arguments]


def start(flags: Flags, arguments: Sequence[str]) -> None:
    """Write one line of what is started, and become vLLM."""
    try:
        write_plan(flags, plan_path())
    except OSError as error:
        print(f"specdec: {plan_path()} cannot be written, prove will go by the metrics: {error}", flush=True)
    print(f"specdec: start method={flags.method or 'none'} command={json.dumps(command(arguments))}", flush=True)
    sys.stdout.flush()
    os.execv(sys.executable, command(arguments))  # noqa: S606 (no shell on purpose)
