"""Sets the dials of a service's pods, and reads back what is in force.

Each reconcile compares what the pods have with the request, so an operator that restarts, or misses an answer,
goes on where it was.
"""

import asyncio
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Protocol

from specdec_operator.errors import OperatorError
from specdec_operator.guard.dial import DialView, answer_of, by_hand, due_settings
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import DIAL_ANNOTATION, Key
from specdec_operator.observe.pods import ENGINE_PORT, PodView
from specdec_operator.reconcile.desired import Desired
from specdec_operator.reconcile.memory import DialMemory, ServiceMemory, WrittenSetting
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.instrument import has_dial, port_of

_SOON: Final = 0.3
"""Seconds until the pods are read again that do not draft as asked for yet: the kubelet needs about as long."""
_EAGER: Final = 30.0
"""Seconds for which that goes on. A pod that has not followed by then is read as rarely as all others."""
_LATER: Final = 15.0
_ON_ITS_WAY: Final = 10.0
"""Seconds in which the watch shows what was written."""
_NO_DIAL: Final = (
    "specdec.io/dial: these pods have no dial: guard.dial.mode is Off, they run without speculation, or their image or "
    "runtime is not the operator's own; remove the annotation, or use `specdec rollback`"
)


class DialReader(Protocol):
    """Reads from pods what their engines draft."""

    async def dial(self, namespace: str, address: str, *, port: int = ENGINE_PORT) -> bytes | None:
        """What the engine at an address drafts; None if it does not answer so."""


def view_of(sis: Sis, desired: Desired, memory: DialMemory, now: float) -> DialView:
    """What is asked of the dials of the requested pods, and what is known of them."""
    if desired.guest is not None or not has_dial(desired.plan):
        return DialView(refused=_NO_DIAL if sis.dial else "")
    request, refused = by_hand(sis.dial, desired.plan.tokens, now)
    serving = tuple(sorted(pod.name for pod in desired.pods if pod.ready))
    answers = {pod: answer for pod, answer in memory.answers.items() if pod in serving}
    return DialView(
        request=request, refused=refused, pods=serving, answers=answers, denied=memory.denied if request else ""
    )


async def read_dials(
    reader: DialReader, key: Key, memory: ServiceMemory, pods: Iterable[PodView], now: float
) -> ServiceMemory:
    """The memory with what the pods draft, if a setting is to be in force in them and a reading is due.

    All pods are read at once, and each has a second: one that hangs delays no other.
    """
    dial = memory.dial
    if dial.request is None or now < dial.due:
        return memory
    asked = [pod for pod in pods if pod.ready and not pod.deleting and pod.ip and not pod.on_host]
    pages = await asyncio.gather(*(reader.dial(key[0], pod.ip or "", port=dial.port) for pod in asked))
    answers = {pod.name: answer_of(page) for pod, page in zip(asked, pages, strict=True)}
    view = DialView(request=dial.request, pods=tuple(answers), answers=answers)
    pause = _LATER if view.settled or now - dial.since > _EAGER else _SOON
    return replace(memory, dial=replace(dial, answers=answers, due=now + pause))


async def set_dials(
    cluster: Cluster, key: Key, view: DialView, desired: Desired, memory: ServiceMemory, now: float
) -> ServiceMemory:
    """Gives each pod the setting that it does not have yet, all at once; those that are not ready yet too.

    A refusal is remembered and shown, and tried again after a while: nothing else waits for it.
    """
    dial = _asked(memory.dial, view, desired, now)
    if now >= dial.again:
        dial = await _written(cluster, key, view, desired, dial, now)
    return replace(memory, dial=dial, due=min(memory.due, dial.due, dial.again or math.inf))


async def _written(
    cluster: Cluster, key: Key, view: DialView, desired: Desired, dial: DialMemory, now: float
) -> DialMemory:
    """The memory after every pod that lacks its setting was given it."""
    written = {name: each for name, each in dial.written.items() if now - each.at < _ON_ITS_WAY}
    has = {pod.name: _present(pod, written.get(pod.name)) for pod in desired.pods}
    due = due_settings(view.request, desired.rendered.revision, has, now)
    pods = [pod for pod in desired.pods if pod.name in due]
    errors = await asyncio.gather(*(_set(cluster, key, pod, due[pod.name]) for pod in pods))
    written |= {
        pod.name: WrittenSetting(text=due[pod.name] or "", before=pod.dial, at=now)
        for pod, error in zip(pods, errors, strict=True)
        if not error
    }
    denied = next(filter(None, errors), "")
    return replace(dial, written=written, denied=denied, again=now + _LATER if denied else 0.0)


def _asked(before: DialMemory, view: DialView, desired: Desired, now: float) -> DialMemory:
    """The memory with the request that holds from now on."""
    if before.request == view.request:
        return before
    due = math.inf if view.request is None else now + _SOON
    return replace(
        before, request=view.request, since=now, port=port_of(desired.plan.spec.engine), answers={}, due=due, again=0.0
    )


def _present(pod: PodView, written: WrittenSetting | None) -> str:
    """The setting that a pod has: by the watch, unless the last write is not in it yet."""
    return written.text if written is not None and written.before == pod.dial else pod.dial


async def _set(cluster: Cluster, key: Key, pod: PodView, text: str | None) -> str:
    """Why a pod could not be given its setting; empty if it could, or is gone."""
    named = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": key[0], "name": pod.name, "uid": pod.uid}}
    try:
        await cluster.annotate(named, DIAL_ANNOTATION, text)
    except OperatorError as error:
        way_out = "install the chart with rbac.dial, or remove annotation specdec.io/dial"
        return f"pod {pod.name} cannot be given a setting ({error.message}): {way_out}"
    return ""
