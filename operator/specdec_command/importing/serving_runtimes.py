"""An InferenceService together with its ServingRuntime, merged as KServe merges them.

KServe 0.20, pkg/controller/v1beta1/inferenceservice/utils/utils.go: the runtime's arguments come first, maps and lists
with keys are merged, and the InferenceService has priority. Everything else of the runtime is listed.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from specdec_command.importing.manifest import Lost, Manifest, Replaced
from specdec_command.importing.reasons import reason
from specdec_command.importing.source import Source, named
from specdec_command.importing.templates import filled
from specdec_operator.observe.pods import ENGINE_CONTAINER

Body = dict[str, Any]
KINDS: Final = ("ServingRuntime", "ClusterServingRuntime")
_MODEL: Final = "spec.predictor.model"
_KEYS: Final = MappingProxyType(
    {
        "env": "name",
        "volumeMounts": "mountPath",
        "ports": "containerPort",
        "volumes": "name",
        "imagePullSecrets": "name",
    }
)
"""Lists that KServe merges, and the key that an entry has."""
_POD: Final = (
    *("volumes", "imagePullSecrets", "nodeSelector", "affinity", "tolerations", "schedulerName"),
    *("labels", "annotations"),
)
"""Fields of a runtime that KServe merges into the pod."""
_CHOICE: Final = (
    *("supportedModelFormats", "protocolVersions", "multiModel", "disabled", "replicas", "storageHelper"),
    *("builtInAdapter", "grpcEndpoint", "grpcDataEndpoint", "httpDataEndpoint", "hostIPC"),
)
"""Fields by which KServe chooses a runtime, and fields that it does not put into the pod of one model."""
_OLD: Final = "huggingface"
_OWN_SERVER: Final = "kserve-vllmserver"
_SERVER_TYPE: Final = "serving.kserve.io/server-type"


def runtime_of(service: Mapping[str, Any], runtimes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The runtime among these that KServe takes for an InferenceService; None if it is not among them."""
    _, namespace = named(service)
    near = [each for each in runtimes if each.get("kind") == KINDS[0] and named(each)[1] in ("", namespace)]
    near += [each for each in runtimes if each.get("kind") == KINDS[0] and not namespace and each not in near]
    ordered = [*near, *(each for each in runtimes if each.get("kind") == KINDS[1])]
    if name := runtime_named(service):
        return next((each for each in ordered if named(each)[0] == name), None)
    model_format = _model(service).get("modelFormat")
    wanted = str(model_format.get("name", "")) if isinstance(model_format, Mapping) else ""
    fitting = [each for each in ordered if _chosen_for(each, wanted)]
    return fitting[0] if len({each.get("kind") for each in fitting}) == len(fitting) and fitting else None


def runtime_named(service: Mapping[str, Any]) -> str:
    """The name of the runtime, from the spec or from what KServe chose; empty if neither names one."""
    status = service.get("status")
    chosen = status if isinstance(status, Mapping) else {}
    names = (_model(service).get("runtime"), chosen.get("servingRuntimeName"), chosen.get("clusterServingRuntimeName"))
    return next((str(each) for each in names if each), "")


def has_model(service: Mapping[str, Any]) -> bool:
    """Whether a runtime runs it: a predictor with containers of its own has none."""
    return bool(_model(service))


def with_model(service: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The InferenceService with `model` instead of the older field `huggingface`, as KServe's webhook writes it, and
    where that was written.
    """
    spec = service.get("spec")
    predictor = spec.get("predictor") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(predictor, Mapping) or predictor.get("model") is not None:
        return service, {}
    if not isinstance(old := predictor.get(_OLD), Mapping):
        return service, {}
    rest = {key: value for key, value in predictor.items() if key != _OLD}
    model = {**old, "modelFormat": {"name": _OLD}}
    written = {_MODEL: f"spec.predictor.{_OLD}"}
    return {**service, "spec": {**spec, "predictor": {**rest, "model": model}}}, written


def _model(service: Mapping[str, Any]) -> Mapping[str, Any]:
    value: Any = service
    for step in ("spec", "predictor", "model"):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _chosen_for(runtime: Mapping[str, Any], wanted: str) -> bool:
    spec = runtime.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    listed = spec.get("supportedModelFormats")
    formats = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping)]
    fits = any(each.get("name") == wanted and each.get("autoSelect") for each in formats)
    return fits and not spec.get("disabled") and not spec.get("multiModel")


def alone(service: Mapping[str, Any]) -> Source:
    """An InferenceService whose runtime was not read; templates are filled in as KServe does."""
    body, lost = filled(service)
    note = (
        "KServe chooses the ServingRuntime by modelFormat; add its manifest to the file, or import isvc/NAME from the "
        "cluster, so that its flags are read"
    )
    unknown = has_model(service) and not runtime_named(service) and not _model(service).get("command")
    return Source(body=body, lost=lost, notes=(note,) if unknown else (), flags_known=not has_model(service))


def merged(service: Mapping[str, Any], runtime: Mapping[str, Any]) -> Source:
    """An InferenceService with all that its runtime adds. What a service has no field for is listed."""
    whole, origin = Manifest(runtime), f"{runtime.get('kind')} {named(runtime)[0]}: "
    for each in ("apiVersion", "kind", "metadata", "status"):
        whole.take(object, each)
    for each in _CHOICE:
        whole.take(object, "spec", each)
    body: Body = copy.deepcopy(dict(service))
    predictor = body["spec"]["predictor"]
    written = dict(_into_pod(whole, predictor, origin))
    replaced = [Replaced(field=f"{_MODEL}.runtime", by=f"fields of {origin[:-2]} are carried over or listed here")]
    replaced += _own_annotations(predictor, written)
    if predictor.get("workerSpec") is None and whole.take(object, "spec", "workerSpec") is not None:
        by = "KServe uses it only for an InferenceService with workerSpec"
        replaced.append(Replaced(field=f"{origin}spec.workerSpec", by=by))
    written |= dict(_into_container(whole, predictor["model"], origin))
    _for_cpu(predictor["model"], runtime)
    if predictor["model"].pop("runtime", None) is None:
        replaced = replaced[1:]
    body, lost = filled(body)
    source = Source(body=body, written=written, flags_known=True, replaced=tuple(replaced))
    return replace(source, lost=(*source.lost_there(lost), *_left(whole, origin, source.guard)))


def _into_container(whole: Manifest, model: Body, origin: str) -> Iterator[tuple[str, str]]:
    """Merges the runtime's container into the model, and yields the origin of each field that is only the runtime's."""
    containers = whole.look(list, "spec", "containers") or []
    names = [each.get("name") if isinstance(each, Mapping) else None for each in containers]
    if ENGINE_CONTAINER not in names:
        return
    at = names.index(ENGINE_CONTAINER)
    whole.take(object, "spec", "containers", at, "name")
    for key in list(containers[at]):
        value = whole.take(object, "spec", "containers", at, key)
        if value is None:
            continue
        if model.get(key) in (None, [], {}):
            yield f"{_MODEL}.{key}", f"{origin}spec.containers[{at}].{key}"
        model[key] = _together(key, value, model.get(key))


def _into_pod(whole: Manifest, predictor: Body, origin: str) -> Iterator[tuple[str, str]]:
    for key in _POD:
        value = whole.take(object, "spec", key)
        if value is None:
            continue
        if predictor.get(key) in (None, [], {}):
            yield f"spec.predictor.{key}", f"{origin}spec.{key}"
        predictor[key] = _together(key, value, predictor.get(key))


def _together(key: str, of_runtime: Any, of_service: Any) -> Any:
    """Both values as KServe merges them; the service has priority."""
    if of_service is None:
        return of_runtime
    if key == "args" and isinstance(of_runtime, list) and isinstance(of_service, list):
        return [*of_runtime, *of_service]
    if isinstance(of_runtime, dict) and isinstance(of_service, dict):
        inner = {name: _together(name, value, of_service.get(name)) for name, value in of_runtime.items()}
        return {**of_service, **inner}
    if key in _KEYS and isinstance(of_runtime, list) and isinstance(of_service, list):
        return list(_by_key(_KEYS[key], of_runtime, of_service))
    return of_service


def _by_key(key: str, of_runtime: Iterable[Any], of_service: Iterable[Any]) -> Iterator[Any]:
    """The service's entries, and those of the runtime whose key they do not have."""
    own = [each.get(key) for each in of_service if isinstance(each, dict)]
    yield from (each for each in of_runtime if not isinstance(each, dict) or each.get(key) not in own)
    yield from of_service


def _own_annotations(predictor: Body, written: Mapping[str, str]) -> Iterator[Replaced]:
    """Takes out annotations by which Knative's proxy finds metrics: the operator reads them from the pods."""
    place = written.get("spec.predictor.annotations", "spec.predictor.annotations")
    annotations = predictor.get("annotations")
    keys = [str(each) for each in annotations] if isinstance(annotations, dict) else []
    for key in (each for each in keys if each.startswith("prometheus.kserve.io/")):
        del predictor["annotations"][key]
        yield Replaced(field=f"{place}[{key}]", by="the operator reads the metrics of its pods itself")


def _for_cpu(model: Body, runtime: Mapping[str, Any]) -> None:
    """Gives the image its name for CPUs, as KServe does for its own vLLM server if no device is requested."""
    meta = runtime.get("metadata")
    annotations = meta.get("annotations") if isinstance(meta, Mapping) else None
    kind = annotations.get(_SERVER_TYPE) if isinstance(annotations, Mapping) else None
    image = str(model.get("image", ""))
    resources = model.get("resources")
    amounts = resources.values() if isinstance(resources, Mapping) else ()
    devices = any("/" in str(name) for each in amounts if isinstance(each, Mapping) for name in each)
    if (named(runtime)[0] == _OWN_SERVER or kind == "vllmserver") and not devices and "@" not in image:
        name, colon, tag = image.rpartition(":")
        model["image"] = f"{name}-cpu:{tag}" if colon else f"{image}-cpu"


def _left(whole: Manifest, origin: str, guard: str) -> Iterator[Lost]:
    """What nothing took of the runtime."""
    for path, value in whole.left():
        yield reason(path, value, guard, origin)
