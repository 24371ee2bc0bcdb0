"""Repeats of both sides -> figures. A repeat is the sample: its requests are asked together and are not independent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Final

from specdec_command.measure.answer import Answer
from specdec_command.measure.benchmark import BenchmarkOrder, BenchmarkRound, Load, Side
from specdec_command.measure.context import Context
from specdec_command.measure.statistics import Quartiles, Ratio, median, ratio, spread
from specdec_operator.guard.cache_use import CacheReading, LengthFall, length_fall
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
    """What the counters of the pods did in between; None if a pod came, went or restarted."""
    if before.keys() != after.keys() or any(restarted(before[pod], after[pod]) for pod in after):
        return None
    return total(_between(before[pod], after[pod]) for pod in after)


def total(parts: Iterable[Drafting]) -> Drafting:
    """The sum."""
    every = tuple(parts)
    return Drafting(
        drafts=sum(each.drafts for each in every),
        drafted=sum(each.drafted for each in every),
        accepted=sum(each.accepted for each in every),
        generated=sum(each.generated for each in every),
        positions=tuple(map(sum, zip_longest(*(each.positions for each in every), fillvalue=0.0))),
    )


def _between(before: Counters, after: Counters) -> Drafting:
    pairs = zip_longest(before.accepted_per_position, after.accepted_per_position, fillvalue=0.0)
    return Drafting(
        drafts=after.drafts - before.drafts,
        drafted=after.draft_tokens - before.draft_tokens,
        accepted=after.accepted_tokens - before.accepted_tokens,
        generated=after.generation_tokens - before.generation_tokens,
        positions=tuple(later - earlier for earlier, later in pairs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredPrompts:
    """Prompts, asked once. seconds: from the first request to the end of the last answer. drafting: of the engines
    meanwhile.
    """

    seconds: float
    answers: tuple[Answer, ...]
    drafting: Drafting

    @property
    def tokens(self) -> int:
        """Completion tokens of all answers."""
        return sum(each.tokens for each in self.answers)

    @property
    def tokens_per_second(self) -> float:
        """Of the whole time."""
        return self.tokens / self.seconds

    @property
    def first_token(self) -> float:
        """Median seconds to the first token."""
        return median([each.first for each in self.answers])

    @property
    def per_token(self) -> float | None:
        """Median seconds per output token; None where every answer had one token only."""
        times = [each.per_token for each in self.answers if each.per_token is not None]
        return median(times) if times else None


_STRANGERS: Final = 0.02
"""Share of tokens from other requests than these, above which there are other clients."""


def has_strangers(repeats: Sequence[AnsweredPrompts]) -> bool:
    """Whether the engines also wrote answers of other clients meanwhile."""
    ours, all_of_them = sum(each.tokens for each in repeats), sum(each.drafting.generated for each in repeats)
    return all_of_them > ours * (1 + _STRANGERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat(AnsweredPrompts):
    """All prompts, asked once. cache_used: mean share of the KV cache in use meanwhile; None if it was not read."""

    turn: BenchmarkRound
    cache_used: float | None = None

    @property
    def cache_reading(self) -> CacheReading | None:
        """What was drafted while so much of the cache was in use; None if that is unknown."""
        if self.cache_used is None:
            return None
        done = self.drafting
        return CacheReading(
            used=self.cache_used, drafts=done.drafts, draft_tokens=done.drafted, accepted_tokens=done.accepted
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFigures:
    """One side at one load: medians and quartiles over its repeats. Times in seconds."""

    first_token: Quartiles
    per_token: Quartiles | None
    tokens_per_second: Quartiles
    acceptance: Quartiles | None
    drafting: Drafting


@dataclass(frozen=True, slots=True, kw_only=True)
class Equal:
    """How many of so many pairs of answers to the same prompt are the same text."""

    same: int
    of: int

    @property
    def share(self) -> float:
        """same / of."""
        return self.same / self.of if self.of else 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Both sides at one load. Ratios are of repeats with the same number; above 1, speculation is faster.

    first_token, per_token: time plain / time speculating. tokens_per_second: speculating / plain.
    equal: answers of both sides. plain_again: answers of the plain side, from one repeat to its next.
    """

    load: Load
    repeats: int
    speculating: SideFigures
    plain: SideFigures
    first_token: Ratio
    per_token: Ratio | None
    tokens_per_second: Ratio
    equal: Equal
    plain_again: Equal

    @property
    def concurrency(self) -> int | None:
        """Requests at once; None at an arrival rate."""
        return self.load.concurrency


def levels(repeats: Sequence[Repeat]) -> tuple[Level, ...]:
    """The comparison for each load, in the order in which they were measured."""
    return tuple(
        _level(load, [each for each in repeats if each.turn.load == load])
        for load in dict.fromkeys(each.turn.load for each in repeats)
    )


def _level(load: Load, repeats: Sequence[Repeat]) -> Level:
    ordered = sorted(repeats, key=lambda each: each.turn.repeat)
    speculating = [each for each in ordered if each.turn.side is Side.SPECULATING]
    baseline = [each for each in ordered if each.turn.side is Side.BASELINE]
    pairs = list(zip(speculating, baseline, strict=True))
    per_token = [p.per_token / s.per_token for s, p in pairs if s.per_token and p.per_token]
    return Level(
        load=load,
        repeats=len(pairs),
        speculating=figures(speculating),
        plain=figures(baseline),
        first_token=ratio([p.first_token / s.first_token for s, p in pairs]),
        per_token=ratio(per_token) if per_token else None,
        tokens_per_second=ratio([s.tokens_per_second / p.tokens_per_second for s, p in pairs]),
        equal=equal(pairs),
        plain_again=equal(list(pairwise(baseline))),
    )


def figures(repeats: Sequence[AnsweredPrompts]) -> SideFigures:
    """Medians and quartiles over repeats, and the sum of what was drafted."""
    return SideFigures(
        first_token=spread([each.first_token for each in repeats]),
        per_token=_spread([each.per_token for each in repeats]),
        tokens_per_second=spread([each.tokens_per_second for each in repeats]),
        acceptance=_spread([each.drafting.rate for each in repeats]),
        drafting=total(each.drafting for each in repeats),
    )


def _spread(values: Sequence[float | None]) -> Quartiles | None:
    numbers = [each for each in values if each is not None]
    return spread(numbers) if numbers else None


def equal(pairs: Sequence[tuple[AnsweredPrompts, AnsweredPrompts]]) -> Equal:
    """How many answers of two repeats of the same prompts are the same text."""
    alike = [
        one.text == other.text for left, right in pairs for one, other in zip(left.answers, right.answers, strict=True)
    ]
    return Equal(same=sum(alike), of=len(alike))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The order, the context and every repeat. redone: why repeats were thrown away and done again."""

    order: BenchmarkOrder
    context: Context
    repeats: tuple[Repeat, ...]
    redone: tuple[str, ...]

    @property
    def levels(self) -> tuple[Level, ...]:
        """The comparison for each load."""
        return levels(self.repeats)

    @property
    def length_fall(self) -> LengthFall | None:
        """Whether the acceptance length falls while the KV cache fills, over all repeats."""
        return length_fall(each.cache_reading for each in self.repeats if each.cache_reading is not None)
