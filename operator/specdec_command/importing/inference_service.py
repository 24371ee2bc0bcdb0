"""An InferenceService as the parts of an equivalent service. Everything without an equivalent is listed."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_command.importing.command import Command, command_of
from specdec_command.importing.liveness import kept_probe
from specdec_command.importing.manifest import Lost, Manifest, Replaced, Step
from specdec_command.importing.other_servers import other_server
from specdec_command.importing.places import DOWNLOADED, Folder
from specdec_command.importing.reasons import RENDERED, untaken
from specdec_command.importing.scaling import carry_scaling
from specdec_command.importing.secrets import secrets_in
from specdec_command.importing.source import Source, readable
from specdec_operator.guest.flags import engine_container
from specdec_operator.names import ENFORCE_ANNOTATION, TAKEN_OUT_ANNOTATION

_PREDICTOR: Final = ("spec", "predictor")
_SERVERS: Final = frozenset(
    {
        *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "finalizers"),
        *("ownerReferences", "deletionTimestamp", "deletionGracePeriodSeconds"),
    }
)
"""Parts of metadata that the API server or a controller writes."""
_TOOLS: Final = (
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/",
    "argocd.argoproj.io/",
    "meta.helm.sh/",
    "kustomize.toolkit.fluxcd.io/",
)
_STORAGE_URI: Final = "STORAGE_URI"
"""The variable that KServe reads like storageUri, in a predictor with containers of its own."""
_FORMAT: Final = "modelFormat"
"""KServe's webhook writes it, from 0.17 on, with the model format, unless the user has set another value."""
_MODE: Final = "serving.kserve.io/deploymentMode"
_SCALER: Final = "serving.kserve.io/autoscalerClass"
_STANDARD: Final = ("Standard", "RawDeployment")
_SCALERS: Final = ("none", "hpa", "keda", "external")
_POD: Final = (
    *(("nodeSelector", dict), ("tolerations", list), ("affinity", dict), ("topologySpreadConstraints", list)),
    *(("schedulerName", str), ("serviceAccountName", str), ("imagePullSecrets", list), ("priorityClassName", str)),
    *(("runtimeClassName", str), ("securityContext", dict), ("labels", dict), ("annotations", dict)),
)
"""Fields of the predictor that spec.pod has too."""


@dataclass(slots=True, kw_only=True)
class InferenceServiceParts:
    """The parts of an InferenceService. spec: those of a service. folders: where its artifacts are in the container.

    source: the object; empty for a command line. scaler: its autoscaler class, which is KServe's default where none is
    named; knative: whether it runs in that mode.
    sources: place in the spec -> where it stood. why_not: why there cannot be a service. secrets: texts that are not
    copied or printed.
    """

    name: str | None
    namespace: str | None
    command: Command
    source: Source
    spec: dict[str, Any] = field(default_factory=dict)
    folders: list[Folder] = field(default_factory=list)
    image: str = ""
    scaler: str = "hpa"
    knative: bool = False
    lost: list[Lost] = field(default_factory=list)
    replaced: list[Replaced] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    why_not: list[str] = field(default_factory=list)
    secrets: frozenset[str] = frozenset()

    def carry(self, value: Any, to: str, source: str) -> None:
        """Sets a place of the spec, such as pod.tolerations."""
        if value is None or value in ({}, []):
            return
        holder: dict[str, Any] = self.spec
        *parents, last = to.split(".")
        for each in parents:
            holder = holder.setdefault(each, {})
        holder[last] = value
        self.sources[f"spec.{to}"] = source


def read(source: Source) -> InferenceServiceParts:
    """The parts of an object. All of its fields are in `spec`, `lost` or `replaced`."""
    whole = Manifest(source.body)
    for known in ("apiVersion", "kind"):
        whole.take(str, known)
    whole.take(dict, "status")
    place = _engine(whole)
    container: dict[str, Any] = (whole.look(dict, *place) if place else None) or {}
    command = command_of(readable(container), _text(place or _PREDICTOR))
    name, namespace = whole.take(str, "metadata", "name"), whole.take(str, "metadata", "namespace")
    parts = InferenceServiceParts(
        name=name, namespace=namespace, command=command, source=source, lost=list(command.lost)
    )
    parts.secrets = frozenset(secrets_in(source.body))
    parts.notes += source.notes
    parts.why_not += source.why_not
    if not parts.why_not and (other := other_server(whole.look(dict, *_PREDICTOR) or {}, container)):
        parts.why_not.append(other)
    if not parts.why_not and place is None:
        parts.why_not.append("spec.predictor: it has no model and no containers, so the engine is unknown")
    if not parts.why_not and place is not None:
        _whole(whole, place, parts)
    return parts


def _whole(whole: Manifest, place: tuple[Step, ...], parts: InferenceServiceParts) -> None:
    _meta(whole, parts)
    _container(whole, place, parts)
    _pod(whole, place, parts)
    _artifacts(whole, place, parts)
    carry_scaling(whole, parts)
    lost, why_not = untaken(whole, parts.source)
    parts.lost = [*parts.source.lost, *parts.source.lost_there((*parts.lost, *lost))]
    parts.replaced = [*parts.source.replaced, *parts.source.replaced_there(parts.replaced)]
    parts.sources = {to: parts.source.place(path) for to, path in parts.sources.items()}
    parts.why_not += why_not


def _engine(whole: Manifest) -> tuple[Step, ...] | None:
    """Where the engine's container stands."""
    if whole.look(dict, *_PREDICTOR, "model") is not None:
        return (*_PREDICTOR, "model")
    containers = [readable(each) for each in whole.look(list, *_PREDICTOR, "containers") or []]
    found = engine_container({"containers": containers})
    index = next((at for at, each in enumerate(containers) if each is found), None)
    return None if not found or index is None else (*_PREDICTOR, "containers", index)


def _text(path: tuple[Step, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).lstrip(".")


def _meta(whole: Manifest, parts: InferenceServiceParts) -> None:
    for key in list(whole.look(dict, "metadata") or {}):
        if key in _SERVERS:
            whole.take(object, "metadata", key)
    labels = {str(key): str(value) for key, value in (whole.take(dict, "metadata", "labels") or {}).items()}
    parts.carry(labels, "inferenceService.labels", "metadata.labels")
    model_format = whole.look(str, *_PREDICTOR, "model", "modelFormat", "name")
    kept = {}
    for key, value in (whole.take(dict, "metadata", "annotations") or {}).items():
        where = f"metadata.annotations[{key}]"
        if key == TAKEN_OUT_ANNOTATION:
            why = "a guard has currently removed its speculation"
            parts.lost.append(
                Lost(field=where, why=why, way_out="delete the guard, which restores it, and then import")
            )
        elif by := _writer(key, value, model_format):
            parts.replaced.append(Replaced(field=where, by=by))
        elif (key == _MODE and value in _STANDARD) or (key == _SCALER and value in _SCALERS):
            parts.scaler = value if key == _SCALER else parts.scaler
            parts.replaced.append(Replaced(field=where, by="the operator writes it"))
        elif key in (_MODE, _SCALER) or key.startswith("autoscaling.knative.dev/"):
            parts.knative = parts.knative or key != _SCALER
            why = f"{value}: a service runs in Standard mode, and KServe's hpa, keda or your own scaler scales it"
            way_out = "set spec.autoscaling, or set spec.replicas for the expected load"
            parts.lost.append(Lost(field=where, why=why, way_out=way_out))
        else:
            kept[key] = str(value)
    parts.carry(kept, "inferenceService.annotations", "metadata.annotations")


def _writer(key: str, value: object, model_format: str | None) -> str:
    """What writes an annotation again; empty: nothing does."""
    if key == ENFORCE_ANNOTATION:
        return "the service's own guard may always act: see spec.guard.mode"
    if key.startswith(_TOOLS):
        return "the tool that applies the service writes its own value"
    return "KServe writes it" if (key, value) == (_FORMAT, model_format) else ""


def _container(whole: Manifest, place: tuple[Step, ...], parts: InferenceServiceParts) -> None:
    """The container's own fields. Its arguments are in `parts.command` already."""
    where = _text(place)
    whole.take(list, *place, "args")
    parts.image = whole.look(str, *place, "image") or ""
    env = _after_the_script(whole.take(list, *place, "env") or [], f"{where}.env", parts)
    if "containers" in place and parts.source.kind == "InferenceService":
        env = list(_without_storage_uri(env, parts))
    parts.carry(env, "engine.env", f"{where}.env")
    parts.carry(whole.take(dict, *place, "resources"), "resources", f"{where}.resources")
    parts.carry(whole.take(dict, *place, "securityContext"), "engine.securityContext", f"{where}.securityContext")
    _liveness(whole.take(dict, *place, "livenessProbe"), f"{where}.livenessProbe", parts)
    for key, by in RENDERED.items():
        if whole.take(object, *place, key) is not None:
            parts.replaced.append(Replaced(field=f"{where}.{key}", by=by))


def _liveness(probe: dict[str, Any] | None, where: str, parts: InferenceServiceParts) -> None:
    if not probe:
        return
    found = kept_probe(probe, where)
    parts.carry(found.probe, "engine.livenessProbe", where)
    parts.replaced += found.replaced
    parts.lost += found.lost
    parts.notes += [found.note] if found.note else []


def _after_the_script(env: list[Any], where: str, parts: InferenceServiceParts) -> list[Any]:
    """The variables that vLLM gets: a script sets its own in place of the container's, and unsets others."""
    command, kept = parts.command, []
    given = dict(command.env)
    for each in env:
        name = each.get("name") if isinstance(each, dict) else None
        if name not in command.changed:
            kept.append(each)
        else:
            by = "the script sets another value" if name in given else "the script unsets it, or only a shell knows it"
            parts.replaced.append(Replaced(field=f"{where} ({name})", by=by))
    return [*kept, *({"name": name, "value": value} for name, value in given.items())]


def _without_storage_uri(env: list[Any], parts: InferenceServiceParts) -> Iterator[Any]:
    """The variables, without the one that KServe reads as the place of the model."""
    for each in env:
        if isinstance(each, dict) and each.get("name") == _STORAGE_URI and isinstance(uri := each.get("value"), str):
            parts.folders.append(Folder(mount=DOWNLOADED, uri=uri))
        else:
            yield each


def _pod(whole: Manifest, place: tuple[Step, ...], parts: InferenceServiceParts) -> None:
    for key, kind in _POD:
        parts.carry(whole.take(kind, *_PREDICTOR, key), f"pod.{key}", f"spec.predictor.{key}")
    if (grace := whole.take(int, *_PREDICTOR, "terminationGracePeriodSeconds")) is not None:
        parts.carry(f"{grace}s", "rollout.grace", "spec.predictor.terminationGracePeriodSeconds")
    volumes = [each for each in whole.take(list, *_PREDICTOR, "volumes") or [] if isinstance(each, dict)]
    mounts = [each for each in whole.take(list, *place, "volumeMounts") or [] if isinstance(each, dict)]
    memory = _shared_memory(volumes, mounts, parts)
    volumes = [each for each in volumes if _named(each) not in memory]
    mounts = [each for each in mounts if _named(each) not in memory]
    parts.folders += _claims(volumes, mounts)
    parts.carry(volumes, "pod.volumes", "spec.predictor.volumes")
    parts.carry(mounts, "pod.volumeMounts", f"{_text(place)}.volumeMounts")


def _shared_memory(
    volumes: list[dict[str, Any]], mounts: list[dict[str, Any]], parts: InferenceServiceParts
) -> set[str]:
    """Names of the volumes that are /dev/shm alone; their size is carried."""
    there = {_named(each) for each in mounts if each.get("mountPath") == "/dev/shm"}  # noqa: S108 - of the pod
    found = [each for each in volumes if _named(each) in there and "emptyDir" in each]
    for each in found:
        empty = each["emptyDir"] if isinstance(each["emptyDir"], dict) else {}
        if "sizeLimit" in empty:
            parts.carry(str(empty["sizeLimit"]), "pod.sharedMemory", "spec.predictor.volumes")
            told = f"spec.predictor.volumes ({_named(each)}) and its mount"
            parts.replaced.append(Replaced(field=told, by="the operator mounts shared memory of this size"))
        else:
            why = "shared memory without a limit; the operator's runtime has 1Gi"
            way_out = "set spec.pod.sharedMemory if the engine needs more"
            parts.lost.append(Lost(field=f"spec.predictor.volumes ({_named(each)})", why=why, way_out=way_out))
    return {_named(each) for each in found}


def _named(entry: dict[str, Any]) -> str:
    return str(entry.get("name"))


def _claims(volumes: list[dict[str, Any]], mounts: list[dict[str, Any]]) -> Iterator[Folder]:
    claims = {_named(each): each.get("persistentVolumeClaim") for each in volumes}
    for each in mounts:
        claim = claims.get(_named(each))
        if isinstance(claim, dict) and isinstance(path := each.get("mountPath"), str):
            folder = str(each.get("subPath") or "").strip("/")
            uri = f"pvc://{claim.get('claimName')}" + (f"/{folder}" if folder else "")
            yield Folder(mount=path, uri=uri, volume=_named(each))


def _artifacts(whole: Manifest, place: tuple[Step, ...], parts: InferenceServiceParts) -> None:
    for path in ((*place, "storageUri"), (*_PREDICTOR, "storageUri")):
        if uri := whole.take(str, *path):
            parts.folders.append(Folder(mount=DOWNLOADED, uri=uri))
    for holder in (_PREDICTOR, place):
        for each in whole.take(list, *holder, "storageUris") or []:
            if isinstance(each, dict) and isinstance(uri := each.get("uri"), str):
                parts.folders.append(Folder(mount=str(each.get("mountPath") or DOWNLOADED), uri=uri))
    stored = whole.look(dict, *place, "storage") or {}
    told = stored.get("parameters") or {}
    if told.get("type") == "s3" and told.get("bucket") and "key" not in stored:
        whole.take(dict, *place, "storage")
        uri = f"s3://{told['bucket']}/{str(stored.get('path', '')).strip('/')}"
        parts.folders.append(Folder(mount=DOWNLOADED, uri=uri))
