"""Plays a recording through the guard, scrape by scrape. Pure: the recording's time is the only one."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.api.guard import Guard, GuardMode
from specdec_operator.engine.methods import MethodFacts
from specdec_operator.guard.advance import advance
from specdec_operator.guard.baseline import Baseline, learnt
from specdec_operator.guard.counterfactual import Fewer, fewer_tokens, most_that_pass
from specdec_operator.guard.evidence import by_pod, pooled
from specdec_operator.guard.facts import Facts
from specdec_operator.guard.judge import Judged
from specdec_operator.guard.policy import Policy, policy_of
from specdec_operator.guard.respond import Action
from specdec_operator.guard.state import Phase, State
from specdec_operator.guard.thresholds import Thresholds, thresholds
from specdec_operator.guard.watching import Rhythm, take, watch
from specdec_operator.guard.window import opened
from specdec_operator.replay.recording import Round
from specdec_operator.serving.rollout import Progress, RolloutView

_UP: Final = RolloutView(progress=Progress.COMPLETE, reason="Recorded", message="as recorded", serving=1)
_RECORDED: Final = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One window. at: when it closed, in seconds of the recording. action: what the guard did, None for nothing.

    pod: the pod that it was about, None for all of them. rows: what fewer tokens would have done.
    """

    at: float
    judged: Judged
    action: Action | None
    pod: str | None
    rows: tuple[Fewer, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What the guard made of a recording. speculative: whether the recorded service drafts at all."""

    decisions: tuple[Decision, ...]
    state: State
    speculative: bool

    @property
    def phase(self) -> Phase:
        """The state at the end, once what was decided is done."""
        if self.state.phase is not Phase.RESPONDING:
            return self.state.phase
        return Phase.WATCHING if self.state.reduced and not self.state.rollback else Phase.ROLLED_BACK

    @property
    def serving(self) -> str:
        """What is served at the end: `speculation` or `plain`."""
        return "speculation" if self.speculative and not self.state.plain else "plain"


@dataclass(slots=True)
class Player:
    """The guard and what it knows, between two rounds of a recording.

    tokens: K of the recorded service. gone: pods that were restarted: what the recording tells of them never happened.
    It ends with the first decision that would have made it another service.
    """

    guard: Guard
    limits: Thresholds
    tokens: int
    state: State
    decisions: list[Decision] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def play(self, rounds: Iterable[Round]) -> None:
        """Plays the rounds until the recorded service would not have been the same any more."""
        rhythm = Rhythm(interval=self.guard.interval, window=self.guard.window)
        policy = replace(policy_of(self.guard, held=False, auto=False), mode=GuardMode.ENFORCE)
        watched = None
        for each in rounds:
            self.state = advance(self.state, self._facts(policy, each, None, None), each.at)
            if self.state.phase is not Phase.WATCHING:
                watched = None
                continue
            watched = watched or watch(each.at, rhythm)
            if each.at < watched.due - rhythm.interval / 2:
                continue
            readings = {pod: reading for pod, reading in each.readings.items() if pod not in self.gone}
            watched, judged = take(watched, readings, self.limits, rhythm, each.at)
            if judged is not None and self._decide(policy, each, judged):
                return

    def _decide(self, policy: Policy, each: Round, judged: Judged) -> bool:
        """Takes in a closed window; returns whether the service would have been another one from here on."""
        speedup = judged.comparison.speedup if judged.comparison else None
        rows = fewer_tokens(judged.evidence, self.limits, speedup)
        before, facts = self.state, self._facts(policy, each, judged, most_that_pass(rows, self.tokens))
        self.state = advance(before, facts, each.at)
        action, pod = _done(before, self.state), next(iter(judged.verdict.pods), None)
        if action is Action.RESTART_POD:
            pod = next(iter(self.state.restarting), pod)
            self.gone |= {pod} if pod else set()
        self.decisions.append(Decision(at=each.at, judged=judged, action=action, pod=pod, rows=rows))
        return self.state.subject != before.subject

    def _facts(self, policy: Policy, each: Round, judged: Judged | None, fewer: int | None) -> Facts:
        return Facts(
            subject=self.state.subject,
            policy=policy,
            speculating=True,  # a plain service is looked at all the same, and no verdict is counted against it
            revision=_RECORDED,
            rollout=_UP,
            pods=frozenset(each.readings) - self.gone,
            closed=1 + judged.verdict.at if judged else 0.0,  # a recording may begin at 0, which means never
            verdict=judged.verdict if judged and not self.limits.plain else None,
            fewer=fewer,
        )


def play(rounds: tuple[Round, ...], guard: Guard, method: MethodFacts, baseline: Baseline = ()) -> Played:
    """What the guard makes of a recording. A service that never shows a draft is taken to run without speculation."""
    seen = [reading for each in rounds for reading in each.readings.values() if reading is not None]
    tokens = max((len(each.accepted_per_position) for each in seen), default=0)
    speculative = any(each.speculative for each in seen)
    state = State(
        phase=Phase.WARMING_UP, since=rounds[0].at, speculation=_RECORDED, revision=_RECORDED, wanted=_RECORDED
    )
    limits = thresholds(guard, method if speculative else None, tokens=tokens, baseline=baseline)
    player = Player(guard=guard, limits=limits, tokens=tokens, state=state)
    player.play(rounds)
    return Played(decisions=tuple(player.decisions), state=player.state, speculative=speculative)


def learn(rounds: Iterable[Round], guard: Guard) -> Baseline:
    """The plain service's speed by load, out of a recording of it."""
    block = Rhythm(interval=guard.interval, window=guard.window).block
    window, at = None, 0.0
    for each in rounds:
        at, window = each.at, (window or opened(each.at, block)).with_readings(each.readings, each.at)
    if window is None:
        return ()
    return learnt((), pooled(by_pod(window.closed(), at), seconds=at - window.opened, unread=0).paces)


def _done(before: State, after: State) -> Action | None:
    if after.restarts > before.restarts:
        return Action.RESTART_POD
    if after.rollback is not None and before.rollback is None:
        return Action.ROLL_BACK
    return Action.REDUCE_TOKENS if after.reduced is not None and before.reduced is None else None
