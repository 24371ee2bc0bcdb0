"""One window of evidence: what each pod's counters did between its first and its last reading.

Windows do not overlap: overlapping ones are not independent evidence. A window keeps no series. It keeps its first and
last reading, and sums over blocks of time, which show how much its parts differ.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from specdec_operator.guard.counters import Counters, restarted
from specdec_operator.guard.kv_cache import KvCache
from specdec_operator.guard.mix import Mix
from specdec_operator.guard.statistics import UNKNOWN_LOAD, RatioSums, TokenTime, TokenTimes, load_of, merge


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
    with the largest share in use.
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

    def extended(self, reading: Counters, at: float, block_seconds: float) -> "PodWindow":
        """This window with one more reading. One that is not newer than the last adds nothing."""
        if at <= self.last_at:
            return self
        longer = replace(
            self,
            last=reading,
            last_at=at,
            block=self.block.seen(reading),
            longest_gap=max(self.longest_gap, at - self.last_at),
            restarted=self.restarted or restarted(self.last, reading),
            kv_cache=reading.kv_cache.after(self.kv_cache) if reading.kv_cache else self.kv_cache,
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
            mix=_mix(before, after),
        )
        known = self.token_times
        token_times = merge(known, {self.block.load: seen}) if seen.requests or seen.tokens else known
        return replace(fresh, acceptance=acceptance or self.acceptance, token_times=token_times)


def _mix(before: Counters, after: Counters) -> Mix | None:
    """What the traffic of a block was like; None if the pages do not have it."""
    side = after.side.since(before.side)
    if side.prompt_tokens is None or before.first_tokens is None or after.first_tokens is None:
        return None
    return Mix(
        answers=max(0.0, after.first_tokens - before.first_tokens),
        prompt_tokens=side.prompt_tokens,
        cache_queries=side.cache_queries or 0.0,
        cache_hits=side.cache_hits or 0.0,
    )


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

    def closed(self) -> "Window":
        """This window with every open block taken in, ready to be judged."""
        return replace(self, pods={name: pod.folded() for name, pod in self.pods.items()})

    def next(self, at: float, alive: frozenset[str]) -> "Window":
        """The window that follows. It starts from the last readings, so nothing between the two is lost."""
        kept = {name: begun(pod.last, pod.last_at) for name, pod in self.pods.items() if name in alive}
        return Window(at, self.block_seconds, kept)
