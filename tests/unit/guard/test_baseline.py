"""The baseline speed by load, as it is learnt, mixed and forgotten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import make_plain, pace, times

from specdec_operator.guard.baseline import FEWEST_REQUESTS, MOST_LOADS, Baseline, Plain, learnt
from specdec_operator.guard.token_time import UNKNOWN_LOAD, TokenTime, load_of


def mean(plain: Plain) -> float:
    """Its time per output token, in seconds."""
    assert plain.token_time.times.mean is not None
    return plain.token_time.times.mean


def test_a_first_window_is_the_baseline() -> None:
    """Its blocks as they were: mean, scatter, and what one pod generated."""
    assert learnt((), {2: pace(0.01, 0.03)}) == (Plain(load=2, token_time=pace(0.01, 0.03)),)


def test_loads_in_which_no_request_ended_teach_nothing() -> None:
    """There is a pace, and no time."""
    assert learnt((), {1: TokenTime(tokens=100.0, seconds=2.0)}) == ()
    assert learnt((make_plain(),), {1: TokenTime(tokens=100.0, seconds=2.0)}) == (make_plain(),)


def test_what_ran_at_an_unknown_load_teaches_nothing() -> None:
    """It could be compared with nothing."""
    assert learnt((), {UNKNOWN_LOAD: pace(0.01, 0.03)}) == ()


@pytest.mark.parametrize(
    ("blocks", "requests", "known"),
    [(4, FEWEST_REQUESTS / 4, True), (3, 500, False), (8, FEWEST_REQUESTS / 8 - 0.01, False), (64, 1000, True)],
)
def test_a_load_is_known_from_four_blocks_and_ten_requests(blocks: int, requests: float, known: bool) -> None:
    """Less is no more than a guess. requests: that ended in each block."""
    assert make_plain(blocks=blocks, requests=requests).known is known


def test_windows_add_up_while_there_is_room() -> None:
    """Two old blocks and six new ones: a quarter and three quarters."""
    (mixed,) = learnt(learnt((), {1: pace(0.25, 0.25)}), {1: pace(*(0.125,) * 6)})
    assert mean(mixed) == 0.25 * 0.25 + 0.75 * 0.125
    assert mixed.token_time == pace(0.25, 0.25, *(0.125,) * 6)


def test_loads_are_kept_apart_and_in_order() -> None:
    """A load that was not met this time stays as it was."""
    first = learnt((), {8: pace(0.08, 0.08), 1: pace(0.02, 0.02)})
    second = learnt(first, {4: pace(0.05, 0.05)})
    assert [plain.load for plain in second] == [1, 4, 8]
    assert (second[0], second[2]) == first


def test_old_blocks_fade_and_keep_their_mean() -> None:
    """As if there had been fewer of the same kind: mean and throughput stay, the scatter shrinks with their number."""
    old = pace(*(0.01, 0.03) * 32)
    (kept,) = learnt((Plain(load=1, token_time=old),), {1: pace(*(0.02,) * 8)})
    assert kept.token_time.times.blocks == 64
    assert kept.token_time.times.of == pytest.approx(640)
    assert mean(kept) == pytest.approx(0.02)
    assert kept.token_time.times.scatter == pytest.approx(old.times.scatter * 56 / 64)
    assert kept.token_time.tokens / kept.token_time.seconds == pytest.approx(old.tokens / old.seconds)


def test_a_new_day_corrects_an_old_one() -> None:
    """However long the old time held, 16 new windows outweigh it."""
    old: Baseline = ()
    for _ in range(1000):
        old = learnt(old, {1: pace(*(0.04,) * 8)})
    assert old[0].token_time.times.blocks == 64
    for _ in range(16):
        old = learnt(old, {1: pace(*(0.02,) * 8)})
    assert mean(old[0]) == pytest.approx(0.02, rel=0.15)


LOADS = st.dictionaries(st.sampled_from([load_of(2.0**n) for n in range(11)]), st.integers(1, 40))


@given(st.lists(LOADS, max_size=30))
def test_what_is_remembered_is_bounded(windows: list[dict[int, int]]) -> None:
    """Loads and blocks: it lies in a status."""
    baseline: Baseline = ()
    for window in windows:
        baseline = learnt(baseline, {load: pace(*(0.02,) * blocks) for load, blocks in window.items()})
    assert len(baseline) <= MOST_LOADS
    assert all(plain.token_time.times.blocks <= 64 for plain in baseline)
    assert [plain.load for plain in baseline] == sorted({load for window in windows for load in window})


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=20))
def test_a_mixture_is_between_its_parts(seconds: list[float]) -> None:
    """No window makes the baseline look faster or slower than it ever was."""
    baseline: Baseline = ()
    for each in seconds:
        baseline = learnt(baseline, {1: TokenTime(times=times(*(each,) * 8), tokens=64.0, seconds=4.0)})
    assert min(seconds) * (1 - 1e-9) <= mean(baseline[0]) <= max(seconds) * (1 + 1e-9)
