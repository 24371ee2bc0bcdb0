"""The liveness probe: finds an engine that hangs, which answers /health with 200 for hours.

While tokens come, or a prompt is taken in, nothing is asked. An engine that shows no progress for a while although
clients wait has to generate one token. Clients are counted too, because the gauges of an engine that hangs are those of
its last step.
"""

from __future__ import annotations

import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_engine import metrics
from specdec_runtime import drain
from specdec_runtime.api import NotAnsweredError, VllmServer

if TYPE_CHECKING:
    from collections.abc import Callable

_SILENCE = 240.0
"""Seconds without progress after which the engine has to generate. Progress shows after each step, and a step of 8192
prompt tokens takes 273 s at 30 tokens per second: the third probe in a row without a token comes after 300 s.
"""
_LAST_LOOK = 3.0
"""Seconds of a probe that are left to look at the progress once more."""
_PROGRESS = (metrics.GENERATED, metrics.PROMPT_TOKENS, metrics.CACHE_IN_USE)
"""What moves with each step, also while a long prompt is taken in: the KV cache fills then."""


def note_path() -> Path:
    """Return where one probe leaves for the next what it saw: each is another process of the same container."""
    return Path(tempfile.gettempdir()) / "specdec-alive.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class LivenessProbe:
    """One look at the server on this host. seconds: how long all of it may take, one generated token included.

    key: what the server wants as an API key, if any. clients: returns the open connections of a port from other hosts.
    """

    port: int
    seconds: float
    key: str | None = None
    clients: Callable[[int], int] = drain.count
    clock: Callable[[], float] = time.monotonic

    def look(self) -> str:
        """Return one sentence on why the engine counts as alive. Raises NotAnsweredError if it does not."""
        end, now = time.monotonic() + self.seconds, self.clock()
        try:
            page = self._server(end).get("/metrics")
        except NotAnsweredError as error:
            return _unanswered(error, now)
        progress = _progress(page)
        known, since = _known()
        if progress != known or since > now:
            _keep(progress, now)
            return "alive: it works"
        if progress[0] is None:
            return f"alive: /metrics has no {_PROGRESS[0]}, so a hang cannot be distinguished from work"
        if now - since < _SILENCE or not (drain.requests(page) or self.clients(self.port)):
            return f"alive: no progress for {now - since:.0f} s"
        return self._proved(progress, now - since, end)

    def _proved(self, progress: list[float | None], silent: float, end: float) -> str:
        try:
            self._generate(end - _LAST_LOOK)
        except NotAnsweredError as error:
            if self._moved(progress, end):  # it worked on another request all the time
                return "alive: it works"
            words = f"no progress for {silent:.0f} s, and no token within {self.seconds:.0f} s: {error}"
            raise NotAnsweredError(words) from error
        return f"alive: it generated after {silent:.0f} s without progress"

    def _moved(self, progress: list[float | None], end: float) -> bool:
        try:
            return _progress(self._server(end).get("/metrics")) != progress
        except NotAnsweredError:
            return False

    def _generate(self, end: float) -> None:
        server = self._server(end)
        server.post("/v1/completions", {"model": server.served_model(), "prompt": _PROMPT, "max_tokens": 1})

    def _server(self, end: float) -> VllmServer:
        return VllmServer(port=self.port, deadline=end, key=self.key)


_PROMPT = "one two three four five six seven eight"
"""More than four tokens: on CPUs with AMX, vLLM 0.32 can end at a shorter first prompt."""


def _unanswered(error: NotAnsweredError, now: float) -> str:
    """Return why a server without metrics counts as alive. Raises the error if it does not: nothing listens, or it has
    not answered for long. An error page is an answer: what is wrong with the metrics is not wrong with the engine.
    """
    if error.status is not None:
        return f"alive: /metrics is not readable, so a hang cannot be distinguished from work: {error}"
    known, since = _known()
    if not isinstance(error.__cause__, TimeoutError) or (known is not None and now - since >= _SILENCE):
        raise error
    if known is None or since > now:
        _keep([], now)
    return f"alive: /metrics was not answered in time: {error}"


def _progress(page: str) -> list[float | None]:
    return [metrics.total(page, family) for family in _PROGRESS]


def _known() -> tuple[object, float]:
    """What the probe before saw, and since when by the monotonic clock; nothing if there was none."""
    try:
        note = json.loads(note_path().read_text(encoding="utf-8"))
        return note["progress"], float(note["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return None, 0.0


def _keep(progress: list[float | None], since: float) -> None:
    """Leave a note. If it cannot be written, each probe is the first one, and no engine is ended."""
    try:
        note_path().write_text(json.dumps({"progress": progress, "since": since}), encoding="utf-8")
    except OSError as error:
        print(f"specdec: {note_path()} cannot be written, so a hang is not found: {error}")
