"""Merges what an InferenceService says about its container and pod over what its runtime says.

This is Kubernetes' strategic merge of two pod specs: lists of named things are merged by their key, all other
lists are replaced. One exception is KServe's own: args are concatenated, the runtime's first.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.kserve_standin.model import Manifest

# The key by which Kubernetes tells the items of a list apart; a list that is absent here is replaced whole.
MERGE_KEYS = {
    "containers": "name",
    "env": "name",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}


def merge_container(runtime: Manifest, isvc: Manifest) -> Manifest:
    """Return the runtime's container with the InferenceService's fields over it and the args of both."""
    merged = merge(runtime, {**isvc, "name": runtime["name"]})
    args = [*runtime.get("args", []), *isvc.get("args", [])]
    return {**merged, "args": args} if args else merged


def merge(base: Manifest, patch: Manifest) -> Manifest:
    """Return base with patch merged into it; neither is changed."""
    merged = deepcopy(base)
    for name, value in patch.items():
        merged[name] = _merged_value(name, merged.get(name), value)
    return merged


def _merged_value(name: str, base: Any, patch: Any) -> Any:
    if isinstance(base, dict) and isinstance(patch, dict):
        return merge(base, patch)
    if isinstance(base, list) and isinstance(patch, list) and name in MERGE_KEYS:
        return _merged_list(name, base, patch)
    return deepcopy(patch)


def _merged_list(name: str, base: list[Manifest], patch: list[Manifest]) -> list[Manifest]:
    key = MERGE_KEYS[name]
    by_key = {item[key]: item for item in base}
    patched = [merge(by_key.get(item[key], {}), item) for item in patch]
    touched = {item[key] for item in patch}
    order = list(by_key)
    return _interleaved([item for item in base if item[key] not in touched], patched, key, order)


def _interleaved(untouched: list[Manifest], patched: list[Manifest], key: str, order: list[Any]) -> list[Manifest]:
    """Put each untouched item before the first later item that the base list already had behind it.

    An item that is new with the patch has no place in the base list, so it never pushes an untouched one
    back: that is why a new volumeMount of an InferenceService comes before the runtime's.
    """
    result = deepcopy(patched)
    start = 0
    for item in untouched:
        rank = order.index(item[key])
        place = start
        while place < len(result) and not (result[place][key] in order and order.index(result[place][key]) > rank):
            place += 1
        result.insert(place, deepcopy(item))
        start = place + 1
    return result
