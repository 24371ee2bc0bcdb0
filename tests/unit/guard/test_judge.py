"""A closed window: each pod is judged before the pool, and bursts prove nothing before they repeat."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import counters, limits, make_baseline, make_evidence, pace

from specdec_operator.api.speculation import Method
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged, judge
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.verdict import Outcome, Reason, Verdict
from specdec_operator.guard.window import FailingRun, Window

PASS, FAIL, UNSURE = Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE
WEIGHT = {FAIL: 0, UNSURE: 1, PASS: 1}

READING = st.one_of(st.none(), st.builds(counters, st.integers(0, 5000), rate=st.sampled_from((0.0, 0.28, 0.5, 0.9))))
ROUNDS = st.lists(st.fixed_dictionaries({"a": READING, "b": READING}), min_size=1, max_size=6)


def windows(rounds: list[dict[str, Counters | None]]) -> Window:
    """A window with a round of readings each two seconds."""
    window = Window(0)
    for index, readings in enumerate(rounds):
        window = window.with_readings(readings, 2.0 * index)
    return window


@given(ROUNDS, st.integers(0, 6), st.sampled_from("abc"))
def test_a_look_without_an_answer_never_brings_a_fail(
    rounds: list[dict[str, Counters | None]], place: int, pod: str
) -> None:
    """One more pod that is silent, at any look, can only make the verdict milder, or blame another pod."""
    now = 2.0 * len(rounds)
    index = min(place, len(rounds) - 1)
    silent = [*rounds]
    silent[index] = {pod: None} | rounds[index]
    with_silence = judge(windows(silent), limits(), now).verdict
    without = judge(windows(rounds), limits(), now).verdict
    assert WEIGHT[with_silence.outcome] >= WEIGHT[without.outcome] or with_silence.reason is Reason.POD_SKEW


@given(ROUNDS)
def test_silence_alone_is_never_a_fail(rounds: list[dict[str, Counters | None]]) -> None:
    """Pods that answered once and are silent for more than three looks make the window inconclusive."""
    window = windows([*rounds, *({"a": None, "b": None},) * 4])
    assert judge(window, limits(), 2.0 * (len(rounds) + 3)).verdict.outcome is UNSURE


def of(**pods: Any) -> Verdict:
    """The verdict on pods with their acceptance, 500 drafts each. A dict changes the counters as well."""
    first, last = {}, {}
    for pod, each in pods.items():
        changes = each if isinstance(each, dict) else {"rate": each}
        first[pod] = counters(0, speculative=changes.get("speculative", True))
        last[pod] = counters(**{"drafts": 500} | changes)
    window = Window(0).with_readings(first, 0)
    return judge(window.with_readings(last, 2), limits(always_drafts=False), 2).verdict


@pytest.mark.parametrize(
    ("pods", "outcome", "reason", "blamed"),
    [
        ({"a": 0.8, "b": 0.0}, FAIL, Reason.POD_SKEW, ("b",)),
        ({"a": 0.0, "b": 0.8, "c": 0.8}, FAIL, Reason.POD_SKEW, ("a",)),
        ({"a": 0.1, "b": 0.8, "c": 0.0}, FAIL, Reason.POD_SKEW, ("c", "a")),
        ({"a": 0.1, "b": 0.1, "c": 0.8}, FAIL, Reason.POD_SKEW, ("a", "b")),
        ({"a": 0.05, "b": 0.0}, FAIL, Reason.ACCEPTANCE_RATE_LOW, ()),
        ({"a": 0.8, "b": 0.7}, PASS, Reason.ACCEPTED, ()),
        ({"a": 0.31, "b": 0.2}, FAIL, Reason.POD_SKEW, ("b",)),
        ({"a": 0.31, "b": {"rate": 0.25, "drafts": 9000}}, FAIL, Reason.ACCEPTANCE_RATE_LOW, ()),
        ({"a": {"rate": 0.34, "drafts": 9000}, "b": {"rate": 0.25, "drafts": 2000}}, PASS, Reason.ACCEPTED, ()),
        ({"a": {"rate": 0.34, "drafts": 2000}, "b": {"rate": 0.25, "drafts": 9000}}, FAIL, Reason.POD_SKEW, ("b",)),
        ({"a": 0.8, "b": 0.21, "c": 0.8}, PASS, Reason.ACCEPTED, ()),
        ({"a": 0.8, "b": 0.19, "c": 0.8}, FAIL, Reason.POD_SKEW, ("b",)),
        ({f"q{each}": {"rate": 0.8, "drafts": 40} for each in range(2)} | {"b": 0.0}, FAIL, Reason.POD_SKEW, ("b",)),
        (
            {"a": {"rate": 0.31, "drafts": 9000}, "b": {"rate": 0.25, "drafts": 2000}},
            UNSURE,
            Reason.NOT_SIGNIFICANT,
            (),
        ),
        ({"a": {"rate": 0.32, "drafts": 9000}, "b": {"rate": 0.26, "drafts": 2000}}, PASS, Reason.ACCEPTED, ()),
        ({"a": {"rate": 0.8, "drafts": 40}, "b": 0.0}, FAIL, Reason.ACCEPTANCE_RATE_LOW, ()),
        ({"a": {"drafts": 0}, "b": 0.0}, FAIL, Reason.ACCEPTANCE_RATE_LOW, ()),
        ({"a": 0.8, "b": {"rate": 0.0, "drafts": 40}}, PASS, Reason.ACCEPTED, ()),
        ({"a": 0.8, "b": {"rate": 0.0, "started": 2.0e9}}, UNSURE, Reason.RESTARTED, ()),
    ],
    ids=[
        "one is broken",
        "one of three",
        "two of three, the worst first",
        "two alike, by name",
        "both are",
        "both are well",
        "just above and two thirds of that",
        "just above and four fifths of that: no other pod",
        "a quarter below, and together they pass",
        "a quarter below, and together they fail",
        "above a quarter of the others, which are well",
        "below a quarter of the others, broken",
        "others with little traffic each, and enough together",
        "a fifth below is too little to blame it",
        "a fifth below, and together they pass",
        "too little traffic to speak for the draft",
        "no traffic speaks neither for nor against",
        "too little traffic to be blamed",
        "a restarted pod proves nothing",
    ],
)
def test_a_pod_is_blamed_that_fails_far_below_others_that_pass(
    pods: dict[str, Any], outcome: Outcome, reason: Reason, blamed: tuple[str, ...]
) -> None:
    """Summed up, a broken pod and a good one would condemn both."""
    found = of(**pods)
    assert (found.outcome, found.reason, found.pods) == (outcome, reason, blamed)


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"rate": 0.0}, "acceptance 0.00 < 0.30 (bound 0.01) over 2 s, 2000 drafted tokens, 1 pod"),
        (
            {"drafts": 0, "generation_tokens": 900, "speculative": False},
            "the engine decoded 900 tokens and has no speculation counters over 2 s, 0 drafted tokens, 1 pod",
        ),
    ],
)
def test_the_worst_pod_is_named_with_its_numbers(broken: dict[str, Any], why: str) -> None:
    """And those that pass, with theirs: a user sees which pod to look at."""
    found = of(**{"pod-0": 0.8, "pod-1": broken, "pod-2": 0.8})
    assert found.message.startswith(f"pod-1 fails: {why}; other pods pass: pod-0, pod-2, acceptance 0.80")


@pytest.mark.parametrize(
    ("fast", "slow", "reason", "blamed"),
    [(0.018, 0.1, Reason.POD_SKEW, ("b",)), (0.005, 0.025, Reason.ACCEPTED, ())],
)
def test_a_slow_pod_is_blamed_if_all_together_are_too_slow(
    fast: float, slow: float, reason: Reason, blamed: tuple[str, ...]
) -> None:
    """Half the speed of its sibling, at the same load and the same acceptance. If both together are faster than the
    baseline, the pod may be on a slow node, where the baseline would be slower still.
    """
    window = Window(0, 2.0).with_readings({pod: counters(0, running=1.0) for pod in "ab"}, 0)
    for step in (1, 2, 3, 4):
        seconds = {"a": fast, "b": slow}
        ended = {pod: {"requests": 10.0 * step, "token_seconds": 10.0 * step * each} for pod, each in seconds.items()}
        window = window.with_readings(
            {pod: counters(100 * step, running=1.0, **ended[pod]) for pod in "ab"}, 2.0 * step
        )
    found = judge(window, limits(speedup=1.0, baseline=(make_baseline(1),)), 8).verdict
    assert (found.reason, found.pods) == (reason, blamed)


def bursts(*rates: float, at: float = 0.0) -> Window:
    """A window of one pod whose blocks of 2 s have these acceptance rates, 500 drafted tokens each."""
    window, drafts, accepted = Window(at, 2.0).with_readings({"p": counters(0, rate=0)}, at), 0, 0.0
    for step, rate in enumerate(rates, start=1):
        drafts, accepted = drafts + 125, accepted + 500 * rate
        reading = counters(drafts, rate=0, accepted_tokens=accepted, generation_tokens=drafts + accepted)
        window = window.with_readings({"p": reading}, at + 2.0 * step)
    return window


def row_of(*parts: tuple[float, ...], limit: float = 0.3, **changes: Any) -> list[Judged]:
    """Windows one after the other, each with the row before it."""
    found: list[Judged] = []
    for rates in parts:
        row = found[-1].row if found else None
        found.append(judge(bursts(*rates), limits(acceptance_rate=limit, **changes), 2.0 * len(rates), row))
    return found


EVEN, BURSTY = (0.2,) * 5, (0.0, 0.0, 0.0, 0.6, 0.0)


@pytest.mark.parametrize(
    ("parts", "settled"),
    [
        ((EVEN,), [True]),
        ((BURSTY,), [False]),
        ((BURSTY,) * 6, [False, False, True, True, True, True]),
        ((BURSTY, EVEN, EVEN), [False, True, True]),
        (((0.2,),), [False]),
        (((0.2,), (0.2,)), [False, True]),
    ],
    ids=["even", "a burst", "the same burst again and again", "a burst, then even", "one block", "two blocks"],
)
def test_a_row_of_failing_windows_settles_when_its_own_scatter_leaves_no_doubt(
    parts: tuple[tuple[float, ...], ...], settled: list[bool]
) -> None:
    """Tokens of one burst stand and fall together: the blocks of all failing windows in a row are the sample."""
    found = row_of(*parts)
    assert [each.verdict.outcome for each in found] == [FAIL] * len(found)
    assert [each.verdict.settled for each in found] == settled


@pytest.mark.parametrize(("answer", "alike"), [(0.0, 1.0), (5.0, 1.5), (30.0, 4.0)])
def test_blocks_of_one_answer_are_not_independent(answer: float, alike: float) -> None:
    """The longer the answers take compared with a block, the less the scatter of the blocks shows."""
    blocks = RatioSums().plus(20, 100).plus(30, 100)
    times = TokenTime(times=RatioSums().plus(10 * answer, 900), requests=10)
    found = make_evidence(acceptance=blocks.merged(blocks), token_times={1: times}, seconds=30.0, pods=2)
    assert found.alike == pytest.approx(alike)
    assert make_evidence(acceptance=blocks).alike == 1.0


def test_an_unsettled_window_shows_what_it_waits_for() -> None:
    """Otherwise a user would see three failing windows and no decision."""
    (found,) = row_of(BURSTY)
    assert (
        "the traffic comes in bursts, so more windows are needed (bound over all windows 0.45)"
    ) in found.verdict.message


def test_a_length_settles_by_the_same_rule() -> None:
    """As a rate of the drafted tokens: 1.8 tokens per step with K=4 are an acceptance of 0.20."""
    asked: dict[str, Any] = {"limit": 0.0, "acceptance_length": 2.2}
    assert [each.verdict.settled for each in row_of(EVEN, **asked)] == [True]
    (found,) = row_of(BURSTY, **asked)
    assert (found.verdict.reason, found.verdict.settled) == (Reason.ACCEPTANCE_LENGTH_LOW, False)


@pytest.mark.parametrize("rates", [(0.8,) * 5, (0.28,) * 2])
def test_a_window_that_does_not_fail_ends_the_row(rates: tuple[float, ...]) -> None:
    """What was seen before it is not held against the next ones."""
    first, second = row_of(EVEN, rates)
    assert first.row.acceptance.blocks == 5
    assert second.verdict.outcome is not FAIL
    assert second.row == FailingRun()


def slow(*seconds: float, row: FailingRun | None = None, rate: float = 0.8, **asked: Any) -> Judged:
    """A window of a well accepted draft whose blocks took these times per output token; plain takes 0.02 s."""
    window, total = Window(0, 2.0).with_readings({"p": counters(0, running=1.0)}, 0), 0.0
    for step, each in enumerate(seconds, start=1):
        total += 10 * each
        reading = counters(100 * step, rate=rate, running=1.0, requests=10.0 * step, token_seconds=total)
        window = window.with_readings({"p": reading}, 2.0 * step)
    thresholds = limits(**{"speedup": 1.0, "least_gain": 1.0, "baseline": (make_baseline(1),)} | asked)
    return judge(window, thresholds, 2.0 * len(seconds), row)


def test_the_speed_of_failing_windows_in_a_row_adds_up() -> None:
    """A window that alone proves nothing fails as the third of a row, and its row holds them all."""
    doubtful = (0.016, 0.030, 0.024, 0.022)
    alone = slow(*doubtful)
    assert alone.verdict.reason is Reason.NOT_SIGNIFICANT
    before = FailingRun(token_times={1: pace(*(0.0235, 0.0225) * 4)})
    third = slow(*doubtful, row=before)
    assert third.verdict.reason is Reason.SLOWER_THAN_PLAIN
    assert third.row.token_times[1].times.blocks == 12


def test_a_window_that_was_fast_enough_is_not_failed_by_those_before_it() -> None:
    """The row does not fail a window that passes by itself."""
    found = slow(0.01, 0.01, 0.01, 0.01, row=FailingRun(token_times={1: pace(*(0.05,) * 40)}))
    assert (found.verdict.outcome, found.row) == (PASS, FailingRun())
    assert found.comparison is not None
    assert found.comparison.speedup == pytest.approx(2.0)


FASTER, UNSURE_OF_IT = (0.0115, 0.0117, 0.0116, 0.0118) * 2, (0.010, 0.030, 0.014, 0.017)


@pytest.mark.parametrize(
    ("seconds", "asked", "reason"),
    [
        (FASTER, {"method": METHODS[Method.DRAFT_MODEL]}, Reason.ACCEPTED),
        (FASTER, {"method": METHODS[Method.DRAFT_MODEL], "speedup": None}, Reason.ACCEPTED),
        (FASTER, {}, Reason.ACCEPTANCE_RATE_LOW),  # the user's own minimum
        (FASTER, {"method": METHODS[Method.DRAFT_MODEL], "acceptance_length": 3.0}, Reason.ACCEPTANCE_LENGTH_LOW),
        (FASTER, {"method": METHODS[Method.DRAFT_MODEL], "least_gain": 1.9}, Reason.ACCEPTANCE_RATE_LOW),
        (UNSURE_OF_IT, {"method": METHODS[Method.DRAFT_MODEL]}, Reason.ACCEPTANCE_RATE_LOW),
        (FASTER, {"method": METHODS[Method.DRAFT_MODEL], "baseline": ()}, Reason.ACCEPTANCE_RATE_LOW),
    ],
)
def test_a_default_minimum_yields_to_a_measured_speedup(
    seconds: tuple[float, ...], asked: dict[str, Any], reason: Reason
) -> None:
    """Acceptance 0.25 of 0.30 at a speedup of 1.72: the default is a guess, and what the user set is not."""
    found = slow(*seconds, rate=0.25, **asked)
    assert found.verdict.reason is reason
    assert found.lost is None if reason is Reason.ACCEPTED else (found.lost or 0.0) > 0
    assert ("(the default minimum 0.30 yields to the speed)" in found.verdict.message) is (reason is Reason.ACCEPTED)


def test_a_broken_pod_is_found_where_the_default_minimum_yields() -> None:
    """Both pods together are fast enough, and one of them accepts nothing."""
    first = dict.fromkeys("abc", counters(0, running=1.0))
    window = Window(0, 2.0).with_readings(first, 0)
    for step in range(1, 9):
        timed = {"running": 1.0, "requests": 10.0 * step, "token_seconds": 0.116 * step}
        rates = {"a": 0.8, "b": 0.8, "c": 0.0}
        readings = {pod: counters(200 * step, rate=rate, **timed) for pod, rate in rates.items()}
        window = window.with_readings(readings, 2.0 * step)
    asked = limits(least_gain=1.0, baseline=(make_baseline(1),), method=METHODS[Method.DRAFT_MODEL])
    found = judge(window, asked, 16.0)
    assert (found.verdict.reason, found.verdict.pods) == (Reason.POD_SKEW, ("c",))


def test_a_verdict_knows_when_its_window_closed() -> None:
    """By that it is counted once."""
    assert judge(bursts(0.8), limits(), 77.0).verdict.at == 77.0
