"""The status that is written, and when it is worth a write."""

import copy
from typing import Any

import pytest
from tests.unit.builders import (
    FAILED,
    IDLE,
    LOW,
    PASSED,
    PROGRESSING,
    Body,
    found,
    judged,
    make_dry_run,
    make_evidence,
    make_good,
    make_reduction,
    make_rollback,
    make_state,
)

from specdec_operator.api.times import to_time
from specdec_operator.guard.state import Phase, State
from specdec_operator.report.guard_status import kept_state
from specdec_operator.report.status import status_of

WATCHING = make_state()
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())


def watched(rate: float = 0.8, *, drafts: float = 500, verdict: Any = PASSED, now: float = 60.0) -> Body:
    """The status after a window."""
    return status_of(found(WATCHING, judged=judged(verdict, make_evidence(drafts, rate=rate))), {}, now)


def test_the_status_shows_what_is_and_why() -> None:
    """All of it, for one passing window."""
    made = watched()
    assert {key: made[key] for key in ("observedGeneration", "phase", "reason", "message")} == {
        "observedGeneration": 1,
        "phase": "Watching",
        "reason": "Accepted",
        "message": "acceptance 0.80",
    }
    assert made["serving"] == {
        "speculating": True,
        "method": "draft_model",
        "tokens": 4,
        "drafted": 4,
        "revision": "r1",
        "inferenceService": "inferenceservices.serving.kserve.io/llama",
    }
    assert made["acceptance"] == {
        "rate": 0.8,
        "length": 4.2,
        "drafts": 500,
        "draftTokens": 2000,
        "perPosition": [0.8] * 4,
        "draftedShare": 1.0,
        "windowSeconds": 10.0,
        "pods": 1,
    }
    assert made["guard"]["thresholds"] == {"acceptanceRate": 0.3, "minDraftTokens": 200}
    assert (made["guard"]["verdict"], made["guard"]["reason"]) == ("Pass", "Accepted")
    assert [turn["state"] for turn in made["history"]] == ["Watching"]


@pytest.mark.parametrize(
    ("state", "changes", "reason"),
    [
        (make_state(Phase.ROLLING_OUT), {"rollout": PROGRESSING}, "RollingOut"),
        (make_state(Phase.WARMING_UP), {}, "RolloutComplete"),
        (make_state(Phase.WARMING_UP, restarting=("p",)), {"judged": judged(LOW)}, "AcceptanceRateLow"),
        (make_state(Phase.MEASURING_BASELINE, measuring=True), {}, "MeasuringBaseline"),
        (make_state(Phase.MEASURING_BASELINE, measuring=True, revision=None), {"rollout": PROGRESSING}, "RollingOut"),
        (make_state(Phase.RESPONDING, reduced=make_reduction()), {"rollout": PROGRESSING}, "AcceptanceRateLow"),
        (make_state(rollback=make_rollback("X", good=make_good())), {"judged": judged()}, "Accepted"),
        (WATCHING, {}, "RolloutComplete"),
        (WATCHING, {"judged": judged(LOW)}, "AcceptanceRateLow"),
        (make_state(Phase.RESPONDING, rollback=make_rollback("X")), {"rollout": PROGRESSING}, "X"),
        (ROLLED_BACK, {"judged": judged()}, "AcceptanceRateLow"),
        (make_state(Phase.STALLED, rollback=make_rollback("X")), {"rollout": FAILED}, "CrashLoop"),
        (make_state(Phase.SERVING), {}, "RolloutComplete"),
    ],
)
def test_the_reason_is_the_decision_or_the_verdict_or_the_rollout(state: State, changes: Body, reason: str) -> None:
    """What matters most in the phase."""
    assert status_of(found(state, **changes), {}, 60)["reason"] == reason


def test_a_service_without_speculation_is_shown_as_none() -> None:
    """`none` and K=0 while rolled back, as well as without a speculation."""
    for state, spec in ((ROLLED_BACK, {}), (make_state(Phase.SERVING), {"speculation": None})):
        serving = status_of(found(state, spec=spec), {}, 60)["serving"]
        assert (serving["speculating"], serving["method"], serving["tokens"]) == (False, "none", 0)
        assert serving["drafted"] == 0


def test_what_was_not_measured_this_time_is_kept() -> None:
    """An idle hour, or an operator that was restarted, does not wipe out the last numbers."""
    before = watched()
    idle = status_of(found(WATCHING, judged=judged(IDLE, make_evidence(0))), before, 120)
    assert idle["acceptance"] == before["acceptance"]
    assert idle["guard"]["verdict"] == "Inconclusive"
    restarted = status_of(found(WATCHING), before, 120)
    for key in ("acceptance", "reason", "message", "history", "conditions"):
        assert restarted[key] == before[key]
    assert restarted["guard"] == before["guard"]


def test_numbers_of_another_speculation_are_not_kept() -> None:
    """They would be read as the new draft's."""
    changed = make_state(Phase.ROLLING_OUT, speculation="s2")
    after = status_of(found(changed, rollout=PROGRESSING), watched(0.1, verdict=LOW), 120)
    assert "acceptance" not in after
    assert "verdict" not in after["guard"]
    said = {each["type"]: (each["status"], each["lastTransitionTime"]) for each in after["conditions"]}
    assert said["SpeculationActive"] == said["GuardPassing"] == ("Unknown", to_time(120))
    assert said["Ready"] == ("True", to_time(60)), "the pods answered all the time"


def test_the_same_status_about_another_speculation_is_a_transition() -> None:
    """Unknown about this draft is not Unknown about the last one."""
    idle = watched(verdict=IDLE)
    changed = make_state(Phase.ROLLING_OUT, speculation="s2")
    for state, since in ((make_state(Phase.ROLLING_OUT), 60), (changed, 120)):
        after = status_of(found(state, rollout=PROGRESSING), idle, 120)
        (passing,) = [each for each in after["conditions"] if each["type"] == "GuardPassing"]
        assert (passing["status"], passing["lastTransitionTime"]) == ("Unknown", to_time(since))


def test_status_leads_back_to_the_state_it_was_made_from() -> None:
    """Every phase, with and without a rollback."""
    for phase in Phase:
        for rollback in (None, make_rollback()):
            state = make_state(phase, rollback=rollback, rollbacks=1, failures=2, dry_run=make_dry_run())
            assert kept_state(status_of(found(state), {}, 60)) == state


def test_history_keeps_the_ten_newest_turns() -> None:
    """One entry for each change of phase, newest first."""
    status: Body = {}
    phases = [Phase.ROLLING_OUT, Phase.WARMING_UP, Phase.WATCHING, Phase.RESPONDING] * 3
    for at, phase in enumerate(phases):
        state = make_state(phase, since=float(at), rollback=make_rollback() if phase is Phase.RESPONDING else None)
        for _ in range(2):
            status = status_of(found(state), status, float(at))
    assert [turn["state"] for turn in status["history"]] == [phase.value for phase in reversed(phases)][:10]
    assert len({turn["at"] for turn in status["history"]}) == 10


def test_the_same_phase_begun_again_is_a_turn() -> None:
    """Another speculation while pods still roll out."""
    first = status_of(found(make_state(Phase.ROLLING_OUT), rollout=PROGRESSING), {}, 0)
    again = status_of(found(make_state(Phase.ROLLING_OUT, since=9, speculation="s2"), rollout=PROGRESSING), first, 9)
    assert [turn["state"] for turn in again["history"]] == ["RollingOut", "RollingOut"]


def test_a_phase_that_seems_to_begin_earlier_is_not_a_new_turn() -> None:
    """The clock went back while the operator was away: the kept time is in the future,
    and the current time replaces it.
    """
    kept = status_of(found(make_state(Phase.ROLLING_OUT, since=3600), rollout=PROGRESSING), {}, 3600)
    again = status_of(found(make_state(Phase.ROLLING_OUT, since=9), rollout=PROGRESSING), kept, 9)
    assert [turn["state"] for turn in again["history"]] == ["RollingOut"]


def test_the_status_before_is_not_changed() -> None:
    """It is what lies in the API server."""
    before = watched()
    kept = copy.deepcopy(before)
    status_of(found(ROLLED_BACK), before, 99)
    assert before == kept
