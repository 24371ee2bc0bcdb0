"""specdec_runtime drain: the preStop hook against a stand-in of vLLM's /metrics."""

import asyncio
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hostile_http import Asked, in_a_thread, replying
from tests.ports import free_port

from specdec_runtime import drain, leaving, stop


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class Metrics:
    """A stand-in of vLLM's /metrics with a number of requests under way."""

    running = 1.0
    server_port = 0

    def page(self, _: Asked) -> tuple[int, str]:
        return 200, f'vllm:num_requests_running{{engine="0"}} {self.running}\nvllm:num_requests_waiting 0.0\n'


@pytest.fixture
def vllm() -> Iterator[Metrics]:
    metrics = Metrics()
    with in_a_thread(replying(metrics.page)) as metrics.server_port:
        yield metrics


def test_it_waits_for_requests_that_are_under_way(vllm: Metrics) -> None:
    """And ends as soon as the last one is answered."""
    threading.Timer(0.6, lambda: setattr(vllm, "running", 0.0)).start()
    started = time.monotonic()
    said = drain.drain(vllm.server_port, 20, settle=0.0)
    assert said.startswith("drained")
    assert 0.5 < time.monotonic() - started < 10


def test_it_gives_up_before_the_pod_is_killed(vllm: Metrics) -> None:
    """A request without end does not keep the pod for ever."""
    assert drain.drain(vllm.server_port, 0.6, settle=0.0) == "clients were still connected after 1 s"


def test_a_server_that_is_gone_needs_no_waiting() -> None:
    """An engine that crashed is not waited for."""
    port = free_port()
    assert drain.drain(port, 20, settle=0.0).startswith("nothing to drain")


_HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
_HERE = {4: "0A0A000A:1F90", 6: "0000000000000000FFFF00000A0A000A:1F90"}


@pytest.mark.parametrize(
    ("local", "remote", "state", "counted"),
    [
        (_HERE[4], "0B0A000A:C350", "01", 1),
        (_HERE[6], "0000000000000000FFFF00000B0A000A:C350", "01", 1),
        (_HERE[4], "0B0A000A:C350", "06", 0),
        (_HERE[4], "00000000:0000", "0A", 0),
        ("0100007F:1F90", "0100007F:C350", "01", 0),
        ("0000000000000000FFFF00000100007F:1F90", "0000000000000000FFFF00000100007F:C350", "01", 0),
        ("0A0A000A:C350", "0B0A000A:1F90", "01", 0),
    ],
    ids=["open", "open on IPv6", "closed", "listening", "from here", "from here on IPv6", "to another server"],
)
def test_only_open_connections_from_elsewhere_keep_a_pod(
    tmp_path: Path, local: str, remote: str, state: str, counted: int
) -> None:
    """The kernel's own lines: what is closed, what only listens and what the pod asks itself waits for nothing."""
    table = tmp_path / "tcp"
    table.write_text(f"{_HEADER}   0: {local} {remote} {state} 00000000:00000000 00:00000000 00000000 0 0 1\n")
    assert drain.count(8080, (table, tmp_path / "no-such-table")) == counted


def test_it_waits_for_clients_that_hold_a_connection(vllm: Metrics) -> None:
    """Nothing runs, but the next request may be on its way: stopped now, the server would never read it."""
    vllm.running = 0.0
    held = iter([2, 1])
    started = time.monotonic()
    assert drain.drain(vllm.server_port, 20, settle=0.0, clients=lambda _: next(held, 0)).startswith("drained")
    assert time.monotonic() - started > 0.45


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers each request with one header."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"server", b"uvicorn")]})
    await send({"type": "http.response.body", "body": b"{}"})


def headers(served: leaving.Leaving) -> list[tuple[bytes, bytes]]:
    sent: list[Any] = []

    async def keep(message: Any) -> None:
        sent.append(message)

    asyncio.run(served({"type": "http"}, keep, keep))  # type: ignore[arg-type]
    assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]
    found: list[tuple[bytes, bytes]] = sent[0]["headers"]
    return found


def test_every_answer_of_a_pod_that_leaves_closes_its_connection(vllm: Metrics) -> None:
    """From the moment on at which drain begins, and with all the headers that the answer had."""
    served = leaving.Leaving(app)
    assert headers(served) == [(b"server", b"uvicorn")]
    vllm.running = 0.0
    drain.drain(vllm.server_port, 20, settle=0.0)
    assert headers(served) == [(b"server", b"uvicorn"), (b"connection", b"close")]


def test_a_server_that_got_the_signal_to_stop_closes_connections_without_the_hook(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Outside Kubernetes there is no preStop hook, only the signal."""
    monkeypatch.setattr(leaving, "STOP", stop.Stop(served=True, asked=True))
    assert (b"connection", b"close") in headers(leaving.Leaving(app))
