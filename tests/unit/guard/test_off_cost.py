"""What engines that leave their draft out reach of the baseline: read from pages, measured beside baseline pods, kept,
forgotten, and what it makes of the gain by dips.
"""

import random
from dataclasses import replace
from math import exp, log
from typing import Any

import pytest
from lab.guard.off_cost import TRUE, BaselineServes, Concluded, OffScene, concluded
from tests.unit.builders import counters, facts, judged, limits, make_comparison, make_evidence, make_gain, make_state

from specdec_operator.api.speculation import Method
from specdec_operator.guard.checks import WindowCase
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.guard.dips import DipTotals
from specdec_operator.guard.gain import DipEvidence, DipGain, DipSpan
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.off_cost import (
    BesideSteps,
    MeasuredFor,
    OffCost,
    holds_for,
    in_dips,
    off_cost_of,
    renewed,
)
from specdec_operator.guard.off_steps import OFF_SERIES, PROMPTS, OffSteps, StepTotals
from specdec_operator.guard.policy import METHODS
from specdec_operator.guard.sampler import Schedule, add, start, with_window
from specdec_operator.guard.speed import note_off_cost
from specdec_operator.guard.speed_checks import (
    is_faster_in_the_engine,
    is_not_slower,
    not_compared,
    slower,
    slower_in_the_engine,
)
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import TokenTime
from specdec_operator.guard.user_intent import UserIntent, follow_user
from specdec_operator.guard.verdict import Outcome, Reason

PAGE = """\
vllm:generation_tokens_total{engine="0"} 100
specdec_engine_steps_total{batch="4",prompt="false",tokens="0"} 120
specdec_engine_steps_total{batch="4",prompt="true",tokens="0"} 9
specdec_engine_steps_total{batch="4",prompt="false",tokens="3"} 999
specdec_engine_step_seconds_total{batch="4",prompt="false",tokens="0"} 2.4
specdec_engine_step_requests_total{batch="4",prompt="false",tokens="0"} 480
"""
SEEN = StepTotals(steps=120, seconds=2.4, requests=480)
FOR = MeasuredFor(revision="r1", engine="vllm 0.33.0", model="pvc://models/target", method="draft_model", tokens=4)
COST = OffCost(ratio=0.9, low=0.88, high=0.92, at=100.0, windows=30, pods=(8, 8), measured_for=FOR)
WINDOW = 120.0


def steps(seconds: float, *, number: float = 1000, batch: int = 4, requests: float = 4) -> OffSteps:
    """So many steps at one batch size, each of so many seconds."""
    return {batch: StepTotals(steps=number, seconds=number * seconds, requests=number * requests)}


def beside(ours: list[float], theirs: list[float], *, windows: int = 30, **more: Any) -> BesideSteps:
    """What so many windows of pods show, each pod by its seconds of a step."""
    found = BesideSteps()
    for _ in range(windows):
        found = found.plus(
            {f"a{place}": steps(each, **more) for place, each in enumerate(ours)},
            {f"b{place}": steps(each) for place, each in enumerate(theirs)},
            WINDOW,
        )
    return found


def cost(ours: list[float], theirs: list[float], **more: Any) -> OffCost:
    """The share that they show."""
    found = off_cost_of(beside(ours, theirs, **more), 100.7)
    assert found is not None
    return found


def test_a_page_has_the_steps_that_drafted_nothing() -> None:
    """By batch size, and those that took a prompt in apart. Baseline pods have no others."""
    assert read_counters(PAGE).off_steps == {4: SEEN, PROMPTS: StepTotals(steps=9)}
    assert read_counters(PAGE).dips == {}


@pytest.mark.parametrize("series", OFF_SERIES)
def test_a_series_that_a_rule_dropped_leaves_nothing(series: str) -> None:
    """What is missing was not 0."""
    kept = [line for line in PAGE.splitlines() if not line.startswith(series)]
    assert read_counters("\n".join((*kept, ""))).off_steps == {}


def test_labels_that_the_clock_does_not_write_leave_nothing() -> None:
    """The rest of the page is read all the same."""
    found = read_counters(f'{PAGE}specdec_engine_steps_total{{batch="x",tokens="0"}} 1\n')
    assert (found.off_steps, found.generation_tokens) == ({}, 100)


def test_the_share_is_that_of_the_seconds_of_a_step() -> None:
    """A step of the baseline takes 0.9 of one that leaves its draft out."""
    found = cost([0.02] * 4, [0.018] * 4)
    assert found.ratio == pytest.approx(0.9)
    assert found.low < 0.9 < found.high
    assert (found.at, found.windows, found.pods) == (100.0, 28, (4, 4))


def test_one_pod_on_each_side_shows_little() -> None:
    """Machines of one kind differ by 8 %, and two of them do not show by how much."""
    one, four, eight = (cost([0.02] * pods, [0.018] * pods) for pods in (1, 4, 8))
    assert one.low < 0.9 * exp(-1.96 * 0.08)
    assert one.high == 1.0
    assert one.width > four.width > eight.width
    assert eight.low > 0.9 * 0.95


def test_pods_that_differ_widen_the_interval() -> None:
    """A slow node stays slow however long it is watched."""
    differ = cost([0.016, 0.018, 0.02, 0.022, 0.024], [0.018] * 5, windows=200)
    assert differ.width > 1.1 * cost([0.02] * 5, [0.018] * 5, windows=200).width


def test_an_engine_that_is_faster_without_its_draft_costs_nothing() -> None:
    """By chance, or because the baseline pods are on slower machines."""
    assert (cost([0.018] * 4, [0.02] * 4).ratio, cost([0.018] * 4, [0.02] * 4).high) == (1.0, 1.0)


@pytest.mark.parametrize(
    "found",
    [
        beside([0.02], [0.018], windows=4),
        beside([], [0.018]),
        beside([0.02], []),
        beside([0.02], [0.018], batch=8),
        beside([0.02], [0.018], requests=3.5),
        beside([0.02], [0.018], number=3),
        BesideSteps(),
    ],
    ids=["few windows", "no dips", "no baseline", "another batch", "other requests", "few steps", "nothing"],
)
def test_too_little_shows_nothing(found: BesideSteps) -> None:
    """And so the gain stays an upper bound."""
    assert off_cost_of(found, 0.0) is None


def test_a_pod_that_left_fades() -> None:
    """Its steps count half after four hours, and the number of pods is bounded."""
    found = beside([0.02], [0.018])
    for _ in range(2000):
        found = found.plus({"new": steps(0.02)}, {"b0": steps(0.018)}, WINDOW)
    assert {*found.speculating.pods} == {"new"}
    assert found.baseline.windows == pytest.approx(4 * 3600 / WINDOW / log(2), rel=0.01)


def test_steps_at_nothing_without_dips_are_of_a_schedule() -> None:
    """The engine drafts nothing at such loads, and may run its drafter all the same."""
    kinds = {(4, 4): DipTotals(seconds=100.0, dips=9), (4, 8): DipTotals(seconds=1.0, dips=9)}
    found = in_dips(kinds, {4: SEEN, 8: SEEN, 16: SEEN})
    assert found == {4: SEEN}


def test_steps_that_take_a_prompt_in_are_measured_too() -> None:
    """A draft reads it too, and a baseline need not: twice as long. Without dips in the window nothing is counted."""
    prompts = DipTotals(steps=150, seconds=15.0, requests=600, tokens=900)
    kinds = {(4, 4): DipTotals(seconds=100.0, dips=9), (4, PROMPTS): prompts}
    ours, theirs = in_dips(kinds, {4: SEEN, PROMPTS: StepTotals(steps=3)}), {4: SEEN} | taken_in(0.05)
    assert ours == {4: SEEN, PROMPTS: StepTotals(steps=150, seconds=15.0, requests=600)}
    assert in_dips({(4, PROMPTS): prompts}, {4: SEEN}) == {}
    found = BesideSteps()
    for _ in range(6):
        found = found.plus({"a": ours}, {"b": theirs}, WINDOW)
    measured = off_cost_of(found, 0.0)
    assert measured is not None
    assert (measured.ratio, measured.prompts) == (1.0, pytest.approx(0.5))


def taken_in(seconds: float, *, number: float = 150, requests: float = 4) -> OffSteps:
    """So many steps that took a prompt in."""
    return {PROMPTS: StepTotals(steps=number, seconds=number * seconds, requests=number * requests)}


@pytest.mark.parametrize(
    "theirs",
    [{}, taken_in(0.05, number=5), taken_in(0.05, requests=2), taken_in(1e-9)],
    ids=["none", "few", "other", "odd"],
)
def test_prompts_that_cannot_be_compared_are_not(theirs: OffSteps) -> None:
    """The rest is, all the same."""
    found = BesideSteps()
    for _ in range(6):
        found = found.plus({"a": steps(0.02) | taken_in(0.1)}, {"b": steps(0.018) | theirs}, WINDOW)
    measured = off_cost_of(found, 0.0)
    assert measured is not None
    assert (measured.ratio, measured.prompts) == (pytest.approx(0.9), None)


def test_what_the_baseline_takes_for_prompts_is_in_all_bounds() -> None:
    """A third of the time; unknown, it counts as the service's own time, and as none in the lower bound."""
    prompts = DipTotals(steps=500, seconds=50.0, requests=2000, tokens=2000)
    seen = DipTotals(steps=5000, seconds=100.0, requests=15_000, tokens=30_000, dips=9, ratios=6.3, squares=4.41)
    dips = DipEvidence()
    for _ in range(20):
        dips = dips.plus(DipSpan(kinds={(4, 4): seen, (4, PROMPTS): prompts}, seconds=150.0))
    gain = dips.gain
    assert gain is not None
    assert (gain.prompts, gain.rest) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    unknown, known = (gain.over_baseline(replace(COST, prompts=each)) for each in (None, 0.6))
    assert unknown.low is not None
    assert known.low is not None
    assert known.gain == pytest.approx(unknown.gain - 0.4 / 3)
    assert known.high == pytest.approx(unknown.high - (1 - 0.6 * 0.92 / 0.9) / 3)
    assert known.low == pytest.approx(unknown.low + 0.6 * 0.88 / 0.9 / 3)


def test_a_newer_measurement_replaces_a_wider_one() -> None:
    """Or one of a week ago, or one that it contradicts, or one of other pods."""
    narrow, wide = replace(COST, at=200.0, low=0.89), replace(COST, at=200.0, low=0.8)
    assert renewed(None, narrow, FOR) == narrow
    assert renewed(COST, narrow, FOR) == narrow
    assert renewed(COST, wide, FOR) == COST
    assert renewed(COST, replace(wide, at=100.0 + 8 * 86400), FOR) == replace(wide, at=100.0 + 8 * 86400)
    assert renewed(COST, replace(wide, high=0.87), FOR) == replace(wide, high=0.87)
    other = replace(FOR, revision="r2")
    assert renewed(COST, wide, other) == replace(wide, measured_for=other)
    assert renewed(COST, None, FOR) == renewed(COST, wide, None) == COST


def test_it_holds_for_what_it_was_measured_for() -> None:
    """And while nothing speculates it is kept, and not used."""
    assert holds_for(COST, FOR) == COST
    assert holds_for(COST, None) is holds_for(None, FOR) is None
    for change in ({"revision": "r2"}, {"engine": "vllm 0.34.0"}, {"tokens": 2}, {"draft": "pvc://models/other"}):
        assert holds_for(COST, replace(FOR, **change)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"low": 0.0}, {"low": 0.95}, {"high": 1.2}, {"ratio": 0.5}])
def test_numbers_that_cannot_be_are_not_used(change: dict[str, float]) -> None:
    """Another client may write the status."""
    assert holds_for(replace(COST, **change), FOR) is None  # type: ignore[arg-type]


def test_the_state_learns_it_with_a_window_and_forgets_it_with_other_pods() -> None:
    """A window of other pods teaches nothing."""
    found, state = replace(COST, measured_for=None), make_state()
    seen = facts(closed=100.0, off_cost=found, measured_for=FOR)
    known = note_off_cost(state, seen)
    assert known.off_cost == COST
    assert note_off_cost(known, replace(seen, off_cost=None)) == known
    assert note_off_cost(replace(state, judged=100.0), seen).off_cost is None
    assert note_off_cost(state, replace(seen, revision="r2")).off_cost is None
    assert note_off_cost(known, facts(measured_for=None)) == known
    assert note_off_cost(known, facts(measured_for=replace(FOR, tokens=2))).off_cost is None


def test_the_users_changes_forget_it_and_a_retry_does_not() -> None:
    """After a retry the same pods serve."""
    state = make_state(off_cost=COST, service="v1", rollbacks=1)
    intent = UserIntent(speculation="s1", service="v1", speculating=True, retry="7")
    assert follow_user(replace(state, dial=None), intent, 1.0).off_cost == COST
    back = follow_user(state, replace(intent, retry=None, rollback="8"), 1.0)
    assert back.off_cost == COST
    assert follow_user(back, replace(intent, rollback="8"), 1.0).off_cost == COST
    assert follow_user(state, replace(intent, speculation="s2"), 1.0).off_cost is None
    assert follow_user(state, replace(intent, service="v2"), 1.0).off_cost is None


def dips(gain: float, *, blocks: int = 30, share: float = 1.0, draw: random.Random | None = None) -> DipGain:
    """What so many blocks of dips show, two tokens a step, some of the time at a load with dips."""
    found, chance = DipEvidence(), draw or random.Random(1)  # noqa: S311 - no secret
    for _ in range(blocks):
        seen = [chance.gauss(gain / 2, 0.05 * gain) for _ in range(90)]
        totals = DipTotals(
            seconds=100.0 * share,
            requests=15_000,
            tokens=30_000,
            dips=len(seen),
            ratios=sum(seen),
            squares=sum(each * each for each in seen),
        )
        rest = DipTotals(seconds=100.0 * (1 - share), requests=1000, tokens=2000)
        found = found.plus(DipSpan(kinds={(4, 4): totals, (4, 64): rest}, seconds=WINDOW))
    assert found.gain is not None
    return found.gain


def case(gain: DipGain | None, **changes: Any) -> WindowCase:
    """A window with such dips and nothing to compare with."""
    known: dict[str, Any] = {"thresholds": limits(least_gain=1.0), "comparison": None, "longer": None}
    return WindowCase(evidence=make_evidence(), gain=gain, **(known | changes))


def test_without_the_share_everything_stays_an_upper_bound() -> None:
    """However high the gain is."""
    gain = dips(3.0)
    assert gain.over_baseline(None) == gain
    assert gain.low is None
    assert not is_not_slower(case(gain))


def test_the_share_bounds_the_gain_from_both_sides() -> None:
    """High by high. Of the lower one, what both may miss adds up as errors of their own do."""
    gain = dips(1.5)
    found = gain.over_baseline(COST)
    assert found.gain == pytest.approx(0.9 * gain.gain)
    assert found.high == pytest.approx(0.92 * gain.high)
    assert found.low is not None
    assert 0.88 * gain.least < found.low < min(0.9 * gain.least, 0.88 * gain.part)
    assert found.low < found.gain < found.high
    exact = replace(COST, low=0.9, high=0.9)
    assert gain.over_baseline(exact).low == pytest.approx(0.9 * gain.least)
    assert gain.over_baseline(replace(COST, low=0.0)).low == 0


def test_time_without_dips_counts_as_it_is() -> None:
    """Most of it has to have dips, and what brings more tokens there is not counted."""
    gain = dips(1.5, share=0.6)
    found = gain.over_baseline(COST)
    whole = replace(gain, share=1.0).over_baseline(COST)
    assert found.low is not None
    assert whole.low is not None
    assert found.low == pytest.approx(0.6 * whole.low + 0.4)
    assert gain.rest == pytest.approx(0.4 * 2)
    assert found.high == pytest.approx(gain.rest + 0.92 * (gain.high - gain.rest))
    assert dips(3.0, share=0.4).over_baseline(COST).low is None


def test_the_last_minutes_bound_what_half_an_hour_shows() -> None:
    """A draft that has turned bad is not praised for what it was."""
    chance = random.Random(3)  # noqa: S311 - no secret
    found = DipEvidence()
    for number in range(34):
        ratio = 0.75 if number < 30 else 0.4
        seen = [chance.gauss(ratio, 0.05 * ratio) for _ in range(9)]
        sums = {"dips": 9, "ratios": sum(seen), "squares": sum(each * each for each in seen)}
        kinds = {(4, 4): DipTotals(seconds=100.0, requests=15_000, tokens=30_000, **sums)}
        found = found.plus(DipSpan(kinds=kinds, seconds=WINDOW))
    gain = found.gain
    assert gain is not None
    assert gain.least > 1.1
    found_low = gain.over_baseline(COST).low
    assert found_low is not None
    assert found_low < 0.75


@pytest.mark.parametrize(("low", "limit", "expected"), [(1.04, 1.0, True), (1.04, 1.1, False), (None, 1.0, False)])
def test_dips_show_a_gain_by_their_lower_bound(low: float | None, limit: float, expected: bool) -> None:
    """The default minimum of the acceptance yields, and `speedup.min` is compared."""
    gain = replace(make_gain(high=1.3), low=low, cost=COST)
    found = case(gain, thresholds=limits(least_gain=limit, speedup=limit))
    assert is_faster_in_the_engine(found) is is_not_slower(found) is expected
    assert (not_compared(found) is None) is expected


def test_only_baseline_pods_go_before_what_dips_show() -> None:
    """A baseline of another time that shows a loss does not count; it does where dips show neither."""
    lost, gain = make_comparison(0.8), replace(make_gain(high=1.3), low=1.04, cost=COST)
    unsure = replace(gain, low=0.96)
    evidence = make_evidence(
        generation_tokens=5000, token_times={1: TokenTime(times=RatioSums(blocks=9), requests=50.0)}
    )
    for found, is_faster in ((gain, True), (unsure, False)):
        seen = replace(
            case(found, comparison=lost, longer=lost), evidence=evidence, thresholds=limits(least_gain=1.0, speedup=1.0)
        )
        assert is_not_slower(seen) is is_faster
        assert (slower(seen) is None) is is_faster
        assert (not_compared(seen) is None) is is_faster
    assert not is_not_slower(case(gain, pairs=1))
    assert not is_not_slower(case(gain, thresholds=limits(least_gain=None)))


def test_the_share_turns_an_upper_bound_of_more_than_one_into_a_loss() -> None:
    """A draft at 0.83 of the baseline: its own engine without it shows an upper bound of 1.04."""
    gain = make_gain(high=1.04)
    assert slower_in_the_engine(case(gain)) is None
    verdict = slower_in_the_engine(case(gain.over_baseline(COST)))
    assert verdict is not None
    assert (verdict.outcome, verdict.reason, verdict.final) == (Outcome.FAIL, Reason.SLOWER_THAN_PLAIN, True)
    assert "upper bound 0.96" in verdict.message
    assert "and a step of the baseline 0.90 of that" in verdict.message


def _window(thresholds: Any, off: float, *, rate: float = 0.8) -> Judged:
    """One window of two pods and two baseline pods, in which all of that was counted, after six like it."""
    schedule = Schedule(interval=20.0, window=120.0)
    sampler, closed = start(0.0, schedule), None
    dipped = DipTotals(seconds=100.0, requests=15_000, tokens=30_000, dips=90, ratios=90 * 0.7, squares=91 * 0.49)
    for number in range(43):
        times, begun = number // 6 + 1.0, number / 6 + 1.0
        reading: Counters = counters(1000 + 500 * number, rate=rate)
        ours = replace(reading, dips={(4, 4): dipped.faded(times)}, off_steps=_scaled(steps(0.02), begun))
        plain = Counters(generation_tokens=1000.0 * number, started=1.0e9, off_steps=_scaled(steps(off), begun))
        readings, baseline = dict.fromkeys(("a", "b"), ours), dict.fromkeys(("c", "d"), plain)
        sampler, window = add(sampler, readings, thresholds, schedule, 20.0 * number, baseline)
        closed = window or closed
    assert closed is not None
    return closed


def _scaled(part: OffSteps, times: float) -> OffSteps:
    return {batch: each.faded(times) for batch, each in part.items()}


def test_windows_of_both_arms_measure_it() -> None:
    """And the observation has it."""
    found = _window(limits(longest_gap=60.0), 0.018)
    assert found.off_cost is not None
    assert found.off_cost.ratio == pytest.approx(0.9)
    assert with_window(facts(), found).off_cost == found.off_cost
    assert judged().off_cost is None
    assert _window(limits(longest_gap=60.0, dialled=0), 0.018).off_cost is None


def test_a_low_acceptance_passes_if_the_engine_shows_a_gain() -> None:
    """The default minimum yields to what was measured, also without any comparison."""
    schedule = Schedule(interval=20.0, window=120.0)
    method = METHODS[Method.DRAFT_MODEL]
    for off_cost, outcome in ((None, Outcome.FAIL), (COST, Outcome.PASS)):
        thresholds = limits(acceptance_rate=0.4, method=method, least_gain=1.0, longest_gap=60.0, off_cost=off_cost)
        sampler, closed = start(0.0, schedule), None
        dipped = DipTotals(seconds=100.0, requests=15_000, tokens=30_000, dips=90, ratios=90 * 0.9, squares=91 * 0.81)
        for number in range(43):
            reading = counters(1000 + 500 * number, rate=0.2)
            readings = {"a": replace(reading, dips={(4, 4): dipped.faded(number // 6 + 1.0)})}
            sampler, window = add(sampler, readings, thresholds, schedule, 20.0 * number)
            closed = window or closed
        assert closed is not None
        assert closed.verdict.outcome is outcome, closed.verdict.message
        assert closed.yields is (outcome is Outcome.PASS)


def test_with_the_share_measured_losses_and_gains_are_found() -> None:
    """Simulated: three hours of sixteen pods whose draft shows a gain of 1.25 times the true one by dips."""
    found = {true: [concluded(OffScene(true=true, pods=16, hours=3), seed) for seed in range(8)] for true in TRUE}
    faster = {true: sum(each.faster is not None for each in of) for true, of in found.items()}
    slower = {true: sum(each.slower is not None for each in of) for true, of in found.items()}
    assert (faster[0.8], faster[0.95], slower[1.0], slower[1.1]) == (0, 0, 0, 0)
    assert faster[1.0] <= 1
    assert (slower[0.8], slower[0.9]) == (8, 8)
    assert min(faster[1.1], faster[1.5]) >= 6


def test_without_it_neither_is_found() -> None:
    """Dips show 1.12 where the truth is 0.9, and 1.38 where it is 1.1: an upper bound of both."""
    for true in (0.9, 1.1):
        scenes = [OffScene(true=true, pods=16, hours=2, baseline=BaselineServes.NEVER)] * 3
        assert {concluded(scene, seed) for seed, scene in enumerate(scenes)} == {Concluded()}
