"""Engines that hang: what counts as a hang, and that such a pod is restarted and not taken for one without traffic."""

import pathlib
from dataclasses import replace

import pytest
from tests.unit.builders import counters

from specdec_command.replay.play import play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.counters import Counters, SideCounters, read_counters
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.stalls import Standstill, stalled, standstill, stood_still
from specdec_operator.guard.tries import Action
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.window import Window

REPORTS = pathlib.Path(__file__).parents[2] / "data" / "reports"
BUSY = counters(100, running=3.0, waiting=5.0, side=SideCounters(prompt_tokens=900.0))


@pytest.mark.parametrize(
    ("before", "after", "still"),
    [
        (BUSY, BUSY, True),
        (replace(BUSY, running=0.0), replace(BUSY, running=0.0), True),
        (BUSY, replace(BUSY, waiting=9.0), True),
        (BUSY, replace(BUSY, generation_tokens=BUSY.generation_tokens + 1), False),
        (BUSY, replace(BUSY, side=SideCounters(prompt_tokens=901.0)), False),
        (replace(BUSY, kv_cache=KvCache(used=0.1)), replace(BUSY, kv_cache=KvCache(used=0.2)), False),
        (replace(BUSY, running=0.0, waiting=0.0), BUSY, False),
        (BUSY, replace(BUSY, running=0.0, waiting=0.0), False),
        (replace(BUSY, running=None, waiting=None), replace(BUSY, running=None, waiting=None), False),
        (BUSY, replace(BUSY, started=2.0e9), False),
    ],
    ids=[
        "nothing moves",
        "requests only wait",
        "the queue grows",
        "a token came",
        "a prompt was taken in",
        "a long prompt is taken in",
        "it had no request",
        "it has none any more",
        "a page without requests",
        "it restarted",
    ],
)
def test_requests_without_progress_stand_still(before: Counters, after: Counters, still: bool) -> None:
    """A KV cache that fills is progress; a queue that grows is not."""
    assert stood_still(before, after) is still


@pytest.mark.parametrize(
    ("interval_gap", "seconds", "hangs"), [(45, 44, False), (45, 45, True), (6, 29, False), (6, 30, True)]
)
def test_a_hang_lasts_three_intervals_and_half_a_minute(interval_gap: float, seconds: float, hangs: bool) -> None:
    """Short intervals do not make a step with a long prompt a hang."""
    still = {"p": Standstill(seconds=seconds, running=1, waiting=0)}
    assert bool(stalled(still, interval_gap)) is hangs


@pytest.mark.parametrize(
    ("side", "step"),
    [
        (SideCounters(), 0.0),
        (SideCounters(prefill_seconds=2.0, prefilled=8000.0), 4.096),
        (SideCounters(prefill_seconds=10.0, prefilled=2000.0), 81.92),
        (SideCounters(prefill_seconds=10.0, prefilled=4000.0, cache_queries=100.0, cache_hits=50.0), 81.92),
        (SideCounters(prefill_seconds=40.0, prefilled=10.0), 300.0),
        (SideCounters(prefill_seconds=0.0, prefilled=0.0), 0.0),
        (SideCounters(prefill_seconds=1.0, prefilled=10.0, cache_queries=9.0, cache_hits=9.0), 0.0),
    ],
    ids=[
        "unknown",
        "a GPU",
        "two cores",
        "half of it was in the cache",
        "at most",
        "no prompt yet",
        "all in the cache",
    ],
)
def test_a_step_with_a_long_prompt_takes_as_long_as_the_engines_pace_shows(side: SideCounters, step: float) -> None:
    """8192 tokens at half the pace of the prompts so far, without those that were in the prefix cache."""
    still = standstill(replace(BUSY, side=side), 50.0)
    assert still.step == pytest.approx(step)
    assert still.lasts(45.0) is (step < 50)


def test_a_step_may_take_twice_as_long_as_the_longest_before() -> None:
    """Also in the next window. A standstill that ended with a restart did not last a step."""
    window = Window(0)
    for at in (0, 30, 60):
        window = window.with_readings({"p": BUSY}, at)
    token = replace(BUSY, generation_tokens=BUSY.generation_tokens + 1)
    window = window.with_readings({"p": token}, 70).next(70, frozenset({"p"})).with_readings({"p": token}, 120)
    assert window.standstills["p"].step == 140
    window = window.with_readings({"p": replace(token, started=2.0e9)}, 400)
    assert window.pods["p"].longest_still == 70


def test_a_long_prompt_on_two_cores_is_not_a_hang() -> None:
    """Recorded: 32,000 tokens in four steps of 50 to 87 s each, without a sign of life within a step."""
    readings = read_recording(REPORTS / "long-prompt.jsonl.gz")
    played = play(readings, Guard(), METHODS[Method.NGRAM])
    assert [each.action for each in played.decisions if each.action is not None] == []


def test_a_standstill_goes_on_in_the_next_window_and_ends_with_a_token() -> None:
    """Also if a reading in between failed."""
    window = Window(0)
    for at in (0, 15, 30):
        window = window.with_readings({"p": BUSY}, at)
    window = window.next(30, frozenset({"p"})).with_readings({"p": None}, 45).with_readings({"p": BUSY}, 60)
    assert {pod: each.seconds for pod, each in window.standstills.items()} == {"p": 60}
    token = replace(BUSY, generation_tokens=BUSY.generation_tokens + 1)
    assert not window.with_readings({"p": token}, 75).standstills


def test_the_gauges_are_read_from_a_page() -> None:
    """Of all engines of a pod."""
    page = 'vllm:generation_tokens_total{engine="0"} 5.0\nvllm:num_requests_waiting{engine="0"} 2.0\n'
    assert read_counters(page + 'vllm:num_requests_waiting{engine="1"} 3.0\n').waiting == 5.0


@pytest.mark.parametrize(
    ("name", "pod", "at"), [("49210-hang", "pod-0", (600, 660)), ("hang-of-one-in-three", "pod-2", (1200, 1260))]
)
def test_a_reported_hang_is_found_within_a_minute(name: str, pod: str, at: tuple[float, float]) -> None:
    """Its pod is named and restarted, and nothing is held against the draft."""
    played = play(read_recording(REPORTS / f"{name}.jsonl.gz"), Guard(), METHODS[Method.DRAFT_MODEL])
    acted = [each for each in played.decisions if each.action is not None]
    assert [(each.action, each.pod) for each in acted] == [(Action.RESTART_POD, pod)]
    assert at[0] < acted[0].at <= at[1]
    assert acted[0].judged.verdict.reason is Reason.STALLED
    assert (played.serving, played.state.rollbacks) == ("speculation", 0)
