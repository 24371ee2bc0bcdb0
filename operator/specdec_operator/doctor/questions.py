"""Every question that the picture is made of, by the field of the picture that holds its answer."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from specdec_operator import names
from specdec_operator.doctor.finding import Area
from specdec_operator.doctor.operators import LABEL
from specdec_operator.doctor.picture import Question

_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CRD: Final = "customresourcedefinitions.apiextensions.k8s.io"
_KSERVE: Final = f"/apis/{names.KSERVE_GROUP}/v1alpha1"

VERSION: Final = Question(path="/version", verb="get", resource="/version", serves=(Area.KUBERNETES, Area.KSERVE))
CLUSTER: Final[Mapping[str, Question]] = MappingProxyType(
    {
        "version": VERSION,
        "kserve_crd": Question(
            path=f"{_CRDS}/inferenceservices.{names.KSERVE_GROUP}", verb="get", resource=_CRD, serves=(Area.KSERVE,)
        ),
        "sis_crd": Question(
            path=f"{_CRDS}/{names.PLURAL}.{names.GROUP}", verb="get", resource=_CRD, serves=(Area.CRD,)
        ),
        "containers": Question(
            path=f"{_KSERVE}/clusterstoragecontainers",
            verb="list",
            resource=f"clusterstoragecontainers.{names.KSERVE_GROUP}",
            serves=(Area.KSERVE,),
        ),
        "runtimes": Question(
            path=f"{_KSERVE}/clusterservingruntimes",
            verb="list",
            resource=f"clusterservingruntimes.{names.KSERVE_GROUP}",
            serves=(Area.RUNTIMES, Area.NAMESPACES),
        ),
        "nodes": Question(path="/api/v1/nodes", verb="list", resource="nodes", serves=(Area.DEVICES,)),
        "classes": Question(
            path="/apis/storage.k8s.io/v1/storageclasses",
            verb="list",
            resource="storageclasses.storage.k8s.io",
            serves=(Area.NAMESPACES,),
        ),
    }
)
"""Those about the cluster as a whole, whatever is in it."""


def services(namespace: str) -> Question:
    """The services of a namespace; empty: of all."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return Question(
        path=f"/apis/{names.API_VERSION}{place}/{names.PLURAL}",
        verb="list",
        resource=f"{names.PLURAL}.{names.GROUP}",
        serves=(Area.SERVICES, Area.RUNTIMES, Area.DEVICES, Area.METRICS, Area.NAMESPACES),
        place=namespace,
    )


def operators(namespace: str) -> Question:
    """The operator's Deployments in a namespace; empty: in all."""
    place = f"/namespaces/{namespace}" if namespace else ""
    return Question(
        path=f"/apis/apps/v1{place}/deployments",
        verb="list",
        resource="deployments.apps",
        serves=(Area.OPERATOR, Area.PERMISSIONS, Area.METRICS),
        place=namespace,
        selector=LABEL,
    )


def kserve(namespace: str) -> Mapping[str, Question]:
    """KServe's controller and its ConfigMap."""
    return {
        "controller": Question(
            path=f"/apis/apps/v1/namespaces/{namespace}/deployments/kserve-controller-manager",
            verb="get",
            resource="deployments.apps",
            serves=(Area.KSERVE,),
            place=namespace,
        ),
        "config": Question(
            path=f"/api/v1/namespaces/{namespace}/configmaps/inferenceservice-config",
            verb="get",
            resource="configmaps",
            serves=(Area.KSERVE,),
            place=namespace,
        ),
    }


def lease(namespace: str, name: str) -> Question:
    """The Lease of the operator's election."""
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}"
    return Question(
        path=path, verb="get", resource="leases.coordination.k8s.io", serves=(Area.OPERATOR,), place=namespace
    )


def space(name: str) -> Mapping[str, Question]:
    """What lies in the namespace of a service, or in the operator's."""

    def asked(group: str, resource: str, serves: tuple[Area, ...], selector: str = "") -> Question:
        root = f"/apis/{group}" if group else "/api/v1"
        full = f"{resource}.{group.partition('/')[0]}" if group else resource
        path = f"{root}/namespaces/{name}/{resource}"
        return Question(path=path, verb="list", resource=full, serves=serves, place=name, selector=selector)

    return {
        "itself": Question(
            path=f"/api/v1/namespaces/{name}",
            verb="get",
            resource="namespaces",
            serves=(Area.NAMESPACES, Area.METRICS),
            place=name,
        ),
        "policies": asked("networking.k8s.io/v1", "networkpolicies", (Area.METRICS,)),
        "quotas": asked("", "resourcequotas", (Area.NAMESPACES,)),
        "claims": asked("", "persistentvolumeclaims", (Area.NAMESPACES,)),
        "runtimes": asked(f"{names.KSERVE_GROUP}/v1alpha1", "servingruntimes", (Area.RUNTIMES, Area.NAMESPACES)),
        "pods": asked("", "pods", (Area.METRICS,), f"{names.OWNER_LABEL},!{names.STAGING_LABEL}"),
    }


REVIEWS: Final = Question(
    path="/apis/authorization.k8s.io/v1/subjectaccessreviews",
    verb="create",
    resource="subjectaccessreviews.authorization.k8s.io",
    serves=(Area.PERMISSIONS,),
)
_RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
ROLES: Final = Question(
    path=f"{_RBAC}/clusterroles",
    verb="list",
    resource="clusterroles.rbac.authorization.k8s.io",
    serves=(Area.PERMISSIONS,),
)
BINDINGS: Final = Question(
    path=f"{_RBAC}/clusterrolebindings",
    verb="list",
    resource="clusterrolebindings.rbac.authorization.k8s.io",
    serves=(Area.PERMISSIONS,),
)
