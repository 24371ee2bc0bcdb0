"""Puts the clock around the steps of the scheduler that runs, never into vLLM's classes.

It only looks: whatever goes wrong takes the clock out, and the engine goes on.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from specdec_runtime.clock.sums import StepKind, StepSums, TimedStep, add
from specdec_runtime.dial.hooks import FIELD

if TYPE_CHECKING:
    from collections.abc import Callable

_LOG = logging.getLogger("vllm.specdec")
_METHODS: Final = ("schedule", "update_from_output")
_MOST_UNDER_WAY: Final = 16
"""Steps that were scheduled and have not ended, at most: a pipeline has few. More means that steps get lost."""


class StepClock:
    """Times the steps of one scheduler. sums: by kind of step. lost: why it stopped; empty while it runs.

    A step lasts from the end of the one before, or from when it was scheduled after a pause, until its tokens are
    known. The first step after a change of the dial is not counted: it verifies what another number drafted.
    """

    def __init__(self, scheduler: Any, clock: Callable[[], float] = time.perf_counter) -> None:
        self.sums: dict[StepKind, StepSums] = {}
        self.lost = ""
        self._scheduler = scheduler
        self._clock = clock
        self._begun: dict[int, float] = {}
        self._ended = 0.0
        self._asked: int | None = None
        self._schedule: Callable[..., Any] = scheduler.schedule
        self._update: Callable[..., Any] = scheduler.update_from_output

    def install(self) -> None:
        """Begin. What another plugin has replaced is left alone, and nothing is timed."""
        if replaced := [each for each in _METHODS if each in vars(self._scheduler)]:
            self.lost = f"{type(self._scheduler).__name__}.{replaced[0]} was replaced by another plugin"
            _LOG.warning("specdec: steps are not timed: %s", self.lost)
            return
        self._scheduler.schedule = self._scheduled
        self._scheduler.update_from_output = self._updated

    def remove(self, why: str) -> None:
        """Stop, and leave the scheduler as it was."""
        self.lost = why
        for each in _METHODS:
            vars(self._scheduler).pop(each, None)

    def _scheduled(self, *given: Any, **named: Any) -> Any:
        begun = self._clock()
        output = self._schedule(*given, **named)
        if len(self._begun) >= _MOST_UNDER_WAY:
            self._begun.clear()
        self._begun[id(output)] = begun
        return output

    def _updated(self, output: Any, result: Any, *given: Any, **named: Any) -> Any:
        found = self._update(output, result, *given, **named)
        try:
            self._take(output, result, found)
        except Exception as error:
            self.remove(f"{error!r}")
            _LOG.warning("specdec: steps are no longer timed: %r", error)
        return found

    def _take(self, output: Any, result: Any, found: Any) -> None:
        now, begun, ended = self._clock(), self._begun.pop(id(output), None), self._ended
        self._ended = now if self._scheduler.running else 0.0
        asked = int(getattr(output, FIELD))
        steady, self._asked = asked == self._asked, asked
        if begun is not None and steady and output.total_num_scheduled_tokens:
            add(self.sums, _step(asked, now - (ended or begun), output, result, found))


def _step(asked: int, seconds: float, output: Any, result: Any, found: Any) -> TimedStep:
    drafts, sampled = output.scheduled_spec_decode_tokens, result.sampled_token_ids
    drafted = sum(map(len, drafts.values()))
    requests = len(output.num_scheduled_tokens)
    kept = [len(sampled[result.req_id_to_index[each]]) - 1 for each in drafts] if sampled else []
    return TimedStep(
        asked=asked,
        requests=requests,
        prompt=output.total_num_scheduled_tokens != requests + drafted,
        seconds=seconds,
        tokens=sum(len(one.new_token_ids) for each in found.values() for one in each.outputs),
        drafted=drafted,
        kept=[each for each in kept if each > 0],
    )
