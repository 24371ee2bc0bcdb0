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
from specdec_operator.control.durable import state_of
from specdec_operator.control.memory import Memory
from specdec_operator.control.report import Event, Findings
from specdec_operator.control.sis import Sis, read_sis
from specdec_operator.control.stores import Stores
from specdec_operator.control.trouble import stalled_status
from specdec_operator.control.wakeups import Key
from specdec_operator.control.watch import Reader, look, thresholds_of
from specdec_operator.errors import Invalid, Unavailable
from specdec_operator.guard.advance import Facts, advance, begin, renewed, wanting
from specdec_operator.guard.judge import Thresholds
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Verdict
from specdec_operator.serving.plan import Plan, plan, refuse
from specdec_operator.serving.pods import ENGINE_PORT, PodView
from specdec_operator.serving.render import Rendered, render
from specdec_operator.serving.rollout import RolloutView, view_rollout

_LOG = logging.getLogger(__name__)
_RETRY: Final = 5.0
_RESYNC: Final = 300.0
_SETTLE: Final = 10.0
_UNSETTLED: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The outcome of one turn: seconds until the next look, and Events to send."""

    delay: float
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a state asks for: the plan, rendered, and how far its pods are."""

    state: State
    plan: Plan
    rendered: Rendered
    rollout: RolloutView


class Loop:
    """Keeps every sis as its spec and its guard say. Holds no decision that the status does not hold."""

    def __init__(
        self,
        cluster: Cluster,
        reader: Reader,
        stores: Stores,
        *,
        clock: Callable[[], float],
        port: int = ENGINE_PORT,
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._stores = stores
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
            return Turn(delay=_RETRY)

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
        wish = self._wish(key, sis, renewed(state, sis.speculation, sis.retry, now), now)
        verdict, limits = await self._judged(key, memory, sis, wish, now)
        now = self._clock()
        after = advance(wish.state, self._facts(sis, wish, verdict), now)
        if after.rollback != wish.state.rollback:
            wish = self._wish(key, sis, after, now)
            after = wish.state
        found = self._findings(key, memory, sis, replace(wish, state=after), limits)
        if _restarts(before, after):
            memory.window = memory.verdict = memory.evidence = None
            found = replace(found, verdict=None, evidence=None) if after.rollback is None else found
        if try_again(memory, wish.rendered, now) and after == before:
            # Nothing was decided, and nothing is told before it is known how that ends.
            await keep_applied(self._cluster, self._stores, key, memory, wish.rendered, now)
        memory.state = after
        memory.unsent += report.events_of(before, after, found) + report.warnings_of(found, memory.written)
        await self._tell(key, memory, found, now, decided=after != before)
        await keep_applied(self._cluster, self._stores, key, memory, wish.rendered, now)
        _log_change(key, before, after, found)
        metrics.observe(key, found, silent=memory.silent)
        events, memory.unsent = memory.unsent, ()
        return Turn(delay=_delay(after, memory, sis, self._clock()), events=events)

    def _settled(self, key: Key, now: float) -> bool:
        """Whether what the watches have told can be believed: just after a start they have not told of every pod."""
        return self._stores.settled(key) or now - self._started > _SETTLE

    def _wish(self, key: Key, sis: Sis, state: State, now: float) -> Wish:
        planned = plan(sis.spec, state, name=sis.owner.name, synthetic=sis.synthetic)
        rendered = render(planned, sis.owner)
        if rendered.revision != state.revision:  # what runs already has shown what it is, whatever a newer rule says
            refuse(planned)
        state = wanting(state, rendered.revision, now)
        rollout = view_rollout(
            rendered.revision,
            self._stores.deployment(key),
            self._stores.pods(key),
            waited=now - state.wanted_since,
            deadline=sis.spec.rollout.deadline,
        )
        return Wish(state=state, plan=planned, rendered=rendered, rollout=rollout)

    async def _judged(
        self, key: Key, memory: Memory, sis: Sis, wish: Wish, now: float
    ) -> tuple[Verdict | None, Thresholds | None]:
        speculation = wish.plan.speculation
        if speculation is None:
            return None, None
        limits = thresholds_of(sis.spec.guard, speculation.method, wish.plan.tokens)
        if wish.state.phase is not Phase.WATCHING:
            return None, limits
        pods = _readable(self._stores.pods(key), wish.rendered.revision)
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

    def _findings(self, key: Key, memory: Memory, sis: Sis, wish: Wish, limits: Thresholds | None) -> Findings:
        child = self._stores.child(key)
        return Findings(
            name=sis.owner.name,
            generation=sis.generation,
            state=wish.state,
            plan=wish.plan,
            rollout=wish.rollout,
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
            return Turn(delay=_RESYNC)
        try:
            await self._write(key, memory, status, now)
        except Unavailable as unavailable:
            _LOG.warning("sis=%s/%s %s: %s", *key, unavailable.reason, unavailable.message)
            return Turn(delay=_RETRY)
        return Turn(delay=_RESYNC, events=(Event(warning=True, reason=error.reason, message=error.message),))


def _readable(pods: tuple[PodView, ...], revision: str) -> tuple[PodView, ...]:
    return tuple(pod for pod in pods if pod.revision == revision and pod.ready and not pod.deleting)


def _restarts(before: State | None, after: State) -> bool:
    """Whether what was measured belongs to the past: another phase than the one it was measured in."""
    return before is None or (before.phase is not after.phase and after.phase in (Phase.ROLLING_OUT, Phase.WARMING_UP))


def _delay(state: State, memory: Memory, sis: Sis, now: float) -> float:
    """Seconds until something is due; events wake the loop earlier."""
    match state.phase:
        case Phase.WATCHING:
            return max(0.0, (memory.next_look if memory.window else now) - now)
        case Phase.WARMING_UP:
            return max(0.0, state.since + sis.spec.guard.warmup - now)
        case Phase.ROLLING_OUT | Phase.RESPONDING:
            return _RETRY
        case Phase.ROLLED_BACK | Phase.STALLED | Phase.SERVING:
            return _RESYNC


def _log_change(key: Key, before: State | None, after: State, found: Findings) -> None:
    if before is None or before.phase is not after.phase:
        old = before.phase.value if before else "-"
        _LOG.info("sis=%s/%s phase=%s was=%s rollout=%r", *key, after.phase.value, old, found.rollout.message)
