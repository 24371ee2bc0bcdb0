"""The budget of regret: acceptance that is lost below its minimum, what forgives it, and what it decides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import LOW, PASSED, RESPOND, UNREAD, WATCH, facts, limits, make_evidence, make_state
from tests.unit.guard.films import strip

from specdec_operator.guard.acceptance import lost, spent
from specdec_operator.guard.state import Phase
from specdec_operator.guard.token_time import UNKNOWN_LOAD, TokenTime
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

SHALLOW = Verdict(
    outcome=Outcome.FAIL, reason=Reason.ACCEPTANCE_RATE_LOW, message="acceptance 0.25 < 0.30", severe=False
)
WINDOW = 120.0


@pytest.mark.parametrize(
    ("evidence", "asked", "points"),
    [
        ({"rate": 0.2}, {}, 10.0),
        ({"rate": 0.5}, {}, -20.0),
        ({"rate": 0.5}, {"acceptance_length": 3.4}, 10.0),
        ({"rate": 0.5}, {"acceptance_length": 2.2}, -20.0),
        ({"rate": 0.5}, {"acceptance_rate": None, "acceptance_length": 3.4}, 10.0),
        ({"rate": 0.2}, {"acceptance_rate": None}, None),
        ({"rate": 0.2, "drafts": 49}, {}, None),
        ({"drafts": 0}, {}, None),
    ],
)
def test_a_window_adds_its_points_below_the_minimum_by_its_time(
    evidence: dict[str, Any], asked: dict[str, Any], points: float | None
) -> None:
    """Minimum 0.30, or the rate that a length of K=4 stands for, whichever is missed by more; in an hour."""
    found = lost(make_evidence(seconds=3600.0, **evidence), limits(**asked))
    assert found == (None if points is None else pytest.approx(points))


@pytest.mark.parametrize(
    ("load", "answers", "pods", "weight"),
    [
        (2, 2.0, 1, 0.5),
        (1, 0.0, 1, 0.25),
        (2, 0.0, 2, 0.5),
        (4, 12.0, 1, 1.0),
        (64, 90.0, 1, 1.0),
        (UNKNOWN_LOAD, 0.0, 1, 1.0),
    ],
)
def test_a_window_of_few_answers_weighs_less(load: int, answers: float, pods: int, weight: float) -> None:
    """A mean of few answers is weaker evidence, however many tokens they have. Answers that already ran also count."""
    times = {load: TokenTime(seconds=60.0)}
    found = lost(make_evidence(seconds=3600.0, rate=0.2, answers=answers, pods=pods, token_times=times), limits())
    assert found == pytest.approx(10.0 * weight)


@given(st.floats(0, 100), st.floats(-100, 100), st.floats(0, 1e6))
def test_what_is_spent_is_never_less_than_nothing_and_fades(before: float, more: float, seconds: float) -> None:
    """Gains above the minimum do not count for later windows."""
    found = spent(before, more, seconds)
    assert 0 <= found <= max(0.0, before + max(0.0, more))
    assert found <= spent(before, more, 0.0)


def test_after_three_quarters_of_an_hour_half_of_it_is_left() -> None:
    """A draft is not taken out for yesterday."""
    assert spent(2.0, 0.0, 2700.0) == pytest.approx(1.0)


def windows(points: float, number: int, verdict: Verdict = SHALLOW) -> list[tuple[float, dict[str, Any]]]:
    """Windows of two minutes, one after the other."""
    adds = {"verdict": verdict, "lost": points * WINDOW / 3600}
    return [(WINDOW * each, adds) for each in range(1, number + 1)]


@pytest.mark.parametrize(("points", "minutes"), [(20.0, 8), (10.0, 14), (5.0, 30)])
def test_shallow_windows_decide_when_the_budget_is_spent(points: float, minutes: int) -> None:
    """Two point-hours, less what fades meanwhile; windows of two minutes."""
    states = strip(make_state(), *windows(points, minutes // 2))
    assert [state.phase for state in states] == [WATCH] * (minutes // 2 - 1) + [RESPOND]
    assert states[-2].regret < 2.0
    assert (states[-1].regret, states[-1].failures) == (0.0, 0)


def test_good_windows_reduce_the_loss_and_shallow_ones_do_not_make_a_row() -> None:
    """Acceptance that varies about a mean above its minimum is sometimes below it."""
    films = [*windows(10.0, 6), (WINDOW * 7, {"verdict": PASSED, "lost": -8.0 * WINDOW / 3600})]
    *_, low, after = strip(make_state(), *films)
    assert low.failures == 0
    assert after.regret == pytest.approx(low.regret - 8.0 * WINDOW / 3600, abs=0.1)


def test_a_passing_window_never_decides_however_much_was_lost() -> None:
    """What is spent ends speculation in a window that fails for its acceptance."""
    state = make_state(regret=50.0, judged=1.0)
    for verdict in (PASSED, UNREAD, Verdict(outcome=Outcome.FAIL, reason=Reason.SLOWER_THAN_PLAIN, message="slow")):
        (after,) = strip(state, (2, {"verdict": verdict, "lost": 0.0}))
        assert after.phase is WATCH


def test_a_larger_budget_bears_more() -> None:
    """spec.guard.regretBudget."""
    state = make_state()
    for at, adds in windows(20.0, 6):
        state = advance(state, facts(closed=at, regret_budget=5.0, **adds), at)
    assert state.phase is Phase.WATCHING
    assert state.regret == pytest.approx(4.0 * 0.94, rel=0.03)


def test_another_phase_begins_with_nothing_spent() -> None:
    """The loss of another speculation does not count for this one."""
    state = make_state(regret=1.5)
    assert advance(state, facts(revision="r2"), 5.0).regret == 0.0


def test_severe_windows_still_decide_by_their_row() -> None:
    """A draft that has collapsed is not borne for as long."""
    states = strip(make_state(), *windows(0.0, 3, LOW))
    assert [state.phase for state in states] == [WATCH, WATCH, RESPOND]
