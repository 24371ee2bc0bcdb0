"""The conditions of a sis, by the rules of kstatus: Ready sums up, Reconciling and Stalled are there only when true."""

from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.api.status import Condition
from specdec_operator.engine.memory.plan import MemoryPlan
from specdec_operator.guard.evidence import Evidence
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.verdict import Outcome, Verdict
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.rollout import Progress, RolloutView

Said = tuple[str, str, str]
"""Status, reason, message."""

ABOUT_SPECULATION: Final = frozenset({"RolledBack", "SpeculationActive", "GuardPassing"})
"""Conditions that begin anew with another speculation; the others are about the service."""
WARNED: Final = "Warned"
"""What the engine takes and the user should know: lossy verification, fields that this version ignores."""
STAGED: Final = "ArtifactsStaged"
"""Whether target and draft are where the engine looks for them."""
_MOVING: Final = frozenset({Phase.ROLLING_OUT, Phase.RESPONDING})


def wanted_conditions(
    state: State,
    rollout: RolloutView,
    arrival: Arrival,
    *,
    speculating: bool,
    verdict: Verdict | None,
    evidence: Evidence | None,
    warning: str = "",
    memory: MemoryPlan | None = None,
) -> dict[str, Said | None]:
    """Every condition by type. None keeps what was said before, because nothing new is known."""
    said: dict[str, Said | None] = {"Ready": _ready(rollout)}
    if state.phase in _MOVING or (rollout.progress is Progress.PROGRESSING and state.phase is Phase.ROLLED_BACK):
        said["Reconciling"] = ("True", rollout.reason, rollout.message)
    if state.phase is Phase.STALLED:
        said["Stalled"] = ("True", rollout.reason, rollout.message)
    said[STAGED] = (arrival.status, arrival.reason, arrival.message)
    if speculating:
        said["RolledBack"] = _rolled_back(state)
        said["SpeculationActive"] = _active(state, evidence)
        said["GuardPassing"] = _passing(state, verdict)
    if warning:
        said[WARNED] = ("True", "EngineRules", warning)
    if memory is not None and memory.fits is not None:
        said["MemoryFits"] = ("True", "Fits", memory.reason) if memory.fits else ("False", "TooLarge", memory.reason)
    return said


def _ready(rollout: RolloutView) -> Said:
    if rollout.serving:
        return "True", "Serving", f"{rollout.serving} pods answer requests"
    return "False", rollout.reason, rollout.message


def _rolled_back(state: State) -> Said:
    if state.rollback is None:
        return "False", "AsRequested", "the pods are asked to speculate as the spec says"
    return "True", state.rollback.reason, state.rollback.message


def _active(state: State, evidence: Evidence | None) -> Said | None:
    if state.rollback is not None:
        return "False", "RolledBack", "speculation is rolled back"
    if state.phase in _MOVING or state.phase is Phase.STALLED:
        return "Unknown", "NotMeasured", "the pods with speculation are not up yet"
    if evidence is None or evidence.generation_tokens == 0:
        return None
    if evidence.draft_tokens > 0:
        return "True", "Drafting", "draft tokens are counted while tokens are generated"
    return "False", "NotDrafting", "tokens are generated, but none is drafted"


def _passing(state: State, verdict: Verdict | None) -> Said | None:
    if state.rollback is not None:
        return "False", state.rollback.reason, state.rollback.message
    if state.phase in _MOVING or state.phase is Phase.STALLED:
        return "Unknown", "NotMeasured", "the pods with speculation are not up yet"
    if verdict is None:
        return None
    status = {Outcome.PASS: "True", Outcome.FAIL: "False", Outcome.INCONCLUSIVE: "Unknown"}[verdict.outcome]
    return status, verdict.reason.value, verdict.message


def merged(
    wanted: Mapping[str, Said | None], before: tuple[Mapping[str, Any], ...], *, now: str, generation: int
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
                type=kind,
                status=status,
                reason=reason,
                message=message,
                last_transition_time=old["lastTransitionTime"] if old is not None and same else now,
                observed_generation=generation,
            )
        )
    return out
