"""What the watch has reported about each service, kept for the pages: no page asks the API server.

It is what the operator keeps of a service anyway, so that nothing is there twice. Parts that no page shows are left out
when a page is requested.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_operator.engine.owned_flags import FLAGS
from specdec_operator.names import ANNOTATION_PREFIX, Key
from specdec_operator.observe.pods import PodView
from specdec_operator.web.fleet import FleetRow, row_of

Body: TypeAlias = Mapping[str, Any]

_META: Final = ("name", "namespace", "generation", "creationTimestamp", "deletionTimestamp")
_SPEC: Final = ("model", "speculation", "guard", "replicas", "suspend", "rollout")
_SCALING: Final = ("autoscalerClass", "minReplicas", "maxReplicas")
_ENGINE: Final = ("accelerator", "version", *(field for field, _ in FLAGS))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenService:
    """One service as it was seen last, what is shown of it. pods: those of every revision."""

    body: Body
    pods: tuple[PodView, ...] = ()


def shown_of(body: Body) -> Body:
    """The parts of a service that the pages show. No env, args, pod, resources, queries: tokens may be in them."""
    meta, spec = _block(body, "metadata"), _block(body, "spec")
    ours = {key: value for key, value in _block(meta, "annotations").items() if key.startswith(ANNOTATION_PREFIX)}
    scaling = {"autoscaling": _some(_block(spec, "autoscaling"), _SCALING)} if "autoscaling" in spec else {}
    return {
        "metadata": _some(meta, _META) | {"annotations": ours},
        "spec": _some(spec, _SPEC) | scaling | {"engine": _some(_block(spec, "engine"), _ENGINE)},
        "status": _block(body, "status"),
    }


def _block(body: Body, name: str) -> Body:
    part = body.get(name)
    return part if isinstance(part, Mapping) else {}


def _some(block: Body, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: block[name] for name in names if name in block}


class ServiceStore:
    """Every service by namespace and name. pods: returns the pods of one."""

    def __init__(self, pods: Callable[[Key], tuple[PodView, ...]]) -> None:
        self._pods = pods
        self._bodies: dict[Key, Body] = {}

    def note(self, body: Body, *, deleted: bool) -> None:
        """Takes in an event of a service."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if deleted:
            self.forget(key)
        else:
            self._bodies[key] = body

    def forget(self, key: Key) -> None:
        """Drops a deleted service."""
        self._bodies.pop(key, None)

    def one(self, namespace: str, name: str) -> SeenService | None:
        """One service; None where there is none."""
        body = self._bodies.get((namespace, name))
        return None if body is None else SeenService(body=shown_of(body), pods=self._pods((namespace, name)))

    def rows(self) -> tuple[FleetRow, ...]:
        """Every service in a row, by namespace and name."""
        return tuple(row_of(self._bodies[key]) for key in sorted(self._bodies))
