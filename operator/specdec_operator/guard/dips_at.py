"""What the step clock of an engine shows of smaller numbers of draft tokens: dips at them, and how many tokens were
accepted at each position. Read from the same samples as the dips at nothing (dips.py), and summed like those.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from specdec_engine import metrics
from specdec_engine.methods import MOST_TOKENS
from specdec_operator.guard.dips import DIPS, DipTotals, Kind, added, counted_between, dip_of, kind_of

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

    def faded(self, share: float) -> "OtherDips":
        """A share of it."""
        return OtherDips(
            dips={kind: each.faded(share) for kind, each in self.dips.items()},
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
