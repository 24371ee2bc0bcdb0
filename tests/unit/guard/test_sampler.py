"""Readings go in, judged windows come out: when one is due, when a window closes, and clocks that go back."""

import pytest
from tests.unit.builders import counters, limits

from specdec_operator.guard.judge import Judged
from specdec_operator.guard.sampler import Sampler, Schedule, add, start
from specdec_operator.guard.verdict import Outcome

RHYTHM = Schedule(interval=2.0, window=10.0)


def run(*looks: tuple[float, float], rhythm: Schedule = RHYTHM, rate: float = 0.8) -> tuple[Sampler, list[float]]:
    """What is watched after looks at (time, drafts), and when windows closed."""
    watched, closed = start(looks[0][0], rhythm), []
    for at, drafts in looks:
        watched, judged = add(watched, {"p": counters(drafts, rate=rate)}, limits(), rhythm, at)
        closed += [judged.verdict.at] if judged else []
    return watched, closed


@pytest.mark.parametrize(
    ("interval", "window", "block"), [(2, 10, 2), (15, 120, 15), (1, 60, 7.5), (30, 30, 30), (2, 16, 2), (2, 20, 2.5)]
)
def test_a_block_is_an_eighth_of_a_window_and_an_interval_at_least(
    interval: float, window: float, block: float
) -> None:
    """Blocks without a reading of their own would have no end."""
    assert Schedule(interval=interval, window=window).block == block


def test_windows_follow_each_other_without_a_gap() -> None:
    """Each closes with the reading at its end, which is the first of the next one."""
    looks = tuple((100.0 + 2 * step, 100.0 * step) for step in range(16))
    watched, closed = run(*looks)
    assert closed == [110.0, 120.0, 130.0]
    assert watched.window.opened == 130.0
    assert watched.window.pods["p"].first == counters(1500)


@pytest.mark.parametrize(("late", "closes"), [(8.9, False), (9.0, True), (9.4, True), (10.9, True), (50.0, True)])
def test_the_reading_nearest_to_the_end_closes_a_window(late: float, closes: bool) -> None:
    """Half an interval early is nearer than one and a half late: late turns do not add up."""
    _, closed = run((0.0, 0), (4.0, 50), (late, 100))
    assert bool(closed) is closes


def test_a_reading_is_due_each_interval_and_none_is_made_up_for() -> None:
    """After a long pause one look is enough."""
    watched = start(100.0, RHYTHM)
    assert watched.is_due(100.0)
    watched, _ = add(watched, {}, limits(), RHYTHM, 100.0)
    assert (watched.due, watched.is_due(101.9), watched.is_due(102.0)) == (102.0, False, True)
    watched, _ = add(watched, {}, limits(), RHYTHM, 130.0)
    assert watched.due == 130.0
    watched, _ = add(watched, {}, limits(), RHYTHM, 130.1)
    assert watched.due == 132.0


def test_a_clock_that_went_back_begins_a_new_window_at_once() -> None:
    """What was read before it is of no use; waiting until the old time comes again would blind the guard."""
    watched, _ = run((1000.0, 0), (1002.0, 100))
    assert watched.is_due(500.0)
    watched, judged = add(watched, {"p": counters(200)}, limits(), RHYTHM, 500.0)
    assert judged is None
    assert (watched.window.opened, watched.due) == (500.0, 502.0)
    assert set(watched.window.pods) == {"p"}
    _, closed = run((1000.0, 0), (500.0, 100), *((500.0 + 2 * step, 100.0 * step) for step in range(1, 6)))
    assert closed == [510.0]


def test_a_clock_that_jumped_ahead_closes_a_window_with_a_gap() -> None:
    """Nothing was read meanwhile: that is not evidence."""
    watched = start(0.0, RHYTHM)
    watched, _ = add(watched, {"p": counters(0, rate=0)}, limits(), RHYTHM, 0.0)
    _, judged = add(watched, {"p": counters(5000, rate=0)}, limits(), RHYTHM, 9000.0)
    assert judged is not None
    assert judged.verdict.outcome is Outcome.INCONCLUSIVE


def test_failing_windows_carry_their_row_on_and_a_clock_that_went_back_drops_it() -> None:
    """The row is evidence of windows that follow each other."""
    looks = tuple((2.0 * step, 100.0 * step) for step in range(11))
    watched, closed = run(*looks, rate=0.0)
    assert closed == [10.0, 20.0]
    assert watched.row.acceptance.blocks == 10
    back, _ = add(watched, {"p": counters(2000, rate=0)}, limits(), RHYTHM, 3.0)
    assert back.row.acceptance.blocks == 0


def test_pods_come_and_go_with_the_readings() -> None:
    """A pod that is no longer asked leaves with its window; one that is new joins at once."""
    watched, judged = start(0.0, RHYTHM), None
    for step in range(6):
        pods = {"old": counters(100 * step), "new": counters(50 * step)} if step < 4 else {"new": counters(50 * step)}
        watched, judged = add(watched, pods, limits(), RHYTHM, 2.0 * step)
    assert isinstance(judged, Judged)
    assert judged.evidence.pods == 2
    assert set(watched.window.pods) == {"new"}
