"""Three rules over the same windows: the guard's own, and two simpler ones that it is compared with."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from lab.guard.traffic import TOKENS, DraftingTicks
from specdec_operator.guard.counters import Counters
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy, Thresholds
from specdec_operator.guard.sampler import Schedule, add, start, with_window
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.statistics import wilson_upper
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.window import Evidence
from specdec_operator.observe.baseline_pods import BaselinePodsView
from specdec_operator.observe.rollout import Progress, RolloutView

POD: Final = "simulated"
_NO_BASELINE_PODS: Final = BaselinePodsView()
_UP: Final = RolloutView(progress=Progress.COMPLETE, reason="Simulated", message="", serving=1)

BY_TOKENS, BY_DRAFTS, GUARD = "tokens", "drafts", "guard"
RULES: Final = (BY_TOKENS, BY_DRAFTS, GUARD)
"""The 95 % bound of as many trials as there were tokens, or drafts, window by window; and the guard as it is."""


@dataclass(slots=True, kw_only=True)
class Simple:
    """Counts windows in a row whose bound is below the threshold. trials: that a window is taken for."""

    limits: Thresholds
    limit: int
    trials: Callable[[Evidence], float]
    failures: int = 0

    def decides(self, judged: Judged) -> bool:
        """Whether this window is the last that was needed."""
        rate, least = judged.evidence.acceptance_rate, self.limits.acceptance_rate or 0.0
        enough = judged.evidence.draft_tokens >= self.limits.min_draft_tokens
        failed = enough and rate is not None and wilson_upper(rate, self.trials(judged.evidence)) < least
        self.failures = self.failures + 1 if failed else 0
        return self.failures >= self.limit


def _watching() -> State:
    return State(phase=Phase.WATCHING, since=0.0, speculation=POD, revision=POD, wanted=POD)


@dataclass(slots=True, kw_only=True)
class Ours:
    """The guard's own state machine."""

    policy: Policy
    state: State = field(default_factory=_watching)

    def decides(self, judged: Judged) -> bool:
        """Whether this window takes speculation out."""
        self.state = advance(self.state, told(self.state, self.policy, judged), judged.verdict.at)
        return self.state.rollback is not None


def told(
    state: State,
    policy: Policy,
    judged: Judged | None = None,
    *,
    pods: frozenset[str] = frozenset((POD,)),
    baseline_pods: BaselinePodsView = _NO_BASELINE_PODS,
) -> Observation:
    """What a reconcile knows of a service whose pods are up. baseline_pods: how far its baseline pods are."""
    observation = Observation(
        subject=state.subject,
        policy=policy,
        speculating=not state.serves_baseline,
        revision=POD,
        rollout=_UP,
        pods=pods,
        baseline_pods=baseline_pods,
    )
    return with_window(observation, judged)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """What a rule did. windows: that it watched in all; it watches a service no longer once it has decided.

    first: for each service, the number of the window that its decision fell in; 0 where there was none.
    """

    windows: int
    first: tuple[int, ...]

    @property
    def decisions(self) -> int:
        """Services that speculation was taken from."""
        return sum(each > 0 for each in self.first)

    def within(self, windows: int) -> float:
        """Share of the services that speculation was taken from in their first windows."""
        return sum(0 < each <= windows for each in self.first) / len(self.first)


def play(
    drafting: DraftingTicks, limits: Thresholds, policy: Policy, rhythm: Schedule, each: int
) -> dict[str, RuleOutcome]:
    """What each rule makes of services of `each` windows, one after the other."""
    readings = counters(drafting)
    per = round(each * rhythm.window / rhythm.interval)
    first: dict[str, list[int]] = {name: [] for name in RULES}
    for begin in range(0, len(readings) - per, per):
        for name, window in _one(readings[begin : begin + per + 1], limits, policy, rhythm).items():
            first[name].append(window)
    return {
        name: RuleOutcome(windows=sum(window or each for window in windows), first=tuple(windows))
        for name, windows in first.items()
    }


def _one(readings: Iterable[Counters], limits: Thresholds, policy: Policy, rhythm: Schedule) -> dict[str, int]:
    """The window in which each rule decides on one service, from 1; 0: in none."""
    left: dict[str, Simple | Ours] = {
        BY_TOKENS: Simple(limits=limits, limit=policy.failure_limit, trials=lambda seen: seen.draft_tokens),
        BY_DRAFTS: Simple(limits=limits, limit=policy.failure_limit, trials=lambda seen: seen.drafts),
        GUARD: Ours(policy=policy),
    }
    watched, window, first = start(0.0, rhythm), 0, dict.fromkeys(RULES, 0)
    for place, reading in enumerate(readings):
        now = place * rhythm.interval
        watched, judged = add(watched, {POD: reading}, limits, rhythm, now)
        if judged is None:
            continue
        window += 1
        for name in [name for name, rule in left.items() if rule.decides(judged)]:
            first[name] = window
            del left[name]
        if not left:
            break
    return first


def counters(drafting: DraftingTicks) -> list[Counters]:
    """The page at each tick."""
    drafts, accepted = drafting.drafts.tolist(), drafting.accepted.T.tolist()
    ended = zip(*(each.tolist() for each in drafting.ended), strict=True)
    begun, running = drafting.begun.tolist(), drafting.running.tolist()
    return [
        Counters(
            drafts=steps,
            draft_tokens=TOKENS * steps,
            accepted_tokens=(taken := sum(positions)),
            generation_tokens=steps + taken,
            accepted_per_position=tuple(positions),
            token_seconds=seconds,
            timed_tokens=tokens,
            requests=answers,
            started=0.0,
            first_tokens=first,
            running=batch,
            speculative=True,
        )
        for steps, positions, (answers, seconds, tokens), first, batch in zip(
            drafts, accepted, ended, begun, running, strict=True
        )
    ]
