"""A Lease of the cluster that one replica holds: the library's lock with bounded requests and a clock of its own.

The library waits for an answer as long as it takes, and takes the time from the wall clock. Both could make a replica
believe wrongly that it leads.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import aiohttp
from kubernetes.aio import client
from kubernetes.aio.client.exceptions import ApiException
from kubernetes.aio.leaderelection.leaderelectionrecord import LeaderElectionRecord
from kubernetes.aio.leaderelection.resourcelock.leaselock import LeaseLock

DURATION: Final = 12
"""Seconds that others wait after they saw the holder renew it last; with two tries of theirs, 16 to the next leader."""
RENEW_DEADLINE: Final = 6
"""Seconds in which the holder tries to renew it before it gives up."""
RETRY: Final = 2
"""Seconds between two tries."""
_REQUEST: Final = 2.0
_MARGIN: Final = 2.0
"""Seconds before the end in which the holder does not write any more: a write under way must have ended by then."""

_Answer = TypeVar("_Answer")
_LOG = logging.getLogger(__name__)
logging.getLogger("kubernetes.aio.leaderelection").setLevel(logging.CRITICAL)  # a traceback for each lost race


class Lease(LeaseLock):
    """The Lease `namespace`/`name`, as this replica `identity` sees it. clock: seconds that never go back."""

    def __init__(
        self,
        namespace: str,
        name: str,
        identity: str,
        api: client.ApiClient,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name, namespace, identity, api)
        self._clock = clock
        self._renewed: float | None = None
        self._seen: tuple[str | None, float] = (None, clock())
        self._of_another = False

    def held(self) -> bool:
        """Whether this replica renewed it so lately that no other can have it. Asked from other threads as well."""
        renewed = self._renewed
        return renewed is not None and self._clock() - renewed < DURATION - _MARGIN

    @property
    def of_another(self) -> bool:
        """Whether another replica had it at the last look, by this replica's clock."""
        return self._of_another

    async def get(self, name: str, namespace: str) -> Any:
        """See BaseLock. No answer is an answer: the library asks again."""
        try:
            exists, record = await _bounded(super().get(name, namespace))
        except ApiException as error:
            return False, error
        if isinstance(record, LeaderElectionRecord):
            self._look(record)
        return exists, record

    def _look(self, record: LeaderElectionRecord) -> None:
        """Notes whether another replica has it, and renewed it so lately that it is not over by this replica's clock.

        One that is over is shown without its times: the library takes it then, whatever the wall clock shows.
        """
        meta = self.lease_reference.metadata if self.lease_reference else None
        version = meta.resource_version if meta else None
        if version != self._seen[0]:
            self._seen = version, self._clock()
        over = self._clock() - self._seen[1] >= DURATION
        self._of_another = record.holder_identity not in (None, self.identity) and not over
        if over and record.holder_identity != self.identity:
            record.renew_time = None

    async def create(self, name: str, namespace: str, election_record: LeaderElectionRecord) -> bool:
        """See BaseLock. The library's own (37.0.2) sends pretty=True, which its client then refuses."""
        meta = client.V1ObjectMeta(name=name)
        lease = client.V1Lease(metadata=meta, spec=self.update_lease(election_record))
        return await self._renewed_by(_made(self.api_instance.create_namespaced_lease(namespace, lease)))

    async def update(self, name: str, namespace: str, updated_record: LeaderElectionRecord) -> bool:
        """See BaseLock. The library would take it from a holder when the wall clock is set ahead; this does not."""
        if self._of_another:
            return False
        return await self._renewed_by(super().update(name, namespace, updated_record))

    async def release(self) -> None:
        """Gives it back, so that another replica need not wait for its end."""
        self._renewed = None
        try:
            exists, record = await self.get(self.name, self.namespace)
            lease = self.lease_reference
            if not exists or lease is None or lease.spec is None or record.holder_identity != self.identity:
                return
            lease.spec.holder_identity = None
            await _bounded(self.api_instance.replace_namespaced_lease(self.name, self.namespace, lease))
        except ApiException as error:
            _LOG.warning("lease %s/%s was not released: %s", self.namespace, self.name, error.reason)

    async def _renewed_by(self, request: Awaitable[bool]) -> bool:
        begun = self._clock()
        try:
            done = await _bounded(request)
        except ApiException:
            return False
        self._renewed = begun if done else self._renewed
        return done


async def _made(request: Awaitable[object]) -> bool:
    await request
    return True


async def _bounded(request: Awaitable[_Answer]) -> _Answer:
    """Raises ApiException where no answer comes in time."""
    try:
        async with asyncio.timeout(_REQUEST):
            return await request
    except (TimeoutError, OSError, aiohttp.ClientError) as error:
        raise ApiException(status=0, reason=f"no answer: {type(error).__name__}") from error
