"""Notes why an engine dies, in whichever of its processes that happens: vLLM writes the cause only to the log.

A vLLM general plugin, loaded in each process. Its server logs "Engine core initialization failed. See root cause
above." or EngineDeadError and exits with 0; the cause is an error that another process has logged before.
"""

from __future__ import annotations

import json
import logging
import time

from specdec_runtime import notes, sentence

_LOG = logging.getLogger("vllm")
_FATAL = ("EngineCore ", "WorkerProc ", "Worker proc ", "Engine core proc ")
"""How vLLM's sentences about the death of a process begin, the same since 0.11."""
_WINDOW = 10.0
"""Seconds between a cause and its last consequence. Older errors were survived, such as a LoRA that did not load."""
_LIMIT = 64 * 1024
"""Bytes of notes. One death writes a handful of lines of at most 4 KB."""


def register() -> None:
    """Listen to vLLM's log. It never raises: vLLM would not start."""
    if not any(isinstance(each, _Witness) for each in _LOG.handlers):
        _LOG.addHandler(_Witness(logging.ERROR))


def cause() -> str | None:
    """Return the sentence of the first error of those that came last together, or None where none was noted."""
    try:
        lines = [json.loads(line) for line in notes.path(notes.ERRORS).read_text(encoding="utf-8").splitlines()]
        return next((str(each["said"]) for each in lines if lines[-1]["at"] - each["at"] <= _WINDOW), None)
    except (OSError, ValueError, KeyError, TypeError):
        return None


class _Witness(logging.Handler):
    """Writes one line for each error that ends a process."""

    def emit(self, record: logging.LogRecord) -> None:
        """Note a record, or leave it: an error here must not become one of the engine's."""
        try:
            message = record.getMessage()
            if message.startswith(_FATAL):
                error = record.exc_info[1] if record.exc_info else None
                _note(sentence.of(error) if error else sentence.tidy(message))
        except Exception:
            self.handleError(record)


def _note(message: str) -> None:
    line = json.dumps({"at": time.time(), "said": message})
    path = notes.path(notes.ERRORS)
    full = path.exists() and path.stat().st_size > _LIMIT
    # One write of one line: processes append at once, and lines stay whole.
    with path.open("w" if full else "a", encoding="utf-8") as file:
        file.write(f"{line}\n")
