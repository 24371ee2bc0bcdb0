"""A recording of a pod's counters, read and played back through the guard."""

import gzip
import json
import pathlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from specdec_operator.api.control import ControlMode
from specdec_operator.api.guard import Guard, GuardMode
from specdec_operator.errors import Invalid
from specdec_operator.guard.baseline import Baseline, learnt
from specdec_operator.guard.baseline_pods import Measure, shows_fast_enough
from specdec_operator.guard.checks import unsure
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.guard.judge import Judged, judge
from specdec_operator.guard.pods import hang, summary
from specdec_operator.guard.policy import MethodFacts, Policy, Thresholds, policy_of, thresholds
from specdec_operator.guard.sampler import Schedule, add, start, with_window
from specdec_operator.guard.stalls import Standstill
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.transitions import advance
from specdec_operator.guard.tries import Action
from specdec_operator.guard.verdict import Reason
from specdec_operator.guard.what_if import Fewer, fewer_tokens, most_that_pass
from specdec_operator.guard.window import Window, by_pod, pooled
from specdec_operator.observe.rollout import Progress, RolloutView

_GZIP = b"\x1f\x8b"
_LINE = 'each line is one scrape, such as {"t": 12.0, "pod": "pod-0", "ok": true, "text": "<a page of metrics>"}'


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRound:
    """One read of all pods: when, in seconds of the recording, and what each showed; None: it did not answer.

    baseline_pods: names of the baseline pods.
    """

    at: float
    readings: dict[str, Counters | None] = field(default_factory=dict)
    baseline_pods: frozenset[str] = frozenset()

    def readings_of(self, *, baseline: bool, gone: Collection[str] = ()) -> dict[str, Counters | None]:
        """The readings of one arm, without pods that are gone."""
        return {
            pod: reading
            for pod, reading in self.readings.items()
            if (pod in self.baseline_pods) is baseline and pod not in gone
        }


def read_recording(path: pathlib.Path) -> tuple[ReplayRound, ...]:
    """The rounds of a recording. Raises Invalid for a file that is not a recording, with the line."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if raw[:2] == _GZIP else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise Invalid(str(path), "unreadable", f"{error}; {_LINE}") from error
    scrapes = [_scrape(path, number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not scrapes:
        raise Invalid(str(path), "empty", _LINE)
    rounds: list[ReplayRound] = []
    for at, pod, kind, reading in sorted(scrapes, key=lambda each: each[0]):
        if not rounds or pod in rounds[-1].readings:  # a pod that is seen again begins another round
            rounds.append(ReplayRound(at=at))
        baseline_pods = rounds[-1].baseline_pods | ({pod} if kind == "plain" else frozenset())
        rounds[-1] = ReplayRound(at=at, readings=rounds[-1].readings | {pod: reading}, baseline_pods=baseline_pods)
    return tuple(rounds)


def _scrape(path: pathlib.Path, number: int, line: str) -> tuple[float, str, str, Counters | None]:
    try:
        scrape = json.loads(line)
        at, pod, kind = float(scrape["t"]), str(scrape["pod"]), str(scrape.get("arm", "speculating"))
        page = scrape["text"] if scrape["ok"] else None
        if kind not in ("speculating", "plain"):
            raise ValueError(f"arm {kind!r}")
    except (ValueError, TypeError, KeyError) as error:
        raise Invalid(f"{path}:{number}", line[:60], _LINE) from error
    try:
        return at, pod, kind, None if page is None else read_counters(page)
    except ValueError:  # the operator takes a page that makes no sense for no answer
        return at, pod, kind, None


_UP: Final = RolloutView(progress=Progress.COMPLETE, reason="Recorded", message="as recorded", serving=1)
_RECORDED: Final = "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDecision:
    """One window. at: when it closed, in seconds of the recording. action: what the guard did, None for nothing.

    pod: the pod that it was about, None for all of them. rows: what fewer tokens would have done. collateral: other
    costs that are higher than allowed. `acquitted`: whether both arms have shown at this point that the draft is fast
    enough.
    """

    at: float
    judged: Judged
    action: Action | None
    pod: str | None
    rows: tuple[Fewer, ...] = ()
    collateral: tuple[Measure, ...] = ()
    acquitted: bool = False


@dataclass(slots=True, kw_only=True)
class Played:
    """What the guard makes of a recording: the guard, what it knows between two rounds, and what it decided so far.

    speculative: whether the recorded service drafts at all. tokens: its K. gone: pods that were restarted: what the
    recording has of them never happened. clear: whether both arms show at the moment that the draft is fast enough.
    """

    guard: Guard
    thresholds: Thresholds
    tokens: int
    speculative: bool
    state: State
    decisions: list[WindowDecision] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    clear: bool = False

    @property
    def phase(self) -> Phase:
        """The state at the end, once what was decided is done."""
        if self.state.phase is not Phase.RESPONDING:
            return self.state.phase
        return Phase.WATCHING if self.state.reduced and not self.state.rollback else Phase.ROLLED_BACK

    @property
    def serving(self) -> str:
        """What is served at the end: `speculation` or `plain`."""
        return "speculation" if self.speculative and not self.state.serves_baseline else "plain"

    def play(self, rounds: Iterable[ReplayRound]) -> None:
        """Plays the rounds, up to the first decision that would have made it another service."""
        schedule = Schedule(interval=self.guard.interval, window=self.guard.window)
        policy = replace(policy_of(self.guard, held=False), mode=GuardMode.ENFORCE, control=ControlMode.NEVER)
        sampler = None
        for each in rounds:
            self.state = advance(self.state, self._observation(policy, each, None, None), each.at)
            if self.state.phase is not Phase.WATCHING:
                sampler = None
                continue
            sampler = sampler or start(each.at, schedule)
            if each.at < sampler.due - schedule.interval / 2:
                continue
            readings, of_baseline = (each.readings_of(baseline=baseline, gone=self.gone) for baseline in (False, True))
            limits = replace(self.thresholds, pairs=self.state.pairs)
            sampler, judged = add(sampler, readings, limits, schedule, each.at, of_baseline)
            if judged is not None and self._decide(policy, each, judged):
                return
            if self.state.phase is Phase.WATCHING and (hangs := sampler.stalled(limits)):
                self._restart(policy, each, hangs, judge(sampler.window, limits, each.at))

    def _decide(self, policy: Policy, each: ReplayRound, judged: Judged) -> bool:
        """Takes in a closed window; returns whether the service would have been another one from here on."""
        rows = fewer_tokens(judged.evidence, self.thresholds, judged.comparison)
        before, observation = self.state, self._observation(policy, each, judged, most_that_pass(rows, self.tokens))
        self.state = advance(before, observation, each.at)
        action, pod = _done(before, self.state), next(iter(judged.verdict.pods), None)
        if action is Action.RESTART_POD:
            pod = next(iter(self.state.restarting), pod)
            self.gone |= {pod} if pod else set()
        told = tuple(each for each in self.state.collateral if each not in before.collateral)
        clear = shows_fast_enough(judged.findings)
        acquitted, self.clear = clear and not self.clear, clear
        decision = WindowDecision(at=each.at, judged=judged, action=action, pod=pod, rows=rows, collateral=told)
        self.decisions.append(replace(decision, acquitted=acquitted))
        return self.state.subject != before.subject

    def _restart(self, policy: Policy, each: ReplayRound, hangs: Mapping[str, Standstill], judged: Judged) -> None:
        """Takes in engines that hang, which wait for no window. judged: the window that is open then."""
        failures = tuple(hang(pod, still, 0, each.at) for pod, still in hangs.items())
        before, observation = self.state, self._observation(policy, each, None, None)
        self.state = advance(before, replace(observation, pod_failures=failures), each.at)
        if (action := _done(before, self.state)) is None:
            return
        self.gone |= set(self.state.restarting)
        pod = next(iter(self.state.restarting), None)
        words = summary(tuple(failure for failure in failures if pod in (None, failure.pod)))[1]
        verdict = replace(unsure(Reason.STALLED, words), at=each.at)
        self.decisions.append(
            WindowDecision(at=each.at, judged=replace(judged, verdict=verdict), action=action, pod=pod)
        )

    def _observation(self, policy: Policy, each: ReplayRound, judged: Judged | None, fewer: int | None) -> Observation:
        observation = Observation(
            subject=self.state.subject,
            policy=policy,
            speculating=True,  # a baseline is read too, and no verdict is counted against it
            revision=_RECORDED,
            rollout=_UP,
            pods=frozenset(each.readings_of(baseline=False, gone=self.gone)),
            fewer=fewer,
        )
        if judged is None:
            return observation
        verdict = None if self.thresholds.of_baseline else judged.verdict
        closed = 1 + judged.verdict.at  # a recording may begin at 0, which means never
        return replace(with_window(observation, judged), closed=closed, verdict=verdict)


def play(rounds: tuple[ReplayRound, ...], guard: Guard, method: MethodFacts, baseline: Baseline = ()) -> Played:
    """What the guard makes of a recording. A service that never shows a draft is taken to run without speculation."""
    seen = [reading for each in rounds for reading in each.readings.values() if reading is not None]
    tokens = max((len(each.accepted_per_position) for each in seen), default=0)
    speculative = any(each.speculative for each in seen)
    state = State(
        phase=Phase.WARMING_UP, since=rounds[0].at, speculation=_RECORDED, revision=_RECORDED, wanted=_RECORDED
    )
    wanted = thresholds(guard, method if speculative else None, tokens=tokens, baseline=baseline)
    played = Played(guard=guard, thresholds=wanted, tokens=tokens, speculative=speculative, state=state)
    played.play(rounds)
    return played


def learn(rounds: Iterable[ReplayRound], guard: Guard) -> Baseline:
    """The baseline's speed by load, out of a recording of it."""
    block = Schedule(interval=guard.interval, window=guard.window).block
    window, at = None, 0.0
    for each in rounds:
        at, window = each.at, (window or Window(each.at, block)).with_readings(each.readings, each.at)
    if window is None:
        return ()
    return learnt((), pooled(by_pod(window.closed(), at), seconds=at - window.opened, unread=0).token_times)


def _done(before: State, after: State) -> Action | None:
    if after.restarts > before.restarts:
        return Action.RESTART_POD
    if after.rollback is not None and before.rollback is None:
        return Action.ROLL_BACK
    return Action.REDUCE_TOKENS if after.reduced is not None and before.reduced is None else None
