"""The Events of a turn: transitions, decisions, and specs that cannot run."""

from dataclasses import replace

import pytest
from tests.unit.builders import (
    found,
    judged,
    make_baseline,
    make_dry_run,
    make_good,
    make_lowering,
    make_reduction,
    make_rollback,
    make_state,
)

from specdec_operator.errors import Invalid
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.report.events import Event, events_of
from specdec_operator.report.status import SpecRefusal

WATCHING = make_state()
ROLLING_OUT = make_state(Phase.ROLLING_OUT)
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (None, ROLLING_OUT, [(False, "RollingOut")]),
        (make_state(Phase.ROLLING_OUT), make_state(Phase.WARMING_UP), [(False, "WarmingUp")]),
        (make_state(Phase.WARMING_UP), WATCHING, [(False, "Watching")]),
        (WATCHING, WATCHING, []),
        (WATCHING, replace(WATCHING, failures=2), []),
        (WATCHING, make_state(Phase.RESPONDING, rollback=make_rollback()), [(True, "RollingBack")]),
        (make_state(Phase.RESPONDING, rollback=make_rollback()), ROLLED_BACK, [(False, "RolledBack")]),
        (ROLLED_BACK, make_state(Phase.STALLED, rollback=make_rollback()), [(True, "Stalled")]),
        (make_state(Phase.ROLLING_OUT), make_state(Phase.SERVING), [(False, "Serving")]),
        (make_state(Phase.MEASURING_BASELINE, measuring=True), ROLLING_OUT, [(False, "RollingOut")]),
        (None, make_state(Phase.MEASURING_BASELINE, measuring=True), [(False, "MeasuringBaseline")]),
        (WATCHING, make_state(Phase.RESPONDING, reduced=make_reduction()), [(True, "ReducingTokens")]),
        (ROLLING_OUT, make_state(Phase.RESPONDING, lowering=make_lowering()), [(True, "LoweringMemory")]),
        (
            make_state(Phase.RESPONDING, lowering=make_lowering()),
            make_state(Phase.RESPONDING, lowering=make_lowering(2)),
            [(True, "LoweringMemory")],
        ),
        (
            make_state(Phase.RESPONDING, lowering=make_lowering(2)),
            make_state(Phase.RESPONDING, lowering=make_lowering(2), rollback=make_rollback()),
            [(True, "RollingBack")],
        ),
        (
            make_state(lowering=make_lowering(at=1.0)),
            make_state(Phase.RESPONDING, lowering=make_lowering(at=1.0), reduced=make_reduction(at=2.0)),
            [(True, "ReducingTokens")],
        ),
        (
            make_state(Phase.RESPONDING, reduced=make_reduction()),
            make_state(Phase.RESPONDING, rollback=make_rollback()),
            [(True, "RollingBack")],
        ),
        (WATCHING, make_state(Phase.RESPONDING, rollback=make_rollback(good=make_good())), [(True, "RollingBack")]),
        (WATCHING, make_state(Phase.WARMING_UP, restarting=("p",), restarts=1), [(True, "RestartingPod")]),
        (make_state(Phase.WARMING_UP, restarts=1), make_state(restarts=1), [(False, "Watching")]),
        (ROLLED_BACK, make_state(Phase.ROLLING_OUT, retries=1), [(False, "RollingOut")]),
        (ROLLING_OUT, replace(ROLLING_OUT, replacing="r1"), [(True, "Replacing")]),
        (replace(ROLLING_OUT, replacing="r1"), replace(ROLLING_OUT, replacing=None), []),
        (replace(WATCHING, blamed=("p",)), replace(WATCHING, baseline=(make_baseline(),)), []),
        (WATCHING, replace(WATCHING, dry_run=make_dry_run()), [(True, "WouldRollBack")]),
        (WATCHING, replace(WATCHING, dry_run=make_dry_run("RestartPod")), [(True, "WouldRestartPod")]),
        (replace(WATCHING, dry_run=make_dry_run()), replace(WATCHING, dry_run=make_dry_run()), []),
        (
            replace(WATCHING, dry_run=make_dry_run()),
            replace(WATCHING, dry_run=make_dry_run(at=9.0)),
            [(True, "WouldRollBack")],
        ),
        (replace(WATCHING, dry_run=make_dry_run()), WATCHING, []),
    ],
)
def test_events_report_transitions_only(before: State | None, after: State, events: list[tuple[bool, str]]) -> None:
    """The API server does not aggregate Events: one for each reconcile would flood it."""
    made = events_of(before, after, found(after), {})
    assert [(event.warning, event.reason) for event in made] == events


SKEW = Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message="p fails: acceptance 0.02", pods=("p",))


@pytest.mark.parametrize(
    ("after", "event"),
    [
        (
            make_state(Phase.RESPONDING, rollback=make_rollback()),
            Event(warning=True, reason="RollingBack", message="to Baseline: AcceptanceRateLow: acceptance 0.02"),
        ),
        (
            make_state(Phase.RESPONDING, rollback=make_rollback(good=make_good())),
            Event(warning=True, reason="RollingBack", message="to LastGood: AcceptanceRateLow: acceptance 0.02"),
        ),
        (
            make_state(Phase.RESPONDING, reduced=make_reduction()),
            Event(
                warning=True,
                reason="ReducingTokens",
                message="2 tokens per step from now on: AcceptanceRateLow: acceptance 0.25 < 0.30",
            ),
        ),
        (
            make_state(Phase.WARMING_UP, restarting=("p",), restarts=1),
            Event(warning=True, reason="RestartingPod", message="p: p fails: acceptance 0.02"),
        ),
        (
            replace(WATCHING, dry_run=make_dry_run("ReduceTokens")),
            Event(
                warning=True,
                reason="WouldReduceTokens",
                message="ReduceTokens, were the guard free to act: AcceptanceRateLow: acceptance 0.02 < 0.30",
            ),
        ),
        (
            replace(WATCHING, replacing="r1"),
            Event(
                warning=True,
                reason="Replacing",
                message="there is no room for a new pod next to the old ones, so the old ones stop first",
            ),
        ),
    ],
)
def test_a_decision_is_reported_with_its_numbers(after: State, event: Event) -> None:
    """In the Event as in the status."""
    assert events_of(WATCHING, after, found(after, judged=judged(SKEW)), {}) == (event,)


TROUBLE = SpecRefusal(error=Invalid("spec.model.uri", "x", "no"), generation=2)


@pytest.mark.parametrize(("written", "told"), [("acceptance 0.80", True), (TROUBLE.error.message, False)])
def test_a_spec_that_cannot_run_is_reported_once(written: str, told: bool) -> None:
    """While the pods of the previous spec keep running."""
    made = events_of(WATCHING, WATCHING, found(WATCHING), {"message": written}, TROUBLE)
    assert [event.reason for event in made] == (["InvalidSpec"] if told else [])
