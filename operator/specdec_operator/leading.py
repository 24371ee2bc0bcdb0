"""One replica works, the others stand by: `lead` runs the operator while this replica holds the Lease.

A replica that may have lost the Lease ends at once, as client-go's do; its pod starts again and stands by. Until it has
ended, `Fenced` lets it write nothing (docs/decisions/0013-one-leader.md).
"""

import asyncio
import logging
import os
import signal
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from kubernetes.aio.leaderelection.electionconfig import Config
from kubernetes.aio.leaderelection.leaderelection import LeaderElection

from specdec_operator import metrics
from specdec_operator.connection import connection
from specdec_operator.lease import DURATION, RENEW_DEADLINE, RETRY, Lease
from specdec_operator.settings import Settings
from specdec_operator.standby import StandBy

_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
LOST: Final = 75
"""Exit code of a replica that lost the Lease (sysexits.h EX_TEMPFAIL)."""
Work = Callable[[Callable[[], bool]], Awaitable[None]]
"""What the leader does, until it is told to stop. It is given a function that tells whether it may write."""


async def lead(settings: Settings, work: Work, *, identity: str) -> None:
    """Stands by until the Lease is this replica's, then works. Returns when told to stop.

    identity: a name of this replica; it is made unique here.
    """
    namespace, name = settings.leader_lease
    metrics.leading(False)
    api = await connection()
    lease = Lease(namespace, name, f"{identity}_{uuid.uuid4().hex[:8]}", api)
    led, stop = asyncio.Event(), asyncio.Event()
    election = asyncio.create_task(_elected(lease, led))
    try:
        if await _stands_by(settings.health_port, led, stop, election):
            await _works(lease, work, election, stop)
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


async def _stands_by(port: int, led: asyncio.Event, stop: asyncio.Event, election: asyncio.Task[None]) -> bool:
    """Waits; returns whether this replica leads. Raises what ended the election."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)  # until kopf sets its own
    stand_by = StandBy(port)
    await stand_by.start()
    waiting = [asyncio.create_task(each.wait()) for each in (led, stop)]
    await asyncio.wait({*waiting, election}, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    await stand_by.stop()
    if election.done():
        election.result()
    return led.is_set() and not stop.is_set()


async def _works(lease: Lease, work: Work, election: asyncio.Task[None], stop: asyncio.Event) -> None:
    """Works until it is told to stop: by kopf, or by `stop` for as long as kopf has not set its handlers of signals."""
    _LOG.info("this replica leads: %s", lease.identity)
    metrics.leading(True)
    working = asyncio.ensure_future(work(lease.held))
    guarding, stopping = asyncio.create_task(_until_lost(lease)), asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait({working, guarding, election, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if stopping in done:
        working.cancel()
    elif working not in done:
        _LOG.critical("the lease %s/%s is lost: this replica ends and stands by anew", lease.namespace, lease.name)
        logging.shutdown()
        os._exit(LOST)
    guarding.cancel()
    stopping.cancel()
    with suppress(asyncio.CancelledError):
        await working


async def _until_lost(lease: Lease) -> None:
    while lease.held():
        await asyncio.sleep(_LOOK)
