"""A Deployment that runs vLLM, as the InferenceService with the same pods: a predictor with containers of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from specdec_command.importing.manifest import Lost, Manifest, Replaced
from specdec_command.importing.other_servers import names_vllm
from specdec_command.importing.reasons import reason
from specdec_command.importing.source import Source, guard_command, named, readable
from specdec_operator import names
from specdec_operator.guest.flags import engine_container

Body = dict[str, Any]
DEPLOYMENT: Final = "Deployment"
_TEMPLATE: Final = ("spec", "template", "spec")
_WRITTEN: Final = MappingProxyType(
    {
        "spec.predictor": "spec.template.spec",
        "spec.predictor.labels": "spec.template.metadata.labels",
        "spec.predictor.annotations": "spec.template.metadata.annotations",
        "spec.predictor.minReplicas": "spec.replicas",
    }
)
_FILLED_IN: Final = MappingProxyType({"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"})
"""Fields of a pod with the values that the API server fills in."""
_OF_CONTROLLER: Final = ("selector", "revisionHistoryLimit", "paused")
"""Fields that steer the Deployment's own controller; KServe writes another Deployment."""


def runs_vllm(body: Mapping[str, Any]) -> bool:
    """Whether a container of the pods names vLLM, in its image or in its command line."""
    pod = Manifest(body).look(dict, *_TEMPLATE) or {}
    containers = pod.get("containers")
    every = [readable(each) for each in (containers if isinstance(containers, list) else ())]
    return names_vllm(engine_container({"containers": every}) or {})


def of_deployment(body: Mapping[str, Any]) -> Source:
    """The pods of a Deployment as a predictor. What a predictor does not have is listed."""
    whole = Manifest(body)
    guard = guard_command(body, "deploy")
    if kserves := (whole.look(dict, "metadata", "labels") or {}).get(names.KSERVE_NAME_LABEL):
        why = f"KServe made it for an InferenceService: import that instead: `specdec import isvc/{kserves}`"
        return Source(body=body, kind=DEPLOYMENT, why_not=(why,))
    for each in ("apiVersion", "kind", "status"):
        whole.take(object, each)
    lost: list[Lost] = []
    predictor = {**_pod(whole), **_meta(whole, lost)}
    labels = _without_selected(whole, ("metadata", "labels"), lost)
    replicas = whole.take(int, "spec", "replicas")
    predictor["minReplicas"] = 1 if replicas is None else replicas
    replaced = [
        Replaced(field=f"spec.{each}", by="KServe renders the Deployment")
        for each in _OF_CONTROLLER
        if whole.take(object, "spec", each) is not None
    ]
    meta = {**(whole.take(dict, "metadata") or {}), "labels": labels}
    lost += [reason(path, value, guard) for path, value in whole.left()]
    return Source(
        body={"metadata": meta, "spec": {"predictor": predictor}},
        kind=DEPLOYMENT,
        written=_WRITTEN,
        flags_known=True,
        lost=tuple(lost),
        replaced=tuple(replaced),
        notes=(_address(body),),
    )


def _pod(whole: Manifest) -> Body:
    pod = whole.take(dict, *_TEMPLATE) or {}
    return {key: value for key, value in pod.items() if _FILLED_IN.get(key) != value}


def _meta(whole: Manifest, lost: list[Lost]) -> Body:
    """Labels and annotations of the pods."""
    labels = _without_selected(whole, ("spec", "template", "metadata", "labels"), lost)
    annotations = whole.take(dict, "spec", "template", "metadata", "annotations") or {}
    whole.take(object, "spec", "template", "metadata", "creationTimestamp")
    return {**({"labels": labels} if labels else {}), **({"annotations": annotations} if annotations else {})}


def _without_selected(whole: Manifest, path: tuple[str, ...], lost: list[Lost]) -> dict[str, Any]:
    """Labels without those of the selector, which would bring the new pods behind the old Service: KServe also copies
    the labels of an InferenceService to its pods.
    """
    selector = whole.look(dict, "spec", "selector", "matchLabels") or {}
    labels = whole.take(dict, *path) or {}
    lost += (
        Lost(
            field=f"{'.'.join(path)}[{name}] ({value})",
            why="a Service of the Deployment selects it, and would send requests to the new pods too",
            way_out="set it in spec.pod.labels when you move the clients",
        )
        for name, value in labels.items()
        if name in selector
    )
    return {name: value for name, value in labels.items() if name not in selector}


def _address(body: Mapping[str, Any]) -> str:
    name, namespace = named(body)
    host = f"{name or 'NAME'}-predictor.{namespace or 'NAMESPACE'}"
    return f"clients reach the service at http://{host}, port 80, and not at the Service of the Deployment"
