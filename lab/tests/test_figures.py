"""The simulation behind the guard's figures: its traffic has the promised form, its rules decide as the guard's."""

import itertools
import json
import pathlib
from dataclasses import replace

import numpy as np
import pytest

from lab.guard import __main__ as report
from lab.guard import figures, page, plot
from lab.guard.__main__ import main
from lab.guard.figures import QUICK, VOLUMES, GuardFigures, holds_from, simulate
from lab.guard.rules import BY_DRAFTS, BY_TOKENS, GUARD, RULES, counters
from lab.guard.scenes import LEAST, Scene, SceneResult, SpeedScene, run, run_speed
from lab.guard.speed import BASELINE_SECONDS, PER_REQUEST, readings
from lab.guard.traffic import BURSTY, KINDS, STEADY, STORMY, TOKENS, TrafficKind, drafting, requests, wander
from lab.guard.with_baseline import MACHINES

TICK = 15.0
RECORDED = pathlib.Path(__file__).parents[2] / "docs" / "guard" / "figures.json"


def simulated(offset: float, *, kind: TrafficKind = BURSTY, volume: float = 100, onset: bool = False) -> SceneResult:
    """A few services."""
    scene = Scene(kind=kind, volume=volume, offset=offset, services=8, windows=8, onset=onset)
    return run(scene, (1, 2))


class TestTraffic:
    """Figures about the guard are worth what the traffic is worth."""

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
    @pytest.mark.parametrize("rate", [0.2, 0.45, 0.6])
    def test_the_long_run_has_the_acceptance_that_was_asked_for(self, kind: TrafficKind, rate: float) -> None:
        """Accepted / drafted tokens of ten thousands of requests; else "5 points above" would be another number."""
        chance, ticks = np.random.default_rng(7), 20_000
        made = drafting(requests(kind, np.full(ticks, rate), 0.5, TICK, chance), ticks, TICK, chance)
        assert made.accepted[:, -1].sum() / (TOKENS * made.drafts[-1]) == pytest.approx(rate, abs=0.01)

    @pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
    def test_the_long_run_has_the_volume_that_was_asked_for(self, kind: TrafficKind) -> None:
        """However they come together."""
        asked = requests(kind, np.full(20_000, 0.5), 0.5, TICK, np.random.default_rng(7))
        assert (asked.begin >= 0).sum() / (20_000 * TICK) == pytest.approx(0.5, rel=0.05)

    def test_a_draft_is_taken_up_to_the_first_token_that_is_refused(self) -> None:
        """No position is accepted more often than the one before it, and no counter falls."""
        chance = np.random.default_rng(7)
        made = drafting(requests(BURSTY, np.full(200, 0.5), 0.5, TICK, chance), 200, TICK, chance)
        steps = np.diff(np.vstack([made.drafts, made.accepted]))
        assert (steps >= 0).all()
        assert (np.diff(steps, axis=0) <= 0).all()

    def test_no_step_is_lost_or_made_twice_where_requests_are_cut_at_readings(self) -> None:
        """All requests that begin and end within the readings are in them, step by step."""
        chance = np.random.default_rng(7)
        asked = requests(BURSTY, np.full(400, 0.5), 0.5, TICK, chance)
        inside = (asked.begin >= 0) & (asked.begin < 200 * TICK)
        asked = replace(asked, begin=asked.begin[inside], steps=asked.steps[inside], rate=asked.rate[inside])
        assert drafting(asked, 400, TICK, chance).drafts[-1] == asked.steps.sum()

    def test_what_wanders_has_its_deviation_and_its_memory(self) -> None:
        """AR(1): the correlation of neighbours shows how fast it forgets."""
        values = wander(0.05, 60.0, 2e6, np.random.default_rng(7))
        assert values.std() == pytest.approx(0.05, rel=0.03)
        assert np.corrcoef(values[12:], values[:-12])[0, 1] == pytest.approx(np.exp(-1), abs=0.03)

    @pytest.mark.parametrize("speedup", [0.85, 1.0, 1.3])
    def test_the_engine_is_as_much_faster_than_the_baseline_as_was_asked_for(self, speedup: float) -> None:
        """At the load that it has itself: time per output token grows with the requests beside one."""
        pages = readings(np.full(8_000, speedup), 0.2, TICK, np.random.default_rng(7))
        running = float(np.mean([page.running or 0 for page in pages]))
        least, seen = BASELINE_SECONDS / speedup, pages[-1].token_seconds / pages[-1].timed_tokens
        assert least <= seen <= 1.05 * least * (1 + 3 * PER_REQUEST * running)


class TestRules:
    """What is compared."""

    def test_far_from_the_threshold_all_rules_agree(self) -> None:
        """20 points below, no service is kept over a window beyond the limit; 20 points above, none is lost."""
        low, high = simulated(-0.2), simulated(0.2)
        assert {low.outcomes[rule].within(4) for rule in RULES} == {1.0}
        assert {high.outcomes[rule].decisions for rule in RULES} == {0}

    def test_a_rule_that_takes_more_for_independent_decides_more(self) -> None:
        """Tokens of a draft, and drafts of a burst, are not independent evidence: the guard takes its time."""
        many = [simulated(0.0, kind=STORMY, volume=volume).outcomes for volume in (20, 50, 100, 200)]
        lost = [sum(each[rule].decisions for each in many) for rule in (BY_TOKENS, BY_DRAFTS, GUARD)]
        assert lost == sorted(lost, reverse=True)
        assert lost[0] > lost[2]

    def test_without_a_drift_of_the_topic_the_truth_never_crosses_the_threshold(self) -> None:
        """And with a strong one it does, though the mean is above it: then a rollback is not even wrong."""
        still = replace(STEADY, topic=0.0)
        assert simulated(0.05, kind=still).low == 0
        assert simulated(0.02, kind=STORMY).low > 0

    def test_delays_count_from_the_onset(self) -> None:
        """The limit is three windows: no sooner than two whole ones and a part, and by five it is over."""
        delays = simulated(-0.2, onset=True).delays
        assert len(delays) == 8
        assert all(each is not None and 2 < each <= 5 for each in delays)

    def test_a_service_that_stays_fast_is_kept_and_one_that_becomes_very_slow_is_not(self) -> None:
        """The never-slower gate, from the measurement of the baseline on."""
        kept, lost = (SpeedScene(volume=50, ratio=ratio, services=3, windows=10) for ratio in (1.3, 0.5))
        assert run_speed(kept, (1, 2)) == (None, None, None)
        assert any(each is not None and each > 0 for each in run_speed(lost, (1, 2)))

    def test_pages_are_what_the_guard_reads(self) -> None:
        """Counters only grow, and add up as an engine's do."""
        chance = np.random.default_rng(7)
        pages = counters(drafting(requests(BURSTY, np.full(50, 0.5), 0.5, TICK, chance), 50, TICK, chance))
        for before, after in itertools.pairwise(pages):
            assert before.draft_tokens <= after.draft_tokens
            assert after.accepted_tokens == sum(after.accepted_per_position)
            assert after.generation_tokens == after.drafts + after.accepted_tokens


@pytest.mark.parametrize(
    ("good", "volume"),
    [
        ({10: True, 20: True}, 10),
        ({10: False, 20: True, 50: True}, 20),
        ({10: True, 20: False, 50: True}, 50),
        ({10: True, 20: False}, None),
    ],
)
def test_a_figure_holds_from_where_it_never_fails_again(good: dict[float, bool], volume: float | None) -> None:
    """One good volume between two bad ones is luck."""
    assert holds_from(good) == volume


@pytest.fixture(scope="module")
def quick() -> GuardFigures:
    """A small simulation of everything."""
    return simulate(QUICK, 6, 1)


def test_equal_seeds_give_equal_figures_however_many_work_on_them(quick: GuardFigures) -> None:
    """Otherwise readers could not check them."""
    assert simulate(QUICK, 6, 2) == quick
    scene = Scene(kind=STORMY, volume=50, offset=0.0, services=8, windows=8)
    assert run(scene, (6, 0)) != run(scene, (7, 0))


def test_every_figure_is_in_the_document_and_on_the_screen(quick: GuardFigures) -> None:
    """Each kind of traffic at each volume; from which on each holds; on which machine, by which seed."""
    kept = json.loads(json.dumps(report.document(quick, seed=6, seconds=1.0, workers=1), allow_nan=False))
    assert {(each["kind"], each["volume"]) for each in kept["figures"]["alarms"]} == {
        (kind.name, volume) for kind in KINDS for volume in VOLUMES
    }
    assert set(kept["holds_from"]) == {kind.name for kind in KINDS}
    assert (kept["seed"], kept["threshold"], kept["guard"]["failureLimit"]) == (6, LEAST, 3)
    assert len(quick.alarms) == len(quick.catches)
    assert [table.row_count for table in report.tables(quick)][:3] == [
        len({each.kind for each in quick.alarms}),
        len({each.name for each in quick.acceptance_delays}),
        len({each.name for each in quick.speed_delays}),
    ]


def test_a_table_of_falls_counts_all_services_not_only_those_that_were_found() -> None:
    """Two of four within ten windows, three in the simulation: the median is the second, and one is never found."""
    fall = {"name": "a fall", "volume": 20, "of": 4, "early": 1, "in_time": 0.25, "windows": [3.0, 9.5, 11.0]}
    (table,) = page.speed({"speed_delays": [fall]})
    assert table.rows == (("a fall", "20", "9.5", "25%", "50%", "75%", "25%"),)


def test_every_table_of_the_page_has_rows() -> None:
    """A scene that was renamed once left one table empty, and put its rows into another."""
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))["figures"]["hours"]
    shown = {table.title: len(table.rows) for table in page.tables(kept)}
    assert 0 not in shown.values()
    assert [rows for title, rows in shown.items() if title.startswith("a little faster")] == [len(MACHINES)]


def test_one_command_writes_everything_and_equal_figures_are_equal_files(
    quick: GuardFigures, tmp_path: pathlib.Path
) -> None:
    """As `make bench-guard` runs it: a changed picture in a review means a changed figure."""
    made, drawn = tmp_path / "made", tmp_path / "drawn"
    assert main(["--quick", "--seed", "6", "--into", str(made)]) == 0
    drawn.mkdir()
    plot.draw(quick, drawn)
    assert {each.name for each in made.iterdir()} == {each.name for each in drawn.iterdir()} | {"figures.json"}
    for name in plot.PICTURES:
        assert (made / f"{name}.svg").read_bytes() == (drawn / f"{name}.svg").read_bytes()


def test_printing_writes_nothing(
    quick: GuardFigures, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`make bench` leaves the pages alone."""
    monkeypatch.setattr(figures, "simulate", lambda *_: quick)
    assert main(["--quick", "--print", "--into", str(tmp_path / "made")]) == 0
    assert "bursty: rollbacks" in capsys.readouterr().out
    assert not (tmp_path / "made").exists()
