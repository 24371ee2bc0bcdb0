"""The startup probe: a server is up when it has generated, greedily and by sampling, and has speculated.

A healthy /health proves nothing: several broken setups answer it and die at the first real request.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specdec_runtime import counters
from specdec_runtime.api import NotAnsweredError, Server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Repeats itself, so that the methods that look drafts up in the prompt find one.
_PROMPT = "one two three four one two three four one two three four one two three four one two"
_TOKENS = 16
# The engine reports its counters a moment after it has answered.
_COUNTER_PATIENCE = 0.5
_FOUND_BY_LOOKUP = {"ngram", "ngram_gpu", "suffix"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """Whether the server is up, and the one sentence that says why."""

    ok: bool
    sentence: str


def prove(port: int, seconds: float, plan: Path) -> Proof:
    """Ask the server for everything that must work; answer at once where it does not listen yet."""
    started = time.monotonic()
    server = Server(port=port, deadline=started + seconds)
    try:
        server.get("/health")
        drafted = _generate(server, expect_speculation=_method(plan))
    except NotAnsweredError as error:
        return Proof(ok=False, sentence=f"not up: {error}")
    return Proof(ok=True, sentence=f"up: {drafted} ({time.monotonic() - started:.2f} s)")


def _method(plan: Path) -> str | None:
    """Return the method that launch noted, or None where it is plain or unknown."""
    try:
        method = json.loads(plan.read_text(encoding="utf-8")).get("method")
    except (OSError, ValueError, AttributeError):
        return None
    return method if isinstance(method, str) else None


def _generate(server: Server, expect_speculation: str | None) -> str:
    """Generate twice, and return what the speculation counters say about it."""
    model = _served_model(server)
    before = counters.total(server.get("/metrics"), counters.DRAFTS)
    if before is None and expect_speculation is not None:
        raise NotAnsweredError(
            f"{expect_speculation} is configured but /metrics has no {counters.DRAFTS}: "
            "speculation is off, or --disable-log-stats hides it"
        )
    greedy: dict[str, object] = {"temperature": 0}
    sampled: dict[str, object] = {"temperature": 0.8, "top_k": 20, "top_p": 0.95}
    for sampling in (greedy, sampled):
        _complete(server, {"model": model, "prompt": _PROMPT, "max_tokens": _TOKENS, **sampling})
    if before is None:
        return "greedy and sampled generation answered, no speculation configured"
    return _drafted(server, before, expect_speculation)


def _served_model(server: Server) -> str:
    try:
        return str(json.loads(server.get("/v1/models"))["data"][0]["id"])
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise NotAnsweredError("/v1/models names no served model") from error


def _complete(server: Server, body: Mapping[str, object]) -> None:
    answer = server.post("/v1/completions", body)
    if not answer.get("choices"):
        raise NotAnsweredError(f"/v1/completions (temperature {body['temperature']}) answered without a choice")


def _drafted(server: Server, before: float, method: str | None) -> str:
    """Wait shortly for the draft counter to move; only a lookup method may find nothing to draft."""
    patience = time.monotonic() + _COUNTER_PATIENCE
    drafts = 0.0
    while not drafts and time.monotonic() < patience:
        drafts = (counters.total(server.get("/metrics"), counters.DRAFTS) or 0.0) - before
        if not drafts:
            time.sleep(0.1)
    if drafts:
        return f"greedy and sampled generation answered, {drafts:.0f} drafts were verified"
    if method in _FOUND_BY_LOOKUP:
        return f"greedy and sampled generation answered, {method} found nothing to draft in the probe's prompt"
    raise NotAnsweredError(
        f"speculation is configured but {counters.DRAFTS} did not move over {2 * _TOKENS} generated tokens"
    )
