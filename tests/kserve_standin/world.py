"""What the stand-in knows of the cluster: the newest version of each object, fed by watch events.

It never asks the API server; what it does not know yet, an event will bring.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.kserve_standin.model import ISVC_LABEL, Key, Manifest, Runtime
from tests.kserve_standin.runtimes import runtime_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_ORPHANS = ("Deployment", "Service")


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
        """Forget an object that is gone, unless another one has its name by now."""
        known = self.find(manifest)
        if known is not None and known["metadata"].get("uid") == manifest["metadata"].get("uid"):
            del self._objects[manifest["kind"]][_key(manifest)]

    def find(self, manifest: Manifest) -> Manifest | None:
        """Return what is known of an object of this kind, namespace and name."""
        return self._objects[manifest["kind"]].get(_key(manifest))

    def service(self, key: Key) -> Manifest | None:
        """Return an InferenceService or None."""
        return self._objects["InferenceService"].get(key)

    def services(self) -> list[Manifest]:
        """Return all InferenceServices."""
        return list(self._objects["InferenceService"].values())

    def runtimes(self, namespace: str) -> Iterator[Runtime]:
        """Return the runtimes that an InferenceService of a namespace may use."""
        for kind in ("ServingRuntime", "ClusterServingRuntime"):
            for (owner, _), manifest in self._objects[kind].items():
                if owner in {namespace, ""}:
                    yield runtime_of(manifest)

    def pods(self, key: Key, app: str) -> list[Manifest]:
        """Return the pods of a Deployment's `app` label in the namespace of an InferenceService."""
        return [pod for pod in self._in_namespace("Pod", key[0]) if _labels(pod).get("app") == app]

    def labelled(self, key: Key) -> list[Manifest]:
        """Return the Deployments and Services that say they are an InferenceService's predictor."""
        mine = {ISVC_LABEL: key[1], "component": "predictor"}
        return [
            item
            for kind in _ORPHANS
            for item in self._in_namespace(kind, key[0])
            if mine.items() <= _labels(item).items()
        ]

    def _in_namespace(self, kind: str, namespace: str) -> Iterator[Manifest]:
        return (item for (owner, _), item in self._objects[kind].items() if owner == namespace)


def _labels(manifest: Manifest) -> dict[str, str]:
    return manifest["metadata"].get("labels") or {}


def _key(manifest: Manifest) -> Key:
    meta = manifest["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _is_older(candidate: Manifest, known: Manifest) -> bool:
    """Say whether a late event brings an older version than the answer to our own write did."""
    if candidate["metadata"].get("uid") != known["metadata"].get("uid"):
        return False
    mine, theirs = (str(item["metadata"].get("resourceVersion", "")) for item in (candidate, known))
    return mine.isdigit() and theirs.isdigit() and int(mine) < int(theirs)
