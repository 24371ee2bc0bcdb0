"""Writes the objects of a service, and no others: before each write it reads who owns the object of that name.

If another object has the name by then, the API server refuses the write by uid or version. So an object that is created
or replaced in between is not overwritten.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from specdec_operator.kube.cluster import Cluster
from specdec_operator.kube.request import Manifest
from specdec_operator.names import KIND, Key, inference_service
from specdec_operator.observe.inference_service import OWNER_MARK
from specdec_operator.observe.managed_fields import taken_over
from specdec_operator.observe.ownership import (
    Claimant,
    Controller,
    OwnerView,
    Standing,
    is_adopted,
    look_at,
    name_taken,
    standing_of,
    whose,
)
from specdec_operator.observe.store import Child
from specdec_operator.reconcile.memory import ServiceMemory
from specdec_operator.report.events import Event

_NOBODY: Final = "1"
"""The version of no object. An apply with it creates a missing object, and conflicts with an existing one."""
_ON_ITS_WAY: Final = 10.0
"""Seconds in which the event of a newly created object may come. If none comes by then, its name is read."""
_FRESH: Final = 30.0
"""Seconds for which a name that was free is not read again: the write itself fails if another client has used it since.
"""


def claimant_of(body: Mapping[str, Any], memory: ServiceMemory) -> Claimant:
    """A service as the one that writes its InferenceService. body: as the API server has it."""
    noted = {str(each["uid"]) for status in (body.get("status"), memory.status) for each in _owned(status)}
    noted |= {memory.applied.uid if memory.applied else ""} - {""}
    return Claimant(uid=str(body["metadata"]["uid"]), noted=frozenset(noted))


def _owned(status: Mapping[str, Any] | None) -> Sequence[Mapping[str, Any]]:
    return (status or {}).get("owned") or ()


async def look_at_child(
    cluster: Cluster, claimant: Claimant, key: Key, child: Child | None, memory: ServiceMemory, now: float
) -> OwnerView:
    """Who owns the InferenceService of a service. It is read if the watch does not prove that the service owns it.

    Raises Unavailable.
    """
    if child is not None and not child.deleted:
        look = OwnerView(
            standing=standing_of(child.uid, child.controller, claimant), uid=child.uid, controller=child.controller
        )
        if look.standing is Standing.OURS:
            return look
    elif child is None and memory.applied is not None and now - memory.applied.at < _ON_ITS_WAY:
        owned = (OWNER_MARK, claimant.uid) in memory.applied.metadata
        controller = Controller(kind=KIND, name=key[1], uid=claimant.uid) if owned else None
        return OwnerView(standing=Standing.OURS, uid=memory.applied.uid, controller=controller)
    elif now - memory.free_at < _FRESH:
        return OwnerView(standing=Standing.FREE)
    return look_at(await cluster.find(inference_service(*key)), claimant)


def noted_look(memory: ServiceMemory, look: OwnerView, now: float) -> ServiceMemory:
    """The memory with when the name was last seen to be free."""
    if look.standing is not Standing.FREE:
        return replace(memory, free_at=0.0)
    return memory if now - memory.free_at < _FRESH else replace(memory, free_at=now)


async def write_own(
    cluster: Cluster, manifest: Manifest, claimant: Claimant, look: OwnerView | None = None
) -> Manifest:
    """Creates or changes an object so that it matches the manifest; returns it as it is now. look: what was found under
    its name, if known.

    Raises Invalid, of reason NameTaken if the object is not the service's, and Unavailable.
    """
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    look = look_at(await cluster.find(manifest), claimant) if look is None else look
    if error := name_taken(kind, name, look, claimant):
        raise error
    if look.standing is Standing.FREE:
        return await cluster.apply(_at(manifest, resourceVersion=_NOBODY), force=False)
    if look.standing is Standing.OURS:
        return await cluster.apply(_at(manifest, uid=look.uid))
    return await _adopt(cluster, manifest, look)


def adoption(kind: str, name: str, look: OwnerView, claimant: Claimant) -> Event | None:
    """The Event of a write that took an object over; None where it did not."""
    if not is_adopted(kind, look, claimant):
        return None
    return Event(
        warning=False, reason="Adopted", message=f"{kind} {name} ({whose(look)}, uid {look.uid}) was taken over"
    )


async def _adopt(cluster: Cluster, manifest: Manifest, look: OwnerView) -> Manifest:
    """Takes over an object without a controller, as it was read. Fields that are not in the manifest are removed from
    its spec.

    The spec of a PVC cannot be changed, so there they stay.
    """
    meta = (look.live or {}).get("metadata", {})
    version = str(meta.get("resourceVersion", ""))
    fields = taken_over(meta.get("managedFields") or ()) if manifest["kind"] == "InferenceService" else None
    if fields is not None:
        live = await cluster.set_managers(_at(manifest, uid=look.uid, resourceVersion=version), fields)
        version = str(live["metadata"]["resourceVersion"])
    return await cluster.apply(_at(manifest, uid=look.uid, resourceVersion=version))


def _at(manifest: Manifest, **condition: str) -> Manifest:
    """The manifest, to be applied to one object only."""
    return {
        **manifest,
        "metadata": {**manifest["metadata"], **{name: each for name, each in condition.items() if each}},
    }
