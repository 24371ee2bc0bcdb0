"""Variables by which vLLM downloaded a model: in a service other components download, and the engine is offline."""

import re
from collections.abc import Iterator
from typing import Any, Final

from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost, Replaced

_HUB: Final = re.compile(r"HF_TOKEN|HUGGING_?FACE_\w+|HF_ENDPOINT|HF_HUB_\w+|HF_XET_\w+|TRANSFORMERS_OFFLINE")
_MODELSCOPE: Final = re.compile(r"VLLM_USE_MODELSCOPE|MODELSCOPE_\w+")
_BUCKET: Final = re.compile(r"AWS_\w+|S3_\w+|GOOGLE_APPLICATION_CREDENTIALS|AZURE_\w+|AZ_\w+")
_OFFLINE: Final = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
_BUCKETS: Final = ("s3://", "gs://", "https://")
_PRIVATE: Final = "docs/staging.md#private-models"
_WHY: Final = "the engine downloads nothing (HF_HUB_OFFLINE=1)"


def without_downloads(parts: InferenceServiceParts, uris: list[str]) -> Iterator[Lost]:
    """Takes out the variables that no download of a service reads, and yields them. uris: of all its models."""
    engine = parts.spec.get("engine", {})
    kept: list[Any] = []
    for each in engine.get("env", ()):
        name = str(each.get("name", "")) if isinstance(each, dict) else ""
        if name in _OFFLINE and str(each.get("value", "1")).lower() in ("1", "true", "yes", "on"):
            parts.replaced.append(Replaced(field=f"env {name}", by="the operator's runtime sets it"))
        elif way_out := _way_out(name, uris):
            yield Lost(field=f"env {name}{_reference(each)}", why=_WHY, way_out=way_out)
        else:
            kept.append(each)
    if len(kept) != len(engine.get("env", ())):
        parts.spec["engine"] = {**{key: value for key, value in engine.items() if key != "env"}}
        parts.carry(kept, "engine.env", parts.sources.get("spec.engine.env", "env"))


def _way_out(name: str, uris: list[str]) -> str:
    """Where downloads read a variable; empty if it is not for downloads."""
    if _MODELSCOPE.fullmatch(name):
        return (
            "the model is on ModelScope, which the operator does not download from: use a mirror, an image or a PVC "
            f"({_PRIVATE})"
        )
    if _HUB.fullmatch(name):
        if not any(each.startswith("hf://") for each in uris):
            return "remove it, or write it to engine.env again if the engine needs it"
        if name == "HF_ENDPOINT":
            return (
                "set it in staging.env with staging.mode PersistentVolumeClaim, or in KServe's ClusterStorageContainer "
                f"({_PRIVATE})"
            )
        return (
            "give KServe the Secret by pod.serviceAccountName, or set the variable in staging.env with staging.mode "
            f"PersistentVolumeClaim ({_PRIVATE})"
        )
    if _BUCKET.fullmatch(name) and any(each.startswith(_BUCKETS) for each in uris):
        return f"give KServe the Secret by pod.serviceAccountName, or use staging.env ({_PRIVATE})"
    return ""


def _reference(variable: dict[str, Any]) -> str:
    """The Secret that a variable is from, which the reader needs again."""
    source = variable.get("valueFrom")
    secret = source.get("secretKeyRef") if isinstance(source, dict) else None
    if not isinstance(secret, dict):
        return ""
    return f" (Secret {secret.get('name')}, key {secret.get('key')})"
