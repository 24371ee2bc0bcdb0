"""Services spread over several replicas by namespace, with a Lease for each shard.

Each replica holds one shard. A namespace belongs to the live shard with the highest digest of both names, so only the
namespaces of a lost shard move. Two replicas never write about one namespace (docs/decisions/0017-shards.md):

- one whose Lease may have ended writes nothing, before others take that Lease for over;
- one that has not looked at all Leases lately writes nothing, for others may have come;
- one that has come writes nothing until each of the others must have seen it.
"""

import asyncio
import hashlib
import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord

from specdec_operator.leadership.holding import Tell, Work, connection, work_while_held
from specdec_operator.leadership.lease import DURATION, RETRY, Lease
from specdec_operator.leadership.share import Share
from specdec_operator.settings import Settings

_LOG = logging.getLogger(__name__)
VIEW: Final = 6.0
"""Seconds for which a look at all Leases is good: who has not looked since does not write."""
SETTLE: Final = VIEW + 2.0
"""Seconds from taking a shard to the first write: each view without it is over, and so are writes begun in it."""


def owner_of(namespace: str, live: frozenset[int]) -> int | None:
    """The shard that a namespace belongs to; None where none lives."""
    return max(live, key=lambda shard: hashlib.sha256(f"{shard}/{namespace}".encode()).digest(), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseView:
    """What a replica knows, as of one look at all Leases: one value, for another thread asks by it before each write.

    mine: the shard that it holds, None: it has none. live: the shards that live. since: when it took its own, and
    looked: when that look began; seconds.
    """

    mine: int | None = None
    live: frozenset[int] = frozenset()
    since: float = 0.0
    looked: float = -math.inf

    def owns(self, namespace: str) -> bool:
        """Whether the services of a namespace are this replica's."""
        return self.mine is not None and owner_of(namespace, self.live) == self.mine


class Shards:
    """The shards of one operator, as one replica sees them. clock: seconds that never go back. See Holder."""

    def __init__(self, leases: list[Lease], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._leases = leases
        self._clock = clock
        self._view = LeaseView()
        self.ready = asyncio.Event()
        self.share = Share(owns=self.owns, may_write=self.may_write)

    @property
    def name(self) -> str:
        """What this replica holds, for the log."""
        mine = self._view.mine
        return "no shard" if mine is None else f"shard {mine} of {len(self._leases)}"

    def held(self) -> bool:
        """Whether this replica's shard is its own so surely that no other replica can have it."""
        mine = self._view.mine
        return mine is not None and self._leases[mine].held()

    def owns(self, namespace: str) -> bool:
        """Whether the services of a namespace are this replica's."""
        return self._view.owns(namespace)

    def may_write(self, namespace: str) -> bool:
        """Whether it may write about them now."""
        now, view = self._clock(), self._view
        known = now - view.looked < VIEW and now - view.since >= SETTLE
        return known and view.mine is not None and self._leases[view.mine].held() and view.owns(namespace)

    async def keep(self, tell: Tell) -> None:
        """Takes a free shard, holds it, and sees which others live. Ends when this replica's is lost."""
        while True:
            begun = self._clock()
            if await self._look():
                await self._hold()
                self._see(begun, tell)
            if self._view.mine is not None and not self.held():
                return
            await asyncio.sleep(RETRY)

    async def give_back(self) -> None:
        """Lets others have this replica's shard at once."""
        mine, self._view = self._view.mine, LeaseView()
        if mine is not None:
            await self._leases[mine].release()

    async def _look(self) -> bool:
        """Reads every Lease; returns whether all were answered."""
        looks = (lease.get(lease.name, lease.namespace) for lease in self._leases)
        answers = await asyncio.gather(*looks, return_exceptions=True)
        return all(not isinstance(each, BaseException) and (each[0] or _is_missing(each[1])) for each in answers)

    async def _hold(self) -> None:
        if self._view.mine is not None:
            if self.held():  # one that slept through its end must not wake up as if it had held it all the time
                await _renew(self._leases[self._view.mine])
            return
        for shard, lease in enumerate(self._leases):
            if not lease.of_another and await _renew(lease):
                self._view = replace(self._view, mine=shard, since=self._clock())
                _LOG.info("this replica holds %s", self.name)
                return

    def _see(self, begun: float, tell: Tell) -> None:
        """Takes in a look that was begun then: what lives, and from when that is known, in one step."""
        before = self._view
        alive = (each.of_another or (shard == before.mine and each.held()) for shard, each in enumerate(self._leases))
        live = frozenset(shard for shard, lives in enumerate(alive) if lives)
        self._view = replace(before, live=live, looked=begun)
        if live != before.live:
            _LOG.info("live shards: %s", ", ".join(map(str, sorted(live))) or "none")
            tell(self.share.changed)
        if before.mine is not None and self._clock() - before.since >= SETTLE:
            tell(self.ready)


async def share_out(settings: Settings, work: Work, stop: asyncio.Event, *, identity: str) -> None:
    """Stands by until this replica holds a shard that all others know of, then works until `stop` is set."""
    namespace, name = settings.leader_lease
    api, identity = await connection(identity)
    leases = [Lease(namespace, f"{name}-{each}", identity, api) for each in range(settings.shards)]
    await work_while_held(api, Shards(leases), work, stop)


async def _renew(lease: Lease) -> bool:
    """Takes a Lease or holds it on; returns whether that was written."""
    now = _now()
    record = LeaderElectionRecord(lease.identity, str(DURATION), now, now)
    if lease.lease_reference is None:
        return await lease.create(lease.name, lease.namespace, record)
    return await lease.update(lease.name, lease.namespace, record)


def _is_missing(answer: Any) -> bool:
    return isinstance(answer, ApiException) and answer.status == 404


def _now() -> str:
    """The time as the library writes it into its records. This module measures no time by it."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
