"""What the engines' own counters say of one repeat."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import zip_longest

from specdec_operator.guard.counters import Counters, restarted


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """Sums over the pods of one side. drafts: steps with a draft. Others: tokens, accepted ones by position as well.

    generated: tokens of all answers, those of other clients among them.
    """

    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    generated: float = 0.0
    positions: tuple[float, ...] = ()

    @property
    def rate(self) -> float | None:
        """Accepted / drafted tokens; None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted else None

    @property
    def length(self) -> float | None:
        """1 + accepted tokens / drafts; None where nothing was drafted."""
        return 1 + self.accepted / self.drafts if self.drafts else None

    @property
    def by_position(self) -> tuple[float, ...]:
        """The share of drafts whose token at each position was accepted."""
        return tuple(each / self.drafts for each in self.positions) if self.drafts else ()


def drafting(before: Mapping[str, Counters], after: Mapping[str, Counters]) -> Drafting | None:
    """What the counters of the pods did in between; None where a pod came, went or began anew."""
    if before.keys() != after.keys() or any(restarted(before[pod], after[pod]) for pod in after):
        return None
    return total(_between(before[pod], after[pod]) for pod in after)


def total(parts: Iterable[Drafting]) -> Drafting:
    """The sum."""
    found = Drafting()
    for each in parts:
        found = Drafting(
            drafts=found.drafts + each.drafts,
            drafted=found.drafted + each.drafted,
            accepted=found.accepted + each.accepted,
            generated=found.generated + each.generated,
            positions=tuple(a + b for a, b in zip_longest(found.positions, each.positions, fillvalue=0.0)),
        )
    return found


def _between(before: Counters, after: Counters) -> Drafting:
    pairs = zip_longest(before.accepted_per_position, after.accepted_per_position, fillvalue=0.0)
    return Drafting(
        drafts=after.drafts - before.drafts,
        drafted=after.draft_tokens - before.draft_tokens,
        accepted=after.accepted_tokens - before.accepted_tokens,
        generated=after.generation_tokens - before.generation_tokens,
        positions=tuple(later - earlier for earlier, later in pairs),
    )
