"""Engines that hang: requests are in the engine, and nothing comes out of it.

Such an engine answers /health with 200 for hours (vLLM pull request 36451), so no probe of its own ends it. What is
read is what vLLM's pull request 45526 reads: requests, and no decoded token. A long prompt does not count as a stall:
while it is taken in, the engine's KV cache fills after each step. How long a step may take is what the engine itself
has shown: on two cores a step of 8192 prompt tokens took 87 s (tests/data/reports/long-prompt), on a GPU none does.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from specdec_operator.guard.counters import Counters, restarted

_LEAST: Final = 30.0
"""No shorter time is a stall, in seconds, however often the pods are read."""
_STEP_TOKENS: Final = 8192
"""Prompt tokens of one step: what vLLM fills in on large GPUs, and more than on CPUs."""
_LONGER: Final = 2.0
"""How much longer a step may be than what was seen: attention to a long prompt takes more with each part of it."""
_LONGEST_STEP: Final = 300.0
"""Seconds; after as long the liveness probe ends an engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standstill:
    """Requests that stand still in an engine. seconds: since when. running, waiting: how many requests. step: seconds
    that a step may take there; 0 if that is not known.
    """

    seconds: float
    running: float
    waiting: float
    step: float = 0.0

    def lasts(self, longest_gap: float) -> bool:
        """Whether the engine is stalled. longest_gap: seconds without a reading that a window may have; as long
        without any progress is enough, if no step of this engine may take as long.
        """
        return self.seconds >= max(longest_gap, _LEAST, self.step)

    @property
    def message(self) -> str:
        """What stands still."""
        requests = f"{self.running:.0f} requests run and {self.waiting:.0f} wait"
        return f"{requests}, but no token was generated for {self.seconds:.0f} s"


def stalled(standstills: Mapping[str, Standstill], longest_gap: float) -> dict[str, Standstill]:
    """The stalled engines among those that stand still, by pod."""
    return {pod: each for pod, each in standstills.items() if each.lasts(longest_gap)}


def standstill(reading: Counters, seconds: float, longest: float = 0.0) -> Standstill:
    """An engine that stands still since so many seconds, by its last reading. longest: seconds of its longest
    standstill before, which was a step.
    """
    step = _LONGER * max(longest, _STEP_TOKENS * (reading.side.seconds_a_prompt_token or 0.0))
    step = min(_LONGEST_STEP, step)
    return Standstill(seconds=seconds, running=reading.running or 0.0, waiting=reading.waiting or 0.0, step=step)


def stood_still(before: Counters, after: Counters) -> bool:
    """Whether requests were in the engine at both readings, and nothing moved in between. False if it restarted, or if
    a page does not show its requests.
    """
    if not (_requests(before) and _requests(after)) or restarted(before, after):
        return False
    return _progress(before) == _progress(after)


def _requests(reading: Counters) -> float:
    return (reading.running or 0.0) + (reading.waiting or 0.0)


def _progress(reading: Counters) -> tuple[float | None, ...]:
    """What changes with each step of an engine that works."""
    used = reading.kv_cache.used if reading.kv_cache else None
    return reading.generation_tokens, reading.requests, reading.first_tokens, reading.side.prompt_tokens, used
