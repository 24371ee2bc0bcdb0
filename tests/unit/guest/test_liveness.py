"""Whether a guest's own liveness probe may notice that its engine hangs."""

from typing import Any

import pytest
from tests.unit.builders import found, make_state

from specdec_operator.guest.flags import engine_of
from specdec_operator.guest.liveness import notices_hangs, unnoticed_text
from specdec_operator.report.status import warning_of


@pytest.mark.parametrize(
    ("probe", "notices"),
    [
        (None, False),
        ({}, False),
        ({"tcpSocket": {"port": 8080}}, False),
        ({"httpGet": {"port": 8080}}, False),
        ({"httpGet": {"path": "/health", "port": 8080}}, False),
        ({"httpGet": {"path": "/v1/models/", "port": 8080}}, False),
        ({"httpGet": {"path": "/ping?x=1", "port": 8080}}, False),
        ({"httpGet": {"path": "/generates", "port": 9090}}, True),
        ({"exec": {"command": ["python3", "-m", "specdec_runtime", "alive"]}}, True),
        ("a text", False),
        ({"httpGet": "a text"}, False),
    ],
)
def test_vllm_answers_these_while_it_hangs(probe: Any, *, notices: bool) -> None:
    """What a command or a path of another program does is not known: it may notice."""
    container = {"name": "vllm", "image": "vllm/vllm-openai:v0.33.0"} | (
        {} if probe is None else {"livenessProbe": probe}
    )
    assert notices_hangs(container) is notices
    engine = engine_of({"containers": [container]})
    assert engine is not None
    assert engine.notices_hangs is notices


def test_a_guest_without_such_a_probe_is_warned_of_it() -> None:
    """Beside what the rules warn of."""
    words = unnoticed_text("vllm")
    assert "container vllm" in words
    assert warning_of(found(make_state(), unprobed=words)).endswith(words)
    assert "hangs" not in warning_of(found(make_state()))
