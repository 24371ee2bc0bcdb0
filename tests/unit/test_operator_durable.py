"""The guard's state, written to status.guard and read back by another process."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.api.status import GuardStatus
from specdec_operator.control.durable import from_time, guard_fields, state_of, to_time
from specdec_operator.guard.state import Phase, Rollback, State
from tests.unit.builders import Body, make_state

TIMES = st.integers(0, 4_000_000_000).map(float)
WORDS = st.text("aZ09 .:é{}\"'\\\n", max_size=30)
HASHES = st.text("0123456789abcdef", min_size=1, max_size=10)
ROLLBACKS = st.none() | st.builds(Rollback, reason=WORDS, message=WORDS, at=TIMES)


@st.composite
def states(draw: st.DrawFn) -> State:
    """Any state: a rollout's start is kept only together with what is wanted."""
    wanted = draw(st.none() | HASHES)
    return State(
        phase=draw(st.sampled_from(Phase)),
        since=draw(TIMES),
        speculation=draw(HASHES),
        revision=draw(st.none() | HASHES),
        wanted=wanted,
        wanted_since=draw(TIMES) if wanted else 0.0,
        failures=draw(st.integers(0, 100)),
        rollback=draw(ROLLBACKS),
        would_roll_back=draw(ROLLBACKS),
        rollbacks=draw(st.integers(0, 10**6)),
        handled_retry=draw(st.none() | WORDS),
    )


def written(state: State) -> Body:
    """A state as it lies in the API server."""
    guard = GuardStatus.model_validate(guard_fields(state)).model_dump(by_alias=True, exclude_none=True)
    return {"guard": guard}


@given(states())
def test_a_restarted_operator_knows_what_it_decided(state: State) -> None:
    """Nothing that the guard must not forget is lost."""
    assert state_of(written(state)) == state


@given(states(), st.floats(0, 0.999))
def test_times_are_kept_to_the_second(state: State, part: float) -> None:
    """Kubernetes' times have no fractions; a phase never seems to begin later than it did."""
    late = state_of({"guard": written(state)["guard"] | {"since": to_time(state.since + part)}})
    assert late is not None
    assert late.since == math.floor(state.since + part)


@pytest.mark.parametrize(
    "guard",
    [
        None,
        {},
        {"state": "Watching"},
        {"state": "Dreaming", "since": "2026-11-20T10:00:00Z"},
        {"state": "Watching", "since": "yesterday"},
        {"state": "Watching", "since": "2026-11-20T10:00:00Z", "failures": "many"},
    ],
)
def test_a_state_that_cannot_be_read_is_none_at_all(guard: Body | None) -> None:
    """Edited by hand, or by a version that is not ours: the guard begins anew."""
    assert state_of({"guard": guard}) is None
    assert state_of({}) is None


def test_what_a_newer_version_keeps_besides_is_passed_over() -> None:
    """A downgrade keeps the decision."""
    assert state_of({"guard": written(make_state())["guard"] | {"fromTheFuture": 1}}) == make_state()


def test_times_are_utc_texts() -> None:
    """As Kubernetes writes them; other offsets are read as well."""
    assert to_time(1_795_226_868.84) == "2026-11-21T02:07:48Z"
    assert from_time("2026-11-21T02:07:48Z") == from_time("2026-11-21T03:07:48+01:00") == 1_795_226_868.0
