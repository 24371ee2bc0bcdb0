"""Times per output token by load, and the traffic that they are compared with: by hand and in recordings."""

import functools
import pathlib
from dataclasses import replace

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.builders import counters, limits, make_baseline, make_evidence, pace
from tests.unit.guard.test_replay_traffic import TRACES

from specdec_command.replay.play import Played, ReplayRound, learn, play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.baseline import Baseline, BaselineSpeed, compare, learnt
from specdec_operator.guard.checks import WindowCase
from specdec_operator.guard.counters import SideCounters
from specdec_operator.guard.judge import judge_case
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.token_time import MOST_LOAD, Mix, TokenTime, load_of, merge
from specdec_operator.guard.tries import Action
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.window import Window

REPORTS = TRACES.parent / "reports"


@pytest.mark.parametrize(
    ("running", "load"),
    [
        (0, 1),
        (0.4, 1),
        (1, 1),
        (1.01, 2),
        (2, 2),
        (2.5, 4),
        (4, 4),
        (5, 8),
        (64, 64),
        (65, 128),
        (1024, 1024),
        (9e9, 1024),
    ],
)
def test_a_load_is_the_next_power_of_two(running: float, load: int) -> None:
    """One at least; all beyond 1024 is one load, so that there are never more than eleven."""
    assert load_of(running) == load


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_more_requests_are_never_a_smaller_load(one: float, other: float) -> None:
    """And a load is a power of two up to the largest."""
    low, high = sorted((load_of(one), load_of(other)))
    assert (load_of(min(one, other)), load_of(max(one, other))) == (low, high)
    assert high <= MOST_LOAD
    assert high & (high - 1) == 0


def test_paces_of_several_pods_add_up_load_by_load() -> None:
    """Blocks at different loads are never mixed."""
    both = merge({1: pace(0.02), 4: pace(0.05)}, {4: pace(0.07)}, {})
    assert both == {1: pace(0.02), 4: pace(0.05, 0.07)}
    assert both[4].times.mean == pytest.approx(0.06)
    assert merge() == {}


def traffic(
    prompt: float = 1000,
    hits: float | None = 0.0,
    *,
    answer: float = 200,
    requests: float = 400,
    took: float = 0.02,
    cold: float = 0.0,
) -> TokenTime:
    """Requests of so long prompts and answers, in blocks of time that all took as long."""
    queries = 0.0 if hits is None else prompt * requests
    mix = Mix(
        answers=requests,
        prompt_tokens=prompt * requests,
        cache_queries=queries,
        cache_hits=queries * (hits or 0.0),
        cold=cold * requests,
    )
    return replace(pace(*(took,) * 8, requests=requests * answer / 8), requests=requests, mix=mix)


@pytest.mark.parametrize(
    ("now", "then", "said"),
    [
        (traffic(), traffic(), ""),
        (traffic(1200), traffic(), ""),
        (traffic(2000), traffic(), "2000 tokens per prompt now, 1000 at that time"),
        (traffic(500), traffic(), "500 tokens per prompt now, 1000 at that time"),
        (traffic(answer=50), traffic(), "50 tokens an answer now, 200 at that time"),
        (traffic(answer=100), traffic(), "100 tokens an answer now, 200 at that time"),
        (traffic(hits=0.75), traffic(hits=0.85), ""),
        (traffic(hits=0.1), traffic(hits=0.9), "0.10 of the prompt tokens in the prefix cache now, 0.90 at that time"),
        (traffic(hits=0.1), traffic(hits=None), ""),
        (traffic(2000, requests=10), traffic(requests=10), ""),
        (traffic(4000, requests=10), traffic(requests=10), "4000 tokens per prompt now, 1000 at that time"),
        (replace(traffic(9000), mix=None), traffic(), ""),
        (traffic(9000), replace(traffic(), mix=None), ""),
    ],
    ids=[
        "the same",
        "a little longer",
        "prompts of twice the length",
        "of half the length",
        "short answers",
        "half of the answers have one token",
        "a few hits less",
        "a cold cache",
        "no cache then",
        "few requests, by chance",
        "few requests, beyond chance",
        "the page does not say",
        "an old status does not say",
    ],
)
def test_differences_in_traffic_are_shown_with_numbers(now: TokenTime, then: TokenTime, said: str) -> None:
    """Beyond the tolerance of a time per output token, and beyond chance. Unknown values count as equal."""
    assert now.unlike(then) == said


@pytest.mark.parametrize(
    ("now", "then", "cold", "similar"),
    [
        (0.38, 0.51, 0.0, True),
        (0.1, 0.9, 0.0, True),
        (0.51, 0.38, 0.0, False),
        (0.38, 0.51, 1.0, True),
        (0.1, 0.9, 1.0, False),
        (0.1, 0.9, 0.11, False),
        (0.1, 0.9, 0.1, True),
    ],
    ids=["less", "far less", "more", "a block less in a cold cache", "cold", "cold at first", "warm"],
)
def test_fewer_hits_with_speculation_are_its_own_cost(now: float, then: float, cold: float, similar: bool) -> None:
    """In a cold cache only 128 of 1000 tokens per prompt are. More hits are other traffic."""
    seen = traffic(hits=now, cold=cold)
    assert (seen.unlike(traffic(hits=then), speculates=True) == "") is similar
    assert seen.unlike(traffic(hits=then))


@pytest.mark.parametrize(
    ("misses", "holds", "age", "cold"),
    [(900, 1000, 60, True), (1000, 1000, 60, False), (900, None, 60, True), (900, 1000, 3600, False)],
    ids=["not filled yet", "filled once", "of unknown size", "after an hour"],
)
def test_the_cache_of_a_new_pod_is_cold(misses: float, holds: int | None, age: float, *, cold: bool) -> None:
    """Until the prompts since its start would fill it: its hits are not evidence about the draft."""
    side = SideCounters(prompt_tokens=misses, cache_queries=misses + 50.0, cache_hits=50.0)
    none = SideCounters(prompt_tokens=0.0, cache_queries=0.0, cache_hits=0.0)
    before = counters(0, running=1.0, side=none, first_tokens=0.0, started=1000.0)
    after = counters(50, running=1.0, side=side, first_tokens=4.0, requests=10, token_seconds=0.5, started=1000.0)
    after = replace(after, kv_cache=KvCache(tokens=holds))
    end = 1000.0 + age
    window = Window(end - 4, 4.0).with_readings({"pod": before}, end - 4).with_readings({"pod": after}, end)
    mix = window.closed().pods["pod"].token_times[1].mix
    assert mix is not None
    assert mix.cold == (4.0 if cold else 0.0)


def test_a_reported_loss_of_hits_is_acted_on() -> None:
    """As it is with equal hits: at the third window."""
    guard = Guard.model_validate({"speedup": {"min": 1.0}})
    known = learn(read_recording(REPORTS / "38182-baseline.jsonl.gz"), guard)
    played = play(read_recording(REPORTS / "38182-fewer-hits.jsonl.gz"), guard, METHODS[Method.DRAFT_MODEL], known)
    assert [(each.at, each.action) for each in played.decisions if each.action] == [(420, Action.ROLL_BACK)]
    assert played.decisions[-1].judged.verdict.reason is Reason.SLOWER_THAN_PLAIN


def test_other_traffic_is_not_compared_and_the_message_has_the_fix() -> None:
    """Prompts of four times the length take twice as long, which the draft does not cause."""
    baseline = (BaselineSpeed(load=1, token_time=traffic()),)
    alike, longer = {1: traffic(took=0.04)}, {1: traffic(4000, took=0.04)}
    found = compare(baseline, alike)
    assert found is not None
    assert found.speedup == pytest.approx(0.5)
    assert compare(baseline, longer) is None
    for asked in ({"speedup": 1.0}, {"time_per_output_token": 0.03}):
        wanted = limits(baseline=baseline, **asked)
        seen = make_evidence(token_times=longer)
        verdict = judge_case(WindowCase(evidence=seen, thresholds=wanted, comparison=None, longer=None))
        assert verdict.reason is Reason.NOT_MEASURED
        assert (
            "the baseline was measured with different traffic: 4000 tokens per prompt now, 1000 at that time; "
            "guard.control.mode OnDoubt compares with baseline pods, or with one pod measures the baseline again"
        ) in verdict.message


def test_loads_of_like_traffic_are_compared_without_the_others() -> None:
    """Half of the requests are enough."""
    baseline = (BaselineSpeed(load=1, token_time=traffic()), BaselineSpeed(load=8, token_time=traffic()))
    found = compare(baseline, {1: traffic(took=0.01), 8: traffic(4000, took=0.09)})
    assert found is not None
    assert (found.speedup, found.share) == (pytest.approx(2.0), 0.5)


def test_a_baseline_with_other_traffic_is_learnt_again() -> None:
    """A mean of both kinds of traffic would be wrong for both."""
    ((baseline),) = learnt((BaselineSpeed(load=1, token_time=traffic()),), {1: traffic(4000, took=0.04)})
    assert baseline.token_time.times.mean == pytest.approx(0.04)
    ((both),) = learnt((BaselineSpeed(load=1, token_time=traffic()),), {1: traffic(1100, took=0.04)})
    assert both.token_time.times.mean == pytest.approx(0.03)
    assert both.token_time.mix is not None
    assert both.token_time.mix.prompt_tokens / both.token_time.mix.answers == pytest.approx(1050)


def test_a_baseline_that_fades_keeps_its_kind_of_traffic() -> None:
    """Many windows: the weights stay bounded, the means as they are."""
    baseline: Baseline = ()
    for _ in range(20):
        baseline = learnt(baseline, {1: traffic(hits=0.5)})
    mix = baseline[0].token_time.mix
    assert mix is not None
    assert mix.answers <= 8 * 400
    assert (mix.prompt_tokens / mix.answers, mix.hit_rate) == (pytest.approx(1000), pytest.approx(0.5))


def test_an_old_baseline_learns_its_traffic() -> None:
    """Its own is not known, so that of the newest windows stands for it."""
    ((baseline),) = learnt((make_baseline(1),), {1: traffic(1000)})
    assert baseline.token_time.mix == traffic(1000).mix


@pytest.mark.parametrize(
    ("side", "first_tokens", "mix"),
    [
        (
            SideCounters(prompt_tokens=900.0, cache_queries=900.0, cache_hits=300.0),
            3.0,
            Mix(answers=3.0, prompt_tokens=900.0, cache_queries=900.0, cache_hits=300.0, cold=3.0),
        ),
        (SideCounters(prompt_tokens=900.0), 3.0, Mix(answers=3.0, prompt_tokens=900.0)),
        (SideCounters(cache_queries=900.0, cache_hits=300.0), 3.0, None),
        (SideCounters(prompt_tokens=900.0), None, None),
    ],
    ids=["all", "no cache", "no prompts", "no first tokens"],
)
def test_a_block_has_the_traffic_that_the_page_reports(
    side: SideCounters, first_tokens: float | None, mix: Mix | None
) -> None:
    """A page of another engine may lack any of it."""
    none = SideCounters(**{name: 0.0 for name in SideCounters.__slots__ if getattr(side, name) is not None})
    before = counters(0, running=1.0, side=none, first_tokens=None if first_tokens is None else 0.0)
    after = counters(50, running=1.0, side=side, first_tokens=first_tokens, requests=10, token_seconds=0.5)
    window = Window(0.0, 4.0).with_readings({"pod": before}, 0.0).with_readings({"pod": after}, 4.0)
    assert window.closed().pods["pod"].token_times[1].mix == mix


@functools.cache
def without_baseline_pods(name: str, *, told: bool) -> Played:
    """A recording without its baseline arm, and with the first 20 minutes of that arm as the baseline. `told`: whether
    the baseline has its mix of traffic.
    """
    about = yaml.safe_load(pathlib.Path(TRACES / f"{name}.yaml").read_text())
    guard, rounds = Guard.model_validate(about["guard"]), read_recording(TRACES / about["recording"])
    baseline = learn(
        [ReplayRound(at=each.at, readings=each.readings_of(baseline=True)) for each in rounds if each.at <= 1200], guard
    )
    if not told:
        baseline = tuple(replace(each, token_time=replace(each.token_time, mix=None)) for each in baseline)
    return play(
        tuple(ReplayRound(at=each.at, readings=each.readings_of(baseline=False)) for each in rounds),
        guard,
        METHODS[Method(about["method"])],
        baseline,
    )


@pytest.mark.parametrize("name", ["20-arm-prompts-x4", "21-arm-output-quarter", "23-arm-singles-fall"])
def test_speculation_is_compared_until_its_traffic_changes_and_not_from_then_on(name: str) -> None:
    """Faster than the baseline all the time. Ten windows before the change, twenty after it."""
    played = without_baseline_pods(name, told=True)
    assert [each.judged.verdict.reason for each in played.decisions] == [Reason.ACCEPTED] * 10 + [
        Reason.NOT_MEASURED
    ] * 20
    assert played.serving == "speculation"


def test_a_baseline_that_does_not_know_its_traffic_is_compared_as_before() -> None:
    """Answers of a quarter of the length: a speculation that pays is taken out for them."""
    assert without_baseline_pods("21-arm-output-quarter", told=False).serving == "plain"
