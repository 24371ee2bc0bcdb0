"""A cluster in which nothing is wrong, as plain objects; tests break one thing of it and take the snapshot."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from specdec_command.doctor import snapshot as queries
from specdec_command.doctor.check_access import permissions
from specdec_command.doctor.objects import operators
from specdec_command.doctor.permissions import Grant
from specdec_command.doctor.snapshot import Home, Query, QueryAnswer, Snapshot, Space
from specdec_operator import __version__
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.schema.crd import crd

Raw = dict[str, Any]
Change = Callable[[Raw], object]

NOW = datetime(2026, 11, 20, 12, 0, 30, tzinfo=UTC)
MISSING = "missing"
DENIED = "denied"
BROKEN = "broken"
NVIDIA = "nvidia.com/gpu"
_CRD = crd()
_SAID = "2026-11-20T12:00:20Z"


def _kserve_crd() -> Raw:
    predictor = {"properties": {"storageContainerName": {"type": "string"}, "storageUris": {"type": "array"}}}
    schema = {"properties": {"spec": {"properties": {"predictor": predictor}}}}
    return {"spec": {"versions": [{"name": "v1beta1", "served": True, "schema": {"openAPIV3Schema": schema}}]}}


def deployment(namespace: str = "specdec-system", name: str = "specdec-operator") -> Raw:
    container = {"name": "operator", "image": f"registry.example/o/specdec-operator:{__version__}", "env": []}
    container["env"] = [{"name": "SPECDEC_LEADER_LEASE", "value": f"{namespace}/leader"}]
    pod = {"serviceAccountName": "specdec-operator", "containers": [container]}
    labels = {"app.kubernetes.io/name": "specdec-operator"}
    return {
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"replicas": 1, "template": {"metadata": {"labels": labels}, "spec": pod}},
        "status": {"availableReplicas": 1},
    }


def node(name: str = "gpu-1", *, arch: str = "amd64", **devices: str) -> Raw:
    offered = {"cpu": "64", "memory": "500Gi", NVIDIA: "2", **devices}
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/arch": arch}},
        "status": {
            "conditions": [ready],
            "nodeInfo": {"architecture": arch},
            "allocatable": offered,
            "capacity": dict(offered),
        },
    }


def service(name: str = "llama", **spec: Any) -> Raw:
    whole = {"model": {"uri": "pvc://models/llama"}, "speculation": {"method": "ngram", "tokens": 3}, **spec}
    ready = {"type": "Ready", "status": "True", "reason": "Serving", "message": "1 pods answer requests"}
    return {
        "metadata": {"name": name, "namespace": "team", "generation": 1, "creationTimestamp": "2026-11-20T10:00:00Z"},
        "spec": whole,
        "status": {"observedGeneration": 1, "conditions": [ready]},
    }


def _runtime(name: str) -> Raw:
    container = {"name": "kserve-container", "image": "registry.example/o/specdec-runtime:1"}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def _namespace(name: str) -> Raw:
    return {"metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}}}


def _space(name: str) -> Raw:
    claim = {"metadata": {"name": "models"}, "spec": {"storageClassName": "slow"}, "status": {"phase": "Bound"}}
    empty: Raw = {"items": []}
    return {
        "itself": _namespace(name),
        "policies": copy.deepcopy(empty),
        "quotas": copy.deepcopy(empty),
        "claims": {"items": [claim]},
        "runtimes": copy.deepcopy(empty),
        "pods": copy.deepcopy(empty),
    }


def lease(name: str = "leader", holder: str = "pod-1", renewed: str = _SAID) -> Raw:
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}
    return {"metadata": {"name": name}, "spec": spec}


def healthy() -> Raw:
    manager = {"name": "manager", "image": "kserve/kserve-controller:v0.20.0"}
    return {
        "version": {"major": "1", "minor": "34"},
        "kserve_crd": _kserve_crd(),
        "own_crd": copy.deepcopy(_CRD),
        "containers": {"items": []},
        "runtimes": {"items": [_runtime(f"specdec-{each}") for each in ("cpu", "nvidia", "ascend")]},
        "nodes": {"items": [node()]},
        "classes": {"items": [{"metadata": {"name": "slow"}, "volumeBindingMode": "Immediate"}]},
        "controller": {
            "spec": {"template": {"spec": {"containers": [manager]}}},
            "status": {"availableReplicas": 1},
        },
        "config": {"data": {"deploy": '{"defaultDeploymentMode": "Standard"}', "storageInitializer": "{}"}},
        "operators": {"items": [deployment()]},
        "services": {"items": [service()]},
        "leases": {"items": [lease()]},
        "home": _space("specdec-system"),
        "spaces": {"team": _space("team")},
        "refused": set(),
        "reviews": None,
        "more_spaces": 0,
    }


def look(query: Query, raw: Any) -> QueryAnswer:
    """An answer out of a plain object, or of one of the words above."""
    if raw == MISSING:
        return QueryAnswer(query=query, missing=True)
    if raw in (DENIED, BROKEN):
        return QueryAnswer(query=query, unread="HTTP: no", forbidden=raw == DENIED)
    body = Untrusted(raw)
    return QueryAnswer(query=query, body=body, cut=bool(body.of("metadata", "continue").text))


def _looks(asked: Mapping[str, Query], raw: Raw) -> dict[str, QueryAnswer]:
    return {key: look(query, raw[key]) for key, query in asked.items()}


def _grants(raw: Raw, run: QueryAnswer) -> tuple[Grant, ...]:
    found = operators(run)
    if not found:
        return ()
    services = [Untrusted(each) for each in raw["services"]["items"]]
    asked = permissions(found[0], services, tuple(raw["spaces"]))
    return tuple(
        replace(each, allowed=None if raw["reviews"] else (each.need.resource, each.verb) not in raw["refused"])
        for each in asked
    )


def snapshot(change: Change | None = None) -> Snapshot:
    raw = healthy()
    if change is not None:
        change(raw)
    run = look(queries.operators_query(""), raw["operators"])
    found = operators(run)
    election = found[0].lease if found else None
    return Snapshot(
        server="https://cluster.example",
        now=NOW,
        command=__version__,
        service=None,
        operators=run,
        services=look(queries.services_query(""), raw["services"]),
        leases=look(queries.leases_query(election[0]), raw["leases"]) if election else None,
        home=Home(name="specdec-system", **_looks(queries.home_queries("specdec-system"), raw["home"]))
        if found
        else None,
        spaces=tuple(
            Space(name=name, **_looks(queries.space_queries(name), each)) for name, each in raw["spaces"].items()
        ),
        more_spaces=raw["more_spaces"],
        grants=_grants(raw, run),
        reviews=look(queries.REVIEWS_QUERY, raw["reviews"]) if raw["reviews"] else None,
        **_looks(queries.CLUSTER_QUERIES, raw),
        **_looks(queries.kserve_queries("kserve"), raw),
    )
