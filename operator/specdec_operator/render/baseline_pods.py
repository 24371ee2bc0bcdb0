"""The baseline pods: a Deployment made from KServe's for the speculating pods, without the speculative flags. Pure.

Its pods carry the label by which KServe's Service selects, so Kubernetes itself keeps them among the service's
endpoints, whatever becomes of the operator. They are not KServe's: what KServe finds its own by, they do not carry
(docs/decisions/0023-a-plain-arm.md).
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final, TypeAlias

from specdec_operator import names
from specdec_operator.api.canonical import digest_of
from specdec_operator.api.spec import Owner, owner_reference
from specdec_operator.errors import Invalid
from specdec_operator.observe.pods import ENGINE_CONTAINER
from specdec_operator.observe.store import baseline_name

Manifest: TypeAlias = dict[str, Any]

BASELINE: Final = "plain"
_KSERVES: Final = (f"{names.KSERVE_GROUP}/inferenceservice", "component")
"""Labels by which KServe finds its pods and removes what it did not make."""


def render_baseline_pods(
    live: Mapping[str, Any], speculating: Mapping[str, Any], baseline: Mapping[str, Any], owner: Owner, replicas: int
) -> Manifest:
    """The Deployment of the baseline pods. live: that of the speculating pods, as KServe made it; speculating,
    baseline: the predictors that were, and would be, asked of KServe.

    Raises Invalid where KServe made something else of the flags than they were.
    """
    if uri := speculating["model"].get("storageUri") or baseline["model"].get("storageUri"):
        rule = "this KServe downloads it for its own pods only; put it into a PVC, or set guard.control.mode Never"
        raise Invalid("spec.model.uri", uri, rule)
    template = deepcopy(live["spec"]["template"])
    pod, meta = template["spec"], template.get("metadata", {})
    if all(each["name"] != ENGINE_CONTAINER for each in pod["containers"]):
        raise Invalid(
            "Deployment", baseline_name(owner.name), f"KServe's Deployment has no container {ENGINE_CONTAINER}"
        )
    _without_speculation(pod, speculating, baseline)
    labels = {name: text for name, text in (meta.get("labels") or {}).items() if name not in _KSERVES}
    mine = {names.OWNER_LABEL: owner.name, names.BASELINE_LABEL: BASELINE}
    labels |= {**mine, names.REVISION_LABEL: _revision(pod, meta.get("annotations"))}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": baseline_name(owner.name),
            "namespace": owner.namespace,
            "labels": mine,
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": mine},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels, "annotations": meta.get("annotations") or {}}, "spec": pod},
        },
    }


def _without_speculation(pod: Manifest, speculating: Mapping[str, Any], baseline: Mapping[str, Any]) -> None:
    """Exchange the flags in a pod, and take out what only speculation mounts."""
    engine = next(each for each in pod["containers"] if each["name"] == ENGINE_CONTAINER)
    engine["args"] = _with_flags(engine.get("args") or [], speculating["model"]["args"], baseline["model"]["args"])
    mounts = _names(speculating["model"].get("volumeMounts"), baseline["model"].get("volumeMounts"))
    engine["volumeMounts"] = [each for each in engine.get("volumeMounts") or [] if each["name"] not in mounts]
    volumes = _names(speculating.get("volumes"), baseline.get("volumes"))
    pod["volumes"] = [each for each in pod.get("volumes") or [] if each["name"] not in volumes]


def _with_flags(args: list[str], ours: list[str], others: list[str]) -> list[str]:
    """The arguments with other flags in the place of ours. The runtime's own stand before or behind them."""
    size = len(ours)
    for start in range(len(args) - size + 1):
        if args[start : start + size] == ours:
            return [*args[:start], *others, *args[start + size :]]
    rule = "KServe did not pass on the requested flags unchanged: another webhook or runtime changes them"
    raise Invalid("Deployment", " ".join(args)[:100], rule)


def _names(ours: Any, others: Any) -> set[str]:
    """Names of volumes or mounts that only the speculating pods need."""
    return {each["name"] for each in ours or ()} - {each["name"] for each in others or ()}


def _revision(pod: Mapping[str, Any], annotations: Any) -> str:
    """Changes with whatever restarts a pod."""
    return digest_of([pod, annotations])
