"""The artifacts of a spec, and the way that each takes into the pods. The spec is plain JSON, as in YAML."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_operator.errors import Invalid
from specdec_operator.staging.schemes import IMAGES, ArtifactKind, of_kinds
from specdec_operator.staging.source import ArtifactSource, source

Json = Mapping[str, Any]
JOB_MODE: Final = "PersistentVolumeClaim"
_DRAFT: Final = "spec.speculation.draft"


class DeliveryMode(StrEnum):
    """How an artifact comes into the pods."""

    CLAIM = "mounted from the user's PVC"
    JOB = "downloaded once by a Job, mounted from the operator's PVC"
    DOWNLOAD = "downloaded into each pod by KServe"
    MODELCAR = "mounted as an image by KServe"
    IMAGE_VOLUME = "mounted as an image by the kubelet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One model. role: `target`, `draft` or `adapter-0` and so on. inside: it lies in the target's own artifact."""

    role: str
    source: ArtifactSource
    way: DeliveryMode
    inside: bool = False


_WAYS: Final = {
    ArtifactKind.CLAIM: DeliveryMode.CLAIM,
    ArtifactKind.REMOTE: DeliveryMode.DOWNLOAD,
    ArtifactKind.MODELCAR: DeliveryMode.MODELCAR,
    ArtifactKind.IMAGE_VOLUME: DeliveryMode.IMAGE_VOLUME,
}
_MODES: Final[Mapping[str, tuple[frozenset[ArtifactKind], str]]] = {
    "Auto": (frozenset(ArtifactKind), ""),
    "StorageUris": (frozenset({ArtifactKind.REMOTE}), ""),
    "Modelcar": (IMAGES, ""),
    JOB_MODE: (frozenset(ArtifactKind) - IMAGES, ", because nodes cache images themselves"),
}
"""What each mode brings, and why no more."""


def artifacts(spec: Json, name: str) -> tuple[Artifact, ...]:
    """Target, draft and adapters of the service of this name, in this order.

    Raises Invalid for what cannot be brought.
    """
    staging: Json = spec.get("staging") or {}
    mode = str(staging.get("mode") or "Auto")
    model: Json = spec["model"]
    target = source("spec.model", model["uri"], model.get("path"))
    every = [Artifact(role="target", source=target, way=_way(target, mode))]
    draft: Json = (spec.get("speculation") or {}).get("draft") or {}
    if draft.get("uri") or draft.get("path"):  # else there is none, or it is in the target's own weights
        every.append(_beside("draft", _DRAFT, draft, every[0], mode))
    for index, adapter in enumerate(model.get("adapters") or ()):
        every.append(_beside(f"adapter-{index}", f"spec.model.adapters[{index}]", adapter, every[0], mode))
    if mode == JOB_MODE:
        _check_claim(every, staging, name)
    return tuple(every)


def claim_name(service: str) -> str:
    """The PVC that the operator makes for downloads."""
    return f"{service}-models"


def _way(place: ArtifactSource, mode: str) -> DeliveryMode:
    kinds, why = _MODES[mode]
    if place.kind not in kinds:
        brings = f"spec.staging.mode {mode} supports {of_kinds(kinds)} only{why}"
        rule = f"{brings}; remove the mode, or use such a URI for this model too"
        raise Invalid(f"{place.field}.uri", place.uri, rule)
    return DeliveryMode.JOB if mode == JOB_MODE and place.kind is ArtifactKind.REMOTE else _WAYS[place.kind]


def _beside(role: str, field: str, named: Json, target: Artifact, mode: str) -> Artifact:
    """A draft or an adapter."""
    place = source(field, named.get("uri") or target.source.uri, named.get("path"))
    if place.model == target.source.model:
        rule = f"this is the target's own folder; set the folder of the {role.partition('-')[0]}"
        raise Invalid(field, named.get("uri") or named.get("path"), rule)
    way = _way(place, mode)
    inside = way is target.way and place.uri == target.source.uri
    return Artifact(role=role, source=place, way=way, inside=inside)


def _check_claim(artifacts: list[Artifact], staging: Json, name: str) -> None:
    """Raises Invalid if the operator cannot make the PVC that downloads need."""
    if all(each.way is not DeliveryMode.JOB for each in artifacts):
        return
    if not staging.get("claim"):
        raise Invalid("spec.staging.claim", None, f"mode {JOB_MODE} downloads into a PVC; set its storage size")
    for each in artifacts:
        if each.way is DeliveryMode.CLAIM and each.source.place == claim_name(name):
            rule = f"the operator uses the PVC name {claim_name(name)} for its downloads; rename your PVC"
            raise Invalid(f"{each.source.field}.uri", each.source.uri, rule)
