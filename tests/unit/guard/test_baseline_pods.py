"""Windows of both arms: what one shows, and what several of them prove."""

from math import exp, log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import make_evidence, pace

from specdec_operator.guard.baseline_pods import (
    BOUND,
    MOST_PAIRS,
    Measure,
    Pair,
    finding_of,
    pair_of,
    shows_fast_enough,
    too_costly,
)
from specdec_operator.guard.counters import SideCounters


def pairs(*speedups: float, error: float = 0.01, **changes: Any) -> tuple[Pair, ...]:
    """Windows of both arms with these speedups."""
    return tuple(Pair(at=at, seen={Measure.SPEED: (log(each), error)}, **changes) for at, each in enumerate(speedups))


def score(*speedups: float, least: float = 1.0, **changes: Any) -> float:
    """The evidence against speculation after these windows."""
    found = finding_of(pairs(*speedups, **changes), Measure.SPEED, least)
    assert found is not None
    return found.score


SLOW = (0.90, 0.91, 0.89, 0.90)


def test_a_window_compares_both_kinds_of_pods_in_the_same_minutes() -> None:
    """Time per output token, and the other costs of speculation, each with its error."""
    ours = make_evidence(
        token_times={4: pace(*(0.02,) * 8)},
        answers=80,
        side=SideCounters(
            first_token_seconds=16, preemptions=0, prompt_tokens=8000, cache_queries=8000, cache_hits=2000
        ),
    )
    theirs = make_evidence(
        speculative=False,
        token_times={4: pace(*(0.03,) * 8)},
        answers=80,
        side=SideCounters(
            first_token_seconds=8, preemptions=0, prompt_tokens=8000, cache_queries=8000, cache_hits=4000
        ),
    )
    pair = pair_of({"a": ours, "b": ours}, {"c": theirs}, at=120.0)
    assert pair is not None
    seen = {measure: value for measure, (value, _) in pair.seen.items()}
    assert exp(seen[Measure.SPEED]) == pytest.approx(1.5)
    assert exp(seen[Measure.FIRST_TOKEN]) == pytest.approx(2.0)
    assert seen[Measure.HIT_RATE] == pytest.approx(0.25)
    assert Measure.QUEUE not in seen
    assert (pair.baseline, pair.seconds, pair.pods) == (pytest.approx(0.03), pytest.approx(0.02), (2, 1))
    assert pair.unlike == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("requests", [0.0, 1.0])
def test_pods_with_too_few_requests_prove_nothing(requests: float) -> None:
    """Nine requests are too few."""
    busy, idle = (make_evidence(token_times={1: pace(*(0.02,) * 8, requests=each)}) for each in (10, requests))
    assert pair_of({"a": busy}, {"b": idle}, at=0.0) is None
    assert pair_of({"a": idle}, {"b": busy}, at=0.0) is None


def test_slower_windows_fail_and_faster_ones_are_clear() -> None:
    """After three windows at the earliest. The numbers are ratios."""
    assert finding_of(pairs(0.9, 0.9), Measure.SPEED, 1.0) is None
    slow = finding_of(pairs(*SLOW), Measure.SPEED, 1.0)
    assert slow is not None
    assert slow.convicts
    assert not slow.clear
    assert slow.low < slow.value < slow.high < 1.0
    fast = finding_of(pairs(1.2, 1.21, 1.19, 1.2, 1.2), Measure.SPEED, 1.0)
    assert fast is not None
    assert fast.score < 0
    assert shows_fast_enough((fast,))
    assert not shows_fast_enough((slow,))


def test_slower_means_slower_than_the_required_speedup() -> None:
    """A service that requires 1.3 does not accept 1.2."""
    assert score(1.2, 1.21, 1.19, 1.2, least=1.3) > 0 > score(1.2, 1.21, 1.19, 1.2, least=1.1)


@pytest.mark.parametrize("before", [(), (1.3, 1.31) * 10], ids=["at the start", "after a long good time"])
def test_two_windows_of_less_than_seven_tenths_are_enough(before: tuple[float, ...]) -> None:
    """Two windows of 0.75 are not enough. One of 0.75 with one of 0.5 is not enough, and two
    with a large error are not enough.
    """
    found = finding_of(pairs(*before, 0.5, 0.52), Measure.SPEED, 1.0)
    assert found is not None
    assert found.convicts
    assert found.windows == 2
    for few in (pairs(*before, 0.75, 0.75), pairs(*before, 0.75, 0.5), pairs(*before, 0.5, 0.52, error=0.3)):
        unsure = finding_of(few, Measure.SPEED, 1.0)
        assert unsure is None or unsure.windows > 2


def test_a_sudden_fall_is_found_behind_a_long_good_time() -> None:
    """Twenty good windows do not make up for five bad ones: the last few are looked at by themselves, too."""
    assert score(*(1.3, 1.31) * 10, *SLOW, 0.9) >= BOUND


@pytest.mark.parametrize(
    ("weaker", "why"),
    [
        ({"error": 0.05}, "one window tells less"),
        ({"unlike": (log(0.5), 0.0, 0.0)}, "the baseline pod gets fewer requests"),
        ({"unlike": (0.0, log(0.7), 0.0)}, "its prompts are shorter"),
        (
            {"by_pod": {"a": log(0.02), "b": log(0.03)}, "pods": (2, 1)},
            "one speculating pod is much slower than the other",
        ),
    ],
)
def test_evidence_that_is_weaker_counts_less(weaker: dict[str, Any], why: str) -> None:
    """Each alone keeps a speculation that would go otherwise."""
    assert score(*SLOW) >= BOUND > score(*SLOW, **weaker), why


def test_speculation_that_begins_fewer_requests_and_is_slower_still_has_no_excuse() -> None:
    """Its queue is its own effect. If it is faster, its fewer requests may be the reason."""
    more = {"unlike": (log(2), 0.0, 0.0)}
    assert score(*SLOW, **more) == score(*SLOW)
    fast, eased = (finding_of(pairs(*(1.2, 1.21, 1.19), **each), Measure.SPEED, 1.0) for each in ({}, more))
    assert fast is not None
    assert eased is not None
    assert fast.low > 1 > eased.low
    hits = tuple(Pair(at=at, seen={Measure.HIT_RATE: (0.2 + 0.01 * at, 0.01)}, **more) for at in range(4))
    found = finding_of(hits, Measure.HIT_RATE, 0.05)
    assert found is not None
    assert not found.convicts, "more requests of the same users find more"


def test_windows_that_resemble_their_neighbours_count_less() -> None:
    """A machine that wanders for minutes makes windows that lean on each other."""
    restless, wandering = (0.93, 0.99) * 4, (0.93,) * 4 + (0.99,) * 4
    assert score(*restless) > score(*wandering)


@given(st.lists(st.floats(0.5, 2.0), min_size=3, max_size=2 * MOST_PAIRS), st.floats(0.5, 2.0))
def test_whatever_the_windows_the_numbers_hold_together(speedups: list[float], least: float) -> None:
    """An interval contains its value. A finding against the draft has a value below the limit."""
    found = finding_of(pairs(*speedups), Measure.SPEED, least)
    assert found is not None
    assert found.low <= found.value <= found.high
    assert found.windows <= MOST_PAIRS
    assert not found.convicts or found.value < least


def hits(*drops: float) -> tuple[Pair, ...]:
    """Windows in which the hit rate was so much lower with speculation."""
    return tuple(Pair(at=at, seen={Measure.HIT_RATE: (each, 0.01)}) for at, each in enumerate(drops))


def test_collateral_is_shown_until_it_is_clearly_over() -> None:
    """A difference is compared with a difference. A value in between does not change the warning."""
    lost = finding_of(hits(0.2, 0.21, 0.19, 0.2), Measure.HIT_RATE, 0.05)
    assert lost is not None
    assert lost.convicts
    assert lost.value == pytest.approx(0.2)
    limited = {Measure.HIT_RATE}
    told = too_costly((), (lost,), limited)
    assert told == (Measure.HIT_RATE,)
    unsure = finding_of(hits(0.0, 0.1, 0.05), Measure.HIT_RATE, 0.05)
    over = finding_of(hits(0.0, 0.01, 0.0, 0.0), Measure.HIT_RATE, 0.05)
    assert unsure is not None
    assert over is not None
    assert too_costly(told, (), limited) == too_costly(told, (unsure,), limited) == told
    assert too_costly(told, (over,), limited) == ()
    assert too_costly(told, (), ()) == (), "the user has removed the limit"
