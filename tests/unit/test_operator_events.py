"""The Events of a turn: transitions only."""

from dataclasses import replace

import pytest

from specdec_operator.control.events import Event, events_of
from specdec_operator.guard.state import Phase, State
from tests.unit.builders import found, make_rollback, make_state

WATCHING = make_state()
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())


@pytest.mark.parametrize(
    ("before", "after", "events"),
    [
        (None, make_state(Phase.ROLLING_OUT), [(False, "RollingOut")]),
        (make_state(Phase.ROLLING_OUT), make_state(Phase.WARMING_UP), [(False, "WarmingUp")]),
        (make_state(Phase.WARMING_UP), WATCHING, [(False, "Watching")]),
        (WATCHING, WATCHING, []),
        (WATCHING, replace(WATCHING, failures=2), []),
        (WATCHING, make_state(Phase.RESPONDING, rollback=make_rollback()), [(True, "RollingBack")]),
        (make_state(Phase.RESPONDING, rollback=make_rollback()), ROLLED_BACK, [(False, "RolledBack")]),
        (ROLLED_BACK, make_state(Phase.STALLED, rollback=make_rollback()), [(True, "Stalled")]),
        (make_state(Phase.ROLLING_OUT), make_state(Phase.SERVING), [(False, "Serving")]),
        (WATCHING, replace(WATCHING, would_roll_back=make_rollback()), [(True, "WouldRollBack")]),
        (replace(WATCHING, would_roll_back=make_rollback()), replace(WATCHING, would_roll_back=make_rollback()), []),
    ],
)
def test_events_tell_of_transitions_only(before: State | None, after: State, events: list[tuple[bool, str]]) -> None:
    """Events are not aggregated by the API server: one a tick would flood it."""
    made = events_of(before, after, found(after), {})
    assert [(event.warning, event.reason) for event in made] == events


def test_a_rollback_is_told_with_its_numbers() -> None:
    """In the Event as in the status."""
    after = make_state(Phase.RESPONDING, rollback=make_rollback())
    assert events_of(WATCHING, after, found(after), {}) == (
        Event(warning=True, reason="RollingBack", message="AcceptanceRateLow: acceptance 0.02"),
    )
