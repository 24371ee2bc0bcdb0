"""The dips of an engine: when a step drafts nothing, what it is compared with, and what is left out."""

import itertools
import random
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_runtime.clock.dips import AROUND, ENOUGH, LATER, MOST_PROMPTS, REACH, SHARE, STEPS, DipKind, Dips
from specdec_runtime.clock.hooks import StepClock
from specdec_runtime.clock.sums import TimedStep
from specdec_runtime.dial.hooks import DialPosition


@dataclass
class StandinEngine:
    """Asks the dips before each step, and hands on what the clock would: not the first step after a change. draft:
    seconds of a draft token in a dip. dial: at what it is, where vLLM's own schedule asks for fewer tokens.
    """

    dips: Dips
    on: float = 0.02
    off: float = 0.01
    draft: float = 0.0
    tokens: int = 4
    dial: int = 0
    requests: int = 3
    prompts: bool = False
    waiting: int = 0
    asked: list[int] = field(default_factory=lambda: [4])
    dipped: list[bool] = field(default_factory=lambda: [False])
    seconds: float = 0.0
    dip_seconds: float = 0.0

    def share(self, steps: int) -> float:
        """What share of the time of so many steps is in dips."""
        self.seconds = self.dip_seconds = 0.0
        self.run(steps)
        return self.dip_seconds / self.seconds

    def run(self, steps: int) -> int:
        """How many of so many steps were of a dip."""
        before = len(self.dipped)
        for _ in range(steps):
            self.step()
        return sum(self.dipped[before:])

    def step(self, seconds: float | None = None) -> bool:
        """One step."""
        dip = self.dips.begins(self.dial or self.tokens, self.waiting)
        if dip is not None and self.prompts:
            self.dips.put_off()
            dip = None
        if dip is not None and dip >= self.tokens:
            self.dips.cut()
            dip = None
        asked, dips = self.tokens if dip is None else dip, dip is not None
        steady = asked == self.asked[-1]
        self.asked.append(asked)
        self.dipped.append(dips)
        took = seconds or (self.off + asked * self.draft if dips else self.on)
        self.seconds += took
        self.dip_seconds += took * dips
        if steady:
            self.dips.note(self._timed(asked, took), dipped=dips)
        return dips

    def _timed(self, asked: int, seconds: float) -> TimedStep:
        rest: dict[str, Any] = {
            "requests": self.requests,
            "answered": self.requests,
            "prompt": self.prompts,
            "tokens": 3,
            "drafted": 0,
            "kept": [],
        }
        return TimedStep(asked=asked, seconds=seconds, **rest)


def even() -> Dips:
    """Dips that chance does not move."""
    return Dips(lambda: 0.5)


def drawn(seed: int) -> Dips:
    """Dips of chance."""
    return Dips(random.Random(seed).random)  # noqa: S311 - no secret


def test_a_dip_is_compared_with_the_steps_around_it() -> None:
    """Half a step's time with nothing drafted is a ratio of one half."""
    engine = StandinEngine(even())
    while not engine.dips.sums:
        engine.step()
    (kind, sums), *others = engine.dips.sums.items()
    assert not others
    assert kind == DipKind(4, 4, 0)
    assert (sums.dips, sums.ratios, sums.squares) == (1, pytest.approx(0.5), pytest.approx(0.25))


@pytest.mark.parametrize(
    ("tokens", "others"), [(1, []), (2, [1]), (3, [1, 2]), (4, [1, 2, 3]), (5, [1, 2, 4]), (8, [1, 4, 7])]
)
def test_later_every_second_dip_drafts_other_tokens_in_turn(tokens: int, others: list[int]) -> None:
    """One, half of them, and one less than all: each has its own sums."""
    engine = StandinEngine(even(), tokens=tokens, draft=0.001)
    while engine.dips._begun < ENOUGH:
        engine.step()
    assert {kind.dip for kind in engine.dips.sums} == {0}, "first whether the draft pays"
    engine.dips.sums.clear()
    engine.run(60_000)
    assert {kind.dip for kind in engine.dips.sums} == {0, *others}
    found = {kind.dip: sums for kind, sums in engine.dips.sums.items()}
    for dip, sums in found.items():
        assert sums.ratios / sums.dips == pytest.approx((0.01 + 0.001 * dip) / 0.02)
    if others:
        rest = [found[each].dips for each in others]
        assert max(rest) - min(rest) <= 1
        assert found[0].dips == pytest.approx(sum(rest), abs=3)


def test_what_vllms_own_schedule_asks_for_is_the_home_of_a_dip() -> None:
    """Of two tokens, only one is a smaller number, whatever the dial would allow."""
    engine = StandinEngine(even(), tokens=2, dial=8)
    engine.run(round(2 * ENOUGH * STEPS / SHARE))
    assert {(kind.tokens, kind.dip) for kind in engine.dips.sums} == {(2, 0), (2, 1)}


@pytest.mark.parametrize("off", [0.006, 0.01, 0.02, 0.03])
def test_two_in_a_hundred_seconds_are_in_dips_and_fewer_later(off: float) -> None:
    """The budget, over many dips: those without a slow draft are short, so there are more of them."""
    engine = StandinEngine(drawn(7), off=off)
    engine.run(5_000)  # what a dip takes is not known yet
    early = round(200 * STEPS * off / engine.on / SHARE)
    assert engine.share(early) == pytest.approx(SHARE, rel=0.1)
    while engine.dips._begun <= ENOUGH:
        engine.step()
    later = round(100 * STEPS / LATER)
    assert engine.share(later) == pytest.approx(LATER, rel=0.15)


def test_dips_stay_apart_however_short_they_are() -> None:
    """Their neighbours need time too: a draft that takes ten times as long as the target is found soon all the same."""
    engine = StandinEngine(drawn(9), off=0.002)
    engine.run(5_000)
    steps = round(200 * STEPS / SHARE / 4)
    assert engine.run(steps) / steps == pytest.approx(4 * SHARE, rel=0.15)


def test_a_dip_is_of_thirteen_steps_and_chance_decides_when() -> None:
    """Two pods with the same traffic do not dip together."""
    one, two = (StandinEngine(drawn(seed)) for seed in (1, 2))
    one.run(20_000)
    two.run(20_000)
    lengths = {len([*some]) for dips, some in itertools.groupby(one.dipped) if dips}
    assert lengths == {STEPS}
    together = sum(a and b for a, b in zip(one.dipped, two.dipped, strict=True))
    assert together < sum(one.dipped) / 4


def test_a_machine_that_slows_down_does_not_move_the_ratio() -> None:
    """Its steps before a dip count as much as those after it."""
    engine = StandinEngine(even())
    while not engine.dips.sums:
        engine.on *= 1.002
        engine.off *= 1.002
        engine.step()
    (sums,) = engine.dips.sums.values()
    assert sums.ratios == pytest.approx(0.5, rel=0.002)


@pytest.mark.parametrize("within", [False, True])
def test_a_hiccup_does_not_move_the_ratio(within: bool) -> None:
    """One step of a second, in the dip or before it."""
    engine = StandinEngine(even())
    engine.run(600)
    if not within:
        engine.step(1.0)
    while not engine.dips.sums:
        dips = engine.step()
        if dips and within and sum(engine.dipped) == STEPS // 2:
            engine.step(1.0)
    (sums,) = engine.dips.sums.values()
    assert sums.ratios == pytest.approx(0.5)


@pytest.mark.parametrize(
    "change", [{"tokens": 0}, {"prompts": True}, {"tokens": 0, "prompts": True}], ids=["dialled off", "prompts", "both"]
)
def test_nothing_to_compare_is_not_compared(change: dict[str, Any]) -> None:
    """Steps that take prompts in last as long as their prompts; a dial at nothing has nothing to leave out."""
    engine = StandinEngine(even(), **change)
    dipped = engine.run(20_000)
    assert not engine.dips.sums
    if not engine.tokens:
        assert not dipped


def test_a_pause_in_a_dip_does_not_end_the_dips() -> None:
    """The step that empties the engine, and one that was under way, come after the pause."""
    engine = StandinEngine(even())
    while sum(engine.dipped) < STEPS // 2:
        engine.step()
    engine.dips.interrupt()
    engine.dips.note(engine._timed(0, 0.01), dipped=True)
    engine.run(3000)
    assert engine.dips.sums


def with_prompts(engine: StandinEngine, steps: int, every: int) -> None:
    """Runs so many steps, of which each so many-th takes a prompt in."""
    for number in range(steps):
        engine.prompts = not number % every
        engine.step()
    engine.prompts = False


def test_a_dip_goes_on_after_a_prompt() -> None:
    """The draft reads it with the target: without it, it would guess wrongly to the end of the answer. The step after
    it is not counted, because it verifies what that one drafted.
    """
    engine = StandinEngine(even())
    while not engine.step():
        pass
    engine.run(4)
    engine.prompts = True
    assert not engine.step()
    engine.prompts = False
    assert engine.run(2 * REACH) == STEPS - 5 + 1
    (sums,) = engine.dips.sums.values()
    assert (sums.dips, sums.ratios) == (1, pytest.approx(0.5))


def test_a_dip_that_begins_with_a_prompt_is_as_long_as_others() -> None:
    """Chunks of a prompt are several steps."""
    engine = StandinEngine(even())
    while not engine.step():
        pass
    engine.prompts = True
    assert not engine.run(3)
    engine.prompts = False
    assert engine.run(2 * REACH) == STEPS


def test_many_prompts_end_a_dip() -> None:
    """The steps before it would be of another time."""
    engine = StandinEngine(even())
    while not engine.step():
        pass
    engine.prompts = True
    assert not engine.run(MOST_PROMPTS + 1)
    engine.prompts = False
    assert not engine.run(REACH)
    assert not engine.dips.sums


@pytest.mark.parametrize("every", [4, 6, 20])
def test_with_prompts_every_few_steps_most_dips_count_and_take_their_share(every: int) -> None:
    """Four clients with answers of a hundred tokens."""
    engine = StandinEngine(drawn(5))
    with_prompts(engine, round(ENOUGH * STEPS / SHARE / 2), every)
    (sums,) = engine.dips.sums.values()
    assert sums.dips > 0.97 * engine.dips._begun
    assert engine.dip_seconds / engine.seconds == pytest.approx(SHARE, rel=0.15)


def test_dips_that_cannot_be_compared_become_rare_too() -> None:
    """Requests that come and go all the time leave few steps of one batch size."""
    engine = StandinEngine(drawn(3))
    number = 0
    while engine.dips._begun < ENOUGH:
        engine.requests, number = 1 + number % 40, number + 1
        engine.step()
    assert engine.share(100_000) == pytest.approx(LATER, rel=0.2)


def test_nothing_is_tried_while_the_queue_grows() -> None:
    """Requests that wait are not kept waiting for a measurement; a queue that stays as long does not matter."""
    engine = StandinEngine(even())
    for _ in range(5_000):
        engine.waiting += 1
        engine.step()
    assert not any(engine.dipped)
    assert engine.run(5_000)


def test_a_pause_or_another_number_of_tokens_ends_a_dip() -> None:
    """What was not compared yet is forgotten."""
    engine = StandinEngine(even())
    while not engine.step():
        pass
    engine.dips.interrupt()
    assert not engine.run(AROUND)
    while not engine.step():
        pass
    engine.run(STEPS + 2)
    engine.tokens = 2
    engine.run(2 * REACH)
    assert not engine.dips.sums


def test_batches_are_compared_each_with_its_own() -> None:
    """A request that ends in the dip makes two kinds; one of few steps is left out."""
    engine = StandinEngine(even(), requests=5)
    while not engine.step():
        pass
    engine.requests, engine.off = 4, 0.001
    engine.run(2 * REACH)
    assert not engine.dips.sums


def test_requests_that_come_and_go_leave_steps_to_compare_with() -> None:
    """One request in every second stretch of 15 steps, three in the others: most dips have steps of one size enough, or
    of both.
    """
    engine = StandinEngine(drawn(4))
    for number in range(60_000):
        engine.requests = 1 if number // 15 % 2 else 3
        engine.step()
    one, three = (engine.dips.sums[DipKind(4, batch, 0)].dips for batch in (1, 4))
    assert one + three > 0.9 * engine.dips._begun
    assert min(one, three) > 0.4 * engine.dips._begun


def test_the_nearest_steps_of_a_size_are_compared() -> None:
    """Twelve on each side: a machine that was slow before them is not of that second."""
    engine = StandinEngine(even())
    engine.run(560)
    while not engine.dips.sums:
        wait = engine.dips._wait
        engine.on = 5.0 if wait > AROUND and not any(engine.dipped) else 0.02
        engine.step()
    (sums,) = engine.dips.sums.values()
    assert sums.ratios == pytest.approx(0.5)


def test_a_dip_is_compared_as_soon_as_its_neighbours_are_there() -> None:
    """A change of the dial afterwards does not forget it; with two sizes it waits for the rarer one."""
    for sizes in (1, 2):
        engine = StandinEngine(even())
        dipped = None
        for number in itertools.count():
            engine.requests = (1, 3)[number % sizes]
            dipped = number if engine.step() else dipped
            if engine.dips.sums:
                break
        assert dipped is not None
        assert number - dipped == AROUND * sizes + 1


def test_a_share_of_nothing_never_dips() -> None:
    """SPECDEC_DIPS=0."""
    assert not StandinEngine(Dips(lambda: 0.5, 0.0)).run(50_000)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40), st.booleans(), st.booleans()), max_size=200))
def test_whatever_the_engine_does_sums_are_sane(steps: list[tuple[int, int, bool, bool]]) -> None:
    """Changes of the dial, prompts and pauses at any time."""
    engine = StandinEngine(Dips(lambda: 0.0, 0.2))
    for tokens, requests, prompts, pause in steps:
        engine.tokens, engine.requests, engine.prompts = tokens, requests, prompts
        engine.run(9)
        if pause:
            engine.dips.interrupt()
            engine.dips.note(engine._timed(0, 0.01), dipped=engine.dipped[-1])
    for kind, sums in engine.dips.sums.items():
        assert kind.tokens > kind.dip >= 0
        assert sums.dips > 0
        assert sums.ratios == pytest.approx(0.5 * sums.dips)


class _Broken:
    """A queue without a length."""


def test_a_clock_that_fails_ends_its_dip() -> None:
    """The engine drafts on."""
    position = DialPosition(tokens=4, drafted=4)
    scheduler: Any = SimpleNamespace(schedule=lambda: "output", update_from_output=lambda *_: {}, waiting=_Broken())
    clock = StepClock(scheduler, position)
    clock.install()
    position.dip = 0
    assert clock._scheduled() == "output"
    assert "no len()" in clock.lost
    assert position.dip is None
