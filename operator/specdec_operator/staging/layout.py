"""One layout for every service: the target under /mnt/target/model, the draft under /mnt/draft/model.

One volume for each claim, however many folders of it are mounted: two volumes of one pod that name the same claim
never mount.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.errors import Invalid

Json = Mapping[str, Any]
TARGET_PATH: Final = "/mnt/target/model"
DRAFT_PATH: Final = "/mnt/draft/model"


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """An artifact that a Job brings into the operator-made claim once.

    name: `target` or `draft`. key: its folder in the claim, another one for another URI or other patterns.
    """

    name: str
    uri: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where the engine finds its artifacts, and what brings them there.

    target, draft: folders as the engine sees them; draft is None where nothing is staged for it.
    volumes, mounts: of the InferenceService's predictor and its model. storage_uris: its storageUris.
    claim: name of the operator-made claim that the downloads go to; None where there are none.
    notes: what the user should know: a KServe newer than this table, credentials that both share.
    """

    target: str
    draft: str | None
    volumes: tuple[Json, ...] = ()
    mounts: tuple[Json, ...] = ()
    storage_uris: tuple[Json, ...] = ()
    downloads: tuple[Download, ...] = ()
    claim: str | None = None
    notes: tuple[str, ...] = ()


_PVC: Final = re.compile(r"pvc://(?P<claim>[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)(/(?P<folder>.*))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One folder of a claim, read-only in the engine's container."""

    claim: str
    folder: str
    path: str


def mounts(model: Json, draft: Json | None) -> tuple[Mount, ...]:
    """The mounts of spec.model and spec.speculation.draft. Raises Invalid for a URI that cannot be mounted."""
    target = _mount("spec.model", model["uri"], model.get("path"), TARGET_PATH)
    if draft is None or not (draft.get("uri") or draft.get("path")):  # none, or in the target's own weights
        return (target,)
    guess = _mount("spec.speculation.draft", draft.get("uri") or model["uri"], draft.get("path"), DRAFT_PATH)
    if (guess.claim, guess.folder) == (target.claim, target.folder):
        named = draft.get("uri") or draft.get("path")
        raise Invalid("spec.speculation.draft", named, "this is the target's own folder; name the draft's")
    return target, guess


def _mount(field: str, uri: str, path: str | None, mount_path: str) -> Mount:
    match = _PVC.fullmatch(uri)
    if match is None:
        raise Invalid(f"{field}.uri", uri, "write pvc://CLAIM or pvc://CLAIM/FOLDER; other schemes are not served yet")
    parts = [part for part in (match["folder"] or "").split("/") if part] + (path.split("/") if path else [])
    if ".." in parts:
        where, value = ("path", path) if path and ".." in path else ("uri", uri)
        raise Invalid(f"{field}.{where}", value, "a folder of the claim, without '..'")
    return Mount(claim=match["claim"], folder="/".join(parts), path=mount_path)


def volumes(wanted: tuple[Mount, ...]) -> list[dict[str, object]]:
    """The pod's volumes, one for each claim, in order of first use."""
    claims = dict.fromkeys(mount.claim for mount in wanted)
    return [
        {"name": _volume_name(index), "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
        for index, claim in enumerate(claims)
    ]


def volume_mounts(wanted: tuple[Mount, ...]) -> list[dict[str, object]]:
    """The container's mounts of these folders."""
    claims = list(dict.fromkeys(mount.claim for mount in wanted))
    return [
        {"name": _volume_name(claims.index(mount.claim)), "mountPath": mount.path, "readOnly": True}
        | ({"subPath": mount.folder} if mount.folder else {})
        for mount in wanted
    ]


def _volume_name(index: int) -> str:
    return "models" if index == 0 else f"models-{index}"
