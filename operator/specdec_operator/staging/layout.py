"""One layout for every service: the target under /mnt/target/model, the draft under /mnt/draft/model, LoRA adapters
under /mnt/adapters/0/model and so on.

It holds on every KServe. The artifacts have parents of their own, as Modelcars must, and no mount is inside another: if
the volume of several downloads would have another mount in it, the downloads are below /mnt/models instead. Each PVC is
one volume, however many folders of it are mounted: two volumes of one pod that name the same PVC never mount.
Everything is mounted read-only, except Modelcars: KServe lends their files through a link in a folder that it mounts
writable, and with its own default, uidModelcar 1010, makes the engine run as that user.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import commonpath
from typing import Any, Final

from specdec_engine.rule import Finding
from specdec_operator.staging.artifacts import Artifact, DeliveryMode, artifacts, claim_name
from specdec_operator.staging.kserve import KServe
from specdec_operator.staging.rules import findings
from specdec_operator.staging.single import brought_alone
from specdec_operator.staging.source import joined

Json = Mapping[str, Any]
ARTIFACTS: Final = "/mnt"
"""What the folders of all artifacts have in common."""
TARGET_PATH: Final = f"{ARTIFACTS}/target/model"
DRAFT_PATH: Final = f"{ARTIFACTS}/draft/model"
SINGLE_PATH: Final = f"{ARTIFACTS}/models"
"""Where KServe puts what storageUri names."""
RUNTIME_PATH: Final = f"{ARTIFACTS}/specdec"
"""Where the engine's container finds the specdec_runtime that the operator brings."""
_MOUNTED: Final = frozenset({DeliveryMode.CLAIM, DeliveryMode.JOB})
_BY_KSERVE: Final = (DeliveryMode.DOWNLOAD, DeliveryMode.MODELCAR)
"""Downloads first: KServe chooses the ClusterStorageContainer of all downloads by the first URI alone."""
_IMAGE_FOLDER: Final = "models"
"""The folder of an image with its model, for image volumes as for Modelcars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """An artifact that a Job brings into the operator-made PVC once.

    name: the artifact's role. key: its folder in the PVC, another one for another URI or other patterns.
    """

    name: str
    uri: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The places at which the engine finds its artifacts, and what brings them there.

    target, draft, adapters: folders as the engine sees them; draft is None where nothing is staged for it. adapters are
        in the order of the spec.
    volumes, mounts: of the InferenceService's predictor and its model. storage_uris: its storageUris; storage_uri: its
        model's storageUri instead, where this KServe has no other way for the one artifact that it brings.
    `claim`: name of the operator-made PVC that the downloads go to; None if the spec needs none.
    kept: keys of every folder of that PVC that the spec names, whether it is served now or not.
    findings: what this KServe or Kubernetes cannot do with it, and what the user should know.
    """

    target: str
    draft: str | None
    adapters: tuple[str, ...] = ()
    volumes: tuple[Json, ...] = ()
    mounts: tuple[Json, ...] = ()
    storage_uris: tuple[Json, ...] = ()
    storage_uri: str | None = None
    downloads: tuple[Download, ...] = ()
    claim: str | None = None
    kept: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mount:
    """One mount of the engine's container. volume: what it is a folder of, as Kubernetes writes it."""

    role: str
    volume: Json
    folder: str


def lay_out(
    spec: Json, *, name: str, kserve: KServe | None = None, draft: bool = True, beside: Iterable[str] = ()
) -> Layout:
    """The layout of a spec, as plain JSON, of the service `name`. Raises Invalid for what no KServe could bring.

    draft: False leaves the draft out, as after a rollback; the target stays where it is. beside: folders of the
    engine's container in which the operator mounts something else.
    """
    every = artifacts(spec, name)
    served = tuple(each for each in every if draft or each.role != "draft")
    single = brought_alone(served, kserve or KServe())
    apart = _over_others(every, beside)
    found = {each.role: _found_at(each, single, apart=apart) for each in served}
    claim = claim_name(name) if any(each.way is DeliveryMode.JOB for each in every) else None
    staging: Json = spec.get("staging") or {}
    mounts = tuple(_mounts(served, staging, claim))
    volumes = _volumes(mounts)
    return Layout(
        target=found.pop("target"),
        draft=found.pop("draft", None),
        adapters=tuple(found.values()),
        volumes=tuple({"name": title, **volume} for title, volume in volumes.items()),
        mounts=tuple(_mount(each, volumes) for each in mounts),
        storage_uris=() if single else tuple(_storage_uris(served, apart=apart)),
        storage_uri=single.source.uri if single else None,
        downloads=_downloads(served, staging),
        claim=claim,
        kept=tuple(dict.fromkeys(each.key for each in _downloads(every, staging))),
        findings=findings(spec, served, kserve or KServe()),
    )


def _found_at(artifact: Artifact, single: Artifact | None, *, apart: bool) -> str:
    """The folder in which the engine finds config.json. single: the artifact that comes by storageUri."""
    if artifact.way in _MOUNTED:
        return _place(artifact.role)
    role = "target" if artifact.inside else artifact.role
    alone = single is not None and single.role == role
    return joined(SINGLE_PATH if alone else _brought_to(role, artifact.way, apart=apart), artifact.source.path)


def _over_others(every: Iterable[Artifact], beside: Iterable[str]) -> bool:
    """Whether the volume of several downloads would have another mount in it.

    KServe mounts that volume read-only at the folder above all downloads, and no container starts that has to make a
    folder in it for another mount.
    """
    distinct = [each for each in every if not each.inside]
    downloads = [_place(each.role) for each in distinct if each.way is DeliveryMode.DOWNLOAD]
    others = [_place(each.role) for each in distinct if each.way is not DeliveryMode.DOWNLOAD]
    if len(downloads) < 2:
        return False
    above = commonpath(downloads)
    return any(each.startswith(f"{above}/") for each in (*others, *beside))


def _brought_to(role: str, way: DeliveryMode, *, apart: bool) -> str:
    """Where KServe is to bring an artifact. apart: downloads get a folder in which nothing else is mounted."""
    place = _place(role)
    return place.replace(ARTIFACTS, SINGLE_PATH, 1) if apart and way is DeliveryMode.DOWNLOAD else place


def _place(role: str) -> str:
    """Where an artifact is mounted: each below a folder of its own."""
    kind, _, index = role.partition("-")
    return f"{ARTIFACTS}/adapters/{index}/model" if index else {"target": TARGET_PATH, "draft": DRAFT_PATH}[kind]


def _mounts(served: Iterable[Artifact], staging: Json, claim: str | None) -> Iterator[_Mount]:
    for each in served:
        place = each.source
        if each.way is DeliveryMode.CLAIM:
            yield _Mount(role=each.role, volume=_claimed(place.place), folder=joined(place.folder, place.path))
        elif each.way is DeliveryMode.JOB:
            yield _Mount(role=each.role, volume=_claimed(claim), folder=joined(_key(place.uri, staging), place.path))
        elif each.way is DeliveryMode.IMAGE_VOLUME and not each.inside:
            image = {"image": {"reference": place.place, "pullPolicy": "IfNotPresent"}}
            yield _Mount(role=each.role, volume=image, folder=_IMAGE_FOLDER)


def _claimed(claim: str | None) -> Json:
    return {"persistentVolumeClaim": {"claimName": claim, "readOnly": True}}


def _volumes(mounts: Iterable[_Mount]) -> dict[str, Json]:
    """Volumes by name, each of them once. A runtime or KServe has no such names."""
    named: dict[str, Json] = {}
    for each in mounts:
        if each.volume not in named.values():
            named[f"specdec-{each.role}"] = each.volume
    return named


def _mount(mount: _Mount, volumes: Mapping[str, Json]) -> Json:
    name = next(name for name, volume in volumes.items() if volume == mount.volume)
    written = {"name": name, "mountPath": _place(mount.role), "readOnly": True}
    return written | ({"subPath": mount.folder} if mount.folder else {})


def _storage_uris(served: Iterable[Artifact], *, apart: bool) -> Iterator[Json]:
    wanted = [each for each in served if each.way in _BY_KSERVE and not each.inside]
    for each in sorted(wanted, key=lambda each: _BY_KSERVE.index(each.way)):
        yield {"uri": each.source.uri, "mountPath": _brought_to(each.role, each.way, apart=apart)}


def _downloads(every: Iterable[Artifact], staging: Json) -> tuple[Download, ...]:
    """One for each key: two folders of one repository are downloaded together."""
    wanted: dict[str, Download] = {}
    for each in every:
        if each.way is DeliveryMode.JOB:
            key = _key(each.source.uri, staging)
            wanted.setdefault(key, Download(name=each.role, uri=each.source.uri, key=key))
    return tuple(wanted.values())


def _key(uri: str, staging: Json) -> str:
    """Sixteen hexadecimal digits that differ for other files: another revision, other patterns."""
    import hashlib  # noqa: PLC0415 - a third of what `specdec validate` spends here, and most specs have no Job

    identity = [uri, *(sorted(set(staging.get(field) or ())) for field in ("include", "exclude"))]
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
