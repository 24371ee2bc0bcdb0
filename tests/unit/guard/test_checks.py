"""Each check of one piece of evidence, on both sides of its boundary. The first check with a result decides."""

import pytest
from tests.unit.builders import Body, limits, make_baseline, make_evidence, pace

from specdec_operator.guard.baseline import compare
from specdec_operator.guard.checks import WindowCase
from specdec_operator.guard.judge import judge_case
from specdec_operator.guard.verdict import Outcome, Reason, Verdict

PASS, FAIL, UNSURE = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE


def verdict(evidence: Body, thresholds: Body | None = None) -> Verdict:
    """The verdict on one pod's evidence: acceptance 0.80, 2000 drafted tokens, unless the arguments change it."""
    seen, wanted = make_evidence(**evidence), limits(**(thresholds or {}))
    found = compare(wanted.baseline, seen.token_times)
    return judge_case(WindowCase(evidence=seen, thresholds=wanted, comparison=found, longer=found))


def words(evidence: Body, thresholds: Body | None = None) -> tuple[Outcome, Reason]:
    """The outcome and the reason."""
    found = verdict(evidence, thresholds)
    return found.outcome, found.reason


@pytest.mark.parametrize(
    ("evidence", "thresholds", "outcome", "reason"),
    [
        ({}, {}, PASS, Reason.ACCEPTED),
        ({"rate": 0.3}, {}, PASS, Reason.ACCEPTED),
        ({"rate": 0.0}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.28}, {}, UNSURE, Reason.NOT_SIGNIFICANT),
        ({"rate": 0.28, "drafts": 50_000}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.0}, {"acceptance_rate": None}, PASS, Reason.ACCEPTED),
        ({"rate": 0.0, "drafts": 49}, {}, UNSURE, Reason.FEW_TOKENS),
        ({"rate": 0.0, "drafts": 50}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.8, "drafts": 49}, {}, UNSURE, Reason.FEW_TOKENS),
        ({"rate": 0.4}, {"acceptance_length": 3.0}, FAIL, Reason.ACCEPTANCE_LENGTH_LOW),
        ({"rate": 0.49}, {"acceptance_length": 3.0}, UNSURE, Reason.NOT_SIGNIFICANT),
        ({"rate": 0.5}, {"acceptance_length": 3.0}, PASS, Reason.ACCEPTED),
        ({"rate": 0.4, "drafts": 49}, {"acceptance_length": 3.0}, UNSURE, Reason.FEW_TOKENS),
        ({"rate": 0.0, "restarted": True}, {}, UNSURE, Reason.RESTARTED),
        ({"rate": 0.0, "longest_gap": 6.1}, {}, UNSURE, Reason.SCRAPE_FAILED),
        ({"rate": 0.0, "longest_gap": 6.0}, {}, FAIL, Reason.ACCEPTANCE_RATE_LOW),
        ({"rate": 0.0, "unread": 1}, {}, UNSURE, Reason.SCRAPE_FAILED),
        ({"drafts": 0}, {}, UNSURE, Reason.NO_TRAFFIC),
        ({"drafts": 0, "generation_tokens": 200}, {}, FAIL, Reason.NOT_DRAFTING),
        ({"drafts": 0, "generation_tokens": 199}, {}, UNSURE, Reason.FEW_TOKENS),
        ({"drafts": 0, "generation_tokens": 900, "decode_tokens": 199}, {}, UNSURE, Reason.FEW_TOKENS),
        ({"drafts": 0, "generation_tokens": 900}, {"always_drafts": False}, UNSURE, Reason.FEW_TOKENS),
        (
            {"drafts": 0, "generation_tokens": 900, "speculative": False},
            {"always_drafts": False},
            FAIL,
            Reason.NOT_DRAFTING,
        ),
    ],
)
def test_acceptance_is_judged_where_there_is_evidence(
    evidence: Body, thresholds: Body, outcome: Outcome, reason: Reason
) -> None:
    """Missing data first, then whether anything was drafted, then how well."""
    assert words(evidence, thresholds) == (outcome, reason)


@pytest.mark.parametrize(
    ("evidence", "reason"),
    [
        ({"accepted_tokens": 2004}, Reason.ACCEPTED),
        ({"accepted_tokens": 2005}, Reason.IMPLAUSIBLE),
        ({"drafts": 2004, "draft_tokens": 2000, "accepted_tokens": 1600}, Reason.ACCEPTED),
        ({"drafts": 2005, "draft_tokens": 2000, "accepted_tokens": 1600}, Reason.IMPLAUSIBLE),
    ],
)
def test_counters_that_contradict_each_other_prove_nothing(evidence: Body, reason: Reason) -> None:
    """A reading may fall between two counters of one step, K tokens apart; what is further apart cannot be."""
    assert verdict({"generation_tokens": 4000} | evidence).reason is reason


SPEED: Body = {"speedup": 1.0, "baseline": (make_baseline(1),)}
SLOW, FAST = {1: pace(*(0.03,) * 4)}, {1: pace(*(0.01,) * 4)}


@pytest.mark.parametrize(
    ("evidence", "thresholds", "outcome", "reason"),
    [
        ({"token_times": SLOW}, SPEED, FAIL, Reason.SLOWER_THAN_PLAIN),
        ({"token_times": FAST}, SPEED, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(*(0.01999,) * 4)}}, SPEED, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(*(0.0202,) * 4)}}, SPEED, FAIL, Reason.SLOWER_THAN_PLAIN),
        ({"token_times": {1: pace(0.01, 0.0325)}}, SPEED, UNSURE, Reason.NOT_SIGNIFICANT),
        ({"token_times": {1: pace(0.0302)}}, SPEED, UNSURE, Reason.NOT_SIGNIFICANT),
        ({"token_times": SLOW}, SPEED | {"speedup": 0.6}, PASS, Reason.ACCEPTED),
        ({"token_times": FAST}, SPEED | {"speedup": 2.1}, FAIL, Reason.SLOWER_THAN_PLAIN),
        ({"token_times": SLOW}, {"baseline": SPEED["baseline"]}, PASS, Reason.ACCEPTED),
        ({"token_times": SLOW}, {"speedup": 1.0}, UNSURE, Reason.NOT_MEASURED),
        ({"token_times": {2: pace(*(0.03,) * 4)}}, SPEED, UNSURE, Reason.BEYOND_BASELINE),
        ({}, SPEED, UNSURE, Reason.FEW_REQUESTS),
        ({"token_times": SLOW, "drafts": 20, "generation_tokens": 200}, SPEED, FAIL, Reason.SLOWER_THAN_PLAIN),
        ({"token_times": SLOW, "drafts": 20, "generation_tokens": 199}, SPEED, UNSURE, Reason.FEW_TOKENS),
        ({"token_times": FAST, "rate": 0.0}, SPEED, FAIL, Reason.ACCEPTANCE_RATE_LOW),
    ],
)
def test_the_speedup_is_judged_at_like_loads_beyond_chance(
    evidence: Body, thresholds: Body, outcome: Outcome, reason: Reason
) -> None:
    """Fail where even the upper end of the interval misses the threshold; without a baseline nothing is guessed."""
    assert words(evidence, thresholds) == (outcome, reason)


LIMIT: Body = {"time_per_output_token": 0.02}
KNOWN: Body = LIMIT | {"baseline": (make_baseline(1),)}


@pytest.mark.parametrize(
    ("evidence", "thresholds", "outcome", "reason"),
    [
        ({"token_times": SLOW}, LIMIT, UNSURE, Reason.NOT_MEASURED),
        ({"token_times": SLOW}, KNOWN, FAIL, Reason.TOO_SLOW),
        ({"token_times": FAST}, LIMIT, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(*(0.02,) * 4)}}, LIMIT, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(0.01, 0.035)}}, LIMIT, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(0.03)}}, LIMIT, PASS, Reason.ACCEPTED),
        ({"token_times": {1: pace(*(0.03,) * 4, requests=2.5)}}, KNOWN, FAIL, Reason.TOO_SLOW),
        ({"token_times": {1: pace(*(0.03,) * 4, requests=2.4)}}, LIMIT, PASS, Reason.ACCEPTED),
        (
            {"token_times": SLOW},
            LIMIT | {"baseline": (make_baseline(1, *(0.031,) * 8),)},
            UNSURE,
            Reason.PLAIN_IS_SLOWER,
        ),
        ({"token_times": SLOW}, LIMIT | {"baseline": (make_baseline(1, *(0.029,) * 8),)}, FAIL, Reason.TOO_SLOW),
        ({"token_times": SLOW}, LIMIT | {"baseline": (make_baseline(4, *(0.029,) * 8),)}, UNSURE, Reason.NOT_MEASURED),
    ],
)
def test_a_time_above_its_limit_fails_unless_the_baseline_was_slower_still(
    evidence: Body, thresholds: Body, outcome: Outcome, reason: Reason
) -> None:
    """Ten requests at least, and beyond chance; a rollback to something slower would mend nothing."""
    assert words(evidence, thresholds) == (outcome, reason)


@pytest.mark.parametrize(
    ("drafts", "generation_tokens", "thresholds", "outcome", "reason"),
    [
        (500, 3600, {}, PASS, Reason.ACCEPTED),
        (500, 3601, {}, UNSURE, Reason.RARELY_DRAFTS),
        (500, 9000, {"always_drafts": False}, PASS, Reason.ACCEPTED),
        (500, 9000, SPEED, PASS, Reason.ACCEPTED),
    ],
)
def test_acceptance_of_rare_drafts_does_not_pass(
    drafts: int, generation_tokens: int, thresholds: Body, outcome: Outcome, reason: Reason
) -> None:
    """Structured output cuts drafts. With a draft at less than a quarter of the steps, only the speed is evidence."""
    evidence = {"drafts": drafts, "generation_tokens": generation_tokens, "token_times": FAST}
    assert words(evidence, thresholds) == (outcome, reason)


@pytest.mark.parametrize(
    ("evidence", "thresholds", "outcome", "reason"),
    [
        ({"token_times": FAST}, LIMIT, UNSURE, Reason.PLAIN),
        ({"token_times": SLOW}, LIMIT, FAIL, Reason.TOO_SLOW),
        ({"token_times": SLOW}, {}, UNSURE, Reason.PLAIN),
        ({"generation_tokens": 0}, LIMIT, UNSURE, Reason.NO_TRAFFIC),
        ({"restarted": True}, LIMIT, UNSURE, Reason.RESTARTED),
        ({"unread": 1}, LIMIT, UNSURE, Reason.SCRAPE_FAILED),
    ],
)
def test_a_service_without_speculation_is_judged_by_its_speed_only(
    evidence: Body, thresholds: Body, outcome: Outcome, reason: Reason
) -> None:
    """It has no drafts, which is correct."""
    seen: Body = {"drafts": 0, "generation_tokens": 900, "speculative": False} | evidence
    assert words(seen, thresholds | {"of_baseline": True, "acceptance_rate": None}) == (outcome, reason)


ONE = "over 10 s, 2000 drafted tokens, 1 pod"
THREE = "over 10 s, 2000 drafted tokens, 3 pods"
MEASURED = "speedup 0.67 (95 % interval 0.67 to 0.67; 30.0 ms per output token, baseline 20.0 ms)"


@pytest.mark.parametrize(
    ("evidence", "thresholds", "message"),
    [
        ({"rate": 0.0}, {}, f"acceptance 0.00 < 0.30 (bound 0.01) {ONE}"),
        ({"rate": 0.8, "pods": 3}, {}, f"acceptance 0.80, 4.20 tokens per step {THREE}"),
        ({"drafts": 10}, {}, "40 drafted tokens, fewer than the 200 needed over 10 s, 40 drafted tokens, 1 pod"),
        ({"longest_gap": 8}, {}, "no metrics for 8 s of 10 s"),
        ({"unread": 2}, {}, "2 pods returned no metrics in 10 s"),
        ({"drafts": 0}, {}, "no token generated in 10 s"),
        (
            {"drafts": 0, "generation_tokens": 900, "speculative": False},
            {},
            "the engine decoded 900 tokens and has no speculation counters over 10 s, 0 drafted tokens, 1 pod",
        ),
        ({"token_times": SLOW}, SPEED, f"{MEASURED} < 1.00 {ONE}"),
        ({"token_times": SLOW}, SPEED | {"speedup": 0.5}, f"acceptance 0.80, 4.20 tokens per step, {MEASURED} {ONE}"),
        (
            {"token_times": SLOW, "generation_tokens": 9000},
            SPEED,
            f"{MEASURED} < 1.00, 7 % of the steps had a draft (structured output cuts drafts) {ONE}",
        ),
        ({"token_times": SLOW}, KNOWN, f"30.0 ms per output token > 20.0 ms (± 0.0 ms) {ONE}"),
        (
            {"token_times": {2: pace(0.03, 0.03)}},
            SPEED,
            f"no baseline time per output token at this load: seen at 2 running requests, known at 1 {ONE}",
        ),
        ({"token_times": FAST}, {"of_baseline": True}, "baseline: 10.0 ms per output token over 10 s, 2100 tokens"),
        ({}, {"of_baseline": True}, "baseline: no request ended over 10 s, 2100 tokens"),
    ],
)
def test_a_verdict_has_the_numbers_that_it_is_based_on(evidence: Body, thresholds: Body, message: str) -> None:
    """The value, the threshold, and the amount of evidence."""
    assert verdict(evidence, thresholds).message == message
