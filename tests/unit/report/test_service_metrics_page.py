"""The page of /metrics: what we write ourselves is what Prometheus' client library would write."""

import gzip
import http.client
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from specdec_operator import metrics
from specdec_operator.guard.state import Phase
from specdec_operator.report.service_metrics import ServiceCollector
from specdec_operator.report.service_numbers import ServiceMetrics, StateMetrics, WindowMetrics

WINDOW = WindowMetrics(
    acceptance_rate=1 / 3,
    acceptance_length=4.2,
    drafted_share=None,
    speedup=1.5,
    speedup_low=float("-inf"),
    speedup_high=float("inf"),
    gain_high=0.875,
    gain_low=None,
    dips=214,
    time_per_output_token_seconds=1e-7,
    plain_time_per_output_token_seconds=float("nan"),
    tokens_per_second=12345678.5,
    tokens_per_second_per_pod=6172839.25,
    plain_tokens_per_second_per_pod=None,
    replicas_needed=2.0,
    plain_replicas_needed=None,
    positions=(0.9, 0.0),
    verdict=("Pass", "Accepted"),
)
STATE = StateMetrics(
    phase=Phase.WATCHING,
    would_act=True,
    failing_windows=2,
    speculating=True,
    pod_failures=2,
    pod_hangs=1,
    rollbacks=1,
    replicas=3,
    ready_replicas=2,
    rolled_back=("AcceptanceRateLow", "Baseline"),
    pods_without_metrics=0,
    tokens_asked=None,
    dial_tokens=None,
    tokens_served=4,
    acceptance_rate_threshold=0.3,
    speedup_threshold=1,
    plain_pods=1,
    regret=0.5,
    regret_budget=2.0,
    saved_hours=1.5,
    saved_hours_low=1.0,
    saved_hours_high=2.0,
    collateral=0,
    memory_lowered=0.0,
    service_info=("draft_model", "nvidia", "Enforce"),
)


def test_the_page_of_the_services_is_the_library_s_to_the_byte() -> None:
    """Names, labels and their order, numbers of all kinds; a family without a series has its head."""
    collector, registry = ServiceCollector(), CollectorRegistry()
    registry.register(collector)
    assert "".join(each.text() for each in collector.collect()).encode() == generate_latest(registry)
    evidence = 1_700_000_000.25
    collector.shown["team-a", "b"] = ServiceMetrics(stalled=False, standing=STATE, window=WINDOW, evidence=evidence)
    collector.shown["team-b", "a"] = ServiceMetrics(stalled=True)
    text = "".join(each.text() for each in collector.collect())
    assert text.encode() == generate_latest(registry)
    assert 'specdec_service_info{accelerator="nvidia",method="draft_model",mode="Enforce",name="b",names' in text
    assert text.count("\nspecdec_") > 30


@pytest.fixture
def port() -> Iterator[int]:
    """Of a server that ends with the test."""
    server = metrics.serve(0)
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_the_page_is_served_as_the_reader_takes_it(port: int, encoding: str) -> None:
    """With the process's own metrics and those of the services."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics", headers={"Accept-Encoding": encoding})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert answer.headers.get("Content-Encoding") == ("gzip" if encoding == "gzip" else None)
    text = (gzip.decompress(body) if encoding == "gzip" else body).decode()
    names = {each.name for each in text_string_to_metric_families(text)}
    assert {"specdec_turn_seconds", "specdec_leader", "specdec_phase", "python_info"} <= names
