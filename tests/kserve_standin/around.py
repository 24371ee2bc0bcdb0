"""Gathers what of the cluster goes into an InferenceService's download: configuration, containers, credentials.

KServe reads all of it anew at each look at an InferenceService, and no change of it makes KServe look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kserve_standin.config import CONFIG_PATH, config_of
from tests.kserve_standin.credentials import secret_names
from tests.kserve_standin.model import DEFAULT_ACCOUNT, GROUP, Around, Config, Manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.kserve_standin.api import Api


async def gather(api: Api, isvc: Manifest, config: Config) -> tuple[Config, Around]:
    """Ask the API server; one that has no ConfigMap leaves the configuration as it is."""
    if not isvc["spec"]["predictor"].get("storageUris"):
        return config, Around()
    found = await api.find(CONFIG_PATH)
    config = config_of(found) if found else config
    core = f"/api/v1/namespaces/{isvc['metadata']['namespace']}"
    account = await api.find(f"{core}/serviceaccounts/{_account_name(isvc)}")
    names = secret_names(account, isvc["metadata"].get("annotations") or {}, config)
    secrets = {name: await api.find(f"{core}/secrets/{name}") for name in dict.fromkeys(names)}
    return config, Around(
        containers=tuple(await api.list(f"{GROUP}/v1alpha1", "clusterstoragecontainers", "")),
        account=account,
        secrets={name: secret for name, secret in secrets.items() if secret is not None},
    )


def around_of(isvc: Manifest, given: Sequence[Manifest]) -> tuple[Config, Around]:
    """Pick the same from objects at hand; without a ConfigMap among them it is the recordings' configuration."""
    by_kind: dict[str, dict[str, Manifest]] = {}
    for item in given:
        by_kind.setdefault(item["kind"], {})[item.get("metadata", {}).get("name", "")] = item
    config = config_of(by_kind.get("ConfigMap", {}).get("inferenceservice-config"))
    return config, Around(
        containers=tuple(by_kind.get("ClusterStorageContainer", {}).values()),
        account=by_kind.get("ServiceAccount", {}).get(_account_name(isvc)),
        secrets=by_kind.get("Secret", {}),
    )


def _account_name(isvc: Manifest) -> str:
    return isvc["spec"]["predictor"].get("serviceAccountName") or DEFAULT_ACCOUNT
