"""Runs vLLM's OpenAI server in this process, and reports how it ended: vLLM itself exits with 0 when its engine has
died.

vLLM's child processes import this module again; it is light, and does nothing there.
"""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import sys
import traceback
from typing import TYPE_CHECKING

from specdec_engine.exit_codes import DIED
from specdec_engine.out_of_memory import OUT_OF_MEMORY, ran_out
from specdec_runtime import notes, sentence, witness
from specdec_runtime.refusal import Refusal, log
from specdec_runtime.stop import STOP, interrupt_start, watch_handlers

if TYPE_CHECKING:
    from collections.abc import Sequence

_SERVER = "vllm.entrypoints.launchers.api_server.entry"
_OLDER_SERVER = "vllm.entrypoints.openai.api_server"
"""Where vLLM's server is. The older place still works in 0.32, as deprecated."""
_SECONDARY = ("Engine core initialization failed", "Engine process failed", "EngineCore encountered an issue")
"""Messages of vLLM's server after another of its processes failed and logged the cause."""


def main(arguments: Sequence[str]) -> int:
    """Serve until the end; return 0 for an asked stop and 70 for a dead engine.

    If vLLM does not start, the cause is logged and vLLM's exception is raised again: Python then ends with vLLM's own
    code.
    """
    notes.forget()
    interrupt_start()
    watch_handlers()
    try:
        _serve(arguments)
    except BaseException as error:
        if STOP.served:
            traceback.print_exc()
        elif not isinstance(error, SystemExit) or error.code:
            log(start_failed(error))
            raise
    if STOP.asked or not STOP.served:
        return 0
    log(died())
    return DIED


def _serve(arguments: Sequence[str]) -> None:
    """Become vLLM's server: by its function where it has one, else by its module."""
    sys.argv = ["vllm", *arguments]
    if run := getattr(importlib.import_module(_SERVER), "main", None) if _there(_SERVER) else None:
        run()
    else:
        runpy.run_module(_OLDER_SERVER, run_name="__main__")


def _there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def start_failed(error: BaseException) -> Refusal:
    """Return why the server did not start: the cause, in whichever process it was."""
    own = sentence.of(error)
    cause = witness.cause() if any(each in own for each in _SECONDARY) else None
    return _ended("EngineStartFailed", f"the engine did not start: {cause or own}")


def died() -> Refusal:
    """Return why the engine died while it served."""
    cause = witness.cause() or "one of its processes ended without a log line: it was killed or ran out of memory"
    return _ended("EngineDied", f"the engine died while serving: {cause}")


def _ended(reason: str, message: str) -> Refusal:
    return Refusal(reason=OUT_OF_MEMORY if ran_out(message) else reason, field="", message=message)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
