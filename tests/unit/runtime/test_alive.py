"""specdec_runtime alive: the liveness probe, against a stand-in of vLLM's server."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile_http import Asked, in_a_thread, replying

from specdec_runtime import alive
from specdec_runtime.__main__ import main
from specdec_runtime.api import NotAnsweredError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


class VllmStandin:
    """A stand-in of vLLM: its gauges and counters, and whether it answers a completion."""

    def __init__(self) -> None:
        self.generated: float | None = 7.0
        self.running = 1.0
        self.in_use = 0.1
        self.answers = True
        self.works_on = False
        self.asked = 0
        self.metrics = 200
        self.server_port = 0

    def page(self, asked: Asked) -> tuple[int, str]:
        if asked.path == "/metrics" and self.metrics != 200:
            return self.metrics, "no metrics"
        if asked.path == "/v1/models":
            return 200, json.dumps({"data": [{"id": "m"}]})
        if asked.path == "/v1/completions":
            self.asked += 1
            self.in_use += 0.1 * self.works_on
            return (200, json.dumps({"choices": [{"text": "x"}]})) if self.answers else (500, "hangs")
        tokens = "" if self.generated is None else f"vllm:generation_tokens_total {self.generated}\n"
        return 200, f"{tokens}vllm:num_requests_running {self.running}\nvllm:kv_cache_usage_perc {self.in_use}\n"


@pytest.fixture
def vllm() -> Iterator[VllmStandin]:
    standin = VllmStandin()
    with in_a_thread(replying(standin.page)) as standin.server_port:
        yield standin


def look(vllm: VllmStandin, at: float, clients: int = 0) -> str:
    """What the probe finds at a time of the monotonic clock."""
    return alive.LivenessProbe(port=vllm.server_port, seconds=5.0, clients=lambda _: clients, clock=lambda: at).look()


def test_an_engine_that_hangs_is_found_after_four_minutes(vllm: VllmStandin) -> None:
    """Without a token, and then none for the probe either."""
    vllm.answers = False
    assert [look(vllm, at) for at in (0, 30, 239)][2].startswith("alive: no progress for 239 s")
    assert vllm.asked == 0
    with pytest.raises(NotAnsweredError, match="no progress for 240 s, and no token within 5 s"):
        look(vllm, 240)


@pytest.mark.parametrize("clients", [0, 1])
def test_a_frozen_gauge_does_not_hide_clients_that_wait(vllm: VllmStandin, clients: int) -> None:
    """An idle engine is not asked."""
    vllm.answers, vllm.running = False, 0.0
    look(vllm, 0, clients)
    if clients:
        with pytest.raises(NotAnsweredError):
            look(vllm, 270, clients)
    else:
        assert look(vllm, 270, clients).startswith("alive")
    assert vllm.asked == clients


def test_a_slow_engine_lives(vllm: VllmStandin) -> None:
    """It answers the probe, or works on a long prompt all the time, which fills its KV cache."""
    look(vllm, 0)
    assert look(vllm, 270) == "alive: it generated after 270 s without progress"
    vllm.answers, vllm.works_on = False, True
    assert look(vllm, 300) == "alive: it works"
    vllm.generated = 8.0
    assert look(vllm, 330) == "alive: it works"


def failures_in_a_row(vllm: VllmStandin, step: float, steps: int, *, waiting: int = 0) -> int:
    """The most probes in a row that fail, if each step of the engine takes so long and no probe gets a token."""
    vllm.answers, vllm.running, worst, row = False, 1.0 + waiting, 0, 0
    for at in range(0, int(step * steps), 30):
        vllm.in_use = 0.01 * (1 + at // step)
        try:
            look(vllm, 1000.0 + at)
            row = 0
        except NotAnsweredError:
            row += 1
        worst = max(worst, row)
    return worst


@pytest.mark.parametrize(("chunk", "waiting"), [(512, 0), (2048, 0), (8192, 0), (8192, 200)])
def test_a_prompt_of_32k_at_30_tokens_per_second_ends_no_engine(vllm: VllmStandin, chunk: int, waiting: int) -> None:
    """In chunks, each of which is one step; three failures in a row would end it. A queue makes no difference."""
    assert failures_in_a_row(vllm, chunk / 30, 32768 // chunk, waiting=waiting) < 3


def test_a_step_of_six_minutes_is_taken_for_a_hang(vllm: VllmStandin) -> None:
    """The budget ends there."""
    assert failures_in_a_row(vllm, 400, 2) >= 3


def test_an_engine_whose_metrics_fail_is_not_ended_for_that(vllm: VllmStandin, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error page is an answer. A server that does not answer has as long as an engine without progress."""
    look(vllm, 0)
    vllm.metrics = 500
    assert look(vllm, 9999).startswith("alive: /metrics is not readable")
    late = NotAnsweredError("GET /metrics failed")
    late.__cause__ = TimeoutError()

    def times_out(*_: object) -> str:
        raise late

    monkeypatch.setattr(alive.VllmServer, "get", times_out)
    assert look(vllm, 239).startswith("alive: /metrics was not answered in time")
    with pytest.raises(NotAnsweredError):
        look(vllm, 240)
    alive.note_path().unlink()
    assert [look(vllm, at)[:5] for at in (5000, 5239)] == ["alive"] * 2
    with pytest.raises(NotAnsweredError):
        look(vllm, 5240)


def test_a_clock_that_jumps_ends_no_engine(vllm: VllmStandin) -> None:
    """Forwards it has to generate; backwards the time begins again."""
    assert [look(vllm, at)[:5] for at in (100, 99_999, 50, 60)] == ["alive"] * 4
    assert vllm.asked == 1


def test_what_cannot_be_known_ends_no_engine(vllm: VllmStandin, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A page without counters, a note of another boot, and a folder that cannot be written."""
    vllm.answers, vllm.generated = False, None
    look(vllm, 0)
    assert "cannot be distinguished from work" in look(vllm, 270)
    vllm.generated = 7.0
    look(vllm, 1000)
    assert look(vllm, 3) == "alive: it works"
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    assert [look(vllm, at) for at in (0, 270)] == ["alive: it works"] * 2


def test_the_exit_code_is_what_the_kubelet_reads(vllm: VllmStandin, capsys: pytest.CaptureFixture[str]) -> None:
    """And the sentence is in the Event."""
    assert main(["alive", f"--port={vllm.server_port}"]) == 0
    assert main(["alive", "--port=1", "--timeout=1"]) == 1
    assert capsys.readouterr().out.splitlines() == ["alive: it works", "not alive: nothing listens on port 1 yet"]
