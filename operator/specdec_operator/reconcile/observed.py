"""Everything that one full reconcile knows of the cluster: all reads but the pods' counters are made here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from specdec_engine.memory.plan import DeviceMemory
from specdec_operator.downloads.job_status import job_view
from specdec_operator.errors import TooLarge
from specdec_operator.guest.view import Guest
from specdec_operator.kube.cluster import Cluster
from specdec_operator.names import Key
from specdec_operator.observe.artifacts import is_idle
from specdec_operator.observe.ownership import OwnerView, Standing
from specdec_operator.observe.store import OwnedObjects
from specdec_operator.reconcile.throttle import Ticket
from specdec_operator.staging.kserve import KServe

Body: TypeAlias = Mapping[str, Any]
_MOST_EVENTS: Final = "500"
_MOST_EVENT_BYTES: Final = 1024 * 1024
"""Of all of them as JSON. One of the kubelet's has about 1 KiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """What exists of one service, and of the cluster around it.

    device: what its pods are planned for; None: only the spec decides it.
    look: who owns the InferenceService of its name. ticket: whether a rollout of it may begin now. warnings: the
    cluster's Events about a pod that waits and does not show why. logs: ends of the logs of running downloads, by Job.
    guest: the guest that it guards; None: it serves itself.
    """

    objects: OwnedObjects
    kserve: KServe
    ticket: Ticket
    device: DeviceMemory | None = None
    warnings: tuple[Body, ...] = ()
    logs: Mapping[str, str] = field(default_factory=dict)
    look: OwnerView = field(default_factory=lambda: OwnerView(standing=Standing.FREE))
    guest: Guest | None = None


async def read_deployment(cluster: Cluster, namespace: str, name: str, *, most: int | None = None) -> Body | None:
    """A Deployment, by a list: the right to get one is granted only where baseline pods are. most: bytes that it may
    have. Raises Unavailable.
    """
    path, named = f"/apis/apps/v1/namespaces/{namespace}/deployments", f"metadata.name={name}"
    listed = await cluster.read(path, most=most, field_selector=named)
    found = (listed or {}).get("items") or ()
    return next((each for each in found if each["metadata"]["name"] == name), None)


async def read_warnings(cluster: Cluster, key: Key, objects: OwnedObjects, wanted: str | None) -> tuple[Body, ...]:
    """The Events about the first idle pod of the wanted revision, or none if they are too large: any user may write
    Events. Raises Unavailable if the API server does not answer.
    """
    idle = next((pod for pod in objects.pods if pod.revision == wanted and is_idle(pod)), None)
    if idle is None:
        return ()
    about = f"involvedObject.name={idle.name},type=Warning"
    path = f"/api/v1/namespaces/{key[0]}/events"
    try:
        listed = await cluster.read(path, most=_MOST_EVENT_BYTES, limit=_MOST_EVENTS, field_selector=about)
    except TooLarge:
        return ()
    return tuple((listed or {}).get("items", ()))


async def read_logs(cluster: Cluster, key: Key, objects: OwnedObjects) -> dict[str, str]:
    """The last lines of each running download, by the name of its Job: they show its progress."""
    logs = {}
    for name, body in objects.jobs.items():
        pods = [pod for pod in objects.stagers if _is_of(pod, name)]
        if pods and job_view(body, objects.stagers).reason == "Downloading":
            logs[name] = await cluster.log_end(key[0], pods[-1]["metadata"]["name"])
    return logs


def _is_of(pod: Body, job: str) -> bool:
    return any(each.get("name") == job for each in pod["metadata"].get("ownerReferences", ()))
