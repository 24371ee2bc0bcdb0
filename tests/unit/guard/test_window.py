"""A window: what the counters of each pod did between its first and its last reading, and in its blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import counters, times

from specdec_operator.guard.counters import Counters
from specdec_operator.guard.token_time import UNKNOWN_LOAD, TokenTime
from specdec_operator.guard.window import Evidence, PodWindow, Window, by_pod, pooled

STEPS = st.lists(st.integers(0, 400), min_size=1, max_size=12)
"""Drafts between one reading and the next."""


def fill(*rounds: tuple[float, Counters | None]) -> Window:
    """A window of one pod, opened at the first time."""
    window = Window(rounds[0][0])
    for at, reading in rounds:
        window = window.with_readings({"pod-0": reading}, at)
    return window


def pool(window: Window, now: float) -> Evidence:
    """The pooled evidence of a window."""
    return pooled(by_pod(window, now), seconds=now - window.opened, unread=len(window.unread))


def test_evidence_is_the_difference_between_the_first_and_the_last_reading() -> None:
    """What was counted before the window opened belongs to other windows."""
    seen = pool(fill((0, counters(100)), (2, counters(140)), (4, counters(150, rate=0.8))), now=4)
    assert (seen.seconds, seen.drafts, seen.draft_tokens, seen.accepted_tokens) == (4, 50, 200, 160)
    assert seen.accepted_per_position == (40, 40, 40, 40)
    assert (seen.acceptance_rate, seen.acceptance_length) == (0.8, 4.2)


def test_one_reading_proves_nothing() -> None:
    """Totals since the engine's start show nothing about the present."""
    seen = pool(fill((0, counters(100))), now=1)
    assert (seen.drafts, seen.acceptance_rate, seen.acceptance_length) == (0, None, None)


@given(STEPS, st.data())
def test_evidence_does_not_depend_on_how_often_was_looked(steps: list[int], data: st.DataObject) -> None:
    """Readings between the first and the last only shorten the gaps."""
    totals = [sum(steps[:index]) for index in range(len(steps) + 1)]
    rounds = [(float(at), counters(total)) for at, total in enumerate(totals)]
    kept = data.draw(st.sets(st.integers(0, len(rounds) - 1))) | {0, len(rounds) - 1}
    sparse = pool(fill(*(rounds[index] for index in sorted(kept))), now=len(steps))
    dense = pool(fill(*rounds), now=len(steps))
    for name in ("seconds", "drafts", "draft_tokens", "accepted_tokens", "generation_tokens", "restarted"):
        assert getattr(sparse, name) == getattr(dense, name)
    assert sparse.longest_gap >= dense.longest_gap


@given(STEPS, STEPS)
def test_nothing_is_lost_or_counted_twice_between_two_windows(first: list[int], second: list[int]) -> None:
    """The next window starts from the last reading of the one before."""
    totals = [sum((first + second)[:index]) for index in range(len(first + second) + 1)]
    rounds = [(float(at), counters(total)) for at, total in enumerate(totals)]
    end = float(len(first))
    one = fill(*rounds[: len(first) + 1])
    two = one.next(end, frozenset({"pod-0"}))
    for at, reading in rounds[len(first) + 1 :]:
        two = two.with_readings({"pod-0": reading}, at)
    assert pool(one, end).drafts == sum(first)
    assert pool(two, float(len(totals) - 1)).drafts == sum(second)


def test_a_restart_marks_the_window_whatever_follows() -> None:
    """Also when the counters have grown past their old values again before the next reading."""
    again = counters(900, started=2.0e9)
    assert pool(fill((0, counters(100)), (2, counters(0)), (4, counters(500))), now=4).restarted
    assert pool(fill((0, counters(100)), (2, again), (4, counters(950, started=2.0e9))), now=4).restarted


def test_a_restart_between_two_windows_marks_the_second() -> None:
    """The second window starts from readings of the process that is gone."""
    second = fill((0, counters(100))).next(2, frozenset({"pod-0"})).with_readings({"pod-0": counters(5)}, 3)
    assert pool(second, now=3).restarted


def test_a_missing_reading_is_a_gap_also_at_the_end_and_across_windows() -> None:
    """Silence counts from the last answer, wherever windows begin."""
    assert pool(fill((0, counters(1)), (2, None), (4, None), (6, counters(9))), now=6).longest_gap == 6
    silent = fill((0, counters(1)), (2, counters(2)), (4, None))
    assert pool(silent, now=10).longest_gap == 8
    assert pool(silent.next(10, frozenset({"pod-0"})), now=12).longest_gap == 10


def test_a_pod_that_never_answered_is_named_until_it_does() -> None:
    """Its traffic may be anything."""
    window = fill((0, counters(1))).with_readings({"pod-0": counters(2), "pod-1": None}, 2)
    assert window.unread == {"pod-1"}
    assert pool(window, now=2).unread == 1
    assert window.with_readings({"pod-0": counters(3)}, 4).unread == {"pod-1"}, "it went without a word"
    assert window.with_readings({"pod-1": counters(0)}, 4).unread == frozenset()


@pytest.mark.parametrize(("begun", "decoded"), [(None, 90), (10.0, 90), (100.0, 0)])
def test_the_first_token_of_an_answer_is_not_decoded(begun: float | None, decoded: float) -> None:
    """The prompt's own step writes it. If the page lacks the number of first tokens, the
    number of ended answers counts.
    """
    told = {} if begun is None else {"first_tokens": begun}
    nothing = {} if begun is None else {"first_tokens": 0.0}
    seen = pool(
        fill((0, counters(0, **nothing)), (2, counters(0, generation_tokens=100.0, requests=10.0, **told))), now=2
    )
    assert (seen.generation_tokens, seen.decode_tokens) == (100, decoded)


def test_a_pod_that_is_gone_leaves_with_its_window() -> None:
    """A window keeps it to the end, as what it showed was real; the next one does not know it."""
    window = Window(0).with_readings({"pod-0": counters(1), "pod-1": counters(1)}, 0)
    window = window.with_readings({"pod-0": counters(9)}, 2)
    assert set(window.pods) == {"pod-0", "pod-1"}
    assert set(window.next(2, frozenset({"pod-0"})).pods) == {"pod-0"}


def test_pods_add_up_and_one_fault_is_a_fault_of_all() -> None:
    """Counts are summed; the longest gap and a restart are the worst pod's."""
    window = Window(0).with_readings({"a": counters(0), "b": counters(0, started=None)}, 0)
    window = window.with_readings({"a": counters(10, rate=1.0), "b": counters(30, rate=0.0, started=None)}, 2)
    window = window.with_readings({"b": counters(0, started=None)}, 5)
    seen = pool(window, now=5)
    assert (seen.pods, seen.drafts, seen.longest_gap, seen.restarted) == (2, 10, 3, True)


def test_a_window_without_pods_is_one_long_gap() -> None:
    """There was no pod to read."""
    seen = pool(Window(0), now=60)
    assert (seen.pods, seen.longest_gap, seen.generation_tokens) == (0, 60, 0)


BUSY = {"running": 3.0}


def blocks(*rounds: tuple[float, Counters], block: float = 4.0) -> PodWindow:
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
    seen = blocks(*((2.0 * step, counters(10 * step)) for step in range(5)))
    assert seen.acceptance.blocks == 2
    assert blocks(*((2.0 * step, counters(10 * step)) for step in range(6))).acceptance.blocks == 3
    assert blocks(*((2.0 * step, counters(10 * step)) for step in range(6)), block=2.0).acceptance.blocks == 5


def test_a_block_holds_the_acceptance_and_the_times_of_its_own_seconds() -> None:
    """Accepted and drafted tokens; the time per output token of the requests that ended in it; tokens generated."""
    seen = blocks((0.0, busy(100, 10, 1.0)), (4.0, busy(150, 30, 1.5)), (8.0, busy(150, 30, 1.5, running=0)))
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
    seen = blocks(
        (0.0, busy(0, 0, 0, running=99 if first is not None else None)),
        (2.0, busy(10, 5, 0.1, running=first)),
        (4.0, busy(20, 9, 0.2, running=second)),
    )
    assert list(seen.token_times) == [load]


def test_tokens_of_a_block_in_which_no_request_ended_count_for_its_throughput() -> None:
    """A long answer is written through several blocks; its time is known when it ends."""
    seen = blocks((0.0, busy(0, 0, 0)), (4.0, busy(10, 0, 0)), (8.0, busy(20, 1, 0.02)))
    assert seen.token_times == {1: TokenTime(times=times(0.02, requests=1), requests=1.0, tokens=60.0, seconds=8.0)}


def test_a_block_without_any_traffic_leaves_nothing() -> None:
    """Nothing was drafted and nothing was generated: such a block does not count in a mean."""
    seen = blocks((0.0, busy(10, 1, 0.1)), (4.0, busy(10, 1, 0.1)))
    assert (seen.acceptance.blocks, seen.token_times) == (0, {})


@pytest.mark.parametrize("after", [counters(5, rate=0.5), counters(500, started=2.0e9)])
def test_a_block_with_a_restart_inside_is_dropped(after: Counters) -> None:
    """Differences across a restart mean nothing; the blocks before it stay."""
    seen = blocks((0.0, counters(0, rate=0.5)), (4.0, counters(50, rate=0.5)), (8.0, after))
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
