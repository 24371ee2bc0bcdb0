"""The gain that an engine's own steps show: with the draft, and without it for a few steps now and then (a dip).

It is an upper bound. An engine that only leaves its draft out still samples as for a draft, and its cache holds the
draft's part, so such a step takes longer than one of the baseline (docs/runtime.md). So dips show a loss, and prove no
gain. Some dips draft other tokens instead of none: dips_at.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from math import log, sqrt
from typing import Final, TypeVar

from specdec_engine import metrics
from specdec_engine.methods import MOST_TOKENS

FEWEST_DIPS: Final = 8
"""Dips before their scatter is known."""
_FEWEST_OF_KIND: Final = 3
_LEAST_SCATTER: Final = 0.03
"""Scatter of one dip's ratio, at least: a few dips can agree by chance."""
_WANDERS: Final = 0.08
"""Share by which the ratio of a block may miss that of others, whatever its dips agree on."""
_BLOCK: Final = 120.0
"""Seconds of a block, at least: windows of seconds look at a machine once."""
_RECENT: Final = 4
"""Blocks that show a change soon."""
_FADES: Final = 1800.0
"""Seconds after which a dip counts half among all of them, which show a small loss."""
_ALPHA: Final = 0.001
_MIXED: Final = 20.0
"""Number of dips at which the bound is narrowest for its chance of error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DipTotals:
    """Of one kind of steps. seconds: of the steps; requests: that got tokens in them, summed up; tokens: that they got.
    dips: how many; ratios: seconds of a step in a dip / of one around it, summed over the dips; squares: of these
    ratios.

    blocks: of time that these are of; ratio_ratio, ratio_dips, dips_dips: sums over the blocks of the products of their
    ratios and dips.
    """

    seconds: float = 0.0
    requests: float = 0.0
    tokens: float = 0.0
    dips: float = 0.0
    ratios: float = 0.0
    squares: float = 0.0
    blocks: float = 0.0
    ratio_ratio: float = 0.0
    ratio_dips: float = 0.0
    dips_dips: float = 0.0

    @property
    def of_block(self) -> "DipTotals":
        """As what one block of time has shown."""
        return replace(
            self,
            blocks=float(self.dips > 0),
            ratio_ratio=self.ratios * self.ratios,
            ratio_dips=self.ratios * self.dips,
            dips_dips=self.dips * self.dips,
        )

    @property
    def is_known(self) -> bool:
        """Whether there are dips enough to compare, and steps around them."""
        return self.dips >= _FEWEST_OF_KIND and min(self.requests, self.tokens, self.ratios, self.squares) > 0

    @property
    def length(self) -> float:
        """Tokens of a step and request; at least the one of an engine without a draft."""
        return max(1.0, self.tokens / self.requests) if self.requests > 0 else 1.0

    @property
    def variance(self) -> float:
        """Of the mean ratio: by the scatter of the dips or by that of the blocks, whichever is larger, and by what
        blocks may differ in that were not seen yet.
        """
        mean = self.ratios / self.dips
        scatter = max(0.0, self.squares / self.dips - mean * mean) * self.dips / (self.dips - 1)
        by_dips = max(scatter, (_LEAST_SCATTER * mean) ** 2) / self.dips
        missed = max(0.0, self.ratio_ratio - 2 * mean * self.ratio_dips + mean * mean * self.dips_dips)
        few = (self.blocks + 1) * self.blocks / max(0.5, self.blocks - 1) ** 2  # so many squares of so few degrees
        return max(by_dips, few * missed / (self.dips * self.dips)) + (_WANDERS * mean) ** 2 / self.blocks

    def since(self, before: "DipTotals") -> "DipTotals":
        """What was counted after `before`."""
        return DipTotals(**{name: max(0.0, getattr(self, name) - getattr(before, name)) for name in _NAMES})

    def plus(self, other: "DipTotals") -> "DipTotals":
        """Both together."""
        return DipTotals(**{name: getattr(self, name) + getattr(other, name) for name in _NAMES})

    def faded(self, share: float) -> "DipTotals":
        """A share of it."""
        return DipTotals(**{name: share * getattr(self, name) for name in _NAMES})


_NAMES: Final = tuple(each.name for each in fields(DipTotals))
_NOTHING: Final = DipTotals()
Kind = tuple[int, int]
"""Tokens that were drafted, a request; and requests in a step, rounded up to a power of two (0: steps that took a
prompt in).
"""
KindTotals = Mapping[Kind, DipTotals]
_STEPS: Final = {
    metrics.STEP_SECONDS: "seconds",
    metrics.STEP_REQUESTS: "requests",
    metrics.STEP_TOKENS: "tokens",
}
DIPS: Final = {metrics.DIPS: "dips", metrics.DIP_RATIOS: "ratios", metrics.DIP_SQUARES: "squares"}
SERIES: Final[Mapping[str, str]] = _STEPS | DIPS
"""Which series of an engine's page each total is."""
_MOST_BATCH: Final = 1024
_Any = TypeVar("_Any", bound=tuple[int, ...])


def totals_of(samples: Iterable[tuple[str, Mapping[str, str], float]]) -> KindTotals:
    """The totals of one pod, by kind. samples: names of series, their labels and values. Steps that drafted nothing are
    left out, and dips at other tokens than none; the steps in these are kinds of their own (at_home). Nothing of a page
    of which a rule on the way dropped series or labels: what is missing was not 0.
    """
    found: defaultdict[Kind, dict[str, float]] = defaultdict(dict)
    seen: set[str] = set()
    for name, labels, value in samples:
        if name in SERIES:
            seen.add(name)
            kind, dip, total = kind_of(labels), dip_of(labels), SERIES[name]
            if kind is None or dip is None:
                return {}
            if not dip:
                found[kind][total] = found[kind].get(total, 0.0) + value
    if any(seen & each.keys() and not each.keys() <= seen for each in (_STEPS, DIPS)):
        return {}
    return {kind: DipTotals(**totals) for kind, totals in found.items() if kind[0]}


def kind_of(labels: Mapping[str, str]) -> Kind | None:
    """The kind that labels name; None for labels that the step clock does not write."""
    try:
        tokens, batch = (int(labels.get(name, "")) for name in ("tokens", "batch"))
    except ValueError:
        return None
    if not (0 <= tokens <= MOST_TOKENS and 0 < batch <= _MOST_BATCH):
        return None
    return tokens, 0 if labels.get("prompt") == "true" else batch


def dip_of(labels: Mapping[str, str]) -> int | None:
    """Tokens that were drafted in the dip: 0 without the label. None for one that the step clock does not write."""
    text = labels.get("dip") or "0"
    return int(text) if text.isdecimal() and int(text) <= MOST_TOKENS else None


def homes(kinds: KindTotals) -> Mapping[int, int]:
    """By batch size, the number of tokens that took most of its seconds."""
    return {batch: tokens for tokens, batch in sorted(kinds, key=lambda kind: kinds[kind].seconds)}


def at_home(kinds: KindTotals) -> KindTotals:
    """Without the steps that were in dips at other tokens: of a number that has no dips itself, while another number
    took more of the time at this batch size. Steps that take a prompt in are in no dip.
    """
    home = homes(kinds)
    return {
        (tokens, batch): each
        for (tokens, batch), each in kinds.items()
        if tokens == home[batch] or each.dips or not batch
    }


def counted_between(before: Mapping[_Any, DipTotals], after: Mapping[_Any, DipTotals]) -> Mapping[_Any, DipTotals]:
    """What was counted between two readings of a pod. Nothing if the first has none: a server may drop the series of
    one of two scrapes, and the totals are of hours.
    """
    if not before:
        return {}
    return {kind: each.since(before.get(kind, _NOTHING)) for kind, each in after.items()}


def added(*parts: Mapping[_Any, DipTotals]) -> Mapping[_Any, DipTotals]:
    """The sum of several pods or windows."""
    kinds = sorted({kind for part in parts for kind in part})
    return {kind: reduce(DipTotals.plus, (part[kind] for part in parts if kind in part)) for kind in kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class DipSpan:
    """What was counted over all pods in some time, by kind. seconds: how much time that is."""

    kinds: KindTotals = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def as_block(self) -> "DipSpan":
        """As one block of time."""
        return replace(self, kinds={kind: each.of_block for kind, each in self.kinds.items()})

    def plus(self, other: "DipSpan") -> "DipSpan":
        """Both together."""
        return DipSpan(kinds=added(self.kinds, other.kinds), seconds=self.seconds + other.seconds)

    def faded(self, share: float) -> "DipSpan":
        """A share of it, and of its time."""
        kinds = {kind: each.faded(share) for kind, each in self.kinds.items()}
        return DipSpan(kinds=kinds, seconds=share * self.seconds)


_NO_TIME: Final = DipSpan()


@dataclass(frozen=True, slots=True, kw_only=True)
class DipGain:
    """What the dips of one speculation came to. gain: tokens of a step and request x seconds of a step without the
    draft / with it, by the time of each kind of steps. high: its upper bound. ratio: of the seconds, over the kinds
    with dips; length: of the tokens, over all; share: of the time that the kinds with dips took. seconds: of the time
    that the dips are of.
    """

    gain: float
    high: float
    ratio: float
    length: float
    share: float
    dips: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DipEvidence:
    """The dips of a speculation. open: the block that is not full yet. recent: the last blocks, oldest first; before:
    all blocks, older ones less.
    """

    open: DipSpan = _NO_TIME
    recent: tuple[DipSpan, ...] = ()
    before: DipSpan = _NO_TIME

    def plus(self, window: KindTotals, seconds: float) -> "DipEvidence":
        """With one more window, of so many seconds."""
        longer = replace(self, open=self.open.plus(DipSpan(kinds=window, seconds=seconds)))
        return longer if longer.open.seconds < _BLOCK else longer._closed()

    def _closed(self) -> "DipEvidence":
        block, faded = self.open.as_block, self.before.faded(0.5 ** (self.open.seconds / _FADES))
        return DipEvidence(recent=(*self.recent, block)[-_RECENT:], before=faded.plus(block))

    @property
    def gain(self) -> DipGain | None:
        """The gain by the last blocks or by all, whichever has the lower bound; None while both have too few dips."""
        known = map(gain_of, (reduce(DipSpan.plus, self.recent, _NO_TIME), self.before))
        return min((each for each in known if each is not None), key=lambda gain: gain.high, default=None)


def gain_of(span: DipSpan) -> DipGain | None:
    """The gain that the dips of some blocks show; None from too few. Steps of a kind without dips are taken to last as
    long without the draft as with it, so that they never make a loss; those in dips at other tokens are left out.
    """
    kinds = at_home(span.kinds).values()
    known = [each for each in kinds if each.is_known]
    seconds, dips = sum(each.seconds for each in kinds), sum(each.dips for each in known)
    if dips < FEWEST_DIPS or seconds <= 0:
        return None
    share = sum(each.seconds for each in known) / seconds
    if not share:
        return None
    parts = [(each.seconds / seconds * each.length, each) for each in known]
    length = sum(each.seconds / seconds * each.length for each in kinds)
    rest = length - sum(part for part, _ in parts)
    gain = rest + sum(part * each.ratios / each.dips for part, each in parts)
    error = sqrt(sum(part * part * each.variance for part, each in parts))
    ratio = sum(each.seconds * each.ratios / each.dips for each in known) / (share * seconds)
    high = gain + _width(dips) * error
    return DipGain(
        gain=gain, high=high, ratio=ratio, length=length, share=share, dips=round(dips), seconds=span.seconds
    )


def _width(dips: float) -> float:
    """Standard errors of a bound that holds at every number of dips of one machine at once, with a chance of 0.999.

    Normal mixture: Howard, Ramdas, McAuliffe, Sekhon, Annals of Statistics 49 (2021), equation (14).
    """
    return sqrt((dips + _MIXED) / dips * log((dips + _MIXED) / (_MIXED * _ALPHA**2)))
