"""One look at the pods' counters: readings go in, and a judged window comes out when one is over."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from specdec_operator.api.guard import Guard, GuardMode
from specdec_operator.api.speculation import Speculation
from specdec_operator.control.memory import Memory
from specdec_operator.engine.methods import METHODS
from specdec_operator.guard.baseline import Baseline
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.thresholds import Thresholds, thresholds
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.watching import Rhythm, take, watch
from specdec_operator.serving.pods import PodView

_CLOCKS_DIFFER: Final = 60.0
"""Seconds by which the clocks of two nodes may differ."""
_PLAIN: Final = frozenset({Phase.MEASURING_BASELINE, Phase.ROLLED_BACK, Phase.SERVING})


class Reader(Protocol):
    """Reads the counters of pods."""

    async def read(self, guard: Guard, pods: Mapping[str, str], *, namespace: str) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for one that did not answer. pods: their addresses by name."""


def thresholds_of(guard: Guard, speculation: Speculation | None, tokens: int, baseline: Baseline = ()) -> Thresholds:
    """What the windows of a speculation are compared with; None: of a plain service."""
    facts = METHODS[speculation.method] if speculation else None
    pauses = any(step.tokens == 0 for step in (speculation and speculation.tokens_by_batch_size) or ())
    return thresholds(guard, facts, tokens=tokens, baseline=baseline, pauses=pauses)


def is_looked_at(state: State, guard: Guard, *, plain: bool, settled: bool, now: float) -> bool:
    """Whether the pods are read: to be judged, or while they are plain to learn how fast that is.

    plain: whether they run without speculation. settled: whether they are those that the state was reached with.
    """
    if guard.mode is GuardMode.OFF or not settled:
        return False
    if state.phase is Phase.WATCHING:
        return not plain
    learns = state.phase is not Phase.SERVING or guard.measures_first
    return plain and state.phase in _PLAIN and learns and now - state.since >= guard.warmup


async def look(
    memory: Memory,
    reader: Reader,
    pods: tuple[PodView, ...],
    *,
    namespace: str,
    guard: Guard,
    limits: Thresholds,
    now: float,
) -> Judged | None:
    """Reads the pods when a reading is due; returns the judged window when that closed one.

    A pod that became ready while the others were under watch has its own warm-up.
    """
    rhythm = Rhythm(interval=guard.interval, window=guard.window)
    if memory.watched is None:
        memory.watched = watch(now, rhythm)
    if not memory.watched.is_due(now):
        return None
    addresses = {pod.name: pod.ip for pod in pods if pod.ip and _is_warm(pod, guard, now)}
    readings = await reader.read(guard, addresses, namespace=namespace)
    counters = {pod: reading if isinstance(reading, Counters) else None for pod, reading in readings.items()}
    memory.silent = sum(reading is None for reading in counters.values())
    memory.watched, judged = take(memory.watched, counters, limits, rhythm, now)
    words = next((reading.words for reading in readings.values() if isinstance(reading, Unread)), "")
    judged = _explained(judged, words)
    memory.judged = judged or memory.judged
    return judged


def _explained(judged: Judged | None, words: str) -> Judged | None:
    """A window that could not be read, with the words of the last look that failed."""
    if judged is None or not words or judged.verdict.reason is not Reason.SCRAPE_FAILED:
        return judged
    return replace(judged, verdict=replace(judged.verdict, message=f"{judged.verdict.message}: {words}"))


def _is_warm(pod: PodView, guard: Guard, now: float) -> bool:
    """A time ahead of ours by more than clocks differ tells nothing: warm, lest nothing be judged for as long."""
    return pod.ready_since is None or not -_CLOCKS_DIFFER < now - pod.ready_since < guard.warmup
