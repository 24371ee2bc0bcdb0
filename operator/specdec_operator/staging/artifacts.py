"""The artifacts of a spec, and the way that each takes into the pods. The spec is plain JSON, as in YAML."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_operator.errors import Invalid
from specdec_operator.staging.source import Kind, Source, source

Json = Mapping[str, Any]
JOB_MODE: Final = "PersistentVolumeClaim"
_DRAFT: Final = "spec.speculation.draft"


class Way(StrEnum):
    """How an artifact comes into the pods."""

    CLAIM = "mounted from the user's claim"
    JOB = "downloaded once by a Job, mounted from the operator's claim"
    DOWNLOAD = "downloaded into each pod by KServe"
    MODELCAR = "brought as an image by KServe"
    IMAGE_VOLUME = "mounted as an image by the kubelet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One model. role: `target` or `draft`. inside: a draft that lies in the target's own artifact."""

    role: str
    source: Source
    way: Way
    inside: bool = False


_WAYS: Final = {
    Kind.CLAIM: Way.CLAIM,
    Kind.REMOTE: Way.DOWNLOAD,
    Kind.MODELCAR: Way.MODELCAR,
    Kind.IMAGE_VOLUME: Way.IMAGE_VOLUME,
}
_IMAGES: Final = frozenset({Kind.MODELCAR, Kind.IMAGE_VOLUME})
_MODES: Final[Mapping[str, tuple[frozenset[Kind], str]]] = {
    "Auto": (frozenset(Kind), ""),
    "StorageUris": (frozenset({Kind.REMOTE}), "brings hf, s3, gs and https"),
    "Modelcar": (_IMAGES, "brings oci and oci+native"),
    JOB_MODE: (frozenset(Kind) - _IMAGES, "brings pvc, hf, s3, gs and https: nodes keep images themselves"),
}
"""What each mode brings, and how that is said."""


def artifacts(spec: Json, name: str) -> tuple[Artifact, ...]:
    """Target and draft of the sis of this name, the target first. Raises Invalid for what cannot be brought."""
    staging: Json = spec.get("staging") or {}
    mode = str(staging.get("mode") or "Auto")
    model: Json = spec["model"]
    target = source("spec.model", model["uri"], model.get("path"))
    found = [Artifact(role="target", source=target, way=_way(target, mode))]
    draft: Json = (spec.get("speculation") or {}).get("draft") or {}
    if draft.get("uri") or draft.get("path"):  # else there is none, or it is in the target's own weights
        found.append(_draft(draft, model["uri"], found[0], mode))
    if mode == JOB_MODE:
        _check_claim(found, staging, name)
    return tuple(found)


def claim_name(sis: str) -> str:
    """The claim that the operator makes for downloads."""
    return f"{sis}-models"


def _way(found: Source, mode: str) -> Way:
    kinds, brings = _MODES[mode]
    if found.kind not in kinds:
        rule = f"spec.staging.mode {mode} {brings}; leave the mode out, or bring this model so too"
        raise Invalid(f"{found.field}.uri", found.uri, rule)
    return Way.JOB if mode == JOB_MODE and found.kind is Kind.REMOTE else _WAYS[found.kind]


def _draft(draft: Json, target_uri: str, target: Artifact, mode: str) -> Artifact:
    found = source(_DRAFT, draft.get("uri") or target_uri, draft.get("path"))
    if found.model == target.source.model:
        rule = "this is the target's own folder; name the draft's"
        raise Invalid(_DRAFT, draft.get("uri") or draft.get("path"), rule)
    way = _way(found, mode)
    inside = way is target.way and found.uri == target.source.uri
    return Artifact(role="draft", source=found, way=way, inside=inside)


def _check_claim(found: list[Artifact], staging: Json, name: str) -> None:
    """Raises Invalid where the operator cannot make the claim that downloads need."""
    if all(each.way is not Way.JOB for each in found):
        return
    if not staging.get("claim"):
        raise Invalid("spec.staging.claim", None, f"mode {JOB_MODE} downloads into a claim; name its storage")
    for each in found:
        if each.way is Way.CLAIM and each.source.place == claim_name(name):
            rule = f"the operator makes the claim {claim_name(name)} for its downloads; name yours otherwise"
            raise Invalid(f"{each.source.field}.uri", each.source.uri, rule)
