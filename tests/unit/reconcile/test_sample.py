"""What windows are compared with, and when the pods are looked at."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.unit.builders import DRAFT, GUARD, NAMESPACE, Body, counters, limits, make_baseline, make_state

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Speculation
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Reason
from specdec_operator.observe.pods import PodView
from specdec_operator.reconcile.memory import SamplingPlan, ServiceMemory
from specdec_operator.reconcile.sample import is_sampled, sample, thresholds_of

STEPS = {"tokensByBatchSize": [{"upTo": 8, "tokens": 4}, {"tokens": 0}]}
NGRAM = {"method": "ngram", "tokens": 3}
POD = PodView(name="pod-0", revision="r1", ip="10.0.0.7", ready=True, deleting=False)


@pytest.mark.parametrize(
    ("guard", "speculation", "expected"),
    [
        ({}, DRAFT, {"acceptance_rate": 0.4, "longest_gap": 45.0, "min_draft_tokens": 1000, "draft_length": 4}),
        ({}, NGRAM, {"acceptance_rate": 0.2, "always_drafts": False, "draft_length": 3}),
        ({}, DRAFT | STEPS, {"always_drafts": False}),
        ({"acceptanceRate": {"min": 0.0}}, DRAFT, {"acceptance_rate": 0.0}),
        ({"acceptanceLength": {"min": 1.5}}, DRAFT, {"acceptance_rate": 0.4, "acceptance_length": 1.5}),
        ({"interval": "2s", "minDraftTokens": 7}, DRAFT, {"longest_gap": 6.0, "min_draft_tokens": 7}),
        ({"speedup": {"min": 1.1}}, DRAFT, {"speedup": 1.1, "time_per_output_token": None}),
        ({"timePerOutputToken": {"max": "40ms"}}, DRAFT, {"time_per_output_token": 0.04, "of_baseline": False}),
    ],
)
def test_thresholds_are_the_users_or_the_methods(guard: Body, speculation: Body, expected: Body) -> None:
    """What the user leaves out comes from the table of methods; a batch that is served without a draft drafts less."""
    made = thresholds_of(Guard.model_validate(guard), Speculation.model_validate(speculation), speculation["tokens"])
    assert {key: getattr(made, key) for key in expected} == expected
    assert made.always_drafts is expected.get("always_drafts", True)


def test_the_thresholds_of_a_service_without_speculation_have_its_speed() -> None:
    """It is judged by its limit alone, and its baseline is still learnt."""
    made = thresholds_of(Guard(), None, 0, make_state(baseline=(make_baseline(),)))
    assert (made.of_baseline, made.baseline, made.acceptance_rate) == (True, (make_baseline(),), None)


MEASURE: Body = {"baseline": "MeasureFirst"}
NOT_YET = {"now": 3.9}


@pytest.mark.parametrize(
    ("phase", "guard", "known", "read"),
    [
        (Phase.WATCHING, {}, {}, True),
        (Phase.WATCHING, {}, {"settled": False}, False),
        (Phase.WATCHING, {}, {"baseline": True}, False),
        (Phase.WATCHING, {"mode": "Observe"}, {}, True),
        (Phase.WATCHING, {"mode": "Off"}, {}, False),
        (Phase.ROLLING_OUT, {}, {}, False),
        (Phase.WARMING_UP, {}, {}, False),
        (Phase.RESPONDING, {}, {"baseline": True}, False),
        (Phase.STALLED, {}, {"baseline": True}, False),
        (Phase.MEASURING_BASELINE, MEASURE, {"baseline": True}, True),
        (Phase.MEASURING_BASELINE, MEASURE, {"baseline": True} | NOT_YET, False),
        (Phase.MEASURING_BASELINE, MEASURE, {"baseline": True, "settled": False}, False),
        (Phase.ROLLED_BACK, {}, {"baseline": True}, True),
        (Phase.ROLLED_BACK, {}, {"baseline": True} | NOT_YET, False),
        (Phase.ROLLED_BACK, {"mode": "Off"}, {"baseline": True}, False),
        (Phase.SERVING, {}, {"baseline": True}, False),
        (Phase.SERVING, MEASURE, {"baseline": True}, True),
        (Phase.SERVING, MEASURE, {"baseline": False}, False),
    ],
)
def test_pods_are_read_to_be_judged_or_while_they_do_not_speculate(
    phase: Phase, guard: Body, known: Body, read: bool
) -> None:
    """The phase began at 0 s, warm-up is 4 s. After it, a service without speculation shows its speed."""
    asked: Body = {"baseline": False, "settled": True, "now": 4.0} | known
    assert is_sampled(make_state(phase), Guard.model_validate(GUARD | guard), **asked) is read


class Script:
    """Answers from a script, one round a look; remembers the addresses that were asked."""

    def __init__(self, *rounds: Counters | None) -> None:
        self.rounds = list(rounds)
        self.asked: list[dict[str, str]] = []

    async def read(
        self, guard: Guard, pods: Mapping[str, str], *, namespace: str, port: int = 8080
    ) -> dict[str, Counters | None]:
        """The next answer, for every pod."""
        assert (guard.interval, namespace) == (2.0, NAMESPACE)
        self.asked.append(dict(pods))
        answer = self.rounds.pop(0)
        return dict.fromkeys(pods, answer)


PLAN = SamplingPlan(guard=Guard.model_validate(GUARD), thresholds=limits(), revision="r1")


class Sampled:
    """A memory whose pods are read at given times, with windows of 10 s and an interval of 2 s."""

    def __init__(self, *rounds: Counters | None) -> None:
        self.script = Script(*rounds)
        self.memory = ServiceMemory(sampling=PLAN)

    async def at(self, now: float, *pods: PodView) -> Judged | None:
        """The window that a reading at this time closed."""
        pods, before = pods or (POD,), self.memory
        self.memory = await sample(before, self.script, pods, namespace=NAMESPACE, clock=lambda: now)
        return self.memory.closed if self.memory.closed is not before.closed else None


async def test_an_early_reconcile_reads_no_pods() -> None:
    """Events wake the loop more often than metrics are due."""
    sampled = Sampled(counters(0), counters(9))
    for now in (100.0, 100.5, 101.9, 102.0, 102.1):
        await sampled.at(now)
    assert len(sampled.script.asked) == 2
    assert sampled.memory.window is not None
    assert sampled.memory.window.due == 104.0


async def test_a_window_is_judged_once_at_its_end_and_the_next_one_follows() -> None:
    """Five intervals, six readings; the last is the first of the next window. The newest one is remembered."""
    sampled = Sampled(*(counters(100 * step) for step in range(13)))
    windows = [await sampled.at(100.0 + 2 * step) for step in range(13)]
    closed = {step: window.verdict.reason for step, window in enumerate(windows) if window}
    assert closed == {5: Reason.ACCEPTED, 10: Reason.ACCEPTED}
    assert sampled.memory.judged is windows[10]
    assert sampled.memory.judged is not None
    assert sampled.memory.judged.evidence.drafts == 500


async def test_pods_without_an_address_are_not_asked_and_silent_ones_are_counted() -> None:
    """A new pod has no address yet. A pod of another revision, or one that is being deleted, is not judged."""
    sampled = Sampled(None)
    new = PodView(name="new", revision="r1", ip=None, ready=True, deleting=False)
    await sampled.at(100.0, POD, new, replace(POD, name="old", revision="r0"), replace(POD, name="x", deleting=True))
    assert sampled.script.asked == [{"pod-0": "10.0.0.7"}]
    assert sampled.memory.silent == 1


async def test_a_pod_at_the_address_of_its_node_is_not_read() -> None:
    """Its owner chooses the port: the operator would ask whatever listens there on the node."""
    sampled = Sampled(*(counters(100 * step) for step in range(6)))
    for step in range(5):
        await sampled.at(100.0 + 2 * step, replace(POD, on_host=True))
    closed = await sampled.at(110.0, replace(POD, on_host=True))
    assert sampled.script.asked == [{}] * 6
    assert closed is not None
    assert closed.verdict.reason is Reason.SCRAPE_FAILED
    assert "10.0.0.7 is the address of its node (hostNetwork)" in closed.verdict.message
    assert "set guard.source.prometheus" in closed.verdict.message


async def test_a_pod_at_the_address_of_its_node_may_be_read_by_prometheus() -> None:
    """The operator then sends nothing to the node."""
    sampled = Sampled(counters(0))
    assert sampled.memory.sampling is not None
    guard = Guard.model_validate(GUARD | {"source": {"prometheus": {"url": "http://prometheus:9090"}}})
    sampled.memory = replace(sampled.memory, sampling=replace(sampled.memory.sampling, guard=guard))
    await sampled.at(100.0, replace(POD, on_host=True))
    assert sampled.script.asked == [{"pod-0": "10.0.0.7"}]


@pytest.mark.parametrize(("since", "asked"), [(97.0, 0), (96.1, 0), (96.0, 1), (101.0, 0), (3700.0, 1), (None, 1)])
async def test_a_pod_that_joins_later_has_its_own_warm_up(since: float | None, asked: int) -> None:
    """The others are under watch; its first traffic is not judged. Unknown is old, and so is a time far ahead."""
    sampled = Sampled(counters(0))
    await sampled.at(100.0, replace(POD, ready_since=since))
    assert len(sampled.script.asked[0]) == asked
