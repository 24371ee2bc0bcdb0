"""What a closed window shows, for one pod or for all of them together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import zip_longest

from specdec_operator.guard.counters import Counters, Side
from specdec_operator.guard.kv_cache import KvCache, smallest
from specdec_operator.guard.statistics import UNKNOWN_LOAD, RatioSums, TokenTime, TokenTimes, merge
from specdec_operator.guard.window import PodWindow, Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Differences of counters over a window.

    seconds: length of the window. decode_tokens: generated tokens except the first of each answer, which no draft can
    bring. answers: those that began. side: the other counters. longest_gap: longest time in which a pod was not read,
    in seconds. acceptance: accepted and drafted tokens by block of time. token_times: time per output token by load.
    pods: pods that were read at least twice; pod_seconds: how long each of them was read, summed up. unread: pods that
    never answered. kv_cache: of the pod that holds fewest tokens; None if no page has it.
    """

    seconds: float
    drafts: float
    draft_tokens: float
    accepted_tokens: float
    generation_tokens: float
    decode_tokens: float
    accepted_per_position: tuple[float, ...]
    speculative: bool
    longest_gap: float
    restarted: bool
    pods: int
    pod_seconds: float = 0.0
    unread: int = 0
    answers: float = 0.0
    side: Side = field(default_factory=Side)
    acceptance: RatioSums = field(default_factory=RatioSums)
    token_times: TokenTimes = field(default_factory=dict)
    kv_cache: KvCache | None = None

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / drafted tokens; None where nothing was drafted."""
        return self.accepted_tokens / self.draft_tokens if self.draft_tokens > 0 else None

    @property
    def acceptance_length(self) -> float | None:
        """1 + accepted tokens / drafts: tokens that one step of the target yields; None where nothing was drafted."""
        return 1 + self.accepted_tokens / self.drafts if self.drafts > 0 else None

    @property
    def drafted_share(self) -> float | None:
        """Share of the target's decoding steps that had a draft; None where there was none.

        Structured output cuts drafts before they are counted: acceptance looks fine, and hardly a step has a draft.
        """
        steps = self.decode_tokens - self.accepted_tokens
        return min(1.0, self.drafts / steps) if steps > 0 else None

    @property
    def alike(self) -> float:
        """Variance of the acceptance / the variance that the scatter of the blocks shows. An answer that is in several
        blocks makes these blocks similar, and longer answers are in more blocks. Simulated: with answers of 5 to 16
        seconds in blocks of 15, intervals with this correction hold the truth in 93 to 97 %, those without it in 77 to
        91 %.
        """
        ended, blocks = self.token_time, self.acceptance.blocks
        if not blocks or not ended.requests:
            return 1.0
        answer, block = ended.times.total / ended.requests, self.seconds * self.pods / blocks
        return 1 + 1.5 * answer / block if block > 0 else 1.0

    @property
    def at_work(self) -> float | None:
        """Answers that the window is about: those that began in it, and those that already ran, to a power of two in
        each pod. None if no page has the number of running requests.
        """
        known = [(load, each.seconds) for load, each in self.token_times.items() if load != UNKNOWN_LOAD]
        seconds = sum(each for _, each in known)
        if seconds <= 0:
            return None
        return self.answers + self.pods * sum(load * each for load, each in known) / seconds

    @property
    def token_time(self) -> TokenTime:
        """Time per output token over all loads."""
        return reduce(TokenTime.merged, self.token_times.values(), TokenTime())


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingRun:
    """What failing windows in a row showed together: accepted and drafted tokens, of all pods and by pod, and times by
    load. windows: how many they are. at: when the last of them closed, epoch seconds.
    """

    acceptance: RatioSums = field(default_factory=RatioSums)
    token_times: TokenTimes = field(default_factory=dict)
    by_pod: Mapping[str, RatioSums] = field(default_factory=dict)
    windows: int = 0
    at: float = 0.0

    def plus(self, pool: Evidence, parts: Mapping[str, Evidence], at: float) -> "FailingRun":
        """With one more window. pool: all of its pods that count; parts: each pod by itself."""
        kept = {pod: sums for pod, sums in self.by_pod.items() if pod in parts}
        return FailingRun(
            acceptance=self.acceptance.merged(pool.acceptance),
            token_times=merge(self.token_times, pool.token_times),
            by_pod={pod: kept.get(pod, RatioSums()).merged(part.acceptance) for pod, part in parts.items()},
            windows=self.windows + 1,
            at=at,
        )


def by_pod(window: Window, now: float) -> dict[str, Evidence]:
    """Each pod's evidence, by pod name."""
    return {name: _of_pod(pod, now - window.opened, now) for name, pod in sorted(window.pods.items())}


def _of_pod(pod: PodWindow, seconds: float, now: float) -> Evidence:
    first, last = pod.first, pod.last
    positions = zip_longest(last.accepted_per_position, first.accepted_per_position, fillvalue=0.0)
    return Evidence(
        seconds=seconds,
        drafts=max(0.0, last.drafts - first.drafts),
        draft_tokens=max(0.0, last.draft_tokens - first.draft_tokens),
        accepted_tokens=max(0.0, last.accepted_tokens - first.accepted_tokens),
        generation_tokens=max(0.0, last.generation_tokens - first.generation_tokens),
        decode_tokens=max(0.0, last.generation_tokens - first.generation_tokens - _answers_begun(first, last)),
        accepted_per_position=tuple(max(0.0, after - before) for after, before in positions),
        speculative=last.speculative,
        longest_gap=max(pod.longest_gap, 0.0 if pod.left else now - pod.last_at),
        restarted=pod.restarted,
        pods=1,
        pod_seconds=pod.last_at - pod.since,
        answers=_answers_begun(first, last),
        side=last.side.since(first.side),
        acceptance=pod.acceptance,
        token_times=pod.token_times,
        kv_cache=pod.kv_cache,
    )


def _answers_begun(first: Counters, last: Counters) -> float:
    """Answers that began, or those that ended if the page does not count first tokens."""
    if first.first_tokens is None or last.first_tokens is None:
        return last.requests - first.requests
    return last.first_tokens - first.first_tokens


def pooled(parts: Mapping[str, Evidence], *, seconds: float, unread: int) -> Evidence:
    """The sum over the pods: counts add up, faults of one pod are faults of the sum."""
    each = tuple(parts.values())
    positions = zip_longest(*(part.accepted_per_position for part in each), fillvalue=0.0)
    return Evidence(
        seconds=seconds,
        drafts=sum(part.drafts for part in each),
        draft_tokens=sum(part.draft_tokens for part in each),
        accepted_tokens=sum(part.accepted_tokens for part in each),
        generation_tokens=sum(part.generation_tokens for part in each),
        decode_tokens=sum(part.decode_tokens for part in each),
        accepted_per_position=tuple(sum(values) for values in positions),
        speculative=any(part.speculative for part in each),
        longest_gap=max((part.longest_gap for part in each), default=seconds),
        restarted=any(part.restarted for part in each),
        pods=len(each),
        pod_seconds=sum(part.pod_seconds for part in each),
        unread=unread,
        answers=sum(part.answers for part in each),
        side=reduce(Side.plus, (part.side for part in each)) if each else Side(),
        acceptance=reduce(RatioSums.merged, (part.acceptance for part in each), RatioSums()),
        token_times=merge(*(part.token_times for part in each)),
        kv_cache=smallest(part.kv_cache for part in each),
    )
