"""Decides what `render` prints: the objects as the API server stores them, then the status.

The status is the one after KServe's first look, when the Deployment has no status and there are no pods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.kserve_standin.apiserver import as_stored
from tests.kserve_standin.around import around_of
from tests.kserve_standin.model import (
    ISVC_API,
    Manifest,
    Refused,
    Runtime,
    is_stopped,
)
from tests.kserve_standin.render import choose, render
from tests.kserve_standin.runtimes import runtime_of
from tests.kserve_standin.status import Made, next_status, status_of_refusal, status_of_stopped

if TYPE_CHECKING:
    from collections.abc import Sequence

_RUNTIMES = {"ServingRuntime", "ClusterServingRuntime"}
_TIME = "<time>"


def show(manifests: Sequence[Manifest]) -> list[Manifest]:
    """Return the objects and the status of every InferenceService among the manifests."""
    runtimes = [runtime_of(item) for item in manifests if item.get("kind") in _RUNTIMES]
    services = [item for item in manifests if item.get("kind") == "InferenceService"]
    return [shown for isvc in services for shown in _show_one(isvc, runtimes, manifests)]


def _show_one(isvc: Manifest, runtimes: Sequence[Runtime], given: Sequence[Manifest]) -> list[Manifest]:
    objects: list[Manifest] = []
    runtime = None
    try:
        runtime = choose(isvc, runtimes)
        config, around = around_of(isvc, given)
        rendered = render(isvc, runtime, config, around)
        if is_stopped(isvc):
            status = status_of_stopped({}, runtime, _TIME)
        else:
            objects = [as_stored(item) for item in rendered.objects()]
            status = next_status(isvc, Made(deployment={}, pods=[], runtime=runtime), config, _TIME)
    except Refused as refused:
        status = status_of_refusal({}, refused, runtime, _TIME)
    meta = {name: isvc["metadata"][name] for name in ("name", "namespace") if name in isvc["metadata"]}
    head = {"apiVersion": ISVC_API, "kind": "InferenceService", "metadata": meta}
    return [*objects, {**head, "status": status}]
