"""How a pod's engine ends, with the real vLLM as the first process of a PID namespace."""

import json
from typing import Any

import pytest
from hack.images import box
from hack.models import store
from lab.engine.ends import REQUESTS

pytestmark = [pytest.mark.node, pytest.mark.alone]


@pytest.fixture(scope="module")
def ends() -> dict[str, Any]:
    """Each end once: a stop, one during the start, a killed engine process, a crash by a request."""
    models = store.ensure()
    out = models / "ends.json"
    assert box.run(("lab.engine.ends", str(models), str(out)), models, store.image(), namespaces=True) == 0
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def test_a_stop_answers_what_was_asked_before_it(ends: dict[str, Any]) -> None:
    """The engine gets no preStop hook, as with `docker stop`; it ends cleanly and writes no termination message."""
    assert (ends["stop"]["code"], ends["stop"]["whole"], ends["stop"]["said"]) == (0, REQUESTS, "")


def test_a_stop_during_the_start_waits_for_nothing(ends: dict[str, Any]) -> None:
    """vLLM itself would wait ten minutes, and the kubelet for the whole grace period."""
    assert (ends["interrupt"]["code"], ends["interrupt"]["said"]) == (0, "")
    assert ends["interrupt"]["seconds"] < 5


@pytest.mark.parametrize(
    ("end", "cause"),
    [("kill", "ended without a log line"), ("crash", "Error: ")],
)
def test_a_dead_engine_differs_from_a_stop(ends: dict[str, Any], end: str, cause: str) -> None:
    """By the exit code and by one line of JSON with the cause; vLLM's own code is 0 for all three."""
    assert ends[end]["code"] == 70
    said = json.loads(ends[end]["said"])
    assert said["reason"] == "EngineDied"
    assert cause in said["message"]


@pytest.mark.parametrize("end", ["stop", "interrupt", "kill", "crash"])
def test_no_process_outlives_its_pod(ends: dict[str, Any], end: str) -> None:
    """Workers hold the accelerator's memory, which the next engine needs."""
    assert ends[end]["left"] == 0


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_the_probe_takes_two_seconds_at_most(ends: dict[str, Any], end: str) -> None:
    """Three generations and the counters, on tiny models."""
    sentence = ends[end]["proof"]
    assert "greedy and sampled and structured generation answered" in sentence
    assert float(sentence.rpartition("(")[2].removesuffix(" s)")) <= 2
