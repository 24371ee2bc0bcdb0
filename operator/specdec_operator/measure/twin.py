"""The plain twin of a sis, and what its status says about being asked. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_operator.guard.state import Phase
from specdec_operator.measure.errors import Unmeasurable
from specdec_operator.names import ANNOTATION_PREFIX, API_VERSION, KIND

Object = dict[str, Any]

MEASURED_ANNOTATION: Final = f"{ANNOTATION_PREFIX}measured"
"""On a plain twin: the name of the sis that it was made to be compared with. Only such a sis is ever deleted."""
_SETTLED: Final = frozenset({Phase.WATCHING, Phase.SERVING})
_TAKEN_OUT: Final = frozenset({Phase.RESPONDING, Phase.ROLLED_BACK})


class Stand(StrEnum):
    """Whether a service can be asked now."""

    READY = "Ready"
    WAITING = "Waiting"
    NO_ROOM = "NoRoom"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Where a service stands, in its own words."""

    stand: Stand
    words: str


def twin_name(name: str) -> str:
    """The name of the plain twin."""
    return f"{name}-plain"


def twin_of(sis: Object) -> Object:
    """The same service without speculation and without a guard. It answers to the same model name.

    Raises Unmeasurable for a sis that asks for no speculation.
    """
    meta, spec = sis["metadata"], sis["spec"]
    if not spec.get("speculation"):
        message = f"sis {meta['name']} asks for no speculation: there is nothing to compare"
        raise Unmeasurable("NoSpeculation", message)
    others = {key: value for key, value in spec.items() if key != "speculation"}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": twin_name(meta["name"]),
            "namespace": meta["namespace"],
            "annotations": {MEASURED_ANNOTATION: meta["name"]},
        },
        "spec": {**others, "model": {"name": meta["name"], **spec["model"]}, "guard": {"mode": "Off"}},
    }


def left_behind(found: Object, name: str) -> None:
    """Checks that a sis under the twin's name is one that an earlier run left. Raises Unmeasurable where it is not."""
    meta = found["metadata"]
    if meta.get("annotations", {}).get(MEASURED_ANNOTATION) != name:
        message = (
            f"sis {meta['name']} is there already, and no measurement of {name} made it (it lacks the annotation "
            f"{MEASURED_ANNOTATION}: {name}): it is left alone. Rename it, or measure with --in-place"
        )
        raise Unmeasurable("NameTaken", message)


def served_model(sis: Object) -> str:
    """The model name that clients of a sis send."""
    return str(sis["spec"]["model"].get("name") or sis["metadata"]["name"])


def view(sis: Object, *, speculating: bool) -> View:
    """Whether a sis serves as it should, speculating or plain."""
    meta, status = sis["metadata"], sis.get("status", {})
    phase, reason = status.get("phase", "not seen yet"), status.get("reason", "")
    words = f"{phase}: {reason}: {status.get('message', '')}" if reason else str(phase)
    if status.get("observedGeneration") != meta.get("generation"):
        return View(stand=Stand.WAITING, words="the operator has not seen it yet")
    if phase == Phase.STALLED or (speculating and phase in _TAKEN_OUT):
        return View(stand=Stand.FAILED, words=words)
    settled = phase in _SETTLED or (not speculating and phase == Phase.ROLLED_BACK)
    if settled and status.get("serving", {}).get("speculating") is speculating:
        return View(stand=Stand.READY, words=words)
    if settled and not speculating and phase == Phase.ROLLED_BACK:
        return View(stand=Stand.FAILED, words=f"{words}; it still speculates: guard.rollBackTo is LastGood")
    return View(stand=Stand.NO_ROOM if reason == "Unschedulable" else Stand.WAITING, words=words)


def revision(sis: Mapping[str, Any]) -> str:
    """The revision of the pods that serve a sis."""
    return str(sis.get("status", {}).get("serving", {}).get("revision", ""))
