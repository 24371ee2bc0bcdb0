"""What `specdec doctor` asks a cluster, and the answers as one frozen value that all checks look at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from types import MappingProxyType
from typing import Final

from specdec_command.doctor.finding import Area
from specdec_command.doctor.permissions import Grant
from specdec_operator import names
from specdec_operator.display.untrusted import Untrusted


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One read. resource: as a Role names it, with its group after a dot. serves: the areas that need its answer."""

    path: str
    verb: str
    resource: str
    serves: tuple[Area, ...]
    place: str = ""
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryAnswer:
    """What a query brought.

    missing: there is nothing at its path. unread: the API server's message if nothing could be read; else empty.
    forbidden: the user may not. cut: the list is longer than what was read of it.
    """

    query: Query
    body: Untrusted = field(default_factory=Untrusted)
    missing: bool = False
    unread: str = ""
    forbidden: bool = False
    cut: bool = False

    @property
    def items(self) -> tuple[Untrusted, ...]:
        """The items of a list."""
        return self.body.of("items").items

    @property
    def there(self) -> bool:
        """Whether something was read."""
        return self.body.there

    @property
    def complete(self) -> bool:
        """Whether what is not in it is not in the cluster."""
        return not self.unread and not self.cut


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The operator's namespace."""

    name: str
    itself: QueryAnswer
    policies: QueryAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Space(Home):
    """A namespace of services, with more of what is in it. pods: those of services."""

    quotas: QueryAnswer
    claims: QueryAnswer
    runtimes: QueryAnswer
    pods: QueryAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One cluster at one moment, as one user sees it.

    command: version of this command. service: the only service that was requested; None: all that are listed.
    controller, config: of KServe. spaces: the namespaces of services.
    leases: those of the namespace that the operator's are in; None if it elects no leader.
    reviews: the first question about permissions, for why it was not answered. more_spaces: namespaces left out.
    """

    server: str
    now: datetime
    command: str
    service: str | None
    version: QueryAnswer
    kserve_crd: QueryAnswer
    own_crd: QueryAnswer
    containers: QueryAnswer
    controller: QueryAnswer
    config: QueryAnswer
    operators: QueryAnswer
    services: QueryAnswer
    runtimes: QueryAnswer
    nodes: QueryAnswer
    classes: QueryAnswer
    spaces: tuple[Space, ...]
    leases: QueryAnswer | None = None
    home: Home | None = None
    more_spaces: int = 0
    grants: tuple[Grant, ...] = ()
    reviews: QueryAnswer | None = None

    def answers(self) -> Iterator[QueryAnswer]:
        """Every answer."""
        owners: tuple[Snapshot | Home, ...] = (self, *self.spaces, *([self.home] if self.home else []))
        for owner in owners:
            values = (getattr(owner, each.name) for each in fields(owner))
            yield from (each for each in values if isinstance(each, QueryAnswer))


def _get(path: str, resource: str, *serves: Area, place: str = "") -> Query:
    return Query(path=path, verb="get", resource=resource, serves=serves, place=place)


def _list(group: str, resource: str, *serves: Area, place: str = "", selector: str = "") -> Query:
    """A list of a resource; group: with its version, empty for Kubernetes' own; place: a namespace, empty for all."""
    root, inner = f"/apis/{group}" if group else "/api/v1", f"/namespaces/{place}" if place else ""
    full = f"{resource}.{group.partition('/')[0]}" if group else resource
    return Query(
        path=f"{root}{inner}/{resource}", verb="list", resource=full, serves=serves, place=place, selector=selector
    )


_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CRD: Final = "customresourcedefinitions.apiextensions.k8s.io"
_KSERVE: Final = f"{names.KSERVE_GROUP}/v1alpha1"
_RBAC: Final = "rbac.authorization.k8s.io/v1"
OPERATOR_LABEL: Final = "app.kubernetes.io/name=specdec-operator"

CLUSTER_QUERIES: Final[Mapping[str, Query]] = MappingProxyType(
    {
        "version": _get("/version", "/version", Area.KUBERNETES, Area.KSERVE),
        "kserve_crd": _get(f"{_CRDS}/inferenceservices.{names.KSERVE_GROUP}", _CRD, Area.KSERVE),
        "own_crd": _get(f"{_CRDS}/{names.PLURAL}.{names.GROUP}", _CRD, Area.CRD),
        "containers": _list(_KSERVE, "clusterstoragecontainers", Area.KSERVE),
        "runtimes": _list(_KSERVE, "clusterservingruntimes", Area.RUNTIMES, Area.NAMESPACES),
        "nodes": _list("", "nodes", Area.DEVICES),
        "classes": _list("storage.k8s.io/v1", "storageclasses", Area.NAMESPACES),
    }
)
"""Those about the cluster as a whole, by the field of the snapshot that holds the answer."""
REVIEWS_QUERY: Final = Query(
    path="/apis/authorization.k8s.io/v1/subjectaccessreviews",
    verb="create",
    resource="subjectaccessreviews.authorization.k8s.io",
    serves=(Area.PERMISSIONS,),
)
ROLES_QUERY: Final = _list(_RBAC, "clusterroles", Area.PERMISSIONS)
BINDINGS_QUERY: Final = _list(_RBAC, "clusterrolebindings", Area.PERMISSIONS)


def services_query(namespace: str) -> Query:
    """The services of a namespace; empty: of all."""
    areas = (Area.SERVICES, Area.RUNTIMES, Area.DEVICES, Area.METRICS, Area.NAMESPACES)
    return _list(names.API_VERSION, names.PLURAL, *areas, place=namespace)


def operators_query(namespace: str) -> Query:
    """The operator's Deployments in a namespace; empty: in all."""
    areas = (Area.OPERATOR, Area.PERMISSIONS, Area.METRICS)
    return _list("apps/v1", "deployments", *areas, place=namespace, selector=OPERATOR_LABEL)


def kserve_queries(namespace: str) -> Mapping[str, Query]:
    """KServe's controller and its ConfigMap."""
    controller = f"/apis/apps/v1/namespaces/{namespace}/deployments/kserve-controller-manager"
    config = f"/api/v1/namespaces/{namespace}/configmaps/inferenceservice-config"
    return {
        "controller": _get(controller, "deployments.apps", Area.KSERVE, place=namespace),
        "config": _get(config, "configmaps", Area.KSERVE, place=namespace),
    }


def leases_query(namespace: str) -> Query:
    """The Leases beside the operator's: of its election, of each shard, and of shards that it should not have."""
    return _list("coordination.k8s.io/v1", "leases", Area.OPERATOR, place=namespace)


def home_queries(name: str) -> Mapping[str, Query]:
    """Of any namespace, its labels and who may reach whom."""
    return {
        "itself": _get(f"/api/v1/namespaces/{name}", "namespaces", Area.NAMESPACES, Area.METRICS, place=name),
        "policies": _list("networking.k8s.io/v1", "networkpolicies", Area.METRICS, place=name),
    }


def space_queries(name: str) -> Mapping[str, Query]:
    """What lies in the namespace of a service."""
    pods = f"{names.OWNER_LABEL},!{names.STAGING_LABEL}"
    return {
        **home_queries(name),
        "quotas": _list("", "resourcequotas", Area.NAMESPACES, place=name),
        "claims": _list("", "persistentvolumeclaims", Area.NAMESPACES, place=name),
        "runtimes": _list(_KSERVE, "servingruntimes", Area.RUNTIMES, Area.NAMESPACES, place=name),
        "pods": _list("", "pods", Area.METRICS, place=name, selector=pods),
    }
