"""Hands the process over to vLLM's OpenAI server with the flags as they came: nothing is added, nothing removed.

One environment variable is dropped if a flag sets the same value: vLLM would take the variable.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_runtime import interpreter, leaving, stop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specdec_runtime.flags import Flags

ENGINE = "specdec_runtime.engine"
_RUNNER = re.compile(r"(VLLM|OMP|ASCEND|CUDA|NVIDIA|HIP|TORCH|PYTORCH)_")
"""Environment variables that change how the engine runs."""
_SECRET = re.compile(r"(?i)\W?(api|hf)[-_]?(key|token)|secret|password|credential")


_CACHE = "VLLM_CPU_KVCACHE_SPACE"
"""The KV cache of a CPU engine in whole GiB, which vLLM takes before --kv-cache-memory-bytes. The runtime's manifest
sets it as the default.
"""


def plan_path() -> Path:
    """Return where launch leaves a note for prove, which runs as another process of the same container."""
    return Path(tempfile.gettempdir()) / "specdec-plan.json"


def plan(flags: Flags, arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, object]:
    """Return what is about to run: what prove has to find in the metrics, and what a person wants from the log."""
    speculation = flags.speculation or {}
    return {
        "method": flags.method,
        "tokens": speculation.get("num_speculative_tokens"),
        "schedule": speculation.get("num_speculative_tokens_per_batch_size"),
        "draft": flags.draft,
        "model": flags.model,
        "environment": {
            name: value
            for name, value in sorted(environment.items())
            if _RUNNER.match(name) and not _SECRET.search(name)
        },
        "command": _without_secrets(command(arguments)),
    }


def _without_secrets(arguments: Sequence[str]) -> list[str]:
    """Return a command line with the values of flags such as --api-key left out."""
    shown: list[str] = []
    hide = False
    for word in arguments:
        name, equals, _ = word.partition("=")
        secret = word.startswith("--") and _SECRET.search(name) is not None
        shown.append("***" if hide else f"{name}=***" if secret and equals else word)
        hide = secret and not equals
    return shown


def write_plan(note: Mapping[str, object], path: Path) -> None:
    """Write the note, and remove the mark that the pod is leaving: the folder may outlive a container."""
    path.write_text(json.dumps(note) + "\n", encoding="utf-8")
    leaving.mark().unlink(missing_ok=True)


def command(arguments: Sequence[str]) -> list[str]:
    """Return the command line of the engine."""
    return [interpreter.with_vllm(), "-m", ENGINE, *arguments]


def start(flags: Flags, arguments: Sequence[str]) -> None:
    """Write one line of what is started, and become vLLM."""
    if flags.cache is not None:
        os.environ.pop(_CACHE, None)
    note = plan(flags, arguments, os.environ)
    try:
        write_plan(note, plan_path())
    except OSError as error:
        print(f"specdec: {plan_path()} cannot be written, so the startup proof uses the metrics: {error}", flush=True)
    print(f"specdec: start {json.dumps(note)}", flush=True)
    stop.keep_for_later()
    words = command(arguments)
    os.execv(words[0], words)  # noqa: S606 (no shell on purpose)
