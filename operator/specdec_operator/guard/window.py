"""One window of evidence: what each pod's counters did between its first and its last reading, and what they show for
one pod or for all of them together.

Windows do not overlap: overlapping ones are not independent evidence. A window keeps no series. It keeps its first and
last reading, and sums over blocks of time, which show how much its parts differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import zip_longest
from typing import Final

from specdec_operator.guard.counters import Counters, SideCounters, restarted
from specdec_operator.guard.dips import KindTotals, OtherDips
from specdec_operator.guard.kv_cache import KvCache, smallest
from specdec_operator.guard.off_steps import OffSteps
from specdec_operator.guard.stalls import Standstill, standstill, stood_still
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.token_time import UNKNOWN_LOAD, Mix, TokenTime, TokenTimes, load_of, merge
from specdec_operator.guard.totals import added, counted_between


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of time that is still open. busy: sum and number of the readings that showed running requests. `told`:
    whether a reading had the number of running requests, 0 included.
    """

    first: Counters
    opened: float
    busy: tuple[float, int] = (0.0, 0)
    told: bool = False

    def seen(self, reading: Counters) -> "Block":
        """With the load of one more reading."""
        if reading.running is None:
            return self
        busy = (self.busy[0] + reading.running, self.busy[1] + 1) if reading.running else self.busy
        return replace(self, busy=busy, told=True)

    @property
    def load(self) -> int:
        """The load in it. If no reading showed a running request, requests came one at a time."""
        if not self.told:
            return UNKNOWN_LOAD
        total, number = self.busy
        return load_of(total / number) if number else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWindow:
    """What one pod showed in a window.

    since: when its first reading was. longest_gap: longest time without a reading, in seconds. restarted: whether the
    engine restarted inside the window. acceptance: accepted and drafted tokens by block. token_times: time per output
    token by load. left: the pod no longer exists, and the operator does not read it any more. kv_cache: as last read,
    with the largest share in use. still_since: since when requests are in the engine and nothing of it moves, also
    before this window; None if it works. longest_still: seconds of the longest time without progress that ended with
    some, also before this window.
    """

    first: Counters
    last: Counters
    last_at: float
    block: Block
    since: float = 0.0
    longest_gap: float = 0.0
    restarted: bool = False
    left: bool = False
    acceptance: RatioSums = field(default_factory=RatioSums)
    token_times: TokenTimes = field(default_factory=dict)
    kv_cache: KvCache | None = None
    still_since: float | None = None
    longest_still: float = 0.0

    @property
    def standstill(self) -> Standstill | None:
        """How long its requests stand still at the last reading; None if they do not."""
        if self.still_since is None:
            return None
        return standstill(self.last, self.last_at - self.still_since, self.longest_still)

    def extended(self, reading: Counters, at: float, block_seconds: float) -> "PodWindow":
        """This window with one more reading. One that is not newer than the last adds nothing."""
        if at <= self.last_at:
            return self
        since, still = self.last_at if self.still_since is None else self.still_since, stood_still(self.last, reading)
        ended = not (still or self.still_since is None or restarted(self.last, reading))
        longer = replace(
            self,
            last=reading,
            last_at=at,
            block=self.block.seen(reading),
            longest_gap=max(self.longest_gap, at - self.last_at),
            restarted=self.restarted or restarted(self.last, reading),
            kv_cache=reading.kv_cache.after(self.kv_cache) if reading.kv_cache else self.kv_cache,
            still_since=since if still else None,
            longest_still=max(self.longest_still, at - since) if ended else self.longest_still,
        )
        return longer.folded() if at - longer.block.opened >= block_seconds - 1e-6 else longer

    def folded(self) -> "PodWindow":
        """With the open block taken into the sums, and a new one begun."""
        before, after, seconds = self.block.first, self.last, self.last_at - self.block.opened
        fresh = replace(self, block=Block(first=after, opened=self.last_at))
        if seconds <= 0 or restarted(before, after):
            return fresh
        drafted, requests = after.draft_tokens - before.draft_tokens, after.requests - before.requests
        timed = after.timed_tokens - before.timed_tokens
        acceptance = self.acceptance.plus(after.accepted_tokens - before.accepted_tokens, drafted) if drafted else None
        seen = TokenTime(
            times=RatioSums().plus(after.token_seconds - before.token_seconds, timed) if timed > 0 else RatioSums(),
            requests=requests if timed > 0 else 0.0,
            tokens=after.generation_tokens - before.generation_tokens,
            seconds=seconds,
            mix=_mix(before, after, self.last_at),
        )
        known = self.token_times
        token_times = merge(known, {self.block.load: seen}) if seen.requests or seen.tokens else known
        return replace(fresh, acceptance=acceptance or self.acceptance, token_times=token_times)


_WARM: Final = 3600.0
"""Seconds after which the cache of an engine counts as warm, even if it was not filled once."""


def _mix(before: Counters, after: Counters, at: float) -> Mix | None:
    """What the traffic of a block was like; None if the pages do not have it."""
    side = after.side.since(before.side)
    if side.prompt_tokens is None or before.first_tokens is None or after.first_tokens is None:
        return None
    answers = max(0.0, after.first_tokens - before.first_tokens)
    return Mix(
        answers=answers,
        cold=answers if _is_cold(after, at) else 0.0,
        prompt_tokens=side.prompt_tokens,
        cache_queries=side.cache_queries or 0.0,
        cache_hits=side.cache_hits or 0.0,
    )


def _is_cold(reading: Counters, at: float) -> bool:
    """Whether the prompts that the engine took in since its start do not fill its prefix cache."""
    side, cache, started = reading.side, reading.kv_cache, reading.started
    if side.cache_queries is None:
        return False
    taken_in, holds = side.cache_queries - (side.cache_hits or 0.0), cache.tokens if cache else None
    filled = holds is not None and taken_in >= holds
    return not filled and (started is None or at - started < _WARM)


def begun(reading: Counters, at: float) -> PodWindow:
    """A pod's window with its first reading."""
    block = Block(first=reading, opened=at)
    return PodWindow(first=reading, last=reading, last_at=at, block=block, since=at, kv_cache=reading.kv_cache)


@dataclass(frozen=True, slots=True)
class Window:
    """An open window.

    block_seconds: length of its blocks, in seconds; 0: a block for each reading. unread: pods that were asked and never
    answered.
    """

    opened: float
    block_seconds: float = 0.0
    pods: Mapping[str, PodWindow] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()

    def with_readings(self, readings: Mapping[str, Counters | None], at: float) -> "Window":
        """This window with one round of readings; None stands for a pod that did not answer."""
        pods = dict(self.pods)
        for pod, reading in readings.items():
            if reading is not None:
                before = pods.get(pod)
                pods[pod] = begun(reading, at) if before is None else before.extended(reading, at, self.block_seconds)
        for pod in set(pods) - set(readings):
            pods[pod] = replace(pods[pod], left=True)
        silent = {pod for pod, reading in readings.items() if reading is None} | self.unread
        return replace(self, pods=pods, unread=frozenset(silent - set(pods)))

    @property
    def standstills(self) -> dict[str, Standstill]:
        """The pods whose requests stand still, and that still exist."""
        return {name: pod.standstill for name, pod in self.pods.items() if pod.standstill and not pod.left}

    def closed(self) -> "Window":
        """This window with every open block taken in, ready to be judged."""
        return replace(self, pods={name: pod.folded() for name, pod in self.pods.items()})

    def next(self, at: float, alive: frozenset[str]) -> "Window":
        """The window that follows. It starts from the last readings, so nothing between the two is lost."""
        kept = {
            name: replace(begun(pod.last, pod.last_at), still_since=pod.still_since, longest_still=pod.longest_still)
            for name, pod in self.pods.items()
            if name in alive
        }
        return Window(at, self.block_seconds, kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Differences of counters over a window.

    seconds: length of the window. decode_tokens: generated tokens except the first of each answer, which no draft can
    bring. answers: those that began. side: the other counters. longest_gap: longest time in which a pod was not read,
    in seconds. acceptance: accepted and drafted tokens by block of time. token_times: time per output token by load.
    pods: pods that were read at least twice; pod_seconds: how long each of them was read, summed up. unread: pods that
    never answered. kv_cache: of the pod that holds fewest tokens; None if no page has it. standstills: of pods in which
    requests stand still. dips: of the step clocks, those at nothing; other_dips: the others. off_steps: the steps that
    drafted nothing.
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
    side: SideCounters = field(default_factory=SideCounters)
    acceptance: RatioSums = field(default_factory=RatioSums)
    token_times: TokenTimes = field(default_factory=dict)
    kv_cache: KvCache | None = None
    standstills: Mapping[str, Standstill] = field(default_factory=dict)
    dips: KindTotals = field(default_factory=dict)
    other_dips: OtherDips = field(default_factory=OtherDips)
    off_steps: OffSteps = field(default_factory=dict)

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
    return {name: _of_pod(name, pod, now - window.opened, now) for name, pod in sorted(window.pods.items())}


def _of_pod(name: str, pod: PodWindow, seconds: float, now: float) -> Evidence:
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
        standstills={name: pod.standstill} if pod.standstill else {},
        dips=counted_between(first.dips, last.dips),
        other_dips=last.other_dips.since(first.other_dips),
        off_steps=counted_between(first.off_steps, last.off_steps),
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
        side=reduce(SideCounters.plus, (part.side for part in each)) if each else SideCounters(),
        acceptance=reduce(RatioSums.merged, (part.acceptance for part in each), RatioSums()),
        token_times=merge(*(part.token_times for part in each)),
        kv_cache=smallest(part.kv_cache for part in each),
        standstills={pod: still for part in each for pod, still in part.standstills.items()},
        dips=added(*(part.dips for part in each)),
        other_dips=reduce(OtherDips.plus, (part.other_dips for part in each), OtherDips()),
        off_steps=added(*(part.off_steps for part in each)),
    )
