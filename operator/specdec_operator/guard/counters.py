"""vLLM's counters at one moment, read from the text of one pod's /metrics."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from math import isfinite
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from specdec_engine import metrics
from specdec_engine.methods import MOST_TOKENS
from specdec_operator.guard.dips import ACCEPTED, SERIES, KindTotals, OtherDips, other_dips_of, totals_of
from specdec_operator.guard.kv_cache import KvCache, read_kv_cache
from specdec_operator.guard.off_steps import OffSteps, off_steps_of

_STARTED: Final = "process_start_time_seconds"

_MOST: Final = 1e15
"""More than any engine counts in a life; the squares of what is below it can be added up."""

_LONGEST_LINE: Final = 2048
_MOST_KEPT: Final = 256 * 1024
"""Characters of one line, and of all lines, that are parsed: the parser's time grows faster than a line does."""

FAMILIES: Final = (
    *(metrics.DRAFTS, metrics.DRAFT_TOKENS, metrics.ACCEPTED, metrics.ACCEPTED_PER_POSITION, metrics.GENERATED),
    *(metrics.TIMES, metrics.REQUESTS, metrics.DECODE_SECONDS, metrics.ANSWERS, metrics.ANSWER_TOKENS),
    *(metrics.FIRST_TOKENS, metrics.RUNNING, _STARTED, metrics.FIRST_TOKEN_SECONDS, metrics.QUEUE_SECONDS),
    *(metrics.PREEMPTIONS, metrics.PROMPT_TOKENS, metrics.CACHE_QUERIES, metrics.CACHE_HITS, metrics.WAITING),
    *(metrics.PREFILL_SECONDS, metrics.PREFILLED),
    *(metrics.STEPS, *SERIES, ACCEPTED),
)
"""Every series that is read. Inter-token latency is not: it counts steps, and a step brings several tokens."""

_KEPT: Final = tuple(f"{name}{end}" for name in FAMILIES for end in "{ ")
"""Lines that do not start so are dropped before parsing: many times cheaper on a page of 45 kB."""

_TOGETHER: Final = frozenset({metrics.DRAFTS, metrics.DRAFT_TOKENS, metrics.ACCEPTED})
"""Families that an engine shows all of, or none."""
_DECODING: Final = frozenset({metrics.DECODE_SECONDS, metrics.ANSWERS, metrics.ANSWER_TOKENS})
"""What the time per output token is taken from. Pages without these have the mean of each request only."""


Sample = tuple[str, Mapping[str, str], float]
"""Name of a series, its labels, its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SideCounters:
    """Other counters of the engine. None of them counts drafts, but a draft can change all of them.

    Each is None if the page does not have it. first_token_seconds: summed over the requests whose first token was
    written. queue_seconds: time in the queue, summed over the requests that ended. prompt_tokens: of prompts that were
    taken in. cache_queries, cache_hits: prompt tokens that were looked up in the prefix cache, and found.
    prefill_seconds: from leaving the queue to the first token, summed over the requests that ended; prefilled: their
    prompt tokens.
    """

    first_token_seconds: float | None = None
    queue_seconds: float | None = None
    preemptions: float | None = None
    prompt_tokens: float | None = None
    cache_queries: float | None = None
    cache_hits: float | None = None
    prefill_seconds: float | None = None
    prefilled: float | None = None

    @property
    def seconds_a_prompt_token(self) -> float | None:
        """How long a prompt token took that was not in the prefix cache; None if that is not known.

        It is more than the engine needs where several prompts were taken in at once: each has waited for all of them.
        """
        if self.prefill_seconds is None or not self.prefilled:
            return None
        found = min(1.0, (self.cache_hits or 0.0) / self.cache_queries) if self.cache_queries else 0.0
        return self.prefill_seconds / (self.prefilled * (1 - found)) if found < 1 else None

    def since(self, before: "SideCounters") -> "SideCounters":
        """What was counted after `before`."""
        return self._with(before, lambda after, earlier: max(0.0, after - earlier))

    def plus(self, other: "SideCounters") -> "SideCounters":
        """The sum of two pods. A value is None if one of the pods does not have it."""
        return self._with(other, lambda one, another: one + another)

    def _with(self, other: "SideCounters", do: Callable[[float, float], float]) -> "SideCounters":
        pairs = {each.name: (getattr(self, each.name), getattr(other, each.name)) for each in fields(self)}
        return SideCounters(**{name: None if None in pair else do(*pair) for name, pair in pairs.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals since the engine started, summed over its data-parallel ranks.

    drafts: steps that had at least one draft token. draft_tokens, accepted_tokens, generation_tokens: tokens.
    accepted_per_position: accepted tokens at each draft position, first position first.
    token_seconds: seconds that the requests that ended took for their output tokens after the first; timed_tokens: how
    many tokens these were; requests: how many requests. A request of one output token adds nothing to the first two. On
    a page without decode times, token_seconds is the sum of the requests' means, and timed_tokens their number.
    first_tokens: requests whose first token was written: no draft can come before it.
    running, waiting: requests in the batch and in the queue at this moment. started: start of the process in epoch
    seconds.
    speculative: whether the page has the speculation families at all; without speculation it has none.
    first_tokens, running, waiting, started and kv_cache are None if the page does not have them. dips: of the step
    clock, empty without one; other_dips: those at other tokens than none. off_steps: the steps that drafted nothing.
    """

    drafts: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 0.0
    generation_tokens: float = 0.0
    accepted_per_position: tuple[float, ...] = ()
    token_seconds: float = 0.0
    timed_tokens: float = 0.0
    requests: float = 0.0
    first_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    started: float | None = None
    speculative: bool = False
    side: SideCounters = SideCounters()
    kv_cache: KvCache | None = None
    dips: KindTotals = field(default_factory=dict)
    other_dips: OtherDips = field(default_factory=OtherDips)
    off_steps: OffSteps = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unread:
    """A pod that did not answer with counters. words: why, and what does that."""

    words: str


def read_counters(page: str) -> Counters:
    """The counters in a Prometheus text page. Raises ValueError as samples_of and counters_of do."""
    return replace(counters_of(samples_of(page)), kv_cache=read_kv_cache(page))


def samples_of(page: str) -> tuple[Sample, ...]:
    """The samples of vLLM's counters in a Prometheus text page. Raises ValueError when it is cut off, or when the kept
    lines are not samples, each of them once.
    """
    if not page.endswith("\n"):
        raise ValueError("the page ends in the middle of a line")
    kept = [line for line in page.splitlines() if line.startswith(_KEPT)]
    if sum(map(len, kept)) > _MOST_KEPT:  # a clock that saw every number of tokens at every batch size
        kept = [line for line in kept if not line.startswith(metrics.CLOCK)]
    if max(map(len, kept), default=0) > _LONGEST_LINE or sum(map(len, kept)) > _MOST_KEPT:
        raise ValueError(f"a line of more than {_LONGEST_LINE} characters, or more than {_MOST_KEPT} in all")
    families = text_string_to_metric_families("\n".join((*kept, "")))
    samples = tuple((each.name, each.labels, each.value) for family in families for each in family.samples)
    if len({(name, *sorted(labels.items())) for name, labels, _ in samples}) < len(samples):
        raise ValueError("the page has a series twice")
    return samples


def counters_of(samples: Iterable[Sample]) -> Counters:
    """The counters in the samples of one pod. Raises ValueError for a value that no counter of vLLM can have, and if
    some counters are missing: a missing counter was not counted, which is not the same as zero.
    """
    totals: defaultdict[str, float] = defaultdict(float)
    positions: defaultdict[int, float] = defaultdict(float)
    samples = tuple(samples)
    for name, labels, value in samples:
        if not (isfinite(value) and 0 <= value <= _MOST):
            raise ValueError(f"{name} is {value}; it must be a number from 0 to {_MOST:.0e}")
        if name == metrics.ACCEPTED_PER_POSITION:
            positions[_position(labels)] += value
        elif name == _STARTED:
            totals[name] = max(totals[name], value)
        else:
            totals[name] += value
    speculative = _is_speculative(totals)
    seconds, timed, requests = _timed(totals)
    clock = [each for each in samples if each[0].startswith(metrics.CLOCK)]
    dips = totals_of(clock)
    return Counters(
        drafts=totals[metrics.DRAFTS],
        draft_tokens=totals[metrics.DRAFT_TOKENS],
        accepted_tokens=totals[metrics.ACCEPTED],
        generation_tokens=totals[metrics.GENERATED],
        accepted_per_position=tuple(positions.get(index, 0.0) for index in range(max(positions, default=-1) + 1)),
        token_seconds=seconds,
        timed_tokens=timed,
        requests=requests,
        first_tokens=totals.get(metrics.FIRST_TOKENS),
        running=totals.get(metrics.RUNNING),
        waiting=totals.get(metrics.WAITING),
        started=totals.get(_STARTED),
        speculative=speculative,
        side=_side(totals),
        dips=dips,
        other_dips=other_dips_of(clock) if dips else OtherDips(),
        off_steps=off_steps_of(clock),
    )


def _side(totals: Mapping[str, float]) -> SideCounters:
    return SideCounters(
        first_token_seconds=totals.get(metrics.FIRST_TOKEN_SECONDS),
        queue_seconds=totals.get(metrics.QUEUE_SECONDS),
        preemptions=totals.get(metrics.PREEMPTIONS),
        prompt_tokens=totals.get(metrics.PROMPT_TOKENS),
        cache_queries=totals.get(metrics.CACHE_QUERIES),
        cache_hits=totals.get(metrics.CACHE_HITS),
        prefill_seconds=totals.get(metrics.PREFILL_SECONDS),
        prefilled=totals.get(metrics.PREFILLED),
    )


def _is_speculative(totals: Mapping[str, float]) -> bool:
    """Whether there are counters of speculation. Raises ValueError where some of an engine's counters are missing."""
    if metrics.GENERATED not in totals:
        raise ValueError(f"the page has no {metrics.GENERATED}")
    speculates = _TOGETHER & totals.keys()
    if speculates and speculates != _TOGETHER:
        raise ValueError(f"the page has {min(speculates)}, but not {min(_TOGETHER - speculates)}")
    return bool(speculates)


def _timed(totals: Mapping[str, float]) -> tuple[float, float, float]:
    """Seconds, output tokens that took them, and requests. The engine's histogram of means counts a request of one
    token as 0 s, so a page with decode times is read from these.
    """
    if not totals.keys() >= _DECODING:
        requests = totals.get(metrics.REQUESTS, 0.0)
        return totals.get(metrics.TIMES, 0.0), requests, requests
    requests = totals[metrics.ANSWERS]
    return totals[metrics.DECODE_SECONDS], max(0.0, totals[metrics.ANSWER_TOKENS] - requests), requests


def _position(labels: Mapping[str, str]) -> int:
    position = int(labels.get("position", "-1"))
    if not 0 <= position < MOST_TOKENS:
        raise ValueError(f"position={labels.get('position')!r}: a draft position must be 0 to {MOST_TOKENS - 1}")
    return position


def restarted(before: Counters, after: Counters) -> bool:
    """Whether the engine restarted between two readings: another start time, a counter that fell, or speculation
    counters that appeared or disappeared.
    """
    if before.started is not None and after.started is not None and before.started != after.started:
        return True
    totals = (
        "generation_tokens",
        "drafts",
        "draft_tokens",
        "accepted_tokens",
        "requests",
        "token_seconds",
        "timed_tokens",
    )
    fell = any(getattr(after, name) < getattr(before, name) for name in totals)
    return fell or before.speculative is not after.speculative
