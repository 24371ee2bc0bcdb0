"""Which environment the download container gets from the secrets of the pod's service account.

One container downloads everything, so all artifacts share what is found here. KServe reads the account and its
secrets when it looks at an InferenceService, and a change of them wakes nobody.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tests.kserve_standin.model import GROUP, Around, Config, Manifest, not_covered, reconcile_failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_ROLE = "eks.amazonaws.com/role-arn"
_HUB_TOKEN = "HF_TOKEN"  # noqa: S105 - a key's name
# Keys by which KServe knows credentials that the stand-in leaves to it, in the order in which it looks for them.
_OTHER_KINDS = (
    "gcloud-application-credentials.json",
    "AZ_CLIENT_ID",
    "AZURE_CLIENT_ID",
    "AZURE_ACCESS_TOKEN",
    "AZURE_STORAGE_ACCESS_KEY",
    "https-host",
    "HDFS_NAMENODE",
)
# Variable, annotation of the secret (or of the account with a role), and key in the ConfigMap, in KServe's order.
_S3_SETTINGS = (
    ("S3_VERIFY_SSL", "s3-verifyssl", "s3VerifySSL"),
    ("awsAnonymousCredential", "s3-useanoncredential", "s3UseAnonymousCredential"),
    ("AWS_DEFAULT_REGION", "s3-region", "s3Region"),
    ("S3_USER_VIRTUAL_BUCKET", "s3-usevirtualbucket", "s3UseVirtualBucket"),
    ("S3_USE_ACCELERATE", "s3-useaccelerate", "s3UseAccelerate"),
    ("AWS_CA_BUNDLE", "s3-cabundle", "s3CABundle"),
    ("AWS_CA_BUNDLE_CONFIGMAP", "s3-cabundle-configmap", "s3CABundleConfigMap"),
)
_ENDPOINT = ("S3_ENDPOINT", "s3-endpoint", "s3Endpoint")
_HTTPS = ("S3_USE_HTTPS", "s3-usehttps", "s3UseHttps")


def secret_names(account: Manifest | None, annotations: dict[str, str], config: Config) -> list[str]:
    """Return the secrets that KServe reads: the one that an annotation names, or all of the account's."""
    if account is None:
        return []  # KServe logs that there is no such account and goes on without.
    chosen = annotations.get(config.secret_annotation) if config.secret_annotation else None
    return [chosen] if chosen is not None else [item["name"] for item in account.get("secrets") or []]


def credentials(around: Around, annotations: dict[str, str], config: Config) -> list[Manifest]:
    """Return the environment of all credentials, or raise the refusal that a missing secret causes."""
    if around.account is None:
        return []
    account = around.account["metadata"].get("annotations") or {}
    env = list(_s3_settings(account, {}, config)) if _ROLE in account else []
    for name in secret_names(around.account, annotations, config):
        if name not in around.secrets:
            raise reconcile_failed(f'secrets "{name}" not found')
        env = _with_secret(env, around.secrets[name], config)
    if any(item["name"] == "AWS_CA_BUNDLE_CONFIGMAP" for item in env):
        raise not_covered("a CA bundle from a ConfigMap")
    return env


def _with_secret(env: list[Manifest], secret: Manifest, config: Config) -> list[Manifest]:
    """Add one secret; it counts as the first kind that it has a key of, and as nothing else."""
    name, data = secret["metadata"]["name"], secret.get("data") or {}
    if config.s3_secret_name in data:
        keys = (("AWS_ACCESS_KEY_ID", config.s3_key_name), ("AWS_SECRET_ACCESS_KEY", config.s3_secret_name))
        given = {key: base64.b64decode(value).decode() for key, value in data.items()}
        settings = _s3_settings(secret["metadata"].get("annotations") or {}, given, config)
        return _overridden(env, [*(_reference(variable, name, key) for variable, key in keys), *settings])
    other = next((kind for kind in _OTHER_KINDS if kind in data), None)
    if other is not None:
        raise not_covered(f"credentials of secret {name} ({other})")
    return [*env, _reference(_HUB_TOKEN, name, _HUB_TOKEN)] if _HUB_TOKEN in data else env


def _s3_settings(annotations: dict[str, str], given: dict[str, str], config: Config) -> Iterator[Manifest]:
    def setting(names: tuple[str, str, str]) -> str:
        variable, annotation, key = names
        found = annotations.get(f"{GROUP}/{annotation}", given.get(variable))
        return config.s3_defaults.get(key, "") if found is None else found

    endpoint = setting(_ENDPOINT).strip()
    if endpoint:
        yield from _endpoint(endpoint, setting(_HTTPS))
    for names in _S3_SETTINGS:
        if setting(names):
            yield {"name": names[0], "value": setting(names)}


def _endpoint(endpoint: str, https: str) -> Iterator[Manifest]:
    """A scheme in the endpoint outweighs the setting; without either it is https."""
    url = endpoint if "://" in endpoint else f"{'http' if https == '0' else 'https'}://{endpoint}"
    scheme, _, place = endpoint.rpartition("://")
    if scheme.lower() in {"http", "https"}:
        https = "1" if scheme.lower() == "https" else "0"
    if https:
        yield {"name": "S3_USE_HTTPS", "value": https}
    yield {"name": "S3_ENDPOINT", "value": place}
    yield {"name": "AWS_ENDPOINT_URL", "value": url}


def _overridden(env: Sequence[Manifest], new: Sequence[Manifest]) -> list[Manifest]:
    """Give known variables their new values; of a variable from a secret, KServe keeps the first secret."""
    values = {item["name"]: item["value"] for item in new if "value" in item}
    known = {item["name"] for item in env}
    kept = [{**item, "value": values[item["name"]]} if item["name"] in values else dict(item) for item in env]
    return [*kept, *(item for item in new if item["name"] not in known)]


def _reference(variable: str, secret: str, key: str) -> Manifest:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
