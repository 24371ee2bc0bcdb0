"""A service of one pod that serves plain for a while, and comes back where speculation was faster."""

from dataclasses import replace

import pytest
from tests.unit.builders import BACK, BLOCKED, OUT, RESPOND, WATCH, make_state
from tests.unit.guard.doubt_films import ONE, RECENT, SLOWER, make_traffic, make_trial, on_trial
from tests.unit.guard.films import facts_at, strip

from specdec_operator.guard.transitions import advance
from specdec_operator.guard.trial import MOST_TRAFFIC, Traffic, Trial, TrialOutcome, differs, outcome_of

DAY = 24 * 3600.0


@pytest.mark.parametrize(
    ("baseline", "outcome"),
    [
        ((0.03,) * 4, TrialOutcome.OPEN),
        ((0.03,) * 5, TrialOutcome.NOT_SLOWER),
        ((0.02,) * 5, TrialOutcome.NOT_SLOWER),
        ((0.0195,) * 5, TrialOutcome.NOT_SLOWER),
        ((0.018,) * 5, TrialOutcome.SLOWER),
        ((0.015, 0.021) * 3, TrialOutcome.NOT_SLOWER),
        ((0.01, *(0.03,) * 5), TrialOutcome.NOT_SLOWER),
    ],
    ids=[
        "too early",
        "the baseline is slower",
        "as fast",
        "by chance",
        "the baseline is faster",
        "it scatters",
        "the last five count",
    ],
)
def test_five_windows_without_speculation_settle_it(baseline: tuple[float, ...], outcome: TrialOutcome) -> None:
    """Speculation took 0.02 s per output token."""
    trial = make_trial()
    for each in baseline:
        trial = trial.plus(make_traffic(each))
    assert outcome_of(trial) is outcome
    assert len(trial.plain) <= MOST_TRAFFIC


def test_windows_with_too_few_requests_are_waited_out() -> None:
    """Fifteen of them, and it stays plain."""
    trial = make_trial()
    for _ in range(14):
        trial = trial.plus(make_traffic(requests=9))
    assert (trial.plain, outcome_of(trial)) == ((), TrialOutcome.OPEN)
    assert outcome_of(trial.plus(make_traffic(requests=9))) is TrialOutcome.QUIET


@pytest.mark.parametrize(
    ("requests", "token_time", "words"),
    [
        (60, 0.03, ""),
        (85, 0.03, ""),
        (95, 0.03, "0.79 requests per second, 0.50 before; 2.38 requests at once, 1.00 before"),
        (35, 0.02, "0.29 requests per second, 0.50 before; 0.58 requests at once, 1.00 before"),
        (95, 0.0126, ""),
        (35, 0.0343, ""),
        (60, 0.04, ""),
        (95, 0.005, ""),
        (35, 0.06, ""),
    ],
    ids=[
        "as much",
        "a little more",
        "more clients",
        "fewer clients",
        "the same clients, answered sooner",
        "the same clients, answered later",
        "requests that come at the same pace and take longer",
        "more are served, and fewer wait",
        "fewer are served, and more wait",
    ],
)
def test_traffic_that_became_another_settles_nothing(requests: float, token_time: float, words: str) -> None:
    """By half as much or more, per second and at once. Clients that wait for answers send more to the faster engine.
    An engine that is too slow for its requests serves fewer, and more of them wait.
    """
    baseline = (make_traffic(token_time, answers=requests, requests=requests),) * 5
    trial = replace(make_trial(), plain=baseline, seen=5)
    assert differs(trial) == words
    assert (outcome_of(trial) is TrialOutcome.UNLIKE) is bool(words)


def test_five_clients_that_wait_for_answers_are_the_same_traffic_at_twice_the_speed() -> None:
    """41 requests per second became 85 on the node. The times to the first token are what five clients leave."""
    speculating = Traffic(
        seconds=8, requests=328, token_seconds=17.3, tokens=3600, answers=328, first_token_seconds=0.06 * 328
    )
    baseline = Traffic(
        seconds=8, requests=676, token_seconds=26.5, tokens=7440, answers=676, first_token_seconds=0.016 * 676
    )
    trial = Trial(speculating=(speculating,) * 3, plain=(baseline,) * 5, least=0.3, seen=5)
    assert outcome_of(trial) is TrialOutcome.NOT_SLOWER


def test_longer_prompts_are_other_traffic() -> None:
    """Tokens a prompt are compared where both sides know them."""
    known, longer = (replace(make_traffic(), prompt_tokens=each) for each in (6000.0, 24000.0))
    trial = replace(make_trial(), speculating=(known,) * 3, plain=(longer,) * 5)
    assert differs(trial) == "400.00 tokens per prompt, 100.00 before"
    assert differs(replace(trial, plain=(make_traffic(),) * 5)) == ""


def test_it_goes_back_and_forth_once_a_day() -> None:
    """A second doubt within a day waits; after it, plain is served for a while again."""
    first = make_state(failures=2, judged=10.0)
    doubt = ONE | RECENT | {"verdict": SLOWER, "in_row": 3}
    (rolled_back,) = strip(first, (100, doubt))
    assert rolled_back.phase is RESPOND
    assert rolled_back.rollback is not None
    assert rolled_back.rollback.trial is not None
    assert "provisional" in rolled_back.rollback.message
    (restored,) = strip(on_trial(make_trial(*(0.03,) * 5)), (1000, ONE | {"speculating": False}))
    assert (restored.phase, restored.rollback, restored.doubts) == (OUT, None, 1)
    again = replace(first, doubts=restored.doubts, doubted=restored.doubted)
    (waits,) = strip(again, (1000 + DAY - 1, doubt))
    assert (waits.phase, waits.rollback, waits.failures) == (WATCH, None, 0)
    (tried,) = strip(again, (1000 + DAY, doubt))
    assert tried.rollback is not None
    assert tried.rollback.trial is not None


def test_within_the_day_what_is_far_slower_goes_at_once() -> None:
    """And stays out; so does what is slower again after plain had been faster."""
    doubt = ONE | RECENT | {"verdict": SLOWER, "in_row": 3}
    restored = make_state(failures=2, judged=10.0, doubts=1, doubted=1000.0)
    (gone,) = strip(restored, (2000, doubt | {"verdict": replace(SLOWER, grave=True)}))
    assert gone.rollback is not None
    assert gone.rollback.trial is None
    (lost,) = strip(on_trial(make_trial(*(0.01,) * 5)), (1000, ONE | {"speculating": False}))
    (gone,) = strip(replace(restored, armless=lost.armless), (2000, doubt))
    assert gone.rollback is not None


def test_speculation_that_finds_no_room_to_come_back_leaves_the_baseline_as_it_is() -> None:
    """Plain has served on; the service is not stalled."""
    (restored,) = strip(on_trial(make_trial(*(0.03,) * 5)), (1000, ONE | {"speculating": False}))
    full = {"rollout": BLOCKED} | ONE
    (back,) = strip(restored, (3000, full))
    assert back.phase is RESPOND
    assert back.rollback is not None
    assert back.rollback.trial is None
    assert "speedup 1.50" in back.rollback.message
    assert "the retry did not start" in back.rollback.message


def test_a_doubt_without_traffic_to_compare_with_is_an_ordinary_rollback() -> None:
    """A restarted operator has not seen three windows yet."""
    frame = ONE | {"verdict": SLOWER, "in_row": 3, "recent": (make_traffic(),) * 2}
    (state,) = strip(make_state(failures=2), (1, frame))
    assert state.rollback is not None
    assert state.rollback.trial is None


def test_the_baseline_window_of_a_trial_is_counted_once() -> None:
    """The same window, seen in two reconciles, is one."""
    state = on_trial(make_trial())
    frame = {"speculating": False, "token_times": {}, "recent": (make_traffic(0.03),)} | ONE
    seen = facts_at(state, 130, frame)
    after = advance(advance(state, seen, 130), seen, 131)
    assert after.rollback is not None
    assert after.rollback.trial is not None
    assert after.rollback.trial.seen == 1


def test_the_result_of_a_trial_is_shown() -> None:
    """With both times, and without the word provisional."""
    (state,) = strip(on_trial(make_trial(*(0.01,) * 5)), (1, ONE | {"speculating": False}))
    assert (state.phase, state.rollback and state.rollback.trial) == (BACK, None)
    assert state.rollback is not None
    assert state.rollback.message == (
        "acceptance 0.02; the baseline took 10.0 ms per output token over 5 windows, speculation took 20.0 ms over 3 "
        "windows before: speedup 0.50 (95 % interval 0.47 to 0.53), required 1.00"
    )
