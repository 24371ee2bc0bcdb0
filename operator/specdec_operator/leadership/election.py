"""One replica works, the others stand by: `lead` runs the operator while this replica holds the Lease.

A replica that may have lost the Lease ends at once, as client-go's do; its pod starts again and stands by. Until it has
ended, `ApiServer` lets it write nothing (docs/decisions/0013-one-leader.md).
"""

import asyncio
import logging
import os
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from kubernetes.aio import client
from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection

from specdec_operator import __version__, metrics
from specdec_operator.kube.request import own_settings
from specdec_operator.leadership.lease import DURATION, RENEW_DEADLINE, RETRY, Lease
from specdec_operator.leadership.share import Share, all_services
from specdec_operator.settings import Settings

_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
LOST: Final = 75
"""Exit code of a replica that lost the Lease (sysexits.h EX_TEMPFAIL)."""
Work = Callable[[Share], Coroutine[Any, Any, None]]
"""What the leader does, until it is told to stop. It is given the services that are its own."""


async def lead(settings: Settings, work: Work, stop: asyncio.Event, *, identity: str) -> None:
    """Stands by until the Lease is this replica's, then works until it is told to stop.

    identity: a name of this replica; it is made unique here.
    """
    namespace, name = settings.leader_lease
    metrics.leading(False)
    api = client.ApiClient(await own_settings())
    api.user_agent = f"specdec-operator/{__version__}"
    lease = Lease(namespace, name, f"{identity}_{uuid.uuid4().hex[:8]}", api)
    led = asyncio.Event()
    election = asyncio.create_task(_elected(lease, led))
    try:
        if await stand_by(led, stop, election):
            name = f"{lease.namespace}/{lease.name} as {lease.identity}"
            await work_until_lost(lease.held, name, work(all_services(lease.held)), election)
    finally:
        election.cancel()
        with suppress(asyncio.CancelledError):
            await election
        await lease.release()
        await api.close()


async def _elected(lease: Lease, led: asyncio.Event) -> None:
    """Takes part in the election; ends when the Lease is lost."""

    async def begin() -> None:
        led.set()

    await LeaderElection(
        Config(
            lease,
            lease_duration=DURATION,
            renew_deadline=RENEW_DEADLINE,
            retry_period=RETRY,
            onstarted_leading=begin,
            onstopped_leading=_nothing,
        )
    ).run()


async def _nothing() -> None:
    """The process ends anyway."""


async def stand_by(leads: asyncio.Event, stop: asyncio.Event, election: asyncio.Task[None]) -> bool:
    """Waits; returns whether this replica leads. Raises what ended the election."""
    waiting = [asyncio.create_task(each.wait()) for each in (leads, stop)]
    await asyncio.wait({*waiting, election}, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    if election.done():
        election.result()
    return leads.is_set() and not stop.is_set()


async def work_until_lost(
    held: Callable[[], bool], name: str, work: Coroutine[Any, Any, None], election: asyncio.Task[None]
) -> None:
    """Works until the work ends. held, name: of the Lease that it works by: without it the process ends."""
    _LOG.info("this replica leads: %s", name)
    metrics.leading(True)
    working, guarding = asyncio.create_task(work), asyncio.create_task(_until_lost(held))
    try:
        await asyncio.wait({working, guarding, election}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            _LOG.critical("the lease of %s is lost: this replica ends and stands by anew", name)
            logging.shutdown()
            os._exit(LOST)
    finally:
        guarding.cancel()
    working.result()


async def _until_lost(held: Callable[[], bool]) -> None:
    while held():
        await asyncio.sleep(_LOOK)
