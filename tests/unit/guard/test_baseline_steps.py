"""The steps of a service without speculation: kept, and compared with the dips of the pods that replace its own."""

from dataclasses import replace
from math import hypot, log
from typing import Any

import pytest
from tests.unit.builders import counters, facts, limits, make_state
from tests.unit.guard.test_off_cost import FOR, beside, steps

from specdec_operator.guard.baseline import Baseline, learnt
from specdec_operator.guard.counters import Counters, SideCounters
from specdec_operator.guard.dips import DipTotals
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.off_cost import (
    BaselineSteps,
    OffCost,
    PodLevels,
    baseline_steps_of,
    holds_for,
    off_cost_of,
    off_cost_since,
)
from specdec_operator.guard.off_steps import ArmSteps, OffSteps
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.sampler import Schedule, add, start, with_window
from specdec_operator.guard.speed import note_baseline_window, note_off_cost
from specdec_operator.guard.state import Phase, State

WINDOW = 120.0
SCHEDULE = Schedule(interval=20.0, window=WINDOW)
BEGUN = 1000.0


def arm(seconds: list[float], *, windows: int = 10, **more: Any) -> ArmSteps:
    """So many windows of pods, each pod by its seconds of a step."""
    found = ArmSteps()
    for _ in range(windows):
        found = found.plus({f"a{place}": steps(each, **more) for place, each in enumerate(seconds)}, WINDOW)
    return found


def before(seconds: list[float], *, windows: int = 2, **more: Any) -> BaselineSteps:
    """What is kept of a service without speculation."""
    found = baseline_steps_of(arm(seconds, windows=windows, **more), BEGUN)
    assert found is not None
    return found


def since(ours: list[float], theirs: list[float]) -> OffCost:
    """What dips show against it."""
    found = off_cost_since(arm(ours, number=30), before(theirs), 2000.7)
    assert found is not None
    return found


def test_dips_after_a_baseline_show_the_share_with_a_wider_interval() -> None:
    """Than beside it: its few windows, and what all machines and the traffic do from one time to another, count too."""
    for pods in (1, 4, 16):
        found, other = since([0.02] * pods, [0.018] * pods), off_cost_of(beside([0.02] * pods, [0.018] * pods), 0.0)
        assert other is not None
        assert found.ratio == pytest.approx(0.9)
        assert (found.at, found.baseline_at, found.windows, found.pods) == (2000, BEGUN, 10, (pods, pods))
        assert found.width > other.width
        assert found.low < 0.9 * (1 - 2 * 0.04), "however many pods there are"


def test_pods_that_differ_make_it_less_sure() -> None:
    """Those that served before are known by how far they were apart."""
    alike, apart = ([0.018] * 8, [0.014, 0.022] * 4)
    assert log(since([0.03] * 8, apart).width) > 1.5 * log(since([0.03] * 8, alike).width)
    kept = before(apart).levels
    assert kept.missed == pytest.approx(hypot(*[log(0.014 / 0.022) / 2] * 8) ** 2, rel=0.01)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (arm([0.02], windows=4), arm([0.018], windows=2)),
        (arm([0.02], number=5), arm([0.018], windows=2)),
        (arm([0.02]), arm([0.018], windows=1)),
        (arm([0.02]), arm([0.018], windows=2, number=50)),
        (arm([0.02], batch=8), arm([0.018], windows=2)),
        (arm([0.02], requests=3.1), arm([0.018], windows=2, requests=4)),
        (arm([0.02]), arm([1e-9], windows=2)),
        (arm([0.02]), ArmSteps()),
        (ArmSteps(), arm([0.018], windows=2)),
    ],
    ids=["windows", "dips", "windows before", "steps before", "sizes", "requests", "hostile", "no baseline", "no dips"],
)
def test_too_little_or_another_load_shows_nothing(ours: ArmSteps, theirs: ArmSteps) -> None:
    """The gain stays an upper bound."""
    kept = baseline_steps_of(theirs, BEGUN)
    assert kept is None or off_cost_since(ours, kept, 2000.0) is None


def test_numbers_of_another_client_stop_nothing() -> None:
    """Whatever they are, the share is of a number that can be, or of none."""
    for levels in (
        PodLevels(pods=10**9, windows=1e15, mean=-1e15, missed=1e15),
        PodLevels(pods=0, windows=1e9, mean=0.0, missed=0.0),
    ):
        kept = replace(before([0.018]), levels=levels)
        found = off_cost_since(arm([0.02]), kept, 2000.0)
        assert found is None or holds_for(replace(found, measured_for=FOR), FOR) is None


def reading(number: int, off: OffSteps, *, prompt: float = 300.0, speculates: bool) -> Counters:
    """The page of a pod at its so many-th reading: two answers of 100 tokens each, 300 of each prompt, four at once."""
    requests = 2.0 * number
    known: dict[str, Any] = {
        "token_seconds": requests * 0.99,
        "timed_tokens": requests * 99,
        "requests": requests,
        "first_tokens": requests,
        "running": 4.0,
        "side": SideCounters(prompt_tokens=requests * prompt),
        "off_steps": {batch: each.faded(number + 1) for batch, each in off.items()},
    }
    if speculates:
        dips = DipTotals(seconds=19.0, requests=4000, tokens=8000, dips=9, ratios=9 * 0.5, squares=9 * 0.25)
        return counters(100.0 * number, dips={(4, 4): dips.faded(number + 1)}, **known)
    return Counters(generation_tokens=requests * 100, started=1.0e9, **known)


def windows(thresholds: Thresholds, number: int, page: Any, begun: float) -> Judged:
    """The last of so many windows of two pods. page: of a pod, by the number of the reading."""
    sampler, closed = start(begun, SCHEDULE), None
    for each in range(6 * number + 1):
        readings = dict.fromkeys(("a", "b"), page(each))
        sampler, judged = add(sampler, readings, thresholds, SCHEDULE, begun + 20.0 * each)
        closed = judged or closed
    assert closed is not None
    return closed


def measured() -> State:
    """Of a service that ran two windows without speculation, at 18 ms a step."""
    baseline: Baseline = ()
    thresholds = limits(of_baseline=True, longest_gap=60.0)
    found = windows(thresholds, 2, lambda each: reading(each, steps(0.018, number=900), speculates=False), BEGUN)
    for _ in range(2):
        baseline = learnt(baseline, found.evidence.token_times)
    seen = with_window(facts(speculating=False), found)
    state = note_baseline_window(make_state(Phase.MEASURING_BASELINE), seen)
    return replace(state, baseline=baseline)


def speculating(state: State, *, prompt: float = 300.0, after: float = 600.0, **changes: Any) -> Judged:
    """Seven windows of the pods that replace those, so long after; a step in a dip takes 20 ms."""
    thresholds = limits(baseline=state.baseline, baseline_steps=state.baseline_steps, longest_gap=60.0, **changes)
    off = steps(0.02, number=24)
    return windows(thresholds, 7, lambda each: reading(each, off, prompt=prompt, speculates=True), BEGUN + after)


def test_a_service_that_was_measured_first_knows_what_its_dips_reach() -> None:
    """Without any baseline pod."""
    state = measured()
    assert state.baseline_steps is not None
    assert (state.baseline_steps.at, state.baseline_steps.levels.pods) == (BEGUN + 240, 2)
    found = speculating(state)
    assert found.off_cost is not None
    assert found.off_cost.ratio == pytest.approx(0.9)
    assert found.off_cost.baseline_at == BEGUN + 240
    known = note_off_cost(state, with_window(facts(measured_for=FOR), found))
    assert known.off_cost == replace(found.off_cost, measured_for=FOR)
    assert known.baseline_steps == state.baseline_steps


@pytest.mark.parametrize(
    "change",
    [{"prompt": 900.0}, {"after": 2 * 3600.0}, {"dialled": 0}],
    ids=["longer prompts", "hours later", "by the dial"],
)
def test_other_traffic_and_another_time_are_not_compared(change: dict[str, Any]) -> None:
    """A step takes longer for longer prompts, and machines have other loads."""
    assert speculating(measured(), **change).off_cost is None


def test_without_a_known_speed_the_traffic_is_not_compared() -> None:
    """The status of an earlier release, or one that another client wrote."""
    assert speculating(replace(measured(), baseline=())).off_cost is None
    assert speculating(replace(measured(), baseline_steps=None)).off_cost is None


def test_a_window_that_shows_too_little_forgets_nothing() -> None:
    """The steps of before stay, until newer ones are known; those of another revision are not taken."""
    state = replace(measured(), judged=0.0)
    kept = state.baseline_steps
    assert note_baseline_window(state, facts(speculating=False, closed=9e3)).baseline_steps == kept
    other = facts(speculating=False, closed=9e3, revision="r2", baseline_steps=before([0.1]))
    assert note_baseline_window(state, other).baseline_steps == kept
    newer = replace(other, revision="r1")
    assert note_baseline_window(state, newer).baseline_steps == before([0.1])
