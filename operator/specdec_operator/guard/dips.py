"""The gain that an engine's own steps show: with the draft, and without it for a few steps now and then (a dip).

It is an upper bound. An engine that only leaves its draft out still samples as for a draft, and its cache holds the
draft's part, so such a step takes longer than one of the baseline (docs/runtime.md). So dips show a loss, and prove no
gain.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from math import log, sqrt
from typing import Final

from specdec_engine import metrics
from specdec_engine.methods import MOST_TOKENS

FEWEST_DIPS: Final = 8
"""Dips before their scatter is known."""
_FEWEST_OF_KIND: Final = 3
_LIKE: Final = 0.5
"""Share of the decoding time that has to be at batch sizes with dips."""
_LEAST_SCATTER: Final = 0.03
"""Scatter of one dip's ratio, at least: a few dips can agree by chance."""
_WANDERS: Final = 0.06
"""Share by which the ratio of a window may miss that of others, whatever its dips agree on."""
_RECENT: Final = 4
"""Windows that show a change soon."""
_FADES: Final = 1800.0
"""Seconds after which a dip counts half among all of them, which show a small loss."""
_ALPHA: Final = 0.001
_MIXED: Final = 20.0
"""Number of dips at which the bound is narrowest for its chance of error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DipTotals:
    """Of one number of tokens and one batch size. seconds: of the steps that took no prompt in; requests: in these
    steps, summed up; tokens: that clients got of them. dips: how many; ratios: seconds of a step in a dip / of one
    around it, summed over the dips; squares: of these ratios.

    windows: that these are of; ratio_ratio, ratio_dips, dips_dips: sums over the windows of the products of their
    ratios and dips.
    """

    seconds: float = 0.0
    requests: float = 0.0
    tokens: float = 0.0
    dips: float = 0.0
    ratios: float = 0.0
    squares: float = 0.0
    windows: float = 0.0
    ratio_ratio: float = 0.0
    ratio_dips: float = 0.0
    dips_dips: float = 0.0

    @property
    def of_window(self) -> "DipTotals":
        """As what one window has shown."""
        return replace(
            self,
            windows=float(self.dips > 0),
            ratio_ratio=self.ratios * self.ratios,
            ratio_dips=self.ratios * self.dips,
            dips_dips=self.dips * self.dips,
        )

    @property
    def variance(self) -> float:
        """Of the mean ratio: by the scatter of the dips or by that of the windows, whichever is larger, and by what
        windows may differ in that were not seen yet.
        """
        mean = self.ratios / self.dips
        scatter = max(0.0, self.squares / self.dips - mean * mean) * self.dips / (self.dips - 1)
        by_dips = max(scatter, (_LEAST_SCATTER * mean) ** 2) / self.dips
        missed = self.ratio_ratio - 2 * mean * self.ratio_dips + mean * mean * self.dips_dips
        by_windows = max(0.0, missed) / (self.dips * self.dips) * self.windows / max(0.5, self.windows - 1)
        return max(by_dips, by_windows) + (_WANDERS * mean) ** 2 / self.windows

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
"""Tokens that were drafted, a request; and requests in a step, rounded up to a power of two."""
KindTotals = Mapping[Kind, DipTotals]
SERIES: Final[Mapping[str, str]] = {
    metrics.STEP_SECONDS: "seconds",
    metrics.STEP_REQUESTS: "requests",
    metrics.STEP_TOKENS: "tokens",
    metrics.DIPS: "dips",
    metrics.DIP_RATIOS: "ratios",
    metrics.DIP_SQUARES: "squares",
}
"""Which series of an engine's page each total is."""
_MOST_BATCH: Final = 1024


def totals_of(samples: Iterable[tuple[str, Mapping[str, str], float]]) -> KindTotals:
    """The totals of one pod, by kind. samples: names of series, their labels and values. Steps that took a prompt in,
    and those that drafted nothing, are left out. Raises ValueError for labels that the step clock does not write.
    """
    found: defaultdict[Kind, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for name, labels, value in samples:
        if name in SERIES and labels.get("prompt") != "true":
            found[_kind(labels)][SERIES[name]] += value
    return {kind: DipTotals(**totals) for kind, totals in found.items() if kind[0]}


def _kind(labels: Mapping[str, str]) -> Kind:
    tokens, batch = (int(labels.get(name, "-1")) for name in ("tokens", "batch"))
    if not (0 <= tokens <= MOST_TOKENS and 0 < batch <= _MOST_BATCH):
        raise ValueError(f"tokens={tokens}, batch={batch}: must be 0 to {MOST_TOKENS}, and 1 to {_MOST_BATCH}")
    return tokens, batch


def counted_between(before: KindTotals, after: KindTotals) -> KindTotals:
    """What was counted between two readings of a pod. Nothing if the first has none: a server may drop the series of
    one of two scrapes, and the totals are of hours.
    """
    if not before:
        return {}
    return {kind: each.since(before.get(kind, _NOTHING)) for kind, each in after.items()}


def added(*parts: KindTotals) -> KindTotals:
    """The sum of several pods or windows."""
    kinds = sorted({kind for part in parts for kind in part})
    return {kind: reduce(DipTotals.plus, (part[kind] for part in parts if kind in part)) for kind in kinds}


@dataclass(frozen=True, slots=True, kw_only=True)
class DipGain:
    """What the dips of one speculation came to. gain: tokens of a step and request x seconds of a step without the
    draft / with it, by the time at each batch size. high: its upper bound, which holds in all windows at once with a
    chance of 0.999. ratio: the seconds alone; length: the tokens alone.
    """

    gain: float
    high: float
    ratio: float
    length: float
    dips: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DipEvidence:
    """The dips of a speculation. recent: of the last windows, oldest first; before: of all windows, older ones less."""

    recent: tuple[KindTotals, ...] = ()
    before: KindTotals = field(default_factory=dict)

    def plus(self, window: KindTotals, seconds: float) -> "DipEvidence":
        """With one more window, of so many seconds."""
        new = {kind: each.of_window for kind, each in window.items()}
        faded = {kind: each.faded(0.5 ** (seconds / _FADES)) for kind, each in self.before.items()}
        return DipEvidence(recent=(*self.recent, new)[-_RECENT:], before=added(faded, new))

    @property
    def gain(self) -> DipGain | None:
        """The gain by the last windows or by all, whichever has the lower bound; None while both have too few dips."""
        known = (gain_of(kinds) for kinds in (added(*self.recent), self.before))
        return min((each for each in known if each is not None), key=lambda gain: gain.high, default=None)


def gain_of(kinds: KindTotals) -> DipGain | None:
    """The gain that some dips show; None from too few, and if most of the time was at batch sizes without them."""
    known = [each for each in kinds.values() if each.dips >= _FEWEST_OF_KIND and each.requests > 0]
    dips, seconds = (sum(getattr(each, name) for each in known) for name in ("dips", "seconds"))
    if dips < FEWEST_DIPS or seconds <= 0 or seconds < _LIKE * sum(each.seconds for each in kinds.values()):
        return None
    parts = [(each.seconds / seconds, each.tokens / each.requests, each) for each in known]
    gain = sum(share * length * each.ratios / each.dips for share, length, each in parts)
    error = sqrt(sum((share * length) ** 2 * each.variance for share, length, each in parts))
    ratio = sum(share * each.ratios / each.dips for share, _, each in parts)
    high = gain + _width(dips) * error
    return DipGain(gain=gain, high=high, ratio=ratio, length=gain / ratio, dips=round(dips))


def _width(dips: float) -> float:
    """Standard errors of a bound that holds at every number of dips at once: every window may be looked at.

    Normal mixture: Howard, Ramdas, McAuliffe, Sekhon, Annals of Statistics 49 (2021), equation (14).
    """
    return sqrt((dips + _MIXED) / dips * log((dips + _MIXED) / (_MIXED * _ALPHA**2)))
