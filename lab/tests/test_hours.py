"""The simulation over hours and days: its engine behaves like one, and it shows what the guard does."""

from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest

from lab.guard import coverage, days, page, with_baseline
from lab.guard.engine import READ, RequestMix, SimulatedPods, pages, run, streams, token_time
from lab.guard.hours import Compared, Daily, Fall, Hours, Interval, median, most
from lab.guard.scenes import GUARD_SPEC
from lab.guard.traffic import STEP_SECONDS, Floats
from lab.guard.with_baseline import MACHINES, Arrangement, TrafficChange
from specdec_operator.guard.counters import restarted


def engine(mix: RequestMix, acceptance: float, draft: float, *, pods: int = 8, seconds: float = 900) -> Floats:
    """Pods that speculate, and as many baseline pods with the same requests."""
    made = streams(pods, ((0.0, mix),), acceptance, seconds, np.random.default_rng(5))
    drafts = np.array([draft] * pods + [-1.0] * pods)
    return run(SimulatedPods(streams=made + made, draft=drafts, slowness=np.ones((round(seconds / READ), 2 * pods))))


class TestEngine:
    """Figures are worth what the engine is worth."""

    @pytest.mark.parametrize(
        ("mix", "acceptance", "draft", "speculating", "baseline"),
        [
            (RequestMix(rate=2.1), 0.475, 5.43e-3, 5.62e-3, 9.12e-3),
            (RequestMix(rate=1.9, prompt=4000), 0.475, 5.43e-3, 8.5e-3, 14.8e-3),
            (RequestMix(rate=4), 0.225, 25.4e-3, 29.2e-3, 11.0e-3),
            (RequestMix(rate=2), 0.345, 9.86e-3, 9.35e-3, 8.93e-3),
        ],
        ids=["usual", "long prompts", "a very slow draft", "a slow draft"],
    )
    def test_it_is_as_fast_as_a_model_that_goes_step_by_step(
        self, mix: RequestMix, acceptance: float, draft: float, speculating: float, baseline: float
    ) -> None:
        """Times per output token of a simulation of each step, with the same costs; within 15 %, and the ratio too."""
        times = token_time(engine(mix, acceptance, draft), since=20)
        ours, theirs = times[:8].mean(), times[8:].mean()
        assert ours == pytest.approx(speculating, rel=0.15)
        assert theirs == pytest.approx(baseline, rel=0.15)
        assert theirs / ours == pytest.approx(baseline / speculating, rel=0.08)

    def test_no_token_is_lost_or_made_up(self) -> None:
        """Once all requests have ended, each has the tokens that it asked for, with a draft or without."""
        made = streams(4, ((0.0, RequestMix()), (300.0, RequestMix(rate=1e-6))), 0.5, 600, np.random.default_rng(5))
        counted = run(
            SimulatedPods(streams=made + made, draft=np.array([0.005] * 4 + [-1.0] * 4), slowness=np.ones((40, 8)))
        )
        for pod, asked in enumerate(made + made):
            page = pages(counted[:, :, pod], speculative=pod < 4)[-1]
            assert page.running == 0
            assert page.requests == page.first_tokens == len(asked.begin)
            assert page.generation_tokens == pytest.approx(asked.answer.sum())
            assert page.timed_tokens == pytest.approx((asked.answer - 1).sum())
            assert page.side.prompt_tokens == pytest.approx(asked.prompt.sum())

    def test_counters_only_grow(self) -> None:
        """Else the guard would take a pod for restarted."""
        counted = engine(RequestMix(rate=4, singles=0.3), 0.3, 0.02, pods=1)
        for pod in range(2):
            seen = pages(counted[:, :, pod], speculative=pod == 0)
            assert not any(restarted(one, other) for one, other in pairwise(seen))

    def test_an_answer_of_one_token_takes_no_time_and_counts(self) -> None:
        """As in the engine's own decode time."""
        counted = engine(RequestMix(singles=1.0), 0.3, 0.0, pods=1)
        assert pages(counted[:, :, 0], speculative=True)[-1].requests > 0
        assert pages(counted[:, :, 0], speculative=True)[-1].timed_tokens == 0


FAST = TrafficChange(name="fast", after=RequestMix(prompt=4000), speedup=1.8)
SLOW = TrafficChange(name="slow", speedup=0.6, acceptance=0.3)


class TestBaselinePods:
    """Services with baseline pods to compare with."""

    def test_the_true_speedup_is_the_requested_one(self) -> None:
        """The same requests on the same machines, without a draft."""
        _, true = with_baseline.simulate(SLOW, 3, with_baseline.SHIFT + 600, np.random.default_rng(5))
        assert true == pytest.approx(0.6, rel=0.08)

    @pytest.mark.parametrize("arrangement", [Arrangement.ALWAYS, Arrangement.ON_DOUBT])
    def test_who_is_faster_stays_and_who_is_slower_goes(self, arrangement: Arrangement) -> None:
        """Though prompts become four times as long, and by plain of another time that looks slow."""
        fast, _ = with_baseline.simulate(FAST, 2, with_baseline.SHIFT + 1800, np.random.default_rng(5))
        slow, _ = with_baseline.simulate(SLOW, 2, with_baseline.SHIFT + 1800, np.random.default_rng(5))
        assert [with_baseline.play(each, arrangement, FAST).lost for each in fast] == [None, None]
        ended = [with_baseline.play(each, arrangement, SLOW) for each in slow]
        assert all(each.lost is not None and 0 < each.lost < 1800 for each in ended)
        assert all(0 < each.armed <= each.watched for each in ended)

    def test_one_pod_serves_the_baseline_for_a_while(self) -> None:
        """And what is slower stays out."""
        slow, _ = with_baseline.simulate(SLOW, 1, 2 * with_baseline.SHIFT, np.random.default_rng(5))
        ended = with_baseline.play(slow[0], Arrangement.ONE, SLOW)
        assert ended.lost is not None
        assert ended.doubts == 1


class TestDays:
    """Acceptance."""

    def test_far_above_no_service_is_lost_and_a_fall_is_found(self) -> None:
        """And no service is lost before it falls."""
        high = days.Wander(name="high", offset=0.2)
        assert days.day(high, 4 * days.HOUR, (1,)).rollbacks == ()
        low = days.Wander(name="low", offset=-0.3, step=True)
        (at,) = days.day(low, 2 * days.HOUR, (1,)).rollbacks
        assert 0 < at < 1200

    def test_a_service_begins_again_after_each_rollback(self) -> None:
        """Alarms a day are counted, not services."""
        low = days.Wander(name="low", offset=-0.3)
        found = days.day(low, 4 * days.HOUR, (1,)).rollbacks
        assert len(found) > 3
        assert np.diff(found).min() >= GUARD_SPEC.window

    def test_two_long_answers_are_always_running(self) -> None:
        """Each takes ten minutes on the mean, and another follows."""
        scene = days.LongAnswers(name="long", pods=2)
        made = days.long_traffic(scene, 4 * days.HOUR, np.random.default_rng(5))
        assert np.diff(made.drafts) == pytest.approx(2 * days.TICK / STEP_SECONDS, abs=3)
        assert made.ended[0][-1] == pytest.approx(2 * 4 * 6, abs=8)


def test_an_interval_that_widens_with_long_answers_holds_the_mean_of_its_time() -> None:
    """Without that it holds 77 %: blocks of 15 s within answers of 16 s are similar."""
    asked = coverage.IntervalCase(interval=coverage.OF_WINDOW, memory=1800.0, volume=50, steps=coverage.STEPS[1])
    found = coverage.held(asked, 400, (1, 2))
    assert found.local > 0.88
    assert found.long_run < found.local


@pytest.mark.parametrize(("number", "bound"), [(0, 2.996), (1, 4.744), (5, 10.513), (20, 29.062)])
def test_what_so_few_events_prove_is_the_published_bound(number: int, bound: float) -> None:
    """One-sided 95 % of a Poisson mean."""
    assert most(number) == pytest.approx(bound, abs=2e-3)


def test_the_median_is_of_all_services() -> None:
    """Those that kept speculation count as late."""
    assert median([1.0, 2.0, 3.0], 5) == 3.0
    assert median([1.0, 2.0], 5) is None


def test_the_page_has_every_figure_with_its_goal() -> None:
    """One table for what pays and one for what does not; those on wandering machines by the day."""
    row = Compared(
        name="prompts", arrangement="Always", speedup=1.8, true=1.79, goal=None, services=24, minutes=(), a_day=0.0,
        armed=1.0, doubts=0.0,
    )  # fmt: skip
    slow = replace(row, name="0.91", true=0.91, goal=10.0, minutes=(6.0, 7.0, 9.0), services=4)
    fast = [replace(row, arrangement=each.value) for each in Arrangement]
    machines = [replace(each, name=MACHINES[0].name, a_day=2.5) for each in fast]
    hours = Hours(
        compared=(*fast, *(replace(slow, arrangement=each.value) for each in Arrangement), *machines),
        daily=(
            Daily(name="5 above", goal=0.05, days=72, rollbacks=2, a_day=0.028, most=0.087, struck=0.02, restarts=1),
        ),
        falls=(Fall(name="to -20", goal=8.0, services=3, early=1, minutes=(6.0, 7.5)),),
        intervals=(
            Interval(
                interval="acceptance", memory=60.0, volume=50, steps=400.0, own=0.0, number=9, local=0.95, long_run=0.6,
                width=0.1,
            ),
        ),
    )  # fmt: skip
    text = "\n".join(page.markdown(page.tables(asdict(hours))))
    for line in (
        "| prompts | 1.79 | 0 of 24 | 0 of 24 | 0 of 24 | 0 |",
        "| 0.91 | 0.91 | 3 of 4 (7.0, 9.0) | 3 of 4 (7.0, 9.0) | 3 of 4 (7.0, 9.0) | <= 10 min |",
        f"| {MACHINES[0].name} | 2.50 | 2.50 | 2.50 |",
        "| 5 above | 72 | 0.028 | 0.087 | 2 % | 1 | <= 0.05 a day |",
        "| to -20 | 3 | 7.5 | 7.5 | 2 (1 before) | <= 8 min |",
        "| acceptance | 50, long answers | 95 / 60 |",
    ):
        assert line in text
