"""One streamed answer: which piece is the first token, which the last, and when the answer does not count."""

import json
from typing import Any

import pytest

from specdec_command.measure.answer import Answer, AnswerStream
from specdec_command.measure.benchmark import Unanswered

USAGE = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 4}}


def line(event: Any) -> bytes:
    return f"data: {json.dumps(event)}\n".encode()


def text(piece: str) -> bytes:
    return line({"choices": [{"text": piece}]})


def chat(**delta: Any) -> bytes:
    return line({"choices": [{"delta": delta}]})


def collected(*lines: bytes) -> Answer:
    stream = AnswerStream()
    for at, each in enumerate(lines, 1):
        stream.take(each, float(at))
    return stream.answer()


def test_times_are_of_the_first_and_the_last_piece() -> None:
    """The usage and the end come after the last token and do not count; an empty piece is a token all the same."""
    found = collected(text(""), b"\n", text("ab"), text("c"), line(USAGE), b"data: [DONE]\n")
    assert found == Answer(text="abc", tokens=4, prompt_tokens=5, first=1, last=4)
    assert found.per_token == 1


def test_the_greeting_of_a_chat_does_not_count_as_a_token() -> None:
    """It carries the role and nothing else. Tokens of reasoning count."""
    found = collected(
        chat(role="assistant", content=""),
        chat(reasoning_content="hm"),
        chat(content="ok"),
        line(USAGE),
        b"data: [DONE]\n",
    )
    assert (found.text, found.first, found.last) == ("hmok", 2, 3)


def test_one_token_has_no_time_per_token() -> None:
    usage = {"choices": [], "usage": {"completion_tokens": 1}}
    assert collected(text("a"), line(usage), b"data: [DONE]\n").per_token is None


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ((text("a"), line(USAGE)), "ended early, after 1 chunks"),
        ((line(USAGE), b"data: [DONE]\n"), "ended early, after 0 chunks"),
        ((text("a"), b"data: [DONE]\n"), "has no usage"),
        ((b"data: {\n",), "not a JSON object"),
        ((b"data: 3\n",), "not a JSON object"),
        ((line({"error": {"message": "out of memory"}}),), "out of memory"),
    ],
)
def test_half_an_answer_does_not_count(lines: tuple[bytes, ...], words: str) -> None:
    """It would look like a fast one."""
    with pytest.raises(Unanswered, match=words):
        collected(*lines)
