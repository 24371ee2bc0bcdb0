"""The loop of one sis, the function to read first: observe, judge, advance, plan, render, apply, report.

A new state is written before it is acted on: an operator that dies in between acts after its restart, and one that
dies later does not put back what it took out (docs/decisions/0001-decide-then-act.md).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import metrics
from specdec_operator.cluster import Cluster
from specdec_operator.control import report
from specdec_operator.control.children import keep_applied, try_again
from specdec_operator.control.downloads import Downloader
from specdec_operator.control.durable import state_of
from specdec_operator.control.events import Event, events_of
from specdec_operator.control.memory import Memory
from specdec_operator.control.pace import RESYNC, RETRY, seconds_to_next
from specdec_operator.control.report import Findings
from specdec_operator.control.sis import Sis, read_sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.surroundings import Surroundings
from specdec_operator.control.trouble import stalled_status
from specdec_operator.control.wakeups import Key
from specdec_operator.control.watch import Reader, look, thresholds_of
from specdec_operator.control.wish import Wish, wish_of
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.advance import Facts, advance, begin, renewed
from specdec_operator.guard.judge import Thresholds
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Verdict
from specdec_operator.serving.arrival import Arrival, is_idle
from specdec_operator.serving.pods import ENGINE_PORT

_LOG = logging.getLogger(__name__)
_SETTLE: Final = 10.0
_UNSETTLED: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The outcome of one turn: seconds until the next look, and Events to send."""

    delay: float
    events: tuple[Event, ...] = ()


class Loop:
    """Keeps every sis as its spec and its guard say. Holds no decision that the status does not hold."""

    def __init__(
        self,
        cluster: Cluster,
        reader: Reader,
        stores: Stores,
        surroundings: Surroundings,
        *,
        clock: Callable[[], float],
        port: int = ENGINE_PORT,
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._stores = stores
        self._surroundings = surroundings
        self._clock = clock
        self._port = port
        self._memories: dict[Key, Memory] = {}
        self._started = clock()

    async def turn(self, body: Mapping[str, Any]) -> Turn:
        """One turn for one sis. Raises nothing that the next turn could mend."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        memory = self._memories.setdefault(key, Memory())
        try:
            with metrics.turn_timed():
                return await self._turn(key, memory, read_sis(body))
        except Invalid as error:
            return await self._stall(key, memory, body, error)
        except Unavailable as error:
            _LOG.warning("sis=%s/%s %s: %s", *key, error.reason, error.message)
            metrics.turn_failed(error.reason)
            return Turn(delay=RETRY)

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._memories.pop(key, None)
        self._stores.forget(key)
        metrics.forget(key)

    async def _turn(self, key: Key, memory: Memory, sis: Sis) -> Turn:
        now = self._clock()
        before = memory.state or state_of(sis.status)
        if memory.state is None and before is not None and not self._settled(key, now):
            return Turn(delay=_UNSETTLED)
        if memory.written is None:
            memory.written = sis.status
        state = before or begin(sis.speculation, sis.retry, now)
        wish = await self._wish(key, memory, sis, renewed(state, sis.speculation, sis.retry, now), now)
        verdict, limits = await self._judged(key, memory, sis, wish, now)
        now = self._clock()
        after = advance(wish.state, self._facts(sis, wish, verdict), now)
        if after.rollback != wish.state.rollback:
            wish = await self._wish(key, memory, sis, after, now)
            after = wish.state
        wish = replace(wish, state=after)
        arrived = await self._arrival(key, wish)
        found = self._findings(key, memory, sis, wish, limits, arrived)
        if _restarts(before, after):
            memory.window = memory.verdict = memory.evidence = None
            found = replace(found, verdict=None, evidence=None) if after.rollback is None else found
        await self._fetch(key, memory, sis, wish, arrived, now)
        if try_again(memory, wish.rendered, now) and after == before:
            # Nothing was decided, and nothing is told before it is known how that ends.
            await self._make(key, memory, wish, now)
        memory.state = after
        memory.unsent += events_of(before, after, found, memory.written)
        await self._tell(key, memory, found, now, decided=after != before)
        await self._make(key, memory, wish, now)
        _log_change(key, before, after, found)
        metrics.observe(key, found, silent=memory.silent)
        events, memory.unsent = memory.unsent, ()
        delay = seconds_to_next(after, memory, sis.spec.guard.warmup, self._clock()) if wish.staged else RETRY
        return Turn(delay=delay, events=events)

    def _settled(self, key: Key, now: float) -> bool:
        """Whether what the watches have told can be believed: just after a start they have not told of every pod."""
        return self._stores.settled(key) or now - self._started > _SETTLE

    async def _wish(self, key: Key, memory: Memory, sis: Sis, state: State, now: float) -> Wish:
        kserve = await self._surroundings.kserve()
        return wish_of(key, sis, state, self._stores, memory.downloads, kserve, now)

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

    async def _judged(
        self, key: Key, memory: Memory, sis: Sis, wish: Wish, now: float
    ) -> tuple[Verdict | None, Thresholds | None]:
        speculation = wish.plan.speculation
        if speculation is None:
            return None, None
        limits = thresholds_of(sis.spec.guard, speculation.method, wish.plan.tokens)
        if wish.state.phase is not Phase.WATCHING:
            return None, limits
        pods = tuple(pod for pod in wish.pods if pod.ready)
        verdict = await look(memory, self._reader, pods, guard=sis.spec.guard, limits=limits, port=self._port, now=now)
        return verdict, limits

    def _facts(self, sis: Sis, wish: Wish, verdict: Verdict | None) -> Facts:
        guard = sis.spec.guard
        return Facts(
            speculating=wish.plan.speculation is not None,
            mode=guard.mode,
            warmup=guard.warmup,
            failure_limit=guard.failure_limit,
            revision=wish.rendered.revision,
            rollout=wish.rollout,
            verdict=verdict,
        )

    def _findings(
        self, key: Key, memory: Memory, sis: Sis, wish: Wish, limits: Thresholds | None, arrived: Arrival
    ) -> Findings:
        child = self._stores.child(key)
        return Findings(
            name=sis.owner.name,
            generation=sis.generation,
            state=wish.state,
            plan=wish.plan,
            rollout=wish.rollout,
            arrival=arrived,
            fetches=wish.fetches,
            kserve=wish.kserve,
            revision=wish.rendered.revision,
            url=child.url if child else None,
            thresholds=limits,
            verdict=memory.verdict,
            evidence=memory.evidence,
        )

    async def _tell(self, key: Key, memory: Memory, found: Findings, now: float, *, decided: bool) -> None:
        written = memory.written or {}
        status = report.status_of(found, written, now)
        if not decided and not report.is_material(status, written, since_written=now - memory.written_at):
            return
        await self._write(key, memory, status, now)

    async def _write(self, key: Key, memory: Memory, status: dict[str, Any], now: float) -> None:
        await self._cluster.apply_status(*key, status)
        memory.written, memory.written_at = status, now

    async def _stall(self, key: Key, memory: Memory, body: Mapping[str, Any], error: Invalid) -> Turn:
        now = self._clock()
        if memory.written is None:
            memory.written = dict(body.get("status", {}))
        status = stalled_status(memory.written, error, generation=body["metadata"].get("generation", 0), now=now)
        if not report.is_material(status, memory.written, since_written=0.0):
            return Turn(delay=RESYNC)
        try:
            await self._write(key, memory, status, now)
        except Unavailable as unavailable:
            _LOG.warning("sis=%s/%s %s: %s", *key, unavailable.reason, unavailable.message)
            return Turn(delay=RETRY)
        return Turn(delay=RESYNC, events=(Event(warning=True, reason=error.reason, message=error.message),))


def _restarts(before: State | None, after: State) -> bool:
    """Whether what was measured belongs to the past: another phase than the one it was measured in."""
    return before is None or (before.phase is not after.phase and after.phase in (Phase.ROLLING_OUT, Phase.WARMING_UP))


def _log_change(key: Key, before: State | None, after: State, found: Findings) -> None:
    if before is None or before.phase is not after.phase:
        old = before.phase.value if before else "-"
        _LOG.info("sis=%s/%s phase=%s was=%s rollout=%r", *key, after.phase.value, old, found.rollout.message)
