"""A guest behind the seam of all services, and what is written to it.

The guard removes the speculation from an InferenceService that another user wrote, and restores it. It also sets the
dial of its pods. It writes nothing else of them, and nothing without its owner's permission.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specdec_operator.api.guest import GuestRef
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.store import OwnedObjects
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.decide import Decision
from specdec_operator.reconcile.dial import set_dials
from specdec_operator.reconcile.disruptions import restart_pods
from specdec_operator.reconcile.guest import parsed_as_guest
from specdec_operator.reconcile.guest_reader import GuestReader
from specdec_operator.reconcile.guest_writes import release, write_guest, write_of
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.reconcile.throttle import Ticket

Body = Mapping[str, Any]


def guest_of(parsed: Parsed) -> GuestRef | None:
    """What a service guards, by its newest spec that can be read; None: it serves itself."""
    sis = parsed.newest if isinstance(parsed.newest, Sis) else parsed.older
    return sis.spec.guest if sis else None


@dataclass(frozen=True, slots=True)
class GuestService:
    """A guest behind the same seam as every other service (`adapters.py`). remember: see Adapters."""

    cluster: Cluster
    reader: GuestReader
    cluster_info: ClusterInfo
    ref: GuestRef
    remember: Callable[[Key, ServiceMemory], ServiceMemory]

    async def observe(self, key: Key, memory: ServiceMemory, body: Body, parsed: Parsed) -> tuple[Parsed, Observed]:
        """What its flags request as the spec, and its pods. It begins no rollouts, and nothing is its own."""
        guest = await self.reader.guest(key, self.ref, body)
        objects = OwnedObjects(child=None, deployment=guest.deployment, pods=guest.pods, jobs={}, stagers=())
        kserve = await self.cluster_info.kserve()
        seen = Observed(objects=objects, kserve=kserve, ticket=Ticket(), guest=guest)
        return parsed_as_guest(parsed, guest, memory), seen

    async def act(
        self, key: Key, decision: Decision, observed: Observed, memory: ServiceMemory, now: float
    ) -> ServiceMemory:
        """The dials first, because they act at once. Then it writes the guard's decision to the guest, if the guard may
        write it, and reads back what became of it.
        """
        pods = observed.objects.pods
        memory = await set_dials(self.cluster, key, decision.dial, decision.desired, pods, memory, now)
        memory = self.remember(key, memory)
        write = write_of(decision)
        if write is None:
            if observed.guest is not None:
                memory = await release(self.cluster, key, observed.guest, memory, now)
            return await restart_pods(self.cluster, key, observed, decision.state, memory, now)
        return await write_guest(self.cluster, key, write, memory, now)
