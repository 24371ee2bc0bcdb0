"""Prompts out of JSON Lines: what is asked, and nothing about how. Pure; the command reads the file."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.errors import Invalid

_KEYS: Final = frozenset({"prompt", "messages"})
_SHOWN: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What one request asks: a text to continue, or the messages of a chat."""

    text: str | None = None
    messages: tuple[Mapping[str, Any], ...] = ()

    @property
    def path(self) -> str:
        """Where the engine takes it."""
        return "/v1/chat/completions" if self.text is None else "/v1/completions"

    @property
    def body(self) -> dict[str, Any]:
        """Its part of the request."""
        return {"messages": list(self.messages)} if self.text is None else {"prompt": self.text}


def parse(text: str, source: str) -> tuple[Prompt, ...]:
    """The prompts in a text of JSON Lines. Raises Invalid with the source, the line's number and the rule."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise Invalid(source, text[:_SHOWN], "has no prompt; write one JSON object per line")
    return tuple(_prompt(line, f"{source}:{number}") for number, line in lines)


def digest(prompts: tuple[Prompt, ...]) -> str:
    """Twelve hex digits that identify a list of prompts."""
    return hashlib.sha256(json.dumps([each.body for each in prompts], sort_keys=True).encode()).hexdigest()[:12]


def _prompt(line: str, where: str) -> Prompt:
    shown = line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
    try:
        row = json.loads(line)
    except ValueError as error:
        raise Invalid(where, shown, f"is not JSON ({error}); each line must be one object") from error
    if not isinstance(row, dict) or len(row.keys() & _KEYS) != 1:
        raise Invalid(where, shown, 'must be {"prompt": "..."} or {"messages": [...]}')
    if others := sorted(row.keys() - _KEYS):
        rule = f"also has {', '.join(others)}; all requests have the same settings, so a line must have only the prompt"
        raise Invalid(where, shown, rule)
    return _of_text(row["prompt"], where) if "prompt" in row else _of_messages(row["messages"], where)


def _of_text(text: object, where: str) -> Prompt:
    if not isinstance(text, str) or not text:
        raise Invalid(f"{where} prompt", text, "must be text that is not empty")
    return Prompt(text=text)


def _of_messages(messages: object, where: str) -> Prompt:
    if not isinstance(messages, list) or not messages:
        raise Invalid(f"{where} messages", messages, "must be a list with at least one message")
    for index, each in enumerate(messages):
        if not isinstance(each, dict) or not isinstance(each.get("role"), str) or not each.get("content"):
            raise Invalid(f"{where} messages[{index}]", each, 'must be {"role": "user", "content": "..."}')
    return Prompt(messages=tuple(messages))
