"""What a closed window says: only evidence that nothing else explains is a Fail."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import judge, judge_evidence
from specdec_operator.guard.verdict import Outcome, Reason
from specdec_operator.guard.window import Window, opened
from tests.unit.builders import counters, limits, make_evidence

PASS, FAIL, INCONCLUSIVE = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE

WEIGHT = {FAIL: 0, INCONCLUSIVE: 1, PASS: 1}


def words(evidence: dict[str, Any], thresholds: dict[str, Any]) -> tuple[Outcome, Reason, str]:
    """The verdict's parts."""
    verdict = judge_evidence(make_evidence(**evidence), limits(**thresholds))
    return verdict.outcome, verdict.reason, verdict.message


@pytest.mark.parametrize(
    ("evidence", "thresholds", "outcome", "reason"),
    [
        ({}, {}, PASS, Reason.ACCEPTED),
        ({"rate": 0.3}, {}, PASS, Reason.ACCEPTED),
        ({"rate": 0.0}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.28}, {}, INCONCLUSIVE, Reason.NOT_SIGNIFICANT),
        ({"rate": 0.28, "drafts": 50_000}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.0}, {"acceptance_rate": None}, PASS, Reason.ACCEPTED),
        ({"rate": 0.0, "drafts": 49}, {}, INCONCLUSIVE, Reason.FEW_TOKENS),
        ({"rate": 0.0, "drafts": 50}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.4}, {"acceptance_length": 3.0}, FAIL, Reason.ACCEPTANCE_LENGTH_LOW),
        ({"rate": 0.49}, {"acceptance_length": 3.0}, INCONCLUSIVE, Reason.NOT_SIGNIFICANT),
        ({"rate": 0.5}, {"acceptance_length": 3.0}, PASS, Reason.ACCEPTED),
        ({"rate": 0.0, "restarted": True}, {}, INCONCLUSIVE, Reason.RESTARTED),
        ({"rate": 0.0, "longest_gap": 6.1}, {}, INCONCLUSIVE, Reason.SCRAPE_FAILED),
        ({"rate": 0.0, "longest_gap": 6.0}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.0, "unread": 1}, {}, INCONCLUSIVE, Reason.SCRAPE_FAILED),
        ({"drafts": 0}, {}, INCONCLUSIVE, Reason.NO_TRAFFIC),
        ({"drafts": 0, "generation_tokens": 200}, {}, FAIL, Reason.NOT_DRAFTING),
        ({"drafts": 0, "generation_tokens": 199}, {}, INCONCLUSIVE, Reason.FEW_TOKENS),
        ({"drafts": 0, "generation_tokens": 900}, {"always_drafts": False}, INCONCLUSIVE, Reason.FEW_TOKENS),
        (
            {"drafts": 0, "generation_tokens": 900, "speculative": False},
            {"always_drafts": False},
            FAIL,
            Reason.NOT_DRAFTING,
        ),
    ],
)
def test_the_first_check_that_has_something_to_say_decides(
    evidence: dict[str, Any], thresholds: dict[str, Any], outcome: Outcome, reason: Reason
) -> None:
    """Missing data first, then whether anything was drafted, then how well."""
    assert words(evidence, thresholds)[:2] == (outcome, reason)


@pytest.mark.parametrize(
    ("evidence", "message"),
    [
        ({"rate": 0.0}, "acceptance 0.00 < 0.30 (95 % bound 0.01) over 10 s, 2000 drafted tokens, 1 pod"),
        ({"rate": 0.8, "pods": 3}, "acceptance 0.80, 4.20 tokens per step over 10 s, 2000 drafted tokens, 3 pods"),
        ({"drafts": 10}, "40 drafted tokens, 200 are needed over 10 s, 40 drafted tokens, 1 pod"),
        ({"longest_gap": 8}, "no metrics for 8 s of 10 s"),
        ({"unread": 2}, "2 pods never answered in 10 s"),
        ({"drafts": 0}, "no token generated in 10 s"),
        (
            {"drafts": 0, "generation_tokens": 900, "speculative": False},
            "the engine generated 900 tokens and has no speculation counters over 10 s, 0 drafted tokens, 1 pod",
        ),
    ],
)
def test_a_verdict_says_the_numbers_that_it_rests_on(evidence: dict[str, Any], message: str) -> None:
    """The value, the threshold, and how much was seen."""
    assert words(evidence, {})[2] == message


EVIDENCE = st.fixed_dictionaries(
    {
        "drafts": st.integers(0, 100_000),
        "rate": st.floats(0, 1),
        "tokens": st.integers(1, 8),
        "longest_gap": st.floats(0, 60),
        "unread": st.integers(0, 2),
        "restarted": st.booleans(),
        "speculative": st.booleans(),
    }
)


@given(EVIDENCE)
def test_a_restart_is_never_held_against_speculation(evidence: dict[str, Any]) -> None:
    """Differences across a restart mean nothing."""
    assert words(evidence | {"restarted": True}, {})[0] is INCONCLUSIVE


@given(EVIDENCE, st.integers(1, 3))
def test_a_pod_that_cannot_be_read_is_never_held_against_speculation(evidence: dict[str, Any], unread: int) -> None:
    """Nor is a long gap."""
    assert words(evidence | {"unread": unread}, {})[0] is INCONCLUSIVE
    assert words(evidence | {"longest_gap": 6.5}, {})[0] is INCONCLUSIVE


@given(EVIDENCE)
def test_a_fail_rests_on_a_full_sample_below_the_threshold(evidence: dict[str, Any]) -> None:
    """No Fail for acceptance without enough drafted tokens and a rate below the threshold."""
    outcome, reason, _ = words(evidence, {})
    seen = make_evidence(**evidence)
    if outcome is FAIL and reason is Reason.ACCEPTANCE_RATE_LOW:
        assert seen.draft_tokens >= 200
        assert seen.acceptance_rate is not None
        assert seen.acceptance_rate < 0.3
    if outcome is PASS:
        assert seen.acceptance_rate is not None
        assert seen.acceptance_rate >= 0.3


READING = st.one_of(st.none(), st.builds(counters, st.integers(0, 5000), rate=st.sampled_from((0.0, 0.28, 0.5, 0.9))))
ROUNDS = st.lists(st.fixed_dictionaries({"a": READING, "b": READING}), min_size=1, max_size=6)


def windows(rounds: list[dict[str, Counters | None]]) -> Window:
    """A window with a round of readings each two seconds."""
    window = opened(0)
    for index, readings in enumerate(rounds):
        window = window.with_readings(readings, 2.0 * index)
    return window


@given(ROUNDS, st.integers(0, 6), st.sampled_from("abc"))
def test_a_look_without_an_answer_never_brings_a_fail(
    rounds: list[dict[str, Counters | None]], place: int, pod: str
) -> None:
    """One more pod that is silent, at any look, can only make the verdict milder."""
    now = 2.0 * len(rounds)
    index = min(place, len(rounds) - 1)
    silent = [*rounds]
    silent[index] = {pod: None} | rounds[index]
    with_silence, _ = judge(windows(silent), limits(), now)
    without, _ = judge(windows(rounds), limits(), now)
    assert WEIGHT[with_silence.outcome] >= WEIGHT[without.outcome]


@given(ROUNDS)
def test_silence_alone_is_never_a_fail(rounds: list[dict[str, Counters | None]]) -> None:
    """A pod that answered once and is silent for more than three looks makes the window inconclusive."""
    window = windows([*rounds, *({"a": None, "b": None},) * 4])
    verdict, _ = judge(window, limits(), 2.0 * (len(rounds) + 3))
    assert verdict.outcome is INCONCLUSIVE


def pair(good: float, bad: float, *, drafts: int = 500) -> Window:
    """Two pods with their acceptance; the second drafts more, as a draft that is never accepted does."""
    window = opened(0).with_readings({"pod-0": counters(0), "pod-1": counters(0)}, 0)
    return window.with_readings({"pod-0": counters(drafts, rate=good), "pod-1": counters(4 * drafts, rate=bad)}, 2)


def test_a_good_pod_and_a_broken_one_do_not_condemn_the_draft() -> None:
    """The pods differ, not the draft: the verdict names them."""
    verdict, seen = judge(pair(0.8, 0.0), limits(), 2)
    assert (verdict.outcome, verdict.reason) == (INCONCLUSIVE, Reason.POD_SKEW)
    assert verdict.message.endswith("but only in pod-1; pod-0 pass")
    assert seen.acceptance_rate == pytest.approx(0.16)


def test_pods_that_all_fail_condemn_the_draft() -> None:
    """The sum is judged; no pod speaks for the draft."""
    assert judge(pair(0.05, 0.0), limits(), 2)[0].outcome is FAIL


def test_a_pod_without_traffic_speaks_neither_for_nor_against() -> None:
    """An idle pod does not shield a draft that fails wherever it is used."""
    window = opened(0).with_readings({"pod-0": counters(0), "pod-1": counters(0)}, 0)
    window = window.with_readings({"pod-0": counters(0), "pod-1": counters(500, rate=0.0)}, 2)
    assert judge(window, limits(), 2)[0].outcome is FAIL
