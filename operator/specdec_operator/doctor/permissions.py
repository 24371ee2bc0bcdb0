"""What the operator must be allowed to do, and what each permission is for. A test compares it with manifests/."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from specdec_operator.names import GROUP, KSERVE_GROUP, PLURAL


class Reach(StrEnum):
    """Where a permission is needed: OWN is the operator's namespace, LEASE its Lease alone."""

    SERVICES = "services"
    CLUSTER = "cluster"
    KSERVE = "kserve"
    OWN = "own"
    LEASE = "lease"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Grant:
    """Whether the operator may do something. namespace: empty for everywhere. allowed: None where nobody tells."""

    need: Need
    verb: str
    namespace: str
    allowed: bool | None = None


_SEE: Final = ("list", "watch")
_KSERVE_UNSEEN: Final = "it does not see which KServe there is"
_OCI_UNKNOWN: Final = "it does not know how KServe serves oci://"
_URIS_UNKNOWN: Final = "it does not know whether KServe downloads several URIs"
_NO_LEADER: Final = "no leader is elected, and nobody acts"
_CRDS: Final = ("apiextensions.k8s.io", "customresourcedefinitions")
_LEASES: Final = ("coordination.k8s.io", "leases")
NEEDS: Final = (
    Need(GROUP, PLURAL, (*_SEE, "patch"), "it sees no service"),
    Need(GROUP, f"{PLURAL}/status", ("patch",), "no status is written"),
    Need(GROUP, f"{PLURAL}/finalizers", ("update",), "it can own no InferenceService"),
    Need(KSERVE_GROUP, "inferenceservices", ("get", *_SEE, "create", "patch"), "no InferenceService is made"),
    Need("apps", "deployments", _SEE, "no rollout is followed"),
    Need("apps", "deployments", ("get", "create", "patch", "delete"), "no plain pods are made to compare with"),
    Need("", "pods", _SEE, "no pod is measured"),
    Need("", "pods/eviction", ("create",), "no pod is restarted"),
    Need(
        "policy",
        "poddisruptionbudgets",
        ("get", "create", "patch", "delete"),
        "the drain of a node may take all pods of a service at once",
    ),
    Need("", "events", ("create", "list"), "it says nothing in Events"),
    Need("", "pods/log", ("get",), "no progress of downloads is shown"),
    Need("batch", "jobs", _SEE, "downloads are not followed"),
    Need("", "namespaces", _SEE, "it cannot watch all namespaces", Reach.CLUSTER),
    Need(*_CRDS, ("get", *_SEE), _KSERVE_UNSEEN, Reach.CLUSTER),
    Need("", "configmaps", ("get",), _OCI_UNKNOWN, Reach.KSERVE, name="inferenceservice-config"),
    Need("apps", "deployments", ("get",), _KSERVE_UNSEEN, Reach.KSERVE, name="kserve-controller-manager"),
    Need(KSERVE_GROUP, "clusterstoragecontainers", ("list",), _URIS_UNKNOWN, Reach.CLUSTER),
    Need("", "nodes", ("list",), "it does not see how much memory the nodes' devices have", Reach.CLUSTER),
    Need("", "persistentvolumeclaims", ("get", "create", "patch"), "no claim for downloads is made", downloads=True),
    Need("batch", "jobs", ("get", "create", "patch", "delete"), "nothing is downloaded into claims", downloads=True),
    Need(*_LEASES, ("create",), _NO_LEADER, Reach.OWN, leading=True),
    Need(*_LEASES, ("get", "update"), _NO_LEADER, Reach.LEASE, leading=True),
)
