"""What fewer tokens per step would have done, by hand; what is recommended for it."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import IDLE, LOW, PASSED, limits, make_evidence

from specdec_operator.guard.counterfactual import Fewer, advise, fewer_tokens, most_that_pass
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.verdict import Outcome, Reason, Verdict


def falling(*shares: float, drafts: float = 100) -> Evidence:
    """Evidence in which each position was accepted in this share of the drafts."""
    accepted = drafts * sum(shares)
    return make_evidence(
        drafts,
        tokens=len(shares),
        accepted_tokens=accepted,
        generation_tokens=drafts + accepted,
        accepted_per_position=tuple(drafts * share for share in shares),
    )


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
    [make_evidence(0), make_evidence(accepted_per_position=()), falling(drafts=0)],
    ids=["nothing drafted", "positions are not counted", "neither"],
)
def test_without_positions_there_is_no_table(evidence: Evidence) -> None:
    """An engine that counts none, or a window without drafts."""
    assert fewer_tokens(evidence, limits(), 1.0) == ()


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
    rows = fewer_tokens(falling(0.8, 0.5, 0.2, 0.1), limits(), speedup)
    assert [row.speedup for row in rows] == [pytest.approx(each) for each in estimates]


@pytest.mark.parametrize(
    ("thresholds", "speedup", "passing"),
    [
        ({}, None, [True, True, True, True]),
        ({"acceptance_rate": 0.5}, None, [True, True, True, False]),
        ({"acceptance_rate": 0.66}, None, [True, False, False, False]),
        ({"acceptance_rate": None}, None, [True] * 4),
        ({"acceptance_rate": None, "acceptance_length": 2.4}, None, [False, False, True, True]),
        ({"acceptance_rate": 0.6, "acceptance_length": 2.0}, None, [False, True, False, False]),
        ({"speedup": 1.5}, 1.3, [False, True, False, False]),
        ({"speedup": 1.5}, None, [True] * 4),
    ],
)
def test_a_row_passes_where_no_threshold_is_missed(
    thresholds: dict[str, Any], speedup: float | None, passing: list[bool]
) -> None:
    """A speed that cannot be estimated is not held against it."""
    rows = fewer_tokens(falling(0.8, 0.5, 0.2, 0.1), limits(**thresholds), speedup)
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
    rows = fewer_tokens(seen, limits(), speedup)
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
            "with 2 tokens: acceptance 0.60, 2.00 tokens a step of the target: that would have passed",
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
            "with 2 tokens: acceptance 0.60, 2.00 tokens a step of the target, speedup 1.48 by estimate: "
            "that would be faster than 3",
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
def test_what_the_numbers_speak_for(
    rows: tuple[Fewer, ...], verdict: Verdict, fewer: int | None, tokens: int | None, message: str
) -> None:
    """0 stands for no speculation; None for no advice at all."""
    advice = advise(rows, verdict, fewer)
    assert (advice and advice.tokens) == tokens
    assert (advice.message if advice else "").startswith(message)
