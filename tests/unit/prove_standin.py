"""A stand-in of vLLM's server for the startup probe."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

RECORDED = Path(__file__).parents[1] / "data" / "vllm"
METRICS = (RECORDED / "metrics.txt").read_text()
DRAFTS = 'vllm:spec_decode_num_drafts_total{engine="0",model_name="m"}'
PLAIN = "".join(f"{line}\n" for line in METRICS.splitlines() if "spec_decode" not in line)


@dataclass
class StandIn:
    """A stand-in of vLLM: it plays recorded answers, and counts a draft for each generation if it is to draft."""

    speculates: bool = True
    drafts_per_generation: int = 9
    broken_when: str = ""
    status: dict[str, int] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    broken: tuple[int, str] = (500, "EngineCore encountered an issue")
    dead: bool = False
    key: str = ""
    seconds: float = 0.0
    asked: list[dict[str, object]] = field(default_factory=list)
    port: int = 0

    def metrics(self) -> str:
        drafts = 19.0 + self.drafts_per_generation * len(self.asked)
        return METRICS.replace(f"{DRAFTS} 19.0", f"{DRAFTS} {drafts}") if self.speculates else PLAIN

    def answer(self, path: str, body: dict[str, object] | None) -> tuple[int, str]:
        time.sleep(self.seconds)
        if path in self.answers:
            return self.status.get(path, 200), self.answers[path]
        if path == "/metrics":
            return 200, self.metrics()
        if path == "/v1/models":
            return 200, (RECORDED / "models.json").read_text()
        if path == "/v1/completions" and body is not None:
            self.asked.append(body)
            broken = bool(self.broken_when) and self.broken_when in body
            self.dead = self.dead or (broken and self.broken[0] == 200)
            return self.broken if broken and not self.dead else (200, (RECORDED / "completion.json").read_text())
        if path == "/health" and self.dead:
            return 503, ""
        return self.status.get(path, 200), ""


@contextmanager
def serving() -> Iterator[StandIn]:
    """A stand-in that listens on a port of its own."""
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: dict[str, object] | None) -> None:
            known = self.headers["Authorization"] == f"Bearer {stand_in.key}" if stand_in.key else True
            status, text = stand_in.answer(self.path, body) if known else (401, "Unauthorized")
            self.send_response(status)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name is the standard library's)
            """Tests are quiet."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *connection: object) -> None:
            """A probe that gave up has hung up; that is what one of the tests wants."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        stand_in.port = server.server_port
        yield stand_in
        server.shutdown()
        thread.join()
