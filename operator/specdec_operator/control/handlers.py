"""kopf's part: watches that wake, and one daemon a sis that runs the loop. The only kopf import.

There are no on-change handlers, timers or indexes: they would keep their state in annotations of the sis.
"""

import asyncio
import dataclasses
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import kopf

from specdec_operator import metrics, names
from specdec_operator.control.events import Event
from specdec_operator.control.loop import Loop
from specdec_operator.control.stores import Stores
from specdec_operator.control.wakeups import Wakeups
from specdec_operator.settings import api_server
from specdec_operator.web.seen import Seen

REGISTRY: Final = kopf.OperatorRegistry()
_START_SPREAD: Final = 1.0
_OWNED: Final = {names.OWNER_LABEL: kopf.PRESENT}
_LATE: Final = 420.0
"""Seconds without a turn of any loop that mean that the process hangs; the longest sleep is 300 s."""


@dataclass(slots=True, kw_only=True)
class Pulse:
    """How many loops run, and when one made a turn last (seconds of the monotonic clock), for /healthz."""

    running: int = 0
    turned: float = 0.0


@dataclass(slots=True, kw_only=True)
class App:
    """What the handlers share. kopf gives each object a copy of it, so what changes lies one step deeper."""

    loop: Loop
    stores: Stores
    wakeups: Wakeups
    seen: Seen
    pulse: Pulse


@kopf.on.startup(registry=REGISTRY)
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Sets kopf up; each line answers a measured fault of the defaults."""
    settings.peering.standalone = True
    settings.persistence.finalizer = names.FINALIZER
    settings.posting.reporting_component = "specdec-operator"
    settings.posting.event_name_prefix = "specdec-"
    for kind in (
        ("pods",),
        ("apps", "deployments"),
        ("batch", "jobs"),
        (names.KSERVE_GROUP, "inferenceservices"),
    ):
        selector = kind[0] if len(kind) == 1 else kind
        settings.watching.label_selectors[selector] = names.OWNER_LABEL  # else the whole cluster is listed and kept
    settings.watching.chunk_size = 50  # what a list of all brings at once is memory that is never given back
    settings.networking.request_timeout = 30
    settings.process.ultimate_exiting_timeout = 60


@kopf.on.login(registry=REGISTRY)
def login(**kwargs: Any) -> kopf.ConnectionInfo | None:
    """Logs in as the pod's service account, or as KUBECONFIG says; never by whatever client is installed."""
    account, server = kopf.login_with_service_account(**kwargs), api_server()
    if account is None or server is None:
        return account or kopf.login_with_kubeconfig(**kwargs)
    return dataclasses.replace(account, server=server)  # kopf would ask for a DNS name, and a cluster may have no DNS


@kopf.on.probe(id="turns", registry=REGISTRY, errors=kopf.ErrorsMode.PERMANENT)
def probe(memo: App, **_: Any) -> str:
    """/healthz fails when there are loops and none has made a turn for long."""
    idle = time.monotonic() - memo.pulse.turned
    if memo.pulse.running and idle > _LATE:
        raise kopf.PermanentError(f"no loop of {memo.pulse.running} made a turn for {idle:.0f} s")
    return f"{memo.pulse.running} loops, last turn {idle:.0f} s ago"


@kopf.on.event(names.GROUP, names.PLURAL, registry=REGISTRY)
async def wake_on_change(
    memo: App, event: Mapping[str, Any], body: Mapping[str, Any], meta: Mapping[str, Any], **_: Any
) -> None:
    """A new generation, a user's annotation or a status that is gone wakes; our own writes do not, and are shown."""
    key, deleted = (meta["namespace"], meta["name"]), event["type"] == "DELETED"
    memo.seen.note(body, deleted=deleted)
    if deleted:
        if not memo.wakeups.follows(key):  # else another one has its name already
            memo.wakeups.forget(key)
        return
    asked = {k: v for k, v in meta.get("annotations", {}).items() if k.startswith(names.ANNOTATION_PREFIX)}
    told = "phase" in body.get("status", {})  # else somebody took our status out
    memo.wakeups.wake_if_new(key, (meta.get("generation"), told, tuple(sorted(asked.items()))))


@kopf.on.event(names.KSERVE_GROUP, "inferenceservices", labels=_OWNED, registry=REGISTRY)
async def note_child(memo: App, event: Mapping[str, Any], **_: Any) -> None:
    """An InferenceService of ours changed or went."""
    deleted = event["type"] == "DELETED"
    key = memo.stores.note_child(event["object"], deleted=deleted)
    if deleted and not memo.wakeups.follows(key):
        memo.stores.forget(key)  # its sis went before it, and nobody asks for it any more
    memo.wakeups.wake(key)


@kopf.on.event("apps", "deployments", labels=_OWNED, registry=REGISTRY)
async def note_deployment(memo: App, event: Mapping[str, Any], **_: Any) -> None:
    """The Deployment that KServe made of it changed or went."""
    memo.wakeups.wake(memo.stores.note_deployment(event["object"], deleted=event["type"] == "DELETED"))


@kopf.on.event("pods", labels=_OWNED, registry=REGISTRY)
async def note_pod(memo: App, event: Mapping[str, Any], **_: Any) -> None:
    """One of its pods changed or went."""
    memo.wakeups.wake(memo.stores.note_pod(event["object"], deleted=event["type"] == "DELETED"))


@kopf.on.event("batch", "jobs", labels=_OWNED, registry=REGISTRY)
async def note_job(memo: App, event: Mapping[str, Any], **_: Any) -> None:
    """One of its download Jobs changed or went."""
    memo.wakeups.wake(memo.stores.note_job(event["object"], deleted=event["type"] == "DELETED"))


def _jitter(**_: Any) -> float:
    return random.uniform(0, _START_SPREAD)  # noqa: S311 - spreads the first turns after a restart, guards nothing


@kopf.daemon(names.GROUP, names.PLURAL, registry=REGISTRY, initial_delay=_jitter, cancellation_timeout=5.0)
async def keep(memo: App, body: kopf.Body, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Runs the loop of one sis until the sis or the operator ends."""
    key = (body["metadata"]["namespace"], body["metadata"]["name"])
    memo.pulse.running += 1
    metrics.loops(memo.pulse.running)
    memo.wakeups.follow(key)
    woken = True
    try:
        while not stopped:
            turn = await memo.loop.turn(body, woken=woken)
            memo.pulse.turned = time.monotonic()
            _send(body, turn.events)
            woken = await memo.wakeups.wait(key, turn.delay)
    except asyncio.CancelledError:  # so kopf ends a sleep, after it has said that it stops
        if not stopped:
            raise
    finally:
        memo.pulse.running -= 1
        metrics.loops(memo.pulse.running)
        memo.loop.forget(key)
        memo.wakeups.forget(key)
        memo.seen.forget(key)


def _send(body: kopf.Body, events: tuple[Event, ...]) -> None:
    for event in events:
        post = kopf.warn if event.warning else kopf.info
        post(body, reason=event.reason, message=event.message[:1000])
