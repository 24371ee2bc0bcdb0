"""When the baseline is learnt, and doubts after doubts: a pause between them, except for what is far slower."""

from dataclasses import replace

import pytest
from tests.unit.builders import (
    BACK,
    PASSED,
    make_baseline,
    make_rollback,
    make_state,
    pace,
)
from tests.unit.guard.doubt_films import ASKED, BEYOND, NO_ROOM, ONE, RECENT, SCALED, SLOWER, TWO
from tests.unit.guard.films import Frame, strip
from tests.unit.guard.test_checks import verdict

from specdec_operator.guard.state import Phase
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

HOUR = 3600.0


@pytest.mark.parametrize(
    ("doubts", "after", "found", "asks"),
    [
        (1, HOUR - 1, SLOWER, False),
        (1, HOUR, SLOWER, True),
        (2, 2 * HOUR - 1, SLOWER, False),
        (9, 24 * HOUR - 1, SLOWER, False),
        (9, 24 * HOUR, SLOWER, True),
        (9, 60, replace(SLOWER, grave=True), True),
        (9, 60, BEYOND, True),
    ],
)
def test_a_cleared_draft_is_not_doubted_again_for_a_while(
    doubts: int, after: float, found: Verdict, *, asks: bool
) -> None:
    """An hour, doubled with each cleared doubt up to a day. The wait does not apply to a far lower speed, or
    to a load beyond the baseline's.
    """
    begun = make_state(failures=2, unmeasured=2, doubts=doubts, doubted=100.0)
    (state,) = strip(begun, (100 + after, TWO | {"verdict": found, "in_row": 3}))
    assert state.rollback is None
    assert (state.control is not None) is asks


def test_no_pod_of_an_autoscaler_is_replaced_by_a_baseline_pod() -> None:
    """The autoscaler would create another. Without room the guard continues without the arm after a minute. With
    one pod it adds a baseline pod.
    """
    crowded = SCALED | NO_ROOM
    early, late = strip(make_state(control=ASKED), (59, crowded), (60, crowded))
    assert early.control is not None
    assert not early.control.replaces
    assert (late.control, late.armless) == (None, True)
    (asked,) = strip(make_state(failures=2), (1, SCALED | RECENT | {"verdict": SLOWER, "in_row": 3}))
    assert asked.control is not None
    assert asked.rollback is None


@pytest.mark.parametrize(("seconds", "grave"), [(0.023, False), (0.024, False), (0.027, True), (0.06, True)])
def test_a_speed_far_below_the_baseline_is_grave(seconds: float, *, grave: bool) -> None:
    """The upper end of the interval of the speedup is below eight tenths of the required speedup."""
    baseline = {"baseline": (make_baseline(1, *(0.02, 0.0202) * 4),), "speedup": 1.0}
    found = verdict({"token_times": {1: pace(*(seconds, 1.01 * seconds) * 4)}}, baseline)
    assert (found.reason, found.grave) == (SLOWER.reason, grave)


class TestBaseline:
    """Whenever the service runs without speculation its speed is learnt, once a window."""

    @pytest.mark.parametrize("phase", [Phase.MEASURING_BASELINE, Phase.ROLLED_BACK, Phase.SERVING])
    def test_it_is_learnt_whatever_the_reason_for_the_baseline(self, phase: Phase) -> None:
        """A window counts once, also when its turn comes again."""
        measure: Frame = {"measure_first": True, "baseline_limit": 1e6, "speculating": False}
        state = make_state(phase, measuring=phase is Phase.MEASURING_BASELINE)
        window: Frame = measure | {"token_times": {1: pace(0.02, 0.02)}}
        states = strip(state, (10, window), (11, window | {"closed": 10.0}), (20, window))
        assert [each.baseline[0].token_time.times.blocks for each in states] == [2, 2, 4]

    def test_pods_that_were_not_baseline_pods_change_no_baseline(self) -> None:
        """A window across a rollout is counted and not learnt."""
        state = make_state(BACK, rollback=make_rollback())
        (after,) = strip(state, (10, {"token_times": {1: pace(0.02, 0.02)}, "revision": "r2"}))
        assert (after.baseline, after.judged) == ((), 10)

    def test_speculation_is_never_taken_for_the_baseline(self) -> None:
        """Its windows are judged, not learnt."""
        (after,) = strip(
            make_state(baseline=(make_baseline(),)), (10, {"verdict": PASSED, "token_times": {1: pace(9.0, 9.0)}})
        )
        assert after.baseline == (make_baseline(),)


@pytest.mark.parametrize(
    ("frame", "before", "tries"),
    [
        (ONE, 8, False),
        (ONE, 9, True),
        (TWO, 2, True),
        (ONE | {"held": True}, 9, False),
        (ONE | {"dips": True}, 9, False),
        (TWO | {"dips": True}, 2, True),
    ],
)
def test_a_speed_that_cannot_be_compared_is_measured_again(frame: Frame, before: int, *, tries: bool) -> None:
    """By baseline pods; a service of one pod runs as baseline after ten such windows, unless its engine dips."""
    uncompared = Verdict(outcome=Outcome.INCONCLUSIVE, reason=Reason.NOT_MEASURED, message="different traffic")
    begun = make_state(unmeasured=before)
    (state,) = strip(begun, (9999, frame | RECENT | {"verdict": uncompared}))
    assert (state.control is not None or state.rollback is not None) is tries
    if state.rollback is not None:
        assert state.rollback.trial is not None
        assert state.rollback.pending
