"""The guard's durable state, and what is observed of what it asks for.

The state lives in status.guard and survives restarts, re-applies and `kubectl replace`.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Final

from specdec_operator.api.guard import GuardMode
from specdec_operator.api.kept import KEPT, Form, Time, means
from specdec_operator.guard.baseline import Baseline, Comparison
from specdec_operator.guard.baseline_pods import MeasureFinding, Measures, Pair
from specdec_operator.guard.decisions import (
    Adaptation,
    BaselineFailure,
    DialDecision,
    DryRunAction,
    KnownGood,
    Lowering,
    PodFailure,
    Probe,
    Reduction,
    Rollback,
)
from specdec_operator.guard.off_cost import BaselineSteps, MeasuredFor, OffCost
from specdec_operator.guard.outages import Outage, PodTimes
from specdec_operator.guard.policy import Policy, Thresholds
from specdec_operator.guard.rows import Rows, WantedRows
from specdec_operator.guard.saved import Saved
from specdec_operator.guard.token_time import TokenTimes
from specdec_operator.guard.trial import Traffic
from specdec_operator.guard.verdict import Verdict
from specdec_operator.observe.baseline_pods import BaselinePodsView
from specdec_operator.observe.rollout import RolloutView


class Phase(StrEnum):
    """What the guard is doing."""

    MEASURING_BASELINE = "MeasuringBaseline"
    """The service runs as baseline, so that its speed is known before speculation begins."""
    ROLLING_OUT = "RollingOut"
    """The pods that the spec requests are starting."""
    WARMING_UP = "WarmingUp"
    """The pods are ready. Their first traffic is not judged."""
    WATCHING = "Watching"
    """Windows of evidence are judged, one after the other."""
    DIALLED = "Dialled"
    """Speculation failed, and the running pods draft nothing. If it does not recover, a rollback follows."""
    RESPONDING = "Responding"
    """Safer pods are starting: with less memory, fewer tokens, the last good speculation, or none."""
    ROLLED_BACK = "RolledBack"
    """Speculation is out. The baseline serves until a retry, a change of the spec, or a request for a retry."""
    STALLED = "Stalled"
    """The requested pods do not come up, and no step of the guard can help: the user must act."""
    SERVING = "Serving"
    """Nothing is watched: the spec requests no speculation, or the guard is off."""


_WITH_BASELINE_PODS: Final = frozenset({Phase.WARMING_UP, Phase.WATCHING, Phase.RESPONDING})
"""Phases in which baseline pods may run next to the speculating ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Either:
    """A decision of either kind, as the status has it."""

    rollback: Rollback | None = field(
        default=None, metadata=means("The speculation that was in use before this retry.")
    )
    reduced: Reduction | None = field(default=None, metadata=means("Its tokens per step."))


def _read(kept: _Either) -> Rollback | Reduction | None:
    return kept.rollback or kept.reduced


def _written(decision: Rollback | Reduction) -> _Either:
    return _Either(rollback=decision) if isinstance(decision, Rollback) else _Either(reduced=decision)


Aside = Annotated[Rollback | Reduction, Form(_read, _written, _Either)]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedBaselinePods:
    """Requested baseline pods, which run next to the speculating ones. up: 0 until they serve."""

    replicas: int = field(metadata=means("How many."))
    reason: str = field(metadata=means("Reason, in one word."))
    message: str = field(metadata=means("Reason, with numbers."))
    at: Time = field(metadata=means("Time at which they were requested."))
    replaces: bool = field(
        default=False,
        metadata=means("Whether they replace speculating pods, because the cluster has no room for more."),
    )
    up: Time = field(default=0.0, metadata=means("Time at which they started to serve.", empty=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Everything that the guard must not forget, as status.guard keeps it.

    A moment that is not known is 0, a hash empty. What was learnt of another `service` is dropped.
    """

    __pydantic_config__ = KEPT

    phase: Phase = field(
        metadata=means(
            "MeasuringBaseline, RollingOut, WarmingUp, Watching, Dialled, Responding, RolledBack, Stalled or Serving.",
            name="state",
        ),
    )
    since: Time = field(metadata=means("Time at which this state began."))
    revision: str | None = field(default=None, metadata=means("Revision of the last finished rollout."))
    wanted: str | None = field(default=None, metadata=means("Revision that is requested now."))
    wanted_since: Time = field(
        default=0.0,
        metadata=means(
            "Start of its rollout, or the time at which another pod became ready. The deadline of the rollout "
            "counts from here.",
            empty=False,
        ),
    )
    up: int = field(
        default=0, metadata=means("Largest number of pods of that revision that were ready at the same time.")
    )
    replacing: str | None = field(
        default=None, metadata=means("Revision for which the cluster has no room next to the old pods.")
    )
    speculation: str = field(
        default="", metadata=means("Hash of the speculation that these decisions apply to.", empty=False)
    )
    service: str = field(default="", metadata=means("Hash of the other served fields of the spec.", empty=False))
    memory: str = field(default="", metadata=means("Hash of spec.memory.", empty=False))
    regret: float = field(
        default=0.0,
        metadata=means("Acceptance lost recently, in points below its minimum x hours; compare regretBudget."),
    )
    failures: int = field(default=0, metadata=means("Number of windows in a row that failed severely."))
    blamed: tuple[str, ...] = field(
        default=(), metadata=means("Pods that failed in all these windows; absent: all pods.", empty=False)
    )
    judged: Time = field(default=0.0, metadata=means("Time at which the last counted window closed.", empty=False))
    measuring: bool = field(
        default=False, metadata=means("Whether the baseline is measured before speculation begins.")
    )
    attempted: bool = field(default=False, metadata=means("Whether that measurement has begun for this service."))
    rollback: Rollback | None = field(
        default=None, metadata=means("Present while the service runs another speculation, or none.")
    )
    reduced: Reduction | None = field(default=None, metadata=means("Present while K is lower than requested."))
    adapted: Adaptation | None = field(
        default=None, metadata=means("Present once guard.tokens Adapt has changed the tokens per step by load.")
    )
    dial: DialDecision | None = field(
        default=None, metadata=means("Present in state Dialled: the running pods draft nothing.")
    )
    lowering: Lowering | None = field(
        default=None, metadata=means("Present once this speculation ran out of memory.", name="lowered")
    )
    dry_run: DryRunAction | None = field(
        default=None, metadata=means("The action that mode Observe or a hold prevents.", name="would")
    )
    rollbacks: int = field(default=0, metadata=means("Rollbacks so far whose pods have served."))
    retries: int = field(default=0, metadata=means("Number of retries of this speculation."))
    set_aside: Aside | None = field(
        default=None,
        metadata=means(
            "Present while pods of a retry start: the speculation that returns if the cluster has no room for them."
        ),
    )
    restarting: tuple[str, ...] = field(default=(), metadata=means("Pods that the guard is restarting.", empty=False))
    restarts: int = field(
        default=0,
        metadata=means("Pods that the guard restarted, because they were far below the others or failed alone."),
    )
    pod_failures: tuple[PodFailure, ...] = field(
        default=(),
        metadata=means("Failures of the watched pods. Three within an hour count against speculation.", empty=False),
    )
    outages: tuple[Outage, ...] = field(
        default=(),
        metadata=means("Times of a day for which they were unavailable; compare downtimeBudget.", empty=False),
    )
    baseline_fails: BaselineFailure | None = field(
        default=None,
        metadata=means("Present once baseline pods failed as those with speculation did, after a rollback."),
    )
    handled_retry: str | None = field(
        default=None, metadata=means("Last handled value of annotation specdec.io/retry.")
    )
    handled_rollback: str | None = field(
        default=None, metadata=means("Last handled value of annotation specdec.io/rollback.")
    )
    last_good: tuple[KnownGood, ...] = field(
        default=(), metadata=means("Speculations that passed a full window; at most two.", empty=False)
    )
    baseline: Baseline = field(default=(), metadata=means("Speed of the baseline by load.", empty=False))
    control: RequestedBaselinePods | None = field(
        default=None, metadata=means("Baseline pods for comparison; absent: none requested.")
    )
    pairs: tuple[Pair, ...] = field(
        default=(), metadata=means("The last windows of both arms, oldest first; at most thirty.", empty=False)
    )
    unmeasured: int = field(
        default=0, metadata=means("Number of windows in a row with traffic whose speed could not be compared.")
    )
    doubts: int = field(default=0, metadata=means("Number of doubts after which speculation stayed."))
    doubted: Time = field(default=0.0, metadata=means("Time at which the last doubt ended.", empty=False))
    armless: bool = field(default=False, metadata=means("Whether no baseline pod could be compared in that doubt."))
    collateral: Measures = field(
        default=(),
        metadata=means("Measures that are worse with speculation than guard.collateral allows.", empty=False),
    )
    saved: Saved | None = field(
        default=None, metadata=means("Hours that this speculation saved; absent: its speed was never compared.")
    )
    off_cost: OffCost | None = field(
        default=None,
        metadata=means(
            "What engines that only leave their draft out reach of the baseline's speed: measured with baseline pods, "
            "or with those that served before."
        ),
    )
    baseline_steps: BaselineSteps | None = field(
        default=None,
        metadata=means("Steps of the service without speculation, with which dips are compared soon afterwards."),
    )

    @property
    def serves_baseline(self) -> bool:
        """Whether this state requests no speculation, even if the spec requests one."""
        return self.measuring or (self.rollback is not None and self.rollback.good is None)

    @property
    def rolled_back(self) -> bool:
        """Whether the pods of a rollback serve. One that was only decided is not true of the pods yet."""
        return self.rollback is not None and not self.rollback.pending and self.phase is not Phase.RESPONDING

    @property
    def lowered(self) -> int:
        """Steps by which the memory of the served engine is lowered; 0 for the baseline."""
        if self.rollback is not None:
            return self.rollback.good.lowered if self.rollback.good else 0
        return self.lowering.steps if self.lowering and not self.measuring else 0

    @property
    def by_dial(self) -> Reduction | None:
        """The fewer tokens that the dial asks the pods for; None: they draft as their flags define."""
        return self.reduced if self.reduced and self.reduced.dialled and self.rollback is None else None

    @property
    def adapted_rows(self) -> Rows:
        """The tokens by load that the dial asks the pods for; empty: the same number at each load."""
        return self.adapted.rows if self.adapted else ()

    @property
    def decision(self) -> Rollback | Reduction | Lowering | None:
        """Why something else is served than the spec requests; None if it is not. The newer one of two that hold
        together.
        """
        if self.rollback is not None or self.lowering is None:
            return self.rollback or self.reduced
        return self.reduced if self.reduced is not None and self.reduced.at > self.lowering.at else self.lowering

    @property
    def subject(self) -> str:
        """Identifies what this state requests. Evidence about another subject does not apply to it."""
        if self.serves_baseline:
            return "plain"
        if self.rollback is not None and self.rollback.good is not None:
            return f"good:{self.rollback.good.digest}"
        tokens, memory = f":{self.reduced.tokens}" if self.reduced else "", f"-{self.lowered}" if self.lowered else ""
        return f"{self.speculation}{tokens}{':dial' if self.by_dial else ''}{memory}"

    def in_flags(self) -> "State":
        """With other pods: those have the fewer tokens in their flags, and need no dial for them."""
        return replace(self, reduced=replace(self.reduced, dialled=False)) if self.reduced else self

    def enter(self, phase: Phase, now: float) -> "State":
        """Another phase: the counts start again. In Responding, baseline pods keep serving until the pods of the
        rollback have taken over.
        """
        control = self.control if phase in _WITH_BASELINE_PODS else None
        aside = self.set_aside if phase is Phase.ROLLING_OUT else None
        anew = replace(self, failures=0, blamed=(), regret=0.0, pairs=(), unmeasured=0, collateral=(), dial=None)
        anew = anew if phase in (Phase.WARMING_UP, Phase.WATCHING) else replace(anew, adapted=None)
        anew = anew.in_flags() if phase in (Phase.ROLLING_OUT, Phase.RESPONDING) else anew
        return replace(anew, phase=phase, since=now, control=control, set_aside=aside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What is known at one reconcile.

    subject: the state's subject that all of it is about; since: the state's wanted_since from which the rollout is
    timed, None if it is not timed. speculating: whether the subject speculates.
    revision: revision of the requested pods. rollout: their progress. pods: names of all existing pods.
    pod_failures: the present failures of the pods of this revision; pod_times: since when they serve or do not.
    closed: when a window closed in this reconcile, else 0; verdict: on it, None for a baseline window; token_times: of
    it.
    lost: what it adds to the regret, None if unknown. in_row: number of failing windows in its evidence.
    pair, findings: the comparison with baseline pods; comparison: of the speed with any baseline, None if unknown.
    recent: the traffic of the last windows, oldest first.
    thresholds: what windows are compared with. baseline_pods: the progress of the baseline pods.
    dials: whether every ready pod offers a dial. dial_trouble: why some pods do not draft as asked for; empty if all
    do, or may still. by_hand: whether the user's own setting is asked for. probe: what the closed window drafted.
    dips: whether its engines compare themselves with and without the draft.
    off_cost: what it and those before it show of engines that leave their draft out. measured_for: what that is of.
    baseline_steps: of the service without speculation.
    rows: the tokens by load that its dips ask for.
    good: the served speculation, to be remembered if it passes. fewer: the largest K' that would have passed.
    less: the engine's memory setting after one more step down, as text; empty if the memory cannot be lowered.
    """

    subject: str
    policy: Policy
    speculating: bool
    revision: str
    rollout: RolloutView
    pods: frozenset[str] = frozenset()
    pod_failures: tuple[PodFailure, ...] = ()
    pod_times: PodTimes = field(default_factory=PodTimes)
    closed: float = 0.0
    verdict: Verdict | None = None
    token_times: TokenTimes = field(default_factory=dict)
    lost: float | None = None
    in_row: int = 0
    good: KnownGood | None = None
    fewer: int | None = None
    less: str = ""
    since: float | None = None
    pair: Pair | None = None
    findings: tuple[MeasureFinding, ...] = ()
    comparison: Comparison | None = None
    recent: tuple[Traffic, ...] = ()
    thresholds: Thresholds | None = None
    baseline_pods: BaselinePodsView = field(default_factory=BaselinePodsView)
    dials: bool = False
    dial_trouble: str = ""
    by_hand: bool = False
    probe: Probe | None = None
    dips: bool = False
    off_cost: OffCost | None = None
    measured_for: MeasuredFor | None = None
    baseline_steps: BaselineSteps | None = None
    rows: WantedRows | None = None

    @property
    def guarded(self) -> bool:
        """Whether the pods speculate and the guard's mode is not Off."""
        return self.speculating and self.policy.mode is not GuardMode.OFF

    def is_about(self, state: State) -> bool:
        """Whether this is about what a state requests. Otherwise it is not evidence for that state."""
        return self.subject == state.subject and self.since in (None, state.wanted_since)
