"""What the watch has told about each sis, kept for the pages: no page asks the API server.

One entry for each sis that there is, without the parts that nobody is shown; it goes with its sis.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_operator.names import ANNOTATION_PREFIX
from specdec_operator.serving.pods import PodView
from specdec_operator.web.fleet import Row, row_of

Key: TypeAlias = tuple[str, str]
"""Namespace and name of a sis."""
Body: TypeAlias = Mapping[str, Any]

_META: Final = ("name", "namespace", "generation", "creationTimestamp", "deletionTimestamp")
_SPEC: Final = ("model", "speculation", "guard", "replicas", "suspend", "rollout")
_ENGINE: Final = ("accelerator", "version", "tensorParallelSize", "maxModelLen", "maxNumSeqs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One sis as it was seen last. pods: its pods of every revision."""

    body: Body
    pods: tuple[PodView, ...] = ()


def shown_of(body: Body) -> Body:
    """The parts of a sis that the pages show. Never env, args, pod or resources: people write tokens there."""
    meta, spec = _block(body, "metadata"), _block(body, "spec")
    asked = {key: value for key, value in _block(meta, "annotations").items() if key.startswith(ANNOTATION_PREFIX)}
    return {
        "metadata": _some(meta, _META) | {"annotations": asked},
        "spec": _some(spec, _SPEC) | {"engine": _some(_block(spec, "engine"), _ENGINE)},
        "status": _block(body, "status"),
    }


def _block(body: Body, name: str) -> Body:
    found = body.get(name)
    return found if isinstance(found, Mapping) else {}


def _some(block: Body, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: block[name] for name in names if name in block}


class Seen:
    """Every sis by namespace and name. pods: tells the pods of a sis."""

    def __init__(self, pods: Callable[[Key], tuple[PodView, ...]]) -> None:
        self._pods = pods
        self._bodies: dict[Key, Body] = {}
        self._rows: dict[Key, Row] = {}

    def note(self, body: Body, *, deleted: bool) -> None:
        """Takes in an event of a sis."""
        key = (body["metadata"]["namespace"], body["metadata"]["name"])
        if deleted:
            self.forget(key)
        else:
            self._bodies[key] = shown_of(body)
            self._rows[key] = row_of(body)

    def forget(self, key: Key) -> None:
        """Drops a deleted sis."""
        self._bodies.pop(key, None)
        self._rows.pop(key, None)

    def one(self, namespace: str, name: str) -> Service | None:
        """One sis; None where there is none."""
        body = self._bodies.get((namespace, name))
        return None if body is None else Service(body=body, pods=self._pods((namespace, name)))

    def rows(self) -> tuple[Row, ...]:
        """Every sis in a row, by namespace and name."""
        return tuple(self._rows[key] for key in sorted(self._rows))
