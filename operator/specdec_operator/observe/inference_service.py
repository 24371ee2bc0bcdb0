"""An InferenceService: KServe's own message why it makes no Deployment of it, with the fix; and what of its metadata is
ours. Pure.

Without that metadata the operator would not find it, KServe would serve it differently, or it would outlive its owner.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from specdec_operator import names

_MOST_WORDS: Final = 300
_CANNOT: Final = "InvalidSpec"
"""KServe's transitionStatus of what it cannot make. Its lastFailureInfo alone shows nothing: it is never cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KServeError:
    """Why there is no Deployment: one word, and one sentence that names the way out."""

    reason: str
    message: str


def kserve_error(child: Mapping[str, Any]) -> KServeError | None:
    """KServe's error about an InferenceService; None if it has none."""
    said = child.get("status", {}).get("modelStatus", {})
    failure = said.get("lastFailureInfo") or {}
    if said.get("transitionStatus") != _CANNOT or not failure.get("reason"):
        return None
    reason, words = str(failure["reason"]), str(failure.get("message", ""))[:_MOST_WORDS]
    runtime = str(child.get("spec", {}).get("predictor", {}).get("model", {}).get("runtime", ""))
    return KServeError(reason=reason, message=f"KServe reports {reason} ({words}): {_way_out(reason, runtime)}")


def _way_out(reason: str, runtime: str) -> str:
    another = "or name another in spec.engine.runtime"
    match reason:
        case "RuntimeNotRecognized":
            return (
                f"there is no ServingRuntime or ClusterServingRuntime {runtime}: kubectl apply -k manifests/runtimes, "
                f"enable it in the Helm chart (runtimes), {another}"
            )
        case "RuntimeDisabled":
            return f"runtime {runtime} is disabled: remove spec.disabled from it, {another}"
        case "NoSupportingRuntime":
            lacks = f"runtime {runtime} does not serve model format huggingface version 1"
            return f"{lacks}: add it to its spec.supportedModelFormats, {another}"
        case _:
            return f"see runtime {runtime}, and `kubectl describe inferenceservice`"


MetadataMarks: TypeAlias = frozenset[tuple[str, str]]

OWNER_MARK: Final = "ownerReferences"
_PARTS: Final = ("labels", "annotations")
_LONG: Final = 64
"""Characters of a value from which on a digest of it is kept: one look at an object may stay for its life."""


def metadata_marks(body: Mapping[str, Any]) -> MetadataMarks:
    """Labels, annotations and the controller of an object, rendered or live. A live object has all of those that were
    rendered until another client changes it, and may have more.
    """
    meta = body["metadata"]
    given = ((f"{part}/{key}", str(value)) for part in _PARTS for key, value in (meta.get(part) or {}).items())
    owners = (each for each in meta.get("ownerReferences") or () if each.get("controller"))
    kept = {(key, value if len(value) < _LONG else _digest(value)) for key, value in given}
    return frozenset(kept | {(OWNER_MARK, str(each["uid"])) for each in owners})


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()


def changed_by(body: Mapping[str, Any]) -> str:
    """Who changed an object last, apart from us; empty where that is not known."""
    others = [
        each
        for each in body["metadata"].get("managedFields") or ()
        if each.get("manager") != names.CHILD_MANAGER and not each.get("subresource")
    ]
    return str(max(others, key=lambda each: str(each.get("time", "")))["manager"]) if others else ""
