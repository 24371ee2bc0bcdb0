"""Simulated requests: they come in bursts, each is accepted in its own measure, and what is talked about drifts."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

TOKENS: Final = 4
"""K, tokens drafted per step of the target."""
STEP_SECONDS: Final = 0.03
LEAD: Final = 240.0
"""Seconds of traffic before the first reading, so that requests run when it is taken."""
GRID: Final = 5.0
"""Seconds between two values of what drifts."""
_AFTER_EACH_OTHER: Final = 2.0
"""Mean seconds between two requests of one burst."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficKind:
    """How far traffic is from independent draws.

    burst: requests that come together, on average (1: each for itself). likeness: sum of the two parameters of the Beta
    distribution that the acceptance of each request is drawn from. topic: standard deviation of that distribution's
    mean over time, which forgets in topic_seconds (AR(1)). median_steps: of a request; spread_steps: standard deviation
    of their logarithm.
    """

    name: str
    burst: float
    likeness: float
    topic: float
    topic_seconds: float
    median_steps: float = 120.0
    spread_steps: float = 0.8


STEADY: Final = TrafficKind(name="steady", burst=1, likeness=20, topic=0.01, topic_seconds=60)
BURSTY: Final = TrafficKind(name="bursty", burst=5, likeness=10, topic=0.03, topic_seconds=60)
STORMY: Final = TrafficKind(name="stormy", burst=20, likeness=5, topic=0.05, topic_seconds=120)
KINDS: Final = (STEADY, BURSTY, STORMY)
"""From almost independent requests to such whose topic alone moves acceptance by 5 points for minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRequests:
    """Simulated requests in no order: when they begin, in seconds, their steps, and what share of each is accepted.

    local: true acceptance of what is talked about, by tick: the given mean and the topic's drift around it.
    """

    begin: Floats
    steps: Whole
    rate: Floats
    local: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftingTicks:
    """What the engine has counted at each tick. accepted: by position, one row for each. ended: answers that ended,
    their seconds, and their tokens. begun: answers that began; running: that run at this moment.
    """

    drafts: Whole
    accepted: Whole
    ended: tuple[Floats, Floats, Floats]
    begun: Whole
    running: Whole


def requests(
    kind: TrafficKind, mean: Floats, volume: float, tick: float, chance: np.random.Generator
) -> SimulatedRequests:
    """Requests for len(mean) ticks. mean: true acceptance in each tick. volume: requests a second, on average.

    A request's length does not depend on its acceptance, so accepted / drafted approaches `mean` in the long run.
    """
    seconds = len(mean) * tick
    begin = arrivals(kind, volume, seconds, chance)
    steps = np.maximum(1, np.rint(kind.median_steps * np.exp(chance.normal(0, kind.spread_steps, len(begin)))))
    topic = wander(kind.topic, kind.topic_seconds, seconds, chance)
    at = np.clip((begin / tick).astype(np.int64), 0, len(mean) - 1)
    middle = np.clip(mean[at] + topic[on_grid(begin)], 0.01, 0.99)
    rate = chance.beta(kind.likeness * middle, kind.likeness * (1 - middle))
    local: Floats = mean + topic[on_grid(np.linspace(0, seconds, len(mean), endpoint=False))]
    return SimulatedRequests(begin=begin, steps=steps.astype(np.int64), rate=rate, local=local)


def arrivals(kind: TrafficKind, volume: float, seconds: float, chance: np.random.Generator) -> Floats:
    """When requests begin: bursts come by a Poisson process; a burst's size is geometric."""
    bursts = chance.uniform(-LEAD, seconds, chance.poisson(volume / kind.burst * (seconds + LEAD)))
    sizes = chance.geometric(1 / kind.burst, len(bursts))
    begin = np.repeat(bursts, sizes)
    place = np.arange(len(begin)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    late: Floats = begin + np.where(place > 0, chance.gamma(np.maximum(place, 1), _AFTER_EACH_OTHER), 0.0)
    return late[late < seconds]


def wander(deviation: float, memory: float, seconds: float, chance: np.random.Generator) -> Floats:
    """AR(1) around 0 with that standard deviation, one value for each step of the grid, the lead included."""
    kept = float(np.exp(-GRID / memory))
    noise = chance.normal(0, deviation, int((seconds + LEAD) / GRID) + 2)
    fresh = (np.sqrt(1 - kept * kept) * noise).tolist()
    values, value = [], float(noise[0])
    for each in fresh:
        values.append(value)
        value = kept * value + each
    return np.array(values)


def on_grid(at: Floats) -> Whole:
    """The steps of the grid that moments lie in."""
    return ((at + LEAD) / GRID).astype(np.int64)


def drafting(asked: SimulatedRequests, ticks: int, tick: float, chance: np.random.Generator) -> DraftingTicks:
    """Runs the requests: each step drafts TOKENS tokens, and takes them up to the first that is refused."""
    steps, of, at = pieces(asked.begin, asked.steps, np.full(len(asked.begin), STEP_SECONDS), ticks, tick)
    left, chosen, written = steps, each_position(asked.rate)[of], steps.copy()
    counted = [summed(left, at, ticks)]
    for _ in range(TOKENS):
        left = chance.binomial(left, chosen)
        written += left
        counted.append(summed(left, at, ticks))
    tokens = np.bincount(of, weights=written, minlength=len(asked.begin)).astype(np.float64)
    ended, (begun, running) = _ended(asked, tokens, ticks, tick), _begun(asked, ticks, tick)
    return DraftingTicks(
        drafts=counted[0], accepted=np.stack(counted[1:]), ended=ended, begun=begun - begun[0], running=running
    )


def _begun(asked: SimulatedRequests, ticks: int, tick: float) -> tuple[Whole, Whole]:
    """How many answers have begun at each tick, and how many run."""
    at = tick * np.arange(ticks + 1)
    begun, over = (
        np.searchsorted(np.sort(each), at, side="right")
        for each in (asked.begin, asked.begin + STEP_SECONDS * asked.steps)
    )
    return begun, begun - over


def _ended(asked: SimulatedRequests, tokens: Floats, ticks: int, tick: float) -> tuple[Floats, Floats, Floats]:
    """How many answers have ended at each tick, the seconds that they took, and their tokens."""
    seconds = STEP_SECONDS * asked.steps
    at = np.floor((asked.begin + seconds) / tick).astype(np.int64)
    inside = (at >= 0) & (at < ticks)
    one, two, three = (
        np.concatenate(([0.0], np.cumsum(np.bincount(at[inside], weights=each[inside], minlength=ticks))))
        for each in (np.ones(len(seconds)), seconds, tokens)
    )
    return one, two, three


def pieces(begin: Floats, steps: Whole, seconds: Floats, ticks: int, tick: float) -> tuple[Whole, Whole, Whole]:
    """Cuts requests at the ticks: the steps of each piece, the request that it is of, and the tick that it lies in.

    seconds: that one step of each request takes.
    """
    first = np.floor(begin / tick).astype(np.int64)
    number = np.floor((begin + steps * seconds) / tick).astype(np.int64) - first + 1
    of = np.repeat(np.arange(len(number)), number)
    at = first[of] + np.arange(len(of)) - np.repeat(np.cumsum(number) - number, number)
    of, at = of[kept := (at >= 0) & (at < ticks)], at[kept]
    before = np.clip(np.floor((at * tick - begin[of]) / seconds[of]), 0, steps[of])
    after = np.clip(np.floor(((at + 1) * tick - begin[of]) / seconds[of]), 0, steps[of])
    return (after - before).astype(np.int64), of, at


def summed(values: Whole, at: Whole, ticks: int) -> Whole:
    """A counter that starts at 0: its value at each tick, and after the last one."""
    each = np.bincount(at, weights=values, minlength=ticks)
    return np.concatenate(([0], np.cumsum(each))).astype(np.int64)


_CHANCES: Final = np.linspace(0, 1, 2001)
_RATES: Final = np.sum([_CHANCES**power for power in range(1, TOKENS + 1)], axis=0) / TOKENS


def each_position(rate: Floats) -> Floats:
    """The chance p of each position, given that those before it were accepted, for (p + p^2 + ... + p^K) / K = rate."""
    return np.interp(rate, _RATES, _CHANCES)
