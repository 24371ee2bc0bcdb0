"""What traffic is like: lengths of prompts and answers, and what the prefix cache brings.

Times per output token of different traffic cannot be compared: prompts of four times the length slow the baseline as
well.
"""

from dataclasses import dataclass, field
from math import exp, log, sqrt
from typing import Final

from specdec_operator.api.kept import means

_MOST: Final = log(1.25)
"""By how much the tokens per prompt and per answer may differ. Simulated (an 8B on an H100), prompts or answers of
twice the length move a time per output token by a fifth, so these by 6 to 8 %; twice as much would hide a draft that is
slower than the baseline by a sixth."""
_MOST_HITS: Final = 0.05
"""By how much the hit rate of the prefix cache may differ: of a rate of 0.75 that is a fifth more prompt to work
through."""
_BY_CHANCE: Final = 2.0
"""Standard errors beyond that which are chance. Lengths scatter about as much as they are long: against many requests
ten prove nothing below 2.4 times the length, a hundred nothing below 1.5 times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """Sums over blocks of time of one load, of the requests whose first token was written."""

    answers: float = field(metadata=means("Number of these."))
    prompt_tokens: float = field(metadata=means("Prompt tokens of the requests that began."))
    cache_queries: float = field(default=0.0, metadata=means("Prompt tokens for which the prefix cache was queried."))
    cache_hits: float = field(default=0.0, metadata=means("Prompt tokens found in the prefix cache."))

    def plus(self, other: "Mix") -> "Mix":
        """The sum of two."""
        return Mix(
            answers=self.answers + other.answers,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cache_queries=self.cache_queries + other.cache_queries,
            cache_hits=self.cache_hits + other.cache_hits,
        )

    def faded(self, share: float) -> "Mix":
        """As if it had been less of the same."""
        return Mix(
            answers=self.answers * share,
            prompt_tokens=self.prompt_tokens * share,
            cache_queries=self.cache_queries * share,
            cache_hits=self.cache_hits * share,
        )

    @property
    def hit_rate(self) -> float | None:
        """Share of the prompt tokens that was found; None where nothing was looked for."""
        return self.cache_hits / self.cache_queries if self.cache_queries > 0 else None


def differing(now: Mix, then: Mix) -> str:
    """What differs by more than is allowed and chance explains, with numbers; empty where nothing does."""
    if now.answers <= 0 or then.answers <= 0:
        return ""
    prompts = differing_lengths("per prompt", (now.prompt_tokens, now.answers), (then.prompt_tokens, then.answers))
    rate, before = now.hit_rate, then.hit_rate
    if prompts or rate is None or before is None:
        return prompts
    most = _MOST_HITS + _BY_CHANCE * 0.5 * sqrt(1 / now.answers + 1 / then.answers)
    text = f"{rate:.2f} of the prompt tokens in the prefix cache now, {before:.2f} at that time"
    return text if abs(rate - before) > most else ""


def differing_lengths(of: str, now: tuple[float, float], then: tuple[float, float]) -> str:
    """The difference between two mean lengths, each given as tokens and requests; empty if they are similar."""
    if min(*now, *then) <= 0:
        return ""
    most = _MOST + _BY_CHANCE * sqrt(1 / now[1] + 1 / then[1])
    after, before = now[0] / now[1], then[0] / then[1]
    factor = exp(abs(log(after / before)))
    return f"{after:.0f} tokens {of} now, {before:.0f} at that time" if log(factor) > most else ""
