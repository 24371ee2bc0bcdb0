"""What windows are compared with, and when the pods are looked at."""

from collections.abc import Mapping
from typing import Any

import pytest

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.control.memory import Memory
from specdec_operator.control.watch import look, thresholds_of
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Thresholds
from specdec_operator.guard.verdict import Reason, Verdict
from specdec_operator.serving.pods import PodView
from tests.unit.builders import DRAFT, GUARD, counters, limits

NGRAM = {"method": "ngram", "tokens": 3}
POD = PodView(name="pod-0", revision="r1", ip="10.0.0.7", ready=True, deleting=False)


@pytest.mark.parametrize(
    ("guard", "speculation", "expected"),
    [
        ({}, DRAFT, {"acceptance_rate": 0.4, "longest_gap": 45.0, "min_draft_tokens": 1000, "draft_length": 4}),
        ({}, NGRAM, {"acceptance_rate": 0.2, "always_drafts": False, "draft_length": 3}),
        ({"acceptanceRate": {"min": 0.0}}, DRAFT, {"acceptance_rate": 0.0}),
        ({"acceptanceLength": {"min": 1.5}}, DRAFT, {"acceptance_rate": 0.4, "acceptance_length": 1.5}),
        ({"interval": "2s", "minDraftTokens": 7}, DRAFT, {"longest_gap": 6.0, "min_draft_tokens": 7}),
    ],
)
def test_thresholds_are_the_users_or_the_methods(guard: Any, speculation: Any, expected: dict[str, Any]) -> None:
    """What the user leaves out comes from the table of methods."""
    made = thresholds_of(Guard.model_validate(guard), Method(speculation["method"]), speculation["tokens"])
    assert {key: getattr(made, key) for key in expected} == expected
    assert made.always_drafts is expected.get("always_drafts", True)


class Script:
    """Answers from a script, one round a look; remembers the addresses that were asked."""

    def __init__(self, *rounds: Counters | None) -> None:
        self.rounds = list(rounds)
        self.urls: list[dict[str, str]] = []

    async def read(self, urls: Mapping[str, str]) -> dict[str, Counters | None]:
        """The next answer, for every pod."""
        self.urls.append(dict(urls))
        answer = self.rounds.pop(0)
        return dict.fromkeys(urls, answer)


async def at(memory: Memory, script: Script, now: float, *pods: PodView, thresholds: Thresholds) -> Verdict | None:
    """A look at a time, with windows of 10 s and an interval of 2 s."""
    guard = Guard.model_validate(GUARD)
    return await look(memory, script, pods or (POD,), guard=guard, limits=thresholds, port=8080, now=now)


async def test_a_look_before_its_time_asks_nobody() -> None:
    """Events wake the loop more often than metrics are due."""
    memory, script = Memory(), Script(counters(0), counters(9))
    for now in (100.0, 100.5, 101.9, 102.0, 102.1):
        await at(memory, script, now, thresholds=limits())
    assert len(script.urls) == 2
    assert memory.next_look == 104.0


async def test_a_window_is_judged_once_at_its_end_and_the_next_one_follows() -> None:
    """Five intervals, six readings; the last is the first of the next window."""
    memory, script = Memory(), Script(*(counters(100 * step) for step in range(11)))
    verdicts = [await at(memory, script, 100.0 + 2 * step, thresholds=limits()) for step in range(11)]
    closed = {step: verdict.reason for step, verdict in enumerate(verdicts) if verdict}
    assert closed == {5: Reason.ACCEPTED, 10: Reason.ACCEPTED}
    assert memory.evidence is not None
    assert memory.evidence.drafts == 500


async def test_a_loop_that_was_late_looks_once_and_not_for_every_look_that_it_missed() -> None:
    """A burst of looks would find nothing new."""
    memory, script = Memory(), Script(*(counters(step) for step in range(4)))
    for now in (100.0, 130.0, 130.1, 130.2, 130.3):
        await at(memory, script, now, thresholds=limits())
    assert len(script.urls) <= 3


async def test_pods_without_an_address_are_not_asked_and_silent_ones_are_counted() -> None:
    """A pod that was just made has none yet."""
    memory, script = Memory(), Script(None)
    new = PodView(name="new", revision="r1", ip=None, ready=False, deleting=False)
    await at(memory, script, 100.0, POD, new, thresholds=limits())
    assert script.urls == [{"pod-0": "http://10.0.0.7:8080/metrics"}]
    assert memory.silent == 1
