"""The startup probe: a server is up when it has generated in each of three ways, and has speculated.

A healthy /health proves nothing: several broken setups answer it and die at the first real request.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from specdec_engine import metrics
from specdec_engine.methods import LOOKUPS
from specdec_runtime.api import NotAnsweredError, VllmServer

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_OWN_WAYS = {
    "custom_class": "custom_class decides in its own code when to draft",
    "extract_hidden_states": "extract_hidden_states reads the target's states and does not have to draft",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedMethod:
    """method: the speculative method, None for a plain server and where nothing is known.

    excuse: why a healthy server may draft nothing for the probe, or None where it must draft.
    """

    method: str | None = None
    excuse: str | None = None


def read(plan: Path) -> ExpectedMethod:
    """Return what launch's note lets expect; without a note, what the counters show decides."""
    try:
        note = json.loads(plan.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ExpectedMethod()
    method = note.get("method") if isinstance(note, dict) else None
    if not isinstance(method, str):
        return ExpectedMethod()
    return ExpectedMethod(method=method, excuse=_excuse(method, note))


def _excuse(method: str, note: Mapping[str, object]) -> str | None:
    if method in LOOKUPS:
        return f"{method} found no match in the probe's prompt"
    if _idle_when_alone(note.get("schedule")):
        return "the schedule of tokens by batch size drafts no tokens for a single request"
    return _OWN_WAYS.get(method)


def _idle_when_alone(schedule: object) -> bool:
    """Whether a schedule, rows of first batch size, last batch size and tokens, has no tokens for a batch of one."""
    if not isinstance(schedule, list):
        return False
    rows = [row for row in schedule if isinstance(row, list) and len(row) == 3]
    return any(row[0] <= 1 <= row[1] and row[2] == 0 for row in rows)


if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Repeats itself, so that the methods that look drafts up in the prompt find one.
_PROMPT = "one two three four one two three four one two three four one two three four one two"
# The engine reports its counters a moment after it has answered.
_COUNTER_PATIENCE = 0.5
_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_GENERATIONS: Mapping[str, Mapping[str, object]] = {
    "greedy": {"max_tokens": 16, "temperature": 0},
    "sampled": {"max_tokens": 8, "temperature": 0.8, "top_k": 20, "top_p": 0.95},
    "structured": {
        "max_tokens": 8,
        "temperature": 0,
        "response_format": {"type": "json_schema", "json_schema": {"name": "proof", "schema": _SCHEMA}},
    },
}
"""One after the other, so that the one that kills an engine is known. Completions: they need no chat template."""
_OPTIONAL = "structured"
"""A server may refuse it as a request that it does not serve; that takes nothing from the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """Whether the server is up, and one sentence with the reason."""

    ok: bool
    sentence: str


def prove(port: int, seconds: float, plan: Path, key: str | None = None) -> Proof:
    """Ask the server for everything that must work; answer at once where it does not listen yet.

    key: what the server wants as an API key, if any.
    """
    started = time.monotonic()
    server = VllmServer(port=port, deadline=started + seconds, key=key)
    try:
        server.get("/health")
        sentence = _generate(server, read(plan))
    except NotAnsweredError as error:
        return Proof(ok=False, sentence=f"not up: {error}")
    return Proof(ok=True, sentence=f"up: {sentence} ({time.monotonic() - started:.2f} s)")


def _generate(server: VllmServer, expected: ExpectedMethod) -> str:
    """Generate in every way, and return one sentence on the answers and the speculation counters."""
    model = server.served_model()
    before = metrics.total(server.get("/metrics"), metrics.DRAFTS)
    if before is None and expected.method is not None:
        raise NotAnsweredError(
            f"{expected.method} is configured, but /metrics has no {metrics.DRAFTS}: speculation is off, or "
            "--disable-log-stats is set"
        )
    refused = [refusal for name in _GENERATIONS if (refusal := _complete(server, model, name))]
    answered = [name for name in _GENERATIONS if not refused or name != _OPTIONAL]
    sentence = "; ".join([f"{' and '.join(answered)} generation answered", *refused])
    drafted = "no speculation configured" if before is None else _drafted(server, before, expected)
    _still_there(server)
    return f"{sentence}; {drafted}"


def _complete(server: VllmServer, model: str, name: str) -> str | None:
    """Generate in one way; return the server's message if it refuses an optional way."""
    body = {"model": model, "prompt": _PROMPT, **_GENERATIONS[name]}
    try:
        answer = server.post("/v1/completions", body)
    except NotAnsweredError as error:
        if name == _OPTIONAL and error.status == 400:
            return f"{name} generation is not supported by this server: {error}"
        raise NotAnsweredError(f"{name} generation: {error}") from error
    if not answer.get("choices"):
        raise NotAnsweredError(f"{name} generation: /v1/completions answered without a choice")
    return None


def _drafted(server: VllmServer, before: float, expected: ExpectedMethod) -> str:
    """Wait shortly for the draft counter to move, which not every method must do for every prompt."""
    patience = time.monotonic() + _COUNTER_PATIENCE
    drafts = 0.0
    while not drafts and time.monotonic() < patience:
        drafts = (metrics.total(server.get("/metrics"), metrics.DRAFTS) or 0.0) - before
        if not drafts:
            time.sleep(0.1)
    if drafts:
        return f"{drafts:.0f} drafts were verified"
    if expected.excuse:
        return f"no tokens were drafted: {expected.excuse}"
    raise NotAnsweredError(
        f"speculation is configured, but {metrics.DRAFTS} did not increase over {len(_GENERATIONS)} generations"
    )


def _still_there(server: VllmServer) -> None:
    """Some engines die of a request that they have answered."""
    try:
        server.get("/health")
    except NotAnsweredError as error:
        raise NotAnsweredError(f"all generations were answered, and then the engine died: {error}") from error
