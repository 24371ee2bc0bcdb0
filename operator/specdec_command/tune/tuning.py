"""Rounds -> the number of draft tokens at each load, with its proof, and what to change in the spec. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from specdec_command.measure.benchmark import Load
from specdec_command.measure.compare import AnsweredPrompts, Equal, SideFigures, equal, figures, has_strangers
from specdec_command.measure.context import Object, Running, ServiceContext
from specdec_command.measure.statistics import Ratio, ratio
from specdec_command.tune.order import Limits, TuneOrder, TuneRound

_WORTH: Final = 1.02
"""How much faster another number of tokens has to be: no client notices less."""
_ERROR: Final = 0.05
"""Chance that any of the intervals at one load misses, as far as the repeats allow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneRepeat(AnsweredPrompts):
    """What came of one round."""

    turn: TuneRound


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneContext(ServiceContext):
    """What was tuned, and on what. requested: draft tokens of spec.speculation."""

    requested: int
    running: Running


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTokens:
    """One number of draft tokens at one load. speed: tokens/s, times those of the requested number in the same repeat;
    None for that number itself. equal: answers equal to those with the requested number.
    """

    tokens: int
    figures: SideFigures
    speed: Ratio | None
    equal: Equal | None
    within_limits: bool

    @property
    def is_faster(self) -> bool:
        """Whether it is surely faster than the requested number, by as much as a client notices."""
        return self.speed is not None and self.speed.low > 1 and self.speed.median >= _WORTH

    def words(self, requested: int) -> str:
        """How fast it is."""
        if self.speed is None:
            return "as requested"
        return f"{self.speed.median:.2f} times as fast as {requested} ({self.speed.low:.2f} to {self.speed.high:.2f})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedLoad:
    """One load: what was tried, fewest tokens first, and the number that is best there, with the reason."""

    load: Load
    repeats: int
    tried: tuple[TriedTokens, ...]
    tokens: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """The order, the context and every round. service: as it was; redone: why rounds were thrown away."""

    order: TuneOrder
    context: TuneContext
    service: Object
    repeats: tuple[TuneRepeat, ...]
    redone: tuple[str, ...]

    @property
    def has_strangers(self) -> bool:
        """Whether other clients sent requests meanwhile."""
        return has_strangers(self.repeats)

    @property
    def loads(self) -> tuple[TunedLoad, ...]:
        """What is best at each load, fewest requests first."""
        found = sorted({each.turn.load.concurrency or 1 for each in self.repeats})
        return tuple(self._load(Load(concurrency=each)) for each in found)

    def _load(self, load: Load) -> TunedLoad:
        return tuned(
            load, [each for each in self.repeats if each.turn.load == load], self.context.requested, self.order.limits
        )


def tuned(load: Load, repeats: Sequence[TuneRepeat], requested: int, limits: Limits) -> TunedLoad:
    """What the rounds at one load come to."""
    by_tokens: dict[int, dict[int, TuneRepeat]] = {}
    for each in repeats:
        by_tokens.setdefault(each.turn.tokens, {})[each.turn.repeat] = each
    base = by_tokens[requested]
    sure = 1 - _ERROR / max(1, len(by_tokens) - 1)
    tried = tuple(_tried(tokens, by_tokens[tokens], base, limits, sure) for tokens in sorted(by_tokens))
    chosen, why = _best(tried)
    return TunedLoad(load=load, repeats=len(base), tried=tried, tokens=chosen.tokens, why=why)


def _tried(
    tokens: int, mine: Mapping[int, TuneRepeat], base: Mapping[int, TuneRepeat], limits: Limits, sure: float
) -> TriedTokens:
    pairs = [(each, base[number]) for number, each in sorted(mine.items())]
    found, other = figures([each for each, _ in pairs]), mine is not base
    return TriedTokens(
        tokens=tokens,
        figures=found,
        speed=ratio([one.tokens_per_second / two.tokens_per_second for one, two in pairs], sure) if other else None,
        equal=equal(pairs) if other else None,
        within_limits=_within(found, limits),
    )


def _within(found: SideFigures, limits: Limits) -> bool:
    per_token = found.per_token.median if found.per_token else 0.0
    limited = ((found.first_token.median, limits.first_token), (per_token, limits.per_token))
    return all(limit is None or value <= limit for value, limit in limited)


def _best(tried: Sequence[TriedTokens]) -> tuple[TriedTokens, str]:
    """The fastest number within the limits, if it is surely faster than the requested one; else that one, unless it is
    beyond the limits and another is within them.
    """
    requested = next(each for each in tried if each.speed is None)
    allowed = [each for each in tried if each.within_limits]
    faster = [each for each in allowed or tried if each.is_faster]
    beyond = "" if allowed else "; no number keeps the limits"
    if faster:
        best = max(faster, key=lambda each: each.speed.low if each.speed else 1.0)
        return best, f"{best.words(requested.tokens)}{beyond}"
    if requested.within_limits or not allowed:
        return requested, f"no other number is surely faster{beyond}"
    best = max(allowed, key=lambda each: each.figures.tokens_per_second.median)
    return best, f"{requested.tokens} are beyond the limits; {best.words(requested.tokens)}"
