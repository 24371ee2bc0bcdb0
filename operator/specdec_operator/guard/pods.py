"""Whether a pod is to blame and not the draft: pods that fail after their rollout, or are far below the others.

A container that ends is started again by the kubelet, and the windows that it ends in prove nothing: without this, an
engine that is killed every five minutes would be watched for ever.

Where all pods together pass, the draft pays, and one pod with hard traffic, on a slow node or with one long answer is
left alone: another pod would do no better there. Only one that accepts next to nothing beside good ones is broken.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from specdec_engine.out_of_memory import OUT_OF_MEMORY
from specdec_operator.guard.decisions import PodFailure
from specdec_operator.guard.memory import lacking_memory, may_lower
from specdec_operator.guard.outages import downtime, noted_outages
from specdec_operator.guard.policy import Thresholds
from specdec_operator.guard.stalls import Standstill
from specdec_operator.guard.state import Observation, Phase, State
from specdec_operator.guard.statistics import RatioSums
from specdec_operator.guard.tries import respond
from specdec_operator.guard.verdict import BY_ACCEPTANCE, Outcome, Reason, Verdict
from specdec_operator.guard.window import Evidence, FailingRun, pooled
from specdec_operator.guard.windows_in_a_row import failing_window, window_inconclusive
from specdec_operator.observe.pods import PodView

MOST_FAILURES: Final = 3
"""Number of failures within an hour from which they count against speculation."""
_HOUR: Final = 3600.0
NOT_READY_SECONDS: Final = 120.0
"""How long an engine that was up may not answer its readiness probe; as long again counts as another failure, as for an
engine that still hangs."""
_MOST_KEPT: Final = 12
_MOST_WORDS: Final = 200
_WATCHED: Final = frozenset({Phase.WARMING_UP, Phase.WATCHING, Phase.DIALLED})
_AFTER_ROLLBACK: Final = frozenset({Phase.ROLLED_BACK})
_STOPPED: Final = frozenset({0, 143})
"""Exit codes of an engine that was stopped by its node, or by a user in its container."""


class PodFault(StrEnum):
    """What failed."""

    OUT_OF_MEMORY = OUT_OF_MEMORY
    """The kernel killed the engine for its memory limit, or the device had no memory left for it."""
    CRASHED = "EngineCrashed"
    """The engine ended by itself."""
    NOT_READY = "NotReady"
    """The engine was up, runs, and does not answer."""
    STALLED = "Stalled"
    """Requests are in the engine, and it generates nothing."""


def failures_of(
    pods: tuple[PodView, ...], now: float, stalled: Mapping[str, Standstill] = MappingProxyType({})
) -> tuple[PodFailure, ...]:
    """The present failure of each pod: the last end of its engine, a long time without an answer to the readiness
    probe, or an engine that hangs. stalled: the engines that hang, by pod.
    """
    return tuple(failure for pod in pods if (failure := _failure_of(pod, now, stalled.get(pod.name))))


def _failure_of(pod: PodView, now: float, stalled: Standstill | None) -> PodFailure | None:
    engine = pod.engine
    if stalled is not None and engine.running and not pod.deleting:
        return hang(pod.name, stalled, engine.ends, now)
    if engine.running and engine.started and not engine.ready and pod.ready_since is not None:
        seconds = now - pod.ready_since
        words = f"not ready for {seconds:.0f} s, although its engine runs"
        late = seconds >= NOT_READY_SECONDS
        return _failure(pod, PodFault.NOT_READY, words, now) if late else None
    if not engine.ends or engine.exit_code is None or engine.exit_code in _STOPPED:
        return None
    fault = PodFault.OUT_OF_MEMORY if engine.out_of_memory else PodFault.CRASHED
    *_, said = engine.message.strip().splitlines() or [""]
    words = f"its engine ended {engine.ends} times, last with exit code {engine.exit_code} ({engine.ended})"
    return _failure(pod, fault, f"{words}: {said}" if said else words, now)


def hang(pod: str, stalled: Standstill, ends: int, now: float) -> PodFailure:
    """An engine that hangs. ends: how often the pod's engine has ended so far."""
    return PodFailure(pod=pod, reason=PodFault.STALLED.value, message=stalled.message, ends=ends, at=now)


def _failure(pod: PodView, fault: PodFault, words: str, now: float) -> PodFailure:
    return PodFailure(pod=pod.name, reason=fault.value, message=words[:_MOST_WORDS], ends=pod.engine.ends, at=now)


def noted(
    known: tuple[PodFailure, ...], seen: tuple[PodFailure, ...], pods: frozenset[str], now: float
) -> tuple[PodFailure, ...]:
    """The known failures, with those of `seen` that are new; pods: names of all existing pods.

    Failures of more than an hour ago are dropped, except the newest one of a pod that still exists. That one no longer
    counts, but shows which of the pod's ends are known. All ends that an operator missed while it did not run count as
    one, because it does not know when they were.
    """
    newest = {each.pod: each for each in known}
    kept = []
    for each in known:
        if now - each.at < _HOUR:
            kept.append(each)
        elif each.pod in pods and newest[each.pod] is each:
            kept.append(replace(each, answered=True))
    return (*kept, *(each for each in seen if _is_new(each, known)))[-_MOST_KEPT:]


def _is_new(failure: PodFailure, known: tuple[PodFailure, ...]) -> bool:
    before = [each for each in known if each.pod == failure.pod]
    if failure.reason in (PodFault.NOT_READY.value, PodFault.STALLED.value):
        told = [each.at for each in before if each.reason == failure.reason]
        return not told or failure.at - max(told) >= NOT_READY_SECONDS
    return failure.ends > max((each.ends for each in before), default=0)


def note_pods(state: State, observation: Observation, now: float) -> State:
    """Notes the pods that are restarted no longer, and new failures and outages of the watched ones. After a rollback
    these are the baseline's.
    """
    if state.restarting and not observation.pods & set(state.restarting):
        state = replace(state, restarting=())
    watched = _WATCHED if observation.speculating else _AFTER_ROLLBACK
    if state.phase not in watched or (not observation.speculating and observation.revision != state.revision):
        return state
    known, seen = state.pod_failures, observation.pod_failures
    failed = tuple((each.pod, each.reason) for each in seen if _is_new(each, known))
    outages = noted_outages(state.outages, failed, observation.pod_times, state.up, now)
    return replace(state, pod_failures=noted(known, seen, observation.pods, now), outages=outages)


def held(known: tuple[PodFailure, ...]) -> tuple[PodFailure, ...]:
    """Those that count: of the hour before they were noted last, and not answered yet."""
    return tuple(each for each in known if not each.answered)


def answered(known: tuple[PodFailure, ...]) -> tuple[PodFailure, ...]:
    """The same after something was done about them: they do not count again."""
    return tuple(replace(each, answered=True) for each in known)


def summary(failures: tuple[PodFailure, ...]) -> tuple[str, str]:
    """Why something is done about them: one word, and one sentence with numbers. failures: at least one."""
    last = failures[-1]
    if len(failures) == 1:
        return last.reason, f"pod {last.pod}: {last.message}"
    reasons = {each.reason for each in failures}
    reason = last.reason if len(reasons) == 1 else PodFault.CRASHED.value
    pods = len({each.pod for each in failures})
    message = f"{len(failures)} failures of {pods} pods within an hour, the last in pod {last.pod}: {last.message}"
    return reason, message


_FAR_BELOW: Final = 0.8
"""Share of the others' acceptance below which a pod is another one than they are."""
_BROKEN: Final = 0.25
"""Share of the others' acceptance below which a pod is broken, however well all of them do together: further than one
or two answers that are hard to predict bring it (recordings 34 to 36)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPods:
    """The pods of one window. verdicts: on each by itself; rest: on those together that do not fail. run: of all
    failing windows in a row, this one included.
    """

    parts: Mapping[str, Evidence]
    verdicts: Mapping[str, Verdict]
    rest: Verdict | None
    run: FailingRun

    @property
    def others(self) -> tuple[str, ...]:
        """Those that do not fail."""
        return tuple(pod for pod, verdict in self.verdicts.items() if verdict.outcome is not Outcome.FAIL)


def others_of(parts: Mapping[str, Evidence], verdicts: Mapping[str, Verdict]) -> Evidence | None:
    """The evidence of the pods that do not fail, together; None where all fail, or none does."""
    others = {pod: part for pod, part in parts.items() if verdicts[pod].outcome is not Outcome.FAIL}
    return pooled(others, seconds=0, unread=0) if others and len(others) < len(parts) else None


def skewed(pods: WindowPods, together: Verdict, thresholds: Thresholds) -> Verdict | None:
    """PodSkew; the worst pod is named first. together: the verdict on all pods as one."""
    good = _sums(pods.run, pods.others).mean
    if pods.rest is None or not (pods.rest.outcome is Outcome.PASS or _passes(pods, thresholds)):
        return None
    share = _FAR_BELOW if together.outcome is Outcome.FAIL else _BROKEN
    failing = (pod for pod, verdict in pods.verdicts.items() if verdict.outcome is Outcome.FAIL)
    rates = {pod: pods.parts[pod].acceptance_rate or 0.0 for pod in failing}
    blamed = tuple(sorted((pod for pod in rates if _apart(pods.verdicts[pod], rates[pod], share, good)), key=rates.get))  # type: ignore[arg-type]
    if not blamed:
        return None
    worst = pods.verdicts[blamed[0]]
    message = (
        f"{blamed[0]} fails: {worst.message}; other pods pass: {', '.join(pods.others)}, acceptance {good or 0.0:.2f}"
    )
    found = Verdict(outcome=Outcome.FAIL, reason=Reason.POD_SKEW, message=message, pods=blamed)
    return replace(found, together=together.outcome)


def _apart(verdict: Verdict, rate: float, share: float, good: float | None) -> bool:
    """Whether a failing pod is far from the others, and not only on the other side of a threshold."""
    if verdict.reason in BY_ACCEPTANCE or share < _FAR_BELOW:
        return good is not None and rate < share * good
    return True


def _passes(pods: WindowPods, thresholds: Thresholds) -> bool:
    """Whether the others pass by what they drafted over the failing windows in a row: in one it may be too little."""
    sums = _sums(pods.run, pods.others)
    least = thresholds.acceptance_rate or 0.0
    quiet = pods.rest is not None and pods.rest.reason in (Reason.FEW_TOKENS, Reason.NO_TRAFFIC)
    return quiet and sums.of >= thresholds.min_draft_tokens and (sums.mean or 0.0) >= least


def _sums(run: FailingRun, pods: Iterable[str]) -> RatioSums:
    sums = RatioSums()
    for pod in pods:
        sums = sums.merged(run.by_pod.get(pod, RatioSums()))
    return sums


def pods_keep_failing(state: State, observation: Observation, now: float) -> bool:
    """Three times within an hour, engines of the watched pods crashed, hung, or were not ready for two minutes. Or an
    engine ran out of memory, and the guard can lower its memory.
    """
    failures = held(state.pod_failures)
    return len(failures) >= MOST_FAILURES or (bool(lacking_memory(failures)) and may_lower(state, observation))


def answer_pod_failures(state: State, observation: Observation, now: float) -> State:
    """The next step. After an out-of-memory crash: less memory, at most twice (Responding). If one pod fails alone: a
    restart of it, at most twice (WarmingUp). Otherwise: a rollback (Responding). In Observe the guard only reports it.
    """
    failures = held(state.pod_failures)
    lacking = lacking_memory(failures)[-1:] if may_lower(state, observation) else ()
    failures = lacking or failures
    pods = {each.pod for each in failures}
    alone = tuple(pods) if len(pods) == 1 and len(observation.pods) > 1 else ()
    state = replace(state, blamed=alone, pod_failures=answered(state.pod_failures))
    return respond(state, observation, *summary(failures), now, pods_fail=True, less_memory=bool(lacking))


def pods_are_down_too_long(state: State, observation: Observation, now: float) -> bool:
    """Three times or more within a day, engines of the watched pods failed as above, and together their pods were
    unavailable for `downtimeBudget`, reload included: one of them, or each on average.
    """
    open_ones = [each for each in state.outages if not each.answered]
    return len(open_ones) >= MOST_FAILURES and _downtime(state, observation, now) >= observation.policy.downtime_budget


def _downtime(state: State, observation: Observation, now: float) -> float:
    return downtime(state.outages, max(state.up, len(observation.pods)), now)


def answer_downtime(state: State, observation: Observation, now: float) -> State:
    """The next step. If one pod of several failed alone within the day: a restart of it. Otherwise: a rollback
    (Responding). In Observe the guard only reports it.
    """
    pods = {each.pod for each in state.outages}
    alone = tuple(pods & observation.pods) if len(pods) == 1 and len(observation.pods) > 1 else ()
    reason, message = downtime_summary(state, observation, now)
    outages = tuple(replace(each, answered=True) for each in state.outages)
    state = replace(state, blamed=alone, pod_failures=answered(state.pod_failures), outages=outages)
    return respond(state, observation, reason, message, now, pods_fail=True)


def downtime_summary(state: State, observation: Observation, now: float) -> tuple[str, str]:
    """Why something is done about outages: one word, and one sentence with numbers."""
    outages = [each for each in state.outages if not each.answered]
    reasons, last = {each.reason for each in outages}, outages[-1]
    minutes, most = _downtime(state, observation, now) / 60, observation.policy.downtime_budget / 60
    message = (
        f"{len(outages)} failures within a day, the last in pod {last.pod} ({last.reason}), made a pod unavailable for "
        f"{minutes:.0f} minutes, reload included; guard.downtimeBudget is {most:.0f}"
    )
    return (last.reason if len(reasons) == 1 else PodFault.CRASHED.value), message


def an_engine_hangs(state: State, observation: Observation, now: float) -> bool:
    """Requests are in an engine, and it generated nothing for three intervals, and for half a minute at least."""
    return observation.policy.acts and hanging(state, observation) is not None


def restart_the_engine(state: State, observation: Observation, now: float) -> State:
    """WarmingUp, and the pod is evicted, one at a time: nothing else ends such an engine. The failure counts towards
    the three within an hour, as the end of an engine does.
    """
    failure = hanging(state, observation)
    if failure is None:
        return state
    blamed = replace(state, blamed=(failure.pod,))
    return respond(blamed, observation, *summary((failure,)), now, pods_fail=True)


def hanging(state: State, observation: Observation) -> PodFailure | None:
    """A pod whose engine hangs, and that is not restarted yet."""
    stalled = (each for each in observation.pod_failures if each.reason == PodFault.STALLED.value)
    return next((each for each in stalled if each.pod not in state.restarting), None)


def a_broken_pod_was_restarted_before(state: State, observation: Observation, now: float) -> bool:
    """One pod fails, all pods together do not, and a pod was restarted within the hour."""
    verdict = observation.verdict
    single_pods = verdict is not None and bool(verdict.pods) and verdict.together is not Outcome.FAIL
    return single_pods and state.restarts > 0 and failing_window(state, observation, now)


def pod_is_left_alone(state: State, observation: Observation, now: float) -> State:
    """Nothing: a second restart would not help."""
    return window_inconclusive(state, observation, now)
