"""Times per output token by load, and what the traffic was like when they were measured.

Times of different traffic cannot be compared: prompts of four times the length slow the baseline as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log, sqrt
from types import MappingProxyType
from typing import Final

from specdec_operator.api.kept import means
from specdec_operator.guard.statistics import RatioSums

_MOST: Final = log(1.25)
"""By how much the tokens per prompt and per answer may differ. Simulated (an 8B on an H100), prompts or answers of
twice the length move a time per output token by a fifth, so these by 6 to 8 %; twice as much would hide a draft that is
slower than the baseline by a sixth."""
_MOST_HITS: Final = 0.05
"""By how much the hit rate of the prefix cache may differ: of a rate of 0.75 that is a fifth more prompt to work
through."""
_OWN_BLOCK: Final = 128
"""Tokens of each prompt that are computed again because of speculation, which does not show other traffic, even if the
cache is cold: EAGLE and MTP drop the last matched block by design (vLLM issue 38182), of 16 tokens on GPUs and of 128
on NPUs. A draft also takes memory from the cache, and requests that decode longer keep their blocks from others."""
_COLD: Final = 0.1
"""Share of the requests that began in a cold cache, above which fewer hits may come from that."""
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
    cold: float = field(
        default=0.0,
        metadata=means("Of the requests, those that began while the cache was not filled yet.", empty=False),
    )

    def plus(self, other: "Mix") -> "Mix":
        """The sum of two."""
        return Mix(
            answers=self.answers + other.answers,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cache_queries=self.cache_queries + other.cache_queries,
            cache_hits=self.cache_hits + other.cache_hits,
            cold=self.cold + other.cold,
        )

    def faded(self, share: float) -> "Mix":
        """As if it had been less of the same."""
        return Mix(
            answers=self.answers * share,
            prompt_tokens=self.prompt_tokens * share,
            cache_queries=self.cache_queries * share,
            cache_hits=self.cache_hits * share,
            cold=self.cold * share,
        )

    @property
    def hit_rate(self) -> float | None:
        """Share of the prompt tokens that was found; None where nothing was looked for."""
        return self.cache_hits / self.cache_queries if self.cache_queries > 0 else None


def differing(now: Mix, then: Mix, *, speculates: bool = False) -> str:
    """What differs by more than is allowed and chance explains, with numbers; empty where nothing does.

    speculates: whether `now` is with speculation and `then` without. Fewer hits are then a cost of speculation, which
    belongs to what is compared; while the cache is cold, up to a block of each prompt.
    """
    if now.answers <= 0 or then.answers <= 0:
        return ""
    prompts = differing_lengths("per prompt", (now.prompt_tokens, now.answers), (then.prompt_tokens, then.answers))
    rate, before = now.hit_rate, then.hit_rate
    if prompts or rate is None or before is None:
        return prompts
    most = _MOST_HITS + _BY_CHANCE * 0.5 * sqrt(1 / now.answers + 1 / then.answers)
    text = f"{rate:.2f} of the prompt tokens in the prefix cache now, {before:.2f} at that time"
    own = 0.0
    if speculates:
        own = _OWN_BLOCK * now.answers / now.cache_queries if now.cold > _COLD * now.answers else 1.0
    return text if not -most - own <= rate - before <= most else ""


def differing_lengths(of: str, now: tuple[float, float], then: tuple[float, float]) -> str:
    """The difference between two mean lengths, each given as tokens and requests; empty if they are similar."""
    if min(*now, *then) <= 0:
        return ""
    most = _MOST + _BY_CHANCE * sqrt(1 / now[1] + 1 / then[1])
    after, before = now[0] / now[1], then[0] / then[1]
    factor = exp(abs(log(after / before)))
    return f"{after:.0f} tokens {of} now, {before:.0f} at that time" if log(factor) > most else ""


MOST_LOAD: Final = 1024
"""Larger batches count as this one, so that the number of loads is bounded.

A load is the number of requests in the batch of one pod, to a power of two. Times per output token are comparable only
at the same load.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTime:
    """What blocks of time at one load showed.

    times: seconds and output tokens of the requests that ended, so its mean is the time per output token in seconds.
    requests: how many ended. tokens: generated, in `seconds` of one pod. mix: what the traffic was like; None if the
    pages do not have it.
    """

    times: RatioSums = field(default_factory=RatioSums)
    requests: float = 0.0
    tokens: float = 0.0
    seconds: float = 0.0
    mix: Mix | None = None

    def merged(self, other: "TokenTime") -> "TokenTime":
        """With the blocks of another."""
        return TokenTime(
            times=self.times.merged(other.times),
            requests=self.requests + other.requests,
            tokens=self.tokens + other.tokens,
            seconds=self.seconds + other.seconds,
            mix=self.mix.plus(other.mix) if self.mix and other.mix else self.mix or other.mix,
        )

    def unlike(self, then: "TokenTime", *, speculates: bool = False) -> str:
        """The difference between its traffic and that of `then`, with numbers; empty if they are similar, or unknown.

        speculates: see differing. The length of an answer does not include its first token, so answers of one token
        make it shorter.
        """
        answers = [(each.times.of, each.requests) for each in (self, then)]
        prompts = differing(self.mix, then.mix, speculates=speculates) if self.mix and then.mix else ""
        return prompts or (differing_lengths("an answer", *answers) if self.mix and then.mix else "")


TokenTimes = Mapping[int, TokenTime]
"""By load."""


UNKNOWN_LOAD: Final = 0
"""The load if no page had the number of running requests. Nothing can be compared at it."""


def load_of(running: float) -> int:
    """The load of a mean number of running requests: the next power of two, 1 at least."""
    load = 1
    while load < running - 1e-9 and load < MOST_LOAD:
        load *= 2
    return load


def merge(*parts: TokenTimes) -> TokenTimes:
    """The token_times of several pods, or of several windows."""
    out: dict[int, TokenTime] = {}
    for part in parts:
        for load, each in part.items():
            out[load] = out[load].merged(each) if load in out else each
    return MappingProxyType(out)
