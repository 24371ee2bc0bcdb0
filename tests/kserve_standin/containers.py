"""Which ClusterStorageContainer downloads, and what the download container becomes with it.

KServe looks at the first URI only, even where that one is not downloaded. Where several containers serve it, KServe
takes any, at every look anew: the stand-in refuses that, so that no test leans on luck.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.kserve_standin.merge import merge
from tests.kserve_standin.model import Manifest, not_covered, reconcile_failed

if TYPE_CHECKING:
    from collections.abc import Sequence

_STEP = "failed to get storage container spec: "
_FOR_PODS = "initContainer"


def choose_container(uri: str, name: str | None, containers: Sequence[Manifest]) -> Manifest | None:
    """Return the spec of the container for a first URI, None for KServe's own, or raise KServe's refusal."""
    if name:
        return _named(uri, name, containers)
    fit = [item for item in containers if _is_usable(item) and _serves(item, uri, f"error checking {_called(item)}")]
    if len(fit) > 1:
        names = " and ".join(item["metadata"]["name"] for item in fit)
        raise not_covered(f"storage containers that serve the same URI ({names}: KServe takes either)")
    return _spec(fit[0]) if fit else None


def check_several(container: Manifest | None) -> None:
    """Raise KServe's refusal of a container that cannot download several artifacts, even if there is one only."""
    if container is not None and not container.get("supportsMultiModelDownload"):
        raise reconcile_failed(
            f'storage container "{container["container"]["name"]}" does not support multi-model download; '
            "use the default kserve storage initializer or a compatible storage container"
        )


def with_container(initializer: Manifest, container: Manifest | None) -> Manifest:
    """Return the download container with the storage container's fields over its own."""
    if container is None:
        return initializer
    own = {item["name"]: item for item in container["container"].get("env") or []}
    merged = merge(initializer, container["container"])
    for item in merged.get("env") or []:
        if item["name"] in own and {"value", "valueFrom"} <= item.keys():
            item.pop("value" if "valueFrom" in own[item["name"]] else "valueFrom")
    return merged


def _named(uri: str, name: str, containers: Sequence[Manifest]) -> Manifest:
    found = next((item for item in containers if item["metadata"]["name"] == name), None)
    called = f'ClusterStorageContainer "{name}"'
    if found is None:
        raise reconcile_failed(f"{called} not found", step=_STEP)
    if found.get("disabled"):
        raise reconcile_failed(f"{called} is disabled", step=_STEP)
    workload = found["spec"].get("workloadType", _FOR_PODS)
    if workload != _FOR_PODS:
        wrong = f'has workloadType "{workload}"; explicit selection requires "{_FOR_PODS}"'
        raise reconcile_failed(f"{called} {wrong}", step=_STEP)
    if not _serves(found, uri, f'{called} URI check failed for "{uri}"'):
        raise reconcile_failed(f'{called} does not support storageUri "{uri}"', step=_STEP)
    return _spec(found)


def _is_usable(container: Manifest) -> bool:
    return not container.get("disabled") and container["spec"].get("workloadType", _FOR_PODS) == _FOR_PODS


def _serves(container: Manifest, uri: str, trouble: str) -> bool:
    for form in container["spec"]["supportedUriFormats"]:
        if form.get("prefix"):
            if uri.startswith(form["prefix"]):
                return True
        elif form.get("regex") and _compiled(form["regex"], trouble).search(uri):
            return True
    return False


def _compiled(pattern: str, trouble: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        # Go says what is wrong in its own words, of which the stand-in knows the commonest.
        wrong = "missing closing )" if "unterminated subpattern" in str(error) else str(error)
        raise reconcile_failed(f"{trouble}: error parsing regexp: {wrong}: `{pattern}`", step=_STEP) from error


def _called(container: Manifest) -> str:
    return f"storage container {container['metadata']['name']}"


def _spec(container: Manifest) -> Manifest:
    spec: Manifest = container["spec"]
    return spec
