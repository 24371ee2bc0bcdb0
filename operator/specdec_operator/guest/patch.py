"""The patch that takes the speculation of an InferenceService out, and the one that brings it back. Pure.

Each is one JSON patch that tests the object's version: where its owner has changed it meanwhile, nothing is written. A
test of the values would not do, because the API server compares bytes, and escapes `&`, `<` and `>`. What was taken out
is kept in an annotation of the same patch, so it is known without this operator.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias

from specdec_operator.guest.cut import NoCut, cut
from specdec_operator.names import ENFORCE_ANNOTATION, TAKEN_OUT_ANNOTATION

Body: TypeAlias = Mapping[str, Any]
Patch: TypeAlias = list[dict[str, Any]]
_ANNOTATIONS: Final = "/metadata/annotations"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationPlace:
    """Where an InferenceService asks for speculation. path: a JSON pointer; value, baseline: with it and without."""

    path: str
    value: list[str]
    baseline: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenOut:
    """What was taken out. service, uid: whose guard did. path, value: as they were. words: the flags alone.

    revision: of the pods with it.
    """

    service: str
    uid: str
    path: str
    value: list[str]
    words: list[str]
    revision: str


def is_allowed(live: Body) -> bool:
    """Whether the owner of an InferenceService lets the guard write it."""
    return _annotations(live).get(ENFORCE_ANNOTATION) == "true"


def place_or_reason(live: Body) -> SpeculationPlace | str:
    """From where the speculation of an InferenceService can be removed, or why not; empty: it requests none itself."""
    return next(_found(live), "")


def place_of(live: Body) -> SpeculationPlace | None:
    """From where the speculation of an InferenceService can be removed; None: from nowhere."""
    found = place_or_reason(live)
    return found if isinstance(found, SpeculationPlace) else None


def _found(live: Body) -> Iterator[SpeculationPlace | str]:
    """Each container that requests speculation: the place, or why the guard cannot change it."""
    for path, each in _containers(live):
        found = cut(each)
        if isinstance(found, NoCut):
            yield f"/{path}: {found.why}"
        elif found is not None:
            yield SpeculationPlace(path=f"/{path}/{found.field}", value=found.value, baseline=found.baseline)


def _containers(live: Body) -> Iterator[tuple[str, Body]]:
    predictor = (live.get("spec") or {}).get("predictor") or {}
    yield "spec/predictor/model", predictor.get("model") or {}
    for index, each in enumerate(predictor.get("containers") or ()):
        yield f"spec/predictor/containers/{index}", each


def taken_out(live: Body) -> TakenOut | None:
    """What was taken out of an InferenceService, by its annotation; None: nothing, or nothing that can be read."""
    try:
        said = json.loads(_annotations(live).get(TAKEN_OUT_ANNOTATION, ""))
        made = TakenOut(**said)
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (made.service, made.uid, made.path, made.revision)
    lists = isinstance(made.value, list) and isinstance(made.words, list)
    return made if lists and all(isinstance(each, str) for each in (*texts, *made.value, *made.words)) else None


def take_out(live: Body, place: SpeculationPlace, record: TakenOut) -> Patch:
    """The patch that takes it out, of an InferenceService that has annotations: its owner's leave is one."""
    kept = json.dumps(asdict(record))
    return [*_replace(live, place.path, place.baseline), {"op": "add", "path": _annotation(), "value": kept}]


def bring_back(live: Body, taken: TakenOut) -> Patch | None:
    """The patch that brings it back; None where the flags are others than were left: their owner has changed them."""
    places = (each for each in _found(_with(live, taken)) if isinstance(each, SpeculationPlace))
    before = next((each for each in places if each.path == taken.path), None)
    if before is None or _at(live, taken.path) != before.baseline:
        return None
    return [*_replace(live, taken.path, taken.value), {"op": "remove", "path": _annotation()}]


def _with(live: Body, taken: TakenOut) -> Body:
    """The InferenceService as it was."""
    copy: dict[str, Any] = json.loads(json.dumps(live))
    holder: Any = copy
    *steps, last = taken.path.strip("/").split("/")
    try:
        for step in steps:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        holder[last] = taken.value
    except (KeyError, IndexError, TypeError, ValueError):
        return live
    return copy


def _at(live: Body, path: str) -> Any:
    """The list at a JSON pointer; None: there is none."""
    value: Any = live
    try:
        for step in path.strip("/").split("/"):
            value = value[int(step)] if isinstance(value, list) else value[step]
    except (KeyError, IndexError, TypeError, ValueError):
        return None
    return [str(each) for each in value] if isinstance(value, list) else None


def _replace(live: Body, path: str, new: list[str]) -> Patch:
    unchanged = {"op": "test", "path": "/metadata/resourceVersion", "value": live["metadata"].get("resourceVersion")}
    return [unchanged, {"op": "replace", "path": path, "value": new}]


def _annotation() -> str:
    return f"{_ANNOTATIONS}/{TAKEN_OUT_ANNOTATION.replace('/', '~1')}"


def _annotations(live: Body) -> Mapping[str, str]:
    found: Mapping[str, str] = (live.get("metadata") or {}).get("annotations") or {}
    return found
