"""After a rollback for pods that fail: whether the baseline's pods fail too, and that nothing flaps because of it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from tests.unit.builders import BACK, OUT, WATCH, facts, make_failure, make_good, make_rollback, make_state

from specdec_operator.api.guard import GuardMode
from specdec_operator.guard.outages import DAY, PodTimes
from specdec_operator.guard.rollout import want
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.tries import fails_either_way, retry_at
from specdec_operator.guard.user_intent import BY_REQUEST
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.observe.rollout import Progress, RolloutView

HOUR, LOAD = 3600.0, 600.0
RETRIES = {"retry_after": 6 * HOUR, "retry_limit": 3}
PASSES = Verdict(outcome=Outcome.PASS, reason=Reason.ACCEPTED, message="acceptance 0.80")

Cadence = Callable[[bool], float | None]
"""Seconds from when an engine is up to its next crash; None: none. Given whether it speculates."""


@dataclass(kw_only=True)
class OnePodService:
    """A service of one pod in virtual time: its engine crashes by a cadence, loads for ten minutes, and a rollout takes
    as long. rolled: when what is served changed.
    """

    cadence: Cadence
    state: State
    policy: dict[str, object] = field(default_factory=lambda: dict(RETRIES))
    now: float = 1000.0
    up: float = 1000.0
    ends: int = 0
    rolled: list[tuple[float, str]] = field(default_factory=list)

    def minute(self) -> None:
        """One minute goes by, with one reconcile at its end."""
        self.now += 60
        subject, wait = self.state.subject, self.cadence(not self.state.serves_baseline)
        settled = self.state.phase in (WATCH, BACK)
        if settled and wait is not None and self.now >= self.up + wait:
            self.up, self.ends = self.now + LOAD, self.ends + 1
        state = want(self.state, f"r-{subject}", self.now)
        self.state = advance(state, self._seen(state), self.now)
        if self.state.subject != subject:
            self.up, self.ends = self.now + LOAD, 0
            self.rolled.append((self.now, "plain" if self.state.serves_baseline else "speculation"))

    def _seen(self, state: State) -> Observation:
        pod, ready = f"pod-of-{state.subject}", self.now >= self.up
        serving, down = ({pod: self.up}, {}) if ready else ({}, {pod: self.up - LOAD})
        failed = (make_failure(pod, self.ends, self.now, reason="EngineCrashed"),) if self.ends else ()
        rollout = RolloutView(
            progress=Progress.COMPLETE if ready else Progress.PROGRESSING, reason="Played", message="", serving=1
        )
        speculating = not state.serves_baseline
        return facts(
            subject=state.subject,
            speculating=speculating,
            revision=f"r-{state.subject}",
            rollout=rollout,
            pods=frozenset({pod}),
            pod_failures=failed,
            pod_times=PodTimes(serving=serving, down=down),
            closed=self.now if ready and state.phase is WATCH else 0.0,
            verdict=PASSES if ready and state.phase is WATCH else None,
            **self.policy,
        )

    def hours(self, hours: float) -> "OnePodService":
        """So many go by."""
        for _ in range(int(hours * 60)):
            self.minute()
        return self


def service(cadence: Cadence, **policy: object) -> OnePodService:
    """A service that is watched, and whose rollout is over."""
    state = make_state(WATCH, revision="r-s1", wanted="r-s1", up=1)
    return OnePodService(cadence=cadence, state=state, policy=RETRIES | policy)


def test_a_draft_that_crashes_is_out_and_stays_out_between_the_retries() -> None:
    """The baseline serves without a failure."""
    played = service(lambda speculates: 40 * 60.0 if speculates else None).hours(70)
    assert [what for _, what in played.rolled] == [*["plain", "speculation"] * 3, "plain"]
    assert played.rolled[0][0] - 1000 < 3 * HOUR
    gaps = [later[0] - earlier[0] for earlier, later in zip(played.rolled[::2], played.rolled[1::2], strict=False)]
    assert gaps == pytest.approx([6 * HOUR, 12 * HOUR, 24 * HOUR], abs=61)
    assert played.state.baseline_fails is None


def test_speculation_returns_if_the_baseline_fails_too_and_does_not_flap() -> None:
    """A driver that ends every engine: the ways out become rarer, one day after the return, then two, then four."""
    played = service(lambda _: 40 * 60.0).hours(24)
    assert [what for _, what in played.rolled] == ["plain", "speculation"]
    assert played.rolled[1][0] - played.rolled[0][0] < 3 * HOUR, "long before the retry"
    found = played.state.baseline_fails
    assert found is not None
    assert found.reason == "EngineCrashed"
    assert found.message.startswith("baseline pods fail too: 3 failures within a day")
    assert (played.state.retries, played.state.rollbacks) == (1, 1)
    played.hours(7 * 24)
    days = [(out[0] - back[0]) / DAY for back, out in zip(played.rolled[1::2], played.rolled[2::2], strict=False)]
    assert [round(each) for each in days] == [1, 2, 4]


def test_a_rare_crash_of_the_baseline_brings_no_draft_back() -> None:
    """It has to fail as often."""
    played = service(lambda speculates: 40 * 60.0 if speculates else 5 * HOUR).hours(8)
    assert [what for _, what in played.rolled] == ["plain"]
    assert [each.reason for each in played.state.outages] == ["EngineCrashed"]


@pytest.mark.parametrize(
    ("reason", "policy", "good"),
    [
        ("AcceptanceRateLow", {}, False),
        (BY_REQUEST, {}, False),
        ("Stalled", {}, False),
        ("EngineCrashed", {"retry_limit": 0}, False),
        ("EngineCrashed", {"retry_after": None}, False),
        ("EngineCrashed", {"held": True}, False),
        ("EngineCrashed", {"mode": GuardMode.OBSERVE}, False),
        ("EngineCrashed", {}, True),
    ],
    ids=[
        "a draft that is not accepted",
        "the user's rollback",
        "another kind of failure",
        "no retries",
        "retries are off",
        "a hold",
        "Observe",
        "it crashes too",
    ],
)
def test_only_a_rollback_for_pods_that_fail_in_the_same_way_is_taken_back(
    reason: str, policy: dict[str, object], *, good: bool
) -> None:
    """And only while the guard may retry."""
    crashed = tuple(make_failure("p", number, 50.0 * number, reason="EngineCrashed") for number in (1, 2, 3))
    state = make_state(BACK, rollback=make_rollback(reason), pod_failures=crashed)
    known = facts(subject="plain", speculating=False, pods=frozenset("p"), **{**RETRIES, **policy})
    after = advance(state, known, 200.0)
    assert after.phase is (OUT if good else BACK)
    assert (after.baseline_fails is not None) is good


def test_the_count_of_the_baseline_begins_with_its_own_pods() -> None:
    """What those with speculation did is not held against it."""
    crashed = tuple(make_failure("p", number, 50.0, reason="EngineCrashed") for number in (1, 2, 3))
    state = make_state(Phase.RESPONDING, rollback=make_rollback("EngineCrashed", pending=True), pod_failures=crashed)
    after = advance(state, facts(subject="plain", speculating=False, **RETRIES), 60.0)
    assert (after.phase, after.pod_failures, after.rollbacks) == (BACK, (), 1)


def test_the_failures_of_the_baseline_count_for_a_day_and_for_their_kind() -> None:
    """An engine that hangs is restarted meanwhile, however often; another kind of failure counts."""
    crashed = tuple(make_failure("p", number, 50.0 * number, reason="EngineCrashed") for number in (1, 2, 3))
    state = make_state(BACK, rollback=make_rollback("EngineCrashed"), pod_failures=crashed)
    state = advance(state, facts(subject="plain", speculating=False, **RETRIES), 200.0)
    assert fails_either_way(state, "EngineCrashed", 200.0 + DAY - 1)
    assert not fails_either_way(state, "EngineCrashed", 200.0 + DAY)
    assert not fails_either_way(state, "Stalled", 201.0)
    watched = make_state(WATCH, baseline_fails=state.baseline_fails, retries=1)
    pods = frozenset("abc")
    for reason, phase in (("EngineCrashed", WATCH), ("NotReady", Phase.RESPONDING)):
        failed = tuple(make_failure(pod, 1, 900.0, reason=reason) for pod in "abc")
        assert advance(watched, facts(pods=pods, pod_failures=failed, **RETRIES), 900.0).phase is phase


def test_a_last_good_speculation_is_watched_like_any_other() -> None:
    """Its pods fail too: then the baseline is tried, and then it counts."""
    failed = tuple(make_failure(pod, 1, 900.0, reason="EngineCrashed") for pod in "abc")
    state = make_state(WATCH, rollback=make_rollback("EngineCrashed", good=make_good()))
    after = advance(state, facts(subject=state.subject, pods=frozenset("abc"), pod_failures=failed, **RETRIES), 900.0)
    assert after.phase is Phase.RESPONDING
    assert after.rollback is not None
    assert after.rollback.good is None


def test_the_next_retry_is_where_it_was() -> None:
    """Speculation that returned by itself was one of the retries."""
    state = make_state(BACK, rollback=make_rollback("EngineCrashed", at=100.0), retries=1)
    known = facts(**RETRIES).policy
    assert retry_at(state, known) == 100.0 + 12 * HOUR
