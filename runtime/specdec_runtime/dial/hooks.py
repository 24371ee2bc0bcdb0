"""What the dial puts into an engine: on the objects of the one that runs, never on vLLM's classes, so that removing it
leaves the engine as it was.

The scheduler is asked for fewer tokens by its own field for a schedule by batch size. A worker either does not run its
drafter, by vLLM's own way for a context that the draft cannot hold, or drafts all tokens and the scheduler cuts them.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from specdec_runtime.dial.schedule import RowChoice, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

FIELD: Final = "num_spec_tokens_to_schedule"
_OFF: Final = "specdec_off"
_SCHEDULE: Final = "dynamic_sd_lookup"
_SCHEDULERS: Final = {
    ("vllm.v1.core.sched.scheduler", "Scheduler"),
    ("vllm.v1.core.sched.async_scheduler", "AsyncScheduler"),
}
_OF_SCHEDULER: Final = {"_update_after_schedule": 1, "update_draft_token_ids": 1}
_OF_RUNNER: Final = {"execute_model": 1, "_input_fits_in_drafter": 1, "propose_draft_token_ids": 2}
_OF_SAMPLING: Final = {"_sample": 2}
"""Methods that are replaced, and how many arguments the dial passes on by their place, at least."""
_PLACES: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class HookMissingError(Exception):
    """The engine is not as the dial knows it; the message is what was not found."""


class SelfTestError(Exception):
    """The dial does not do what it should; the message is what was seen."""


class EveryBatch(list[int]):
    """A schedule by batch size that asks for all tokens at each size."""


@dataclass(slots=True)
class DialPosition:
    """What the next step drafts, between the thread that reads the setting and the engine's own.

    tokens: as set. rows: as set by load; none of them is above `tokens`. dip: how many it drafts instead, to be
    compared; None: it does not dip. A dip never has more than `tokens`, and a step that takes a prompt in is of none.
    drafted: what the last scheduled step was asked for.
    """

    tokens: int
    drafted: int
    dip: int | None = None
    rows: Rows = ()
    _choice: RowChoice = field(default_factory=RowChoice)

    def usual(self, requests: int) -> int:
        """Return what a step of so many requests drafts outside of dips."""
        return min(self.tokens, self._choice.tokens(rows, requests)) if (rows := self.rows) else self.tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class DialWay:
    """How a method is dialled. started: tokens of the flags. skip: whether a worker leaves its drafter out at 0.

    cut: whether the drafter must draft all of them, and the scheduler cuts.
    """

    started: int
    skip: bool
    cut: bool


def takes_prompt(output: Any) -> bool:
    """Return whether a step reads more of a request than its last token and its draft."""
    drafted = sum(map(len, output.scheduled_spec_decode_tokens.values()))
    return bool(output.total_num_scheduled_tokens != len(output.num_scheduled_tokens) + drafted)


def on_scheduler(scheduler: Any, way: DialWay, output: type[Any]) -> DialPosition:
    """Put the dial into a scheduler. output: the class of what it schedules. Raises HookMissingError, and then nothing
    is changed.
    """
    kind = type(scheduler)
    if (kind.__module__, kind.__qualname__) not in _SCHEDULERS:
        raise HookMissingError(f"the scheduler is {kind.__module__}.{kind.__qualname__}, not vLLM's own")
    if FIELD not in {each.name for each in dataclasses.fields(output)}:
        raise HookMissingError(f"{output.__name__} has no field {FIELD}")
    if getattr(scheduler, "num_spec_tokens", None) != way.started:
        raise HookMissingError(f"the scheduler drafts {getattr(scheduler, 'num_spec_tokens', None)} tokens")
    if way.cut and kind.__qualname__ == "AsyncScheduler":
        raise HookMissingError("with asynchronous scheduling nothing cuts what this method drafts")
    if not hasattr(scheduler, _SCHEDULE):
        raise HookMissingError(f"{kind.__qualname__}.{_SCHEDULE} does not exist")
    _check(scheduler, _OF_SCHEDULER)
    position = DialPosition(tokens=way.started, drafted=way.started)
    _replace(scheduler, _scheduling(scheduler, way, position))
    return position


def _scheduling(scheduler: Any, way: DialWay, position: DialPosition) -> dict[str, Callable[..., Any]]:
    after, take = scheduler._update_after_schedule, scheduler.update_draft_token_ids
    # Without a schedule by batch size, vLLM pads a request that has one token left to read with empty drafts.
    unpadded = EveryBatch([way.started] * (scheduler.scheduler_config.max_num_seqs + 1))
    own = scheduler.dynamic_sd_lookup

    def update_after_schedule(output: Any) -> None:
        # AsyncScheduler reads the field in its own part of this method, so it is set before.
        tokens = _asked(position, output)
        if tokens < output.num_spec_tokens_to_schedule:
            output.num_spec_tokens_to_schedule = tokens
            # A request outlives a large load: its prompt is read by the draft, which hands over nothing then.
            if not tokens and not (position.rows and takes_prompt(output)):
                output.specdec_off = True
        position.drafted = output.num_spec_tokens_to_schedule
        if own is None:
            scheduler.dynamic_sd_lookup = unpadded if tokens < way.started else None
        after(output)

    def update_draft_token_ids(drafts: Any) -> None:
        # A drafter that was left out hands over zeros, and some draft all that they can.
        if position.drafted < way.started:
            drafts.draft_token_ids = [each[: position.drafted] for each in drafts.draft_token_ids]
        take(drafts)

    return {"_update_after_schedule": update_after_schedule, "update_draft_token_ids": update_draft_token_ids}


def _asked(position: DialPosition, output: Any) -> int:
    """What a step drafts: by its load, or in a dip, which ends where it would change nothing."""
    own, dip = output.num_spec_tokens_to_schedule, position.dip
    usual = position.usual(len(output.num_scheduled_tokens))
    if dip is None:
        return usual
    # A draft that does not read a prompt lacks it to the end of the answer.
    if dip == min(usual, own) or dip > min(position.tokens, own) or takes_prompt(output):
        position.dip = None
        return usual
    return dip


def on_worker(worker: Any, way: DialWay) -> str:
    """Put the dial into a worker, by collective_rpc; return what was not found, and then nothing is changed."""
    if not (way.skip or way.cut):
        return ""
    runner = _runner(worker)
    try:
        _check(runner, _OF_RUNNER)
    except HookMissingError as error:
        return str(error)
    _replace(runner, _drafting(runner, way) | _sampling(runner))
    return ""


def _drafting(runner: Any, way: DialWay) -> dict[str, Callable[..., Any]]:
    execute, fits, propose = runner.execute_model, runner._input_fits_in_drafter, runner.propose_draft_token_ids
    runner.specdec_off = False

    def execute_model(output: Any, *more: Any, **named: Any) -> Any:
        runner.specdec_off = getattr(output, _OFF, False)
        return execute(output, *more, **named)

    def input_fits_in_drafter(*given: Any, **named: Any) -> bool:
        skipped = way.skip and runner.specdec_off
        return not skipped and bool(fits(*given, **named))

    def propose_draft_token_ids(output: Any, *more: Any, **named: Any) -> Any:
        asked = output.num_spec_tokens_to_schedule
        if not way.cut or asked == way.started:
            return propose(output, *more, **named)
        output.num_spec_tokens_to_schedule = way.started
        try:
            return propose(output, *more, **named)
        finally:
            output.num_spec_tokens_to_schedule = asked

    return {
        "execute_model": execute_model,
        "_input_fits_in_drafter": input_fits_in_drafter,
        "propose_draft_token_ids": propose_draft_token_ids,
    }


def _sampling(runner: Any) -> dict[str, Callable[..., Any]]:
    """Have a step without any draft sampled as in an engine without speculation: the same tokens, and no pass of the
    rejection sampler, which takes a tenth of a small model's step. A runner that samples in another way is left so.
    """
    try:
        _check(runner, _OF_SAMPLING)
    except HookMissingError:
        return {}
    sample_as_vllm = runner._sample

    def sample(logits: Any, drafted: Any, *more: Any, **named: Any) -> Any:
        plain = runner.specdec_off and not getattr(drafted, "max_spec_len", 1) and not _counts_thoughts(runner)
        return sample_as_vllm(logits, None if plain else drafted, *more, **named)

    return {"_sample": sample}


def _counts_thoughts(runner: Any) -> bool:
    """Whether a limit of thinking tokens is kept, which counts with the rejection sampler's rows."""
    return getattr(runner.input_batch.sampling_metadata, "thinking_budget_state_holder", None) is not None


def off_scheduler(scheduler: Any) -> None:
    """Take the dial out of a scheduler."""
    _restore(scheduler, _OF_SCHEDULER)
    if isinstance(scheduler.dynamic_sd_lookup, EveryBatch):
        scheduler.dynamic_sd_lookup = None


def off_worker(worker: Any) -> None:
    """Take the dial out of a worker, and let it begin its next step as if the last one had ended."""
    runner = _runner(worker)
    _restore(runner, {*_OF_RUNNER, *_OF_SAMPLING, _OFF})
    if hasattr(runner, "execute_model_state"):
        runner.execute_model_state = None


def _runner(worker: Any) -> Any:
    # A worker's wrapper is what collective_rpc passes; it looks names up in the worker.
    return worker.model_runner


def _check(owner: Any, methods: Mapping[str, int]) -> None:
    for name, least in methods.items():
        method = getattr(owner, name, None)
        where = f"{type(owner).__name__}.{name}"
        if not callable(method):
            raise HookMissingError(f"{where} does not exist")
        if name in vars(owner):
            raise HookMissingError(f"{where} was replaced by another plugin")
        places = [each for each in inspect.signature(method).parameters.values() if each.kind in _PLACES]
        if len(places) < least:
            raise HookMissingError(f"{where} takes {len(places)} arguments, not {least}")


def _replace(owner: Any, methods: Mapping[str, Callable[..., Any]]) -> None:
    for name, method in methods.items():
        setattr(owner, name, method)


def _restore(owner: Any, names: Iterable[str]) -> None:
    for name in names:
        vars(owner).pop(name, None)
