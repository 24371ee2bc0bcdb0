"""Load, the token_times by load, and the blocks of time that a window is cut into."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import counters, pace, times

from specdec_operator.guard.counters import Counters
from specdec_operator.guard.token_time import MOST_LOAD, UNKNOWN_LOAD, TokenTime, load_of, merge
from specdec_operator.guard.window import PodWindow, Window

BUSY = {"running": 3.0}


@pytest.mark.parametrize(
    ("running", "load"),
    [
        (0, 1),
        (0.4, 1),
        (1, 1),
        (1.01, 2),
        (2, 2),
        (2.5, 4),
        (4, 4),
        (5, 8),
        (64, 64),
        (65, 128),
        (1024, 1024),
        (9e9, 1024),
    ],
)
def test_a_load_is_the_next_power_of_two(running: float, load: int) -> None:
    """One at least; all beyond 1024 is one load, so that there are never more than eleven."""
    assert load_of(running) == load


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_more_requests_are_never_a_smaller_load(one: float, other: float) -> None:
    """And a load is a power of two up to the largest."""
    low, high = sorted((load_of(one), load_of(other)))
    assert (load_of(min(one, other)), load_of(max(one, other))) == (low, high)
    assert high <= MOST_LOAD
    assert high & (high - 1) == 0


def test_paces_of_several_pods_add_up_load_by_load() -> None:
    """Blocks at different loads are never mixed."""
    both = merge({1: pace(0.02), 4: pace(0.05)}, {4: pace(0.07)}, {})
    assert both == {1: pace(0.02), 4: pace(0.05, 0.07)}
    assert both[4].times.mean == pytest.approx(0.06)
    assert merge() == {}


def window(*rounds: tuple[float, Counters], block: float = 4.0) -> PodWindow:
    """The closed window of one pod with blocks of 4 s."""
    made = Window(rounds[0][0], block)
    for at, reading in rounds:
        made = made.with_readings({"p": reading}, at)
    return made.closed().pods["p"]


def busy(drafts: float, requests: float, seconds: float, *, running: float | None = 1.0, rate: float = 0.5) -> Counters:
    """Counters with requests that ended."""
    return counters(drafts, rate=rate, requests=requests, token_seconds=seconds, running=running)


def test_a_block_ends_with_the_reading_that_makes_it_long_enough() -> None:
    """Readings at 0, 2, 4, 6, 8 s and blocks of 4 s: two blocks; an open one is closed with the window."""
    seen = window(*((2.0 * step, counters(10 * step)) for step in range(5)))
    assert seen.acceptance.blocks == 2
    assert window(*((2.0 * step, counters(10 * step)) for step in range(6))).acceptance.blocks == 3
    assert window(*((2.0 * step, counters(10 * step)) for step in range(6)), block=2.0).acceptance.blocks == 5


def test_a_block_holds_the_acceptance_and_the_times_of_its_own_seconds() -> None:
    """Accepted and drafted tokens; the time per output token of the requests that ended in it; tokens generated."""
    seen = window((0.0, busy(100, 10, 1.0)), (4.0, busy(150, 30, 1.5)), (8.0, busy(150, 30, 1.5, running=0)))
    assert (seen.acceptance.total, seen.acceptance.of, seen.acceptance.blocks) == (100, 200, 1)
    assert seen.token_times == {1: TokenTime(times=times(0.025, requests=20), requests=20.0, tokens=150.0, seconds=4.0)}


@pytest.mark.parametrize(
    ("running", "load"),
    [((1, 1), 1), ((3, 5), 4), ((None, None), UNKNOWN_LOAD), ((None, 0), 1), ((0, 0), 1), ((0, 6), 8), ((7, 9), 8)],
)
def test_a_blocks_load_is_the_mean_of_the_readings_that_met_requests(
    running: tuple[float | None, float | None], load: int
) -> None:
    """A reading that met none came between two requests. If no reading met any, requests came one at a time. If no page
    has the number of running requests, the load is unknown: a scrape job may drop the gauge.
    """
    first, second = running
    seen = window(
        (0.0, busy(0, 0, 0, running=99 if first is not None else None)),
        (2.0, busy(10, 5, 0.1, running=first)),
        (4.0, busy(20, 9, 0.2, running=second)),
    )
    assert list(seen.token_times) == [load]


def test_tokens_of_a_block_in_which_no_request_ended_count_for_its_throughput() -> None:
    """A long answer is written through several blocks; its time is known when it ends."""
    seen = window((0.0, busy(0, 0, 0)), (4.0, busy(10, 0, 0)), (8.0, busy(20, 1, 0.02)))
    assert seen.token_times == {1: TokenTime(times=times(0.02, requests=1), requests=1.0, tokens=60.0, seconds=8.0)}


def test_a_block_without_any_traffic_leaves_nothing() -> None:
    """Nothing was drafted and nothing was generated: such a block does not count in a mean."""
    seen = window((0.0, busy(10, 1, 0.1)), (4.0, busy(10, 1, 0.1)))
    assert (seen.acceptance.blocks, seen.token_times) == (0, {})


@pytest.mark.parametrize("after", [counters(5, rate=0.5), counters(500, started=2.0e9)])
def test_a_block_with_a_restart_inside_is_dropped(after: Counters) -> None:
    """Differences across a restart mean nothing; the blocks before it stay."""
    seen = window((0.0, counters(0, rate=0.5)), (4.0, counters(50, rate=0.5)), (8.0, after))
    assert (seen.acceptance.blocks, seen.acceptance.of, seen.restarted) == (1, 200, True)


def test_the_next_window_begins_with_a_block_of_its_own() -> None:
    """From the last reading; the blocks of the window before are not in it."""
    first = Window(0.0, 4.0).with_readings({"p": counters(0)}, 0.0).with_readings({"p": counters(50)}, 4.0)
    second = first.next(4.0, frozenset({"p"})).with_readings({"p": counters(60)}, 8.0).closed().pods["p"]
    assert (second.acceptance.blocks, second.acceptance.of) == (1, 40)


@pytest.mark.parametrize("at", [2.0, 1.0])
def test_a_reading_that_is_not_newer_adds_nothing(at: float) -> None:
    """Two looks at the same moment, or one that was overtaken."""
    made = Window(0.0).with_readings({"p": counters(0)}, 0.0).with_readings({"p": counters(10)}, 2.0)
    assert made.with_readings({"p": counters(99)}, at) == made
