"""Conditions by the rules of kstatus, and the time of their last transition."""

from dataclasses import fields, replace
from typing import Any

import pytest
from tests.unit.builders import (
    BACK,
    BASE,
    FAILED,
    IDLE,
    LOW,
    OUT,
    PROGRESSING,
    RESPOND,
    SERVE,
    STALLED,
    WARM,
    WATCH,
    Body,
    found,
    judged,
    make_evidence,
    make_good,
    make_reduction,
    make_rollback,
    make_state,
    policy,
    view,
)

from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import Phase, State
from specdec_operator.report.conditions import merged, wanted_conditions

EARLIER, NOW = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"

GONE = make_rollback()
OF_GOOD = make_rollback(good=make_good())


def said(phase: Phase, *, speculating: bool = True, **changes: Any) -> Body:
    """Status and reason of each condition; None if the previous one stays.

    An argument that is a field of State changes the state, and one of Policy the policy. All others are facts of the
    reconcile.
    """
    window = {"judged": changes.pop("judged", None)}  # a state has a time of that name
    state = make_state(phase, **{each.name: changes.pop(each.name) for each in fields(State) if each.name in changes})
    asked = policy(**{each.name: changes.pop(each.name) for each in fields(Policy) if each.name in changes})
    wanted = wanted_conditions(found(state, policy=asked, **window, **changes), speculating=speculating)
    return {kind: each and f"{each[0]} {each[1]}" for kind, each in wanted.items()}


THERE = {"ArtifactsStaged": "True Staged"}
UP = {"Ready": "True Serving"} | THERE
ON = {"RolledBack": "False AsRequested"}
OUT_OF_USE = {
    "RolledBack": "True AcceptanceRateLow",
    "SpeculationActive": "False RolledBack",
    "GuardPassing": "False AcceptanceRateLow",
}
DECIDED = OUT_OF_USE | {"RolledBack": "False Responding", "SpeculationActive": None}
NOT_UP = {"SpeculationActive": "Unknown NotMeasured", "GuardPassing": "Unknown NotMeasured"}
KEPT = {"SpeculationActive": None, "GuardPassing": None}
FEWER = {"RolledBack": "False TokensReduced"}
INSTEAD = {"RolledBack": "True AcceptanceRateLow"}
MEASURED_FIRST = {"SpeculationActive": "False MeasuringBaseline", "GuardPassing": "Unknown NotMeasured"}
DEGRADED: Body = {"guard": {"health": "Degraded"}}


@pytest.mark.parametrize(
    ("phase", "known", "conditions"),
    [
        (OUT, {"rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | ON | NOT_UP),
        (WARM, {}, UP | ON | KEPT),
        (WATCH, {}, UP | ON | KEPT),
        (
            WATCH,
            {"judged": judged()},
            UP | ON | {"SpeculationActive": "True Drafting", "GuardPassing": "True Accepted"},
        ),
        (
            WATCH,
            {"judged": judged(LOW, make_evidence(rate=0.02))},
            UP | ON | {"SpeculationActive": "True Drafting", "GuardPassing": "False AcceptanceRateLow"},
        ),
        (
            WATCH,
            {"judged": judged(IDLE, make_evidence(0))},
            UP | ON | {"SpeculationActive": None, "GuardPassing": "Unknown NoTraffic"},
        ),
        (
            WATCH,
            {"judged": judged(LOW, make_evidence(0, generation_tokens=900))},
            UP | ON | {"SpeculationActive": "False NotDrafting", "GuardPassing": "False AcceptanceRateLow"},
        ),
        (RESPOND, {"rollback": GONE, "rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | DECIDED),
        (
            STALLED,
            {"rollback": make_rollback(pending=True), "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE | DECIDED,
        ),
        (BACK, {"rollback": GONE}, UP | OUT_OF_USE),
        (
            BACK,
            {"rollback": GONE, "judged": judged(replace(LOW, at=99.0))},
            UP | OUT_OF_USE | {"SpeculationActive": "True Drafting"},
        ),
        (BACK, {"rollback": GONE, "rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | OUT_OF_USE),
        (
            STALLED,
            {"rollback": GONE, "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE | OUT_OF_USE,
        ),
        (SERVE, {"speculating": False}, UP),
        (BASE, {"measuring": True}, UP | {"Reconciling": "True RolloutComplete"} | ON | MEASURED_FIRST),
        (
            STALLED,
            {"measuring": True, "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE | ON | MEASURED_FIRST,
        ),
        (
            RESPOND,
            {"reduced": make_reduction(), "rollout": PROGRESSING},
            UP | {"Reconciling": "True RollingOut"} | FEWER | NOT_UP,
        ),
        (
            WATCH,
            {"reduced": make_reduction(), "judged": judged()},
            UP | FEWER | {"SpeculationActive": "True Drafting", "GuardPassing": "True Accepted"},
        ),
        (
            RESPOND,
            {"rollback": OF_GOOD, "rollout": PROGRESSING},
            UP | {"Reconciling": "True RollingOut"} | {"RolledBack": "False Responding"} | NOT_UP,
        ),
        (
            WATCH,
            {"rollback": OF_GOOD, "judged": judged()},
            UP | INSTEAD | {"SpeculationActive": "True Drafting", "GuardPassing": "True Accepted"},
        ),
        (WATCH, {"held": True}, UP | ON | KEPT | {"Held": "True AsRequested"}),
        (BACK, {"rollback": GONE, "held": True}, UP | OUT_OF_USE | {"Held": "True AsRequested"}),
        (
            OUT,
            {"rollout": PROGRESSING, "replacing": "r1"},
            UP | {"Reconciling": "True RollingOut", "Replacing": "True NoRoom"} | ON | NOT_UP,
        ),
        (WATCH, {"replacing": "r1"}, UP | ON | KEPT | {"Replacing": "True NoRoom"}),
        (WATCH, {"replacing": "r0"}, UP | ON | KEPT),
        (BACK, {"rollback": GONE, "spec": DEGRADED}, UP | OUT_OF_USE | {"Stalled": "True RolledBack"}),
        (WATCH, {"rollback": OF_GOOD, "spec": DEGRADED}, UP | INSTEAD | KEPT),
        (
            STALLED,
            {"speculating": False, "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE,
        ),
    ],
)
def test_each_phase_has_the_conditions_for_people_and_gitops_tools(phase: Phase, known: Body, conditions: Body) -> None:
    """A baseline service has no conditions about speculation."""
    assert said(phase, **known) == conditions


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("rollout", [view(), PROGRESSING, FAILED])
@pytest.mark.parametrize("rollback", [None, GONE])
def test_reconciling_and_stalled_are_there_only_when_true(phase: Phase, rollout: Any, rollback: Any) -> None:
    """kstatus takes their mere presence for trouble; and never both at once."""
    conditions = said(phase, rollback=rollback, rollout=rollout)
    abnormal = {kind: conditions[kind] for kind in ("Reconciling", "Stalled") if kind in conditions}
    assert all(each.startswith("True") for each in abnormal.values())
    assert len(abnormal) <= 1
    assert conditions["Ready"].startswith("True" if rollout.serving else "False")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (make_state(), "the pods speculate as requested in the spec"),
        (make_state(rollback=GONE), "acceptance 0.02"),
        (
            make_state(rollback=OF_GOOD),
            "acceptance 0.02; serving ngram with 2 tokens instead, the last good speculation",
        ),
        (
            make_state(rollback=make_rollback(good=make_good(block="edited"))),
            "acceptance 0.02; the last good speculation can no longer be read, so the service runs without speculation",
        ),
        (make_state(reduced=make_reduction()), "2 tokens per step: AcceptanceRateLow: acceptance 0.25 < 0.30"),
    ],
)
def test_the_served_speculation_is_shown_with_the_reason(state: State, message: str) -> None:
    """A user who reads only this condition knows what runs, and why."""
    wanted = wanted_conditions(found(state), speculating=True)["RolledBack"]
    assert wanted is not None
    assert wanted[2] == message


def condition(kind: str, status: str, reason: str = "R", message: str = "m") -> Body:
    """A condition as it was written earlier."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": EARLIER}


@pytest.mark.parametrize(
    ("wanted", "before", "after"),
    [
        (("True", "R", "m"), "True", ("True", "R", "m", EARLIER)),
        (("True", "Other", "words"), "True", ("True", "Other", "words", EARLIER)),
        (("False", "R", "m"), "True", ("False", "R", "m", NOW)),
        (None, "False", ("False", "R", "m", EARLIER)),
        (("True", "R", "m"), None, ("True", "R", "m", NOW)),
        (None, None, ("Unknown", "NotMeasured", "nothing has been measured yet", NOW)),
    ],
)
def test_the_transition_time_moves_only_with_the_status(
    wanted: Any, before: str | None, after: tuple[str, ...]
) -> None:
    """Another reason or message is not a transition. A condition without a new value is kept."""
    old = (condition("Ready", before),) if before else ()
    (made,) = merged({"Ready": wanted}, old, now=NOW, generation=5)
    assert (made.status, made.reason, made.message, made.last_transition_time) == after
    assert made.observed_generation == 5


def test_a_condition_that_is_no_longer_wanted_goes() -> None:
    """Stalled leaves when the fault does."""
    made = merged({"Ready": ("True", "R", "m")}, (condition("Stalled", "True"),), now=NOW, generation=1)
    assert [each.type for each in made] == ["Ready"]


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ({}, None),
        ({"image": "registry.example/specdec-runtime:1"}, None),
        ({"image": "vllm/vllm-openai:v0.22.0"}, ("True", "Injected")),
        ({"image": "vllm/vllm-openai:v0.22.0", "instrument": "None"}, ("False", "AsRequested")),
        ({"runtime": "platform-vllm"}, ("False", "ForeignRuntime")),
    ],
)
def test_missing_features_of_a_foreign_image_or_runtime_are_shown(
    engine: Body, expected: tuple[str, str] | None
) -> None:
    """Services with our own runtimes have no additional condition."""
    wanted = wanted_conditions(found(make_state(), spec={"engine": {"accelerator": "cpu"} | engine}), speculating=True)
    told = wanted.get("Instrumented")
    assert (told and told[:2]) == expected
