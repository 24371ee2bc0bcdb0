"""What the spec's guard asks for, defaults filled in: its policy and its thresholds."""

from typing import Any

import pytest

from specdec_operator.api.control import ControlMode
from specdec_operator.api.guard import Guard, GuardMode
from specdec_operator.api.speculation import Method
from specdec_operator.guard.policy import METHODS, Policy, policy_of, thresholds


def policy(held: bool = False, **guard: Any) -> Policy:
    """The policy of a guard."""
    return policy_of(Guard.model_validate(guard), held=held)


def test_the_defaults_of_a_guard_enforce_and_roll_back() -> None:
    """Three windows; to the last good speculation; nothing is measured first; three tries again, the first in 6 h."""
    assert policy() == Policy(
        mode=GuardMode.ENFORCE,
        warmup=60.0,
        failure_limit=3,
        measure_first=False,
        baseline_limit=1200.0,
        reduce_tokens=False,
        to_last_good=True,
        retry_after=21600.0,
        retry_limit=3,
        held=False,
        patience=None,
        control=ControlMode.ON_DOUBT,
    )


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        ({"baseline": "MeasureFirst"}, {"measure_first": True}),
        ({"speedup": {"min": 1.0}}, {"measure_first": True}),
        ({"speedup": {"min": 1.0}, "baseline": "None"}, {"measure_first": False}),
        ({"timePerOutputToken": {"max": "40ms"}}, {"measure_first": True}),
        ({"window": "30s"}, {"baseline_limit": 300.0}),
        ({"response": ["RollBack"]}, {"reduce_tokens": False}),
        ({"response": ["ReduceTokens", "RollBack"]}, {"reduce_tokens": True}),
        ({"rollBackTo": "Baseline"}, {"to_last_good": False}),
        ({"rollBackTo": "LastGood"}, {"to_last_good": True}),
        ({"retry": {"after": "1h", "limit": 5}}, {"retry_after": 3600.0, "retry_limit": 5}),
        ({"retry": {"after": "1h"}}, {"retry_after": 3600.0, "retry_limit": 3}),
        ({"retry": {"limit": 0}}, {"retry_limit": 0}),
        ({"failureLimit": 5, "warmup": "5s"}, {"failure_limit": 5, "warmup": 5.0}),
    ],
)
def test_a_policy_has_the_values_of_the_user(guard: dict[str, Any], expected: dict[str, Any]) -> None:
    """A minimum speedup or a limit of the time needs a measured baseline, unless the user sets `baseline: None`."""
    made = policy(**guard)
    assert {key: getattr(made, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("mode", "held", "acts"),
    [("Enforce", False, True), ("Enforce", True, False), ("Observe", False, False), ("Off", False, False)],
)
def test_the_guard_acts_only_where_it_may(mode: str, held: bool, acts: bool) -> None:
    """Observe and an annotation to hold both leave everything as it is."""
    assert policy(held, mode=mode).acts is acts


EVERYTHING: dict[str, Any] = {
    "acceptanceRate": {"min": 0.5},
    "acceptanceLength": {"min": 1.5},
    "speedup": {"min": 1.1},
    "timePerOutputToken": {"max": "40ms"},
}


def test_a_service_without_speculation_is_compared_with_its_limit_only() -> None:
    """It has no draft to judge."""
    made = thresholds(Guard.model_validate(EVERYTHING), None, tokens=0)
    assert (made.of_baseline, made.time_per_output_token) == (True, 0.04)
    assert (made.acceptance_rate, made.acceptance_length, made.speedup, made.always_drafts) == (None, None, None, False)


@pytest.mark.parametrize(
    ("asked", "tokens", "rates"),
    [
        ({}, 8, {4: 0.40, 5: 0.33, 8: 0.22}),
        ({}, 3, {2: 0.40, 3: 0.40}),
        ({"acceptanceRate": {"min": 0.5}}, 8, {1: 0.5, 4: 0.5, 8: 0.5}),
        ({"acceptanceLength": {"min": 2.0}}, 8, {4: 0.40, 8: 0.22}),
    ],
)
def test_the_default_minimum_of_the_rate_is_that_of_each_number_of_tokens(
    asked: dict[str, Any], tokens: int, rates: dict[int, float]
) -> None:
    """A minimum that the user sets is the same for all."""
    made = thresholds(Guard.model_validate(asked), METHODS[Method.DRAFT_MODEL], tokens=tokens)
    assert {each: round(made.least_rate(each) or 0.0, 2) for each in rates} == rates
    assert made.acceptance_rate == made.least_rate(tokens)


def test_without_speculation_no_number_of_tokens_has_a_minimum() -> None:
    """Whatever the user sets for drafts."""
    assert thresholds(Guard.model_validate(EVERYTHING), None, tokens=0).least_rate(4) is None
