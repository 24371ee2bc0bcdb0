"""One simulated service and its guard: which pods it reads depends on what it decided before."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from lab.guard.rules import POD, told
from lab.guard.traffic import TOKENS
from specdec_operator.api.guard import Guard as Asked
from specdec_operator.api.speculation import Method
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import METHODS, Policy, policy_of, thresholds
from specdec_operator.guard.sampler import Sampler, Schedule, add, start
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.transitions import advance
from specdec_operator.observe.baseline_pods import BaselinePodsView
from specdec_operator.reconcile.sample import is_sampled

_NO_BASELINE_PODS: Final = BaselinePodsView()
_NOBODY: Final[Mapping[str, Counters]] = {}


@dataclass(slots=True, kw_only=True)
class SimulatedService:
    """A service whose rollouts take no time. state: of its guard; policy: what that may do."""

    asked: Asked
    policy: Policy
    state: State
    _sampler: Sampler | None = field(default=None, init=False)

    def look(
        self,
        readings: Mapping[str, Counters],
        now: float,
        *,
        baseline: Mapping[str, Counters] = _NOBODY,
        baseline_pods: BaselinePodsView = _NO_BASELINE_PODS,
    ) -> Judged | None:
        """One reading of all pods; the window that it closes. baseline: of the baseline pods. baseline_pods: how far
        these are.
        """
        served, pods = self.served, frozenset(readings)
        self._advance(told(self.state, self.policy, pods=pods, baseline_pods=baseline_pods), now)
        sampled = is_sampled(self.state, self.asked, baseline=self.state.serves_baseline, settled=True, now=now)
        if not sampled or served != self.served:
            return None
        facts = None if self.state.serves_baseline else METHODS[Method.DRAFT_MODEL]
        limits = thresholds(self.asked, facts, tokens=TOKENS, baseline=self.state.baseline, pairs=self.state.pairs)
        schedule = Schedule(interval=self.asked.interval, window=self.asked.window)
        self._sampler, judged = add(self._sampler or start(now, schedule), readings, limits, schedule, now, baseline)
        if judged is not None:
            self._advance(told(self.state, self.policy, judged, pods=pods, baseline_pods=baseline_pods), now)
        return judged

    def _advance(self, observation: Observation, now: float) -> None:
        """The next state; other pods begin another window, as in the operator."""
        served, self.state = self.served, advance(self.state, observation, now)
        if served != self.served:
            self._sampler = None

    @property
    def served(self) -> tuple[str, bool]:
        """Which pods are read: those of the served revision, and whether baseline pods are read too."""
        return self.state.subject, self.state.control is not None and bool(self.state.control.up)


def watched(asked: Asked, *, replicas: int = 1) -> SimulatedService:
    """A service whose speculation is watched from the beginning."""
    state = State(phase=Phase.WATCHING, since=0.0, speculation=POD, revision=POD, wanted=POD)
    return SimulatedService(asked=asked, policy=policy_of(asked, held=False, replicas=replicas), state=state)


def measured(asked: Asked, *, replicas: int = 1) -> SimulatedService:
    """A service whose plain speed is to be known first."""
    phase = Phase.MEASURING_BASELINE
    state = State(phase=phase, since=0.0, speculation=POD, revision=POD, wanted=POD, measuring=True)
    return SimulatedService(asked=asked, policy=policy_of(asked, held=False, replicas=replicas), state=state)
