"""The step clock: what it adds up, on a stand-in of vLLM's scheduler, and what /metrics shows of it."""

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from specdec_runtime import notes
from specdec_runtime.clock import alone, collector, page
from specdec_runtime.clock.dips import STEPS, DipKind, Dips, DipSums
from specdec_runtime.clock.hooks import LONGEST_PAUSE, StepClock
from specdec_runtime.clock.shown import ShownSums
from specdec_runtime.clock.sums import StepKind, StepSums, batch_of
from specdec_runtime.dial.hooks import DialPosition, takes_prompt


@dataclass
class StandinOutput:
    """What a scheduler asks for: draft tokens that are verified, by request, and how many follow."""

    scheduled_spec_decode_tokens: dict[str, list[int]]
    num_scheduled_tokens: dict[str, int]
    num_spec_tokens_to_schedule: int

    @property
    def total_num_scheduled_tokens(self) -> int:
        return sum(self.num_scheduled_tokens.values())


@dataclass
class StandinScheduler:
    """Schedules what it is given, fewer tokens in a dip unless a prompt is taken in, and hands on what was sampled."""

    now: float = 0.0
    running: list[str] = field(default_factory=lambda: ["a"])
    waiting: list[str] = field(default_factory=list)
    position: DialPosition = field(default_factory=lambda: DialPosition(tokens=4, drafted=4))

    def schedule(self, output: StandinOutput) -> StandinOutput:
        if takes_prompt(output):
            self.position.dip = None
        if self.position.dip is not None:
            output.num_spec_tokens_to_schedule = self.position.dip
        return output

    def update_from_output(self, output: StandinOutput, result: Any) -> dict[int, Any]:
        outputs = [SimpleNamespace(new_token_ids=each) for each in result.sampled_token_ids]
        return {0: SimpleNamespace(outputs=outputs)}


def step(
    scheduler: StandinScheduler, *, drafts: dict[str, list[int]], sampled: list[list[int]], asked: int, prompt: int = 0
) -> StandinOutput:
    """One step of a tenth of a second, after as long a time in which the engine did something else."""
    names = [f"r{number}" for number in range(len(sampled))]
    scheduled = {name: 1 + len(drafts.get(name, [])) for name in names}
    scheduled[names[0]] += prompt
    scheduler.now += 0.1
    output = scheduler.schedule(StandinOutput(drafts, scheduled, asked))
    scheduler.now += 0.1
    index = {name: place for place, name in enumerate(names)}
    scheduler.update_from_output(output, SimpleNamespace(sampled_token_ids=sampled, req_id_to_index=index))
    return output


@pytest.fixture
def timed() -> tuple[StandinScheduler, StepClock]:
    """A scheduler with its clock, after the first step, which is not counted."""
    scheduler = StandinScheduler()
    clock = StepClock(scheduler, scheduler.position, clock=lambda: scheduler.now)
    clock.install()
    step(scheduler, drafts={}, sampled=[[1]], asked=4)
    return scheduler, clock


def test_a_step_is_counted_with_what_it_verified_and_brought(timed: tuple[StandinScheduler, StepClock]) -> None:
    """From the end of the one before: the time between two steps is paid by the same clients."""
    scheduler, clock = timed
    step(scheduler, drafts={"r0": [1, 2, 3, 4], "r1": [1, 2]}, sampled=[[1, 2, 9], [7], [8]], asked=4)
    assert clock.sums == {StepKind(4, 4, False): StepSums(1, pytest.approx(0.2), 3, 5, 6, [1, 1])}


def test_a_pause_is_not_part_of_a_step(timed: tuple[StandinScheduler, StepClock]) -> None:
    """The engine had no request at the end of the step before."""
    scheduler, clock = timed
    scheduler.running.clear()
    step(scheduler, drafts={}, sampled=[[1]], asked=4)
    scheduler.now += 60
    step(scheduler, drafts={}, sampled=[[1]], asked=4)
    (found,) = clock.sums.values()
    assert found.seconds == pytest.approx(0.2 + 0.1)


def test_a_step_with_a_prompt_is_of_another_kind(timed: tuple[StandinScheduler, StepClock]) -> None:
    """It takes longer, whatever was drafted."""
    scheduler, clock = timed
    step(scheduler, drafts={"r0": [1]}, sampled=[[1], [2]], asked=4, prompt=500)
    assert [*clock.sums] == [StepKind(4, 2, True)]


def test_the_first_step_after_a_change_is_not_counted(timed: tuple[StandinScheduler, StepClock]) -> None:
    """It verifies what was drafted before, and drafts another number."""
    scheduler, clock = timed
    for asked in (0, 0, 4, 4):
        step(scheduler, drafts={}, sampled=[[1]], asked=asked)
    assert {kind.tokens: each.steps for kind, each in clock.sums.items()} == {0: 1, 4: 1}


def test_two_steps_under_way_are_each_timed_to_the_end_of_the_one_before(
    timed: tuple[StandinScheduler, StepClock],
) -> None:
    """As asynchronous scheduling has them: the second is scheduled before the first has ended."""
    scheduler, clock = timed
    one, two = (StandinOutput({}, {"r0": 1}, 4) for _ in range(2))
    result = SimpleNamespace(sampled_token_ids=[[1]], req_id_to_index={"r0": 0})
    for each in (one, two):
        scheduler.schedule(each)
    for each in (one, two):
        scheduler.now += 1.0
        scheduler.update_from_output(each, result)
    (found,) = clock.sums.values()
    assert (found.steps, found.seconds) == (2, pytest.approx(2.0))


def test_whatever_goes_wrong_takes_the_clock_out_and_not_the_engine(
    timed: tuple[StandinScheduler, StepClock],
) -> None:
    """An engine with other fields answers as before."""
    scheduler, clock = timed
    output = StandinOutput({}, {"r0": 1}, 4)
    scheduler.schedule(output)
    result = SimpleNamespace(sampled_token_ids=[[5]])
    del output.num_spec_tokens_to_schedule
    found = scheduler.update_from_output(output, result)
    assert found[0].outputs[0].new_token_ids == [5]
    assert "num_spec_tokens_to_schedule" in clock.lost
    assert not {"schedule", "update_from_output"} & vars(scheduler).keys()


def test_dips_are_compared_by_what_they_draft_and_their_steps_are_kinds_of_their_own() -> None:
    """A step takes a hundredth of a second, and as long for each draft token; the first one of a dip is not counted."""
    scheduler = StandinScheduler()
    clock = StepClock(scheduler, scheduler.position, Dips(lambda: 0.5, 0.2), clock=lambda: scheduler.now)
    clock.install()
    result = SimpleNamespace(sampled_token_ids=[[1]], req_id_to_index={"r0": 0})
    while sum(each.dips for each in clock.dips.sums.values()) < 24 or clock.dips._within:
        output = scheduler.schedule(StandinOutput({}, {"r0": 1}, 4))
        scheduler.now += 0.01 * (1 + output.num_spec_tokens_to_schedule)
        scheduler.update_from_output(output, result)
    assert not clock.lost
    for dip in range(4):
        found = clock.dips.sums[DipKind(4, 1, dip)]
        assert found.ratios / found.dips == pytest.approx((1 + dip) / 5)
        assert clock.sums[StepKind(dip, 1, False)].steps == (STEPS - 1) * found.dips
    assert len(clock.dips.sums) == 4


@pytest.mark.parametrize(("pause", "counts"), [(LONGEST_PAUSE / 2, True), (LONGEST_PAUSE + 1, False)])
def test_a_client_alone_pauses_after_each_answer(pause: float, *, counts: bool) -> None:
    """Answers of 25 steps: fewer than a dip and its neighbours. After a longer pause the engine may be another."""
    scheduler = StandinScheduler()
    clock = StepClock(scheduler, scheduler.position, Dips(lambda: 0.5, 0.05), clock=lambda: scheduler.now)
    clock.install()
    result = SimpleNamespace(sampled_token_ids=[[1]], req_id_to_index={"r0": 0})
    for number in range(10_000):
        prompt, last = number % 25 == 0, number % 25 == 24
        output = StandinOutput({}, {"r0": 500 if prompt else 1}, 4)
        output = scheduler.schedule(output)
        scheduler.now += 0.02 if scheduler.position.dip is None else 0.01
        scheduler.running = [] if last else ["r0"]
        scheduler.update_from_output(output, result)
        scheduler.now += pause if last else 0.0
    assert not clock.lost
    found = clock.dips.sums.get(DipKind(4, 1, 0), DipSums())
    assert (found.dips > 0.9 * clock.dips._begun / 2) is counts


def core(scheduler: StandinScheduler, *, speculation: object = None, engines: int = 1) -> SimpleNamespace:
    """A core of vLLM, as far as the clock looks at it."""
    parallel = SimpleNamespace(data_parallel_size=engines)
    return SimpleNamespace(
        scheduler=scheduler, vllm_config=SimpleNamespace(speculative_config=speculation, parallel_config=parallel)
    )


def test_only_one_engine_of_a_pod_without_speculation_is_timed() -> None:
    """Several would write one file, and the dial has a clock of its own."""
    scheduler = StandinScheduler(position=DialPosition(tokens=0, drafted=0))
    assert alone.begin(core(scheduler, engines=2)) is None
    assert alone.begin(core(scheduler, speculation="a draft")) is None


def test_an_engine_without_speculation_has_steps_at_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the steps in a dip are counted, and without any dip."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scheduler = StandinScheduler(position=DialPosition(tokens=0, drafted=0))
    clock = alone.begin(core(scheduler), lambda _: SimpleNamespace(start=lambda: None))  # type: ignore[arg-type,return-value]
    assert clock is not None
    for _ in range(2000):
        step(scheduler, drafts={}, sampled=[[1], [2]], asked=0)
    ShownSums(clock).show(1.0)
    (kind,) = page.left().steps
    assert (kind, page.left().steps[kind].steps, page.left().dips) == (StepKind(0, 2, False), 1999, {})
    assert alone.begin(SimpleNamespace()) is None


def test_another_plugins_scheduler_is_left_alone() -> None:
    """Two clocks around each other could not be taken out again."""
    scheduler: Any = StandinScheduler()
    scheduler.schedule = scheduler.schedule
    clock = StepClock(scheduler, DialPosition(tokens=4, drafted=4))
    clock.install()
    assert "replaced by another plugin" in clock.lost
    assert "update_from_output" not in vars(scheduler)


@pytest.mark.parametrize(("requests", "batch"), [(1, 1), (2, 2), (3, 4), (8, 8), (9, 16), (1024, 1024), (5000, 1024)])
def test_batches_are_powers_of_two(requests: int, batch: int) -> None:
    """So that their number is bounded."""
    assert batch_of(requests) == batch


def test_metrics_show_the_sums_of_the_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As counters; nothing before there is a step, and nothing of a file that is not the clock's."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    registry = CollectorRegistry()
    collector.register(registry)
    assert generate_latest(registry) == b""
    steps = {StepKind(0, 1, True): StepSums(1, 0.5, 1, 1), StepKind(4, 2, False): StepSums(10, 1.5, 20, 30, 40, [9, 8])}
    sums = page.EngineSums(steps, {DipKind(4, 2, 0): DipSums(3, 1.8, 1.1), DipKind(4, 2, 3): DipSums(1, 0.9, 0.8)})
    page.leave(sums)
    assert page.left() == sums
    shown = generate_latest(registry).decode()
    assert 'specdec_engine_steps_total{batch="2",prompt="false",tokens="4"} 10.0' in shown
    assert 'specdec_engine_step_seconds_total{batch="1",prompt="true",tokens="0"} 0.5' in shown
    assert 'specdec_engine_accepted_tokens_total{batch="2",position="1",prompt="false",tokens="4"} 8.0' in shown
    assert 'specdec_engine_step_requests_total{batch="2",prompt="false",tokens="4"} 20.0' in shown
    assert 'specdec_engine_dips_total{batch="2",dip="0",tokens="4"} 3.0' in shown
    assert 'specdec_engine_dip_ratios_total{batch="2",dip="3",tokens="4"} 0.9' in shown
    assert 'specdec_engine_dip_squared_ratios_total{batch="2",dip="0",tokens="4"} 1.1' in shown
    for text in ('{"steps":[[1]],"dips":[]}', "{}", "garbage", '{"steps":[[1,2,3,4,5,6,7,8,9]],"dips":[]}', "7"):
        notes.path(notes.STEPS).write_text(text)
        assert generate_latest(registry) == b"", text
    notes.forget()
    notes.forget()
