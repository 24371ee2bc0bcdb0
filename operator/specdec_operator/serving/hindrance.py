"""What keeps KServe from making the Deployment: its own words about an InferenceService, with the way out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_MOST_WORDS: Final = 300
_CANNOT: Final = "InvalidSpec"
"""KServe's transitionStatus of what it cannot make. Its lastFailureInfo alone says nothing: it is never cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why there is no Deployment: one word, and one sentence that names the way out."""

    reason: str
    message: str


def hindrance_of(child: Mapping[str, Any]) -> Hindrance | None:
    """What KServe says against an InferenceService; None where it says nothing."""
    said = child.get("status", {}).get("modelStatus", {})
    failure = said.get("lastFailureInfo") or {}
    if said.get("transitionStatus") != _CANNOT or not failure.get("reason"):
        return None
    reason, words = str(failure["reason"]), str(failure.get("message", ""))[:_MOST_WORDS]
    runtime = str(child.get("spec", {}).get("predictor", {}).get("model", {}).get("runtime", ""))
    return Hindrance(reason=reason, message=f"KServe says {reason} ({words}): {_way_out(reason, runtime)}")


def _way_out(reason: str, runtime: str) -> str:
    match reason:
        case "RuntimeNotRecognized":
            return (
                f"there is no ServingRuntime or ClusterServingRuntime {runtime}: kubectl apply -k manifests/runtimes, "
                "or switch it on in the Helm chart (runtimes), or name another in spec.engine.runtime"
            )
        case "RuntimeDisabled":
            return (
                f"runtime {runtime} is disabled: remove spec.disabled from it, or name another in spec.engine.runtime"
            )
        case "NoSupportingRuntime":
            return (
                f"runtime {runtime} does not serve model format huggingface version 1: see its "
                "spec.supportedModelFormats, or name another in spec.engine.runtime"
            )
        case _:
            return f"see runtime {runtime}, and `kubectl describe inferenceservice`"
