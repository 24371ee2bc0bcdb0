"""The status of a window: acceptance, speed, the effect of fewer tokens, and the recommendation."""

from typing import Any

import pytest
from tests.unit.builders import (
    IDLE,
    LOW,
    PASSED,
    Body,
    found,
    judged,
    limits,
    make_baseline,
    make_comparison,
    make_evidence,
    make_gain,
    make_reduction,
    make_rollback,
    make_state,
    pace,
    policy,
)

from specdec_operator.guard.baseline_pods import Measure, MeasureFinding, Pair
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.what_if import Advice, Fewer
from specdec_operator.report.status import status_of

WATCHING = make_state()
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback(at=100.0))
BUSY: Body = {"token_times": {1: pace(0.02, 0.02), 8: pace(0.05, 0.05, 0.05)}}
ROWS = tuple(Fewer(tokens=n, rate=0.666, length=1.777, speedup=1.234, passes=n < 3) for n in (1, 2, 3, 4))
ADVICE = Advice(tokens=2, message="with 2 tokens: this would have passed")
LIMITS: Body = {"low": 1.1, "high": 1.4, "limit": 1.0, "unlike": 1.0}
PAIR = Pair(at=100.0, seen={Measure.SPEED: (0.2, 0.01)})
BASELINE = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.PLAIN, message="plain: 20.0 ms per output token")


def told(state: State = WATCHING, before: Body | None = None, **changes: Any) -> Body:
    """The status of a turn."""
    return status_of(found(state, **changes), before or {}, 120.0)


def test_the_speed_is_shown_with_its_load_and_its_interval() -> None:
    """Mean over all requests that ended; the load at which most of them did; tokens of all pods."""
    window = judged(PASSED, make_evidence(**BUSY), comparison=make_comparison(1.504))
    assert told(judged=window)["performance"] == {
        "timePerOutputTokenMs": 38.0,
        "tokensPerSecond": 210.0,
        "requests": 50,
        "load": 8,
        "speedup": 1.5,
        "speedupLow": 1.4,
        "speedupHigh": 1.6,
    }


def test_a_speed_without_a_baseline_has_no_speedup() -> None:
    """The status still shows the speed."""
    performance = told(judged=judged(PASSED, make_evidence(**BUSY)))["performance"]
    assert "speedup" not in performance
    assert performance["timePerOutputTokenMs"] == 38.0


def test_the_gain_in_the_engine_is_the_one_that_was_judged() -> None:
    """Its upper bound, and of how many dips."""
    performance = told(judged=judged(PASSED, make_evidence(**BUSY), gain=make_gain(1.234)))["performance"]
    assert (performance["gainHigh"], performance["dips"]) == (1.23, 40)
    assert "gainLow" not in performance, "not measured"
    gain = make_gain(1.234, low=1.0599)
    assert told(judged=judged(PASSED, make_evidence(**BUSY), gain=gain))["performance"]["gainLow"] == 1.05


@pytest.mark.parametrize("window", [None, judged(IDLE, make_evidence(0)), judged(PASSED, make_evidence())])
def test_the_last_speed_is_kept_where_no_request_ended(window: Any) -> None:
    """Also when nothing was judged at all."""
    before = told(judged=judged(PASSED, make_evidence(**BUSY)))
    assert told(before=before, judged=window)["performance"] == before["performance"]


def test_the_table_of_fewer_tokens_and_the_recommendation_are_shown_acted_on_or_not() -> None:
    """The user sees the effect of a smaller K."""
    guard = told(judged=judged(LOW), fewer=ROWS, advice=ADVICE)["guard"]
    assert guard["fewerTokens"][1] == {"tokens": 2, "rate": 0.67, "length": 1.78, "speedup": 1.23, "passes": True}
    assert [row["tokens"] for row in guard["fewerTokens"]] == [1, 2, 3, 4]
    assert guard["recommendation"] == {"tokens": 2, "message": ADVICE.message}


@pytest.mark.parametrize(
    ("window", "changes", "recommended"),
    [
        (None, {}, True),
        (judged(IDLE, make_evidence(0)), {}, True),
        (judged(PASSED), {"fewer": ROWS}, False),
        (judged(PASSED), {}, False),
    ],
    ids=["no window", "a window that proves nothing", "a window that passes", "one without positions"],
)
def test_a_recommendation_stays_until_a_window_contradicts_it(window: Any, changes: Body, recommended: bool) -> None:
    """An inconclusive window revokes nothing. The table is the last measured one."""
    before = told(judged=judged(LOW), fewer=ROWS, advice=ADVICE)
    guard = told(before=before, judged=window, **changes)["guard"]
    assert ("recommendation" in guard) is recommended
    assert guard["fewerTokens"] == before["guard"]["fewerTokens"]


def test_a_window_without_speculation_shows_nothing_about_the_draft() -> None:
    """The verdict that caused the rollback stays. The speed is that of the baseline."""
    before = told(make_state(Phase.RESPONDING, rollback=make_rollback()), judged=judged(LOW, make_evidence(rate=0.02)))
    window = judged(BASELINE, make_evidence(0, generation_tokens=900, speculative=False, **BUSY))
    after = told(ROLLED_BACK, before, judged=window, thresholds=limits(of_baseline=True))
    for key in ("verdict", "reason", "message"):
        assert after["guard"][key] == before["guard"][key]
    assert after["acceptance"] == before["acceptance"]
    assert (after["performance"]["tokensPerSecond"], "speedup" in after["performance"]) == (90.0, False)


def test_a_window_without_speculation_is_judged_by_a_set_limit() -> None:
    """The guard judges the time per output token with or without speculation."""
    slow = Verdict(outcome=Outcome.FAIL, reason=Reason.TOO_SLOW, message="50.0 ms per output token > 40.0 ms")
    asked = limits(of_baseline=True, time_per_output_token=0.04)
    guard = told(ROLLED_BACK, judged=judged(slow, make_evidence(**BUSY)), thresholds=asked)["guard"]
    assert (guard["verdict"], guard["reason"]) == ("Fail", "TooSlow")


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, {"acceptanceRate": 0.3, "minDraftTokens": 200}),
        (
            {"speedup": 1.1, "time_per_output_token": 0.04, "acceptance_length": 1.5},
            {
                "acceptanceRate": 0.3,
                "acceptanceLength": 1.5,
                "minDraftTokens": 200,
                "speedup": 1.1,
                "timePerOutputTokenMs": 40.0,
            },
        ),
        ({"of_baseline": True}, None),
    ],
)
def test_the_thresholds_are_shown_with_their_defaults(changes: Body, shown: Body | None) -> None:
    """A baseline service only has its limit."""
    assert told(thresholds=limits(**changes))["guard"].get("thresholds") == shown


def test_a_comparison_stays_in_the_status_until_a_later_window() -> None:
    """Except what only a newer release measures. It ends together with the windows that it is about."""
    found, compared = (
        MeasureFinding(measure=Measure.SPEED, value=1.25, score=-2.0, windows=3, **LIMITS),
        make_state(pairs=(PAIR,)),
    )
    before = told(compared, judged=judged(PASSED, findings=(found,)))
    (shown,) = before["guard"]["findings"]
    assert (
        shown == {"measure": "time-per-output-token", "value": 1.25, "score": -2.0, "bound": 4.5, "windows": 3} | LIMITS
    )
    newer = {"guard": before["guard"] | {"findings": [shown, shown | {"measure": "energy"}]}}
    assert told(compared, newer)["guard"]["findings"] == [shown]
    assert "findings" not in told(WATCHING, before)["guard"]


def test_what_the_guard_must_not_forget_is_shown_to_people() -> None:
    """When it is tried again, that it is held, what was learnt."""
    state = make_state(
        Phase.ROLLED_BACK, rollback=make_rollback(at=100.0), baseline=(make_baseline(4, 0.01, 0.03, 0.01, 0.03),)
    )
    guard = told(state, policy=policy(retry_after=60.0, retry_limit=2))["guard"]
    assert guard["nextRetry"] == "1970-01-01T00:02:40Z"
    (baseline,) = guard["baseline"]
    assert (baseline["load"], baseline["timePerOutputTokenMs"], baseline["requests"], baseline["blocks"]) == (
        4,
        20.0,
        40,
        4,
    )
    held = told(state, policy=policy(held=True, retry_after=60.0, retry_limit=2))["guard"]
    assert held["held"] is True
    assert "nextRetry" not in held, "nobody tries again what is held"
    reduced = told(make_state(reduced=make_reduction(at=100.0)), policy=policy(retry_after=60.0, retry_limit=2))
    assert reduced["guard"]["nextRetry"] == "1970-01-01T00:02:40Z"
    assert reduced["serving"]["tokens"] == 2
