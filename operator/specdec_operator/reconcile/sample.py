"""Reads the pods' counters while they are watched: readings go into a window, and a judged window comes out.

Most reconciles do this and nothing else: deciding and reporting again what has not changed would be most of their cost.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from specdec_operator.api.guard import Guard, GuardMode
from specdec_operator.api.speculation import Speculation
from specdec_operator.guard.counters import Counters, Unread
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import METHODS, Thresholds, thresholds
from specdec_operator.guard.sampler import Sampler, Schedule, add, start
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Reason
from specdec_operator.observe.pods import ENGINE_PORT, PodView
from specdec_operator.reconcile.memory import SamplingPlan, ServiceMemory

_CLOCKS_DIFFER: Final = 60.0
"""Seconds by which the clocks of two nodes may differ."""
_BASELINE_PHASES: Final = frozenset({Phase.MEASURING_BASELINE, Phase.ROLLED_BACK, Phase.SERVING})

Readings = Mapping[str, Counters | Unread]


class CounterReader(Protocol):
    """Reads the counters of pods."""

    async def read(
        self, guard: Guard, pods: Mapping[str, str], *, namespace: str, port: int
    ) -> dict[str, Counters | Unread]:
        """The counters of each pod by name; Unread for one that did not answer. pods: their addresses by name."""

    async def dial(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the engine at an address drafts; None if it does not report that."""

    async def facts(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the pod at an address saw of its models; None if it does not report that."""


def thresholds_of(guard: Guard, speculation: Speculation | None, tokens: int, state: State | None = None) -> Thresholds:
    """What the windows of a speculation are compared with; None: of a baseline. state: what was learnt."""
    facts = METHODS[speculation.method] if speculation else None
    steps = (*((speculation and speculation.tokens_by_batch_size) or ()), *(state.adapted_rows if state else ()))
    pauses = any(step.tokens == 0 for step in steps)
    baseline, pairs = (state.baseline, state.pairs) if state else ((), ())
    limits = thresholds(guard, facts, tokens=tokens, baseline=baseline, pauses=pauses, pairs=pairs)
    # The user's minimum of the length is of one number of tokens.
    return replace(limits, acceptance_length=None, by_load=True) if state and state.adapted_rows else limits


def is_sampled(state: State, guard: Guard, *, baseline: bool, settled: bool, now: float, guest: bool = False) -> bool:
    """Whether the pods are read: to judge the speculation, or to measure the speed of baseline pods.

    baseline: whether they run without speculation. settled: whether they are those that the state was reached with.
    guest: whether another user serves them. The flags of a guest may be incomplete, so the counters show whether it
    drafts.
    """
    if guard.mode is GuardMode.OFF or not settled:
        return False
    if state.phase in (Phase.WATCHING, Phase.DIALLED):
        return not baseline
    if guest and state.phase is Phase.SERVING:
        return True
    learns = state.phase is not Phase.SERVING or guard.measures_first
    return baseline and state.phase in _BASELINE_PHASES and learns and now - state.since >= guard.warmup


async def sample(
    memory: ServiceMemory,
    source: CounterReader,
    pods: Iterable[PodView],
    baseline_pods: Iterable[PodView] = (),
    *,
    namespace: str,
    clock: Callable[[], float],
) -> ServiceMemory:
    """Reads the pods of the sampling plan if a reading is due, and adds it to the window. baseline_pods: the baseline
    pods, which are read at the same moment.
    """
    plan, now = memory.sampling, clock()
    if plan is None:
        return memory
    window = memory.window or start(now, _schedule(plan))
    if not window.is_due(now):
        return replace(memory, window=window)
    watched = [pod for pod in pods if pod.ready and not pod.deleting and pod.revision == plan.revision]
    compared = [pod for pod in baseline_pods if plan.with_baseline and pod.ready and not pod.deleting]
    warm = [pod for pod in (*watched, *compared) if pod.ip and _is_warm(pod, plan.guard, now)]
    refused = {pod.name: _on_host(pod) for pod in warm if pod.on_host and plan.guard.reads_pods}
    addresses = {pod.name: pod.ip for pod in warm if pod.ip and pod.name not in refused}
    readings = {**await source.read(plan.guard, addresses, namespace=namespace, port=plan.port), **refused}
    of_baseline = {pod.name: _counted(readings[pod.name]) for pod in compared if pod.name in readings}
    ours = {pod: reading for pod, reading in readings.items() if pod not in of_baseline}
    return _taken_in(memory, plan, window, ours, of_baseline, now)


def _on_host(pod: PodView) -> Unread:
    """Why such a pod is not read: its flags choose the port, so its owner would choose what is read of the node."""
    return Unread(
        f"pod {pod.name}: {pod.ip} is the address of its node (hostNetwork), and the operator reads no page of a node; "
        "remove hostNetwork, or set guard.source.prometheus to a Prometheus server that scrapes the pod"
    )


def _counted(reading: Counters | Unread) -> Counters | None:
    return reading if isinstance(reading, Counters) else None


def _taken_in(
    memory: ServiceMemory,
    plan: SamplingPlan,
    window: Sampler,
    readings: Readings,
    of_baseline: Mapping[str, Counters | None],
    now: float,
) -> ServiceMemory:
    counters = {pod: _counted(reading) for pod, reading in readings.items()}
    known = window.stalled(plan.thresholds)
    window, closed = add(window, counters, plan.thresholds, _schedule(plan), now, of_baseline)
    message = next((each.words for each in readings.values() if isinstance(each, Unread)), "")
    silent = sum(reading is None for reading in counters.values())
    if closed is None:
        hangs = not window.stalled(plan.thresholds).keys() <= known.keys()  # such a pod does not wait for its window
        return replace(memory, window=window, silent=silent, due=now if hangs else memory.due)
    closed = _explained(closed, message)
    return replace(memory, window=window, silent=silent, closed=closed, judged=closed)


def _schedule(plan: SamplingPlan) -> Schedule:
    return Schedule(interval=plan.guard.interval, window=plan.guard.window)


def _explained(closed: Judged, message: str) -> Judged:
    """A window that could not be read, with the message of the last reading that failed."""
    if not message or closed.verdict.reason is not Reason.SCRAPE_FAILED:
        return closed
    return replace(closed, verdict=replace(closed.verdict, message=f"{closed.verdict.message}: {message}"))


def _is_warm(pod: PodView, guard: Guard, now: float) -> bool:
    """Whether the warm-up of a pod is over. A pod that became ready while the others were watched has its own warm-up.

    If its ready time is further in the future than clocks differ, the time is not usable: the pod counts as warm.
    Otherwise its windows would not be judged for that long.
    """
    return pod.ready_since is None or not -_CLOCKS_DIFFER < now - pod.ready_since < guard.warmup
