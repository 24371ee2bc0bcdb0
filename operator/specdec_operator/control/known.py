"""What a turn knows, in the guard's words: what is asked for, what the pods showed, what would have been better."""

from dataclasses import dataclass, replace

from specdec_operator.api.pod import Strategy
from specdec_operator.control.findings import Findings
from specdec_operator.control.memory import Memory
from specdec_operator.control.sis import Sis
from specdec_operator.control.wish import Wish
from specdec_operator.guard.counterfactual import Advice, Fewer, advise, fewer_tokens, most_that_pass
from specdec_operator.guard.facts import Asked, Facts
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy, policy_of
from specdec_operator.guard.state import Reduction
from specdec_operator.guard.thresholds import Thresholds
from specdec_operator.guard.verdict import Outcome
from specdec_operator.serving.arrival import Arrival
from specdec_operator.serving.plan import plan
from specdec_operator.serving.served import good_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Better:
    """What fewer tokens would have done in a window; the largest number of them that would have passed; what to do."""

    rows: tuple[Fewer, ...] = ()
    fewer: int | None = None
    advice: Advice | None = None


def policy_for(sis: Sis) -> Policy:
    """What the user asks of the guard."""
    return policy_of(sis.spec.guard, held=sis.held, auto=sis.spec.rollout.strategy is Strategy.AUTO)


def asked_of(sis: Sis, policy: Policy) -> Asked:
    """What the user asks for. Nothing is measured first for a service that is not to speculate."""
    speculating = sis.spec.speculation is not None
    return Asked(
        speculation=sis.speculation,
        service=sis.service,
        speculating=speculating,
        measure=speculating and policy.measures,
        retry=sis.retry,
        rollback=sis.rollback,
    )


def better_of(sis: Sis, wish: Wish, judged: Judged | None, limits: Thresholds) -> Better:
    """What fewer tokens would have done in a window that closed; nothing where K follows the batch."""
    speculation = wish.plan.speculation
    if judged is None or speculation is None or speculation.tokens_by_batch_size or not judged.conclusive:
        return Better()
    speedup = judged.comparison.speedup if judged.comparison else None
    rows = fewer_tokens(judged.evidence, limits, speedup)
    fewer = _fewer(sis, wish, rows) if judged.verdict.outcome is Outcome.FAIL else None
    return Better(rows=rows, fewer=fewer, advice=advise(rows, judged.verdict, fewer))


def _fewer(sis: Sis, wish: Wish, rows: tuple[Fewer, ...]) -> int | None:
    """The largest K' that would have passed and that the engine takes: some drafts only take multiples."""
    below = wish.plan.tokens or len(rows)  # 0: the draft's own config decides it
    while (tokens := most_that_pass(rows, below)) is not None:
        trial = replace(wish.state, reduced=Reduction(reason="", message="", at=0.0, tokens=tokens))
        if not plan(sis.spec, trial, name=sis.owner.name, synthetic=sis.synthetic, kserve=wish.kserve).refused:
            return tokens
        below = tokens
    return None


def facts_of(wish: Wish, policy: Policy, judged: Judged | None, better: Better, pods: frozenset[str]) -> Facts:
    """What the state machine has to know. judged: a window that closed just now."""
    speculation = wish.plan.speculation
    rate = (judged.evidence.acceptance_rate if judged else None) or 0.0
    at = judged.verdict.at if judged else 0.0
    good = speculation and good_of(speculation, wish.state, tokens=wish.plan.tokens, rate=rate, at=at)
    return Facts(
        subject=wish.state.subject,
        policy=policy,
        speculating=speculation is not None,
        revision=wish.rendered.revision,
        rollout=wish.rollout,
        pods=pods,
        closed=at,
        verdict=judged.verdict if judged and speculation else None,
        paces=judged.evidence.paces if judged else {},
        good=good or None,
        fewer=better.fewer,
        since=wish.state.wanted_since,
    )


def findings_of(
    sis: Sis,
    wish: Wish,
    policy: Policy,
    limits: Thresholds,
    memory: Memory,
    better: Better,
    arrived: Arrival,
    *,
    url: str | None,
) -> Findings:
    """What the turn has to tell."""
    return Findings(
        name=sis.owner.name,
        generation=sis.generation,
        state=wish.state,
        policy=policy,
        plan=wish.plan,
        rollout=wish.rollout,
        arrival=arrived,
        fetches=wish.fetches,
        kserve=wish.kserve,
        revision=wish.rendered.revision,
        url=url,
        thresholds=limits,
        judged=memory.judged,
        fewer=better.rows,
        advice=better.advice,
        contested=memory.contest.words,
    )
