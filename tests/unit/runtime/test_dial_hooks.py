"""What the dial puts into an engine, on stand-ins with vLLM's names."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from specdec_runtime.dial import hooks
from specdec_runtime.dial.hooks import DialWay, HookMissingError

SKIP = DialWay(started=4, skip=True, cut=False)
CUT = DialWay(started=4, skip=True, cut=True)


@dataclass
class StandinOutput:
    """What a scheduler hands to its workers."""

    num_spec_tokens_to_schedule: int = 4
    scheduled_spec_decode_tokens: dict[str, list[int]] = field(default_factory=lambda: {"a": [1, 2, 3, 4]})
    num_scheduled_tokens: dict[str, int] = field(default_factory=lambda: {"a": 5, "b": 1})
    total_num_scheduled_tokens: int = 6


@dataclass
class StandinDrafts:
    """What a worker hands back."""

    draft_token_ids: list[list[int]] = field(default_factory=lambda: [[1, 2, 3, 4], [5]])


class Scheduler:
    """Notes what it was called with, as vLLM's would read it."""

    def __init__(self) -> None:
        self.num_spec_tokens = 4
        self.scheduler_config = SimpleNamespace(max_num_seqs=2)
        self.dynamic_sd_lookup: list[int] | None = None
        self.seen: list[Any] = []

    def _update_after_schedule(self, scheduler_output: StandinOutput) -> None:
        self.seen.append(scheduler_output.num_spec_tokens_to_schedule)

    def update_draft_token_ids(self, draft_token_ids: StandinDrafts) -> None:
        self.seen.append(draft_token_ids.draft_token_ids)


Scheduler.__module__ = "vllm.v1.core.sched.scheduler"


class StandinRunner:
    """A worker's model runner."""

    def __init__(self) -> None:
        self.execute_model_state: object = None
        self.asked: list[int] = []
        self.input_batch = SimpleNamespace(sampling_metadata=SimpleNamespace(thinking_budget_state_holder=None))

    def execute_model(self, scheduler_output: StandinOutput, intermediate: object = None) -> str:
        return f"executed {intermediate}"

    def _input_fits_in_drafter(self, metadata: object) -> bool:
        return True

    def propose_draft_token_ids(self, scheduler_output: StandinOutput, sampled: object) -> object:
        self.asked.append(scheduler_output.num_spec_tokens_to_schedule)
        return sampled

    def _sample(self, logits: object, spec_decode_metadata: object) -> object:
        return spec_decode_metadata


def step(scheduler: Any) -> StandinOutput:
    """One step of a scheduler, with the drafts that come back."""
    output = StandinOutput()
    scheduler._update_after_schedule(output)
    scheduler.update_draft_token_ids(StandinDrafts())
    return output


def test_each_value_is_in_the_next_step() -> None:
    """The field is set before vLLM's own method reads it, and what was drafted beyond it is cut."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    for tokens in (4, 0, 2, 4):
        position.tokens = tokens
        step(scheduler)
    drafts = [[1, 2, 3, 4], [5]]
    assert scheduler.seen == [4, drafts, 0, [[], []], 2, [[1, 2], [5]], 4, drafts]


@pytest.mark.parametrize("dip", [0, 1, 3])
def test_a_dip_drafts_fewer_unless_its_step_takes_a_prompt_in(dip: int) -> None:
    """The draft reads a prompt together with the target, or not at all; its drafter is left out at nothing only."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    for total, used, dips, off in ((6, dip, dip, not dip), (400, 4, None, False)):
        position.dip = dip
        output = StandinOutput(total_num_scheduled_tokens=total)
        scheduler._update_after_schedule(output)
        assert (output.num_spec_tokens_to_schedule, position.drafted, position.dip) == (used, used, dips)
        assert getattr(output, "specdec_off", False) is off


@pytest.mark.parametrize(
    ("tokens", "asked", "used"), [(2, 4, 2), (1, 4, 1), (0, 4, 0), (4, 2, 2), (4, 1, 1), (4, 0, 0)]
)
def test_a_dip_never_drafts_more_than_the_step_would_without_it(tokens: int, asked: int, used: int) -> None:
    """The dial was turned, or vLLM's own schedule asks for as few: then the step is of no dip."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    position.tokens, position.dip = tokens, 2
    output = StandinOutput(num_spec_tokens_to_schedule=asked)
    scheduler._update_after_schedule(output)
    assert (output.num_spec_tokens_to_schedule, position.dip) == (used, None)


def test_the_dial_only_lowers_what_a_schedule_by_batch_size_asks_for() -> None:
    """vLLM's own schedule may ask for fewer, and its 0 is not the dial's off."""
    scheduler = Scheduler()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    position.tokens = 2
    for asked, used in ((4, 2), (1, 1), (0, 0)):
        output = StandinOutput(num_spec_tokens_to_schedule=asked)
        scheduler._update_after_schedule(output)
        assert output.num_spec_tokens_to_schedule == used
        assert not hasattr(output, "specdec_off")


def test_below_all_tokens_vllm_pads_nothing_with_empty_drafts() -> None:
    """It pads only without a schedule by batch size, so there is one meanwhile; a schedule of the flags stays."""
    scheduler, scheduled = Scheduler(), Scheduler()
    scheduled.dynamic_sd_lookup = own = [4, 4, 1]
    for each in (scheduler, scheduled):
        position = hooks.on_scheduler(each, SKIP, StandinOutput)
        position.tokens = 1
        step(each)
        lowered, position.tokens = each.dynamic_sd_lookup, 4
        step(each)
        assert (lowered, each.dynamic_sd_lookup) in (([4, 4, 4], None), (own, own))
    assert scheduler.dynamic_sd_lookup is None
    assert scheduled.dynamic_sd_lookup is own


def test_at_0_a_worker_leaves_its_drafter_out_and_in_the_next_step_it_may_be_back() -> None:
    """By what travels with the step, because a worker can be another process."""
    scheduler, runner = Scheduler(), StandinRunner()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    assert hooks.on_worker(SimpleNamespace(model_runner=runner), SKIP) == ""
    for tokens, fits in ((4, True), (0, False), (1, True), (0, False), (4, True)):
        position.tokens = tokens
        assert runner.execute_model(step(scheduler), "more") == "executed more"
        assert runner._input_fits_in_drafter(None) is fits


def test_at_0_a_step_without_drafts_is_sampled_as_without_speculation() -> None:
    """The first one is not: it verifies what was drafted before. None is while thinking tokens are limited."""
    scheduler, runner = Scheduler(), StandinRunner()
    position = hooks.on_scheduler(scheduler, SKIP, StandinOutput)
    hooks.on_worker(SimpleNamespace(model_runner=runner), SKIP)
    some, none = SimpleNamespace(max_spec_len=4), SimpleNamespace(max_spec_len=0)
    for tokens, drafted, sampled in ((4, none, none), (0, some, some), (0, none, None), (4, none, none)):
        position.tokens = tokens
        runner.execute_model(step(scheduler))
        assert runner._sample("logits", drafted) is sampled
    position.tokens = 0
    runner.execute_model(step(scheduler))
    runner.input_batch.sampling_metadata.thinking_budget_state_holder = object()
    assert runner._sample("logits", none) is none


def test_a_runner_that_samples_in_another_way_is_dialled_all_the_same() -> None:
    """It only takes longer at 0."""

    class StandinSampler(StandinRunner):
        _sample = None  # type: ignore[assignment]

    runner = StandinSampler()
    assert hooks.on_worker(SimpleNamespace(model_runner=runner), SKIP) == ""
    assert "_sample" not in vars(runner)


def test_a_drafter_that_insists_on_all_tokens_gets_them() -> None:
    """And the step keeps its own number for the scheduler, even if the drafter fails."""
    runner, output = StandinRunner(), StandinOutput(num_spec_tokens_to_schedule=1)
    hooks.on_worker(SimpleNamespace(model_runner=runner), CUT)
    assert runner.propose_draft_token_ids(output, "drafts") == "drafts"
    assert (runner.asked, output.num_spec_tokens_to_schedule) == ([4], 1)
    other = StandinRunner()
    hooks.on_worker(SimpleNamespace(model_runner=other), SKIP)
    other.propose_draft_token_ids(output, "drafts")
    assert other.asked == [1]


def test_a_worker_stays_as_it_is_if_its_drafter_runs_in_step() -> None:
    """Nothing of a runner that was only read is replaced."""
    runner = object()
    assert hooks.on_worker(SimpleNamespace(model_runner=runner), DialWay(started=4, skip=False, cut=False)) == ""


def test_taken_out_again_the_engine_is_as_it_was() -> None:
    """No method is left replaced, and a step that broke off is forgotten."""
    scheduler, runner = Scheduler(), StandinRunner()
    worker = SimpleNamespace(model_runner=runner)
    hooks.on_scheduler(scheduler, SKIP, StandinOutput).tokens = 0
    hooks.on_worker(worker, SKIP)
    step(scheduler)
    runner.execute_model_state = "half a step"
    hooks.off_scheduler(scheduler)
    hooks.off_worker(worker)
    assert vars(scheduler).keys() == vars(Scheduler()).keys()
    assert scheduler.dynamic_sd_lookup is None
    assert vars(runner).keys() == vars(StandinRunner()).keys()
    assert runner.execute_model_state is None


class StandinOther(Scheduler):
    """A scheduler of another project."""


class StandinNewer(Scheduler):
    """vLLM's scheduler with another name for one of the two."""

    update_draft_token_ids = None  # type: ignore[assignment]


StandinNewer.__module__, StandinNewer.__qualname__ = Scheduler.__module__, "Scheduler"


class StandinOlder(Scheduler):
    """vLLM's scheduler before schedules by batch size."""

    def __init__(self) -> None:
        super().__init__()
        del self.dynamic_sd_lookup


StandinOlder.__module__, StandinOlder.__qualname__ = Scheduler.__module__, "Scheduler"


class StandinAsync(Scheduler):
    """vLLM's asynchronous scheduler, to which no drafts come back."""


StandinAsync.__module__, StandinAsync.__qualname__ = "vllm.v1.core.sched.async_scheduler", "AsyncScheduler"


@pytest.mark.parametrize(
    ("scheduler", "way", "output", "words"),
    [
        (StandinOther(), SKIP, StandinOutput, "StandinOther, not vLLM's own"),
        (StandinNewer(), SKIP, StandinOutput, "StandinNewer.update_draft_token_ids does not exist"),
        (Scheduler(), SKIP, StandinDrafts, "StandinDrafts has no field num_spec_tokens_to_schedule"),
        (StandinOlder(), SKIP, StandinOutput, "Scheduler.dynamic_sd_lookup does not exist"),
        (Scheduler(), DialWay(started=3, skip=True, cut=False), StandinOutput, "the scheduler drafts 4 tokens"),
        (StandinAsync(), CUT, StandinOutput, "with asynchronous scheduling nothing cuts"),
    ],
)
def test_a_scheduler_that_is_not_as_expected_stays_as_it_was(
    scheduler: Any, way: DialWay, output: type[Any], words: str
) -> None:
    """And the message is what was not found."""
    before = dict(vars(scheduler))
    with pytest.raises(HookMissingError, match=words):
        hooks.on_scheduler(scheduler, way, output)
    assert vars(scheduler) == before


def test_a_worker_that_is_not_as_expected_stays_as_it_was() -> None:
    """It may be in another process, so it answers with a sentence."""
    runner = StandinRunner()
    runner.propose_draft_token_ids = lambda: None  # type: ignore[assignment,method-assign]
    before = dict(vars(runner))
    assert "was replaced by another plugin" in hooks.on_worker(SimpleNamespace(model_runner=runner), SKIP)
    assert vars(runner) == before
    less = SimpleNamespace(execute_model=lambda: None)
    assert "execute_model" in hooks.on_worker(SimpleNamespace(model_runner=less), SKIP)
