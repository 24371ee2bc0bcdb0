"""specdec_runtime drain: the preStop hook against a stand-in of vLLM's /metrics."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from specdec_runtime import drain


class Metrics(ThreadingHTTPServer):
    """A stand-in of vLLM's /metrics with a number of requests under way."""

    running = 1.0


@pytest.fixture
def vllm() -> Iterator[Metrics]:
    """The stand-in, serving."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'vllm:num_requests_running{{engine="0"}} {server.running}\nvllm:num_requests_waiting 0.0\n'.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = Metrics(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_it_waits_for_requests_that_are_under_way(vllm: Metrics) -> None:
    """And ends as soon as the last one is answered."""
    threading.Timer(0.6, lambda: setattr(vllm, "running", 0.0)).start()
    started = time.monotonic()
    said = drain.drain(vllm.server_port, 20, settle=0.0)
    assert said.startswith("drained")
    assert 0.5 < time.monotonic() - started < 10


def test_it_gives_up_before_the_pod_is_killed(vllm: Metrics) -> None:
    """A request without end does not keep the pod for ever."""
    assert drain.drain(vllm.server_port, 0.6, settle=0.0) == "requests were still under way after 1 s"


def test_a_server_that_is_gone_needs_no_waiting() -> None:
    """An engine that crashed is not waited for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = server.server_port
    server.server_close()
    assert drain.drain(port, 20, settle=0.0).startswith("nothing to wait for")
