"""Takes over what a service of this name left behind: the Deployment of its baseline pods, and its budget.

`kubectl delete --cascade=orphan` leaves both beside the InferenceService. A service that adopted the InferenceService
alone would never compare: the baseline pods of before serve on, and no service may change or remove them.
"""

from collections.abc import Mapping
from typing import Any, Final

from specdec_operator import names
from specdec_operator.api.spec import owner_reference
from specdec_operator.kube.cluster import Cluster
from specdec_operator.observe.ownership import OwnerView, Standing, is_adopted, look_at
from specdec_operator.observe.store import baseline_name
from specdec_operator.reconcile.observed import read_deployment
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.baseline_pods import BASELINE
from specdec_operator.render.disruption_budget import budget_name
from specdec_operator.report.events import Event

Body = Mapping[str, Any]
_OWNERS: Final = "/metadata/ownerReferences"


async def take_along(cluster: Cluster, sis: Sis, look: OwnerView) -> tuple[Event, ...]:
    """Makes the service the owner of both, if it adopts its InferenceService next. look: at that one.

    Both or none: each write is tried without storing it first. Raises Invalid and Unavailable.
    """
    if not is_adopted("InferenceService", look, sis.claimant):
        return ()
    found = [live for live in (await _baseline_pods(cluster, sis), await _budget(cluster, sis)) if live is not None]
    left = [live for live in found if is_left(live, sis)]
    for dry_run in (True, False):
        for live in left:
            await _own(cluster, live, sis, dry_run=dry_run)
    return tuple(_told(live) for live in left)


async def take_over(cluster: Cluster, live: Body | None, sis: Sis) -> bool:
    """Makes the service the owner of one of both, if it is left of before. Raises Invalid and Unavailable."""
    if live is None or not is_left(live, sis):
        return False
    await _own(cluster, live, sis)
    return True


def is_left(live: Body, sis: Sis) -> bool:
    """Whether an object is left of a service of this name, and this one may take it over: no object controls it, and it
    has the labels that the operator sets.
    """
    labels = live["metadata"].get("labels") or {}
    mine = labels.get(names.OWNER_LABEL) == sis.owner.name
    mine = mine and (live["kind"] != "Deployment" or labels.get(names.BASELINE_LABEL) == BASELINE)
    return mine and sis.adopts and look_at(live, sis.claimant).standing is Standing.LOOSE


async def _baseline_pods(cluster: Cluster, sis: Sis) -> Body | None:
    live = await read_deployment(cluster, sis.owner.namespace, baseline_name(sis.owner.name))
    return {**live, "apiVersion": "apps/v1", "kind": "Deployment"} if live is not None else None  # a list has neither


async def _budget(cluster: Cluster, sis: Sis) -> Body | None:
    meta = {"name": budget_name(sis.owner), "namespace": sis.owner.namespace}
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    live = await cluster.find({**kind, "metadata": meta})
    return {**live, **kind} if live is not None else None


async def _own(cluster: Cluster, live: Body, sis: Sis, *, dry_run: bool = False) -> None:
    meta = live["metadata"]
    owners = [*(meta.get("ownerReferences") or ()), owner_reference(sis.owner)]
    same = [{"op": "test", "path": f"/metadata/{name}", "value": meta[name]} for name in ("uid", "resourceVersion")]
    changes = [*same, {"op": "add", "path": _OWNERS, "value": owners}]
    await cluster.patch({**live, "metadata": {**meta, "namespace": sis.owner.namespace}}, changes, dry_run=dry_run)


def _told(live: Body) -> Event:
    meta = live["metadata"]
    words = f"{live['kind']} {meta['name']} (uid {meta['uid']}), left by a service of this name, was taken over"
    return Event(warning=False, reason="Adopted", message=words)
