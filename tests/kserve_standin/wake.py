"""Decides which InferenceServices KServe looks at again after a change, and so when their status can move.

What is not here does not wake KServe: a server container that crashes changes no status until its Deployment's
does, and a runtime that appears is noticed only by the next retry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kserve_standin.model import DISABLE_AUTO_UPDATE, ISVC_LABEL, Key, Manifest, annotation, is_ready

if TYPE_CHECKING:
    from collections.abc import Iterable

_STATUS_FIELD = {"ServingRuntime": "servingRuntimeName", "ClusterServingRuntime": "clusterServingRuntimeName"}


def woken(old: Manifest | None, new: Manifest | None, services: Iterable[Manifest]) -> set[Key]:
    """Return the InferenceServices to look at after an object changed, appeared (no old) or went (no new)."""
    changed = new or old
    if changed is None:
        return set()
    match changed["kind"]:
        case "InferenceService":
            return {_key(changed)}
        case "Deployment" | "Service":
            return {key for item in (old, new) if item for key in _owners(item)}
        case "Pod":
            return _woken_by_pod(old, new)
        case "ServingRuntime" | "ClusterServingRuntime":
            return _woken_by_runtime(old, new, services)
        case _:
            return set()


def _owners(manifest: Manifest) -> set[Key]:
    meta = manifest["metadata"]
    return {
        (meta["namespace"], owner["name"])
        for owner in meta.get("ownerReferences") or []
        if owner["kind"] == "InferenceService" and owner.get("controller")
    }


def _woken_by_pod(old: Manifest | None, new: Manifest | None) -> set[Key]:
    if old is None or new is None or _initializers(old) == _initializers(new):
        return set()
    service = (new["metadata"].get("labels") or {}).get(ISVC_LABEL)
    return {(new["metadata"]["namespace"], service)} if service else set()


def _initializers(pod: Manifest) -> object:
    return (pod.get("status") or {}).get("initContainerStatuses") or []


def _woken_by_runtime(old: Manifest | None, new: Manifest | None, services: Iterable[Manifest]) -> set[Key]:
    if old is None or new is None or old["spec"] == new["spec"]:
        return set()
    field, name = _STATUS_FIELD[new["kind"]], new["metadata"]["name"]
    namespace = new["metadata"].get("namespace", "")
    return {
        _key(isvc)
        for isvc in services
        if namespace in {"", isvc["metadata"]["namespace"]}
        and (isvc.get("status") or {}).get(field) == name
        and not (annotation(isvc, DISABLE_AUTO_UPDATE) == "true" and is_ready(isvc))
    }


def _key(isvc: Manifest) -> Key:
    return isvc["metadata"]["namespace"], isvc["metadata"]["name"]
