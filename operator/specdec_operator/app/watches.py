"""kopf's part: it watches, in a thread of its own, and hands events over. Nothing is decided here.

In a thread and an event loop of its own, because kopf takes every task of its loop that began after it for its own:
when it ends it waits 5 s for all of them, and cancels what is left, reconciles as well. And it ends whenever a watch is
answered with an error.

There are no on-change handlers, daemons, timers or indexes: they would keep their state in annotations of the services,
or a finalizer on each. One that an earlier release left there kopf takes off by itself at the first event.
"""

import asyncio
import dataclasses
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

import aiohttp
import kopf

from specdec_operator import names
from specdec_operator.app.intake import read_answer, short_line
from specdec_operator.settings import Settings, api_server

REGISTRY: Final = kopf.OperatorRegistry()
Take: TypeAlias = Callable[[str, Mapping[str, Any]], None]
"""Is called with the kind of an object, as a plural, and the event about it."""
_OWNED: Final = {names.OWNER_LABEL: kopf.PRESENT}
_NO_SIGNALS: Final = "OS signals are ignored"
"""The beginning of kopf's warning that it ignores signals in this thread. The main thread handles them."""


@kopf.on.startup(registry=REGISTRY)
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Sets kopf up; each line answers a measured fault of the defaults."""
    settings.peering.standalone = True
    settings.persistence.finalizer = names.FINALIZER  # so that kopf knows the one to take off
    for kind in (
        ("pods",),
        ("apps", "deployments"),
        ("batch", "jobs"),
        (names.KSERVE_GROUP, "inferenceservices"),
    ):
        selector = kind[0] if len(kind) == 1 else kind
        settings.watching.label_selectors[selector] = names.OWNER_LABEL  # else the whole cluster is listed and kept
    settings.watching.chunk_size = 25  # what a list of all brings at once is memory that is never given back
    settings.queueing.idle_timeout = 1.0  # a task for each object that was reported, for so long
    settings.networking.request_timeout = 30
    settings.networking.error_backoffs = (1, 1, 2, 3, 5)  # then the watches begin again: a minute of tries loses one
    settings.process.ultimate_exiting_timeout = None  # it would kill the process that begins its watches again


class _Lines:
    """The content of a watch, whose events kopf parses, and keeps a while: one that is too large comes to it short."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines."""
        begun = bytearray()
        async for chunk in self._content.iter_chunked(size):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                begun += line
                whole, begun = bytes(begun), bytearray()
                yield short_line(whole) + b"\n"
            begun += rest
        if begun:
            yield bytes(begun)


class _BoundedAnswer(aiohttp.ClientResponse):
    """Of a list or a watch, what is too large is dropped while it is read: kopf reads a list as a whole."""

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        started = await super().start(connection)
        if "watch" in self.url.query:
            self.content = _Lines(self.content)  # type: ignore[assignment] # it has what is asked of it
        return started

    async def json(self, **_: Any) -> Any:
        text = await self.text("utf-8")
        self._body = None  # else it is there twice while it is parsed
        return read_answer(text)


@kopf.on.login(registry=REGISTRY)
async def login(**kwargs: Any) -> kopf.AiohttpSession | None:
    """Logs in as the pod's service account, or by KUBECONFIG; never by whatever client is installed."""
    account, server = kopf.login_with_service_account(**kwargs), api_server()
    if account is not None and server is not None:
        account = dataclasses.replace(account, server=server)  # kopf asks for a DNS name; a cluster may have no DNS
    found = account or kopf.login_with_kubeconfig(**kwargs)
    if found is None:
        return None
    session = aiohttp.ClientSession(  # as kopf's own, except what is made of an answer
        connector=aiohttp.TCPConnector(limit=0, ssl=found.as_ssl_context()),
        headers=found.as_http_headers(),
        proxy=found.proxy_url,
        trust_env=found.trust_env,
        response_class=_BoundedAnswer,
    )
    return kopf.AiohttpSession(
        server=found.server,
        default_namespace=found.default_namespace,
        priority=found.priority,
        expiration=found.expiration,
        aiohttp_session=session,
    )


@kopf.on.event(names.GROUP, names.PLURAL, registry=REGISTRY)
async def note_service(memo: Take, event: Mapping[str, Any], **_: Any) -> None:
    """A service. kopf calls what it is given to pass on to handlers a memo."""
    memo("services", event)


@kopf.on.event(names.KSERVE_GROUP, "inferenceservices", labels=_OWNED, registry=REGISTRY)
async def note_child(memo: Take, event: Mapping[str, Any], **_: Any) -> None:
    """An InferenceService of ours."""
    memo("inferenceservices", event)


@kopf.on.event("apps", "deployments", labels=_OWNED, registry=REGISTRY)
async def note_deployment(memo: Take, event: Mapping[str, Any], **_: Any) -> None:
    """The Deployment that KServe made of it."""
    memo("deployments", event)


@kopf.on.event("pods", labels=_OWNED, registry=REGISTRY)
async def note_pod(memo: Take, event: Mapping[str, Any], **_: Any) -> None:
    """One of its pods."""
    memo("pods", event)


@kopf.on.event("batch", "jobs", labels=_OWNED, registry=REGISTRY)
async def note_job(memo: Take, event: Mapping[str, Any], **_: Any) -> None:
    """One of its download Jobs."""
    memo("jobs", event)


async def watch(settings: Settings, take: Take) -> None:
    """Watches until it is cancelled. take: is called in the caller's event loop. Raises what kopf ended with.

    Nothing is handed over after its end, and kopf's thread is not waited for: it ends by itself.
    """
    loop, stop = asyncio.get_running_loop(), threading.Event()
    ended: asyncio.Future[None] = loop.create_future()

    def deliver(kind: str, event: Mapping[str, Any]) -> None:
        if not stop.is_set():
            take(kind, event)

    def hand_over(kind: str, event: Mapping[str, Any]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the process ends
            loop.call_soon_threadsafe(deliver, kind, event)

    def end(error: Exception) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_end, ended, error)

    def work() -> None:
        asyncio.run(_run_kopf(settings, hand_over, stop, end))

    threading.Thread(target=work, name="kopf", daemon=True).start()
    try:
        await ended
    finally:
        stop.set()


async def _run_kopf(
    settings: Settings, hand_over: Take, stop: threading.Event, end: Callable[[Exception], None]
) -> None:
    """Runs kopf; passes its error on before its tasks are cleared away, because that can hang after an outage."""
    try:
        tasks = await kopf.spawn_tasks(
            registry=REGISTRY,
            memo=hand_over,
            standalone=True,
            clusterwide=not settings.namespaces,
            namespaces=settings.namespaces,
            stop_flag=stop,
        )
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        errors = [each.exception() for each in done if not each.cancelled()]
        end(next((each for each in errors if isinstance(each, Exception)), RuntimeError("kopf ended without an error")))
    except Exception as error:
        end(error)
    finally:
        stop.set()  # kopf waits for it in yet another thread


def _end(ended: asyncio.Future[None], error: Exception) -> None:
    if not ended.done():
        ended.set_exception(error)


def is_worth_a_line(record: logging.LogRecord) -> bool:
    """A filter of the log: kopf warns at each start that it ignores signals. The main thread handles them."""
    return not record.getMessage().startswith(_NO_SIGNALS)
