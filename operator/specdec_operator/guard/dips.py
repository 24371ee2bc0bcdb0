"""What the step clock of an engine counts: its steps, by tokens and load, and its dips, in which it drafted nothing or
fewer tokens for a few steps (docs/runtime.md). What follows from them is in gain.py and best_tokens.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from specdec_engine import metrics
from specdec_engine.methods import MOST_TOKENS
from specdec_operator.guard.totals import Totals, added, counted_between, faded

_FEWEST_OF_KIND: Final = 3
_LEAST_SCATTER: Final = 0.03
"""Scatter of one dip's ratio, at least: a few dips can agree by chance."""
_WANDERS: Final = 0.06
_UNSEEN_FOR: Final = 4.0
_AS_MANY: Final = 2.0
"""Share by which the ratio of a block may miss that of others, whatever its dips agree on. After four blocks their own
scatter shows it, and this counts as two blocks.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DipTotals(Totals):
    """Of one kind of steps. steps: how many; seconds: of them; requests: that got tokens in them, summed up; tokens:
    that they got. dips: how many; ratios: seconds of a step in a dip / of one around it, summed over the dips; squares:
    of these ratios.

    blocks: of time that these are of; ratio_ratio, ratio_dips, dips_dips: sums over the blocks of the products of their
    ratios and dips.
    """

    steps: float = 0.0
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
        blocks may differ in that too few of them show.
        """
        mean = self.ratios / self.dips
        scatter = max(0.0, self.squares / self.dips - mean * mean) * self.dips / (self.dips - 1)
        by_dips = max(scatter, (_LEAST_SCATTER * mean) ** 2) / self.dips
        missed = max(0.0, self.ratio_ratio - 2 * mean * self.ratio_dips + mean * mean * self.dips_dips)
        few = (self.blocks + 1) * self.blocks / max(0.5, self.blocks - 1) ** 2  # so many squares of so few degrees
        unseen = _AS_MANY / (_AS_MANY + max(0.0, self.blocks - _UNSEEN_FOR)) / self.blocks
        return max(by_dips, few * missed / (self.dips * self.dips)) + (_WANDERS * mean) ** 2 * unseen


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
SERIES: Final[Mapping[str, str]] = {metrics.STEPS: "steps"} | _STEPS | DIPS
"""Which series of an engine's page each total is."""
_MOST_BATCH: Final = 1024


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


OtherKind = tuple[int, int, int]
"""Tokens that the steps around a dip drafted, a request; requests in a step, as in Kind; tokens drafted in the dip."""
OtherTotals = Mapping[OtherKind, DipTotals]
"""Of each of them dips, ratios and squares; the rest is 0."""
AcceptedTotals = Mapping[Kind, tuple[float, ...]]
"""Accepted draft tokens by position, first position first, of steps that took no prompt in."""
ACCEPTED: Final = metrics.STEP_ACCEPTED
"""The series that is read in addition to those of the gain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDips:
    """dips: at other numbers of tokens than nothing. accepted: by kind of step, those in dips too. Without any accepted
    token nothing is known: a rule on the way may have dropped the series.
    """

    dips: OtherTotals = field(default_factory=dict)
    accepted: AcceptedTotals = field(default_factory=dict)

    def since(self, before: "OtherDips") -> "OtherDips":
        """What was counted after `before`; nothing if nothing was known then."""
        if not before.accepted:
            return OtherDips()
        known = {kind: DipTotals() for kind in self.dips} | dict(before.dips)
        accepted = {
            kind: _by_position(each, before.accepted.get(kind, ()), sign=-1.0) for kind, each in self.accepted.items()
        }
        return OtherDips(dips=counted_between(known, self.dips), accepted=accepted)

    def plus(self, other: "OtherDips") -> "OtherDips":
        """Both together: of two pods or windows."""
        kinds = sorted({*self.accepted, *other.accepted})
        accepted = {
            kind: _by_position(self.accepted.get(kind, ()), other.accepted.get(kind, ()), sign=1.0) for kind in kinds
        }
        return OtherDips(dips=added(self.dips, other.dips), accepted=accepted)

    @property
    def as_block(self) -> "OtherDips":
        """As what one block of time has shown."""
        return replace(self, dips={kind: each.of_block for kind, each in self.dips.items()})

    def faded(self, share: float) -> "OtherDips":
        """A share of it."""
        return OtherDips(
            dips=faded(self.dips, share),
            accepted={kind: tuple(share * count for count in each) for kind, each in self.accepted.items()},
        )


def other_dips_of(samples: Iterable[tuple[str, Mapping[str, str], float]]) -> OtherDips:
    """What one pod's samples show: names of series, their labels and values. Nothing of labels that the step clock does
    not write.
    """
    dips: defaultdict[OtherKind, dict[str, float]] = defaultdict(dict)
    accepted: defaultdict[Kind, dict[int, float]] = defaultdict(dict)
    for name, labels, value in samples:
        if name not in DIPS and name != ACCEPTED:
            continue
        kind, dip, position = kind_of(labels), dip_of(labels), _position(labels)
        if kind is None or dip is None or (name == ACCEPTED and position is None):
            return OtherDips()
        if name in DIPS and dip:
            totals = dips[(*kind, dip)]
            totals[DIPS[name]] = totals.get(DIPS[name], 0.0) + value
        elif position is not None and kind[1]:
            accepted[kind][position] = accepted[kind].get(position, 0.0) + value
    if not accepted:
        return OtherDips()
    return OtherDips(
        dips={kind: DipTotals(**totals) for kind, totals in dips.items()},
        accepted={
            kind: tuple(each.get(place, 0.0) for place in range(max(each) + 1)) for kind, each in accepted.items()
        },
    )


def _position(labels: Mapping[str, str]) -> int | None:
    try:
        position = int(labels.get("position", ""))
    except ValueError:
        return None
    return position if 0 <= position < MOST_TOKENS else None


def _by_position(one: Iterable[float], other: Iterable[float], *, sign: float) -> tuple[float, ...]:
    """The sum at each position, or, with a negative sign, what the first has more."""
    return tuple(max(0.0, each + sign * more) for each, more in zip_longest(one, other, fillvalue=0.0))
