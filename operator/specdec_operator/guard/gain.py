"""The gain that an engine's own steps show: with the draft, and without it for a few steps now and then (a dip). Pure.

It is an upper bound. The cache of an engine that only leaves its draft out holds the draft's part, it prepares each
step for drafts, and some runners draft all the same (docs/runtime.md): such a step takes longer than one of the
baseline. So dips show a loss, and prove no gain, unless it was measured by how much (off_cost.py).
"""

from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import exp, hypot, inf, log, sqrt
from typing import Final

from specdec_operator.guard.dips import DipTotals, KindTotals, OtherDips, at_home
from specdec_operator.guard.off_cost import BesideSteps, OffCost
from specdec_operator.guard.off_steps import ArmSteps
from specdec_operator.guard.totals import added, faded

FEWEST_DIPS: Final = 8
"""Dips before their scatter is known."""
_BLOCK: Final = 120.0
"""Seconds of a block, at least: windows of seconds look at a machine once."""
_SPANS: Final = (1, 2, 4, 8, 16)
"""Numbers of last blocks that are looked at by themselves: few show a large change at once, many a small one."""
_LATELY: Final = 4
"""Last blocks that what pays has to show too."""
_FADES: Final = 3600.0
"""Seconds after which a dip counts half among all of them."""
_ALPHA: Final = 0.005
_LOW_ALPHA: Final = 0.05
"""Chance of error of the upper bound, which ends speculation, and of the lower one, by which a minimum yields."""
_MOST_UNSEEN: Final = 0.5
"""Share of the time without dips above which no gain is shown."""
_MIXED: Final = 20.0
"""Number of dips at which the bound is narrowest for its chance of error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DipSpan:
    """What was counted over all pods in some time. kinds: by kind of step, with the dips at nothing; other: dips at
    other tokens. seconds: how much time that is.
    """

    kinds: KindTotals = field(default_factory=dict)
    other: OtherDips = field(default_factory=OtherDips)
    seconds: float = 0.0

    @property
    def as_block(self) -> "DipSpan":
        """As one block of time."""
        kinds = {kind: each.of_block for kind, each in self.kinds.items()}
        return replace(self, kinds=kinds, other=self.other.as_block)

    def plus(self, other: "DipSpan") -> "DipSpan":
        """Both together."""
        kinds, seconds = added(self.kinds, other.kinds), self.seconds + other.seconds
        return DipSpan(kinds=kinds, other=self.other.plus(other.other), seconds=seconds)

    def faded(self, share: float) -> "DipSpan":
        """A share of it, and of its time."""
        return DipSpan(kinds=faded(self.kinds, share), other=self.other.faded(share), seconds=share * self.seconds)


_NO_TIME: Final = DipSpan()
FEWEST_IN_STEPS: Final = 1000.0
"""Requests in steps, summed up, from which on the tokens of a step are known at a load."""
_LEAST_RATIO: Final = 0.01
"""A smaller share of the seconds of a step is of no engine."""


def is_tried(dips: DipTotals) -> bool:
    """Whether dips at another number of tokens are enough to compare it."""
    return dips.dips >= FEWEST_DIPS and dips.ratios > _LEAST_RATIO * dips.dips


def speed_in(dips: DipTotals, length: float) -> tuple[float, float]:
    """The speed of what was tried in dips, times that of the steps around them, and its lower bound. length: tokens of
    its steps, times those of the others.
    """
    ratio = dips.ratios / dips.dips
    speed = length / ratio
    return speed, speed * exp(-width(dips.dips) * sqrt(dips.variance) / ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class DipGain:
    """What the dips of one speculation came to. gain: tokens of a step and request x seconds of a step without the
    draft / with it, by the time of each kind of steps. high: its upper bound. ratio: of the seconds, over the kinds
    with dips; length: of the tokens, of steps that took no prompt in; share: of the time that the kinds with dips took.
    seconds: of the time that the dips are of.

    rest: the part of the gain that is of kinds without dips. prompts: the part of that which is of steps that took a
    prompt in. part: the gain of the others; least: its lower bound;
    lately: what the last blocks show of it on average, None if they have too few dips. low: lower bound of the
    gain over the baseline, in which the rest of the time counts as it is. cost: by which all was corrected. Both are
    None if it is not known. engine_high: the upper bound before that.
    """

    gain: float
    high: float
    ratio: float
    length: float
    share: float
    dips: int
    seconds: float
    rest: float = 0.0
    prompts: float = 0.0
    part: float = 0.0
    least: float = 0.0
    lately: float | None = inf
    low: float | None = None
    cost: OffCost | None = None
    engine_high: float = inf

    @property
    def rows_answer(self) -> bool:
        """Whether drafting nothing is surely faster in the same engine: what Adapt can do about a loss."""
        return (self.high if self.cost is None else self.engine_high) < 1

    def over_baseline(self, cost: OffCost | None) -> "DipGain":
        """Compared with a baseline. cost: what engines that leave their draft out reach of it; None: not known."""
        if cost is None:
            return self
        taken, most = (self.prompts * (1 - _prompts(cost, each, 1.0)) for each in (cost.ratio, cost.high))
        return replace(
            self,
            gain=self.rest - taken + (self.gain - self.rest) * cost.ratio,
            high=self.rest - most + (self.high - self.rest) * cost.high,
            low=self._low(cost, self.lately) if self.lately is not None and 1 - self.share <= _MOST_UNSEEN else None,
            cost=cost,
            engine_high=self.high,
        )

    def _low(self, cost: OffCost, lately: float) -> float:
        """Both errors are of their own: as logarithms, the squares of the distances to the lower ends add up. If it
        is not known how long the baseline takes for prompts, that counts as no time.
        """
        if min(self.least, cost.low) <= 0:
            return 0.0
        width_ = hypot(log(self.part / self.least), log(cost.ratio / cost.low))
        rest = 1 - self.share - self.prompts * (1 - _prompts(cost, cost.low, 0.0))
        return self.share * min(self.part * exp(-width_), lately) * cost.ratio + rest


def _prompts(cost: OffCost, end: float, unknown: float) -> float:
    """What steps that take a prompt in take the baseline, of their time with speculation. end: of the interval of the
    cost, whose error is of the machines, and so of these steps too.
    """
    return unknown if cost.prompts is None else min(1.0, cost.prompts * end / cost.ratio)


@dataclass(frozen=True, slots=True, kw_only=True)
class DipEvidence:
    """The dips of a speculation. open: the block that is not full yet. recent: the last blocks, oldest first; before:
    all blocks, older ones less. beside: the steps at nothing, where baseline pods serve too; alone: those of a service
    without speculation, or those in dips soon after such a service.
    """

    open: DipSpan = _NO_TIME
    recent: tuple[DipSpan, ...] = ()
    before: DipSpan = _NO_TIME
    beside: BesideSteps = field(default_factory=BesideSteps)
    alone: ArmSteps = field(default_factory=ArmSteps)

    def plus(self, window: DipSpan) -> "DipEvidence":
        """With one more window."""
        longer = replace(self, open=self.open.plus(window))
        return longer if longer.open.seconds < _BLOCK else longer._closed()

    def _closed(self) -> "DipEvidence":
        block, faded = self.open.as_block, self.before.faded(0.5 ** (self.open.seconds / _FADES))
        recent = (*self.recent, replace(block, other=OtherDips()))[-_SPANS[-1] :]
        return DipEvidence(recent=recent, before=faded.plus(block), beside=self.beside, alone=self.alone)

    @property
    def gain(self) -> DipGain | None:
        """The gain by some last blocks or by all, whichever has the lowest upper bound; None while all have too few
        dips. Its lower bound is that of all blocks, and no more than the last ones show on average.
        """
        spans = [*accumulate(reversed(self.recent), DipSpan.plus)]
        last = [gain_of(spans[number - 1]) for number in _SPANS if number <= len(spans)]
        before, lately = gain_of(self.before), gain_of(spans[:_LATELY][-1] if spans else _NO_TIME)
        found = [each for each in (before, *last) if each is not None]
        if not found:
            return None
        lowest = min(found, key=lambda gain: gain.high)
        if before is None or lately is None:
            return replace(lowest, lately=None)
        return replace(lowest, part=before.part, least=before.least, lately=lately.part)


def gain_of(span: DipSpan) -> DipGain | None:
    """The gain that the dips of some blocks show; None from too few. Steps of a kind without dips are taken to last as
    long without the draft as with it, so that they never make a loss; those in dips at other tokens are left out.

    A baseline takes a prompt in once too. So a step that does counts as itself, and what it brings beyond one token a
    request as steps without the draft, which a baseline would take for that.
    """
    kinds = at_home(span.kinds)
    seconds = sum(each.seconds for each in kinds.values())
    known = [each for (_, batch), each in kinds.items() if batch and each.is_known]
    dips, seen = sum(each.dips for each in known), sum(each.seconds for each in known)
    if dips < FEWEST_DIPS or seen <= 0:
        return None
    more = _brought_by_prompts(kinds) / sum(each.requests for each in known)
    parts = [(each.seconds / seconds * (each.length + more), each) for each in known]
    prompts = sum(each.seconds for (_, batch), each in kinds.items() if not batch) / seconds
    rest = prompts + _without_dips(kinds) / seconds
    gain = rest + sum(part * each.ratios / each.dips for part, each in parts)
    error = sqrt(sum(part * part * each.variance for part, each in parts))
    share, part = seen / seconds, gain - rest
    return DipGain(
        gain=gain,
        high=gain + width(dips) * error,
        ratio=sum(each.seconds * each.ratios / each.dips for each in known) / seen,
        length=_length(kinds),
        share=share,
        dips=round(dips),
        seconds=span.seconds,
        rest=rest,
        prompts=prompts,
        part=part / share,
        least=max(0.0, part - width(dips, _LOW_ALPHA) * error) / share,
    )


def _without_dips(kinds: KindTotals) -> float:
    """Seconds that the steps without dips, and without prompts, would take without the draft, at most."""
    return sum(each.seconds * each.length for (_, batch), each in kinds.items() if batch and not each.is_known)


def _brought_by_prompts(kinds: KindTotals) -> float:
    """Tokens beyond one a request, of steps that took a prompt in."""
    return sum(max(0.0, each.tokens - each.requests) for (_, batch), each in kinds.items() if not batch)


def _length(kinds: KindTotals) -> float:
    """Tokens of a step and request, over the time of the steps that took no prompt in."""
    steps = [each for (_, batch), each in kinds.items() if batch]
    return sum(each.seconds * each.length for each in steps) / sum(each.seconds for each in steps)


def width(dips: float, alpha: float = _ALPHA) -> float:
    """Standard errors of a bound that holds at every number of dips of one machine at once. alpha: chance of error.

    Normal mixture: Howard, Ramdas, McAuliffe, Sekhon, Annals of Statistics 49 (2021), equation (14).
    """
    return sqrt((dips + _MIXED) / dips * log((dips + _MIXED) / (_MIXED * alpha**2)))
