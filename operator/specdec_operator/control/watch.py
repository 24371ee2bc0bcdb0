"""One look at the pods' counters: opens a window, adds readings to it, and judges it when it is over."""

from collections.abc import Mapping
from typing import Final, Protocol

from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.control.memory import Memory
from specdec_operator.engine.methods import METHODS
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Thresholds, judge
from specdec_operator.guard.verdict import Verdict
from specdec_operator.guard.window import opened
from specdec_operator.serving.pods import PodView

_LONGEST_GAP: Final = 3.0
"""Intervals without a reading after which a window does not count."""
_LONGEST_DRAFT: Final = 128
"""K where the draft itself decides it: the engine's own bound, with which no chance is taken for a fault."""


class Reader(Protocol):
    """Reads the counters of pods."""

    async def read(self, urls: Mapping[str, str]) -> dict[str, Counters | None]:
        """The counters of each pod by name; None for a pod that did not answer."""


def thresholds_of(guard: Guard, method: Method, tokens: int) -> Thresholds:
    """What the windows are compared with; what the user left out comes from the table of methods."""
    facts = METHODS[method]
    return Thresholds(
        acceptance_rate=guard.acceptance_rate.min if guard.acceptance_rate else facts.acceptance_rate_min,
        acceptance_length=guard.acceptance_length.min if guard.acceptance_length else None,
        min_draft_tokens=guard.min_draft_tokens,
        always_drafts=facts.always_drafts,
        longest_gap=_LONGEST_GAP * guard.interval,
        draft_length=tokens or _LONGEST_DRAFT,
    )


async def look(
    memory: Memory,
    reader: Reader,
    pods: tuple[PodView, ...],
    *,
    guard: Guard,
    limits: Thresholds,
    port: int,
    now: float,
) -> Verdict | None:
    """Reads the pods when a reading is due; returns the verdict when that closed a window."""
    if memory.window is None:
        memory.window, memory.next_look = opened(now), now
    if now < memory.next_look:
        return None
    memory.next_look = max(memory.next_look + guard.interval, now)
    urls = {pod.name: f"http://{pod.ip}:{port}/metrics" for pod in pods if pod.ip}
    readings = await reader.read(urls)
    memory.silent = sum(reading is None for reading in readings.values())
    window = memory.window.with_readings(readings, now)
    if now - window.opened < guard.window - guard.interval / 2:  # the look nearest to the end closes it
        memory.window = window
        return None
    memory.verdict, memory.evidence = judge(window, limits, now)
    memory.window = window.next(now, frozenset(urls))
    return memory.verdict
