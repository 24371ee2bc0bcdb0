"""What the operator must be allowed to do, and what each permission is for. A test compares it with manifests/."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_operator.names import GROUP, KSERVE_GROUP, PLURAL


class Reach(StrEnum):
    """Where a permission is needed: in each namespace of services, for the whole cluster, in KServe's namespace, in
    the operator's own, or for its Lease alone.
    """

    SERVICES = "services"
    CLUSTER = "cluster"
    KSERVE = "kserve"
    OWN = "own"
    LEASE = "lease"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Verbs on a resource (`pods/log` is a subresource). name: the only object. lost: what fails without it.

    downloads: needed for staging.mode PersistentVolumeClaim only. leading: for the election of a leader only.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    lost: str
    reach: Reach = Reach.SERVICES
    name: str = ""
    downloads: bool = False
    leading: bool = False


_SEE: Final = ("list", "watch")
NEEDS: Final = (
    Need(group=GROUP, resource=PLURAL, verbs=(*_SEE, "patch"), lost="it sees no service"),
    Need(group=GROUP, resource=f"{PLURAL}/status", verbs=("patch",), lost="no status is written"),
    Need(group=GROUP, resource=f"{PLURAL}/finalizers", verbs=("update",), lost="it can own no InferenceService"),
    Need(
        group=KSERVE_GROUP,
        resource="inferenceservices",
        verbs=(*_SEE, "create", "patch"),
        lost="no InferenceService is made",
    ),
    Need(group="apps", resource="deployments", verbs=_SEE, lost="no rollout is followed"),
    Need(group="", resource="pods", verbs=(*_SEE, "delete"), lost="no pod is measured, and none restarted"),
    Need(group="", resource="events", verbs=("create", "list"), lost="it says nothing in Events"),
    Need(group="", resource="pods/log", verbs=("get",), lost="no progress of downloads is shown"),
    Need(group="batch", resource="jobs", verbs=("get", *_SEE), lost="downloads are not followed"),
    Need(group="", resource="namespaces", verbs=_SEE, lost="it cannot watch all namespaces", reach=Reach.CLUSTER),
    Need(
        group="apiextensions.k8s.io",
        resource="customresourcedefinitions",
        verbs=("get", *_SEE),
        lost="it does not see which KServe there is",
        reach=Reach.CLUSTER,
    ),
    Need(
        group="",
        resource="configmaps",
        verbs=("get",),
        lost="it does not know how KServe serves oci://",
        reach=Reach.KSERVE,
        name="inferenceservice-config",
    ),
    Need(
        group="apps",
        resource="deployments",
        verbs=("get",),
        lost="it does not see which KServe there is",
        reach=Reach.KSERVE,
        name="kserve-controller-manager",
    ),
    Need(
        group=KSERVE_GROUP,
        resource="clusterstoragecontainers",
        verbs=("list",),
        lost="it does not know whether KServe downloads several URIs",
        reach=Reach.CLUSTER,
    ),
    Need(
        group="",
        resource="persistentvolumeclaims",
        verbs=("create", "patch"),
        lost="no claim for downloads is made",
        downloads=True,
    ),
    Need(
        group="batch",
        resource="jobs",
        verbs=("create", "patch", "delete"),
        lost="nothing is downloaded into claims",
        downloads=True,
    ),
    Need(
        group="coordination.k8s.io",
        resource="leases",
        verbs=("create",),
        lost="no leader is elected, and nobody acts",
        reach=Reach.OWN,
        leading=True,
    ),
    Need(
        group="coordination.k8s.io",
        resource="leases",
        verbs=("get", "update"),
        lost="no leader is elected, and nobody acts",
        reach=Reach.LEASE,
        leading=True,
    ),
)
