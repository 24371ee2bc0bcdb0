"""A cluster in which nothing is wrong, as plain objects; tests break one thing of it and take the picture."""

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from specdec_operator import __version__
from specdec_operator.api.crd import crd
from specdec_operator.cli.found import Found
from specdec_operator.doctor import questions
from specdec_operator.doctor.check_access import questions as permissions
from specdec_operator.doctor.operators import operators
from specdec_operator.doctor.picture import Grant, Look, Picture, Question, Space

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
    """The operator's Deployment."""
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
    """A node with two GPUs."""
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
    """A sis that drafts well."""
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


def healthy() -> Raw:
    """Every object that is looked at."""
    manager = {"name": "manager", "image": "kserve/kserve-controller:v0.20.0"}
    lease = {"holderIdentity": "pod-1", "renewTime": _SAID, "leaseDurationSeconds": 15}
    return {
        "version": {"major": "1", "minor": "34"},
        "kserve_crd": _kserve_crd(),
        "sis_crd": copy.deepcopy(_CRD),
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
        "lease": {"spec": lease},
        "home": _space("specdec-system"),
        "spaces": {"team": _space("team")},
        "refused": set(),
        "reviews": None,
        "more_spaces": 0,
    }


def look(question: Question, raw: Any) -> Look:
    """An answer out of a plain object, or of one of the words above."""
    if raw == MISSING:
        return Look(question=question, missing=True)
    if raw in (DENIED, BROKEN):
        return Look(question=question, unread="HTTP: no", forbidden=raw == DENIED)
    body = Found(raw)
    return Look(question=question, body=body, cut=bool(body.of("metadata", "continue").text))


def _space_of(name: str, raw: Raw) -> Space:
    return Space(name=name, **{key: look(asked, raw[key]) for key, asked in questions.space(name).items()})


def _grants(raw: Raw, run: Look) -> tuple[Grant, ...]:
    found = operators(run)
    if not found:
        return ()
    downloads = any("staging" in each["spec"] for each in raw["services"]["items"])
    asked = permissions(found[0], downloads=downloads, namespaces=tuple(raw["spaces"]))
    told = {(need, verb, place): (need.resource, verb) not in raw["refused"] for need, verb, place in asked}
    return tuple(
        Grant(need=need, verb=verb, namespace=place, allowed=None if raw["reviews"] else allowed)
        for (need, verb, place), allowed in told.items()
    )


def picture(change: Change | None = None) -> Picture:
    """The picture of the healthy cluster, after a change."""
    raw = healthy()
    if change is not None:
        change(raw)
    run = look(questions.operators(""), raw["operators"])
    found = operators(run)
    lease = found[0].lease if found else None
    return Picture(
        server="https://cluster.example",
        now=NOW,
        command=__version__,
        service=None,
        operators=run,
        services=look(questions.services(""), raw["services"]),
        lease=look(questions.lease(*lease), raw["lease"]) if lease else None,
        home=_space_of("specdec-system", raw["home"]) if found else None,
        spaces=tuple(_space_of(name, each) for name, each in raw["spaces"].items()),
        more_spaces=raw["more_spaces"],
        grants=_grants(raw, run),
        reviews=look(questions.REVIEWS, raw["reviews"]) if raw["reviews"] else None,
        **{key: look(asked, raw[key]) for key, asked in questions.CLUSTER.items()},
        **{key: look(asked, raw[key]) for key, asked in questions.kserve("kserve").items()},
    )
