"""The PVC that the operator makes for artifacts, and the Job that brings one artifact into it.

A Job's pod template cannot be changed. So the operator makes the Job when it is missing, deletes it and makes it again
when that is due, and never applies it over an existing one.
"""

import functools
import hashlib
import json
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from specdec_operator import names
from specdec_operator.api.canonical import digest_of
from specdec_operator.api.spec import Owner, owner_reference
from specdec_operator.errors import Invalid
from specdec_operator.staging.artifacts import claim_name
from specdec_operator.staging.layout import Download

Json = Mapping[str, Any]
Manifest: TypeAlias = dict[str, Any]

_PARTS: Final = (
    "staging/failure_reasons",
    "downloads/program/failure",
    "downloads/program/claim",
    "downloads/program/fetch",
)
_LONGEST_NAME: Final = 63
"""Characters: the name is also a label of the Job's pods."""
_CLAIM_PATH: Final = "/mnt/claim"
_USER: Final = 65532
"""Runs the program and owns what it brings, so that the next Job may replace it."""
_ENV: Final = {
    "HOME": "/tmp",  # noqa: S108 - the image has no home for this user
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_XET_CHUNK_CACHE_SIZE_BYTES": "0",  # what is downloaded once needs no cache beside it
}
_PATTERNS: Final = {"STORAGE_ALLOW_PATTERNS": "include", "STORAGE_IGNORE_PATTERNS": "exclude"}
"""Read by kserve_storage from 0.17 on, as JSON lists."""
_RESOURCES: Final = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}}
"""Where the user names none."""
_NO_SIDECAR: Final = {"sidecar.istio.io/inject": "false"}
"""Label and annotation by which Istio leaves a pod alone: beside its proxy a Job would never be complete."""
_OF_POD: Final = ("serviceAccountName", "imagePullSecrets", "nodeSelector", "tolerations", "affinity")
"""Parts of spec.pod: who may download, and a node from which the PVC reaches the pods that serve."""
_SECURITY: Final = {
    "runAsNonRoot": True,
    "runAsUser": _USER,
    "runAsGroup": _USER,
    "fsGroup": _USER,
    "fsGroupChangePolicy": "OnRootMismatch",
    "seccompProfile": {"type": "RuntimeDefault"},
}


def claim_manifest(owner: Owner, claim_spec: Json, *, let_go: bool = False) -> Manifest:
    """The PVC, by spec.staging.claim. let_go: it stays when its owner goes, so it has no owner reference."""
    spec: Manifest = {
        "accessModes": list(claim_spec.get("accessModes") or ["ReadWriteOnce"]),
        "resources": {"requests": {"storage": claim_spec["storage"]}},
    }
    if claim_spec.get("storageClassName") is not None:
        spec["storageClassName"] = claim_spec["storageClassName"]
    metadata = _metadata(owner, claim_name(owner.name))
    if let_go:
        del metadata["ownerReferences"]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec}


def job_name(owner: str, download: Download) -> str:
    """`<owner>-<target|draft>-<key>`; of a name that is too long the end of `owner` is replaced by a digest of it."""
    rest = f"-{download.name}-{download.key}"
    if len(owner) + len(rest) <= _LONGEST_NAME:
        return owner + rest
    digest = hashlib.sha256(owner.encode()).hexdigest()[:6]
    return f"{owner[: _LONGEST_NAME - len(rest) - 7]}-{digest}{rest}"


def job_manifest(
    owner: Owner,
    download: Download,
    *,
    image: str,
    claim: str,
    staging: Json,
    pod: Json,
    keep: Iterable[str],
    attempt: int,
) -> Manifest:
    """The Job that brings `download` into `claim` and then removes every other artifact but those of the keys `keep`.
    Raises Invalid for a variable without a name.

    image: a storage-initializer. staging, pod: spec.staging and spec.pod as users write them.
    """
    container = _container(image, [_CLAIM_PATH, download.uri, download.key], staging)
    labels = {names.OWNER_LABEL: owner.name, names.STAGING_LABEL: download.name}
    about = {"labels": {**(pod.get("labels") or {}), **labels}}
    if pod.get("annotations"):
        about["annotations"] = dict(pod["annotations"])
    spec = {"backoffLimit": 0, "template": {"metadata": about, "spec": _pod(container, claim, pod)}}
    digest = digest_of(spec)
    # Not of what a Job is made of: an older version's Job has brought the same.
    container["args"] += sorted({*keep} - {download.key})
    about["labels"] |= _NO_SIDECAR
    about["annotations"] = {**about.get("annotations", {}), **_NO_SIDECAR}
    metadata = _metadata(owner, job_name(owner.name, download))
    metadata["labels"] = labels
    metadata["annotations"] = {names.ATTEMPT_ANNOTATION: str(attempt), names.MADE_OF_ANNOTATION: digest}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


@functools.cache
def program() -> str:
    """The program of fetch.py as one text: the files that it imports from here go before it."""
    here = pathlib.Path(__file__).parents[1]
    texts = [(here / f"{part}.py").read_text(encoding="utf-8") for part in _PARTS]
    return re.sub(r"^from specdec_operator\..*\n", "", "\n".join(texts), flags=re.MULTILINE)


def _metadata(owner: Owner, name: str) -> Manifest:
    return {
        "name": name,
        "namespace": owner.namespace,
        "labels": {names.OWNER_LABEL: owner.name},
        "ownerReferences": [owner_reference(owner)],
    }


def _pod(container: Manifest, claim: str, pod: Json) -> Manifest:
    return {
        "restartPolicy": "Never",
        "securityContext": _SECURITY,
        "containers": [container],
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": claim}}],
        **{name: pod[name] for name in _OF_POD if pod.get(name)},
    }


def _container(image: str, arguments: list[str], staging: Json) -> Manifest:
    return {
        "name": "fetch",
        "image": image,
        "command": ["python3", "-c", names.literal(program())],
        "args": [names.literal(each) for each in arguments],
        "env": _env(staging),
        "resources": staging.get("resources") or _RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "models", "mountPath": _CLAIM_PATH}],
    }


def _env(staging: Json) -> list[Json]:
    """Ours, then the user's, then the patterns: of one name the last counts."""
    env: dict[str, Json] = {name: {"name": name, "value": value} for name, value in _ENV.items()}
    for index, each in enumerate(staging.get("env") or ()):
        if not isinstance(each.get("name"), str) or not each["name"]:
            raise Invalid(f"spec.staging.env[{index}]", each, "a variable must have a name")
        env[each["name"]] = each
    for name, field in _PATTERNS.items():
        if staging.get(field):
            env[name] = {"name": name, "value": names.literal(json.dumps(list(staging[field])))}
    return list(env.values())
