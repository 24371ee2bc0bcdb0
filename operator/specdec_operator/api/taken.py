"""What is the operator's own, and what KServe needs, among the names and places that a user may choose.

The CRD refuses what is visible in the spec alone. These checks also need the service's name, or the paths of its
artifacts.
"""

from collections.abc import Mapping
from posixpath import commonpath
from types import MappingProxyType
from typing import Any, Final

from specdec_operator import names
from specdec_operator.errors import Invalid
from specdec_operator.staging.artifacts import claim_name
from specdec_operator.staging.layout import Layout
from specdec_operator.staging.schemes import REMOTE

Json = Mapping[str, Any]
_DOWNLOADED: Final = tuple(f"{scheme}://" for scheme in REMOTE)
_INTERNAL: Final = f"internal.{names.KSERVE_GROUP}/"
_DECIDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        f"{names.KSERVE_GROUP}/deploymentMode": "services run only in KServe's mode Standard; remove it",
        f"{names.KSERVE_GROUP}/autoscalerClass": "spec.autoscaling.autoscalerClass sets it; remove it",
        f"{names.KSERVE_GROUP}/stop": "KServe would delete the pods, and the guard would wait for them; to stop the "
        "service, delete it",
        f"{names.KSERVE_GROUP}/enable-prometheus-scraping": "KServe would set a scrape port that no pod has, and the "
        "pods already have the annotation (prometheus.io/port: "
        "8080); remove it",
        f"{names.KSERVE_GROUP}/inferenceservice": "KServe sets this label on the pods itself; remove it",
    }
)
"""Labels and annotations of an InferenceService, and what to do instead."""


def refuse_taken(spec: Json, *, name: str, layout: Layout) -> None:
    """Raises Invalid for a name or a place in the spec of the service `name` that is not the user's to choose."""
    _refuse_names(spec["model"], name)
    pod: Json = spec.get("pod") or {}
    _refuse_own("spec.pod.labels", "labels", pod.get("labels"))
    service: Json = spec.get("inferenceService") or {}
    for what in ("labels", "annotations"):
        _refuse_own(f"spec.inferenceService.{what}", what, service.get(what))
        _refuse_kserves(f"spec.inferenceService.{what}", service.get(what))
    _refuse_claim(pod, name)
    _refuse_below_downloads(pod, layout)


def _refuse_names(model: Json, name: str) -> None:
    """Of two equal names the engine would serve only one, and it would read a name that begins with - as a flag."""
    first, aliases = model.get("name") or name, model.get("aliases") or []
    every = [first, *aliases, *(each["name"] for each in model.get("adapters") or ())]
    if twice := next((each for each in every if every.count(each) > 1), None):
        rule = "model.name, aliases and adapter names must be unique, because clients select models by them"
        raise Invalid("spec.model", twice, rule)
    if aliases and first.startswith("-"):
        raise Invalid(
            "spec.model.name",
            first,
            "if model.aliases or adapters follow, a name must not begin with '-'; choose another",
        )


def _refuse_own(field: str, what: str, written: Json | None) -> None:
    """The operator identifies its objects, pods and downloads by its labels."""
    for key, value in (written or {}).items():
        if key.startswith(f"{names.GROUP}/"):
            raise Invalid(f"{field}[{key}]", value, f"{what} of {names.GROUP} are reserved for the operator; remove it")


def _refuse_kserves(field: str, written: Json | None) -> None:
    """What KServe reads there and the operator decides, or what KServe itself writes there."""
    for key, value in (written or {}).items():
        if key.startswith(_INTERNAL):
            raise Invalid(f"{field}[{key}]", value, "KServe writes and reads these itself; remove it")
        if key in _DECIDED:
            raise Invalid(f"{field}[{key}]", value, _DECIDED[key])


def _refuse_claim(pod: Json, name: str) -> None:
    """The PVC of downloads is mounted read-only, into the engine alone."""
    for index, volume in enumerate(pod.get("volumes") or ()):
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim == claim_name(name):
            rule = "the operator creates this PVC for its downloads and mounts it itself; use another PVC"
            raise Invalid(f"spec.pod.volumes[{index}].persistentVolumeClaim.claimName", claim, rule)


def _refuse_below_downloads(pod: Json, layout: Layout) -> None:
    """KServe mounts the folder that all downloads have in common, read-only: nothing can be mounted inside."""
    paths = [each["mountPath"] for each in layout.storage_uris if each["uri"].startswith(_DOWNLOADED)]
    parent = commonpath(paths) if paths else ""
    for index, mount in enumerate(pod.get("volumeMounts") or ()):
        path = mount.get("mountPath", "")
        if parent and f"{path}/".startswith(f"{parent}/"):
            rule = (
                f"KServe mounts its downloads at {parent}, read-only, so nothing can be mounted below it; choose "
                "another path"
            )
            raise Invalid(f"spec.pod.volumeMounts[{index}].mountPath", path, f"{rule}, such as /states")
