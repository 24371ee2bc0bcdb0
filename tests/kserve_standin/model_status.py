"""Decides status.modelStatus from the pods, as KServe does: from one pod only, the newest.

The failure that it reports is never taken back, and a Ready service is called loaded before anyone looks at
its server container: both are KServe's, and both mislead.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from tests.kserve_standin.model import SERVER_CONTAINER, Manifest

if TYPE_CHECKING:
    from collections.abc import Sequence

_INITIALIZER = "storage-initializer"
_TRANSITIONS = {
    "Pending": "InProgress",
    "Loading": "InProgress",
    "Loaded": "UpToDate",
    "FailedToLoad": "BlockedByFailedLoad",
}


class StillStarting(Exception):
    """The initializer runs again after a failure: KServe writes no status and looks again in a second."""


def refused_spec(previous: Manifest, reason: str, message: str) -> Manifest:
    """Return the model status of a spec that KServe cannot serve."""
    states = {"activeModelState": "", **previous.get("states", {}), "targetModelState": "FailedToLoad"}
    failure = {"reason": reason, "message": message}
    return {**previous, "states": states, "transitionStatus": "InvalidSpec", "lastFailureInfo": failure}


def next_model_status(previous: Manifest, pods: Sequence[Manifest], *, ready: bool) -> Manifest:
    """Return the model status after a look at the pods, or raise StillStarting."""
    status = {**deepcopy(previous), "copies": {"failedCopies": 0, **_total(pods)}}
    if not pods:
        return _with_state(status, "Pending")
    newest = max(pods, key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
    state, failure = _initializer_state(newest)
    if state is None and ready:
        state = "Loaded"
    if state is None:
        state, failure = _server_state(newest)
    return _with_state(status, state, failure)


def _total(pods: Sequence[Manifest]) -> Manifest:
    ready = sum(1 for pod in pods if _is_ready(pod))
    return {"totalCopies": ready} if ready else {}


def _is_ready(pod: Manifest) -> bool:
    conditions = pod.get("status", {}).get("conditions") or []
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def _initializer_state(pod: Manifest) -> tuple[str | None, Manifest | None]:
    found = _container(pod, "initContainerStatuses", _INITIALIZER)
    if found is None:
        return None, None
    if found.get("state", {}).get("running") is not None:
        if found.get("lastState", {}).get("terminated") is not None:
            raise StillStarting
        return "Loading", None
    failure = _failure(found)
    return ("FailedToLoad", failure) if failure is not None else (None, None)


def _server_state(pod: Manifest) -> tuple[str | None, Manifest | None]:
    found = _container(pod, "containerStatuses", SERVER_CONTAINER)
    if found is None:
        return None, None
    failure = _failure(found)
    return ("FailedToLoad", failure) if failure is not None else ("Pending", None)


def _failure(container: Manifest) -> Manifest | None:
    state = container.get("state", {})
    ended = state.get("terminated") or {}
    if ended.get("reason") != "Error":
        if (state.get("waiting") or {}).get("reason") != "CrashLoopBackOff":
            return None
        ended = container.get("lastState", {}).get("terminated") or {}
    words = {"message": ended.get("message"), "exitCode": ended.get("exitCode")}
    return {"reason": "ModelLoadFailed", **{name: value for name, value in words.items() if value}}


def _container(pod: Manifest, field: str, name: str) -> Manifest | None:
    for item in pod.get("status", {}).get(field) or []:
        if item["name"] == name:
            return dict(item)
    return None


def _with_state(status: Manifest, state: str | None, failure: Manifest | None = None) -> Manifest:
    if state is not None:
        states = {"activeModelState": "", **status.get("states", {}), "targetModelState": state}
        if state == "Loaded":
            states["activeModelState"] = state
        status = {**status, "states": states, "transitionStatus": _TRANSITIONS[state]}
    return status if failure is None else {**status, "lastFailureInfo": failure}
