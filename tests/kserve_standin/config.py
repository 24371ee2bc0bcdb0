"""Reads KServe's ConfigMap inferenceservice-config, as far as it decides how artifacts get into a pod."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.kserve_standin.model import Config, not_covered, resources

if TYPE_CHECKING:
    from tests.kserve_standin.model import Manifest

CONFIG_PATH = "/api/v1/namespaces/kserve/configmaps/inferenceservice-config"
_MODELCAR = "modelcar"


def config_of(found: Manifest | None) -> Config:
    """Return what the ConfigMap says; without one, the recordings' configuration."""
    if found is None:
        return Config()
    storage, credentials = (_part(found, name) for name in ("storageInitializer", "credentials"))
    if storage.get("caBundleConfigMapName"):
        raise not_covered("caBundleConfigMapName")
    s3 = dict(credentials.get("s3") or {})
    defaults = Config()
    return Config(
        storage_initializer_image=storage.get("image") or defaults.storage_initializer_image,
        storage_initializer_resources=_initializer_resources(storage),
        oci_mode=_oci_mode(storage),
        modelcar_user=storage.get("uidModelcar"),
        modelcar_resources=resources((storage.get("cpuModelcar") or "10m", storage.get("memoryModelcar") or "15Mi")),
        s3_key_name=s3.pop("s3AccessKeyIDName", "") or defaults.s3_key_name,
        s3_secret_name=s3.pop("s3SecretAccessKeyName", "") or defaults.s3_secret_name,
        s3_defaults={name: value for name, value in s3.items() if value},
        secret_annotation=credentials.get("storageSecretNameAnnotation", ""),
    )


def _part(found: Manifest, name: str) -> Manifest:
    text = (found.get("data") or {}).get(name)
    return dict(json.loads(text)) if text else {}


def _initializer_resources(storage: Manifest) -> Manifest:
    requests, limits = ((storage.get(f"cpu{kind}"), storage.get(f"memory{kind}")) for kind in ("Request", "Limit"))
    if not all((*requests, *limits)):
        raise not_covered("a ConfigMap without the storage-initializer's resources")
    return resources((str(requests[0]), str(requests[1])), limits=(str(limits[0]), str(limits[1])))


def _oci_mode(storage: Manifest) -> str:
    """Return how oci:// is served: the newest switch outweighs the two older ones; without any, not at all."""
    switched = storage.get("enableModelcar") or storage.get("enableOciModelSupport")
    return str(storage.get("ociModelMode") or (_MODELCAR if switched else ""))
