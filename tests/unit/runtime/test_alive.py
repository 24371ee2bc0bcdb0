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
        self.server_port = 0

    def page(self, asked: Asked) -> tuple[int, str]:
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


def test_an_engine_that_hangs_is_found_after_a_minute(vllm: VllmStandin) -> None:
    """A minute without a token, and then none for the probe either."""
    vllm.answers = False
    assert [look(vllm, at) for at in (0, 30, 59)][2].startswith("alive: no progress for 59 s")
    assert vllm.asked == 0
    with pytest.raises(NotAnsweredError, match="no progress for 60 s, and no token within 5 s"):
        look(vllm, 60)


@pytest.mark.parametrize("clients", [0, 1])
def test_a_frozen_gauge_does_not_hide_clients_that_wait(vllm: VllmStandin, clients: int) -> None:
    """An idle engine is not asked."""
    vllm.answers, vllm.running = False, 0.0
    look(vllm, 0, clients)
    if clients:
        with pytest.raises(NotAnsweredError):
            look(vllm, 90, clients)
    else:
        assert look(vllm, 90, clients).startswith("alive")
    assert vllm.asked == clients


def test_a_slow_engine_lives(vllm: VllmStandin) -> None:
    """It answers the probe, or works on a long prompt all the time, which fills its KV cache."""
    look(vllm, 0)
    assert look(vllm, 90) == "alive: it generated after 90 s without progress"
    vllm.answers, vllm.works_on = False, True
    assert look(vllm, 120) == "alive: it works"
    vllm.generated = 8.0
    assert look(vllm, 150) == "alive: it works"


def test_what_cannot_be_known_ends_no_engine(vllm: VllmStandin, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A page without counters, a note of another boot, and a folder that cannot be written."""
    vllm.answers, vllm.generated = False, None
    look(vllm, 0)
    assert "cannot be distinguished from work" in look(vllm, 90)
    vllm.generated = 7.0
    look(vllm, 1000)
    assert look(vllm, 3) == "alive: it works"
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "gone"))
    assert [look(vllm, at) for at in (0, 90)] == ["alive: it works"] * 2


def test_the_exit_code_is_what_the_kubelet_reads(vllm: VllmStandin, capsys: pytest.CaptureFixture[str]) -> None:
    """And the sentence is in the Event."""
    assert main(["alive", f"--port={vllm.server_port}"]) == 0
    assert main(["alive", "--port=1", "--timeout=1"]) == 1
    assert capsys.readouterr().out.splitlines() == ["alive: it works", "not alive: nothing listens on port 1 yet"]
