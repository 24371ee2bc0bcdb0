"""A liveness probe of what is imported: kept, at the port of the engine, or listed."""

from typing import Any

import pytest

from specdec_command.importing.liveness import kept_probe

WHERE = "spec.predictor.model.livenessProbe"


@pytest.mark.parametrize(
    ("probe", "kept"),
    [
        ({"httpGet": {"path": "/v1/completions", "port": 8080}}, None),
        ({"httpGet": {"path": "/live"}}, None),
        ({"httpGet": {"path": "/live", "port": "http1"}, "periodSeconds": 5}, {"path": "/live", "port": 8080}),
        ({"tcpSocket": {"port": 8000}}, {"port": 8080}),
        ({"grpc": {"port": 8000, "service": "s"}}, {"port": 8080, "service": "s"}),
    ],
)
def test_a_probe_asks_at_the_port_of_the_engine(probe: dict[str, Any], kept: dict[str, Any] | None) -> None:
    """The other port is named, and everything else stays."""
    (kind,) = probe.keys() - {"periodSeconds"}
    found = kept_probe(probe, WHERE)
    assert found.probe == probe | ({kind: kept} if kept else {})
    assert [each.field for each in found.replaced] == (
        [f"{WHERE}.{kind}.port ({probe[kind]['port']})"] if kept is not None else []
    )
    assert not found.lost


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["curl", "-f", "http://localhost:8080/live"], True),
        (["python3", "/probe.py"], True),
        (["sh", "-c", "curl -f http://127.0.0.1:8000/live"], False),
        (["probe", "--port=8000"], False),
        (["probe", "--port", "8000"], False),
        (["curl", "http://metrics.example:9090/"], True),
    ],
)
def test_a_command_is_kept_unless_it_asks_at_another_port_of_the_pod(command: list[str], kept: bool) -> None:
    """At that port nothing listens, and the kubelet would end each engine."""
    probe = {"exec": {"command": command}}
    found = kept_probe(probe, WHERE)
    assert found.probe == (probe if kept else None)
    assert [each.field for each in found.lost] == ([] if kept else [WHERE])


@pytest.mark.parametrize(
    ("probe", "noticed"),
    [
        ({"httpGet": {"path": "/health", "port": 8080}}, False),
        ({"tcpSocket": {"port": 8080}}, False),
        ({"exec": {"command": ["generate"]}}, True),
    ],
)
def test_what_a_probe_does_not_notice_is_noted(probe: dict[str, Any], noticed: bool) -> None:
    """vLLM answers /health while its engine hangs."""
    assert bool(kept_probe(probe, WHERE).note) is not noticed
