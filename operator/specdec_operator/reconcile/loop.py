"""One reconcile of one service, the file to read first: observe, decide, describe, record, act.

A decision is recorded before it is acted on: an operator that dies in between acts after its restart, and one that
dies later does not put back what it took out (docs/decisions/0001-decide-then-act.md).
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator import metrics
from specdec_operator.errors import Unavailable
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.rollout import Progress
from specdec_operator.observe.store import Stores
from specdec_operator.reconcile.adapters import Adapters
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.decide import Decision, decide, remember
from specdec_operator.reconcile.describe import Report, describe
from specdec_operator.reconcile.dial import read_dials
from specdec_operator.reconcile.facts import learn_facts
from specdec_operator.reconcile.guest_reader import GuestReader
from specdec_operator.reconcile.memory import ServiceMemory, restore, with_readable_status
from specdec_operator.reconcile.own import noted_look
from specdec_operator.reconcile.requeue import next_reconcile, retry_after
from specdec_operator.reconcile.sample import CounterReader, sample
from specdec_operator.reconcile.show import show
from specdec_operator.reconcile.sis import parse
from specdec_operator.reconcile.throttle import Throttle
from specdec_operator.report import service_metrics
from specdec_operator.report.events import Event
from specdec_operator.report.status import SpecRefusal

_LOG = logging.getLogger(__name__)
_UNLISTED: Final = 1.0
_MOST_UNSENT: Final = 20
"""Events of a service that are kept while the API server does not take them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileResult:
    """The outcome of one reconcile: seconds until the next one, and Events to send.

    reading: whether the next one is due only for a reading of the pods' counters. failed: whether this one could not be
    finished. unlisted: whether nothing was read, because the watches have not listed everything yet.
    """

    requeue_after: float
    events: tuple[Event, ...] = ()
    reading: bool = False
    failed: bool = False
    unlisted: bool = False


class Reconciler:
    """Keeps every service as its spec and its guard require. Holds no decision that the status does not hold.

    prometheus: servers that guards may name, see allowed in scrape/prometheus.py. most_guests: see GuestReader.
    """

    def __init__(
        self,
        cluster: Cluster,
        source: CounterReader,
        stores: Stores,
        cluster_info: ClusterInfo,
        *,
        throttle: Throttle,
        clock: Callable[[], float],
        prometheus: tuple[str, ...] = (),
        most_guests: int = 0,
    ) -> None:
        self._cluster = cluster
        self._source = source
        self._stores = stores
        self._throttle = throttle
        self._clock = clock
        self._prometheus = prometheus
        self._memories: dict[Key, ServiceMemory] = {}
        self._adapters = Adapters(
            cluster=cluster,
            stores=stores,
            cluster_info=cluster_info,
            guests=GuestReader(cluster, stores, most=most_guests),
            throttle=throttle,
            clock=clock,
            remember=self._remember,
        )

    async def reconcile(self, body: Mapping[str, Any], *, woken: bool = True) -> ReconcileResult:
        """One reconcile. woken: whether anything is new. Raises nothing that the next one could mend."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if not self._stores.listed:  # an object that is not known yet may exist
            return ReconcileResult(requeue_after=_UNLISTED, unlisted=True)
        try:
            with metrics.turn_timed():
                result = await self._reconcile(key, body, woken=woken)
        except Unavailable as error:
            return self._failed(key, error)
        self._update(key, failure="")
        return replace(result, events=self._take_events(key))

    def keep_unsent(self, key: Key, events: tuple[Event, ...], seconds: float) -> None:
        """Keeps Events that could not be sent, in order: the first result after so many seconds has them again."""
        if (memory := self._memories.get(key)) is not None:  # else the service was deleted
            unsent = (*events, *memory.unsent)[-_MOST_UNSENT:]
            self._remember(key, replace(memory, unsent=unsent, send_at=self._clock() + seconds))

    def forget(self, key: Key) -> None:
        """Drops what is kept for a deleted service."""
        self._memories.pop(key, None)
        self._stores.forget(key)
        self._throttle.ended(key)
        service_metrics.forget(key)

    async def _reconcile(self, key: Key, body: Mapping[str, Any], *, woken: bool) -> ReconcileResult:
        # First the counters, by the last decision: most reconciles are due for a reading alone, and end here.
        memory = await self._sample(key)
        if memory.closed is None and not woken and self._clock() < memory.due:
            return self._requeue(memory)

        # Everything is read before anything is decided, so that a decision is about one moment.
        body, memory = with_readable_status(body, memory, self._clock())
        parsed = parse(body, memory.last_valid, self._prometheus)
        adapter = self._adapters.of_spec(parsed)  # a guest differs here and in what is done, and nowhere between
        parsed, observed = await adapter.observe(key, memory, body, parsed)
        now = self._clock()
        memory = await learn_facts(self._source, key, parsed, noted_look(memory, observed.look, now), observed, now)
        memory = await read_dials(self._source, key, memory, observed.objects.pods, now)

        # Pure from here: the same observation gives the same decision, and the same report of it.
        decision = decide(parsed, observed, memory, now)
        if isinstance(decision, Decision):
            memory = restore(memory, decision.sis, now)
        report = describe(decision, observed, memory, body.get("status", {}), now)

        # A manifest that was refused long ago is tried before the report: the refusal stands in the status, and would
        # leave it and come back at each try.
        if isinstance(decision, Decision) and decision.tries_again:
            memory = replace(memory, refused=None)
            memory = self._remember(key, await adapter.act(key, decision, observed, memory, now))
            if memory.refused is not None:
                return self._requeue(memory)

        # Recorded after it was decided and before it is acted on: the next process of the operator finds the decision.
        memory = self._remember(key, self._next_memory(key, decision, report, memory, now))
        memory = await self._record(key, report, memory, now)
        show(key, decision, report, memory)

        # Everything from here on may be done twice, and is done again until it is done.
        if isinstance(decision, Decision):
            memory = self._remember(key, await adapter.act(key, decision, observed, memory, now))
        return self._requeue(memory)

    async def _sample(self, key: Key) -> ServiceMemory:
        """The memory with the reading that is due now, if one is."""
        memory = self._memories.get(key, ServiceMemory())
        memory, pods = await self._adapters.pods_to_sample(key, memory)
        baseline_pods = self._stores.baseline_pods(key)
        sampled = await sample(memory, self._source, pods, baseline_pods, namespace=key[0], clock=self._clock)
        if sampled.sampling is not None:
            service_metrics.silent(key, sampled.silent)
        return self._remember(key, sampled)

    def _next_memory(
        self, key: Key, decision: Decision | SpecRefusal, report: Report, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """The memory after a decision, with the Events that wait for their status, and its place in the throttle."""
        unrecorded = tuple(dict.fromkeys((*memory.unrecorded, *report.events)))
        memory = replace(remember(memory, decision, now), unrecorded=unrecorded)
        if isinstance(decision, SpecRefusal):
            return memory
        desired = decision.desired
        self._throttle.settle(key, desired.request, waits=bool(desired.waits), now=now)
        if desired.rollout.progress is not Progress.PROGRESSING:
            self._throttle.ended(key)
        return replace(memory, due=now + self._throttle.seconds(now)) if desired.waits else memory

    async def _record(self, key: Key, report: Report, memory: ServiceMemory, now: float) -> ServiceMemory:
        """The only status write. The Events of what it shows are sent after it."""
        if report.write:
            version = await self._cluster.apply_status(*key, report.status)
            memory = replace(memory, status=report.status, status_at=now, version=version)
        return self._remember(key, replace(memory, unsent=(*memory.unsent, *memory.unrecorded), unrecorded=()))

    def _requeue(self, memory: ServiceMemory) -> ReconcileResult:
        due, reading = next_reconcile(memory, now := self._clock())
        return ReconcileResult(requeue_after=max(0.0, due - now), reading=reading)

    def _failed(self, key: Key, error: Unavailable) -> ReconcileResult:
        if error.message != self._memories.get(key, ServiceMemory()).failure:  # else a line at each try
            _LOG.warning("service=%s/%s %s: %s", *key, error.reason, error.message)
        self._update(key, failure=error.message, due=0.0)  # the next one is a full one
        metrics.turn_failed(error.reason)
        return ReconcileResult(requeue_after=retry_after(error), events=self._take_events(key), failed=True)

    def _take_events(self, key: Key) -> tuple[Event, ...]:
        if events := self._memories.get(key, ServiceMemory()).to_send(self._clock()):
            self._update(key, unsent=())
        return events

    def _update(self, key: Key, **changes: Any) -> None:
        self._remember(key, replace(self._memories.get(key, ServiceMemory()), **changes))

    def _remember(self, key: Key, memory: ServiceMemory) -> ServiceMemory:
        self._memories[key] = memory
        return memory
