"""Repeats of both sides -> figures. A repeat is the sample: its requests are asked together and are not independent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from specdec_operator.measure.answer import Answer
from specdec_operator.measure.drafting import Drafting, total
from specdec_operator.measure.sides import Side, Turn
from specdec_operator.measure.spread import Ratio, Spread, median, ratio, spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """All prompts, asked once. seconds: from the first request to the end of the last answer."""

    turn: Turn
    seconds: float
    answers: tuple[Answer, ...]
    drafting: Drafting

    @property
    def tokens(self) -> int:
        """Completion tokens of all answers."""
        return sum(each.tokens for each in self.answers)

    @property
    def tokens_per_second(self) -> float:
        """Of the whole repeat."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One side at one concurrency: medians and quartiles over its repeats. Times in seconds."""

    first_token: Spread
    per_token: Spread | None
    tokens_per_second: Spread
    acceptance: Spread | None
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
    """Both sides at one concurrency. Ratios are of repeats with the same number; above 1, speculation is faster.

    first_token, per_token: time plain / time speculating. tokens_per_second: speculating / plain.
    equal: answers of both sides. plain_again: answers of the plain side, from one repeat to its next.
    """

    concurrency: int
    repeats: int
    speculating: Figures
    plain: Figures
    first_token: Ratio
    per_token: Ratio | None
    tokens_per_second: Ratio
    equal: Equal
    plain_again: Equal


def levels(repeats: Sequence[Repeat]) -> tuple[Level, ...]:
    """The comparison for each concurrency, in the order in which they were measured."""
    return tuple(
        _level(concurrency, [each for each in repeats if each.turn.concurrency == concurrency])
        for concurrency in dict.fromkeys(each.turn.concurrency for each in repeats)
    )


def _level(concurrency: int, repeats: Sequence[Repeat]) -> Level:
    ordered = sorted(repeats, key=lambda each: each.turn.repeat)
    speculating = [each for each in ordered if each.turn.side is Side.SPECULATING]
    plain = [each for each in ordered if each.turn.side is Side.PLAIN]
    pairs = list(zip(speculating, plain, strict=True))
    per_token = [p.per_token / s.per_token for s, p in pairs if s.per_token and p.per_token]
    return Level(
        concurrency=concurrency,
        repeats=len(pairs),
        speculating=figures(speculating),
        plain=figures(plain),
        first_token=ratio([p.first_token / s.first_token for s, p in pairs]),
        per_token=ratio(per_token) if per_token else None,
        tokens_per_second=ratio([s.tokens_per_second / p.tokens_per_second for s, p in pairs]),
        equal=_equal(pairs),
        plain_again=_equal(list(pairwise(plain))),
    )


def figures(repeats: Sequence[Repeat]) -> Figures:
    """The figures of one side at one concurrency."""
    return Figures(
        first_token=spread([each.first_token for each in repeats]),
        per_token=_spread_of(repeats, lambda each: each.per_token),
        tokens_per_second=spread([each.tokens_per_second for each in repeats]),
        acceptance=_spread_of(repeats, lambda each: each.drafting.rate),
        drafting=total(each.drafting for each in repeats),
    )


def _spread_of(repeats: Sequence[Repeat], value: Callable[[Repeat], float | None]) -> Spread | None:
    found = [number for each in repeats if (number := value(each)) is not None]
    return spread(found) if found else None


def _equal(pairs: Sequence[tuple[Repeat, Repeat]]) -> Equal:
    alike = [
        one.text == other.text for left, right in pairs for one, other in zip(left.answers, right.answers, strict=True)
    ]
    return Equal(same=sum(alike), of=len(alike))
