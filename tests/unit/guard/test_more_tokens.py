"""When more tokens per step are recommended, by hand."""

from collections.abc import Callable

import pytest
from tests.unit.builders import make_comparison, make_evidence
from tests.unit.guard.test_counterfactual import drafts_of, falling

from specdec_operator.guard.baseline import Comparison
from specdec_operator.guard.what_if import more_tokens
from specdec_operator.guard.window import Evidence


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
        "the guard does not raise K by itself"
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
