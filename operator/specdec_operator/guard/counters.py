"""vLLM's counters at one moment, read from the text of one pod's /metrics."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

_DRAFTS: Final = "vllm:spec_decode_num_drafts_total"
_DRAFT_TOKENS: Final = "vllm:spec_decode_num_draft_tokens_total"
_ACCEPTED: Final = "vllm:spec_decode_num_accepted_tokens_total"
_ACCEPTED_PER_POSITION: Final = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_GENERATED: Final = "vllm:generation_tokens_total"
_TIMES: Final = "vllm:request_time_per_output_token_seconds_sum"
_REQUESTS: Final = "vllm:request_time_per_output_token_seconds_count"
_RUNNING: Final = "vllm:num_requests_running"
_STARTED: Final = "process_start_time_seconds"

_MOST_POSITIONS: Final = 128
"""The largest K that the CRD takes."""

_MOST: Final = 1e15
"""More than any engine counts in a life; the squares of what is below it can be added up."""

_LONGEST_LINE: Final = 2048
_MOST_KEPT: Final = 256 * 1024
"""Characters of one line, and of all lines, that are parsed: the parser's time grows faster than a line does."""

FAMILIES: Final = (
    _DRAFTS,
    _DRAFT_TOKENS,
    _ACCEPTED,
    _ACCEPTED_PER_POSITION,
    _GENERATED,
    _TIMES,
    _REQUESTS,
    _RUNNING,
    _STARTED,
)
"""Every series that is read. Inter-token latency is not: it counts steps, and a step brings several tokens."""

_KEPT: Final = tuple(f"{name}{end}" for name in FAMILIES for end in "{ ")
"""Lines that do not start so are dropped before parsing: many times cheaper on a page of 45 kB."""

_TOGETHER: Final = frozenset({_DRAFTS, _DRAFT_TOKENS, _ACCEPTED})
"""Families that an engine shows all of, or none."""

Sample = tuple[str, Mapping[str, str], float]
"""Name of a series, its labels, its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Totals since the engine started, summed over its data-parallel ranks.

    drafts: steps that had at least one draft token. draft_tokens, accepted_tokens, generation_tokens: tokens.
    accepted_per_position: accepted tokens at each draft position, first position first.
    token_seconds: sum over the requests that ended of their mean time per output token, in seconds; requests: how many.
    running: requests in the batch at this moment, None where the page does not say.
    started: start of the process in epoch seconds, None where the page does not say.
    speculative: whether the page has the speculation families at all; without speculation it has none.
    """

    drafts: float = 0.0
    draft_tokens: float = 0.0
    accepted_tokens: float = 0.0
    generation_tokens: float = 0.0
    accepted_per_position: tuple[float, ...] = ()
    token_seconds: float = 0.0
    requests: float = 0.0
    running: float | None = None
    started: float | None = None
    speculative: bool = False


@dataclass(frozen=True, slots=True)
class Unread:
    """A pod that did not answer with counters. words: why, and what does that."""

    words: str


def read_counters(page: str) -> Counters:
    """The counters in a Prometheus text page. Raises ValueError when it is cut off, or when the kept lines are not
    vLLM's counters, each of them once.
    """
    if not page.endswith("\n"):
        raise ValueError("it ends in the middle of a line")
    kept = [line for line in page.splitlines() if line.startswith(_KEPT)]
    if max(map(len, kept), default=0) > _LONGEST_LINE or sum(map(len, kept)) > _MOST_KEPT:
        raise ValueError(f"a line of more than {_LONGEST_LINE} characters, or more than {_MOST_KEPT} in all")
    families = text_string_to_metric_families("\n".join((*kept, "")))
    samples = [(each.name, each.labels, each.value) for family in families for each in family.samples]
    if len({(name, *sorted(labels.items())) for name, labels, _ in samples}) < len(samples):
        raise ValueError("a series is there twice")
    return counters_of(samples)


def counters_of(samples: Iterable[Sample]) -> Counters:
    """The counters in the samples of one pod. Raises ValueError for what no counter of vLLM can be, and where some
    are missing: what is not there was not counted, which is not the same as zero.
    """
    totals: defaultdict[str, float] = defaultdict(float)
    positions: defaultdict[int, float] = defaultdict(float)
    for name, labels, value in samples:
        if not (isfinite(value) and 0 <= value <= _MOST):
            raise ValueError(f"{name} is {value}: it is a number from 0 to {_MOST:.0e}")
        if name == _ACCEPTED_PER_POSITION:
            positions[_position(labels)] += value
        elif name == _STARTED:
            totals[name] = max(totals[name], value)
        else:
            totals[name] += value
    return _counters(totals, positions, speculative=_is_speculative(totals))


def _is_speculative(totals: Mapping[str, float]) -> bool:
    """Whether there are counters of speculation. Raises ValueError where some of an engine's counters are missing."""
    if _GENERATED not in totals:
        raise ValueError(f"there is no {_GENERATED}")
    speculates = _TOGETHER & totals.keys()
    if speculates and speculates != _TOGETHER:
        raise ValueError(f"there is no {min(_TOGETHER - speculates)}, but {min(speculates)}")
    return bool(speculates)


def _counters(totals: defaultdict[str, float], positions: Mapping[int, float], *, speculative: bool) -> Counters:
    return Counters(
        drafts=totals[_DRAFTS],
        draft_tokens=totals[_DRAFT_TOKENS],
        accepted_tokens=totals[_ACCEPTED],
        generation_tokens=totals[_GENERATED],
        accepted_per_position=tuple(positions.get(index, 0.0) for index in range(max(positions, default=-1) + 1)),
        token_seconds=totals[_TIMES],
        requests=totals[_REQUESTS],
        running=totals.get(_RUNNING),
        started=totals.get(_STARTED),
        speculative=speculative,
    )


def _position(labels: Mapping[str, str]) -> int:
    position = int(labels.get("position", "-1"))
    if not 0 <= position < _MOST_POSITIONS:
        raise ValueError(f"position={labels.get('position')!r}: a draft position is 0 to {_MOST_POSITIONS - 1}")
    return position


def restarted(before: Counters, after: Counters) -> bool:
    """Whether the engine began anew between two readings: another start time, a counter that fell, or counters of
    speculation that came or went.
    """
    if before.started is not None and after.started is not None and before.started != after.started:
        return True
    if before.speculative is not after.speculative:
        return True
    return (
        after.generation_tokens < before.generation_tokens
        or after.drafts < before.drafts
        or after.draft_tokens < before.draft_tokens
        or after.accepted_tokens < before.accepted_tokens
        or after.requests < before.requests
        or after.token_seconds < before.token_seconds
    )
