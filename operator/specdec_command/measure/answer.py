"""One streamed answer: what arrived, and when. Reads the server-sent events of the OpenAI API as vLLM sends them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_command.measure.benchmark import Unanswered

_DATA: Final = b"data:"
_END: Final = b"[DONE]"
_TEXTS: Final = ("content", "reasoning_content", "reasoning")
"""The fields of a chat answer with text. Models that think first put their thoughts in one of the latter two."""
_MOST_WORDS: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. first, last: seconds from sending the request to its first and its last token.

    tokens: completion tokens by the engine's own count; prompt_tokens: those of the prompt.
    """

    text: str
    tokens: int
    prompt_tokens: int
    first: float
    last: float

    @property
    def per_token(self) -> float | None:
        """Seconds per output token after the first; None for an answer of one token."""
        return (self.last - self.first) / (self.tokens - 1) if self.tokens > 1 else None


class AnswerStream:
    """Collects the lines of one streamed answer, each with the time since the request was sent."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._first: float | None = None
        self._last = 0.0
        self._usage: Mapping[str, Any] = {}
        self._ended = False

    def take(self, line: bytes, at: float) -> None:
        """One line that arrived `at` seconds after the request was sent. Raises Unanswered for an error in it."""
        if not line.startswith(_DATA):
            return
        event_text = line.removeprefix(_DATA).strip()
        if event_text == _END:
            self._ended = True
            return
        event = _event(event_text)
        self._usage = event.get("usage") or self._usage
        for choice in event.get("choices", ()):
            self._take_choice(choice, at)

    def answer(self) -> Answer:
        """The whole answer. Raises Unanswered where the stream broke off."""
        if not self._ended or self._first is None:
            raise Unanswered("StreamBroken", f"the answer ended early, after {len(self._texts)} chunks")
        if "completion_tokens" not in self._usage:
            raise Unanswered(
                "NoUsage", "the answer has no usage: the engine does not support stream_options.include_usage"
            )
        return Answer(
            text="".join(self._texts),
            tokens=int(self._usage["completion_tokens"]),
            prompt_tokens=int(self._usage.get("prompt_tokens", 0)),
            first=self._first,
            last=self._last,
        )

    def _take_choice(self, choice: Mapping[str, Any], at: float) -> None:
        delta = choice.get("delta")
        text = choice.get("text", "") if delta is None else "".join(delta.get(key) or "" for key in _TEXTS)
        if delta and "role" in delta and not text:
            return  # the greeting of a chat answer, which carries no token
        self._texts.append(text)
        self._last = at
        if self._first is None:
            self._first = at


def _event(text: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(text)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise Unanswered("StreamBroken", f"a chunk of the answer is not a JSON object: {text[:_MOST_WORDS]!r}")
    if "error" in event:
        raise Unanswered("EngineError", f"the engine reports: {str(event['error'])[:_MOST_WORDS]}")
    return event
