"""The gain that dips in the engine show: read from a page, added up over windows, and what a window makes of it."""

import random
import re
from dataclasses import replace
from statistics import median

import pytest
from tests.unit.builders import counters, limits, make_comparison, make_evidence

from specdec_operator.guard.baseline_pods import Measure, MeasureFinding
from specdec_operator.guard.checks import WindowCase
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.guard.dips import SERIES, DipTotals, KindTotals, at_home, homes
from specdec_operator.guard.gain import DipEvidence, DipGain, DipSpan, gain_of
from specdec_operator.guard.judge import Judged, judge
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.sampler import Schedule, add, start
from specdec_operator.guard.speed_checks import slower_in_the_engine
from specdec_operator.guard.totals import added, counted_between
from specdec_operator.guard.verdict import Outcome, Reason
from specdec_operator.guard.window import pooled

PAGE = """\
vllm:generation_tokens_total{engine="0"} 100
specdec_engine_steps_total{batch="4",prompt="true",tokens="3"} 70
specdec_engine_step_seconds_total{batch="4",prompt="false",tokens="3"} 2.5
specdec_engine_step_seconds_total{batch="4",prompt="true",tokens="3"} 7
specdec_engine_step_seconds_total{batch="4",prompt="false",tokens="0"} 9
specdec_engine_step_requests_total{batch="4",prompt="false",tokens="3"} 300
specdec_engine_tokens_total{batch="4",prompt="false",tokens="3"} 600
specdec_engine_dips_total{batch="4",tokens="3"} 10
specdec_engine_dip_ratios_total{batch="4",tokens="3"} 5
specdec_engine_dip_squared_ratios_total{batch="4",tokens="3"} 2.6
"""
SEEN = DipTotals(seconds=2.5, requests=300, tokens=600, dips=10, ratios=5, squares=2.6)
WINDOW = 120.0


def of_window(
    ratio: float, *, dips: int = 9, length: float = 2.0, scatter: float = 0.1, draw: random.Random | None = None
) -> KindTotals:
    """One pod's window at one batch size: dips whose ratio scatters as on a loaded machine."""
    chance = draw or random.Random(1)  # noqa: S311 - no secret
    seen = [max(0.01, chance.gauss(ratio, scatter * ratio)) for _ in range(dips)]
    sums = {"dips": dips, "ratios": sum(seen), "squares": sum(each * each for each in seen)}
    return {(4, 4): DipTotals(seconds=100.0, requests=15_000, tokens=15_000 * length, **sums)}


def gain(*windows: KindTotals) -> DipGain | None:
    """What so many windows show."""
    found = DipEvidence()
    for each in windows:
        found = found.plus(DipSpan(kinds=each, seconds=WINDOW))
    return found.gain


def gain_of_block(kinds: KindTotals) -> DipGain | None:
    """What one block shows."""
    return gain_of(DipSpan(kinds=kinds, seconds=WINDOW).as_block)


def test_a_page_has_the_totals_of_steps_with_a_draft() -> None:
    """By tokens and batch size, and those with a prompt apart."""
    assert read_counters(PAGE).dips == {(3, 4): SEEN, (3, 0): DipTotals(steps=70, seconds=7)}


@pytest.mark.parametrize(
    "labels",
    [
        *('tokens="x",batch="4"', 'tokens="3"', 'tokens="3",batch="0"', 'tokens="999",batch="1"'),
        *(f'tokens="3",batch="4",dip="{dip}"' for dip in ("x", "-1", "999")),
    ],
)
def test_labels_that_the_clock_does_not_write_leave_nothing(labels: str) -> None:
    """The rest of the page is read all the same."""
    found = read_counters(f"{PAGE}specdec_engine_dips_total{{{labels}}} 1\n")
    assert (found.dips, found.generation_tokens) == ({}, 100)


def test_only_dips_at_nothing_are_of_the_gain() -> None:
    """Engines of before the label have no others."""
    labelled = re.sub(r'(_dip\w+{batch="4",)', r'\1dip="0",', PAGE)
    other = re.sub(r'(_dip\w+{batch="4",).*', r'\1dip="2",tokens="3"} 9', PAGE)
    others = [line for line in other.splitlines() if 'dip="2"' in line]
    assert len(others) == 3
    found = read_counters("\n".join((labelled, *others, "")).replace("\n\n", "\n"))
    assert found.dips == read_counters(PAGE).dips
    assert read_counters(other).dips[3, 4].dips == 0


@pytest.mark.parametrize("series", [each for each in SERIES if SERIES[each] != "steps"])
def test_a_series_that_a_rule_dropped_leaves_nothing(series: str) -> None:
    """What is missing was not 0: without the tokens, every draft would be a loss."""
    kept = [line for line in PAGE.splitlines() if not line.startswith(series)]
    assert read_counters("\n".join((*kept, ""))).dips == {}


def test_an_engine_that_has_not_dipped_yet_has_its_steps() -> None:
    """The first dip comes after hundreds of steps."""
    kept = [line for line in PAGE.splitlines() if "_dip" not in line]
    assert read_counters("\n".join((*kept, ""))).dips[3, 4] == replace(SEEN, dips=0.0, ratios=0.0, squares=0.0)


def test_a_window_has_what_was_counted_in_it_over_all_pods() -> None:
    """An engine that restarted counts from 0 again, and less than nothing is nothing."""
    later = DipTotals(seconds=3.5, requests=400, tokens=800, dips=12, ratios=6, squares=3.1)
    (found,) = counted_between({(3, 4): SEEN}, {(3, 4): later}).values()
    assert (found.seconds, found.tokens, found.dips) == (1.0, 200, 2)
    assert counted_between({(3, 4): later}, {(3, 4): SEEN})[3, 4].dips == 0
    assert counted_between({(3, 4): SEEN}, {(3, 4): SEEN, (3, 8): later})[3, 8] == later
    assert counted_between({}, {(3, 4): SEEN}) == {}
    parts = {pod: make_evidence(dips={(3, 4): SEEN}) for pod in "ab"}
    assert pooled(parts, seconds=10, unread=0).dips == added({(3, 4): SEEN}, {(3, 4): SEEN})
    assert added({(3, 4): SEEN}, {(3, 4): SEEN})[3, 4].tokens == 1200


def test_the_gain_is_tokens_a_step_by_the_seconds_of_a_step() -> None:
    """Two tokens a step and request; a step without the draft takes half as long."""
    found = gain_of_block({(3, 4): SEEN})
    assert found is not None
    assert (found.gain, found.ratio, found.length, found.dips) == (1.0, 0.5, 2.0, 10)
    assert found.high > 1.2


def test_batch_sizes_count_by_their_time() -> None:
    """Three quarters of the time at a gain of 1, one quarter at 2."""
    slow, fast = replace(SEEN, seconds=7.5), replace(SEEN, tokens=1200)
    found = gain_of_block({(3, 1): slow, (3, 4): fast})
    assert found is not None
    assert found.gain == pytest.approx(1.25)


@pytest.mark.parametrize("tokens", [1, 2, 8])
def test_steps_in_dips_at_other_tokens_change_nothing(tokens: int) -> None:
    """They are of no load of their own: gain, bound, length and share are as without them."""
    kinds = {(3, 4): SEEN, (3, 64): DipTotals(seconds=5, requests=300, tokens=700), (3, 0): DipTotals(seconds=7)}
    inside = {(tokens, batch): DipTotals(seconds=0.1, requests=30, tokens=31) for batch in (4, 64)}
    assert gain_of_block(kinds | inside) == gain_of_block(kinds)
    assert at_home(kinds | inside) == kinds


def test_a_number_with_dips_of_its_own_is_a_home_too() -> None:
    """As after a change of the dial, or where vLLM's own schedule has two numbers for one power of two."""
    kinds = {(3, 4): SEEN, (2, 4): replace(SEEN, seconds=1.0), (2, 0): DipTotals(seconds=1), (3, 0): DipTotals()}
    assert at_home(kinds) == kinds
    assert homes(kinds) == {4: 3, 0: 2}


def test_too_few_dips_show_nothing() -> None:
    """None at all show nothing either."""
    assert gain_of_block({(3, 4): replace(SEEN, dips=7)}) is None
    assert gain(*[of_window(0.4, dips=0)] * 5) is None
    assert gain() is None


@pytest.mark.parametrize(("tokens", "expected"), [(900, 0.25 * 0.5 + 0.75 * 3), (0, 0.25 * 0.5 + 0.75)])
def test_time_without_dips_never_makes_a_loss(tokens: float, expected: float) -> None:
    """Its steps may last as long without the draft, so it gains what they bring, and at least 1."""
    slow = replace(SEEN, tokens=300)
    found = gain_of_block({(3, 4): slow, (3, 64): DipTotals(seconds=7.5, requests=300, tokens=tokens)})
    assert found is not None
    assert (found.gain, found.share) == (pytest.approx(expected), 0.25)


@pytest.mark.parametrize(("requests", "tokens", "more"), [(100, 350, 250), (100, 100, 0), (0, 0, 0), (100, 60, 0)])
def test_a_prompt_is_taken_in_once_by_a_baseline_too(requests: float, tokens: float, more: float) -> None:
    """5 s of such steps with 2.5 s of others: a baseline takes the 5 s as well, and a step of 4 ms a request for each
    token that the draft brought then: without the draft, 300 steps of a request are half of 2.5 s.
    """
    prompts = DipTotals(seconds=5.0, requests=requests, tokens=tokens)
    found = gain_of_block({(3, 4): SEEN, (3, 0): prompts})
    assert found is not None
    baseline = 5.0 + (600 + more) * 0.5 * 2.5 / 300
    assert found.gain == pytest.approx(baseline / 7.5)
    assert (found.length, found.share) == (2.0, pytest.approx(1 / 3))
    assert (found.rest, found.part) == (pytest.approx(5 / 7.5), pytest.approx((baseline - 5) / 2.5))


def test_dips_of_steps_with_a_prompt_are_of_no_engine() -> None:
    """A page may show any numbers."""
    assert gain_of_block({(3, 0): SEEN}) is None
    both = gain_of_block({(3, 4): SEEN, (3, 0): SEEN})
    assert both is not None
    assert both.dips == 10


def test_short_windows_are_one_block_of_two_minutes() -> None:
    """Windows of seconds look at a machine once."""
    found = DipEvidence()
    for _ in range(19):
        found = found.plus(DipSpan(kinds=of_window(0.5), seconds=6.0))
    assert found.gain is None
    found = found.plus(DipSpan(kinds=of_window(0.5), seconds=6.0))
    assert found.gain is not None
    assert (found.gain.dips, found.gain.seconds) == (180, 120.0)
    assert (len(found.recent), found.open.seconds) == (1, 0.0)


def test_the_time_of_the_dips_is_that_of_their_blocks() -> None:
    """Of some of the last where these have the lowest bound, else of all, where an hour ago counts half."""
    turned = gain(*[of_window(0.75)] * 60, *[of_window(0.4)] * 4)
    assert turned is not None
    assert turned.seconds == 4 * WINDOW
    steady = gain(*[of_window(0.5)] * 5000)
    assert steady is not None
    assert steady.seconds == pytest.approx(WINDOW / (1 - 0.5 ** (WINDOW / 3600)))
    assert steady.dips == round(9 * steady.seconds / WINDOW)


def test_more_dips_narrow_the_bound_and_old_ones_fade() -> None:
    """Two hours of a gain of 1.5 are soon outweighed by one of 0.8."""
    one, ten = gain(of_window(0.5)), gain(*[of_window(0.5)] * 10)
    assert one is not None
    assert ten is not None
    assert 1.0 < ten.high < one.high
    turned = gain(*[of_window(0.75)] * 60, *[of_window(0.4)] * 4)
    assert turned is not None
    assert turned.high < 1.0


def _minutes(true: float, seed: int, hours: float) -> float | None:
    """After how many minutes the upper bound is below 1; None if never. A window's ratio wanders by 4 %."""
    draw, found = random.Random(seed), DipEvidence()  # noqa: S311 - no secret
    for number in range(round(hours * 3600 / WINDOW)):
        ratio = true / 2 * draw.gauss(1, 0.04)
        found = found.plus(DipSpan(kinds=of_window(ratio, draw=draw), seconds=WINDOW))
        if found.gain is not None and found.gain.high < 1.0:
            return (number + 1) * WINDOW / 60
    return None


@pytest.mark.parametrize(("true", "most"), [(0.4, 2), (0.7, 4), (0.8, 6), (0.9, 20)])
def test_a_slow_draft_is_seen_in_minutes(true: float, most: float) -> None:
    """Simulated: one pod with 9 dips in each window of two minutes, with steps of 20 ms."""
    found = [_minutes(true, seed, 6) for seed in range(9)]
    assert median([each for each in found if each is not None]) <= most
    assert None not in found


def test_a_draft_that_pays_a_little_is_left_alone() -> None:
    """Simulated: twenty days, looked at every two minutes."""
    assert [_minutes(1.02, seed, 24) for seed in range(20)] == [None] * 20


def _judged(kinds: KindTotals, thresholds: Thresholds) -> Judged:
    """One window of one pod, in which all of that was counted."""
    schedule = Schedule(interval=20.0, window=120.0)
    sampler, closed = start(0.0, schedule), None
    for number in range(7):
        reading: Counters = counters(1000 + 500 * number)
        readings = {"pod": replace(reading, dips=kinds if number else {(9, 1): DipTotals()})}
        sampler, closed = add(sampler, readings, thresholds, schedule, 20.0 * number)
    assert closed is not None
    return closed


def test_a_loss_ends_speculation_with_one_window() -> None:
    """The numbers are in the message, and the evidence is all that is known."""
    verdict = _judged(of_window(0.2), limits(least_gain=1.0, longest_gap=60.0)).verdict
    assert (verdict.outcome, verdict.reason, verdict.final) == (Outcome.FAIL, Reason.SLOWER_THAN_PLAIN, True)
    assert verdict.message.startswith("gain in the engine 0.39, upper bound 0.56 (2.00 tokens per step;")
    assert verdict.message.endswith("; 9 dips in 2 min, at loads of 100% of the time) < 1.00")


@pytest.mark.parametrize(
    ("ratio", "changes"),
    [(0.2, {"least_gain": None}), (0.2, {"least_gain": 0.3}), (0.7, {"least_gain": 1.0}), (0.2, {"dialled": 2})],
)
def test_what_is_not_below_the_limit_is_left_alone(ratio: float, changes: dict[str, float | None]) -> None:
    """A baseline, a lower limit of the user's, a gain, and pods that the dial holds at fewer tokens."""
    thresholds = replace(limits(least_gain=1.0, longest_gap=60.0), **changes)
    assert _judged(of_window(ratio), thresholds).verdict.outcome is not Outcome.FAIL


@pytest.mark.parametrize("pods", [True, False])
def test_baseline_pods_go_before_dips_and_dips_before_a_baseline_of_another_time(*, pods: bool) -> None:
    """Dips are of the same pod and second, whatever a baseline at the same load showed some time ago."""
    gain = gain_of_block({(3, 4): replace(SEEN, tokens=300)})
    finding = MeasureFinding(
        measure=Measure.SPEED, value=1.1, low=0.9, high=1.3, limit=1.0, score=0.0, windows=3, unlike=1.0
    )
    findings = (finding,) if pods else ()
    comparison = make_comparison(1.2, low=1.05)
    case = WindowCase(
        evidence=make_evidence(),
        thresholds=limits(least_gain=1.0),
        comparison=None,
        longer=None,
        gain=replace(gain, high=0.9) if gain else None,
    )
    assert slower_in_the_engine(case) is not None
    compared = replace(case, comparison=comparison, longer=comparison, findings=findings)
    assert (slower_in_the_engine(compared) is None) is pods


def test_a_pass_shows_the_gain_and_proves_no_speed() -> None:
    """It is an upper bound."""
    found = _judged(of_window(0.7), limits(least_gain=1.0, longest_gap=60.0))
    assert found.verdict.outcome is Outcome.PASS
    assert " over 120 s, " in found.verdict.message
    assert "; gain in the engine 1.38, upper bound 1.95" in found.verdict.message.partition(" 1 pod")[2]
    assert found.comparison is None
    assert found.gain == found.dips.gain


def test_the_dial_forgets_nothing_and_learns_nothing() -> None:
    """While it asks for fewer tokens, the dips are of those."""
    before = DipEvidence().plus(DipSpan(kinds=of_window(0.7), seconds=WINDOW))
    sampler, _ = add(
        start(0.0, Schedule(interval=2.0, window=10.0)), {}, limits(), Schedule(interval=2.0, window=10.0), 2.0
    )
    assert judge(sampler.window, limits(dialled=2), 10.0, dips=before).dips == before
