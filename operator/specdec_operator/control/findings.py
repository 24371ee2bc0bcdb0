"""All that one turn found out."""

from dataclasses import dataclass

from specdec_operator.downloads.waiting import Fetch
from specdec_operator.guard.counterfactual import Advice, Fewer
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy
from specdec_operator.guard.state import State
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.plan import Plan
from specdec_operator.serving.rollout import RolloutView
from specdec_operator.staging.kserve import KServe


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All that one turn found out.

    judged: the last closed window of what is served. fewer: what fewer tokens would have done in it; advice: what it
    speaks for. contested: what there is to be told of others who change the InferenceService; empty where nothing.
    """

    name: str
    generation: int
    state: State
    policy: Policy
    plan: Plan
    rollout: RolloutView
    arrival: Arrival
    fetches: tuple[Fetch, ...]
    kserve: KServe
    revision: str
    url: str | None
    thresholds: Thresholds | None
    judged: Judged | None
    fewer: tuple[Fewer, ...] = ()
    advice: Advice | None = None
    contested: str = ""
