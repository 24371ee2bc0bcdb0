"""Plain pods beside the speculating ones, as far as the operator looks."""

from dataclasses import dataclass
from math import inf

from specdec_operator.observe.obstacle import Obstacle
from specdec_operator.observe.pods import DeploymentView, PodView, serving_pods
from specdec_operator.observe.rollout import Progress, view_rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmView:
    """How far the plain pods beside are. serving: those that answer. obstacle: what lets none in. failure: why there
    can be none, in a sentence: the operator may not make them, or they end again and again. Empty where nothing is.
    """

    serving: int = 0
    obstacle: Obstacle | None = None
    failure: str = ""


def arm_view(deployment: DeploymentView | None, pods: tuple[PodView, ...], refusal: str) -> ArmView:
    """What the plain arm shows. refusal: why its Deployment could not be made; empty where it could."""
    if deployment is None or refusal:
        return ArmView(failure=refusal)
    rollout = view_rollout(deployment.revision or "", deployment, pods, since=0.0, now=0.0, deadline=inf)
    failure = rollout.message if rollout.progress is Progress.FAILED else ""
    return ArmView(serving=serving_pods(pods), obstacle=rollout.obstacle, failure=failure)
