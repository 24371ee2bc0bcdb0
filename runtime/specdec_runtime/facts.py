"""Serves GET /specdec/facts: what preflight saw of the engine, the models and the device, and how much memory is taken.
And GET /specdec/dial, beside it.

The operator plans the memory of the next rollout with the facts. A page of the server needs no permission that the pod
does not have.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_runtime.clock import alone
from specdec_runtime.dial import files as dial
from specdec_runtime.preflight import device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specdec_runtime.leaving import App, Message, Receive, Send
    from specdec_runtime.preflight.artifact import ModelFolder
    from specdec_runtime.preflight.case import PreflightCase

PATH: Final = "/specdec/facts"
DIAL: Final = "/specdec/dial"
_MOST_WORDS: Final = 200
"""The most characters of a value that is shown: no key that decides about memory or methods has longer values."""
_MOST_BYTES: Final = 256 * 1024
_HEADERS: Final = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]


def path() -> Path:
    """Return where serve leaves what it saw, for the server that the process becomes."""
    return Path(tempfile.gettempdir()) / "specdec-facts.json"


def facts(case: PreflightCase) -> dict[str, object]:
    """Return what is known: the engine, of each model the bytes of its tensors and its config.json, of the device its
    bytes.
    """
    models = {each.role.lower(): known for each in case.artifacts if (known := _model(each))}
    memory, accelerator = case.around.memory, case.around.accelerator
    place = {"accelerator": accelerator.value} if accelerator else {}
    engine = {"engine": case.around.found} if case.around.found else {}
    return {"models": models, **place, **engine} | ({"device": memory.total} if memory else {})


def _model(artifact: ModelFolder) -> dict[str, object]:
    if not artifact.tensors or artifact.config is None:
        return {}
    size = sum(each.end - each.begin for each in artifact.tensors.values())
    return {"bytes": size, "config": _short(artifact.config.document)}


def _short(document: Mapping[str, object]) -> dict[str, object]:
    """Return a config.json without private keys and long texts: these are templates, and paths of the model's
    author.
    """
    shown: dict[str, object] = {}
    for key, value in document.items():
        if key.startswith("_") or (isinstance(value, str) and len(value) > _MOST_WORDS):
            continue
        shown[key] = _short(value) if isinstance(value, dict) else value
    return shown


def in_use(accelerator: str | None) -> int | None:
    """Return the bytes that are taken: now on the fullest device, at most of a container. None where it is not known.

    An engine's allocator gives nothing back, so what is taken now is about what was taken at most.
    """
    if accelerator == Accelerator.NVIDIA:
        memory = device.nvidia()
        return memory.total - memory.free if memory else None
    return device.most_taken() if accelerator == Accelerator.CPU else None


def leave(case: PreflightCase | None) -> None:
    """Write what is known, or take away what an earlier start left. A folder that cannot be written costs the facts."""
    try:
        text = json.dumps(facts(case)) if case else ""
        if 0 < len(text) <= _MOST_BYTES:
            path().write_text(f"{text}\n", encoding="utf-8")
        else:
            path().unlink(missing_ok=True)
    except (OSError, RecursionError) as error:
        print(f"specdec: {path()} cannot be written, so the operator plans without it: {error}", flush=True)


def _show_steps() -> None:
    """Have /metrics show the engine's steps. A server without a registry goes on without them."""
    try:
        from specdec_runtime.clock import collector  # noqa: PLC0415 - only inside vLLM

        collector.register()
    except Exception as error:
        print(f"specdec: /metrics does not show the engine's steps: {error!r}", flush=True)


class Facts:
    """A middleware of vLLM's server that answers the two paths, and passes on all else."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._path = path()
        self._pages = {PATH: self._read, DIAL: dial.page}
        if dial.mounted() or alone.wanted():
            _show_steps()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer or pass on one request."""
        page = self._pages.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if page is None:
            await self._app(scope, receive, send)
            return
        start: dict[str, Any] = {"type": "http.response.start", "status": 200, "headers": _HEADERS}
        await send(start)
        await send({"type": "http.response.body", "body": page()})

    def _read(self) -> bytes:
        try:
            known = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return b"{}"
        taken = in_use(known.get("accelerator"))
        return json.dumps(known if taken is None else {**known, "used": taken}).encode()
