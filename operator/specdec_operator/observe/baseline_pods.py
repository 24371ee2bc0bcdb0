"""Baseline pods next to the speculating ones, as far as the operator reads them."""

from dataclasses import dataclass
from math import inf

from specdec_operator.observe.obstacle import Obstacle
from specdec_operator.observe.pods import DeploymentView, PodView, serving_pods
from specdec_operator.observe.rollout import Progress, view_rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselinePodsView:
    """How far the baseline pods are. serving: those that answer. obstacle: what keeps the cluster from admitting or
    placing them. failure: a sentence why there can be none: the operator may not make them, or they end again and
    again. Empty if there is no such failure.
    """

    serving: int = 0
    obstacle: Obstacle | None = None
    failure: str = ""


def baseline_pods_view(deployment: DeploymentView | None, pods: tuple[PodView, ...], refusal: str) -> BaselinePodsView:
    """The view of the baseline pods. refusal: why its Deployment could not be made; empty where it could."""
    if deployment is None or refusal:
        return BaselinePodsView(failure=refusal)
    rollout = view_rollout(deployment.revision or "", deployment, pods, since=0.0, now=0.0, deadline=inf)
    failure = rollout.message if rollout.progress is Progress.FAILED else ""
    return BaselinePodsView(serving=serving_pods(pods), obstacle=rollout.obstacle, failure=failure)
