"""What another number of tokens per step would have done in a window, and what less memory would be, as far as the
engine takes it. Pure.
"""

from dataclasses import dataclass, replace

from specdec_operator.api.guard import GuardMode
from specdec_operator.api.method_options import BatchStep
from specdec_operator.api.spec import Spec
from specdec_operator.guard.adapt import wanted_rows
from specdec_operator.guard.best_tokens import advice
from specdec_operator.guard.decisions import Lowering, Reduction
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.memory import lacking_memory
from specdec_operator.guard.policy import METHODS, Thresholds
from specdec_operator.guard.rows import WantedRows
from specdec_operator.guard.state import Observation, State
from specdec_operator.guard.verdict import Outcome
from specdec_operator.guard.what_if import Advice, Fewer, advise, fewer_tokens, more_tokens, most_that_pass
from specdec_operator.reconcile.desired import Desired
from specdec_operator.reconcile.sis import Sis
from specdec_operator.render.plan import Plan, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """What fewer tokens would have done in a window; the largest of them that would have passed; what to do: more
    tokens, too. wanted: the tokens by load that Adapt is to set.
    """

    rows: tuple[Fewer, ...] = ()
    fewer: int | None = None
    advice: Advice | None = None
    wanted: WantedRows | None = None


def what_if(sis: Sis, desired: Desired, closed: Judged | None, thresholds: Thresholds) -> WhatIf:
    """What fewer tokens would have done in a window that closed; nothing where K follows the batch."""
    speculation = desired.plan.speculation
    if closed is None or speculation is None or speculation.tokens_by_batch_size:
        return WhatIf()
    wanted = _wanted(desired, closed) if may_adapt(sis, desired) else None
    if desired.state.adapted_rows or not closed.conclusive:
        return WhatIf(wanted=wanted)
    evidence, thresholds = closed.evidence, thresholds.without_default if closed.yields else thresholds
    if (dialled := desired.state.by_dial) is not None:  # the engine counts the positions of its flags
        evidence = replace(evidence, accepted_per_position=evidence.accepted_per_position[: dialled.tokens])
    rows = fewer_tokens(evidence, thresholds, closed.comparison)
    fewer = _fewer(sis, desired, rows) if closed.verdict.outcome is Outcome.FAIL else None
    more = _more(sis, desired, closed) if closed.verdict.outcome is Outcome.PASS else None
    at_loads = _at_loads(sis, desired, closed)
    return WhatIf(rows=rows, fewer=fewer, wanted=wanted, advice=advise(rows, closed.verdict, fewer, more, at_loads))


def may_adapt(sis: Sis, desired: Desired) -> bool:
    """Whether Adapt is asked for, and the pods' own K is what the spec requests: no guest's, whose owner's flags are
    not the operator's, and none of a schedule of the flags or of a decision of the guard.
    """
    guard, state, asked = sis.spec.guard, desired.state, sis.spec.speculation
    may = guard.adapts and guard.mode is GuardMode.ENFORCE and guard.dials and desired.guest is None
    own = asked is not None and not asked.tokens_by_batch_size and desired.plan.tokens > 0
    return may and own and state.rollback is None and state.reduced is None


def _wanted(desired: Desired, closed: Judged) -> WantedRows | None:
    """The tokens by load that the dips since the last change ask for."""
    return wanted_rows(closed.dips.before, closed.dips.gain, desired.state.adapted_rows, desired.plan.tokens)


def _fewer(sis: Sis, desired: Desired, rows: tuple[Fewer, ...]) -> int | None:
    """The largest K' that would have passed and that the engine takes: some drafts only take multiples."""
    below = desired.plan.tokens or len(rows)  # 0: the draft's own config decides it
    while (tokens := most_that_pass(rows, below)) is not None:
        trial = replace(desired.state, reduced=Reduction(reason="", message="", at=0.0, tokens=tokens))
        if _is_taken(sis, desired, sis.spec, trial):
            return tokens
        below = tokens
    return None


def _more(sis: Sis, desired: Desired, closed: Judged) -> Advice | None:
    """The advice to use more tokens. None if the draft decides their number, or if the guard serves something else."""
    asked, state = sis.spec.speculation, desired.state
    if asked is None or asked.tokens != len(closed.evidence.accepted_per_position) or METHODS[asked.method].trained_for:
        return None
    if state.rollback or state.reduced:
        return None

    def takes(tokens: int) -> bool:
        trial = sis.spec.model_copy(update={"speculation": asked.model_copy(update={"tokens": tokens})})
        return _is_taken(sis, desired, trial, state)

    return more_tokens(closed.evidence, closed.comparison, takes)


def _at_loads(sis: Sis, desired: Desired, closed: Judged) -> Advice | None:
    """The advice to use fewer tokens, perhaps at some loads. None if the guard serves something else, if pods draft
    another number than the flags ask for, for a guest, whose flags are not these fields, or if a rule has anything
    against such a schedule.
    """
    found, asked = advice(closed.loads), sis.spec.speculation
    if found is None or asked is None or desired.guest or desired.state.rollback or desired.state.reduced:
        return None
    if any(each.home != desired.plan.tokens for each in closed.loads):
        return None
    steps = [BatchStep(up_to=each.up_to, tokens=each.tokens) for each in found.by_batch_size]
    changes = {"tokens_by_batch_size": steps} if steps else {"tokens": found.tokens}
    trial = sis.spec.model_copy(update={"speculation": asked.model_copy(update=changes)})
    made = _planned(sis, desired, trial, desired.state)
    told = {each.rule for each in (*desired.plan.warnings, *desired.plan.noted)}
    new = (*made.refused, *(each for each in (*made.warnings, *made.noted) if each.rule not in told))
    return None if new else found


def less_memory(sis: Sis, desired: Desired, observation: Observation) -> str:
    """What one step less of memory is to the engine, as it is written. Empty if no pod ran out of memory, or if nothing
    would change: what the models need is not taken from them.
    """
    lacks = observation.rollout.out_of_memory or lacking_memory(observation.pod_failures)
    if not lacks or desired.guest is not None:
        return ""
    lowering = Lowering(reason="", message="", at=0.0, steps=desired.state.lowered + 1)
    trial = replace(desired.state, lowering=lowering)
    seen, name = desired.seen.in_full, sis.owner.name
    planned = plan(sis.spec, trial, name=name, synthetic=sis.synthetic, kserve=desired.kserve, seen=seen)
    return " ".join(each for each in planned.args if each not in desired.plan.args)


def _is_taken(sis: Sis, desired: Desired, spec: Spec, state: State) -> bool:
    """Whether no rule refuses what a spec and a state request. Always true for a guest, about which too little is
    known.
    """
    return desired.guest is not None or not _planned(sis, desired, spec, state).refused


def _planned(sis: Sis, desired: Desired, spec: Spec, state: State) -> Plan:
    """What a spec and a state would come to."""
    name, seen = sis.owner.name, desired.seen
    return plan(spec, state, name=name, synthetic=sis.synthetic, kserve=desired.kserve, seen=seen)
