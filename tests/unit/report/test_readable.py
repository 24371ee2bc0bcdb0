"""A status that the operator cannot have written: what stays, what is replaced, and that each loss is reported."""

import copy
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase as Phases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.unit.builders import Body, make_failure, make_good, make_reduction, make_rollback, make_state, status_with
from tests.unit.report.test_guard_status_kept import STATES

from specdec_operator.api.times import to_time
from specdec_operator.guard.state import Phase, State
from specdec_operator.report.guard_status import kept_state
from specdec_operator.report.readable import readable
from specdec_operator.schema.status import UNSEEN

SHORT = [Phases.explicit, Phases.reuse, Phases.generate]
"""A whole state takes minutes to be made smaller."""
NOW = 1_795_000_000.0
AT = to_time(NOW - 600)
ROLLED: Body = status_with(
    make_state(
        Phase.ROLLED_BACK,
        since=NOW - 600,
        rollback=make_rollback(at=NOW - 900),
        rollbacks=3,
        pod_failures=(make_failure(at=NOW - 700),),
        last_good=(make_good(at=NOW - 9000.0),),
    )
)
ROLLED |= {
    "phase": "RolledBack",
    "serving": {"speculating": False},
    "acceptance": {
        "rate": 0.5,
        "length": 2.0,
        "drafts": 3,
        "draftTokens": 4,
        "perPosition": [0.5],
        "windowSeconds": 9.0,
    }
    | {"pods": 1},
    "conditions": [
        {
            "type": "RolledBack",
            "status": "True",
            "reason": "AcceptanceRateLow",
            "message": "m",
            "lastTransitionTime": AT,
        },
        {"type": "Ready", "status": "True", "reason": "Serving", "message": "m", "lastTransitionTime": AT},
    ],
    "history": [{"at": AT, "state": "RolledBack", "reason": "AcceptanceRateLow"}],
}
NO_TIMES = ["0001-01-01T00:00:00+14:00", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-14:00", "2027-01-01T00:00:00Z"]
NO_TIMES += ["2026-11-20T10:00:00", "yesterday", ""]


def changed(*path: Any, to: Any) -> Body:
    """That status, with another value at a path; `...` removes it."""
    status = copy.deepcopy(ROLLED)
    holder: Any = status
    for step in path[:-1]:
        holder = holder[step]
    if to is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = to
    return status


def read(status: Any) -> tuple[State, tuple[str, ...]]:
    """The state that the guard goes on from, and what is reported."""
    found = readable(status, NOW)
    state = kept_state(found.status, NOW)
    assert state is not None
    return state, found.lost


def test_what_the_operator_wrote_is_read_whole() -> None:
    """Nothing is reported."""
    found = readable(ROLLED, NOW)
    assert (found.status, found.lost, found.message) == (ROLLED, (), "")
    assert readable({}, NOW) == readable(None, NOW)


@given(STATES)
@settings(max_examples=30, phases=SHORT)
def test_no_state_of_the_guard_is_refused(state: State) -> None:
    """Whatever it decides is read by the next process. Speeds of a baseline are ratios of any two numbers here."""
    assume(state.phase is not Phase.ROLLED_BACK or state.decision is not None)
    status = json.loads(json.dumps(status_with(replace(state, baseline=()))))
    assert readable(status, 4_000_000_000.0).message == ""


@pytest.mark.parametrize("text", NO_TIMES)
@pytest.mark.parametrize("path", [("since",), ("rollback", "at"), ("podFailures", 0, "at"), ("wantedSince",)])
def test_a_time_that_cannot_be_is_now(text: str, path: tuple[Any, ...]) -> None:
    """Before 1970, after tomorrow, without an offset, or no time at all: the rollback and its count stay."""
    state, lost = read(changed("guard", *path, to=text))
    assert (state.phase, state.rollbacks, state.serves_baseline) == (Phase.ROLLED_BACK, 3, True)
    (words,) = lost
    assert words.startswith("status.guard.")
    assert "the time of this read is used instead" in words
    times = (state.since, state.rollback and state.rollback.at, state.pod_failures[0].at, state.wanted_since)
    assert NOW in times


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("rollbacks",), -9223372036854775808, "rollbacks starts again"),
        (("retries",), 9223372036854775807, "retries starts again"),
        (("regret",), math.inf, "regret starts again"),
        (("regret",), math.nan, "regret starts again"),
        (("regret",), 1e300, "regret starts again"),
        (("failures",), "many", "failures starts again"),
        (("failures",), [], "failures starts again"),
        (("lastGood", 0, "tokens"), "two", "this entry of lastGood is dropped"),
        (("lastGood",), "none", "lastGood starts again"),
        (("speculation",), 7, "speculation starts again"),
        (("reduced",), {"tokens": 2}, "reduced starts again"),
        (("state",), "Dreaming", "the guard goes on in Responding"),
        (("state",), ..., "the guard goes on in Responding"),
        (("rollback",), 5, "the service stays rolled back"),
        (("rollback",), {}, "the service stays rolled back"),
        (("rollback",), ..., "the service stays rolled back"),
        (("rollback", "reason"), None, "the service stays rolled back"),
        (("rollback", "good"), {"tokens": 1}, "good starts again"),
        (("rollback", "trial"), 1, "trial starts again"),
        (("verdict",), 4, "it is dropped"),
        (("recommendation",), {"tokens": "x"}, "it is dropped"),
        (("findings",), [{"measure": "Beauty"}], "it is dropped"),
        (("fewerTokens",), 1, "it is dropped"),
    ],
)
def test_a_value_that_cannot_be_read_is_reported_and_the_rollback_stays(
    path: tuple[Any, ...], value: Any, words: str
) -> None:
    """The value starts again, and no other."""
    state, lost = read(changed("guard", *path, to=value))
    assert state.serves_baseline
    assert any(words in each for each in lost), lost
    assert (state.phase in (Phase.ROLLED_BACK, Phase.RESPONDING), state.rollback is not None) == (True, True)


@pytest.mark.parametrize("guard", [None, 5, [], "x"])
def test_a_known_rollback_stays_without_the_guards_part(guard: Any) -> None:
    """By the phase or the condition; without either, the guard starts again."""
    state, lost = read(changed("guard", to=guard))
    assert (state.phase, state.serves_baseline, len(lost)) == (Phase.RESPONDING, True, 1)
    assert "starts again" in lost[0]
    other = readable({"serving": {"speculating": True}, "phase": "Watching", "guard": guard}, NOW)
    assert kept_state(other.status, NOW) is None
    assert len(other.lost) == 1


@pytest.mark.parametrize(
    ("path", "value", "left"),
    [
        (("conditions", 0), {"type": "Ready"}, 1),
        (("conditions", 0), 7, 1),
        (("conditions", 1, "lastTransitionTime"), NO_TIMES[0], 1),
        (("conditions",), "none", None),
        (("history", 0, "at"), NO_TIMES[3], 0),
        (("acceptance", "rate"), -1.0, None),
        (("acceptance",), [1], None),
        (("memory",), {"kvTokensMeasured": 1e300}, None),
        (("owned",), [{"kind": "InferenceService"}], 0),
        (("replicas",), "three", None),
    ],
)
def test_other_parts_lose_what_cannot_be_read_and_no_more(path: tuple[Any, ...], value: Any, left: int | None) -> None:
    """Entries of lists one by one. The guard's part is not touched."""
    found = readable(changed(*path, to=value), NOW)
    assert len(found.lost) == 1
    assert found.lost[0].startswith(f"status.{path[0]}")
    part = found.status.get(path[0])
    assert (part if part is None else len(part)) == left
    assert found.status["guard"] == ROLLED["guard"]


def test_a_hopeless_status_is_reported_in_a_bounded_text() -> None:
    """The condition and the Event have it."""
    found = readable({"history": [7] * 5000, "guard": {"podFailures": [7] * 5000}}, NOW)
    assert found.message.endswith("more")
    assert len(found.message) < 1000


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(NO_TIMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a status."""
    named = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [place for name, each in named for place in [(*path, name), *places(each, (*path, name))]]


@given(STATES, st.data())
@settings(max_examples=100, phases=SHORT)
def test_no_mutation_ends_the_read_and_each_loss_is_reported(state: State, data: st.DataObject) -> None:
    """One to three values are replaced or removed. What the guard does not read as it was written is reported."""
    status = json.loads(json.dumps(ROLLED | {"guard": status_with(state)["guard"]}))
    for _ in range(data.draw(st.integers(1, 3))):
        *steps, last = data.draw(st.sampled_from(places(status)))
        holder: Any = status
        for step in steps:
            holder = holder[step]
        holder[last] = data.draw(JUNK)
    late = 4_000_000_000.0
    found = readable(status, late)
    assert readable(found.status, late).lost == (), "what is left can be read"
    after = kept_state(found.status, late)
    if not found.lost:
        assert after == kept_state(status, late)
    if isinstance(status.get("guard"), dict) and status["guard"].get("rollback"):
        assert after is not None
        assert after.rollback is not None


@pytest.mark.parametrize("state", [make_state(reduced=make_reduction()), make_state(Phase.STALLED)])
def test_a_hash_that_is_lost_does_not_make_the_request_another_one(state: State) -> None:
    """It is reported, and the decisions stay (guard/user_intent.py)."""
    status = status_with(state)
    status["guard"]["speculation"] = 7
    after, lost = read(status)
    assert (after.speculation, after.reduced, len(lost)) == ("", state.reduced, 1)


def test_the_status_of_a_new_service_is_readable() -> None:
    """The CRD gives it one that no operator has written."""
    assert readable(UNSEEN, NOW).lost == ()
    assert readable({"observedGeneration": -2}, NOW).lost
