"""Services whose traffic or machines change, with baseline pods to compare with: what the guard decides on them.

Each service is simulated with four speculating pods and two baseline pods. One of the baseline pods gets the same
requests on the same machine as the first speculating one: it is the truth. The guard's own windows, checks and states
read the pods that it would have: baseline pods until the baseline is measured, then those of its arrangement.

Not simulated: a pod that comes or goes takes no traffic from the others (each has its share all the time). It is as
warm as they are. No rollout takes time except that of a baseline pod next to the speculating ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import numpy as np

from lab.guard.engine import READ, RequestMix, RequestStream, SimulatedPods, pages, run, streams, token_time
from lab.guard.service import SimulatedService, measured
from lab.guard.traffic import Floats, on_grid, wander
from specdec_operator.api.guard import Guard as Asked
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.state import State
from specdec_operator.observe.baseline_pods import BaselinePodsView

SHIFT: Final = 1800.0
"""Seconds after which a service's traffic changes."""
_STARTS: Final = 90.0
"""Seconds that a baseline pod takes to come up."""
_SPECULATING: Final = 4


class Arrangement(StrEnum):
    """Which pods there are."""

    ALWAYS = "Always"
    """Three that speculate, and a baseline pod all the time."""
    ON_DOUBT = "OnDoubt"
    """Four that speculate, and a baseline pod while the speed is in doubt."""
    ONE = "one pod"
    """One that speculates, and serves as baseline for a while when the speed is in doubt."""


_PODS: Final = MappingProxyType({Arrangement.ALWAYS: 3, Arrangement.ON_DOUBT: _SPECULATING, Arrangement.ONE: 1})
_ASKED: Final = {
    each: Asked.model_validate(
        {
            "acceptanceRate": {"min": 0.1},  # acceptance is not what these scenes are about
            "speedup": {"min": 1.0},
            "control": {"mode": "Always" if each is Arrangement.ALWAYS else "OnDoubt"},
        }
    )
    for each in Arrangement
}


_USUAL: Final = RequestMix()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficChange:
    """A scene. before, after: the traffic, which changes after half an hour. speedup: true one, after that.

    wander, memory: standard deviation of the speed of each pod's machine, and the seconds in which it forgets. goal:
    minutes within which the guard, with baseline pods, must remove it; None: never.
    """

    name: str
    before: RequestMix = _USUAL
    after: RequestMix = _USUAL
    speedup: float
    acceptance: float = 0.45
    wander: float = 0.01
    memory: float = 60.0
    goal: float | None = None


CHANGES: Final[tuple[TrafficChange, ...]] = (
    TrafficChange(name="prompts 4 times as long", after=RequestMix(prompt=4000), speedup=1.8),
    TrafficChange(name="prompts 4 times as long, heavier draft", after=RequestMix(prompt=4000), speedup=1.4),
    TrafficChange(
        name="answers a quarter as long, 4 times the requests", after=RequestMix(answer=62.5, rate=8), speedup=1.4
    ),
    TrafficChange(name="twice the requests", after=RequestMix(rate=4), speedup=1.2),
    TrafficChange(
        name="one-token answers fall from 50 % to 10 %",
        before=RequestMix(singles=0.5),
        after=RequestMix(singles=0.1),
        speedup=1.6,
    ),
    TrafficChange(name="prompts a quarter as long", before=RequestMix(prompt=4000), speedup=0.91, goal=10.0),
    TrafficChange(
        name="slow from the start",
        before=RequestMix(rate=4),
        after=RequestMix(rate=4),
        speedup=0.37,
        acceptance=0.22,
        goal=6.0,
    ),
    TrafficChange(name="a little slow from the start", speedup=0.96, acceptance=0.35, goal=30.0),
)
"""What the traffic or the draft does. If speculation is faster than the baseline, no service may lose it."""
MACHINES: Final[tuple[TrafficChange, ...]] = tuple(
    TrafficChange(
        name=f"{speedup:.2f}, machine speeds vary by {100 * by:.0f} % over 5 minutes",
        speedup=speedup,
        acceptance=0.35,
        wander=by,
        memory=300.0,
    )
    for by in (0.04, 0.08)
    for speedup in (1.02, 1.05, 1.10)
)
"""A little faster than plain, on machines that wander each for itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePages:
    """What the pods of one service show, by reading. twin: plain, with the requests of the first speculating pod."""

    speculating: Sequence[Sequence[Counters]]
    baseline: Sequence[Counters]
    twin: Sequence[Counters]


def draft_for(change: TrafficChange, chance: np.random.Generator) -> float:
    """Seconds that drafting has to add to a step for the true speedup: read off a row of them, for equal requests."""
    seconds, costs = 900.0, np.linspace(0.0, 0.03, 16)
    made = streams(3, ((0.0, change.after),), change.acceptance, seconds, chance)
    rows = [each for each in made for _ in range(len(costs) + 1)]
    drafts = np.tile(np.append(costs, -1.0), len(made))
    counted = run(SimulatedPods(streams=rows, draft=drafts, slowness=np.ones((round(seconds / READ), len(rows)))))
    times = token_time(counted, since=20).reshape(len(made), -1)
    speedups = (times[:, -1:] / times[:, :-1]).mean(axis=0)
    return float(np.interp(-change.speedup, -speedups, costs))


def simulate(
    change: TrafficChange, services: int, seconds: float, chance: np.random.Generator
) -> tuple[list[ServicePages], float]:
    """The services, and the true speedup after the change: the same requests on the same machines without a draft."""
    draft, pods = draft_for(change, chance), _SPECULATING + 2
    rows: list[RequestStream] = []
    for _ in range(services):
        made = streams(pods - 1, ((0.0, change.before), (SHIFT, change.after)), change.acceptance, seconds, chance)
        rows += [*made, made[0]]
    slowness = np.stack([_machine(change, seconds, chance) for _ in rows], axis=1)
    slowness[:, pods - 1 :: pods] = slowness[:, ::pods]
    drafts = np.tile([draft] * _SPECULATING + [-1.0, -1.0], services)
    counted = run(SimulatedPods(streams=rows, draft=drafts, slowness=slowness))
    times = token_time(counted, since=round(SHIFT / READ)).reshape(services, pods)
    found = [_pages(counted[:, :, each * pods : (each + 1) * pods]) for each in range(services)]
    return found, float((times[:, -1] / times[:, 0]).mean())


def _machine(change: TrafficChange, seconds: float, chance: np.random.Generator) -> Floats:
    """How slow one machine is, by reading; as fast as any other in the long run."""
    readings = READ * np.arange(round(seconds / READ), dtype=np.float64)
    slower: Floats = np.exp(wander(change.wander, change.memory, seconds, chance)[on_grid(readings)])
    slower /= slower.mean()
    return slower


def _pages(counted: Floats) -> ServicePages:
    ours = [pages(counted[:, :, pod], speculative=True) for pod in range(_SPECULATING)]
    baseline, twin = (pages(counted[:, :, pod], speculative=False) for pod in (_SPECULATING, _SPECULATING + 1))
    return ServicePages(speculating=ours, baseline=baseline, twin=twin)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of one service. lost: seconds after the change, or after speculation began where nothing changes, at
    which speculation was given up; None: never. watched: seconds with speculation; armed: those of them with a plain
    pod beside, or in its place. doubts: how often one was asked for.
    """

    lost: float | None
    watched: float
    armed: float
    doubts: int


def play(made: ServicePages, arrangement: Arrangement, change: TrafficChange) -> Ended:
    """One service from its beginning: plain until that is measured, then with speculation, until it is given up."""
    service = measured(_ASKED[arrangement], replicas=_PODS[arrangement])
    begun, spent = SHIFT if change.before != change.after else None, dict.fromkeys(("watched", "armed"), 0.0)
    doubts = 0
    for reading in range(len(made.baseline)):
        now, before = reading * READ, service.state
        _look(service, made, arrangement, reading)
        state = service.state
        if state.measuring:
            continue
        begun = now if begun is None else begun
        tried = state.rollback is not None and state.rollback.trial is not None
        doubts += before.control is None is not state.control or (tried and before.rollback is None)
        spent["watched"] += READ
        spent["armed"] += READ * (state.control is not None or tried)
        if state.rollback is not None and not tried:
            return Ended(lost=now - begun, doubts=doubts, **spent)
    return Ended(lost=None, doubts=doubts, **spent)


def _look(service: SimulatedService, made: ServicePages, arrangement: Arrangement, reading: int) -> None:
    """Reads the pods. If that changes which pods serve, it reads these at once, as the operator does."""
    now, served = reading * READ, None
    while served != service.served:
        served, control = service.served, service.state.control
        up = control is not None and (arrangement is Arrangement.ALWAYS or now - control.at >= _STARTS)
        ours, baseline = _read(made, arrangement, service.state, reading)
        service.look(ours, now, baseline=baseline if up else {}, baseline_pods=BaselinePodsView(serving=int(up)))


def _read(
    made: ServicePages, arrangement: Arrangement, state: State, reading: int
) -> tuple[dict[str, Counters], dict[str, Counters]]:
    """The pods that serve, and the baseline pod that may run next to them."""
    baseline = {"plain-0": made.baseline[reading]}
    if state.serves_baseline:
        return {"pod-0": made.twin[reading]} | ({} if arrangement is Arrangement.ONE else baseline), {}
    return {f"pod-{each}": made.speculating[each][reading] for each in range(_PODS[arrangement])}, baseline
