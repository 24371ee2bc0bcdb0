"""What the operator must be allowed to do, and what each permission is for. A test compares it with manifests/."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_operator.names import GROUP, KSERVE_GROUP, PLURAL


class Reach(StrEnum):
    """The objects of a permission. BASELINE: the Deployments of single services' baseline pods. OWN: the operator's
    namespace. LEASE: its Lease alone.
    """

    SERVICES = "services"
    BASELINE = "baseline"
    CLUSTER = "cluster"
    KSERVE = "kserve"
    OWN = "own"
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
class NeededPermission:
    """Verbs on a resource (`pods/log` is a subresource). name: the only object. lost: what fails without it.

    downloads: needed for staging.mode PersistentVolumeClaim only. dial: for services whose dial is set only. leading:
    for the election of a leader only.
    granted_by: what grants it.
    """

    group: str
    resource: str
    verbs: tuple[str, ...]
    lost: str
    reach: Reach = Reach.SERVICES
    name: str = ""
    downloads: bool = False
    dial: bool = False
    leading: bool = False
    granted_by: str = "the operator's ClusterRoles and bindings (manifests/operator/rbac.yaml, or the Helm chart)"


@dataclass(frozen=True, slots=True)
class Grant:
    """Whether the operator may do something. namespace: empty for everywhere. allowed: None if unknown."""

    need: NeededPermission
    verb: str
    namespace: str
    allowed: bool | None = None


_SEE: Final = ("list", "watch")
_BY_DOWNLOADS: Final = "manifests/downloads (in the Helm chart: rbac.downloads=true)"
_BY_DIAL: Final = "manifests/dial, for Kubernetes 1.30 or newer (in the Helm chart: rbac.dial=Auto, the default)"
_BY_CONTROL: Final = (
    "manifests/control (in the Helm chart: rbac.controlServices for single services, or rbac.control=true)"
)
_KSERVE_UNSEEN: Final = "it does not detect the KServe version"
_OCI_UNKNOWN: Final = "it does not detect how KServe serves oci://"
_URIS_UNKNOWN: Final = "it does not detect whether KServe downloads several URIs"
_NO_LEADER: Final = "no replica becomes leader, and no service is reconciled"
_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_LEASES: Final = ("coordination.k8s.io", "leases")
NEEDS: Final = (
    NeededPermission(GROUP, PLURAL, (*_SEE, "patch"), "it cannot read services"),
    NeededPermission(GROUP, f"{PLURAL}/status", ("patch",), "it cannot write the status"),
    NeededPermission(GROUP, f"{PLURAL}/finalizers", ("update",), "it cannot own an InferenceService"),
    NeededPermission(
        KSERVE_GROUP, "inferenceservices", ("get", *_SEE, "create", "patch"), "it cannot create InferenceServices"
    ),
    NeededPermission("apps", "deployments", _SEE, "it cannot follow rollouts"),
    NeededPermission(
        "apps",
        "deployments",
        ("get", "create", "patch", "delete"),
        "it cannot create baseline pods",
        Reach.BASELINE,
        granted_by=_BY_CONTROL,
    ),
    NeededPermission("", "pods", _SEE, "it cannot measure pods"),
    NeededPermission("", "pods/eviction", ("create",), "it cannot restart pods"),
    NeededPermission("", "pods", ("patch",), "it cannot set the dial of pods", dial=True, granted_by=_BY_DIAL),
    NeededPermission(
        "policy",
        "poddisruptionbudgets",
        ("get", "create", "patch", "delete"),
        "the drain of a node may take all pods of a service at once",
    ),
    NeededPermission("", "events", ("create", "list"), "it cannot send Events"),
    NeededPermission("batch", "jobs", _SEE, "it cannot follow downloads"),
    NeededPermission("", "namespaces", _SEE, "it cannot watch all namespaces", Reach.CLUSTER),
    NeededPermission(*_CRDS, ("get", *_SEE), _KSERVE_UNSEEN, Reach.CLUSTER),
    NeededPermission("", "configmaps", ("get",), _OCI_UNKNOWN, Reach.KSERVE, name="inferenceservice-config"),
    NeededPermission("apps", "deployments", ("get",), _KSERVE_UNSEEN, Reach.KSERVE, name="kserve-controller-manager"),
    NeededPermission(KSERVE_GROUP, "clusterstoragecontainers", ("list",), _URIS_UNKNOWN, Reach.CLUSTER),
    NeededPermission("", "nodes", ("list",), "it does not know the memory size of the nodes' devices", Reach.CLUSTER),
    NeededPermission(
        "",
        "persistentvolumeclaims",
        ("get", "create", "patch"),
        "it cannot create PVCs for downloads",
        downloads=True,
        granted_by=_BY_DOWNLOADS,
    ),
    NeededPermission(
        "batch",
        "jobs",
        ("get", "create", "patch", "delete"),
        "it cannot run downloads into PVCs",
        downloads=True,
        granted_by=_BY_DOWNLOADS,
    ),
    NeededPermission(
        "",
        "pods/log",
        ("get",),
        "it cannot show the progress of downloads",
        downloads=True,
        granted_by=_BY_DOWNLOADS,
    ),
    NeededPermission(*_LEASES, ("create",), _NO_LEADER, Reach.OWN, leading=True),
    NeededPermission(*_LEASES, ("get", "update"), _NO_LEADER, Reach.LEASE, leading=True),
)
