"""The loop of one sis, the function to read first: observe, judge, advance, plan, render, apply, report.

A new state is written before it is acted on: an operator that dies in between acts after its restart, and one that
dies later does not put back what it took out (docs/decisions/0001-decide-then-act.md).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import metrics, sis_metrics
from specdec_operator.cluster import Cluster
from specdec_operator.control import report
from specdec_operator.control.children import keep_applied, try_again
from specdec_operator.control.downloads import Downloader
from specdec_operator.control.durable import decision, state_of
from specdec_operator.control.events import Event, events_of, of_trouble
from specdec_operator.control.findings import Findings
from specdec_operator.control.known import asked_of, better_of, facts_of, findings_of, policy_for
from specdec_operator.control.material import is_material
from specdec_operator.control.memory import Memory
from specdec_operator.control.pace import RESYNC, RETRY, seconds_to_next
from specdec_operator.control.readers import refuse_source
from specdec_operator.control.sis import Sis, annotated, read_sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.surroundings import Surroundings
from specdec_operator.control.trouble import Trouble, stalled_status
from specdec_operator.control.wakeups import Key
from specdec_operator.control.watch import Reader, is_looked_at, look, thresholds_of
from specdec_operator.control.wish import Wish, wish_of
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.advance import advance
from specdec_operator.guard.asked import begin, renewed
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.serving.arrival import Arrival, is_idle

_LOG = logging.getLogger(__name__)
_SETTLE: Final = 10.0
_UNSETTLED: Final = 1.0
_MEASURED: Final = frozenset({Phase.WATCHING, Phase.RESPONDING, Phase.STALLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The outcome of one turn: seconds until the next look, and Events to send."""

    delay: float
    events: tuple[Event, ...] = ()


class Loop:
    """Keeps every sis as its spec and its guard say. Holds no decision that the status does not hold.

    prometheus: servers that guards may name, all where empty.
    """

    def __init__(
        self,
        cluster: Cluster,
        reader: Reader,
        stores: Stores,
        surroundings: Surroundings,
        *,
        clock: Callable[[], float],
        prometheus: tuple[str, ...] = (),
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._stores = stores
        self._surroundings = surroundings
        self._clock = clock
        self._prometheus = prometheus
        self._memories: dict[Key, Memory] = {}
        self._started = clock()

    async def turn(self, body: Mapping[str, Any]) -> Turn:
        """One turn for one sis. Raises nothing that the next turn could mend."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        memory = self._memories.setdefault(key, Memory())
        try:
            with metrics.turn_timed():
                return await self._turn_or_stall(key, memory, body)
        except Unavailable as error:
            _LOG.warning("sis=%s/%s %s: %s", *key, error.reason, error.message)
            metrics.turn_failed(error.reason)
            events, memory.told = memory.told, ()
            return Turn(delay=RETRY, events=events)

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._memories.pop(key, None)
        self._stores.forget(key)
        sis_metrics.forget(key)

    async def _turn_or_stall(self, key: Key, memory: Memory, body: Mapping[str, Any]) -> Turn:
        try:
            sis = read_sis(body)
            refuse_source(sis.spec.guard, self._prometheus)
            return await self._turn(key, memory, sis)
        except Invalid as error:
            last, trouble = memory.sis, Trouble(error=error, generation=body["metadata"].get("generation", 0))
        if last is None or last.generation == trouble.generation:
            return await self._stall(key, memory, body, trouble)
        try:  # the pods of the spec before run on, and so does their guard
            return await self._turn(key, memory, annotated(last, body), trouble)
        except Invalid:
            return await self._stall(key, memory, body, trouble)

    async def _turn(self, key: Key, memory: Memory, sis: Sis, trouble: Trouble | None = None) -> Turn:
        now = self._clock()
        before = memory.state or state_of(sis.status)
        if memory.state is None and before is not None and not self._settled(key, now):
            return Turn(delay=_UNSETTLED)
        if memory.written is None:
            memory.written = sis.status
        policy = policy_for(sis)
        asked = asked_of(sis, policy)
        wish = await self._wish(key, memory, sis, renewed(before or begin(asked, now), asked, now), now)
        memory.sis = sis
        limits = thresholds_of(sis.spec.guard, wish.plan.speculation, wish.plan.tokens, wish.state.baseline)
        judged = await self._look(key, memory, sis, wish, limits, now)
        better = better_of(sis, wish, judged, limits)
        now = self._clock()
        after = advance(wish.state, facts_of(wish, policy, judged, better, self._stores.pod_names(key)), now)
        if (after.subject, after.replacing) != (wish.state.subject, wish.state.replacing):
            wish = await self._wish(key, memory, sis, after, now)
            after = wish.state
        wish = replace(wish, state=after)
        arrived = await self._arrival(key, wish)
        child = self._stores.child(key)
        found = findings_of(sis, wish, policy, limits, memory.judged, better, arrived, url=child.url if child else None)
        if _restarts(before, after):
            memory.watched = memory.judged = None
            decided_by = after.phase is Phase.ROLLED_BACK or (before is not None and after.restarts > before.restarts)
            found = found if decided_by else replace(found, judged=None)
        await self._fetch(key, memory, sis, wish, arrived, now)
        if try_again(memory, wish.rendered, now) and after == before:
            # Nothing was decided, and nothing is told before it is known how that ends.
            await self._make(key, memory, wish, now)
        memory.state = after
        memory.unsent += events_of(before, after, found, memory.written, trouble)
        decided = before is None or decision(after) != decision(before)
        await self._tell(key, memory, found, now, decided=decided, trouble=trouble)
        await self._make(key, memory, wish, now)
        await self._restart_pods(key, after)
        _log_change(key, before, after, found)
        sis_metrics.observe(key, found, memory, stalled=trouble is not None)
        events, memory.told = memory.told, ()
        now = self._clock()
        looks = self._looks(sis, wish, now)
        delay = seconds_to_next(after, memory, policy, looks=looks, now=now) if wish.staged else RETRY
        return Turn(delay=delay, events=events)

    def _settled(self, key: Key, now: float) -> bool:
        """Whether what the watches have told can be believed: just after a start they have not told of every pod."""
        return self._stores.settled(key) or now - self._started > _SETTLE

    async def _wish(self, key: Key, memory: Memory, sis: Sis, state: State, now: float) -> Wish:
        kserve = await self._surroundings.kserve()
        said = memory.hindrance
        return wish_of(key, sis, state, self._stores, memory.downloads, kserve, now, hindrance=said)

    async def _fetch(self, key: Key, memory: Memory, sis: Sis, wish: Wish, arrived: Arrival, now: float) -> None:
        """Brings downloads on their way. It changes nothing that runs, so it need not be told before it is done."""
        if wish.plan.layout.claim is not None:
            layout, kept = wish.plan.layout, memory.downloads
            downloader = Downloader(self._cluster, self._stores, key, sis, layout, wish.kserve, kept)
            await downloader.attend(arrived, wish.rollout, staged=wish.staged, now=now)

    async def _make(self, key: Key, memory: Memory, wish: Wish, now: float) -> None:
        """Makes the InferenceService be as it is wished, once its artifacts can be mounted."""
        if wish.staged:
            await keep_applied(self._cluster, self._stores, key, memory, wish.rendered, now)

    async def _arrival(self, key: Key, wish: Wish) -> Arrival:
        """Whether the artifacts are there; the cluster's Events are asked where the pods are silent."""
        found = wish.arrival()
        silent = next((pod for pod in wish.pods if is_idle(pod)), None)
        if silent is None or found.status != "Unknown":
            return found
        about = f"involvedObject.name={silent.name},type=Warning"
        events = await self._cluster.read(f"/api/v1/namespaces/{key[0]}/events", field_selector=about)
        return wish.arrival((events or {}).get("items", ()))

    def _looks(self, sis: Sis, wish: Wish, now: float) -> bool:
        settled = wish.rendered.revision == wish.state.revision
        plain = wish.plan.speculation is None
        return is_looked_at(wish.state, sis.spec.guard, plain=plain, settled=settled, now=now)

    async def _look(
        self, key: Key, memory: Memory, sis: Sis, wish: Wish, limits: Thresholds, now: float
    ) -> Judged | None:
        """The window of what is served that closed just now; None where none did."""
        if memory.subject != wish.state.subject:
            memory.watched, memory.subject = None, wish.state.subject
        if not self._looks(sis, wish, now):
            return None
        pods = tuple(pod for pod in wish.pods if pod.ready)
        guard = sis.spec.guard
        return await look(memory, self._reader, pods, namespace=key[0], guard=guard, limits=limits, now=now)

    async def _restart_pods(self, key: Key, state: State) -> None:
        """Deletes pods that are to be restarted; their Deployment makes others in their place."""
        for pod in self._stores.pods(key):
            if pod.name in state.restarting and not pod.deleting:
                meta = {"namespace": key[0], "name": pod.name}
                await self._cluster.remove({"apiVersion": "v1", "kind": "Pod", "metadata": meta})

    async def _tell(
        self, key: Key, memory: Memory, found: Findings, now: float, *, decided: bool, trouble: Trouble | None
    ) -> None:
        written = memory.written or {}
        status = report.status_of(found, written, now)
        status = stalled_status(status, trouble, now=now) if trouble else status
        if decided or is_material(status, written, since_written=now - memory.written_at):
            await self._write(key, memory, status, now)
        memory.told, memory.unsent = (*memory.told, *memory.unsent), ()

    async def _write(self, key: Key, memory: Memory, status: dict[str, Any], now: float) -> None:
        await self._cluster.apply_status(*key, status)
        memory.written, memory.written_at = status, now

    async def _stall(self, key: Key, memory: Memory, body: Mapping[str, Any], trouble: Trouble) -> Turn:
        sis_metrics.refuse(key)
        now = self._clock()
        if memory.written is None:
            memory.written = dict(body.get("status", {}))
        status = stalled_status(memory.written, trouble, now=now)
        if not is_material(status, memory.written, since_written=0.0):
            return Turn(delay=RESYNC)
        try:
            await self._write(key, memory, status, now)
        except Unavailable as unavailable:
            _LOG.warning("sis=%s/%s %s: %s", *key, unavailable.reason, unavailable.message)
            return Turn(delay=RETRY)
        return Turn(delay=RESYNC, events=(of_trouble(trouble),))


def _restarts(before: State | None, after: State) -> bool:
    """Whether what was measured belongs to the past: other pods run from here on, or the same ones anew."""
    return before is None or (before.phase is not after.phase and after.phase not in _MEASURED)


def _log_change(key: Key, before: State | None, after: State, found: Findings) -> None:
    if before is None or before.phase is not after.phase:
        old = before.phase.value if before else "-"
        _LOG.info("sis=%s/%s phase=%s was=%s rollout=%r", *key, after.phase.value, old, found.rollout.message)
