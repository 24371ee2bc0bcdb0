"""Conditions by the rules of kstatus, and the time of their last transition."""

from typing import Any

import pytest

from specdec_operator.control.conditions import merged, wanted_conditions
from specdec_operator.guard.state import Phase
from tests.unit.builders import (
    FAILED,
    IDLE,
    LOW,
    PASSED,
    PROGRESSING,
    STAGED,
    Body,
    make_evidence,
    make_rollback,
    make_state,
    view,
)

EARLIER, NOW = "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z"

OUT, WARM, WATCH, RESPOND, BACK, STALLED, SERVE = (
    Phase.ROLLING_OUT,
    Phase.WARMING_UP,
    Phase.WATCHING,
    Phase.RESPONDING,
    Phase.ROLLED_BACK,
    Phase.STALLED,
    Phase.SERVING,
)
GONE = make_rollback()


def said(phase: Phase, *, rollback: Any = None, speculating: bool = True, **changes: Any) -> Body:
    """Status and reason of each condition; None where what was said before stays."""
    known: Body = {"rollout": view(), "verdict": None, "evidence": None} | changes
    wanted = wanted_conditions(
        make_state(phase, rollback=rollback),
        known["rollout"],
        STAGED,
        speculating=speculating,
        verdict=known["verdict"],
        evidence=known["evidence"],
    )
    return {kind: each and f"{each[0]} {each[1]}" for kind, each in wanted.items()}


THERE = {"ArtifactsStaged": "True Staged"}
UP = {"Ready": "True Serving"} | THERE
ON = {"RolledBack": "False AsRequested"}
OUT_OF_USE = {
    "RolledBack": "True AcceptanceRateLow",
    "SpeculationActive": "False RolledBack",
    "GuardPassing": "False AcceptanceRateLow",
}
NOT_UP = {"SpeculationActive": "Unknown NotMeasured", "GuardPassing": "Unknown NotMeasured"}
KEPT = {"SpeculationActive": None, "GuardPassing": None}


@pytest.mark.parametrize(
    ("phase", "facts", "conditions"),
    [
        (OUT, {"rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | ON | NOT_UP),
        (WARM, {}, UP | ON | KEPT),
        (WATCH, {}, UP | ON | KEPT),
        (
            WATCH,
            {"verdict": PASSED, "evidence": make_evidence()},
            UP | ON | {"SpeculationActive": "True Drafting", "GuardPassing": "True Accepted"},
        ),
        (
            WATCH,
            {"verdict": LOW, "evidence": make_evidence(rate=0.02)},
            UP | ON | {"SpeculationActive": "True Drafting", "GuardPassing": "False AcceptanceRateLow"},
        ),
        (
            WATCH,
            {"verdict": IDLE, "evidence": make_evidence(0)},
            UP | ON | {"SpeculationActive": None, "GuardPassing": "Unknown NoTraffic"},
        ),
        (
            WATCH,
            {"verdict": LOW, "evidence": make_evidence(0, generation_tokens=900)},
            UP | ON | {"SpeculationActive": "False NotDrafting", "GuardPassing": "False AcceptanceRateLow"},
        ),
        (RESPOND, {"rollback": GONE, "rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | OUT_OF_USE),
        (BACK, {"rollback": GONE}, UP | OUT_OF_USE),
        (BACK, {"rollback": GONE, "rollout": PROGRESSING}, UP | {"Reconciling": "True RollingOut"} | OUT_OF_USE),
        (
            STALLED,
            {"rollback": GONE, "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE | OUT_OF_USE,
        ),
        (SERVE, {"speculating": False}, UP),
        (
            STALLED,
            {"speculating": False, "rollout": FAILED},
            {"Ready": "False CrashLoop", "Stalled": "True CrashLoop"} | THERE,
        ),
    ],
)
def test_each_phase_says_what_people_and_gitops_tools_ask(phase: Phase, facts: Body, conditions: Body) -> None:
    """Of a plain service nothing is said about speculation."""
    assert said(phase, **facts) == conditions


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("rollout", [view(), PROGRESSING, FAILED])
@pytest.mark.parametrize("rollback", [None, GONE])
def test_reconciling_and_stalled_are_there_only_when_true(phase: Phase, rollout: Any, rollback: Any) -> None:
    """kstatus takes their mere presence for trouble; and never both at once."""
    found = said(phase, rollback=rollback, rollout=rollout)
    abnormal = {kind: found[kind] for kind in ("Reconciling", "Stalled") if kind in found}
    assert all(each.startswith("True") for each in abnormal.values())
    assert len(abnormal) <= 1
    assert found["Ready"].startswith("True" if rollout.serving else "False")


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
    """Another reason or message is no transition; what is not known anew is kept."""
    old = (condition("Ready", before),) if before else ()
    (made,) = merged({"Ready": wanted}, old, now=NOW, generation=5)
    assert (made.status, made.reason, made.message, made.last_transition_time) == after
    assert made.observed_generation == 5


def test_a_condition_that_is_no_longer_wanted_goes() -> None:
    """Stalled leaves when the fault does."""
    made = merged({"Ready": ("True", "R", "m")}, (condition("Stalled", "True"),), now=NOW, generation=1)
    assert [each.type for each in made] == ["Ready"]
