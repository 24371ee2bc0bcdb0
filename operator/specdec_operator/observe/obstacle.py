"""What keeps a cluster from making the pods of a rollout, or from placing them, with its message. Pure.

A rejected pod does not exist: only the Deployment shows it (condition ReplicaFailure, which its controller takes from
the ReplicaSet). A pod that exists and is not placed shows it by its condition PodScheduled.
"""

import re
from dataclasses import dataclass
from typing import Final

from specdec_operator.observe.pods import MOST_WORDS, DeploymentView, PodView

_QUOTA: Final = re.compile(r"exceeded quota|must specify .* for: ")
_ROOM: Final = re.compile(r"Insufficient|Too many pods|didn't have free ports")
"""The scheduler's messages about a full node. Replacing pods does not fix others, such as those about taints."""
_GATES: Final = re.compile(r"scheduling gates")
_DEVICE: Final = re.compile(r"Insufficient (?P<name>[a-z0-9.-]+/[A-Za-z0-9._-]*[A-Za-z0-9])")
"""A resource with a domain in its name: a device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """One obstacle: a reason, the cluster's message, since when (epoch seconds).

    frees: whether a pod that goes may make room for one that comes. A pod that is refused for what it is, by
    PodSecurity or by a webhook, is refused both next to the old pods and in their place.
    """

    reason: str
    words: str
    since: float
    frees: bool


def find_obstacle(deployment: DeploymentView | None, pods: tuple[PodView, ...]) -> Obstacle | None:
    """The first one in the way of these pods, all of one revision, and of this Deployment of it; None: none."""
    if deployment is not None and deployment.refused is not None:
        quota = bool(_QUOTA.search(deployment.refused))
        words = f"the cluster rejects a pod: {deployment.refused[:MOST_WORDS]}"
        reason = "QuotaExceeded" if quota else "PodRefused"
        return Obstacle(reason=reason, words=words, since=deployment.refused_since, frees=quota)
    for pod in pods:
        if pod.pending and pod.pending_since is not None and (reason := _not_placed(pod.pending)):
            words = f"pod {pod.name} is not scheduled: {pending_words(pod.pending)}"
            return Obstacle(reason=reason, words=words, since=pod.pending_since, frees=True)
    return None


def _not_placed(pending: str) -> str:
    """Why a pod is not placed, in a word; empty for reasons that may lie in what the pod mounts or tolerates."""
    return "SchedulingGated" if _GATES.search(pending) else "Unschedulable" if _ROOM.search(pending) else ""


def pending_words(pending: str) -> str:
    """The scheduler's message, and what to do if devices are missing: its message is the same whether a node has none
    at all or none left.
    """
    words = pending[:MOST_WORDS]
    if not (found := _DEVICE.search(pending)):
        return words
    offer = f"no node has a free {found['name']}: its device plugin must advertise it (`kubectl describe nodes`)"
    return f"{words}; {offer}, or spec.engine.accelerator does not match the devices of this cluster"
