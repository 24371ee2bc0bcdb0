"""What fewer or more tokens per step would have done, by hand, and what is recommended."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import IDLE, LOW, PASSED, limits, make_comparison, make_evidence, pace, times

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.policy import METHODS, thresholds
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.what_if import Fewer, advise, drafted, fewer_tokens, more_tokens, most_that_pass
from specdec_operator.guard.window import Evidence


def falling(*shares: float, drafts: float = 10_000) -> Evidence:
    """Evidence in which each position was accepted in this share of the drafts."""
    accepted = drafts * sum(shares)
    return make_evidence(
        drafts,
        tokens=len(shares),
        accepted_tokens=accepted,
        generation_tokens=drafts + accepted,
        accepted_per_position=tuple(drafts * share for share in shares),
    )


def exactly(speedup: float | None) -> Comparison | None:
    """How it compares with plain, where chance plays no part."""
    return None if speedup is None else make_comparison(speedup, low=speedup, high=speedup)


def numbers(rows: tuple[Fewer, ...]) -> list[tuple[float, ...]]:
    """Tokens, acceptance rate, length of each row, rounded."""
    return [(row.tokens, round(row.rate, 4), round(row.length, 4)) for row in rows]


def test_the_table_by_hand() -> None:
    """K' positions: accepted so far / (drafts x K'), and 1 + accepted so far / drafts."""
    rows = fewer_tokens(falling(0.8, 0.5, 0.2, 0.1), limits(), None)
    assert numbers(rows) == [(1, 0.8, 1.8), (2, 0.65, 2.3), (3, 0.5, 2.5), (4, 0.4, 2.6)]
    assert [row.speedup for row in rows] == [None] * 4


@pytest.mark.parametrize(
    "evidence",
    [make_evidence(0), make_evidence(accepted_per_position=()), falling(0.8, drafts=0)],
    ids=["nothing drafted", "positions are not counted", "neither"],
)
def test_without_positions_there_is_no_table(evidence: Evidence) -> None:
    """An engine that counts none, or a window without drafts."""
    assert fewer_tokens(evidence, limits(), exactly(1.0)) == ()


@pytest.mark.parametrize(
    ("speedup", "estimates"),
    [
        # length 2.6 at K=4 and a speedup of 1.3: a drafted token costs (2.6/1.3 - 1)/4 = 0.25 steps of the target
        (1.3, [1.8 / 1.25, 2.3 / 1.5, 2.5 / 1.75, 1.3]),
        # slower than plain: 1.25 steps each
        (2.6 / 6, [1.8 / 2.25, 2.3 / 3.5, 2.5 / 4.75, 2.6 / 6]),
        # faster than the length allows: the draft is free, and the measured speed is not reached by the estimate
        (3.0, [1.8, 2.3, 2.5, 2.6]),
    ],
)
def test_the_speed_is_estimated_from_the_cost_that_was_measured(speedup: float, estimates: list[float]) -> None:
    """speedup = length / (1 + cost x K), solved for the cost and put in for each K'."""
    rows = fewer_tokens(falling(0.8, 0.5, 0.2, 0.1), limits(), exactly(speedup))
    assert [row.speedup for row in rows] == [pytest.approx(each) for each in estimates]


@pytest.mark.parametrize(
    ("thresholds", "speedup", "passing"),
    [
        ({}, None, [True, True, True, True]),
        ({"acceptance_rate": 0.49}, None, [True, True, True, False]),
        ({"acceptance_rate": 0.5}, None, [True, True, None, False]),
        ({"acceptance_rate": 0.66}, None, [True, False, False, False]),
        ({"acceptance_rate": None}, None, [True] * 4),
        ({"acceptance_rate": None, "acceptance_length": 2.4}, None, [False, False, True, True]),
        ({"acceptance_rate": 0.6, "acceptance_length": 2.0}, None, [False, True, False, False]),
        ({"speedup": 1.5}, 1.3, [False, True, False, False]),
        ({"speedup": 1.5}, None, [True] * 4),
    ],
)
def test_a_row_passes_where_no_threshold_is_missed(
    thresholds: dict[str, Any], speedup: float | None, passing: list[bool | None]
) -> None:
    """By more than chance explains. A speed that cannot be estimated is not held against it."""
    rows = fewer_tokens(falling(0.8, 0.5, 0.2, 0.1), limits(**thresholds), exactly(speedup))
    assert [row.passes for row in rows] == passing


@pytest.mark.parametrize(
    ("asked", "most"),
    [({}, 2), ({"acceptanceRate": {"min": 0.28}}, 4)],
    ids=["the default, which is lower for more tokens", "one of the user for each K"],
)
def test_fewer_tokens_are_judged_by_the_minimum_that_holds_once_they_run(asked: dict[str, Any], most: int) -> None:
    """Of eight tokens 0.16 are accepted, of four 0.30, of two 0.50. With eight the default is 0.22, with four 0.40."""
    seen = falling(0.6, 0.4, 0.1, 0.1, 0.05, 0.02, 0.01, 0.01)
    wanted = thresholds(Guard.model_validate(asked), METHODS[Method.DRAFT_MODEL], tokens=8)
    rows = fewer_tokens(seen, wanted, None)
    assert [each.tokens for each in rows if each.passes] == [*range(1, most + 1)]
    assert most_that_pass(rows, 8) == most


def test_the_present_tokens_are_judged_as_their_window_was() -> None:
    """If the draft decides K, the default is 0.40 also for five tokens: 0.35 fails."""
    wanted = thresholds(Guard(), METHODS[Method.DRAFT_MODEL], tokens=0)
    assert fewer_tokens(falling(*[0.35] * 5), wanted, None)[-1].passes is False


def drafts_of(*lengths: tuple[int, int], longest: int) -> Evidence:
    """Drafts that each had so many tokens, of which so many were accepted."""
    drafts = len(lengths)
    accepted = tuple(float(sum(taken > index for _, taken in lengths)) for index in range(longest))
    return make_evidence(
        drafts,
        draft_tokens=float(sum(drawn for drawn, _ in lengths)),
        accepted_tokens=sum(accepted),
        generation_tokens=drafts + sum(accepted),
        accepted_per_position=accepted,
    )


def test_look_up_drafts_are_not_taken_for_full_ones() -> None:
    """Suffix of up to 24 tokens: most drafts have one to six. Of up to 12 tokens 0.41 would have been accepted; 12 in
    each draft would make it 0.16.
    """
    lengths = [(3, 1)] * 400 + [(4, 2)] * 300 + [(5, 2)] * 200 + [(12, 5)] * 80 + [(24, 8)] * 20
    seen, truth = drafts_of(*lengths, longest=24), sum(min(drawn, 12) for drawn, _ in lengths)
    row = fewer_tokens(seen, limits(acceptance_rate=0.2), None)[11]
    assert row.rate_high is not None
    assert row.rate <= sum(taken for _, taken in lengths) / truth <= row.rate_high
    assert row.rate > 0.38
    assert row.passes


@given(
    st.integers(1, 24).flatmap(
        lambda longest: st.tuples(
            st.just(longest),
            st.lists(
                st.integers(1, longest).flatmap(lambda drawn: st.tuples(st.just(drawn), st.integers(0, drawn))),
                min_size=1,
                max_size=30,
            ),
        )
    )
)
def test_the_truth_is_within_what_is_known_of_shorter_drafts(case: tuple[int, list[tuple[int, int]]]) -> None:
    """Whatever the lengths: the tokens drafted within the first K' positions are between the bounds."""
    longest, lengths = case
    seen = drafts_of(*lengths, longest=longest)
    for tokens in range(1, longest + 1):
        fewest, most = drafted(seen, tokens)
        assert fewest - 1e-6 <= sum(min(drawn, tokens) for drawn, _ in lengths) <= most + 1e-6


def test_a_rate_that_the_lengths_leave_open_decides_nothing() -> None:
    """Of four tokens 0.50 to 0.82 against a minimum of 0.7: the row does not pass and does not fail."""
    seen = drafts_of(*[(1, 0)] * 200, *[(4, 3)] * 200, *[(8, 3)] * 100, longest=8)
    four = fewer_tokens(seen, limits(acceptance_rate=0.7), None)[3]
    assert (round(four.rate, 2), round(four.rate_high or 0, 2)) == (0.5, 0.82)
    assert four.passes is None


def test_steps_without_a_draft_cost_nothing() -> None:
    """A third of the steps have a draft. Four tokens, a step of 2.6 and speedup 1.2: 1 + 1.6/3 = 1.53 tokens a step
    in the time of 1.28 of plain; with one token 1.27 in 1.07.
    """
    drafts = falling(0.8, 0.5, 0.2, 0.1, drafts=9_000)
    third = make_evidence(
        9_000,
        accepted_tokens=drafts.accepted_tokens,
        generation_tokens=3 * 9_000 + drafts.accepted_tokens,
        accepted_per_position=drafts.accepted_per_position,
    )
    rows = fewer_tokens(third, limits(), exactly(1.2))
    assert rows[-1].speedup == pytest.approx(1.2)
    assert rows[0].speedup == pytest.approx((1 + 0.8 / 3) / (1 + ((1 + 1.6 / 3) / 1.2 - 1) / 4))


def test_fewer_tokens_have_to_pass_by_more_than_chance_explains() -> None:
    """100 drafts: 0.65 has a lower bound of 0.55 by Wilson; blocks of time that differ by half push it lower."""
    seen, limit = falling(0.8, 0.5, 0.2, 0.1, drafts=100), limits(acceptance_rate=0.54)
    assert [row.passes for row in fewer_tokens(seen, limit, None)] == [True, True, False, False]
    closer = limits(acceptance_rate=0.6)
    assert [row.passes for row in fewer_tokens(seen, closer, None)] == [True, None, False, False]
    bursts = replace(seen, acceptance=times(0.2, 0.6, 0.3, 0.5, requests=100))
    assert [row.passes for row in fewer_tokens(bursts, limit, None)] == [None, None, False, False]


def test_fewer_tokens_have_to_be_faster_by_more_than_chance_explains() -> None:
    """With the lower end of the interval the estimate for two tokens is below 1.5."""
    seen, limit = falling(0.8, 0.5, 0.2, 0.1), limits(acceptance_rate=None, speedup=1.5)
    wide = make_comparison(1.3, low=1.1, high=1.5)
    assert [row.passes for row in fewer_tokens(seen, limit, wide)] == [False, None, False, False]


@pytest.mark.parametrize(
    ("speedup", "baseline", "now", "passing"),
    [
        # 1.3 times as fast as plain, which takes 52 ms and misses it by more
        (exactly(1.3), 0.052, 0.04, [True, True, True, True]),
        # plain itself takes 20 ms; with speculation 0.8, 0.66, 0.53, 0.43 of that speed: 25 ms and more
        (exactly(2.6 / 6), 0.020, 0.046, [True, True, False, False]),
        # nothing is known of plain: a step takes at most as long as now, so 30 ms become 43, 34, 31 and 30
        (None, 0.0, 0.030, [None, True, True, True]),
        # missed already, and the baseline is unknown: that does not count against speculation
        (None, 0.0, 0.045, [True, True, True, True]),
    ],
    ids=["faster than the baseline", "slower than the baseline", "baseline unknown", "missed already"],
)
def test_fewer_tokens_have_to_keep_the_slo(
    speedup: Comparison | None, baseline: float, now: float, passing: list[bool | None]
) -> None:
    """The time per output token is that of the baseline, by the estimate of the speedup."""
    seen = replace(falling(0.8, 0.5, 0.2, 0.1), token_times={1: pace(now, now)})
    against = speedup and replace(speedup, baseline=baseline)
    rows = fewer_tokens(seen, limits(acceptance_rate=None, time_per_output_token=0.035), against)
    assert [row.passes for row in rows] == passing


def row(tokens: int, *, passes: bool = True, speedup: float | None = None) -> Fewer:
    """A row of the table."""
    return Fewer(tokens=tokens, rate=0.6, length=2.0, speedup=speedup, passes=passes)


@pytest.mark.parametrize(
    ("passing", "below", "most"),
    [({1, 2, 3, 4}, 4, 3), ({1, 3}, 4, 3), ({1}, 4, 1), (set(), 4, None), ({4}, 4, None), ({1, 2, 3, 4}, 1, None)],
)
def test_the_largest_that_passes_is_taken(passing: set[int], below: int, most: int | None) -> None:
    """Below the present K: the same again would mend nothing."""
    assert most_that_pass([row(each, passes=each in passing) for each in (1, 2, 3, 4)], below) == most


@given(st.lists(st.integers(0, 100), min_size=1, max_size=16), st.none() | st.floats(0.01, 100))
def test_the_last_row_is_what_was_measured(accepted: list[int], speedup: float | None) -> None:
    """K' = K: the window's own rate and length; with fewer tokens a rate is never lower, a length never higher."""
    falls = sorted((each / 100 for each in accepted), reverse=True)
    seen = falling(*falls)
    rows = fewer_tokens(seen, limits(), exactly(speedup))
    assert rows[-1].rate == pytest.approx(seen.acceptance_rate)
    assert rows[-1].length == pytest.approx(seen.acceptance_length)
    assert all(one.rate >= other.rate - 1e-12 for one, other in pairwise(rows))
    assert all(one.length <= other.length + 1e-12 for one, other in pairwise(rows))


SKEW = Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message="pod-1 fails", pods=("pod-1",))
NO_SPEED = tuple(row(tokens) for tokens in (1, 2, 3, 4))
WITH_SPEED = (row(1, speedup=1.30), row(2, speedup=1.48), row(3, speedup=1.40))


@pytest.mark.parametrize(
    ("rows", "verdict", "fewer", "tokens", "message"),
    [
        (
            NO_SPEED,
            LOW,
            2,
            2,
            "with 2 tokens: acceptance 0.60, 2.00 tokens per step: this would have passed",
        ),
        (NO_SPEED, LOW, None, 0, "serve without speculation: acceptance 0.02 < 0.30"),
        ((), LOW, None, 0, "serve without speculation: acceptance 0.02 < 0.30"),
        (NO_SPEED, SKEW, 2, None, ""),
        (NO_SPEED, IDLE, None, None, ""),
        (NO_SPEED, PASSED, None, None, ""),
        ((), PASSED, None, None, ""),
        (
            WITH_SPEED,
            PASSED,
            None,
            2,
            "with 2 tokens: acceptance 0.60, 2.00 tokens per step, estimated speedup 1.48: "
            "this would be faster than 3 tokens",
        ),
        ((row(1, speedup=1.46), row(2, speedup=1.40)), PASSED, None, None, ""),
        ((row(1, speedup=1.48), row(2, speedup=1.40)), PASSED, None, 1, "with 1 tokens"),
        ((row(1, speedup=1.0), row(2, speedup=1.40)), PASSED, None, None, ""),
    ],
    ids=[
        "fewer tokens would have passed",
        "none would",
        "no table",
        "a pod is to blame",
        "nothing proven",
        "no speed known",
        "nothing known",
        "faster by more than 5 %",
        "faster by less",
        "just faster",
        "the present K is the best",
    ],
)
def test_the_advice_that_follows_from_the_numbers(
    rows: tuple[Fewer, ...], verdict: Verdict, fewer: int | None, tokens: int | None, message: str
) -> None:
    """0 stands for no speculation; None for no advice at all."""
    advice = advise(rows, verdict, fewer)
    assert (advice and advice.tokens) == tokens
    assert (advice.message if advice else "").startswith(message)


def anything(tokens: int) -> bool:
    """An engine that takes whatever it is given."""
    return True


def speed(speedup: float) -> Comparison:
    """How it compares with plain, beyond chance."""
    return make_comparison(speedup, low=speedup, high=speedup)


@pytest.mark.parametrize(
    ("evidence", "comparison", "more"),
    [
        (falling(0.95, 0.9, 0.86, 0.82), None, 5),
        (falling(0.95, 0.85, 0.7, 0.5), None, None),
        (falling(0.99, 0.98, 0.97, 0.6), None, None),
        (falling(0.95, 0.9, 0.86, 0.82, drafts=20), None, None),
        (falling(0.9), None, 2),
        # 4.53 tokens a step at 3.5: a drafted token costs 0.074; the fifth brings 0.78 for it
        (falling(0.95, 0.9, 0.86, 0.82), speed(3.5), 5),
        # at 1.5: it costs 0.5, and the fifth is worth 1.50 at best
        (falling(0.95, 0.9, 0.86, 0.82), speed(1.5), None),
        # low acceptance, and a draft that is free: 0.7 x 0.42 more tokens on 3.32 pay
        (falling(0.8, 0.6, 0.5, 0.42), speed(3.3), 5),
        # 16 positions of which each further one brings little: it takes two for 5 %
        (falling(*(0.99**index for index in range(1, 17))), speed(14.0), 18),
        (falling(0.95, 0.9, 0.86, 0.0), None, None),
        (make_evidence(0), None, None),
        (make_evidence(accepted_per_position=()), None, None),
    ],
    ids=[
        "accepted to the end",
        "acceptance falls",
        "the last position fails",
        "too few drafts",
        "one token",
        "a light draft",
        "a heavy draft",
        "a free draft",
        "many positions",
        "never to the end",
        "nothing drafted",
        "positions are not counted",
    ],
)
def test_more_tokens_are_recommended_where_they_pay(
    evidence: Evidence, comparison: Comparison | None, more: int | None
) -> None:
    """By the last position: how many of the drafts that came so far continue."""
    advice = more_tokens(evidence, comparison, anything)
    assert (advice and advice.tokens) == more


def test_the_reason_has_numbers() -> None:
    """The measurement, the estimate, and that the guard does not act on it."""
    advice = more_tokens(falling(0.95, 0.9, 0.86, 0.82), None, anything)
    assert advice is not None
    assert advice.message == (
        "position 4 is accepted in 0.81 of the drafts; estimate with 5 tokens: 5.30 tokens per step; "
        "the guard does not raise K by itself; or use a stronger draft (a larger one, or a head trained for this "
        "target)"
    )


@pytest.mark.parametrize(
    ("takes", "more"),
    [(lambda tokens: tokens % 3 == 0, 6), (lambda tokens: tokens > 8, None)],
    ids=["multiples of three", "more than twice as many"],
)
def test_only_what_the_engine_takes_is_recommended(takes: Callable[[int], bool], more: int | None) -> None:
    """Up to twice the present K: nothing is known of positions that far away."""
    advice = more_tokens(falling(0.95, 0.9, 0.86, 0.82), None, takes)
    assert (advice and advice.tokens) == more


def test_drafts_that_end_early_ask_for_no_more() -> None:
    """All tokens are accepted, but hardly a draft has four."""
    assert more_tokens(drafts_of(*[(2, 2)] * 1960, *[(4, 4)] * 40, longest=4), None, anything) is None
