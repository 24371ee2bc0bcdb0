"""What of an InferenceService's metadata is ours. Pure.

Without it nobody would find it, KServe would serve it in another way, or it would outlive its sis.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from specdec_operator import names

Marks: TypeAlias = frozenset[tuple[str, str]]

_OURS: Final = (names.OWNER_LABEL, "serving.kserve.io/deploymentMode", "serving.kserve.io/autoscalerClass")


def marks_of(body: Mapping[str, Any]) -> Marks:
    """Labels and annotations that the operator sets, and who controls the object; of what is rendered or there."""
    meta = body["metadata"]
    there = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    owners = (each for each in meta.get("ownerReferences") or () if each.get("controller"))
    return frozenset(
        (
            *((key, str(there[key])) for key in _OURS if key in there),
            *(("ownerReferences", str(each["uid"])) for each in owners),
        )
    )


def changed_by(body: Mapping[str, Any]) -> str:
    """Who changed an object last, apart from us; empty where that is not known."""
    others = [
        each
        for each in body["metadata"].get("managedFields") or ()
        if each.get("manager") != names.CHILD_MANAGER and not each.get("subresource")
    ]
    return str(max(others, key=lambda each: str(each.get("time", "")))["manager"]) if others else ""
