"""Works by a Lease, which is renewed in a thread and an event loop of its own.

A Lease is to be renewed every two seconds. The event loop of the work can be late by more than that: with 10,000
services on full cores, three of four replicas lost theirs. One that hangs for good keeps its Lease until the kubelet
ends it, for its `/healthz` is answered by the loop of the work.

A replica that may have lost its Lease ends at once, as client-go's do; its pod starts again and stands by. Until it has
ended, `ApiServer` lets it write nothing (docs/decisions/0013-one-leader.md).
"""

import asyncio
import logging
import os
import uuid
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, NoReturn, Protocol

from kubernetes.aio import client

from specdec_operator import __version__, metrics
from specdec_operator.kube.request import own_settings
from specdec_operator.leadership.share import Share

_LOG = logging.getLogger(__name__)
_LOOK: Final = 0.5
LOST: Final = 75
"""Exit code of a replica that lost its Lease (sysexits.h EX_TEMPFAIL)."""
Work = Callable[[Share], Coroutine[Any, Any, None]]
"""What is done with the Lease, until `stop` is set. It gets the services that are its own."""
Tell = Callable[[asyncio.Event], None]
"""Sets an event of the work's event loop."""


class Holder(Protocol):
    """What a replica works by: a Lease, or one of several.

    It is kept and given back in the thread of the Lease, and asked from the work's as well.
    ready: set once work may begin. share: what is worked on then.
    """

    ready: asyncio.Event
    share: Share

    @property
    def name(self) -> str:
        """What is held, for the log."""

    def held(self) -> bool:
        """Whether it is held so surely that no other replica can have it."""

    async def keep(self, tell: Tell) -> None:
        """Waits for it, takes it and holds it on. Ends when it is lost."""

    async def give_back(self) -> None:
        """Lets others have it at once."""


async def connection(identity: str) -> tuple[client.ApiClient, str]:
    """A client for Leases, and a name of this replica that no other one has. Raises Unavailable."""
    api = client.ApiClient(await own_settings())  # connects at its first request, in the loop of that
    api.user_agent = f"specdec-operator/{__version__}"
    return api, f"{identity}_{uuid.uuid4().hex[:8]}"


async def work_while_held(api: client.ApiClient, holder: Holder, work: Work, stop: asyncio.Event) -> None:
    """Stands by until something is held, then works until `stop` is set. Closes `api`."""
    here, there, over = asyncio.get_running_loop(), asyncio.new_event_loop(), asyncio.Event()

    def tell(event: asyncio.Event) -> None:
        with suppress(RuntimeError):  # the loop is closed: the process ends
            here.call_soon_threadsafe(event.set)

    metrics.leading(False)
    holding = asyncio.create_task(asyncio.to_thread(_run, there, _hold(api, holder, tell, over)))
    try:
        if await _stand_by(holder.ready, stop, holding):
            _LOG.info("this replica leads: %s", holder.name)
            metrics.leading(True)
            await work(holder.share)
    finally:
        with suppress(RuntimeError):  # the thread has ended
            there.call_soon_threadsafe(over.set)
        await holding


def _run(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main)


async def _stand_by(ready: asyncio.Event, stop: asyncio.Event, holding: asyncio.Task[None]) -> bool:
    """Waits; returns whether this replica works from now on."""
    waiting = [asyncio.create_task(each.wait()) for each in (ready, stop)]
    await asyncio.wait({*waiting, holding}, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    return ready.is_set() and not stop.is_set() and not holding.done()


async def _hold(api: client.ApiClient, holder: Holder, tell: Tell, over: asyncio.Event) -> None:
    """What the thread does, until it is over. Raises what ended it before anything was held."""
    keeping, ending = asyncio.create_task(holder.keep(tell)), asyncio.create_task(over.wait())
    had = False
    try:
        while not over.is_set():
            await asyncio.wait({keeping, ending}, timeout=_LOOK, return_when=asyncio.FIRST_COMPLETED)
            if keeping.done() and not had:
                keeping.result()
            if keeping.done() or (had and not holder.held()):
                _end(holder)
            had = holder.held()
    finally:
        keeping.cancel()
        ending.cancel()
        await asyncio.gather(keeping, ending, return_exceptions=True)
        await holder.give_back()
        await api.close()


def _end(holder: Holder) -> NoReturn:
    """Ends the process from this thread, whatever the others are about."""
    _LOG.critical("%s is lost: this replica exits and becomes a standby again", holder.name)
    logging.shutdown()
    os._exit(LOST)
