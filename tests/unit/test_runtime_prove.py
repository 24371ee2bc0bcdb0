"""specdec_runtime prove: the startup probe against a stand-in of vLLM's server that plays recorded answers."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from specdec_runtime import __main__ as commands
from specdec_runtime import counters, launch, prove

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
            return (
                (500, "EngineCore encountered an issue")
                if broken
                else (200, (RECORDED / "completion.json").read_text())
            )
        return self.status.get(path, 200), ""


@pytest.fixture
def vllm() -> Iterator[StandIn]:
    stand_in = StandIn()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(None)

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, body: dict[str, object] | None) -> None:
            status, text = stand_in.answer(self.path, body)
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


def run(vllm: StandIn, tmp_path: Path, method: str | None = None, seconds: float = 5.0) -> prove.Proof:
    plan = tmp_path / "plan.json"
    if method is not None:
        plan.write_text(json.dumps({"method": method, "tokens": 4}))
    return prove.prove(vllm.port, seconds, plan)


def test_a_server_that_generated_and_drafted_is_up(vllm: StandIn, tmp_path: Path) -> None:
    proof = run(vllm, tmp_path, "draft_model")
    assert proof.ok
    assert "18 drafts were verified" in proof.sentence


def test_it_generates_greedily_and_with_top_k(vllm: StandIn, tmp_path: Path) -> None:
    """Either alone has been seen to pass on a server whose engine dies at the other."""
    run(vllm, tmp_path, "draft_model")
    greedy, sampled = vllm.asked
    assert (greedy["temperature"], "top_k" in greedy) == (0, False)
    assert (sampled["temperature"], sampled["top_k"]) == (0.8, 20)
    assert {request["model"] for request in vllm.asked} == {"m"}


def test_a_server_that_dies_at_a_sampled_request_is_not_up(vllm: StandIn, tmp_path: Path) -> None:
    vllm.broken_when = "top_k"
    proof = run(vllm, tmp_path, "draft_model")
    assert not proof.ok
    assert "answered with 500: EngineCore encountered an issue" in proof.sentence


def test_a_plain_server_is_up_without_counters(vllm: StandIn, tmp_path: Path) -> None:
    vllm.speculates = False
    proof = run(vllm, tmp_path)
    assert proof.ok
    assert "no speculation configured" in proof.sentence


def test_configured_speculation_without_counters_is_not_up(vllm: StandIn, tmp_path: Path) -> None:
    vllm.speculates = False
    proof = run(vllm, tmp_path, "draft_model")
    assert not proof.ok
    assert "--disable-log-stats" in proof.sentence


@pytest.mark.parametrize("method", ["draft_model", None])
def test_a_draft_model_that_does_not_draft_is_not_up(vllm: StandIn, tmp_path: Path, method: str | None) -> None:
    """Without launch's note the method is unknown, and counters that stand still are still not a proof."""
    vllm.drafts_per_generation = 0
    proof = run(vllm, tmp_path, method)
    assert not proof.ok
    assert "did not move over 32 generated tokens" in proof.sentence


def test_ngram_may_find_nothing_to_draft(vllm: StandIn, tmp_path: Path) -> None:
    vllm.drafts_per_generation = 0
    proof = run(vllm, tmp_path, "ngram")
    assert proof.ok
    assert "ngram found nothing to draft" in proof.sentence


def test_before_the_server_listens_it_answers_at_once(vllm: StandIn, tmp_path: Path) -> None:
    vllm.port = 1
    started = time.monotonic()
    proof = run(vllm, tmp_path)
    assert (proof.ok, proof.sentence) == (False, "not up: nothing listens on port 1 yet")
    assert time.monotonic() - started < 1


def test_an_unhealthy_server_is_not_asked_to_generate(vllm: StandIn, tmp_path: Path) -> None:
    vllm.status["/health"] = 503
    assert not run(vllm, tmp_path).ok
    assert vllm.asked == []


def test_a_server_that_hangs_is_given_up_in_time(vllm: StandIn, tmp_path: Path) -> None:
    vllm.seconds = 0.5
    started = time.monotonic()
    assert not run(vllm, tmp_path, seconds=0.2).ok
    assert time.monotonic() - started < 0.5


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/v1/models", "{}"),
        ("/v1/models", "["),
        ("/v1/completions", "[]"),
        ("/v1/completions", "{"),
        ("/v1/completions", "{}"),
    ],
)
def test_an_answer_that_is_not_vllms_is_no_proof(vllm: StandIn, tmp_path: Path, path: str, text: str) -> None:
    vllm.answers[path] = text
    proof = run(vllm, tmp_path)
    assert not proof.ok
    assert path in proof.sentence


def test_the_command_ends_with_zero_only_when_the_server_is_up(
    vllm: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "plan_path", lambda: tmp_path / "plan.json")
    assert commands.main(["prove", f"--port={vllm.port}"]) == 0
    vllm.status["/health"] = 503
    assert commands.main(["prove", "--port", str(vllm.port)]) == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["up", "not up"]


def test_counters_are_summed_over_engines_and_told_from_longer_names() -> None:
    text = 'a_total{engine="0"} 1.0\na_total{engine="1"} 2.0\na_total_created{engine="0"} 9.0\n# HELP a_total x\n'
    assert counters.total(text, "a_total") == 3.0
    assert counters.total(text, "b_total") is None
    assert counters.total("a_total 4\n", "a_total") == 4.0
