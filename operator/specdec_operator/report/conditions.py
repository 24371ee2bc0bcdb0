"""The results of one reconcile, and the conditions of the service that show them.

By the rules of kstatus, Ready is the summary, and Reconciling and Stalled are present only while they are true.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_engine.memory.facts import PodFact
from specdec_operator.api.conditions import ConditionType
from specdec_operator.api.guard import Health
from specdec_operator.api.speculation import Speculation
from specdec_operator.downloads.job_status import DownloadStatus
from specdec_operator.engine.instrument import Instrument
from specdec_operator.guard.decisions import KnownGood
from specdec_operator.guard.dial import DialView
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy, Thresholds
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Outcome
from specdec_operator.guard.what_if import Advice, Fewer
from specdec_operator.guest.enforcement import Enforcement
from specdec_operator.observe.artifacts import ArtifactsStatus
from specdec_operator.observe.baseline_pods import BaselinePodsView
from specdec_operator.observe.ownership import Owned
from specdec_operator.observe.pods import DeploymentView
from specdec_operator.observe.rollout import Progress, RolloutView
from specdec_operator.render.plan import Plan
from specdec_operator.schema.status import Condition
from specdec_operator.staging.kserve import KServe


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """All results of one reconcile.

    judged: the last closed window of the served configuration. fewer: the estimate for fewer tokens in it; advice: the
    recommendation from it. contested: message about other clients that change the InferenceService; empty if no other
    client does.
    owned: the service's own objects without an owner reference. baseline_pods: the progress of the baseline pods.
    facts: what pods reported about their models; taken: bytes of the device that the requested pods have taken.
    enforcement: what the operator may change about a guest. deployment: that of the pods, with or without speculation.
    unreadable: what of the status could not be read; empty if all of it could. unprobed: what the liveness probe of a
    guest does not notice; empty if it does. dial: what the pods are asked to draft.
    """

    name: str
    generation: int
    state: State
    policy: Policy
    plan: Plan
    rollout: RolloutView
    arrival: ArtifactsStatus
    fetches: tuple[DownloadStatus, ...]
    kserve: KServe
    revision: str
    url: str | None
    thresholds: Thresholds | None
    judged: Judged | None
    fewer: tuple[Fewer, ...] = ()
    advice: Advice | None = None
    contested: str = ""
    owned: tuple[Owned, ...] = ()
    baseline_pods: BaselinePodsView = field(default_factory=BaselinePodsView)
    facts: tuple[PodFact, ...] = ()
    taken: int | None = None
    enforcement: Enforcement = field(default_factory=Enforcement)
    deployment: DeploymentView | None = None
    unreadable: str = ""
    unprobed: str = ""
    dial: DialView = field(default_factory=DialView)

    @property
    def asked(self) -> Speculation | None:
        """The speculation that the pods are asked for. A guest's is still there until its flag is out."""
        return self.plan.spec.speculation if self.enforcement.place is not None else self.plan.speculation

    @property
    def tokens(self) -> int:
        """K of it; 0 without speculation, and if the draft decides it."""
        if self.enforcement.place is None:
            return self.plan.tokens
        return (self.asked.tokens or 0) if self.asked else 0

    @property
    def drafted(self) -> int | None:
        """K in force: `tokens` or, while the dial is set, what all pods report; None if they differ, if one does not
        report it, or if it depends on the load.
        """
        return self.tokens if self.dial.request is None else self.dial.drafted

    @property
    def positions(self) -> tuple[float, ...]:
        """What the last window accepted by position; nothing while not all drafts have the same number of positions."""
        return () if self.judged is None or self.state.adapted_rows else self.judged.evidence.accepted_per_position


Wanted = tuple[str, str, str]
"""Status, reason, message."""

ABOUT_SPECULATION: Final = frozenset(
    {ConditionType.ROLLED_BACK, ConditionType.SPECULATION_ACTIVE, ConditionType.GUARD_PASSING}
)
"""Conditions that start again with another speculation; the others are about the service."""
NO_ROOM: Final = "there is no room for a new pod next to the old ones, so the old ones stop first"
RESPONDING: Final = "Responding"
"""Reason of RolledBack=False while a rollback is decided and its pods do not serve yet."""
_MOVING: Final = frozenset({Phase.ROLLING_OUT, Phase.RESPONDING, Phase.MEASURING_BASELINE})


def wanted_conditions(found: Findings, *, speculating: bool, warning: str = "") -> dict[str, Wanted | None]:
    """Every condition by type. None keeps the earlier condition, because nothing new is known."""
    state, rollout, arrival, memory = found.state, found.rollout, found.arrival, found.plan.memory
    said: dict[str, Wanted | None] = {ConditionType.READY: _ready(rollout)}
    if state.phase in _MOVING or (rollout.progress is Progress.PROGRESSING and state.phase is Phase.ROLLED_BACK):
        said[ConditionType.RECONCILING] = ("True", rollout.reason, rollout.message)
    if stalled := _stalled(found):
        said[ConditionType.STALLED] = stalled
    if state.replacing is not None and state.replacing == found.revision:
        said[ConditionType.REPLACING] = ("True", "NoRoom", NO_ROOM)
    said.update(_about_guest(found))
    if found.contested:
        said[ConditionType.CONTESTED] = ("True", "ChangedByOthers", found.contested)
    if found.policy.held:
        said[ConditionType.HELD] = ("True", "AsRequested", ConditionType.HELD.meaning)
    said[ConditionType.ARTIFACTS_STAGED] = (arrival.status, arrival.reason, arrival.message)
    if speculating:
        said[ConditionType.ROLLED_BACK] = _rolled_back(found)
        said[ConditionType.SPECULATION_ACTIVE] = _active(found)
        said[ConditionType.GUARD_PASSING] = _passing(found)
        said.update(_of_baseline_pods(found))
    if (instrument := found.plan.instrument).reason:
        has = str(instrument.how is not Instrument.NONE)
        said[ConditionType.INSTRUMENTED] = (has, instrument.reason, instrument.message)
    if warning:
        reason = "EngineRules" if found.plan.warnings else "HangUnnoticed"
        said[ConditionType.WARNED] = ("True", reason, warning)
    if memory.fits is not None:
        fits = ("True", "Fits", memory.reason) if memory.fits else ("False", "TooLarge", memory.reason)
        said[ConditionType.MEMORY_FITS] = fits
    return said


def _about_guest(found: Findings) -> dict[str, Wanted | None]:
    """Whether the operator may change a guest."""
    allowed = found.enforcement
    return {ConditionType.ENFORCING: (str(allowed.holds), allowed.reason, allowed.message)} if allowed.reason else {}


def _ready(rollout: RolloutView) -> Wanted:
    if rollout.serving:
        return "True", "Serving", f"{rollout.serving} pods answer requests"
    return "False", rollout.reason, rollout.message


def _stalled(found: Findings) -> Wanted | None:
    state = found.state
    if state.phase is Phase.STALLED:
        return "True", found.rollout.reason, found.rollout.message
    degraded = found.plan.spec.guard.health is Health.DEGRADED
    if degraded and state.phase is Phase.ROLLED_BACK and state.rollback is not None:
        return "True", "RolledBack", f"{state.rollback.reason}: {state.rollback.message}"
    return None


def _rolled_back(found: Findings) -> Wanted:
    state = found.state
    if state.rollback is not None and not state.rolled_back:
        words = "the pods of this rollback do not serve yet, and those before it may still speculate"
        return "False", RESPONDING, f"{words}: {state.rollback.reason}: {state.rollback.message}"
    if state.rollback is not None:
        instead = f"; {_instead(found, state.rollback.good)}" if state.rollback.good else ""
        return "True", state.rollback.reason, state.rollback.message + instead
    if state.dial is not None:
        words = f"the dial of the running pods is set to nothing: {state.dial.reason}: {state.dial.message}"
        return "False", state.phase.value, words
    return _other_tokens(state) or ("False", "AsRequested", "the pods speculate as requested in the spec")


def _other_tokens(state: State) -> Wanted | None:
    """What the pods draft or have instead of what the spec asks for; None: nothing."""
    if state.adapted is not None and state.adapted.rows:
        return "False", "TokensAdapted", f"{state.adapted.message}; by the dial of the running pods"
    if state.reduced is not None:
        how = ", by the dial of the running pods" if state.by_dial else ""
        words = f"{state.reduced.tokens} tokens per step{how}: {state.reduced.reason}: {state.reduced.message}"
        return "False", "TokensReduced", words
    if state.lowering is not None:
        return "False", "MemoryLowered", state.lowering.message
    return None


def _of_baseline_pods(found: Findings) -> dict[str, Wanted | None]:
    """Why baseline pods run, and which measures they have shown to be worse with speculation."""
    said: dict[str, Wanted | None] = {}
    if comparing := _comparing(found):
        said[ConditionType.COMPARING] = comparing
    if costs := ", ".join(each.value for each in found.state.collateral):
        said[ConditionType.COLLATERAL] = ("True", "AboveLimit", costs)
    return said


def _comparing(found: Findings) -> Wanted | None:
    """Baseline pods that run for comparison, or the trial in which the service itself runs as baseline."""
    control, rollback, view = found.state.control, found.state.rollback, found.baseline_pods
    if rollback is not None and rollback.trial is not None:
        return "True", "ServingPlain", f"{rollback.trial.seen} baseline windows so far: {rollback.message}"
    if control is None:
        return None
    trouble = view.failure or (view.obstacle.words if view.obstacle else "")
    reason = "NoPlainPod" if view.failure else view.obstacle.reason if view.obstacle else control.reason
    pods = f"{view.serving} of {control.replicas} baseline pods serve"
    return "True", reason, "; ".join(filter(None, (pods, trouble, control.message)))


def _instead(found: Findings, good: KnownGood) -> str:
    speculation = found.plan.speculation
    if speculation is None:
        return "the last good speculation can no longer be read, so the service runs without speculation"
    return f"serving {speculation.method.value} with {good.tokens} tokens instead, the last good speculation"


def _active(found: Findings) -> Wanted | None:
    state, evidence = found.state, found.judged.evidence if found.judged else None
    if state.serves_baseline:
        return _active_without(found)
    if state.phase in _MOVING or state.phase is Phase.STALLED:
        return "Unknown", "NotMeasured", "the pods with speculation are not up yet"
    if state.dial is not None:
        return _active_dialled(found.dial)
    if evidence is None or evidence.generation_tokens == 0:
        return None
    if evidence.draft_tokens > 0:
        return "True", "Drafting", ConditionType.SPECULATION_ACTIVE.meaning
    return "False", "NotDrafting", "tokens are generated, but none is drafted"


def _active_dialled(view: DialView) -> Wanted:
    """With the guard's dial at nothing: what the pods answer."""
    followed = f"{view.in_force} of {len(view.pods)} pods report that they draft nothing"
    return "False" if view.settled and view.pods else "Unknown", Phase.DIALLED.value, followed


def _active_without(found: Findings) -> Wanted | None:
    """Without speculation. Of a rollback, what the counters show counts, not what was decided."""
    state, judged = found.state, found.judged
    if state.measuring:
        return "False", "MeasuringBaseline", "the baseline (no speculation) is measured first"
    if not state.rolled_back:
        return None  # the pods before it serve on
    if judged is not None and judged.verdict.at > state.since and judged.evidence.draft_tokens > 0:
        return (
            "True",
            "Drafting",
            "speculation is rolled back, and tokens are drafted: the flags are not its only source",
        )
    return "False", "RolledBack", "speculation is rolled back"


def _passing(found: Findings) -> Wanted | None:
    state, verdict = found.state, found.judged.verdict if found.judged else None
    if state.serves_baseline and state.rollback is not None:
        return "False", state.rollback.reason, state.rollback.message
    if state.serves_baseline or state.phase in _MOVING or state.phase is Phase.STALLED:
        return "Unknown", "NotMeasured", "the pods with speculation are not up yet"
    if state.dial is not None:
        return "False", state.dial.reason, state.dial.message
    if verdict is None:
        return None
    status = {Outcome.PASS: "True", Outcome.FAIL: "False", Outcome.INCONCLUSIVE: "Unknown"}[verdict.outcome]
    return status, verdict.reason.value, verdict.message


def merged(
    wanted: Mapping[str, Wanted | None], before: tuple[Mapping[str, Any], ...], *, now: str, generation: int
) -> list[Condition]:
    """The conditions to write. lastTransitionTime moves only when the status does."""
    known = {condition["type"]: condition for condition in before}
    out = []
    for kind, said in wanted.items():
        old = known.get(kind)
        kept = (old["status"], old["reason"], old["message"]) if old is not None else None
        status, reason, message = said or kept or ("Unknown", "NotMeasured", "nothing has been measured yet")
        same = old is not None and old["status"] == status
        out.append(
            Condition(
                type=str(kind),
                status=status,
                reason=reason,
                message=message,
                last_transition_time=old["lastTransitionTime"] if old is not None and same else now,
                observed_generation=generation,
            )
        )
    return out
