"""`specdec dial`: the annotation that it sets, and what it waits for."""

from typing import Any

import pytest
from typer.testing import CliRunner

from specdec_command.cli import dial
from specdec_command.cli.commands import application
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.guard.dial import by_hand

NOW = 1_795_000_000.0


@pytest.mark.parametrize(
    ("value", "seconds", "why", "expected"),
    [
        ("off", None, "", "off"),
        ("2", None, "", "2"),
        ("off", 600.0, "", "off until 2026-11-18T11:16:40Z"),
        ("off", 600.0, "too\n slow\x1b", "off until 2026-11-18T11:16:40Z too slow"),
        ("reset", None, "", None),
    ],
)
def test_the_operator_reads_what_the_command_writes(
    value: str, seconds: float | None, why: str, expected: str | None
) -> None:
    """The same tokens, for as long."""
    text = dial.annotation(value, seconds, why, NOW)
    assert text == expected
    request, refused = by_hand(text, 4, NOW)
    assert not refused
    assert (request.tokens if request else None) == (None if value == "reset" else 0 if value == "off" else int(value))
    assert (request.until if request else None) == (seconds and NOW + seconds)


def showing(**status: Any) -> Untrusted:
    """A service with this status."""
    return Untrusted({"status": status})


@pytest.mark.parametrize(
    ("service", "value", "good"),
    [
        (showing(dial={"tokens": 0, "pods": 3, "inForce": 3, "message": "m"}), "off", True),
        (showing(dial={"tokens": 2, "pods": 3, "inForce": 3, "message": "m"}), "2", True),
        (showing(dial={"tokens": 2, "pods": 3, "inForce": 3, "message": "m"}), "off", None),
        (showing(dial={"tokens": 0, "pods": 3, "inForce": 2, "message": "m"}), "off", None),
        (showing(dial={"tokens": 0, "pods": 0, "inForce": 0, "message": "m"}), "off", None),
        (showing(), "off", None),
        (showing(dial={"reason": "Refused", "message": "m"}), "off", False),
        (showing(), "reset", True),
        (showing(dial={"pods": 3, "inForce": 3}), "reset", None),
        (showing(dial={"pods": "many", "inForce": []}), "off", None),
    ],
)
def test_it_is_done_when_every_pod_answers_so(service: Untrusted, value: str, good: bool | None) -> None:
    """A status that cannot be read ends nothing."""
    found = dial.ended(service, value)
    assert (found and found[0]) is good


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"model": {}, "speculation": {"method": "ngram"}}, ""),
        ({"inferenceServiceRef": {"name": "theirs"}}, ""),
        ({"model": {}}, "requests no speculation"),
        ({"deploymentRef": {"name": "theirs"}}, "pods of a Deployment"),
    ],
)
def test_a_spec_shows_that_no_pod_has_a_dial(spec: dict[str, Any], words: str) -> None:
    """A guest's own flags may ask for speculation."""
    found = dial.without_dial(Untrusted({"spec": spec}))
    assert words in found
    assert bool(words) is bool(found)


@pytest.mark.parametrize("words", [["dial"], ["dial", "llama"], ["dial", "llama", "on"], ["dial", "llama", "-1"]])
def test_a_wrong_command_line_is_refused_before_anything_is_asked(words: list[str]) -> None:
    """With the values that it takes."""
    assert CliRunner().invoke(application(), words).exit_code == 2
