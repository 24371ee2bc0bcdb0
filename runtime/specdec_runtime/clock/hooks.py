"""Puts the clock around the steps of the scheduler that runs, never into vLLM's classes.

It only looks: whatever goes wrong takes the clock out, and the engine goes on.
"""

from __future__ import annotations

import logging
import random
import time
from typing import TYPE_CHECKING, Any, Final

from specdec_runtime.clock.dips import Dips
from specdec_runtime.clock.sums import StepKind, StepSums, TimedStep, add
from specdec_runtime.dial.hooks import FIELD, takes_prompt

if TYPE_CHECKING:
    from collections.abc import Callable

    from specdec_runtime.dial.hooks import DialPosition

_LOG = logging.getLogger("vllm.specdec")
_METHODS: Final = ("schedule", "update_from_output")
LONGEST_PAUSE: Final = 60.0
"""Seconds without a request after which the steps before do not count as neighbours of a dip. A client alone pauses
after each answer, and an answer has fewer steps than a dip and its neighbours need.
"""
_MOST_UNDER_WAY: Final = 16
"""Steps that were scheduled and have not ended, at most: a pipeline has few. More means that steps get lost."""


class StepClock:
    """Times the steps of one scheduler. sums: by kind of step. lost: why it stopped; empty while it runs. dips: when
    the next step drafts fewer tokens to be compared.

    A step lasts from the end of the one before, or from when it was scheduled after a pause, until its tokens are
    known. The first step after a change of the dial is not counted: it verifies what another number drafted.
    """

    def __init__(
        self,
        scheduler: Any,
        position: DialPosition,
        dips: Dips | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.sums: dict[StepKind, StepSums] = {}
        self.lost = ""
        self.dips = dips or Dips(random.random)
        self._scheduler = scheduler
        self._position = position
        self._clock = clock
        self._begun: dict[int, tuple[float, bool]] = {}
        self._ended = 0.0
        self._rests: float | None = None
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
        self._position.dip = None
        for each in _METHODS:
            vars(self._scheduler).pop(each, None)

    def _scheduled(self, *given: Any, **named: Any) -> Any:
        begun = self._clock()
        if self._rests is not None and begun - self._rests > LONGEST_PAUSE:
            self.dips.interrupt()
        asked = self._dips()
        output = self._schedule(*given, **named)
        dips = self._position.dip is not None
        if asked and not dips:
            end = self.dips.put_off if takes_prompt(output) else self.dips.cut
            end()
        if len(self._begun) >= _MOST_UNDER_WAY:
            self._begun.clear()
        self._begun[id(output)] = begun, dips
        return output

    def _dips(self) -> bool:
        try:
            found = self.dips.begins(
                self._position.tokens, len(self._scheduler.waiting), by_load=bool(self._position.rows)
            )
        except Exception as error:
            self._stop(error)
            return False
        self._position.dip = found
        return found is not None

    def _updated(self, *given: Any, **named: Any) -> Any:
        found = self._update(*given, **named)
        try:
            output, result, *_ = given
            self._take(output, result, found)
        except Exception as error:
            self._stop(error)
        return found

    def _stop(self, error: Exception) -> None:
        self.remove(f"{error!r}")
        _LOG.warning("specdec: steps are no longer timed: %r", error)

    def _take(self, output: Any, result: Any, found: Any) -> None:
        now, (begun, dipped), ended = self._clock(), self._begun.pop(id(output), (None, False)), self._ended
        self._ended, self._rests = (now, None) if self._scheduler.running else (0.0, now)
        asked = int(getattr(output, FIELD))
        steady, self._asked = asked == self._asked, asked
        if begun is None or not steady or not output.total_num_scheduled_tokens:
            return
        step = _step(asked, now - (ended or begun), output, result, found)
        add(self.sums, step)
        self.dips.note(step, dipped=dipped)


def _step(asked: int, seconds: float, output: Any, result: Any, found: Any) -> TimedStep:
    drafts, sampled = output.scheduled_spec_decode_tokens, result.sampled_token_ids
    drafted = sum(map(len, drafts.values()))
    requests = len(output.num_scheduled_tokens)
    got = [len(one.new_token_ids) for each in found.values() for one in each.outputs]
    kept = [len(sampled[result.req_id_to_index[each]]) - 1 for each in drafts] if sampled else []
    return TimedStep(
        asked=asked,
        requests=requests,
        answered=sum(map(bool, got)),
        prompt=takes_prompt(output),
        seconds=seconds,
        tokens=sum(got),
        drafted=drafted,
        kept=[each for each in kept if each > 0],
    )
