"""Sets the dials of a service's pods, and reads back what is in force.

Each reconcile compares what the pods have with the request, so an operator that restarts, or misses an answer,
goes on where it was.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final, Protocol

from specdec_operator.errors import OperatorError, Unavailable
from specdec_operator.guard.decisions import Reduction
from specdec_operator.guard.dial import (
    NO_ANSWER,
    DialRequest,
    DialView,
    answer_of,
    by_guard,
    by_hand,
    changed,
    due_settings,
    is_ours,
    setting,
)
from specdec_operator.guard.state import Phase, State
from specdec_operator.guest.dial import why_no_dial
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import DIAL_ANNOTATION, Key
from specdec_operator.observe.pods import ENGINE_PORT, PodView
from specdec_operator.reconcile.desired import Desired
from specdec_operator.reconcile.memory import DialMemory, ServiceMemory, WrittenSetting
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.instrument import has_dial, port_of

_SOON: Final = 0.2
"""Seconds until the pods are read again that do not draft as asked for yet: the kubelet needs about as long."""
_EAGER: Final = 30.0
"""Seconds for which that goes on. A pod that has not followed by then is read as rarely as all others."""
_HEARD: Final = 0.6
"""Seconds in which a setting is written and shown to its pod: a kubelet needs 0.1 to 0.4, and more while it starts
other pods. It does not show one in fifteen until the pod changes again, so what is not followed by then is written
again. A second one that comes sooner delays the first.
"""
_LONGER: Final = 1.5
"""How much longer it is given each time, because a pod may follow none."""
_AFTER_PROBE: Final = 3.0
"""Seconds until pods are read after a probe: each of them ends it a moment later."""
_DENIALS: Final = frozenset({"Forbidden", "AdmissionRefused"})
"""Reasons of errors that another try does not mend."""
_FOLLOWED: Final = 20.0
"""Seconds after which a pod that does not follow is answered by a rollout."""
_LATER: Final = 15.0
_GUESTS_PAUSE: Final = 1.0
"""Seconds between two reads of a guest for its dial, at least: each of them lists its pods at the API server."""
_RARELY: Final = 60.0
"""Seconds until a pod is asked again that has not answered whether it has a dial."""
_FORBIDDEN: Final = 3600.0
"""Seconds after a refused setting in which the guard does not count on dials."""
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


def dialled_pods(desired: Desired, pods: tuple[PodView, ...], memory: DialMemory) -> tuple[PodView, ...]:
    """The pods that have a dial: those of the requested revision, and those that are replaced, as long as they serve.
    If a decision of the guard replaces them, only those: the others have fewer tokens by their flags.
    """
    decided = _leaving(desired.state) is not None
    own = frozenset[str]() if decided else frozenset(each.name for each in desired.pods)
    least = 1 if decided else max(1, desired.plan.tokens)  # a pod refuses more tokens than its flags have
    return tuple(
        each
        for each in _watched(desired, pods)
        if each.name in own or is_ours(each.dial) or (memory.offers.get(each.name) or 0) >= least
    )


def _watched(desired: Desired, pods: tuple[PodView, ...]) -> tuple[PodView, ...]:
    """The pods that may have a dial. Whether one that is replaced has it, only its answer or its setting shows."""
    if not _may_set(desired):
        return _to_be_reset(desired, pods)
    older = tuple(each for each in pods if each.revision != desired.rendered.revision and not each.deleting)
    if _leaving(desired.state) is None:
        older = (*desired.pods, *older) if has_dial(desired.plan) else ()
    return tuple(each for each in older if each.dial_revision)


def _may_set(desired: Desired) -> bool:
    """Whether the operator may write settings to these pods. Those of a guest keep their volume in each mode, and its
    owner has to allow it.
    """
    return desired.guest is None or (desired.enforcement.may and desired.plan.spec.guard.dials)


def _to_be_reset(desired: Desired, pods: tuple[PodView, ...]) -> tuple[PodView, ...]:
    """The pods of a guest that still have a setting of the operator, which no longer may set it. Without its owner's
    permission, it stays until it runs out: nothing is written then.
    """
    allowed = desired.guest is not None and desired.guest.flags.allowed
    return tuple(each for each in pods if allowed and is_ours(each.dial) and not each.deleting)


def _leaving(state: State) -> DialRequest | None:
    """What pods draft while a decision of the guard replaces them; None: nothing replaces them."""
    rollback, reduced = state.rollback, state.reduced
    if rollback is not None and rollback.pending:
        return DialRequest(tokens=0, reason=rollback.reason, message=f"{rollback.reason}: {rollback.message}")
    return _fewer(reduced) if reduced is not None and state.phase is Phase.RESPONDING else None


def _fewer(reduced: Reduction) -> DialRequest:
    """What a decision for fewer tokens asks the pods for."""
    message = f"{reduced.reason}: {reduced.message}"
    return DialRequest(tokens=reduced.tokens, reason=reduced.reason, message=message)


def _adapted(desired: Desired) -> DialRequest | None:
    """What a decision for tokens by load asks the pods for."""
    adapted = desired.state.adapted
    if adapted is None or not adapted.rows or not desired.plan.tokens:
        return None
    rows = tuple(replace(each, tokens=min(each.tokens, desired.plan.tokens)) for each in adapted.rows)
    message = f"{adapted.reason}: {adapted.message}"
    return DialRequest(tokens=desired.plan.tokens, reason=adapted.reason, message=message, rows=rows)


def view_of(sis: Sis, desired: Desired, pods: tuple[PodView, ...], memory: DialMemory, now: float) -> DialView:
    """What is asked of the dials, and what is known of them. pods: all of the service."""
    dialled = dialled_pods(desired, pods, memory)
    request, refused = _request(sis, desired, memory, now)
    if not dialled or not _may_set(desired):
        coming = _is_coming(desired)
        request = request if coming and request is not None and request.by_hand else None
        refused = refused if coming else _why_none(desired) if sis.dial else ""
    serving = tuple(sorted(pod.name for pod in dialled if pod.ready))
    answers = {pod: answer for pod, answer in memory.answers.items() if pod in serving}
    return DialView(
        request=request, refused=refused, pods=serving, answers=answers, denied=memory.denied if request else ""
    )


def _is_coming(desired: Desired) -> bool:
    """Whether pods with a dial are still to come. Of a guest, that is open as long as it has no pods at all."""
    own = desired.guest is None or not desired.pods
    return own and _may_set(desired) and has_dial(desired.plan) and _leaving(desired.state) is None


def _why_none(desired: Desired) -> str:
    guest = desired.guest
    return _NO_DIAL if guest is None else why_no_dial(guest.ref, desired.enforcement)


def _request(sis: Sis, desired: Desired, memory: DialMemory, now: float) -> tuple[DialRequest | None, str]:
    """What is asked, and why the user's annotation is not followed. A user's own setting goes before the guard's, but
    pods that are replaced draft no more than the guard decided.
    """
    request, refused = by_hand(sis.dial, desired.plan.tokens, now)
    if (leaving := _leaving(desired.state)) is not None:
        lower = request is not None and request.tokens < leaving.tokens
        return request if lower else leaving, ""
    dial, reduced = desired.state.dial, desired.state.by_dial
    if request is not None or dial is None:
        return request or (_fewer(reduced) if reduced else _adapted(desired)), refused
    started = desired.plan.tokens or min((each for each in memory.offers.values() if each), default=0)
    started = min(started, reduced.tokens) if reduced else started  # probes show what is drafted if the dial goes up
    started = 0 if sis.held else started  # a hold keeps everything as it is
    return by_guard(dial.at, dial.reason, dial.message, started, sis.spec.guard.settle, now), refused


def offered(desired: Desired, memory: DialMemory, now: float) -> bool:
    """Whether every ready pod offers a dial, and the operator may set it, as far as it is known."""
    may = _may_set(desired) and has_dial(desired.plan)
    ready = [pod.name for pod in desired.pods if pod.ready] if may else []
    return bool(ready) and all(memory.offers.get(pod) for pod in ready) and now - memory.denied_at >= _FORBIDDEN


def trouble_of(view: DialView, memory: DialMemory, now: float) -> str:
    """Why the dials are not followed, once there was time enough for that; empty if they are. The time of each pod
    counts from the first answer by which it does not follow.
    """
    if view.denied:
        return view.denied
    late = any(now - memory.late.get(pod, now) >= _FOLLOWED for pod in view.pods)
    return view.trouble if late and memory.request == view.request else ""


async def read_dials(
    reader: DialReader, key: Key, memory: ServiceMemory, pods: Iterable[PodView], now: float
) -> ServiceMemory:
    """The memory with what the pods draft, if a reading is due: of all pods if a setting is to be in force in them,
    else of those that have not answered yet.

    All pods are read at once, and each has a second: one that hangs delays no other.
    """
    dial = memory.dial
    if now < dial.due:
        return memory
    ready = [pod for pod in pods if pod.name in dial.watched and _is_readable(pod)]
    asked = [pod for pod in ready if dial.request is not None or not dial.offers.get(pod.name)]
    pages = await asyncio.gather(*(reader.dial(key[0], pod.ip or "", port=dial.port) for pod in asked))
    answers = {pod.name: answer_of(page) for pod, page in zip(asked, pages, strict=True)}
    offers = {**dial.offers, **{pod: each.started for pod, each in answers.items() if each is not NO_ANSWER}}
    dial = replace(dial, offers=offers)
    if dial.request is None:
        every = all(offers.get(pod.name) for pod in ready)
        return replace(memory, dial=replace(dial, due=math.inf if every else now + _RARELY))
    view = DialView(request=dial.request, pods=tuple(answers), answers=answers)
    late = {pod: dial.late.get(pod, now) for pod in answers if not view.follows(pod)}
    eager = any(now - each <= _EAGER for each in late.values())
    return replace(memory, dial=replace(dial, answers=answers, late=late, due=now + (_SOON if eager else _LATER)))


def _is_readable(pod: PodView) -> bool:
    return pod.ready and not pod.deleting and bool(pod.ip) and not pod.on_host


async def set_dials(
    cluster: Cluster,
    key: Key,
    view: DialView,
    desired: Desired,
    pods: tuple[PodView, ...],
    memory: ServiceMemory,
    now: float,
) -> ServiceMemory:
    """Gives each pod the setting that it does not have yet, all at once; those that are not ready yet too. pods: all of
    the service.

    A refusal is remembered and shown, and tried again after a while: nothing else waits for it.
    """
    dialled = dialled_pods(desired, pods, memory.dial)
    dial = _asked(memory.dial, view, desired, _watched(desired, pods), now)
    if now >= dial.again:
        dial = await _written(cluster, key, view, dialled, dial, now)
    pause = _GUESTS_PAUSE if desired.guest is not None else 0.0
    due = math.inf if dial.request is None else max(dial.due, now + pause)  # what pods offer: when a window closes
    if dial.denied_at == now:
        due = now + _SOON  # the guard decides at once about a dial that it may not set
    return replace(memory, dial=dial, due=min(memory.due, due, dial.again or math.inf))


async def _written(
    cluster: Cluster, key: Key, view: DialView, dialled: tuple[PodView, ...], dial: DialMemory, now: float
) -> DialMemory:
    """The memory after every pod that lacks its setting was given it."""
    written = {name: each for name, each in dial.written.items() if now - each.at < _ON_ITS_WAY or name in dial.late}
    has = {pod.name: (pod.dial_revision, _present(pod, written.get(pod.name), now)) for pod in dialled}
    due = due_settings(view.request, has, now)
    unheard = _unheard(view, dial, written, now) & has.keys()
    if view.request is not None:
        due |= {pod: setting(view.request, has[pod][0], now) for pod in unheard}
    pods = [pod for pod in dialled if pod.name in due]
    errors = await asyncio.gather(*(_set(cluster, key, pod, due[pod.name]) for pod in pods))
    written |= {
        pod.name: WrittenSetting(
            text=due[pod.name] or "",
            before=pod.dial,
            at=now,
            times=1 + written[pod.name].times if pod.name in unheard & written.keys() else 1,
        )
        for pod, error in zip(pods, errors, strict=True)
        if not error
    }
    forbidden = next((str(each) for each in errors if each and each.reason in _DENIALS), "")
    again = now + _LATER if any(errors) else 0.0
    denied_at = now if forbidden else dial.denied_at
    return replace(dial, written=written, denied=forbidden, again=again, denied_at=denied_at)


def _unheard(view: DialView, dial: DialMemory, written: Mapping[str, WrittenSetting], now: float) -> set[str]:
    """The pods that have their setting and do not follow. It is written again, later and later: a kubelet may not have
    shown it, and one that was refused by a wrong clock may be right by now.
    """
    late = {pod for pod in dial.late if (answer := dial.answers.get(pod)) and answer.offered and not view.follows(pod)}
    tries = {pod: (each.at, each.times) for pod, each in written.items()}
    last = {pod: tries.get(pod, (dial.late[pod], 1)) for pod in late}
    return {pod for pod, (at, times) in last.items() if now - at >= _HEARD * _LONGER ** (times - 1)}


def _asked(
    before: DialMemory, view: DialView, desired: Desired, watched: tuple[PodView, ...], now: float
) -> DialMemory:
    """The memory with the pods and the request that hold from now on."""
    names = frozenset(pod.name for pod in watched)
    offers = {pod: tokens for pod, tokens in before.offers.items() if pod in names}
    memory = replace(before, port=port_of(desired.plan.spec.engine), watched=names, offers=offers)
    ready = [pod.name for pod in watched if _is_readable(pod)]
    if before.request != view.request:
        return _anew(memory, view.request, now)
    if view.request is None:
        unknown = any(not offers.get(pod) for pod in ready)
        return replace(memory, due=now) if unknown and before.due == math.inf else memory
    new = view.request.rest is None and any(pod not in before.answers for pod in ready)
    return replace(memory, due=min(memory.due, now + _SOON)) if new else memory


def _anew(before: DialMemory, request: DialRequest | None, now: float) -> DialMemory:
    """With another request. What was read before a probe holds after it: the probe itself is not read, because nothing
    waits for it, and its pods end it a moment later.
    """
    memory = replace(before, request=request, again=0.0)
    if request is None:
        return replace(memory, answers={}, late={}, followed=False, due=math.inf)
    if changed(before.request, request):
        return replace(memory, answers={}, late={}, followed=False, due=now + _SOON)
    return replace(memory, due=math.inf if request.rest is not None else now + _AFTER_PROBE)


def _present(pod: PodView, written: WrittenSetting | None, now: float) -> str:
    """The setting that a pod has: by the watch, unless the last write is not in it yet."""
    if written is None or now - written.at >= _ON_ITS_WAY or written.before != pod.dial:
        return pod.dial
    return written.text


async def _set(cluster: Cluster, key: Key, pod: PodView, text: str | None) -> OperatorError | None:
    """Why a pod could not be given its setting; None if it could, or is gone."""
    named = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": key[0], "name": pod.name, "uid": pod.uid}}
    try:
        await cluster.annotate(named, DIAL_ANNOTATION, text)
    except OperatorError as error:
        if error.reason not in _DENIALS:
            return error
        way_out = (
            "the chart grants the permission and its policy on Kubernetes 1.30 or newer unless rbac.dial is false; "
            "without Helm run `kubectl apply -k manifests/dial`; guard.dial.mode Off does without a dial"
        )
        return Unavailable(error.reason, f"pod {pod.name} cannot be given a setting ({error.message}): {way_out}")
    return None
