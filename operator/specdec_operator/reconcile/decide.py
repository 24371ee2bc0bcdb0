"""The decision of one full reconcile: what to serve from here on. Pure: the same observation, the same decision."""

from dataclasses import dataclass, field, replace

from specdec_operator.api.speculation import Speculation
from specdec_operator.errors import Invalid
from specdec_operator.guard.adapt import NOT_FOLLOWED
from specdec_operator.guard.decisions import PodFailure
from specdec_operator.guard.dial import DialView, changed
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.off_cost import MeasuredFor, holds_for
from specdec_operator.guard.outages import pod_times
from specdec_operator.guard.pods import failures_of
from specdec_operator.guard.policy import Policy, Thresholds, policy_of
from specdec_operator.guard.sampler import with_window
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.user_intent import UserIntent, follow_user, initial_state
from specdec_operator.observe.baseline_pods import BaselinePodsView, baseline_pods_view
from specdec_operator.observe.ownership import NAME_TAKEN, name_taken
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.reconcile.apply import ask_again_at, is_tried_again, patience, refusal_in_force
from specdec_operator.reconcile.desired import Desired, desire, download_image, drafted_tokens
from specdec_operator.reconcile.dial import offered, trouble_of, view_of
from specdec_operator.reconcile.guest import desire_guest
from specdec_operator.reconcile.memory import DialMemory, SamplingPlan, ServiceMemory, restore
from specdec_operator.reconcile.observed import Observed
from specdec_operator.reconcile.requeue import RESYNC, RETRY, next_due
from specdec_operator.reconcile.sample import is_sampled, thresholds_of
from specdec_operator.reconcile.sis import Parsed, Sis
from specdec_operator.reconcile.what_if import WhatIf, less_memory, may_adapt, what_if
from specdec_operator.render.plan import drafted, known_good_of
from specdec_operator.report.status import SpecRefusal

_MEASURED = frozenset({Phase.WATCHING, Phase.DIALLED, Phase.RESPONDING, Phase.STALLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to serve from here on. before: the state before it; its state is that of `desired`.

    refusal: why the newest spec is not followed. thresholds: what the closed window was compared with.
    baseline_pods: how far they are.
    dial: what the pods are asked to draft, and do.
    tries_again: whether the only news is another try of a manifest that the API server refused long ago.
    """

    sis: Sis
    refusal: SpecRefusal | None
    before: State | None
    desired: Desired
    policy: Policy
    thresholds: Thresholds
    what_if: WhatIf
    baseline_pods: BaselinePodsView
    tries_again: bool
    dial: DialView = field(default_factory=DialView)

    @property
    def state(self) -> State:
        """The state that was decided upon."""
        return self.desired.state

    @property
    def starts_over(self) -> bool:
        """Whether earlier measurements no longer apply: other pods run from here on, or the same pods start again."""
        before, after = self.before, self.state
        return before is None or (before.phase is not after.phase and after.phase not in _MEASURED)


def decide(parsed: Parsed, observed: Observed, memory: ServiceMemory, now: float) -> Decision | SpecRefusal:
    """What to serve: by the newest spec, or else by the last one that could be followed, whose pods run on.

    The refusal alone where there is no such spec: nothing that runs is touched then.
    """
    newest = parsed.newest
    decision = newest if isinstance(newest, SpecRefusal) else _follow(newest, None, observed, memory, now)
    if isinstance(decision, Decision) or parsed.older is None:
        return decision
    older = _follow(parsed.older, decision, observed, memory, now)
    return older if isinstance(older, Decision) else decision


def _follow(
    sis: Sis, refusal: SpecRefusal | None, observed: Observed, memory: ServiceMemory, now: float
) -> Decision | SpecRefusal:
    try:
        return _decide(sis, refusal, observed, memory, now)
    except Invalid as error:
        return SpecRefusal(error=error, generation=sis.generation)


def _decide(sis: Sis, refusal: SpecRefusal | None, observed: Observed, memory: ServiceMemory, now: float) -> Decision:
    _refuse_second(sis, observed)
    memory = restore(memory, sis, now)

    # The user's commands come first: the guard decides about what is requested now.
    before, policy = memory.state, _policy(sis)
    asked = _asked(sis, before, policy, now)

    # What this state requests, and how far its pods are. Only then is it known which pods a window is evidence about.
    desired = _desire(sis, asked, observed, memory, now)
    thresholds = _limits(sis, desired, memory.dial, now)
    better = what_if(sis, desired, memory.closed, thresholds)

    # The step of the guard, and what the new state requests: both are in one decision, and so in one status.
    observation = _observation(sis, desired, observed, memory, thresholds, better, now)
    desired = _advanced(sis, desired, observation, observed, memory, now)

    _refuse(sis, desired, memory, now)
    return Decision(
        sis=sis,
        refusal=refusal,
        before=before,
        desired=desired,
        policy=policy,
        thresholds=thresholds,
        what_if=better,
        baseline_pods=observation.baseline_pods,
        tries_again=desired.state == before and is_tried_again(memory, desired),
        dial=view_of(sis, desired, observed.objects.pods, memory.dial, now),
    )


def _refuse_second(sis: Sis, observed: Observed) -> None:
    """Raises Invalid for a second service of one name: each would overwrite the other's InferenceService."""
    if taken := name_taken("InferenceService", sis.owner.name, observed.look, sis.claimant):
        raise taken


def _asked(sis: Sis, before: State | None, policy: Policy, now: float) -> State:
    """The state after the user's commands."""
    intent = _intent(sis, policy)
    return follow_user(before or initial_state(intent, now), intent, now)


def _policy(sis: Sis) -> Policy:
    spec = sis.spec
    patience, scaled = spec.rollout.patience, spec.autoscaling is not None
    return policy_of(spec.guard, held=sis.held, patience=patience, replicas=spec.replicas, scaled=scaled)


def _intent(sis: Sis, policy: Policy) -> UserIntent:
    """What the user asks for. Nothing is measured first for a service that is not to speculate."""
    speculating = sis.spec.speculation is not None
    return UserIntent(
        speculation=sis.speculation,
        service=sis.service,
        memory=sis.memory,
        speculating=speculating,
        measure=speculating and policy.measures,
        retry=sis.retry,
        rollback=sis.rollback,
    )


def _desire(sis: Sis, state: State, observed: Observed, memory: ServiceMemory, now: float) -> Desired:
    if sis.spec.guest is not None and observed.guest is not None:
        return desire_guest(sis, observed.guest, state, observed, memory.guest, now)
    return desire(sis, state, observed, memory, now)


def _observation(
    sis: Sis,
    desired: Desired,
    observed: Observed,
    memory: ServiceMemory,
    thresholds: Thresholds,
    better: WhatIf,
    now: float,
) -> Observation:
    """What the state machine has to know."""
    stalled = memory.window.stalled(thresholds) if memory.window else {}
    failures = failures_of(desired.pods, now, stalled)
    observation = _of_rollout_and_window(sis, desired, observed, memory.closed, better, failures)
    objects = observed.objects
    view = view_of(sis, desired, objects.pods, memory.dial, now)
    return replace(
        observation,
        pod_times=pod_times(desired.pods, frozenset(stalled), now),
        baseline_pods=baseline_pods_view(
            objects.baseline_deployment, objects.baseline_pods, memory.baseline_pods.refusal
        ),
        thresholds=thresholds,
        dials=offered(desired, memory.dial, now),
        by_hand=view.request is not None and view.request.by_hand,
        dial_trouble=trouble_of(view, memory.dial, now),
        measured_for=_measured_for(desired),
    )


def _draft(speculation: Speculation) -> str:
    """Where the draft is; empty for a method without one."""
    return (speculation.draft.uri or speculation.draft.path or "") if speculation.draft else ""


def _measured_for(desired: Desired) -> MeasuredFor | None:
    """What is measured of these pods holds for; None if they do not speculate."""
    plan = desired.plan
    speculation = plan.speculation
    if speculation is None:
        return None
    return MeasuredFor(
        revision=desired.rendered.revision,
        engine=str(plan.build),
        image=plan.image,
        model=plan.spec.model.uri if plan.spec.model else "",
        method=speculation.method.value,
        draft=_draft(speculation),
        tokens=plan.tokens,
    )


def _of_rollout_and_window(
    sis: Sis,
    desired: Desired,
    observed: Observed,
    closed: Judged | None,
    better: WhatIf,
    failures: tuple[PodFailure, ...],
) -> Observation:
    """What it has to know of the rollout, and of a window that closed in this reconcile. failures: of the pods."""
    speculation = drafted(desired.plan.speculation, desired.state)
    rate = (closed.evidence.acceptance_rate if closed else None) or 0.0
    at = closed.verdict.at if closed else 0.0
    tokens, by_load = drafted_tokens(desired), desired.state.adapted_rows  # a rate by load is of no one number
    known = speculation and not by_load
    good = known_good_of(speculation, desired.state, tokens=tokens, rate=rate, at=at) if speculation and known else None
    observation = Observation(
        subject=desired.state.subject,
        policy=_policy(sis),
        speculating=speculation is not None,
        revision=desired.rendered.revision,
        rollout=desired.rollout,
        pods=frozenset(pod.name for pod in observed.objects.pods if not pod.deleting),
        pod_failures=failures,
        good=good,
        fewer=better.fewer,
        rows=better.wanted,
        since=desired.state.wanted_since,
    )
    return with_window(replace(observation, less=less_memory(sis, desired, observation)), closed)


def _limits(sis: Sis, desired: Desired, dial: DialMemory, now: float) -> Thresholds:
    """What windows are compared with, and whether Adapt answers the loss that dips show."""
    limits = thresholds_of(sis.spec.guard, desired.plan.speculation, drafted_tokens(desired), desired.state)
    fell_out = desired.state.adapted is not None and desired.state.adapted.reason == NOT_FOLLOWED
    answers = may_adapt(sis, desired) and not sis.held and offered(desired, dial, now) and not fell_out
    return replace(limits, adapts=answers)


def _advanced(
    sis: Sis, desired: Desired, observation: Observation, observed: Observed, memory: ServiceMemory, now: float
) -> Desired:
    """What the next state requests. It is planned again only if that is something else, with the facts that are known
    by now.
    """
    after = advance(desired.state, observation, now)
    if (after.subject, after.replacing) == (desired.state.subject, desired.state.replacing):
        return replace(desired, state=after)
    facts = replace(memory.facts, kept=desired.facts)
    return _desire(sis, after, observed, replace(memory, facts=facts), now)


def _refuse(sis: Sis, desired: Desired, memory: ServiceMemory, now: float) -> None:
    """Raises Invalid if this cannot be made: an unknown image is reported before anything is created.

    Last of all, because the guard may have replaced what the API server or KServe refuses.
    """
    if desired.plan.layout.claim is not None and not desired.staged:
        download_image(desired.kserve)
    if error := refusal_in_force(memory, desired, now, adopts=sis.adopts):
        raise error


def remember(memory: ServiceMemory, decision: Decision | SpecRefusal, now: float) -> ServiceMemory:
    """What is remembered of a decision: the state, what is read from here on, and when to decide again."""
    memory = replace(memory, closed=None)
    if isinstance(decision, SpecRefusal):
        again = ask_again_at(memory.refused) if memory.refused else now + patience(decision.error)
        state = memory.state
        if state is not None and decision.error.reason == NAME_TAKEN:  # its deadline counts from the end of that
            memory = replace(memory, state=replace(state, wanted_since=now))
        return replace(memory, sampling=None, due=min(now + RESYNC, max(again, now + RETRY)))
    desired, state, before = decision.desired, decision.state, decision.before
    if decision.starts_over:
        memory = replace(memory, window=None, judged=None)
    elif changed(memory.dial.request, decision.dial.request):
        memory = replace(memory, window=None)
    elif decision.dial.pods and decision.dial.settled and not memory.dial.followed:
        memory = replace(memory, window=None, dial=replace(memory.dial, followed=True))  # before that, pods drafted on
    elif before is not None and (
        before.subject != state.subject or _has_baseline_pods(before) is not _has_baseline_pods(state)
    ):
        memory = replace(memory, window=None)  # both arms begin in the same moment
    memory = replace(
        memory,
        last_valid=(decision.sis.generation, decision.sis.written),
        state=state,
        sampling=_sampling_plan(decision, memory.dial, now),
        waits=bool(desired.waits),
        refused=None,
        facts=replace(memory.facts, kept=desired.facts),
    )
    due = next_due(state, memory, decision.policy, now) if desired.staged else now + RETRY
    return replace(memory, due=min(due, now + desired.look_again))


def _has_baseline_pods(state: State) -> bool:
    """Whether the baseline pods are read too."""
    return state.control is not None and bool(state.control.up)


def _not_judged(decision: Decision, dial: DialMemory) -> int | None:
    """The tokens of the dial with which windows are not judged; None: they are. Fewer tokens, or tokens by load, by a
    decision of the guard are judged once all pods followed.
    """
    request, reduced = decision.dial.request, decision.state.by_dial
    if request is None:
        return None
    decided = (reduced.tokens, ()) if reduced else (decision.desired.plan.tokens, decision.state.adapted_rows)
    is_decided = bool(reduced or decided[1]) and not request.by_hand and (request.lasting, request.rows) == decided
    followed = dial.followed and not changed(dial.request, request)
    return None if is_decided and followed else request.lasting


def _sampling_plan(decision: Decision, dial: DialMemory, now: float) -> SamplingPlan | None:
    """What is read until the next decision; None: nothing, for there is nothing to learn from what runs."""
    desired, state, guard = decision.desired, decision.state, decision.sis.spec.guard
    speculation = desired.plan.speculation
    settled = desired.rendered.revision == state.revision
    guest = desired.guest is not None
    sampled = is_sampled(state, guard, baseline=speculation is None, settled=settled, now=now, guest=guest)
    if not sampled or not desired.staged or desired.waits:
        return None
    limits = _limits(decision.sis, desired, dial, now)
    return SamplingPlan(
        guard=guard,
        thresholds=replace(
            limits,
            dialled=_not_judged(decision, dial),
            off_cost=holds_for(state.off_cost, _measured_for(desired)),
            baseline_steps=state.baseline_steps,
        ),
        revision=desired.rendered.revision,
        with_baseline=_has_baseline_pods(state),
        guest=desired.guest.where if desired.guest else None,
        port=decision.sis.spec.engine.port or ENGINE_PORT,
    )
