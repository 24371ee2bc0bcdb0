"""The conditions of a sis, by the rules of kstatus: Ready sums up, Reconciling and Stalled are there only when true."""

from collections.abc import Mapping
from typing import Any, Final

from specdec_operator.api.guard import Health
from specdec_operator.api.status import Condition
from specdec_operator.control.findings import Findings
from specdec_operator.guard.state import Good, Phase
from specdec_operator.guard.verdict import Outcome
from specdec_operator.serving.rollout import Progress, RolloutView

Said = tuple[str, str, str]
"""Status, reason, message."""

ABOUT_SPECULATION: Final = frozenset({"RolledBack", "SpeculationActive", "GuardPassing"})
"""Conditions that begin anew with another speculation; the others are about the service."""
WARNED: Final = "Warned"
"""What the engine takes and the user should know: lossy verification, fields that this version ignores."""
STAGED: Final = "ArtifactsStaged"
"""Whether target and draft are where the engine looks for them."""
CONTESTED: Final = "Contested"
"""Others change the InferenceService again and again."""
REPLACING: Final = "Replacing"
"""Old pods go before new ones come, because there is no room for both."""
_MOVING: Final = frozenset({Phase.ROLLING_OUT, Phase.RESPONDING, Phase.MEASURING_BASELINE})


def wanted_conditions(found: Findings, *, speculating: bool, warning: str = "") -> dict[str, Said | None]:
    """Every condition by type. None keeps what was said before, because nothing new is known."""
    state, rollout, arrival, memory = found.state, found.rollout, found.arrival, found.plan.memory
    said: dict[str, Said | None] = {"Ready": _ready(rollout)}
    if state.phase in _MOVING or (rollout.progress is Progress.PROGRESSING and state.phase is Phase.ROLLED_BACK):
        said["Reconciling"] = ("True", rollout.reason, rollout.message)
    if stalled := _stalled(found):
        said["Stalled"] = stalled
    if state.replacing is not None and state.replacing == found.revision:
        said[REPLACING] = ("True", "NoRoom", "no node has room for a new pod beside the old ones: these go first")
    if found.contested:
        said[CONTESTED] = ("True", "ChangedByOthers", found.contested)
    if found.policy.held:
        said["Held"] = ("True", "AsRequested", "annotation specdec.io/hold keeps the guard from changing anything")
    said[STAGED] = (arrival.status, arrival.reason, arrival.message)
    if speculating:
        said["RolledBack"] = _rolled_back(found)
        said["SpeculationActive"] = _active(found)
        said["GuardPassing"] = _passing(found)
    if warning:
        said[WARNED] = ("True", "EngineRules", warning)
    if memory.fits is not None:
        said["MemoryFits"] = ("True", "Fits", memory.reason) if memory.fits else ("False", "TooLarge", memory.reason)
    return said


def _ready(rollout: RolloutView) -> Said:
    if rollout.serving:
        return "True", "Serving", f"{rollout.serving} pods answer requests"
    return "False", rollout.reason, rollout.message


def _stalled(found: Findings) -> Said | None:
    state = found.state
    if state.phase is Phase.STALLED:
        return "True", found.rollout.reason, found.rollout.message
    degraded = found.plan.spec.guard.health is Health.DEGRADED
    if degraded and state.phase is Phase.ROLLED_BACK and state.rollback is not None:
        return "True", "RolledBack", f"{state.rollback.reason}: {state.rollback.message}"
    return None


def _rolled_back(found: Findings) -> Said:
    state = found.state
    if state.rollback is not None:
        instead = f"; {_instead(found, state.rollback.good)}" if state.rollback.good else ""
        return "True", state.rollback.reason, state.rollback.message + instead
    if state.reduced is not None:
        words = f"{state.reduced.tokens} tokens per step: {state.reduced.reason}: {state.reduced.message}"
        return "False", "TokensReduced", words
    return "False", "AsRequested", "the pods are asked to speculate as the spec says"


def _instead(found: Findings, good: Good) -> str:
    speculation = found.plan.speculation
    if speculation is None:
        return "the last good speculation cannot be read any more, so there is none"
    return f"serving {speculation.method.value} with {good.tokens} tokens, the last that was good, instead"


def _active(found: Findings) -> Said | None:
    state, evidence = found.state, found.judged.evidence if found.judged else None
    if state.measuring:
        return "False", "MeasuringBaseline", "the plain service is measured first"
    if state.plain:
        return "False", "RolledBack", "speculation is rolled back"
    if state.phase in _MOVING or state.phase is Phase.STALLED:
        return "Unknown", "NotMeasured", "the pods with speculation are not up yet"
    if evidence is None or evidence.generation_tokens == 0:
        return None
    if evidence.draft_tokens > 0:
        return "True", "Drafting", "draft tokens are counted while tokens are generated"
    return "False", "NotDrafting", "tokens are generated, but none is drafted"


def _passing(found: Findings) -> Said | None:
    state, verdict = found.state, found.judged.verdict if found.judged else None
    if state.plain and state.rollback is not None:
        return "False", state.rollback.reason, state.rollback.message
    if state.plain or state.phase in _MOVING or state.phase is Phase.STALLED:
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
