"""The PodDisruptionBudget of a service: the drain of a node and all other evictions have to respect it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from specdec_operator import names
from specdec_operator.api.rollout import DisruptionBudget
from specdec_operator.api.spec import Owner, Spec, owner_reference

Manifest: TypeAlias = dict[str, Any]


def budget_name(owner: Owner) -> str:
    """Not the name of the service or its Deployment, under which a user would make one."""
    return f"{owner.name}-specdec"


def render_budget(spec: Spec, owner: Owner) -> Manifest | None:
    """The budget of a service; None if it is not to have one.

    A single pod has none: a budget would only keep its node from being drained. If an autoscaler may make several pods,
    there is one; while there is one pod, that pod may be evicted. maxUnavailable counts against the replicas that the
    Deployment has now. So a rollout or a change of their number does not need another budget, and while a rollout has a
    pod too few none is evicted. A pod that is not ready serves no requests, and must not block a node's drain.
    """
    single = spec.replicas == 1 if spec.autoscaling is None else spec.autoscaling.max_replicas == 1
    if single or spec.rollout.disruption_budget is DisruptionBudget.NONE:
        return None
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": budget_name(owner),
            "namespace": owner.namespace,
            "labels": {names.OWNER_LABEL: owner.name},
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {
            "maxUnavailable": 1,
            "selector": {
                "matchLabels": {names.OWNER_LABEL: owner.name},
                "matchExpressions": [{"key": names.STAGING_LABEL, "operator": "DoesNotExist"}],
            },
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }


def is_as(live: Mapping[str, Any], wanted: Manifest) -> bool:
    """Whether an existing budget is as it is to be."""
    labels = live["metadata"].get("labels") or {}
    same: bool = labels.get(names.OWNER_LABEL) == wanted["metadata"]["labels"][names.OWNER_LABEL]
    return same and all(live["spec"].get(name) == value for name, value in wanted["spec"].items())
