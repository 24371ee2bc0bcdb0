"""What the stand-in knows of the cluster: the newest version of each object, fed by watch events.

It never asks the API server; what it does not know yet, an event will bring.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from tests.kserve_standin.model import ISVC_LABEL, Manifest, Runtime
from tests.kserve_standin.runtimes import runtime_of

if TYPE_CHECKING:
    from collections.abc import Iterator

Key: TypeAlias = tuple[str, str]  # namespace and name of an InferenceService
_CHILD_KINDS = ("Deployment", "Service", "HorizontalPodAutoscaler")


@dataclass(slots=True)
class World:
    """The objects that matter, by kind, namespace and name."""

    _objects: dict[str, dict[Key, Manifest]] = field(default_factory=lambda: defaultdict(dict))

    def put(self, manifest: Manifest) -> None:
        """Remember an object, unless a newer version of it is known."""
        known = self._objects[manifest["kind"]]
        key = _key(manifest)
        if key not in known or not _is_older(manifest, known[key]):
            known[key] = manifest

    def drop(self, manifest: Manifest) -> None:
        """Forget an object that is gone."""
        self._objects[manifest["kind"]].pop(_key(manifest), None)

    def get(self, kind: str, key: Key) -> Manifest | None:
        """Return an object or None."""
        return self._objects[kind].get(key)

    def runtimes(self, namespace: str) -> Iterator[Runtime]:
        """Return the runtimes that an InferenceService of a namespace may use."""
        for kind in ("ServingRuntime", "ClusterServingRuntime"):
            for (owner, _), manifest in self._objects[kind].items():
                if owner in {namespace, ""}:
                    yield runtime_of(manifest)

    def users_of(self, runtime: Manifest) -> list[Key]:
        """Return the InferenceServices that name a runtime and can see it."""
        namespace, name = _key(runtime)
        return [
            key
            for key, isvc in self._objects["InferenceService"].items()
            if namespace in {key[0], ""}
            and (isvc["spec"]["predictor"].get("model") or {}).get("runtime") == name
        ]

    def pods(self, key: Key) -> list[Manifest]:
        """Return the pods of an InferenceService's predictor."""
        return list(self._labelled("Pod", key))

    def children(self, key: Key) -> list[Manifest]:
        """Return the Deployments, Services and HPAs that carry an InferenceService's labels."""
        return [child for kind in _CHILD_KINDS for child in self._labelled(kind, key)]

    def _labelled(self, kind: str, key: Key) -> Iterator[Manifest]:
        for (namespace, _), manifest in self._objects[kind].items():
            if namespace == key[0] and owner_of(manifest) == key:
                yield manifest


def owner_of(manifest: Manifest) -> Key | None:
    """Return the InferenceService whose predictor an object's labels say it belongs to."""
    meta = manifest["metadata"]
    labels = meta.get("labels") or {}
    if ISVC_LABEL not in labels or labels.get("component") != "predictor":
        return None
    return meta["namespace"], labels[ISVC_LABEL]


def _key(manifest: Manifest) -> Key:
    meta = manifest["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _is_older(candidate: Manifest, known: Manifest) -> bool:
    """Say whether a late event brings an older version than the answer to our own write did."""
    if candidate["metadata"].get("uid") != known["metadata"].get("uid"):
        return False
    versions = (str(item["metadata"].get("resourceVersion", "")) for item in (candidate, known))
    mine, theirs = versions
    return mine.isdigit() and theirs.isdigit() and int(mine) < int(theirs)
