"""The two kinds of services behind one seam: those that the operator serves, and guests, which their owners serve.

Each kind reads what there is (`observe`) and does what was decided (`act`). All that is between the two is the same for
both: a guest has the form of a service that the operator serves.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from specdec_operator.errors import Invalid
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.pods import PodView
from specdec_operator.observe.store import Stores
from specdec_operator.reconcile.apply import apply_if_drifted, refused
from specdec_operator.reconcile.baseline_pods import keep_baseline_pods
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.devices import find_device
from specdec_operator.reconcile.dial import set_dials
from specdec_operator.reconcile.disruptions import keep_budget, restart_pods
from specdec_operator.reconcile.downloads import keep_downloads
from specdec_operator.reconcile.guest_reader import GuestReader
from specdec_operator.reconcile.guest_service import GuestService, guest_of
from specdec_operator.reconcile.memory import ServiceMemory, noted_downloads
from specdec_operator.reconcile.observed import Observed, read_logs, read_warnings
from specdec_operator.reconcile.own import claimant_of, look_at_child
from specdec_operator.reconcile.sis import Parsed
from specdec_operator.reconcile.throttle import Throttle

Body: TypeAlias = Mapping[str, Any]


class ServiceAdapter(Protocol):
    """How a kind of services is read and written. Everything that asks the API server raises Unavailable."""

    async def observe(self, key: Key, memory: ServiceMemory, body: Body, parsed: Parsed) -> tuple[Parsed, Observed]:
        """What there is now, and the spec in the form of a service that the operator serves."""

    async def act(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """Does what was decided. It may be done twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapters:
    """Both kinds, and which of them a service is.

    remember: keeps the memory of a service at once, so that what was done is known even if the next write fails.
    """

    cluster: Cluster
    stores: Stores
    cluster_info: ClusterInfo
    guests: GuestReader
    throttle: Throttle
    clock: Callable[[], float]
    remember: Callable[[Key, ServiceMemory], ServiceMemory]

    def of_spec(self, parsed: Parsed) -> ServiceAdapter:
        """The kind of a service by its newest spec."""
        ref = guest_of(parsed)
        if ref is None:
            return OwnService(self)
        return GuestService(self.cluster, self.guests, self.cluster_info, ref, self.remember)

    async def pods_to_sample(self, key: Key, memory: ServiceMemory) -> tuple[ServiceMemory, tuple[PodView, ...]]:
        """The pods whose counters may be read now, by the last decision: a reading is made before the spec is parsed.

        And the memory with what the pods of a guest show by themselves. Raises Unavailable.
        """
        memory, guests = await self.guests.pods_to_sample(key, memory, self.clock())
        return memory, tuple(self.stores.pods(key)) if guests is None else guests


@dataclass(frozen=True, slots=True)
class OwnService:
    """A service that the operator serves: watches keep its objects in the stores, and each of them is its own."""

    its: Adapters

    async def observe(self, key: Key, memory: ServiceMemory, body: Body, parsed: Parsed) -> tuple[Parsed, Observed]:
        """What there is now. The store is read last, because it is the newest, and nothing waits after it."""
        its = self.its
        kserve, device = await its.cluster_info.kserve(), await find_device(its.cluster_info, parsed, memory, body)
        objects, wanted = its.stores.objects(key), memory.state.wanted if memory.state else None
        look = await look_at_child(its.cluster, claimant_of(body, memory), key, objects.child, memory, its.clock())
        warnings = await read_warnings(its.cluster, key, objects, wanted)
        logs = await read_logs(its.cluster, key, objects)
        objects = its.stores.objects(key).of(body["metadata"]["uid"])
        seen = Observed(objects=objects, kserve=kserve, ticket=its.throttle.ticket(key, its.clock()), look=look)
        older = parsed.older if parsed.older is not None and parsed.older.spec.guest is None else None
        # An older spec of a guest cannot be followed: that guest was not read.
        return replace(parsed, older=older), replace(seen, device=device, warnings=warnings, logs=logs)

    async def act(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """The dials first, because they act at once. Downloads before the InferenceService, which comes once they can
        be mounted and its turn has come; then restarts.
        """
        its = self.its
        memory = its.remember(key, await self._set_dials(key, decision, observed, memory, now))
        memory = await self._keep_downloads(key, decision, observed, memory, now)
        if decision.desired.staged and not decision.desired.waits and memory.refused is None:
            memory = await self._apply(key, decision, observed, memory, now)
        memory = await keep_budget(its.cluster, decision.sis, memory, now)
        memory = its.remember(key, await keep_baseline_pods(its.cluster, key, decision, observed.objects, memory, now))
        return await restart_pods(its.cluster, key, observed, decision.state, memory, now)

    async def _set_dials(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        pods = observed.objects.pods
        return await set_dials(self.its.cluster, key, decision.dial, decision.desired, pods, memory, now)

    async def _keep_downloads(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        its, sis, desired, known = self.its, decision.sis, decision.desired, memory.downloads
        try:
            known = await keep_downloads(its.cluster, sis, desired, observed.objects, known, now)
            return its.remember(key, noted_downloads(memory, known, sis, now))
        except Invalid as error:  # reported by the next reconcile, which is due at once
            return its.remember(key, replace(memory, refused=refused(error, sis, desired.rendered, now), due=now))

    async def _apply(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """Applies the manifest where that is due. Raises Unavailable; a refusal is reported by the next reconcile."""
        its, applied, rendered = self.its, memory.applied, decision.desired.rendered
        memory, error = await apply_if_drifted(its.cluster, decision.sis, observed, memory, rendered, now)
        if isinstance(error, Invalid):
            return its.remember(key, replace(memory, due=now))
        memory = its.remember(key, memory)
        if error is not None:
            raise error
        if memory.applied is not None and memory.applied is not applied:
            its.stores.note_applied(key, memory.applied.uid, memory.applied.metadata)
        return memory
