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
from specdec_operator.control.arrived import arrival_of
from specdec_operator.control.between import only_read
from specdec_operator.control.children import keep_applied, restart_pods, try_again
from specdec_operator.control.downloads import Downloader
from specdec_operator.control.durable import decision
from specdec_operator.control.events import Event, events_of, of_trouble
from specdec_operator.control.findings import Findings
from specdec_operator.control.known import asked_of, better_of, facts_of, findings_of, policy_for
from specdec_operator.control.material import is_material
from specdec_operator.control.memory import Between, Memory
from specdec_operator.control.pace import RESYNC, RETRY, next_due, seconds_to_next, seconds_to_retry
from specdec_operator.control.readers import refuse_source
from specdec_operator.control.sis import Sis, read_sis, with_spec
from specdec_operator.control.standing import standing
from specdec_operator.control.stores import Stores
from specdec_operator.control.surroundings import Surroundings
from specdec_operator.control.throttle import Throttle, turns_of
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
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.rollout import Progress

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
        throttle: Throttle,
        clock: Callable[[], float],
        prometheus: tuple[str, ...] = (),
    ) -> None:
        self._cluster = cluster
        self._reader = reader
        self._stores = stores
        self._surroundings = surroundings
        self._throttle = throttle
        self._clock = clock
        self._prometheus = prometheus
        self._memories: dict[Key, Memory] = {}
        self._started = clock()

    async def turn(self, body: Mapping[str, Any], *, woken: bool = True) -> Turn:
        """One turn for one sis. Raises nothing that the next turn could mend. woken: whether anything is new."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        memory = self._memories.setdefault(key, Memory())
        try:
            with metrics.turn_timed():
                short = None if woken else await self._short_turn(key, memory)
                turn = short or await self._turn_or_stall(key, memory, body)
            memory.complaint = ""
            return turn
        except Unavailable as error:
            if error.message != memory.complaint:  # not a line at each try
                _LOG.warning("sis=%s/%s %s: %s", *key, error.reason, error.message)
            memory.complaint = error.message
            metrics.turn_failed(error.reason)
            return Turn(delay=seconds_to_retry(error), events=memory.take_told())

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted sis."""
        self._memories.pop(key, None)
        self._stores.forget(key)
        self._throttle.ended(key)
        sis_metrics.forget(key)

    async def _short_turn(self, key: Key, memory: Memory) -> Turn | None:
        delay = await only_read(memory, self._reader, self._stores.pods(key), key[0], self._clock)
        sis_metrics.silent(key, memory.silent)
        return None if delay is None else Turn(delay=delay)

    async def _turn_or_stall(self, key: Key, memory: Memory, body: Mapping[str, Any]) -> Turn:
        try:
            sis = read_sis(body)
            refuse_source(sis.spec.guard, self._prometheus)
            return await self._turn(key, memory, sis)
        except Invalid as error:
            last, trouble = memory.followed, Trouble(error=error, generation=body["metadata"].get("generation", 0))
        if last is None or last[0] == trouble.generation:
            return await self._stall(key, memory, body, trouble)
        try:  # the pods of the spec before run on, and so does their guard
            return await self._turn(key, memory, read_sis(with_spec(body, *last)), trouble)
        except Invalid:
            return await self._stall(key, memory, body, trouble)

    async def _turn(self, key: Key, memory: Memory, sis: Sis, trouble: Trouble | None = None) -> Turn:
        now, memory.between = self._clock(), None
        before = standing(memory, sis, now)
        if memory.state is None and before is not None and not self._settled(key, now):
            return Turn(delay=_UNSETTLED)
        if memory.written in (None, sis.status):  # where it is the same, it need not be kept twice
            memory.written = sis.status
        policy = policy_for(sis)
        asked = asked_of(sis, policy)
        wish = await self._wish(key, memory, sis, renewed(before or begin(asked, now), asked, now), now)
        memory.followed = (sis.generation, sis.written)
        limits = thresholds_of(sis.spec.guard, wish.plan.speculation, wish.plan.tokens, wish.state.baseline)
        judged = await self._look(key, memory, sis, wish, limits, now)
        better = better_of(sis, wish, judged, limits)
        now = self._clock()
        after = advance(wish.state, facts_of(wish, policy, judged, better, self._stores.pod_names(key)), now)
        if (after.subject, after.replacing) != (wish.state.subject, wish.state.replacing):
            wish = await self._wish(key, memory, sis, after, now)
            after = wish.state
        wish = replace(wish, state=after)
        if wish.rollout.progress is not Progress.PROGRESSING:
            self._throttle.ended(key)
        arrived = await arrival_of(self._cluster, key[0], wish)
        url = child.url if (child := self._stores.child(key)) else None
        found = findings_of(sis, wish, policy, limits, memory, better, arrived, url=url)
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
        decided = before is None or decision(after) != decision(before) or memory.lost(sis.status, now)
        await self._tell(key, memory, found, now, decided=decided, trouble=trouble)
        await self._make(key, memory, wish, now)
        await restart_pods(self._cluster, self._stores, key, after)
        _log_change(key, before, after, found)
        sis_metrics.observe(key, found, memory, stalled=trouble is not None)
        events, now = memory.take_told(), self._clock()
        looks = self._looks(sis, wish, now)
        if wish.waits:
            return Turn(delay=self._throttle.seconds(now), events=events)
        if looks and wish.staged:
            until, guard = next_due(after, memory, policy, now), sis.spec.guard
            memory.between = Between(guard=guard, limits=limits, revision=wish.rendered.revision, until=until)
        delay = seconds_to_next(after, memory, policy, looks=looks, now=now) if wish.staged else RETRY
        return Turn(delay=delay, events=events)

    def _settled(self, key: Key, now: float) -> bool:
        """Whether what the watches have told can be believed: just after a start they have not told of every pod."""
        return self._stores.settled(key) or now - self._started > _SETTLE

    async def _wish(self, key: Key, memory: Memory, sis: Sis, state: State, now: float) -> Wish:
        kserve = await self._surroundings.kserve()
        turn = turns_of(self._throttle, key, memory, sis, self._stores.child(key), now)
        return wish_of(key, sis, state, self._stores, memory, kserve, now, turn)

    async def _fetch(self, key: Key, memory: Memory, sis: Sis, wish: Wish, arrived: Arrival, now: float) -> None:
        """Brings downloads on their way. It changes nothing that runs, so it need not be told before it is done."""
        if wish.plan.layout.claim is not None:
            about = (key, sis, wish.plan.layout, wish.kserve, memory.downloads)
            downloader = Downloader(self._cluster, self._stores, *about)
            await downloader.attend(arrived, wish.rollout, staged=wish.staged, now=now)

    async def _make(self, key: Key, memory: Memory, wish: Wish, now: float) -> None:
        """Makes the InferenceService be as it is wished, once its artifacts can be mounted and its turn has come."""
        if wish.staged and not wish.waits:
            await keep_applied(self._cluster, self._stores, key, memory, wish.rendered, now)

    def _looks(self, sis: Sis, wish: Wish, now: float) -> bool:
        settled, plain = wish.rendered.revision == wish.state.revision, wish.plan.speculation is None
        return is_looked_at(wish.state, sis.spec.guard, plain=plain, settled=settled, now=now)

    async def _look(
        self, key: Key, memory: Memory, sis: Sis, wish: Wish, limits: Thresholds, now: float
    ) -> Judged | None:
        """The window of what is served that closed just now; None where none did."""
        if memory.subject != wish.state.subject:
            memory.watched, memory.subject = None, wish.state.subject
        if not self._looks(sis, wish, now):
            return None
        pods, guard = tuple(pod for pod in wish.pods if pod.ready), sis.spec.guard
        return await look(memory, self._reader, pods, namespace=key[0], guard=guard, limits=limits, now=now)

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
        memory.version = await self._cluster.apply_status(*key, status)
        memory.written, memory.written_at = status, now

    async def _stall(self, key: Key, memory: Memory, body: Mapping[str, Any], trouble: Trouble) -> Turn:
        sis_metrics.refuse(key)
        now = self._clock()
        if memory.written is None:
            memory.written = dict(body.get("status", {}))
        status = stalled_status(memory.written, trouble, now=now)
        if not (is_material(status, memory.written, since_written=0.0) or memory.lost(body.get("status", {}), now)):
            return Turn(delay=RESYNC)
        await self._write(key, memory, status, now)
        return Turn(delay=RESYNC, events=(of_trouble(trouble),))


def _restarts(before: State | None, after: State) -> bool:
    """Whether what was measured belongs to the past: other pods run from here on, or the same ones anew."""
    return before is None or (before.phase is not after.phase and after.phase not in _MEASURED)


def _log_change(key: Key, before: State | None, after: State, found: Findings) -> None:
    if before is None or before.phase is not after.phase:
        old = before.phase.value if before else "-"
        _LOG.info("sis=%s/%s phase=%s was=%s rollout=%r", *key, after.phase.value, old, found.rollout.message)
